# SPDX-License-Identifier: Apache-2.0
"""Promise: Keras programs train for 20 steps to TensorFlow's losses, and no op of the models falls to the CPU.

Keras programs that train for 20 steps: the losses agree with TensorFlow's CPU, and no op of the models falls to it.

The programs are a user's: default placement, default compile() and fit(). Both sides start from the same seeds.
"""

import functools
import os
import sys
import tempfile

import numpy as np

import harness

STEPS = 20
LOSS_BOUND = 1e-5

program = harness.Program()


def keras():
    import tensorflow as tf

    tf.keras.backend.clear_session()
    tf.keras.utils.set_random_seed(7)
    return tf, tf.keras.layers


def losses_of(tf):
    """A callback that keeps the loss of every step; fit() itself reports means over the epoch."""

    class Losses(tf.keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.values = []
            self.sum = 0.0

        def on_epoch_begin(self, epoch, logs=None):
            self.sum = 0.0

        def on_train_batch_end(self, batch, logs=None):
            total = logs["loss"] * (batch + 1)
            self.values.append(total - self.sum)
            self.sum = total

    return Losses()


def train(record, tf, model, x, y, batch, loss="sparse", optimizer="adam", **fit):
    """Compiles and fits for STEPS steps; records the losses, the predictions, and the ops on the CPU."""
    if loss == "sparse":
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=optimizer, loss=loss)
    callback = losses_of(tf)
    with harness.Placements() as placements:
        model.fit(x, y, batch_size=batch, epochs=epochs_for(x, batch), steps_per_epoch=None, verbose=0,
                  callbacks=[callback], **fit)
    judge_placement(record, placements)
    record.within("losses", np.float32(callback.values[:STEPS]), LOSS_BOUND)
    record.check(callback.values[0] != callback.values[STEPS - 1], "the loss did not change")
    record.within("predictions", model.predict(x[:batch], batch_size=batch, verbose=0), 1e-4)
    return model


@functools.cache
def both_devices(tf):
    """One strategy for all cases: two over the same devices share the keys of their collectives, in TensorFlow."""
    return tf.distribute.MirroredStrategy(tf.config.list_logical_devices("GPU") or ["CPU:0"])


