# SPDX-License-Identifier: Apache-2.0
"""tinygrad, on an OpenCL device if it finds one (PoCL), else on the CPU through clang.

Every case is captured by TinyJit but chain, which goes op by op.
"""

from importlib.metadata import version

import numpy as np
from tinygrad import Device, Tensor, TinyJit

LACKS = {
    "unique": "tinygrad has no unique",
    "scatter_nd": "tinygrad compares every element with every place: 10^12 steps",
}


def open_peer(threads):
    return f"tinygrad {version('tinygrad')} on {Device.DEFAULT}"


def put(array):
    return Tensor(array).realize()


def fetch(result):
    return [np.asarray(result.numpy())]


def waited(f):
    device = Device[Device.DEFAULT]

    def call():
        result = f()
        device.synchronize()
        return result

    return call


def captured(f):
    return waited(TinyJit(lambda: f().realize()))


def case_matmul(a, b):
    return captured(lambda: a @ b)


def case_add(a, b):
    return captured(lambda: a + b)


def case_sum(a):
    return captured(lambda: a.sum())


def case_chain(x, y):
    def op_by_op():
        r = ((x * y).realize() + x).realize().relu().realize()
        return ((r * 0.5).realize() + y.tanh().realize()).realize()

    return waited(op_by_op)


def case_chain_fused(x, y):
    return captured(lambda: (x * y + x).relu() * 0.5 + y.tanh())


def case_function(a, name):
    return captured(lambda: getattr(a, name)())


def case_conv1d(x, w):
    return captured(lambda: x.permute(0, 2, 1).conv2d(w.permute(2, 1, 0)).permute(0, 2, 1).contiguous())


def case_conv2d(x, w, padding="VALID"):
    images, filters = x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)
    around = w.shape[0] // 2 if padding == "SAME" else 0
    return captured(lambda: images.conv2d(filters, padding=around).permute(0, 2, 3, 1).contiguous())


def case_gather(a, i):
    return captured(lambda: a[i])


def case_sort(a):
    return captured(lambda: a.sort()[0])


def case_top_k(a, k):
    return captured(lambda: a.topk(k)[0])


def case_segment_sum(data, ids):
    count = int(ids[-1].item()) + 1
    return captured(lambda: (ids.unsqueeze(0) == Tensor.arange(count).unsqueeze(1)).float() @ data)


def case_bincount(a, size):
    return captured(lambda: (a.unsqueeze(0) == Tensor.arange(size).unsqueeze(1)).sum(1))


def case_transpose(a):
    return captured(lambda: a.T.contiguous())


def case_cumsum(a):
    return captured(lambda: a.cumsum(-1))


def case_softmax(x):
    return captured(lambda: x.softmax(-1))


def case_layer_norm(x, scale, offset):
    return captured(lambda: x.layernorm(-1, 1e-5) * scale + offset)


def case_max_pool(x):
    return captured(lambda: x.permute(0, 3, 1, 2).max_pool2d(2).permute(0, 2, 3, 1).contiguous())
