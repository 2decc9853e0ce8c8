# SPDX-License-Identifier: Apache-2.0
"""Bitcast, and the boxes of XLA: XlaDynamicSlice, XlaDynamicUpdateSlice, which TensorFlow runs compiled by XLA."""
import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

from golden_case import (BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, INTEGERS, INTS, MOVED_TYPES, U8, U16, U32, U64, Recorder, cycled,
                         random_values)
from golden_shapes import text

C64 = np.dtype("complex64")
CAST_TYPES = (F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, C64)
MOVED = MOVED_TYPES + (U32, U64)
RANK8 = (2, 1, 3, 1, 2, 1, 2, 3)


def values(dtype, shape, *name):
    return cycled(random_values(dtype, shape, "box", *name), 29)


# ---- Bitcast ----

def bitcast_reference(x, a):
    source, target = x[0], a["type"]
    have, wanted = source.dtype.itemsize, target.itemsize
    shape = (source.shape + (have // wanted,) if have > wanted else source.shape[:-1] if have < wanted else source.shape)
    return np.frombuffer(source.tobytes(), target).reshape(shape)


def ends_of(dtype):
    """The values that bits must not lose."""
    if dtype == C64:
        return np.array([0, 1 - 2j, complex(-0.0, np.inf), complex(1e-40, -1e38)], C64)
    if dtype.kind == "f" or dtype == BF16:
        info = tf.as_dtype(dtype)
        tiny = np.array(1, {2: I16, 4: I32, 8: I64}[dtype.itemsize]).view(dtype)
        return np.array([0.0, -0.0, 1.5, np.nan, np.inf, -np.inf, info.max, tiny], dtype)
    info = np.iinfo(dtype)
    return np.array([0, 1, info.min, info.max, info.max // 3, 2, 3, 5], dtype)


def bitcast():
    r = Recorder("Bitcast", reference=bitcast_reference)
    for source in CAST_TYPES:
        x = ends_of(source).reshape(2, -1)
        for target in CAST_TYPES:
            times = target.itemsize // source.itemsize
            given = np.resize(x, (3, times)) if times > 1 else x
            r.add(f"{source.name}_to_{target.name}", [given], {"type": target})
    x = values(F32, (3, 5))
    for shape, source, target in (((), F32, I32), ((), F64, U8), ((4,), U8, F32), ((0,), F32, I32), ((0, 2), F32, F64), ((2, 0), F32, U8),
                                  ((17, 33), F32, U32), ((5, 7, 2), I32, F64), ((129, 2), I16, F32), (RANK8, F32, I32),
                                  (RANK8[:7], F32, I16), (RANK8[:7] + (2,), F32, F64)):
        r.add(f"{source.name}_{text(shape)}_to_{target.name}", [values(source, shape)], {"type": target})
    flags = values(BOOL, (3, 4))
    for target in (BOOL, U8, F32):   # TensorFlow's Bitcast has no bool
        r.add(f"bool_to_{target.name}", [flags], {"type": target}, numpy_only=True)
    r.error("to_bool", [flags.view(U8)], {"type": BOOL})
    r.error("last_dimension", [values(U8, (2, 3))], {"type": F32}, contains="Cannot bitcast")
    r.error("no_dimension", [values(U8, ())], {"type": F32}, contains="Cannot bitcast")
    r.error("last_dimension_0", [values(U8, (4, 0))], {"type": F32}, contains="Cannot bitcast")
    r.error("last_dimension_twice", [values(I16, (2, 8))], {"type": F64}, contains="Cannot bitcast")
    r.error("type_missing", [x], contains="type")
    r.our_error("rank_9", [values(F32, RANK8)], {"type": U8}, contains="the result would have 9 dimensions; tensors have at most 8")
    return r


# ---- boxes ----

def box_of(whole, box, starts):
    begins = [min(max(int(s), 0), n - m) for s, n, m in zip(starts, whole, box)]
    return tuple(slice(b, b + m) for b, m in zip(begins, box))


def slice_reference(x, a):
    return np.array(x[0][box_of(x[0].shape, x[2], x[1])])


def update_reference(x, a):
    out = np.array(x[0])
    out[box_of(x[0].shape, x[1].shape, x[2])] = x[1]
    return out


def compiled_slice(x, a):
    sizes = x[2].numpy()   # XLA wants constants
    return tf.function(lambda y, s: gen_xla_ops.xla_dynamic_slice(y, s, sizes), jit_compile=True)(x[0], x[1])


def compiled_update(x, a):
    return tf.function(gen_xla_ops.xla_dynamic_update_slice, jit_compile=True)(*x)


# whole, box, starts
BOXES = (((), (), ()), ((5,), (2,), (1,)), ((5,), (5,), (3,)), ((5,), (2,), (4,)), ((5,), (2,), (-7,)), ((5,), (0,), (9,)),
         ((3, 4), (2, 2), (1, 1)), ((3, 4), (1, 4), (2, 9)), ((3, 4), (3, 1), (5, 2)), ((17, 33), (5, 7), (11, 40)),
         ((2, 3, 4), (1, 3, 4), (1, 0, 0)), ((2, 3, 4), (2, 1, 4), (0, 2, 0)), ((2, 3, 4), (1, 2, 4), (-1, 1, 7)),
         ((2, 3, 4), (2, 3, 2), (0, 0, 1)), ((3, 2500), (2, 2200), (0, 250)), ((0, 3), (0, 2), (1, 1)), ((4, 1, 5), (1, 1, 5), (3, 0, 0)),
         ((4, 6, 1, 1), (2, 3, 1, 1), (1, 2, 3, 4)), (RANK8, (1, 1, 2, 1, 1, 1, 2, 2), (1, 0, 1, 0, 1, 0, 0, 1)),
         ((3,) * 8, (2,) * 8, (1, 0, 1, 2, 0, 1, -1, 1)))


def boxes(op, is_update):
    r = Recorder(op, compiled_update if is_update else compiled_slice, update_reference if is_update else slice_reference)

    def inputs(dtype, whole, box, starts):
        x = values(dtype, whole)
        return [x, values(dtype, box, "box"), starts] if is_update else [x, starts, np.array(box, starts.dtype if starts.dtype in INTS else I32)]

    for whole, box, starts in BOXES:
        for index in INTS if len(whole) == 2 else (I32,):
            r.add(f"float32_{text(whole)}_{text(box)}_at_{'_'.join(map(str, starts)).replace('-', 'm')}_{index.name}",
                  inputs(F32, whole, box, np.array(starts, index)))
    for dtype in MOVED:
        r.add(dtype.name, inputs(dtype, (3, 5), (2, 3), np.array((1, 1), I32)))
    for index in INTEGERS:   # TensorFlow: int32 and int64
        for end in (np.iinfo(index).min, np.iinfo(index).max):
            r.add(f"starts_{index.name}_{end}".replace("-", "m"), inputs(F32, (3, 5), (2, 3), np.array((1, end), index)),
                  numpy_only=index not in INTS)
    one = np.array((1, 1), I32)
    fit = "does not fit input of 2 dimensions; as many dimensions and starts as input has are accepted"
    r.our_error("starts_too_few", inputs(F32, (3, 5), (2, 3), one[:1]), contains=fit)
    if is_update:   # TensorFlow's CPU ends the process for a slice
        r.our_error("starts_a_scalar", inputs(F32, (3, 5), (2, 3), one[0]), contains=fit)
    r.our_error("starts_a_matrix", inputs(F32, (3, 5), (2, 3), one.reshape(1, 2)), contains=fit)
    r.our_error("starts_of_a_float", inputs(F32, (3, 5), (2, 3), one.astype(F32)), contains="Tindices")
    r.our_error("box_of_rank_3", inputs(F32, (3, 5), (2, 3, 1), one), contains=fit)
    r.our_error("box_too_large", inputs(F32, (3, 5), (2, 6), one), contains="dimension 1 of the box is 6; at most 5 is accepted")
    if is_update:
        r.our_error("update_of_another_type", [values(F32, (3, 5)), values(I32, (2, 3)), one],
                    contains="expected to be a float32 tensor but is a int32 tensor")
    else:
        r.our_error("size_negative", [values(F32, (3, 5)), one, np.array((2, -1), I32)], contains="-1")
        r.our_error("size_a_matrix", [values(F32, (3, 5)), one, np.array(((2, 1),), I32)], contains="size_indices")
    return r


def build():
    return {"Bitcast": bitcast, "XlaDynamicSlice": lambda: boxes("XlaDynamicSlice", False),
            "XlaDynamicUpdateSlice": lambda: boxes("XlaDynamicUpdateSlice", True)}
