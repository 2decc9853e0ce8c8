#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks on Oclgrind that no work-item of a call with bad inputs exceeds the instructions of longest.txt, in the forms
# for GPUs. A card's driver may end a kernel that runs for seconds.
#
#     longest_item.sh SOURCE BUILD WORK
#
# Exit code 77: Oclgrind, its headers or a C++ compiler is missing; the reason is printed.
set -eu
source=$1 build=$2 work=$3
mkdir -p "$work"
skip() { echo "SKIP: $*"; exit 77; }

runtime=
for folder in /usr/lib /usr/local/lib /opt/oclgrind/lib; do
    for file in $folder/oclgrind/liboclgrind-rt-icd.so $folder/liboclgrind-rt-icd.so; do [ -n "$runtime" ] || [ ! -e $file ] || runtime=$file; done
done
[ -n "$runtime" ] || skip "no Oclgrind (Debian's oclgrind)"
[ -e /usr/include/oclgrind/Plugin.h ] || skip "no headers of Oclgrind (Debian's liboclgrind-dev)"
command -v c++ >/dev/null || skip "no C++ compiler"
c++ -std=c++17 -fno-rtti -O2 -fPIC -shared -I/usr/include -I/usr/include/oclgrind \
    -o "$work/longest_item.so" "$source/tests/cards/longest_item.cpp" -loclgrind

export OCL_ICD_VENDORS="$runtime" OCLGRIND_PLUGINS="$work/longest_item.so" LONGEST_ITEM_FILE="$work/items.txt"
export OPENCL_LAYERS="$build/lib/tests/opencl/hostile_layer.so" GANTRY_TEST_HOSTILE="gpu=1;units=48" GANTRY_OPENCL_MATMUL=portable
export GANTRY_BACKEND_PATH="$build/lib/gantry" GANTRY_KERNEL_CACHE="$work/cache" GANTRY_TUNING_FILE=
code=0
grep -v '^#' "$source/tests/cards/longest.txt" >"$work/bounds.txt"
while read -r call bound; do
    rm -f "$work/items.txt"
    if ! "$build/bin/tests/longest_calls" "$call" >"$work/$call.log" 2>&1; then
        echo "FAIL: $call: $(tail -1 "$work/$call.log")"
        code=1
        continue
    fi
    [ -s "$work/items.txt" ] || { echo "FAIL: $call: no launch came to the plug-in"; code=1; continue; }
    longest=$(sort -k2,2nr "$work/items.txt" | head -1)
    if [ "${longest##* }" -le "$bound" ]; then
        echo "$call: ${longest##* } instructions, of ${longest% *}; at most $bound"
    else
        echo "FAIL: $call: ${longest##* } instructions, of ${longest% *}; at most $bound"
        code=1
    fi
done <"$work/bounds.txt"
exit $code
