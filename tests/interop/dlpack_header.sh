#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles dlpack_header.c with each dlpack.h of the Python packages that are here: those of python3, and of the
# environments that scripts/fetch-interop and scripts/test-tensorflow make.
#     dlpack_header.sh CC    exit code 77 without a header
set -eu
cd "$(dirname "$0")/../.."
packages=$(python3 -c "import sysconfig; print(sysconfig.get_path('purelib'))" 2>/dev/null || true)
# PyTorch's header is ATen/dlpack.h; TensorFlow has another file of that name, with functions of its own.
headers=$(find -L ${packages:+"$packages"} build/interop/env/lib build/tensorflow/env/*/lib -name dlpack.h 2>/dev/null |
    grep -E '/(dlpack|ATen)/dlpack.h$' || true)
[ -n "$headers" ] || { echo "SKIP: no Python package here has a dlpack.h: scripts/fetch-interop installs one"; exit 77; }
for header in $headers; do
    "$1" -std=c11 -Wall -Wextra -Werror -fsyntax-only -Iinclude -Isrc -I. -DDLPACK_HEADER="\"$header\"" tests/interop/dlpack_header.c
    echo "$header: version $(sed -n 's/^#define DLPACK_M[A-Z]*_VERSION //p' "$header" | tr '\n' ' ')"
done
