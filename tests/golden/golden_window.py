# SPDX-License-Identifier: Apache-2.0
"""Windows over images: pooling, patches, depthwise convolutions."""
import numpy as np

from golden_case import (BF16, F16, F32, F64, HALVES, I64, MOVED_TYPES, Recorder, is_float,
                         random_values)

INTEGERS = tuple(np.dtype(n) for n in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
ROUNDINGS = {F32: 2.0 ** -23, F64: 2.0 ** -52, F16: 2.0 ** -10, BF16: 2.0 ** -7}

# (image, window, step, padding): odd sizes, windows larger than a step and smaller, one row, one pixel, no images
PLACES = [
    ((1, 4, 4, 1), (2, 2), (2, 2), "VALID"), ((2, 5, 7, 3), (2, 3), (1, 2), "SAME"), ((2, 5, 7, 3), (3, 2), (2, 1), "VALID"),
    ((1, 1, 9, 2), (1, 3), (1, 2), "SAME"), ((3, 6, 1, 2), (2, 1), (3, 1), "VALID"), ((1, 1, 1, 1), (1, 1), (1, 1), "SAME"),
    ((0, 4, 4, 2), (2, 2), (2, 2), "SAME"), ((1, 9, 8, 5), (2, 2), (4, 3), "SAME"), ((1, 4, 4, 2), (4, 4), (1, 1), "VALID"),
    ((1, 3, 3, 4), (5, 5), (2, 2), "SAME"),
]


def values(dtype, shape, *name):
    return random_values(dtype, shape, "window", *name)


def text(image, window, step, padding, *more):
    return "_".join(["x".join(map(str, image)), "w" + "x".join(map(str, window)), "s" + "x".join(map(str, step)),
                     padding.lower()] + [str(m) for m in more])


def four(pair):
    return [1, *pair, 1]


def geometry(size, window, step, spread, padding, explicit, ceil=False):
    """(places, padding before) of one dimension. ceil: the last window may reach beyond the padding after the image, but
    begins before that."""
    reach = (window - 1) * spread + 1
    if padding == "SAME":
        places = -(-size // step)
        return places, max((places - 1) * step + reach - size, 0) // 2
    before, after = explicit if padding == "EXPLICIT" else (0, 0)
    places = -(-(size + before + after - reach) // step) + 1 if ceil else (size + before + after - reach + step) // step
    return places - (ceil and (places - 1) * step >= size + before), before


def views(x, window, step, spread, padding, explicit=((0, 0), (0, 0)), ceil=False):
    """For each place and element of the window: (r, c, values [n, oh, ow, c], which of them are inside)."""
    n, h, w, ch = x.shape
    (oh, top), (ow, left) = (geometry(s, k, t, d, padding, e, ceil) for s, k, t, d, e in
                             zip((h, w), window, step, spread, explicit))
    for r in range(window[0]):
        for c in range(window[1]):
            ys = np.arange(oh) * step[0] - top + r * spread[0]
            xs = np.arange(ow) * step[1] - left + c * spread[1]
            inside = ((ys >= 0) & (ys < h))[:, None] & ((xs >= 0) & (xs < w))[None, :]
            if h == 0 or w == 0:
                yield r, c, np.zeros((n, oh, ow, ch), x.dtype), inside
            else:
                yield r, c, x[:, np.clip(ys, 0, h - 1)][:, :, np.clip(xs, 0, w - 1)], inside


def channels_last(inputs, attrs):
    """Inputs and lists as NHWC, and the way back."""
    if attrs.get("data_format") != "NCHW":
        return inputs[0], lambda name, default=None: attrs.get(name, default), lambda y: y
    order = lambda l: [l[0], l[2], l[3], l[1]] if len(l) == 4 else [l[i] for i in (0, 1, 4, 5, 6, 7, 2, 3)]
    lists = lambda name, default=None: order(attrs[name]) if name in attrs and attrs[name] else default
    return inputs[0].transpose(0, 2, 3, 1), lists, lambda y: y.transpose(0, 3, 1, 2)


def explicit_of(lists):
    pads = lists("explicit_paddings") or [0] * 8
    return tuple(pads[2:4]), tuple(pads[4:6])


def pool_window(lists, attrs):
    """What views() needs of a pool."""
    return (lists("ksize")[1:3], lists("strides")[1:3], (lists("dilations") or [1, 1, 1, 1])[1:3], attrs["padding"],
            explicit_of(lists), attrs.get("ceil_mode", False))


def max_pool_reference(inputs, attrs):
    x, lists, back = channels_last(inputs, attrs)
    out = None
    least = -np.inf if is_float(x.dtype) else np.iinfo(x.dtype).min
    for _, _, part, inside in views(x, *pool_window(lists, attrs)):
        part = np.where(inside[None, :, :, None], part, np.asarray(least, x.dtype))
        out = np.full(part.shape, least, x.dtype) if out is None else out
        out = np.where(part > out, part, out)
    return back(out.astype(x.dtype))


def pool_counts(shape, lists, attrs):
    """How many elements each window of images of this shape (NHWC) counts: [1, y, x, 1]."""
    window = pool_window(lists, attrs)
    image = np.ones((1, *shape[1:3], 1))
    if not attrs.get("count_include_pad"):
        return sum(inside.astype(int) for _, _, _, inside in views(image, *window))[None, :, :, None]
    (top, bottom), (left, right) = window[4]
    if attrs["padding"] == "SAME":
        return np.full((1, 1, 1, 1), window[0][0] * window[0][1])
    image = np.ones((1, shape[1] + top + bottom, shape[2] + left + right, 1))
    places = [geometry(s, k, t, d, window[3], e, window[5])[0] for s, k, t, d, e in zip(shape[1:3], *window[:3], window[4])]
    counts = sum(inside.astype(int) for _, _, _, inside in views(image, *window[:3], "VALID", ((0, 0), (0, 0)), True))
    return counts[None, :places[0], :places[1], None]


def avg_pool_reference(inputs, attrs):
    x, lists, back = channels_last(inputs, attrs)
    total = 0
    for _, _, part, inside in views(x.astype(np.float64), *pool_window(lists, attrs)):
        total = total + np.where(inside[None, :, :, None], part, 0.0)
    with np.errstate(invalid="ignore"):
        return back((total / pool_counts(x.shape, lists, attrs)).astype(x.dtype))


def bound(dtype, elements):
    """Sums in another order: elements roundings of a magnitude of 4, or of 16 for products."""
    if dtype in HALVES:
        return {"abs": 16.0 * elements * 2.0 ** -23, "rel": ROUNDINGS[dtype]}
    return {"abs": 16.0 * elements * ROUNDINGS[dtype]}


def halves_bound(dtype, elements):
    """TensorFlow rounds sums of halves at every step."""
    return {"abs": 16.0 * elements * ROUNDINGS[dtype], "rel": 4 * ROUNDINGS[dtype]}


def pool_errors(r, name):
    x = values(F32, (1, 4, 4, 2))
    good = {"ksize": four((2, 2)), "strides": four((1, 1)), "padding": "VALID"}
    r.error("no_padding", [x], {**good, "padding": "FOO"}, contains="is not in the list of allowed values")
    r.error("zero_window", [x], {**good, "ksize": [1, 0, 1, 1]}, contains="positive")
    r.error("rank_3", [x[0]], good)
    r.error("three_strides", [x], {**good, "strides": [1, 1, 1]})
    r.error("over_depth_and_width", [x], {**good, "ksize": [1, 2, 2, 2]})
    r.error("over_batch", [x], {**good, "ksize": [2, 2, 2, 1]})


# More channels, or adjacent places of one channel, than kernels handle at a time; and windows larger than the image.
LONG_PLACES = [((1, 3, 4, 70), (3, 2), (2, 1), "SAME"), ((1, 3, 150, 1), (2, 3), (1, 2), "SAME"),
               ((1, 2, 135, 1), (2, 2), (1, 1), "VALID"), ((2, 2, 3, 1), (5, 7), (1, 1), "SAME")]


# Places with few channels, which kernels join; rows longer than a line of columns, windows wider than one, and steps
# that skip most pixels.
FEW_CHANNELS = [((1, 3, 50, 3), (2, 3), (1, 1), "SAME"), ((2, 4, 45, 5), (3, 4), (2, 2), "VALID")]
BLOCKS = [((1, 2, 40, 30), (2, 3), (1, 1), "SAME"), ((1, 2, 36, 33), (2, 2), (2, 2), "SAME"), ((1, 2, 130, 9), (2, 3), (2, 2), "SAME"),
          ((1, 2, 22, 70), (2, 20), (1, 2), "SAME"), ((1, 2, 60, 2), (1, 1), (1, 7), "VALID")]
# One place that shares its columns with no other, with more channels than lie side by side then, and more than two
# pixels.
LONE_PLACES = [((1, 2, 3, 515), (2, 3), (1, 1), "VALID"), ((2, 2, 5, 130), (2, 5), (1, 1), "VALID")]


def max_pool():
    r = Recorder("MaxPool", reference=max_pool_reference)
    for dtype in (F32, F16):
        for image, window, step, padding in LONG_PLACES + FEW_CHANNELS + (BLOCKS + LONE_PLACES if dtype == F32 else []):
            r.add(f"{dtype.name}_" + text(image, window, step, padding), [values(dtype, image)],
                  {"ksize": four(window), "strides": four(step), "padding": padding})
    r.add("nchw_long", [values(F32, (1, 2, 3, 140))], {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 1], "padding": "SAME",
                                                       "data_format": "NCHW"}, numpy_only=True)
    for dtype in (F32, F64) + HALVES + INTEGERS:
        for image, window, step, padding in PLACES if dtype == F32 else PLACES[1:3]:
            r.add(f"{dtype.name}_" + text(image, window, step, padding), [values(dtype, image)],
                  {"ksize": four(window), "strides": four(step), "padding": padding},
                  numpy_only=dtype.name in ("uint32", "uint64"))    # TensorFlow's definition leaves these out
    x = values(F32, (2, 5, 6, 3))
    r.add("explicit", [x], {"ksize": four((3, 2)), "strides": four((1, 2)), "padding": "EXPLICIT",
                            "explicit_paddings": [0, 0, 2, 1, 0, 1, 0, 0]})
    r.add("nchw", [x.transpose(0, 3, 1, 2).copy()], {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 1], "padding": "SAME",
                                                     "data_format": "NCHW"}, numpy_only=True)
    special = np.array([1, np.nan, 3, 2, np.nan, 5, -np.inf, 0, -0.0, 0.0, 1e-40, np.inf], F32).reshape(1, 3, 4, 1)
    r.add("special", [special], {"ksize": four((2, 2)), "strides": four((1, 1)), "padding": "VALID"}, numpy_only=True)
    from golden_pool import add_beyond_tensorflow, add_errors
    add_beyond_tensorflow(r, lambda dtype, shape, _: [values(dtype, shape)], (F32, F64) + HALVES + INTEGERS, lambda *_: {})
    add_errors(r, [values(F32, (1, 4, 4, 2))])
    pool_errors(r, "input")
    r.error("padding_as_large_as_the_window", [x], {"ksize": four((2, 2)), "strides": four((1, 1)), "padding": "EXPLICIT",
                                                    "explicit_paddings": [0, 0, 2, 1, 0, 1, 0, 0]},
            contains="needs to be smaller than the window size")
    return r


def avg_pool():
    r = Recorder("AvgPool", reference=avg_pool_reference)
    for dtype in (F32, F16):
        for image, window, step, padding in LONG_PLACES + FEW_CHANNELS + (BLOCKS + LONE_PLACES if dtype == F32 else []):
            elements = window[0] * window[1]
            r.add(f"{dtype.name}_" + text(image, window, step, padding), [values(dtype, image)],
                  {"ksize": four(window), "strides": four(step), "padding": padding}, tolerance=bound(dtype, elements),
                  tf_tolerance=halves_bound(dtype, elements))
    r.add("nchw_long", [values(F32, (1, 2, 3, 140))], {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 1], "padding": "SAME",
                                                       "data_format": "NCHW"}, tolerance=bound(F32, 6), numpy_only=True)
    for dtype in (F32, F64) + HALVES:
        for image, window, step, padding in PLACES if dtype == F32 else PLACES[1:3]:
            elements = window[0] * window[1]
            r.add(f"{dtype.name}_" + text(image, window, step, padding), [values(dtype, image)],
                  {"ksize": four(window), "strides": four(step), "padding": padding}, tolerance=bound(dtype, elements),
                  tf_tolerance=halves_bound(dtype, elements))
    x = values(F32, (2, 3, 5, 6))
    r.add("nchw", [x], {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 1], "padding": "SAME", "data_format": "NCHW"},
          tolerance=bound(F32, 6), numpy_only=True)
    from golden_pool import add_beyond_tensorflow, add_errors
    for more in ({}, {"count_include_pad": True}):
        add_beyond_tensorflow(r, lambda dtype, shape, _: [values(dtype, shape)], (F32, F64) + HALVES,
                              lambda dtype, n: {"tolerance": bound(dtype, n)}, **more)
    r.add("same_counted", [x.transpose(0, 2, 3, 1).copy()], {"ksize": four((3, 2)), "strides": four((2, 2)), "padding": "SAME", "count_include_pad": True},
          tolerance=bound(F32, 6), numpy_only=True)
    add_errors(r, [values(F32, (1, 4, 4, 2))])
    pool_errors(r, "value")
    return r


