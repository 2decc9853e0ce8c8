#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_python.sh PYTHON SCRIPT ...: runs the script with this Python; "" is none, and the test is skipped with the reason.
if [ -z "$1" ]; then
    echo "SKIP: no Python with onnxruntime: set GANTRY_ORT_PYTHON"
    exit 77
fi
exec "$@"
