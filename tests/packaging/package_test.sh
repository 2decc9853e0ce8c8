#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (package_installed): The installed tree works after it is moved: command, find_package and its components,
# pkg-config, C and C++, examples, and the programs of README and docs/.
# Promise (package_subproject): FetchContent and add_subdirectory set nothing of the parent's; a static library links by
# find_package and pkg-config; chosen backends link statically.
# Promise (package_subproject): No two objects of the static libraries define one name.
# Promise (package_subproject): A library that is built with one instruction set runs every op and is smaller than 3
# MiB.
#
# package_test.sh MODE SOURCE_DIR BUILD_DIR: uses an installed Gantry, or one built within another project, from
# another folder, and hides source and build when the system can hide folders.
#   installed    installs the build with DESTDIR, moves it and uses it: command, find_package, pkg-config, C and C++,
#                examples
#   subproject   a project with Gantry by FetchContent, and one instruction set compiled in, the best one that this
#                machine has. First a shared library: its program finds the modules in the build tree, conformance passes
#                with it on the CPU, and it is smaller than MOST_BYTES. Then a static one with only OpenCL inside, in
#                lib64, used as the installed one
# Environment: CC, CXX, GENERATOR, STRIP; OPENCL=ON|OFF, whether that backend is built; MOST_BYTES, a number or empty;
# POCL_CACHE_DIR; OCL_ICD_VENDORS.
set -eu
mode=$1 source=$2 build=$3
: "${CC:=cc}" "${CXX:=c++}" "${GENERATOR:=Unix Makefiles}" "${OPENCL:=ON}"
export CC CXX GENERATOR OPENCL
unset GANTRY_BACKENDS GANTRY_BACKEND_PATH LD_LIBRARY_PATH DESTDIR CMAKE_PREFIX_PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/gantry_package.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp -R "$source/tests/packaging" "$work/packaging"
tests=$work/packaging
mkdir "$work/kept"
KEPT=$work/kept
export KEPT
# The drivers' list may lie in the build, which is hidden later.
if [ -d "${OCL_ICD_VENDORS:-}" ]; then
    cp -RL "$OCL_ICD_VENDORS" "$work/vendors"
    OCL_ICD_VENDORS=$work/vendors
    export OCL_ICD_VENDORS
fi

# The steps on PoCL are left out where it may lack (tests/unit/support/need_opencl.h).
POCL=$OPENCL
if [ "$POCL" = ON ]; then
    code=0
    "$build/bin/tests/with_opencl" pocl true || code=$?
    case $code in
        0) ;;
        77) POCL=OFF ;;
        *) exit $code ;;
    esac
fi
export POCL

# bare COMMAND...: runs the command in an environment of PATH and the OpenCL drivers alone.
bare() { env -i PATH="$PATH" ${OCL_ICD_VENDORS:+OCL_ICD_VENDORS="$OCL_ICD_VENDORS"} "$@"; }

# quiet COMMAND...: shows the command's output only when it fails.
quiet() {
    "$@" >"$work/log" 2>&1 || { code=$? && cat "$work/log" && echo "FAILED: $*: exit code $code" && exit 1; }
}

set=$("$source/scripts/simd-set")

# Relative relocations are packed, as docs/embedding.md says, where linker and C library can; else they take a quarter
# of a mebibyte.
pack=
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc 2\.//p')
if [ "${glibc:-0}" -ge 36 ] && "$CC" -Wl,--help 2>/dev/null | grep -q pack-relative-relocs; then
    pack=-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,pack-relative-relocs
elif [ -n "${MOST_BYTES:-}" ]; then
    MOST_BYTES=$((MOST_BYTES + 262144))
fi

# The library's own targets choose their optimization, and so keep the size that is checked, and have the commands of the
# build that runs this test, whose objects serve here, too. Other targets take the parent's, which here is none. A
# parent's unity build is not Gantry's.
REUSE=$work/reuse REUSE_BUILD=$build REUSE_FOLDER="$work/a parent/_deps/gantry-build" REUSE_SOURCE=$source
export REUSE REUSE_BUILD REUSE_FOLDER REUSE_SOURCE
parent() { # HOW ARGUMENTS...: configures the project that has Gantry inside
    how=$1
    shift
    quiet cmake -S "$tests/subproject" -B "$work/a parent" -G "$GENERATOR" -DHOW="$how" -DGANTRY="$source" -DCMAKE_C_COMPILER="$CC" -DCMAKE_UNITY_BUILD=ON \
        -DCMAKE_C_COMPILER_LAUNCHER="sh;$tests/reuse.sh;compile" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-DNDEBUG \
        -DWANTED_BUILD_TYPE=Release -DGANTRY_CPU_SIMD_BUILD=$set ${pack:+"$pack"} "$@"
}
build_parent() { # CMAKE ARGUMENTS...
    : >"$work/reuse.copied"
    quiet cmake --build "$work/a parent" --parallel 2 "$@"
    quiet sh "$tests/reuse.sh" generated "$build" "$REUSE_FOLDER"
    echo "$(wc -l <"$work/reuse.copied") objects have the commands of $build"
}

