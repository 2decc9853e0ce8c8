#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# use_installed.sh PREFIX WORK CONSUMER OPENCL CUDA: uses the installation in PREFIX as a user would: runs the
# command, builds and runs programs that use find_package, pkg-config and Meson, in C and C++, the programs of the
# documents, and the installed examples. CONSUMER is a copy of tests/packaging/consumer; OPENCL and CUDA are texts that these
# backends' path or reason must contain ("" accepts any). Environment: CC, CXX, GENERATOR; FOREIGN, a list of folders,
# one per line, that no installed file may name; POCL=OFF leaves out what needs PoCL. POCL_CACHE_DIR and OCL_ICD_VENDORS
# reach the programs.
set -eu
prefix=$1 work=$2 consumer=$3 opencl=$4 cuda=$5
here=$(cd "$(dirname "$0")" && pwd)
: "${CC:=cc}" "${CXX:=c++}" "${GENERATOR:=Unix Makefiles}" "${POCL:=ON}"
mkdir -p "$work/home"
cd /
fail() {
    echo "FAILED: $*"
    exit 1
}

# alone COMMAND...: runs the command in an environment without any path to the build.
alone() {
    env -i PATH="$PATH" HOME="$work/home" ${POCL_CACHE_DIR:+POCL_CACHE_DIR="$POCL_CACHE_DIR"} ${OCL_ICD_VENDORS:+OCL_ICD_VENDORS="$OCL_ICD_VENDORS"} \
        GANTRY_TUNING_FILE= "$@" >"$work/output" 2>&1 ||
        { code=$? && cat "$work/output" && fail "$*: exit code $code"; }
}
has() { grep -qF -e "$1" "$work/output" || { cat "$work/output" && fail "\"$1\" is not in the output of $2"; }; }

for file in share/doc/gantry/LICENSE share/doc/gantry/README.md share/doc/gantry/docs/memory.md share/doc/gantry/examples/gpu_guide.c include/gantry/gantry.h; do
    [ -f "$prefix/$file" ] || fail "$file is not installed"
done
# Links within the installed pages lead to files.
cd "$prefix/share/doc/gantry"
for link in $(grep -o '](\([a-zA-Z_/.]*\))' README.md | tr -d '()]' | sort -u); do [ -e "$link" ] || fail "README.md links to $link, which is not installed"; done
cd /
printf '%s\n' "${FOREIGN:-}" | while read -r folder; do
    [ -z "$folder" ] || ! grep -rlF -e "$folder" "$prefix" || fail "these installed files name $folder"
done

if [ -x "$prefix/bin/gantry" ]; then
    alone "$prefix/bin/gantry" devices --verbose
    has "cpu        usable" "gantry devices"
    [ -z "$opencl" ] || has "$opencl" "gantry devices"
    [ -z "$cuda" ] || has "$cuda" "gantry devices"
    alone "$prefix/bin/gantry" ops
    has MatMul "gantry ops"
    for file in man/man1/gantry.1 bash-completion/completions/gantry zsh/site-functions/_gantry fish/vendor_completions.d/gantry.fish; do
        [ -s "$prefix/share/$file" ] || fail "share/$file is not installed"
    done
    echo "bin/gantry runs"
fi

program() { # NAME PROGRAM...
    name=$1
    shift
    alone "$@"
    has "1 + 2 = 3" "$name"
    echo "$name runs"
}
libdir=$(dirname "$(dirname "$(find "$prefix" -name gantry.pc)")") flags=""
# Debian's CMake does not search lib64 by default.
where=-DCMAKE_PREFIX_PATH=$prefix
[ "${libdir##*/}" != lib64 ] || where=-DGantry_DIR=$libdir/cmake/Gantry
for language in C CXX; do
    if [ $language = CXX ] && ! command -v "$CXX" >/dev/null 2>&1; then
        echo "SKIP: no C++ compiler ($CXX)"
        continue
    fi
    alone cmake -S "$consumer" -B "$work/in $language" -G "$GENERATOR" -DLANGUAGE=$language "$where" -DCMAKE_C_COMPILER="$CC" \
        -DCMAKE_CXX_COMPILER="$CXX"
    alone cmake --build "$work/in $language"
    program "find_package, $language" "$work/in $language/consumer" "$opencl" "$cuda"
