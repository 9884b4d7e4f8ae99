# Switches rankweave on in all programs of ordinary users: preloads the library in each login shell.
#
# For csh and tcsh. rankweave.sh beside this file says how it is used, and has more about each setting.

# ---- settings of the site ----

set _rankweave_library = '@LIBRARY@'
set _rankweave_loader = "@LOADER@"
# With '$LIB' in single quotes, if programs of 32 bits are in use.
set _rankweave_preload = "$_rankweave_library"
set _rankweave_first_uid = 1000
set _rankweave_jobs_only = yes
set _rankweave_shortest = 60
set _rankweave_skip = ""

# ---- end of the settings ----

# _rankweave_no: why nothing is done. Empty: it is done. csh replaces all variables of a line before it runs it, so each
# question whether there is a variable has a line of its own.
set _rankweave_no = ""
if ( ! -r "$_rankweave_library" || ! -f "$_rankweave_library" ) set _rankweave_no = library
if ( ! -e "$_rankweave_loader" ) set _rankweave_no = processor
if ( $?RANKWEAVE_MODE ) then
    if ( $RANKWEAVE_MODE:q == off ) set _rankweave_no = mode
endif
set _rankweave_folder = ""
if ( $?HOME ) then
    set _rankweave_folder = $HOME:q/.config
endif
if ( $?XDG_CONFIG_HOME ) then
    if ( $XDG_CONFIG_HOME:q != "" ) set _rankweave_folder = $XDG_CONFIG_HOME:q
endif
if ( -e $_rankweave_folder:q/rankweave.off ) set _rankweave_no = switch
set _rankweave_before = ""
if ( $?LD_PRELOAD ) then
    if ( $LD_PRELOAD:q != "" ) set _rankweave_before = $LD_PRELOAD:q":"
endif
if ( $_rankweave_before:q =~ *librankweave.so* ) set _rankweave_no = preloaded
if ( "$_rankweave_jobs_only" == yes ) then
    if ( ! ( $?SLURM_JOB_ID || $?PBS_JOBID || $?LSB_JOBID || $?FLUX_URI || $?SGE_JOB_SPOOL_DIR || $?PJM_JOBID ) ) \
        set _rankweave_no = shell
endif
if ( "$_rankweave_no" == "" ) then
    # tcsh has $uid. The csh of BSD has to start a program.
    set _rankweave_uid = 0
    if ( $?uid ) then
        set _rankweave_uid = $uid
    else
        set _rankweave_uid = `id -u`
    endif
    if ( $_rankweave_uid < $_rankweave_first_uid ) set _rankweave_no = user
endif
if ( "$_rankweave_no" == "" ) then
    setenv LD_PRELOAD $_rankweave_before:q$_rankweave_preload:q
    if ( ! $?RANKWEAVE_SHORTEST ) setenv RANKWEAVE_SHORTEST "$_rankweave_shortest"
    if ( "$_rankweave_skip" != "" && ! $?RANKWEAVE_SKIP ) setenv RANKWEAVE_SKIP "$_rankweave_skip"
endif
unset _rankweave_library _rankweave_loader _rankweave_preload _rankweave_first_uid _rankweave_jobs_only
unset _rankweave_shortest _rankweave_skip _rankweave_no _rankweave_uid _rankweave_folder _rankweave_before
