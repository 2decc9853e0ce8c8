# SPDX-License-Identifier: Apache-2.0
"""Gantry's calls for DLPack by ctypes, and Python's capsules, for the programs of this folder."""

import ctypes

ADDRESS = ctypes.c_void_p
VERSIONED, OLD = b"dltensor_versioned", b"dltensor"
USED = {VERSIONED: ctypes.c_char_p(b"used_dltensor_versioned"), OLD: ctypes.c_char_p(b"used_dltensor")}
NAME = {VERSIONED: ctypes.c_char_p(VERSIONED), OLD: ctypes.c_char_p(OLD)}  # a capsule keeps the address of its name
# gantry_dtype_t and the size of an element, as in gantry/abi_types.h
TYPES = {"bool": (10, 1), "int8": (6, 1), "int16": (5, 2), "int32": (3, 4), "int64": (9, 8), "uint8": (4, 1),
         "uint16": (17, 2), "uint32": (22, 4), "uint64": (23, 8), "float16": (19, 2), "float32": (1, 4),
         "float64": (2, 8), "complex64": (8, 8), "complex128": (18, 16)}
SMALL = {"bfloat16": (14, 2), "float8_e5m2": (24, 1), "float8_e4m3fn": (25, 1)}  # NumPy has none of these


class FromOptions(ctypes.Structure):  # gantry_from_dlpack_options_t
    _fields_ = [("struct_size", ctypes.c_uint32), ("requires_no_copy", ctypes.c_bool), ("device", ADDRESS),
                ("stream", ADDRESS)]


class ToOptions(ctypes.Structure):  # gantry_to_dlpack_options_t
    _fields_ = [("struct_size", ctypes.c_uint32), ("copies", ctypes.c_bool), ("stream", ADDRESS)]


