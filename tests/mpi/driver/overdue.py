"""Ends commands of a test run that take far too long, so that one of them does not stop the whole run. If the run itself
is ended, all of its commands end.

Launches have time limits of their own (`stacks.execute`). Some other commands have none, because they end at once:
compilers, and the command under test. A thread looks once in ten seconds for processes that this run started itself and
that are older than the limit. It ends each one with its group and counts a failure.

Limits: it does not look at the processes of processes. A group that such a process has left remains.
"""

import os
import signal
import threading
import time

from driver.stacks import MARK

PAUSE = 10


def started_here():
    """The processes that this one started: [(number, age in seconds, command line)]."""
    found, ticks = [], os.sysconf("SC_CLK_TCK")
    with open("/proc/uptime", encoding="ascii") as file:
        now = float(file.read().split()[0])
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    command = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
                found.append((int(name), now - int(fields[19]) / ticks, command))
        except OSError:
            pass
    return found


def end(pid):
    """Ends a process, with its group if it has one of its own."""
    try:
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def look(results, limit):
    """Ends what is older than `limit` seconds, and counts a failure for each."""
    for pid, age, command in started_here():
        if age > limit:
            end(pid)
            results.add(f"a command ends within {limit / 60:.0f} minutes",
                        [f"it was ended after {age / 60:.0f} minutes: {command[:300]}"])


def end_all():
    """Ends what this run started, and the processes of its launches that have other parents by now."""
    for pid, _, _ in started_here():
        end(pid)
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if any(word.startswith(f"{MARK}={os.getpid()}-".encode()) for word in file.read().split(b"\0")):
                    os.kill(int(name), signal.SIGKILL)
        except OSError:
            pass


def end_with_this_run(tidy):
    """If this run is ended from outside, its launches end as well, and `tidy` is called."""
    def stop(number, _frame):
        end_all()
        tidy()
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def watch(results, limit):
    """Looks again and again until this process ends."""
    def again():
        while True:
            time.sleep(PAUSE)
            look(results, limit)

    threading.Thread(target=again, daemon=True, name="overdue").start()
