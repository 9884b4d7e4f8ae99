"""The files with which a site switches rankweave on for everybody, and the bounds of the stores, in a system with users.

The .deb is installed in a copy of Debian 12, with accounts of users and of a service. First, each shell reads the file of the
site as each of them, with what a user may have in the environment. Then users log in and launch an MPI program, once with Open MPI
and once with MPICH. At last, the epilog keeps the store of a user within bounds.
"""

# The shells that read rankweave.sh, and those that read rankweave.csh.
SHELLS = ["bash", "dash", "zsh", "ksh93", "mksh"]
C_SHELLS = ["tcsh", "bsd-csh"]

# $1 is the .deb, which the system has as /mnt/*.deb.
PREPARE = r"""
set -e
dpkg -i /mnt/*.deb >/dev/null
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
for user in ann bob cat; do useradd -m -s /bin/bash $user; done
chsh -s /bin/tcsh cat
useradd --system -m -s /bin/bash service
site=/usr/share/rankweave/site library=/usr/lib/rankweave/librankweave.so
"""

# as USER SHELL COMMAND [no-job] [NAME=VALUE…]: a new shell without other variables but that of a job of Slurm, and without
# programs: the file must not start any. What it prints is seen, also on standard error.
EACH_SHELL = r"""
as() {
    local user=$1 shell=$2 command=$3 job=SLURM_JOB_ID=7
    shift 3
    [ "${1:-}" != no-job ] || { job='' && shift; }
    runuser -u $user -- env -i HOME=/home/$user PATH=/nonexistent $job "$@" /bin/$shell -c "$command" 2>&1
}
ask() {
    local name=$1
    shift
    printf 'case: %s: %s: ' "$shell" "$name"
    as "$@" | tr '\n' ' '
    echo
}
all_cases() {
    local read=$1 show=$2 file=$3
    local twice="$read $file; $read $file; $show" changed=/tmp/changed.${file##*.}
    ask "a user" ann $shell "$read $file; $show"
    ask "read twice" ann $shell "$twice"
    ask "root" root $shell "$twice"
    ask "service" service $shell "$twice"
    ask "another tool is preloaded" ann $shell "$twice" LD_PRELOAD=libm.so.6
    ask "own copy" ann $shell "$twice" LD_PRELOAD=/tmp/librankweave.so
    ask "mode off" ann $shell "$twice" RANKWEAVE_MODE=off
    ask "mode record" ann $shell "$twice" RANKWEAVE_MODE=record
    ask "file off" bob $shell "$twice"
    ask "file off elsewhere" ann $shell "$twice" XDG_CONFIG_HOME=/home/bob/.config
    ask "own shortest" ann $shell "$twice" RANKWEAVE_SHORTEST=off
    local unset=unsetenv
    [ "${file##*.}" != sh ] || unset=unset
    ask "no HOME" ann $shell "$unset HOME; $twice"
    ask "no job" ann $shell "$twice" no-job
    ask "another batch system" ann $shell "$twice" no-job PBS_JOBID=7.host
    sed 's|_jobs_only\( *= *\)yes|_jobs_only\1no|' $file >$changed
    ask "each shell" ann $shell "$read $changed; $show" no-job
    sed "s|_skip\( *\)= *\"*\$|_skip\1=\1'a*,b'|" $file >$changed
    ask "skip" ann $shell "$read $changed; $show"
    sed "s|_preload\( *=\)\( *\)[\$\"].*|_preload\1\2'/usr/\$LIB/rankweave/librankweave.so'|" $file >$changed
    ask "library by \$LIB" ann $shell "$read $changed; $read $changed; $show"
    sed 's|ld-linux-x86-64.so.2|ld-linux-aarch64.so.1|' $file >$changed
    ask "another processor" ann $shell "$read $changed; $show"
    sed 's|/usr/lib/rankweave|/usr/lib/no-rankweave|' $file >$changed
    ask "no library" ann $shell "$read $changed; $show"
    chmod 700 /usr/lib/rankweave
    ask "no permission" ann $shell "$twice"
    chmod 755 /usr/lib/rankweave
}
cp $library /tmp
ln -s ../rankweave /usr/lib/x86_64-linux-gnu/rankweave
runuser -u bob -- mkdir -p /home/bob/.config
runuser -u bob -- touch /home/bob/.config/rankweave.off
for shell in $shells; do
    all_cases . '/usr/bin/env | /bin/grep -E "^(LD_PRELOAD|RANKWEAVE_)" | /usr/bin/sort; set | /bin/grep "^_rankweave_"' $site/rankweave.sh
    ask "set -eu" ann $shell "set -eu; . $site/rankweave.sh; echo \$LD_PRELOAD"
done
for shell in $c_shells; do
    [ $shell != bsd-csh ] || sed -i 's|`id -u`|`/usr/bin/id -u`|' $site/rankweave.csh
    all_cases source '/usr/bin/env | /bin/grep -E "^(LD_PRELOAD|RANKWEAVE_)" | /usr/bin/sort; set | /bin/grep "^_rankweave_"' $site/rankweave.csh
done
"""

