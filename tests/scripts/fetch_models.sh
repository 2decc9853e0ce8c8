#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: scripts/fetch-models asks pip for versions by their hashes, unpacks the models of the examples, and without a
# network says what to do; scripts/demo then leaves the models out.
#
# fetch_models.sh SOURCE_DIR WORK_DIR.
SCRIPT=fetch-models
. "$(dirname "$0")/fetch_frame.sh"
# The wheels have a model each if the file MODELS is there.
cat >wheels.py <<'END'
import os, sys, zipfile
for name in sys.argv[2:]:
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("x/config.min.json", "{}")
        if os.path.exists("MODELS"):
            wheel.writestr("x/model.onnx" if name == "magika" else f"x/{name}.onnx", name)
END
fetch_ends 2 'accepted are --all' --nonsense
fetch_ends 1 '' --check
fetch_ends 1 'could not be downloaded. Where there is a network'
touch NETWORK
fetch_ends 1 'build/models is not as expected'
touch MODELS
fetch_ends 0 'build/models has the models of magika and silero-vad'
[ "$(cat build/models/magika/model.onnx)$(cat build/models/silero_vad.onnx)" = magikasilero_vad ] || { echo "the files are wrong"; exit 1; }
fetch_ends 0 '' --all
[ "$(cat build/models/all/openwakeword__openwakeword.onnx)" = openwakeword ] || { echo "not all files are there"; exit 1; }
rm NETWORK # nothing is downloaded again
fetch_ends 0 'build/models has the models'
fetch_ends 0 '' --all
fetch_ends 0 '' --check
grep -q '^if scripts/fetch-models; then$' "$source/scripts/demo" && grep -q 'echo "model left out"' "$source/scripts/demo" ||
    { echo "scripts/demo does not leave the models out"; exit 1; }
echo "models fetched once; no network, wrong files and a wrong option are reported"
