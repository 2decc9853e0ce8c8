#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (package_rust): The Rust bindings have each function and struct of the headers, with the layout of C, and run the
# README's first program against an installed library that pkg-config or GANTRY_LIB_DIR names.
#
# rust.sh SOURCE BUILD WORK: tests packaging/rust/gantry-sys offline with an installation of BUILD. cargo's folder is kept.
set -eu
source=$1 build=$2 work=$3
command -v cargo >/dev/null 2>&1 || { echo "SKIP: the Rust bindings are tested by cargo, which is missing"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
rm -rf "$work/installed" "$work/gantry-sys"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/installed" >"$work/install.log" || fail "cmake --install"
"$source/packaging/make-rust-bindings" --check || [ $? = 77 ] || fail "the bindings differ"
version=$(sed -n 's/^#define GANTRY_VERSION "\([0-9.]*\)"$/\1/p' "$source/include/gantry/version.h")
cp -R "$source/packaging/rust/gantry-sys" "$work/gantry-sys"
sed "s/@VERSION@/$version/" "$work/gantry-sys/Cargo.toml.in" >"$work/gantry-sys/Cargo.toml"
cd "$work/gantry-sys"
lib=$(dirname "$(dirname "$(find "$work/installed" -name gantry.pc)")")
export CARGO_TARGET_DIR="$work/target" GANTRY_BACKENDS=cpu
GANTRY_LIB_DIR=$lib cargo test --offline --all-features || fail "cargo test with GANTRY_LIB_DIR"
if GANTRY_LIB_DIR=$work/none cargo build --offline >"$work/none.log" 2>&1; then fail "a folder without the library is accepted"; fi
grep -q 'has no libgantry' "$work/none.log" || { cat "$work/none.log"; fail "the message does not say what is missing"; }
if command -v pkg-config >/dev/null 2>&1; then
    PKG_CONFIG_PATH=$lib/pkgconfig cargo test --offline || fail "cargo test with pkg-config"
else
    echo "left out: pkg-config is missing"
fi
