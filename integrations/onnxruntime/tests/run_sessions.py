#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions of ONNX Runtime on Gantry's devices: in threads, several at one time, with reasons for nodes that are left,
and with errors of Gantry that are raised as they are and do not fall back to the CPU.

    run_sessions.py LIBRARY [--device /CPU:0]

Needs onnxruntime and numpy, else exit code 77. A version before 1.24 must refuse the provider by a text.
"""
import argparse
import gc
import os
import sys
import threading

sys.path[:0] = [os.path.join(os.path.dirname(__file__), path) for path in ("../python", "../../../tests/onnx")]
try:
    import numpy as np
    import onnxruntime as ort
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)
import onnxruntime_ep_gantry as gantry
import wire_bytes as w

X = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
DEVICE = "/CPU:0"


def model(nodes, inputs, outputs, initializers=(), dims=("n", 3)):
    values = [w.value(name, w.tensor_type(1, dims)) for name in inputs]
    return w.model(w.graph(nodes, values, [w.value(name, w.part(1, w.number(1, 1))) for name in outputs], initializers), ir=10)


def chain():
    """Relu(x) + w, then an op that no provider but ONNX Runtime's has, then Neg."""
    weights = w.tensor("w", [3], raw=np.array([1, 2, 3], np.float32).tobytes())
    return model([w.node("Relu", ["x"], ["a"], name="a"), w.node("Add", ["a", "w"], ["b"], name="b"), w.node("Neg", ["b"], ["y"], name="c")],
                 ["x"], ["y"], [weights])


def expect(condition, text):
    if not condition:
        print(f"FAILED: {text}")
        sys.exit(1)


def test_values():
    session = gantry.session(chain(), DEVICE)
    expect(np.array_equal(session.run(None, {"x": X})[0], -(np.maximum(X, 0) + [1, 2, 3])), "the values of a chain")
    for rows in (1, 5):
        expect(session.run(None, {"x": np.ones((rows, 3), np.float32)})[0].shape == (rows, 3), "a second size")


def test_branches():
    then = w.graph([w.node("Neg", ["x"], ["t"])], [], [w.value("t", w.part(1, w.number(1, 1)))], name="then")
    other = w.graph([w.node("Abs", ["x"], ["e"])], [], [w.value("e", w.part(1, w.number(1, 1)))], name="else")
    nodes = [w.node("ReduceSum", ["x"], ["s"], [w.attr_int("keepdims", 0)]), w.node("Greater", ["s", "zero"], ["c"]),
             w.node("If", ["c"], ["y"], [w.attr_graph("then_branch", then), w.attr_graph("else_branch", other)])]
    data = model(nodes, ["x"], ["y"], [w.tensor("zero", [], raw=bytes(4))])
    session = gantry.session(data, DEVICE)
    for x in (X, -X - 1, X + 9):
        wanted = -x if x.sum() > 0 else np.abs(x)
        expect(np.array_equal(session.run(None, {"x": x})[0], wanted), "a branch")
    expect("takes 3 of 3 nodes" in gantry.explain(data, DEVICE)[-1], "If is taken with its branches")


def test_reasons():
    data = model([w.node("Relu", ["x"], ["a"], name="first"), w.node("Bernoulli", ["a"], ["b"], name="draw"),
                  w.node("Det", ["b"], ["d"], name="det")], ["x"], ["d"], dims=(3, 3))
    lines = gantry.explain(data, DEVICE)
    expect("takes" in lines[-1] and all(line.startswith("Gantry leaves node '") for line in lines[:-1]), f"reasons: {lines}")


def test_ops_that_gantry_lacks():
    """One that the last node does not read, and one in a branch: ONNX Runtime has both."""
    def inverse(a, b):
        return w.node("Inverse", [a], [b], name="inverse", domain="com.microsoft")

    def run(nodes, outputs):
        graph = w.graph(nodes, [w.value("x", w.tensor_type(1, (3, 3)))], [w.value(name, w.part(1, w.number(1, 1))) for name in outputs],
                        [w.tensor("zero", [], raw=bytes(4))])
        data = w.model(graph, ir=10, opsets=[w.opset(17, ""), w.opset(1, "com.microsoft")])
        x = np.array([[2, 0, 0], [0, 4, 0], [0, 0, 8]], np.float32)
        return x, gantry.session(data, DEVICE).run(None, {"x": x}), gantry.explain(data, DEVICE)

    x, (inverted, y), lines = run([inverse("x", "i"), w.node("Neg", ["x"], ["y"])], ["i", "y"])
    expect(np.array_equal(inverted @ x, np.eye(3)) and np.array_equal(y, -x), "an op that the last node does not read")
    expect("takes 1 of 2 nodes" in lines[-1], f"one node is left: {lines}")
    then = w.graph([inverse("x", "t")], [], [w.value("t", w.part(1, w.number(1, 1)))], name="then")
    other = w.graph([w.node("Abs", ["x"], ["e"])], [], [w.value("e", w.part(1, w.number(1, 1)))], name="else")
    x, (y,), lines = run([w.node("ReduceSum", ["x"], ["s"], [w.attr_int("keepdims", 0)]), w.node("Greater", ["s", "zero"], ["c"]),
                          w.node("If", ["c"], ["y"], [w.attr_graph("then_branch", then), w.attr_graph("else_branch", other)])], ["y"])
    expect(np.array_equal(y @ x, np.eye(3)), "an op in a branch")
    expect("takes 2 of 3 nodes" in lines[-1] and "Inverse of a subgraph" in lines[0], f"If is left: {lines}")


