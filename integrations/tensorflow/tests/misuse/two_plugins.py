# SPDX-License-Identifier: Apache-2.0
"""Promise: Of two plug-ins in one process the first one serves, and one line says so.

The plug-in twice in one process, as two copies and as one file that two folders name: the first one serves, and one
line says what is wrong."""

import os
import shutil
import sys
import tempfile

from _process import FOUND, plugin_file, run

CODE = """
import tensorflow as tf
print(len(tf.config.list_physical_devices("GPU")), "GPUs")
with tf.device("/GPU:0"):
    y = tf.reduce_sum(tf.ones((3, 3)))
print("sum", float(y), y.device[-5:])
"""


def output_of(**environment):
    """What the program prints; it computes on two GPUs."""
    code, output = run(CODE, TF_CPP_MIN_LOG_LEVEL="1", **environment)
    print(output)
    assert code == 0, code
    assert "2 GPUs\n" in output and "sum 9.0 GPU:0" in output
    return output


plugin = plugin_file()
if not plugin:
    print(FOUND)
    sys.exit()
with tempfile.TemporaryDirectory() as folder:
    copies, packages = os.path.join(folder, "copies"), os.path.join(folder, "site-packages")
    os.makedirs(copies)
    os.makedirs(os.path.join(packages, "tensorflow-plugins"))
    for name in ("libfirst.so", "libsecond.so"):
        shutil.copy(plugin, os.path.join(copies, name))
    # A copy or a link has no libgantry in its folder, and TensorFlow loads the folders in the order of a set.
    beside = os.path.dirname(os.path.realpath(plugin))
    path = os.pathsep.join([beside, os.path.join(os.path.dirname(beside), "gantry_tensorflow", "lib"),
                            os.environ.get("LD_LIBRARY_PATH", "")])
    installed = 0 if os.environ.get("TF_PLUGGABLE_DEVICE_LIBRARY_PATH") else 1
    # of the copies, one serves unless an installed plug-in does
    output = output_of(TF_PLUGGABLE_DEVICE_LIBRARY_PATH=copies, LD_LIBRARY_PATH=path)
    for text in ("Gantry's devices are not offered: TensorFlow has kernels for GPU already",
                 "remove the other file from the folder tensorflow-plugins"):
        assert output.count(text) == 1 + installed, (text, output.count(text))
    # one file by two ways
    os.symlink(plugin, os.path.join(packages, "tensorflow-plugins", "libgantry_tensorflow.so"))
    output = output_of(TF_PLUGGABLE_DEVICE_LIBRARY_PATH=plugin, LD_LIBRARY_PATH=path,
                       PYTHONPATH=os.pathsep.join([packages, os.environ.get("PYTHONPATH", "")]))
    text = "TensorFlow loads gantry-tensorflow twice, and the first one serves. Unset TF_PLUGGABLE_DEVICE_LIBRARY_PATH"
    assert output.count(text) == 1, output.count(text)
print("ok")
