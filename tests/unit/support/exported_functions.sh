#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (exported_functions): The library exports exactly the functions that its headers declare.
# Promise (exported_functions.train): libgantry_train exports exactly the functions that its headers declare.
# Promise (exported_functions.onnx): libgantry_onnx exports exactly the functions that its headers declare.
#
# exported_functions.sh NM LIBRARY NULL_CALLS LEAST: test_null_calls calls exactly the functions that the library exports, which are LEAST or
# more.
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
"$1" -D --defined-only "$2" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort > "$folder/exported"
sed -n 's/^    {"\(gantry_[a-z_0-9]*\)", call_.*/\1/p' "$3" | sort > "$folder/called"
count=$(wc -l < "$folder/called")
[ "$count" -ge "$4" ] || { echo "FAIL: only $count functions in $3"; exit 1; }
if ! diff "$folder/exported" "$folder/called" > "$folder/difference"; then
    echo "FAIL: < exported and not called, > called and not exported"
    cat "$folder/difference"
    exit 1
fi
echo "$count functions, each exported and called"
