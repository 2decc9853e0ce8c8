#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains random models of Keras and of gantry_train from the same weights, and compares them in float64.

    compare_random_models.py BUILD FOLDER [--count N] [--seed N] [--device NAME | --mirrored]

Each model has random layers and options, a loss, metrics and an optimizer. FOLDER gets program.c, which makes the same
models by gantry_train, and data.bin, with what they are given and Keras's numbers: the losses and metrics of three epochs
and of an evaluation, all weights, and predictions. The program is built with BUILD's libraries and run; its last line is
"N passed, N failed, 0 skipped". Needs Keras 3.15 and TensorFlow 2.21 (README.md beside this file), and a C compiler.
"""
import argparse
import os
import random
import subprocess
import sys

import make_layer_cases as cases  # first: it sets the environment
import make_optimizer_trajectories as steps  # numbers of optimizers stay float64

import keras
import numpy as np
import tensorflow as tf
from keras import constraints, layers, metrics, optimizers, regularizers

HERE = os.path.dirname(os.path.abspath(__file__))
EPOCHS, ROOT_OF_2 = 3, np.sqrt(np.float64(2))


def gelu(x):
    """TensorFlow rounds its root of 2 to float32."""
    return np.float64(0.5) * x * (1 + tf.math.erf(x / ROOT_OF_2))


class DenseEmbedding(layers.Embedding):
    """Its gradient is no IndexedSlices, for which Adam and its kin have another formula: docs/training.md."""

    def call(self, inputs):
        return tf.gather(tf.convert_to_tensor(self.embeddings) * np.float64(1), tf.cast(inputs, "int32"))


ACTIVATIONS = ["linear", "relu", "sigmoid", "tanh", "elu", "selu", "gelu", "silu", "softplus", "softsign", "relu6", "leaky_relu",
               "mish", "hard_silu", "log_sigmoid", "exponential", "softmax"]
# Keras's name: the labels, the last layer's units and activation, and metrics of both sides
LOSSES = {
    "mean_squared_error": ("real", 3, "linear"), "mean_absolute_error": ("real", 3, "linear"), "huber": ("real", 3, "linear"),
    "log_cosh": ("real", 3, "linear"), "cosine_similarity": ("real", 3, "linear"), "poisson": ("positive", 3, "softplus"),
    "kl_divergence": ("rows", 3, "softmax"), "categorical_hinge": ("rows", 3, "softmax"),
    "categorical_crossentropy": ("rows", 3, "softmax"), "sparse_categorical_crossentropy": ("class", 3, "softmax"),
    "hinge": ("sign", 1, "tanh"), "squared_hinge": ("sign", 1, "tanh"), "binary_crossentropy": ("flag", 1, "sigmoid"),
}
METRICS = {
    "real": [(lambda: metrics.RootMeanSquaredError(), "gantry_root_mean_squared_error(NULL)")],
    "rows": [(lambda: metrics.CategoricalAccuracy(), "gantry_categorical_accuracy(NULL)")],
    "class": [(lambda: metrics.SparseCategoricalAccuracy(), "gantry_sparse_categorical_accuracy(NULL)")],
    "flag": [(lambda: metrics.BinaryAccuracy(), "gantry_binary_accuracy(0.5, NULL)"),
             (lambda: metrics.AUC(num_thresholds=20), "gantry_auc(20, NULL)")],
}


def activation_of(name):
    return gelu if name == "gelu" else name


def c_options(kind, fields):
    return f"&(gantry_{kind}_options_t){{{', '.join(fields)}}}" if fields else "NULL"


class Choice:
    """Random layers, each as Keras's and as an expression of C."""

    def __init__(self, seed, is_mirrored):
        self.random = random.Random(seed)
        self.is_mirrored = is_mirrored  # the statistics of BatchNormalization are those of a device
        self.has_vain_weights = False  # their gradients are 0 but for rounding, whose sign Lion takes

    def is_so(self, chance):
        return self.random.random() < chance

    def between(self, least, most):
        return self.random.randint(least, most)

    def activation(self):
        return self.random.choice(ACTIVATIONS)

    def kernel(self, dimensions=0):
        """Options of Dense, or of a convolution."""
        keras_options, fields = {}, []
        if self.is_so(0.3):
            keras_options["use_bias"] = False
            fields.append(".no_bias = true")
        if dimensions and self.is_so(0.5):
            keras_options["padding"] = "same"
            fields.append(".same_padding = true")
        elif dimensions == 1 and self.is_so(0.4):
            keras_options["padding"] = "causal"
            fields.append(".causal_padding = true")
        if dimensions and self.is_so(0.3):
            keras_options["strides"] = step = self.between(2, 3)
            fields.append(f".strides = {{{step}, {step}}}")
        elif dimensions and self.is_so(0.3):
            keras_options["dilation_rate"] = 2
            fields.append(".dilations = {2, 2}")
        return keras_options, fields

    def dense(self):
        units, activation = self.between(2, 6), self.activation()
        options, fields = self.kernel()
        return (layers.Dense(units, activation=activation_of(activation), **options),
                f"gantry_dense({units}, GANTRY_{activation.upper()}, {c_options('kernel', fields)})")

    def convolution(self, dimensions):
        size, activation = self.between(1, 3), self.activation()
        options, fields = self.kernel(dimensions)
        if dimensions == 2 and self.is_so(0.3):
            options["depth_multiplier"] = self.between(1, 2)
            fields.append(f".depth_multiplier = {options['depth_multiplier']}")
            return (layers.DepthwiseConv2D(size, activation=activation_of(activation), **options),
                    f"gantry_depthwise_conv2d_layer({size}, GANTRY_{activation.upper()}, {c_options('kernel', fields)})")
        filters, kind = self.between(2, 4), layers.Conv1D if dimensions == 1 else layers.Conv2D
        return (kind(filters, size, activation=activation_of(activation), **options),
                f"gantry_conv{dimensions}d_layer({filters}, {size}, GANTRY_{activation.upper()}, {c_options('kernel', fields)})")

    def transposed(self, dimensions):
        size, filters, activation, step = self.between(1, 3), self.between(2, 3), self.activation(), self.between(1, 3)
        options, fields = self.kernel()
        if self.is_so(0.5):
            options["padding"] = "same"
            fields.append(".same_padding = true")
        fields.append(f".strides = {{{step}, {step}}}")
        kind = getattr(layers, f"Conv{dimensions}DTranspose")
        return (kind(filters, size, strides=step, activation=activation_of(activation), **options),
                f"gantry_conv{dimensions}d_transpose_layer({filters}, {size}, GANTRY_{activation.upper()}, {c_options('kernel', fields)})")

    def separable(self, dimensions):
        size, filters, activation, depth = self.between(1, 3), self.between(2, 4), self.activation(), self.between(1, 2)
        options, fields = self.kernel(2)  # Conv1D alone pads "causal"
        fields.append(f".depth_multiplier = {depth}")
        kind = getattr(layers, f"SeparableConv{dimensions}D")
        return (kind(filters, size, depth_multiplier=depth, activation=activation_of(activation), **options),
                f"gantry_separable_conv{dimensions}d_layer({filters}, {size}, GANTRY_{activation.upper()}, {c_options('kernel', fields)})")

    def resized(self, dimensions):
        kind = self.random.choice(["up_sampling", "zero_padding", "cropping", "permute"])
        if kind == "permute":
            dims = self.random.sample(range(1, dimensions + 2), dimensions + 1)
            return layers.Permute(dims), f"gantry_permute_layer((int32_t[]){{{', '.join(map(str, dims))}}}, {len(dims)}, NULL)"
        if kind == "up_sampling":
            sizes = [self.between(1, 3) for _ in range(dimensions)]
            given, text = sizes[0] if dimensions == 1 else tuple(sizes), ", ".join(map(str, sizes))
        else:
            amounts = [self.between(0, 2) for _ in range(2 * dimensions)]
            text = ", ".join(map(str, amounts)) if dimensions == 1 else f"(int64_t[]){{{', '.join(map(str, amounts))}}}"
            given = tuple(amounts) if dimensions == 1 else (tuple(amounts[:2]), tuple(amounts[2:]))
        name = {"up_sampling": "UpSampling", "zero_padding": "ZeroPadding", "cropping": "Cropping"}[kind]
        return getattr(layers, f"{name}{dimensions}D")(given), f"gantry_{kind}{dimensions}d_layer({text}, NULL)"

    def timed(self, rank):
        layer, text = self.dense() if rank == 2 else self.convolution(1)
        return layers.TimeDistributed(layer), f"gantry_time_distributed({text}, NULL)"

    def slope(self):
        kind = self.random.choice(["leaky", "prelu", "shared", "rescaling"])
        if kind == "leaky":
            return layers.LeakyReLU(0.375), "gantry_leaky_relu_layer(0.375, NULL)"
        if kind == "rescaling":
            return layers.Rescaling(1.5, offset=-0.25), "gantry_rescaling_layer(1.5, -0.25, NULL)"
        if kind == "prelu":
            return layers.PReLU(), "gantry_prelu_layer(NULL, NULL, 0, NULL)"
        return layers.PReLU(shared_axes=[1]), "gantry_prelu_layer(NULL, (int32_t[]){1}, 1, NULL)"

    def pool(self, dimensions):
        name, size, step, same = self.random.choice(["Max", "Average"]), self.between(2, 3), self.between(0, 2), self.is_so(0.5)
        fields = [f".strides = {step}", f".same_padding = {str(same).lower()}"]
        return (getattr(layers, f"{name}Pooling{dimensions}D")(size, strides=step or None, padding="same" if same else "valid"),
                f"gantry_{name.lower()[:3].replace('ave', 'avg')}_pool{dimensions}d_layer({size}, {c_options('pool', fields)})")

    def recurrent(self, return_sequences):
        name, units = self.random.choice(["LSTM", "GRU", "SimpleRNN"]), self.between(2, 4)
        options, fields = {}, []
        for chance, option, value, field in [(return_sequences, "return_sequences", True, ".return_sequences = true"),
                                             (0.3, "use_bias", False, ".no_bias = true"),
                                             (0.5 * (name == "GRU"), "reset_after", False, ".reset_before = true"),
                                             (0.3 * (name == "LSTM"), "unit_forget_bias", False, ".no_unit_forget_bias = true")]:
            if self.is_so(chance):
                options[option] = value
                fields.append(field)
        is_doubled = self.is_so(0.3)
        if not is_doubled and self.is_so(0.3):
            options["go_backwards"] = True
            fields.append(".go_backwards = true")
        function = {"LSTM": "lstm", "GRU": "gru", "SimpleRNN": "simple_rnn"}[name]
        layer, text = getattr(layers, name)(units, **options), f"gantry_{function}({units}, {c_options('recurrent', fields)})"
        if not is_doubled:
            return layer, text
        merge = self.random.choice(["concat", "sum", "mul", "ave"])
        return layers.Bidirectional(layer, merge_mode=merge), f"gantry_bidirectional({text}, GANTRY_MERGE_{merge.upper()}, NULL)"

    def normalization(self):
        self.has_vain_weights = True  # a bias in front
        kind = self.random.choice(["", "", "", "group", "rms", "unit"])
        if kind == "group":
            return layers.GroupNormalization(-1, epsilon=1 / 64), "gantry_group_normalization(-1, &(gantry_norm_options_t){.epsilon = 0.015625})"
        if kind == "rms":
            return layers.RMSNormalization(epsilon=1 / 64), "gantry_rms_normalization(&(gantry_norm_options_t){.epsilon = 0.015625})"
        if kind == "unit":
            return layers.UnitNormalization(), "gantry_unit_normalization(NULL)"
        if self.is_mirrored or self.is_so(0.5):
            return (layers.LayerNormalization(epsilon=1 / 64),
                    "gantry_layer_normalization(&(gantry_norm_options_t){.epsilon = 0.015625})")
        return (layers.BatchNormalization(momentum=0.75, epsilon=1 / 64),
                "gantry_batch_normalization(&(gantry_norm_options_t){.momentum = 0.75, .epsilon = 0.015625})")

    def attention(self):
        """Keras rounds the root of a size to float32; that of 4 stays. Its size 1: README.md beside this file."""
        heads, size, causal = self.between(1, 2), 4, self.is_so(0.5)
        self.has_vain_weights = True  # the bias of the keys
        attention = layers.MultiHeadAttention(heads, size)
        return (lambda x: attention(x, x, use_causal_mask=causal),
                f"gantry_multi_head_attention({heads}, {size}, &(gantry_attention_options_t){{.causal = {str(causal).lower()}}})")

    def middle(self, rank):
        """A layer for samples of this rank, which it keeps."""
        if rank == 1:
            return self.random.choice([self.dense, self.dense, self.normalization, self.activity, self.slope])()
        if rank == 3:
            return self.random.choice([lambda: self.convolution(2), lambda: self.pool(2), self.normalization, lambda: self.transposed(2),
                                       lambda: self.separable(2), lambda: self.resized(2), self.slope, lambda: self.timed(3)])()
        return self.random.choice([self.dense, lambda: self.convolution(1), lambda: self.pool(1), lambda: self.recurrent(True),
                                   self.attention, self.normalization, lambda: self.transposed(1), lambda: self.separable(1),
                                   lambda: self.resized(1), self.slope, lambda: self.timed(2)])()

    @staticmethod
    def activity():
        return layers.ActivityRegularization(l1=0.125, l2=0.25), "gantry_activity_regularization(0.125, 0.25, NULL)"

    def lower(self, rank):
        """A layer that makes a vector of each sample."""
        if rank == 2 and self.is_so(0.4):
            return self.recurrent(False)
        name = self.random.choice(["flatten", "global_max_pool", "global_avg_pool"])
        pool = f"Global{'Max' if 'max' in name else 'Average'}Pooling{rank - 1}D"
        return layers.Flatten() if name == "flatten" else getattr(layers, pool)(), f"gantry_{name}(NULL)"

    def optimizer(self):
        name = self.random.choice(["SGD", "Adam", "AdamW", "Nadam", "RMSprop", "Adagrad", "Adamax", "Adadelta", "Ftrl"] +
                                  ["Lion"] * (not self.has_vain_weights))
        options, fields = {}, []

        def take(chance, **values):
            if self.is_so(chance):
                options.update(values)
                fields.extend(f".{key} = {str(value).lower()}" for key, value in values.items())

        take(1, learning_rate=self.random.choice([1 / 16, 1 / 32, 1 / 128]))
        take(0.3, weight_decay=1 / 32)
        clip = self.random.choice(["", "", "clipnorm", "clipvalue", "global_clipnorm"])
        take(bool(clip), **{clip: 0.5})
        take(0.5 * (name in ("SGD", "RMSprop")), momentum=0.75)
        take(0.5 * (name == "SGD"), nesterov=True)
        take(0.3 * (name in ("Adam", "AdamW")), amsgrad=True)
        take(0.4 * (name == "RMSprop"), centered=True)
        take(0.4 * (name == "Ftrl"), l1_regularization_strength=0.125, beta=0.25)
        take(0.4 * (name == "Ftrl"), l2_regularization_strength=0.25, l2_shrinkage_regularization_strength=0.5)
        if self.is_so(0.3):
            take(1, gradient_accumulation_steps=self.between(2, 3))
        elif self.is_so(0.3):
            take(1, use_ema=True, ema_momentum=0.75)
            take(0.5, ema_overwrite_frequency=self.between(2, 3))
        cls = getattr(optimizers, name)
        return cls(**steps.widen(cls, options)), f"gantry_{name.lower()}({c_options(name.lower(), fields)})"


