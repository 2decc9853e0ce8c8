# SPDX-License-Identifier: Apache-2.0
"""Cases of ops and attributes that ONNX has and TensorFlow lacks: run by the reference evaluator of the package onnx."""
import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from golden_case import BOOL, I32, I64, random_values
from golden_shapes import text

OPSET = 23


def onnx_op(op, inputs, attrs, outputs=1):
    """The outputs of one node."""
    names, results = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(outputs)]
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in zip(names, inputs)]
    first = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
    graph = helper.make_graph([helper.make_node(op, names, results, **attrs)], op, values,
                              [helper.make_tensor_value_info(r, first, None) for r in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    return [np.asarray(y) for y in ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))]


def add_reference(r, function, name, inputs, attrs=None):
    """Records what the function of the inputs and attributes gives."""
    usual, r.reference = r.reference, lambda x, a: list(function(x, a))
    r.add(name, inputs, attrs, numpy_only=True)
    r.cases[-1]["source"] = "reference"
    r.reference = usual


def extend(op, r):
    """Max and Min of bool: TensorFlow has none."""
    if op in ("Max", "Min"):
        run = lambda x, a: onnx_op("Reduce" + op, [x[0], x[1].astype(I64)], {"keepdims": int(a.get("keep_dims", False))})
        for shape, axis in (((3, 5), 1), ((3, 5), 0), ((2, 40, 3), 1), ((1,), 0)):
            add_reference(r, run, f"bool_{text(shape)}_axis_{axis}", [random_values(BOOL, shape, op), np.array([axis], I32)], {"keep_dims": True})
        add_reference(r, lambda x, a: [np.full(3, op == "Min")], "bool_of_none", [np.zeros((0, 3), bool), np.array([0], I32)])
    if op in ("Maximum", "Minimum"):
        run = lambda x, a: [getattr(np, op.lower())(*x)]
        for shapes in (((33,), (33,)), ((3, 1), (1, 5)), ((), (4,)), ((4,), ())):
            add_reference(r, run, f"bool_{text(shapes[0])}_{text(shapes[1])}", [random_values(BOOL, s, op, k) for k, s in enumerate(shapes)])
