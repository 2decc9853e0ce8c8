# SPDX-License-Identifier: Apache-2.0
"""Gradients of windows: MaxPoolGrad, AvgPoolGrad, and the gradients of convolutions' filters and of depthwise convolutions."""
import numpy as np

from golden_case import EXACT, F32, F64, HALVES, I32, I64, Recorder, random_values
from golden_conv import patch_matrix
from golden_pool import add_beyond_tensorflow
from golden_window import (bound, channels_last, avg_pool_reference, explicit_of, four, geometry, halves_bound, max_pool_reference, pool_counts, pool_window, text, views)


def values(dtype, shape, *name):
    return random_values(dtype, shape, "window gradient", *name)


def repeated(dtype, shape, period, *name):
    """Few values again and again, so that the file stays small."""
    return np.resize(values(dtype, (period,), *name), shape)


def last_of(shape, attrs):
    """A shape in the order of NHWC."""
    n, *rest = (int(s) for s in shape)
    return (n, rest[1], rest[2], rest[0]) if attrs.get("data_format") == "NCHW" else (n, *rest)


def pixels(image):
    """The number of each pixel of an image of this shape (NHWC), as an image."""
    return np.arange(image[1] * image[2], dtype=np.int64).reshape(1, image[1], image[2], 1)


def scattered(image, at, parts):
    """parts [n, y, x, c] added up at the pixels `at` (of the same shape, or -1: nowhere)."""
    out = np.zeros((image[0], image[1] * image[2], image[3]))
    n, c = np.meshgrid(np.arange(image[0]), np.arange(image[3]), indexing="ij")
    at = np.broadcast_to(at, parts.shape)
    for y in range(parts.shape[1]):
        for x in range(parts.shape[2]):
            keep = at[:, y, x] >= 0
            np.add.at(out, (n[keep], at[:, y, x][keep], c[keep]), parts[:, y, x][keep])
    return out.reshape(image)


# ---- pools ----

def taken_pixels(x, attrs, lists):
    """The number of the pixel that each window takes, for each channel."""
    window = pool_window(lists, attrs)
    taken = most = None
    for (_, _, part, inside), (_, _, at, _) in zip(views(x, *window), views(pixels(x.shape), *window)):
        if taken is None:
            taken, most = np.full(part.shape, -1, np.int64), np.zeros(part.shape, x.dtype)
        with np.errstate(invalid="ignore"):
            better = inside[None, :, :, None] & ((taken < 0) | (part > most))
        taken, most = np.where(better, at, taken), np.where(better, part, most)
    return taken


def max_pool_grad_reference(inputs, attrs):
    x, lists, back = channels_last(inputs, attrs)
    grad = channels_last(inputs[2:], attrs)[0].astype(np.float64)
    taken = taken_pixels(x, attrs, lists)
    return back(scattered(x.shape, taken, grad).astype(x.dtype))


# Windows apart and overlapping; gaps, and rows and columns behind the last window; few channels, and more than a run.
POOLS = [((2, 1, 10, 8), (1, 2), (1, 2), "VALID"), ((1, 5, 7, 3), (2, 3), (1, 2), "SAME"), ((2, 5, 7, 3), (3, 2), (2, 1), "VALID"),
         ((1, 9, 8, 5), (2, 2), (4, 3), "SAME"), ((1, 3, 3, 2), (5, 5), (2, 2), "SAME"), ((0, 4, 4, 2), (2, 2), (2, 2), "SAME"),
         ((1, 3, 5, 70), (3, 3), (2, 2), "SAME"), ((1, 3, 2, 2), (2, 2), (2, 2), "VALID"), ((1, 2, 9, 1), (1, 4), (1, 1), "SAME")]


def pool_attrs(window, step, padding, **more):
    return {"ksize": four(window), "strides": four(step), "padding": padding, **more}


def are_apart(window, step):
    return window[0] <= step[0] and window[1] <= step[1]


