# shellcheck shell=bash
# Functions for building and testing on another processor than that of this machine. Source it after lib.sh.
#
# All that belongs to a processor is in $RW_CACHE/PROCESSOR:
#   root  the libraries, headers and launchers of the distribution for that processor, only unpacked
#   rust  a Rust with the standard library for that processor, if rustup has none
#   bin   compilers of MPI programs: mpicc.openmpi, mpicxx.openmpi, mpif90.openmpi, mpicc.mpich, …

# processor NAME: sets what the other functions need. Fails if the processor is not known.
processor() {
    case $1 in
        aarch64) RW_DEBIAN=arm64 RW_MULTIARCH=aarch64-linux-gnu RW_RUST_TARGET=aarch64-unknown-linux-gnu ;;
        *) return 1 ;;
    esac
    RW_PROCESSOR=$1
    RW_PROCESSOR_HOME=$RW_CACHE/$1
}

# The compilers that run here, and the emulator of the processor.
processor_packages() {
    local name=${RW_MULTIARCH//_/-}
    echo "gcc-$name" "g++-$name" "gfortran-$name" "libc6-dev-$RW_DEBIAN-cross" qemu-user-static
}

# Packages that others depend on, and of which nothing is needed here: programs that run on this machine, or none.
_rw_not_needed() {
    local name
    for name in gcc:4:12.2.0-3 g++:4:12.2.0-3 gfortran:4:12.2.0-3 gfortran-12:12.2.0-14 gcc-12:12.2.0-14 \
        g++-12:12.2.0-14 perl:5.36.0 perl-base:5.36.0 debconf:1.5.82 openssh-client:1:9.2 dpkg:1.21 \
        libtool:2.4.7 automake:1:1.16 adduser:3.134 passwd:1:4.13 debianutils:5.7 libjs-jquery-ui:1.13.2 python3:3.11; do
        printf 'Package: %s\nStatus: install ok installed\nMulti-Arch: foreign\nVersion: %s-99\nArchitecture: %s\nMaintainer: none\nDescription: none\n\n' \
            "${name%%:*}" "${name#*:}" "$1"
    done
}

# private_apt ARCHITECTURE FOLDER ARGUMENT…: apt-get with lists, state and downloads of its own, so that the packages of
# this machine stay as they are. It needs no root.
private_apt() {
    local architecture=$1 folder=$2
    shift 2
    mkdir -p "$folder/lists/partial" "$folder/archives/partial" || return 1
    _rw_not_needed "$architecture" >"$folder/status"
    apt-get -q -y -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" \
        -o "Dir::State=$folder" -o "Dir::State::lists=$folder/lists" -o "Dir::State::status=$folder/status" \
        -o "Dir::Cache=$folder" -o "Dir::Cache::archives=$folder/archives" -o Debug::NoLocking=1 \
        -o "APT::Sandbox::User=$(id -un)" -o APT::Install-Recommends=false -o Acquire::Retries=3 \
        -o Acquire::Languages=none "$@"
}

# unpack FOLDER FILE…: unpacks packages, without their documentation. No script of a package runs.
unpack() {
    local folder=$1 file name
    shift
    for name in bin sbin lib; do
        mkdir -p "$folder/usr/$name" && ln -sfn "usr/$name" "$folder/$name" || return 1
    done
    for file; do
        dpkg-deb --fsys-tarfile "$file" | tar -x -C "$folder" --keep-directory-symlink --no-same-owner \
            --exclude='./usr/share/doc' --exclude='./usr/share/man' --exclude='./usr/share/locale' \
            --exclude='./var' --exclude='./dev' --exclude='./run' || return 1
    done
}

# processor_root: unpacks the MPI libraries and what they need.
processor_root() {
    local apt=$RW_PROCESSOR_HOME/apt-$RW_DEBIAN root=$RW_PROCESSOR_HOME/root
    rm -rf "$root" "$root.new" "$apt"
    private_apt "$RW_DEBIAN" "$apt" update &&
        private_apt "$RW_DEBIAN" "$apt" -d install libc6-dev openmpi-bin libopenmpi-dev mpich libmpich-dev hwloc \
            libgfortran-12-dev libstdc++-12-dev libasan8 &&
        unpack "$root.new" "$apt"/archives/*.deb || return 1
    # The emulator takes every file from here that is here; these are those of the machine.
    rm -rf "$root.new"/{tmp,proc,sys,root,home,boot,mnt,media,srv,opt}
    mv "$root.new" "$root" && rm -rf "$apt"
}

has_processor_root() { [ -d "$RW_PROCESSOR_HOME/root" ]; }

# processor_rust: makes Rust have the standard library for the processor, by rustup or else from the packages of the
# distribution for both processors, which are only unpacked.
processor_rust() {
    local rust=$RW_PROCESSOR_HOME/rust here apt name file packages=()
    if have rustup && rustup target add "$RW_RUST_TARGET" >/dev/null 2>&1; then
        return 0
    fi
    here=$(dpkg --print-architecture)
    rm -rf "$rust" "$rust.new"
    for name in "$here" "$RW_DEBIAN"; do
        apt=$RW_PROCESSOR_HOME/apt-rust-$name
        private_apt "$name" "$apt" update || return 1
        if [ "$name" = "$here" ]; then
            private_apt "$name" "$apt" -d install rustc-web || return 1
        else
            private_apt "$name" "$apt" -d install libstd-rust-web-dev || return 1
        fi
        packages=()
        for file in "$apt"/archives/*.deb; do
            # From the other processor, only the standard library.
            case ${file##*/}:$name in
                libc6* | libgcc-s1* | gcc-* | linux-libc-dev*) ;;
                libstd-rust-web-dev_*:* | *:"$here") packages+=("$file") ;;
            esac
        done
        unpack "$rust.new" "${packages[@]}" || return 1
    done
    mv "$rust.new" "$rust" && rm -rf "$RW_PROCESSOR_HOME"/apt-rust-*
}

