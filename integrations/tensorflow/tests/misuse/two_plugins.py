# SPDX-License-Identifier: Apache-2.0
"""Two copies of the plug-in in one process: TensorFlow takes one, or says what is wrong; it does not die."""

import os
import shutil
import subprocess
import sys
import tempfile

from _process import FOUND, plugin_file

CODE = """
try:
    import tensorflow as tf
    print(len(tf.config.list_physical_devices("GPU")), "GPUs")
    print("sum", float(tf.reduce_sum(tf.ones((3, 3)))))
except Exception as error:
    print("refused:", type(error).__name__, error)
"""

plugin = plugin_file()
if not plugin:
    print(FOUND)
    sys.exit()
with tempfile.TemporaryDirectory() as folder:
    for name in ("libfirst.so", "libsecond.so"):
        shutil.copy(plugin, os.path.join(folder, name))
    path = os.pathsep.join([os.path.dirname(os.path.realpath(plugin)), os.environ.get("LD_LIBRARY_PATH", "")])
    child = subprocess.run([sys.executable, "-c", CODE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           env=dict(os.environ, TF_PLUGGABLE_DEVICE_LIBRARY_PATH=folder, LD_LIBRARY_PATH=path))
print(child.stdout)
assert child.returncode == 0, child.returncode
assert "sum 9.0" in child.stdout or "refused:" in child.stdout
print("ok")
