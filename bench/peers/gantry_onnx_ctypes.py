# SPDX-License-Identifier: Apache-2.0
"""The few functions of libgantry_onnx.so that the cases of models need, through ctypes. Not a binding for programs."""

import ctypes
import os

from gantry_ctypes import ADDRESS, BOOL, GantryError, Shape, Sized


class Value(Sized):
    """gantry_onnx_value_t"""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int),
        ("shape", Shape),
        ("dim_names", ADDRESS),
        ("is_optional", BOOL),
    ]


class Model:
    """A loaded model and its inputs: () runs it and gives its outputs, timed() waits for them and drops them."""

    def __init__(self, gantry, path, inputs):
        self.gantry = gantry
        self.library = library = ctypes.CDLL(os.path.join(os.environ["GANTRY_BUILD"], "lib", "libgantry_onnx.so"))
        size = ctypes.c_size_t
        library.gantry_onnx_model_load.argtypes = [ADDRESS, ctypes.c_char_p, ADDRESS, ADDRESS]
        library.gantry_onnx_model_run.argtypes = [ADDRESS, ADDRESS, ADDRESS, size, ADDRESS, size]
        library.gantry_onnx_model_get_input.argtypes = [ADDRESS, size, ADDRESS]
        library.gantry_onnx_model_release.argtypes, library.gantry_onnx_model_release.restype = [ADDRESS], None
        for name in ("input_count", "output_count"):
            function = getattr(library, "gantry_onnx_model_" + name)
            function.argtypes, function.restype = [ADDRESS], size
        self.model = ADDRESS()
        if library.gantry_onnx_model_load(gantry.runtime, path.encode(), None, ctypes.byref(self.model)):
            raise GantryError(gantry.last_message())
        given = iter(inputs)
        slots = [None if self.is_optional(i) else next(given) for i in range(self.count("input"))]
        self.inputs = (ADDRESS * len(slots))(*slots)
        self.outputs = (ADDRESS * self.count("output"))()

    def __del__(self):
        self.library.gantry_onnx_model_release(self.model)

    def count(self, what):
        return getattr(self.library, f"gantry_onnx_model_{what}_count")(self.model)

    def is_optional(self, index):
        value = Value()
        if self.library.gantry_onnx_model_get_input(self.model, index, ctypes.byref(value)):
            raise GantryError(self.gantry.last_message())
        return value.is_optional

    def __call__(self):
        outputs, inputs = self.outputs, self.inputs
        run = self.library.gantry_onnx_model_run
        self.gantry.check(run(self.model, self.gantry.scope, inputs, len(inputs), outputs, len(outputs)) == 0)
        return list(outputs)

    def timed(self):
        wait, drop, check = self.gantry.library.gantry_tensor_wait, self.gantry.drop, self.gantry.check

        def call():
            outputs = self()
            for tensor in outputs:
                check(wait(tensor) == 0)
            for tensor in set(outputs):
                drop(tensor)

        return call
