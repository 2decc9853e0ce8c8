# SPDX-License-Identifier: Apache-2.0
"""Promise: tf.bitcast between all types on a GPU gives the bytes, the shape or the error that it gives on the CPU."""

import unittest

from child import expect_done

PROGRAM = """
import numpy as np
import tensorflow as tf
assert tf.config.list_physical_devices("GPU"), "no GPU"
tf.config.set_soft_device_placement(False)

TYPES = ("float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64").split()
BYTES = np.random.default_rng(1).integers(0, 255, [2, 3, 8], np.uint8)

def cast(device, source, target):
    with tf.device(device):
        try:
            result = tf.bitcast(tf.constant(source), target)
        except tf.errors.InvalidArgumentError as error:
            return "InvalidArgument"
        assert result.device.endswith(device), result.device
        return result.dtype, result.shape.as_list(), result.numpy().tobytes()

kinds = set()
for source in TYPES:
    array = BYTES.view(tf.as_dtype(source).as_numpy_dtype)
    for target in TYPES:
        cpu, gpu = (cast(device, array, target) for device in ("CPU:0", "GPU:0"))
        assert cpu == gpu, (source, target, cpu, gpu)
        kinds.add(cpu if isinstance(cpu, str) else len(cpu[1]))
assert kinds == {"InvalidArgument", 2, 3, 4}, kinds
print("done")
"""


class Bitcast(unittest.TestCase):
    def test_bitcast_on_gpu_equals_the_cpu(self):
        expect_done(self, PROGRAM)


if __name__ == "__main__":
    unittest.main()
