#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: With the .gdbinit of a clone, gdb prints names with two underscores, such as gantry__call_op, as C has them.
#
# gdb.sh SOURCE_DIR WORK_DIR. The program is a release: its names are those of the symbol table.
set -eu
source=$1 work=$2
: "${CC:=cc}"
command -v gdb >/dev/null 2>&1 || { echo "SKIP: there is no gdb: apt-get install gdb"; exit 77; }
grep -qF 'set print demangle off' "$source/docs/debugging.md" || { echo "docs/debugging.md does not name the setting" >&2; exit 1; }
rm -rf "$work"
mkdir -p "$work/home"
echo 'int gantry__call_op(void); int gantry__call_op(void) { return 1; } int main(void) { return gantry__call_op(); }' >"$work/program.c"
"$CC" -O0 "$work/program.c" -o "$work/program"

show() { # OPTIONS...: what gdb calls the function
    cd "$source"
    HOME=$work/home gdb -q -batch "$@" -ex 'info symbol gantry__call_op' -ex 'info functions call_op' "$work/program" </dev/null 2>&1
}
expect() {
    printf '%s\n' "$1" | grep -q '^gantry__call_op in section' && printf '%s\n' "$1" | grep -q '  gantry__call_op$' ||
        { printf 'FAILED: with .gdbinit (%s), gdb prints\n%s\n' "$2" "$1" >&2; exit 1; }
}
expect "$(show -nx -x .gdbinit)" "-x"
echo "add-auto-load-safe-path $source/.gdbinit" >"$work/home/.gdbinit"
expect "$(show)" "by itself"
echo "gdb without it: $(show -nx | grep -o '^gantry.*call_op in')"
