# SPDX-License-Identifier: Apache-2.0
"""Ops that resize: TensorFlow's, by TensorFlow, and Resize, by the reference of ONNX (onnx.reference)."""
import itertools

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from golden_case import (BF16, EXACT, F16, F32, F64, FLOATING, FLOATS, HALVES, I32, I64, I8, I16, INTEGERS, MOVED_TYPES,
                         NUMERIC, U8, U16, U32, U64, Recorder, random_values, run_tensorflow)

# TensorFlow's kernels for images
TF_TYPES = (F32, F64, F16, BF16, I8, I16, I32, I64, U8, U16)


def values(dtype, shape, *name):
    return random_values(dtype, shape, "resize", *name)


def ints(*numbers, dtype=I32):
    return np.array(numbers, dtype)


# Larger and smaller, by whole factors and by others, one pixel and to one pixel.
SIZES = [((3, 4), (6, 8)), ((3, 4), (5, 3)), ((7, 5), (2, 9)), ((1, 1), (3, 2)), ((4, 4), (4, 4)), ((5, 6), (1, 1)), ((4, 3), (4, 7)), ((2, 3), (6, 3))]
PIXELS = [{}, {"half_pixel_centers": True}, {"align_corners": True}]


def words(attrs):
    return "".join("_" + k for k in attrs)


def images(r, op_pixels=PIXELS, types=TF_TYPES, tolerance=EXACT, numpy_types=()):
    for ((source, size), attrs) in itertools.product(SIZES, op_pixels):
        r.add(f"float32_{source[0]}x{source[1]}_to_{size[0]}x{size[1]}{words(attrs)}", [values(F32, (2, *source, 3)), ints(*size)], attrs, tolerance)
    for dtype in types:
        r.add(f"{dtype.name}_types", [values(dtype, (1, 3, 5, 2), dtype.name), ints(5, 4)], op_pixels[1] if len(op_pixels) > 1 else {}, tolerance)
    for dtype in (U32, U64):
        r.reference = lambda inputs, attrs: run_tensorflow(r.op, [inputs[0].astype(F32), *inputs[1:]], attrs)
        if r.op != "ResizeNearestNeighbor":   # see there
            r.add(f"{dtype.name}_types", [np.abs(values(I32, (1, 3, 5, 2))).astype(dtype), ints(5, 4)], {}, tolerance, numpy_only=True)
        r.reference = None
    r.add("float32_70_channels", [values(F32, (1, 3, 4, 70)), ints(4, 9)], {}, tolerance)
    r.add("float32_of_few", [values(F32, (1, 33, 35, 1)), ints(7, 80)], {}, tolerance)
    r.add("float32_no_images", [values(F32, (0, 3, 4, 2)), ints(6, 8)])
    x = values(F32, (1, 2, 3, 2))
    r.error("float32_rank_3", [x[0], ints(4, 6)])
    r.error("float32_three_sizes", [x, ints(4, 6, 2)])
    r.error("float32_scalar_size", [x, np.array(4, I32)])
    r.error("float32_size_0", [x, ints(4, 0)])
    r.error("float32_size_below_0", [x, ints(-1, 4)])
    r.error("float32_no_rows", [np.zeros((1, 0, 3, 2), F32), ints(4, 4)])
    if len(op_pixels) > 1:
        r.error("float32_corners_and_centers", [x, ints(4, 4)], {"align_corners": True, "half_pixel_centers": True})


def nearest():
    r = Recorder("ResizeNearestNeighbor")
    images(r)
    r.add("float32_special", [np.array([np.nan, np.inf, -np.inf, -0.0, 1e-42, 1], F32).reshape(1, 2, 3, 1), ints(3, 4)])
    for dtype in (*MOVED_TYPES, U32, U64):
        if dtype not in TF_TYPES:
            x, size = values(dtype, (1, 3, 5, 2), dtype.name) if dtype.kind != "c" else values(F32, (1, 3, 5, 4)).view(dtype), (5, 4)
            rows, columns = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 2, 3])
            r.reference = lambda inputs, attrs: inputs[0][:, rows][:, :, columns]
            r.add(f"{dtype.name}_taken", [x, ints(*size)], numpy_only=True)
            r.reference = None
    return r


