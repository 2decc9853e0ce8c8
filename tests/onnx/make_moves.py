#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases of ops that move, choose, pool and multiply elements, for operator sets 7 to 28: random ones, and traps.

    make_moves.py FOLDER [--seed N] [--count N] [--only OP]     a folder for each case, as scripts/make-onnx-cases
    make_moves.py --pack FILE.tar.gz                            the same in one file: moves.tar.gz

A case is one node with random sizes, attributes and versions. Arguments such as axes are constants of the model or
inputs. The outputs are those of ONNX Runtime; a draw that it refuses is drawn again. Those of Col2Im, which it has wrong
for other than two spatial dimensions, are of onnx.reference. Needs onnx, onnxruntime and numpy.
"""
import argparse
import importlib.util
import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("make_versions", os.path.join(HERE, "make_versions.py"))
versions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(versions)

R = np.random.RandomState(0)
FLOAT, INT64, INT32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32


def pick(*values):
    return values[R.randint(len(values))]


def version(least, *more):
    """A version at which the op changes, or one after it."""
    return min(28, pick(least, *more) + pick(0, 0, 1, 3))


def sizes(rank, low=1, high=5):
    return [int(R.randint(low, high + 1)) for _ in range(rank)]


def numbers(shape, dtype=np.float32):
    if np.dtype(dtype).kind == "b":
        return R.rand(*shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return R.randint(0 if np.dtype(dtype).kind == "u" else -20, 20, shape).astype(dtype)
    return np.round(R.uniform(-4, 4, shape), 2).astype(dtype)


def ints(values, dtype=np.int64):
    return np.asarray(values, dtype=dtype)


def any_axis(rank, opset, negative_from=11):
    axis = R.randint(rank)
    return int(axis - rank if opset >= negative_from and R.rand() < 0.4 else axis)


def some_axes(rank, opset, least=1):
    axes = R.permutation(rank)[: R.randint(least, rank + 1)]
    return [int(a - rank if opset >= 11 and R.rand() < 0.3 else a) for a in axes]


class Draw:
    """One node: constants are the places of inputs that are initializers."""

    def __init__(self, op, opset, inputs, outputs=1, types=(FLOAT,), known=(), **attrs):
        self.op, self.opset, self.inputs, self.outputs, self.types, self.attrs = op, opset, inputs, outputs, types, attrs
        self.constants = tuple(i for i in known if i < len(inputs) and inputs[i] is not None and R.rand() < 0.7)


def kind():
    return pick((np.float32, FLOAT), (np.float32, FLOAT), (np.int64, INT64), (np.int32, INT32), (np.float64, TensorProto.DOUBLE),
                (np.bool_, TensorProto.BOOL))


def draw_reshape():
    shape = sizes(pick(1, 2, 3, 4), 1, 4)
    opset, to, total = version(7, 13, 14, 19), [], int(np.prod(shape))
    for i in range(pick(1, 2, 3)):
        choices = [d for d in range(1, total + 1) if total % d == 0]
        if i < len(shape) and total % shape[i] == 0 and R.rand() < 0.4:
            to.append(0)
            total //= shape[i]
        else:
            to.append(pick(*choices))
            total //= to[-1]
    to.append(pick(-1, total))
    return Draw("Reshape", opset, [numbers(shape), ints(to)], known=(1,))


def draw_axes():
    op, opset = pick("Squeeze", "Unsqueeze"), version(7, 11, 13)
    shape = [pick(1, 1, 3, 2) for _ in range(pick(2, 3, 4))]
    if op == "Squeeze":
        axes = [i for i, d in enumerate(shape) if d == 1 and R.rand() < 0.7]
        axes = [a - len(shape) if opset >= 11 and R.rand() < 0.3 else a for a in axes]
        if not axes:
            return Draw(op, opset, [numbers(shape)])
    else:
        rank = len(shape) + pick(1, 2)
        axes = [int(a) for a in R.permutation(rank)[: rank - len(shape)]]
        axes = [a - rank if opset >= 11 and R.rand() < 0.3 else a for a in axes]
    if opset < 13:
        return Draw(op, opset, [numbers(shape)], axes=axes)
    return Draw(op, opset, [numbers(shape), ints(axes)], known=(1,))


def draw_flatten():
    shape, opset = sizes(pick(1, 2, 3, 4)), version(7, 9, 11, 13)
    axis = R.randint(0, len(shape) + 1)
    return Draw("Flatten", opset, [numbers(shape)], axis=int(axis - len(shape)) if opset >= 11 and R.rand() < 0.4 and axis < len(shape) else int(axis))


def draw_transpose():
    shape = [pick(1, 2, 3, 4) for _ in range(pick(1, 2, 3, 4, 5))]
    dtype, element = kind()
    perm = {} if R.rand() < 0.2 else {"perm": [int(p) for p in R.permutation(len(shape))]}
    return Draw("Transpose", version(7, 13, 21), [numbers(shape, dtype)], types=(element,), **perm)


def draw_concat():
    shape, opset = sizes(pick(1, 2, 3)), version(7, 11, 13)
    axis, inputs = any_axis(len(shape), opset), []
    for _ in range(pick(1, 2, 3, 4)):
        shape[axis] = int(R.randint(0, 4))
        inputs.append(numbers(shape))
    return Draw("Concat", opset, inputs, axis=axis)


def draw_split():
    shape, opset = sizes(pick(1, 2, 3), 1, 4), version(7, 11, 13, 18)
    axis, count = any_axis(len(shape), opset), pick(1, 2, 3, 4)
    parts = [int(R.randint(0, 4)) for _ in range(count)]
    shape[axis] = sum(parts)
    attrs = {"axis": axis}
    if R.rand() < 0.5:
        shape[axis] = count * pick(1, 2, 3) - (pick(0, 1) if opset >= 18 and count > 1 else 0)
        parts = None
    inputs = [numbers(shape)]
    if parts is None:
        if opset >= 18:
            attrs["num_outputs"] = count
    elif opset < 13:
        attrs["split"] = parts
    else:
        inputs.append(ints(parts))
    return Draw("Split", opset, inputs, outputs=count, known=(1,), **attrs)


def draw_slice():
    shape, opset = sizes(pick(1, 2, 3), 0, 6), version(7, 10, 11, 13)
    axes = some_axes(len(shape), opset)
    far = [2**63 - 1, -(2**63), 1000, -1000]
    begins, ends = [], []
    for _ in axes:
        begins.append(pick(*range(-8, 9), *far))
        ends.append(pick(*range(-8, 9), *far))
    if opset < 10:
        return Draw("Slice", opset, [numbers(shape)], starts=begins, ends=ends, axes=axes)
    steps = [pick(1, 1, 2, 3, -1, -2, -3) for _ in axes]
    for i, step in enumerate(steps):
        if step < 0:
            begins[i] = pick(*range(-1, 6), 2**63 - 1, 1000)
            ends[i] = pick(*range(-8, 6), -(2**63), -1000)
    inputs = [numbers(shape), ints(begins), ints(ends), ints(axes)]
    if R.rand() < 0.8:
        inputs.append(ints(steps))
    elif any(step < 0 for step in steps):
        begins[:] = [0] * len(begins)
        inputs[1] = ints(begins)
    return Draw("Slice", opset, inputs, known=(1, 2, 3, 4))


def draw_expand():
    shape = [pick(1, 2, 3) for _ in range(pick(0, 1, 2, 3))]
    to = [d if R.rand() < 0.5 else (pick(1, 4) if d == 1 else pick(1, d)) for d in shape]
    to = to[pick(0, 1):] if to and R.rand() < 0.3 else [2] * pick(0, 1, 2) + to
    return Draw("Expand", version(8, 13), [numbers(shape), ints(to)], known=(1,))


def draw_tile():
    shape = sizes(pick(1, 2, 3))
    return Draw("Tile", version(7, 13), [numbers(shape), ints([pick(0, 1, 1, 2, 3) for _ in shape])], known=(1,))


def draw_pad():
    opset, shape = version(7, 11, 13, 18, 19, 21), sizes(pick(1, 2, 3, 4), 2, 5)
    mode = pick("constant", "constant", "reflect", "edge", *(["wrap"] if opset >= 19 else []))
    axes = some_axes(len(shape), 11) if opset >= 18 and R.rand() < 0.5 else None
    count = len(axes) if axes else len(shape)
    sized = [shape[a] for a in axes] if axes else shape
    low = -1 if mode != "wrap" else 0
    pads = [int(R.randint(low, min(3, d))) for d in sized] + [int(R.randint(low, min(3, d))) for d in sized]
    if opset < 11:
        return Draw("Pad", opset, [numbers(shape)], mode=mode, pads=pads, **({"value": 1.5} if mode == "constant" else {}))
    dtype, element = pick((np.float32, FLOAT), (np.int64, INT64), (np.float64, TensorProto.DOUBLE))
    value = numbers((), dtype) if mode == "constant" and R.rand() < 0.6 else None
    inputs = [numbers(shape, dtype), ints(pads), value]
    if axes:
        inputs.append(ints(axes))
    while inputs[-1] is None:
        inputs.pop()
    return Draw("Pad", opset, inputs, types=(element,), known=(1, 2, 3), mode=mode)


def draw_blocks():
    b, opset = pick(1, 2, 3), version(7, 11, 13)
    if R.rand() < 0.5:
        return Draw("SpaceToDepth", opset, [numbers([pick(1, 2), pick(1, 3), b * pick(1, 2), b * pick(1, 3)])], blocksize=b)
    mode = {"mode": pick("DCR", "CRD")} if opset >= 11 else {}
    return Draw("DepthToSpace", opset, [numbers([pick(1, 2), b * b * pick(1, 2), pick(1, 2), pick(1, 3)])], blocksize=b, **mode)


def draw_trilu():
    dtype, element = pick((np.float32, FLOAT), (np.int64, INT64), (np.bool_, TensorProto.BOOL))
    return Draw("Trilu", version(14), [numbers(sizes(pick(2, 3)), dtype), np.asarray(R.randint(-7, 8), np.int64)], types=(element,), known=(1,), upper=pick(0, 1))


def draw_reverse_sequence():
    shape, time = sizes(pick(2, 3)), pick(0, 1)
    lengths = ints(R.randint(0, shape[time] + 1, shape[1 - time]))
    return Draw("ReverseSequence", version(10), [numbers(shape), lengths], known=(1,), time_axis=time, batch_axis=1 - time)


def draw_gather():
    shape, opset = sizes(pick(1, 2, 3)), version(7, 11, 13)
    axis = any_axis(len(shape), opset)
    low = -shape[axis] if opset >= 11 else 0
    indices = R.randint(low, shape[axis], sizes(pick(0, 1, 2))).astype(pick(np.int64, np.int32))
    dtype, element = kind()
    return Draw("Gather", opset, [numbers(shape, dtype), np.asarray(indices)], types=(element,), known=(1,), axis=axis)


def draw_elements():
    shape, scatters = sizes(pick(1, 2, 3)), R.rand() < 0.5
    axis = int(R.randint(len(shape)))
    opset = version(11, 13, 16, 18) if scatters else version(11, 13)
    part = [int(R.randint(1, d + 1)) for d in shape]
    if scatters:
        part[axis] = min(part[axis], shape[axis])
        rows = np.stack([R.permutation(shape[axis])[: part[axis]] for _ in range(int(np.prod(part)) // part[axis])])
        indices = np.moveaxis(rows.reshape([d for i, d in enumerate(part) if i != axis] + [part[axis]]), -1, axis)
        indices = np.where(R.rand(*indices.shape) < 0.3, indices - shape[axis], indices)
        reduction = pick("none", *(["add", "mul"] if opset >= 16 else []), *(["max", "min"] if opset >= 18 else []))
        attrs = {"reduction": reduction} if opset >= 16 else {}
        return Draw("ScatterElements", opset, [numbers(shape), ints(indices), numbers(part)], known=(1,), axis=axis, **attrs)
    part[axis] = pick(1, 2, 6)
    indices = R.randint(-shape[axis], shape[axis], part)
    return Draw("GatherElements", opset, [numbers(shape), ints(indices)], known=(1,), axis=axis - (len(shape) if R.rand() < 0.3 else 0))


def draw_nd():
    shape = sizes(pick(2, 3, 4), 1, 4)
    if R.rand() < 0.5:
        opset = version(11, 12, 13)
        batch = pick(0, 0, 1, 2) if opset >= 12 and len(shape) > 2 else 0
        columns = int(R.randint(1, len(shape) - batch + 1))
        lead = shape[:batch] + sizes(pick(1, 2) if batch == 0 else pick(0, 1), 1, 3)
        indices = np.stack([R.randint(-d, d, lead) for d in shape[batch : batch + columns]], -1)
        return Draw("GatherND", opset, [numbers(shape), ints(indices)], known=(1,), **({"batch_dims": batch} if opset >= 12 else {}))
    opset = version(11, 13, 16, 18)
    columns = int(R.randint(1, len(shape) + 1))
    count = int(min(np.prod(shape[:columns]), 3))
    flat = R.permutation(int(np.prod(shape[:columns])))[:count]
    indices = np.stack(np.unravel_index(flat, shape[:columns]), -1)
    indices = np.where(R.rand(*indices.shape) < 0.3, indices - np.asarray(shape[:columns]), indices)
    reduction = pick("none", *(["add", "mul"] if opset >= 16 else []), *(["max", "min"] if opset >= 18 else []))
    return Draw("ScatterND", opset, [numbers(shape), ints(indices), numbers([count] + shape[columns:])], known=(1,),
                **({"reduction": reduction} if opset >= 16 else {}))


def draw_one_hot():
    shape, depth = sizes(pick(0, 1, 2)), int(R.randint(1, 6))
    indices = np.asarray(R.randint(-depth - 1, depth + 2, shape)).astype(pick(np.int64, np.float32, np.int32))
    return Draw("OneHot", version(9, 11), [indices, np.asarray(pick(depth, [depth]), np.int64), np.asarray([2, 5], np.float32)], known=(1, 2),
                axis=pick(-1, 0, len(shape)))


def draw_choice():
    shape = sizes(pick(1, 2, 3), 1, 4)
    if R.rand() < 0.4:
        return Draw("NonZero", version(9, 13), [np.round(numbers(shape) / 4)], types=(INT64,))
    axis = pick(None, *range(len(shape)))
    size = int(np.prod(shape)) if axis is None else shape[axis]
    condition = R.rand(int(R.randint(1, size + 1))) < 0.6
    return Draw("Compress", version(9, 11), [numbers(shape), condition], known=(1,), **({} if axis is None else {"axis": axis}))


def draw_unique():
    shape = sizes(pick(1, 2, 3), 1, 4)
    x = R.randint(0, 3, shape).astype(pick(np.float32, np.int64))
    axis = pick(None, None, *range(len(shape)))
    element = FLOAT if x.dtype == np.float32 else INT64
    attrs = {"sorted": pick(0, 1)} | ({} if axis is None else {"axis": axis})
    return Draw("Unique", version(11), [x], outputs=pick(1, 4, ["y", "", "inverse", "counts"]), types=(element, INT64), **attrs)


def draw_top_k():
    shape, opset = sizes(pick(1, 2, 3), 1, 6), version(7, 10, 11, 24)
    axis = any_axis(len(shape), opset)
    k = int(R.randint(0 if opset >= 10 else 1, shape[axis] + 1))
    x = np.round(numbers(shape))
    if opset < 10:
        return Draw("TopK", opset, [x], outputs=2, types=(FLOAT, INT64), k=k, axis=axis)
    attrs = {"largest": pick(0, 1)} if opset >= 11 else {}
    return Draw("TopK", opset, [x, ints([k])], outputs=2, types=(FLOAT, INT64), known=(1,), axis=axis, **attrs)


def window(rank, opset, dilates=True):
    """Attributes of a window, and the sizes of images that it fits in."""
    kernel, strides = sizes(rank, 1, 3), sizes(rank, 1, 3)
    dilations = sizes(rank, 1, 2) if dilates and R.rand() < 0.4 else [1] * rank
    attrs = {"kernel_shape": kernel, "strides": strides}
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    auto = pick("NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    if any(d != 1 for d in dilations):
        attrs["dilations"] = dilations
        auto = pick("NOTSET", "VALID")  # ONNX Runtime leaves the dilations out of the padding
    if auto != "NOTSET":
        attrs["auto_pad"] = auto
    elif R.rand() < 0.7:
        attrs["pads"] = [int(R.randint(0, k)) for k in kernel] + [int(R.randint(0, k)) for k in kernel]
    return attrs, [r + int(R.randint(0, 5)) for r in reach]


def draw_conv():
    rank, opset = pick(1, 2, 2, 2, 3), version(7, 11, 22)
    attrs, image = window(rank, opset)
    group, inputs, outputs = pick(1, 1, 2, 3, 4), pick(1, 2), pick(1, 2)
    x = numbers([pick(1, 2), group * inputs] + image)
    w = numbers([group * outputs, inputs] + attrs["kernel_shape"])
    if R.rand() < 0.3:
        del attrs["kernel_shape"]
    return Draw("Conv", opset, [x, w] + ([numbers([group * outputs])] if R.rand() < 0.5 else []), known=(1, 2), group=group, **attrs)


def draw_conv_transpose():
    rank, opset = pick(1, 2, 2, 3), version(7, 11, 22)
    attrs, image = window(rank, opset)
    image = [min(i, 4) for i in image]
    group, inputs, outputs = pick(1, 1, 2), pick(1, 2), pick(1, 2)
    if R.rand() < 0.3:
        group, inputs, outputs = 3, 1, 1
    if R.rand() < 0.4:
        attrs["output_padding"] = [int(R.randint(0, s)) for s in attrs["strides"]]
    elif R.rand() < 0.4 and attrs.get("auto_pad", "NOTSET") != "VALID":
        attrs["output_shape"] = [i * s + pick(0, 1) for i, s in zip(image, attrs["strides"])]
        attrs.pop("pads", None)
    x = numbers([pick(1, 2), group * inputs] + image)
    w = numbers([group * inputs, outputs] + attrs["kernel_shape"])
    return Draw("ConvTranspose", opset, [x, w] + ([numbers([group * outputs])] if R.rand() < 0.5 else []), known=(1, 2), group=group, **attrs)


def draw_pool():
    op = pick("MaxPool", "AveragePool", "LpPool")
    rank = pick(1, 2, 2, 2, 3)
    opset = {"MaxPool": version(7, 8, 10, 11, 12, 22), "AveragePool": version(7, 10, 11, 19, 22), "LpPool": version(7, 11, 18, 22)}[op]
    attrs, image = window(rank, opset, opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op])
    if opset >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op]:
        attrs["ceil_mode"] = pick(0, 1)
    if op == "AveragePool":
        attrs["count_include_pad"] = pick(0, 1)
    if op == "LpPool":
        attrs["p"] = pick(1, 2, 3)
    x = numbers([pick(1, 2), pick(1, 2)] + image)
    if op == "MaxPool" and opset >= 8 and R.rand() < 0.5 and rank < 3:
        attrs["storage_order"] = pick(0, 1)
        return Draw(op, opset, [x], outputs=2, types=(FLOAT, INT64), **attrs)
    return Draw(op, opset, [x], **attrs)


def draw_global_pool():
    op = pick("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
    return Draw(op, version(7, 22), [numbers(sizes(pick(3, 4, 5)))], **({"p": pick(1, 2, 3)} if op == "GlobalLpPool" else {}))


def draw_resize():
    opset = pick(10, 11, 13, 15, 18, 19)
    shape, mode = [1, pick(1, 2)] + sizes(2, 1, 5), pick("nearest", "linear", "cubic" if opset >= 11 else "linear")
    if opset == 10:
        return Draw("Resize", opset, [numbers(shape), np.asarray([1, 1, pick(1, 2, 3), pick(1, 2, 0.5)], np.float32)], known=(1,), mode=mode)
    place = pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel" if opset < 19 else "half_pixel_symmetric")
    attrs = {"mode": mode, "coordinate_transformation_mode": place}
    if mode == "nearest":
        attrs["nearest_mode"] = pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attrs["exclude_outside"] = pick(0, 1)
        attrs["cubic_coeff_a"] = pick(-0.75, -0.5)
    if opset >= 18 and mode != "nearest":
        attrs["antialias"] = pick(0, 0, 1)
    roi = np.zeros(0, np.float32) if opset < 13 or R.rand() < 0.5 else None
    if R.rand() < 0.5:
        scales = [1, 1] + [pick(1, 2, 3, 0.5) for _ in range(2)]
        if place == "align_corners":
            scales = [1, 1] + [pick(1, 2, 3) for _ in range(2)]
        if min(int(s * d) for s, d in zip(scales, shape)) < 1:
            scales = [1, 1, 2, 2]
        return Draw("Resize", opset, [numbers(shape), roi, np.asarray(scales, np.float32)], known=(1, 2), **attrs)
    to = shape[:2] + sizes(2, 1, 7)
    empty = np.zeros(0, np.float32) if opset < 13 else pick(None, np.zeros(0, np.float32))
    return Draw("Resize", opset, [numbers(shape), roi, empty, ints(to)], known=(1, 2, 3), **attrs)


def draw_upsample():
    opset, shape = version(7, 9), [1, pick(1, 2)] + sizes(2, 1, 4)
    opset = min(opset, 9)
    scales, mode = [1.0, 1.0, float(pick(1, 2, 3)), float(pick(1, 2))], pick("nearest", "linear")
    if opset < 9:
        return Draw("Upsample", opset, [numbers(shape)], scales=scales, mode=mode)
    return Draw("Upsample", opset, [numbers(shape), np.asarray(scales, np.float32)], known=(1,), mode=mode)


def draw_mat_mul():
    a, b, k = sizes(pick(0, 1, 2), 1, 3), sizes(pick(0, 1, 2), 1, 3), int(R.randint(1, 5))
    lead = [pick(1, 2, 3) for _ in range(pick(0, 0, 1, 2))]
    left = lead + [int(R.randint(1, 4)), k] if R.rand() < 0.7 else [k]
    right = ([d if R.rand() < 0.6 else 1 for d in lead] if R.rand() < 0.5 else []) + [k, int(R.randint(1, 4))] if R.rand() < 0.8 else [k]
    dtype, element = pick((np.float32, FLOAT), (np.float32, FLOAT), (np.float64, TensorProto.DOUBLE), (np.int32, INT32), (np.uint32, TensorProto.UINT32))
    return Draw("MatMul", version(9, 13), [numbers(left, dtype), numbers(right, dtype)], types=(element,), known=(1,))


def draw_gemm():
    n, m, k, opset = *sizes(3, 1, 5), version(7, 9, 11, 13)
    a, b = pick(0, 1), pick(0, 1)
    c = pick((n, m), (m,), (1, m), (n, 1), (1,), (1, 1), ())
    inputs = [numbers((k, n) if a else (n, k)), numbers((m, k) if b else (k, m))]
    if opset < 11 or R.rand() < 0.8:
        inputs.append(numbers(c))
    return Draw("Gemm", opset, inputs, known=(1, 2), transA=a, transB=b, alpha=pick(1.0, 0.5), beta=pick(1.0, 2.0, 0.0))


def draw_einsum():
    equation, shapes = pick(("ij,jk->ik", 2), ("bij , bjk -> bik", 2), ("i,i", 2), ("ii->i", 1), ("ij->j", 1), ("...ij,...jk->...ik", 2),
                            ("ij,jk,kl->il", 3), ("bi,io,bo->b", 3), ("...a,ab", 2), ("aB,Bc->ca", 2), ("i,j,k->kji", 3), ("ij,ij->", 2)), None
    labels = {c: int(R.randint(1, 4)) for c in "abcdefghijklmnopqrstuvwxyzB"}
    inputs = []
    for term in equation[0].split("->")[0].split(","):
        term = term.strip()
        inputs.append(numbers([2] * ("..." in term) + [labels[c] for c in term.replace("...", "")]))
    return Draw("Einsum", version(12), inputs, equation=equation[0])


def draw_nms():
    boxes, classes, batch = int(R.randint(1, 7)), pick(1, 2), pick(1, 2)
    inputs = [R.uniform(0, 1, (batch, boxes, 4)).astype(np.float32), np.round(R.rand(batch, classes, boxes), 1).astype(np.float32),
              ints(pick([0], [1], [3])), np.asarray([pick(0.0, 0.2, 0.5)], np.float32), np.asarray([pick(0.0, 0.4)], np.float32)]
    return Draw("NonMaxSuppression", version(10, 11), inputs[: pick(3, 4, 5, 5)], types=(INT64,), known=(2, 3, 4), center_point_box=pick(0, 1))


def draw_sample():
    opset = version(16, 20, 22)
    rank = pick(2, 2, 3) if opset >= 20 else 2
    shape = [pick(1, 2), pick(1, 2)] + sizes(rank, 2, 4)
    grid = R.uniform(-1.4, 1.4, [shape[0]] + sizes(rank, 1, 3) + [rank]).astype(np.float32)
    mode = pick("nearest", *(("bilinear", "bicubic") if opset < 20 else ("linear", "cubic")))
    return Draw("GridSample", opset, [numbers(shape), grid], mode=mode, padding_mode=pick("zeros", "border", "reflection"), align_corners=pick(0, 1))


def draw_roi():
    opset, shape, count = version(10, 16, 22), [pick(1, 2), pick(1, 2), 6, 7], pick(1, 2, 3)
    corners = R.uniform(0, 12, (count, 2, 2))
    rois = np.concatenate([corners.min(1), corners.max(1)], 1).astype(np.float32)
    attrs = {"mode": "avg", "output_height": pick(1, 2, 3), "output_width": pick(1, 2), "sampling_ratio": pick(0, 1, 2), "spatial_scale": 0.5}
    if opset >= 16:
        attrs["coordinate_transformation_mode"] = pick("half_pixel", "output_half_pixel")
    return Draw("RoiAlign", opset, [numbers(shape), rois, ints(R.randint(0, shape[0], count))], **attrs)


def draw_rest():
    op = pick("Shape", "Size", "Det", "CenterCropPad")
    shape = sizes(pick(1, 2, 3, 4))
    if op == "Shape":
        opset = version(7, 13, 15, 19)
        return Draw(op, opset, [numbers(shape)], types=(INT64,), **({"start": int(R.randint(-5, 5)), "end": int(R.randint(-5, 6))} if opset >= 15 else {}))
    if op == "Size":
        return Draw(op, version(7, 13), [numbers(shape)], types=(INT64,))
    if op == "Det":
        n = pick(1, 2, 3, 4)
        return Draw(op, version(11, 22), [numbers(sizes(pick(0, 1)) + [n, n])])
    axes = some_axes(len(shape), 18)
    return Draw(op, version(18), [numbers(shape), ints(sizes(len(axes), 1, 7))], known=(1,), axes=axes)


def draw_col2im():
    rank, n, c = pick(1, 2, 3), pick(1, 2), pick(1, 2)
    image, block, strides, dilations = sizes(rank, 3, 6), sizes(rank, 1, 2), sizes(rank, 1, 2), sizes(rank, 1, 2)
    pads = sizes(2 * rank, 0, 1)
    windows = [(image[i] + pads[i] + pads[i + rank] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
    return Draw("Col2Im", version(18), [numbers([n, c * int(np.prod(block)), int(np.prod(windows))]), ints(image), ints(block)], known=(1, 2),
                strides=strides, dilations=dilations, pads=pads)


def draw_deform():
    opset, group, offset_group, n = version(19, 22), pick(1, 2), pick(1, 2), pick(1, 2)
    c, m, image, kernel, strides, dilations, pads = 2 * pick(1, 2), 2 * pick(1, 2), sizes(2, 4, 6), sizes(2, 1, 3), sizes(2, 1, 2), sizes(2, 1, 2), sizes(4, 0, 1)
    out = [(image[i] + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(2)]
    taps = kernel[0] * kernel[1]
    inputs = [numbers([n, c] + image), numbers([m, c // group] + kernel), R.uniform(-2, 2, [n, 2 * taps * offset_group] + out).astype(np.float32)]
    if R.rand() < 0.7:
        inputs.append(numbers([m]) if R.rand() < 0.7 else None)
        if R.rand() < 0.7:
            inputs.append(R.rand(*[n, taps * offset_group] + out).astype(np.float32))
        elif inputs[-1] is None:
            inputs.pop()
    return Draw("DeformConv", opset, inputs, known=(1,), group=group, offset_group=offset_group, strides=strides, dilations=dilations, pads=pads)


def draw_unpool():
    shape, kernel = [pick(1, 2), pick(1, 2)] + sizes(pick(1, 2), 1, 3), None
    rank = len(shape) - 2
    kernel, strides = sizes(rank, 2, 3), sizes(rank, 2, 3)
    whole = shape[:2] + [(shape[2 + i] - 1) * strides[i] + kernel[i] for i in range(rank)]
    places = R.permutation(int(np.prod(whole)))[: int(np.prod(shape))].reshape(shape)
    return Draw("MaxUnpool", version(9, 11, 22), [numbers(shape), ints(places)], kernel_shape=kernel, strides=strides)


def draw_tensor_scatter():
    shape, axis = sizes(pick(3, 4), 2, 5), pick(1, -2)
    part, mode = list(shape), pick("linear", "circular")
    part[axis] = int(R.randint(1, shape[axis] + 1))
    last = shape[axis] - (part[axis] if mode == "linear" else 1)
    inputs = [numbers(shape), numbers(part)] + ([ints(R.randint(0, last + 1, shape[0]))] if R.rand() < 0.8 else [])
    return Draw("TensorScatter", 24, inputs, axis=axis, mode=mode)


DRAWS = {name[5:]: draw for name, draw in list(globals().items()) if name.startswith("draw_")}


def add_cases(count, only):
    refused = {}
    for i in range(count):
        for _ in range(20):
            name = only or pick(*sorted(DRAWS))
            draw = DRAWS[name]()
            try:
                versions.case(f"moves_{i:04d}_{draw.op}_{draw.opset}", draw.op, draw.opset, draw.inputs, draw.outputs, draw.constants,
                              by="reference" if draw.op == "Col2Im" else "ort", types=draw.types, rtol=1e-4, atol=1e-5, **draw.attrs)
                break
            except Exception as error:
                refused.setdefault((draw.op, str(error)[:160]), 0)
                refused[draw.op, str(error)[:160]] += 1
    return refused


def trap_cases():
    """What draws seldom meet."""
    case, refusal, x = versions.case, versions.refusal, numbers([2, 3, 4])
    case("concat_of_70", "Concat", 13, [numbers([1, i % 3]) for i in range(70)], axis=1, constants=range(1, 70))
    case("split_in_70", "Split", 13, [np.arange(140, dtype=np.float32)], outputs=["a", *[""] * 68, "c"], want=[np.float32([0, 1]), np.float32([138, 139])])
    case("split_leaves_out", "Split", 13, [x, ints([1, 1, 2])], outputs=["a", "", "c"], constants=(1,), want=[x[..., :1], x[..., 2:]], axis=2)
    case("slice_flip", "Slice", 13, [x, ints([-1]), ints([-(2**63)]), ints([1]), ints([-1])], constants=(1, 2, 3, 4))
    case("slice_int32", "Slice", 13, [x, ints([1], np.int32), ints([2**31 - 1], np.int32), ints([2], np.int32)], constants=(1, 2))
    case("reshape_empty_rest", "Reshape", 14, [numbers([0, 3]), ints([3, -1])], constants=(1,))
    case("reshape_allowzero", "Reshape", 14, [numbers([2, 0]), ints([0, 7])], constants=(1,), allowzero=1)
    case("top_k_smallest_of_lowest", "TopK", 11, [ints([-(2**63), 2**63 - 1, 0, -1]), ints([2])], outputs=2, types=(INT64,), largest=0)
    case("gather_int8", "Gather", 13, [ints([[1, 2], [3, 4]], np.int8), ints([-1, 0])], types=(TensorProto.INT8,))
    case("trilu_infinite", "Trilu", 14, [np.full((3, 3), np.inf, np.float32), np.asarray(1, np.int64)], upper=1, constants=(1,))
    case("pad_false", "Pad", 13, [np.ones((2, 2), np.bool_), ints([0, 1, 1, 0])], types=(TensorProto.BOOL,), constants=(1,))
    many = np.random.RandomState(1)
    for size, batch in ((5, []), (8, [2, 3]), (33, [1])):
        square = many.uniform(-1, 1, [*batch, size, size]).astype(np.float32)
        case(f"det_{size}", "Det", 11, [square], want=[np.linalg.det(square.astype(np.float64)).astype(np.float32)], rtol=1e-3)
    singular = many.uniform(-1, 1, (2, 5, 5)).astype(np.float32)
    singular[0, 3], singular[1, :, 0] = 0, 0
    case("det_singular", "Det", 11, [singular], want=[np.zeros(2, np.float32)])
    case("det_moved", "Det", 11, [np.roll(np.diag(ints([1, 2, 3, 4, 5, 6], np.float32)), 1, 0)], want=[np.float32(-720)])
    for name, more in (("", {}), ("_pads", {"pads": [1, 0, 1, 1, 1, 0], "strides": [2, 1, 2]}), ("_dilations", {"dilations": [2, 1, 1]})):
        volumes = np.round(many.uniform(-4, 4, (2, 3, 5, 4, 6))).astype(np.float32)
        case(f"max_pool_3d_indices{name}", "MaxPool", 12, [volumes], outputs=2, types=(FLOAT, INT64), kernel_shape=[3, 2, 2], **more)
    case("max_pool_uint8", "MaxPool", 12, [ints([[[[1, 200], [7, 9]]]], np.uint8)], types=(TensorProto.UINT8,), kernel_shape=[2, 1])
    case("mat_mul_uint64", "MatMul", 13, [ints([[2**63, 3]], np.uint64), ints([[2], [5]], np.uint64)], types=(TensorProto.UINT64,))
    case("gemm_without_beta", "Gemm", 13, [numbers([2, 3]), numbers([3, 2]), np.full(2, np.inf, np.float32)], beta=0.0)
    case("conv_same_dilated", "Conv", 11, [numbers([1, 1, 7, 7]), numbers([1, 1, 3, 3])], by="reference", auto_pad="SAME_LOWER", dilations=[2, 2], strides=[2, 1])
    case("resize_same", "Resize", 13, [x, None, np.ones(3, np.float32)], constants=(2,), mode="cubic", want=[x])
    case("scatter_negative", "ScatterElements", 13, [x, ints([[[-1]], [[-3]]]), numbers([2, 1, 1])], axis=1)
    refusal("reshape_two_rests", "Reshape", 13, [x, ints([-1, -1])], constants=(1,))
    refusal("reshape_no_size", "Reshape", 13, [x, ints([5, -1])], constants=(1,))
    refusal("reshape_rank_9", "Reshape", 13, [x, ints([1] * 8 + [24])], constants=(1,))
    refusal("transpose_twice", "Transpose", 13, [x], perm=[0, 0, 1])
    refusal("concat_axis", "Concat", 13, [x, x], axis=3)
    refusal("split_sum", "Split", 13, [x, ints([1, 1])], outputs=2, constants=(1,), axis=1)
    refusal("split_uneven_13", "Split", 13, [x], outputs=2, axis=1)
    refusal("slice_step_0", "Slice", 13, [x, ints([0]), ints([1]), ints([0]), ints([0])], constants=(1, 2, 3, 4))
    refusal("slice_axis_twice", "Slice", 13, [x, ints([0, 0]), ints([1, 1]), ints([1, -2])], constants=(1, 2, 3))
    refusal("slice_13_attributes", "Slice", 13, [x], starts=[0], ends=[1])
    refusal("expand", "Expand", 13, [x, ints([2, 2, 4])], constants=(1,))
    refusal("pad_mode", "Pad", 13, [x, ints([0] * 6)], constants=(1,), mode="mirror")
    refusal("pad_wrap_18", "Pad", 18, [x, ints([0] * 5)], constants=(1,), mode="wrap")
    refusal("gather_outside", "Gather", 13, [x, ints([-3])], constants=(1,))
    refusal("scatter_reduction", "ScatterND", 18, [x, ints([[0]]), numbers([1, 3, 4])], constants=(1,), reduction="mean")
    refusal("top_k_large", "TopK", 11, [x, ints([5])], outputs=2, constants=(1,))
    refusal("conv_groups", "Conv", 11, [numbers([1, 4, 5, 5]), numbers([4, 3, 3, 3])], group=2)
    refusal("conv_4d", "Conv", 11, [numbers([1, 1, 2, 2, 2, 2]), numbers([1, 1, 1, 1, 1, 1])])
    refusal("conv_kernel_shape", "Conv", 11, [numbers([1, 1, 5, 5]), numbers([1, 1, 3, 3])], kernel_shape=[2, 2])
    refusal("pool_pads", "MaxPool", 11, [numbers([1, 1, 5, 5])], kernel_shape=[2, 2], pads=[0, 0, -1, 0])
    refusal("pool_kernel", "MaxPool", 11, [numbers([1, 1, 5, 5])], strides=[2, 2])
    refusal("pool_dilations_18", "AveragePool", 18, [numbers([1, 1, 5, 5])], kernel_shape=[2, 2], dilations=[2, 2])
    refusal("pool_3d_columns", "MaxPool", 12, [numbers([1, 1, 3, 3, 3])], outputs=2, types=(FLOAT, INT64), kernel_shape=[2, 2, 2], storage_order=1)
    refusal("resize_mode", "Resize", 13, [x, None, np.ones(3, np.float32) * 2], constants=(2,), mode="area")
    refusal("resize_scales", "Resize", 13, [x, None, np.ones(2, np.float32)], constants=(2,))
    refusal("einsum_terms", "Einsum", 12, [x, x], equation="abc->a")
    refusal("einsum_sign", "Einsum", 12, [x], equation="a-c->a")
    refusal("det_65", "Det", 11, [np.pad(numbers([5, 5]), (0, 60))])
    refusal("gemm_vector", "Gemm", 13, [numbers([3]), numbers([3, 2])])
    refusal("gemm_wide", "Gemm", 13, [numbers([1, 3]), numbers([3, 2]), numbers([4, 2])])
    refusal("reshape_huge", "Reshape", 13, [x, ints([2**62, 2**62, -1])], constants=(1,))
    refusal("center_negative", "CenterCropPad", 18, [x, ints([2, -(2**63), 4])], constants=(1,))
    refusal("split_huge", "Split", 13, [x, ints([2**63 - 1, 2**63 - 1, 4])], outputs=3, constants=(1,), axis=2)
    refusal("col2im_huge", "Col2Im", 18, [numbers([1, 4, 4]), ints([2**31 - 1] * 3), ints([1, 1, 1])], constants=(1, 2))
    refusal("roi_huge", "RoiAlign", 16, [numbers([1, 1, 4, 4]), numbers([1, 4]), ints([0])], output_height=2**40)
    refusal("pool_huge", "LpPool", 18, [numbers([1, 1, 2, 2, 2])], kernel_shape=[2**31 - 1] * 3, dilations=[2**31 - 1] * 3)
    refusal("conv_huge", "Conv", 11, [numbers([1, 1, 2, 2]), numbers([1, 1, 1, 1])], strides=[2**40, 1])
    refusal("tile_huge", "Tile", 13, [x, ints([2**62, 2**62, 2**62])], constants=(1,))
    refusal("pad_huge", "Pad", 13, [x, ints([2**62] * 6)], constants=(1,))
    refusal("expand_huge", "Expand", 13, [numbers([1]), ints([2**40, 2**40])], constants=(1,))
    refusal("resize_huge", "Resize", 13, [x, None, np.float32([1e30, 1, 1])], constants=(2,))
    refusal("grid_mode", "GridSample", 20, [numbers([1, 1, 2, 2]), numbers([1, 1, 1, 2])], mode="area")
    refusal("nms_boxes", "NonMaxSuppression", 11, [numbers([1, 2, 3]), numbers([1, 1, 2])], types=(INT64,))
    refusal("roi_batch", "RoiAlign", 16, [numbers([1, 1, 4, 4]), numbers([1, 4]), ints([2])])
    for name, mode, to in (("shrinks", "nearest", [0.6, 0.6]), ("both", "nearest", [1.5, 0.7]), ("linear", "linear", [0.6, 1.5])):
        wide = np.arange(21, dtype=np.float32).reshape(1, 1, 3, 7)
        case(f"resize_10_{name}", "Resize", 10, [wide, np.float32([1, 1, *to])], constants=(1,), mode=mode)
    nan = np.float32([[1, 2], [np.nan, 0], [1, 2], [0, 5]])
    case("unique_nan", "Unique", 11, [nan], outputs=4, types=(FLOAT, INT64, INT64, INT64), by="reference", axis=0)
    refusal("top_k_without", "TopK", 9, [x], outputs=2, types=(FLOAT, INT64))
    refusal("reverse_axes", "ReverseSequence", 10, [x, ints([1, 2])], batch_axis=2**63 - 1, time_axis=2**63 - 1)
    refusal("output_padding", "ConvTranspose", 11, [numbers([1, 1, 2, 2]), numbers([1, 1, 1, 1])], output_padding=[2**63 - 1, 0])
    refusal("unpool_negative", "MaxUnpool", 11, [numbers([1, 1, 1, 1]), ints([[[[0]]]]), ints([1, 1, -(2**63), 2])], constants=(2,), kernel_shape=[2, 2])
    refusal("col2im_blocks", "Col2Im", 18, [numbers([1, 5, 4]), ints([4, 4]), ints([2, 2])], constants=(1, 2))


def net(name, nodes, inputs, outputs, opset=17, constants=(), refused=False):
    """A case of several nodes; inputs and constants: arrays by name; outputs: types by name."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "graph", [value(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in inputs.items()],
                              [value(k, t, None) for k, t in outputs.items()], [numpy_helper.from_array(v, k) for k, v in dict(constants).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=versions.IR[opset])
    want = [np.zeros(1, np.float32)] * len(outputs) if refused else versions.outputs_of(model, list(inputs), list(inputs.values()), "ort")
    versions.add(("refused_" if refused else "") + name, model, list(inputs.values()), want, 1e-5, 1e-6)


