#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that under wine the README's first program, the command and the examples print what they print on Linux, and that
# bad paths, missing DLLs and a lack of OpenCL are reported with reasons.
# programs.sh BUILD REFERENCE WORK: BUILD has the programs of Windows, and REFERENCE this machine's. Prints a line for each
# test and, last, "N passed, N failed, N skipped". The environment has wine's variables.
set -u
build=$(cd "$1" && pwd) reference=$(cd "$2" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$3" && mkdir -p "$3" && work=$(cd "$3" && pwd)
bin=$build/bin passed=0 failed=0 skipped=0
unset GANTRY_LOG GANTRY_BACKEND_PATH
# Sums in the order of the one instruction set that is built, and no library for products.
export GANTRY_CPU_SIMD=base GANTRY_CPU_MATMUL=own GANTRY_CPU_THREADS=2 WINEDLLOVERRIDES="opencl=d"
XDG_CACHE_HOME=$(winepath -w "$work/cache")
export XDG_CACHE_HOME POCL_CACHE_DIR="$work/cache/pocl" # a driver of this machine does not know Windows' paths
mkdir -p "$work/cache"

# result NAME yes|no: counts a test; for a failure the end of the output is shown.
result() {
    if [ "$2" = yes ]; then
        passed=$((passed + 1)) && echo "passed $1"
    else
        failed=$((failed + 1)) && echo "FAILED $1" && tail -12 "$work/seen"
    fi
}

# run PROGRAM...: its output, of both streams, in $work/seen with line ends of Linux; returns its exit code.
run() {
    code=0
    wine "$@" >"$work/raw" 2>&1 || code=$?
    tr -d '\r' <"$work/raw" >"$work/seen"
    return "$code"
}

# expect NAME CODE PATTERN PROGRAM...: the exit code, and a line that matches.
expect() {
    name=$1 wanted=$2 pattern=$3 good=no
    shift 3
    run "$@"
    [ "$code" = "$wanted" ] && grep -Eq -- "$pattern" "$work/seen" && good=yes
    [ $good = yes ] || echo "exit code $code"
    result "$name" $good
}

# same_training NAME PROGRAM ARGUMENTS...: the lines but for times, and the bits of the model's files.
same_training() {
    name=$1 program=$2 good=no
    shift 2
    untimed='s/[0-9]* words\/s//; s/[0-9]* texts\/s.*//; s/- [0-9]*s - [0-9]*ms\/step//; s/^saved .*//'
    mkdir -p "$work/$name.linux" "$work/$name.windows"
    "$reference/bin/$program" "$@" --save "$work/$name.linux/model" 2>&1 | sed "$untimed" >"$work/$name.expected"
    run "$bin/$program.exe" "$@" --save "$work/$name.windows/model"
    sed "$untimed" "$work/seen" >"$work/$name.got"
    diff "$work/$name.expected" "$work/$name.got" >"$work/seen" &&
        diff -r "$work/$name.linux" "$work/$name.windows" >"$work/seen" 2>&1 && good=yes
    [ -n "$(find "$work/$name.windows" -type f)" ] || good=no
    result "$name" $good
}

# ---- programs ----
awk '/^```c$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$root/README.md" >"$work/first.c"
x86_64-w64-mingw32-gcc -std=c11 "$work/first.c" -o "$bin/first.exe" -I "$root/include" "$build/lib/libgantry.dll.a" >"$work/seen" 2>&1
run "$bin/first.exe"
awk '/^\$ .\/first$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$root/README.md" >"$work/first.expected"
cmp -s "$work/first.expected" "$work/seen" && result first_program yes || result first_program no

expect devices 0 '^/CPU:0 ' "$bin/gantry.exe" devices
expect devices_without_opencl 0 '^opencl +unavailable +no OpenCL loader: OpenCL[.]dll: ' "$bin/gantry.exe" devices
expect devices_without_cuda 0 '^cuda +unavailable +' "$bin/gantry.exe" devices
expect doctor 0 '^passed +cpu:0 computes' "$bin/gantry.exe" doctor
expect doctor_counts 0 '^[0-9]+ passed, 0 failed' "$bin/gantry.exe" doctor
expect version 0 '^gantry [0-9]+[.][0-9]+[.][0-9]+' "$bin/gantry.exe" version
expect ops 0 '^ *MatMul' "$bin/gantry.exe" ops
expect settings 0 'GANTRY_CPU_THREADS' "$bin/gantry.exe" settings
expect cache 0 '.' "$bin/gantry.exe" cache list
expect usage 2 'devcies' "$bin/gantry.exe" devcies
expect functions 0 'ResourceExhausted: function at_once' "$bin/functions.exe" --device CPU:0
same_training language_id language_id --device CPU:0 --epochs 2 --words 400 --features 256
same_training text_classifier text_classifier --device CPU:0 --epochs 1 --limit 200

# ---- paths ----
long=$work
for i in 1 2 3 4; do long=$long/folder_with_a_name_of_more_than_sixty_characters_so_that_four_are_long_$i; done
number=0
for folder in "$work/a folder with spaces" "$work/gr$(printf '\303\274\303\237e \316\251 \346\227\245')" "$long"; do
    number=$((number + 1))
    mkdir -p "$folder"
    printf '\223NUMPY\001\000v\000%-117s\n\001\000\000\000\002\000\000\000' "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }" >"$folder/in.npy"
    expect "convert_in_path_$number" 0 . "$bin/gantry.exe" convert "$folder/in.npy" "$folder/out.safetensors" --name x
    [ -s "$folder/out.safetensors" ] && result "converted_in_path_$number" yes || result "converted_in_path_$number" no
    GANTRY_LOG="Z:$(printf %s "$folder" | tr / '\\')\\log.txt" GANTRY_LOG_LEVEL=debug wine "$bin/gantry.exe" devices >"$work/seen" 2>&1
    [ -s "$folder/log.txt" ] && result "log_in_path_$number" yes || result "log_in_path_$number" no
done
for folder in "$work/a folder with spaces" "$work/gr$(printf '\303\274\303\237e \316\251 \346\227\245')"; do
    cp -r "$bin/gantry.exe" "$bin"/*.dll "$bin/gantry" "$folder"
    expect "run_from_${folder##*/}" 0 '^/CPU:0 ' "$folder/gantry.exe" devices
    expect "module_from_${folder##*/}" 0 '^opencl +unavailable +no OpenCL loader: ' "$folder/gantry.exe" devices
