#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# one_set.sh SOURCE_DIR FOLDER BYTES: the library with one instruction set alone works and is smaller than BYTES.
# Environment: CC, GENERATOR, STRIP.
set -eu
source=$1 work=$2 most=$3
rm -rf "$work"
mkdir -p "$work"
quiet() {
    "$@" >"$work/log" 2>&1 || { code=$? && cat "$work/log" && echo "FAILED: $*: exit code $code" && exit 1; }
}
! cmake -S "$source" -B "$work/build" -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" -DGANTRY_CPU_SIMD_BUILD=mmx >"$work/log" 2>&1 || { echo "FAILED: GANTRY_CPU_SIMD_BUILD=mmx was accepted"; exit 1; }
grep -q 'GANTRY_CPU_SIMD_BUILD is "mmx"' "$work/log" || { cat "$work/log"; echo "FAILED: the message does not name the value"; exit 1; }
rm -rf "$work/build"
quiet cmake -S "$source" -B "$work/build" -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" -DCMAKE_BUILD_TYPE=Release -DGANTRY_CPU_SIMD_BUILD=base \
    -DGANTRY_OPENCL=OFF -DGANTRY_CUDA=OFF -DGANTRY_BUILD_TESTS=OFF -DGANTRY_BUILD_BENCH=OFF -DGANTRY_BUILD_EXAMPLES=OFF
quiet cmake --build "$work/build" --parallel 2 --target gantry gantry_tool
"$STRIP" -o "$work/stripped" "$work/build/lib/libgantry.so"
bytes=$(wc -c <"$work/stripped")
echo "$bytes bytes of $most"
[ "$bytes" -lt "$most" ] || exit 1
env -u GANTRY_BACKENDS -u GANTRY_CPU_SIMD "$work/build/bin/gantry" devices | grep 'vector code: base'
rm -rf "$work"
