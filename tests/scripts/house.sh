#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: The tree keeps the limits of docs/house.md, and scripts/measure-house notices a file that does not.
# Promise: No struct of what is shipped has more than 25 members, but those outside train/ that scripts/measure-house
# names with a reason, which may not grow.
# Promise: No two files of src/, backends/, kernels/, train/, onnx/, tools/ and integrations/ have a static function of
# the same name.
# Promise: scripts/compare-houses counts copies, circles of #include and the words of comments in a tree of C files.
#
# $1: sources, $2: an empty folder.
set -eu
rm -rf "$2"
mkdir -p "$2/scripts" "$2/src" "$2/kernels" "$2/tests"
cp "$1/scripts/measure-house" "$2/scripts/"
work=$2

# repeat COUNT TEXT: prints COUNT lines.
repeat() { awk -v count="$1" -v text="$2" 'BEGIN { for (i = 0; i < count; ++i) print text }'; }
# expect CODE TEXT: the check of the small tree must end with CODE and print TEXT.
expect() {
    code=0
    "$work/scripts/measure-house" --check >"$work/output" || code=$?
    if [ "$code" != 77 ]; then
        [ "$code" = "$1" ] && grep -qF -e "$2" "$work/output" || { cat "$work/output"; echo "exit code $code, not $1, or no \"$2\""; exit 1; }
    else
        cat "$work/output"
        exit 77
    fi
}
expect 1 "0 files" # nothing checked is no success

# Everything is at its limit. Texts of messages, another program of tests/, and names that are not static do not
# count.
{
    echo 'static int first(void) {' && repeat 78 '    ;' && echo '}'
    printf '%100s\n' '/* as wide as may be */'
    printf '%120s\n' 'const char *text = "one piece";'
    repeat 618 ''
} >"$work/src/a.c"
echo 'int first(void) { return 1; }' >"$work/kernels/b.c"
echo 'static int first(void) { return 1; }' >"$work/tests/c.c"
expect 0 "3 files, 3 functions, 0 beyond a limit"

# broken FILE TEXT: appends a text beyond a limit to the file, checks, and removes the text again.
broken() {
    cp "$work/$1" "$work/kept"
    cat >>"$work/$1"
    expect 1 "$2"
    mv "$work/kept" "$work/$1"
}
echo '' | broken src/a.c 'src/a.c:701: the file has 701 lines, at most 700'
{ echo 'int second(int a,' && echo '           int b) {' && repeat 78 '    ;' && echo '}'; } |
    broken kernels/b.c 'kernels/b.c:2: second has 81 lines, at most 80'
echo 'static int first(int a) { return a; }' | broken kernels/b.c 'src/a.c:1: static first is defined in kernels/b.c, too'
printf 'ROW(a)\nROW(b)\nstatic int first(int a) {\n    return a;\n}\n' | broken kernels/b.c 'src/a.c:1: static first is defined in kernels/b.c, too'
printf '%101s\n' '/* said with "quotes" */' | broken tests/c.c 'tests/c.c:2: 101 columns, at most 100'
# members COUNT NAME: a struct of so many members.
members() { echo "typedef struct $2 {" && awk -v n="$1" 'BEGIN { for (i = 0; i < n; ++i) print "    int m" i ";" }' && echo "} $2;"; }
cp "$work/src/a.c" "$work/whole" && : >"$work/src/a.c" # room for lines
members 26 wide_t | broken src/a.c 'src/a.c:2: wide_t has 26 members, at most 25'
members 36 gantry__eager_t | broken src/a.c 'src/a.c:2: gantry__eager_t has 36 members, at most 35'
{ members 25 wide_t && members 35 gantry__eager_t; } >"$work/src/a.c"
members 26 wide_t >>"$work/tests/c.c"
expect 0 "0 beyond a limit"
mv "$work/whole" "$work/src/a.c"
for wing in train tools integrations; do
    mkdir "$work/$wing"
    echo >"$work/$wing/e.c"
    echo 'static int first(int a) { return a; }' | broken $wing/e.c "src/a.c:1: static first is defined in $wing/e.c, too"
    rm -r "$work/$wing"
done
mkdir "$work/kernels/sort"
echo 'bool is_set(const int *p) { return p != NULL; }' >"$work/kernels/sort/d.c"
pointer='a pointer is compared with NULL: write p or !p'
echo 'void d(void) { if (a->b != NULL) c(); }' | broken kernels/sort/d.c "kernels/sort/d.c:2: $pointer"
echo 'void d(void) { c(a && b[1] == NULL); }' | broken kernels/sort/d.c "kernels/sort/d.c:2: $pointer"
echo 'void d(void) { c(a == NULL ? 1 : 2); }' | broken src/a.c "$pointer"
handed='a status is handed on by hand: write GANTRY__TRY(call)'
printf 'if (status != GANTRY_OK) {\n    return status;\n}\n' | broken kernels/sort/d.c "kernels/sort/d.c:2: $handed"
echo 'if (status == GANTRY_OK && b) status = c();' | broken kernels/sort/d.c "kernels/sort/d.c:2: $handed"
echo 'static int is_there(void);' | broken kernels/sort/d.c 'kernels/sort/d.c:2: truth is an int: write bool'
echo 'GANTRY_FN int d(void) { return 1; }' >"$work/kernels/sort/e.cl"
printf 'GANTRY_FN int e(const int a,\n                GANTRY_LOCAL_POINTER(int) b) {\n' |
    broken kernels/sort/e.cl 'kernels/sort/e.cl:2: a function gets local memory: write GANTRY_LOCAL_FN'
expect 0 "0 beyond a limit"

# Two functions of six equal lines, two headers that include each other, and five words after a licence.
cp "$1/scripts/compare-houses" "$1/scripts/check-words" "$work/scripts/"
rm -rf "$work/src" "$work/tests"
mkdir "$work/src" "$work/tests"
for name in a b; do
    {
        echo '/* Copyright: you should not count this. */' && echo '/* The caller must wait. */' && echo "#include \"x$name.h\""
        echo "int $name(int i) {" && echo '    i *= 2; /* TODO */' && echo '    i *= 3;' && echo '    i *= 4;' && echo
        echo '    i *= 5; // alone' && echo '    i *= 6;' && echo '    return i;' && echo '}'
    } >"$work/src/$name.c"
done
echo '#include "xb.h"' >"$work/src/xa.h"
echo '#include "xa.h"' >"$work/src/xb.h"
printf 'int c;\nint d;\n' >"$work/tests/c.c"
"$work/scripts/compare-houses" "small=$work/src:$work/tests" >"$work/output"
for row in '| C code lines | 20 |' '| circles of `#include` | 1 |' '| pairs of equal runs of 6 lines (in 100 files) | 1 (25) |' \
    '| "must" + "should" in 1000 words of comments | 200.0 |' '| TODO, FIXME in 1000 words of comments | 200.00 |' \
    '| code lines of tests per code line | 0.10 |'; do
    grep -qF -e "$row" "$work/output" || { cat "$work/output"; echo "no row $row"; exit 1; }
done

"$1/scripts/measure-house" --check
