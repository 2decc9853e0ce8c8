# SPDX-License-Identifier: Apache-2.0
"""Promise: Images resized, scaled and cropped on a GPU, and their gradients, equal those of the CPU; images to the bit."""

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

BOUNDS = {"float32": 2e-6, "float64": 1e-6, "float16": 4e-3, "bfloat16": 3e-2}   # of the largest element

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
        for op in raw.ResizeNearestNeighbor, raw.ResizeBilinear, raw.ResizeBicubic:
            compare(name + dtype, lambda: op(images=typed, size=size, **attrs), True)
        if not centers:
            compare(name + dtype, lambda: raw.ResizeArea(images=typed, size=size, align_corners=corners), True)
    for dtype in ("float16", "bfloat16", "float32", "float64") if corners else ("float32",):
        typed, changed = tf.cast(gradient, dtype).numpy(), tf.cast(images, dtype).numpy()
        compare(name + dtype, lambda: raw.ResizeBilinearGrad(grads=gradient, original_image=changed, **attrs), False)
        if dtype[-2:] in ("32", "64"):
            compare(name + dtype, lambda: raw.ResizeNearestNeighborGrad(grads=typed, size=source, **attrs), False)
            compare(name + dtype, lambda: raw.ResizeBicubicGrad(grads=gradient, original_image=changed, **attrs), False)
boxes, which = np.array([[0, 0, 1, 1], [0.1, 0.25, 0.8, 0.6], [1, 1, -0.5, 0]], np.float32), [0, 1, 1]
images = random.normal(size=(2, 7, 5, 3)).astype(np.float32)
for kernel in "lanczos3", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic":
    attrs = {"scale": [0.6, 1.5], "translation": [0.5, -1.0], "kernel_type": kernel}
    compare(kernel, lambda: raw.ScaleAndTranslate(images=images, size=[4, 8], **attrs), kernel[0] in "btkm")
    compare(kernel, lambda: raw.ScaleAndTranslateGrad(grads=images, original_image=images, **attrs), False)
for method, size in itertools.product(("bilinear", "nearest"), ((3, 4), (1, 6))):
    crops = raw.CropAndResize(image=images, boxes=boxes, box_ind=which, crop_size=size, method=method)
    compare(method, lambda: raw.CropAndResize(image=images, boxes=boxes, box_ind=which, crop_size=size, method=method), True)
    compare(method, lambda: raw.CropAndResizeGradImage(grads=crops, boxes=boxes, box_ind=which, image_size=images.shape, T=tf.float32,
                                                       method=method), False)
    if method == "bilinear":
        compare(method, lambda: raw.CropAndResizeGradBoxes(grads=crops, image=images, boxes=boxes, box_ind=which), False)
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
