#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: A build without zlib warns that gantry convert leaves compressed entries out and names zlib1g-dev, as README does.
# Promise: A build without cJSON warns that it has no gantry command and names libcjson-dev, as README does.
#
# command_left_out.sh SOURCE_DIR WORK_DIR
set -eu
source=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(left_out NONE)
set(CMAKE_FIND_ROOT_PATH "$work/nothing")
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
include("$source/cmake/gantry_zlib.cmake")
include("$source/tools/CMakeLists.txt")
END
cmake -S "$work" -B "$work/build" >"$work/output" 2>&1 || { cat "$work/output"; exit 1; }
for text in "CMake Warning" "gantry command" "is not" libcjson-dev "compressed entries" zlib1g-dev; do
    grep -q "$text" "$work/output" || { cat "$work/output"; echo "\"$text\" is missing"; exit 1; }
done
for package in libxxhash-dev libcjson-dev zlib1g-dev opencl-headers; do
    grep -q "\`$package\`" "$source/README.md" || { echo "README.md does not name $package"; exit 1; }
done
echo "a build without cJSON and zlib says so"
