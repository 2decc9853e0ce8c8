# SPDX-License-Identifier: Apache-2.0
"""StridedSlice: Python's slicing expressions, and random combinations of masks."""
import numpy as np

from golden_case import F32, I32, I64, MOVED_TYPES, Recorder, cycled, random_values, rng_for
from golden_shapes import text

U8 = np.dtype("uint8")
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def values(dtype, shape):
    return cycled(random_values(dtype, shape, "strided"), 29)


def bit(attrs, name, i):
    return attrs.get(name, 0) >> i & 1


def index_of(begin, end, strides, attrs):
    """The same as an index of NumPy's."""
    index, ellipsis = [], False
    for i in range(len(begin)):
        if bit(attrs, "ellipsis_mask", i):
            index.append(Ellipsis)
            ellipsis = True
        elif bit(attrs, "new_axis_mask", i):
            index.append(None)
        elif bit(attrs, "shrink_axis_mask", i):
            index.append(int(begin[i]))
        else:
            ends = [None if bit(attrs, m, i) else int(v[i]) for m, v in (("begin_mask", begin), ("end_mask", end))]
            index.append(slice(ends[0], ends[1], int(strides[i])))
    if not ellipsis:
        index.append(Ellipsis)
    return tuple(index)


def reference(x, attrs):
    index = index_of(*x[1:], attrs)
    return np.ascontiguousarray(x[0][index]).reshape(x[0][index].shape)


def spec_of(*index):
    """A Python index as inputs and masks."""
    entries, attrs = [], dict.fromkeys(MASKS, 0)
    for i, part in enumerate(index):
        begin, end, stride = 0, 0, 1
        if part is Ellipsis:
            attrs["ellipsis_mask"] |= 1 << i
        elif part is None:
            attrs["new_axis_mask"] |= 1 << i
        elif isinstance(part, slice):
            begin, end, stride = (v if v is not None else d for v, d in zip((part.start, part.stop, part.step), (0, 0, 1)))
            attrs["begin_mask"] |= (part.start is None) << i
            attrs["end_mask"] |= (part.stop is None) << i
        else:
            begin, end = part, part + 1
            attrs["shrink_axis_mask"] |= 1 << i
        entries.append((begin, end, stride))
    return np.array(entries, I64).reshape(-1, 3), {k: v for k, v in attrs.items() if v}


def random_case(rng):
    """A shape and an index that fits it."""
    rank = rng.randint(1, 9)
    shape = tuple(int(n) for n in rng.randint(1, 3 if rank > 5 else 4 if rank > 2 else 8, size=rank))
    if rng.randint(12) == 0:
        shape = shape[:-1] + (0,)
    index, axis, size = [], 0, rank
    ellipsis = rng.randint(0, rank + 1) if rng.randint(2) else None
    while axis < rank:
        if ellipsis == axis:
            index.append(Ellipsis)
            axis += rng.randint(0, rank - axis + 1)
            ellipsis = None
            continue
        kind = rng.randint(6)
        if kind == 0 and size < 8 and len(index) < 12:
            index.append(None)
            size += 1
        elif kind == 1 and shape[axis] > 0:
            index.append(int(rng.randint(-shape[axis], shape[axis])))
            axis += 1
            size -= 1
        else:
            stride = int(rng.choice((1, 1, 1, 2, 3, -1, -1, -2, -3)))
            ends = [int(rng.randint(-shape[axis] - 2, shape[axis] + 3)) if rng.randint(3) else None for _ in range(2)]
            if rng.randint(3):   # usually some elements remain
                ends.sort(key=lambda e: (e is None, e % shape[axis] if e is not None and shape[axis] else 0),
                          reverse=stride < 0)
                ends = [e if e is None or rng.randint(2) else None for e in ends]
            index.append(slice(ends[0], ends[1], stride))
            axis += 1
        if rng.randint(5) == 0:
            break   # the other dimensions stay whole
    return shape, index


def strided_slice():
    r = Recorder("StridedSlice", reference=reference)
    s = slice
    indices = (((5,), ()), ((), ()), ((), (None,)), ((), (Ellipsis, None)), ((5,), (s(1, 4),)), ((5,), (s(None, None, -1),)),
               ((5,), (s(-1, 0, -2),)), ((5,), (s(4, 1),)), ((5,), (s(1, 4, -1),)), ((5,), (2,)), ((5,), (-5,)),
               ((5,), (None, s(None), None)), ((5,), (s(-100, 100, 4),)), ((5,), (s(100, -100, -4),)), ((3, 4), (1,)),
               ((3, 4), (s(None), -1)), ((3, 4), (Ellipsis, s(1, 3))), ((3, 4), (s(1, 3), Ellipsis)), ((3, 4), (1, Ellipsis, 2)),
               ((3, 4), (Ellipsis, 0, 1)), ((3, 4), (s(None, None, 2), s(None, None, -2))), ((3, 4), (2, None, s(None, None, -1))),
               ((33, 65), (s(None, None, 2), s(None, None, 3))), ((33, 65), (s(None, None, -1), s(None))),
               ((9, 17, 5), (s(1, None), 3, s(None, None, -1))), ((2, 3, 4), (Ellipsis, None, s(1, 2), None)),
               ((0, 3), (s(None), s(0, 2))), ((3, 0), (s(None, None, -1),)), ((2, 3, 4), (s(1, 1), s(None), 2)))
    for shape, index in indices:
        spec, attrs = spec_of(*index)
        inputs = [values(F32, shape)] + [np.ascontiguousarray(spec[:, i]).astype(I32) for i in range(3)]
        label = "_".join(str(i) for i in index).replace("slice", "").replace("Ellipsis", "etc").replace("None", "n")
        label = "".join(ch if ch.isalnum() or ch == "_" else "m" if ch == "-" else "" for ch in label.replace(", ", "to"))
        r.add(f"{text(shape)}_at_{label or 'nothing'}", inputs, attrs)
    rng = rng_for("masks")
    for i in range(80):
        shape, index = random_case(rng)
        spec, attrs = spec_of(*index)
        inputs = [values(U8, shape)] + [np.ascontiguousarray(spec[:, k]).astype(I32 if i % 4 else I64) for k in range(3)]
        r.add(f"random_{i}", inputs, attrs)
    types = MOVED_TYPES + (np.dtype("uint32"), np.dtype("uint64"))
    for dtype in types:
        spec, attrs = spec_of(s(None, None, -2), 1, Ellipsis, None)
        r.add(f"{dtype.name}_4x3x2", [values(dtype, (4, 3, 2))] + [np.ascontiguousarray(spec[:, k]) for k in range(3)], attrs)
    corners(r)
    refusals(r)
    return r


