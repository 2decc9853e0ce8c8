#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: The changes and commands of docs/extend_training.md work in a copy of the sources.
#
# $1: sources, $2: an empty folder, $3: the build folder, whose libgantry the copy takes. Environment: CC, GENERATOR.
# In the copy, extend_training.cmake is CMakeLists.txt: it compiles the training library and the page's tests only.
# The exit code is 77 without ninja, which the presets use.
set -eu
command -v ninja >/dev/null 2>&1 || { echo "SKIP: ninja is not installed"; exit 77; }
export PAGE=docs/extend_training.md CMAKE_LISTS="$1/tests/scripts/extend_training.cmake" GANTRY_SOURCES="$1" GANTRY_BUILT="$3"
exec sh "$1/tests/scripts/add_an_op.sh" "$1" "$2"