# Every op runs with the shared library of one set, which has no base to fall back on.
conformance() {
    LD_LIBRARY_PATH=$(dirname "$library") GANTRY_CPU_SIMD=base GANTRY_BACKENDS=cpu
    export LD_LIBRARY_PATH GANTRY_CPU_SIMD GANTRY_BACKENDS
    quiet "$build/bin/gantry" devices --verbose
    grep -q "vector code: $set" "$work/log" || { cat "$work/log"; echo "FAILED: the library of $set alone was not used"; exit 1; }
    quiet "$build/bin/gantry_conformance" --device cpu:0 --every 25 # the first case of each op always runs
    tail -1 "$work/log"
    unset LD_LIBRARY_PATH GANTRY_CPU_SIMD GANTRY_BACKENDS
}

# The name chooses one instruction set, and the library with it must be right and small.
one_set() {
    ! cmake -S "$source" -B "$work/refused" -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" -DGANTRY_CPU_SIMD_BUILD=mmx >"$work/log" 2>&1 ||
        { echo "FAILED: GANTRY_CPU_SIMD_BUILD=mmx was accepted"; exit 1; }
    grep -q 'GANTRY_CPU_SIMD_BUILD is "mmx"' "$work/log" || { cat "$work/log"; echo "FAILED: the message does not name the value"; exit 1; }
    library=$(find "$work/a parent" -name libgantry.so)
    conformance
    [ -n "${MOST_BYTES:-}" ] || { echo "the size is not checked: it holds for the optimized library of one compiler"; return 0; }
    "$STRIP" -o "$work/stripped" "$library"
    bytes=$(wc -c <"$work/stripped")
    echo "$set alone${pack:+, relocations packed}: $bytes bytes of $MOST_BYTES"
    [ "$bytes" -lt "$MOST_BYTES" ] || exit 1
}

opencl="" cuda=""
case $mode in
    installed)
        DESTDIR=$work/stage quiet cmake --install "$build" --prefix /opt/gantry
        mv "$work/stage/opt/gantry" "$work/moved" # nothing of the prefix it was installed for may be needed
        [ "$OPENCL" = OFF ] || opencl=$work/moved
        FOREIGN="$source
$build
$work/stage
/opt/gantry"
        export FOREIGN
        sh "$tests/without.sh" "$build" "$source" -- sh "$tests/use_installed.sh" "$work/moved" "$work/use" "$tests/consumer" "$opencl" "$cuda" ;;
    subproject)
        sh "$tests/reuse.sh" table "$build" "$source" >"$REUSE"
        parent fetch
        build_parent --target program
        [ "$OPENCL" = OFF ] || opencl="$work/a parent/"
        quiet bare sh -c 'cd / && exec "$@"' program "$work/a parent/elsewhere/program" "$opencl" "$work/a parent/"
        cat "$work/log"
        one_set

        # The same folder as a static library: most objects are the same.
        backends="" cuda="not built in: this static library was configured without it; -DGANTRY_STATIC_BACKENDS=cuda links it in"
        if [ "$OPENCL" = ON ]; then
            backends=opencl opencl="built in" cuda="not built in: this static library was configured without it; -DGANTRY_STATIC_BACKENDS=opencl,cuda links it in"
        fi
        parent fetch -DBUILD_SHARED_LIBS=OFF -DGANTRY_STATIC_BACKENDS=$backends -DGANTRY_BUILD_TOOLS=ON -DCMAKE_INSTALL_LIBDIR=lib64
        build_parent
        quiet "$work/a parent/elsewhere/program" "$opencl" "$cuda"
        cat "$work/log"
        quiet cmake --install "$work/a parent" --prefix "$work/prefix"
        bare "$work/prefix/bin/gantry" devices --verbose | grep "vector code: $set"
        bare "$work/prefix/bin/gantry" doctor >"$work/log" || true
        grep -q 'remedy: configure Gantry with -DGANTRY_STATIC_BACKENDS=AUTO' "$work/log" ||
            { cat "$work/log"; echo "FAILED: doctor does not tell how a static library gets its other backends"; exit 1; }
        [ -f "$work/prefix/lib64/libgantry.a" ] || { echo "FAILED: CMAKE_INSTALL_LIBDIR=lib64 has no libgantry.a"; exit 1; }
        # The layer belongs to the command: `gantry run` gives it to other programs.
        ! find "$work/prefix" -name '*.so*' ! -name libgantry_opencl_layer.so | grep . || { echo "FAILED: a static library is installed with these"; exit 1; }
        rm -rf "$work/a parent"
        FOREIGN="$source
$work/a parent"
        export FOREIGN
        sh "$tests/without.sh" "$build" "$source" -- sh "$tests/use_installed.sh" "$work/prefix" "$work/use" "$tests/consumer" "$opencl" "$cuda"

        # Uses add_subdirectory without naming backends: a static library has every backend that can be built.
        parent add -DCMAKE_BUILD_TYPE= -DWANTED_BUILD_TYPE= -DBUILD_SHARED_LIBS=OFF
        for backend in cpu cuda $([ "$OPENCL" = OFF ] || echo opencl); do
            find "$work/a parent" -name builtin_modules.c -exec cat {} + | grep -qF "{\"$backend\", gantry_backend_query_$backend}" ||
                { echo "FAILED: a static library has $backend not inside, though nothing was said of backends"; exit 1; }
        done ;;
    *) echo "package_test.sh: there is no mode $mode" && exit 2 ;;
esac