LIBRARY = "/usr/lib/rankweave/librankweave.so"
ON = f"LD_PRELOAD={LIBRARY} RANKWEAVE_SHORTEST=60"
# What each case of EACH_SHELL has to print.
EXPECTED = {
    "a user": ON,
    "read twice": ON,
    "root": "",
    "service": "",
    "another tool is preloaded": f"LD_PRELOAD=libm.so.6:{LIBRARY} RANKWEAVE_SHORTEST=60",
    "own copy": "LD_PRELOAD=/tmp/librankweave.so",
    "mode off": "RANKWEAVE_MODE=off",
    "mode record": f"LD_PRELOAD={LIBRARY} RANKWEAVE_MODE=record RANKWEAVE_SHORTEST=60",
    "file off": "",
    "file off elsewhere": "",
    "own shortest": f"LD_PRELOAD={LIBRARY} RANKWEAVE_SHORTEST=off",
    "no HOME": ON,
    "no job": "",
    "another batch system": ON,
    "each shell": ON,
    "skip": f"{ON} RANKWEAVE_SKIP=a*,b",
    "library by $LIB": "LD_PRELOAD=/usr/$LIB/rankweave/librankweave.so RANKWEAVE_SHORTEST=60",
    "another processor": "",
    "no library": "",
    "no permission": "",
}

# The compiler of each MPI library, and the launch of a program.
MPIS = {"Open MPI": ("mpicc.openmpi", "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0 mpirun.openmpi "
                                      "-n 4 app"),
        "MPICH": ("mpicc.mpich", "mpiexec.mpich -n 4 app")}

# Users log in, and launch a program: $compiler compiles it, $launch is the launch. `records USER` prints how many records the store
# of a user has.
LOGIN = r"""
cp $site/rankweave.sh $site/rankweave.csh /etc/profile.d
sed -i 's|_shortest\( *=\( *\)\)60|_shortest\1off|; s|_jobs_only\( *= *\)yes|_jobs_only\1no|' /etc/profile.d/rankweave.*sh
echo 'source /etc/profile.d/rankweave.csh' >>/etc/csh.login
cat >/tmp/app.c <<'TEXT'
$program
TEXT
$compiler -o /usr/local/bin/app /tmp/app.c
records() { ls /home/$1/.local/share/rankweave 2>/dev/null | grep -c 'rkw$' || true; }
for user in ann bob cat; do
    echo "login of $user: $(su - $user -c "env $launch" 2>&1 | tr '\n' ' ')records $(records $user)"
done
echo "ann types the command: $(su - ann -c "rankweave run -v -- env $launch" 2>&1 | grep -c '^sum 6$\|^rankweave: app-') records $(records ann)"
echo "bob types the command: $(su - bob -c "env $launch" 2>&1 | tr '\n' ' ')$(su - bob -c "rankweave run -v -- env $launch" 2>&1 |
    grep -o "launcher's order" | head -n 1) records $(records bob)"
sed -i 's|_shortest=off|_shortest=60|' /etc/profile.d/rankweave.sh
useradd -m -s /bin/bash dan
echo "login of dan: $(su - dan -c "env $launch" 2>&1 | tr '\n' ' ')records $(records dan)"
"""

