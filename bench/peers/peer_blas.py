# SPDX-License-Identifier: Apache-2.0
"""oneDNN and OpenBLAS of the system, called directly: matrix products only."""

import ctypes
import os

import numpy as np

REST = "called for matrix products only"
LACKS = {}
NAMES = {"onednn": ("libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"), "openblas": ("libopenblas.so.0", "libopenblas.so")}
LIBRARY = None


def open_peer(threads):
    global LIBRARY
    for name in NAMES[os.environ["PEER"]]:
        try:
            LIBRARY = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        raise ImportError(f"none of {', '.join(NAMES[os.environ['PEER']])} is here")
    return dnnl_version() if hasattr(LIBRARY, "dnnl_sgemm") else openblas_version()


def dnnl_version():
    LIBRARY.dnnl_version.restype = ctypes.POINTER(ctypes.c_int * 3)
    return "oneDNN " + ".".join(str(x) for x in LIBRARY.dnnl_version().contents)


def openblas_version():
    LIBRARY.openblas_get_config.restype = ctypes.c_char_p
    return " ".join(LIBRARY.openblas_get_config().decode().split()[:2])


def put(array):
    return array


def fetch(result):
    return [result]


def case_matmul(a, b):
    n = len(a)
    size = ctypes.c_int64 if hasattr(LIBRARY, "dnnl_sgemm") else ctypes.c_int
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (a, b)]
    edge, one, zero = size(n), ctypes.c_float(1), ctypes.c_float(0)

    def call():
        c = np.empty_like(a)
        out = ctypes.c_void_p(c.ctypes.data)
        if hasattr(LIBRARY, "dnnl_sgemm"):
            plain = ctypes.c_char(b"N")
            status = LIBRARY.dnnl_sgemm(
                plain, plain, edge, edge, edge, one, pointers[0], edge, pointers[1], edge, zero, out, edge
            )
            assert status == 0, f"dnnl_sgemm: status {status}"
        else:
            row_major, plain = 101, 111
            LIBRARY.cblas_sgemm(
                row_major, plain, plain, edge, edge, edge, one, pointers[0], edge, pointers[1], edge, zero, out, edge
            )
        return c

    return call