def max_pool_grad():
    r = Recorder("MaxPoolGrad", reference=max_pool_grad_reference)

    def add(name, x, attrs, tolerance=EXACT, **more):
        places = max_pool_reference([x], attrs)
        r.add(name, [x, places, repeated(x.dtype, places.shape, 29, "grad")], attrs, tolerance=tolerance, **more)

    for dtype in (F32, F64) + HALVES:
        for image, window, step, padding in POOLS if dtype == F32 else POOLS[:3]:
            elements = window[0] * window[1]
            near = {} if are_apart(window, step) else {"tolerance": bound(dtype, elements), "tf_tolerance": halves_bound(dtype, elements)}
            x = np.round(values(dtype, image).astype(F64)).astype(dtype)   # with equal elements
            add(f"{dtype.name}_" + text(image, window, step, padding), x, pool_attrs(window, step, padding), **near)
    x = values(F32, (2, 5, 6, 3))
    add("explicit", x, pool_attrs((3, 2), (1, 2), "EXPLICIT", explicit_paddings=[0, 0, 2, 1, 0, 1, 0, 0]), bound(F32, 3))
    first = {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 1], "data_format": "NCHW"}
    add("nchw", x.transpose(0, 3, 1, 2).copy(), {**first, "padding": "SAME"}, bound(F32, 6), numpy_only=True)
    # more places than one item takes, in one row and in several
    for image, window, step in (((1, 1, 401, 3), (1, 3), (1, 2)), ((1, 30, 13, 3), (3, 2), (2, 2))):
        add("long_" + text(image, window, step, "SAME"), repeated(F32, image, 7), pool_attrs(window, step, "SAME"), bound(F32, 4))
    def beyond(dtype, shape, attrs):
        x = np.round(values(dtype, shape).astype(F64)).astype(dtype)
        places = max_pool_reference([x], attrs)
        return [x, places, repeated(dtype, places.shape, 29, "grad")]

    add_beyond_tensorflow(r, beyond, (F32, F64) + HALVES, lambda dtype, n: {"tolerance": bound(dtype, n)})
    # a NaN that comes first stays; orig_output has no effect
    special = np.array([np.nan, 1, 2, np.nan, np.nan, np.nan, -np.inf, -np.inf, -0.0, 0.0, np.inf, np.nan], F32).reshape(1, 1, 12, 1)
    good = pool_attrs((1, 2), (1, 2), "VALID")
    r.add("special", [special, np.zeros((1, 1, 6, 1), F32), values(F32, (1, 1, 6, 1))], good)
    other, y, g = values(F32, (1, 4, 4, 2)), values(F32, (1, 2, 2, 2)), values(F32, (1, 2, 2, 2), "grad")
    good = pool_attrs((2, 2), (2, 2), "VALID")
    r.error("orig_output_of_other_shape", [other, y[:, :1], g], good, contains="Expected orig_output shape to be [1,2,2,2], but got [1,1,2,2]")
    r.error("grad_of_other_shape", [other, y, g[:, :1]], good, contains="Expected grad shape to be [1,2,2,2], but got [1,1,2,2]")
    r.error("input_of_rank_3", [other[0], y, g], good, contains="must be 4-dimensional")
    r.error("over_batch", [other, y, g], {**good, "ksize": [2, 2, 2, 1]})
    r.error("zero_stride", [other, y, g], {**good, "strides": four((2, 0))})
    r.error("padding_as_large_as_the_window", [other, y, g], pool_attrs((2, 2), (2, 2), "EXPLICIT", explicit_paddings=[0, 0, 2, 0, 0, 0, 0, 0]),
            contains="needs to be smaller than the window size")
    return r


def max_pool_grad_grad_reference(inputs, attrs):
    x, lists, back = channels_last(inputs, attrs)
    taken, n, c = taken_pixels(x, attrs, lists), x.shape[0], x.shape[3]
    grad = channels_last(inputs[2:], attrs)[0].reshape(n, x.shape[1] * x.shape[2], c)
    flat = np.take_along_axis(grad, np.maximum(taken, 0).reshape(n, taken.shape[1] * taken.shape[2], c), 1)
    return back(np.where(taken < 0, np.zeros((), x.dtype), flat.reshape(taken.shape)))


