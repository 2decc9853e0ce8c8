# SPDX-License-Identifier: Apache-2.0
"""Convolutions, and windows over sequences."""
import numpy as np
import tensorflow as tf

from golden_case import F32, F64, HALVES, I32, I64, INTEGERS, INTS, Recorder, random_values
from golden_window import bound, channels_last, explicit_of, four, from_planes, geometry, halves_bound, planes, text, views


def values(dtype, shape, *name):
    return random_values(dtype, shape, "conv", *name)


def wide(x):
    """Integers wrap around at the end, which gives the same result as at each step."""
    return x.astype(np.int64 if x.dtype.kind == "i" else np.float64)


def patch_matrix(x, f, step, spread, padding, explicit):
    """[n, oh, ow, rows, columns, channels]"""
    parts = [np.where(inside[None, :, :, None], part, f.dtype.type(0)) for _, _, part, inside in
             views(wide(x), f.shape[:2], step, spread, padding, explicit)]
    n, oh, ow, ch = parts[0].shape
    return np.stack(parts, axis=3).reshape(n, oh, ow, f.shape[0], f.shape[1], ch)


def conv_reference(inputs, attrs):
    x, lists, back = channels_last([from_planes(inputs[0], attrs)] + inputs[1:], attrs)
    f = wide(inputs[1])
    spread = (lists("dilations") or [1, 1, 1, 1])[1:3]
    p = patch_matrix(x, f, lists("strides")[1:3], spread, attrs["padding"], explicit_of(lists))
    groups = x.shape[3] // f.shape[2]
    each = f.shape[3] // groups
    out = [np.einsum("nyxrcd,rcde->nyxe", p[..., g * f.shape[2]:(g + 1) * f.shape[2]], f[..., g * each:(g + 1) * each])
           for g in range(groups)]
    y = np.concatenate(out, axis=3).astype(x.dtype)
    return planes(y) if attrs.get("output_format") == "NCHW" else back(y)


CASES = [   # image, filter, step, padding
    ((1, 5, 5, 1), (3, 3, 1, 1), 1, "SAME"), ((2, 6, 7, 3), (2, 3, 3, 5), 2, "VALID"), ((2, 6, 7, 3), (3, 2, 3, 4), 3, "SAME"),
    ((2, 4, 3, 8), (1, 1, 8, 6), 1, "VALID"), ((1, 4, 9, 2), (1, 1, 2, 3), 2, "SAME"), ((0, 4, 4, 2), (2, 2, 2, 3), 1, "SAME"),
    ((1, 4, 4, 2), (4, 4, 2, 0), 1, "SAME"), ((1, 16, 16, 4), (5, 5, 4, 8), 1, "VALID"),
]


LONG = [   # sums of more than 2,048 elements, windows of more than 32 pixels, outputs beyond a tile, places across images
    ((1, 3, 3, 520), (2, 2, 520, 3), (1, 1), (1, 1), "SAME"), ((1, 8, 8, 3), (6, 6, 3, 2), (1, 1), (1, 1), "SAME"),
    ((3, 5, 7, 4), (3, 2, 4, 37), (2, 1), (1, 2), "VALID"), ((2, 5, 5, 2), (3, 3, 2, 65), (1, 2), (2, 1), "SAME"),
    ((1, 1, 40, 7), (1, 5, 7, 33), (1, 1), (1, 1), "VALID"),
    # few outputs of many channels: all inside, at borders, elements spread, sums cut in two, a single place
    ((2, 5, 17, 16), (3, 3, 16, 3), (1, 1), (1, 1), "SAME"), ((1, 7, 9, 32), (2, 3, 32, 5), (2, 1), (1, 1), "VALID"),
    ((1, 6, 7, 16), (3, 2, 16, 2), (1, 1), (2, 3), "SAME"), ((1, 3, 13, 240), (3, 3, 240, 2), (1, 2), (1, 1), "SAME"),
    ((1, 1, 1, 48), (1, 1, 48, 7), (1, 1), (1, 1), "VALID"), ((1, 5, 3, 32), (3, 1, 32, 4), (1, 1), (1, 1), "SAME"),
    # outputs that fill a vector or not: strips in several parts, a panel that is not whole
    ((3, 5, 9, 6), (3, 3, 6, 15), (1, 1), (1, 1), "SAME"), ((1, 3, 9, 72), (5, 2, 72, 8), (1, 1), (1, 1), "SAME"),
    ((2, 4, 7, 5), (2, 3, 5, 16), (1, 2), (2, 1), "SAME"),
]


