# SPDX-License-Identifier: Apache-2.0
"""Promise: build_variables.py refuses what it cannot compile, with the reason and the remedy, and the plug-in refuses
a wrong file.

build_variables.py refuses what it cannot compile, with the reason and the remedy, and the plug-in a wrong file.

Run by a Python with TensorFlow and the plug-in: python test_build_variables.py"""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from child import LONGEST_SECONDS

SHIM = Path(__file__).resolve().parent.parent / "shim" / "build_variables.py"
spec = importlib.util.spec_from_file_location("build_variables", SHIM)
build_variables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build_variables)


def script(folder, text):
    """An executable of a few lines."""
    path = Path(folder) / "program"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


class TestRefusals(unittest.TestCase):
    def refusal(self, call, *arguments, **named):
        with self.assertRaises(build_variables.Refused) as caught:
            call(*arguments, **named)
        return str(caught.exception)

    def test_version(self):
        for version in ("2.18.1", "2.19.0", *(f"{minor}.9" for minor in build_variables.known_versions())):
            build_variables.check_version(version)
        for version in ("2.17.1", "2.99.0-rc0", "2.2.18", "3.0.0"):
            text = self.refusal(build_variables.check_version, version)
            self.assertIn(f"TensorFlow {version} is installed", text)
            self.assertIn("Install one of these, or a newer gantry-tensorflow", text)

    def test_no_compiler(self):
        with tempfile.TemporaryDirectory() as empty, mock.patch.dict(os.environ, {"PATH": empty, "CXX": "none"}):
            self.assertIn("Install one, such as the package g++", self.refusal(build_variables.find_compiler))

    def test_no_tensorflow(self):
        with tempfile.TemporaryDirectory() as folder:
            python = script(folder, "echo \"ModuleNotFoundError: No module named 'tensorflow'\" >&2; exit 1")
            text = self.refusal(build_variables.ask_tensorflow, python)
            self.assertIn("No module named 'tensorflow'", text)
            self.assertIn("Install tensorflow or tensorflow-cpu there", text)

    def test_failed_compiler_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            python = script(folder, "printf '2.21.0\\n/include\\n/lib\\n-DX=1\\n'")
            out = Path(folder) / "out"
            text = self.refusal(build_variables.build, out, python, compiler="false")
            self.assertIn("The compiler failed for TensorFlow 2.21.0", text)
            self.assertEqual(list(out.iterdir()), [])

    def test_command_names_the_version(self):
        words = build_variables.command(["g++"], "2.21.0", "/include", "/lib", ["-DX=1", "-I/include"], "/out.so")
        self.assertIn('-DGANTRY_TF_VERSION="2.21.0"', words)
        self.assertIn("-DX=1", words)
        self.assertEqual(build_variables.file_name("2.21.0"), "libgantry_tensorflow_variables-2.21.0.so")


PROGRAM = """
import tensorflow as tf
with tf.device('GPU:0'):
    v = tf.Variable([1.0])
    try:
        v.assign_add([1.0])
        print('updated')
    except tf.errors.FailedPreconditionError as error:
        print('refused', tf.version.VERSION in str(error))
"""


class TestWrongFile(unittest.TestCase):
    """A file that is none, or one of another version, is named and not used."""

    def check_file(self, path, text):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=LONGEST_SECONDS,
                              env=dict(os.environ, GANTRY_TF_VARIABLES=path, TF_CPP_MIN_LOG_LEVEL="1"))
        self.assertIn(done.stdout.strip(), ("updated", "refused True"), done.stderr[-2000:])
        self.assertIn(path, done.stderr)
        self.assertRegex(done.stderr, text)

    def test_missing_file(self):
        self.check_file("/nowhere/variables.so", "does not open")

    def test_file_of_another_version(self):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "other.so")
            source = Path(folder) / "other.c"
            source.write_text('const char *gantry_tf_variables_version(void) { return "1.2.3"; }\n')
            try:
                subprocess.run(["cc", "-shared", "-fPIC", "-o", path, str(source)], check=True)
            except FileNotFoundError:
                self.skipTest("there is no C compiler (cc)")
            self.check_file(path, "was made for TensorFlow 1.2.3, and this is")


if __name__ == "__main__":
    unittest.main()
