"""Two users on one machine: nothing is read, written or removed that is not the user's own.

The test runs as root. It makes two user accounts, `victim` and `other`, and a group, and removes them at the end.
The account `other` puts files and links where the launches and commands of the account `victim` will look. It
also starts programs that have the setuid bit or capabilities. Afterwards the files of `victim` must be the same, and
the secret of `victim` must not be in any other file. Without root, nothing is tested, and the test says so.
"""

import glob
import hashlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
import time

NP = 2
EPILOG = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))),
                      "scripts", "packaging", "epilog")
KEY = "shared"
SOURCE = "run_ends.c"
# A word in the victim's own record.
SECRET = "secret-of-the-victim"


class User:
    """A throw-away account. Its name is at most 32 characters."""

    def __init__(self, role, group):
        self.name = f"rankweave-{role}-{os.getpid()}"
        done = subprocess.run(["useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell",
                               "/usr/sbin/nologin", "--groups", group, self.name],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"useradd: {done.stderr.strip()}")
        ids = subprocess.run(["id", "-u", self.name], capture_output=True, text=True, check=True).stdout
        self.uid = int(ids)
        self.gid = int(subprocess.run(["id", "-g", self.name], capture_output=True, text=True,
                                      check=True).stdout)

    def remove(self):
        subprocess.run(["userdel", self.name], capture_output=True, check=False)


