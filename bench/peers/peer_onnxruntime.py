# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime on its CPU provider: graphs of ONNX ops with the weights inside, all optimizations on.

Only what programs export: networks. A call takes bound inputs and makes new outputs.
"""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

LACKS = {}
REST = "a runtime for exported networks"
OPSET = 21
TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32}
threads = 1


def open_peer(count):
    global threads
    threads = count
    return f"ONNX Runtime {onnxruntime.__version__} on {onnxruntime.get_available_providers()[-1]}"


def put(array):
    return np.asarray(array)


def fetch(binding):
    return binding.copy_outputs_to_cpu()


class Graph:
    """Nodes one after another; each op gives the name of its one result."""

    def __init__(self):
        self.nodes, self.inputs, self.weights, self.names = [], {}, [], 0

    def name(self):
        self.names += 1
        return f"t{self.names}"

    def input(self, array):
        name = self.name()
        self.inputs[name] = array
        return name

    def weight(self, array):
        name = self.name()
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def op(self, kind, *inputs, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def model(self, output, shape):
        given = [helper.make_tensor_value_info(n, TYPES[a.dtype.name], a.shape) for n, a in self.inputs.items()]
        made = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "case", given, [made], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        onnx.checker.check_model(model)
        return model.SerializeToString()

    def session(self, output, shape):
        return session_of(self.model(output, shape), self.inputs.values())


def session_of(model, arrays, binds_anew=False):
    """-> a function that runs it and gives its results"""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return binding_of(onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"]), arrays, binds_anew)


def binding_of(session, arrays, binds_anew):
    """-> a function that runs the session and gives its results. binds_anew: for files that declare other sizes of outputs
    than they have, which a second run with the same binding refuses; it takes about 4 us."""
    binding = session.io_binding()
    for value, array in zip(session.get_inputs(), arrays):
        binding.bind_cpu_input(value.name, array)
    names = [value.name for value in session.get_outputs()]

    def bind():
        binding.clear_binding_outputs()
        for name in names:
            binding.bind_output(name)

    bind()
    run = session.run_with_iobinding

    def call():
        run(binding)
        return binding

    def call_anew():
        bind()
        run(binding)
        return binding

    return call_anew if binds_anew else call


def case_model(*inputs, path):
    return session_of(path, inputs, binds_anew=True)


def case_add(a, b):
    graph = Graph()
    return graph.session(graph.op("Add", graph.input(a), graph.input(b)), a.shape)


def case_mlp(x, *layers):
    graph = Graph()
    at = graph.input(x)
    for i in range(0, len(layers), 2):
        at = graph.op("Gemm", at, graph.weight(layers[i]), graph.weight(layers[i + 1]))
        at = graph.op("Relu", at) if i + 2 < len(layers) else at
    return graph.session(at, (len(x), layers[-1].size))


def case_text_classifier(ids, table, w1, b1, w2, b2, w3, b3):
    graph = Graph()
    at = graph.op("Transpose", graph.op("Gather", graph.weight(table), graph.input(ids)), perm=[0, 2, 1])
    for w, b in ((w1, b1), (w2, b2)):
        at = graph.op("Conv", at, graph.weight(w.transpose(2, 1, 0)), graph.weight(b))
        at = graph.op("MaxPool", graph.op("Relu", at), kernel_shape=[2], strides=[2])
    # the rows of the last weights in the order of channels first
    flat = w3.reshape(-1, w2.shape[2], w3.shape[1]).swapaxes(0, 1).reshape(w3.shape)
    at = graph.op("Gemm", graph.op("Flatten", at), graph.weight(flat), graph.weight(b3))
    return graph.session(graph.op("Softmax", at), (len(ids), b3.size))
