#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/unit/support/train_layer_cases.inc and train_layer_seed_cases.inc: Keras's layers, for test_layers.c.

Needs Keras 3.15 and TensorFlow 2.21 (README.md beside this file). Run: python3 make_layer_cases.py
A row has the layer as an expression of C, and Keras's float64 numbers: the output, the gradients of a weighted sum of
it with regard to each floating input and each trained weight, and in training the other weights after the call. Inputs,
weights and the weights of the sum come from a generator that the test has, too; they are exact in float32.
"""
import os
import sys
import zlib

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

TABLE = 7  # rows of the embeddings


class Draw:
    """A linear congruential generator of 32 bits."""

    def __init__(self, seed):
        self.state = seed

    def next(self, limit):
        self.state = (self.state * 1664525 + 1013904223) & 0xFFFFFFFF
        return (self.state >> 8) % limit

    def floats(self, shape, scale):
        count = int(np.prod(shape))
        return (np.array([self.next(4096) - 2048 for _ in range(count)], "float64") / scale).reshape(shape)

    def ints(self, shape):
        return np.array([self.next(TABLE) for _ in range(int(np.prod(shape)))], "int64").reshape(shape)


def set_weights(layer, draw):
    values = []
    for weight in layer.weights:
        value = draw.floats(weight.shape, 4096)
        values.append(value if weight.trainable else np.abs(value) + 0.5)
    layer.set_weights(values)


def call(layer, inputs, training, options):
    several = isinstance(layer, (layers.Add, layers.Concatenate))
    arguments = [inputs] if several else inputs
    if isinstance(layer, layers.MultiHeadAttention) and len(inputs) == 1:
        arguments = inputs * 2
    if isinstance(layer, (layers.BatchNormalization, layers.Dropout)):
        options = {**options, "training": training}
    return layer(*arguments, **options)


def numbers_of(name, make, shapes, dtype, training, options):
    draw = Draw(zlib.crc32(name.encode()))
    inputs = [tf.constant(draw.ints(s) if dtype == "int64" else draw.floats(s, 1024)) for s in shapes]
    layer = make()
    call(layer, inputs, False, options)
    set_weights(layer, draw)
    with tf.GradientTape(persistent=True) as tape:
        if dtype != "int64":
            tape.watch(inputs)
        y = call(layer, inputs, training, options)
        target = tf.reduce_sum(y * draw.floats(y.shape, 4096))
    parts = [y]
    sources = ([] if dtype == "int64" else inputs) + [w.value for w in layer.trainable_weights]
    parts += [tf.convert_to_tensor(g) for g in tape.gradient(target, sources)]
    if training:
        parts += [w.numpy() for w in layer.non_trainable_weights]
    return np.concatenate([np.asarray(p, "float64").ravel() for p in parts])


rows = []


def case(name, make, expression, *shapes, dtype="float64", training=False, **options):
    numbers = ", ".join(f"{x:.12g}" for x in numbers_of(name, make, shapes, dtype, training, options))
    dims = ", ".join(f"{{.rank = {len(s)}, .dims = {{{', '.join(map(str, s))}}}}}" for s in shapes)
    rows.append(f'LAYER_CASE({len(rows)}, "{name}", {zlib.crc32(name.encode())}u, {expression}, GANTRY_{dtype.upper()}, '
                f"{str(training).lower()}, {len(shapes)}, LAYER_LIST({dims}), {numbers})\n")


def options_of(struct, **members):
    if not members:
        return "NULL"
    text = ", ".join(f".{name} = {value}" for name, value in members.items())
    return f"&(gantry_{struct}_options_t){{{text}}}"


def kernel(**members):
    return options_of("kernel", **members)


def wide(layer, *args, **options):
    return lambda: layer(*args, dtype="float64", **options)


# ---- Dense, Embedding ----

def gelu(x):
    """TensorFlow's rounds the root of 2 to float32."""
    return x * 0.5 * (1 + tf.math.erf(x / tf.constant(2**0.5, x.dtype)))


ACTIVATIONS = ("linear relu sigmoid tanh softmax elu selu gelu silu softplus softsign relu6 leaky_relu "
               "log_softmax").split()