done
expect convert_missing_file 1 'nothing[.]npy' "$bin/gantry.exe" convert 'Z:\no\such\folder\nothing.npy'

# ---- DLLs that are missing or broken ----
mkdir -p "$work/modules"
echo "int lacks(void);int lacks(void) { return 1; }" >"$work/lacks.c"
echo "int lacks(void);int gantry_backend_query(void);int gantry_backend_query(void) { return lacks(); }" >"$work/needs.c"
x86_64-w64-mingw32-gcc -shared "$work/lacks.c" -o "$work/lacks.dll" && x86_64-w64-mingw32-gcc -shared "$work/needs.c" "$work/lacks.dll" -o "$work/modules/libgantry_backend_needs.dll"
echo "no library" >"$work/modules/libgantry_backend_text.dll"
rm -f "$work/lacks.dll"
GANTRY_BACKEND_PATH=$(winepath -w "$work/modules")
export GANTRY_BACKEND_PATH
expect module_lacks_a_dll 0 '^libgantry_backend_needs[.]dll refused .*(not found|could not be found)' "$bin/gantry.exe" devices
expect module_is_no_dll 0 '^libgantry_backend_text[.]dll refused .*(format|not valid|corrupt)' "$bin/gantry.exe" devices
unset GANTRY_BACKEND_PATH
GANTRY_CUDA_LIBRARY='C:\no\nvcuda.dll'
export GANTRY_CUDA_LIBRARY
expect cuda_library_is_missing 0 '^cuda .*nvcuda[.]dll' "$bin/gantry.exe" devices
unset GANTRY_CUDA_LIBRARY
mkdir -p "$work/lonely"
cp "$bin/first.exe" "$work/lonely"
run "$work/lonely/first.exe"
[ "$code" != 0 ] && ! grep -q '22' "$work/seen" && result program_without_its_dll yes || result program_without_its_dll no

# ---- conformance ----
# counted DEVICE NAME ARGUMENTS...: adds the counts of gantry_conformance.
counted() {
    device=$1 name=$2
    shift 2
    run "$bin/gantry_conformance.exe" --device "$device" "$@"
    cp "$work/seen" "$work/$name.log"
    grep '^FAIL' "$work/seen" | head -20
    # shellcheck disable=SC2046
    set -- $(sed -n 's/^[a-z]*:0: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped.*/\1 \2 \3/p' "$work/seen" | tail -1)
    if [ $# != 3 ] || { [ "$code" != 0 ] && [ "$2" = 0 ]; }; then
        result "$name" no
        return
    fi
    echo "$name: $1 passed, $2 failed, $3 skipped"
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}
counted cpu:0 conformance --few-types --once
"$reference/bin/gantry_conformance" --device cpu:0 --write-bits "$work/bits.txt" >"$work/seen" 2>&1 || result write_bits no
counted cpu:0 bits --compare-bits "$work/bits.txt" --skip-file "$root/tests/windows/skip.txt"

# ---- OpenCL: wine's OpenCL.dll opens the loader of this machine, and so PoCL ----
mkdir -p "$work/pocl"
WINEDLLOVERRIDES= GANTRY_OPENCL_CPU=gpu POCL_CACHE_DIR=$work/pocl
export WINEDLLOVERRIDES GANTRY_OPENCL_CPU POCL_CACHE_DIR
if run "$bin/gantry.exe" devices && grep -q '^ *opencl:0, ' "$work/seen"; then
    counted opencl:0 opencl --only Add,Sum,MatMul --few-types --once
else
    skipped=$((skipped + 1))
    echo "opencl: skipped, $(sed -n 's/^opencl *//p' "$work/seen" | head -1)"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
