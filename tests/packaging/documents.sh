#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# documents.sh PREFIX WORK OPENCL: follows the documents installed in PREFIX, and compares the output with the
# documents. Blocks of a document:
#   ```c, ```cpp, ```cmake   a file, when the first line is a comment with only its name: /* first.c */,
#                            # CMakeLists.txt
#   ```console       a session: lines that begin with "$ " are commands; other lines are their output
#   ```console opencl  a session that needs PoCL and the OpenCL headers
# Each document gets its own folder with the README's files. $HOME/gantry is PREFIX, with its libraries in lib. The
# machine shows no GPU, except for docs/ci.md: this page uses PoCL, and is left out unless OPENCL is "yes" and PoCL is
# installed. docs/embedding.md is left out without a C++ compiler. Environment: CC, CXX, GENERATOR.
set -eu
prefix=$1 work=$2 opencl=$3
: "${CC:=cc}" "${CXX:=c++}" "${GENERATOR:=Unix Makefiles}"
pages=$prefix/share/doc/gantry
icd=/etc/OpenCL/vendors/pocl.icd
rm -rf "${work:?}/home"
mkdir -p "$work/home/gantry" "$work/bin"
libraries=$(dirname "$(dirname "$(find "$prefix" -name gantry.pc)")")
for entry in "$prefix"/*; do ln -sfn "$entry" "$work/home/gantry/"; done
ln -sfn "$libraries" "$work/home/gantry/lib"
ln -sf "$(command -v "$CC")" "$work/bin/cc"
! command -v "$CXX" >/dev/null 2>&1 || ln -sf "$(command -v "$CXX")" "$work/bin/c++"
fail() {
    echo "FAILED: $*"
    exit 1
}

# unpack PAGE SESSIONS: writes the page's files to this folder, and the page's sessions to SESSIONS.
unpack() {
    awk -v sessions="$2" -v opencl="$has_opencl" '
        opencl == "yes" { sub(/^```console opencl$/, "```console") }
        !kind && /^```(c|cpp|cmake|console)$/ { kind = substr($0, 4); first = 1; next }
        !kind && /^```/ { kind = "other"; next }
        kind && /^```/ { kind = file = ""; next }
        kind == "console" { print >sessions }
        kind != "console" && kind && first {
            first = 0
            if (match($0, /^(\/\* [A-Za-z0-9_.]+ \*\/|# [A-Za-z0-9_]+\.[A-Za-z0-9_.]+)$/)) { file = $2; printf "" >file }
        }
        file { print >file }' "$1"
}

# follow PAGE BACKENDS DRIVER
follow() {
    name=$(basename "$1" .md)
    shown=$work/$name.shown seen=$work/$name.seen
    rm -rf "${work:?}/$name" "$shown"
    mkdir -p "$work/$name"
    cd "$work/$name"
    [ "$name" = README ] || unpack "$pages/README.md" /dev/null
    unpack "$pages/$1" "$shown"
    [ -s "$shown" ] || fail "$1 shows no session (a block that begins with \`\`\`console)"
    awk '/^\$ / {
        command = quoted = substr($0, 3)
        gsub(/\047/, "\047\\\047\047", quoted)
        printf "printf \"$ %%s\\n\" \047%s\047\n%s\n", quoted, command
    }' "$shown" >"$work/$name.sh"
    # A failed command is shown with its output.
    env -i PATH="$work/bin:$PATH" HOME="$work/home" ${POCL_CACHE_DIR:+POCL_CACHE_DIR="$POCL_CACHE_DIR"} GANTRY_TUNING_FILE= \
        CMAKE_GENERATOR="$GENERATOR" PKG_CONFIG_PATH="$work/home/gantry/lib/pkgconfig" GANTRY_BACKENDS="$2" ${3:+OCL_ICD_VENDORS="$3"} sh "$work/$name.sh" >"$seen" 2>&1 || true
    diff -u "$shown" "$seen" || fail "$1 shows (-) other output than the commands print (+)"
    echo "$1: $(grep -c '^\$ ' "$shown") commands print the shown output"
}

has_opencl=no
[ "$opencl" != yes ] || [ ! -f $icd ] || ! echo '#include <CL/cl.h>' | "$CC" -E - >/dev/null 2>&1 || has_opencl=yes
[ $has_opencl = yes ] || echo "SKIP: the sessions with OpenCL: there is no OpenCL backend, no PoCL ($icd), or no CL/cl.h"
for page in README.md docs/first_program.md docs/functions.md docs/saved_functions.md docs/placement.md docs/memory.md docs/training.md; do follow $page cpu ""; done
if [ $has_opencl = yes ]; then follow docs/interop.md cpu,opencl $icd; else follow docs/interop.md cpu ""; fi
if [ -e "$work/bin/c++" ]; then follow docs/embedding.md cpu ""; else echo "SKIP: docs/embedding.md: no C++ compiler ($CXX)"; fi
follow docs/write_a_backend.md cpu,small ""

# Blocks of C without a file's name must be literal pieces of the example.
awk -v code="$pages/examples/small_backend/small_backend.c" '
    BEGIN { while ((getline line <code) > 0) text = text line "\n" }
    !kind && /^```c$/ { kind = 1; piece = ""; next }
    kind && /^```$/ {
        if (piece !~ /^\/\* [A-Za-z0-9_.]+ \*\/\n/) { ++count; if (!index(text, piece)) { print "not in " code ":\n" piece; bad = 1 } }
        kind = 0; next
    }
    kind { piece = piece $0 "\n" }
    END { print "docs/write_a_backend.md: " count " pieces of small_backend.c"; exit bad || !count }' "$pages/docs/write_a_backend.md" ||
    fail "docs/write_a_backend.md quotes lines that small_backend.c does not have"
if [ "$opencl" = yes ] && [ -f $icd ] && [ -x "$prefix/bin/gantry" ]; then
    follow docs/ci.md cpu,opencl $icd
else
    echo "SKIP: docs/ci.md: there is no OpenCL backend, no PoCL ($icd), or no command gantry"
fi