def numbers(*rows, dtype=I32):
    return [np.array(row, dtype) for row in rows]


def corners(r):
    """Several masks for one entry, bits beyond the entries, numbers beyond the sizes."""
    x = values(F32, (3, 4))
    r.add("new_axis_before_shrink", [x] + numbers((1, 0), (3, 3), (1, 1)), {"new_axis_mask": 1, "shrink_axis_mask": 1})
    r.add("ellipsis_before_all", [x] + numbers((0, 0), (3, 3), (1, 1)),
          {"ellipsis_mask": 1, "new_axis_mask": 1, "shrink_axis_mask": 1})
    r.add("shrink_before_begin", [x] + numbers((2,), (1,), (1,)), {"shrink_axis_mask": 1, "begin_mask": 1, "end_mask": 1})
    r.add("shrink_of_stride_2", [x] + numbers((2,), (1,), (2,)), {"shrink_axis_mask": 1})
    r.add("all_bits_of_begin", [x] + numbers((1, 1), (3, 3), (1, 1)), {"begin_mask": -1})
    r.add("bits_beyond", [x] + numbers((0, 0), (3, 3), (1, 1)), {"ellipsis_mask": 32, "shrink_axis_mask": 32, "new_axis_mask": 64})
    r.add("stride_0_of_ellipsis", [x] + numbers((1, 0), (3, 3), (0, 1)), {"ellipsis_mask": 1})
    r.add("stride_0_of_new_axis", [x] + numbers((1, 0), (3, 3), (0, 1)), {"new_axis_mask": 1})
    r.add("largest", [x] + numbers((-2**63,), (2**63 - 1,), (2**63 - 1,), dtype=I64))
    r.add("smallest", [x] + numbers((2**63 - 1,), (-2**63,), (-2**63,), dtype=I64))
    r.add("six_new_axes", [x] + numbers((0,) * 6, (0,) * 6, (1,) * 6), {"new_axis_mask": 63})


def refusals(r):
    x = values(F32, (3, 4))
    r.error("counts_differ", [x] + numbers((0,), (1, 2), (1,)),
            contains="but got shapes [1], [2], and [1] instead.")
    r.error("scalars", [x] + numbers(0, 1, 1), contains="but got shapes [], [], and [] instead.")
    r.error("matrices", [x] + numbers(((0,),), ((1,),), ((1,),)))
    r.error("too_many_entries", [x] + numbers((0,) * 32, (0,) * 32, (1,) * 32), {"new_axis_mask": 2**31 - 1},
            contains="but got shapes [32], [32], and [32] instead.")
    r.error("more_entries_than_dims", [x] + numbers((0,) * 3, (1,) * 3, (1,) * 3),
            contains="Index out of range using input dim 2; input has only 2 dims")
    r.error("scalar_input", [values(F32, ())] + numbers((0,), (1,), (1,)), contains="Attempting to slice scalar input.")
    r.error("stride_0", [x] + numbers((0,), (1,), (0,)), contains="strides[0] must be non-zero")
    r.error("index_too_large", [x] + numbers((0, 4), (1, 5), (1, 1)), {"shrink_axis_mask": 2},
            contains="slice index 4 of dimension 1 out of bounds.")
    r.error("index_too_small", [x] + numbers((-4,), (0,), (1,)), {"shrink_axis_mask": 1},
            contains="slice index -1 of dimension 0 out of bounds.")
    r.error("index_of_stride_below_0", [x] + numbers((0,), (1,), (-1,)), {"shrink_axis_mask": 1},
            contains="only stride 1 allowed on non-range indexing.")
    r.error("two_ellipses", [x] + numbers((0, 0), (1, 1), (1, 1)), {"ellipsis_mask": 3},
            contains="Multiple ellipses in slice spec not allowed")
    r.error("mask_not_an_int32", [x] + numbers((0,), (1,), (1,)), {"begin_mask": 2**40},
            contains="Attr begin_mask has value 1099511627776 out of range for an int32")


def build():
    return {"StridedSlice": strided_slice}
