#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: The test that CONTRIBUTING shows as an example compiles, passes, and fails with another expected value.
#
# $1: sources, $2: an empty folder, $3: the build folder, whose library of tests it takes. Environment: CC.
set -eu
sources=$1 work=$2 build=$3
: "${CC:=cc}"
rm -rf "$work"
mkdir -p "$work"
fail() {
    echo "FAILED: $*"
    exit 1
}
sed -n '/^## Add a test$/,/^## Add a backend$/p' "$sources/CONTRIBUTING.md" | sed -n '/^```c$/,/^```$/{/^```/d;p}' >"$work/test_example.c"
grep -q '^ *assert_int_equal(gantry_scope_end(scope), GANTRY_OK);$' "$work/test_example.c" || fail "CONTRIBUTING's section \"Add a test\" has no such example"
sed 's/gantry_scope_end(scope), GANTRY_OK/gantry_scope_end(scope), GANTRY_ABORTED/' "$work/test_example.c" >"$work/test_wrong.c"

# compiled NAME: as tests/CMakeLists.txt compiles a test
compiled() {
    "$CC" -std=c11 -Wall -Werror -I"$sources/include" -I"$sources" -I"$sources/src" -I"$sources/backends" \
        -I"$build/generated" -I"$sources/tests/stand_ins" -I"$sources/tests/unit/support" -DGANTRY_TEST_MODULES="\"$build/lib/tests\"" \
        -DGANTRY_TEST_SOURCE_DIR="\"$sources\"" -o "$work/$1" "$work/$1.c" "$build/lib/libgantry_internal.a" -lcmocka -ldl -lm -lpthread
}
compiled test_example
"$work/test_example" >"$work/output" 2>&1 || { cat "$work/output"; fail "the example does not pass"; }
compiled test_wrong
! "$work/test_wrong" >"$work/output" 2>&1 || fail "the example passes with GANTRY_ABORTED, too"
echo "CONTRIBUTING's example of a test passes, and can fail"
