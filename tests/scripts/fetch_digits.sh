#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: scripts/fetch-digits asks pip for one version by its hash, unpacks the digits, and without a network says
# what to do.
#
# fetch_digits.sh SOURCE_DIR WORK_DIR.
SCRIPT=fetch-digits
. "$(dirname "$0")/fetch_frame.sh"
cat >wheels.py <<'END'
import gzip, sys, zipfile
assert sys.argv[2:] == ["scikit_learn"], sys.argv
with zipfile.ZipFile(sys.argv[1] + "/made_up.whl", "w") as wheel:
    wheel.writestr("sklearn/datasets/data/digits.csv.gz", gzip.compress(b"0,1\n" * int(open("NETWORK").read())))
    wheel.writestr("sklearn/datasets/descr/digits.rst", "made up")
END
fetch_ends 2 'accepted are --check' --nonsense
fetch_ends 2 '"--all" is not understood' --all
fetch_ends 1 '' --check
fetch_ends 1 'could not be downloaded. Where there is a network'
echo 12 >NETWORK
fetch_ends 1 'build/digits is not as expected'
echo 1797 >NETWORK
fetch_ends 0 'build/digits has digits.csv of scikit-learn'
[ "$(wc -l <build/digits/digits.csv)" -eq 1797 ] && [ "$(cat build/digits/digits.rst)" = "made up" ] || { echo "the files are wrong"; exit 1; }
rm NETWORK # nothing is downloaded again
fetch_ends 0 'build/digits has digits.csv'
fetch_ends 0 '' --check
echo "digits fetched once; no network, a wrong file and a wrong option are reported"