class Scene:
    """The two users, a directory with copies of what they run, and what the victim has."""

    def __init__(self, tool, results, stack):
        self.tool, self.results, self.stack = tool, results, stack
        self.group = f"rankweave-g-{os.getpid()}"
        subprocess.run(["groupadd", "--system", self.group], capture_output=True, check=True)
        self.gid = int(subprocess.run(["getent", "group", self.group], capture_output=True, text=True,
                                      check=True).stdout.split(":")[2])
        self.users = []
        self.umask = 0o002
        self.place = tempfile.mkdtemp(prefix="rankweave-users-")
        self.memory = tempfile.mkdtemp(prefix="rankweave-users-", dir="/dev/shm")

    def __enter__(self):
        os.chmod(self.place, 0o755)
        self.victim, self.other = (self.account(role) for role in ("victim", "other"))
        self.library = shutil.copy(self.tool.library, self.path("librankweave.so"))
        self.command = shutil.copy(self.tool.command, self.path("rankweave"))
        self.program = shutil.copy(self.stack.program(SOURCE), self.path("program"))
        # Like /dev/shm itself: everybody can write, and remove only what is his own.
        os.chmod(self.memory, 0o1777)
        self.store = self.folder("store", None, 0o2770)
        os.chown(self.store, 0, self.gid)
        self.home = self.folder("home-of-victim", self.victim, 0o700)
        self.private = os.path.join(self.home, "private")
        return self

    def __exit__(self, *_):
        for name in glob.glob("/dev/shm/mpich_shm_*"):
            # What killed MPI programs of the two leave.
            if os.path.exists(name) and os.lstat(name).st_uid in [user.uid for user in self.users]:
                os.remove(name)
        for user in self.users:
            user.remove()
        subprocess.run(["groupdel", self.group], capture_output=True, check=False)
        for folder in (self.place, self.memory):
            shutil.rmtree(folder, ignore_errors=True)

    def account(self, role):
        user = User(role, self.group)
        self.users.append(user)
        return user

    def path(self, *names):
        return os.path.join(self.place, *names)

    def folder(self, name, user, mode):
        path = self.path(name)
        os.mkdir(path)
        if user:
            os.chown(path, user.uid, user.gid)
        os.chmod(path, mode)
        return path

    def run(self, user, command, **variables):
        """What a command of a user says: exit code and both outputs."""
        environment = {**self.stack.environment(), "HOME": "/nonexistent", "TMPDIR": self.memory, **variables}
        process = subprocess.Popen(command, user=user.uid, group=user.gid, extra_groups=[self.gid], umask=self.umask,
                                   env=environment, cwd=self.memory, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                                   errors="replace", start_new_session=True)
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            out, err = process.communicate()
            err += "\nit hangs"
        done = subprocess.CompletedProcess(command, process.returncode, out, err)
        done.command = shlex.join(command)
        return done

    def launch(self, user, store, end="", program=None, preload=True, np=NP, **more):
        variables = {"RANKWEAVE_MODE": "record", "RANKWEAVE_STORE": store, "RANKWEAVE_SPILL": self.memory,
                     "RANKWEAVE_KEY": KEY, "RUN_END": end, "RUN_MESSAGES": "50", **more}
        if preload:
            variables["LD_PRELOAD"] = self.library
        return self.run(user, self.stack.launch(np, variables, [program or self.program, SECRET if
                                                                store == self.private else "shared"]))

    def ask(self, user, *words):
        return self.run(user, [self.command, *words])

    def own(self):
        """Every path in the victim's home, with its kind, owner, content and time."""
        found = {}
        for folder, folders, files in os.walk(self.home):
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                about = os.lstat(path)
                content = ""
                if stat.S_ISREG(about.st_mode):
                    with open(path, "rb") as file:
                        content = hashlib.sha256(file.read()).hexdigest()
                found[path] = (about.st_mode, about.st_uid, content, about.st_mtime_ns)
        return found

    def told(self):
        """Files outside the victim's home that contain its secret."""
        found = []
        for top in (self.store, self.memory):
            for folder, _, files in os.walk(top):
                for path in (os.path.join(folder, name) for name in files):
                    if stat.S_ISREG(os.lstat(path).st_mode):
                        with open(path, "rb") as file:
                            if SECRET.encode() in file.read():
                                found.append(path)
        return found

    def furnish(self):
        """Folders in the victim's own store, with files of the names that the library removes."""
        for folder, name in ((f"{KEY}.runs", "failed-1-1"), ("orders", f"{KEY}.0123456789abcdef.order")):
            path = os.path.join(self.private, folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write("the victim's")
            for made in (path, os.path.dirname(path)):
                os.chown(made, self.victim.uid, self.victim.gid)

    def differences(self, before):
        after = self.own()
        problems = [f"{path} of the victim is gone or changed" for path in before
                    if after.get(path) != before[path]]
        problems += [f"{path} is new at the victim's" for path in after if path not in before]
        return problems + [f"{path} has what only the victim may read" for path in self.told()]

    def link(self, target, path):
        """A link that the other user makes."""
        os.symlink(target, path)
        os.lchown(path, self.other.uid, self.other.gid)

    def empty(self, folder):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.remove(path)

    def spills(self, user):
        return sorted(glob.glob(os.path.join(glob.escape(self.memory), f"rankweave-{user.uid}-*.spill")))


def run(tool, results, stack):
    """All of it on one MPI library."""
    if os.geteuid() != 0:
        results.skip(f"{stack.name} two users", "only root can make accounts")
        return
    if not shutil.which("useradd"):
        results.skip(f"{stack.name} two users", "useradd is missing")
        return
    problem = stack.build(SOURCE)
    if problem:
        results.add(f"{stack.name} compiles {SOURCE}", [problem])
        return
    with Scene(tool, results, stack) as scene:
        done = scene.launch(scene.victim, scene.private)
        results.add(f"{stack.name} two users: the victim records", ended_well(done) or (
            [] if os.path.exists(os.path.join(scene.private, f"{KEY}.rkw")) else ["nothing was stored"]))
        scene.furnish()
        for part in (of_a_group, odd_spill_files, unstored, planted_links, waiting_parts, epilog_of_root, more_rights):
            before = scene.own()
            problems = part(scene)
            results.add(f"{stack.name} two users: {part.__doc__.splitlines()[0]}",
                        problems + scene.differences(before))
            scene.empty(scene.store)
            scene.empty(scene.memory)


def ended_well(done, code=0):
    if done.returncode == code and "panicked" not in done.stderr:
        return []
    return [f"exit code {done.returncode} instead of {code}: {done.stderr.strip()[:300]!r} ({done.command})"]


def without_errors(done):
    """The command ended well, and the library and the command had nothing to complain about."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("rankweave:")]
    return ended_well(done) + [f"{line!r} ({done.command})" for line in lines]


def of_a_group(scene):
    """a store of a group serves both, with the usual umask"""
    scene.umask = 0o022
    problems = without_errors(scene.launch(scene.victim, scene.store))
    for turn in range(3):
        for user in (scene.other, scene.victim):
            # Launches with more messages and with fewer, so that both users change and keep records of the other.
            messages = str(50 + 7 * turn if user is scene.other else 50)
            problems += without_errors(scene.launch(user, scene.store, RUN_MESSAGES=messages))
            problems += ended_well(scene.launch(user, scene.store, RANKWEAVE_MODE="shuffle", RANKWEAVE_SEED="3"))
            problems += ended_well(scene.ask(user, "show", KEY, "--store", scene.store))
    for folder, folders, files in os.walk(scene.store):
        problems += [f"{folder}/{name} is not for the group to write" for name in folders + files
                     if not os.lstat(os.path.join(folder, name)).st_mode & stat.S_IWGRP]
    # A private store stays private in the directory of a group.
    private = os.path.join(scene.store, "private")
    os.mkdir(private)
    os.chown(private, scene.victim.uid, scene.gid)
    os.chmod(private, 0o700)
    for messages in ("40", "50"):
        problems += without_errors(scene.launch(scene.victim, private, RUN_MESSAGES=messages))
    if stat.S_IMODE(os.lstat(private).st_mode) != 0o700:
        problems.append(f"the private store has the mode {os.lstat(private).st_mode:o}")
    problems += [f"{name} in the private store is for the group to write" for name in os.listdir(private)
                 if os.lstat(os.path.join(private, name)).st_mode & stat.S_IWGRP]
    scene.umask = 0o002
    # An older leftover of the other user's save is for the other user to remove.
    leftover = os.path.join(scene.store, f".{KEY}.rkw.1-2-3.tmp")
    with open(leftover, "w") as file:
        file.write("leftover")
    os.chown(leftover, scene.other.uid, scene.gid)
    os.utime(leftover, (1, 1))
    problems += ended_well(scene.launch(scene.victim, scene.store, RUN_MESSAGES="60"))
    if not os.path.exists(leftover):
        problems.append("a leftover of the other user's save was removed")
    return problems


def odd_spill_files(scene):
    """spill files of one user and hostile names of another, recovered by both"""
    problems = []
    scene.launch(scene.victim, scene.store, end="kill")
    mine = scene.spills(scene.victim)
    if len(mine) != NP:
        return [f"{len(mine)} spill files of {NP} tasks"]
    for words in (["recover"], ["recover", "--discard"], ["recover", "--force"], ["recover", "--running"]):
        done = scene.ask(scene.other, *words, "--store", scene.store, scene.memory)
        problems += ended_well(done, 1)
    if scene.spills(scene.victim) != mine or glob.glob(os.path.join(scene.store, "*.rkw")):
        problems.append("the other user's recover took the victim's files")
    planted = plant(scene, mine[0])
    done = scene.ask(scene.victim, "recover", "--store", scene.store, scene.memory)
    problems += ended_well(done)
    if not os.path.exists(os.path.join(scene.store, f"{KEY}.rkw")) or scene.spills(scene.victim) == mine:
        problems.append(f"the victim's own job was not recovered: {done.stderr.strip()[:300]!r}")
    scene.ask(scene.victim, "recover", "--discard", "--store", scene.store, scene.memory)
    problems += [f"{path!r} of the other user is gone" for path in planted if not os.path.lexists(path)]
    for path, content in planted.items():
        if content is not None:
            with open(path, "rb") as file:
                if file.read() != content:
                    problems.append(f"{path!r} of the other user was changed")
    return problems


def plant(scene, spill):
    """What the other user puts beside the victim's spill file: path -> content, or None if it is no regular file."""
    uid, planted = scene.victim.uid, {}
    name = os.path.basename(spill)
    job = name.split("-")[2]
    record = os.path.join(scene.private, f"{KEY}.rkw")
    with open(spill, "rb") as file:
        content = file.read()

    def path(text):
        return os.path.join(scene.memory, text)

    for text in (f"rankweave-{uid}-{job}-7-1.spill", f"rankweave-{uid}-00000000000000aa-0-1.spill",
                 f"rankweave-{uid}-{job}-1-\n\x1b[31m.spill", f"rankweave-{uid}-{'9' * 200}-1-1.spill",
                 f"rankweave-{uid}-..-1-1.spill"):
        with open(path(text), "wb") as file:
            file.write(content)
        planted[path(text)] = content
    for number, target in enumerate((record, scene.private, scene.memory, "/dev/zero", "nothing")):
        link = path(f"rankweave-{uid}-00000000000000b{number}-0-1.spill")
        os.symlink(target, link)
        planted[link] = None
    os.mkfifo(path(f"rankweave-{uid}-00000000000000c0-0-1.spill"))
    os.mkdir(path(f"rankweave-{uid}-00000000000000c1-0-1.spill"))
    for text in ("c0", "c1"):
        planted[path(f"rankweave-{uid}-00000000000000{text}-0-1.spill")] = None
    for made in planted:
        os.lchown(made, scene.other.uid, scene.other.gid)
    return planted


def unstored(scene):
    """the place for refused records, made by another user beforehand"""
    problems = []
    place = os.path.join(scene.memory, f"rankweave-{scene.victim.uid}-unstored")
    for kind in ("directory", "link", "file"):
        if kind == "directory":
            os.mkdir(place, 0o777)
            os.chmod(place, 0o777)
        elif kind == "link":
            os.symlink(scene.private, place)
        else:
            open(place, "w").close()
        os.lchown(place, scene.other.uid, scene.other.gid)
        # The store cannot be made, so the record is refused. As it is kept nowhere, the spill files stay.
        problems += ended_well(scene.launch(scene.victim, "/proc/nothing"))
        problems += ended_well(scene.ask(scene.victim, "recover", scene.memory, "--store", scene.store))
        problems += ended_well(scene.ask(scene.victim, "recover", "--discard", scene.memory, "--store",
                                         scene.store), 1)
        if not os.path.lexists(place) or kind == "directory" and os.listdir(place):
            problems.append(f"the {kind} of the other user was used or removed")
        scene.empty(scene.memory)
    return problems


def planted_links(scene):
    """links to the victim's own files in the store of a group"""
    problems = []
    private, orders = os.path.join(scene.private, KEY), os.path.join(scene.private, "orders")
    links = {f"{KEY}.rkw": f"{private}.rkw", f"{KEY}.runs": f"{private}.runs", "orders": orders,
             "unfinished": scene.private, "program.verdict": f"{private}.rkw"}
    for name, target in links.items():
        scene.link(target, os.path.join(scene.store, name))
    slots = {"RANKWEAVE_TOPOLOGY": "tree:2:2@1:10", "RANKWEAVE_SLOTS": "0,2", "RANKWEAVE_MIN_GAIN": "0"}
    for settings in ({}, {"RUN_MESSAGES": "70"}, {"RANKWEAVE_MODE": "reorder", **slots}, {"end": "fail"}):
        done = scene.launch(scene.victim, scene.store, **settings)
        problems += ended_well(done, 1 if "end" in settings else 0)
    scene.launch(scene.victim, scene.store, end="kill")
    spills = scene.spills(scene.victim)
    if spills:
        os.remove(spills[0])
    for words in (["recover", scene.memory], ["recover", "--discard", scene.memory], ["list", "--all"],
                  ["show", KEY], ["rm", KEY]):
        done = scene.ask(scene.victim, *words, "--store", scene.store)
        if SECRET in done.stdout + done.stderr :
            problems.append(f"{done.command} read the victim's own record through a link")
        if "panicked" in done.stderr:
            problems.append(f"{done.command}: {done.stderr.strip()[:300]!r}")
    return problems


def waiting_parts(scene):
    """parts of a job that wait in the store of a group, and another user's of the same number"""
    scene.launch(scene.victim, scene.store, end="kill")
    spills = scene.spills(scene.victim)
    if len(spills) != NP:
        return [f"{len(spills)} spill files of {NP} tasks"]
    os.remove(spills[0])
    problems = ended_well(scene.ask(scene.victim, "recover", scene.memory, "--store", scene.store))
    waiting = glob.glob(os.path.join(scene.store, "unfinished", "*.parts"))
    if len(waiting) != 1:
        return problems + [f"{len(waiting)} files of parts wait instead of one"]
    job = os.path.basename(waiting[0]).split(".")[0]
    theirs = os.path.join(scene.store, "unfinished", f"{job}.elsewhere.parts")
    shutil.copy(waiting[0], theirs)
    os.chown(theirs, scene.other.uid, scene.gid)
    os.chmod(os.path.join(scene.store, "unfinished"), 0o2770)
    for words in (["recover"], ["recover", "--discard"]):
        scene.ask(scene.other, *words, scene.memory, "--store", scene.store)
        if not os.path.exists(waiting[0]):
            return problems + [f"{words} of the other user removed the victim's parts"]
    shutil.copy(waiting[0], theirs)
    os.chown(theirs, scene.other.uid, scene.gid)
    scene.ask(scene.victim, "recover", "--discard", scene.memory, "--store", scene.store)
    if not os.path.exists(theirs):
        problems.append("recover --discard of the victim removed the other user's parts")
    return problems


def epilog_of_root(scene):
    """the epilog of root makes the record of a killed job with the rights of its user, without a search path of its own"""
    scene.launch(scene.victim, scene.store, end="kill")
    if len(scene.spills(scene.victim)) != NP:
        return ["no spill files were left"]
    environment = {"SLURM_JOB_USER": scene.victim.name, "RANKWEAVE_COMMAND": scene.command, "RANKWEAVE_SPILL": scene.memory,
                   "PATH": "/bin"}
    problems = []
    # The launcher returns before its processes have ended.
    for _ in range(50):
        done = subprocess.run(["/bin/sh", EPILOG], env=environment, capture_output=True, text=True, check=False, timeout=60)
        done.command = "epilog"
        problems = ended_well(done) + ([f"printed {done.stdout + done.stderr!r}"] if done.stdout + done.stderr else [])
        if problems or not scene.spills(scene.victim):
            break
        time.sleep(0.1)
    path = os.path.join(scene.store, f"{KEY}.rkw")
    if not os.path.exists(path):
        problems.append("no record was made")
    elif os.lstat(path).st_uid != scene.victim.uid:
        problems.append("the record does not belong to the user of the job")
    return problems


def more_rights(scene):
    """programs with the setuid bit, the setgid bit and capabilities"""
    source = subprocess.run(["find", os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.realpath(__file__)))), "-name", SOURCE], capture_output=True, text=True, check=True).stdout.split()[0]
    include = os.path.join(os.path.dirname(os.path.dirname(source)), "include")
    program, problems = scene.path("linked"), []
    # Before the MPI library, as if it were preloaded.
    built = subprocess.run([*scene.stack.compiler_command(), "-O1", "-I", include, "-o", program, source,
                            "-Wl,--no-as-needed", scene.library, f"-Wl,-rpath,{scene.place}"],
                           capture_output=True, text=True, check=False)
    if built.returncode:
        return [f"cannot link with the library: {built.stderr.strip()[:300]}"]
    scene.run(scene.victim, ["chmod", "711", scene.home])
    target = os.path.join(scene.home, "written")
    victim, other = scene.victim, scene.other
    # Processes with more rights than their user may not look at each other, as shared memory asks for.
    asked = {"RANKWEAVE_SPILL": scene.home, "RANKWEAVE_FLUSH_SIGNAL": "USR1", "RANKWEAVE_VERBOSE": "1",
             "UCX_TLS": "sysv,self"}
    # The program is linked as it should be if it records without any such right.
    own = scene.launch(other, os.path.join(scene.memory, "own"), program=program, preload=False)
    if ended_well(own) or not os.path.exists(os.path.join(scene.memory, "own", f"{KEY}.rkw")):
        return [f"a program that is linked with the library does not record: {own.stderr.strip()[:300]!r}"]
    for name in ("setuid", "setgid", "capabilities"):
        owner = (victim.uid, victim.gid) if name != "capabilities" else (0, 0)
        os.chown(program, *owner)
        os.chmod(program, {"setuid": 0o4755, "setgid": 0o2755}.get(name, 0o755))
        if name == "setgid":
            os.chmod(scene.home, 0o2770)
        if name == "capabilities":
            if not shutil.which("setcap"):
                problems.append("setcap is missing")
                continue
            os.chmod(scene.home, 0o700)
            subprocess.run(["setcap", "cap_dac_override,cap_dac_read_search+ep", program], check=True)
        for end, mode in (("", "record"), ("kill", "record"), ("", "shuffle")):
            done = scene.launch(other, target, end=end, program=program, preload=False, **asked,
                                RANKWEAVE_MODE=mode)
            if not end and done.returncode != 0:
                problems += [f"{name}: {line}" for line in ended_well(done)]
            if "rankweave" in done.stdout + done.stderr and not end:
                problems.append(f"{name}: the library said {done.stderr.strip()[:300]!r}")
            left = [n for n in os.listdir(scene.home) if n != "private"]
            for entry in left:
                problems.append(f"{name}: a launch of the other user made {entry} at the victim's")
                path = os.path.join(scene.home, entry)
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    os.remove(program)
    os.chmod(scene.home, 0o700)
    return problems