def write_dense():
    for rank, shape in ((2, (3, 4)), (3, (2, 3, 4)), (4, (2, 2, 1, 3))):
        case(f"Dense rank {rank}", wide(layers.Dense, 2), "gantry_dense(2, GANTRY_LINEAR, NULL)", shape)
    case("Dense no bias", wide(layers.Dense, 3, use_bias=False),
         f"gantry_dense(3, GANTRY_LINEAR, {kernel(no_bias='true')})", (2, 2))
    for activation in ACTIVATIONS:
        function = gelu if activation == "gelu" else activation
        case(f"Dense {activation}", wide(layers.Dense, 3, activation=function),
             f"gantry_dense(3, GANTRY_{activation.upper()}, NULL)", (2, 2))
        case(f"Activation {activation}", wide(layers.Activation, function),
             f"gantry_activation_layer(GANTRY_{activation.upper()}, NULL)", (2, 4))
    for rank, shape in ((1, (4,)), (2, (2, 3)), (3, (2, 2, 2))):
        case(f"Embedding rank {rank}", wide(layers.Embedding, TABLE, 2), f"gantry_embedding({TABLE}, 2, NULL, NULL)",
             shape, dtype="int64")


# ---- convolutions ----

def conv_options(strides, dilations, padding, **more):
    members = {}
    if max(strides) > 1:
        members["strides"] = f"{{{', '.join(map(str, strides))}}}"
    if max(dilations) > 1:
        members["dilations"] = f"{{{', '.join(map(str, dilations))}}}"
    if padding == "same":
        members["same_padding"] = "true"
    return kernel(**members, **more)


def write_convolutions():
    for padding in ("valid", "same"):
        for stride, dilation, size in ((1, 1, 3), (2, 1, 3), (1, 2, 2), (3, 1, 2), (2, 1, 1)):
            case(f"Conv1D {padding} {stride} {dilation} {size}",
                 wide(layers.Conv1D, 2, size, strides=stride, dilation_rate=dilation, padding=padding),
                 f"gantry_conv1d_layer(2, {size}, GANTRY_LINEAR, {conv_options((stride,), (dilation,), padding)})",
                 (2, 6, 2))
        for strides, dilations, size in (((1, 1), (1, 1), 2), ((2, 1), (1, 1), 3), ((1, 2), (1, 1), 2),
                                         ((2, 2), (1, 1), 1), ((1, 1), (2, 1), 2), ((1, 1), (1, 2), 2)):
            case(f"Conv2D {padding} {strides} {dilations} {size}",
                 wide(layers.Conv2D, 2, size, strides=strides, dilation_rate=dilations, padding=padding),
                 f"gantry_conv2d_layer(2, {size}, GANTRY_LINEAR, {conv_options(strides, dilations, padding)})",
                 (1, 5, 4, 2))
        for stride, dilation, multiplier in ((1, 1, 1), (2, 1, 2), (1, 2, 1)):
            more = {"depth_multiplier": 2} if multiplier > 1 else {}
            case(f"DepthwiseConv2D {padding} {stride} {dilation} {multiplier}",
                 wide(layers.DepthwiseConv2D, 2, strides=stride, dilation_rate=dilation, padding=padding,
                      depth_multiplier=multiplier),
                 "gantry_depthwise_conv2d_layer(2, GANTRY_LINEAR, "
                 f"{conv_options((stride, stride), (dilation, dilation), padding, **more)})", (1, 4, 5, 2))
    case("Conv1D same wide", wide(layers.Conv1D, 2, 4, padding="same"),
         f"gantry_conv1d_layer(2, 4, GANTRY_LINEAR, {kernel(same_padding='true')})", (2, 2, 2))
    case("Conv1D relu no bias", wide(layers.Conv1D, 3, 2, activation="relu", use_bias=False),
         f"gantry_conv1d_layer(3, 2, GANTRY_RELU, {kernel(no_bias='true')})", (2, 4, 1))
    case("Conv2D tanh", wide(layers.Conv2D, 3, 2, activation="tanh"), "gantry_conv2d_layer(3, 2, GANTRY_TANH, NULL)",
         (2, 3, 3, 1))
    case("DepthwiseConv2D relu no bias", wide(layers.DepthwiseConv2D, 3, activation="relu", use_bias=False),
         f"gantry_depthwise_conv2d_layer(3, GANTRY_RELU, {kernel(no_bias='true')})", (2, 3, 4, 2))


# ---- pools ----

