#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: Arrays of NumPy, TensorFlow and PyTorch become tensors by DLPack, and tensors become theirs, with all bytes,
for each type that both have.
Promise: Rows, transposed, reversed and repeated elements of NumPy and PyTorch arrive in their order, in place where they
are row-major.
Promise: TensorFlow computes with tensors of any size that it gets.
Promise: A capsule that is used twice is refused, one that is freed early or never used frees what it must, and no array
is held too long.

    dlpack.py LIBRARY    the path of libgantry.so; exit code 77 without NumPy
"""

import gc
import sys
import warnings

try:
    import numpy as np
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from library import OLD, SMALL, TYPES, VERSIONED, Exported, Gantry, from_options, refused, to_options

NO_COPY = from_options(requires_no_copy=True)
COPY = to_options(copies=True)
VERSION = {"max_version": (1, 1)}


def values(dtype, shape=(2, 3, 4)):
    """Every byte differs where the type has more than two values."""
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "bool":
        return (np.arange(count) % 3 == 1).reshape(shape)
    size = TYPES[dtype][1]
    data = (np.arange(count * size, dtype=np.uint64) * 37 + 11).astype(np.uint8)
    return data.view(dtype).reshape(shape)


def layouts(array):
    """[(name, array of three dimensions or less, whether it is row-major)]"""
    yield "whole", array, True
    yield "rows", array[:, :, 1:3], False
    yield "row", array[1, 2], True
    yield "transposed", array.permute(2, 0, 1) if hasattr(array, "permute") else array.transpose(2, 0, 1), False
    yield "every second", array[:, ::2], False
    yield "one element", array[1, 1, 1], True
    yield "scalar", array[1:, 1:2, 1:2].reshape(()), True
    yield "single rows", array[:1], True


def numpy_layouts(array):
    yield from layouts(array)
    yield "reversed", array[::-1, :, ::-1], False
    yield "repeated", np.broadcast_to(array[:, :1], array.shape), False


def check_numpy(gantry, dtype):
    source = values(dtype)
    for name, array, is_row_major in numpy_layouts(source):
        what = f"NumPy, {dtype}, {name}"
        if not isinstance(array, np.ndarray):
            array = np.asarray(array)  # a scalar of NumPy
        if is_row_major:
            holders = sys.getrefcount(array)
            tensor = gantry.take(array.__dlpack__(**VERSION), options=NO_COPY)
            assert gantry.address(tensor) == array.ctypes.data, f"{what}: copied"
            assert sys.getrefcount(array) > holders, f"{what}: not held"
        else:
            refused(lambda: gantry.take(array.__dlpack__(**VERSION), options=NO_COPY), "strides are not those of row-major")
            tensor = gantry.take(array.__dlpack__(**VERSION))
        gantry.expect(tensor, dtype, array.shape, array.tobytes(), what)
        back = np.from_dlpack(Exported(gantry, tensor))
        assert back.dtype == array.dtype and back.shape == array.shape, what
        assert back.tobytes() == array.tobytes() and not back.flags.writeable, f"{what}: other bytes or writable"
        assert not is_row_major or back.ctypes.data == array.ctypes.data, f"{what}: copied on the way back"
        gantry.renew()
        assert back.tobytes() == array.tobytes(), f"{what}: lost with the scope"
        del back
        assert not is_row_major or sys.getrefcount(array) == holders, f"{what}: still held"
    for shape in ((0,), (2, 0, 3)):
        empty = np.empty(shape, dtype)
        tensor = gantry.take(empty.__dlpack__(**VERSION))
        gantry.expect(tensor, dtype, shape, b"", f"NumPy, {dtype}, {shape}")
        assert np.from_dlpack(Exported(gantry, tensor)).shape == shape
    gantry.renew()


def check_flags(gantry):
    """Arrays are written to only if they are copies for the consumer."""
    array = values("float32")
    assert not gantry.memory(gantry.take(array.__dlpack__(**VERSION))).is_writable
    array.flags.writeable = False
    assert not gantry.memory(gantry.take(array.__dlpack__(**VERSION))).is_writable
    assert gantry.memory(gantry.take(array.__dlpack__(copy=True, **VERSION))).is_writable
    tensor = gantry.take(array.__dlpack__(**VERSION))
    assert np.from_dlpack(Exported(gantry, tensor, COPY)).flags.writeable
    gantry.renew()


def check_capsules(gantry):
    """Used twice, freed early, never used."""
    array = values("float32")
    holders = sys.getrefcount(array)
    capsule = array.__dlpack__(**VERSION)
    tensor = gantry.take(capsule)
    refused(lambda: gantry.take(capsule), "PyCapsule_GetPointer called with incorrect name")
    given = gantry.give(tensor)
    gantry.take(given)
    refused(lambda: gantry.take(given), "PyCapsule_GetPointer called with incorrect name")
    del capsule, given
    gantry.renew()
    assert sys.getrefcount(array) == holders, "used twice: still held"
    # a consumer that forgets to rename the capsule, and takes it again
    import ctypes
    from library import pointer_of
    capsule = array.__dlpack__(**VERSION)
    managed = ctypes.c_void_p(pointer_of(capsule, VERSIONED))
    take = gantry.library.gantry_tensor_from_dlpack
    tensor = gantry.made(take(gantry.scope, managed, None))
    refused(lambda: gantry.made(take(gantry.scope, managed, None)), "was taken before, and a tensor uses it")
    del capsule  # deletes what the tensor uses
    assert sys.getrefcount(array) > holders, "freed early"
    gantry.expect(tensor, "float32", array.shape, array.tobytes(), "freed early")
    gantry.renew()
    assert sys.getrefcount(array) == holders, "freed early: still held"
    tensor = gantry.take(array.__dlpack__(**VERSION))
    unused = gantry.give(tensor), gantry.give(tensor, OLD, COPY)
    gantry.renew()
    assert sys.getrefcount(array) > holders, "not held by a capsule"
    del unused
    assert sys.getrefcount(array) == holders, "held by a capsule that is gone"


def check_tensorflow(gantry, tf, dtype):
    # TensorFlow's own capsules are of the old form.
    for shape in ((2, 3, 4), (), (0, 3)):
        what = f"TensorFlow, {dtype}, {shape}"
        if dtype in SMALL:
            source = tf.cast(tf.reshape(tf.range(int(np.prod(shape)), dtype=tf.float32), shape), dtype)
        else:
            source = tf.constant(values(dtype, shape))
        data = source.numpy().tobytes()
        tensor = gantry.take(tf.experimental.dlpack.to_dlpack(source), OLD)
        gantry.expect(tensor, dtype, shape, data, what)
        given = tf.experimental.dlpack.from_dlpack(gantry.give(tensor, OLD, COPY))
        gantry.renew()
        assert given.dtype == source.dtype and given.shape == source.shape, what
        assert given.numpy().tobytes() == data, f"{what}: other bytes in TensorFlow"
        assert tf.stack([given, given]).numpy().tobytes() == data * 2, f"{what}: other bytes after an op"


def check_tensorflow_ops(gantry, tf):
    """TensorFlow ends the process at an op on elements that are not aligned."""
    for count in [*range(1, 40), 1000, 4099]:
        ones = gantry.take(np.ones(count, "float32").__dlpack__(**VERSION))
        given = tf.experimental.dlpack.from_dlpack(gantry.give(ones, OLD, COPY))
        assert float(tf.reduce_sum(tf.add(given, given))) == 2 * count, f"TensorFlow, {count} ones"
        gantry.renew()


def torch_bytes(torch, tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def check_torch(gantry, torch, dtype):
    size = (TYPES.get(dtype) or SMALL[dtype])[1]
    memory = values("uint8" if dtype != "bool" else "bool", (2, 3, 4 * size))  # which PyTorch's tensor holds
    holders = sys.getrefcount(memory)
    whole = torch.from_numpy(memory).view(getattr(torch, dtype))
    cases = list(layouts(whole))
    cases.append(("repeated", whole[:, :1].expand(2, 3, 4), False))
    cases.append(("empty", whole[:, :0], True))
    for name, source, is_row_major in cases:
        what = f"PyTorch, {dtype}, {name}"
        data, shape = torch_bytes(torch, source), tuple(source.shape)
        for version, capsule in ((VERSIONED, source.__dlpack__(**VERSION)), (OLD, source.__dlpack__())):
            tensor = gantry.take(capsule, version, NO_COPY if is_row_major and data else None)
            assert not (is_row_major and data) or gantry.address(tensor) == source.data_ptr(), f"{what}: copied"
            gantry.expect(tensor, dtype, shape, data, what)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch has no read-only tensors
            back = torch.from_dlpack(Exported(gantry, tensor))
        gantry.renew()
        assert back.dtype == source.dtype and tuple(back.shape) == shape, what
        assert torch_bytes(torch, back) == data, f"{what}: other bytes in PyTorch"
        assert not (is_row_major and data) or back.data_ptr() == source.data_ptr(), f"{what}: copied on the way back"
        del back, capsule
    del whole, cases, source
    gc.collect()
    assert sys.getrefcount(memory) == holders, f"PyTorch, {dtype}: still held"


def library(name):
    try:
        return __import__(name)
    except ImportError as error:
        print(f"{name} is left out: {error}")


def main():
    gantry = Gantry(sys.argv[1])
    for dtype in TYPES:
        check_numpy(gantry, dtype)
    check_flags(gantry)
    check_capsules(gantry)
    print(f"NumPy {np.__version__}: {len(TYPES)} types, in and out without a copy")
    tf = library("tensorflow")
    if tf:
        types = list(TYPES) + ["bfloat16"]
        for dtype in types:
            check_tensorflow(gantry, tf, dtype)
        check_tensorflow_ops(gantry, tf)
        print(f"TensorFlow {tf.__version__}: {len(types)} types, in without a copy, out as one")
    torch = library("torch")
    if torch:
        types = list(TYPES) + list(SMALL)
        for dtype in types:
            check_torch(gantry, torch, dtype)
        print(f"PyTorch {torch.__version__}: {len(types)} types, in and out without a copy")
    gantry.close()


main()
