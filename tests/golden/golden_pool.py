# SPDX-License-Identifier: Apache-2.0
"""Pools beyond TensorFlow's: explicit pads, gaps in windows, ceil_mode, padding that counts; and MaxPoolWithArgmax."""
import numpy as np

from golden_case import F32, F64, HALVES, I32, Recorder, is_float, random_values
from golden_window import INTEGERS, PLACES, bound, channels_last, four, max_pool_reference, pool_window, text, views

# image, window, step, spread, pads (or a padding), ceil_mode: gaps, last windows that reach beyond the padding or beyond the
# image, places that ceil_mode does not add, windows without elements, rows longer than an item, more channels than a run.
POOLS = [
    ((2, 7, 6, 3), (3, 2), (2, 2), (1, 1), ((1, 2), (0, 1)), True), ((1, 9, 8, 5), (2, 3), (2, 1), (2, 3), "VALID", False),
    ((1, 9, 8, 2), (3, 3), (2, 2), (2, 1), "SAME", False), ((2, 5, 6, 70), (2, 2), (3, 3), (1, 2), ((1, 0), (1, 1)), True),
    ((1, 6, 7, 3), (2, 3), (2, 2), (1, 1), "VALID", True), ((1, 1, 1, 2), (2, 2), (1, 1), (2, 2), ((1, 1), (1, 1)), False),
    ((1, 5, 5, 1), (1, 1), (3, 3), (1, 1), "VALID", True), ((1, 3, 150, 1), (2, 3), (1, 2), (1, 2), ((0, 1), (2, 0)), True),
    ((1, 2, 3, 2), (3, 4), (2, 2), (1, 1), "VALID", True), ((1, 4, 40, 20), (2, 3), (2, 3), (1, 1), ((1, 1), (2, 2)), True),
]


def pool_case(case, **more):
    """(name, attributes) of a row."""
    image, window, step, spread, pads, ceil = case
    padding = pads if isinstance(pads, str) else "EXPLICIT"
    attrs = {"ksize": four(window), "strides": four(step), "padding": padding, **more}
    if padding == "EXPLICIT":
        attrs["explicit_paddings"] = [0, 0, *pads[0], *pads[1], 0, 0]
    if spread != (1, 1):
        attrs["dilations"] = four(spread)
    if ceil:
        attrs["ceil_mode"] = True
    return text(image, window, step, padding, "d" + "x".join(map(str, spread)), *(["ceil"] if ceil else []),
                *(f"{name}_{int(value)}" for name, value in more.items())), attrs


def first_format(attrs):
    """The same attributes of images with channels first."""
    out = dict(attrs, data_format="NCHW")
    for name, value in attrs.items():
        if isinstance(value, list):
            out[name] = [1, 1, *value[1:3]] if len(value) == 4 else [0, 0, 0, 0, *value[2:6]]
    return out


def add_beyond_tensorflow(r, make, dtypes, near, **more):
    """Adds the rows; make: inputs of an image's type and shape and of the attributes; near: a tolerance, if there is one."""
    for dtype in dtypes:
        for case in POOLS if dtype == F32 else POOLS[:2]:
            name, attrs = pool_case(case, **more)
            r.add(f"{dtype.name}_{name}", make(dtype, case[0], attrs), attrs, numpy_only=True, **near(dtype, int(np.prod(case[1]))))
    image = POOLS[0][0]
    name, attrs = pool_case(POOLS[0], **more)
    attrs = first_format(attrs)
    r.add(f"nchw_{name}", make(F32, (image[0], image[3], *image[1:3]), attrs), attrs, numpy_only=True, **near(F32, 6))


