# SPDX-License-Identifier: Apache-2.0
"""TensorFlow, eager, with --card on the card; chains and networks of ops are compiled by XLA. An eager op on the CPU has
ended when its call returns.
"""

import inspect
import operator
import os

import numpy as np
import tensorflow as tf

import peer_bodies
import peer_networks
import peer_training

LACKS = {}
CARD = "PEERS_CARD" in os.environ
if CARD:
    finish = tf.test.experimental.sync_devices
    tf.config.experimental.enable_tensor_float_32_execution(False)


def open_card():
    cards = tf.config.list_physical_devices("GPU")
    if not cards:
        raise RuntimeError(f"TensorFlow {tf.__version__} is installed without support for a card, or sees none")
    for card in cards:
        tf.config.experimental.set_memory_growth(card, True)
    return tf.config.experimental.get_device_details(cards[0]).get("device_name", "GPU")


def open_peer(threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    return f"TensorFlow {tf.__version__}" + (f" on {open_card()}" if CARD else "")


def put(array):
    return tf.constant(array)


def fetch(result):
    return [x.numpy() for x in result] if isinstance(result, (tuple, list)) else [np.asarray(result)]


def case_op(*inputs, op):
    if op.tensorflow is not None and not isinstance(op.tensorflow, str):
        return lambda: op.tensorflow(tf, *inputs)
    raw = getattr(tf.raw_ops, op.tensorflow or op.op)
    named = {**dict(zip(inspect.signature(raw).parameters, inputs)), **op.attrs}
    return lambda: raw(**named)


def case_matmul(a, b):
    return lambda: tf.matmul(a, b)


def case_add(a, b):
    return lambda: tf.add(a, b)


def case_sum(a):
    return lambda: tf.reduce_sum(a)


def chain(x, y):
    return tf.nn.relu(x * y + x) * 0.5 + tf.tanh(y)


def case_chain(x, y):
    return lambda: chain(x, y)


def compiled(f, *inputs):
    g = tf.function(f, jit_compile=True)
    return lambda: g(*inputs)


def case_chain_fused(x, y):
    return compiled(chain, x, y)


def case_chain_20(x, y):
    return compiled(peer_bodies.chain_20, x, y)


def case_softmax_ops(x):
    def softmax(x):
        e = tf.exp(x - tf.reduce_max(x, -1, keepdims=True))
        return e / tf.reduce_sum(e, -1, keepdims=True)

    return compiled(softmax, x)


def case_layer_norm_ops(x, scale, offset):
    def normalised(x, scale, offset):
        centred = x - tf.reduce_mean(x, -1, keepdims=True)
        spread = tf.math.rsqrt(tf.reduce_mean(tf.square(centred), -1, keepdims=True) + 1e-5)
        return centred * spread * scale + offset

    return compiled(normalised, x, scale, offset)


def case_mlp(x, *layers):
    return compiled(peer_bodies.mlp(tf.nn.relu), x, *layers)


def case_text_classifier(*inputs):
    body = peer_bodies.text_classifier(
        tf.gather,
        lambda x, w, b: tf.nn.conv1d(x, w, stride=1, padding="VALID") + b,
        tf.nn.relu,
        lambda x: tf.nn.max_pool1d(x, 2, 2, "VALID"),
        lambda x: tf.reshape(x, (x.shape[0], -1)),
        tf.nn.softmax,
    )
    return compiled(body, *inputs)


class Layers:
    """of peer_networks.run, by Keras's layers on symbolic tensors"""

    add = staticmethod(operator.add)
    keras = tf.keras.layers

    @staticmethod
    def called(layer, *inputs, weights, **options):
        y = layer(*inputs, **options)
        layer.set_weights(weights)
        return y

    def embedding(self, x, words, width, *weights):
        return self.called(self.keras.Embedding(words, width), x, weights=weights)

    def conv(self, x, filters, size, *weights):
        layer = self.keras.Conv1D if len(x.shape) == 3 else self.keras.Conv2D
        return self.called(layer(filters, size, activation="relu"), x, weights=weights)

    def pool(self, x, size):
        return (self.keras.MaxPooling1D if len(x.shape) == 3 else self.keras.MaxPooling2D)(size)(x)

    def conv_same(self, x, filters, size, step, *weights):
        padded = self.keras.ZeroPadding2D(size // 2)(x) if size > 1 else x
        return self.called(self.keras.Conv2D(filters, size, step, use_bias=False), padded, weights=weights)

    def batch_norm(self, x, relu, *weights):
        y = self.called(self.keras.BatchNormalization(epsilon=peer_networks.EPSILON), x, weights=weights)
        return self.relu(y) if relu else y

    def relu(self, x):
        return self.keras.ReLU()(x)

    def pool_same(self, x, size, step):
        # It follows a relu, so zeros are as good as the least number.
        return self.keras.MaxPooling2D(size, step)(self.keras.ZeroPadding2D(size // 2)(x))

    def mean(self, x):
        return self.keras.GlobalAveragePooling2D()(x)

    def flatten(self, x):
        return self.keras.Flatten()(x)

    def dense(self, x, units, relu, *weights):
        return self.called(self.keras.Dense(units, activation="relu" if relu else None), x, weights=weights)

    def norm(self, x, *weights):
        return self.called(self.keras.LayerNormalization(epsilon=peer_networks.EPSILON), x, weights=weights)

    def attention(self, x, heads, width, *weights):
        return self.called(self.keras.MultiHeadAttention(heads, width), x, x, weights=weights, use_causal_mask=True)


def model_of(network, dtype, weights):
    is_float = network.precision == "float32"
    tf.keras.config.set_dtype_policy("float32" if is_float else f"mixed_{network.precision}")
    x = tf.keras.Input(network.sample, dtype=dtype)
    return tf.keras.Model(x, peer_networks.run(network.layers, Layers(), iter(weights), x))


def case_network(x, *weights, network):
    model = model_of(network, x.dtype.name, [w.numpy() for w in weights])
    return compiled(lambda x: tf.cast(model(x, training=False), tf.float32), x)


def case_train(inputs, labels, *weights, network):
    def way(jit_compile):
        model = model_of(network, inputs.dtype.name, weights)
        optimizer = {"nadam": tf.keras.optimizers.Nadam, "adam": tf.keras.optimizers.Adam}[network.optimizer]()
        optimizer.build(model.trainable_variables)

        @tf.function(jit_compile=jit_compile)
        def step(x, labels):
            with tf.GradientTape() as tape:
                logits = tf.cast(model(x, training=True), tf.float32)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
            # dense: of slices Keras would add up squares where a word occurs twice, not square the sum
            gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, model.trainable_variables)]
            optimizer.apply(gradients, model.trainable_variables)
            return loss

        def epoch():
            losses = [step(tf.constant(x), tf.constant(y)) for x, y in zip(inputs, labels)]
            return np.mean([loss.numpy() for loss in losses])

        return epoch

    return peer_training.Training(jit_compile=lambda: way(True), tf_function=lambda: way(False))


def case_function(a, name):
    f = getattr(tf.math, name)
    return lambda: f(a)


def case_conv1d(x, w):
    return lambda: tf.nn.conv1d(x, w, stride=1, padding="VALID")


def case_conv2d(x, w, padding="VALID"):
    return lambda: tf.nn.conv2d(x, w, strides=1, padding=padding)


def case_sort(a):
    return lambda: tf.sort(a)


def case_top_k(a, k):
    return lambda: tf.math.top_k(a, k).values


def case_gather(a, i):
    return lambda: tf.gather(a, i)


def case_transpose(a):
    return lambda: tf.transpose(a)


def case_cumsum(a):
    return lambda: tf.cumsum(a, axis=-1)


def case_scatter_nd(updates, ids):
    indices, shape = ids[:, None], tf.shape(updates)
    return lambda: tf.scatter_nd(indices, updates, shape)


def case_segment_sum(data, ids):
    return lambda: tf.math.segment_sum(data, ids)


def case_bincount(a, size):
    return lambda: tf.math.bincount(a, minlength=size, maxlength=size)


def case_unique(a):
    return lambda: tuple(tf.unique(a))


def case_softmax(x):
    return lambda: tf.nn.softmax(x)


def case_layer_norm(x, scale, offset):
    def call():
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)

    return call


def case_max_pool(x):
    return lambda: tf.nn.max_pool2d(x, 2, 2, "VALID")
