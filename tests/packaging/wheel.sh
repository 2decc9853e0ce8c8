#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (package_wheel): The wheel of the C library, made twice, has equal bytes; installed in a new Python environment, it
# serves the README's first program by python -m gantry, pkg-config and CMake.
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
sh "$source/tests/packaging/use_wheel.sh" "$wheel" "$source/README.md" "$work/a folder"
echo "$(basename "$wheel") serves the README's program"
