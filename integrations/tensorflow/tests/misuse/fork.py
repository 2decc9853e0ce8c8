# SPDX-License-Identifier: Apache-2.0
"""Promise: Children of fork in a process whose devices are in use compute with numpy and end in every way.

fork() in a process whose devices are in use: workers of multiprocessing compute with numpy, and end in every way.

TensorFlow's own threads do not survive a fork, so a worker that calls TensorFlow is no part of the promise.
"""

import multiprocessing
import os
import sys
import warnings

import numpy as np
import tensorflow as tf

warnings.simplefilter("ignore")
a = tf.random.stateless_uniform((64, 64), (1, 2))
before = float(tf.reduce_sum(tf.matmul(a, a)))


def rows(seed):
    return np.random.RandomState(seed).rand(4).astype(np.float32)


def exit_code(leave):
    child = os.fork()
    if not child:
        leave()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def batches():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        yield from pool.imap(rows, range(12))


assert exit_code(lambda: os._exit(5)) == 5
sys.stdout.flush()
child = os.fork()
if not child:
    sys.exit(6)  # runs Python's and C's handlers of the exit
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6

with multiprocessing.get_context("fork").Pool(2) as pool:
    parts = pool.map(rows, range(8))
total = float(tf.reduce_sum(tf.stack(parts)))
assert abs(total - float(np.sum(parts))) < 1e-3, total

data = tf.data.Dataset.from_generator(batches, output_signature=tf.TensorSpec((4,), tf.float32)).batch(4)
seen = [tf.reduce_sum(batch * 2).numpy() for batch in data]
assert len(seen) == 3 and abs(seen[0] - 2 * sum(rows(i).sum() for i in range(4))) < 1e-3, seen

assert float(tf.reduce_sum(tf.matmul(a, a))) == before
spawned = multiprocessing.get_context("fork").Process(target=os.getpid)
spawned.start()
spawned.join(60)
assert spawned.exitcode == 0, spawned.exitcode
print("ok")