class Program:
    """A random model on both sides: tensors of Keras, and lines of C that make the same values."""

    def __init__(self, seed, is_mirrored, data):
        self.seed, self.data = seed, data
        self.choice, self.draw = Choice(seed, is_mirrored), cases.Draw(seed)
        self.lines, self.values = [], 0

    def put(self, array, dtype):
        """The place of the array in data.bin."""
        self.data.extend(bytes(-len(self.data) % 8))
        place = len(self.data)
        self.data.extend(np.ascontiguousarray(array, dtype).tobytes())
        return place

    def array(self, array, dtype):
        shape = ", ".join(map(str, array.shape))
        return f"{{GANTRY_{dtype.upper()}, GANTRY_SHAPE({shape}), data + {self.put(array, dtype)}}}"

    def apply(self, pair, *inputs):
        layer, text = pair
        tensors, names = [x[0] for x in inputs], [x[1] for x in inputs]
        self.values += 1
        self.lines.append(f"const int32_t v{self.values} = gantry_model_apply(m, {text}, (const int32_t[]){{{', '.join(names)}}}, {len(names)});")
        return layer(tensors if len(tensors) > 1 else tensors[0]), f"v{self.values}"

    def make_input(self):
        between, rows = self.choice.between, self.choice.between(5, 13)
        kind = self.choice.random.choice(["vectors", "sequences", "images", "words"])
        shape = {"vectors": (between(2, 5),), "sequences": (between(4, 7), between(1, 3)), "words": (between(4, 7),),
                 "images": (between(4, 7), between(4, 7), between(1, 3))}[kind]
        self.dtype = "int32" if kind == "words" else "float64"
        shape = (rows,) + shape
        self.x = self.draw.ints(shape).astype("int32") if kind == "words" else self.draw.floats(shape, 1024)
        self.inputs = keras.Input(shape[1:], dtype=self.dtype)
        self.lines.append(f"const int32_t v0 = gantry_model_input(m, GANTRY_{self.dtype.upper()}, GANTRY_SHAPE({', '.join(map(str, shape[1:]))}));")
        value = self.inputs, "v0"
        if kind != "words":
            return value
        size, mask = between(2, 4), self.choice.is_so(0.5)
        return self.apply((DenseEmbedding(cases.TABLE, size, mask_zero=mask), f"gantry_{'masked_' * mask}embedding({cases.TABLE}, {size}, NULL, NULL)"), value)

    def branch(self, value):
        """Two layers beside each other, joined."""
        units, one, other = value[0].shape[-1], self.choice.activation(), self.choice.activation()
        a = self.apply((layers.Dense(units, activation=activation_of(one)), f"gantry_dense({units}, GANTRY_{one.upper()}, NULL)"), value)
        b = self.apply((layers.Activation(activation_of(other)), f"gantry_activation_layer(GANTRY_{other.upper()}, NULL)"), value)
        merge = self.choice.random.choice(["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Dot", "", "", ""])
        if merge == "Dot" and len(a[0].shape) == 2:
            return self.apply((layers.Dot(1, normalize=True), "gantry_dot_layer(1, 1, true, NULL)"), a, b)
        if merge and merge != "Dot":
            return self.apply((getattr(layers, merge)(), f"gantry_{merge.lower()}_layer(NULL)"), a, b)
        return self.apply((layers.Concatenate(), "gantry_concatenate_layer(-1, NULL)"), a, b)

    def make_model(self):
        value = self.make_input()
        for _ in range(self.choice.between(1, 3)):
            rank = len(value[0].shape) - 1
            value = self.branch(value) if self.choice.is_so(0.2) else self.apply(self.choice.middle(rank), value)
        while len(value[0].shape) > 2:
            value = self.apply(self.choice.lower(len(value[0].shape) - 1), value)
        self.loss = self.choice.random.choice(list(LOSSES))
        self.kind, units, activation = LOSSES[self.loss]
        options, fields = {}, []
        if self.choice.is_so(0.3):
            options["kernel_regularizer"] = regularizers.L1L2(1 / 16, 1 / 8)
            fields.append(".kernel_regularizer = &(gantry_regularizer_t){.l1 = 0.0625, .l2 = 0.125}")
        elif self.choice.is_so(0.3):
            options["kernel_constraint"] = constraints.NonNeg()
            fields.append(".kernel_constraint = &(gantry_constraint_t){.kind = GANTRY_NON_NEG}")
        value = self.apply((layers.Dense(units, activation=activation, **options),
                            f"gantry_dense({units}, GANTRY_{activation.upper()}, {c_options('kernel', fields)})"), value)
        self.lines.append(f"(void)gantry_model_set_output(m, {value[1]});")
        self.model = keras.Model(self.inputs, value[0])

    def make_labels(self):
        rows = len(self.x)
        classes = np.array([self.draw.next(3) for _ in range(rows)], "int32")
        real = self.draw.floats((rows, 3), 1024)
        return {"real": real, "positive": np.abs(real), "rows": np.eye(3)[classes], "class": classes,
                "sign": np.where(classes[:, None] == 1, 1.0, -1.0), "flag": (classes[:, None] == 1).astype("float64")}[self.kind]

    def set_weights(self):
        weights = []
        for weight in self.model.weights:
            value = self.draw.floats(weight.shape, 4096)
            weights.append(value if weight.trainable else np.abs(value) + 0.5)
        self.model.set_weights(weights)
        return [self.put(value, "float64") for value in weights]

    def train(self, batches, names):
        """Keras's numbers, in the order in which the program gets its own."""
        history = self.model.fit(batches, epochs=EPOCHS, shuffle=False, verbose=0).history
        tested = self.model.evaluate(batches, verbose=0, return_dict=True)
        numbers = [history[name][epoch] for epoch in range(EPOCHS) for name in names] + [tested[name] for name in names]
        weights = [np.ravel(w) for w in self.model.get_weights()]
        return np.concatenate([numbers, *weights, np.ravel(self.model.predict(self.x, verbose=0))])

    def write(self):
        """The function in C that trains the model; "" where Keras's numbers are not finite."""
        self.make_model()
        labels, weights = self.make_labels(), self.set_weights()
        pairs = METRICS.get(self.kind, [])
        made = [make() for make, _ in pairs]
        optimizer, optimizer_text = self.choice.optimizer()
        self.model.compile(optimizer=optimizer, loss=self.loss, metrics=made or None)
        arrays, parts = [self.x, labels], [self.array(self.x, self.dtype), self.array(labels, str(labels.dtype))]
        if self.choice.is_so(0.3):
            arrays.append(np.abs(self.draw.floats((len(self.x),), 1024)) + 0.25)
            parts.append(self.array(arrays[-1], "float64"))
        batch = self.choice.between(2, 6)
        expected = self.train(tf.data.Dataset.from_tensor_slices(tuple(arrays)).batch(batch), ["loss"] + [m.name for m in made])
        if not np.all(np.isfinite(expected)):
            return ""
        metric_field = f".metrics = (gantry_metric_t *const[]){{{', '.join(text for _, text in pairs)}}}, .metric_count = {len(pairs)}, "
        return f"""
static void model_{self.seed}(const options_t *options) {{
    gantry_model_t *m = make_model(options);
    {(chr(10) + "    ").join(self.lines)}
    const gantry_compile_options_t compiled = {{{metric_field if pairs else ""}.optimizer = {optimizer_text}, .loss = GANTRY_{self.loss.upper()}}};
    const gantry_array_t arrays[] = {{{", ".join(parts)}}};
    const given_t given = {{"model {self.seed}", arrays, {len(parts)}, {batch}, {EPOCHS}, (const size_t[]){{{", ".join(map(str, weights))}}}, {len(weights)}}};
    compare(m, &compiled, &given, data + {self.put(expected, "float64")}, {len(expected)});
}}
"""


