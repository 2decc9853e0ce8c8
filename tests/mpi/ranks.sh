#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (mpi_ranks): Two and four processes that mpirun starts train as Keras does, agree on every sum, and continue
# from a checkpoint.
# Promise (mpi_ranks): A rank that is stopped, late, busy or killed, rank 0 included, is named to the others after a
# timeout, and a rank that waits sleeps.
#
# Training in processes that mpirun starts: ranks.sh RANKS WORK [TEXT_CLASSIFIER]. Keras's trajectory in two and four
# processes, sums, a killed and a late rank, the way on from its checkpoint, unlike models and settings, and failing allocations.
set -u
RANKS=$1 WORK=$2 CLASSIFIER=${3:-}
command -v mpirun >/dev/null 2>&1 || { echo "SKIP: there is no mpirun (install openmpi-bin)"; exit 77; }
command -v timeout >/dev/null 2>&1 || { echo "SKIP: there is no timeout, which ends a run that hangs"; exit 77; }

# Open MPI in a container of one user, on few processors.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # the same for Open MPI 5
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1
# MPI keeps memory until the process ends.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

rm -rf "$WORK" && mkdir -p "$WORK" && cd "$WORK" || exit 1
fail() {
    echo "FAILED: $1"
    [ ! -f log ] || tail -40 log
    exit 1
}

# run CODE COUNT ARGUMENTS...: expects this exit code of COUNT processes ("any": another than a hang; "killed": neither
# 0 nor a hang; "said": mpirun may do what it likes); $OPTIONS go to mpirun.
OPTIONS=
run() {
    wanted=$1 count=$2 most=120
    shift 2
    [ "$wanted" != said ] || most=30
    # shellcheck disable=SC2086
    timeout -k 5 $most mpirun $OPTIONS --bind-to none -n "$count" "$@" >log 2>&1 </dev/null
    code=$?
    [ "$wanted" != said ] || return 0
    [ $code != 124 ] || fail "$* hangs"
    [ $code != 137 ] || [ "$wanted" = killed ] || fail "$* hangs"
    [ "$wanted" = any ] || [ "$wanted" = killed ] || [ "$wanted" = $code ] || fail "$* in $count processes ends with $code, not $wanted"
    if [ "$wanted" = killed ] && [ $code = 0 ]; then fail "$* ends well"; fi
}

# has COUNT TEXT: so many lines of the log have the text.
has() {
    found=$(grep -c -e "$2" log)
    [ "$found" -ge "$1" ] || fail "\"$2\" stands in $found lines, not $1"
}

run 0 2 "$RANKS" follow 0
has 2 "follows Keras"
run 0 4 "$RANKS" follow 2 # two machines of two processes
has 4 "follows Keras"
run 0 2 "$RANKS" programs "$WORK/programs.backup"
has 2 "programs follow Keras"
echo "two and four processes follow Keras"

for each in 0 1 2 3; do
    run 0 4 "$RANKS" sums $each
    has 4 "sums are right"
done
run 0 1 "$RANKS" sums 0
run 0 3 "$RANKS" shared
run 0 3 "$RANKS" apart
has 3 "sums are right"
echo "sums are right on one machine and on several"

run 0 3 "$RANKS" differ
has 3 "rank 1 (.*pid [0-9]*) has [0-9]* numbers in its weights; rank 0 (.*pid [0-9]*) has"
run 0 3 "$RANKS" unlike
has 3 "rank 1 (.*pid [0-9]*) has learning_rate 0.5; rank 0 (.*pid [0-9]*) has learning_rate 0.25; all processes train alike"
run 0 2 "$RANKS" heap
has 1 "[1-9][0-9]* allocations have failed"
# mpirun of Open MPI 4 hangs or crashes in 2 of 30 runs where one process waits in MPI_Finalize and the others end.
run said 3 "$RANKS" leave
has 1 "rank 1 (.*pid [0-9]*) released its communicator during a sum"
echo "differences and failures are errors in all processes"

