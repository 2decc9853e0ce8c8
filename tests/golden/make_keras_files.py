#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise (keras_files): Models and optimizers go from the real Keras to Gantry and back through safetensors.

Writes keras_files.json: models that Keras trained and saved by safetensors under its variables' paths. A case has the name
of one of test_keras_files.c, the file after two epochs, and the elements of all tensors after two more. Run: make_keras_files.py. With --check PROGRAM, which is test_keras_files, it gives each file to Gantry, which trains
on and saves for Keras; Keras then loads that file, and both trainings must agree. Needs Keras 3 and safetensors.
"""
import os
import subprocess
import sys
import tempfile

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
try:
    import keras
    import numpy as np
    from keras import Input, Model, Sequential, layers, optimizers
    from safetensors.numpy import load_file, save, save_file
except ImportError as error:
    print(f"SKIP: {sys.executable} has no Keras 3 with safetensors: {error}")
    sys.exit(77)

import golden_form

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS, FEATURES, STEPS, OUTPUTS, EPOCHS, BATCH = 8, 3, 4, 2, 2, 4


def numbers(*shape, factor):
    return ((np.arange(int(np.prod(shape))) * factor % 64 - 32) / 32).reshape(shape).astype("float32")


def plain():
    return Sequential([Input((FEATURES,)), layers.Dense(4, "tanh"), layers.BatchNormalization(), layers.Dense(OUTPUTS)])


def small():
    return Sequential([Input((FEATURES,)), layers.Dense(OUTPUTS)])


def functional():
    block = Sequential([Input((FEATURES,)), layers.Dense(3, "tanh", name="first")], name="block")
    x = Input((FEATURES,))
    other = Model(x, layers.Dense(3, name="second")(x), name="other")
    x = Input((FEATURES,))
    return Model(x, layers.Dense(OUTPUTS, name="head")(layers.Add()([block(x), other(x)])))


def nested():
    inside = Sequential([layers.Dense(3, "tanh")], name="inside")
    return Sequential([Input((FEATURES,)), inside, layers.Dense(OUTPUTS)], name="outer")


def blocks():
    one = Sequential([Input((FEATURES,)), layers.Dense(3, "tanh"), layers.Dense(3)], name="one")
    two = Sequential([Input((FEATURES,)), layers.Dense(3)], name="two")
    x = Input((FEATURES,))
    return Model(x, layers.Dense(OUTPUTS)(layers.Add()([one(x), two(x)])))


def begun():
    block = Sequential([Input((FEATURES,)), layers.Dense(3)], name="first")
    for name in "second", "third":
        block = Sequential([block, layers.Dense(3)], name=name)
    return Sequential([Input((FEATURES,)), block, layers.Dense(OUTPUTS)], name="outer")


def single():
    block = Sequential([Sequential([Input((FEATURES,)), layers.Dense(3)], name="first")], name="second")
    block = Sequential([block, layers.Dense(3)], name="third")
    return Sequential([Input((FEATURES,)), block, layers.Dense(OUTPUTS)], name="outer")


def double():
    return Sequential([Input((FEATURES,), dtype="float64"), layers.Dense(OUTPUTS, dtype="float64")])


def recurrent():
    return Sequential([Input((STEPS, FEATURES)), layers.Bidirectional(layers.LSTM(2, return_sequences=True)),
                       layers.TimeDistributed(layers.Dense(2)), layers.LSTM(2, return_sequences=True), layers.GRU(2),
                       layers.Dense(OUTPUTS)])


def many():
    x = Input((STEPS, FEATURES))
    y = layers.Conv1D(4, 3, padding="same")(x)
    y = layers.SeparableConv1D(4, 3, padding="same")(y)
    y = layers.Conv1DTranspose(4, 3, padding="same")(y)
    y = layers.RMSNormalization()(layers.GroupNormalization(2)(layers.LayerNormalization()(layers.PReLU()(y))))
    y = layers.MultiHeadAttention(2, 3, name="attention")(y, y)
    y = layers.Bidirectional(layers.SimpleRNN(2, return_sequences=True, name="mine"), name="both")(y)
    y = layers.Reshape((STEPS, 4, 1))(y)
    y = layers.TimeDistributed(layers.Bidirectional(layers.GRU(1, return_sequences=True)))(y)
    y = layers.DepthwiseConv2D(3, padding="same")(layers.Conv2D(2, 3, padding="same")(y))
    y = layers.Conv2DTranspose(2, 3, padding="same")(layers.SeparableConv2D(2, 3, padding="same")(y))
    return Model(x, layers.Dense(OUTPUTS)(layers.Flatten()(y)))


def large():
    return Sequential([Input((FEATURES,)), layers.Dense(2740, "tanh"), layers.Dense(OUTPUTS)])


CASES = {
    "plain, Adam": (plain, lambda: optimizers.Adam(0.0625, amsgrad=True)),
    "functional, Nadam": (functional, lambda: optimizers.Nadam(0.0625)),
    "nested, RMSprop": (nested, lambda: optimizers.RMSprop(0.03125, momentum=0.5, centered=True)),
    "recurrent, AdamW": (recurrent, lambda: optimizers.AdamW(0.03125)),
    "many, SGD": (many, lambda: optimizers.SGD(0.03125)),
    "small, SGD": (small, lambda: optimizers.SGD(0.125)),
    "small, SGD, momentum": (small, lambda: optimizers.SGD(0.125, momentum=0.5)),
    "small, Adagrad": (small, lambda: optimizers.Adagrad(0.125)),
    "small, Adadelta": (small, lambda: optimizers.Adadelta(0.5)),
    "small, Adamax": (small, lambda: optimizers.Adamax(0.0625)),
    "small, Lion": (small, lambda: optimizers.Lion(0.03125)),
    "small, Ftrl, schedule": (small, lambda: optimizers.Ftrl(optimizers.schedules.ExponentialDecay(0.25, 3, 0.5))),
    "small, Adam, averages": (small, lambda: optimizers.Adam(0.0625, use_ema=True, ema_momentum=0.75, gradient_accumulation_steps=3)),
    "small, no optimizer": (small, None),
    "blocks, Adam": (blocks, lambda: optimizers.Adam(0.0625)),
    "begun, SGD": (begun, lambda: optimizers.SGD(0.125)),
    "single, SGD": (single, lambda: optimizers.SGD(0.125)),
    "double, Nadam": (double, lambda: optimizers.Nadam(0.0625)),
    "small, Adam, JAX": (small, lambda: optimizers.Adam(0.0625), {"adam/iteration": "int32"}),  # as on JAX and PyTorch
}
LIVE_CASES = {"large, Adam": (large, lambda: optimizers.Adam(0.0078125))}  # slots that are joined with no others


def make(case):
    keras.utils.clear_session()
    keras.utils.set_random_seed(7)
    layers_of, optimizer = case[:2]
    model = layers_of()
    model.compile(optimizer() if optimizer else "sgd", "mse", run_eagerly=True)
    return model


def train(model):
    x = numbers(ROWS, *model.input_shape[1:], factor=37)
    model.fit(x, numbers(ROWS, OUTPUTS, factor=23), batch_size=BATCH, epochs=EPOCHS, shuffle=False, verbose=0)


def variables(model, case):
    return model.weights + (model.optimizer.variables if case[1] else [])


def tensors(model, case):
    types = case[2] if case[2:] else {}
    return {v.path: np.asarray(v.numpy()).astype(types.get(v.path, v.dtype)) for v in variables(model, case)}


def write():
    made = []
    for name, case in CASES.items():
        model = make(case)
        train(model)
        before = save(tensors(model, case))
        train(model)
        after = save(tensors(model, case))
        start = 8 + int.from_bytes(after[:8], "little")
        assert before[:start] == after[:start]
        made.append({"name": name, "inputs": [golden_form.array_text(np.frombuffer(before, np.uint8))],
                     "outputs": [golden_form.array_text(np.frombuffer(after[start:], np.uint8))]})
    head = {"op": "keras_files", "made_with": f"Keras {keras.__version__}"}
    golden_form.write_file(os.path.join(HERE, "keras_files.json"), head, made)


def expect_close(name, got, want):
    assert got.keys() == want.keys(), f"{name}: {sorted(got.keys() ^ want.keys())}"
    for path, value in want.items():
        assert got[path].dtype == value.dtype or value.ndim == 0, f"{name}: {path}"  # a scalar has Gantry's type
        assert got[path].shape == value.shape, f"{name}: {path}"
        np.testing.assert_allclose(got[path], value, 1e-4, 1e-6, err_msg=f"{name}: {path}")


def check(program):
    with tempfile.TemporaryDirectory() as folder:
        given, made = os.path.join(folder, "given"), os.path.join(folder, "made")
        for name, case in {**CASES, **LIVE_CASES}.items():
            model = make(case)
            train(model)
            save_file(tensors(model, case), given)
            subprocess.run([program, name, given, made], check=True)
            back, got = make(case), load_file(made)
            train(model)
            expect_close(name, got, tensors(model, case))
            train(back)  # makes the optimizer's variables
            for v in variables(back, case):
                v.assign(got[v.path])
            train(back)
            train(model)
            expect_close(f"{name}, back in Keras", tensors(back, case), tensors(model, case))
            print(f"{name}: {len(got)} tensors")


if __name__ == "__main__":
    check(sys.argv[2]) if sys.argv[1:2] == ["--check"] else write()
