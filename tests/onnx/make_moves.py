#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random cases of ops that move, choose, pool and multiply elements, for operator sets 7 to 24.

    make_moves.py FOLDER [--seed N] [--count N] [--only OP]     a folder for each case, as scripts/make-onnx-cases
    make_moves.py --pack FILE.tar.gz                            a small set in one file, the same one in each run

A case is one node with random sizes, attributes and versions. Arguments such as axes are constants of the model or
inputs. The outputs are those of ONNX Runtime; a draw that it refuses is drawn again. Needs onnx, onnxruntime and numpy.
"""
import argparse
import importlib.util
import os
import sys

import numpy as np
from onnx import TensorProto

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
    known = [v for v in (least, *more) if v <= 24]
    return min(24, pick(*known) + pick(0, 0, 1))


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
    group, inputs, outputs = pick(1, 1, 2, 3), pick(1, 2), pick(1, 2)
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
    opset, shape = version(16, 20, 22), [pick(1, 2), pick(1, 2)] + sizes(2, 2, 4)
    grid = R.uniform(-1.4, 1.4, [shape[0]] + sizes(2, 1, 3) + [2]).astype(np.float32)
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


DRAWS = {name[5:]: draw for name, draw in list(globals().items()) if name.startswith("draw_")}


def add_cases(count, only):
    refused = {}
    for i in range(count):
        for _ in range(20):
            name = only or pick(*sorted(DRAWS))
            draw = DRAWS[name]()
            try:
                versions.case(f"moves_{i:04d}_{draw.op}_{draw.opset}", draw.op, draw.opset, draw.inputs, draw.outputs, draw.constants,
                              types=draw.types, rtol=1e-4, atol=1e-5, **draw.attrs)
                break
            except Exception as error:
                refused.setdefault((draw.op, str(error)[:160]), 0)
                refused[draw.op, str(error)[:160]] += 1
    return refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--pack")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--only", choices=sorted(DRAWS))
    parser.add_argument("--verbose", action="store_true", help="prints what ONNX Runtime refused")
    options = parser.parse_args()
    R.seed(options.seed)
    refused = add_cases(options.count, options.only)
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