done
alone cmake -S "$consumer" -B "$work/in C" -DCOMPONENT=gantry_train
if (alone cmake -S "$consumer" -B "$work/in C" -DCOMPONENT=gantry_absent) >/dev/null; then fail "find_package finds gantry_absent"; fi
has "This installation of Gantry has no component gantry_absent." "find_package"

if command -v pkg-config >/dev/null 2>&1; then
    flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs gantry)
    # shellcheck disable=SC2086
    alone "$CC" -std=c11 "$consumer/consumer.c" -o "$work/by_pkg_config" $flags
    program "pkg-config: $flags" env LD_LIBRARY_PATH="$libdir" "$work/by_pkg_config" "$opencl" "$cuda"
    if command -v "$CXX" >/dev/null 2>&1; then
        # shellcheck disable=SC2086
        alone "$CXX" "$consumer/consumer.cpp" -o "$work/by_pkg_config_cpp" $flags
        program "pkg-config, C++" env LD_LIBRARY_PATH="$libdir" "$work/by_pkg_config_cpp"
    fi
    if [ -e "$libdir/pkgconfig/gantry_train.pc" ]; then
        # It calls only libgantry_train, which finds libgantry by itself.
        flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs gantry_train)
        printf '#include <gantry_train/train.h>\nint main(void) { return gantry_dataset_take(NULL, 1) != NULL; }\n' >"$work/by_train.c"
        # shellcheck disable=SC2086
        alone "$CC" -std=c11 "$work/by_train.c" -o "$work/by_train" -Wl,--as-needed $flags "-Wl,-rpath,$libdir"
        alone "$work/by_train"
        echo "a program that calls only libgantry_train runs"
        if [ -e "$libdir/libgantry_train.a" ]; then
            # shellcheck disable=SC2086
            alone "$CC" -std=c11 "$work/by_train.c" -o "$work/by_train" -Wl,--whole-archive $flags -Wl,--no-whole-archive
            alone "$work/by_train"
            echo "no two objects of the static libraries define one name"
        fi
    fi
    if [ -e "$libdir/pkgconfig/gantry_train_mpi.pc" ]; then
        flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs gantry_train_mpi)
        printf '#include <gantry_train/mpi.h>\nint main(void) { return gantry_mpi_is_launched(); }\n' >"$work/by_mpi.c"
        # shellcheck disable=SC2086
        alone "$CC" -std=c11 "$work/by_mpi.c" -o "$work/by_mpi" $flags
        alone env LD_LIBRARY_PATH="$libdir" "$work/by_mpi"
    else
        echo "SKIP: gantry_train_mpi is not installed, MPI was not found when it was built"
    fi
else
    echo "SKIP: no pkg-config"
fi

# Follows the documents.
if command -v pkg-config >/dev/null 2>&1; then
    documents_opencl=no
    [ -z "$opencl" ] || [ "$POCL" = OFF ] || documents_opencl=yes
    CC=$CC CXX=$CXX GENERATOR=$GENERATOR sh "$here/documents.sh" "$prefix" "$work/documents" $documents_opencl
fi

if command -v meson >/dev/null 2>&1 && command -v ninja >/dev/null 2>&1; then
    alone env PKG_CONFIG_PATH="$libdir/pkgconfig" CC="$CC" meson setup "$work/meson" "$prefix/share/doc/gantry/examples"
    alone ninja -C "$work/meson" functions
    alone env LD_LIBRARY_PATH="$libdir" "$work/meson/functions" --device CPU:0
    has "ResourceExhausted: function at_once" "the example by Meson"
    echo "an installed example builds by Meson and runs"
else
    echo "SKIP: no meson, or no ninja"
fi

alone cmake -S "$prefix/share/doc/gantry/examples" -B "$work/examples" -G "$GENERATOR" -DCMAKE_BUILD_TYPE=Release "$where" -DCMAKE_C_COMPILER="$CC"
alone cmake --build "$work/examples"
alone "$work/examples/cpu_vs_gpu" --size 64 --devices /CPU:0
has "/CPU:0" cpu_vs_gpu
alone "$work/examples/functions" --device CPU:0
has "ResourceExhausted: function at_once" functions
alone "$work/examples/custom_loop" --device CPU:0 --epochs 5
has "accuracies: equal" custom_loop
if [ -n "$opencl" ] && [ "$POCL" != OFF ]; then
    alone env POCL_DEVICES="pthread pthread" "$work/examples/gpu_guide"
    has "[[22. 28.]" gpu_guide
fi
echo "the installed examples build and run"
