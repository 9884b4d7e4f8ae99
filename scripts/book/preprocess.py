#!/usr/bin/env python3
"""A preprocessor of mdBook, which does two things that mdBook does not.

It puts the pages of docs/decisions below their index, in the order of their numbers. SUMMARY.md names the index only. The
lines of the index, which a test compares with the folder, are the list of the decisions, so that a new decision is entered
in one place.

mdBook calls the page of a README.md index.html, and leaves links to README.md as they are. Here they become links to
index.md.

mdBook gives the book as JSON on standard input and takes it back on standard output
(https://rust-lang.github.io/mdBook/for_developers/preprocessors.html).
"""

import json
import os
import re
import sys

INDEX = "decisions/README.md"


def decisions(folder, index):
    """A chapter for each decision, below that of their index."""
    names = sorted(name for name in os.listdir(folder) if re.match(r"\d{4}-.*\.md$", name))
    for place, name in enumerate(names, 1):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            content = f.read()
        path = f"decisions/{name}"
        yield {"Chapter": {
            "name": content.splitlines()[0].lstrip("# ").replace("`", ""), "content": content,
            "number": [*index["number"], place], "sub_items": [], "path": path, "source_path": path,
            "parent_names": [index["name"]]}}


def change(items, folder):
    """Changes the chapters of a list, and those below them."""
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if not chapter:
            continue
        if chapter["source_path"] == INDEX:
            chapter["sub_items"] = list(decisions(folder, chapter))
        chapter["content"] = re.sub(r"(\]\([^)#]*)README\.md", r"\1index.md", chapter["content"])
        change(chapter["sub_items"], folder)


def main():
    if sys.argv[1:2] == ["supports"]:
        return 0
    context, book = json.load(sys.stdin)
    change(book["items"], os.path.join(context["root"], context["config"]["book"]["src"], os.path.dirname(INDEX)))
    json.dump(book, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
