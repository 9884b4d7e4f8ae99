"""Reads the pages of the documentation: the fenced blocks, and what the comments above them say.

A comment directly above a block tells what the tests do with it:

    <!-- file: NAME -->        the block is a file: it is saved under this name before the next command
    <!-- files of: PAGE -->    all files of another page are saved before
    <!-- needs: NAME -->       the commands need what NAME stands for (places.py); elsewhere they are only parsed
    <!-- full -->              the commands run with --full only, because they take long
    <!-- not run: REASON -->   the commands cannot be run by the tests; they are only parsed
    <!-- varies: REGEX -->     text that fits the expression differs from run to run (compare.py)

A comment may have several of these lines. A block of commands is fenced with ```console. Its lines that begin with
`$ ` are commands, those that begin with `> ` continue the command above, and all others are what it prints. A line that
looks like a command in any other block is an error, because it would be neither run nor marked.
"""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
DOCS = os.path.join(ROOT, "docs")

# How a line begins that looks like a command.
LIKE_A_COMMAND = re.compile(r"(\$|rankweave|mpirun|mpiexec|srun|sbatch|export|apt-get|pip) ")
KNOWN = ("file", "files of", "needs", "full", "not run", "varies")


class Wrong(Exception):
    """A page that does not follow the rules above."""


class Command:
    """A command of a block, and the lines that it is said to print."""

    def __init__(self, text, line):
        self.text = text
        self.line = line
        self.expected = []


class Block:
    """A fenced block."""

    def __init__(self, page, line, language, marks):
        self.page = page
        self.line = line
        self.language = language
        self.marks = marks
        self.lines = []
        self.commands = []
        self.later = []  # what --write changes

    @property
    def place(self):
        return f"docs/{self.page}:{self.line}"

    def one(self, mark):
        """The value of a mark that stands at most once."""
        return (self.marks.get(mark) or [None])[0]

    def finish(self):
        if self.language != "console":
            if "file" not in self.marks and any(LIKE_A_COMMAND.match(line.strip()) for line in self.lines):
                raise Wrong(f"{self.place}: commands belong into a block ```console, behind `$ `")
            return
        for offset, line in enumerate(self.lines, 1):
            if line.startswith("$ "):
                self.commands.append(Command(line[2:], self.line + offset))
            elif line.startswith("> ") and self.commands and not self.commands[-1].expected:
                self.commands[-1].text += "\n" + line[2:]
            elif self.commands:
                self.commands[-1].expected.append(line)
            else:
                raise Wrong(f"{self.place}: the block begins with output: the first line has no `$ `")
        if not self.commands:
            raise Wrong(f"{self.place}: a block ```console has no command")
        if self.one("not run") == "":
            raise Wrong(f"{self.place}: `not run` gives no reason")


def marks_of(comment, where):
    """The marks in the text of a comment; None if it is a comment of another kind."""
    marks = {}
    for line in comment.strip().splitlines():
        name, _, value = line.strip().partition(":")
        if name not in KNOWN:
            if set(marks) - {"files of"}:
                raise Wrong(f"{where}: unknown mark {name!r}; there are {', '.join(KNOWN)}")
            return None
        marks.setdefault(name, []).append(value.strip())
    return marks


def blocks(page, text):
    """The fenced blocks of a page, in their order."""
    found, block, fence, marks, comment = [], None, "", {}, None
    for number, line in enumerate(text.splitlines(), 1):
        if block is not None:
            if line.strip() == fence:
                block.finish()
                found.append(block)
                block, marks = None, {}
            else:
                block.lines.append(line[len(indent):] if line.startswith(indent) else line)
            continue
        if comment is not None or line.lstrip().startswith("<!--"):
            comment = (comment or "") + line.replace("<!--", "") + "\n"
            if "-->" in line:
                # Several comments may stand above a block.
                for mark, values in (marks_of(comment.replace("-->", ""), f"docs/{page}:{number}") or {}).items():
                    marks.setdefault(mark, []).extend(values)
                comment = None
            continue
        opening = re.match(r"^(\s*)(```+)\s*([\w-]*)\s*$", line)
        if opening:
            indent, fence, language = opening.groups()
            block = Block(page, number, language, marks)
        elif line.strip():
            if line.startswith("    ") and LIKE_A_COMMAND.match(line.strip()):
                raise Wrong(f"docs/{page}:{number}: commands belong into a block ```console, behind `$ `")
            if set(marks) - {"files of"}:
                raise Wrong(f"docs/{page}:{number}: no block follows the comment above")
    if block is not None:
        raise Wrong(f"{block.place}: the block does not end")
    return found


def names():
    """The pages of the book, in the order of SUMMARY.md."""
    with open(os.path.join(DOCS, "SUMMARY.md"), encoding="utf-8") as f:
        return re.findall(r"\]\(([^)#]+\.md)\)", f.read())


def read(page):
    with open(os.path.join(DOCS, page), encoding="utf-8") as f:
        return blocks(page, f.read())
