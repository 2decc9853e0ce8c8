# SPDX-License-Identifier: Apache-2.0
"""Promise: In a TensorFlow built for CUDA the plug-in steps aside with the reason and the remedy.

A TensorFlow that has kernels for GPUs, as one built for CUDA has: the plug-in steps aside with the reason and the
remedy, once, and programs run on the CPU. The kernel is one of this file, registered before TensorFlow is imported."""

import sys

from _process import FOUND, plugin_file, run

CODE = """
import ctypes, importlib.util, os
folder = importlib.util.find_spec("tensorflow").submodule_search_locations[0]
framework = ctypes.CDLL(os.path.join(folder, "libtensorflow_framework.so.2"))
create = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda construction: None)
compute = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda kernel, context: None)
framework.TF_NewStatus.restype = framework.TF_NewKernelBuilder.restype = ctypes.c_void_p
framework.TF_NewKernelBuilder.argtypes = [ctypes.c_char_p, ctypes.c_char_p, type(create), type(compute), ctypes.c_void_p]
framework.TF_RegisterKernelBuilder.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
framework.TF_GetCode.argtypes = [ctypes.c_void_p]
status = framework.TF_NewStatus()
builder = framework.TF_NewKernelBuilder(b"MatMul", b"GPU", create, compute, None)
framework.TF_RegisterKernelBuilder(b"MatMulOfCuda", builder, status)
assert framework.TF_GetCode(status) == 0
import tensorflow as tf
print(len(tf.config.list_physical_devices("GPU")), "GPUs")
with tf.device("/GPU:0"):
    y = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, x)))(tf.ones((3, 3)))
print("sum", float(y))
model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(tf.ones((4, 3)), tf.ones((4, 2)), verbose=0)
print("trained")
"""

if not plugin_file():
    print(FOUND)
    sys.exit()
code, output = run(CODE, TF_CPP_MIN_LOG_LEVEL="1")
print(output)
assert code == 0, code
for text in ("0 GPUs\n", "sum 27.0", "trained",
             "Gantry's devices are not offered: TensorFlow has kernels for GPU already, from CUDA or from another plug-in",
             "Install tensorflow-cpu instead of tensorflow"):
    assert output.count(text) == 1, (text, output.count(text))
print("ok")
