# SPDX-License-Identifier: Apache-2.0
"""The few functions of libgantry.so that the cases need, through ctypes. Not a binding for programs.

A result is kept by its scope until drop; a failed call raises GantryError with the scope's message.
"""

import ctypes
import functools

import numpy as np

DTYPES = {"float32": 1, "float64": 2, "int32": 3, "int64": 9, "bool": 10}  # gantry_dtype_t
NAMES = {number: name for name, number in DTYPES.items()}
ADDRESS = ctypes.c_void_p
MAX_RANK = 8


class GantryError(Exception):
    pass


class Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * MAX_RANK)]

    @classmethod
    def of(cls, dims):
        return cls(len(dims), (ctypes.c_int64 * MAX_RANK)(*dims))


class Sized(ctypes.Structure):
    """A struct whose first field is its size, so that the library leaves fields behind it at their defaults."""

    def __init__(self, **values):
        super().__init__(struct_size=ctypes.sizeof(self), **values)


class WindowOptions(Sized):
    """gantry_window_options_t; padding 1: the window stays inside"""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("strides", ctypes.c_int64 * 2),
        ("dilations", ctypes.c_int64 * 2),
        ("padding", ctypes.c_int),
        ("explicit_paddings", ctypes.c_int64 * 4),
        ("channels_first", ctypes.c_bool),
    ]


class ReduceOptions(Sized):
    """gantry_reduce_options_t"""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("axes", ctypes.POINTER(ctypes.c_int32)),
        ("axis_count", ctypes.c_size_t),
        ("keep_dims", ctypes.c_bool),
    ]

    @classmethod
    def last(cls):
        """over the last axis, which stays with size 1"""
        return cls(axes=(ctypes.c_int32 * 1)(-1), axis_count=1, keep_dims=True)


class InputSpec(ctypes.Structure):
    """gantry_input_spec_t"""

    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("shape", Shape)]


class Refusal(ctypes.Structure):
    """an entry of refusals in gantry_placement_record_t"""

    _fields_ = [("device", ctypes.c_char * 128), ("why", ctypes.c_int)]


class PlacementRecord(Sized):
    """gantry_placement_record_t"""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reason", ctypes.c_int),
        ("sequence", ctypes.c_uint64),
        ("op", ctypes.c_char * 48),
        ("dtype", ctypes.c_int),
        ("asked", ctypes.c_char * 256),
        ("device", ctypes.c_char * 128),
        ("kernel", ctypes.c_char * 32),
        ("bytes_copied", ctypes.c_uint64),
        ("refusal_count", ctypes.c_uint32),
        ("refusals", Refusal * 8),
        ("part_of", ctypes.c_char * 48),
    ]


class Attr(ctypes.Structure):
    """gantry_attr_value_t"""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("i", ctypes.c_int64),
        ("f", ctypes.c_double),
        ("s", ctypes.c_char_p),
        ("list", ctypes.POINTER(ctypes.c_int64)),
    ]

    @classmethod
    def of(cls, name, value):
        name = name.encode()
        if isinstance(value, bool):
            return cls(name, 1, i=value)
        if isinstance(value, int):
            return cls(name, 2, i=value)
        if isinstance(value, float):
            return cls(name, 3, f=value)
        if isinstance(value, np.dtype):
            return cls(name, 4, i=DTYPES[value.name])
        if isinstance(value, list):
            return cls(name, 6, i=len(value), list=(ctypes.c_int64 * len(value))(*value))
        return cls(name, 7, s=value.encode())


