#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# use_wheel.sh WHEEL README WORK: installs the wheel of the C library in a new Python environment, and builds and runs the
# README's first program with it: by python -m gantry, and where they are installed, by pkg-config and CMake.
set -eu
wheel=$1 readme=$2 work=$3
fail() { echo "FAILED: $*"; exit 1; }
mkdir -p "$work"
awk '/^\/\* first[.]c \*\/$/ { on = 1 } on && /^```$/ { exit } on' "$readme" >"$work/first.c"
awk '/^\$ [.]\/first$/ { on = 1; next } on && /^```$/ { exit } on' "$readme" >"$work/shown"
[ -s "$work/first.c" ] && [ -s "$work/shown" ] || fail "$readme has no program first.c with its output"
python3 -m venv "$work/env"
"$work/env/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps "$wheel" || fail "pip install"
cd "$work"
runs() { # PROGRAM HOW
    GANTRY_BACKENDS=cpu "./$1" >seen || fail "the program by $2 ends with $?"
    diff -u shown seen || fail "the program by $2 prints something else"
    echo "the README's program by $2 runs"
}
eval "${CC:-cc} -std=c11 first.c -o first $(env/bin/python -m gantry --cflags --libs)"
runs first "python -m gantry"
if env/bin/python -m gantry --nothing 2>/dev/null; then fail "an unknown option is accepted"; fi
if command -v pkg-config >/dev/null 2>&1; then
    lib=$(env/bin/python -c 'import gantry; print(gantry.LIB)')
    flags=$(PKG_CONFIG_PATH=$(env/bin/python -m gantry --pkg-config-path) pkg-config --cflags --libs gantry)
    eval "${CC:-cc} -std=c11 first.c -o by_pkg_config $flags '-Wl,-rpath,$lib'"
    runs by_pkg_config pkg-config
fi
# CMake's files name libraries that are there.
if command -v cmake >/dev/null 2>&1; then
    printf 'cmake_minimum_required(VERSION 3.18)\nproject(first C)\nfind_package(Gantry REQUIRED)\nadd_executable(first first.c)\ntarget_link_libraries(first PRIVATE Gantry::gantry)\n' >CMakeLists.txt
    cmake -S . -B cmake "-DCMAKE_PREFIX_PATH=$(env/bin/python -m gantry --cmake-prefix-path)" >cmake.log && cmake --build cmake >>cmake.log || { cat cmake.log; fail "CMake"; }
    runs cmake/first CMake
fi
