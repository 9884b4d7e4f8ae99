#!/bin/sh
# Installs rankweave from this folder under a prefix, or removes it from there.
set -eu

usage() {
    cat <<'TEXT'
Usage: ./install.sh --prefix DIR [--uninstall]

Copies the command, the library, the header, the Fortran module source, the manual page, completions and module
files below DIR. DIR must have no blanks and no colons, because LD_PRELOAD cannot hold such paths.

  --uninstall   removes what an earlier call installed below DIR, and folders that are empty then

A copy of this script is in DIR/share/rankweave, so that the unpacked archive is not needed to uninstall.
TEXT
}

stop() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 2
}

prefix='' remove=0
while [ $# -gt 0 ]; do
    case $1 in
        --prefix) [ $# -gt 1 ] || stop 'a folder has to follow --prefix'; prefix=$2; shift ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        --uninstall) remove=1 ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done
[ -n "$prefix" ] || { usage >&2; exit 2; }
case $prefix in
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
esac
case $prefix in
    *[[:blank:]:\'\"\$\`\!]*)
        stop "$prefix has blanks or characters that mean something to LD_PRELOAD or to shells; choose another prefix"
        ;;
esac
list=$prefix/share/rankweave/installed.txt

# Removes what the list names, and then the folders that are empty.
uninstall() {
    while IFS= read -r file; do
        rm -f "$prefix/$file"
        folder=$(dirname "$file")
        while [ "$folder" != . ] && rmdir "$prefix/$folder" 2>/dev/null; do
            folder=$(dirname "$folder")
        done
    done <"$1"
}

if [ "$remove" = 1 ]; then
    [ -f "$list" ] || stop "nothing was installed below $prefix: $list is missing"
    copy=$(mktemp)
    cp "$list" "$copy"
    uninstall "$copy"
    rm -f "$copy"
    rmdir "$prefix" 2>/dev/null || true
    printf 'rankweave was removed from %s\n' "$prefix"
    exit 0
fi

here=$(cd "$(dirname "$0")" && pwd)
[ -x "$here/bin/rankweave" ] || stop "$here is not the unpacked archive of rankweave"
mkdir -p "$prefix/share/rankweave" || stop "$prefix cannot be written; choose another prefix"
new=$(mktemp)
(cd "$here" && find bin lib include share -type f) >"$new"
printf '%s\n' share/rankweave/install.sh share/rankweave/installed.txt >>"$new"
# An older version may have had other files.
[ ! -f "$list" ] || uninstall "$list"
mkdir -p "$prefix/share/rankweave"
# A file is put in place by renaming, so that running programs keep the library that they have mapped.
put() {
    mkdir -p "$prefix/$(dirname "$2")"
    cp "$1" "$prefix/$2.new"
    mv -f "$prefix/$2.new" "$prefix/$2"
}
while IFS= read -r file; do
    case $file in
        share/rankweave/install.sh | share/rankweave/installed.txt) ;;
        *) put "$here/$file" "$file" ;;
    esac
done <"$new"
# These files are read by shells, which do not tell them where they are.
escaped=$(printf '%s' "$prefix" | sed 's/[\\&|]/\\&/g')
for file in "$prefix/share/rankweave/site/rankweave.sh" "$prefix/share/rankweave/site/rankweave.csh"; do
    [ -f "$file" ] || continue
    sed "s|@LIBRARY@|$escaped/lib/rankweave/librankweave.so|" "$file" >"$file.new"
    mv -f "$file.new" "$file"
done
put "$here/install.sh" share/rankweave/install.sh
put "$new" share/rankweave/installed.txt
chmod 644 "$list"
rm -f "$new"
printf 'rankweave was installed below %s\n' "$prefix"
case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) printf 'To use it: export PATH=%s/bin:$PATH, or module use %s/share/modulefiles\n' "$prefix" "$prefix" ;;
esac