def add_errors(r, inputs):
    good = {"ksize": four((2, 2)), "strides": four((1, 1)), "padding": "VALID"}
    r.our_error("dilations_zero", inputs, {**good, "dilations": [1, 0, 1, 1]}, contains="Sliding window dilations must be positive")
    r.our_error("dilations_over_batch", inputs, {**good, "dilations": [2, 1, 1, 1]}, contains="dilations in the batch and depth")
    r.cases[-1]["error"] = "Unimplemented"
    r.our_error("three_dilations", inputs, {**good, "dilations": [1, 1, 1]}, contains="must specify 4 dimensions")
    r.our_error("pads_as_large_as_the_window", inputs, {**good, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 0, 0, 0, 0, 0]},
                contains="needs to be smaller than the window size")
    r.our_error("six_pads", inputs, {**good, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 1, 0]}, contains="must contain 8 values")


def argmax_reference(inputs, attrs):
    x, lists, back = channels_last(inputs, attrs)
    n, h, w, c = x.shape
    ys, xs = np.arange(h).reshape(1, h, 1, 1), np.arange(w).reshape(1, 1, w, 1)
    spatial = xs * h + ys if attrs.get("storage_order") else ys * w + xs
    channel, image = np.arange(c), np.arange(n).reshape(n, 1, 1, 1)
    at = channel * h * w + spatial if attrs.get("data_format") == "NCHW" else spatial * c + channel
    at = np.broadcast_to(at + (image * h * w * c if attrs.get("include_batch_in_index") else 0), x.shape).astype(np.int64)
    window = pool_window(lists, attrs)
    taken = most = None
    for (_, _, part, inside), (_, _, where, _) in zip(views(x, *window), views(at, *window)):
        if taken is None:
            taken = np.full(part.shape, -1, np.int64)
            most = np.full(part.shape, -np.inf if is_float(x.dtype) else np.iinfo(x.dtype).min, x.dtype)
        with np.errstate(invalid="ignore"):
            better = inside[None, :, :, None] & ((taken < 0) | (part > most))
        taken, most = np.where(better, where, taken), np.where(better, part, most)
    return [back(most), back(taken).astype(attrs.get("Targmax", np.int64))]


def max_pool_with_argmax():
    r = Recorder("MaxPoolWithArgmax", reference=argmax_reference)

    def values(dtype, shape):    # with equal elements
        x = random_values(dtype, shape, "argmax")
        return np.round(x.astype(F64)).astype(dtype) if is_float(np.dtype(dtype)) else x

    def make(dtype, shape, attrs):
        return [values(dtype, shape)]

    for batch in (False, True):
        for image, window, step, padding in PLACES:
            attrs = {"ksize": four(window), "strides": four(step), "padding": padding, "include_batch_in_index": batch}
            r.add(f"float32_{text(image, window, step, padding)}_{int(batch)}", [values(F32, image)], attrs,
                  numpy_only=image[0] == 0)     # TensorFlow refuses an empty tensor
        add_beyond_tensorflow(r, make, (F32,) if batch else (F32, F64) + HALVES + INTEGERS, lambda *_: {}, include_batch_in_index=batch,
                              storage_order=int(batch))
    _, attrs = pool_case(POOLS[0], include_batch_in_index=True)
    r.add("nchw_rows", [values(F32, (2, 3, 7, 6))], first_format(attrs), numpy_only=True)
    good = {"ksize": four((2, 2)), "strides": four((1, 1)), "padding": "VALID"}
    x = values(F32, (2, 3, 4, 2))
    r.add("int32_positions", [x], {**good, "Targmax": I32})
    special = np.array([np.nan, 1, 2, np.nan, np.nan, np.nan, -np.inf, -np.inf, -0.0, 0.0, np.inf, np.nan, 1e-40, 0], F32).reshape(1, 1, 14, 1)
    r.add("special", [special], {**good, "ksize": four((1, 2)), "strides": four((1, 2))}, numpy_only=True)
    add_errors(r, [x])
    r.our_error("storage_order_2", [x], {**good, "storage_order": 2}, contains="storage_order is 2; 0 and 1 are accepted")
    r.error("rank_3", [x[0]], good)
    r.error("zero_window", [x], {**good, "ksize": [1, 0, 1, 1]})
    return r


def build():
    return {"MaxPoolWithArgmax": max_pool_with_argmax}
