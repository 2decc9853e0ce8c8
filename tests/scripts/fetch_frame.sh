# SPDX-License-Identifier: Apache-2.0
# What the tests of scripts/fetch-digits and scripts/fetch-models share. Sourced with SCRIPT, the name of the script, and
# with SOURCE_DIR and WORK_DIR as arguments; goes to WORK_DIR. The test writes wheels.py, which gets the folder of the
# wheels, the names of the wanted ones, and makes them.
set -eu
source=$1 work=$2
command -v python3 >/dev/null 2>&1 || { echo "SKIP: no python3"; exit 77; }
rm -rf "$work"
mkdir -p "$work/scripts"
cp "$source/scripts/common.sh" "$source/scripts/wheels.sh" "$source/scripts/$SCRIPT" "$work/scripts"
cd "$work"
# pip is a stand-in, and there is a network if the file NETWORK is there.
cat >python <<'END'
#!/bin/sh
[ "$1 $2" = "-m pip" ] || exec python3 "$@"
case $3 in --version) exit 0 ;; download) ;; *) exit 2 ;; esac
for last in "$@"; do [ "${previous:-}" != --dest ] || folder=$last; previous=$last; done
case " $* " in *" --no-deps --only-binary=:all: "*) ;; *) exit 3 ;; esac
[ -f NETWORK ] || { echo "no network" >&2; exit 1; }
case " $* " in
    *" --require-hashes "*)
        ! grep -v '^[a-z-]*==[0-9.]* --hash=sha256:[0-9a-f]\{64\}$' "$last" || exit 4
        names=$(sed 's/==.*//; s/-/_/g' "$last") ;;
    *) names=$(printf %s "${last%%==*}" | tr - _) ;;
esac
exec python3 wheels.py "$folder" $names
END
chmod +x python
fetch_ends() { # CODE TEXT ARGUMENTS: the script ends with this code, and its text has TEXT
    wanted=$1 text=$2 code=0
    shift 2
    PYTHON=$work/python "scripts/$SCRIPT" "$@" >log 2>&1 || code=$?
    [ $code = "$wanted" ] || { echo "$SCRIPT $*: exit $code, not $wanted:"; cat log; exit 1; }
    [ -z "$text" ] || grep -q -e "$text" log || { echo "\"$text\" is not in:"; cat log; exit 1; }
    for part in build/*.part; do [ ! -e "$part" ] || { echo "$part was left"; exit 1; }; done
}