def write_pools():
    kinds = ((layers.MaxPooling1D, "max_pool1d", (2, 5, 2)), (layers.AveragePooling1D, "avg_pool1d", (2, 5, 2)),
             (layers.MaxPooling2D, "max_pool2d", (1, 5, 4, 2)), (layers.AveragePooling2D, "avg_pool2d", (1, 5, 4, 2)))
    for layer, name, shape in kinds:
        for padding in ("valid", "same"):
            for size, strides in ((2, None), (3, 1), (2, 3)):
                members = {"strides": strides} if strides else {}
                if padding == "same":
                    members["same_padding"] = "true"
                case(f"{layer.__name__} {padding} {size} {strides}",
                     wide(layer, size, strides=strides, padding=padding),
                     f"gantry_{name}_layer({size}, {options_of('pool', **members)})", shape)
    case("MaxPooling1D same wide", wide(layers.MaxPooling1D, 4, padding="same"),
         f"gantry_max_pool1d_layer(4, {options_of('pool', same_padding='true')})", (2, 3, 2))
    case("AveragePooling2D same wide", wide(layers.AveragePooling2D, 3, strides=1, padding="same"),
         f"gantry_avg_pool2d_layer(3, {options_of('pool', strides=1, same_padding='true')})", (1, 2, 2, 2))
    for shape, suffix in (((2, 4, 3), "1D"), ((2, 2, 3, 2), "2D")):
        case(f"GlobalMaxPooling{suffix}", wide(getattr(layers, f"GlobalMaxPooling{suffix}")),
             "gantry_global_max_pool(NULL)", shape)
        case(f"GlobalAveragePooling{suffix}", wide(getattr(layers, f"GlobalAveragePooling{suffix}")),
             "gantry_global_avg_pool(NULL)", shape)


# ---- shapes, normalisation, several inputs ----

def write_shapes():
    case("Flatten rank 4", wide(layers.Flatten), "gantry_flatten(NULL)", (2, 2, 3, 1))
    case("Flatten rank 2", wide(layers.Flatten), "gantry_flatten(NULL)", (2, 3))
    for shape in ((3, 2), (-1, 2), (6,), (-1,), (2, -1, 1)):
        case(f"Reshape {shape}", wide(layers.Reshape, shape),
             f"gantry_reshape_layer(GANTRY_SHAPE({', '.join(map(str, shape))}), NULL)", (2, 2, 3))
    case("Dropout inference", wide(layers.Dropout, 0.5), "gantry_dropout_layer(0.5, NULL)", (2, 3))
    case("Dropout 0 training", wide(layers.Dropout, 0), "gantry_dropout_layer(0, NULL)", (2, 3), training=True)
    case("Add 2", wide(layers.Add), "gantry_add_layer(NULL)", (2, 3), (2, 3))
    case("Add 3", wide(layers.Add), "gantry_add_layer(NULL)", (2, 3), (2, 3), (2, 3))
    for axis, first, second in ((-1, (2, 3, 1), (2, 3, 2)), (1, (2, 1, 2), (2, 2, 2)), (2, (2, 2, 3), (2, 2, 1)),
                                (-2, (2, 2, 2), (2, 1, 2))):
        case(f"Concatenate {axis}", wide(layers.Concatenate, axis=axis), f"gantry_concatenate_layer({axis}, NULL)",
             first, second)


def write_norms():
    for training in (False, True):
        for shape in ((4, 3), (2, 3, 2), (2, 2, 2, 2)):
            case(f"BatchNormalization {shape} {training}", wide(layers.BatchNormalization),
                 "gantry_batch_normalization(NULL)", shape, training=training)
        case(f"BatchNormalization options {training}", wide(layers.BatchNormalization, momentum=0.75, epsilon=0.125),
             f"gantry_batch_normalization({options_of('norm', momentum=0.75, epsilon=0.125)})", (4, 2),
             training=training)
    for shape in ((3, 4), (2, 3, 4)):
        case(f"LayerNormalization {shape}", wide(layers.LayerNormalization), "gantry_layer_normalization(NULL)", shape)
    case("LayerNormalization options", wide(layers.LayerNormalization, epsilon=0.125),
         f"gantry_layer_normalization({options_of('norm', epsilon=0.125)})", (2, 3))


# ---- recurrent layers, attention ----

