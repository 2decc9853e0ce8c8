#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (package_versions): An installation finds its own modules where another version is installed as well; modules of the
# other one on GANTRY_BACKEND_PATH come first, and the reason names those that they replace.
# Promise (package_versions): A module with an older layout of its tables serves a newer library; a module that needs a newer
# library, or is none, is refused with the reason, and the others serve.
# Promise (package_versions): Libraries of two sonames serve in one process, each with its own symbols.
#
# versions.sh SOURCE BUILD WORK: installs BUILD twice, and puts modules of the tests into the first installation.
set -eu
source=$1 build=$2 work=$3
fail() { echo "FAILED: $*"; exit 1; }
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/one" >"$work/install.log" || fail "cmake --install"
cp -R "$work/one" "$work/another version"
devices() { # VARIABLES...: `gantry devices` of the first installation
    env -u GANTRY_BACKENDS -u GANTRY_BACKEND_PATH HOME="$work" "$@" "$work/one/bin/gantry" devices --verbose >"$work/seen" 2>&1 || { cat "$work/seen"; fail "gantry devices ends with $?"; }
    grep -q '^  cpu        usable' "$work/seen" || { cat "$work/seen"; fail "the CPU backend does not serve"; }
}
has() { grep -qE -e "$1" "$work/seen" || { cat "$work/seen"; fail "\"$1\" is not in the output of gantry devices"; }; }
modules=$(dirname "$(find "$work/one" -name libgantry_backend_cuda.so)") other=$(dirname "$(find "$work/another version" -name libgantry_backend_cuda.so)")

devices
has "^  cuda .*/one/.*libgantry_backend_cuda.so"
if grep -q "another version" "$work/seen"; then cat "$work/seen"; fail "the modules of another installation were found"; fi
devices GANTRY_BACKEND_PATH="$other"
has "^  cuda .*/another version/.*libgantry_backend_cuda.so"
has "^  cuda +refused .*/one/.*libgantry_backend_cuda.so"
has "reason: a backend named cuda was found earlier"

fake() { cp "$build/lib/tests/$1/libgantry_backend_fake.so" "$modules/libgantry_backend_$1.so"; }
fake previous
devices
has "^  fake +usable"
rm "$modules/libgantry_backend_previous.so"
fake newer
fake incomplete
echo "no module" >"$modules/libgantry_backend_text.so"
devices
has "libgantry_backend_newer.so refuses ABI version [0-9]+ of this library"
has "required slot .* is missing"
has "libgantry_backend_text.so cannot be opened"
has "^  cuda .*/one/.*libgantry_backend_cuda.so"
echo "each installation has its modules, and unlike ones are refused"

# A library of the next soname with one function.
cd "$work"
lib=$(dirname "$modules")
number=$(sed -n 's/^set(GANTRY_SONAME_NUMBER \([0-9]*\))$/\1/p' "$source/cmake/gantry_symbols.cmake")
next=$((number + 1))
echo "const char *gantry_version(void); const char *gantry_version(void) { return \"of the next soname\"; }" >next.c
echo "GANTRY_$next { global: gantry_*; local: *; };" >next.map
cat >both.c <<'EOS'
#include <gantry/gantry.h>
#include <gantry_onnx/onnx.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    gantry_onnx_model_t *model = NULL;
    /* A status of libgantry, through the message that libgantry of the other soname keeps. */
    if (gantry_onnx_model_load(NULL, NULL, NULL, &model) == GANTRY_OK) return 1;
    puts(gantry_version());
    return strcmp(gantry_version(), "of the next soname") != 0;
}
EOS
"${CC:-cc}" -shared -fPIC next.c -o "libgantry.so.$next" "-Wl,-soname,libgantry.so.$next" -Wl,--version-script=next.map
"${CC:-cc}" -std=c11 -I"$source/include" both.c "$work/libgantry.so.$next" -L"$lib" -lgantry_onnx "-Wl,-rpath,$lib" "-Wl,-rpath,$work" "-Wl,-rpath-link,$lib" -o both 2>warnings || { cat warnings; fail "the program does not link"; }
LD_DEBUG=libs ./both >seen 2>loaded || fail "the program with two sonames ends with $?"
for soname in "libgantry.so.$number" "libgantry.so.$next"; do
    grep -q "calling init: .*/$soname" loaded || fail "the process has not loaded $soname"
done
echo "libraries of two sonames serve in one process"
