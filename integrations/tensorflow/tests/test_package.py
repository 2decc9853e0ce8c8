#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: The installed wheel has its files, licences and commands, which say what is missing and the remedy.

The installed wheel: its files, its commands, and what they say when something is missing.
Promise: Pip uninstall removes the file that build-variables wrote.
Promise: The doctor's remedy for too few GPUs is the step that is left, each check has one name, and no text is cut in a word.

    PYTHON test_package.py     PYTHON has TensorFlow and the installed wheel
"""

import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from child import LONGEST_SECONDS
from gantry_tensorflow import places


def run(*arguments, **variables):
    values = dict(os.environ, GANTRY_OPENCL_CPU="gpu", POCL_DEVICES="pthread pthread")
    values.update(variables)
    return subprocess.run([*arguments], env=values, text=True, timeout=LONGEST_SECONDS, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def doctor(*options, python=(sys.executable,), **variables):
    """Exit code, and the checks by state."""
    done = run(*python, "-m", "gantry_tensorflow", "doctor", "--json", *options, **variables)
    checks = json.loads(done.stdout)["checks"]
    return done.returncode, {state: [check for check in checks if check["state"] == state]
                             for state in ("passed", "failed", "not possible")}


class Files(unittest.TestCase):
    def test_every_file_of_the_record_is_there(self):
        files = importlib.metadata.files("gantry-tensorflow")
        missing = [str(file) for file in files if not file.locate().exists()]
        self.assertEqual(missing, [])
        names = {os.path.basename(str(file)) for file in files}
        for name in ("libgantry.so.0", "libgantry_tensorflow.so", "libgantry_backend_opencl.so", "libgantry_backend_cuda.so",
                     "LICENSE", "LICENSE.cJSON", "LICENSE.xxHash"):
            self.assertIn(name, names)

    def test_metadata_is_valid(self):
        from packaging.metadata import Metadata

        text = importlib.metadata.distribution("gantry-tensorflow").read_text("METADATA")
        metadata = Metadata.from_email(text)
        self.assertEqual(metadata.name, "gantry-tensorflow")
        self.assertIn("pip install", text)

    def test_only_the_plugin_lies_where_tensorflow_loads_every_file(self):
        self.assertEqual(os.listdir(places.PLUGIN_FOLDER), ["libgantry_tensorflow.so"])

    def test_the_library_of_the_wheel_is_the_one_in_use(self):
        done = run(sys.executable, "-c", "import tensorflow as tf; tf.config.list_physical_devices();"
                                         "print([l for l in open('/proc/self/maps') if 'libgantry.so' in l][0])")
        self.assertIn(os.path.realpath(places.LIBRARY), done.stdout)


class Commands(unittest.TestCase):
    def test_import_needs_no_tensorflow(self):
        done = run(sys.executable, "-c", "import sys, gantry_tensorflow as g; print(g.__version__, 'tensorflow' in sys.modules)")
        self.assertEqual(done.stdout.split(), [places.VERSION, "False"])

    def test_gantry_runs(self):
        gantry = os.path.join(os.path.dirname(sys.executable), "gantry")
        done = run(gantry, "devices")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("/GPU:1", done.stdout)
        self.assertEqual(run(gantry, "nonsense").returncode, 2)

    def test_usage_errors_have_exit_code_2(self):
        for words in ((), ("nonsense",), ("doctor", "--nonsense")):
            done = run(sys.executable, "-m", "gantry_tensorflow", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("usage:", done.stderr)

    def test_build_variables_without_a_compiler_says_what_to_install(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(sys.executable, "-m", "gantry_tensorflow", "build-variables", "--output", folder, PATH=folder, CXX="")
            self.assertEqual(done.returncode, 1)
            self.assertIn("compiler", done.stderr)
            self.assertEqual(os.listdir(folder), [])


class Uninstall(unittest.TestCase):
    def test_pip_uninstall_leaves_nothing_that_build_variables_wrote(self):
        if not importlib.util.find_spec("pip"):
            self.skipTest("pip is not installed in this Python")
        site = os.path.dirname(places.PACKAGE)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
            python = os.path.join(folder, "bin", "python")
            copy = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
            for name in os.listdir(site):
                if name.startswith(("gantry_tensorflow", "tensorflow-plugins")):
                    shutil.copytree(os.path.join(site, name), os.path.join(copy, name), ignore=shutil.ignore_patterns(
                        "libgantry_tensorflow_variables*"))
            compiler = os.path.join(folder, "compiler")  # as quick as a test wants it: it makes an empty file
            with open(compiler, "w", encoding="utf-8") as file:
                file.write('#!/bin/sh\nfor last; do :; done\n: >"$last"\n')
            os.chmod(compiler, 0o755)
            script = os.path.join(copy, "gantry_tensorflow", "shim", "build_variables.py")
            for _ in range(2):
                done = run(python, script, "--python", sys.executable, "--compiler", compiler)
                self.assertTrue(os.path.exists(done.stdout.strip()), done.stderr)
                self.assertIn(os.path.join(os.path.realpath(copy), "gantry_tensorflow", "lib"), os.path.realpath(done.stdout.strip()))
            done = run(sys.executable, "-m", "pip", "--python", python, "uninstall", "-y", "gantry-tensorflow")
            self.assertEqual(done.returncode, 0, done.stderr)
            left = [name for name in os.listdir(copy) if "gantry" in name or name == "tensorflow-plugins"]
            self.assertEqual(left, [], done.stdout)


class Doctor(unittest.TestCase):
    def test_two_gpus_everything_passes(self):
        code, checks = doctor("--require", "2")
        self.assertEqual((code, checks["failed"]), (0, []))
        self.assertGreater(len(checks["passed"]), 7)

    def test_no_gpu_is_a_failure_where_one_is_required(self):
        code, checks = doctor(GANTRY_OPENCL_CPU="off")
        self.assertEqual((code, checks["failed"]), (0, []))
        code, checks = doctor("--require", "1", GANTRY_OPENCL_CPU="off")
        self.assertEqual(code, 1)
        self.assertIn("GANTRY_OPENCL_CPU=gpu", checks["failed"][0]["remedy"])

    def test_fewer_gpus_than_required_names_the_step_that_is_left(self):
        several = 'export POCL_DEVICES="pthread pthread pthread"'
        for devices in ("pthread", "pthread pthread"):
            code, checks = doctor("--require", "3", POCL_DEVICES=devices)
            self.assertEqual((code, [check["remedy"] for check in checks["failed"]]), (1, [several]))
        _, checks = doctor("--require", "2", POCL_DEVICES="pthread")
        self.assertIn("sees 1 GPU, and", checks["failed"][0]["text"])
        _, checks = doctor("--require", "3", GANTRY_OPENCL_CPU="off", POCL_DEVICES="pthread")
        self.assertEqual(checks["failed"][0]["remedy"], "apt-get install ocl-icd-libopencl1 pocl-opencl-icd, then export "
                                                        f"GANTRY_OPENCL_CPU=gpu, then {several}")
        _, checks = doctor("--require", "2", GANTRY_VISIBLE_DEVICES="1")
        self.assertEqual(checks["failed"][0]["remedy"], 'unset GANTRY_VISIBLE_DEVICES, which is "1"')

    def test_remedies_for_cards_and_texts(self):
        from gantry_tensorflow import doctor as module

        self.assertIn('GANTRY_LOGICAL_DEVICES="GPU:0=1G,1G,1G"', module.gpu_remedy(["NVIDIA H200 (cuda:0)", "NVIDIA H200 (cuda:1)"], 4))
        cut = module.shorten("word \n " * 200)
        self.assertTrue(len(cut) <= module.LONGEST + 4 and cut.endswith("word ..."), cut)
        self.assertEqual(module.shorten("short\ntext"), "short text")

    def test_each_check_has_one_name(self):
        names = {check["text"].split(":")[0] for check in doctor("--require", "2")[1]["passed"]}
        failed = doctor("--require", "2", GANTRY_TF_VARIABLES="none")[1]["failed"]
        self.assertLessEqual({check["text"].split(":")[0] for check in failed}, names)

    def test_without_the_file_for_variables_the_remedy_is_to_build_it(self):
        if places.installed_tensorflow()[0][1].startswith("2.18."):
            self.skipTest("TensorFlow 2.18 exports the functions for variables")
        code, checks = doctor(GANTRY_TF_VARIABLES="none")
        self.assertEqual(code, 1)
        failed = [check for check in checks["failed"] if check["text"].startswith("variables")]
        self.assertEqual([check["remedy"] for check in failed], ["python -m gantry_tensorflow build-variables"])

    def test_without_the_file_what_2_18_lacks_is_said_once(self):
        code, checks = doctor(GANTRY_TF_VARIABLES="none")
        found = [check for state in checks for check in checks[state] if check.get("remedy", "").endswith("build-variables")]
        self.assertEqual(len(found), 1, checks)
        self.assertEqual(code, 0 if places.installed_tensorflow()[0][1].startswith("2.18.") else 1)

    def test_without_tensorflow_the_remedy_is_pip(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(places.PACKAGE, os.path.join(folder, "gantry_tensorflow"))
            code, checks = doctor(python=(sys.executable, "-S"), PYTHONPATH=folder)
        self.assertEqual(code, 1)
        self.assertIn("pip install", " ".join(check.get("remedy", "") for check in checks["failed"]))

    def test_an_untested_version_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            info = os.path.join(folder, "tensorflow_cpu-9.9.0.dist-info")
            os.mkdir(info)
            with open(os.path.join(info, "METADATA"), "w", encoding="utf-8") as file:
                file.write("Metadata-Version: 2.1\nName: tensorflow-cpu\nVersion: 9.9.0\n")
            _, checks = doctor(PYTHONPATH=folder)
        self.assertTrue(any("9.9.0" in check["text"] for check in checks["not possible"]), checks)

    def test_another_plugin_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            plugins = os.path.join(folder, "site-packages", "tensorflow-plugins")
            os.makedirs(plugins)
            with open(os.path.join(plugins, "libother.so"), "wb"):
                pass
            code, checks = doctor(PYTHONPATH=os.path.dirname(plugins))
        self.assertEqual(code, 1)
        self.assertTrue(any("libother.so" in check["text"] for check in checks["failed"]), checks)

    def test_a_plugin_that_the_variable_names_is_looked_at(self):
        for named, text in (("/nonexistent/libother.so", "which does not exist"), (places.LIBRARY, "others are installed")):
            code, checks = doctor(TF_PLUGGABLE_DEVICE_LIBRARY_PATH=named)
            self.assertEqual(code, 1)
            failed = [check for check in checks["failed"] if text in check["text"]]
            self.assertTrue(failed and named in failed[0]["text"], checks)
            self.assertIn("unset TF_PLUGGABLE_DEVICE_LIBRARY_PATH", failed[0]["remedy"])

    def test_the_plugin_loaded_twice_passes(self):
        for named in (places.PLUGIN, places.PLUGIN_FOLDER):
            code, checks = doctor("--require", "2", TF_PLUGGABLE_DEVICE_LIBRARY_PATH=named)
            self.assertEqual((code, checks["failed"]), (0, []))
            self.assertTrue(any("TensorFlow loads it 2 times" in check["text"] for check in checks["passed"]), checks)


if __name__ == "__main__":
    unittest.main()