# A rank that does not come: stopped, or at work; rank 0 too; on one machine, and on two.
# late COUNT WHO HOW EACH STATE: COUNT ranks name the rank WHO and the state of its process; they sleep until then.
late() {
    run $ending 3 "$RANKS" late "$2" "$3" "$4"
    has "$1" "sleeps while it waits"
    has "$1" "rank $2 (.*pid [0-9]*) did not come to a sum within 1 seconds .*: its process $5"
}
# A rank at work tells, too, when it comes. Open MPI 5 has ended it by then; its mpirun may wait for a stopped one.
OPTIONS=--enable-recovery all=3 ending=any
mpirun --version 2>&1 | grep -q 'Open MPI) 4' || OPTIONS='' all=2 ending=said
for each in 0 2; do
    late 2 2 stop $each "is stopped"
    late $all 1 work $each runs
done
late $all 0 work 0 runs
late 2 0 stop 0 "is stopped"
# A rank that does not come to the start.
run any 3 "$RANKS" absent 2
has 1 "rank 2 of 3 ranks did not come within 1 seconds (timeout_seconds)"
has 2 "an earlier call of this process did not end within its timeout_seconds"
run any 3 "$RANKS" absent 0
has 2 "a rank, which rank 0 names, of 3 ranks did not come within 1 seconds (timeout_seconds)"
OPTIONS=
echo "a rank that is late is named"

# Four epochs; and the same, cut off in the third, and on from the checkpoint.
run 0 3 "$RANKS" train whole.safetensors 0 4 -1
has 3 "weights "
whole=$(sed -n 's/.*\(weights [0-9a-f]*\).*/\1/p' log | sort -u)
run killed 3 "$RANKS" train cut.safetensors 0 4 18
echo "mpirun ends after a rank was killed"
if mpirun --version 2>&1 | grep -q 'Open MPI) 4'; then
    OPTIONS=--enable-recovery # mpirun leaves the others alone: they end by themselves
    run any 3 "$RANKS" train cut.safetensors 0 4 18
    OPTIONS=
    has 2 "rank 2 (.*pid [0-9]*) ended during step 2"
    echo "the others end by themselves, and name the killed rank"
else
    echo "SKIP: only Open MPI 4 leaves the others alone when a rank is killed"
fi
run 0 3 "$RANKS" train cut.safetensors 2 4 -1
has 3 "$whole"
run any 2 "$RANKS" train cut.safetensors 2 4 -1
has 2 "was saved by a training in 3 processes, and this one has 2"
echo "the training goes on from the checkpoint to the same bits"
[ "$(printf '%s\n' "$whole" | wc -l)" = 1 ] || fail "the ranks have unlike weights: $whole"

# The example: two processes end where one does.
[ -n "$CLASSIFIER" ] || { echo "SKIP: text_classifier is not built"; exit 0; }
i=0
while [ $i -lt 40 ]; do
    printf 'ship sea sail wave %d anchor\n%%\n' $((i % 7)) >>water
    printf 'bread flour oven %d butter salt\n%%\n' $((i % 5)) >>kitchen
    i=$((i + 1))
done
for count in 1 2; do
    run 0 $count "$CLASSIFIER" --device CPU:0 --epochs 3 --batch 7 --save "model$count" water=water kitchen=kitchen
    has 1 "^held-out accuracy: "
    [ "$(grep -c "^Epoch 1/3" log)" = 1 ] || fail "more than one process prints"
    grep "^held-out accuracy: " log >"accuracy$count"
done
cmp -s accuracy1 accuracy2 || fail "two processes end elsewhere: $(cat accuracy1 accuracy2)"
run any 2 "$CLASSIFIER" --device CPU:0 --save /dev/null/model --epochs 1 water=water kitchen=kitchen
has 1 "cannot open the checkpoint .*/dev/null/model"
echo "text_classifier trains in two processes"