# The epilog of a job of ann, whose store has one record.
BOUNDS = r"""
epilog() { echo "epilog $1: $(SLURM_JOB_USER=ann /usr/share/rankweave/epilog 2>&1; echo code $?) records $(records ann)" \
    $(ls -A /home/ann/.local/share/rankweave | grep -c collected); }
epilog 'without bounds'
mkdir -p /etc/rankweave
echo "RANKWEAVE_EPILOG_GC='--most-records 0 --older-than 180d'" >/etc/rankweave/epilog.conf
epilog 'with a bound'
su - ann -c "RANKWEAVE_SHORTEST=off env $launch" >/dev/null
epilog 'on the same day'
cd /home/ann/.local/share/rankweave
mv .collected-* .collected-2026-01-01-$(id -u ann)
epilog 'on another day'
su - ann -c "RANKWEAVE_SHORTEST=off env $launch" >/dev/null
rmdir .collected-* && chmod 2770 .
epilog 'with a store of a group'
echo owners $(find . ! -user ann | wc -l)
rm -r /home/bob/.local/share/rankweave
echo "no store: $(SLURM_JOB_USER=bob /usr/share/rankweave/epilog 2>&1; echo code $?) $(ls /home/bob/.local/share | wc -l)"
"""


def check(verdicts, debian, packages, program):
    """All of this in a system. `program` is the source of an MPI program for four ranks that prints `sum 6`."""
    outcome = debian.run(packages, PREPARE + f"shells='{' '.join(SHELLS)}' c_shells='{' '.join(C_SHELLS)}'" + EACH_SHELL)
    text = outcome.stdout + outcome.stderr
    cases = {}
    for line in outcome.stdout.splitlines():
        if line.startswith("case: "):
            _, shell, name, said = line.split(": ", 3)
            cases.setdefault(shell, {})[name] = said.strip()
    for shell in SHELLS + C_SHELLS:
        expected = {**EXPECTED, **({"set -eu": LIBRARY} if shell in SHELLS else {})}
        wrong = [f"{name}: {cases.get(shell, {}).get(name)!r} and not {said!r}" for name, said in expected.items()
                 if cases.get(shell, {}).get(name) != said]
        verdicts.check(f"{shell} reads the file of the site ({len(expected)} cases)", not wrong,
                       "\n".join(wrong) + ("\n" + text if shell not in cases else ""))
    for mpi, (compiler, launch) in MPIS.items():
        users(verdicts, debian, packages, program, (mpi, f"compiler={compiler} launch='{launch}'\n"))


def users(verdicts, debian, packages, program, mpi):
    """The launches of users with one MPI library: its name, and what sets the variables of LOGIN."""
    name_of_mpi, variables = mpi
    outcome = debian.run(packages, PREPARE + EACH_SHELL.partition("cp /tmp/")[0] + "mkdir -p /home/bob/.config\n"
                         "touch /home/bob/.config/rankweave.off\nchown -R bob /home/bob/.config\n"
                         + variables + LOGIN.replace("$program\n", program) + BOUNDS)
    text = outcome.stdout + outcome.stderr
    for name, line in [
            ("a user who logs in is recorded, without a word", "login of ann: sum 6 records 1"),
            ("a user with the file rankweave.off is not recorded", "login of bob: sum 6 records 0"),
            ("a user of tcsh who logs in is recorded", "login of cat: sum 6 records 1"),
            ("'rankweave run' works where the library is preloaded already", "ann types the command: 2 records 1"),
            ("'rankweave run' works in spite of rankweave.off", "bob types the command: sum 6 launcher's order records 1"),
            ("a short launch of a new program is not stored", "login of dan: sum 6 records 0"),
            ("the epilog without bounds removes nothing", "epilog without bounds: code 0 records 1 0"),
            ("the epilog removes what is beyond the bounds", "epilog with a bound: code 0 records 0 1"),
            ("the epilog does so once a day", "epilog on the same day: code 0 records 1 1"),
            ("the epilog does so again on another day", "epilog on another day: code 0 records 0 1"),
            ("the epilog leaves the store of a group alone", "epilog with a store of a group: code 0 records 1 0"),
            ("the epilog works with the rights of the user", "owners 0"),
            ("the epilog makes no store", "no store: code 0 0")]:
        verdicts.check(f"site, {name_of_mpi}: {name}", line in outcome.stdout.splitlines(), text)
