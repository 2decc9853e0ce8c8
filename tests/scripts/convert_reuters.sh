#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: scripts/convert-reuters reads NumPy's pickles of lists, old and new, refuses others, and says what is wrong
# with a file.
# Promise: scripts/convert-reuters makes a file of each topic of reuters.npz, and runs no code of a pickle.
#
# convert_reuters.sh SOURCE_DIR WORK_DIR.
set -eu
source=$1 work=$2
command -v python3 >/dev/null 2>&1 || { echo "SKIP: no python3"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
cd "$work"
cat >make.py <<'END'
"""Makes the .npz files: numpy.array([[1, 5, 9, 20000], [7, 7], [5, 1, 2, 3, 4], [9]], object), pickled by NumPy 2 with
protocol 4, and with protocol 2 under the names of NumPy 1."""
import base64, struct, zipfile
new = base64.b64decode(
    "gASVsgAAAAAAAACMFm51bXB5Ll9jb3JlLm11bHRpYXJyYXmUjAxfcmVjb25zdHJ1Y3SUk5SMBW51bXB5lIwHbmRhcnJheZSTlEsAhZRDAWKUh5"
    "RSlChLAUsEhZRoA4wFZHR5cGWUk5SMAk84lImIh5RSlChLA4wBfJROTk5K/////0r/////Sz90lGKJXZQoXZQoSwFLBUsJTSBOZV2UKEsHSwdl"
    "XZQoSwVLAUsCSwNLBGVdlEsJYWV0lGIu")
old = base64.b64decode(
    "gAJjbnVtcHkuY29yZS5tdWx0aWFycmF5Cl9yZWNvbnN0cnVjdApxAGNudW1weQpuZGFycmF5CnEBSwCFcQJjX2NvZGVjcwplbmNvZGUKcQNYAQ"
    "AAAGJxBFgGAAAAbGF0aW4xcQWGcQZScQeHcQhScQkoSwFLBIVxCmNudW1weQpkdHlwZQpxC1gCAAAATzhxDImIh3ENUnEOKEsDWAEAAAB8cQ9O"
    "Tk5K/////0r/////Sz90cRBiiV1xEShdcRIoSwFLBUsJTSBOZV1xEyhLB0sHZV1xFChLBUsBSwJLA0sEZV1xFUsJYWV0cRZiLg==")
calls = b"cos\nsystem\n(S'touch called'\ntR."  # a pickle that runs a command
def npy(kind, count, data):
    head = str({"descr": kind, "fortran_order": False, "shape": count if isinstance(count, tuple) else (count,)}).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
def save(name, **arrays):
    with zipfile.ZipFile(name, "w") as out:
        for key, data in arrays.items():
            out.writestr(key + ".npy", data)
y = npy("<i8", 4, struct.pack("<4q", 3, 4, 3, 45))
save("new.npz", x=npy("|O", 4, new), y=y)
save("old.npz", x=npy("|O", 4, old), y=npy(">i4", 4, struct.pack(">4i", 3, 4, 3, 45)))
save("calls.npz", x=npy("|O", 4, calls), y=y)
save("topic.npz", x=npy("|O", 4, new), y=npy("<i8", 4, struct.pack("<4q", 3, 4, 46, 45)))
save("fewer.npz", x=npy("|O", 4, new), y=npy("<i8", 3, struct.pack("<3q", 3, 4, 3)))
save("short.npz", x=npy("|O", 4, new), y=npy("<i8", 4, struct.pack("<3q", 3, 4, 3)))
save("square.npz", x=npy("|O", (2, 2), new), y=y)
save("floats.npz", x=npy("|O", 4, new), y=npy("<f8", 4, bytes(32)))
save("lacks.npz", x=npy("|O", 4, new))
open("no_zip.npz", "w").write("text")
open("words.json", "w").write('{"the": 1, "of": 5, "oil": 9}')
END
python3 make.py
convert() { python3 "$source/scripts/convert-reuters" "$@"; }
for form in new old; do
    convert $form.npz $form | grep -qx "4 texts of 3 topics in $form" || { echo "$form.npz was not read"; exit 1; }
    [ "$(cat $form/earn)" = "$(printf '1 5 9 20000\n%%\n5 1 2 3 4\n%%')" ] || { echo "$form/earn is wrong:"; cat $form/earn; exit 1; }
    [ "$(ls $form | tr '\n' ' ')" = "acq earn lead " ] || { echo "other topics:"; ls $form; exit 1; }
done
convert new.npz words --words words.json >/dev/null
[ "$(head -1 words/earn)" = "the of oil 20000" ] || { echo "words were not found:"; cat words/earn; exit 1; }
refused() { # FILE TEXT
    if convert "$1" out >log 2>&1; then echo "$1 was accepted"; exit 1; fi
    grep -q "scripts/convert-reuters: $1: .*$2" log || { echo "\"$2\" is not in the message on $1:"; cat log; exit 1; }
    [ ! -e out ] || { echo "$1 left files"; exit 1; }
}
refused calls.npz 'names os.system; lists of numbers are accepted'
[ ! -e called ] || { echo "the pickle ran a command"; exit 1; }
refused topic.npz 'text 2 has topic 46; 0 to 45 is accepted'
refused fewer.npz '4 texts and 3 topics'
refused short.npz '3 of 4 elements: the file is damaged'
refused square.npz 'shape (2, 2); one dimension is accepted'
refused floats.npz 'elements of type <f8; integers are accepted'
refused lacks.npz 'it has no array y'
refused no_zip.npz 'not a zip file'
refused missing.npz 'No such file or directory'
echo "reuters.npz converted in both forms; 9 files refused"