def max_pool_grad_grad():
    r = Recorder("MaxPoolGradGrad", reference=max_pool_grad_grad_reference)
    for dtype in (F32, F64) + HALVES:
        for image, window, step, padding in POOLS[1:6] if dtype == F32 else POOLS[1:3]:
            attrs = pool_attrs(window, step, padding)
            x = np.round(repeated(dtype, image, 67).astype(F64)).astype(dtype)
            r.add(f"{dtype.name}_" + text(image, window, step, padding), [x, max_pool_reference([x], attrs), repeated(dtype, image, 59, "grad")], attrs)
    x = repeated(F32, (2, 5, 6, 3), 71)
    attrs = pool_attrs((3, 2), (1, 2), "EXPLICIT", explicit_paddings=[0, 0, 2, 1, 0, 1, 0, 0])
    r.add("explicit", [x, max_pool_reference([x], attrs), x[::-1].copy()], attrs, numpy_only=True)   # TensorFlow's kernel lacks it
    add_beyond_tensorflow(r, lambda dtype, shape, attrs: [repeated(dtype, shape, 71), max_pool_reference([repeated(dtype, shape, 71)], attrs),
                                                          repeated(dtype, shape, 59, "grad")], (F32, F64) + HALVES, lambda *_: {})
    attrs = {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 1], "data_format": "NCHW", "padding": "SAME"}
    x = x.transpose(0, 3, 1, 2).copy()
    r.add("nchw", [x, max_pool_reference([x], attrs), x[::-1].copy()], attrs, numpy_only=True)
    x, y, good = np.ones((1, 4, 4, 2), F32), np.ones((1, 2, 2, 2), F32), pool_attrs((2, 2), (2, 2), "VALID")
    r.error("orig_output_of_other_shape", [x, y[:, :1], x], good, contains="Expected orig_output shape to be [1,2,2,2], but got [1,1,2,2]")
    r.error("grad_of_other_shape", [x, y, x[:, :1]], good, contains="Expected grad shape to be [1,4,4,2], but got [1,1,4,2]")
    return r


def avg_pool_grad_reference(inputs, attrs):
    image = last_of(inputs[0], attrs)
    grad, lists, back = channels_last(inputs[1:], attrs)
    window = pool_window(lists, attrs)
    taps = [(np.where(inside[None, :, :, None], at, -1), inside) for _, _, at, inside in views(pixels(image), *window)]
    count = np.maximum(pool_counts(image, lists, attrs), 1)
    return back(sum(scattered(image, at, grad.astype(np.float64) / count) for at, _ in taps).astype(grad.dtype))