PLANES = [((2, 9, 7, 3), (3, 2, 3, 5), (2, 1), "SAME"), ((1, 6, 8, 1), (1, 1, 1, 4), (1, 2), "VALID"),
          ((2, 5, 4, 16), (3, 3, 16, 3), (1, 1), "SAME"), ((1, 23, 40, 3), (7, 7, 3, 17), (2, 2), "SAME")]


def convolve_images():
    r = Recorder("ConvolveImages", reference=conv_reference)
    for dtype in (F32, F64) + HALVES:
        for image, window, step, padding in CASES if dtype == F32 else CASES[1:3]:
            elements = int(np.prod(window[:3]))
            r.add(f"{dtype.name}_" + text(image, window, (step,), padding), [values(dtype, image), values(dtype, window)],
                  {"strides": four((step, step)), "padding": padding}, numpy_only=True, tolerance=bound(dtype, elements))
    for image, window, step, spread, padding in LONG:
        for dtype in (F32, F64):
            r.add(f"{dtype.name}_" + text(image, window, step, padding, *spread), [values(dtype, image), values(dtype, window)],
                  {"strides": four(step), "dilations": four(spread), "padding": padding}, numpy_only=True,
                  tolerance=bound(dtype, int(np.prod(window[:3]))))
    x, f = values(F32, (2, 7, 6, 4)), values(F32, (3, 2, 4, 6))
    r.add("explicit", [x, f], {"strides": four((1, 2)), "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 3, 0, 0, 0]},
          numpy_only=True, tolerance=bound(F32, 24))
    for image, window, step, padding in PLANES:
        for dtype in (F32, F64) + HALVES if window[2] == 3 else (F32,):
            r.add(f"{dtype.name}_planes_" + text(image, window, step, padding), [planes(values(dtype, image)), values(dtype, window)],
                  {"strides": four(step), "padding": padding, "input_format": "NCHW"}, numpy_only=True,
                  tolerance=bound(dtype, int(np.prod(window[:3]))))
            r.add(f"{dtype.name}_to_planes_" + text(image, window, step, padding), [values(dtype, image), values(dtype, window)],
                  {"strides": four(step), "padding": padding, "output_format": "NCHW"}, numpy_only=True,
                  tolerance=bound(dtype, int(np.prod(window[:3]))))
    good = {"strides": four((1, 1)), "padding": "SAME"}
    r.our_error("output_format_unknown", [x, f], {**good, "output_format": "NC"}, "Value for attr 'output_format'")
    r.our_error("input_format_unknown", [x, f], {**good, "input_format": "CHWN"}, "allowed values: \"NHWC\", \"NCHW\"")
    r.our_error("depths", [x, values(F32, (3, 2, 3, 6))], good, "input depth must be evenly divisible by filter depth")
    r.our_error("images_of_rank_3", [x[0], f], good, "convolution input must be 4-dimensional")
    r.our_error("filter_of_rank_3", [x, f[0]], good, "convolution filter must be 4-dimensional")
    r.our_error("empty_filter", [x, f[:0]], good, "filter must not have zero elements")
    r.our_error("no_strides", [x, f], {"padding": "SAME"}, "must specify 4 dimensions")
    r.our_error("zero_stride", [x, f], {**good, "strides": [1, 0, 1, 1]}, "must be positive")
    r.our_error("zero_dilation", [x, f], {**good, "dilations": [1, 0, 2, 1]}, "must be positive")
    r.our_error("padding_unknown", [x, f], {**good, "padding": "FOO"}, "is not in the list of allowed values")
    r.our_error("negative_padding", [x, f], {**good, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 3, -4, 0, 0]},
                "must be nonnegative")
    r.our_error("window_larger", [x, values(F32, (9, 9, 4, 1))], {**good, "padding": "VALID"}, "negative")
    return r


