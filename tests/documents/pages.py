"""Reads the pages of the documentation: the fenced blocks, and what the comments above them say. The pages are all Markdown
files of `docs`, and README.md of the repository.

A comment directly above a block tells what the tests do with it:

    <!-- file: NAME -->        the block is a file: it is saved under this name before the next command
    <!-- files of: PAGE -->    all files of another page are saved before
    <!-- needs: NAME -->       the commands need what NAME stands for (places.py); elsewhere they are only parsed
    <!-- full -->              the commands run with --full only, because they take long
    <!-- not run: REASON -->   the commands cannot be run by the tests; they are only parsed
    <!-- varies: REGEX -->     text that fits the expression differs from run to run (compare.py)

A comment may have several of these lines. A block of commands is fenced with ```console. Its lines that begin with
`$ ` are commands, those that begin with `> ` continue the command above, and all others are what it prints. A line that
looks like a command in any other block is an error, because it would be neither run nor marked. Such a block is a file,
or has the mark `not run`.
"""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
DOCS = os.path.join(ROOT, "docs")

# The page of README.md, which is not in `docs`.
README = "README.md"
# The names of commands. A word that may also begin a line of text, such as `make` or `time`, is not among them.
COMMANDS = (
    "rankweave mpirun mpiexec mpiexec.hydra mpicc mpicxx mpifort gcc gfortran cmake orterun prterun "
    "srun sbatch salloc scontrol sinfo squeue scancel qsub pbsnodes flux bsub jsrun aprun "
    "apt apt-get dpkg dnf yum zypper rpm pip pip3 pipx conda spack eb module cargo rustup nix "
    "apptainer singularity docker podman git tar unzip gzip curl wget ssh scp rsync "
    "python python3 bash sh perl sudo env export unset source eval echo cd ls cp mv rm mkdir chmod chown cat head tail grep "
    "sed awk ldd readelf objdump gdb hwloc-ls lstopo RUN").split()
# How a line begins that is a command: with a prompt, a variable, a command or the path of a program; and what shows one
# anywhere in a line.
LIKE_A_COMMAND = re.compile(
    r"\$ |(?:\w+=\S* +)*(?:(?:%s)\s|(?:\.{1,2}|~|\$\w+|[\w.*-]*)/[\w./*-]+(?:\s|$))"
    r"|.*(?<![\w-])(?:rankweave run|mpirun|mpiexec|srun) .*-" % "|".join(map(re.escape, COMMANDS)))
# The languages of blocks of which every line is a command.
SHELLS = ("", "sh", "bash", "shell", "zsh", "shell-session")
KNOWN = ("file", "files of", "needs", "full", "not run", "varies")


class Wrong(Exception):
    """A page that does not follow the rules above."""


def path(page):
    """The file of a page, relative to the repository."""
    return page if page == README else f"docs/{page}"


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
        self.not_commands = 0  # lines that look like commands in a block that is marked as `not run`
        self.later = []  # what --write changes

    @property
    def place(self):
        return f"{path(self.page)}:{self.line}"

    def one(self, mark):
        """The value of a mark that stands at most once."""
        return (self.marks.get(mark) or [None])[0]

    def finish(self):
        if self.one("not run") == "":
            raise Wrong(f"{self.place}: `not run` gives no reason")
        if self.language != "console":
            if "file" in self.marks:
                return
            self.not_commands = sum(self.language in SHELLS or LIKE_A_COMMAND.match(line.strip()) is not None
                                    for line in self.lines)
            if self.not_commands and "not run" not in self.marks:
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
    found, block, fence, marks, comment, indented = [], None, "", {}, None, True
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
                for mark, values in (marks_of(comment.replace("-->", ""), f"{path(page)}:{number}") or {}).items():
                    marks.setdefault(mark, []).extend(values)
                comment = None
            continue
        opening = re.match(r"^(\s*)(```+)\s*([\w-]*)\s*$", line)
        if opening:
            indent, fence, language = opening.groups()
            block = Block(page, number, language, marks)
        elif line.strip():
            # Indented lines are code behind an empty line, and else a part of a paragraph or a list.
            indented = indented and line.startswith("    ")
            if indented and LIKE_A_COMMAND.match(line.strip()):
                raise Wrong(f"{path(page)}:{number}: commands belong into a block ```console, behind `$ `")
            if set(marks) - {"files of"}:
                raise Wrong(f"{path(page)}:{number}: no block follows the comment above")
        else:
            indented = True
    if block is not None:
        raise Wrong(f"{block.place}: the block does not end")
    return found


def names():
    """The pages of the book, in the order of SUMMARY.md, then the other files of `docs`, and README.md."""
    with open(os.path.join(DOCS, "SUMMARY.md"), encoding="utf-8") as f:
        chapters = re.findall(r"\]\(([^)#]+\.md)\)", f.read())
    files = sorted(os.path.relpath(os.path.join(folder, name), DOCS)
                   for folder, _, names_of_folder in os.walk(DOCS) for name in names_of_folder if name.endswith(".md"))
    return [*chapters, *(name for name in files if name not in chapters), README]


def read(page):
    with open(os.path.join(ROOT, path(page)), encoding="utf-8") as f:
        return blocks(page, f.read())
