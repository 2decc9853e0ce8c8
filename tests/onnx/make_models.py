#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small models of tests/cli and docs/command.md, which are stored. Needs the onnx package. Run: python3 make_models.py

net.onnx: two layers with a dimension "batch", metadata and an input with a value. refused.onnx: an op of a domain that
nothing knows. hostile.onnx: names with escapes of terminals."""
import os

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FOLDER = os.path.dirname(os.path.abspath(__file__))


def save(name, nodes, inputs, outputs, initializers=(), imports=(("", 17),), **metadata):
    graph = helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(array, key) for key, array in initializers])
    model = helper.make_model(graph, producer_name="make_models.py", producer_version="1", ir_version=8,
                              opset_imports=[helper.make_opsetid(*entry) for entry in imports])
    helper.set_model_props(model, metadata)
    with open(os.path.join(FOLDER, f"{name}.onnx"), "wb") as file:
        file.write(model.SerializeToString(deterministic=True))


def value(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


kernel = (np.arange(12, dtype=np.float32).reshape(4, 3) - 5) / 4
save("net",
     [helper.make_node("Gemm", ["x", "kernel", "bias"], ["sums"], name="layer"),
      helper.make_node("Relu", ["sums"], ["active"], name="activation"),
      helper.make_node("Mul", ["active", "scale"], ["scores"], name="scaled"),
      helper.make_node("ArgMax", ["scores"], ["labels"], name="best", axis=1, keepdims=0)],
     [value("x", ["batch", 4]), value("scale", [])],
     [value("scores", ["batch", 3]), value("labels", ["batch"], TensorProto.INT64)],
     [("kernel", kernel), ("bias", np.array([0.5, 0, -0.5], np.float32)), ("scale", np.float32(2))], author="make_models.py")
save("refused",
     [helper.make_node("Relu", ["x"], ["y"], name="first"),
      helper.make_node("Unheard", ["y"], ["z"], name="second", domain="com.example")],
     [value("x", [2])], [value("z", [2])], imports=(("", 17), ("com.example", 1)))

save("hostile",
     [helper.make_node("Relu", ["x\x1b[31m\n"], ["y\x1b"], name="n\x1b[2J"),
      helper.make_node("O\x1bp", ["y\x1b"], ["z"], name="b", domain="d\x1b")],
     [value("x\x1b[31m\n", ["d\x1b[31m\n"])], [value("z", None)], imports=(("", 17), ("d\x1b", 1)), **{"k\x1b": "v\x1b\n[31m"})