class Shape(ctypes.Structure):  # gantry_shape_t
    _fields_ = [("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * 8)]


class Memory(ctypes.Structure):  # gantry_tensor_memory_t
    _fields_ = [("struct_size", ctypes.c_uint32), ("is_foreign", ctypes.c_bool), ("is_writable", ctypes.c_bool),
                ("is_mappable", ctypes.c_bool), ("map_count", ctypes.c_uint32)]


def from_options(**fields):
    return ctypes.byref(FromOptions(ctypes.sizeof(FromOptions), **fields))


def to_options(**fields):
    return ctypes.byref(ToOptions(ctypes.sizeof(ToOptions), **fields))


def python_api(name, result, *arguments):
    function = ctypes.pythonapi[name]  # an object of its own
    function.restype, function.argtypes = result, list(arguments)
    return function


new_capsule = python_api("PyCapsule_New", ctypes.py_object, ADDRESS, ctypes.c_char_p, ADDRESS)
pointer_of = python_api("PyCapsule_GetPointer", ADDRESS, ctypes.py_object, ctypes.c_char_p)
rename = python_api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
is_valid = python_api("PyCapsule_IsValid", ctypes.c_int, ADDRESS, ctypes.c_char_p)
pointer_at = python_api("PyCapsule_GetPointer", ADDRESS, ADDRESS, ctypes.c_char_p)


@ctypes.CFUNCTYPE(None, ADDRESS)
def delete_unused(capsule):
    """A capsule that nobody consumed calls the deleter of its struct."""
    for name, place in ((VERSIONED, 16), (OLD, 56)):
        if is_valid(capsule, name):
            managed = pointer_at(capsule, name)
            deleter = ADDRESS.from_address(managed + place).value
            ctypes.CFUNCTYPE(None, ADDRESS)(deleter)(managed)


class Gantry:
    """A runtime and a scope, whose tensors end with renew. Python's lock is held in every call."""

    def __init__(self, path, device=b"/CPU:0", options=None):
        self.library = ctypes.PyDLL(path)
        self.device = device
        for name in ("gantry_scope_begin", "gantry_tensor_from_dlpack", "gantry_tensor_from_dlpack_unversioned",
                     "gantry_tensor_from_exchange"):
            getattr(self.library, name).restype = ADDRESS
        for name in ("gantry_last_message", "gantry_scope_message"):
            getattr(self.library, name).restype = ctypes.c_char_p
        self.library.gantry_tensor_shape.restype = ctypes.POINTER(Shape)
        self.runtime = ADDRESS()
        self.check(self.library.gantry_runtime_create(options, ctypes.byref(self.runtime)))
        self.scope = ADDRESS(self.library.gantry_scope_begin(self.runtime, self.device))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.gantry_last_message().decode())

    def made(self, tensor):
        """The tensor that a call of the scope returned."""
        if not tensor:
            message = self.library.gantry_scope_message(self.scope).decode()
            self.library.gantry_scope_clear(self.scope)
            raise RuntimeError(message)
        return ADDRESS(tensor)

    def take(self, capsule, name=VERSIONED, options=None):
        call = "gantry_tensor_from_dlpack" + ("" if name == VERSIONED else "_unversioned")
        tensor = self.made(getattr(self.library, call)(self.scope, ADDRESS(pointer_of(capsule, name)), options))
        rename(capsule, USED[name])
        return tensor

    def give(self, tensor, name=VERSIONED, options=None):
        managed = ADDRESS()
        call = "gantry_tensor_to_dlpack" + ("" if name == VERSIONED else "_unversioned")
        self.check(getattr(self.library, call)(tensor, options, ctypes.byref(managed)))
        return new_capsule(managed, NAME[name], ctypes.cast(delete_unused, ADDRESS))

    def address(self, tensor):
        data = ADDRESS()
        self.check(self.library.gantry_tensor_map(tensor, ctypes.byref(data)))
        self.check(self.library.gantry_tensor_unmap(tensor))
        return data.value

    def memory(self, tensor):
        memory = Memory(ctypes.sizeof(Memory))
        self.check(self.library.gantry_get_tensor_memory(tensor, ctypes.byref(memory)))
        return memory

    def shape(self, tensor):
        shape = self.library.gantry_tensor_shape(tensor).contents
        return tuple(shape.dims[: shape.rank])

    def bytes(self, tensor, size):
        data = ctypes.create_string_buffer(max(size, 1))
        self.check(self.library.gantry_tensor_read(tensor, data, ctypes.c_size_t(size)))
        return data.raw[:size]

    def expect(self, tensor, dtype, shape, data, what):
        """The tensor has this type, this shape and these bytes."""
        number, _ = TYPES.get(dtype) or SMALL[dtype]
        assert self.library.gantry_tensor_dtype(tensor) == number, f"{what}: another type"
        assert self.shape(tensor) == tuple(shape), f"{what}: shape {self.shape(tensor)}, not {tuple(shape)}"
        assert self.bytes(tensor, len(data)) == data, f"{what}: other bytes"

    def renew(self):
        self.check(self.library.gantry_scope_end(self.scope))
        self.scope = ADDRESS(self.library.gantry_scope_begin(self.runtime, self.device))

    def close(self):
        self.check(self.library.gantry_scope_end(self.scope))
        self.library.gantry_runtime_release(self.runtime)


class Exported:
    """A tensor as an object of the array standard."""

    def __init__(self, gantry, tensor, options=None):
        self.gantry, self.tensor, self.options = gantry, tensor, options

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, max_version=None, **_):
        if max_version is not None and max_version[0] >= 1:
            return self.gantry.give(self.tensor, VERSIONED, self.options)
        return self.gantry.give(self.tensor, OLD, to_options(copies=True))


def refused(call, text):
    """The call raises an error with this text."""
    try:
        call()
    except Exception as error:
        assert text in str(error), f"not '{text}' but: {error}"
    else:
        raise AssertionError(f"accepted, where '{text}' is expected")