def close(count):
    """Sums of some products of values below 4 and weights."""
    return {"abs": 4e-7 * 4 * count, "rel": 4e-7}


def nearest_grad():
    r = Recorder("ResizeNearestNeighborGrad")
    for ((source, size), attrs) in itertools.product(SIZES, PIXELS):
        r.add(f"float32_{source[0]}x{source[1]}_to_{size[0]}x{size[1]}{words(attrs)}", [values(F32, (2, *size, 3)), ints(*source)], attrs,
              close(max(1, size[0] * size[1] // source[0])))
    for dtype in (F64, I8, I32, U8):
        r.add(f"{dtype.name}_types", [values(dtype, (1, 5, 4, 2), dtype.name), ints(3, 5)])
        r.add(f"{dtype.name}_repeated", [values(dtype, (1, 6, 4, 2), dtype.name) // 8, ints(3, 2)], {}, close(4))
    for dtype in HALVES:
        r.add(f"{dtype.name}_types", [values(dtype, (1, 5, 4, 2), dtype.name), ints(3, 5)], {}, {"abs": 0.1})
    for dtype in (I16, I64, U16, U32, U64):
        r.reference = lambda inputs, attrs: inputs[0].reshape(1, 3, 2, 2, 2, 2).sum((2, 4)).astype(inputs[0].dtype)
        r.add(f"{dtype.name}_repeated", [values(dtype, (1, 6, 4, 2), dtype.name) // 8, ints(3, 2)], numpy_only=True)
        r.reference = None
    r.add("float32_no_images", [values(F32, (0, 6, 8, 2)), ints(3, 4)])
    x = values(F32, (1, 2, 3, 2))
    r.error("float32_rank_3", [x[0], ints(4, 6)])
    r.error("float32_three_sizes", [x, ints(4, 6, 2)])
    r.error("float32_size_0", [x, ints(4, 0)])
    return r


def bilinear():
    r = Recorder("ResizeBilinear")
    images(r)
    r.add("float32_special", [np.array([np.nan, np.inf, -np.inf, -0.0, 3e38, 1, -3e38, 0], F32).reshape(1, 2, 4, 1), ints(3, 7)])
    return r


def bicubic():
    r = Recorder("ResizeBicubic")
    images(r)
    return r


def area():
    r = Recorder("ResizeArea")
    images(r, [{}, {"align_corners": True}])
    return r


def images_grad(op, types, tolerance):
    r = Recorder(op)
    for ((source, size), attrs) in itertools.product(SIZES, PIXELS):
        r.add(f"float32_{source[0]}x{source[1]}_to_{size[0]}x{size[1]}{words(attrs)}",
              [values(F32, (2, *size, 3)), values(F32, (2, *source, 3))], attrs, close(4 * max(1, size[0] * size[1] // source[0])))
    for dtype in types:
        r.add(f"{dtype.name}_types", [values(F32, (1, 5, 4, 2)), values(dtype, (1, 3, 5, 2))], {"half_pixel_centers": True}, tolerance[dtype])
    r.add("float32_no_images", [values(F32, (0, 6, 8, 2)), values(F32, (0, 3, 4, 2))])
    x = values(F32, (1, 2, 3, 2))
    r.error("float32_rank_3", [x[0], x])
    r.error("float32_images_of_rank_3", [x, x[0]])
    r.error("float32_no_rows", [x, np.zeros((1, 0, 3, 2), F32)])
    return r


def bilinear_grad():
    return images_grad("ResizeBilinearGrad", FLOATING, {F32: close(9), F64: close(9), F16: {"abs": 0.1}, BF16: {"abs": 0.1}})


def bicubic_grad():
    return images_grad("ResizeBicubicGrad", FLOATS, {F32: close(16), F64: close(16)})


# ---- ScaleAndTranslate ----

KERNELS = ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic")
MOVES = [((6, 5), (2.0, 1.25), (0.0, 0.0)), ((3, 4), (0.6, 0.5), (0.5, -1.0)), ((5, 7), (1.0, 1.0), (3.25, 0.0))]


def scale_and_translate():
    r = Recorder("ScaleAndTranslate")
    for kernel, antialias in itertools.product(KERNELS, (True, False)):
        for size, scale, move in MOVES:
            inputs = [values(F32, (1, 4, 6, 2)), ints(*size), np.array(scale, F32), np.array(move, F32)]
            # sinf and exp are the C library's
            r.add(f"float32_{kernel}_{antialias}_{size[0]}x{size[1]}", inputs, {"kernel_type": kernel, "antialias": antialias},
                  {"abs": 4e-6} if kernel[:3] in ("lan", "gau") else EXACT)
    for dtype in TF_TYPES:
        r.add(f"{dtype.name}_types", [values(dtype, (1, 4, 6, 2), dtype.name), ints(3, 8), ints(1, 1, dtype=F32), ints(0, 1, dtype=F32)],
              {"kernel_type": "triangle"})
    x, size, one, zero = values(F32, (1, 2, 3, 2)), ints(4, 5), np.ones(2, F32), np.zeros(2, F32)
    r.reference = lambda inputs, attrs: run_tensorflow(r.op, [inputs[0].astype(F32), *inputs[1:]], attrs)
    for dtype in (U32, U64):
        r.add(f"{dtype.name}_types", [np.abs(values(I32, (1, 2, 3, 2))).astype(dtype), size, one, zero], {"kernel_type": "triangle"}, numpy_only=True)
    r.reference = None
    r.add("float32_no_images", [np.zeros((0, 2, 3, 2), F32), size, one, zero])
    r.error("float32_rank_3", [x[0], size, one, zero])
    r.error("float32_kernel", [x, size, one, zero], {"kernel_type": "cubic"})
    r.error("float32_scale_0", [x, size, ints(1, 0, dtype=F32), zero])
    r.error("float32_three_scales", [x, size, np.ones(3, F32), zero])
    r.error("float32_size_0", [x, ints(0, 3), one, zero])
    r.our_error("float32_moved_to_infinity", [x, size, one, np.array([0, np.inf], F32)], contains="translation is [0, inf]")
    return r


def scale_and_translate_grad():
    r = Recorder("ScaleAndTranslateGrad")
    for kernel, antialias in itertools.product(KERNELS, (True, False)):
        for size, scale, move in MOVES:
            inputs = [values(F32, (1, *size, 2)), values(F32, (1, 4, 6, 2)), np.array(scale, F32), np.array(move, F32)]
            r.add(f"float32_{kernel}_{antialias}_{size[0]}x{size[1]}", inputs, {"kernel_type": kernel, "antialias": antialias}, {"abs": 1e-5})
    x, one, zero = values(F32, (1, 2, 3, 2)), np.ones(2, F32), np.zeros(2, F32)
    r.reference = lambda inputs, attrs: inputs[0]
    r.add("float64_as_it_is", [values(F64, (1, 2, 3, 2)), values(F64, (1, 2, 3, 2)), one, zero], {"kernel_type": "triangle"}, numpy_only=True)
    r.reference = None
    r.error("float32_rank_3", [x[0], x, one, zero])
    r.error("float32_kernel", [x, x, one, zero], {"kernel_type": "cubic"})
    r.error("float32_scale_0", [x, x, ints(1, 0, dtype=F32), zero])
    return r


# ---- CropAndResize ----

BOXES = np.array([[0, 0, 1, 1], [0.1, 0.25, 0.8, 0.6], [1, 1, 0, 0], [-0.5, 0.2, 0.7, 1.4], [0.3, 0.3, 0.3, 0.3], [0.5, -2, 0.5, -1]], F32)


def crop_and_resize():
    r = Recorder("CropAndResize")
    which = ints(0, 1, 1, 0, 1, 0)
    for method, size in itertools.product(("bilinear", "nearest"), ((3, 4), (1, 1), (1, 5), (7, 2))):
        inputs = [values(F32, (2, 5, 6, 3)), BOXES, which, ints(*size)]
        r.add(f"float32_{method}_{size[0]}x{size[1]}", inputs, {"method": method, "extrapolation_value": -2.5})
    for dtype in (F64, F16, I8, I16, I32, I64, U8, U16):
        r.add(f"{dtype.name}_types", [values(dtype, (2, 5, 6, 3), dtype.name), BOXES, which, ints(3, 4)])
    r.reference = lambda inputs, attrs: run_tensorflow(r.op, [inputs[0].astype(F32), *inputs[1:]], attrs)
    for dtype in (*HALVES, U32, U64):
        x = values(dtype, (2, 5, 6, 3)) if dtype in HALVES else np.abs(values(I32, (2, 5, 6, 3))).astype(dtype)
        r.add(f"{dtype.name}_as_float32", [x, BOXES, which, ints(3, 4)], numpy_only=True)
    r.reference = None
    r.add("float32_no_boxes", [values(F32, (2, 5, 6, 3)), BOXES[:0], which[:0], ints(3, 4)])
    x, one = values(F32, (1, 2, 3, 2)), ints(0)
    r.error("float32_rank_3", [x[0], BOXES[:1], one, ints(3, 4)])
    r.error("float32_boxes_of_3", [x, BOXES[:1, :3], one, ints(3, 4)])
    r.error("float32_two_numbers", [x, BOXES[:1], ints(0, 0), ints(3, 4)])
    r.error("float32_size_0", [x, BOXES[:1], one, ints(3, 0)])
    r.error("float32_method", [x, BOXES[:1], one, ints(3, 4)], {"method": "cubic"})
    r.our_error("float32_image_2", [x, BOXES[:1], ints(2), ints(3, 4)], contains="indices[0] = 2 is not in [0, 1)")
    r.our_error("float32_image_below_0", [x, BOXES[:1], ints(-1), ints(3, 4)], contains="indices[0] = -1 is not in [0, 1)")
    return r


def crop_grad_image():
    r = Recorder("CropAndResizeGradImage")
    which, size = ints(0, 1, 1, 0, 1, 0), ints(2, 5, 6, 3)
    for method, (height, width) in itertools.product(("bilinear", "nearest"), ((3, 4), (1, 1), (7, 2))):
        r.add(f"float32_{method}_{height}x{width}", [values(F32, (6, height, width, 3)), BOXES, which, size], {"method": method, "T": F32}, {"abs": 2e-5})
    for dtype in (F64, F16):
        r.add(f"{dtype.name}_types", [values(F32, (6, 3, 4, 3)), BOXES, which, size], {"T": dtype}, {"abs": 2e-5 if dtype == F64 else 0.05})
    r.reference = lambda inputs, attrs: run_tensorflow(r.op, inputs, {**attrs, "T": F32})[0].astype(attrs["T"])
    r.add("bfloat16_types", [values(F32, (6, 3, 4, 3)), BOXES, which, size], {"T": BF16}, {"abs": 0.2}, numpy_only=True)
    r.reference = None
    r.add("float32_no_boxes", [values(F32, (0, 3, 4, 3)), BOXES[:0], which[:0], size], {"T": F32})
    dy, one = values(F32, (1, 3, 4, 3)), ints(0)
    r.error("float32_rank_3", [dy[0], BOXES[:1], one, size], {"T": F32})
    r.error("float32_boxes_of_3", [dy, BOXES[:1, :3], one, size], {"T": F32})
    r.error("float32_two_boxes", [dy, BOXES[:2], ints(0, 0), size], {"T": F32})
    r.error("float32_three_sizes", [dy, BOXES[:1], one, size[:3]], {"T": F32})
    r.error("float32_depth", [dy, BOXES[:1], one, ints(2, 5, 6, 4)], {"T": F32})
    for image in (2, -1):
        r.our_error(f"float32_image_{image}", [dy, BOXES[:1], ints(image), size], {"T": F32}, f"indices[0] = {image} is not in [0, 2)")
    return r


def crop_grad_boxes():
    r = Recorder("CropAndResizeGradBoxes")
    which = ints(0, 1, 1, 0, 1, 0)
    for height, width in ((3, 4), (1, 1), (7, 2)):
        r.add(f"float32_{height}x{width}", [values(F32, (6, height, width, 3)), values(F32, (2, 5, 6, 3)), BOXES, which], {}, {"abs": 1e-3})
    for dtype in (F64, F16, I8, I16, I32, I64, U8, U16):
        r.add(f"{dtype.name}_types", [values(F32, (6, 3, 4, 3)), values(dtype, (2, 5, 6, 3), dtype.name), BOXES, which], {}, {"abs": 1e-3, "rel": 2e-5})
    r.reference = lambda inputs, attrs: run_tensorflow(r.op, [inputs[0], inputs[1].astype(F32), *inputs[2:]], attrs)
    for dtype in (*HALVES, U32, U64):
        x = values(dtype, (2, 5, 6, 3)) if dtype in HALVES else np.abs(values(I32, (2, 5, 6, 3))).astype(dtype)
        r.add(f"{dtype.name}_as_float32", [values(F32, (6, 3, 4, 3)), x, BOXES, which], {}, {"abs": 0.02, "rel": 2e-5}, numpy_only=True)
    r.reference = None
    r.add("float32_no_boxes", [values(F32, (0, 3, 4, 3)), values(F32, (2, 5, 6, 3)), BOXES[:0], which[:0]])
    dy, x, one = values(F32, (1, 3, 4, 3)), values(F32, (2, 5, 6, 3)), ints(0)
    r.error("float32_rank_3", [dy[0], x, BOXES[:1], one])
    r.error("float32_boxes_of_3", [dy, x, BOXES[:1, :3], one])
    r.error("float32_depth", [dy, x[..., :2], BOXES[:1], one])
    r.error("float32_nearest", [dy, x, BOXES[:1], one], {"method": "nearest"})
    for image in (2, -1):
        r.our_error(f"float32_image_{image}", [dy, x, BOXES[:1], ints(image)], {}, f"indices[0] = {image} is not in [0, 2)")
    return r


# ---- Resize ----

COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")
NAMES = {"coordinate_transformation": "coordinate_transformation_mode", "cubic_coeff_a": "cubic_coeff_a", "nearest_mode": "nearest_mode",
         "mode": "mode", "keep_aspect_ratio_policy": "keep_aspect_ratio_policy", "exclude_outside": "exclude_outside", "antialias": "antialias",
         "extrapolation_value": "extrapolation_value", "axes": "axes"}


def onnx_resize(inputs, attrs):
    """Resize of opset 19 by ONNX's reference. Inputs: x, sizes, scales, roi."""
    x, sizes, scales, roi = [*inputs, *([np.zeros(0, F32)] * 2)][:4]
    attrs = {k: [n % x.ndim for n in v] if k == "axes" else v for k, v in attrs.items()}
    given = [n if a.size else "" for n, a in (("roi", roi), ("scales", scales), ("sizes", sizes))]
    node = onnx.helper.make_node("Resize", ["x", *given], ["y"],
                                 **{NAMES[k]: v.lower() if isinstance(v, str) else int(v) if isinstance(v, bool) else v for k, v in attrs.items()})
    kind = onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
    feeds = {n: a for n, a in (("x", x), ("roi", roi), ("scales", scales), ("sizes", sizes)) if n == "x" or a.size}
    graph = onnx.helper.make_graph([node], "g", [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                                                 for n, a in feeds.items()], [onnx.helper.make_tensor_value_info("y", kind, None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)], ir_version=9)
    return np.asarray(ReferenceEvaluator(model).run(None, feeds)[0]).astype(x.dtype)


def cubic_matrix(source, result, half):
    """The weights [result, source] of a = -0.75 in float64. (The reference of ONNX computes them in float32.)"""
    def weight(x):
        return (1.25 * x - 2.25) * x * x + 1 if x < 1 else ((-0.75 * x + 3.75) * x - 6) * x + 3
    m = np.zeros((result, source))
    for i in range(result):
        at = (i + 0.5) * source / result - 0.5 if half else i * source / result
        for place in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3):
            m[i, min(max(place, 0), source - 1)] += weight(abs(place - at))
    return m


def cubic_reference(inputs, attrs):
    x, (rows, columns) = inputs[0], inputs[1]
    half = "coordinate_transformation" not in attrs
    y = cubic_matrix(x.shape[0], rows, half) @ x.astype(F64) @ cubic_matrix(x.shape[1], columns, half).T
    if x.dtype.kind not in "iu":
        return y.astype(x.dtype)
    info = np.iinfo(x.dtype)
    return np.clip(np.rint(y), info.min, info.max).astype(x.dtype)


def by_sizes(x, *sizes):
    return [x, ints(*sizes, dtype=I64)]


def by_scales(x, *scales):
    return [x, ints(dtype=I64), np.array(scales, F32)]


def resize():
    r = Recorder("Resize", tf_op="none", reference=onnx_resize)

    def add(name, inputs, attrs=None, tolerance=None):
        smooth = (attrs or {}).get("mode", "NEAREST") != "NEAREST"
        r.add(name, inputs, attrs, tolerance or ({"abs": 2e-5, "rel": 1e-6} if smooth else EXACT), numpy_only=True)

    # Scales and sizes that float32 has exactly, and no ties between pixels: ONNX Runtime's float32 and the reference's float64 agree.
    x, roi = values(F32, (1, 2, 4, 6)), np.array([0, 0, 0.2, -0.15, 1, 1, 0.75, 1.1], F32)
    modes = [{"mode": "NEAREST", "nearest_mode": n} for n in ("ROUND_PREFER_FLOOR", "ROUND_PREFER_CEIL", "FLOOR", "CEIL")]
    modes += [{"mode": "LINEAR"}, {"mode": "CUBIC"}, {"mode": "CUBIC", "cubic_coeff_a": -0.5, "exclude_outside": True}]
    smooth = [{"mode": m, "antialias": True, "exclude_outside": e} for m in ("LINEAR", "CUBIC") for e in (False, True)]
    for coordinate, mode in itertools.product(COORDINATES, modes + smooth):
        attrs = {**mode, "coordinate_transformation": coordinate.upper()}
        name = "float32_" + "_".join([coordinate, *(str(v).lower() for v in mode.values())])
        more = [ints(dtype=F32), roi] if coordinate == "tf_crop_and_resize" else []
        attrs.update({"extrapolation_value": 10.5} if more else {})
        add(name + "_sizes", [*by_sizes(x, 1, 2, 7, 4), *more], attrs)
        add(name + "_scales", [*by_scales(x, 1, 1, 0.75, 2.5), *more[1:]], attrs)
    for factor in (2, 3):
        floor = {"coordinate_transformation": "ASYMMETRIC", "nearest_mode": "FLOOR"}
        add(f"float32_{factor}_times", by_scales(x, 1, 1, factor, factor), floor)
        add(f"float32_{factor}_times_channels_last", by_scales(values(F32, (2, 3, 4, 3)), 1, factor, factor, 1), floor)
        add(f"float32_{factor}_times_rank_8", by_scales(values(F32, (1, 2, 1, 1, 2, 1, 3, 2)), 1, 1, 1, 1, 1, 1, factor, factor), floor)
    for mode in ("NEAREST", "LINEAR", "CUBIC"):
        add(f"float32_{mode.lower()}_channels_last", by_sizes(values(F32, (2, 4, 5, 3)), 2, 7, 4, 3), {"mode": mode})
        add(f"float32_{mode.lower()}_three", by_sizes(values(F32, (1, 2, 3, 4, 5)), 1, 2, 5, 3, 7), {"mode": mode})
        add(f"float32_{mode.lower()}_axes", by_sizes(values(F32, (4, 3, 5)), 7, 3), {"mode": mode, "axes": [2, 0]})
        for policy in ("NOT_LARGER", "NOT_SMALLER"):
            add(f"float32_{mode.lower()}_{policy.lower()}", by_sizes(x, 8, 7), {"mode": mode, "keep_aspect_ratio_policy": policy, "axes": [-2, -1]})
        r.reference = cubic_reference if mode == "CUBIC" else onnx_resize
        add(f"float64_{mode.lower()}", by_sizes(values(F64, (3, 4)), 7, 3), {"mode": mode}, None if mode == "NEAREST" else {"abs": 1e-14})
        for dtype in HALVES:
            add(f"{dtype.name}_{mode.lower()}", by_sizes(values(dtype, (3, 4)), 7, 3), {"mode": mode}, None if mode == "NEAREST" else {"ulp": 1})
        for dtype in INTEGERS:
            small = np.abs(values(I8, (3, 4), dtype.name)).astype(dtype)
            add(f"{dtype.name}_{mode.lower()}", by_sizes(small, 7, 5), {"mode": mode, "coordinate_transformation": "ASYMMETRIC"}, EXACT)
        r.reference = onnx_resize
        add(f"float32_{mode.lower()}_same", by_sizes(values(F32, (3, 4)), 3, 4), {"mode": mode})
        add(f"float32_{mode.lower()}_vector", by_sizes(values(F32, (33,)), 80), {"mode": mode})
        add(f"float32_{mode.lower()}_long", by_sizes(values(F32, (200,)), 3), {"mode": mode, **({"antialias": True} if mode != "NEAREST" else {})})
    r.reference = lambda inputs, attrs: inputs[0].repeat(2, 0)
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-42, 1], F32)
    add("float32_special", by_sizes(special, 12), {}, EXACT)
    for dtype in MOVED_TYPES:
        moved = values(dtype, (5,), dtype.name) if dtype.kind != "c" else values(F32, (10,)).view(dtype)
        add(f"{dtype.name}_repeated", by_sizes(moved, 10))
    r.reference = lambda inputs, attrs: inputs[0][inputs[0].shape[0]:] if inputs[0].ndim else inputs[0]
    add("float32_empty", by_sizes(values(F32, (4,)), 0))
    add("float32_scalar", [np.array(1.5, F32), ints(dtype=I64)])
    r.reference = lambda inputs, attrs: inputs[0][:, [0, 1, 1, 2]]   # (i + 0.5) / (4 / 3)
    add("float32_tf_half_pixel_for_nn", by_sizes(values(F32, (2, 3)), 2, 4), {"coordinate_transformation": "TF_HALF_PIXEL_FOR_NN", "nearest_mode": "FLOOR"})
    refusals(r, x)
    return r


def refusals(r, x):
    for name, inputs, attrs, text in (
            ("no_sizes", by_sizes(x), {}, "sizes has 0 numbers and scales 0; one of them with 4 is accepted"),
            ("both", [x, ints(1, 2, 5, 6, dtype=I64), np.ones(4, F32)], {}, "sizes has 4 numbers and scales 4"),
            ("three_sizes", by_sizes(x, 1, 2, 3), {}, "sizes has 3 numbers; 0 or 4 are accepted"),
            ("size_below_0", by_sizes(x, 1, 2, 3, -4), {}, "sizes has -4 for dimension 3; a number from 0 on is accepted"),
            ("scale_0", by_scales(x, 1, 1, 0, 1), {}, "scales has 0 for dimension 2; a finite number greater than 0 is accepted"),
            ("scale_infinite", by_scales(x, 1, 1, 1, np.inf), {}, "scales has inf for dimension 3"),
            ("scale_huge", by_scales(x, 1, 1, 1, 1e30), {}, "the result has too many elements"),
            ("of_nothing", by_sizes(np.zeros((0, 3), F32), 2, 3), {}, "sizes has 2 for dimension 0, whose size is 0; 0 is accepted"),
            ("matrix_of_sizes", [x, np.ones((2, 2), I64)], {}, "sizes must be a vector"),
            ("mode", by_sizes(x, 1, 2, 3, 4), {"mode": "linear"}, "\"NEAREST\", \"LINEAR\", \"CUBIC\""),
            ("axis_4", by_sizes(x, 3), {"axes": [4]}, "attribute 'axes' has 4 at place 0; a number in [-4, 4) is accepted"),
            ("axis_twice", by_sizes(x, 3, 4), {"axes": [1, -3]}, "attribute 'axes' has dimension 1 twice; each once is accepted"),
            ("antialias_nearest", by_sizes(x, 1, 2, 3, 4), {"antialias": True}, "LINEAR or CUBIC is accepted"),
            ("no_roi", by_sizes(x, 1, 2, 3, 4), {"coordinate_transformation": "TF_CROP_AND_RESIZE"}, "roi is empty"),
            ("roi_infinite", [*by_sizes(x, 1, 2, 3, 4), ints(dtype=F32), np.array([0, 0, 0, 0, 1, 1, 1, np.inf], F32)],
             {"coordinate_transformation": "TF_CROP_AND_RESIZE"}, "roi is [0, inf] for dimension 3; finite numbers are accepted"),
            ("bool_linear", by_sizes(x > 0, 1, 2, 3, 4), {"mode": "LINEAR"}, "attribute 'mode' is LINEAR, which has no values of bool")):
        r.our_error("refused_" + name, inputs, attrs, text)


def grad_reference(inputs, attrs):
    """The transposed resize: its matrix, column by column."""
    dy, shape, *rest = inputs
    shape, dtype = tuple(int(n) for n in shape), dy.dtype
    out = np.zeros(shape, F64)
    for place in np.ndindex(*shape):
        unit = np.zeros(shape, F64)
        unit[place] = 1
        out[place] = (onnx_resize([unit, *rest], attrs) * dy.astype(F64)).sum()
    return out.astype(dtype)


def resize_grad():
    r = Recorder("ResizeGrad", tf_op="none", reference=grad_reference)
    shape, roi = ints(1, 3, 4, dtype=I64), np.array([0, 0.2, -0.15, 1, 0.7, 1.1], F32)
    for mode, coordinate in itertools.product(({"mode": "NEAREST"}, {"mode": "LINEAR"}, {"mode": "CUBIC"}, {"mode": "LINEAR", "antialias": True}),
                                              ("HALF_PIXEL", "ALIGN_CORNERS", "TF_CROP_AND_RESIZE")):
        attrs = {**mode, "coordinate_transformation": coordinate}
        more = [ints(dtype=F32), roi] if coordinate == "TF_CROP_AND_RESIZE" else []
        for dtype in FLOATING if coordinate == "HALF_PIXEL" else (F32,):
            name = f"{dtype.name}_" + "_".join([coordinate.lower(), *(str(v).lower() for v in mode.values())])
            r.add(name, [values(dtype, (1, 6, 3)), shape, ints(1, 6, 3, dtype=I64), *more], attrs,
                  {"abs": 0.02 if dtype == F16 else 0.1} if dtype in HALVES else {"abs": 1e-5}, numpy_only=True)
    r.add("float32_scales", [values(F32, (6, 8)), ints(3, 4, dtype=I64), ints(dtype=I64), np.array([2, 2], F32)], {}, close(4), numpy_only=True)
    r.reference = lambda inputs, attrs: np.zeros((0, 4), F32)
    r.add("float32_empty", [np.zeros((0, 8), F32), ints(0, 4, dtype=I64), ints(0, 8, dtype=I64)], {}, numpy_only=True)
    x = values(F32, (6, 8))
    r.our_error("refused_rank", [x, shape, ints(6, 8, dtype=I64)], {}, "original_shape has 3 sizes, and grads has shape [6,8]; 2 are accepted")
    r.our_error("refused_shape", [x, ints(3, 4, dtype=I64), ints(6, 7, dtype=I64)], {}, "grads has shape [6,8]; [6,7] is accepted, which Resize gives for [3,4]")
    return r


def build():
    return {"ResizeNearestNeighbor": nearest, "ResizeNearestNeighborGrad": nearest_grad, "ResizeBilinear": bilinear,
            "ResizeBilinearGrad": bilinear_grad, "ResizeBicubic": bicubic, "ResizeBicubicGrad": bicubic_grad, "ResizeArea": area,
            "ScaleAndTranslate": scale_and_translate, "ScaleAndTranslateGrad": scale_and_translate_grad, "CropAndResize": crop_and_resize,
            "CropAndResizeGradImage": crop_grad_image, "CropAndResizeGradBoxes": crop_grad_boxes,
            "Resize": resize, "ResizeGrad": resize_grad}