MAX_OUTPUTS = 64
NEWEST = 16  # records of placements that are read
BODY = ctypes.CFUNCTYPE(None, ADDRESS, ctypes.POINTER(ADDRESS), ctypes.POINTER(ADDRESS), ADDRESS)
I32, I64, F64, BOOL = ctypes.c_int32, ctypes.c_int64, ctypes.c_double, ctypes.c_bool
# of the arguments after the scope
OPS = {
    "add": [ADDRESS, ADDRESS],
    "mul": [ADDRESS, ADDRESS],
    "relu": [ADDRESS],
    "tanh": [ADDRESS],
    "exp": [ADDRESS],
    "erf": [ADDRESS],
    "sin": [ADDRESS],
    "log": [ADDRESS],
    "scalar_f32": [ctypes.c_float],
    "sum": [ADDRESS, ADDRESS],
    "max": [ADDRESS, ADDRESS],
    "mean": [ADDRESS, ADDRESS],
    "sub": [ADDRESS, ADDRESS],
    "div": [ADDRESS, ADDRESS],
    "square": [ADDRESS],
    "rsqrt": [ADDRESS],
    "matmul": [ADDRESS, ADDRESS, ADDRESS],
    "conv1d": [ADDRESS, ADDRESS, ADDRESS],
    "conv2d": [ADDRESS, ADDRESS, ADDRESS],
    "max_pool1d": [ADDRESS, I64, ADDRESS],
    "max_pool2d": [ADDRESS, I64, I64, ADDRESS],
    "reshape": [ADDRESS, Shape],
    "sort": [ADDRESS, I32, BOOL],
    "top_k": [ADDRESS, I32, ADDRESS],
    "gather": [ADDRESS, ADDRESS, I32],
    "transpose": [ADDRESS, ADDRESS],
    "cumsum": [ADDRESS, I32, ADDRESS],
    "scatter_nd": [ADDRESS, ADDRESS, Shape],
    "segment_sum": [ADDRESS, ADDRESS],
    "bincount": [ADDRESS, I32, ADDRESS],
    "unique": [ADDRESS, ADDRESS, ADDRESS],
    "softmax": [ADDRESS],
    "layer_norm": [ADDRESS, ADDRESS, ADDRESS, I32, F64],
    "batch_norm": [ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, F64],
    "bias_add": [ADDRESS, ADDRESS],
    "select": [ADDRESS, ADDRESS, ADDRESS],
    "cast": [ADDRESS, ctypes.c_int],
    "constant": [ctypes.c_int, Shape, ADDRESS, ctypes.c_size_t],
}
OTHERS = {  # name: (result, arguments)
    "moments": (ctypes.c_int, [ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS]),
    "runtime_create": (ctypes.c_int, [ADDRESS, ADDRESS]),
    "device_begin": (ctypes.c_int, [ADDRESS, ctypes.c_char_p]),
    "device_end": (ctypes.c_int, [ADDRESS]),
    "runtime_synchronize": (ctypes.c_int, [ADDRESS]),
    "scope_begin": (ADDRESS, [ADDRESS, ctypes.c_char_p]),
    "scope_status": (ctypes.c_int, [ADDRESS]),
    "scope_message": (ctypes.c_char_p, [ADDRESS]),
    "last_message": (ctypes.c_char_p, []),
    "scope_clear": (None, [ADDRESS]),
    "tensor_drop": (None, [ADDRESS, ADDRESS]),
    "tensor_wait": (ctypes.c_int, [ADDRESS]),
    "tensor_read": (ctypes.c_int, [ADDRESS, ADDRESS, ctypes.c_size_t]),
    "tensor_dtype": (ctypes.c_int, [ADDRESS]),
    "tensor_shape": (ctypes.POINTER(Shape), [ADDRESS]),
    "version": (ctypes.c_char_p, []),
    "get_placements": (ctypes.c_int, [ADDRESS, ctypes.c_size_t, ADDRESS, ADDRESS]),
    "function_trace": (
        ctypes.c_int,
        [ADDRESS, ctypes.c_char_p, BODY, ADDRESS, ADDRESS, ctypes.c_size_t, ctypes.c_size_t, ADDRESS, ADDRESS],
    ),
    "function_call": (ctypes.c_int, [ADDRESS, ADDRESS, ADDRESS, ctypes.c_size_t, ADDRESS, ctypes.c_size_t]),
    "op_call": (
        ctypes.c_int,
        [ADDRESS, ctypes.c_char_p, ADDRESS, ctypes.c_size_t, ADDRESS, ctypes.c_size_t, ADDRESS, ADDRESS],
    ),
}


