# SPDX-License-Identifier: Apache-2.0
"""NumPy: what a user would write. Its products go to the OpenBLAS in its wheel."""

import numpy as np

LACKS = {
    "chain_fused": "NumPy goes op by op",
    "conv2d": "NumPy has no convolution of images",
    "max_pool": "NumPy has no pooling",
    "conv1d": "NumPy has no convolution of several channels",
}
LACKING_FUNCTIONS = {"erf"}


def open_peer(threads):
    return f"NumPy {np.__version__}"


def put(array):
    return array


def fetch(result):
    return list(result) if isinstance(result, tuple) else [np.asarray(result)]


def case_matmul(a, b):
    return lambda: a @ b


def case_add(a, b):
    return lambda: a + b


def case_sum(a):
    return lambda: a.sum()


def case_chain(x, y):
    return lambda: np.maximum(x * y + x, 0) * np.float32(0.5) + np.tanh(y)


def case_function(a, name):
    f = getattr(np, name)
    return lambda: f(a)


def case_sort(a):
    return lambda: np.sort(a)


def case_top_k(a, k):
    return lambda: np.sort(np.partition(a, a.shape[-1] - k)[..., -k:])[..., ::-1]


def case_gather(a, i):
    return lambda: a.take(i, axis=0)


def case_transpose(a):
    return lambda: np.ascontiguousarray(a.T)


def case_cumsum(a):
    return lambda: np.cumsum(a, axis=-1)


def case_scatter_nd(updates, ids):
    def call():
        out = np.zeros_like(updates)
        np.add.at(out, ids, updates)
        return out

    return call


def case_segment_sum(data, ids):
    count = int(ids[-1]) + 1  # reduceat wants every segment to have a row, as here
    return lambda: np.add.reduceat(data, np.searchsorted(ids, np.arange(count)))


def case_bincount(a, size):
    return lambda: np.bincount(a, minlength=size)


def case_unique(a):
    return lambda: tuple(np.unique(a, return_inverse=True))


def case_softmax(x):
    def call():
        e = np.exp(x - x.max(-1, keepdims=True))
        e /= e.sum(-1, keepdims=True)
        return e

    return call


def case_layer_norm(x, scale, offset):
    def call():
        centred = x - x.mean(-1, keepdims=True)
        variance = np.square(centred).mean(-1, keepdims=True)
        return centred / np.sqrt(variance + np.float32(1e-5)) * scale + offset

    return call
