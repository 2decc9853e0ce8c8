# SPDX-License-Identifier: Apache-2.0
"""The doctor's look into a process with TensorFlow: python -m gantry_tensorflow.probe.

Prints one JSON object a line, each when its step is done. A process that a step kills has printed the steps before it.
"""

import json
import os
import sys
import traceback

STEPS = []


def step(function):
    STEPS.append(function)
    return function


def say(name, **values):
    print(json.dumps({"step": name, **values}), flush=True)


@step
def import_tensorflow():
    import tensorflow as tf

    say("import", version=tf.version.VERSION, is_cuda=bool(tf.sysconfig.get_build_info().get("is_cuda_build")))


@step
def plugins():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = {line.split(maxsplit=5)[-1].strip() for line in maps if "/" in line}
    say("plugins", files=sorted(file for file in files if os.sep + "tensorflow-plugins" + os.sep in file
                                or os.path.basename(file) == "libgantry_tensorflow.so"))


@step
def devices():
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    say("devices", names=[gpu.name for gpu in gpus],
        details=[tf.config.experimental.get_device_details(gpu).get("device_name", "") for gpu in gpus])


@step
def compute():
    import tensorflow as tf

    values = tf.reshape(tf.range(64, dtype=tf.float32), (8, 8))
    with tf.device("/CPU:0"):
        wanted = tf.matmul(values, values) + 1
    wrong = []
    gpus = tf.config.list_logical_devices("GPU")
    for gpu in gpus:
        with tf.device(gpu.name):
            got = tf.matmul(values, values) + 1
        if not bool((got.numpy() == wanted.numpy()).all()) or gpu.name not in got.device:
            wrong.append(f"{gpu.name}: computed on {got.device}, {got.numpy().ravel()[:3].tolist()}")
    say("compute", count=len(gpus), wrong=wrong)


@step
def variables():
    import tensorflow as tf

    gpus = tf.config.list_logical_devices("GPU")
    if not gpus:
        return
    with tf.device(gpus[0].name):
        variable = tf.Variable([1.0, 2.0])
        variable.assign_add([1.0, 1.0])
    from tensorflow.python.framework import kernels

    has_references = any(kernel.device_type == "GPU" for kernel in kernels.get_registered_kernels_for_op("Assign").kernel)
    say("variables", has_references=has_references, is_right=variable.numpy().tolist() == [2.0, 3.0], device=variable.device)


@step
def keras():
    import numpy
    import tensorflow as tf

    if not tf.config.list_logical_devices("GPU"):
        return
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    loss = float(model.train_on_batch(numpy.ones((4, 2), "float32"), numpy.ones((4, 1), "float32")))
    say("keras", loss=loss, version=tf.keras.__version__)


def main():
    for function in STEPS:
        try:
            function()
        except BaseException as error:  # each step's failure is a result
            lines = traceback.format_exception_only(type(error), error)
            say(function.__name__, error="".join(lines).strip())
            if function is import_tensorflow:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
