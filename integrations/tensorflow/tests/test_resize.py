# SPDX-License-Identifier: Apache-2.0
"""Promise: Images resized on a GPU, and their gradients, equal those of the CPU."""

import unittest

from child import expect_done

PROGRAM = """
import itertools
import numpy as np
import tensorflow as tf
assert tf.config.list_physical_devices("GPU"), "no GPU"
tf.config.set_soft_device_placement(False)
random = np.random.default_rng(1)
raw = tf.raw_ops

BOUNDS = {"float32": 1e-6, "float16": 4e-3, "bfloat16": 3e-2}   # of the largest element

def compare(name, call, exact):
    results = []
    for device in "CPU:0", "GPU:0":
        with tf.device(device):
            try:
                result = call()
            except tf.errors.InvalidArgumentError:
                results.append(np.zeros([]))
                continue
        assert result.device.endswith(device), (name, result.device)
        results.append(result.numpy())
    cpu, gpu = results
    assert cpu.dtype == gpu.dtype and cpu.shape == gpu.shape, (name, cpu.shape, gpu.shape)
    error = np.abs(cpu.astype(np.float64) - gpu.astype(np.float64)).max(initial=0)
    largest = np.abs(cpu.astype(np.float64)).max(initial=0)
    assert error <= (0 if exact else largest * BOUNDS.get(cpu.dtype.name, 0)), (name, error)

SIZES = [((3, 4), (6, 8)), ((3, 4), (5, 3)), ((7, 5), (2, 9)), ((1, 1), (3, 2)), ((4, 4), (4, 4)), ((5, 6), (1, 1))]
MODES = [(False, False), (False, True), (True, False)]
for (source, size), (corners, centers) in itertools.product(SIZES, MODES):
    attrs = {"align_corners": corners, "half_pixel_centers": centers}
    images = random.normal(size=(2, *source, 3)).astype(np.float32) * 100
    gradient = random.normal(size=(2, *size, 3)).astype(np.float32)
    name = f"{source} {size} {attrs}"
    for dtype in ("uint8", "int16", "int32", "float16", "bfloat16", "float32", "float64") if corners else ("float32",):
        typed = tf.cast(np.abs(images), dtype).numpy()
        compare(name + dtype, lambda: raw.ResizeNearestNeighbor(images=typed, size=size, **attrs), True)
        compare(name + dtype, lambda: raw.ResizeBilinear(images=typed, size=size, **attrs), False)
    for dtype in ("float16", "bfloat16", "float32") if corners else ("float32",):
        typed, changed = tf.cast(gradient, dtype).numpy(), tf.cast(images, dtype).numpy()
        compare(name + dtype, lambda: raw.ResizeBilinearGrad(grads=gradient, original_image=changed, **attrs), False)
        if dtype == "float32":
            compare(name, lambda: raw.ResizeNearestNeighborGrad(grads=typed, size=source, **attrs), False)
for size in [3], [0, 2], [-1, 2]:
    compare(str(size), lambda: raw.ResizeBilinear(images=images, size=size), False)
compare("rank", lambda: raw.ResizeBilinear(images=images[0], size=[2, 2]), False)
print("done")
"""


class Resize(unittest.TestCase):
    def test_images_resized_on_gpu_equal_the_cpu(self):
        expect_done(self, PROGRAM)


if __name__ == "__main__":
    unittest.main()