def sequence_cases():
    node, x, y = helper.make_node, numbers([2, 3]), numbers([2, 3])
    at = {"first": np.asarray(0, np.int64), "last": np.asarray(-1, np.int64), "one": np.asarray(1, np.int64)}
    make = node("SequenceConstruct", ["x", "y"], ["s"])
    net("sequence_at", [make, node("SequenceAt", ["s", "last"], ["z"])], {"x": x, "y": y}, {"z": FLOAT}, constants=at)
    net("sequence_insert_erase", [make, node("SequenceInsert", ["s", "y", "first"], ["a"]), node("SequenceErase", ["a", "last"], ["b"]),
                                  node("ConcatFromSequence", ["b"], ["z"], axis=-1), node("SequenceLength", ["a"], ["n"])],
        {"x": x, "y": y}, {"z": FLOAT, "n": INT64}, constants=at)
    net("sequence_stack", [make, node("SequenceInsert", ["s", "y"], ["a"]), node("ConcatFromSequence", ["a"], ["z"], axis=1, new_axis=1)],
        {"x": x, "y": y}, {"z": FLOAT})
    net("sequence_empty", [node("SequenceEmpty", [], ["e"]), node("SequenceInsert", ["e", "x"], ["s"]), node("SequenceErase", ["s"], ["f"]),
                           node("SequenceLength", ["f"], ["n"]), node("SequenceAt", ["s", "first"], ["z"])],
        {"x": x}, {"z": FLOAT, "n": INT64}, constants=at)
    for split, keep in ((None, 0), (None, 1), (np.asarray(2, np.int64), 1), (ints([1, 2]), 0)):
        names, tensors = (["x"], {}) if split is None else (["x", "parts"], {"parts": split})
        net(f"sequence_split_{keep}_{0 if split is None else split.ndim + 1}",
            [node("SplitToSequence", names, ["s"], axis=1, keepdims=keep), node("SequenceAt", ["s", "one"], ["z"]), node("SequenceLength", ["s"], ["n"])],
            {"x": x}, {"z": FLOAT, "n": INT64}, constants=at | tensors)
    body = helper.make_graph([node("Mul", ["a", "b"], ["c"]), node("Shape", ["c"], ["d"])], "body",
                             [helper.make_tensor_value_info(k, FLOAT, None) for k in "ab"],
                             [helper.make_tensor_value_info("c", FLOAT, None), helper.make_tensor_value_info("d", INT64, None)])
    net("sequence_map", [make, node("SequenceMap", ["s", "y"], ["t", "u"], body=body), node("SequenceAt", ["t", "first"], ["z"]),
                         node("ConcatFromSequence", ["u"], ["n"], axis=0)], {"x": x, "y": y}, {"z": FLOAT, "n": INT64}, constants=at)
    net("sequence_as_tensor", [make, node("Relu", ["s"], ["z"])], {"x": x, "y": y}, {"z": FLOAT}, refused=True)
    net("sequence_position", [make, node("SequenceAt", ["s", "p"], ["z"])], {"x": x, "y": y}, {"z": FLOAT}, constants={"p": np.asarray(2, np.int64)},
        refused=True)
    net("sequence_of_tensor", [node("SequenceAt", ["x", "first"], ["z"])], {"x": x}, {"z": FLOAT}, constants=at, refused=True)


