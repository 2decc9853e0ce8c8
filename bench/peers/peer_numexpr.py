# SPDX-License-Identifier: Apache-2.0
"""numexpr: elementwise expressions, block by block, over all threads."""

import numexpr
import numpy as np

REST = "numexpr has elementwise expressions and sums only"
LACKING_FUNCTIONS = {"erf"}
LACKS = {"chain": "numexpr fuses; see chain_fused"}


def open_peer(threads):
    numexpr.set_num_threads(threads)
    return f"numexpr {numexpr.__version__}"


def put(array):
    return array


def fetch(result):
    return [np.asarray(result)]


def case_add(a, b):
    names = {"a": a, "b": b}
    return lambda: numexpr.evaluate("a + b", names)


def case_sum(a):
    names = {"a": a}
    return lambda: numexpr.evaluate("sum(a)", names)


def case_chain_fused(x, y):
    names = {"x": x, "y": y, "zero": np.float32(0), "half": np.float32(0.5)}
    text = "where(x * y + x > zero, x * y + x, zero) * half + tanh(y)"
    return lambda: numexpr.evaluate(text, names)


def case_function(a, name):
    names = {"a": a}
    return lambda: numexpr.evaluate(f"{name}(a)", names)
