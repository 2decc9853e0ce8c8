#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs small programs of Keras, and writes their losses, metrics and weights for train_programs.h:
make_program_cases.py > tests/unit/support/train_program_cases.inc

Needs Keras 3.15 and TensorFlow 2.21. A row has the values of each epoch, of an evaluation, and all weights. Values
stand in the order of gantry_model_evaluate, those of a validation behind. Numbers of options are exact in float32, or
optimizers' defaults.
"""
import make_layer_cases as cases  # first: it sets the environment
import make_optimizer_trajectories as steps  # numbers of optimizers stay float64

import keras
import numpy as np
import tensorflow as tf
from keras import callbacks, constraints, layers, losses, metrics, optimizers, regularizers

ROWS, TESTED, FEATURES, BATCH = 20, 7, 3, 6
WORDS, LENGTH, TIMES = 9, 6, 5


def numbers(factor, *shape):
    return ((np.arange(int(np.prod(shape))) * factor % 64 - 32) / 32).reshape(shape)


def sequences():
    s = numbers(41, ROWS, TIMES, 2)
    for row in range(ROWS):
        s[row, 2 + row % 4:] = 0
    return s


def words():
    i = np.arange(ROWS * LENGTH)
    w = ((i * 11 + i // 5) % WORDS).astype("int32").reshape(ROWS, LENGTH)
    for row in range(ROWS):
        w[row, 3 + row % 4:] = 0
    return w


ROW = np.arange(ROWS)
X, Z, S, IMAGES, IDS = numbers(37, ROWS, FEATURES), numbers(23, ROWS, 2), sequences(), numbers(29, ROWS, 4, 4, 2), words()
CLASSES = ((ROW * 5 + ROW // 3) % 3).astype("int32")
HOT = np.eye(3)[CLASSES]
PAIR, FLAG = numbers(19, ROWS, 2), (ROW * 7 % 3 == 0).astype("float64").reshape(ROWS, 1)
WEIGHTS = (ROW % 4 + 1) / 2


def optimizer(cls, rate, **options):
    name = "learning_rate" if issubclass(cls, optimizers.Optimizer) else "initial_learning_rate"
    return cls(**steps.widen(cls, {name: rate, **options}))


def dense(units, activation="linear", **options):
    return layers.Dense(units, activation=activation, **options)


def both(l1, l2):
    return regularizers.L1L2(l1, l2)


def orthogonal(factor, mode="rows"):
    """Keras makes a float32 of the factor, which float64 weights do not take."""
    made = regularizers.OrthogonalRegularizer(factor, mode)
    made.factor = np.float64(factor)
    return made


def right(name="accuracy"):
    return metrics.SparseCategoricalAccuracy(name=name)


def chain(*parts):
    return keras.Sequential(parts)


# ---- programs: a model that is compiled, its data, the names of its values, and options of fit ----

def accumulated():
    model = chain(dense(5, "tanh"), dense(3, "softmax"))
    model.compile(optimizer(optimizers.SGD, 0.5, momentum=0.5, gradient_accumulation_steps=3, use_ema=True, ema_momentum=0.75),
                  "sparse_categorical_crossentropy", metrics=[right()])
    return model, (X, CLASSES), ["loss", "accuracy"], {"validation": True}


def averaged():
    model = chain(dense(5, "tanh"), dense(3, "softmax"))
    model.compile(optimizer(optimizers.AdamW, 0.0625, weight_decay=0.125, clipnorm=0.5, gradient_accumulation_steps=2, use_ema=True,
                            ema_momentum=0.5, ema_overwrite_frequency=2), "sparse_categorical_crossentropy", metrics=[right()])
    return model, (X, CLASSES), ["loss", "accuracy"], {}


def activities():
    model = chain(dense(4, "relu", activity_regularizer=both(0.25, 0.125), kernel_regularizer=orthogonal(0.5)),
                  layers.ActivityRegularization(0.0625, 0.03125),
                  dense(2, "sigmoid", kernel_regularizer=orthogonal(0.25, "columns"), activity_regularizer=regularizers.L2(0.5)))
    model.compile(optimizer(optimizers.SGD, 0.25), "mse", metrics=["mae"])
    return model, (X, PAIR, WEIGHTS), ["loss", "mae"], {}


def recurrent():
    model = chain(layers.Masking(0.0),
                  layers.LSTM(3, return_sequences=True, activity_regularizer=regularizers.L2(0.125),
                              kernel_regularizer=orthogonal(0.25)),
                  layers.Bidirectional(layers.GRU(2, kernel_regularizer=regularizers.L2(0.125), bias_constraint=constraints.NonNeg())),
                  dense(1))
    model.compile(optimizer(optimizers.Nadam, 0.0625, gradient_accumulation_steps=2), "mse")
    return model, (S, FLAG), ["loss"], {}


def embedded():
    model = chain(layers.Embedding(WORDS, 4, mask_zero=True, activity_regularizer=regularizers.L2(0.5),
                                   embeddings_constraint=constraints.UnitNorm(axis=1)),
                  layers.GlobalAveragePooling1D(), dense(3, "softmax"))
    judges = [metrics.Precision(0.25, class_id=1, name="precision"), metrics.Recall(top_k=2, class_id=0, name="recall"),
              metrics.F1Score("macro", name="f1_score"), metrics.FBetaScore("weighted", 2.0, 0.25, name="fbeta_score"),
              metrics.CategoricalAccuracy(name="accuracy")]
    model.compile(optimizer(optimizers.SGD, 1.0, momentum=0.5, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=3),
                  losses.CategoricalCrossentropy(label_smoothing=0.125), metrics=judges)
    return model, (IDS, HOT), ["loss"] + [judge.name for judge in judges], {}


def two_outputs():
    x, z = keras.Input((FEATURES,)), keras.Input((2,))
    h = dense(4, "tanh", kernel_constraint=constraints.MaxNorm(1.0))(layers.Concatenate()([x, z]))
    a = dense(3, "softmax", name="a", bias_constraint=constraints.NonNeg())(h)
    b = dense(2, name="b", kernel_constraint=constraints.UnitNorm(), activity_regularizer=regularizers.L1(0.125))(h)
    model = keras.Model([x, z], [a, b])
    # a compiled step of Keras counts batches in the losses of outputs, not their rows
    model.compile(optimizer(optimizers.RMSprop, 0.03125, momentum=0.5, gradient_accumulation_steps=2), run_eagerly=True,
                  loss=["sparse_categorical_crossentropy", "mae"],
                  loss_weights=[1.0, 0.5],
                  metrics=[[right()], [metrics.MeanSquaredError(name="mse"), metrics.RootMeanSquaredError(name="root")]])
    return model, ((X, Z), (CLASSES, PAIR), WEIGHTS), ["loss", "a_loss", "b_loss", "a_accuracy", "b_mse", "b_root"], {}


def autoencoder():
    model = chain(dense(2, "relu", activity_regularizer=regularizers.L1(0.125)), dense(FEATURES))
    model.compile(optimizer(optimizers.Adam, 0.0625, use_ema=True, ema_momentum=0.5), "mse",
                  metrics=[metrics.CosineSimilarity(name="cosine")])
    return model, (X, X), ["loss", "cosine"], {}


def contrast(labels, predictions):
    return tf.reduce_mean((labels - predictions) ** 2 * (1 + labels), axis=-1)


def siamese():
    encoder = chain(dense(4, "tanh", kernel_regularizer=regularizers.L2(0.0625)), dense(2, activity_regularizer=regularizers.L2(0.25)))
    p, q = keras.Input((FEATURES,)), keras.Input((FEATURES,))
    model = keras.Model([p, q], dense(1, "sigmoid")(layers.Concatenate()([encoder(p), encoder(q)])))
    model.compile(optimizer(optimizers.SGD, 0.5, momentum=0.5), contrast, metrics=[contrast])
    return model, ((X, X[::-1]), FLAG), ["loss", "contrast"], {}


def scheduled():
    model = chain(dense(4, "gelu", kernel_regularizer=both(0.0625, 0.125), bias_regularizer=regularizers.L2(0.25)),
                  dense(2, kernel_constraint=constraints.MinMaxNorm(0.5, 1.0, 0.5)))
    rates = optimizer(optimizers.schedules.CosineDecay, 0.25, decay_steps=10, alpha=0.125)
    model.compile(optimizer(optimizers.SGD, rates, momentum=0.5, nesterov=True, gradient_accumulation_steps=2), losses.Huber(0.5),
                  metrics=["mae"])
    return model, (X, PAIR), ["loss", "mae"], {"validation": True}


def images():
    model = chain(layers.Conv2D(3, 2, activation="relu", activity_regularizer=regularizers.L2(0.125)), layers.DepthwiseConv2D(2),
                  layers.GlobalAveragePooling2D(), dense(2))
    model.compile(optimizer(optimizers.Adamax, 0.0625, use_ema=True, ema_momentum=0.75, ema_overwrite_frequency=1), "squared_hinge")
    return model, (IMAGES, np.sign(PAIR + 0.01), WEIGHTS), ["loss"], {}


def stopped():
    model = chain(dense(5, "tanh"), dense(3, "softmax"))
    model.compile(optimizer(optimizers.SGD, 2.0, use_ema=True, ema_momentum=0.75), "sparse_categorical_crossentropy",
                  weighted_metrics=[right("weighted")])
    return model, (X, CLASSES), ["loss", "weighted"], {
        "validation": True, "epochs": 9, "class_weight": {0: 1.0, 1: 2.5, 2: 0.5},
        "callbacks": [callbacks.ReduceLROnPlateau(factor=0.5, patience=1, min_delta=0.0625),
                      callbacks.EarlyStopping(patience=2, restore_best_weights=True)]}


def attentive():
    s = keras.Input((TIMES, 2))
    h = layers.MultiHeadAttention(2, 2)(layers.LayerNormalization(epsilon=2.0 ** -10)(s), s)
    h = layers.Conv1D(2, 2, activation="tanh", activity_regularizer=regularizers.L1(0.25), padding="causal")(layers.Add()([h, s]))
    model = keras.Model(s, dense(1, "sigmoid")(layers.Flatten()(h)))
    judges = [metrics.BinaryAccuracy(name="accuracy"), metrics.AUC(50, "PR", name="pr"), metrics.Precision(0.5, name="precision")]
    model.compile(optimizer(optimizers.SGD, 0.5, momentum=0.5, weight_decay=0.125, global_clipnorm=0.25, gradient_accumulation_steps=3),
                  losses.BinaryFocalCrossentropy(gamma=2.0), metrics=judges)
    return model, (S, FLAG), ["loss", "accuracy", "pr", "precision"], {}


def coded():
    """The states of one sequence begin another one."""
    s, t = keras.Input((TIMES, 2)), keras.Input((TIMES, 2))
    _, h, c = layers.LSTM(3, return_state=True, activity_regularizer=regularizers.L2(0.25))(s)
    told = layers.LSTM(3, return_sequences=True)(t, initial_state=[h, c])
    model = keras.Model([s, t], dense(2)(told))
    model.compile(optimizer(optimizers.Lion, 0.015625, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.5), "mse")
    return model, ((S, S[::-1]), S), ["loss"], {}


def counted():
    model = chain(dense(3, "softplus", kernel_regularizer=regularizers.L1(0.0625)), dense(2, "exponential"))
    model.compile(optimizer(optimizers.Adagrad, 0.25, weight_decay=0.125, clipvalue=0.25, gradient_accumulation_steps=2), "poisson",
                  metrics=[metrics.LogCoshError(name="log_cosh")])
    return model, (X, np.abs(PAIR), WEIGHTS), ["loss", "log_cosh"], {
        "callbacks": [callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2 if epoch else rate)]}


def normed():
    """For one device: the statistics are those of a part."""
    model = chain(dense(4, activity_regularizer=regularizers.L2(0.125)), layers.BatchNormalization(momentum=0.5),
                  layers.Activation("elu"), dense(2))
    model.compile(optimizer(optimizers.SGD, 0.125, momentum=0.5, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2), "mae")
    return model, (X, PAIR), ["loss"], {"validation": True}


def swapped():
    model = chain(dense(5, "tanh"), dense(3, "softmax"))
    model.compile(optimizer(optimizers.Adam, 0.0625, use_ema=True, ema_momentum=0.75), "sparse_categorical_crossentropy",
                  metrics=[right()])
    return model, (X, CLASSES), ["loss", "accuracy"], {"validation": True, "callbacks": [callbacks.SwapEMAWeights()]}


def swapped_between():
    model = chain(dense(4, "tanh"), dense(2))
    model.compile(optimizer(optimizers.SGD, 0.25, momentum=0.5, use_ema=True, ema_momentum=0.5, gradient_accumulation_steps=2), "mse")
    return model, (X, PAIR), ["loss"], {"validation": True, "epochs": 4, "callbacks": [callbacks.SwapEMAWeights(swap_on_epoch=True)]}


def painted():
    """Images become smaller, then large again."""
    model = chain(layers.Conv2D(4, 3, strides=2, padding="same", activation="relu"), layers.GroupNormalization(2),
                  layers.UpSampling2D(2),
                  layers.SeparableConv2D(3, 2, padding="same", activation="tanh", depthwise_regularizer=regularizers.L2(0.0625),
                                         pointwise_regularizer=regularizers.L2(0.0625)),
                  layers.Conv2DTranspose(2, 3, strides=2), layers.Cropping2D(((2, 3), (0, 5))), layers.ZeroPadding2D(((0, 0), (1, 0))),
                  layers.Cropping2D(((0, 0), (1, 0))))
    model.compile(optimizer(optimizers.Adam, 0.0625), "mse")
    return model, (IMAGES, IMAGES), ["loss"], {"validation": True}


def blended():
    """Layers of two inputs, and slopes that are learned."""
    x = keras.Input((FEATURES,))
    a = layers.PReLU(alpha_initializer=keras.initializers.Constant(0.25))(dense(4)(x))
    b = layers.LeakyReLU(0.25)(dense(4)(layers.Rescaling(0.5, offset=0.125)(x)))
    both = [layers.Multiply()([a, b]), layers.Maximum()([a, b]), layers.Minimum()([a, b]), layers.Average()([a, b]),
            layers.Dot(1, normalize=True)([a, b])]
    c = layers.RMSNormalization()(layers.Concatenate()(both))
    c = layers.Permute((2, 1))(layers.RepeatVector(2)(c))
    model = keras.Model(x, dense(2)(layers.Flatten()(layers.UnitNormalization()(c))))
    model.compile(optimizer(optimizers.SGD, 0.25, momentum=0.5), "mse")
    return model, (X, PAIR), ["loss"], {"validation": True}


PROGRAMS = (accumulated, averaged, activities, recurrent, embedded, two_outputs, autoencoder, siamese, scheduled, images, stopped,
            attentive, coded, counted, normed, swapped, swapped_between, painted, blended)


def run(program):
    keras.backend.clear_session()
    keras.utils.set_random_seed(7)
    model, parts, names, options = program()
    data = tf.data.Dataset.from_tensor_slices(parts)
    if options.pop("validation", False):
        options["validation_data"] = data.take(TESTED).batch(BATCH)
    data = data.batch(BATCH)
    history = model.fit(data, verbose=0, **({"epochs": 3} | options)).history
    tested = model.evaluate(data, verbose=0, return_dict=True)
    if set(tested) != set(names):
        raise ValueError(f"{sorted(tested)} are Keras's names")
    shown = names + ["val_" + name for name in names if "validation_data" in options]
    found = [history[name][epoch] for epoch in range(len(history["loss"])) for name in shown]
    return found + [tested[name] for name in names] + [x for weight in model.weights for x in weight.numpy().ravel()]


def main():
    keras.config.set_floatx("float64")
    cases.print_head("make_program_cases.py")
    for program in PROGRAMS:
        found = run(program)
        print(f'{{"{program.__name__}", program_{program.__name__}, {len(found)}, {{' + ", ".join(f"{x:.12g}" for x in found) + "}},")
    return 0


if __name__ == "__main__":
    main()
