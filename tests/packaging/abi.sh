#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (package_abi): A program that was compiled with the headers of 0.1.0 runs with this library: libabigail finds no
# function removed, and no type of a call changed but for fields at the end of a struct that states its size.
# Promise (package_abi): The check itself finds a changed parameter, a removed function, a field in the middle of a
# struct, and one at the end of a struct without struct_size.
#
# abi.sh SOURCE WORK: compares the headers with packaging/abi/VERSION.abi.gz. Environment: CC.
set -eu
source=$1 work=$2
for tool in abidw abidiff; do
    command -v $tool >/dev/null 2>&1 || { echo "SKIP: there is no $tool: apt-get install abigail-tools"; exit 77; }
done
[ "$(uname -m)" = x86_64 ] || { echo "SKIP: the committed description is of x86_64, and this is $(uname -m)"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
fail() { echo "FAILED: $*"; exit 1; }

# Structs that begin with struct_size may grow at their end.
sized=$(cat "$source"/include/gantry*/*.h | tr '\n' ' ' | grep -oE 'typedef struct (gantry_[a-z0-9_]+) \{ +uint32_t struct_size;' | awk '{ print $3 }' | sort -u)
[ "$(printf '%s\n' "$sized" | wc -l)" -ge 20 ] || fail "only these structs with struct_size were found: $sized"
for name in $sized; do
    printf '[suppress_type]\n  name = %s\n  has_data_member_inserted_at = end\n' "$name"
done >"$work/allowed"

compare() { abidiff --no-added-syms --suppressions "$work/allowed" "$work/reference.abi" "$1" >"$work/report" 2>&1; }

# ---- the headers of this tree against each reference ----
sh "$source/packaging/make-abi" "$work/now.abi" "$source/include"
count=0
for file in "$source"/packaging/abi/*.abi.gz; do
    gzip -dc "$file" >"$work/reference.abi"
    compare "$work/now.abi" || { cat "$work/report"; fail "the ABI of $(basename "$file" .abi.gz) is broken; docs/packages.md says what follows"; }
    count=$((count + 1))
done
[ $count -gt 0 ] || fail "there is no reference in packaging/abi"
echo "$(grep -c "elf-symbol name=" "$work/now.abi") functions keep the ABI of $count reference"

# ---- the check finds breaks ----
# broken NAME found|allowed SED FILE: a copy of the headers with a change.
broken() {
    rm -rf "$work/include"
    cp -R "$source/include" "$work/include"
    sed -i "$3" "$work/include/$4"
    ! cmp -s "$work/include/$4" "$source/include/$4" || fail "$1: $4 was not changed"
    sh "$source/packaging/make-abi" "$work/changed.abi" "$work/include"
    seen=allowed
    compare "$work/changed.abi" || seen=found
    [ $seen = "$2" ] || { cat "$work/report"; fail "$1: expected $2, seen $seen"; }
    echo "$1: $2"
}
broken "a changed parameter" found 's/GANTRY_API gantry_status_t gantry_tensor_unmap(const gantry_tensor_t \*/&*/' gantry/interop.h
broken "a removed function" found '/GANTRY_API const char \*gantry_version(void);/d' gantry/version.h
broken "a field in the middle" found '0,/^    uint32_t struct_size;/s//    uint32_t struct_size; double inserted;/' gantry/runtime.h
broken "a field at the end" allowed 's/^} gantry_backend_status_t;/    double appended; char more[64];\n&/' gantry/runtime.h
broken "a field at the end of a struct without struct_size" found 's/^} gantry_input_spec_t;/    double appended;\n&/' gantry/function.h
