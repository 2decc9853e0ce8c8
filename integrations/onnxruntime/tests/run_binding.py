#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Values of ONNX Runtime in the memory of Gantry's devices: bound to inputs and outputs of sessions, copied, shared by
devices, sessions and threads, and alive after their session and their registration.

    run_binding.py LIBRARY [--devices /GPU:0,/GPU:1]

The first device computes; the second one, which may be the same, gets values from it. Needs onnxruntime and numpy, else
exit code 77.
"""
import argparse
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

from ort_tests import VERSION, X, begin, bind, chain, chained, expect, expect_error, gantry, model, np, ort, run_tests, w

PAGE = os.path.join(os.path.dirname(__file__), "../../../docs/onnxruntime.md")
DEVICE, OTHER = "/GPU:0", "/GPU:1"


def mixed():
    """Neg(text and back(Relu(x))): ONNX Runtime has the node in the middle."""
    return model([w.node("Relu", ["x"], ["a"]), w.node("Cast", ["a"], ["s"], [w.attr_int("to", 8)]),
                  w.node("Cast", ["s"], ["b"], [w.attr_int("to", 1)]), w.node("Neg", ["b"], ["c"]), w.node("Add", ["c", "x"], ["y"])])


def same(value, wanted, text):
    got = value.numpy() if hasattr(value, "numpy") else value
    expect(got.shape == wanted.shape and np.array_equal(got, wanted), f"{text}: {got} is not {wanted}")


def memory(device):
    """The arguments of OrtValue's calls for the memory of a device."""
    return "gpu", int(device.rpartition(":")[2]), gantry.VENDOR_ID


def run(session, value):
    binding = bind(session, value, DEVICE)
    session.run_with_iobinding(binding)
    return binding.get_outputs()[0]


def test_values():
    """What goes in comes out, for each type, also of a tensor without elements and of one with one."""
    for dtype in (np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, bool):
        for shape in ((2, 3), (), (0, 3), (5, 1, 7)):
            array = (np.arange(np.prod(shape)) % 2).reshape(shape).astype(dtype)
            value = gantry.value(array, DEVICE)
            same(value, array, f"{dtype} {shape}")
            expect(value.device_name() != "cpu", "a value on a device")
    value = gantry.value(X, DEVICE)
    value.update_inplace(X + 1)
    same(value, X + 1, "a value that is updated")


def test_types():
    """A value of each type is an input of a session on its device, of one on another device, and of a copy."""
    there = "gpu", int(OTHER.rpartition(":")[2]), gantry.VENDOR_ID
    for kind, dtype in ((1, np.float32), (9, bool), (10, np.float16), (11, np.float64), (6, np.int32), (7, np.int64), (2, np.uint8)):
        x = (X > 0).astype(dtype)
        data = model([w.node("Transpose", ["x"], ["y"])], kind=kind)
        same(run(gantry.session(data, DEVICE), gantry.value(x, DEVICE)), x.T, f"an input of {dtype}")
        session, copied = gantry.session(data, OTHER), ort.OrtValue.ortvalue_from_shape_and_type(x.shape, dtype, *there)
        ort.copy_tensors([gantry.value(x, DEVICE)], [copied])
        for value in (gantry.value(x, DEVICE), copied):
            binding = bind(session, value, OTHER)
            session.run_with_iobinding(binding)
            same(binding.get_outputs()[0], x.T, f"an input of {dtype} from another device")


def test_chain():
    """Two sessions, of which the second one takes the first one's output."""
    first, second = (gantry.session(chain(), DEVICE) for _ in range(2))
    for rows in (1, 2, 40):
        x = np.tile(X, (rows, 1))
        same(run(second, run(first, gantry.value(x, DEVICE))), chained(chained(x)), "a chain of sessions")
    same(first.run(None, {"x": X})[0], chained(X), "an ordinary run")


