#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: scripts/fetch-digits asks pip for one version by its hash, unpacks the digits, and without a network says
# what to do.
#
# fetch_digits.sh SOURCE_DIR WORK_DIR.
#
# pip is a stand-in.
set -eu
source=$1 work=$2
command -v python3 >/dev/null 2>&1 || { echo "SKIP: no python3"; exit 77; }
rm -rf "$work"
mkdir -p "$work/scripts"
cp "$source/scripts/common.sh" "$source/scripts/fetch-digits" "$work/scripts"
cd "$work"
cat >python <<'END'
#!/bin/sh
# Passes all but pip to Python. The wheel has as many images as the file LINES says; without it there is no network.
[ "$1 $2" = "-m pip" ] || exec python3 "$@"
case $3 in --version) exit 0 ;; download) ;; *) exit 2 ;; esac
for last in "$@"; do [ "${previous:-}" != --dest ] || folder=$last; previous=$last; done
grep -q '^scikit-learn==[0-9.]* --hash=sha256:[0-9a-f]\{64\}$' "$last" || exit 3
case " $* " in *" --no-deps --require-hashes "*) ;; *) exit 4 ;; esac
[ -f LINES ] || { echo "no network" >&2; exit 1; }
exec python3 -c '
import gzip, sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/made_up.whl", "w") as wheel:
    wheel.writestr("sklearn/datasets/data/digits.csv.gz", gzip.compress(b"0,1\n" * int(open("LINES").read())))
    wheel.writestr("sklearn/datasets/descr/digits.rst", "made up")' "$folder"
END
chmod +x python
fetch() { PYTHON=$work/python scripts/fetch-digits "$@"; }
fails() { # CODE TEXT ARGUMENTS
    wanted=$1 text=$2 code=0
    shift 2
    fetch "$@" >log 2>&1 || code=$?
    [ $code = "$wanted" ] || { echo "fetch-digits $*: exit $code, not $wanted:"; cat log; exit 1; }
    [ -z "$text" ] || grep -q "$text" log || { echo "\"$text\" is not in:"; cat log; exit 1; }
    [ ! -e build/digits.part ] || { echo "build/digits.part was left"; exit 1; }
}
fails 2 'accepted are --check' --nonsense
fails 1 '' --check
fails 1 'could not be downloaded. Where there is a network'
echo 12 >LINES
fails 1 'build/digits is not as expected'
echo 1797 >LINES
fails 0 'build/digits has digits.csv of scikit-learn=='
[ "$(wc -l <build/digits/digits.csv)" -eq 1797 ] && [ "$(cat build/digits/digits.rst)" = "made up" ] || { echo "the files are wrong"; exit 1; }
rm LINES # nothing is downloaded again
fails 0 'build/digits has digits.csv'
fails 0 '' --check
echo "digits fetched once; no network, a wrong file and a wrong option are told"