def avg_pool_grad():
    r = Recorder("AvgPoolGrad", reference=avg_pool_grad_reference)

    def places_of(image, window, step, padding):
        return [geometry(s, k, t, 1, padding, (0, 0))[0] for s, k, t in zip(image[1:3], window, step)]

    for dtype in (F32, F64) + HALVES:
        for image, window, step, padding in POOLS + [((1, 4, 5, 3), (2, 3), (1, 1), "VALID")] if dtype == F32 else POOLS[:3]:
            elements = window[0] * window[1]
            grad = values(dtype, (image[0], *places_of(image, window, step, padding), image[3]))
            r.add(f"{dtype.name}_" + text(image, window, step, padding), [np.array(image, I32), grad], pool_attrs(window, step, padding),
                  tolerance=bound(dtype, elements), tf_tolerance=halves_bound(dtype, elements))
    attrs = {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 1], "padding": "SAME", "data_format": "NCHW"}
    r.add("nchw", [np.array((2, 3, 5, 6), I32), values(F32, (2, 3, 3, 6))], attrs, tolerance=bound(F32, 6), numpy_only=True)
    def beyond(dtype, shape, attrs):
        return [np.array(shape, I32), values(dtype, avg_pool_reference([np.zeros(shape, dtype)], attrs).shape)]

    for more in ({}, {"count_include_pad": True}):
        add_beyond_tensorflow(r, beyond, (F32, F64) + HALVES, lambda dtype, n: {"tolerance": bound(dtype, n)}, **more)
    r.add("same_counted", [np.array((2, 5, 6, 3), I32), values(F32, (2, 3, 3, 3))], pool_attrs((3, 2), (2, 2), "SAME", count_include_pad=True),
          tolerance=bound(F32, 6), numpy_only=True)
    grad, good = values(F32, (1, 2, 2, 2)), pool_attrs((2, 2), (2, 2), "VALID")
    sizes = np.array((1, 4, 4, 2), I32)
    r.error("three_sizes", [sizes[:3], grad], good, contains="4")
    r.error("grad_of_rank_3", [sizes, grad[0]], good)
    r.error("size_negative", [np.array((1, -4, 4, 2), I32), grad], good)
    r.our_error("sizes_do_not_fit", [np.array((1, 6, 4, 2), I32), grad], good, "Expected grad shape to be [1,3,2,2], but got [1,2,2,2]")
    r.our_error("over_batch", [sizes, grad], {**good, "ksize": [2, 2, 2, 1]}, "not supported")
    r.cases[-1]["error"] = "Unimplemented"
    return r


# ---- filters of convolutions ----

def filter_reference(inputs, attrs):
    x, lists, _ = channels_last(inputs, attrs)
    grad = channels_last(inputs[2:], attrs)[0].astype(np.float64)
    spread = (lists("dilations") or [1, 1, 1, 1])[1:3]
    shape = tuple(int(s) for s in inputs[1])
    patches = patch_matrix(x, np.zeros(shape), lists("strides")[1:3], spread, attrs["padding"], explicit_of(lists))
    groups = patches.shape[-1] // shape[2]
    parts = [np.einsum("nyxrcd,nyxe->rcde", images, part)
             for images, part in zip(np.split(patches, groups, axis=-1), np.split(grad, groups, axis=-1))]
    return np.concatenate(parts, axis=-1).astype(x.dtype)


FILTERS = [   # image, filter, step, padding
    ((2, 1, 12, 7), (1, 5, 7, 4), 1, "VALID"), ((2, 6, 7, 3), (2, 3, 3, 5), 2, "VALID"), ((2, 6, 7, 3), (3, 2, 3, 4), 3, "SAME"),
    ((2, 4, 3, 4), (1, 1, 4, 6), 1, "VALID"), ((1, 4, 9, 2), (1, 1, 2, 3), 2, "SAME"), ((0, 4, 4, 2), (2, 2, 2, 3), 1, "SAME"),
    ((1, 4, 4, 2), (4, 4, 2, 0), 1, "SAME"), ((1, 9, 8, 2), (5, 5, 2, 3), 1, "SAME"), ((2, 2, 7, 2), (3, 3, 2, 17), 1, "SAME"),
]


def result_shape(image, window, step, padding, outputs, spread=(1, 1), explicit=((0, 0), (0, 0))):
    places = [geometry(s, k, t, d, padding, e)[0] for s, k, t, d, e in zip(image[1:3], window, step, spread, explicit)]
    return (image[0], *places, outputs)


def add_filter_cases(r, filters, outputs_of):
    for dtype in (F32, F64) + HALVES:
        for image, window, step, padding in filters if dtype == F32 else filters[:2]:
            shape = result_shape(image, window, (step, step), padding, outputs_of(window))
            elements = int(np.prod(shape[:3])) + 1
            r.add(f"{dtype.name}_" + text(image, window, (step,), padding), [repeated(dtype, image, 97), np.array(window, I32), repeated(dtype, shape, 83, "grad")],
                  {"strides": four((step, step)), "padding": padding}, tolerance=bound(dtype, elements), tf_tolerance=halves_bound(dtype, elements),
                  numpy_only=image[0] == 0)     # TensorFlow's depthwise kernel leaves the result undefined


