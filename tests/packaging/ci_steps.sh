#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (package_ci_steps): The workflow that users copy works: its steps are shell scripts; `gantry doctor` passes
# with two devices and fails with one.
#
# ci_steps.sh BUILD_DIR | --root [tensorflow]: runs the steps of examples/ci/github.yml, which users copy; with the word
# tensorflow, those of examples/ci/tensorflow.yml.
#
# With a build: checks that each step is a shell script and that the page docs/ci.md names the file, then runs the step
# that starts `gantry doctor`, with the programs of the build. The other steps need root or minutes.
# --root: debootstrap makes a clean root, as the workflow's container is one, with a clone of this tree's last commit as
# the user's copy of Gantry and the README's program, or a test in TensorFlow, as the user's project; there every step
# runs. Some fifteen minutes on a quiet machine. Each step is named when it begins; build/ci_steps_github.log, or
# build/ci_steps_tensorflow.log, has all output. A failure names the step and shows the end of its output.
# Environment: CI_MIRROR (by default debootstrap's own), CI_SUITE (by default bookworm, which is the container's Debian
# 12), CI_CERTIFICATES (a file with certificates that the root trusts as well, where a proxy signs for other hosts).
set -eu

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
kind=github
[ "${1:-}" != --root ] || kind=${2:-github}
workflow=$ROOT/examples/ci/$kind.yml

fail() {
    echo "ci_steps: FAILED: $*"
    exit 1
}