def conv_2d():
    r = Recorder("Conv2D", reference=conv_reference)
    for dtype in (F32, F64, I32, I64) + HALVES:
        for image, window, step, padding in CASES if dtype == F32 else CASES[1:3]:
            elements = int(np.prod(window[:3]))
            r.add(f"{dtype.name}_" + text(image, window, (step,), padding), [values(dtype, image), values(dtype, window)],
                  {"strides": four((step, step)), "padding": padding}, numpy_only=dtype == I64,    # TensorFlow's definition leaves int64 out
                  **({} if dtype in INTS else {"tolerance": bound(dtype, elements), "tf_tolerance": halves_bound(dtype, elements)}))
    x, f = values(F32, (2, 7, 6, 4)), values(F32, (3, 2, 4, 6))
    near = {"tolerance": bound(F32, 24)}
    r.add("dilated", [x, f], {"strides": four((1, 1)), "padding": "SAME", "dilations": four((2, 3))}, **near)
    r.add("explicit", [x, f], {"strides": four((1, 2)), "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 3, 0, 0, 0]}, **near)
    r.add("groups", [x, values(F32, (3, 2, 2, 6))], {"strides": four((1, 1)), "padding": "SAME"}, **near)
    r.add("groups_of_one", [x, values(F32, (3, 2, 1, 8))], {"strides": four((2, 1)), "padding": "VALID"}, **near)
    r.add("nchw", [x.transpose(0, 3, 1, 2).copy(), f], {"strides": [1, 1, 2, 1], "padding": "SAME", "data_format": "NCHW"},
          numpy_only=True, **near)
    r.add("nchw_groups_explicit", [x.transpose(0, 3, 1, 2).copy(), values(F32, (3, 2, 2, 6))],
          {"strides": [1, 1, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 0, 0, 2, 1, 0, 3], "data_format": "NCHW",
           "dilations": [1, 1, 1, 2]}, numpy_only=True, **near)
    good = {"strides": four((1, 1)), "padding": "SAME"}
    r.error("depths", [x, values(F32, (3, 2, 3, 6))], good, contains="input depth must be evenly divisible by filter depth")
    r.error("groups_of_outputs", [x, values(F32, (3, 2, 2, 5))], good, contains="output depth must be evenly divisible")
    r.error("stride_of_depth", [x, f], {**good, "strides": [1, 1, 1, 2]})
    r.error("zero_stride", [x, f], {**good, "strides": [1, 0, 1, 1]})
    r.error("two_strides", [x, f], {**good, "strides": [1, 1]}, contains="must specify 4 dimensions")
    r.error("zero_dilation", [x, f], {**good, "dilations": [1, 0, 2, 1]})
    r.error("paddings_beside_same", [x, f], {**good, "explicit_paddings": [0, 0, 1, 2, 3, 4, 0, 0]},
            contains="must be empty if the padding attribute is not EXPLICIT")
    r.error("six_paddings", [x, f], {**good, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 3, 4]},
            contains="must contain 8 values, but got: 6")
    r.error("negative_padding", [x, f], {**good, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 3, -4, 0, 0]},
            contains="must be nonnegative")
    r.error("input_of_rank_3", [x[0], f], good, contains="convolution input must be 4-dimensional")
    r.error("filter_of_rank_3", [x, f[0]], good, contains="convolution filter must be 4-dimensional")
    r.error("empty_filter", [x, f[:0]], good, contains="filter must not have zero elements")
    return r


def transposed_reference(sizes, f, y, attrs):
    """With groups, each group's part of the result by itself: its filters are neighbours."""
    axis = 1 if attrs.get("data_format") == "NCHW" else 3
    groups = int(sizes[axis]) // f.shape[2] if len(sizes) == 4 else 1
    own = [*sizes[:axis], f.shape[2], *sizes[axis + 1:]] if groups > 1 else sizes
    parts = [transposed_group(own, part, grad, attrs)
             for part, grad in zip(np.split(f, groups, axis=3), np.split(y, groups, axis=axis))]
    return np.concatenate(parts, axis=axis)


def transposed_group(sizes, f, y, attrs):
    first = attrs.get("data_format") == "NCHW"
    sizes = tuple(int(s) for s in sizes)
    y = y.transpose(0, 2, 3, 1) if first else y
    if len(sizes) == 2:
        sizes = (y.shape[0], *sizes, f.shape[2])
    elif first:
        sizes = (sizes[0], sizes[2], sizes[3], sizes[1])
    pick = slice(2, 4) if first else slice(1, 3)
    step, spread = attrs["strides"][pick], attrs.get("dilations", [1, 1, 1, 1])[pick]
    index = np.arange(sizes[1] * sizes[2]).reshape(1, sizes[1], sizes[2], 1)
    out = np.zeros((sizes[0], sizes[1] * sizes[2], sizes[3]))
    pads = attrs.get("explicit_paddings", [0] * 8)[4 if first else 2:]
    for r, c, place, inside in views(index, f.shape[:2], step, spread, attrs["padding"], (pads[:2], pads[2:4])):
        for oy, ox in np.argwhere(inside):
            out[:, place[0, oy, ox, 0]] += y[:, oy, ox].astype(np.float64) @ f[r, c].astype(np.float64).T
    out = out.reshape(sizes).astype(y.dtype)
    return out.transpose(0, 3, 1, 2) if first else out


