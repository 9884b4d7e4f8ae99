"""Compares what a page shows with what a command printed.

What may differ:

* A line `...` stands for any number of lines, also for none.
* `...` inside a line stands for any text in this line.
* These are the same wherever they stand: numbers with a unit of time, parts of the time in percent, numbers of timed
  calls, the memory that a search took and the generator that it chose, the size of a record, dates, times of day,
  versions, process ids, and hexadecimal numbers of at least 8 digits. Several blanks count as one, because columns follow
  the width of what varies.
* A summary may end with what the next launch does because reordered launches look slower: a launch of a page takes so
  little time that other work on the machine decides this.
* Messages of rankweave, which go to standard error, and the output of a program come in any order. Each of the two has its
  own order. The first word of a message is `rankweave:`.
* Text that fits the expressions of the mark `varies` of the block.

Everything else has to be the same, also the numbers.
"""

import re

# The order matters: a date is not a version.
VARYING = [
    (re.compile(r"\b\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?( UTC|Z)?"), "<date>"),
    (re.compile(r"\b[0-9.]+ ([KM]i)?B(?= +<date>)"), "<size>"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?\b"), "<time of day>"),
    (re.compile(r"\b\d+\.\d+\.\d+\b"), "<version>"),
    (re.compile(r"[+-]?\b\d+(\.\d+)?(e-?\d+)? ?(ns|µs|us|ms|s|min|h|seconds?|minutes?)\b"), "<duration>"),
    (re.compile(r"in MPI \(\d+ %\)|\b\d+ % of the time\b"), "<part of the time>"),
    (re.compile(r"[+-]?[0-9.]+ %, medians"), "<change of the time>, medians"),
    (re.compile(r"; the next launch (keeps the launcher's order|times the launcher's order again)$"), ""),
    (re.compile(r"\b\d+ calls? timed\b"), "<calls> timed"),
    (re.compile(r"\b[0-9.]+ [KM]iB at most\b"), "<memory> at most"),
    (re.compile(r"(?<=  chosen: ).*"), "<generator>"),
    (re.compile(r"\b(pid|PID|process) \d+\b"), "<process>"),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{8,}\b"), "<hexadecimal>"),
]


def plain(line, varies):
    """The line with a word in place of everything that may differ."""
    for expression in varies:
        line = re.sub(expression, "<varies>", line)
    for expression, word in VARYING:
        line = expression.sub(word, line)
    return re.sub(r"[ \t]+", " ", line).rstrip()


def fits(shown, printed):
    """Does a line that is shown, with `...` for any text, fit a line that was printed?"""
    if "..." not in shown:
        return shown == printed
    parts = [re.escape(part) for part in shown.split("...")]
    return re.fullmatch(".*".join(parts), printed) is not None


def is_message(line):
    return line.startswith("rankweave: ")


def difference(shown, printed, varies=()):
    """None if the lines fit, else a text that says where they do not."""
    if any(is_message(line) for line in shown) and not all(is_message(line) for line in shown + printed):
        parts = [([line for line in shown if is_message(line) == of_messages],
                  [line for line in printed if is_message(line) == of_messages]) for of_messages in (True, False)]
        if "..." in shown:
            # Lines that are left out may be messages, too.
            parts[0] = (parts[0][0] + ["..."] if shown[-1] == "..." else ["...", *parts[0][0]], parts[0][1])
        found = [in_order(left, right, varies) for left, right in parts]
        return found[0] or found[1]
    return in_order(shown, printed, varies)


def in_order(shown, printed, varies):
    """As `difference`, for lines in their order."""
    left = [plain(line, varies) for line in shown]
    right = [plain(line, varies) for line in printed]
    while left and not left[-1]:
        left.pop()
    while right and not right[-1]:
        right.pop()
    # reach[j]: can the first i lines that are shown be the first j lines that were printed?
    reach = [True] + [False] * len(right)
    for i, line in enumerate(left):
        if line.strip() == "...":
            after, seen = [], False
            for j in range(len(right) + 1):
                seen = seen or reach[j]
                after.append(seen)
        else:
            after = [False] + [reach[j] and fits(line, right[j]) for j in range(len(right))]
        if not any(after):
            at = max(j for j, possible in enumerate(reach) if possible)
            got = printed[at] if at < len(printed) else "(no more lines)"
            return f"line {i + 1} is shown as\n    {shown[i]}\n  and the command prints\n    {got}"
        reach = after
    if not reach[-1]:
        at = max(j for j, possible in enumerate(reach) if possible)
        return f"the page does not show this line, which the command prints\n    {printed[at]}"
    return None
