#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (package_wrap): With the wrap file and a tarball of the tree, Meson builds Gantry as a subproject; an installed example
# runs with it, and a tarball of other bytes is refused.
#
# wrap.sh SOURCE BUILD WORK: objects whose commands are those of BUILD are copied from there.
set -eu
source=$1 build=$2 work=$3
command -v meson >/dev/null 2>&1 && command -v ninja >/dev/null 2>&1 || { echo "SKIP: there is no meson, or no ninja"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
name=gantry-$(sed -n 's/^#define GANTRY_VERSION "\([0-9.]*\)"$/\1/p' "$source/include/gantry/version.h")
tar -C "$source" --exclude=./build --exclude=./.git --transform "s,^[.],$name," -czf "$work/$name.tar.gz" .
REUSE=$work/reuse REUSE_BUILD=$build REUSE_FOLDER=$work/use/build/subprojects/$name/cmake REUSE_SOURCE=$work/use/project/subprojects/$name
export REUSE REUSE_BUILD REUSE_FOLDER REUSE_SOURCE
sh "$source/tests/packaging/reuse.sh" table "$build" "$source" same >"$REUSE"
export CMAKE_C_COMPILER_LAUNCHER="sh;$source/tests/packaging/reuse.sh;compile"
sh "$source/tests/packaging/use_wrap.sh" "$work/$name.tar.gz" "$source/examples" "$work/use"
echo "$(wc -l <"$REUSE.copied") objects have the commands of $build"
