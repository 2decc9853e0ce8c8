#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: A test program or a script that is given an unknown name (an op, a group, a scenario, a device, a case)
# prints the name and fails.
#
# nothing_checked.sh SOURCE_DIR BUILD_DIR.
set -eu
cd "$1"
bin=$2/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/empty"
export GANTRY_BACKENDS=cpu GANTRY_TUNING_FILE=
checked=0 passed=0

# refuse TEXT COMMAND...: the command must end with an exit code other than 0 and 77, and its output must contain the
# text.
refuse() {
    text=$1 code=0
    shift
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "SKIP $1: not built here"
        return 0
    fi
    checked=$((checked + 1))
    timeout 120 "$@" >"$work/output" 2>&1 || code=$?
    case $code in
        0 | 77 | 124 | 126 | 127) ;;
        *) ! grep -qF -e "$text" "$work/output" || { passed=$((passed + 1)) && return 0; } ;;
    esac
    tail -5 "$work/output" | sed 's/^/    /'
    echo "$*: exit code $code, or no \"$text\" in its output"
}

refuse "--only NoSuchOp" "$bin/gantry_conformance" --device cpu:0 --few-types --every 50 --only Neg,NoSuchOp
refuse "nothing was run" "$bin/gantry_conformance" --device cpu:0 --only NoSuchOp
refuse "nothing was run" "$bin/gantry_conformance" --device cpu:0 --only Neg --case no-such-case
refuse "there is no golden file in $work/empty" "$bin/gantry_conformance" --device cpu:0 --few-types --every 50 --only Neg --golden "$work/empty"
refuse "no_such.txt cannot be opened" "$bin/gantry_conformance" --device cpu:0 --only Neg --skip-file "$work/no_such.txt"
refuse "device opencl:0 is missing" "$bin/gantry_conformance" --device opencl:0 --only Neg
refuse "no_such" "$bin/tests/gantry_faults" --source host --once --random 0 --scenario small,no_such
refuse "the site does not come" "$bin/tests/gantry_faults" --source host --scenario small --site 123 --occurrence 1
refuse "--only NoSuchOp" "$bin/tests/fuzz_ops" --device cpu:0 --calls 10 --only Neg,NoSuchOp
refuse "no golden files" "$bin/tests/fuzz_ops" --device cpu:0 --calls 10 --golden "$work/empty"
refuse "nothing was tried" "$bin/tests/fuzz_ops" --device cpu:0 --seconds 0
refuse "no device of this backend is here: no_such" "$bin/tests/load" --seconds 0.1 --backends cpu,no_such
refuse "usage" "$bin/tests/lifecycle" --device no_such --cycles 5
refuse "no_such" "$bin/tests/gantry_cuda_text" --cases "$work/no_such.txt" --list
refuse "usage" "$bin/tests/exhaustive_math_float32" --stride 1000000 no_such
refuse "no_such" "$bin/gantry_bench" --case dispatch,no_such --quick
refuse "'no_such:0'" "$bin/gantry_bench" --case dispatch --quick --repeat 1 --device cpu:0,no_such:0
refuse "nothing was measured" "$bin/gantry_bench" --case card_launch --quick --repeat 1 --device cpu:0
refuse "no_such" "$bin/gantry_bench_curves" --device cpu:0 --case add,no_such --max-bytes 64 --seconds 0.001
refuse "no_such" "$bin/gantry_bench_curves" --device no_such:0 --case add --max-bytes 64 --seconds 0.001
refuse "no_such" scripts/test --no_such
refuse "--select needs" scripts/test --select
refuse "no_such" scripts/test --arch i386,no_such
refuse "no_such" scripts/test-arch no_such
refuse "no architecture is named" scripts/test-arch
refuse "no file of --write-bits" "$bin/gantry_conformance" --device cpu:0 --only Neg --compare-bits /dev/null
refuse "no_such" scripts/measure-house no_such
refuse "no such part" scripts/check-gpu --only no_such
code=0
"$bin/tests/with_opencl" pocl true || code=$? # has said why
[ $code = 0 ] || [ $code = 77 ] || exit $code
if [ $code = 0 ] && [ -e "$2/lib/tests/cuda/standin_libcuda.so" ]; then
    refuse "Nothing was checked of --only products" env -u GANTRY_BACKENDS scripts/check-gpu --stand-in --build "$2" --out "$work" --only products
fi
refuse "needs a number" scripts/demo --epochs
refuse "usage" "$bin/memory_control" --device cpu:0 --no_such
refuse "no_such" "$bin/gantry" no_such
refuse "no_such" "$bin/gantry" ops no_such
echo "$passed of $checked report that they have nothing to check"
[ "$passed" = "$checked" ]
