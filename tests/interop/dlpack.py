#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: NumPy's and TensorFlow's arrays become tensors by DLPack without a copy, and tensors become theirs, for each
type that both have.

    dlpack.py LIBRARY    the path of libgantry.so; exit code 77 without NumPy

The capsules of Python hold the structs under the names that DLPack's Python specification gives.
"""

import ctypes
import sys

try:
    import numpy as np
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

ADDRESS = ctypes.c_void_p
VERSIONED, OLD = b"dltensor_versioned", b"dltensor"
TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
COPY = (ctypes.c_uint32 * 2)(8, 1)  # gantry_to_dlpack_options_t
NO_COPY = (ctypes.c_uint32 * 2)(8, 1)  # gantry_from_dlpack_options_t


def api(name, result, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, list(arguments)
    return function


new_capsule = api("PyCapsule_New", ctypes.py_object, ADDRESS, ctypes.c_char_p, ADDRESS)
pointer_of = api("PyCapsule_GetPointer", ADDRESS, ctypes.py_object, ctypes.c_char_p)
rename = api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
USED = {VERSIONED: ctypes.c_char_p(b"used_dltensor_versioned"), OLD: ctypes.c_char_p(b"used_dltensor")}
CAPSULE = {VERSIONED: ctypes.c_char_p(VERSIONED), OLD: ctypes.c_char_p(OLD)}  # a capsule keeps the address of its name


class Gantry:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name in ("gantry_scope_begin", "gantry_tensor_from_dlpack", "gantry_tensor_from_dlpack_unversioned"):
            getattr(self.library, name).restype = ADDRESS
        for name in ("gantry_last_message", "gantry_scope_message"):
            getattr(self.library, name).restype = ctypes.c_char_p
        self.runtime = ADDRESS()
        self.check(self.library.gantry_runtime_create(None, ctypes.byref(self.runtime)))
        self.scope = ADDRESS(self.library.gantry_scope_begin(self.runtime, b"/CPU:0"))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.gantry_last_message().decode())

    def take(self, capsule, name):
        call = "gantry_tensor_from_dlpack" + ("" if name == VERSIONED else "_unversioned")
        tensor = getattr(self.library, call)(self.scope, ADDRESS(pointer_of(capsule, name)), NO_COPY)
        if not tensor:
            raise RuntimeError(self.library.gantry_scope_message(self.scope).decode())
        rename(capsule, USED[name])
        return ADDRESS(tensor)

    def give(self, tensor, name, options=None):
        managed = ADDRESS()
        call = "gantry_tensor_to_dlpack" + ("" if name == VERSIONED else "_unversioned")
        self.check(getattr(self.library, call)(tensor, options, ctypes.byref(managed)))
        return new_capsule(managed, CAPSULE[name], None)

    def address(self, tensor):
        data = ADDRESS()
        self.check(self.library.gantry_tensor_map(tensor, ctypes.byref(data)))
        self.check(self.library.gantry_tensor_unmap(tensor))
        return data.value

    def renew(self):
        self.library.gantry_scope_end(self.scope)
        self.scope = ADDRESS(self.library.gantry_scope_begin(self.runtime, b"/CPU:0"))


class Exported:
    """A tensor as an object of the array standard."""

    def __init__(self, gantry, tensor):
        self.gantry, self.tensor = gantry, tensor

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, max_version=None, **_):
        if max_version is not None and max_version[0] >= 1:
            return self.gantry.give(self.tensor, VERSIONED)
        return self.gantry.give(self.tensor, OLD, COPY)


def values(dtype):
    return (np.arange(24).reshape(2, 3, 4) % 2 if dtype == "bool" else np.arange(24).reshape(2, 3, 4)).astype(dtype)


def check_numpy(gantry, dtype):
    array = values(dtype)
    holders = sys.getrefcount(array)
    tensor = gantry.take(array.__dlpack__(max_version=(1, 1)), VERSIONED)
    assert gantry.address(tensor) == array.ctypes.data, f"{dtype}: copied"
    back = np.from_dlpack(Exported(gantry, tensor))
    assert back.dtype == array.dtype and (back == array).all(), f"{dtype}: other values"
    assert back.ctypes.data == array.ctypes.data and not back.flags.writeable, f"{dtype}: copied or writable"
    assert sys.getrefcount(array) > holders, f"{dtype}: not held"
    gantry.renew()
    assert (back == array).all(), f"{dtype}: lost with the scope"
    del back
    assert sys.getrefcount(array) == holders, f"{dtype}: still held"


def check_tensorflow(gantry, tf, dtype):
    # TensorFlow's own capsules are of the old form.
    array = values(dtype)
    source = tf.constant(array)
    tensor = gantry.take(tf.experimental.dlpack.to_dlpack(source), OLD)
    back = np.from_dlpack(Exported(gantry, tensor))
    assert (back == array).all(), f"{dtype}: other values from TensorFlow"
    given = tf.experimental.dlpack.from_dlpack(gantry.give(tensor, OLD, COPY))
    gantry.renew()
    assert (given.numpy() == array).all() and given.dtype == source.dtype, f"{dtype}: other values in TensorFlow"


def main():
    gantry = Gantry(sys.argv[1])
    for dtype in TYPES:
        check_numpy(gantry, dtype)
    print(f"NumPy {np.__version__}: {len(TYPES)} types, in and out without a copy")
    try:
        import tensorflow as tf
    except ImportError as error:
        print(f"TensorFlow is left out: {error}")
        return
    for dtype in TYPES:
        check_tensorflow(gantry, tf, dtype)
    print(f"TensorFlow {tf.__version__}: {len(TYPES)} types, in without a copy, out as one")


main()