def test_bindings():
    """A binding runs again: with other input, another size, an output of the program's, and its own output as input."""
    session = gantry.session(chain(), DEVICE)
    value = gantry.value(X, DEVICE)
    binding = bind(session, value, DEVICE)
    kept = []
    for i in range(4):
        value.update_inplace(X + i)
        session.run_with_iobinding(binding)
        kept.append(binding.get_outputs()[0].numpy())
    for i, got in enumerate(kept):
        same(got, chained(X + i), "a binding that runs again")
    binding.bind_ortvalue_input("x", gantry.value(X[:1], DEVICE))
    binding.clear_binding_outputs()
    gantry.bind_output(binding, "y", DEVICE)
    session.run_with_iobinding(binding)
    same(binding.get_outputs()[0], chained(X[:1]), "another size")
    places = [ort.OrtValue.ortvalue_from_shape_and_type(X.shape, np.float32, *memory(DEVICE)) for _ in range(2)]
    places[0].update_inplace(X)
    wanted = X
    for i in range(50):
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", places[i % 2])
        binding.bind_ortvalue_output("y", places[1 - i % 2])
        session.run_with_iobinding(binding)
        wanted = chained(wanted)
    same(places[0], wanted, "two places that take turns")
    binding.bind_ortvalue_output("y", places[1])
    binding.bind_ortvalue_input("x", places[1])
    places[1].update_inplace(X)
    session.run_with_iobinding(binding)
    same(places[1], chained(X), "an output in the place of its input")


def test_host_and_device():
    """Inputs and outputs of one run, each on the host or on the device."""
    session = gantry.session(chain(), DEVICE)
    for on_device in (0, 1, 2, 3):
        binding = session.io_binding()
        if on_device & 1:
            binding.bind_ortvalue_input("x", gantry.value(X, DEVICE))
        else:
            binding.bind_cpu_input("x", X)
        if on_device & 2:
            gantry.bind_output(binding, "y", DEVICE)
        else:
            binding.bind_output("y")
        session.run_with_iobinding(binding)
        expect((binding.get_outputs()[0].device_name() == "cpu") == (on_device & 2 == 0), "the place of an output")
        same(binding.copy_outputs_to_cpu()[0], chained(X), f"places {on_device}")


def test_copies():
    """copy_tensors between the host and two devices."""
    host = ort.OrtValue.ortvalue_from_numpy(X)
    here, there = (ort.OrtValue.ortvalue_from_shape_and_type(X.shape, np.float32, *memory(device)) for device in (DEVICE, OTHER))
    back = ort.OrtValue.ortvalue_from_numpy(np.zeros_like(X))
    ort.copy_tensors([host], [here])
    ort.copy_tensors([here], [there])
    here.update_inplace(X * 2)
    ort.copy_tensors([there], [back])
    same(back, X, "a copy of a copy")
    ort.copy_tensors([here, here], [there, there])
    same(there, X * 2, "two copies")
    small = ort.OrtValue.ortvalue_from_numpy(np.zeros((1, 3), np.float32))
    expect_error("", ort.copy_tensors, [here], [small])


def stream_of(device):
    return next(each for each in gantry.devices() if each.ep_metadata["gantry_device"] == device).create_sync_stream()


def test_streams():
    """Copies on streams of two devices, between runs that are bound, and streams that outlive their sessions."""
    streams = [stream_of(DEVICE), stream_of(OTHER), stream_of(DEVICE)]
    expect(streams[0].get_handle() == streams[2].get_handle() != 0, "the driver's queue")
    first, second = gantry.session(chain(), DEVICE), gantry.session(chain(), OTHER)
    host, back = (ort.OrtValue.ortvalue_from_numpy(array) for array in (X.copy(), np.zeros_like(X)))
    here, there = (ort.OrtValue.ortvalue_from_shape_and_type(X.shape, np.float32, *memory(device)) for device in (DEVICE, OTHER))
    for i in range(20):
        host.update_inplace(X + i)
        ort.copy_tensors([host], [here], streams[i % 3])
        one = bind(first, here, DEVICE)
        first.run_with_iobinding(one)
        ort.copy_tensors([one.get_outputs()[0]], [there], streams[(i + 1) % 3])
        two = bind(second, there, OTHER)
        second.run_with_iobinding(two)
        two.synchronize_outputs()
        ort.copy_tensors([two.get_outputs()[0]], [back], streams[(i + 2) % 3])
        same(back, chained(chained(X + i)), "a value that streams copy")
    del first, second, one, two
    gc.collect()
    ort.copy_tensors([there], [back], streams[0])
    same(back, chained(X + 19), "a stream of sessions that ended")
    expect_error("", gantry.devices()[-1].create_sync_stream)  # /CPU:0 has no memory of its own


