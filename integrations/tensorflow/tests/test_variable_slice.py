# SPDX-License-Identifier: Apache-2.0
"""Promise: variable[1:3].assign(value) on a GPU gives what it gives on the CPU, or an error of the same class."""

import unittest

from child import expect_done

PROGRAM = r"""
import numpy as np
import tensorflow as tf
assert tf.config.list_physical_devices("GPU"), "no GPU"

def assigned(device, dtype, slice_of, value):
    with tf.device(device):
        variable = tf.Variable(tf.cast(tf.reshape(tf.range(24), [2, 3, 4]), dtype))
        before = variable.read_value()
        try:
            slice_of(variable).assign(tf.constant(value, dtype))
        except tf.errors.OpError as error:
            return type(error).__name__
        assert np.array_equal(before, np.arange(24).reshape(2, 3, 4).astype(before.numpy().dtype)), "overwritten"
        return variable.numpy()

CASES = [("rows", lambda v: v[1, 1:3], np.ones([2, 4])),
         ("backwards", lambda v: v[:, ::-2], np.arange(16).reshape(2, 2, 4)),
         ("ellipsis", lambda v: v[..., 1], np.arange(6).reshape(2, 3)),
         ("new axis", lambda v: v[tf.newaxis, 0], np.arange(12).reshape(1, 3, 4)),
         ("whole", lambda v: v[:], np.arange(24, 48).reshape(2, 3, 4)),
         ("nothing", lambda v: v[2:], np.zeros([0, 3, 4])),
         ("element", lambda v: v[0, 0, 0], 5),
         ("broadcast", lambda v: v[0], [5]),
         ("other shape", lambda v: v[0], np.ones([3, 3])),
         ("out of range", lambda v: v[5], np.ones([3, 4]))]
TYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64")
for name, slice_of, value in CASES:
    for dtype in TYPES if name == "rows" else ("float32",):
        cpu, gpu = (assigned(device, dtype, slice_of, value) for device in ("CPU:0", "GPU:0"))
        assert type(cpu) is type(gpu) and np.array_equal(cpu, gpu), (name, dtype, cpu, gpu)
print("done")
"""


class Slice(unittest.TestCase):
    def test_assign_to_a_slice_on_gpu_equals_the_cpu(self):
        expect_done(self, PROGRAM)


if __name__ == "__main__":
    unittest.main()
