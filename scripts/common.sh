# SPDX-License-Identifier: Apache-2.0
# Functions that the scripts share to install packages and to build. Sourced, not run.
set -eu
cd "$(dirname "$0")/.."
ROOT=$PWD
JOBS=${JOBS:-$(nproc 2>/dev/null || echo 2)}

# Debian and Ubuntu packages. Without those of the second line the library still builds and runs, on the CPU backend
# alone.
PACKAGES_BUILD="gcc libc6-dev make ninja-build cmake libxxhash-dev libcjson-dev zlib1g-dev"
PACKAGES_OPENCL="opencl-headers ocl-icd-opencl-dev pocl-opencl-icd libclblast-dev"
PACKAGES_MPI="libopenmpi-dev openmpi-bin"
PACKAGES_BLAS="libdnnl-dev libopenblas0"
PACKAGES_WORDS="wamerican wfrench wngerman wspanish witalian fortunes fortunes-min"
PACKAGES_TEST="libcmocka-dev oclgrind pkg-config python3 clang-format-14 universal-ctags doxygen graphviz liboclgrind-dev llvm-14-dev g++ abigail-tools meson"

say() { printf '\n== %s\n' "$*"; }

is_installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# install_packages NAME...: installs the missing packages when allowed; otherwise it prints the exact command and
# continues if possible.
install_packages() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        echo "This is not Debian or Ubuntu: install the packages that correspond to: $*" >&2
        return 0
    fi
    missing=""
    for package in "$@"; do
        is_installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if [ "${INSTALL:-yes}" = no ]; then
        echo "Missing packages (not installed because of --no-install). Install them with:" >&2
        echo "    apt-get install -y --no-install-recommends$missing" >&2
        return 0
    fi
    as_root=""
    if [ "$(id -u)" != 0 ]; then
        if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
            as_root="sudo"
        else
            echo "Missing packages, and no permission to install them. Run:" >&2
            echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
            exit 1
        fi
    fi
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    wanted=$missing
    missing=""
    for package in $wanted; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            missing="$missing $package"
        else
            echo "$package is not among this system's packages; the parts that need it are left out"
        fi
    done
    [ -n "$missing" ] || return 0
    say "Installing$missing"
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
}

# find_tool VARIABLE REQUIREMENT PROGRAM: prints the path of a program from PyPI: the value of VARIABLE, or bin/PROGRAM of
# a virtual environment of its own in build/tools, into which pip installs REQUIREMENT. It returns 77 and says why when
# there is none.
ZIG_VERSION=0.17.1
find_tool() {
    eval "given=\${$1:-}"
    [ -z "$given" ] || { echo "$given"; return 0; }
    tools=$ROOT/build/tools/${2%%=*}
    if [ ! -x "$tools/bin/$3" ]; then
        [ "${INSTALL:-yes}" = yes ] || { echo "there is no $3: pip install $2, and its path in $1" >&2; return 77; }
        mkdir -p "$tools"
        { python3 -m venv "$tools" && "$tools/bin/python" -m pip install --quiet --disable-pip-version-check "$2"; } >"$tools/pip.log" 2>&1 ||
            { tail -3 "$tools/pip.log" >&2; echo "there is no $3: pip installs no $2" >&2; return 77; }
    fi
    echo "$tools/bin/$3"
}

# room_targets: the targets of the unit tests that need no OpenCL and no CUDA.
room_targets() {
    for folder in tests/unit/*/; do
        case $folder in
            */support/ | */opencl/ | */cuda/ | */two_drivers/ | */tensorflow/) ;;
            *) echo "room_$(basename "$folder")" ;;
        esac
    done
}

# generator PRESET: the presets name Ninja; a configured folder keeps its generator, and a machine without Ninja uses
# make.
generator() {
    kept=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "build/$1/CMakeCache.txt" 2>/dev/null || true)
    if [ -n "$kept" ]; then echo "$kept"; elif command -v ninja >/dev/null 2>&1; then echo Ninja; else echo "Unix Makefiles"; fi
}

# build PRESET [CMAKE ARGUMENTS]: configures and builds into build/PRESET, all or $BUILD_ONLY; the log is shown only
# when it fails.
BUILD_ONLY=
build() {
    preset=$1
    shift
    mkdir -p "build/$preset"
    log="build/$preset/build.log"
    say "Building build/$preset"
    if ! { cmake --preset "$preset" -G "$(generator "$preset")" "$@" && cmake --build "build/$preset" -j "$JOBS" ${BUILD_ONLY:+--target "$BUILD_ONLY"}; } >"$log" 2>&1; then
        tail -60 "$log" >&2
        echo "The build failed; the whole log is $log" >&2
        exit 1
    fi
    grep -E 'not built' "$log" || true
}