def test_failures():
    """What fails on a device after its run is an error of each one that uses the value, and of nobody else."""
    table = w.tensor("t", [3], raw=np.array([1, 2, 3], np.float32).tobytes())
    gather = w.graph([w.node("Gather", ["t", "x"], ["g"]), w.node("Neg", ["g"], ["y"])], [w.value("x", w.tensor_type(7, ("n",)))],
                     [w.value("y", w.part(1, w.number(1, 1)))], [table])
    session, other, stream = gantry.session(w.model(gather, ir=10), DEVICE), gantry.session(model([w.node("Neg", ["x"], ["y"])], dims=("n",)), DEVICE), stream_of(DEVICE)
    kept = [ort.OrtValue.ortvalue_from_shape_and_type((2,), np.float32, *memory(device)) for device in (DEVICE, OTHER)]
    host = ort.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32))
    for _ in range(3):
        binding = bind(session, gantry.value(np.array([0, 7]), DEVICE), DEVICE)
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        wrong = binding.get_outputs()[0]
        same(run(other, gantry.value(np.ones(2, np.float32), DEVICE)), -np.ones(2, np.float32), "a run that does not use the value")
        for target in (host, *kept):
            expect_error("indices[1] is not in [0, 3)", lambda place: ort.copy_tensors([wrong], [place], stream) or place.numpy(), target)
        expect_error("indices[1] is not in [0, 3)", lambda: run(other, wrong).numpy())
        expect_error("indices[1] is not in [0, 3)", wrong.numpy)
        expect_error("indices[1] is not in [0, 3)", session.run, None, {"x": np.array([0, 7])})
    same(run(session, gantry.value(np.array([0, 2]), DEVICE)), np.array([-1, -3], np.float32), "a run after failures")


def test_other_device():
    """A value of one device in a session on another."""
    value = gantry.value(X, DEVICE)
    session = gantry.session(chain(), OTHER)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", value)
    gantry.bind_output(binding, "y", OTHER)
    session.run_with_iobinding(binding)
    same(run(gantry.session(chain(), DEVICE), binding.get_outputs()[0]), chained(chained(X)), "two devices")


def test_processor():
    """On /CPU:0 values are in the host's memory, and a session there takes values of a device."""
    value = gantry.value(X, "/CPU:0")
    expect(value.device_name() == "cpu", "a value of /CPU:0")
    session = gantry.session(chain(), "/CPU:0")
    for value in (value, gantry.value(X, DEVICE)):
        binding = bind(session, value, "/CPU:0")
        session.run_with_iobinding(binding)
        same(binding.get_outputs()[0], chained(X), "a run on /CPU:0")
        expect(binding.get_outputs()[0].device_name() == "cpu", "an output on /CPU:0")


def test_initializers():
    """An initializer that is an input, too, which ONNX Runtime puts on the device with others, and one that is an output."""
    kind = w.tensor_type(1, (2, 3))
    data = w.model(w.graph([w.node("Add", ["x", "u"], ["a"]), w.node("Mul", ["a", "v"], ["y"])], [w.value(name, kind) for name in "xuv"],
                           [w.value("y", kind), w.value("k", kind)],
                           [w.tensor(name, (2, 3), raw=np.full((2, 3), number, np.float32).tobytes()) for name, number in (("u", 2), ("v", 3), ("k", 5))]), ir=10)
    session = gantry.session(data, DEVICE)
    for _ in range(3):
        y, k = session.run(None, {"x": X})
        same(y, (X + 2) * 3, "two initializers")
        same(k, np.full_like(X, 5), "an initializer that is an output")
        same(session.run(["y"], {"x": X, "v": X})[0], (X + 2) * X, "an initializer that an input replaces")
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", gantry.value(X, DEVICE))
    binding.bind_ortvalue_input("v", gantry.value(X, DEVICE))
    gantry.bind_output(binding, "y", DEVICE)
    session.run_with_iobinding(binding)
    same(binding.get_outputs()[0], (X + 2) * X, "a bound value in place of an initializer")


