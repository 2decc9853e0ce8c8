#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rates of Gantry's devices and of TensorFlow's CPU kernels: python speed.py [--plugin FILE] [--rounds N] [--batch N ...]

Two processes, one a side, work in turn, so that both meet the same machine. Prints for each work the median of both
and the ratio of the rates; above 1, Gantry is ahead. CPU time counts all threads, and hardly notices other load.

    classifier  one step of the text classifier, Embedding 10000 x 7 to Dense 46, Nadam, length 300
    chain       one op of a graph of 500 ops on 16 floats, where calls cost more than sums: the cost of a call
    eager       one eager op on 16 floats
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

import run_tests

CHAIN = 500


def classifier(tf, batch):
    import training

    tf.keras.utils.set_random_seed(7)
    x, y = training.texts(count=4 * batch)
    model = training.text_classifier(tf.keras.layers, tf.keras.models)
    model.compile("nadam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch).cache().repeat(3)
    return lambda: model.fit(data, verbose=0), 12


def chain(tf, _):
    @tf.function
    def function(a, b):
        for _ in range(CHAIN // 2):
            a, b = b * a, a - b
        return a

    a, b = tf.ones((16,)) * 0.5, tf.ones((16,))
    return lambda: function(a, b).numpy(), CHAIN


def eager(tf, _):
    a, b = tf.ones((16,)) * 0.5, tf.ones((16,))

    def work():
        c = a
        for _ in range(CHAIN):
            c = tf.multiply(c, b)
        c.numpy()

    return work, CHAIN


WORKS = {"classifier": classifier, "chain": chain, "eager": eager}


def worker(side):
    """Reads a work a line, and answers with its wall and CPU microseconds."""
    import harness

    harness.check_side(side)
    import tensorflow as tf

    made = {}
    for line in sys.stdin:
        name, batch = line.split()
        if line not in made:
            made[line] = WORKS[name](tf, int(batch))
            made[line][0]()
            made[line][0]()
        function, count = made[line]
        wall, cpu = time.perf_counter(), time.process_time()
        function()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print("RATE", json.dumps([wall / count * 1e6, cpu / count * 1e6]), flush=True)


class Worker:
    def __init__(self, side, options):
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", side], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=run_tests.environment(side, options))

    def measure(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        for answer in self.process.stdout:
            if answer.startswith("RATE "):
                return json.loads(answer[5:])
        raise SystemExit(f"a worker ended: {run_tests.ending(self.process.wait())}")


def compare(line, workers, rounds):
    times = {side: [] for side in workers}
    for _ in range(rounds):
        for side, measured in workers.items():
            times[side].append(measured.measure(line))
    middle = {side: [statistics.median(column) for column in zip(*rows)] for side, rows in times.items()}
    ratios = [mine / theirs for mine, theirs in zip(middle["cpu"], middle["gantry"])]
    gantry, cpu = middle["gantry"], middle["cpu"]
    print(f"{line:16} gantry {gantry[0]:10.1f} us ({gantry[1]:10.1f} CPU)   cpu {cpu[0]:10.1f} us ({cpu[1]:10.1f} CPU)   "
          f"ratio {ratios[0]:.2f} ({ratios[1]:.2f} by CPU time)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--plugin")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batch", type=int, nargs="*", default=[256, 32])
    parser.add_argument("--worker")
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker)
    workers = {side: Worker(side, options) for side in ("gantry", "cpu")}
    for line in [*(f"classifier {batch}" for batch in options.batch), "chain 0", "eager 0"]:
        compare(line, workers, options.rounds)
    for measured in workers.values():
        measured.process.stdin.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
