#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: Visible devices, growth, limits, splits, memory info, details and Gantry's variables work in TensorFlow
programs.

TensorFlow's controls and Gantry's environment variables, each in a TensorFlow process of its own.
Promise: A program whose cards are split or limited as it asks TensorFlow to do is not warned.
Promise: Lists of devices have the memory limit of each GPU of this process, and of no other process's.
Promise: The text of an error for lack of memory names no function of C, and the function of Python that it names gives the report.

    PYTHON test_controls.py     PYTHON has TensorFlow and the installed wheel
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from child import LONGEST_SECONDS

HEAD = """
import json, os, sys, warnings
import tensorflow as tf
gpus = tf.config.list_physical_devices("GPU")
def logical():
    return [device.name for device in tf.config.list_logical_devices("GPU")]
def fill(device, mebibytes):
    "None, or the text of the error"
    try:
        with tf.device(device):
            tensor = tf.fill([mebibytes * 262144], 1.0)
            assert device in tensor.device, tensor.device
            return None if float(tensor[-1]) == 1.0 else "wrong value"
    except tf.errors.ResourceExhaustedError as error:
        return error.message
def say(**values):
    print("ANSWER " + json.dumps(values), flush=True)
"""


def run(program, **variables):
    """The program's answer, and all that it printed."""
    values = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="1", GANTRY_OPENCL_CPU="gpu", POCL_DEVICES="pthread pthread")
    values.update(variables)
    done = subprocess.run([sys.executable, "-c", HEAD + program], env=values, text=True, timeout=LONGEST_SECONDS,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    answers = [line[7:] for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    if done.returncode or not answers:
        raise AssertionError(f"exit code {done.returncode}\n{done.stdout[-4000:]}")
    return json.loads(answers[-1]), done.stdout


class TensorFlowControls(unittest.TestCase):
    def test_set_visible_devices_one_gpu_is_left(self):
        answer, _ = run("""
tf.config.set_visible_devices(gpus[1], "GPU")
with tf.device("/GPU:0"):
    product = tf.matmul([[1.0, 2.0]], [[3.0], [4.0]])
say(logical=logical(), device=product.device, value=product.numpy().tolist())""")
        self.assertEqual(answer["logical"], ["/device:GPU:0"])
        self.assertTrue(answer["device"].endswith("GPU:0"), answer)
        self.assertEqual(answer["value"], [[11.0]])

    def test_set_visible_devices_hides_the_other_gpu_and_its_limit(self):
        """The one that is left is Gantry's second: it has the second one's limit."""
        answer, _ = run("""
tf.config.set_visible_devices(gpus[1], "GPU")
say(error=fill("GPU:0", 48))""", GANTRY_MEMORY_LIMIT="GPU:1=32M")
        self.assertIn("32", answer["error"] or "no error")

    def test_no_visible_gpu_programs_run_on_the_cpu(self):
        answer, _ = run("""
tf.config.set_visible_devices([], "GPU")
say(logical=logical(), device=tf.add(1.0, 2.0).device)""")
        self.assertEqual(answer["logical"], [])
        self.assertIn("CPU:0", answer["device"])

    def test_set_memory_growth_is_accepted_and_read_back(self):
        answer, _ = run("""
for gpu in gpus: tf.config.experimental.set_memory_growth(gpu, True)
say(growth=[tf.config.experimental.get_memory_growth(gpu) for gpu in gpus], logical=logical())""")
        self.assertEqual(answer["growth"], [True, True])
        self.assertEqual(len(answer["logical"]), 2)

    def test_set_logical_device_configuration_warns_once_with_the_variable(self):
        answer, _ = run("""
parts = [tf.config.LogicalDeviceConfiguration(memory_limit=512)] * 2
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for gpu in gpus: tf.config.set_logical_device_configuration(gpu, parts)
say(texts=[str(warning.message) for warning in caught], files=[warning.filename for warning in caught], logical=logical())""")
        self.assertEqual(len(answer["texts"]), 1, answer)
        self.assertIn('GANTRY_LOGICAL_DEVICES="GPU:0=512M,512M"', answer["texts"][0])
        self.assertEqual(answer["files"], ["<string>"])  # the caller's line
        self.assertEqual(len(answer["logical"]), 2)

    def test_one_logical_device_with_a_limit_warns_with_the_limit(self):
        answer, _ = run("""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tf.config.set_logical_device_configuration(gpus[0], [tf.config.LogicalDeviceConfiguration(memory_limit=1024)])
say(texts=[str(warning.message) for warning in caught])""")
        self.assertEqual(len(answer["texts"]), 1, answer)
        self.assertIn('GANTRY_MEMORY_LIMIT="GPU:0=1024M"', answer["texts"][0])

    def test_a_program_that_follows_the_warning_is_not_warned(self):
        program = """
parts = [tf.config.LogicalDeviceConfiguration(memory_limit=limit) for limit in LIMITS]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for gpu in gpus[:COUNT]: tf.config.set_logical_device_configuration(gpu, parts)
say(texts=[str(warning.message) for warning in caught])"""

        def texts(limits, count=1, **variables):
            return run(program.replace("LIMITS", repr(limits)).replace("COUNT", str(count)), **variables)[0]["texts"]

        self.assertEqual(texts([512, 512], 2, GANTRY_LOGICAL_DEVICES="GPU:0=512M,512M"), [])
        self.assertEqual(texts([1024], GANTRY_MEMORY_LIMIT="GPU:0=1024M"), [])
        for limits, variables in (([512, 256], {"GANTRY_LOGICAL_DEVICES": "GPU:0=512M,512M"}), ([512, 512, 512], {
                "GANTRY_LOGICAL_DEVICES": "GPU:0=512M,512M"}), ([512], {"GANTRY_MEMORY_LIMIT": "GPU:1=512M"})):
            self.assertEqual(len(texts(limits, **variables)), 1, limits)
        split = texts([512, 512], 3, GANTRY_LOGICAL_DEVICES="GPU:0=512M,512M")  # the third GPU is the second card
        self.assertEqual(len(split), 1)
        self.assertIn('GANTRY_LOGICAL_DEVICES="GPU:1=512M,512M"', split[0])

    def test_logical_cpus_are_not_warned_of(self):
        answer, _ = run("""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0],
                                               [tf.config.LogicalDeviceConfiguration()] * 2)
say(texts=[str(warning.message) for warning in caught], cpus=len(tf.config.list_logical_devices("CPU")))""")
        self.assertEqual(answer, {"texts": [], "cpus": 2})

    def test_memory_info_counts_a_tensor(self):
        answer, _ = run("""
before = tf.config.experimental.get_memory_info("GPU:1")["current"]
with tf.device("/GPU:1"): tensor = tf.fill([1048576], 1.0)
tensor.numpy()
during = tf.config.experimental.get_memory_info("GPU:1")
del tensor
after = tf.config.experimental.get_memory_info("GPU:1")
tf.config.experimental.reset_memory_stats("GPU:1")
say(before=before, during=during["current"], peak=after["peak"], after=after["current"],
    reset=tf.config.experimental.get_memory_info("GPU:1")["peak"])""")
        self.assertGreaterEqual(answer["during"] - answer["before"], 4194304, answer)
        self.assertGreaterEqual(answer["peak"], answer["during"], answer)
        self.assertLess(answer["after"], answer["during"], answer)
        self.assertEqual(answer["reset"], answer["after"], answer)

    def test_lists_of_devices_have_the_memory_limit(self):
        program = """
from tensorflow.python.client import device_lib
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    of_session = [device.memory_limit_bytes for device in session.list_devices() if device.device_type == "GPU"]
say(local=[device.memory_limit for device in device_lib.list_local_devices() if device.device_type == "GPU"], session=of_session)"""
        answer, _ = run(program, GANTRY_MEMORY_LIMIT="GPU:1=512M")
        self.assertGreater(answer["local"][0], 512 << 20)
        self.assertEqual(answer["local"][1], 512 << 20)
        self.assertEqual(answer["session"], answer["local"])
        answer, _ = run(program, GANTRY_LOGICAL_DEVICES="GPU:0=100M,200M")
        self.assertEqual(answer["local"][:2], [100 << 20, 200 << 20])

    def test_lists_of_a_servers_devices_have_no_limit_of_this_process(self):
        answer, _ = run("""
server = tf.distribute.Server.create_local_server()
with tf.Graph().as_default(), tf.compat.v1.Session(server.target) as session:
    say(limits=[device.memory_limit_bytes for device in session.list_devices() if device.device_type == "GPU"])""")
        self.assertEqual(answer["limits"], [0, 0])

    def test_out_of_memory_names_a_function_of_python(self):
        answer, _ = run("""
import gantry_tensorflow
none = gantry_tensorflow.oom_report()
error = fill("GPU:1", 64)
say(error=error, none=none, report=gantry_tensorflow.oom_report("GPU:1"), all=gantry_tensorflow.oom_report())""",
                        GANTRY_MEMORY_LIMIT="GPU:1=32M")
        self.assertIn("gantry_tensorflow.oom_report() shows who holds what", answer["error"])
        self.assertNotIn("gantry_get_", answer["error"])
        self.assertEqual((answer["none"], answer["all"]), ("", answer["report"]))
        self.assertIn("GPU_1_bfc ran out of memory", answer["report"])

    def test_memory_info_of_the_visible_gpu_is_its_own(self):
        answer, _ = run("""
tf.config.set_visible_devices(gpus[1], "GPU")
with tf.device("/GPU:0"): tensor = tf.fill([1048576], 1.0)
tensor.numpy()
say(current=tf.config.experimental.get_memory_info("/GPU:0")["current"])""")
        self.assertGreaterEqual(answer["current"], 4194304)

    def test_memory_info_of_no_device_is_tensorflows_error(self):
        answer, _ = run("""
try:
    tf.config.experimental.get_memory_info("GPU:7")
    say(error=None)
except ValueError as error:
    say(error=str(error))""")
        self.assertIn("GPU:7", answer["error"] or "no error")

    def test_device_details_name_a_device(self):
        answer, _ = run("say(details=[tf.config.experimental.get_device_details(gpu) for gpu in gpus])")
        self.assertEqual(len(answer["details"]), 2)
        for number, details in enumerate(answer["details"]):
            self.assertIn(f"(opencl:{number})", details["device_name"])


class GantryVariables(unittest.TestCase):
    def test_visible_devices_selects_and_orders(self):
        answer, _ = run("say(logical=logical())", GANTRY_VISIBLE_DEVICES="1")
        self.assertEqual(answer["logical"], ["/device:GPU:0"])
        answer, _ = run("say(logical=logical(), small=fill('GPU:0', 48), large=fill('GPU:1', 48))",
                        GANTRY_VISIBLE_DEVICES="1,0", GANTRY_MEMORY_LIMIT="/physical_device:GPU:1=32M")
        self.assertEqual(len(answer["logical"]), 2)
        self.assertIsNotNone(answer["small"])
        self.assertIsNone(answer["large"])

    def test_cuda_visible_devices_hides_nvidia_cards_only(self):
        answer, _ = run("say(logical=logical())", CUDA_VISIBLE_DEVICES="")
        self.assertEqual(len(answer["logical"]), 2)

    def test_logical_devices_are_gpus_with_limits(self):
        answer, _ = run("say(logical=logical(), fits=fill('GPU:0', 16), error=fill('GPU:1', 96), whole=fill('GPU:2', 96))",
                        GANTRY_LOGICAL_DEVICES="GPU:0=64M,64M")
        self.assertEqual(len(answer["logical"]), 3)
        self.assertIsNone(answer["fits"])
        self.assertIn("64", answer["error"] or "no error")
        self.assertIsNone(answer["whole"])

    def test_memory_limit_is_an_error_of_tensorflow_with_gantrys_text(self):
        answer, _ = run("say(error=fill('GPU:0', 96), other=fill('GPU:1', 96), again=fill('GPU:0', 16))",
                        GANTRY_MEMORY_LIMIT="GPU:0=64M")
        self.assertIn("64", answer["error"] or "no error")
        self.assertIn("GPU:0", answer["error"])
        self.assertIsNone(answer["other"])
        self.assertIsNone(answer["again"])

    def test_no_growth_takes_the_limit_at_once(self):
        answer, _ = run("say(logical=logical(), error=fill('GPU:0', 16))", GANTRY_MEMORY_GROWTH="0", GANTRY_MEMORY_LIMIT="64M")
        self.assertEqual(len(answer["logical"]), 2)
        self.assertIsNone(answer["error"])

    def test_gpu_off_programs_run_on_the_cpu(self):
        answer, text = run("say(gpus=len(gpus), device=tf.add(1.0, 2.0).device)", GANTRY_OPENCL_CPU="off")
        self.assertEqual(answer["gpus"], 0)
        self.assertIn("CPU:0", answer["device"])

    def test_a_bad_value_names_the_variable(self):
        _, text = run("say(gpus=len(gpus))", GANTRY_MEMORY_LIMIT="GPU:0=many")
        self.assertIn("GANTRY_MEMORY_LIMIT", text)
        self.assertIn("many", text)

    def test_trace_holds_the_ops(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "trace.json")
            run("""
with tf.device("/GPU:1"): tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]).numpy()
say()""", GANTRY_TRACE=file)
            with open(file, encoding="utf-8") as trace:
                text = trace.read()
            json.loads(text)
            self.assertIn("MatMul", text)
            self.assertIn("GPU:1", text)


if __name__ == "__main__":
    unittest.main()
