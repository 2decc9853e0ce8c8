#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions of ONNX Runtime on Gantry's devices: in threads, several at one time, with reasons for nodes that are left,
and with errors of Gantry that are raised as they are and do not fall back to the CPU.

    run_sessions.py LIBRARY [--device /CPU:0] [--layer FILE]

Needs onnxruntime and numpy, else exit code 77. A version before 1.24 must refuse the provider by a text. --layer is the
OpenCL layer of the fault tool, which must be in OPENCL_LAYERS: by it a device is lost.
"""
import argparse
import contextlib
import ctypes
import gc
import json
import os
import resource
import sys
import tempfile
import threading

from ort_tests import VERSION, X, begin, bind, chain, expect, expect_error, gantry, model, np, ort, run_tests, w

DEVICE = "/CPU:0"
LAYER = None


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


def test_values_of_bodies():
    """A value that only branches read: before 1.27, ONNX Runtime does not give it to a provider, so the node is left."""
    def branch(op, name):
        return w.graph([w.node(op, ["v"], [name])], [], [w.value(name, w.part(1, w.number(1, 1)))], name=name)

    choose = w.node("If", ["c"], ["r"], [w.attr_graph("then_branch", branch("Neg", "t")), w.attr_graph("else_branch", branch("Abs", "e"))], name="choice")
    around = {"an input": ([], 0), "another group": ([w.node("Relu", ["x"], ["a"]), w.node("Cast", ["a"], ["s"], [w.attr_int("to", 8)]),
                                                      w.node("Cast", ["s"], ["v"], [w.attr_int("to", 1)])], 2),
              "this group": ([w.node("Relu", ["x"], ["v"])], 0)}
    for name, (before, left) in around.items():
        source = "x" if before else "v"
        graph = w.graph([*before, choose, w.node("Neg", ["r"], ["y"])], [w.value("c", w.tensor_type(9, ())), w.value(source, w.tensor_type(1, ("n", 3)))],
                        [w.value("y", w.part(1, w.number(1, 1)))])
        data = w.model(graph, ir=10)
        session = gantry.session(data, DEVICE)
        value = np.maximum(X, 0) if before else X
        for chosen in (True, False):
            got = session.run(None, {"c": np.array(chosen), source: X})[0]
            expect(np.array_equal(got, value if chosen else -np.abs(value)), f"a branch that reads a value of {name}")
        lines = gantry.explain(data, DEVICE)
        is_cut = VERSION < (1, 27) and name != "this group"
        expect(any("node 'choice' (If) to ONNX Runtime: only bodies read 'v'" in line for line in lines) == is_cut, f"{name}: {lines}")
        expect(f"takes {len(before) + 2 - left - is_cut} of {len(before) + 2} nodes" in lines[-1], f"{name}: {lines}")


def test_reasons():
    data = model([w.node("Relu", ["x"], ["a"], name="first"), w.node("Bernoulli", ["a"], ["b"], name="draw"),
                  w.node("Det", ["b"], ["d"], name="det")], ["x"], ["d"], dims=(3, 3))
    lines = gantry.explain(data, DEVICE)
    expect("takes" in lines[-1] and all(line.startswith("Gantry leaves node '") for line in lines[:-1]), f"reasons: {lines}")


def test_reports():
    """A report begins anew with each session, and is there if ONNX Runtime leaves no node to ask about."""
    folded = model([w.node("Relu", ["k"], ["y"])], [], ["y"], [w.tensor("k", [1], raw=bytes(4))])
    expect(gantry.explain(folded, DEVICE) == ["Gantry takes 0 of 0 nodes"], "a model that is folded")
    twice = w.function("Twice", "own", ["a"], ["b"], [w.node("Add", ["a", "a"], ["b"])])
    called = w.model(w.graph([w.node("Twice", ["x"], ["y"], domain="own")], [w.value("x", w.tensor_type(1, (2, 3)))],
                             [w.value("y", w.tensor_type(1, (2, 3)))]), opsets=[w.opset(17), w.opset(1, "own")], functions=[twice])
    expect(gantry.explain(called, DEVICE) == ["Gantry takes 1 of 1 nodes"], "a model function, which ONNX Runtime puts in place")
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        for text in ("left by somebody\n", ""):
            with open(report, "a", encoding="utf-8") as file:
                file.write(text)
            gantry.session(chain(), DEVICE, report=report)
            with open(report, encoding="utf-8") as file:
                expect(file.read() == "Gantry takes 3 of 3 nodes\n", "a report of one session")
        for wrong in (folder, os.path.join(folder, "absent", "report"), "", "/dev/full"):
            expect_error(f"option report: '{wrong}' cannot be written", gantry.session, chain(), DEVICE, report=wrong)


def test_claims():
    """A report that cannot be written while nodes are claimed is an error, and no session on ONNX Runtime's CPU."""
    nodes = [w.node("Relu", ["x"], ["a"]), w.node("Inverse", ["a"], ["b"], name="left", domain="com.microsoft")]
    graph = w.graph(nodes, [w.value("x", w.tensor_type(1, (3, 3)))], [w.value("b", w.part(1, w.number(1, 1)))])
    left = w.model(graph, ir=10, opsets=[w.opset(17, ""), w.opset(1, "com.microsoft")])
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        resource.setrlimit(resource.RLIMIT_FSIZE, (40, kept[1]))  # enough for the file that is made first
        try:
            expect_error("cannot be written", gantry.session, left, DEVICE, report=report)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, kept)


