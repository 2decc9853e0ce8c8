#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the sum of gradients costs a step, from 2 to 1,024 ranks, by measured latency and bandwidth.

    simulate_reduction.py BUILD                        measures by mpirun: within this machine, and by TCP in it
    simulate_reduction.py BUILD --host NODE1,NODE2     the link between two machines
    simulate_reduction.py BUILD --link 2e-6,12e9       a link of this latency [s] and bandwidth [B/s] between machines

The model runs the stages of train/mpi/mpi_sum.c, chunk by chunk and round by round. Within a machine of p ranks, m bytes
cost two barriers, which take longer with each rank, and (5 p + 1) m bytes of memory traffic: a copy to a slot, the sum
of all slots, a copy back. Between machines a message of m bytes takes a + m / b seconds (Hockney's model), in a ring,
or by recursive doubling where that is faster. Beside it stands one ring of all ranks, without stages. Each machine has
a link of its own. The header that goes before each sum is shown apart.
"""

import argparse
import os
import subprocess
import sys

HEADER = 112
CHUNK = 4 << 20
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


def memory_of(rows, ranks):
    """Of a machine: a rank's part of the barriers, and the bandwidth of the memory that its ranks share."""
    sums = {size: seconds for what, size, seconds in rows if what == "all_reduce"}
    small, large = min(sums), max(sums)
    return sums[small] / ranks, (5 * ranks + 1) * large / (sums[large] - sums[small])


def within(ranks, size, memory):
    return ranks * memory[0] + (5 * ranks + 1) * size / memory[1] if ranks > 1 else 0


def ring(ranks, size, link):
    """Every rank adds a part, and then passes a sum on."""
    return sum(link[0] + size / ranks / link[1] for _ in range(2 * (ranks - 1)))


def doubling(ranks, size, link):
    return sum(link[0] + size / link[1] for _ in range((ranks - 1).bit_length()))


def staged(machines, each, size, memory, link):
    seconds = 0
    for begin in range(0, size, CHUNK):
        chunk = min(CHUNK, size - begin)
        seconds += within(each, chunk, memory) + min(ring(machines, chunk, link), doubling(machines, chunk, link))
    return seconds


def show(each, memory, inner, link):
    print(f"| ranks, {each} a machine | header | " + " | ".join(f"{name} | in one ring" for name, _ in VECTORS) + " |")
    print("|---" * (2 + 2 * len(VECTORS)) + "|")
    ranks = 2
    while ranks <= 1024:
        here = min(each, ranks)
        machines = ranks // here
        cells = []
        for _, size in VECTORS:
            cells += [staged(machines, here, size, memory, link), ring(ranks, size, link if machines > 1 else inner)]
        header = staged(machines, here, HEADER, memory, link)
        print(f"| {ranks:,} | {header * 1e6:.0f} µs | " + " | ".join(f"{c * 1e3:.2f} ms" for c in cells) + " |")
        ranks *= 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--each", type=int, default=8, help="ranks of a machine")
    parser.add_argument("--host", help="two machines, as mpirun takes them")
    parser.add_argument("--link", help="latency and bandwidth between machines: SECONDS,BYTES_A_SECOND")
    options = parser.parse_args()
    bound = ["--bind-to", "core"] if (os.cpu_count() or 1) > 1 else []
    rows = run(options.build, bound, 2)
    inner, memory = link_of(rows), memory_of(rows, 2)
    if options.link:
        link = tuple(float(number) for number in options.link.split(","))
    else:
        between = ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]
        link = link_of(run(options.build, between + (["--host", options.host] if options.host else []), 2))
    print(f"messages within a machine: {inner[0] * 1e6:.2f} µs, {inner[1] / 1e9:.2f} GB/s")
    print(f"memory of a machine: {memory[0] * 1e6:.2f} µs a rank, {memory[1] / 1e9:.1f} GB/s")
    print(f"between machines: {link[0] * 1e6:.2f} µs, {link[1] / 1e9:.2f} GB/s")
    for what, size, seconds in rows:
        if what == "all_reduce":
            said = staged(1, 2, size, memory, link)
            print(f"sum of {size:,} B in 2 ranks: {seconds * 1e6:.1f} µs; by the model {said * 1e6:.1f} µs")
    show(options.each, memory, inner, link)

main()
