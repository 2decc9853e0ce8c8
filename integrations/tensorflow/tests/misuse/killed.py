# SPDX-License-Identifier: Apache-2.0
"""Promise: After a process that was killed while the devices worked, the next process finds the devices as before.

A process is killed, interrupted or ended while the devices work. The next process finds the devices as before."""

import signal
import time

from _process import LONGEST_SECONDS, run, start

TRAIN = """
import tensorflow as tf
a = tf.random.stateless_uniform((128, 128), (1, 2))
print("begun")
while True:
    a = tf.nn.relu(tf.matmul(a, a) * 0.01)
"""
AFTER = """
import tensorflow as tf
with tf.device("GPU:1"):
    print("sum", float(tf.reduce_sum(tf.ones((100, 100)))))
"""


def end_with(number):
    child = start(TRAIN)
    output = ""
    while "begun" not in output:
        line = child.stdout.readline()
        assert line, output
        output += line
    time.sleep(0.5)
    child.send_signal(number)
    rest, _ = child.communicate(timeout=LONGEST_SECONDS)
    return child.returncode, output + rest


code, text = end_with(signal.SIGKILL)
assert code == -signal.SIGKILL, (code, text)
code, text = end_with(signal.SIGTERM)
assert code == -signal.SIGTERM, (code, text)
code, text = end_with(signal.SIGINT)
assert code in (1, -signal.SIGINT) and "KeyboardInterrupt" in text, (code, text)
code, text = run(AFTER)
assert code == 0 and "sum 10000.0" in text, (code, text)

# The process ends while a thread keeps the devices busy, by sys.exit and by os._exit.
for leave in ("sys.exit(3)", "os._exit(3)"):
    code, text = run(f"""
import os, sys, threading, time
import tensorflow as tf
a = tf.ones((64, 64))
def busy():
    while True:
        tf.matmul(a, a)
threading.Thread(target=busy, daemon=True).start()
time.sleep(0.5)
{leave}
""")
    assert code == 3, (leave, code, text)
print("ok")