def epochs_for(x, batch):
    return -(-STEPS * batch // len(x))


def judge_placement(record, placements, expected=()):
    if not record.on_gantry:
        return
    found = {op: count for op, count in placements.on_cpu.items() if op not in expected}
    record.check(placements.on_gpu > 0, "no graph ran on Gantry's devices")
    record.check(not found, f"ran on the CPU: {', '.join(f'{op} x{count}' for op, count in sorted(found.items()))}")


def texts(words=10000, length=300, count=160, classes=46):
    """Word numbers and classes, in the shape of the newswires that the text classifier reads."""
    random = np.random.RandomState(3)
    x = random.randint(0, words, (count, length)).astype(np.int32)
    x[:, : length // 3] = 0
    return x, random.randint(0, classes, count).astype(np.int32)


def digits(count=320):
    """8 x 8 digits: scikit-learn's where that package is installed, else bars at a place that depends on the class."""
    try:
        from sklearn.datasets import load_digits

        data = load_digits()
        return (data.images[:count, :, :, None] / 16).astype(np.float32), data.target[:count].astype(np.int32)
    except ImportError:
        random = np.random.RandomState(5)
        y = random.randint(0, 10, count).astype(np.int32)
        x = random.rand(count, 8, 8, 1).astype(np.float32) * 0.2
        x[np.arange(count), y % 8] += 0.5 + 0.05 * y[:, None, None]
        return x, y


def series(count=96, steps=12, features=5):
    random = np.random.RandomState(11)
    x = random.randn(count, steps, features).astype(np.float32)
    return x, (x[:, :, 0].sum(1) > 0).astype(np.int32)


def text_classifier(layers, models, words=10000, classes=46):
    return models.Sequential([
        layers.Embedding(words, 7),
        layers.Conv1D(64, 5, activation="relu"),
        layers.MaxPool1D(2),
        layers.Conv1D(32, 3, activation="relu"),
        layers.MaxPool1D(2),
        layers.Flatten(),
        layers.Dense(classes),
    ])


@program.case(size="quick")
def text_classifier_nadam(record):
    tf, layers = keras()
    x, y = texts(words=10000 if record.size != "quick" else 500, length=300 if record.size != "quick" else 60)
    model = text_classifier(layers, tf.keras.models, int(x.max()) + 1)
    train(record, tf, model, x, y, 16, optimizer=tf.keras.optimizers.Nadam())


@program.case()
def small_cnn(record):
    tf, layers = keras()
    x, y = digits()
    model = tf.keras.Sequential([
        layers.Conv2D(8, 3, padding="same", activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(16, 3, activation="relu"), layers.AveragePooling2D(2, padding="same"), layers.Flatten(),
        layers.Dense(10)])
    train(record, tf, model, x, y, 16)


@program.case()
def batch_normalization(record):
    tf, layers = keras()
    x, y = digits()
    model = tf.keras.Sequential([
        layers.Conv2D(8, 3, use_bias=False), layers.BatchNormalization(), layers.ReLU(),
        layers.DepthwiseConv2D(3, padding="same"), layers.BatchNormalization(), layers.Activation("elu"),
        layers.GlobalAveragePooling2D(), layers.Dense(10)])
    model = train(record, tf, model, x, y, 16, optimizer=tf.keras.optimizers.SGD(0.05, momentum=0.9))
    record.within("moving mean", model.layers[1].moving_mean, 1e-5)
    record.within("moving variance", model.layers[1].moving_variance, 1e-5)


@program.case(size="quick")
def dropout_seeded(record):
    tf, layers = keras()
    x, y = digits()
    model = tf.keras.Sequential([
        layers.Flatten(), layers.Dense(32, activation="tanh"), layers.Dropout(0.4, seed=3),
        layers.Dense(32, activation="sigmoid"), layers.GaussianNoise(0.1, seed=4), layers.Dense(10)])
    train(record, tf, model, x, y, 16, optimizer=tf.keras.optimizers.RMSprop())


@program.case()
def lstm(record):
    tf, layers = keras()
    x, y = series()
    model = tf.keras.Sequential([layers.LSTM(8, return_sequences=True), layers.LSTM(6), layers.Dense(2)])
    train(record, tf, model, x, y, 16)


@program.case()
def gru(record):
    tf, layers = keras()
    x, y = series()
    model = tf.keras.Sequential([layers.Bidirectional(layers.GRU(8)), layers.Dense(2)])
    train(record, tf, model, x, y, 16)


@program.case()
def transformer_block(record):
    tf, layers = keras()
    x, y = texts(words=200, length=16, count=160, classes=4)
    tokens = layers.Input((16,), dtype="int32")
    places = tf.range(16)
    hidden = layers.Embedding(200, 16)(tokens) + layers.Embedding(16, 16)(places)
    attended = layers.MultiHeadAttention(2, 8)(hidden, hidden)
    hidden = layers.LayerNormalization()(hidden + attended)
    wide = layers.Dense(32, activation="gelu")(hidden)
    hidden = layers.LayerNormalization()(hidden + layers.Dense(16)(wide))
    model = tf.keras.Model(tokens, layers.Dense(4)(layers.GlobalAveragePooling1D()(hidden)))
    train(record, tf, model, x, y, 16)


@program.case(size="quick")
def dense_mirrored(record):
    """Two replicas, each with half of the batch; one device on the CPU's side."""
    tf, layers = keras()
    strategy = both_devices(tf)
    random = np.random.RandomState(2)
    x = random.randn(160, 4).astype(np.float32)
    y = (x @ np.float32([[1], [-2], [3], [0.5]]) + 0.25).astype(np.float32)
    with strategy.scope():
        model = tf.keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(1)])
        model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(0.05))
    callback = losses_of(tf)
    with harness.Placements() as placements:
        model.fit(x, y, batch_size=16, epochs=2, verbose=0, shuffle=False, callbacks=[callback])
    # MirroredStrategy reduces the loss that it reports on the CPU, by name
    judge_placement(record, placements, ("AddN(float32)", "Identity(float32)", "RealDiv(float32)"))
    record.within("losses", np.float32(callback.values), LOSS_BOUND)
    if record.on_gantry:
        record.check(strategy.num_replicas_in_sync == 2, "two replicas")
        for variable in model.trainable_variables:
            copies = strategy.experimental_local_results(variable.value)
            record.check(len({copy.device for copy in copies}) == 2, f"{variable.path} lies on one device")
            record.check(np.array_equal(copies[0].numpy(), copies[1].numpy()), f"{variable.path}: copies differ")


