#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Objects of one build for another one of the same sources, where the command and the files that it reads are the same.
#   reuse.sh table BUILD SOURCE [same]
#                                    prints BUILD's objects, by their commands; none where Ninja did not build them. "same"
#                                    says that both builds have the same instruction sets
#   reuse.sh generated BUILD FOLDER  fails if a file that both have generated differs
#   reuse.sh compile COMMAND...      a compiler launcher: copies the object from the table REUSE of the build REUSE_BUILD
#                                    if the command is in it, and runs the command if not; REUSE_FOLDER and REUSE_SOURCE are the
#                                    folders of the build that it runs for
# Warnings that are errors change no object, nor does an -O3 before another -O. GANTRY_CPU_ONLY_SET changes those that
# depend on a file that names it.
set -eu
mode=$1
shift

# normal FOLDER SOURCE: commands as "COMMAND|OBJECT", without names of folders and what changes no object.
normal() {
    tr -d '\\"' | sed -e 's/ -MD -MT [^ ]* -MF [^ ]*//' -e 's/ -Werror//' -e 's/ -O3\( .* -O[0-9s] \)/\1/' \
        -e 's/ -DGANTRY_CPU_ONLY_SET=[0-9]*//' -e "s,$1/,@,g" -e "s,$2/,%,g" -e "s,$2 ,% ,g" -e 's/ -o \([^ ]*\) -c \(.*\)$/ -c \2|\1/'
}

case $mode in
    table)
        build=$1 source=$2
        [ -f "$build/build.ninja" ] || exit 0
        grep -rlwF --include='*.[ch]' GANTRY_CPU_ONLY_SET "$source/kernels" "$source/backends" "$source/src" "$source/train" "$source/tools" |
            sed "s,^$source,," >"$REUSE.names"
        [ "${3:-}" != same ] || echo "?" >"$REUSE.names" # the name of no file
        ninja -C "$build" -t deps | awk 'BEGIN { print "" }
            FNR == NR { names[$0]; next } /^[^ ]/ { object = $1; sub(/:$/, "", object) }
            /^ / { for (name in names) if (index($0, name)) print object }' "$REUSE.names" - >"$REUSE.left_out"
        # What the build has made itself may be configured otherwise.
        sed -n 's/^ *"command": "\(.*\)",$/\1/p' "$build/compile_commands.json" | normal "$build" "$source" | grep -v ' -c @' |
            awk -F '|' 'FNR == NR { left_out[$0]; next } !($2 in left_out)' "$REUSE.left_out" - ;;
    generated)
        cd "$2/generated"
        find . -type f ! -name '*.c' | while read -r file; do
            [ ! -f "$1/generated/$file" ] || cmp "$file" "$1/generated/$file" || exit 1
        done ;;
    compile)
        line=$(printf '%s\n' "$*" | normal "$REUSE_FOLDER" "$REUSE_SOURCE")
        object=$(KEY=${line%|*} awk -F '|' '$1 == ENVIRON["KEY"] { print $2; exit }' "$REUSE")
        [ -n "$object" ] || exec "$@"
        cp "$REUSE_BUILD/$object" "${line##*|}"
        echo "$object" >>"$REUSE.copied" ;;
esac
