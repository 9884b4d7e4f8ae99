# shellcheck shell=sh
# Switches rankweave on in all programs of ordinary users: preloads the library in each login shell.
#
# For sh, bash, dash, ksh and zsh. Nothing reads this file where the packages put it. To use it, copy it to
# /etc/profile.d, change the settings below if you want, and do the same with rankweave.csh. A shell that reads it
# starts no other program, and prints nothing. A shell that reads it twice sets everything once.
#
# A user switches it off with an empty file ~/.config/rankweave.off, or with RANKWEAVE_MODE=off.
# The administrator's guide has a section about it: Switching it on for everybody.

# ---- settings of the site ----

# The library. Where a node does not have this file, or cannot read it, nothing is done.
_rankweave_library='@LIBRARY@'
# The loader of the programs for which the library was made. A node of another processor does not have it, and there
# nothing is done.
_rankweave_loader=@LOADER@
# What LD_PRELOAD gets. Programs of 32 bits cannot load the library, and their loader says so at each start. A path with
# '$LIB' can give them another file, see the guide.
_rankweave_preload=$_rankweave_library
# Users with a smaller number are left alone: root and the users of services.
_rankweave_first_uid=1000
# yes: only inside a job of Slurm, PBS, LSF, Flux, Grid Engine or the Fujitsu TCS, and not in other shells. A job of Slurm
# reads this file only if its script begins with '#!/bin/bash -l'; see the file task-prolog beside this one.
# no: in each login shell. A launcher that starts processes on other nodes by ssh may leave the library out there. Each launch
# then waits two minutes. The guide says how to look.
_rankweave_jobs_only=yes
# A program that is not in the store yet is stored only if it ran so long: seconds, or off. See --shortest.
_rankweave_shortest=60
# Programs that are left alone, such as '/usr/bin/*,bash,python*', or nothing. See --skip.
_rankweave_skip=

# ---- end of the settings ----

# _rankweave_no: why nothing is done. Empty: it is done.
_rankweave_no=
[ -r "$_rankweave_library" ] && [ -f "$_rankweave_library" ] || _rankweave_no=library
[ -e "$_rankweave_loader" ] || _rankweave_no=processor
[ "${RANKWEAVE_MODE:-}" != off ] || _rankweave_no=mode
[ ! -e "${XDG_CONFIG_HOME:-${HOME:-}/.config}/rankweave.off" ] || _rankweave_no=switch
# Another copy of the library, such as that of the user, stays alone.
case ${LD_PRELOAD:-} in *librankweave.so*) _rankweave_no=preloaded ;; esac
if [ "$_rankweave_jobs_only" = yes ] &&
    [ -z "${SLURM_JOB_ID:-}${PBS_JOBID:-}${LSB_JOBID:-}${FLUX_URI:-}${SGE_JOB_SPOOL_DIR:-}${PJM_JOBID:-}" ]; then
    _rankweave_no=shell
fi
if [ -z "$_rankweave_no" ]; then
    # Where there is no $UID, as in dash, /proc has it. `id` would be another program.
    # shellcheck disable=SC3028
    _rankweave_uid=${UID:-}
    if [ -z "$_rankweave_uid" ] && [ -r /proc/self/status ]; then
        while read -r _rankweave_word _rankweave_uid _rankweave_rest; do
            [ "$_rankweave_word" != Uid: ] || break
        done </proc/self/status
    fi
    [ "${_rankweave_uid:-0}" -ge "$_rankweave_first_uid" ] 2>/dev/null || _rankweave_no=user
fi
if [ -z "$_rankweave_no" ]; then
    # Behind what the user preloads: another tool for MPI stays in the chain.
    LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$_rankweave_preload
    RANKWEAVE_SHORTEST=${RANKWEAVE_SHORTEST:-$_rankweave_shortest}
    export LD_PRELOAD RANKWEAVE_SHORTEST
    if [ -n "$_rankweave_skip" ] && [ -z "${RANKWEAVE_SKIP:-}" ]; then
        RANKWEAVE_SKIP=$_rankweave_skip
        export RANKWEAVE_SKIP
    fi
fi
unset _rankweave_library _rankweave_loader _rankweave_preload _rankweave_first_uid _rankweave_jobs_only \
    _rankweave_shortest _rankweave_skip _rankweave_no _rankweave_uid _rankweave_word _rankweave_rest