# unpack FOLDER: writes the steps' scripts as 1.sh, 2.sh... with their names in names, and the variables as env.sh.
unpack() {
    awk -v out="$1" '
        function indent(line) { match(line, /^ */); return RLENGTH }
        /^    env:/ { env = 1; next }
        env && indent($0) <= 4 { env = 0 }
        env {
            sub(/ +#.*/, "")
            split($0, part, /: /)
            gsub(/ /, "", part[1])
            print "export " part[1] "=\047" part[2] "\047" >(out "/env.sh")
        }
        script && indent($0) <= 8 && $0 != "" { script = 0 }
        /^      - name: / { name = substr($0, 15) }
        /^        run: \|$/ { script = 1; ++count; print name >(out "/names"); next }
        script { print substr($0, 11) >(out "/" count ".sh") }
        END { exit count < 4 }' "$workflow" || fail "$workflow has fewer than four steps"
}

# step NUMBER: as GitHub runs it, in this folder. Descriptor 3 is the user's terminal.
step() {
    heading="== step $1: $(sed -n "$1p" "$steps/names")"
    printf '\n%s\n' "$heading"
    echo "$heading" >&3
    sh -c ". '$steps/env.sh' && exec sh -e '$steps/$1.sh'" || fail "step $1 ends with exit code $?"
}

if [ "${1:-}" = inside ]; then # HOME: the second part, in the root
    steps=$HOME/steps
    cd "$HOME/project"
    for script in "$steps"/[1-9].sh; do step "$(basename "$script" .sh)"; done
    exit 0
fi

exec 3>/dev/null
work=$(mktemp -d "${TMPDIR:-/tmp}/gantry_ci.XXXXXX")
if [ "${1:-}" != --root ]; then
    build=$1 steps=$work/steps
    trap 'rm -rf "$work"' EXIT
    grep -q 'examples/ci/github\.yml' "$ROOT/docs/ci.md" || fail "docs/ci.md does not name examples/ci/github.yml"
    mkdir -p "$steps" "$work/gantry"
    unpack "$steps"
    for script in "$steps"/*.sh; do sh -n "$script" || fail "$script is no shell script"; done
    ln -s "$build/bin" "$work/gantry/bin"
    doctor=$(grep -l 'gantry" doctor' "$steps"/*.sh) || fail "no step runs gantry doctor"
    number=$(basename "$doctor" .sh)
    # The step must also fail, if a GPU is missing.
    HOME=$work step "$number"
    sed -i 's/pthread pthread/pthread/' "$steps/env.sh"
    if (HOME=$work step "$number") >"$work/log" 2>&1; then fail "with one GPU the step passes: $(cat "$work/log")"; fi
    grep -q '^failed  *required: 2 GPUs: 1 computes right' "$work/log" || fail "with one GPU the step says: $(cat "$work/log")"
    echo "the step passes with two GPUs, and fails with one"
    exit 0
fi

skip() {
    echo "SKIP: a clean root needs $*"
    exit 77
}
[ "$(id -u)" = 0 ] || skip "the user root"
command -v debootstrap >/dev/null 2>&1 || skip "debootstrap: apt-get install debootstrap"
unshare -m -p -f true 2>/dev/null || skip "mounts of its own, which this container does not allow"
suite=${CI_SUITE:-bookworm}
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir -p "$root"
log=$ROOT/build/ci_steps_$kind.log
mkdir -p "$ROOT/build"
echo "== a clean root of Debian $suite, with commit $(git -C "$ROOT" log -1 --format=%h)"
debootstrap --variant=minbase "$suite" "$root" ${CI_MIRROR:+"$CI_MIRROR"} >"$log" 2>&1 ||
    { tail -20 "$log"; fail "debootstrap; the whole output is $log"; }
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$root/root/steps" "$root/root/project"
unpack "$root/root/steps"
git clone -q "$ROOT" "$root/root/project/gantry"
# The user's project: the README's program, and first_program.md's CMakeLists.txt.
first_program() {
    awk -v out="$root/root/project" '
    /^```(c|cmake)$/ { first = 1; next }
    /^```/ { file = ""; next }
    first { first = 0; file = /^\/\* first\.c \*\/$/ ? "first.c" : /^# CMakeLists\.txt$/ ? "CMakeLists.txt" : "" }
    file { print >(out "/" file) }' "$ROOT/README.md" "$ROOT/docs/first_program.md"
    [ -s "$root/root/project/first.c" ] && [ -s "$root/root/project/CMakeLists.txt" ] || fail "README.md has no program first.c, or docs/first_program.md no CMakeLists.txt"
}
# The user's project: a test of both GPUs.
tensorflow_test() {
    cat >"$root/root/project/test_gpus.py" <<'EOF'
import unittest
import tensorflow as tf


class Gpus(unittest.TestCase):
    def test_both_train(self):
        strategy = tf.distribute.MirroredStrategy()
        self.assertEqual(strategy.num_replicas_in_sync, 2)
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
            model.compile("sgd", "mse")
        losses = model.fit(tf.ones((8, 3)), tf.ones((8, 2)), epochs=5, verbose=0).history["loss"]
        self.assertLess(losses[-1], losses[0])
EOF
}
case $kind in
    github) first_program ;;
    tensorflow) tensorflow_test ;;
esac
certificates=
if [ -n "${CI_CERTIFICATES:-}" ]; then
    cp "$CI_CERTIFICATES" "$root/root/certificates.pem"
    certificates=PIP_CERT=/root/certificates.pem
fi
cp "$ROOT/tests/packaging/ci_steps.sh" "$root/root/ci_steps.sh"
export root certificates
# The last lines of the step that failed; the last but one names it.
show_failure() {
    awk '/^== step / { count = 0 } { line[count++] = $0 }
        END { for (i = count > 40 ? count - 40 : 0; i < count; ++i) print line[i] }' "$log"
    fail "the whole output is $log"
}

# The mounts end with the command.
exec 3>&1
unshare -m -p -f sh -c '
    mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" || exit 1
    exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive $certificates \
        sh /root/ci_steps.sh inside' >"$log" 2>&1 || show_failure
grep -E '^(failed|not possible|[0-9]+ passed)|^MatMul|^passed +(opencl|required)|^test_|^OK' "$log"
case $kind in
    github) grep -q '^MatMul: .*GPU:0$' "$log" || fail "the program did not compute on /GPU:0: $log" ;;
    tensorflow) grep -q '^OK$' "$log" || fail "the user's test did not run: $log" ;;
esac
echo "every step went well"
