#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: PyTorch's and TVM's objects become tensors by their tables of DLPack, and tensors become their objects,
without a capsule or a copy.
Promise: An object that its table refuses, and a tensor that Gantry refuses of a table, are refused with Python's
exception, and nothing is held.

    exchange.py LIBRARY    the path of libgantry.so; exit code 77 without such a library
"""

import ctypes
import gc
import sys

from library import ADDRESS, SMALL, TYPES, Exported, Gantry, from_options, pointer_of, python_api, refused, to_options

release = python_api("Py_DecRef", None, ADDRESS)
ARRAY = bytes(range(3, 3 + 96))


def table_of(kind):
    return ADDRESS(pointer_of(kind.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def take(gantry, table, thing, options=None):
    return gantry.made(gantry.library.gantry_tensor_from_exchange(gantry.scope, table, ADDRESS(id(thing)), options))


def give(gantry, tensor, table, options=None):
    made = ADDRESS()
    gantry.check(gantry.library.gantry_tensor_to_exchange(tensor, table, options, ctypes.byref(made)))
    thing = ctypes.cast(made, ctypes.py_object).value
    release(made)
    return thing


def check_torch(gantry, torch):
    table = table_of(torch.Tensor)
    for dtype in list(TYPES) + list(SMALL):
        memory = bytearray(96 if dtype != "bool" else bytes(i % 3 == 1 for i in range(96)))
        if dtype != "bool":
            memory[:] = ARRAY
        source = torch.frombuffer(memory, dtype=getattr(torch, dtype)).reshape(2, 3, -1)
        holders = sys.getrefcount(memory)
        tensor = take(gantry, table, source, from_options(requires_no_copy=True))
        assert gantry.address(tensor) == source.data_ptr(), f"{dtype}: copied"
        gantry.expect(tensor, dtype, source.shape, bytes(memory), f"PyTorch, {dtype}")
        back = give(gantry, tensor, table)
        copy = give(gantry, tensor, table, to_options(copies=True))
        assert type(back) is torch.Tensor and back.dtype == source.dtype and back.shape == source.shape, dtype
        assert back.data_ptr() == source.data_ptr() != copy.data_ptr(), f"{dtype}: copied, or not"
        gantry.renew()
        for each in (back, copy):
            assert each.reshape(-1).view(torch.uint8).numpy().tobytes() == bytes(memory), f"{dtype}: other bytes"
        del source
        assert sys.getrefcount(memory) == holders, f"{dtype}: not held"
        del back, copy, each
        gc.collect()
        assert sys.getrefcount(memory) == holders - 1, f"{dtype}: still held"
    transposed = torch.arange(12, dtype=torch.int32).reshape(3, 4).T
    gantry.expect(take(gantry, table, transposed), "int32", (4, 3), transposed.contiguous().numpy().tobytes(), "transposed")
    refused(lambda: take(gantry, table, transposed, from_options(requires_no_copy=True)), "strides")
    refused(lambda: take(gantry, table, torch.eye(2).to_sparse()), "have storage")  # PyTorch's exception
    refused(lambda: gantry.made(None), "the table does not give the object at 0x")
    refused(lambda: take(gantry, table, torch.zeros(2, dtype=torch.complex32)), "code 5, 32 bits and 1 lanes is none of")
    refused(lambda: take(gantry, table, torch.zeros((1,) * 9)), "9 dimensions; 0 to 8 dimensions")
    gantry.renew()
    return f"PyTorch {torch.__version__}: {len(TYPES) + len(SMALL)} types"


def check_tvm(gantry, tvm_ffi):
    import numpy as np
    kind = tvm_ffi.core.DLTensorTestWrapper  # the tensor itself has a table only in C
    table = table_of(kind)
    for dtype in TYPES:
        array = np.frombuffer(ARRAY, np.uint8).copy()
        array = (array % 2).astype(bool) if dtype == "bool" else array.view(dtype)
        holders = sys.getrefcount(array)
        thing = kind(tvm_ffi.from_dlpack(array))
        tensor = take(gantry, table, thing, from_options(requires_no_copy=True))
        assert gantry.address(tensor) == array.ctypes.data, f"{dtype}: copied"
        gantry.expect(tensor, dtype, array.shape, array.tobytes(), f"TVM, {dtype}")
        back = give(gantry, tensor, table)
        gantry.renew()
        back = np.from_dlpack(back)
        assert back.tobytes() == array.tobytes() and back.ctypes.data == array.ctypes.data, f"{dtype}: other bytes"
        del thing, back
        gc.collect()
        assert sys.getrefcount(array) == holders, f"{dtype}: still held"
    return f"TVM {tvm_ffi.__version__}: {len(TYPES)} types"


def main():
    gantry, done = Gantry(sys.argv[1]), 0
    for name, check in (("torch", check_torch), ("tvm_ffi", check_tvm)):
        try:
            library = __import__(name)
        except ImportError as error:
            print(f"{name} is left out: {error}")
            continue
        print(check(gantry, library) + ", in and out without a copy")
        done += 1
    gantry.close()
    if not done:
        print("SKIP: neither torch nor tvm_ffi is installed: scripts/fetch-interop")
        sys.exit(77)


main()
