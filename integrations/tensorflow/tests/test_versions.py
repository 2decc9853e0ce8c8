#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: The plug-in takes the versions of TensorFlow that it is tested with, and names a remedy for others.

The plug-in takes the versions of TensorFlow that it is tested with, and names a remedy for others.

    PYTHON test_versions.py     PYTHON has TensorFlow and the plug-in
"""

import ctypes
import os
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("GANTRY_OPENCL_CPU", "gpu")

import tensorflow as tf
from gantry_tensorflow import places

MINORS = places.TESTED
NEXT = "2." + str(int(MINORS[-1].partition(".")[2]) + 1)
TAKEN = places.RELEASES + (MINORS[0] + ".0", MINORS[-1] + ".0-rc1")
REFUSED = ("2.17.1", NEXT + ".0", MINORS[-1] + "9.0", "3.20.0", "1.15.5", "", "nightly")


def plugin():
    """The plug-in of this process."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "gantry_tensorflow.so" in line}
    return ctypes.CDLL(paths.pop())


def refusal(version):
    text = ctypes.create_string_buffer(400)
    refuses = plugin().gantry_tensorflow_refuses_version
    refuses.restype = ctypes.c_bool
    return text.value.decode() if refuses(version.encode(), text, len(text)) else ""


class Versions(unittest.TestCase):
    def test_this_one_has_devices(self):
        self.assertEqual(refusal(tf.__version__), "")
        self.assertTrue(tf.config.list_physical_devices("GPU"))

    def test_known(self):
        for version in TAKEN:
            self.assertEqual(refusal(version), "", version)

    def test_unknown(self):
        for version in REFUSED:
            text = refusal(version)
            self.assertIn(f'this TensorFlow is version "{version}"; gantry-tensorflow is tested with {MINORS[0]} to {MINORS[-1]}.', text)
            self.assertIn("GANTRY_TF_ANY_VERSION=1", text)


if __name__ == "__main__":
    unittest.main()
