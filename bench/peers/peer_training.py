# SPDX-License-Identifier: Apache-2.0
"""The training of the text classifier: its data, first weights and right losses, and the choice of a peer's way.

A call is an epoch: a few steps on batches that lie in host memory as NumPy arrays. Each step computes the loss and its
gradients, and updates all weights by Nadam. An epoch waits for its last step and gives the mean of the steps' losses.
"""

import sys
import time

import numpy as np

import peer_bodies

WORDS, LENGTH, LABELS = 10000, 300, 39
CHECKED_EPOCHS = 2
TIMED_EPOCHS = 2


# ---- data ----


def shapes_of():
    pooled = ((LENGTH - 4) // 2 - 2) // 2
    return [(WORDS, 7), (5, 7, 64), (64,), (3, 64, 32), (32,), (pooled * 32, LABELS), (LABELS,)]


def first_weights(random):
    """by Keras's initialisers: uniform in [-0.05, 0.05) for the table, Glorot's for kernels, zeros for biases"""
    weights = []
    for shape in shapes_of():
        window = int(np.prod(shape[:-2]))
        limit = (6 / (window * sum(shape[-2:]))) ** 0.5 if len(shape) > 1 else 0.0
        limit = limit if weights else 0.05
        weights.append(((random.random(shape, dtype=np.float32) * 2 - 1) * np.float32(limit)).astype(np.float32))
    return weights


def data(rows, steps):
    def make(random):
        ids = random.integers(0, WORDS, (steps, rows, LENGTH), dtype=np.int32)
        labels = random.integers(0, LABELS, (steps, rows), dtype=np.int32)
        return [ids, labels, *first_weights(random)]

    return make


# ---- right losses, in float64 ----


def convolved(x, w, b):
    """-> windows, pairs that are pooled, and their maxima"""
    taken = np.lib.stride_tricks.sliding_window_view(x, len(w), axis=1).swapaxes(2, 3)
    taken = taken.reshape(*taken.shape[:2], -1)
    y = np.maximum(taken @ w.reshape(-1, w.shape[-1]) + b, 0)
    pairs = y.reshape(len(y), -1, 2, y.shape[-1])
    return taken, pairs, pairs.max(axis=2)


def convolved_back(gradient, taken, pairs, w):
    """-> gradients of the kernel, the bias and the input"""
    is_first = pairs[:, :, :1] >= pairs[:, :, 1:]
    chosen = np.concatenate([is_first, ~is_first], axis=2) & (pairs > 0)
    y = (gradient[:, :, None] * chosen).reshape(*taken.shape[:2], -1)
    kernel = np.tensordot(taken, y, axes=([0, 1], [0, 1]))
    windows = (y @ w.reshape(-1, w.shape[-1]).T).reshape(*y.shape[:2], *w.shape[:2])
    x = np.zeros((len(y), y.shape[1] + len(w) - 1, w.shape[1]))
    for i in range(len(w)):
        x[:, i : i + y.shape[1]] += windows[:, :, i]
    return kernel.reshape(w.shape), y.sum(axis=(0, 1)), x


def loss_and_gradients(ids, labels, weights):
    table, w1, b1, w2, b2, w3, b3 = weights
    taken_1, pairs_1, x = convolved(table[ids], w1, b1)
    taken_2, pairs_2, x = convolved(x, w2, b2)
    flat, every = x.reshape(len(x), -1), np.arange(len(x))
    logits = flat @ w3 + b3
    logits -= logits.max(axis=-1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    g = np.exp(logs)
    g[every, labels] -= 1
    g /= len(ids)
    g_w3, g_b3 = flat.T @ g, g.sum(axis=0)
    g_w2, g_b2, g_x = convolved_back((g @ w3.T).reshape(x.shape), taken_2, pairs_2, w2)
    g_w1, g_b1, g_x = convolved_back(g_x, taken_1, pairs_1, w1)
    g_table = np.zeros_like(table)
    np.add.at(g_table, ids, g_x)
    return -logs[every, labels].mean(), [g_table, g_w1, g_b1, g_w2, g_b2, g_w3, g_b3]


def right_losses(ids, labels, *weights):
    """of the first epochs: the mean over the steps of each"""
    weights = [w.astype(np.float64) for w in weights]
    means, squares = ([np.zeros_like(w) for w in weights] for _ in range(2))
    losses, product = [], 1.0
    for _ in range(CHECKED_EPOCHS):
        for x, y in zip(ids, labels):
            loss, gradients = loss_and_gradients(x, y, weights)
            losses.append(loss)
            product, weights, means, squares = peer_bodies.nadam(
                len(losses), product, weights, gradients, means, squares, np.sqrt
            )
    losses = np.array(losses).reshape(CHECKED_EPOCHS, -1).mean(axis=1)
    assert abs(losses[0] / np.log(LABELS) - 1) < 0.05 and losses[-1] < losses[0], losses
    return [losses]


# ---- a peer's ways ----


class Training:
    """A peer's ways to train; the fastest counts, and is named in the report.

    ways: {name: function without arguments -> epoch}, where epoch() trains and gives its mean loss. A way that cannot
    run is left out, with its reason in the peer's log."""

    def __init__(self, **ways):
        self.ways = ways

    def __call__(self):
        """Tries all ways, and keeps the fastest -> the losses of its first epochs"""
        best = failure = None
        for name, make in self.ways.items():
            try:
                found = self._try(make)
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                failure = error
                continue
            if best is None or found[0] < best:
                best, losses, self.epoch = found
                self.way = name if len(self.ways) > 1 else None
        if best is None:
            raise failure
        return [np.array(losses, np.float64)]

    def _try(self, make):
        epoch = make()
        losses, times = [epoch() for _ in range(CHECKED_EPOCHS)], []
        for _ in range(TIMED_EPOCHS if len(self.ways) > 1 else 0):
            begin = time.perf_counter()
            epoch()
            times.append(time.perf_counter() - begin)
        return min(times, default=0.0), losses, epoch

    def timed(self):
        return self.epoch