def depthwise_reference(inputs, attrs):
    x, lists, back = channels_last(inputs, attrs)
    f = inputs[1].astype(np.float64)
    spread = (lists("dilations") or [1, 1, 1, 1])[1:3]
    total = 0
    for r, c, part, inside in views(x.astype(np.float64), f.shape[:2], lists("strides")[1:3], spread, attrs["padding"],
                                    explicit_of(lists)):
        weights = np.where(inside[None, :, :, None, None], f[r, c], 0.0)
        part = np.where(inside[None, :, :, None], part, 0.0)
        total = total + (part[..., None] * weights).reshape(part.shape[:3] + (f.shape[2] * f.shape[3],))
    return back(total.astype(x.dtype))


def depthwise():
    r = Recorder("DepthwiseConv2dNative", reference=depthwise_reference)
    filters = [((1, 5, 5, 1), (3, 3, 1, 1)), ((2, 6, 7, 3), (2, 3, 3, 2)), ((1, 4, 9, 2), (1, 1, 2, 3)), ((0, 4, 4, 2), (2, 2, 2, 1))]
    for dtype in (F32, F64) + HALVES:
        for image, window in filters if dtype == F32 else filters[1:2]:
            for padding in ("SAME", "VALID"):
                for step in (1, 2) if dtype == F32 else (2,):
                    elements = window[0] * window[1]
                    r.add(f"{dtype.name}_" + text(image, window, (step,), padding), [values(dtype, image), values(dtype, window)],
                          {"strides": four((step, step)), "padding": padding}, tolerance=bound(dtype, elements),
                          tf_tolerance=halves_bound(dtype, elements))
    # More filters, or places side by side, than kernels take at a time, with a rest; fewer than a block; several for a channel, more
    # than are written at once, or cut apart; rows that share their weights; windows of more elements than fit, or wider.
    longer = [((1, 3, 6, 70), (3, 4, 70, 1), 1), ((1, 3, 4, 25), (2, 3, 25, 3), 1), ((1, 3, 150, 1), (2, 3, 1, 1), 1),
              ((2, 4, 30, 6), (3, 3, 6, 1), 1), ((1, 3, 41, 3), (3, 3, 3, 4), 2)]
    single = [((1, 3, 25, 64), (3, 3, 64, 1), 1), ((1, 4, 9, 32), (3, 3, 32, 1), 2), ((1, 3, 41, 20), (3, 3, 20, 1), 1),
              ((1, 3, 9, 20), (2, 3, 20, 1), 2), ((1, 2, 5, 160), (2, 3, 160, 1), 1), ((1, 3, 9, 2), (3, 3, 2, 11), 1),
              ((1, 2, 5, 45), (2, 2, 45, 3), 1), ((2, 37, 5, 3), (3, 3, 3, 1), 1), ((1, 12, 20, 2), (11, 17, 2, 1), 1),
              ((1, 2, 140, 1), (1, 130, 1, 2), 1),
              # vectors of one channel's filters, or of channels, with a rest that is computed twice; blocks of them
              ((1, 3, 9, 3), (3, 3, 3, 8), 1), ((1, 4, 11, 2), (3, 3, 2, 12), 2), ((1, 2, 6, 2), (3, 3, 2, 70), 1),
              ((1, 2, 5, 1), (2, 2, 1, 140), 1), ((1, 2, 6, 133), (3, 2, 133, 1), 1), ((1, 9, 9, 70), (7, 7, 70, 1), 1)]
    for dtype in (F32, F64, F16):
        for image, window, step in longer[:1] if dtype == F64 else longer + (single if dtype == F32 else []):
            elements = window[0] * window[1]
            r.add(f"{dtype.name}_" + text(image, window, (step,), "SAME"), [values(dtype, image), values(dtype, window)],
                  {"strides": four((step, step)), "padding": "SAME"}, tolerance=bound(dtype, elements), tf_tolerance=halves_bound(dtype, elements))
    # No padding is multiplied by an infinite weight.
    for channels, depth in ((3, 1), (2, 3), (20, 1), (32, 1), (2, 8)):
        x, f = values(F32, (1, 3, 7, channels)), values(F32, (3, 3, channels, depth))
        f[0, 0, 0, 0], f[2, 1, channels - 1, depth - 1], f[1, 2, 1, 0] = np.inf, -np.inf, np.nan
        r.add(f"special_{channels}_{depth}", [x, f], {"strides": four((1, 1)), "padding": "SAME"}, tolerance=bound(F32, 9), numpy_only=True)
    x, f = values(F32, (2, 3, 37, 6)), values(F32, (3, 2, 3, 2))
    r.add("nchw_rows", [x, f], {"strides": [1, 1, 1, 1], "padding": "SAME", "data_format": "NCHW"}, tolerance=bound(F32, 6), numpy_only=True)
    x, f = values(F32, (1, 5, 11, 32)), values(F32, (3, 3, 32, 1))
    r.add("dilated_blocks", [x, f], {"strides": four((1, 1)), "padding": "SAME", "dilations": four((2, 3))}, tolerance=bound(F32, 9),
          numpy_only=True)
    r.add("explicit_blocks", [x, f], {"strides": four((2, 2)), "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 4, 3, 5, 0, 0]},
          tolerance=bound(F32, 9), numpy_only=True)
    x, f = values(F32, (2, 3, 4, 140)), values(F32, (3, 3, 3, 2))
    for step in (1, 2):
        r.add(f"nchw_long_{step}", [x, f], {"strides": [1, 1, step, step], "padding": "SAME", "data_format": "NCHW"},
              tolerance=bound(F32, 9), numpy_only=True)
    x, f = values(F32, (2, 6, 7, 3)), values(F32, (2, 3, 3, 2))
    r.add("explicit", [x, f], {"strides": four((1, 1)), "padding": "EXPLICIT",
                               "explicit_paddings": [0, 0, 1, 2, 3, 0, 0, 0]}, tolerance=bound(F32, 6))
    r.add("dilated", [x, f], {"strides": four((1, 1)), "padding": "SAME", "dilations": four((2, 3))},
          tolerance=bound(F32, 6), numpy_only=True)
    r.add("nchw", [x.transpose(0, 3, 1, 2).copy(), f], {"strides": [1, 1, 2, 2], "padding": "SAME", "data_format": "NCHW"},
          tolerance=bound(F32, 6), numpy_only=True)
    good = {"strides": four((1, 1)), "padding": "SAME"}
    r.error("depths_differ", [x, values(F32, (2, 3, 2, 2))], good, contains="must have the same depth")
    r.error("filter_of_rank_3", [x, f[0]], good)
    r.error("negative_size", [x, values(F32, (9, 9, 3, 1))], {**good, "padding": "VALID"}, contains="would be negative")
    r.error("zero_stride", [x, f], {**good, "strides": [1, 0, 0, 1]})
    return r


def planes(x):
    """The images with their channels first; from_planes brings them back if input_format has them so."""
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2))