def conv_filter():
    r = Recorder("Conv2DBackpropFilter", reference=filter_reference)
    add_filter_cases(r, FILTERS, lambda window: window[3])
    x, sizes = repeated(F32, (2, 7, 6, 4), 71), np.array((3, 2, 4, 6), I32)
    pads = ((1, 2), (3, 0))
    r.add("explicit", [x, sizes, repeated(F32, result_shape(x.shape, (3, 2), (1, 2), "EXPLICIT", 6, explicit=pads), 61)],
          {"strides": four((1, 2)), "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 3, 0, 0, 0]}, tolerance=bound(F32, 90))
    r.add("dilated", [x, sizes, repeated(F32, (2, 7, 6, 6), 61)], {"strides": four((1, 1)), "padding": "SAME", "dilations": four((2, 3))},
          tolerance=bound(F32, 84), numpy_only=True)
    r.add("nchw", [x.transpose(0, 3, 1, 2).copy(), sizes, values(F32, (2, 6, 4, 6))],
          {"strides": [1, 1, 2, 1], "padding": "SAME", "data_format": "NCHW"}, tolerance=bound(F32, 48), numpy_only=True)
    # TensorFlow's CPU has no groups here; its GPUs have
    for name, window, step in (("groups", (3, 2, 2, 6), (1, 2)), ("groups_of_one", (2, 3, 1, 8), (1, 1)), ("groups_of_one_pixel", (1, 1, 2, 4), (1, 1))):
        r.add(name, [x, np.array(window, I32), repeated(F32, result_shape(x.shape, window, step, "SAME", window[3]), 61)],
              {"strides": four(step), "padding": "SAME"}, tolerance=bound(F32, 84), numpy_only=True)
    r.add("groups_nchw", [x.transpose(0, 3, 1, 2).copy(), np.array((3, 2, 2, 6), I32), values(F32, (2, 6, 5, 5))],
          {"strides": [1, 1, 1, 1], "padding": "VALID", "data_format": "NCHW"}, tolerance=bound(F32, 50), numpy_only=True)
    x, g, good = np.ones((2, 7, 6, 4), F32), np.ones((2, 7, 6, 6), F32), {"strides": four((1, 1)), "padding": "SAME"}
    r.error("result_of_other_shape", [x, sizes, g[:, 1:]], good, contains="Size of out_backprop doesn't match computed")
    r.error("three_sizes", [x, sizes[:3], g], good, contains="filter must be 4-dimensional")
    r.error("depths", [x, np.array((3, 2, 3, 6), I32), g], good)
    r.error("groups_of_outputs", [x, np.array((3, 2, 1, 6), I32), g], good)
    r.error("outputs", [x, np.array((3, 2, 4, 5), I32), g], good)
    r.error("input_of_rank_3", [x[0], sizes, g], good, contains="input must be 4-dimensional")
    r.error("negative_size", [x, np.array((3, -2, 4, 6), I32), g], good)
    return r


# ---- depthwise convolutions ----

def depthwise_filter(inputs, attrs, x, grad, lists):
    spread = (lists("dilations") or [1, 1, 1, 1])[1:3]
    shape = tuple(int(s) for s in inputs[1])
    patches = patch_matrix(x, np.zeros(shape), lists("strides")[1:3], spread, attrs["padding"], explicit_of(lists))
    return patches, grad.astype(np.float64).reshape(grad.shape[:3] + shape[2:])


def depthwise_filter_reference(inputs, attrs):
    x, lists, _ = channels_last(inputs, attrs)
    patches, grad = depthwise_filter(inputs, attrs, x, channels_last(inputs[2:], attrs)[0], lists)
    return np.einsum("nyxrcd,nyxde->rcde", patches, grad).astype(x.dtype)


def parts_reference(inputs, attrs):
    """Parts of at most 128: each of as many rows of places."""
    x, lists, _ = channels_last(inputs, attrs)
    patches, grad = depthwise_filter(inputs, attrs, x, inputs[2], lists)
    rows = np.einsum("nyxrcd,nyxd->nyrcd", patches, grad[..., 0])
    rows = rows.reshape((-1,) + rows.shape[2:])
    each = -(-len(rows) // 128)
    return np.stack([rows[i:i + each].sum(0) for i in range(0, len(rows), each)]).astype(x.dtype)


DEPTHWISE = [((2, 6, 7, 3), (2, 3, 3, 2), 2, "SAME"), ((1, 5, 5, 4), (3, 3, 4, 1), 1, "SAME"), ((1, 1, 6, 70), (1, 4, 70, 1), 1, "VALID"),
             ((0, 4, 4, 2), (2, 2, 2, 1), 1, "SAME"), ((1, 4, 9, 2), (1, 1, 2, 3), 2, "SAME"), ((2, 5, 6, 2), (3, 2, 2, 4), 1, "VALID")]


def depthwise_backprop_filter():
    r = Recorder("DepthwiseConv2dNativeBackpropFilter", reference=depthwise_filter_reference)
    add_filter_cases(r, DEPTHWISE, lambda window: window[2] * window[3])
    x, sizes, g = repeated(F32, (2, 7, 6, 3), 71), np.array((3, 2, 3, 2), I32), repeated(F32, (2, 7, 6, 6), 61)
    pads = ((1, 2), (3, 0))
    r.add("explicit", [x, sizes, values(F32, result_shape(x.shape, (3, 2), (1, 1), "EXPLICIT", 6, explicit=pads))],
          {"strides": four((1, 1)), "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 3, 0, 0, 0]}, tolerance=bound(F32, 140), numpy_only=True)
    r.add("dilated", [x, sizes, g], {"strides": four((1, 1)), "padding": "SAME", "dilations": four((2, 3))}, tolerance=bound(F32, 84), numpy_only=True)
    r.add("nchw", [x.transpose(0, 3, 1, 2).copy(), sizes, values(F32, (2, 6, 4, 3))],
          {"strides": [1, 1, 2, 2], "padding": "SAME", "data_format": "NCHW"}, tolerance=bound(F32, 24), numpy_only=True)
    good = {"strides": four((1, 1)), "padding": "SAME"}
    r.error("depths", [x, np.array((3, 2, 4, 2), I32), g], good, contains="input and filter must have the same")
    r.error("three_sizes", [x, sizes[:3], g], good, contains="filter must be 4-dimensional")
    r.error("result_of_other_shape", [x, sizes, g[:, 1:]], good, contains="doesn't match computed")
    r.error("input_of_rank_3", [x[0], sizes, g], good, contains="input must be 4-dimensional")
    return r


def depthwise_parts():
    r = Recorder("DepthwiseFilterParts", reference=parts_reference)
    for dtype in (F32, F64):
        for image, window, step, padding in DEPTHWISE[1:3] + [((3, 48, 2, 1), (3, 1, 1, 1), 1, "SAME"), ((2, 6, 7, 3), (2, 3, 3, 1), 2, "SAME")]:
            shape = result_shape(image, window, (step, step), padding, window[2])
            r.add(f"{dtype.name}_" + text(image, window, (step,), padding),
                  [np.resize(values(dtype, (37,)), image), np.array(window, I64), np.resize(values(dtype, (11,), "grad"), shape)],
                  {"strides": four((step, step)), "padding": padding}, tolerance=bound(dtype, shape[2] * 3), numpy_only=True)
    x, sizes, g, good = values(F32, (1, 4, 4, 2)), np.array((3, 3, 2, 1), I64), values(F32, (1, 4, 4, 2)), {"strides": four((1, 1)), "padding": "SAME"}
    r.add("dilated_explicit", [x, sizes, values(F32, (1, 4, 5, 2))],
          {"strides": four((1, 1)), "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 3, 0, 3, 0, 0], "dilations": four((2, 1))},
          tolerance=bound(F32, 15), numpy_only=True)
    r.our_error("two_outputs", [x, np.array((3, 3, 2, 2), I64), values(F32, (1, 4, 4, 4))], good, "one output for each channel")
    r.our_error("no_images", [x[:0], sizes, g[:0]], good, "a row of places")
    r.our_error("result_of_other_shape", [x, sizes, g[:, 1:]], good, "doesn't match computed")
    return r


def depthwise_input_reference(inputs, attrs):
    image = last_of(inputs[0], attrs)
    grad, lists, back = channels_last(inputs[2:], attrs)
    f = inputs[1].astype(np.float64)
    spread = (lists("dilations") or [1, 1, 1, 1])[1:3]
    each = grad.astype(np.float64).reshape(grad.shape[:3] + f.shape[2:])
    out = np.zeros(image)
    for r, c, at, inside in views(pixels(image), f.shape[:2], lists("strides")[1:3], spread, attrs["padding"], explicit_of(lists)):
        out += scattered(image, np.where(inside[None, :, :, None], at, -1), (each * f[r, c]).sum(4))
    return back(out.astype(grad.dtype))


def depthwise_backprop_input():
    r = Recorder("DepthwiseConv2dNativeBackpropInput", reference=depthwise_input_reference)
    for dtype in (F32, F64) + HALVES:
        for image, window, step, padding in DEPTHWISE if dtype == F32 else DEPTHWISE[:2]:
            shape = result_shape(image, window, (step, step), padding, window[2] * window[3])
            elements = window[0] * window[1] * window[3]
            r.add(f"{dtype.name}_" + text(image, window, (step,), padding), [np.array(image, I32), values(dtype, window), values(dtype, shape)],
                  {"strides": four((step, step)), "padding": padding}, tolerance=bound(dtype, elements), tf_tolerance=halves_bound(dtype, elements))
    sizes, f, g = np.array((2, 7, 6, 3), I32), values(F32, (3, 2, 3, 2)), repeated(F32, (2, 7, 6, 6), 61)
    for name, pads in (("explicit", [1, 2, 1, 0]), ("explicit_beyond_the_window", [3, 0, 2, 1])):
        shape = result_shape(sizes, (3, 2), (1, 1), "EXPLICIT", 6, explicit=(pads[:2], pads[2:]))
        r.add(name, [sizes, f, values(F32, shape)],
              {"strides": four((1, 1)), "padding": "EXPLICIT", "explicit_paddings": [0, 0, *pads, 0, 0]}, tolerance=bound(F32, 12), numpy_only=True)
    r.add("dilated", [sizes, f, g], {"strides": four((1, 1)), "padding": "SAME", "dilations": four((2, 3))}, tolerance=bound(F32, 12), numpy_only=True)
    r.add("nchw", [np.array((2, 3, 7, 6), I32), f, values(F32, (2, 6, 4, 3))],
          {"strides": [1, 1, 2, 2], "padding": "SAME", "data_format": "NCHW"}, tolerance=bound(F32, 12), numpy_only=True)
    good = {"strides": four((1, 1)), "padding": "SAME"}
    r.error("depths", [np.array((2, 7, 6, 4), I32), f, g], good, contains="input and filter must have the same")
    r.error("sizes_do_not_fit", [np.array((2, 8, 6, 3), I32), f, g], good, contains="doesn't match computed")
    r.error("two_sizes", [sizes[1:3], f, g], good, contains="must be 4-dimensional")
    r.error("filter_of_rank_3", [sizes, f[0], g], good, contains="filter must be 4-dimensional")
    return r


def build():
    return {"MaxPoolGrad": max_pool_grad, "MaxPoolGradGrad": max_pool_grad_grad, "AvgPoolGrad": avg_pool_grad, "Conv2DBackpropFilter": conv_filter,
            "DepthwiseConv2dNativeBackpropFilter": depthwise_backprop_filter, "DepthwiseConv2dNativeBackpropInput": depthwise_backprop_input,
            "DepthwiseFilterParts": depthwise_parts}
