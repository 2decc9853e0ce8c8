#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: docs/tensorflow.md and examples/ci/tensorflow.yml work as their readers run them.

docs/tensorflow.md and examples/ci/tensorflow.yml as their readers run them.

The page's programs (```python blocks whose first line is their name) and sessions (```console blocks) run in one folder;
each line that the page shows must come out. TensorFlow's and Gantry's messages may come, too.

    PYTHON test_page.py     PYTHON has TensorFlow and the installed wheel
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

from child import LONGEST_SECONDS

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
MESSAGE = re.compile(r"^([IWE]\d{4} |[IWE] gantry: |WARNING: All log messages|To enable the following)")


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def shell(script, folder, **variables):
    """Exit code and output. `python` is this Python."""
    values = dict(os.environ, PATH=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"], **variables)
    for name in ("GANTRY_OPENCL_CPU", "POCL_DEVICES", "TF_CPP_MIN_LOG_LEVEL"):
        if name not in variables:
            values.pop(name, None)  # the page sets them
    done = subprocess.run(["sh", "-c", script], cwd=folder, env=values, text=True, timeout=LONGEST_SECONDS,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def sessions(page):
    """(script, lines) of each console block; what a block exports holds for those after it."""
    exports = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        lines = block.splitlines()
        commands = [line[2:] for line in lines if line.startswith("$ ")]
        yield "\n".join(exports + commands), [line for line in lines if not line.startswith("$ ")]
        exports += [command for command in commands if command.startswith("export ")]


class Page(unittest.TestCase):
    def test_sessions_print_what_the_page_shows(self):
        page = read("docs/tensorflow.md")
        with tempfile.TemporaryDirectory() as folder:
            programs = re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
            for name, text in programs:
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertGreaterEqual(len(programs), 3)
            for script, wanted in sessions(page):
                with self.subTest(script=script):
                    _, output = shell(script, folder)
                    printed = [line.rstrip() for line in output.splitlines() if not MESSAGE.match(line)]
                    self.assertEqual(printed, [line.rstrip() for line in wanted])

    def test_every_variable_of_the_plugin_is_on_the_page(self):
        page = read("docs/tensorflow.md")
        names = re.findall(r'"(GANTRY_TF_\w+)"', read("src/base/environment.def"))
        self.assertGreaterEqual(len(names), 4)
        self.assertEqual([name for name in names if f"`{name}" not in page], [])

    def test_ops_on_variables_without_a_kernel_are_on_the_page(self):
        page = read("docs/tensorflow.md").replace("`...", "`ResourceAccumulator")
        found = re.search(r"^variables without a kernel:.* \((\d+)\):\n((?:  .*\n)+)", read("integrations/tensorflow/not_bridged.txt"),
                          re.MULTILINE)
        self.assertEqual([name for name in found.group(2).split() if f"`{name}`" not in page], [])
        self.assertIn(f"These {found.group(1)} have no\nkernel", page)


def steps(workflow):
    """The script of each named step."""
    found = re.findall(r"^      - name: (.*)\n        run: \|\n((?:          .*\n)+)", workflow, re.MULTILINE)
    return {name: "".join(line[10:] + "\n" for line in text.splitlines()) for name, text in found}


class Workflow(unittest.TestCase):
    def test_steps_are_shell_scripts(self):
        found = steps(read("examples/ci/tensorflow.yml"))
        self.assertEqual(len(found), 5, found.keys())
        for name, script in found.items():
            done = subprocess.run(["sh", "-n"], input=script, text=True, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")

    def test_doctor_and_the_users_tests_run(self):
        workflow = read("examples/ci/tensorflow.yml")
        variables = dict(re.findall(r"^      (\w+): ([^#\n]*[^#\s])", workflow, re.MULTILINE))
        self.assertEqual(variables["POCL_DEVICES"], "pthread pthread")
        found = steps(workflow)
        doctor = next(script for name, script in found.items() if name.startswith("Two GPUs"))
        with tempfile.TemporaryDirectory() as home:
            os.symlink(os.path.dirname(os.path.dirname(sys.executable)), os.path.join(home, "tf"))
            with open(os.path.join(home, "test_gpus.py"), "w", encoding="utf-8") as file:
                file.write("import unittest, tensorflow as tf\nclass T(unittest.TestCase):\n    def test_two(self):\n"
                           "        self.assertEqual(len(tf.config.list_logical_devices('GPU')), 2)\n")
            code, output = shell(doctor, home, HOME=home, **variables)
            self.assertEqual(code, 0, output)
            code, output = shell(doctor, home, HOME=home, **{**variables, "POCL_DEVICES": "pthread"})
            self.assertEqual(code, 1, output)
            self.assertIn("TensorFlow sees 1", output)
            code, output = shell(found["Your tests"], home, HOME=home, **variables)
            self.assertEqual(code, 0, output)
            self.assertIn("test_two", output)


if __name__ == "__main__":
    unittest.main()