def from_planes(x, attrs):
    return x.transpose(0, 2, 3, 1) if attrs.get("input_format") == "NCHW" else x


def patches_reference(inputs, attrs):
    x = from_planes(inputs[0], attrs)
    parts = [np.where(inside[None, :, :, None], part, np.zeros((), x.dtype)).astype(x.dtype) for _, _, part, inside in
             views(x, attrs["ksizes"][1:3], attrs["strides"][1:3], attrs["rates"][1:3], attrs["padding"])]
    return np.concatenate(parts, axis=3)


def patches():
    r = Recorder("ExtractImagePatches", reference=patches_reference)
    for dtype in (t for t in MOVED_TYPES if t != np.dtype("bool")):
        for image, window, step, padding in PLACES[:8] if dtype == F32 else PLACES[2:3]:
            for rate in ((1, 1), (2, 1)) if dtype == F32 and image[1] > 4 else ((1, 1),):
                if padding == "SAME" and rate != (1, 1):
                    continue    # TensorFlow's padding does not count the rate there
                r.add(f"{dtype.name}_" + text(image, window, step, padding, *rate), [values(dtype, image)],
                      {"ksizes": four(window), "strides": four(step), "rates": four(rate), "padding": padding})
    for image, window, step, padding in LONG_PLACES:
        r.add("long_" + text(image, window, step, padding), [values(F32, image)],
              {"ksizes": four(window), "strides": four(step), "rates": four((1, 1)), "padding": padding})
    for dtype in (F32, F64, np.dtype(np.int8), np.dtype(np.int16)):
        r.add(f"{dtype.name}_planes", [planes(values(dtype, (2, 6, 7, 3)))],
              {"ksizes": four((3, 2)), "strides": four((2, 1)), "rates": four((1, 2)), "padding": "VALID", "input_format": "NCHW"},
              numpy_only=True)
    r.add("planes_padded", [planes(values(F32, (1, 5, 70, 4)))],
          {"ksizes": four((3, 3)), "strides": four((1, 2)), "rates": four((1, 1)), "padding": "SAME", "input_format": "NCHW"},
          numpy_only=True)
    r.error("rank_3", [values(F32, (4, 4, 2))], {"ksizes": four((2, 2)), "strides": four((1, 1)), "rates": four((1, 1)),
                                                "padding": "SAME"})
    r.our_error("input_format_unknown", [values(F32, (1, 4, 4, 2))],
                {"ksizes": four((2, 2)), "strides": four((1, 1)), "rates": four((1, 1)), "padding": "SAME", "input_format": "NCWH"},
                "allowed values: \"NHWC\", \"NCHW\"")
    return r


