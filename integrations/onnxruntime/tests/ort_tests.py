# SPDX-License-Identifier: Apache-2.0
"""What the tests of sessions and of values on devices share: modules, a model, and how a test fails. Without onnxruntime
and numpy the program ends with exit code 77."""
import gc
import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(__file__), path) for path in ("../python", "../../../tests/onnx")]
try:
    import numpy as np
    import onnxruntime as ort
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)
import onnxruntime_ep_gantry as gantry
import wire_bytes as w

__all__ = ["VERSION", "X", "begin", "bind", "chain", "chained", "expect", "expect_error", "gantry", "model", "np", "ort", "run_tests", "w"]

X = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
VERSION = tuple(int(part) for part in ort.__version__.split(".")[:2])


def expect(condition, text):
    if not condition:
        print(f"FAILED: {text}")
        sys.exit(1)


def expect_error(text, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except Exception as error:
        expect(text in str(error), f'"{text}" in "{error}"')
        return
    expect(False, f'an error with "{text}"')


def model(nodes, inputs=("x",), outputs=("y",), initializers=(), dims=("n", 3), kind=1):
    """A model whose inputs and outputs have elements of one kind. dims None: inputs of unknown rank."""
    known = w.part(1, w.number(1, kind))
    values = [w.value(name, known if dims is None else w.tensor_type(kind, dims)) for name in inputs]
    return w.model(w.graph(nodes, values, [w.value(name, known) for name in outputs], initializers), ir=10)


def chain():
    """-(Relu(x) + w)"""
    weights = w.tensor("w", [3], raw=np.array([1, 2, 3], np.float32).tobytes())
    nodes = [w.node("Relu", ["x"], ["a"], name="a"), w.node("Add", ["a", "w"], ["b"], name="b"), w.node("Neg", ["b"], ["y"], name="c")]
    return model(nodes, initializers=[weights])


def chained(x):
    return -(np.maximum(x, 0) + np.array([1, 2, 3], np.float32))


def bind(session, value, device):
    """A binding of a value and of an output on the device."""
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", value)
    gantry.bind_output(binding, "y", device)
    return binding


def begin(library):
    """Sets the environment of the library, before it is registered."""
    os.environ["GANTRY_ORT_LIBRARY"] = os.path.abspath(library)
    os.environ["GANTRY_ORT_CPU"] = "1"
    os.environ["GANTRY_MEMORY_LIMIT"] = "64M"
    ort.set_default_logger_severity(4)


def run_tests(names, where, only=""):
    """Calls the tests of a program, whose names are its globals()."""
    tests = [(name, test) for name, test in names.items() if name.startswith("test_") and only in name]
    for name, test in tests:
        test()
        gc.collect()
        print(f"ok {name}", flush=True)
    print(f"{len(tests)} tests on onnxruntime {ort.__version__}, {where}")
