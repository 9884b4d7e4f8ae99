"""A shell that keeps its directory and variables from one command to the next, as that of a reader does."""

import os
import re
import selectors
import signal
import subprocess
import tempfile
import time

END = "rankweave-documents-end"


class Stuck(Exception):
    """A command did not end in time."""


class Shell:
    """Runs commands one after the other. What they print on standard output and error comes as one text."""

    def __init__(self, command, environment, directory):
        self.script = tempfile.NamedTemporaryFile("w", prefix="rankweave-documents-", suffix=".sh", delete=False)
        # The shell may belong to another user.
        os.chmod(self.script.name, 0o644)
        self.process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, text, limit):
        """Runs a command and gives its exit code and its lines."""
        with open(self.script.name, "w", encoding="utf-8") as f:
            f.write(text + "\n")
        # The command must not read the commands that follow. Its exit code stays in $? for the next one.
        line = f". {self.script.name} </dev/null; rc=$?; printf '\\n{END} %d\\n' $rc; (exit $rc)\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        out, deadline = b"", time.monotonic() + limit
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                found = re.search(rf"\n{END} (\d+)\n$".encode(), out)
                if found:
                    text = out[:found.start()].decode(errors="replace")
                    return int(found.group(1)), text.splitlines()
                if not waiting.select(max(0.0, deadline - time.monotonic())):
                    raise Stuck(f"did not end within {limit} seconds; so far it printed:\n{out.decode(errors='replace')}")
                piece = os.read(self.process.stdout.fileno(), 65536)
                if not piece:
                    raise Stuck(f"ended the shell; it printed:\n{out.decode(errors='replace')}")
                out += piece

    def close(self):
        """Ends the shell and everything that it started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        os.unlink(self.script.name)
