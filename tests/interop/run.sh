#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program of this folder with the Python of build/interop/env, which scripts/fetch-interop makes, or with python3.
#     run.sh PROGRAM ARGUMENTS...    exit code 77 without Python
set -eu
cd "$(dirname "$0")/../.."
python=build/interop/env/bin/python
[ -x "$python" ] || python=python3
command -v "$python" >/dev/null || { echo "SKIP: there is no python3"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 exec "$python" "tests/interop/$@"