TRANSPOSED = [((1, 5, 5, 1), (3, 3, 1, 1), 1, "SAME"), ((2, 8, 7, 3), (2, 3, 3, 5), 2, "VALID"), ((2, 6, 7, 3), (3, 2, 3, 4), 3, "SAME"),
              ((2, 4, 3, 4), (1, 1, 4, 6), 1, "VALID"), ((1, 4, 9, 2), (1, 1, 2, 3), 2, "SAME"), ((0, 4, 4, 2), (2, 2, 2, 3), 1, "SAME")]


def transposed(op, order, attr_names, tf_op=None):
    numpy_only = tf_op is None
    def reference(inputs, attrs):
        f, y, sizes = (inputs[order.index(k)] for k in ("filter", "result", "sizes"))
        return transposed_reference(sizes, f, y, attrs)
    r = Recorder(op, tf_op=tf_op, reference=reference)

    def inputs(image, f, y):
        named = {"filter": f, "result": y, "sizes": np.array(image, I32)}
        return [named[k] for k in order]

    for dtype in (F32, F64) + HALVES:
        for image, window, step, padding in TRANSPOSED if dtype == F32 else TRANSPOSED[1:2]:
            places = [geometry(s, k, step, 1, padding, (0, 0))[0] for s, k in zip(image[1:3], window)]
            elements = int(np.prod(window)) // window[2]
            y = values(dtype, (image[0], *places, window[3]))
            tolerance = bound(dtype, elements)
            if dtype in HALVES:     # the products' sums are rounded before they are added
                tolerance = halves_bound(dtype, elements)
            r.add(f"{dtype.name}_" + text(image, window, (step,), padding), inputs(image, values(dtype, window), y),
                  {"strides": four((step, step)), "padding": padding}, tolerance=tolerance, numpy_only=numpy_only)
    f, y = values(F32, (3, 2, 3, 4)), values(F32, (2, 4, 5, 6))
    r.add("nchw_dilated", inputs((2, 3, 5, 6), f, y), {"strides": [1, 1, 1, 1], "padding": "SAME", "data_format": "NCHW",
                                                       "dilations": [1, 1, 2, 1]}, tolerance=bound(F32, 24), numpy_only=True)
    # TensorFlow's CPU has no groups here; its GPUs have
    for name, image, window, step in (("groups", (2, 5, 6, 4), (3, 2, 2, 6), (2, 1)), ("groups_of_one", (1, 4, 5, 3), (2, 3, 1, 6), (1, 1)),
                                      ("groups_of_one_pixel", (2, 3, 3, 4), (1, 1, 2, 4), (1, 1))):
        places = [geometry(s, k, t, 1, "SAME", (0, 0))[0] for s, k, t in zip(image[1:3], window, step)]
        r.add(name, inputs(image, values(F32, window), values(F32, (image[0], *places, window[3]))),
              {"strides": four(step), "padding": "SAME"}, tolerance=bound(F32, 36), numpy_only=True)
    r.add("groups_nchw", inputs((2, 4, 5, 6), values(F32, (3, 2, 2, 6)), values(F32, (2, 6, 3, 5))),
          {"strides": [1, 1, 1, 1], "padding": "VALID", "data_format": "NCHW"}, tolerance=bound(F32, 36), numpy_only=True)
    return r


