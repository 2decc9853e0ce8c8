#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (cards.offline): The device text compiles for AMD's and NVIDIA's cards without scratch memory or spills beyond
# named ceilings; no card is needed.
#
# Compiles device text for cards that this machine lacks: no kernel may keep private arrays or spilled registers in
# memory.
#
#     offline.sh SOURCE BUILD WORK [--all]
#
# The hostile GPU of tests/stand_ins/opencl records the texts. Without --all these are float32 and the ops of
# test_hostile_forms; with --all, every type and every family of sums, products, scans and sorts. clang compiles the
# texts for AMD's cards, and with ptxas for NVIDIA's. Loops are unrolled only where the text says so, because other
# compilers unroll less than clang. scratch.txt lists the kernels with a known ceiling. Exit code 77: no compiler; the
# reason is printed.
set -eu
source=$1 build=$2 work=$3 all=${4:-}
rm -rf "$work"
mkdir -p "$work/texts" "$work/pocl"

clang=
for name in clang-19 clang-18 clang-17 clang-16 clang-15 clang-14 clang; do
    command -v $name >/dev/null || continue
    echo '__kernel void f(__global int *x) { x[0] = 1; }' >"$work/probe.cl"
    if $name -x cl -target amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -S -o "$work/probe.s" "$work/probe.cl" 2>/dev/null; then clang=$name && break; fi
done
[ -n "$clang" ] || { echo "SKIP: no clang that compiles for gfx1100 (Debian's clang-15)"; exit 77; }
library=/usr/lib/clc
[ -f $library/amdgcn--amdhsa.bc ] || { echo "SKIP: no built-in functions for AMD's cards: $library/amdgcn--amdhsa.bc (Debian's libclc-15)"; exit 77; }
ptxas=$(command -v ptxas || true)
[ -n "$ptxas" ] || [ ! -x /usr/local/cuda/bin/ptxas ] || ptxas=/usr/local/cuda/bin/ptxas

# ---- the texts ----
export GANTRY_TEST_HOSTILE_TEXTS="$work/texts" POCL_CACHE_DIR="${POCL_CACHE_DIR:-$work/pocl}" GANTRY_KERNEL_CACHE= GANTRY_TUNING_FILE=
if [ "$all" = --all ]; then
    # No kernel runs, so results are wrong; only the texts matter.
    OPENCL_LAYERS="$build/lib/tests/opencl/hostile_layer.so" GANTRY_TEST_HOSTILE="gpu=1;units=48;dry=1" POCL_DEVICES=pthread \
        GANTRY_OPENCL_MATMUL=portable GANTRY_BACKEND_PATH="$build/lib/gantry" \
        "$build/bin/gantry_conformance" --device /GPU:0 --every 3 \
        --only MatMul,BatchMatMul,Sum,Mean,Prod,Max,All,ArgMax,Softmax,LogSoftmax,LayerNorm,Cumsum,Cumprod,CumulativeLogsumexp,TopK,Sort,ArgSort,InTopK,Unique,UniqueWithCounts,SegmentSum,UnsortedSegmentSum,Bincount,Where \
        >"$work/conformance.log" 2>&1 || true
fi
"$build/bin/tests/test_hostile_forms" >"$work/forms.log" 2>&1 || { cat "$work/forms.log"; exit 1; }

# ---- compiling ----
# compile TEXT TARGET LIBRARY OUT FLAGS...
compile() {
    text=$1 target=$2 functions=$3 out=$4
    shift 4
    # shellcheck disable=SC2046
    $clang -x cl -D__OPENCL_VERSION__=120 $(sed -n '1s|^// ||p' "$text") -target "$target" "$@" -Xclang -finclude-default-header -nogpulib \
        -Xclang -mlink-builtin-bitcode -Xclang "$library/$functions" -O3 -fno-unroll-loops -ffp-contract=off -S -o "$out" "$text"
}
# Prints lines "architecture kernel bytes registers" for one text.
judge_amd() { # TEXT ARCHITECTURE
    compile "$1" amdgcn-amd-amdhsa amdgcn--amdhsa.bc "$work/out.s" "-mcpu=$2"
    awk -v card="$2" '/^[ \t]*\.amdhsa_kernel / { kernel = $2 } /^; NumVgprs:/ { registers = $3 }
                      /^; ScratchSize:/ { print card, kernel, $3, registers }' "$work/out.s"
}
judge_nvidia() { # TEXT ARCHITECTURE
    compile "$1" nvptx64--nvidiacl nvptx64--nvidiacl.bc "$work/out.ptx" -Xclang -target-cpu -Xclang sm_75
    "$ptxas" -v -arch "$2" -o "$work/out.cubin" "$work/out.ptx" 2>&1 |
        awk -v card="$2" '/Compiling entry function/ { split($0, part, "\x27"); kernel = part[2] } / bytes stack frame/ { bytes = $1 + $5 }
                          /: Used [0-9]+ registers/ { for (i = 1; i < NF; ++i) if ($i == "Used") print card, kernel, bytes, $(i + 1) }'
}

texts=0
: >"$work/kernels.txt"
for text in "$work"/texts/*.cl; do
    sum=$(cksum <"$text" | tr ' ' _)
    [ ! -e "$work/$sum" ] || continue
    : >"$work/$sum"
    texts=$((texts + 1))
    for card in gfx906 gfx1100; do judge_amd "$text" $card >>"$work/kernels.txt"; done
    if [ -n "$ptxas" ]; then
        cards=sm_75
        [ "$all" != --all ] || cards="sm_75 sm_90 sm_120"
        for card in $cards; do judge_nvidia "$text" $card >>"$work/kernels.txt"; done
    fi
done
[ $texts -ge 8 ] || { echo "only $texts texts came: see $work"; exit 1; }
[ -n "$ptxas" ] || echo "without ptxas: NVIDIA's cards are left out"

# ---- the verdict ----
sort -u "$work/kernels.txt" | awk -v ceilings="$source/tests/cards/scratch.txt" -v is_all="${all:+1}" '
    BEGIN { while ((getline line < ceilings) > 0) if (line !~ /^#/ && split(line, part, " ") == 3) ceiling[part[1] " " part[2]] = part[3] }
    { ++count; key = substr($1, 1, 3) " " $2; if ($3 > most[key]) most[key] = $3; seen[key] = 1 }
    $3 > ceiling[key] + 0 { print "FAIL: " $2 " on " $1 ": " $3 " bytes of private memory, at most " ceiling[key] + 0; ++bad }
    END {
        for (key in ceiling) if (is_all && key in seen && most[key] < ceiling[key])
            { print "FAIL: " key " takes " most[key] + 0 " bytes, less than its ceiling of " ceiling[key] ": lower it"; ++bad }
        print count " kernels on cards, " bad + 0 " beyond their ceiling"
        exit bad > 0
    }'
echo "$texts texts by $clang${ptxas:+ and ptxas}; registers: $work/kernels.txt"