def fold_reference(inputs, attrs):
    cols, sizes = inputs[0].astype(np.float64), tuple(int(s) for s in inputs[1])
    rows, columns = attrs["ksizes"][1:3]
    spread = attrs.get("rates", four((1, 1)))[1:3]
    index = np.arange(sizes[1] * sizes[2], dtype=np.int64).reshape(1, sizes[1], sizes[2], 1)
    out = np.zeros((sizes[0], sizes[1] * sizes[2], sizes[3]))
    each = cols.reshape(cols.shape[:3] + (rows, columns, sizes[3]))
    for r, c, place, inside in views(index, (rows, columns), attrs["strides"][1:3], spread, attrs["padding"]):
        for y, x in np.argwhere(inside):
            out[:, place[0, y, x, 0]] += each[:, y, x, r, c]
    return out.reshape(sizes).astype(inputs[0].dtype)


def fold():
    r = Recorder("FoldImagePatches", reference=fold_reference)
    for dtype in (F32, F64) + HALVES:
        for image, window, step, padding in PLACES[:8] + LONG_PLACES if dtype == F32 else PLACES[1:3]:
            (oh, _), (ow, _) = (geometry(s, k, t, 1, padding, (0, 0)) for s, k, t in zip(image[1:3], window, step))
            shape = (image[0], oh, ow, window[0] * window[1] * image[3])
            r.add(f"{dtype.name}_" + text(image, window, step, padding),
                  [values(dtype, shape), np.array(image, I64)],
                  {"ksizes": four(window), "strides": four(step), "padding": padding},
                  tolerance=bound(dtype, window[0] * window[1]), numpy_only=True)
    x, good = values(F32, (1, 3, 3, 8)), {"ksizes": four((2, 2)), "strides": four((1, 1)), "padding": "VALID"}
    sizes = np.array((1, 4, 4, 2), I64)
    r.our_error("sizes_do_not_fit", [x, np.array((1, 5, 4, 2), I64)], good, "patches have the shape [1,3,3,8]; of these images they have [1,4,3,8]")
    r.our_error("three_sizes", [x, sizes[:3]], good, "4-dimensional")
    r.our_error("patches_of_rank_3", [x[0], sizes], good, "4-dimensional")
    r.our_error("size_negative", [x, np.array((1, -4, 4, 2), I64)], good)
    r.our_error("zero_window", [x, sizes], {**good, "ksizes": four((0, 2))}, "positive")
    r.our_error("zero_stride", [x, sizes], {**good, "strides": four((0, 1))}, "positive")
    r.our_error("padding_unknown", [x, sizes], {**good, "padding": "FOO"}, "is not in the list of allowed values")
    return r


def build():
    return {"MaxPool": max_pool, "AvgPool": avg_pool, "DepthwiseConv2dNative": depthwise, "ExtractImagePatches": patches,
            "FoldImagePatches": fold}