def backprop_input():
    r = transposed("Conv2DBackpropInput", ("sizes", "filter", "result"), (), tf_op="Conv2DBackpropInput")
    f, y = values(F32, (3, 3, 2, 5)), values(F32, (1, 4, 4, 5))
    good = {"strides": four((1, 1)), "padding": "SAME"}
    r.add("short_sizes", [np.array((4, 4), I32), f, y], good, tolerance=bound(F32, 45))
    for name, pads, places in (("explicit", [1, 0, 0, 2], (3, 4)), ("explicit_beyond_the_window", [3, 1, 0, 4], (6, 6))):
        r.add(name, [np.array((1, 4, 4, 2), I32), f, values(F32, (1, *places, 5))],
              {"strides": four((1, 1)), "padding": "EXPLICIT", "explicit_paddings": [0, 0, *pads, 0, 0]}, tolerance=bound(F32, 45))
    inf = f.copy()
    inf[0, 0, 0, 0], inf[2, 1, 1, 3] = np.inf, np.nan
    f7, y7 = values(F32, (1, 5, 7, 16)), values(F32, (1, 1, 8, 16))     # places computed as one, beside infinities
    y7[0, 0, 3, 2], y7[0, 0, 6, 5] = np.inf, np.nan
    r.add("few_channels_special", [np.array((1, 1, 12, 7), I32), f7, y7], {"strides": four((1, 1)), "padding": "VALID"}, tolerance=bound(F32, 80))
    r.add("special_filter_in_padding", [np.array((1, 4, 4, 2), I32), inf, y], good, tolerance=bound(F32, 45))
    r.error("sizes_do_not_fit", [np.array((1, 5, 4, 2), I32), f, y], good, contains="doesn't match computed")
    r.error("three_sizes", [np.array((1, 4, 4), I32), f, y], good, contains="4 values or 2 values, but got: 3")
    r.error("depths", [np.array((1, 4, 4, 2), I32), f, values(F32, (1, 4, 4, 3))], good)
    r.error("groups_of_outputs", [np.array((1, 4, 4, 4), I32), f, y], good)
    return r


OUTPUTS = [   # name, image, window, step, spread, padding; the image is one of several sizes for its places
    ("explicit", (2, 4, 5, 2), (3, 2, 2, 3), (1, 1), (1, 1), [1, 0, 0, 2]),
    ("explicit_strides", (1, 7, 6, 2), (3, 3, 2, 4), (2, 3), (1, 1), [2, 1, 0, 3]),
    ("explicit_dilated", (1, 6, 7, 3), (2, 3, 3, 2), (1, 1), (2, 3), [1, 2, 3, 0]),
    ("explicit_dilated_strides", (2, 9, 8, 2), (3, 2, 2, 2), (2, 2), (2, 3), [1, 0, 2, 1]),
    ("explicit_beyond_the_window", (1, 4, 4, 2), (3, 3, 2, 2), (1, 1), (1, 1), [3, 1, 0, 4]),
    ("dilated_same", (1, 6, 5, 2), (3, 2, 2, 3), (1, 1), (2, 3), "SAME"), ("dilated_valid", (1, 7, 6, 1), (3, 2, 1, 2), (1, 1), (3, 1), "VALID"),
    ("dilated_strides", (1, 8, 9, 2), (2, 3, 2, 2), (2, 3), (3, 2), "VALID"),
    ("output_padding_valid", (1, 8, 9, 2), (2, 3, 2, 2), (3, 2), (1, 1), "VALID"), ("output_padding_none", (1, 5, 7, 2), (2, 3, 2, 2), (3, 2), (1, 1), "VALID"),
    ("output_padding_same", (1, 6, 5, 2), (3, 3, 2, 2), (3, 2), (1, 1), "SAME"),
]


@tf.function(jit_compile=True)      # without XLA, TensorFlow's CPU has no dilations here and no channels first
def transposed_by_xla(y, f, sizes, attrs):
    pads = attrs.get("explicit_paddings")
    padding = [pads[i:i + 2] for i in range(0, 8, 2)] if pads else attrs["padding"]
    return tf.nn.conv2d_transpose(y, f, sizes, attrs["strides"], padding, attrs["data_format"], attrs["dilations"])