@program.case()
def embedding_mirrored(record):
    tf, layers = keras()
    strategy = both_devices(tf)
    x, y = texts(words=100, length=40, count=160, classes=5)
    with strategy.scope():
        model = text_classifier(layers, tf.keras.models, 100, 5)
        model.compile(loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), optimizer="nadam")
    callback = losses_of(tf)
    model.fit(x, y, batch_size=16, epochs=2, verbose=0, shuffle=False, callbacks=[callback])
    record.within("losses", np.float32(callback.values), LOSS_BOUND)


@program.case(size="quick")
def gradient_tape(record):
    """A loop by hand: eager steps and steps in a tf.function, with every optimizer of the older API's kernels."""
    tf, layers = keras()
    x, y = digits(160)
    model = tf.keras.Sequential([layers.Flatten(), layers.Dense(16, activation="relu"), layers.Dense(10)])
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(0.01)
    model(x[:1])
    optimizer.build(model.trainable_variables)

    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    compiled = tf.function(step)
    losses = [float((step if i < 5 else compiled)(x[i % 10 * 16:][:16], y[i % 10 * 16:][:16])) for i in range(STEPS)]
    record.within("losses", np.float32(losses), LOSS_BOUND)


@program.case()
def raw_optimizers(record):
    """The fused updates that do not soft-place: ResourceApply..."""
    import tensorflow as tf

    raw = tf.raw_ops
    grad = tf.constant([0.5, -1.0, 2.0])

    def variables(count):
        return [tf.Variable([1.0, 2.0, 3.0]) for _ in range(count)]

    (v,) = variables(1)
    raw.ResourceApplyGradientDescent(var=v.handle, alpha=0.1, delta=grad)
    record.within("gradient descent", v, 1e-6)
    v, m = variables(2)
    raw.ResourceApplyMomentum(var=v.handle, accum=m.handle, lr=0.1, grad=grad, momentum=0.9, use_nesterov=True)
    record.within("momentum", v, 1e-6)
    v, m, s = variables(3)
    raw.ResourceApplyAdam(var=v.handle, m=m.handle, v=s.handle, beta1_power=0.9, beta2_power=0.99, lr=0.1,
                          beta1=0.9, beta2=0.99, epsilon=1e-7, grad=grad)
    record.within("adam", tf.stack([v, m, s]), 1e-6)
    v, m, s = variables(3)
    raw.ResourceApplyRMSProp(var=v.handle, ms=m.handle, mom=s.handle, lr=0.1, rho=0.9, momentum=0.5, epsilon=1e-7,
                             grad=grad)
    record.within("rmsprop", tf.stack([v, m, s]), 1e-6)
    v, m = variables(2)
    raw.ResourceApplyAdagradV2(var=v.handle, accum=m.handle, lr=0.1, epsilon=1e-7, grad=grad)
    record.within("adagrad", tf.stack([v, m]), 1e-6)