# rustup_has_it: does the Rust of this machine have the standard library for the processor?
rustup_has_it() {
    local folder
    folder=$(find_cargo && rustc --print target-libdir --target "$RW_RUST_TARGET" 2>/dev/null) && [ -d "$folder" ]
}

# has_rust: is there a Rust for the processor?
has_rust() { rustup_has_it || [ -x "$RW_PROCESSOR_HOME/rust/usr/bin/rustc" ]; }

# use_processor_rust: makes cargo build for the processor: `cargo build --target "$RW_RUST_TARGET"`. It builds in a folder
# of its own, because the Rust may be another than that of this machine.
use_processor_rust() {
    local linker=${RW_RUST_TARGET//-/_}
    find_cargo || return 1
    export "CARGO_TARGET_${linker^^}_LINKER=$RW_MULTIARCH-gcc" CARGO_TARGET_DIR=$RW_TARGET/$RW_PROCESSOR
    # Scripts that are started later find the cache here, and not in the folder of cargo.
    export RANKWEAVE_CACHE=$RW_CACHE
    ! rustup_has_it || return 0
    export RUSTC=$RW_PROCESSOR_HOME/rust/usr/bin/rustc
    export LD_LIBRARY_PATH=$RW_PROCESSOR_HOME/rust/usr/lib/$(gcc -print-multiarch)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

# processor_compilers: writes the compilers of MPI programs.
processor_compilers() {
    local lib="\$lib"
    mkdir -p "$RW_PROCESSOR_HOME/bin" || return 1
    _rw_compiler mpicc.openmpi gcc "-I $lib/openmpi/include" libmpi.so.40
    _rw_compiler mpicxx.openmpi g++ "-I $lib/openmpi/include" libmpi_cxx.so.40 libmpi.so.40
    _rw_compiler mpif90.openmpi gfortran "-I $lib/fortran/gfortran-mod-15/openmpi -I $lib/openmpi/lib" \
        libmpi_usempif08.so.40 libmpi_usempi_ignore_tkr.so.40 libmpi_mpifh.so.40 libmpi.so.40
    _rw_compiler mpicc.mpich gcc "-I \$headers/mpich" libmpich.so.12
    _rw_compiler mpicxx.mpich g++ "-I \$headers/mpich" libmpichcxx.so.12 libmpich.so.12
    _rw_compiler mpif90.mpich gfortran "-fallow-argument-mismatch -I \$headers/mpich" libmpichfort.so.12 libmpich.so.12
}

# _rw_compiler NAME COMPILER OPTIONS LIBRARY…
_rw_compiler() {
    local file=$RW_PROCESSOR_HOME/bin/$1 call="$RW_MULTIARCH-$2 $3" lib="\$lib/"
    shift 3
    cat >"$file" <<TEXT
#!/bin/sh
# Written by scripts/setup.
root=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")/root
lib=\$root/usr/lib/$RW_MULTIARCH headers=\$root/usr/include/$RW_MULTIARCH
exec $call "\$@" -x none -Wl,-rpath-link,\$lib ${*/#/$lib}
TEXT
    chmod +x "$file"
}

# have_processor: is everything installed for the processor?
have_processor() {
    have "$RW_MULTIARCH-gcc" && have "qemu-$RW_PROCESSOR-static" && [ -d "$RW_PROCESSOR_HOME/root" ] &&
        [ -x "$RW_PROCESSOR_HOME/bin/mpif90.mpich" ] && has_rust
}