def test_outputs():
    """Two outputs, of which one is the input and both are the same, and one without elements."""
    outputs = ["y", "z", "e"]
    nodes = [w.node("Identity", ["x"], ["y"]), w.node("Relu", ["x"], ["z"]), w.node("Slice", ["x", "zero", "zero"], ["e"])]
    data = w.model(w.graph(nodes, [w.value("x", w.tensor_type(1, ("n", 3)))], [w.value(name, w.part(1, w.number(1, 1))) for name in outputs],
                           [w.tensor("zero", [1], 7, bytes(8))]), ir=10)
    session = gantry.session(data, DEVICE)
    value = gantry.value(X, DEVICE)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", value)
    for name in outputs:
        gantry.bind_output(binding, name, DEVICE)
    session.run_with_iobinding(binding)
    got = [output.numpy() for output in binding.get_outputs()]
    value.update_inplace(X + 7)
    for array, wanted in zip(got + [output.numpy() for output in binding.get_outputs()], 2 * [X, np.maximum(X, 0), X[:0]]):
        same(array, wanted, "an output of several")


def test_own_nodes():
    """Nodes of ONNX Runtime between nodes of Gantry, and a model of which Gantry has no node."""
    wanted = X - np.maximum(X, 0)
    session = gantry.session(mixed(), DEVICE)
    for _ in range(3):
        same(run(session, gantry.value(X, DEVICE)), wanted, "nodes of both")
        same(session.run(None, {"x": X})[0], wanted, "nodes of both, on the host")
    text = gantry.session(model([w.node("Cast", ["x"], ["s"], [w.attr_int("to", 8)]), w.node("Cast", ["s"], ["y"], [w.attr_int("to", 1)])]), DEVICE)
    binding = text.io_binding()
    binding.bind_ortvalue_input("x", gantry.value(X, DEVICE))
    binding.bind_output("y")
    text.run_with_iobinding(binding)
    same(binding.copy_outputs_to_cpu()[0], X, "no node of Gantry")


def test_unwritten():
    """Memory that nobody wrote is refused, not read."""
    session = gantry.session(chain(), DEVICE)
    empty = ort.OrtValue.ortvalue_from_shape_and_type(X.shape, np.float32, *memory(DEVICE))
    expect_error("which nobody has written", run, session, empty)
    expect_error("which nobody has written", empty.numpy)
    same(run(session, gantry.value(X, DEVICE)), chained(X), "a run after an error")


def test_foreign():
    """An address of the program's on a device that has none."""
    session = gantry.session(chain(), DEVICE)
    buffer = np.ascontiguousarray(X)
    device = ort.OrtDevice.make(*memory(DEVICE))._get_c_device()
    binding = session.io_binding()
    binding._iobinding.bind_input("x", device, np.float32, X.shape, buffer.ctypes.data)
    gantry.bind_output(binding, "y", DEVICE)
    expect_error("input 0 is in device memory that is not Gantry's", session.run_with_iobinding, binding)


def test_limits():
    """A limit holds for values; values that are dropped give their memory back."""
    large = np.zeros(24 << 20, np.int8)
    expect_error("ResourceExhausted", lambda: [gantry.value(large, DEVICE) for _ in range(3)])
    for _ in range(20):
        gantry.value(large, DEVICE)
    session = gantry.session(chain(), DEVICE, memory_limit="4M")
    value = gantry.value(X, DEVICE)
    same(run(session, run(session, value)), chained(chained(X)), "a session with a runtime of its own")
    wide = np.zeros((1 << 20, 3), np.float32)
    expect_error("ResourceExhausted", run, session, gantry.value(wide, DEVICE))
    expect_error("ResourceExhausted", session.run, None, {"x": wide})


