# SPDX-License-Identifier: Apache-2.0
"""JAX: every case compiled by jit once and waited for; with --card on the card, products in float32 and not TF32.

Not chain, which goes op by op, nor unique, whose result has no fixed shape.
"""

import operator
import os

if "PEERS_CARD" in os.environ:
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ["JAX_DEFAULT_MATMUL_PRECISION"] = "highest"
else:
    os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import peer_bodies
import peer_networks
import peer_training

LACKS = {}


def open_peer(threads):
    # it takes its threads from the cores that the process may use
    if "PEERS_CARD" in os.environ and jax.default_backend() == "cpu":
        raise RuntimeError(f"JAX {jax.__version__} is installed without support for a card, or sees none")
    return f"JAX {jax.__version__} on {jax.devices()[0]}"


def put(array):
    return jnp.asarray(array)


def fetch(result):
    return [np.asarray(x) for x in result] if isinstance(result, tuple) else [np.asarray(result)]


def compiled(f, *inputs):
    """inputs are arguments: held in the function they would be constants, and the work done at compile time"""
    g = jax.jit(f)
    return lambda: g(*inputs).block_until_ready()


def case_matmul(a, b):
    return compiled(jnp.matmul, a, b)


def case_add(a, b):
    return compiled(jnp.add, a, b)


def case_sum(a):
    return compiled(jnp.sum, a)


def chain(x, y):
    return jnp.maximum(x * y + x, 0) * 0.5 + jnp.tanh(y)


def case_chain(x, y):
    return lambda: chain(x, y).block_until_ready()


def case_chain_fused(x, y):
    return compiled(chain, x, y)


def case_chain_20(x, y):
    return compiled(peer_bodies.chain_20, x, y)


def case_softmax_ops(x):
    def softmax(x):
        e = jnp.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    return compiled(softmax, x)


def case_layer_norm_ops(x, scale, offset):
    return case_layer_norm(x, scale, offset)


def case_mlp(x, *layers):
    return compiled(peer_bodies.mlp(lambda x: jnp.maximum(x, 0)), x, *layers)


