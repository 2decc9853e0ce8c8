#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: Clang accepts the sources that ask the compiler for a processor's features: the CPU backend and its kernels'
# headers.
# Promise: Clang builds the library, its command and the modules.
#
# clang.sh SOURCE_DIR BUILD_DIR
set -eu
command -v clang >/dev/null || { echo "SKIP: there is no clang"; exit 77; }
cd "$1"
failed=0 checked=0
for file in backends/cpu/*.c backends/cpu/blas/*.c kernels/common/*.c; do
    clang -std=c11 -fsyntax-only -Wno-everything -DGANTRY_BUILDING -I "$2/generated" -I include -I . -I src -I backends "$file" || failed=$((failed + 1))
    checked=$((checked + 1))
done
echo "$checked files read by $(clang --version | head -1), $failed refused"
[ $checked -gt 10 ] && [ $failed = 0 ]