def test_threads():
    session, value, wrong = gantry.session(chain(), DEVICE), gantry.value(X, DEVICE), []

    def work(number):
        own = value
        wanted = X
        for _ in range(20):
            own, wanted = run(session, own), chained(wanted)
            if number % 2:
                own = gantry.value(own.numpy(), DEVICE)
        if not np.array_equal(own.numpy(), wanted):
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not wrong, f"runs in threads {wrong}")


def test_lives():
    """An output lives on after its session; so does a value after its registration."""
    session = gantry.session(chain(), DEVICE)
    output = run(session, gantry.value(X, DEVICE))
    del session
    gc.collect()
    churn = [gantry.session(chain(), DEVICE) for _ in range(3)]
    same(run(churn[0], output), chained(chained(X)), "an output of a session that ended")
    same(output, chained(X), "an output of a session that ended")
    del churn
    gc.collect()
    if VERSION < (1, 28):
        print(f"SKIP: onnxruntime {ort.__version__} frees values by what it freed with their registration")
        return
    gantry.unregister()
    again = gantry.session(chain(), DEVICE)
    same(run(again, output), chained(chained(X)), "a value of an ended registration")
    del output
    gc.collect()
    same(run(again, gantry.value(X, DEVICE)), chained(X), "after the value's end")


def code_chain():
    first, second = (gantry.session(chain(), DEVICE) for _ in range(2))
    value = gantry.value(X, DEVICE)
    for _ in range(10):
        value = run(second, run(first, value))
    return value


def code_read():
    return code_chain().numpy()


def copies_of(code):
    """Runs code in a process of its own, and returns the numbers of copies to the host and to a device."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        done = subprocess.run([sys.executable, __file__, os.environ["GANTRY_ORT_LIBRARY"], "--devices", f"{DEVICE},{OTHER}", "--code", code],
                              env={**os.environ, "GANTRY_TRACE": trace}, text=True, capture_output=True, check=False)
        expect(done.returncode == 0, done.stdout + done.stderr)
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)
    names = [event["name"] for event in (events if isinstance(events, list) else events["traceEvents"])]
    return names.count("to host"), names.count("to device")


def test_counted_copies():
    """Twenty bound runs copy nothing to the host, and nothing to the device but the first value and the constants."""
    bound, read = copies_of("chain"), copies_of("read")
    expect(bound[0] == 0 and read == (1, bound[1]) and 1 <= bound[1] <= 3, f"copies of bound runs {bound}, with a read {read}")


def test_page():
    """The program of docs/onnxruntime.md prints what the page says."""
    with open(PAGE, encoding="utf-8") as file:
        blocks = re.findall(r"```python\n(# [a-z_]+\.py\n.*?)```", file.read(), re.S)
    expect(len(blocks) == 1, "a program of the page")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(chain())
        with open(os.path.join(folder, "program.py"), "w", encoding="utf-8") as file:
            file.write(blocks[0])
        search = os.pathsep.join(sys.path)
        done = subprocess.run([sys.executable, "program.py"], cwd=folder, env={**os.environ, "PYTHONPATH": search}, text=True, capture_output=True, check=False)
    expect(done.returncode == 0 and "[[" in done.stdout, done.stdout + done.stderr)


def main():
    global DEVICE, OTHER
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--devices", default=f"{DEVICE},{OTHER}")
    parser.add_argument("--code")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    DEVICE, OTHER = options.devices.split(",")
    begin(options.library)
    if options.code:
        globals()[f"code_{options.code}"]()
        gc.collect()
        gantry.unregister()
        return
    if VERSION < (1, 24):
        print("SKIP: this onnxruntime is too old")
        sys.exit(77)
    gantry.register()
    run_tests(globals(), f"{DEVICE}, {OTHER}", options.only)


main()