def add_output(r, name, dtype, image, window, step, spread, padding, first):
    explicit = padding if isinstance(padding, list) else [0] * 4
    kind = "EXPLICIT" if isinstance(padding, list) else padding
    places = [geometry(image[d + 1], window[d], step[d], spread[d], kind, explicit[2 * d:2 * d + 2])[0] for d in range(2)]
    y, f = values(dtype, (image[0], *places, window[3])), values(dtype, window)
    attrs = {"strides": four(step), "padding": kind, "dilations": four(spread), "data_format": "NHWC"}
    if kind == "EXPLICIT":
        attrs["explicit_paddings"] = [0, 0, *explicit, 0, 0]
    sizes = list(image)
    if first:
        y, sizes = y.transpose(0, 3, 1, 2).copy(), [image[0], image[3], *image[1:3]]
        attrs.update(strides=[1, 1, *step], dilations=[1, 1, *spread], data_format="NCHW")
        if kind == "EXPLICIT":
            attrs["explicit_paddings"] = [0, 0, 0, 0, *explicit]
    inputs = [y, f, np.array(sizes, I32)]
    elements = int(np.prod(window)) // window[2]
    tolerance = halves_bound(dtype, elements) if dtype in HALVES else bound(dtype, elements)
    if dtype not in HALVES:
        got = transposed_by_xla(y, f, sizes, attrs).numpy()
        assert np.abs(got - transposed_reference(inputs[2], f, y, attrs)).max() < 1e-4, name
    r.add(name, inputs, attrs, tolerance=tolerance, numpy_only=True)


