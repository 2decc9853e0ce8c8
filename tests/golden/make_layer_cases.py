#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/unit/support/train_layer_cases.inc, train_layer_model_cases.inc, and layers.json and layer_seeds.json of
the folder keras: Keras's layers, alone and several of them, for test_layers.c.

Needs Keras 3.15 and TensorFlow 2.21 (README.md beside this file). Run: python3 make_layer_cases.py
A row has the layer as an expression of C; the case of its name in layers.json has Keras's float64 numbers: the output, the gradients of a weighted sum of
it with regard to each floating input and each trained weight, and in training the other weights after the call. Inputs,
weights and the weights of the sum come from a generator that the test has, too; they are exact in float32. A row of
several layers may pad some steps of its inputs with a number, and take the draws of dropout from that generator.
"""
import inspect
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

import golden_form
import golden_layers

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


def print_head(script):
    """The first lines of a file that a script of tests/golden writes to standard output."""
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print(f"/* Made by tests/golden/{script} with Keras {keras.__version__}; do not edit. */")
    print("/* clang-format off */")


def set_weights(layer, draw):
    values = []
    for weight in layer.weights:
        value = draw.floats(weight.shape, 4096)
        values.append(value if weight.trainable else np.abs(value) + 0.5)
    layer.set_weights(values)


def call(layer, inputs, training, options):
    several = len(inputs) > 1 and not isinstance(layer, layers.MultiHeadAttention)
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


rows, number_cases = [], []


def numbers_case(name, numbers, dtype="float64", inputs=()):
    """A case of a file of the folder keras that has numbers only: 12 digits of each."""
    values = np.array([float(f"{x:.12g}") for x in numbers], dtype)
    return {"name": name, "inputs": [golden_form.array_text(x) for x in inputs], "outputs": [golden_form.array_text(values)]}


def case(name, make, expression, *shapes, dtype="float64", training=False, **options):
    number_cases.append(numbers_case(name, numbers_of(name, make, shapes, dtype, training, options)))
    dims = ", ".join(f"{{.rank = {len(s)}, .dims = {{{', '.join(map(str, s))}}}}}" for s in shapes)
    rows.append(f'LAYER_CASE({len(rows)}, "{name}", {zlib.crc32(name.encode())}u, {expression}, GANTRY_{dtype.upper()}, '
                f"{str(training).lower()}, {len(shapes)}, LAYER_LIST({dims}))\n")


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
               "log_softmax exponential hard_sigmoid hard_silu mish log_sigmoid").split()


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
    for stride, dilation in ((1, 1), (2, 1), (1, 2)):
        case(f"Conv1D causal {stride} {dilation}",
             wide(layers.Conv1D, 2, 3, strides=stride, dilation_rate=dilation, padding="causal"),
             f"gantry_conv1d_layer(2, 3, GANTRY_LINEAR, "
             f"{conv_options((stride,), (dilation,), 'causal', causal_padding='true')})", (2, 4, 2))
    for padding in ("valid", "same"):
        options = conv_options((1, 2), (1, 1), padding, kernel_columns=3)
        case(f"Conv2D rows and columns {padding}", wide(layers.Conv2D, 2, (2, 3), strides=(1, 2), padding=padding),
             f"gantry_conv2d_layer(2, 2, GANTRY_LINEAR, {options})", (1, 4, 5, 2))
        options = conv_options((1, 1), (1, 1), padding, kernel_columns=1)
        case(f"DepthwiseConv2D rows and columns {padding}", wide(layers.DepthwiseConv2D, (3, 1), padding=padding),
             f"gantry_depthwise_conv2d_layer(3, GANTRY_LINEAR, {options})", (1, 4, 3, 2))
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
        if len(shape) == 4:
            for size, strides, members in (((2, 3), None, {"pool_columns": 3}),
                                           ((3, 1), (1, 2), {"pool_columns": 1, "strides": 1, "column_strides": 2})):
                case(f"{layer.__name__} rows and columns {size} {strides}", wide(layer, size, strides=strides),
                     f"gantry_{name}_layer({size[0]}, {options_of('pool', **members)})", shape)
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
        for axis, shape in ((1, (3, 2, 3)), (-2, (2, 2, 3, 2))):
            options = options_of("norm", axes=f"(int32_t[]){{{axis}}}", axis_count=1)
            case(f"BatchNormalization axis {axis} {training}", wide(layers.BatchNormalization, axis=axis),
                 f"gantry_batch_normalization({options})", shape, training=training)
        for given, members in (({"center": False}, {"no_center": "true"}), ({"scale": False}, {"no_scale": "true"}),
                               ({"center": False, "scale": False}, {"no_center": "true", "no_scale": "true"})):
            case(f"BatchNormalization {' '.join(given)} {training}", wide(layers.BatchNormalization, **given),
                 f"gantry_batch_normalization({options_of('norm', **members)})", (4, 2), training=training)
    for axes in ((1,), (-2, -1), (1, 3), (2,)):
        options = options_of("norm", axes=f"(int32_t[]){{{', '.join(map(str, axes))}}}", axis_count=len(axes))
        case(f"LayerNormalization axes {axes}", wide(layers.LayerNormalization, axis=list(axes)),
             f"gantry_layer_normalization({options})", (2, 3, 2, 2))
    for given, members in (({"center": False}, {"no_center": "true"}), ({"scale": False}, {"no_scale": "true"})):
        case(f"LayerNormalization {' '.join(given)}", wide(layers.LayerNormalization, **given),
             f"gantry_layer_normalization({options_of('norm', **members)})", (2, 3))
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


# ---- several layers: masks, states, dropout ----

DROPS = 0x5EED
PAD_EVERY = 3  # steps of a sample: a step is padded if (step + 2 sample) is a multiple, and the last one of sample 0


class Layers:
    """Makes layers when it is run first, and gives the same ones later. applied: in the order of their first calls."""

    def __init__(self):
        self.made, self.applied, self.at = [], [], 0

    def __call__(self, kind, *args, **options):
        if self.at == len(self.made):
            self.made.append(kind(*args, dtype="float64", **options))
        layer = self.made[self.at]
        self.at += 1

        def apply(*inputs, **given):
            if layer not in self.applied:
                self.applied.append(layer)
            return layer(*inputs, **given)

        return apply


def pad_steps(x, pad):
    for sample in range(x.shape[0]):
        for step in range(x.shape[1]):
            if (step + 2 * sample) % PAD_EVERY == 0 or (sample == 0 and step == x.shape[1] - 1):
                x[sample, step] = pad
    return x


def use_drops(seed):
    draw = Draw(seed ^ DROPS)

    def dropout(inputs, rate, noise_shape=None, seed=None):
        shape = [n if m is None else m for n, m in zip(inputs.shape, noise_shape or [None] * len(inputs.shape))]
        kept = np.array([draw.next(4096) for _ in range(int(np.prod(shape)))]).reshape(shape) >= rate * 4096
        return inputs * tf.constant(kept / (1 - rate), inputs.dtype)

    keras.src.backend.random.dropout = dropout


def takes_training(build, training):
    return {"training": training} if "training" in inspect.signature(build).parameters else {}


model_rows = []


def model_case(name, build, expression, *shapes, dtype="float64", training=False, pad=None):
    """build(L, *inputs) applies L(kind, ...) to the inputs; expression does the same in C, with values X0, X1, X2 and
    OF(layer, values...), and room for a value in a."""
    seed = zlib.crc32(name.encode())
    draw, made = Draw(seed), Layers()
    inputs = [draw.ints(s) if dtype == "int64" else draw.floats(s, 1024) for s in shapes]
    if pad is not None:
        inputs = [pad_steps(x, pad) if x.ndim == 3 else x for x in inputs]
    inputs = [tf.constant(x) for x in inputs]
    build(made, *inputs, **takes_training(build, False))
    for layer in made.applied:
        set_weights(layer, draw)
    made.at = 0
    use_drops(seed)
    with tf.GradientTape(persistent=True) as tape:
        if dtype != "int64":
            tape.watch(inputs)
        y = build(made, *inputs, **takes_training(build, training))
        target = tf.reduce_sum(y * draw.floats(y.shape, 4096))
    sources = ([] if dtype == "int64" else inputs) + [w.value for l in made.applied for w in l.trainable_weights]
    parts = [y] + [tf.convert_to_tensor(g) for g in tape.gradient(target, sources)]
    if training:
        parts += [w.numpy() for l in made.applied for w in l.non_trainable_weights if w.name != "seed_generator_state"]
    number_cases.append(numbers_case(name, np.concatenate([np.asarray(p, "float64").ravel() for p in parts])))
    dims = ", ".join(f"{{.rank = {len(s)}, .dims = {{{', '.join(map(str, s))}}}}}" for s in shapes)
    padding = "false, 0" if pad is None else f"true, {pad}"
    model_rows.append(
        f'MODEL_CASE({len(rows) + len(model_rows)}, "{name}", {seed}u, ({expression}), GANTRY_{dtype.upper()}, '
        f"{str(training).lower()}, {padding}, {len(shapes)}, LAYER_LIST({dims}))\n")


KINDS = ((layers.SimpleRNN, "simple_rnn", 1), (layers.LSTM, "lstm", 2), (layers.GRU, "gru", 1))
EMBEDDED = f"OF(gantry_masked_embedding({TABLE}, 3, NULL, NULL), X0)"
MASKED = "OF(gantry_masking_layer(0, NULL), X0)"
JOIN = "gantry_concatenate_layer(-1, NULL)"


def rnn(name, **members):
    return f"gantry_{name}(2, {options_of('recurrent', **members)})"


def embed(L, x):
    return L(layers.Embedding, TABLE, 3, mask_zero=True)(x)


def join(L, *values):
    return L(layers.Concatenate, axis=-1)(list(values))


def write_masked_recurrent():
    for kind, name, states in KINDS:
        title = kind.__name__
        for given, members in (({}, {}), ({"return_sequences": True}, {"return_sequences": "true"}),
                               ({"go_backwards": True, "return_sequences": True},
                                {"go_backwards": "true", "return_sequences": "true"})):
            model_case(f"masked {title} {' '.join(given)}", lambda L, x: L(kind, 2, **given)(embed(L, x)),
                       f"OF({rnn(name, **members)}, {EMBEDDED})", (3, 5), dtype="int64")
        model_case(f"masked {title} return_state", lambda L, x: join(L, *L(kind, 2, return_state=True)(embed(L, x))),
                   f"a = OF({rnn(name, return_state='true')}, {EMBEDDED}), "
                   f"OF({JOIN}, a, a + 1{', a + 2' if states > 1 else ''})", (3, 5), dtype="int64")
        model_case(f"Masking {title} twice",
                   lambda L, x: L(kind, 2)(L(kind, 2, return_sequences=True)(L(layers.Masking)(x))),
                   f"OF({rnn(name)}, OF({rnn(name, return_sequences='true')}, {MASKED}))", (2, 5, 3), pad=0)
        first = [(2, 2)] * states
        values = "X1, X2" if states > 1 else "X1"
        model_case(f"{title} first state", lambda L, x, *s: L(kind, 2, return_sequences=True)(x, initial_state=list(s)),
                   f"OF({rnn(name, return_sequences='true')}, X0, {values})", (2, 4, 3), *first)
        model_case(f"masked {title} first state",
                   lambda L, x, *s: L(kind, 2)(L(layers.Masking)(x), initial_state=list(s)),
                   f"OF({rnn(name)}, {MASKED}, {values})", (2, 4, 3), *first, pad=0)
        model_case(f"{title} to {title}", lambda L, x, y: L(kind, 2, return_sequences=True)(
            y, initial_state=list(L(kind, 2, return_state=True)(x)[1:])),
                   f"a = OF({rnn(name, return_state='true')}, X0), OF({rnn(name, return_sequences='true')}, X1, a + 1"
                   f"{', a + 2' if states > 1 else ''})", (2, 4, 3), (2, 3, 2))
    model_case("masked GRU reset_before", lambda L, x: L(layers.GRU, 2, reset_after=False)(embed(L, x)),
               f"OF({rnn('gru', reset_before='true')}, {EMBEDDED})", (3, 5), dtype="int64")


def write_recurrent_dropout():
    for kind, name, _ in KINDS:
        for given, members in (({"dropout": 0.5}, {"dropout": 0.5}),
                               ({"recurrent_dropout": 0.25}, {"recurrent_dropout": 0.25}),
                               ({"dropout": 0.25, "recurrent_dropout": 0.5, "return_sequences": True},
                                {"dropout": 0.25, "recurrent_dropout": 0.5, "return_sequences": "true"})):
            for training in (True, False):
                model_case(f"{kind.__name__} {' '.join(given)} {training}",
                           lambda L, x, training: L(kind, 2, **given)(x, training=training), f"OF({rnn(name, **members)}, X0)", (2, 4, 3),
                           training=training)
        model_case(f"masked {kind.__name__} dropouts",
                   lambda L, x, training: L(kind, 2, dropout=0.25, recurrent_dropout=0.25)(embed(L, x), training=training),
                   f"OF({rnn(name, dropout=0.25, recurrent_dropout=0.25)}, {EMBEDDED})", (3, 5), dtype="int64",
                   training=True)
    for given, members in (({"dropout": 0.5}, {"dropout": 0.5}), ({"recurrent_dropout": 0.25}, {"recurrent_dropout": 0.25}),
                           ({"dropout": 0.25, "recurrent_dropout": 0.5, "use_bias": False},
                            {"dropout": 0.25, "recurrent_dropout": 0.5, "no_bias": "true"})):
        model_case(f"GRU reset_before {' '.join(given)}",
                   lambda L, x, training: L(layers.GRU, 2, reset_after=False, **given)(x, training=training),
                   f"OF({rnn('gru', reset_before='true', **members)}, X0)", (2, 4, 3), training=True)
    model_case("Dropout in training", lambda L, x, training: L(layers.Dropout, 0.25)(x, training=training),
               "OF(gantry_dropout_layer(0.25, NULL), X0)", (2, 6), training=True)


def write_bidirectional():
    def both(name, merge="CONCAT", **members):
        return f"gantry_bidirectional({rnn(name, **members)}, GANTRY_MERGE_{merge}, NULL)"

    def keras_both(L, kind, merge="concat", **given):
        return L(layers.Bidirectional, kind(2, dtype="float64", **given), merge_mode=merge)

    for kind, name, states in KINDS:
        title = f"Bidirectional {kind.__name__}"
        model_case(title, lambda L, x: keras_both(L, kind)(x), f"OF({both(name)}, X0)", (2, 4, 3))
        for merge in ("concat", "sum", "mul", "ave"):
            model_case(f"masked {title} {merge}",
                       lambda L, x: keras_both(L, kind, merge, return_sequences=True)(embed(L, x)),
                       f"OF({both(name, merge.upper(), return_sequences='true')}, {EMBEDDED})", (3, 5), dtype="int64")
        model_case(f"masked {title} last", lambda L, x: keras_both(L, kind, "sum")(embed(L, x)),
                   f"OF({both(name, 'SUM')}, {EMBEDDED})", (3, 5), dtype="int64")
        model_case(f"{title} return_state", lambda L, x: join(L, *keras_both(L, kind, return_state=True)(x)),
                   f"a = OF({both(name, return_state='true')}, X0), "
                   f"OF({JOIN}, {', '.join(f'a + {i}' for i in range(2 * states + 1))})", (2, 4, 3))
        model_case(f"{title} dropouts",
                   lambda L, x, training: keras_both(L, kind, dropout=0.25, recurrent_dropout=0.5)(x, training=training),
                   f"OF({both(name, dropout=0.25, recurrent_dropout=0.5)}, X0)", (2, 4, 3), training=True)
    model_case("Bidirectional GRU first states",
               lambda L, x, f, b: keras_both(L, layers.GRU, return_sequences=True)(x, initial_state=[f, b]),
               f"OF({both('gru', return_sequences='true')}, X0, X1, X2)", (2, 4, 3), (2, 2), (2, 2))
    model_case("masked Bidirectional GRU first states", lambda L, x, f, b: keras_both(
        L, layers.GRU, return_sequences=True)(L(layers.Masking)(x), initial_state=[f, b]),
               f"OF({both('gru', return_sequences='true')}, {MASKED}, X1, X2)", (2, 4, 3), (2, 2), (2, 2), pad=0)


AVERAGE = "gantry_global_avg_pool(NULL)"


def average(L, x):
    return L(layers.GlobalAveragePooling1D)(x)


def write_masked_layers():
    def masked(L, x, value=0.0):
        return L(layers.Masking, value)(x)

    def case(name, build, expression, *shapes, pad=0, **more):
        model_case(f"masked {name}", build, expression, *(shapes or ((2, 5, 3),)), pad=pad, **more)

    case("nothing", lambda L, x: masked(L, x), MASKED)
    case("by a number", lambda L, x: average(L, masked(L, x, 0.25)),
         f"OF({AVERAGE}, OF(gantry_masking_layer(0.25, NULL), X0))", pad=0.25)
    case("average", lambda L, x: average(L, masked(L, x)), f"OF({AVERAGE}, {MASKED})")
    case("maximum", lambda L, x: L(layers.GlobalMaxPooling1D)(masked(L, x)),
         f"OF(gantry_global_max_pool(NULL), {MASKED})")
    simple = ((layers.Dense, (2,), "gantry_dense(2, GANTRY_LINEAR, NULL)"),
              (layers.Activation, ("tanh",), "gantry_activation_layer(GANTRY_TANH, NULL)"),
              (layers.LayerNormalization, (), "gantry_layer_normalization(NULL)"),
              (layers.Dropout, (0.5,), "gantry_dropout_layer(0.5, NULL)"),
              (layers.Conv1D, (2, 2), "gantry_conv1d_layer(2, 2, GANTRY_LINEAR, NULL)"),
              (layers.MaxPooling1D, (2,), "gantry_max_pool1d_layer(2, NULL)"),
              (layers.Reshape, ((3, 5),), "gantry_reshape_layer(GANTRY_SHAPE(3, 5), NULL)"))
    for kind, given, text in simple:
        case(kind.__name__, lambda L, x: average(L, L(kind, *given)(masked(L, x))), f"OF({AVERAGE}, OF({text}, {MASKED}))")
    for training in (True, False):
        case(f"BatchNormalization {training}",
             lambda L, x, training: average(L, L(layers.BatchNormalization)(masked(L, x), training=training)),
             f"OF({AVERAGE}, OF(gantry_batch_normalization(NULL), {MASKED}))", training=training)
        options = options_of("norm", axes="(int32_t[]){1}", axis_count=1)
        case(f"BatchNormalization axis 1 {training}",
             lambda L, x, training: average(L, L(layers.BatchNormalization, axis=1)(masked(L, x), training=training)),
             f"OF({AVERAGE}, OF(gantry_batch_normalization({options}), {MASKED}))", training=training)
    both = ((2, 5, 3), (2, 5, 3))
    for kind, given, text in ((layers.Add, {}, "gantry_add_layer(NULL)"), (layers.Concatenate, {}, JOIN),
                              (layers.Concatenate, {"axis": 1}, "gantry_concatenate_layer(1, NULL)")):
        title = kind.__name__ + " ".join(map(str, given.values()))
        case(f"{title} with all", lambda L, x, y: average(L, L(kind, **given)([masked(L, x), y])),
             f"OF({AVERAGE}, OF({text}, {MASKED}, X1))", *both)
        case(f"{title} after all", lambda L, x, y: average(L, L(kind, **given)([y, masked(L, x)])),
             f"a = {MASKED}, OF({AVERAGE}, OF({text}, X1, a))", *both)
        case(f"{title} two", lambda L, x, y: average(L, L(kind, **given)([masked(L, x), masked(L, y, 1.0)])),
             f"a = {MASKED}, OF({AVERAGE}, OF({text}, a, OF(gantry_masking_layer(1, NULL), X1)))", *both)


def write_masked_attention():
    def attention(L, *inputs, **given):
        options = {"use_causal_mask": True} if given.pop("causal", False) else {}
        layer = L(layers.MultiHeadAttention, 2, 4, **given)
        return layer(*(inputs * 2 if len(inputs) == 1 else inputs), **options)

    def text(**members):
        return f"gantry_multi_head_attention(2, 4, {options_of('attention', **members)})"

    def masked(L, x):
        return L(layers.Masking)(x)

    one, two = (2, 4, 3), (2, 5, 3)
    for given, members in (({}, {}), ({"causal": True}, {"causal": "true"}), ({"dropout": 0.5}, {"dropout": 0.5}),
                           ({"dropout": 0.5, "causal": True}, {"dropout": 0.5, "causal": "true"})):
        title = " ".join(given)
        model_case(f"masked attention {title}", lambda L, x: attention(L, masked(L, x), **given),
                   f"OF({text(**members)}, {MASKED})", one, pad=0)
        model_case(f"masked attention query {title}", lambda L, x, y: attention(L, masked(L, x), y, **given),
                   f"OF({text(**members)}, {MASKED}, X1)", one, two, pad=0)
        model_case(f"masked attention value {title}", lambda L, x, y: attention(L, x, masked(L, y), **given),
                   f"a = OF(gantry_masking_layer(0, NULL), X1), OF({text(**members)}, X0, a)", one, two, pad=0)
    model_case("masked attention key", lambda L, x, y, z: attention(L, x, y, masked(L, z)),
               f"a = OF(gantry_masking_layer(0, NULL), X2), OF({text()}, X0, X1, a)", one, two, two, pad=0)
    model_case("masked attention average", lambda L, x: average(L, attention(L, masked(L, x))),
               f"OF({AVERAGE}, OF({text()}, {MASKED}))", one, pad=0)

    def residual(L, x):
        x = masked(L, x)
        y = attention(L, x)
        return average(L, L(layers.Add)([x, y]))

    model_case("masked attention residual", residual,
               f"a = {MASKED}, OF({AVERAGE}, OF(gantry_add_layer(NULL), a, OF({text()}, a)))", one, pad=0)


def write_more_options():
    """attention_mask, noise_shape, groups."""
    def attention(L, *values, mask, **given):
        return L(layers.MultiHeadAttention, 2, 4, **given)(*values, attention_mask=mask)

    text = "gantry_multi_head_attention(2, 4, &(gantry_attention_options_t){{.attention_mask = true{}}})".format
    plain = f"OF(gantry_embedding({TABLE}, 3, NULL, NULL), X0)"

    def plain_embed(L, x):
        return L(layers.Embedding, TABLE, 3)(x)

    def itself(L, x, m, **given):
        return attention(L, x, x, mask=m, **given)

    def causal(L, x, m):
        return L(layers.MultiHeadAttention, 2, 4)(x, x, attention_mask=m, use_causal_mask=True)

    one, three, four = (2, 4), (2, 4, 4), (2, 2, 4, 4)
    model_case("attention_mask", lambda L, x, m: itself(L, plain_embed(L, x), m),
               f"a = {plain}, OF({text('')}, a, X1)", one, three, dtype="int64")
    model_case("attention_mask of heads", lambda L, x, m: itself(L, plain_embed(L, x), m),
               f"a = {plain}, OF({text('')}, a, a, X1)", one, four, dtype="int64")
    model_case("attention_mask of queries", lambda L, x, m: itself(L, plain_embed(L, x), m),
               f"a = {plain}, OF({text('')}, a, a, a, X1)", one, (2, 4, 1), dtype="int64")
    model_case("attention_mask of other keys",
               lambda L, x, y, m: attention(L, plain_embed(L, x), embed(L, y), mask=m),
               f"a = {plain}, OF({text('')}, a, OF(gantry_masked_embedding({TABLE}, 3, NULL, NULL), X1), X2)",
               one, (2, 3), (2, 4, 3), dtype="int64")
    model_case("attention_mask and masks", lambda L, x, m: itself(L, embed(L, x), m),
               f"a = {EMBEDDED}, OF({text('')}, a, a, X1)", one, three, dtype="int64")
    model_case("attention_mask causal",
               lambda L, x, m: causal(L, plain_embed(L, x), m),
               f"a = {plain}, OF({text(', .causal = true')}, a, a, X1)", one, three, dtype="int64")
    model_case("attention_mask dropout", lambda L, x, m: itself(L, plain_embed(L, x), m, dropout=0.5),
               f"a = {plain}, OF({text(', .dropout = 0.5')}, a, a, X1)", one, three, dtype="int64")
    for shape, noise in (((2, 3, 4), (None, 1, None)), ((2, 3, 4), (1, None, 4)), ((3, 4), (3, 1)), ((2, 2, 2, 3), (None, 1, 1, None))):
        sizes = ", ".join("-1" if n is None else str(n) for n in noise)
        model_case(f"Dropout {shape} {noise}",
                   lambda L, x, training: L(layers.Dropout, 0.25, noise_shape=noise)(x, training=training),
                   f"OF(gantry_shaped_dropout_layer(0.25, GANTRY_SHAPE({sizes}), NULL), X0)", shape, training=True)
    for given, members in (({"groups": 2}, {"groups": 2}),
                           ({"groups": 2, "padding": "same", "strides": 2}, {"groups": 2, "same_padding": "true", "strides": "{2, 2}"}),
                           ({"groups": 4, "dilation_rate": 2, "use_bias": False}, {"groups": 4, "dilations": "{2, 2}", "no_bias": "true"})):
        title = " ".join(f"{k} {v}" for k, v in given.items())
        model_case(f"Conv1D {title}", lambda L, x: L(layers.Conv1D, 4, 2, activation="tanh", **given)(x),
                   f"OF(gantry_conv1d_layer(4, 2, GANTRY_TANH, {kernel(**members)}), X0)", (2, 5, 4))
        model_case(f"Conv2D {title}", lambda L, x: L(layers.Conv2D, 4, 2, activation="tanh", **given)(x),
                   f"OF(gantry_conv2d_layer(4, 2, GANTRY_TANH, {kernel(**members)}), X0)", (1, 4, 5, 4))
    model_case("Conv1D causal groups", lambda L, x: L(layers.Conv1D, 6, 3, groups=3, padding="causal")(x),
               f"OF(gantry_conv1d_layer(6, 3, GANTRY_LINEAR, {kernel(groups=3, causal_padding='true')}), X0)", (2, 4, 3))


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
        x = layers.Bidirectional(layers.SimpleRNN(2, return_sequences=True))(x)
        x = layers.Bidirectional(layers.LSTM(2, return_sequences=True))(x)
        x = layers.SeparableConv1D(4, 2, padding="same")(x)
        x = layers.Conv1DTranspose(4, 1)(x)
        x = layers.TimeDistributed(layers.Bidirectional(layers.LSTM(1)))(layers.Reshape((5, 2, 2))(x))
        x = layers.GRU(2)(x)
        x = layers.Dense(3, kernel_initializer="he_normal", bias_initializer="random_normal")(x)
        model = keras.Model(given, layers.Dense(2)(x))
        numbers = np.concatenate([w.numpy().ravel() for w in model.weights])
        out.append(numbers_case(str(seed), numbers, "float32", [np.int64(seed)]))
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
    this = sys.modules[__name__]
    for part in (write_dense, write_convolutions, write_pools, write_shapes, write_norms, write_recurrent, write_attention):
        part()
    golden_layers.write_cases(this)
    for part in (write_masked_recurrent, write_bidirectional, write_masked_layers, write_masked_attention,
                 write_recurrent_dropout, write_more_options):
        part()
    golden_layers.write_masked_cases(this)
    write("train_layer_cases.inc", rows)
    write("train_layer_model_cases.inc", model_rows)
    golden_form.write_keras("layers", keras.__version__, number_cases)
    golden_form.write_keras("layer_seeds", keras.__version__, write_seeds())
    return 0


if __name__ == "__main__":
    sys.exit(main())
