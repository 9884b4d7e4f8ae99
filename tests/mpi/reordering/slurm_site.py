"""A site that has switched rankweave on in all jobs of Slurm, by the files that the packages have for this."""

import os
import re
import shlex
import shutil

from driver import stacks

SITE = os.path.join(stacks.ROOT, "scripts", "packaging", "site")
# The user of the tests may be root, and the launches are short.
SETTINGS = {"loader": "/proc/self", "first_uid": "0", "jobs_only": "yes", "shortest": "off"}


def install(folder, library):
    """Puts the files of the site into a folder, as an administrator does."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(SITE, "rankweave.sh"), encoding="utf-8") as file:
        text = file.read().replace("@LIBRARY@", library)
    for name, value in SETTINGS.items():
        text = re.sub(rf"^_rankweave_{name}=.*$", f"_rankweave_{name}={value}", text, flags=re.M)
    with open(os.path.join(folder, "rankweave.sh"), "w", encoding="utf-8") as file:
        file.write(text)
    shutil.copy(os.path.join(SITE, "task-prolog"), folder)


def task_prolog(launches):
    """With Slurm's TaskProlog, plain launches of srun and of a script are recorded, and those of a user who has switched it off
    are not. `launches` are those of slurm.py. Afterwards, Slurm is as before."""
    folder = os.path.join(launches.cluster.work, "site")
    install(folder, launches.tool.library)
    configuration = os.path.join(launches.cluster.state["directory"], "slurm", "slurm.conf")
    with open(configuration, encoding="utf-8") as file:
        before = file.read()
    with open(configuration, "a", encoding="utf-8") as file:
        file.write(f"TaskProlog={folder}/task-prolog\n")
    launches.cluster.do("scontrol", "reconfigure")
    launch = launches.srun("-n", "8", "-N", "2", launches.ring, "send")
    store, off = launches.store("task-prolog"), launches.store("task-prolog-off")
    launches.one("TaskProlog", launch, store, RANKWEAVE_STORE=store)
    outcome = launches.execute(launch, RANKWEAVE_STORE=off, RANKWEAVE_MODE="off")
    problems = launches.ended(outcome, "ok send\n") + (["something was stored"] if launches.tool.stored(off) else [])
    launches.add("TaskProlog, and the user has switched it off", problems, outcome)
    store = launches.store("task-prolog-script")
    launcher = [launches.stack.launcher, "-n", "8", *(["-iface", "eth0"] if not launches.stack.openmpi else [])]
    path = launches.write("prolog.sh", "#SBATCH -N 2 -n 8 -o out.%j", f"export RANKWEAVE_STORE={store}",
                          shlex.join([*launcher, launches.ring, "send"]))
    problems, outcome = launches.submit(["sbatch", "--parsable", path], "ok send\n")
    launches.add("TaskProlog, launcher of the MPI in sbatch", problems + launches.recorded(store, 8), outcome)
    with open(configuration, "w", encoding="utf-8") as file:
        file.write(before)
    launches.cluster.do("scontrol", "reconfigure")
