#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (package_abi): Programs compiled with 0.1.0's headers run: libabigail finds no function removed, and no type of
# a call changed but for fields at the end of a struct that states its size.
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

# Structs that begin with struct_size may grow after their last field.
allow() { # REFERENCE
    awk -F "'" '
        function value(name, i) { for (i = 1; i < NF; ++i) if ($i ~ name "=$") return $(i + 1) }
        /<class-decl / { class = value(" name"); sized = last = -1 }
        /<data-member / { last = value(" layout-offset-in-bits") }
        /<var-decl name=.struct_size/ && last == 0 { sized = 1 }
        /<\/class-decl>/ && sized == 1 { print "[suppress_type]\n  name = " class "\n  type_kind = struct\n  has_data_member_inserted_between = {" last + 1 ", end}" }' "$1"
}
compare() { abidiff --no-added-syms --suppressions "$work/allowed" "$work/reference.abi" "$1" >"$work/report" 2>&1; }

# ---- the headers of this tree against each reference ----
sh "$source/packaging/make-abi" "$work/now.abi" "$source/include"
count=0
for file in "$source"/packaging/abi/*.abi.gz; do
    gzip -dc "$file" >"$work/reference.abi"
    allow "$work/reference.abi" >"$work/allowed"
    [ "$(grep -c '^  name' "$work/allowed")" -ge 50 ] || fail "only these structs with struct_size were found in $file: $(cat "$work/allowed")"
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
broken "a field in the padding at the end" allowed 's/^} gantry_runtime_options_t;/    int32_t appended;\n&/' gantry/runtime.h
