"""One rank of the mpi4py test suite: runs it and writes down how each test ended.

    python mpi4py_suite.py SUITE RESULTS [arguments of the suite's main.py]

SUITE is the suite's directory (test/ of the source distribution), RESULTS a directory. Every rank
writes RESULTS/RANK: a line `start NAME` before a test, `pass|fail|error|skip|… NAME [TEXT]` and
`time NAME SECONDS` behind it, and `end` at the very end, so that a suite that hangs or dies says
where.
"""

import os
import sys
import time
import unittest

sys.dont_write_bytecode = True


class Log(unittest.TextTestResult):
    """Writes a line for each event; the usual report goes nowhere."""

    file = None

    def put(self, word, test, text=""):
        line = " ".join(str(text).split())
        self.file.write(f"{word}\t{test.id()}\t{line}\n")
        self.file.flush()

    def startTest(self, test):
        self.began = time.monotonic()
        self.put("start", test)
        super().startTest(test)

    def stopTest(self, test):
        self.put("time", test, f"{time.monotonic() - self.began:.3f}")
        super().stopTest(test)

    def addSuccess(self, test):
        self.put("pass", test)
        super().addSuccess(test)

    def addFailure(self, test, err):
        self.put("fail", test, err[1])
        super().addFailure(test, err)

    def addError(self, test, err):
        self.put("error", test, f"{err[0].__name__}: {err[1]}")
        super().addError(test, err)

    def addSkip(self, test, reason):
        self.put("skip", test, reason)
        super().addSkip(test, reason)

    def addExpectedFailure(self, test, err):
        self.put("expected-failure", test)
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test):
        self.put("unexpected-success", test)
        super().addUnexpectedSuccess(test)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.put("fail-part", subtest, f"{err[0].__name__}: {err[1]}")
        super().addSubTest(test, subtest, err)


def main():
    suite, results, *arguments = sys.argv[1:]
    # The suite starts children with this interpreter and looks for its helpers beside itself.
    sys.path.insert(0, suite)
    os.chdir(os.path.dirname(suite))
    import main as program
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.Get_rank()
    with open(os.path.join(results, str(rank)), "w", encoding="utf-8") as file:
        Log.file = file
        quiet = open(os.devnull, "w", encoding="utf-8")
        runner = unittest.TextTestRunner(stream=quiet, resultclass=Log, verbosity=0)
        try:
            program.TestProgram(module=None, testRunner=runner,
                                argv=[os.path.join(suite, "main.py"), "-q", *arguments])
        except SystemExit:
            pass
        file.write("end\n")


if __name__ == "__main__":
    main()
