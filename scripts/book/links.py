#!/usr/bin/env python3
"""Finds links of a built site that lead nowhere: pages, pictures and anchors that do not exist in it.

    scripts/book/links.py target/site

Links to other sites are not followed. Exit codes: 0 all links lead somewhere, 1 some do not, 2 there is no site.
"""

import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, and the addresses that it uses."""

    def __init__(self, path):
        super().__init__()
        self.anchors = set()
        self.addresses = []
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name in ("href", "src") and tag != "base":
                self.addresses.append((value, self.getpos()[0]))


def broken(site):
    """Each broken link as a line of text; and how many links there are."""
    paths = [os.path.join(top, name) for top, _, names in os.walk(site) for name in names if name.endswith(".html")]
    # The page of errors is shown at any address, so its links begin at the top of a server.
    pages = {path: Page(path) for path in sorted(paths) if os.path.basename(path) != "404.html"}
    wrong, count = [], 0
    for path, page in pages.items():
        for address, line in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = path
            if parts.path:
                target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path)))
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            where = f"{os.path.relpath(path, site)}:{line}: {address}"
            if not os.path.exists(target) or not target.startswith(site):
                wrong.append(f"{where}: there is no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{where}: the page has no such anchor")
    return wrong, count, len(pages)


def main():
    site = os.path.abspath(sys.argv[1]) if len(sys.argv) == 2 else ""
    if not os.path.exists(os.path.join(site, "index.html")):
        print("usage: links.py FOLDER, which has index.html", file=sys.stderr)
        return 2
    wrong, count, pages = broken(site)
    for line in wrong:
        print(line)
    print(f"{pages} pages, {count} internal links, {len(wrong)} broken", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
