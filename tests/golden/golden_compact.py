# SPDX-License-Identifier: Apache-2.0
"""Ops whose result's length depends on the data: Where, Unique, UniqueWithCounts."""
import numpy as np

from golden_case import BOOL, F16, F32, I32, I64, MOVED_TYPES, Recorder, is_float, random_values, rng_for
from golden_shapes import EMPTY_SHAPES, text
from golden_sort import NUMERIC, few_values, specials


def sparse(dtype, shape, *name):
    """Values, half of them 0."""
    kept = rng_for("sparse", tuple(shape), *name).randint(0, 2, size=shape).astype(bool)
    return np.where(kept, random_values(dtype, shape, "where", *name), np.zeros((), dtype)).astype(dtype)


def where():
    r = Recorder("Where", reference=lambda inputs, attrs: np.argwhere(inputs[0] != 0))
    for shape in ((1,), (5,), (63,), (64,), (65,), (300,), (3, 7), (2, 3, 4), (2, 1, 3, 1, 2, 1, 3, 2)) + EMPTY_SHAPES:
        r.add(f"bool_{text(shape)}", [sparse(BOOL, shape)])
    for dtype in MOVED_TYPES + tuple(np.dtype(n) for n in ("uint32", "uint64")):
        if dtype != BOOL:
            r.add(dtype.name, [sparse(dtype, (4, 6))], numpy_only=dtype == F16)
        if dtype not in (BOOL, np.complex64):
            r.add(f"{dtype.name}_specials", [specials(dtype)], numpy_only=is_float(dtype))
    r.add("all", [np.ones((9, 9), BOOL)])
    r.add("nothing", [np.zeros((9, 9), F32)])
    r.add("specials", [np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 2e-38], F32)])
    r.add("complex_zeros", [np.array([0, 1j, -0.0, 1, complex(-0.0, -0.0)], np.complex64)])
    r.add("lowest", [np.array([[-2**31, 0, 1]], I32)])
    r.error("scalar", [np.array(True)], contains="WhereOp : Unhandled input dimensions: 0")
    return r


def unique_reference(inputs, attrs):
    """Each NaN is a separate value; -0 and 0 are one value, written as its first occurrence."""
    x, places, first, number, counts = inputs[0], {}, [], [], []
    for i, v in enumerate(x):
        key = ("NaN", i) if v != v else v.item()
        if key not in places:
            places[key] = len(first)
            first.append(v)
            counts.append(0)
        number.append(places[key])
        counts[places[key]] += 1
    index = attrs.get("out_idx", I32)
    return [np.array(first, x.dtype), np.array(number, index), np.array(counts, index)]


def unique(op):
    r = Recorder(op, reference=lambda inputs, attrs: unique_reference(inputs, attrs)[:2 if op == "Unique" else 3])
    for dtype in NUMERIC + (BOOL,):
        x = random_values(BOOL, (20,)) if dtype == BOOL else few_values(dtype, (40,))
        for index in (I32, I64) if dtype in (F32, BOOL) else (I32,):
            r.add(f"{dtype.name}_{index.name}", [x], {"out_idx": index})
        if dtype != BOOL:
            r.add(f"{dtype.name}_specials", [specials(dtype)], numpy_only=is_float(dtype))
    for n in (0, 1, 8, 9, 63, 64, 65, 300):
        r.add(f"float32_{n}", [few_values(F32, (n,), "unique")])
    r.add("all_apart", [random_values(F32, (100,), "unique")])
    r.add("all_alike", [np.full(100, 7, I64)])
    r.add("zeros", [np.array([-0.0, 0.0, 1, 0.0, -0.0], F32)])
    r.add("nan", [np.array([3, np.nan, 3, np.nan, np.inf, -np.inf, np.inf], F32)])
    r.add("extremes", [np.array([2**64 - 1, 0, 2**63, 2**64 - 1], np.uint64)])
    r.error("matrix", [np.zeros((2, 2), F32)], contains="unique expects a 1D vector.")
    r.error("scalar", [np.array(1, F32)], contains="unique expects a 1D vector.")
    return r


def build():
    return {"Where": where, "Unique": lambda: unique("Unique"), "UniqueWithCounts": lambda: unique("UniqueWithCounts")}
