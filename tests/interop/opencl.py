#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: PyOpenCL's arrays become tensors by DLPack, and tensors its arrays, in the order of PyOpenCL's queue, and
without a copy where the strides are row-major.

PyOpenCL has no DLPack: its cl_mem, offset and strides fill the struct here.

    opencl.py LIBRARY    the path of libgantry.so; exit code 77 without PyOpenCL
"""

import ctypes
import sys

try:
    import numpy as np
    import pyopencl as cl
    import pyopencl.array
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from library import ADDRESS, TYPES, Gantry, from_options, refused, to_options

KDL_OPENCL = 4
CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
DELETER = ctypes.CFUNCTYPE(None, ADDRESS)


class Native(ctypes.Structure):  # gantry_native_t
    _fields_ = [("struct_size", ctypes.c_uint32), ("is_adopted", ctypes.c_bool), ("backend", ctypes.c_char_p),
                ("context", ADDRESS), ("device", ADDRESS), ("queue", ADDRESS)]


class DeviceMemory(ctypes.Structure):  # gantry_device_memory_t
    _fields_ = [("struct_size", ctypes.c_uint32), ("device", ADDRESS), ("memory", ADDRESS),
                ("offset_bytes", ctypes.c_uint64), ("size_bytes", ctypes.c_uint64)]


class Versioned(ctypes.Structure):  # DLManagedTensorVersioned
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager_ctx", ADDRESS), ("deleter", ADDRESS),
                ("flags", ctypes.c_uint64), ("data", ADDRESS), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ADDRESS), ("strides", ADDRESS),
                ("byte_offset", ctypes.c_uint64)]


class Producer:
    """PyOpenCL's array as a struct, which holds it until the deleter is called."""

    def __init__(self, array):
        self.array, self.deleted = array, 0
        self.shape = (ctypes.c_int64 * 8)(*array.shape)
        self.strides = (ctypes.c_int64 * 8)(*(stride // array.dtype.itemsize for stride in array.strides))
        self.delete = DELETER(self.count)
        self.managed = Versioned(1, 3, None, ctypes.cast(self.delete, ADDRESS), 0, array.base_data.int_ptr, KDL_OPENCL, 0,
                                 array.ndim, CODES[array.dtype.kind], array.dtype.itemsize * 8, 1,
                                 ctypes.addressof(self.shape), ctypes.addressof(self.strides), array.offset)

    def count(self, _):
        self.deleted += 1

    def take(self, gantry, **options):
        return gantry.made(gantry.library.gantry_tensor_from_dlpack(
            gantry.scope, ctypes.byref(self.managed), from_options(stream=self.array.queue.int_ptr, **options)))


def give(gantry, tensor, queue, dtype):
    """The tensor as an array of PyOpenCL, and its struct."""
    managed = ctypes.POINTER(Versioned)()
    gantry.check(gantry.library.gantry_tensor_to_dlpack(tensor, to_options(stream=queue.int_ptr), ctypes.byref(managed)))
    given = managed.contents
    assert given.device_type == KDL_OPENCL and given.device_id == 0 and given.flags == 1, "another device, or writable"
    memory = cl.MemoryObject.from_int_ptr(given.data, retain=True)
    shape = tuple((ctypes.c_int64 * given.ndim).from_address(given.shape))
    return cl.array.Array(queue, shape, dtype, data=memory, offset=given.byte_offset), given


def delete(gantry, given):
    DELETER(given.deleter)(ctypes.addressof(given))


def place(gantry, tensor):
    memory = DeviceMemory(ctypes.sizeof(DeviceMemory))
    gantry.check(gantry.library.gantry_tensor_get_device_memory(tensor, ctypes.byref(memory)))
    return memory.memory, memory.offset_bytes


def values(dtype):
    if dtype == "bool":
        return (np.arange(60) % 3 == 1).reshape(3, 4, 5)
    size = TYPES[dtype][1]
    return (np.arange(60 * size, dtype=np.uint64) * 37 + 11).astype(np.uint8).view(dtype).reshape(3, 4, 5)


def check_type(gantry, queue, dtype):
    host = values(dtype)
    whole = cl.array.to_device(queue, host)
    cases = [("whole", whole, host, True), ("row", whole[1], host[1], True), ("rows", whole[:, 1:3], host[:, 1:3], False),
             ("transposed", whole.T, host.T, False), ("every second", whole[::2], host[::2], False)]
    for name, array, expected, is_row_major in cases:
        what = f"{dtype}, {name}"
        producer = Producer(array)
        if is_row_major:
            tensor = producer.take(gantry, requires_no_copy=True)
            assert place(gantry, tensor) == (array.base_data.int_ptr, array.offset), f"{what}: copied"
        else:
            refused(lambda: producer.take(gantry, requires_no_copy=True), "strides are not those of row-major")
            tensor = producer.take(gantry)
        back, given = give(gantry, tensor, queue, host.dtype)
        assert back.get().tobytes() == expected.tobytes(), f"{what}: other bytes in PyOpenCL"
        gantry.expect(tensor, dtype, expected.shape, expected.tobytes(), what)
        gantry.renew()
        assert back.get().tobytes() == expected.tobytes(), f"{what}: lost with the scope"
        del back
        delete(gantry, given)
        queue.finish()  # the deleter's event is of this queue, for which Gantry does not wait
        gantry.check(gantry.library.gantry_runtime_synchronize(gantry.runtime))
        assert producer.deleted == 1, f"{what}: deleted {producer.deleted} times"


def check_order(gantry, queue):
    """PyOpenCL computes, then Gantry, then PyOpenCL, without a wait in between."""
    host = np.arange(100000, dtype=np.float32)
    for _ in range(20):
        first = cl.array.to_device(queue, host) * np.float32(2)
        producer = Producer(first)
        tensor = producer.take(gantry, requires_no_copy=True)
        total = gantry.made(gantry.library.gantry_add(gantry.scope, tensor, tensor))
        array, given = give(gantry, total, queue, host.dtype)
        last = array + np.float32(1)
        delete(gantry, given)
        gantry.renew()
        assert (last.get() == host * 4 + 1).all(), "out of order"
        queue.finish()
        gantry.check(gantry.library.gantry_runtime_synchronize(gantry.runtime))
        assert producer.deleted == 1


def main():
    gantry = Gantry(sys.argv[1], b"/GPU:0")
    gantry.library.gantry_add.restype = ADDRESS
    device, native = ADDRESS(), Native(ctypes.sizeof(Native))
    gantry.check(gantry.library.gantry_find_logical_device(gantry.runtime, b"GPU:0", ctypes.byref(device)))
    gantry.check(gantry.library.gantry_device_get_native(device, ctypes.byref(native)))
    context = cl.Context.from_int_ptr(native.context, retain=True)
    queue = cl.CommandQueue(context, cl.Device.from_int_ptr(native.device, retain=True))
    for dtype in TYPES:
        check_type(gantry, queue, dtype)
    check_order(gantry, queue)
    other = cl.Context([queue.device])
    stranger = Producer(cl.array.to_device(cl.CommandQueue(other), np.zeros(4, np.float32)))
    refused(lambda: stranger.take(gantry), "of another context")
    assert stranger.deleted == 0
    print(f"PyOpenCL {cl.VERSION_TEXT} on {queue.device.name.strip()}: {len(TYPES)} types, in and out without a copy")
    gantry.renew()
    del queue, context
    gantry.close()


main()