def write_recurrent():
    kinds = ((layers.SimpleRNN, "simple_rnn"), (layers.LSTM, "lstm"), (layers.GRU, "gru"))
    variants = (({}, {}), ({"return_sequences": True}, {"return_sequences": "true"}),
                ({"go_backwards": True, "return_sequences": True}, {"go_backwards": "true", "return_sequences": "true"}),
                ({"use_bias": False}, {"no_bias": "true"}), ({"go_backwards": True}, {"go_backwards": "true"}))
    for layer, name in kinds:
        for given, members in variants:
            case(f"{layer.__name__} {' '.join(given)}", wide(layer, 2, **given),
                 f"gantry_{name}(2, {options_of('recurrent', **members)})", (2, 4, 3))
        case(f"{layer.__name__} one step", wide(layer, 2), f"gantry_{name}(2, NULL)", (2, 1, 3))
        case(f"{layer.__name__} 130 steps", wide(layer, 1), f"gantry_{name}(1, NULL)", (1, 130, 1))
        members = {"activation": "&(gantry_activation_t){GANTRY_SOFTSIGN}"}
        given = {"activation": "softsign"}
        if layer is not layers.SimpleRNN:
            members["recurrent_activation"] = "&(gantry_activation_t){GANTRY_SOFTPLUS}"
            given["recurrent_activation"] = "softplus"
        case(f"{layer.__name__} activations", wide(layer, 2, **given),
             f"gantry_{name}(2, {options_of('recurrent', **members)})", (2, 3, 2))
    for use_bias in (True, False):
        members = {"reset_before": "true"} if use_bias else {"reset_before": "true", "no_bias": "true"}
        case(f"GRU reset_before {use_bias}", wide(layers.GRU, 2, reset_after=False, use_bias=use_bias),
             f"gantry_gru(2, {options_of('recurrent', **members)})", (2, 3, 3))


def write_attention():
    def attention(name, given, members, *shapes, **options):
        case(f"MultiHeadAttention {name}", wide(layers.MultiHeadAttention, 2, 4, **given),
             f"gantry_multi_head_attention(2, 4, {options_of('attention', **members)})", *shapes, **options)

    attention("query value", {}, {}, (2, 3, 4), (2, 2, 3))
    attention("query value key", {"value_dim": 3}, {"value_dim": 3}, (1, 3, 4), (1, 2, 3), (1, 2, 2))
    attention("causal", {}, {"causal": "true"}, (1, 3, 4), (1, 3, 4), use_causal_mask=True)
    attention("causal more keys", {}, {"causal": "true"}, (1, 2, 3), (1, 4, 3), use_causal_mask=True)
    attention("one input", {}, {}, (2, 3, 2))
    attention("one input causal", {}, {"causal": "true"}, (1, 3, 2), use_causal_mask=True)
    attention("no bias", {"use_bias": False}, {"no_bias": "true"}, (1, 2, 3), (1, 3, 2))


# ---- first weights after keras.utils.set_random_seed ----

SEEDS = (7, 12345)


def write_seeds():
    """The weights of a model with each kind of layer that takes a seed."""
    out = []
    for seed in SEEDS:
        keras.utils.set_random_seed(seed)
        given = keras.Input((6,), dtype="int32")
        x = layers.Embedding(TABLE, 4)(given)
        x = layers.Conv1D(5, 2)(x)
        x = layers.Dropout(0.25)(x)
        x = layers.Dropout(0)(x)
        x = layers.MultiHeadAttention(2, 3, dropout=0.125)(x, x)
        x = layers.MultiHeadAttention(2, 2, kernel_initializer="orthogonal")(x, x)
        x = layers.MultiHeadAttention(1, 2, kernel_initializer=keras.initializers.HeUniform(seed=3))(x, x)
        x = layers.SimpleRNN(3, return_sequences=True)(x)
        x = layers.LSTM(3, return_sequences=True)(x)
        x = layers.LSTM(2, return_sequences=True, bias_initializer="random_uniform", unit_forget_bias=True)(x)
        x = layers.LSTM(2, return_sequences=True, unit_forget_bias=False)(x)
        x = layers.GRU(2)(x)
        x = layers.Dense(3, kernel_initializer="he_normal", bias_initializer="random_normal")(x)
        model = keras.Model(given, layers.Dense(2)(x))
        numbers = np.concatenate([w.numpy().ravel() for w in model.weights])
        out.append(f"{{{seed}, {len(numbers)}, {{{', '.join(f'{x:.9g}' for x in numbers)}}}}},\n")
    return out


def write(name, lines):
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "support")
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as out:
        out.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
        out.write(f"/* Made by tests/golden/make_layer_cases.py with Keras {keras.__version__}; do not edit. */\n")
        out.write("/* clang-format off */\n")
        out.writelines(lines)
    print(f"{name}: {os.path.getsize(path)} bytes")


def main():
    for part in (write_dense, write_convolutions, write_pools, write_shapes, write_norms, write_recurrent,
                 write_attention):
        part()
    write("train_layer_cases.inc", rows)
    write("train_layer_seed_cases.inc", write_seeds())
    return 0


if __name__ == "__main__":
    sys.exit(main())