def make_programs(count, seed, is_mirrored):
    data, functions = bytearray(), []
    while len(functions) < count:
        try:
            text = Program(seed, is_mirrored, data).write()
        except ValueError as refusal:  # sizes that a window does not fit
            print(f"model {seed}: left out, {str(refusal).splitlines()[0][:100]}", file=sys.stderr)
            text = ""
        functions += [(seed, text)] if text else []
        seed += 1
    return data, functions


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="/CPU:0")
    parser.add_argument("--mirrored", action="store_true", help="over two virtual CPU devices")
    o = parser.parse_args()
    keras.config.set_floatx("float64")
    data, functions = make_programs(o.count, o.seed, o.mirrored)
    os.makedirs(o.folder, exist_ok=True)
    with open(f"{o.folder}/data.bin", "wb") as file:
        file.write(data)
    with open(f"{o.folder}/program.c", "w", encoding="utf-8") as file:
        file.write('#include "compare_random_models.h"\n' + "".join(text for _, text in functions))
        calls = "".join(f"    model_{seed}(options);\n" for seed, _ in functions)
        file.write(f"\nstatic void compare_all(const options_t *options) {{\n{calls}}}\n\nCOMPARE_MAIN\n")
    build, source = os.path.abspath(o.build), os.path.dirname(os.path.dirname(HERE))
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-Wall", "-o", f"{o.folder}/program", f"{o.folder}/program.c", f"-I{HERE}",
                    f"-I{source}/include", f"-I{build}/generated/include", f"-L{build}/lib", "-lgantry_train", "-lgantry", "-lm",
                    f"-Wl,-rpath,{build}/lib"], check=True)
    environment = {"GANTRY_BACKEND_PATH": f"{build}/lib/gantry", **os.environ}
    sys.exit(subprocess.run([f"{o.folder}/program", f"{o.folder}/data.bin", "mirrored" if o.mirrored else o.device], env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
