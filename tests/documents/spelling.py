"""Checks commands without running them: the shell can read them, and the options that they use exist.

`rankweave` itself reads its options: `--help` is put behind them, so that it reads all of them and does nothing. The
options of other tools are looked up in what the tool prints with `--help`.
"""

import os
import re
import shlex
import shutil
import subprocess

from places import stacks

# Commands in front of another command, which are no launchers.
IN_FRONT = ("sudo", "env", "time")
# The tools whose options are looked up, with what prints all of their options.
TOOLS = {
    "srun": ["srun", "--help"], "sbatch": ["sbatch", "--help"], "salloc": ["salloc", "--help"],
    "mpirun": ["mpirun.openmpi", "--help", "full"], "mpiexec": ["mpiexec.mpich", "-help"],
    # With this name, a block says that its launcher is Intel's (`needs: impi`).
    "impi": [stacks.IntelMpi.launcher, "-help"],
    "apptainer": ["apptainer", "exec", "--help"], "docker": ["docker", "run", "--help"],
    "podman": ["podman", "run", "--help"], "ch-run": ["ch-run", "--help"],
}
# What an environment variable of rankweave looks like.
VARIABLE = re.compile(r"\bRANKWEAVE_[A-Z_]+[A-Z]\b")


def commands(text):
    """The simple commands of a text of the shell, each as its words."""
    text = re.sub(r"\\\n", " ", text)
    found, words = [], []
    for line in text.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        for word in lexer:
            if word and set(word) <= set("|&;()"):
                found.append(words)
                words = []
            else:
                words.append(word)
        found.append(words)
        words = []
    return [w for w in (without_assignments(words) for words in found) if w]


def without_assignments(words):
    while words and (re.fullmatch(r"\w+=.*", words[0]) or words[0] in IN_FRONT):
        words = words[1:]
    return words


def is_rankweave(word):
    return word == "rankweave" or word.endswith("/bin/rankweave")


def of_rankweave(words, command, environment):
    """What is wrong with a call of rankweave; None if nothing is."""
    cut = [i for i, word in enumerate(words) if word in ("--", "<", ">", ">>", "2")]
    own = words[1:cut[0]] if cut else words[1:]
    if not own or own[0].startswith("-"):
        return None
    done = subprocess.run([command, *own, "--help"], capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 0:
        return None
    return f"rankweave does not take `{shlex.join(own)}`: {done.stderr.strip().splitlines()[:1]}"


# Slurm's commands need a configuration, even for their help.
SLURM = "ClusterName=none\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=all Nodes=localhost\n"


class Helps:
    """What the tools print about their options."""

    def __init__(self, folder):
        self.texts = {}
        self.absent = set()
        self.environment = dict(os.environ, SLURM_CONF=os.path.join(folder, "slurm.conf"), OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", USER=os.environ.get("USER", "ann"))
        with open(self.environment["SLURM_CONF"], "w", encoding="utf-8") as f:
            f.write(SLURM)

    def text(self, tool):
        if tool not in self.texts:
            asked = TOOLS[tool]
            text = None
            if shutil.which(asked[0]):
                done = subprocess.run(asked, capture_output=True, text=True, check=False,
                                      stdin=subprocess.DEVNULL, env=self.environment)
                text = done.stdout + done.stderr
            else:
                self.absent.add(tool)
            self.texts[tool] = text
        return self.texts[tool]

    def unknown(self, words, need):
        """The options in front of the program that the help of the tool does not name."""
        tool = os.path.basename(words[0])
        if need == "impi" and tool in ("mpirun", "mpiexec", "mpiexec.hydra"):
            tool = "impi"
        if tool not in TOOLS or self.text(tool) is None:
            return []
        wrong = []
        for word in words[1:]:
            if word == "--" or word.startswith(("./", "/")) or word in TOOLS or is_rankweave(word):
                break
            name = word.split("=")[0]
            if re.fullmatch(r"-{1,2}[a-z][\w-]+", name) and not re.search(
                    rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.text(tool)):
                wrong.append(f"{tool} does not know {name}")
        return wrong


def problems(text, need, command, environment, helps, variables):
    """What is wrong with the commands of a text, which need an MPI library, or None."""
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"the shell cannot read it: {done.stderr.strip()}"]
    wrong = [f"there is no variable {name}" for name in VARIABLE.findall(text) if name not in variables]
    try:
        parts = commands(text)
    except ValueError as error:
        return wrong + [f"its words cannot be told apart: {error}"]
    for words in parts:
        while words:
            if is_rankweave(words[0]):
                said = of_rankweave(words, command, environment)
                wrong += [said] if said else []
            wrong += helps.unknown(words, need)
            # The launcher behind `--`, the command in a container, the container behind a launcher.
            later = [i for i, word in enumerate(words) if i and (
                word == "--" or is_rankweave(word) or word in TOOLS)]
            if not later:
                break
            words = without_assignments(words[later[0] + (words[later[0]] == "--"):])
    return wrong