def conv_2d_transpose():
    r = transposed("Conv2DTranspose", ("result", "filter", "sizes"), ())
    for name, *case in OUTPUTS:
        for first in (False, True):
            add_output(r, name + ("_nchw" if first else ""), F32, *case, first)
    for dtype in (F64,) + HALVES:
        add_output(r, f"{dtype.name}_explicit", dtype, *OUTPUTS[3][1:], False)
    y, f, sizes = values(F32, (1, 4, 4, 3)), values(F32, (3, 3, 2, 3)), np.array((1, 4, 4, 2), I32)
    good = {"strides": four((1, 1)), "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 1, 1, 1, 0, 0]}
    r.add("explicit_as_same", [y, f, sizes], good, tolerance=bound(F32, 27), numpy_only=True)
    r.our_error("paddings_beside_same", [y, f, sizes], {**good, "padding": "SAME"}, "must be empty if the padding attribute is not EXPLICIT")
    r.our_error("six_paddings", [y, f, sizes], {**good, "explicit_paddings": [0, 0, 1, 1, 1, 1]}, "must contain 8 values, but got: 6")
    r.our_error("negative_padding", [y, f, sizes], {**good, "explicit_paddings": [0, 0, 1, -1, 1, 1, 0, 0]}, "must be nonnegative")
    r.our_error("padding_of_depth", [y, f, sizes], {**good, "explicit_paddings": [0, 0, 1, 1, 1, 1, 1, 0]}, "batch or depth dimensions is not supported")
    r.our_error("sizes_do_not_fit", [y, f, np.array((1, 5, 4, 2), I32)], good, "Size of input doesn't match computed")
    return r


def line_attrs(attrs, names):
    """Turns attributes for sequences into attributes for images of one row."""
    first = attrs.get("data_format") == "NCW"
    out = {"padding": attrs["padding"], "data_format": "NCHW" if first else "NHWC"}
    for name, image_name in names.items():
        out[image_name] = [1, 1, 1, attrs.get(name, 1)] if first else [1, 1, attrs.get(name, 1), 1]
    return out, 2 if first else 1


def conv_1d():
    def reference(inputs, attrs):
        full, axis = line_attrs(attrs, {"stride": "strides", "dilations": "dilations"})
        return np.squeeze(conv_reference([np.expand_dims(inputs[0], axis), inputs[1][None]], full), axis)

    r = Recorder("Conv1D", reference=reference)
    x, f = values(F32, (2, 9, 4)), values(F32, (3, 4, 5))
    for padding in ("SAME", "VALID"):
        for stride, dilations in ((1, 1), (2, 1), (1, 2)):
            got = tf.nn.conv1d(x, f, stride, padding, dilations=dilations).numpy()
            attrs = {"stride": stride, "padding": padding, "dilations": dilations}
            assert np.abs(got - reference([x, f], attrs)).max() < 1e-4
            r.add(f"{padding.lower()}_{stride}_{dilations}", [x, f], attrs, tolerance=bound(F32, 12), numpy_only=True)
    r.add("ncw", [x.transpose(0, 2, 1).copy(), f], {"padding": "SAME", "data_format": "NCW"}, tolerance=bound(F32, 12), numpy_only=True)
    r.add("groups", [x, values(F32, (2, 2, 6))], {"padding": "VALID"}, tolerance=bound(F32, 12), numpy_only=True)
    for dtype in (F64, I32, I64) + HALVES:
        r.add(dtype.name, [values(dtype, (2, 9, 4)), values(dtype, (3, 4, 5))], {"stride": 2, "padding": "SAME"}, numpy_only=True,
              **({} if dtype in INTS else {"tolerance": bound(dtype, 12)}))
    r.add("no_sequences", [x[:0], f], {"padding": "SAME"}, numpy_only=True)
    r.add("no_places", [x[:, :2], f], {"padding": "VALID"}, numpy_only=True)
    return r


def pool_1d(op, image_op, python):
    from golden_window import avg_pool_reference, max_pool_reference
    image_reference = max_pool_reference if image_op == "MaxPool" else avg_pool_reference

    def reference(inputs, attrs):
        full, axis = line_attrs(attrs, {"ksize": "ksize", "strides": "strides", "dilations": "dilations"})
        full.update({name: attrs[name] for name in ("ceil_mode", "count_include_pad") if name in attrs})
        if "explicit_paddings" in attrs:
            full["explicit_paddings"] = list(np.insert(attrs["explicit_paddings"], 2 * axis, (0, 0)))
        return np.squeeze(image_reference([np.expand_dims(inputs[0], axis)], full), axis)

    r = Recorder(op, reference=reference)
    x = values(F32, (2, 9, 3))
    for padding in ("SAME", "VALID"):
        for ksize, strides in ((2, 2), (3, 1), (4, 3)):
            attrs = {"ksize": ksize, "strides": strides, "padding": padding}
            assert np.abs(python(x, ksize, strides, padding).numpy() - reference([x], attrs)).max() < 1e-5
            r.add(f"{padding.lower()}_{ksize}_{strides}", [x], attrs, tolerance=bound(F32, ksize), numpy_only=True)
    r.add("ncw", [x.transpose(0, 2, 1).copy()], {"ksize": 2, "strides": 2, "padding": "SAME", "data_format": "NCW"},
          tolerance=bound(F32, 2), numpy_only=True)
    for dtype in (F64,) + HALVES + (INTEGERS if op == "MaxPool1D" else ()):
        r.add(dtype.name, [values(dtype, (2, 9, 3))], {"ksize": 3, "strides": 2, "padding": "SAME"}, numpy_only=True,
              **({} if dtype in INTEGERS else {"tolerance": bound(dtype, 3)}))
    r.add("no_sequences", [x[:0]], {"ksize": 3, "strides": 2, "padding": "SAME"}, numpy_only=True)
    near = {"tolerance": bound(F32, 3), "numpy_only": True}
    explicit = {"ksize": 3, "strides": 2, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 1, 0, 0], "dilations": 2}
    for more in ({}, {"ceil_mode": True}) + (({"ceil_mode": True, "count_include_pad": True},) if op == "AvgPool1D" else ()):
        r.add("explicit_" + "_".join(more), [x], {**explicit, **more}, **near)
    r.add("explicit_ncw", [x.transpose(0, 2, 1).copy()], {**explicit, "explicit_paddings": [0, 0, 0, 0, 1, 2], "data_format": "NCW"}, **near)
    r.our_error("two_pads", [x], {**explicit, "explicit_paddings": [1, 1]}, contains="explicit_paddings has 2 numbers")
    r.our_error("pads_without_explicit", [x], {**explicit, "padding": "SAME"}, contains="with padding \"SAME\"")
    r.our_error("pads_of_channels", [x], {**explicit, "explicit_paddings": [0, 0, 1, 1, 1, 0]}, contains="padding 1 of dimension 2 must be 0")
    r.our_error("pads_as_large_as_the_window", [x], {**explicit, "explicit_paddings": [0, 0, 3, 1, 0, 0]}, contains="smaller than the window size")
    r.our_error("dilations_zero", [x], {**explicit, "dilations": 0}, contains="window, stride and dilation must be positive")
    return r


def build():
    return {"Conv2D": conv_2d, "ConvolveImages": convolve_images, "Conv2DBackpropInput": backprop_input,
            "Conv2DTranspose": conv_2d_transpose,
            "Conv1D": conv_1d, "MaxPool1D": lambda: pool_1d("MaxPool1D", "MaxPool", tf.nn.max_pool1d),
            "AvgPool1D": lambda: pool_1d("AvgPool1D", "AvgPool", tf.nn.avg_pool1d)}
