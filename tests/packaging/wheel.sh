#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (package_wheel): The wheel of the C library, made twice, has equal bytes; installed in a new Python environment, it
# serves the README's first program by python -m gantry and by pkg-config.
#
# wheel.sh SOURCE BUILD WORK: makes the wheel of BUILD and uses it.
set -eu
source=$1 build=$2 work=$3
fail() { echo "FAILED: $*"; exit 1; }
python3 -c 'import ensurepip, venv' 2>/dev/null || { echo "SKIP: python3 makes no environments: apt-get install python3-venv"; exit 77; }
rm -rf "$work"
mkdir -p "$work/one" "$work/two"
wheel=$("$source/packaging/make-wheel" "$build" "$work/one" | tail -1)
cmp "$wheel" "$("$source/packaging/make-wheel" "$build" "$work/two" | tail -1)" || fail "made twice, the wheels differ"
python3 -m zipfile -l "$wheel" | grep -q "licenses/LICENSE.xxHash" || fail "the wheel has no licence of xxHash"
python3 -m venv "$work/env"
"$work/env/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps "$wheel" || fail "pip install"
cd "$work"
awk '/^\/\* first[.]c \*\/$/ { on = 1 } on && /^```$/ { exit } on' "$source/README.md" >first.c
awk '/^\$ [.]\/first$/ { on = 1; next } on && /^```$/ { exit } on' "$source/README.md" >shown
[ -s first.c ] && [ -s shown ] || fail "README.md has no program first.c with its output"
eval "${CC:-cc} -std=c11 first.c -o first $(env/bin/python -m gantry --cflags --libs)"
GANTRY_BACKENDS=cpu ./first >seen
diff -u shown seen
if env/bin/python -m gantry --nothing 2>/dev/null; then fail "an unknown option is accepted"; fi
if command -v pkg-config >/dev/null 2>&1; then
    lib=$(env/bin/python -c 'import gantry; print(gantry.LIB)')
    flags=$(PKG_CONFIG_PATH=$(env/bin/python -m gantry --pkg-config-path) pkg-config --cflags --libs gantry)
    eval "${CC:-cc} -std=c11 first.c -o by_pkg_config $flags '-Wl,-rpath,$lib'"
    GANTRY_BACKENDS=cpu ./by_pkg_config >seen
    diff -u shown seen
fi
# CMake's files name libraries that are there.
printf 'cmake_minimum_required(VERSION 3.22)\nproject(first C)\nfind_package(Gantry REQUIRED)\nadd_executable(first first.c)\ntarget_link_libraries(first PRIVATE Gantry::gantry)\n' >CMakeLists.txt
cmake -S . -B cmake "-DCMAKE_PREFIX_PATH=$(env/bin/python -m gantry --cmake-prefix-path)" >cmake.log && cmake --build cmake >>cmake.log || { cat cmake.log; fail "CMake"; }
GANTRY_BACKENDS=cpu cmake/first >seen
diff -u shown seen
echo "$(basename "$wheel") serves the README's program"