class Gantry:
    """One runtime with its settings from the environment, and one scope on a device."""

    def __init__(self, library, device):
        self.library = ctypes.CDLL(library)
        for name, (result, arguments) in OTHERS.items():
            self._declare(name, result, arguments)
        for name, arguments in OPS.items():
            self._declare(name, ADDRESS, [ADDRESS, *arguments])
        runtime, self.device, self.asked = ADDRESS(), device.encode(), 0
        if self.library.gantry_runtime_create(None, ctypes.byref(runtime)) != 0:
            raise GantryError(self.last_message())
        self.scope = self.library.gantry_scope_begin(runtime, self.device)
        if not self.scope:
            raise GantryError(self.last_message())
        self.runtime = runtime
        self.check(self.library.gantry_scope_status(self.scope) == 0)

    def _declare(self, name, result, arguments):
        function = getattr(self.library, "gantry_" + name)
        function.restype, function.argtypes = result, arguments

    def last_message(self):
        return self.library.gantry_last_message().decode()

    def check(self, is_good):
        if is_good:
            return
        message = self.library.gantry_scope_message(self.scope).decode() or self.last_message()
        self.library.gantry_scope_clear(self.scope)
        raise GantryError(message)

    def op(self, name):
        """The op's function without its scope, for calls in which each microsecond counts: gives 0 after a failure."""
        return functools.partial(getattr(self.library, "gantry_" + name), self.scope)

    def call(self, name, inputs, attrs):
        """-> a function that runs the op, waits for its results and drops them"""
        tensors = (ADDRESS * len(inputs))(*inputs)
        values = (Attr * len(attrs))(*(Attr.of(*item) for item in attrs.items()))
        outputs, count = (ADDRESS * MAX_OUTPUTS)(), ctypes.c_size_t()
        library, scope = self.library, self.scope
        arguments = (
            scope,
            name.encode(),
            tensors,
            len(inputs),
            values,
            len(attrs),
            outputs,
            ctypes.byref(count),
        )

        def call():
            count.value = MAX_OUTPUTS
            self.check(library.gantry_op_call(*arguments) == 0)
            made = outputs[: count.value]
            for tensor in made:
                self.check(library.gantry_tensor_wait(tensor) == 0)
            for tensor in made:
                library.gantry_tensor_drop(scope, tensor)

        return call

    def function(self, build, inputs):
        """build: (op, tensors) -> tensor, where op(name) is an op's function -> a function that calls it as a Gantry
        function, with other inputs of their types and shapes where they are given, and gives the result's address"""

        def body(scope, given, results, user):
            self.library.gantry_device_begin(scope, self.device)
            results[0] = build(
                lambda name: functools.partial(getattr(self.library, "gantry_" + name), scope),
                [given[i] for i in range(len(inputs))],
            )
            self.library.gantry_device_end(scope)

        self.bodies = [*getattr(self, "bodies", []), BODY(body)]  # they live as long as their functions
        specs = (InputSpec * len(inputs))(
            *(
                InputSpec(None, self.library.gantry_tensor_dtype(t), self.library.gantry_tensor_shape(t).contents)
                for t in inputs
            )
        )
        function, tensors, output = ADDRESS(), (ADDRESS * len(inputs))(*inputs), ADDRESS()
        traced = self.library.gantry_function_trace(
            self.runtime, b"case", self.bodies[-1], None, specs, len(inputs), 1, None, ctypes.byref(function)
        )
        self.check(traced == 0)
        arguments = (self.scope, function, tensors, len(inputs), ctypes.byref(output), 1)
        run = self.library.gantry_function_call

        def call(*others):
            tensors[: len(others)] = others
            return None if run(*arguments) else output.value

        return call

    def new_parts(self, composed):
        """{op: the source of its kernel} of the ops that ran a composed op since the last question"""
        records, count = (PlacementRecord * NEWEST)(), ctypes.c_size_t()
        records[0].struct_size = ctypes.sizeof(PlacementRecord)
        self.check(self.library.gantry_get_placements(self.runtime, NEWEST, records, ctypes.byref(count)) == 0)
        new = [record for record in records[: count.value] if record.sequence > self.asked]
        self.asked = max([self.asked, *(record.sequence for record in new)])
        return {r.op.decode(): r.kernel.decode() for r in new if r.part_of.decode() == composed}

    def put(self, array):
        array = np.asarray(array, order="C")  # a scalar stays one
        return self.keep(
            self.op("constant")(DTYPES[array.dtype.name], Shape.of(array.shape), array.ctypes.data, array.nbytes)
        )

    def keep(self, tensor):
        self.check(tensor)
        return tensor

    def drop(self, tensor):
        self.library.gantry_tensor_drop(self.scope, tensor)

    def shape(self, tensor):
        shape = self.library.gantry_tensor_shape(tensor).contents
        return tuple(shape.dims[: shape.rank])

    def read(self, tensor):
        out = np.empty(self.shape(tensor), NAMES[self.library.gantry_tensor_dtype(tensor)])
        self.check(self.library.gantry_tensor_read(tensor, out.ctypes.data, out.nbytes) == 0)
        return out