def open_cases():
    """Sizes that depend on data, and what follows them."""
    node, x = helper.make_node, numbers([6, 4])
    mask, k = R.rand(6) < 0.7, {"one": ints([1]), "zero": ints([0]), "rest": ints([-1, 2]), "copy": ints([0, -1]), "axis": ints([1])}
    rows = node("Compress", ["x", "mask"], ["r"], axis=0)
    for name, nodes in {
        "reshape": [node("Reshape", ["r", "rest"], ["z"])],
        "reshape_copy": [node("Unsqueeze", ["r", "one"], ["u"]), node("Reshape", ["u", "copy"], ["z"])],
        "flatten": [node("Flatten", ["r"], ["z"], axis=0)],
        "flatten_rows": [node("Unsqueeze", ["r", "one"], ["u"]), node("Flatten", ["u"], ["z"])],
        "unsqueeze_squeeze": [node("Unsqueeze", ["r", "axis"], ["u"]), node("Squeeze", ["u", "axis"], ["z"])],
        "squeeze_all": [node("Unsqueeze", ["r", "axis"], ["u"]), node("Squeeze", ["u"], ["z"])],
        "transpose": [node("Transpose", ["r"], ["z"])],
        "concat": [node("Concat", ["r", "x", "r"], ["z"], axis=0)],
        "slice": [node("Slice", ["r", "one", "far", "zero", "two"], ["z"])],
        "slice_back": [node("Slice", ["r", "last", "low", "zero", "last"], ["z"])],
        "slice_columns": [node("Slice", ["r", "one", "far", "one"], ["z"])],
        "split_columns": [node("Split", ["r", "halves"], ["a", "b"], axis=1), node("Sub", ["a", "b"], ["z"])],
        "pad": [node("Pad", ["r", "pads"], ["z"])],
        "tile": [node("Tile", ["r", "twos"], ["z"])],
        "expand": [node("Expand", ["r", "ones"], ["z"])],
        "gather_last": [node("Gather", ["r", "last"], ["z"], axis=0)],
        "scatter": [node("ScatterND", ["r", "place", "row"], ["z"])],
        "shape": [node("Shape", ["r"], ["s"]), node("Cast", ["s"], ["z"], to=FLOAT)],
        "size": [node("Size", ["r"], ["s"]), node("Cast", ["s"], ["z"], to=FLOAT)],
        "of_shape": [node("Shape", ["r"], ["s"]), node("ConstantOfShape", ["s"], ["z"])],
        "mat_mul": [node("Transpose", ["x"], ["t"]), node("MatMul", ["r", "t"], ["z"])],
        "mat_mul_rows": [node("Unsqueeze", ["r", "one"], ["u"]), node("Transpose", ["x"], ["t"]), node("MatMul", ["u", "t"], ["z"])],
        "gemm": [node("Gemm", ["r", "x"], ["z"], transB=1)],
        "einsum": [node("Einsum", ["r", "x"], ["z"], equation="ij,kj->ki")],
        "top_k": [node("TopK", ["r", "one"], ["z", "i"], axis=1)],
        "top_k_rows": [node("TopK", ["r", "one"], ["z", "i"], axis=0)],
        "one_hot": [node("ArgMax", ["r"], ["i"], axis=1, keepdims=0), node("OneHot", ["i", "four", "pair"], ["z"])],
        "trilu": [node("Trilu", ["r"], ["z"])],
        "resize": [node("Unsqueeze", ["r", "zero"], ["u"]), node("Unsqueeze", ["u", "zero"], ["v"]), node("Resize", ["v", "", "scales"], ["z"])],
        "conv": [node("Unsqueeze", ["r", "one"], ["u"]), node("Conv", ["u", "filter"], ["z"], pads=[1, 1])],
        "conv_long": [node("Unsqueeze", ["r", "zero"], ["u"]), node("Transpose", ["u"], ["t"], perm=[0, 2, 1]), node("Conv", ["t", "wide"], ["z"], auto_pad="SAME_LOWER")],
        "pool": [node("Unsqueeze", ["r", "one"], ["u"]), node("AveragePool", ["u"], ["z"], kernel_shape=[2])],
    }.items():
        more = {"far": ints([2**63 - 1]), "low": ints([-(2**63)]), "two": ints([2]), "last": ints([-1]), "halves": ints([2, 2]), "four": ints([4]),
                "pads": ints([1, 0, -1, 2]), "twos": ints([2, 2]), "ones": ints([3, 1, 1]), "place": ints([[-1]]), "row": numbers([1, 4]),
                "pair": np.float32([0, 1]), "scales": np.float32([1, 1, 2, 2]), "filter": numbers([2, 1, 3]), "wide": numbers([2, 4, 2])}
        used = {name for each in nodes for name in each.input}
        net(f"open_{name}", [rows] + nodes, {"x": x, "mask": mask}, {"z": FLOAT}, constants={n: v for n, v in (k | more).items() if n in used})
    net("open_non_zero", [node("Abs", ["x"], ["a"]), node("Greater", ["a", "two"], ["g"]), node("NonZero", ["g"], ["n"]), node("Transpose", ["n"], ["t"]),
                          node("GatherND", ["x", "t"], ["z"])], {"x": x}, {"z": FLOAT}, constants={"two": np.float32(2)})
    boxes = R.uniform(0, 1, (1, 6, 4)).astype(np.float32)
    net("open_boxes", [node("NonMaxSuppression", ["b", "s", "most", "over"], ["n"]), node("Gather", ["n", "col"], ["i"], axis=1),
                       node("Squeeze", ["i", "axis"], ["j"]), node("Gather", ["b", "j"], ["z"], axis=1)],
        {"b": boxes, "s": R.rand(1, 2, 6).astype(np.float32)}, {"z": FLOAT},
        constants={"most": ints([3]), "over": np.float32([0.3]), "col": ints([2]), "axis": ints([1])})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--pack")
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--count", type=int, default=260)
    parser.add_argument("--only", choices=sorted(DRAWS))
    parser.add_argument("--verbose", action="store_true", help="prints what ONNX Runtime refused")
    options = parser.parse_args()
    R.seed(options.seed)
    refused = add_cases(options.count, options.only)
    if not options.only:
        trap_cases()
        sequence_cases()
        open_cases()
    if options.verbose:
        for (op, error), times in sorted(refused.items()):
            print(times, op, error.replace("\n", " "), file=sys.stderr)
    if options.folder:
        versions.write_folder(options.folder)
    if options.pack:
        versions.write_packed(options.pack)
    print(len(versions.CASES), "cases")


if __name__ == "__main__":
    main()
