"""Shows where the processes of a launch wait that did not end in time.

A hang that occurs once in a thousand launches cannot be repeated at will. The test that meets it therefore reports
for each process its state, the processor time that it has used, and the call stacks of all its threads. The call
stacks need gdb and the right to trace other processes. Without them the test reports the rest.
"""

import os
import shutil
import subprocess

# The most lines of one call stack, and of the whole report.
DEPTH, MOST_LINES = 24, 400
TRACE_TIMEOUT = 30


def marked(variable):
    """The processes whose environment has this setting: [(number, command line)]."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                ours = variable.encode() in file.read().split(b"\0")
            if ours:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    found.append((int(name), file.read().replace(b"\0", b" ").decode(errors="replace")))
        except OSError:
            pass
    return sorted(found)


def state(pid):
    """The state and the processor time of a process, from /proc."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return "ended meanwhile"
    ticks = os.sysconf("SC_CLK_TCK")
    program, kernel = int(fields[11]) / ticks, int(fields[12]) / ticks
    return f"state {fields[0]}, {program:.1f} s in the program, {kernel:.1f} s in the kernel"


def waits_of(pid):
    """In which function of the kernel each thread of a process waits."""
    lines = []
    for name in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        with open(f"/proc/{pid}/task/{name}/wchan", encoding="utf-8") as file:
            lines.append(f"thread {name}: {file.read() or 'runs'}")
    return lines


def stacks_of(pid, command):
    """The call stacks of all threads of a process, or why there are none."""
    if "/qemu-" in command.partition(" ")[0]:
        # gdb would show the stacks of the emulator, without names.
        try:
            return waits_of(pid)
        except OSError:
            return ["ended meanwhile"]
    if not shutil.which("gdb"):
        return ["no stacks: gdb is not installed"]
    try:
        done = subprocess.run(
            ["gdb", "-batch", "-nx", "-p", str(pid), "-ex", "set debuginfod enabled off",
             "-ex", f"thread apply all backtrace {DEPTH}"], capture_output=True, text=True, check=False,
            errors="replace", timeout=TRACE_TIMEOUT, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return [f"no stacks: gdb did not answer within {TRACE_TIMEOUT} s"]
    lines = [line for line in done.stdout.splitlines() if line.startswith(("#", "Thread"))]
    return lines or [f"no stacks: {done.stderr.strip()[-200:]}"]


def account(variable):
    """The state and the call stacks of the processes with this setting in their environment, line by line."""
    lines = []
    for pid, command in marked(variable):
        lines.append(f"process {pid}: {command[:160]}")
        lines.append(f"  {state(pid)}")
        lines.extend(f"  {line}" for line in stacks_of(pid, command))
    return lines[:MOST_LINES]