@program.case()
def variable_updates(record):
    import tensorflow as tf

    for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int64, tf.int32):
        v = tf.Variable(tf.cast([[1, 2, 3], [4, 5, 6]], dtype))
        kept = v.read_value()
        v.assign_add(tf.cast([[1, 1, 1], [2, 2, 2]], dtype))
        v.assign_sub(tf.cast([[0, 1, 0], [1, 0, 1]], dtype))
        record.exact(f"{dtype.name} before", kept)
        record.exact(f"{dtype.name} after", v)
        v.scatter_update(tf.IndexedSlices(tf.cast([[7, 8, 9]], dtype), tf.constant([1])))
        v.scatter_add(tf.IndexedSlices(tf.cast([[1, 1, 1]], dtype), tf.constant([0])))
        v.scatter_sub(tf.IndexedSlices(tf.cast([[1, 2, 1]], dtype), tf.constant([0])))
        record.exact(f"{dtype.name} scattered", v)
        v[:, 1:2].assign(tf.cast([[0], [1]], dtype))
        record.exact(f"{dtype.name} sliced", v)
        record.exact(f"{dtype.name} gathered", tf.gather(v, [1, 0, 1]))
    record.check(not record.on_gantry or "GPU" in tf.Variable([1.0]).device, "a float variable lies on the GPU")


@program.case()
def data_pipeline(record):
    """tf.data in front of fit(): shuffle with a seed, map, batch, cache, prefetch."""
    tf, layers = keras()
    x, y = digits()
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=9)
    data = data.map(lambda image, label: (image * 2 - 1, label), num_parallel_calls=2).batch(16).cache().prefetch(2)
    model = tf.keras.Sequential([layers.Flatten(), layers.Dense(10)])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    callback = losses_of(tf)
    with harness.Placements() as placements:
        history = model.fit(data, validation_data=data, epochs=1, verbose=0, callbacks=[callback])
    judge_placement(record, placements)
    record.within("losses", np.float32(callback.values), LOSS_BOUND)
    record.within("history", np.float32([history.history[key][0] for key in sorted(history.history)]), LOSS_BOUND)


@program.case()
def weights_saved(record):
    tf, layers = keras()
    x, _ = digits(32)

    def build():
        return tf.keras.Sequential([layers.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(3)])

    first, second = build(), build()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.weights.h5")
        first.save_weights(path)
        second.load_weights(path)
        whole = os.path.join(folder, "model.keras")
        first.save(whole)
        third = tf.keras.models.load_model(whole)
        checkpoint = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0]))
        prefix = checkpoint.save(os.path.join(folder, "point"))
        checkpoint.v.assign([0.0, 0.0])
        checkpoint.restore(prefix)
    record.exact("checkpoint", checkpoint.v)
    for name, model in (("second", second), ("third", third)):
        for mine, theirs in zip(first.get_weights(), model.get_weights()):
            record.check(np.array_equal(mine, theirs), f"{name}: weights differ after loading")
    record.within("predictions", third.predict(x, verbose=0), 1e-5)


@program.case()
def jit_choices(record):
    """jit_compile as Keras has it by default, and False: the same losses."""
    tf, layers = keras()
    x, y = digits(64)
    losses = []
    for choice in ("auto", False):
        tf.keras.utils.set_random_seed(1)
        model = tf.keras.Sequential([layers.Flatten(), layers.Dense(10)])
        model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=choice)
        callback = losses_of(tf)
        model.fit(x, y, batch_size=16, epochs=1, verbose=0, shuffle=False, callbacks=[callback])
        losses.append(callback.values)
    record.within("losses", np.float32(losses), LOSS_BOUND)


@program.case()
def tf_function(record):
    """Control flow in graphs: while, cond, a nested function, TensorArray, and a second derivative."""
    import tensorflow as tf

    @tf.function
    def newton(x):
        for _ in tf.range(6):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    value = tf.reduce_sum(x ** 4 - 3 * x ** 2 + x)
                slope = inner.gradient(value, x)
            x = x - slope / (outer.gradient(slope, x) + 10.0)
        return x

    @tf.function
    def collatz(n):
        path = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        i = 0
        while n > 1:
            path = path.write(i, n)
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            i += 1
        return path.stack()

    @tf.function
    def halves(x):
        return tf.map_fn(lambda row: tf.cond(tf.reduce_sum(row) > 0, lambda: row / 2, lambda: row * 3), x)

    record.within("newton", newton(tf.constant([0.5, 1.5, -2.0])), 1e-5)
    record.exact("collatz", collatz(tf.constant(27)))
    record.exact("halves", halves(tf.constant([[1.0, 2.0], [-3.0, 1.0]])))


if __name__ == "__main__":
    sys.exit(program.main())
