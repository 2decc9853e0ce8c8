#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# use_wrap.sh TARBALL EXAMPLES WORK [CMAKE_ARGUMENT...]: builds the examples by their meson.build with Gantry as a subproject, of
# which Meson has the wrap file and the tarball, runs one, and installs all. Then a tarball of other bytes must be refused.
set -eu
tarball=$1 examples=$2 work=$3
shift 3
fail() { echo "FAILED: $*"; exit 1; }
quiet() { "$@" >"$work/log" 2>&1 || { code=$? && tail -60 "$work/log" && fail "$*: exit code $code"; }; }
here=$(cd "$(dirname "$0")" && pwd)
version=$(basename "$tarball" .tar.gz) version=${version#gantry-}
sum=$(sha256sum "$tarball" | cut -d ' ' -f 1)
mkdir -p "$work/project/subprojects/packagefiles"
cp "$examples"/*.c "$examples"/*.h "$examples/meson.build" "$work/project"
cp "$tarball" "$work/project/subprojects/packagefiles"
sed "s/@VERSION@/$version/; s/@SHA256@/$sum/" "$here/../../packaging/meson/gantry.wrap.in" >"$work/project/subprojects/gantry.wrap"
arguments=
for argument in "$@"; do arguments="$arguments,'$argument'"; done
cd "$work"
quiet meson setup --wrap-mode=forcefallback "-Dgantry:cmake_args=[${arguments#,}]" build project
grep -q "gantry_onnx.*YES" log || { cat log; fail "the wrap file does not give gantry_onnx"; }
quiet ninja -C build functions speech
build/functions --device CPU:0 >seen || fail "the example ends with $?"
grep -qF "ResourceExhausted: function at_once" seen || { cat seen; fail "the example prints something else"; }
quiet ninja -C build functions
if grep -q 'functions.c.o' log; then cat log; fail "nothing changed, and Meson compiled the example again"; fi
quiet env DESTDIR="$work/stage" meson install -C build
[ -n "$(find "$work/stage" -name gantry.h)" ] && [ -n "$(find "$work/stage" -name 'libgantry.so.*')" ] || fail "meson install installs no library"

rm -rf project/subprojects/gantry-* build
echo >>"project/subprojects/packagefiles/gantry-$version.tar.gz"
if meson setup --wrap-mode=forcefallback build project >log 2>&1; then fail "a tarball of other bytes is accepted"; fi
grep -qi "hash" log || { cat log; fail "the message does not name the hash"; }
echo "the examples build by Meson with Gantry as a subproject, and run"