def is_of_node(event):
    return event.get("name", "").split("/")[0] in ("a", "b", "c") and event.get("args", {}).get("provider") == gantry.NAME


def test_profiles():
    """A timeline, and ONNX Runtime's profile, which has the provider's events from 1.25 on."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "timeline.json")
        session = gantry.session(chain(), DEVICE, timeline=path)
        session.run(None, {"x": X})
        expect_error("timeline", gantry.session, chain(), DEVICE, timeline=path)
        del session
        gc.collect()
        with open(path, encoding="utf-8") as file:
            expect(any(event.get("cat") == "kernel" for event in json.load(file)), "kernels in a timeline")
        for options in ({}, {"timeline": path}):
            settings = ort.SessionOptions()
            settings.enable_profiling, settings.profile_file_prefix = True, os.path.join(folder, "profile")
            session = gantry.session(chain(), DEVICE, settings, **options)
            for rows in (1, 2):
                session.run(None, {"x": np.tile(X, (rows, 1))})
            with open(session.end_profiling(), encoding="utf-8") as file:
                events = [event for event in json.load(file) if is_of_node(event)]
            expect(session.run(None, {"x": X})[0].shape == X.shape, "a run after the profile")
            if VERSION >= (1, 25):
                expect(len(events) >= 2 and all(DEVICE[1:] in event["args"]["device"] for event in events), f"events of nodes: {events}")


def test_profile_ends_in_runs():
    """A profile ends while other threads run the session: neither waits for the other for ever."""
    with tempfile.TemporaryDirectory() as folder:
        settings = ort.SessionOptions()
        settings.enable_profiling, settings.profile_file_prefix = True, os.path.join(folder, "profile")
        session, over, wrong = gantry.session(chain(), DEVICE, settings), threading.Event(), []
        wanted = session.run(None, {"x": X})[0]

        def work():
            while not over.is_set():
                if not np.array_equal(session.run(None, {"x": X})[0], wanted):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        session.end_profiling()
        over.set()
        for thread in threads:
            thread.join()
        expect(not wrong, "runs while a profile ends")


@contextlib.contextmanager
def driver_answers():
    """Answers of the driver by function, which a test sets."""
    answers = {}
    watch = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p)(lambda name: answers.get(name, 0))
    layer = ctypes.CDLL(LAYER)
    layer.gantry_faults_layer_set_watch(watch)
    yield answers
    layer.gantry_faults_layer_set_watch(None)


def lose_device(answers):
    gantry.unregister()
    first, second = (gantry.session(chain(), name) for name in ("/GPU:0", "/GPU:1"))
    wanted = first.run(None, {"x": X})[0]
    stream, binding = gantry.devices()[0].create_sync_stream(), bind(first, gantry.value(X, "/GPU:0"), "/GPU:0")
    answers[b"clEnqueueNDRangeKernel"] = -2  # CL_DEVICE_NOT_AVAILABLE
    expect_error("was lost", first.run, None, {"x": X})
    answers.clear()
    for session in (first, gantry.session(chain(), "/GPU:0")):
        expect_error("was lost", session.run, None, {"x": X})
        expect_error("was lost", first.run_with_iobinding, binding)
        expect_error("was lost", gantry.devices()[0].create_sync_stream)
        if VERSION >= (1, 25):
            expect_error("was lost", binding.synchronize_outputs)
        expect(session.get_providers()[0] == gantry.NAME, "the session stays on Gantry")
    expect(np.array_equal(second.run(None, {"x": X})[0], wanted), "another device")
    del stream, binding
    gantry.unregister()
    expect(np.array_equal(gantry.session(chain(), "/GPU:0").run(None, {"x": X})[0], wanted), "the device of a new registration")


def test_lost_device():
    """The error arrives, also in later runs and streams; another device goes on, and so does a new registration."""
    if not LAYER:
        print("SKIP test_lost_device: no --layer")
        return
    with driver_answers() as answers:
        lose_device(answers)


def count_failures(calls):
    failures = 0
    for call in calls:
        try:
            call()
        except Exception as error:
            expect("Gantry: " in str(error), f"an error of Gantry: {error}")
            failures += 1
    return failures


def test_failing_copies():
    """A copy that fails is an error of the one that needs it, on a stream and in a run; later ones work."""
    if not LAYER:
        print("SKIP test_failing_copies: no --layer")
        return
    session = gantry.session(chain(), "/GPU:0")
    wanted, stream = session.run(None, {"x": X})[0], gantry.devices()[0].create_sync_stream()
    several = gantry.session(model([w.node("Relu", ["x"], ["y"]), w.node("Neg", ["x"], ["z"])], ["x"], ["y", "z"]), "/GPU:0")
    host = ort.OrtValue.ortvalue_from_numpy(np.zeros_like(X))
    value, output = gantry.value(X, "/GPU:0"), bind(session, gantry.value(X, "/GPU:0"), "/GPU:0")
    session.run_with_iobinding(output)
    result = output.get_outputs()[0]
    with driver_answers() as answers:
        for copy, failures in ((b"clEnqueueReadBuffer", 4), (b"clEnqueueWriteBuffer", 3)):
            answers[copy] = -5  # CL_OUT_OF_RESOURCES
            counted = count_failures([lambda: session.run(None, {"x": X}), lambda: several.run(None, {"x": X}), lambda: gantry.value(X, "/GPU:0").numpy(), result.numpy])
            expect(counted == failures, f"{counted} of 4 fail without {copy}")
            answers.clear()
            expect(np.array_equal(session.run(None, {"x": X})[0], wanted), "a run after copies that failed")
            expect(np.array_equal(several.run(None, {"x": X}), [np.maximum(X, 0), -X]), "outputs that are read after failures")
            ort.copy_tensors([value], [host], stream)
            expect(np.array_equal(host.numpy(), X) and np.array_equal(result.numpy(), wanted), "reads after copies that failed")


def test_session_options():
    """SessionOptions serve several sessions on one device with the same options."""
    settings = ort.SessionOptions()
    sessions = [gantry.session(chain(), DEVICE, settings) for _ in range(2)]
    expect(np.array_equal(*(each.run(None, {"x": X})[0] for each in sessions)), "two sessions of the same SessionOptions")
    expect_error("needs SessionOptions of its own", gantry.session, chain(), DEVICE, settings, report="other")


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


def test_texts_in_bodies():
    """A node whose body has texts, also in a body of its own, is left; the graph around it is not."""
    kind = w.part(1, w.number(1, 1))
    texts = [w.node("Cast", ["n"], ["s"], [w.attr_int("to", 8)]), w.node("Cast", ["s"], ["t"], [w.attr_int("to", 1)])]
    then = w.graph(texts, [], [w.value("t", kind)], name="then")
    other = w.graph([w.node("Abs", ["n"], ["e"])], [], [w.value("e", kind)], name="else")

    def choose(output, first):
        return w.node("If", ["c"], [output], [w.attr_graph("then_branch", first), w.attr_graph("else_branch", other)])

    for first in (then, w.graph([choose("u", then)], [], [w.value("u", kind)], name="outer")):
        nodes = [w.node("Neg", ["x"], ["n"]), w.node("ReduceSum", ["n"], ["a"], [w.attr_int("keepdims", 0)]),
                 w.node("Greater", ["a", "zero"], ["c"]), choose("i", first), w.node("Add", ["i", "n"], ["y"])]
        data = model(nodes, ["x"], ["y"], [w.tensor("zero", [], raw=bytes(4))])
        session = gantry.session(data, DEVICE)
        for x in (X, -X - 1):
            wanted = -2 * x if x.sum() < 0 else np.abs(x) - x
            expect(np.array_equal(session.run(None, {"x": x})[0], wanted), "a body with texts")
        lines = gantry.explain(data, DEVICE)
        expect("takes 4 of 5 nodes" in lines[-1] and "a node of a subgraph has texts" in lines[0], f"If is left: {lines}")


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


def on_device(name):
    settings = ort.SessionOptions()
    settings.add_provider_for_devices(gantry.devices()[:1], {"device": name})
    return ort.InferenceSession(chain(), settings, enable_fallback=0)


def test_errors():
    expect_error("no option 'colour'", gantry.session, chain(), DEVICE, colour="red")
    for absent in ("/GPU:77", "/CPU:5", "opencl:9", "/job:x/GPU:0"):
        expect_error(f"{absent} unknown device. All available devices [", on_device, absent)
    reshape = model([w.node("Reshape", ["x", "s"], ["y"], name="bad")], ["x"], ["y"],
                    [w.tensor("s", [1], 7, np.array([7], np.int64).tobytes())])
    session = gantry.session(reshape, DEVICE)
    expect_error("Gantry: InvalidArgument", session.run, None, {"x": X})
    expect(session.get_providers()[0] == gantry.NAME, "the session stays on Gantry after an error")
    rankless = gantry.session(model([w.node("Relu", ["x"], ["y"])], ["x"], ["y"], dims=None), DEVICE)
    expect_error(" 0 has 9 dimensions; at most 8 are accepted", rankless.run, None, {"x": X.reshape((1,) * 7 + X.shape)})


def test_memory_limit():
    size = 1 << 22
    data = model([w.node("Expand", ["x", "s"], ["y"], name="wide")], ["x"], ["y"],
                 [w.tensor("s", [3], 7, np.array([size, 2, 3], np.int64).tobytes())])
    session = gantry.session(data, DEVICE)
    expect_error("ResourceExhausted", session.run, None, {"x": X})


def test_settings_of_a_session():
    """Sessions with a memory limit or a placement mode have a runtime of their own."""
    sizes = w.tensor("s", [3], 7, np.array([1 << 18, 2, 3], np.int64).tobytes())
    data = model([w.node("Expand", ["x", "s"], ["y"])], ["x"], ["y"], [sizes])
    small = gantry.session(data, DEVICE, memory_limit="1M")
    for options in ({}, {"memory_limit": 60 << 20}, {"placement": "require"}):
        session = gantry.session(data, DEVICE, **options)
        expect(session.run(None, {"x": X})[0].shape == (1 << 18, 2, 3), "a session with a wider limit")
    expect_error("ResourceExhausted", small.run, None, {"x": X})
    expect_error("accepted are prefer, warn, require", gantry.session, data, DEVICE, placement="soft")
    for wrong in ("lots", "-1", "9" * 300):
        expect_error("GANTRY_MEMORY_LIMIT", gantry.session, data, DEVICE, memory_limit=wrong)


def test_registrations():
    """Sessions of an ended registration, in any order with those of a second one; SessionOptions with its device."""
    first = [gantry.session(chain(), DEVICE) for _ in range(2)]
    late = ort.SessionOptions()
    late.add_provider_for_devices([gantry.devices()[-1]], {})
    gantry.unregister()
    second = gantry.session(chain(), DEVICE)
    wanted = second.run(None, {"x": X})[0]
    expect_error("registration", ort.InferenceSession, chain(), late, enable_fallback=0)
    expect(np.array_equal(first[0].run(None, {"x": X})[0], wanted), "a session of an ended registration")
    del first[0]
    gc.collect()
    gantry.unregister()
    del second
    gc.collect()
    expect(np.array_equal(first[0].run(None, {"x": X})[0], wanted), "a session of the first registration after the second")


def main():
    global DEVICE, LAYER
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--device", default=DEVICE)
    parser.add_argument("--layer")
    options = parser.parse_args()
    DEVICE, LAYER = options.device, options.layer
    begin(options.library)
    if VERSION < (1, 24):
        expect_error("needs ONNX Runtime 1.24", gantry.register)
        print(f"onnxruntime {ort.__version__} refuses the provider")
        return
    run_tests(globals(), DEVICE)
    live = gantry.session(chain(), DEVICE)
    live.run(None, {"x": X})
    gantry.unregister()
    expect(live.run(None, {"x": X})[0].shape == X.shape, "a session that outlives the registration")
    del live
    gc.collect()
    print("ok the end of the registration")


main()
