#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: scripts/fetch-models asks pip for versions by their hashes, unpacks the models of the examples, and without a
# network says what to do; scripts/demo then leaves the models out.
#
# fetch_models.sh SOURCE_DIR WORK_DIR.
#
# pip is a stand-in.
set -eu
source=$1 work=$2
command -v python3 >/dev/null 2>&1 || { echo "SKIP: no python3"; exit 77; }
rm -rf "$work"
mkdir -p "$work/scripts"
cp "$source/scripts/common.sh" "$source/scripts/fetch-models" "$work/scripts"
cd "$work"
cat >python <<'END'
#!/bin/sh
# Passes all but pip to Python. The wheels have a model each if the file MODELS is there; without a file NETWORK there is none.
[ "$1 $2" = "-m pip" ] || exec python3 "$@"
case $3 in --version) exit 0 ;; download) ;; *) exit 2 ;; esac
for last in "$@"; do [ "${previous:-}" != --dest ] || folder=$last; previous=$last; done
[ -f NETWORK ] || { echo "no network" >&2; exit 1; }
case " $* " in
    *" --require-hashes "*)
        [ "$(grep -c '^[a-z-]*==[0-9.]* --hash=sha256:[0-9a-f]\{64\}$' "$last")" = 2 ] || exit 3
        names="magika silero_vad" ;;
    *) names=$(printf %s "${last%%==*}" | tr - _) ;;
esac
for name in $names; do
    python3 -c '
import os, sys, zipfile
with zipfile.ZipFile(f"{sys.argv[1]}/{sys.argv[2]}-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("x/config.min.json", "{}")
    if os.path.exists("MODELS"):
        wheel.writestr("x/model.onnx" if sys.argv[2] == "magika" else f"x/{sys.argv[2]}.onnx", sys.argv[2])' "$folder" "$name"
done
END
chmod +x python
fails() { # CODE TEXT ARGUMENTS
    wanted=$1 text=$2 code=0
    shift 2
    PYTHON=$work/python scripts/fetch-models "$@" >log 2>&1 || code=$?
    [ $code = "$wanted" ] || { echo "fetch-models $*: exit $code, not $wanted:"; cat log; exit 1; }
    [ -z "$text" ] || grep -q "$text" log || { echo "\"$text\" is not in:"; cat log; exit 1; }
    [ ! -e build/models.part ] || { echo "build/models.part was left"; exit 1; }
}
fails 2 'accepted are --all' --nonsense
fails 1 '' --check
fails 1 'could not be downloaded. Where there is a network'
touch NETWORK
fails 1 'build/models is not as expected'
touch MODELS
fails 0 'build/models has the models of magika and silero-vad'
[ "$(cat build/models/magika/model.onnx)$(cat build/models/silero_vad.onnx)" = magikasilero_vad ] || { echo "the files are wrong"; exit 1; }
fails 0 '' --all
[ "$(cat build/models/all/openwakeword__openwakeword.onnx)" = openwakeword ] || { echo "not all files are there"; exit 1; }
rm NETWORK # nothing is downloaded again
fails 0 'build/models has the models'
fails 0 '' --all
fails 0 '' --check
grep -q '^if scripts/fetch-models; then$' "$source/scripts/demo" && grep -q 'echo "model left out"' "$source/scripts/demo" ||
    { echo "scripts/demo does not leave the models out"; exit 1; }
echo "models fetched once; no network, wrong files and a wrong option are reported"