def test_groups():
    """Random graphs, some of whose nodes Gantry must leave: strings are in the way."""
    random = np.random.default_rng(5)
    for _ in range(20):
        nodes, names = [], ["x"]
        for i in range(30):
            a, b = (names[int(random.integers(len(names)))] for _ in range(2))
            kind = int(random.integers(4))
            if kind == 0:  # a text and back: ONNX Runtime's
                nodes += [w.node("Cast", [a], [f"s{i}"], [w.attr_int("to", 8)]), w.node("Cast", [f"s{i}"], [f"v{i}"], [w.attr_int("to", 1)])]
            else:
                nodes.append(w.node(("Add", "Sub", "Max")[kind - 1], [a, b], [f"v{i}"]))
            names.append(f"v{i}")
        data = model(nodes, ["x"], names[-4:])
        mine, theirs = gantry.session(data, DEVICE), ort.InferenceSession(data, providers=["CPUExecutionProvider"])
        for got, wanted in zip(mine.run(None, {"x": X}), theirs.run(None, {"x": X})):
            expect(np.array_equal(got, wanted), "a random graph in groups")


def test_threads():
    session = gantry.session(chain(), DEVICE)
    other = gantry.session(chain(), DEVICE)
    wanted, wrong = session.run(None, {"x": X})[0], []

    def work(each):
        for rows in range(1, 30):
            x = np.tile(X, (rows % 3 + 1, 1))
            if not np.array_equal(each.run(None, {"x": x})[0], np.tile(wanted, (rows % 3 + 1, 1))):
                wrong.append(rows)

    threads = [threading.Thread(target=work, args=(each,)) for each in (session, other, session, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not wrong, "runs in threads")


def expect_error(text, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except Exception as error:
        expect(text in str(error), f'"{text}" in "{error}"')
        return
    expect(False, f'an error with "{text}"')


def test_errors():
    expect_error("no option 'colour'", gantry.session, chain(), DEVICE, colour="red")
    expect_error("the report '/dev/null/left' cannot be opened", gantry.session, chain(), DEVICE, report="/dev/null/left")
    reshape = model([w.node("Reshape", ["x", "s"], ["y"], name="bad")], ["x"], ["y"],
                    [w.tensor("s", [1], 7, np.array([7], np.int64).tobytes())])
    session = gantry.session(reshape, DEVICE)
    expect_error("Gantry: InvalidArgument", session.run, None, {"x": X})
    expect(session.get_providers()[0] == gantry.NAME, "the session stays on Gantry after an error")


def test_memory_limit():
    size = 1 << 22
    data = model([w.node("Expand", ["x", "s"], ["y"], name="wide")], ["x"], ["y"],
                 [w.tensor("s", [3], 7, np.array([size, 2, 3], np.int64).tobytes())])
    session = gantry.session(data, DEVICE)
    expect_error("ResourceExhausted", session.run, None, {"x": X})


def main():
    global DEVICE
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--device", default=DEVICE)
    options = parser.parse_args()
    DEVICE = options.device
    os.environ["GANTRY_ORT_LIBRARY"] = os.path.abspath(options.library)
    os.environ["GANTRY_ORT_CPU"] = "1"
    os.environ["GANTRY_MEMORY_LIMIT"] = "64M"
    ort.set_default_logger_severity(4)
    if tuple(int(part) for part in ort.__version__.split(".")[:2]) < (1, 24):
        expect_error("needs ONNX Runtime 1.24", gantry.register)
        print(f"onnxruntime {ort.__version__} refuses the provider")
        return
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        test()
        gc.collect()
        print(f"ok {name}", flush=True)
    live = gantry.session(chain(), DEVICE)
    live.run(None, {"x": X})
    gantry.unregister()
    expect(live.run(None, {"x": X})[0].shape == X.shape, "a session that outlives the registration")
    del live
    gc.collect()
    print(f"{len(tests)} tests on onnxruntime {ort.__version__}, {DEVICE}")


main()
