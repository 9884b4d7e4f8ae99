#!/usr/bin/env python3
"""A preprocessor of mdBook: puts the pages of docs/decisions below their index, in the order of their numbers.

SUMMARY.md names the index only. Its lines, which a test compares with the folder, are the list of the decisions, so
that a new decision is entered in one place. mdBook gives the book as JSON on standard input and takes it back on
standard output (https://rust-lang.github.io/mdBook/for_developers/preprocessors.html).
"""

import json
import os
import re
import sys


def chapters(folder, parents):
    """A chapter for each decision."""
    for name in sorted(os.listdir(folder)):
        if not re.match(r"\d{4}-.*\.md$", name):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            content = f.read()
        path = f"decisions/{name}"
        yield {"Chapter": {
            "name": content.splitlines()[0].lstrip("# ").replace("`", ""), "content": content, "number": None,
            "sub_items": [], "path": path, "source_path": path, "parent_names": parents}}


def main():
    if sys.argv[1:2] == ["supports"]:
        return 0
    context, book = json.load(sys.stdin)
    folder = os.path.join(context["root"], context["config"]["book"]["src"], "decisions")
    for item in book["items"]:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter and chapter["source_path"] == "decisions/README.md":
            chapter["sub_items"] = list(chapters(folder, [chapter["name"]]))
    json.dump(book, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
