#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the sum of gradients costs a step, from 2 to 1,024 ranks, by measured latency and bandwidth.

    simulate_reduction.py BUILD                        measures by mpirun, within this machine and by TCP
    simulate_reduction.py BUILD --host NODE1,NODE2     the link between two machines
    simulate_reduction.py BUILD --link 2e-6,12e9       a link of this latency [s] and bandwidth [B/s] between machines

The model is that of Hockney: a message of m bytes takes a + m / b seconds. It runs the stages of train/mpi/mpi_sum.c
round by round: a binomial tree within each machine, of ranks that share its memory; between the first ranks of the
machines a ring, or recursive doubling where that is faster; a binomial tree back. Each step also sends a header of 112
bytes. Beside it stands one ring of all ranks, without stages. Links are not shared: each machine has its own, and
ranks of one machine use its memory one round after another.
"""

import argparse
import os
import subprocess
import sys

HEADER = 112
VECTORS = [("text classifier, 83,154 numbers", 83154 * 4), ("25 million numbers", 100_000_000)]


def run(build, options, ranks):
    program = os.path.join(build, "bin", "measure_reduction")
    names = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe")
    environment = {**os.environ, **{name: "1" for name in names}}
    command = ["mpirun", *options, "-n", str(ranks), program]
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} fails:\n{done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(row[0], int(row[1]), float(row[2])) for row in rows if len(row) == 3]


def link_of(rows):
    """Latency of the smallest message, bandwidth of the largest."""
    messages = {size: seconds for what, size, seconds in rows if what == "message"}
    small, large = min(messages), max(messages)
    return messages[small], large / (messages[large] - messages[small])


def rounds_of(count):
    return (count - 1).bit_length()


def tree(ranks, size, link, add):
    """A reduction or, with add 0, a broadcast: the longest path of a binomial tree."""
    return rounds_of(ranks) * (link[0] + size / link[1] + size * add)


def ring(ranks, size, link, add):
    if ranks == 1:
        return 0
    part = size / ranks
    seconds = 0
    for _ in range(ranks - 1):  # every rank adds a part
        seconds += link[0] + part / link[1] + part * add
    for _ in range(ranks - 1):  # every rank passes a sum on
        seconds += link[0] + part / link[1]
    return seconds


def doubling(ranks, size, link, add):
    return rounds_of(ranks) * (link[0] + size / link[1] + size * add)


def staged(machines, each, size, inner, outer, add):
    between = min(ring(machines, size, outer, add), doubling(machines, size, outer, add))
    return tree(each, size, inner, add) + between + tree(each, size, inner, 0)


def show(each, inner, outer, add):
    print(f"| ranks ({each} a machine) | header | " + " | ".join(f"{name} | the same, one ring" for name, _ in VECTORS) + " |")
    print("|---" * (2 + 2 * len(VECTORS)) + "|")
    ranks = 2
    while ranks <= 1024:
        here = min(each, ranks)
        machines = ranks // here
        cells = [staged(machines, here, HEADER, inner, outer, add)]
        for _, size in VECTORS:
            flat = outer if machines > 1 else inner
            cells += [staged(machines, here, size, inner, outer, add), ring(ranks, size, flat, add)]
        print(f"| {ranks:,} | {cells[0] * 1e6:.0f} µs | " + " | ".join(f"{c * 1e3:.2f} ms" for c in cells[1:]) + " |")
        ranks *= 2


def check_model(rows, ranks, inner, add):
    """The model beside the library's own sums within this machine."""
    for what, size, seconds in rows:
        if what == "all_reduce":
            said = staged(1, ranks, size, inner, inner, add)
            print(f"all-reduce of {size:,} B in {ranks} ranks: {seconds * 1e6:.1f} µs, by the model {said * 1e6:.1f} µs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--each", type=int, default=8, help="ranks of a machine")
    parser.add_argument("--host", help="two machines, as mpirun takes them")
    parser.add_argument("--link", help="latency and bandwidth between machines: SECONDS,BYTES_A_SECOND")
    options = parser.parse_args()
    rows = run(options.build, ["--bind-to", "core"] if (os.cpu_count() or 1) > 1 else [], 2)
    inner = link_of(rows)
    add = next(seconds / size for what, size, seconds in rows if what == "add")
    if options.link:
        outer = tuple(float(number) for number in options.link.split(","))
    else:
        between = ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]
        outer = link_of(run(options.build, between + (["--host", options.host] if options.host else []), 2))
    print(f"within a machine: {inner[0] * 1e6:.2f} µs, {inner[1] / 1e9:.2f} GB/s; additions {1e-9 / add:.2f} GB/s")
    print(f"between machines: {outer[0] * 1e6:.2f} µs, {outer[1] / 1e9:.2f} GB/s")
    check_model(rows, 2, inner, add)
    show(options.each, inner, outer, add)


main()