def pooled_by_window(x, size=2):
    window = (1, *(size,) * (x.ndim - 2), 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")


def pooled_by_shape(x, size=2):
    n, *lengths, channels = x.shape
    split = [m for length in lengths for m in (length // size, size)]
    return x.reshape(n, *split, channels).max(axis=tuple(range(2, 2 + 2 * len(lengths), 2)))


def classifier(pooled, softmax):
    return peer_bodies.text_classifier(
        lambda table, ids: jnp.take(table, ids, axis=0, mode="clip"),
        lambda x, w, b: lax.conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=("NWC", "WIO", "NWC")) + b,
        lambda x: jnp.maximum(x, 0),
        pooled,
        lambda x: x.reshape(x.shape[0], -1),
        softmax,
    )


def case_text_classifier(*inputs):
    return compiled(classifier(pooled_by_window, jax.nn.softmax), *inputs)


class Layers:
    """of peer_networks.run"""

    add = staticmethod(operator.add)

    def __init__(self, pooled, training=False):
        self.pool, self.training = pooled, training
        self.moved = []  # new moving means and variances, in the order of peer_networks.moving

    @staticmethod
    def embedding(x, words, width, table):
        return jnp.take(table, x, axis=0, mode="clip")

    @staticmethod
    def conv(x, filters, size, w, b):
        dims = x.ndim - 2
        order = ("NWC", "WIO", "NWC") if dims == 1 else ("NHWC", "HWIO", "NHWC")
        return jnp.maximum(lax.conv_general_dilated(x, w, (1,) * dims, "VALID", dimension_numbers=order) + b, 0)

    @staticmethod
    def conv_same(x, filters, size, step, w):
        around = [(size // 2, size // 2)] * 2
        return lax.conv_general_dilated(x, w, (step, step), around, dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def batch_norm(self, x, relu, gamma, beta, mean, variance):
        wide = x.astype(jnp.float32)
        if self.training:
            new = wide.mean((0, 1, 2)), wide.var((0, 1, 2))
            self.moved += [old * 0.99 + now * 0.01 for old, now in zip((mean, variance), new)]
            mean, variance = new
        y = ((wide - mean) * (lax.rsqrt(variance + peer_networks.EPSILON) * gamma) + beta).astype(x.dtype)
        return jnp.maximum(y, 0) if relu else y

    @staticmethod
    def relu(x):
        return jnp.maximum(x, 0)

    @staticmethod
    def pool_same(x, size, step):
        around = ((0, 0), (size // 2, size // 2), (size // 2, size // 2), (0, 0))
        return lax.reduce_window(x, np.array(-np.inf, x.dtype), lax.max, (1, size, size, 1), (1, step, step, 1), around)

    @staticmethod
    def mean(x):
        return x.mean((1, 2))

    @staticmethod
    def flatten(x):
        return x.reshape(x.shape[0], -1)

    @staticmethod
    def dense(x, units, relu, w, b):
        y = x @ w + b
        return jnp.maximum(y, 0) if relu else y

    @staticmethod
    def norm(x, gamma, beta):
        wide = x.astype(jnp.float32)
        centred = wide - wide.mean(-1, keepdims=True)
        y = centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + peer_networks.EPSILON) * gamma + beta
        return y.astype(x.dtype)

    @staticmethod
    def attention(x, heads, width, *weights):
        q, k, v = (jnp.einsum("btd,dhk->bthk", x, weights[i]) + weights[i + 1] for i in (0, 2, 4))
        out = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return jnp.einsum("bthk,hkd->btd", out, weights[6]) + weights[7]


def rounded(x):
    return x.astype(jnp.bfloat16)


def logits_of(network, layers, weights, x):
    return peer_networks.logits(network, layers, weights, x, rounded).astype(jnp.float32)


def training_step(network, pooled):
    """-> a compiled function of the state, which it may overwrite, and of a batch"""
    update, moving = peer_bodies.OPTIMIZERS[network.optimizer], peer_networks.moving(network)

    def loss_of(weights, x, labels):
        layers = Layers(pooled, training=True)
        logs = jax.nn.log_softmax(logits_of(network, layers, weights, x))
        return -jnp.take_along_axis(logs, labels[..., None], axis=-1).mean(), layers.moved

    def step(state, x, labels):
        count, product, weights, means, squares = state
        (loss, moved), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights, x, labels)
        count = count + 1
        product, weights, means, squares = update(count, product, weights, gradients, means, squares, jnp.sqrt)
        for i, value in zip(moving, moved):
            weights[i] = value
        return (count, product, weights, means, squares), loss

    return jax.jit(step, donate_argnums=0)


def case_network(x, *weights, network):
    layers = Layers(pooled_by_window)
    return compiled(lambda x, *weights: logits_of(network, layers, weights, x), x, *weights)


def case_train(inputs, labels, *weights, network):
    def way(pooled):
        step = training_step(network, pooled)
        zeros = [[jnp.zeros(w.shape, w.dtype) for w in weights] for _ in range(2)]
        state = (jnp.float32(0), jnp.float32(1), [jnp.array(w) for w in weights], *zeros)

        def epoch():
            nonlocal state
            losses = []
            for batch in zip(inputs, labels):
                state, loss = step(state, *batch)
                losses.append(loss)
            jax.block_until_ready(state)
            return np.mean(losses)

        return epoch

    ways = {"reduce_window": lambda: way(pooled_by_window), "max_of_reshape": lambda: way(pooled_by_shape)}
    has_pools = any(layer[0] == "pool" for layer in network.layers)
    return peer_training.Training(**(ways if has_pools else {"jit": ways["reduce_window"]}))


def case_function(a, name):
    return compiled(jax.scipy.special.erf if name == "erf" else getattr(jnp, name), a)


def case_conv1d(x, w):
    return compiled(
        lambda x, w: lax.conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=("NWC", "WIO", "NWC")), x, w
    )


def case_conv2d(x, w, padding="VALID"):
    return compiled(
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC")), x, w
    )


def case_sort(a):
    return compiled(jnp.sort, a)


def case_top_k(a, k):
    return compiled(lambda a: lax.top_k(a, k)[0], a)


def case_gather(a, i):
    return compiled(lambda a, i: jnp.take(a, i, axis=0, mode="clip"), a, i)


def case_transpose(a):
    return compiled(jnp.transpose, a)


def case_cumsum(a):
    return compiled(lambda a: jnp.cumsum(a, axis=-1), a)


def case_scatter_nd(updates, ids):
    return compiled(lambda updates, ids: jnp.zeros_like(updates).at[ids].add(updates), updates, ids)


def case_segment_sum(data, ids):
    count = int(ids[-1]) + 1
    return compiled(lambda data, ids: jax.ops.segment_sum(data, ids, count, indices_are_sorted=True), data, ids)


def case_bincount(a, size):
    return compiled(lambda a: jnp.bincount(a, length=size), a)


def case_unique(a):
    return lambda: tuple(x.block_until_ready() for x in jnp.unique(a, return_inverse=True))


def case_softmax(x):
    return compiled(lambda x: jax.nn.softmax(x, axis=-1), x)


def case_layer_norm(x, scale, offset):
    def normalised(x, scale, offset):
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * scale + offset

    return compiled(normalised, x, scale, offset)


def case_max_pool(x):
    window = (1, 2, 2, 1)
    return compiled(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID"), x)
