# SPDX-License-Identifier: Apache-2.0
"""The networks in float64 with NumPy, and their gradients by rules written by hand: the right losses.

Values are linked backwards: each layer notes how the gradient of its output becomes those of its inputs.
"""

import numpy as np

import peer_networks


class Value:
    def __init__(self, data):
        self.data, self.gradient = data, 0.0


class Ops:
    """The layers of peer_networks.run on Values."""

    def __init__(self, training):
        self.rules, self.training = [], training

    def note(self, data, rule):
        """rule: the output's gradient -> (value, its part of the gradient), ..."""
        out = Value(data)
        self.rules.append((out, rule))
        return out

    def backward(self, out, gradient):
        out.gradient = gradient
        for value, rule in reversed(self.rules):
            for source, part in rule(value.gradient):
                source.gradient = source.gradient + part

    def add(self, x, y):
        return self.note(x.data + y.data, lambda g: ((x, g), (y, g)))

    def embedding(self, ids, words, width, table):
        def rule(g):
            sums = np.zeros_like(table.data)
            np.add.at(sums, ids.data, g)
            return ((table, sums),)

        return self.note(table.data[ids.data], rule)

    @staticmethod
    def correlate(x, w, step, padding):
        """-> the sums, and a function from their gradient to those of x and w"""
        dims = x.ndim - 2
        size, filters = w.shape[0], w.shape[-1]
        around = [(0, 0), *[(padding, padding)] * dims, (0, 0)]
        wide = np.pad(x, around)
        along = tuple(range(1, 1 + dims))
        taken = np.lib.stride_tricks.sliding_window_view(wide, (size,) * dims, axis=along)
        taken = taken[(slice(None), *[slice(None, None, step)] * dims)]
        places = taken.shape[: 1 + dims]
        taken = np.moveaxis(taken, 1 + dims, -1).reshape(-1, size**dims * x.shape[-1])
        flat = w.reshape(-1, filters)

        def rule(g):
            g = g.reshape(-1, filters)
            windows = (g @ flat.T).reshape(*places, *w.shape[:-1])
            sums = np.zeros(wide.shape)
            for at in np.ndindex((size,) * dims):
                part = tuple(slice(i, i + step * (n - 1) + 1, step) for i, n in zip(at, places[1:]))
                sums[(slice(None), *part)] += windows[(slice(None),) * (1 + dims) + at]
            inside = tuple(slice(before, before + n) for (before, _), n in zip(around, x.shape))
            return sums[inside], (taken.T @ g).reshape(w.shape)

        return (taken @ flat).reshape(*places, filters), rule

    def conv(self, x, filters, size, w, b):
        sums, back = self.correlate(x.data, w.data, 1, 0)
        y = np.maximum(sums + b.data, 0)

        def rule(g):
            g = g * (y > 0)
            of_x, of_w = back(g)
            return ((x, of_x), (w, of_w), (b, g.reshape(-1, filters).sum(axis=0)))

        return self.note(y, rule)

    def conv_same(self, x, filters, size, step, w):
        y, back = self.correlate(x.data, w.data, step, size // 2)
        return self.note(y, lambda g: zip((x, w), back(g)))

    def batch_norm(self, x, relu, gamma, beta, mean, variance):
        over = tuple(range(x.data.ndim - 1))
        if self.training:
            mean, variance = Value(x.data.mean(axis=over)), Value(x.data.var(axis=over))
        scale = 1 / np.sqrt(variance.data + peer_networks.EPSILON)
        y = (x.data - mean.data) * scale
        out = y * gamma.data + beta.data

        def rule(g):
            g = g * (out > 0) if relu else g
            inner = g * gamma.data
            means = inner.mean(axis=over), (inner * y).mean(axis=over)
            return ((x, scale * (inner - means[0] - y * means[1])), (gamma, (g * y).sum(axis=over)), (beta, g.sum(axis=over)))

        return self.note(np.maximum(out, 0) if relu else out, rule)

    def relu(self, x):
        return self.note(np.maximum(x.data, 0), lambda g: ((x, g * (x.data > 0)),))

    def pool_same(self, x, size, step):
        edge = size // 2
        wide = np.pad(x.data, [(0, 0), (edge, edge), (edge, edge), (0, 0)], constant_values=-np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(wide, (size, size), axis=(1, 2))[:, ::step, ::step]
        first = windows.reshape(*windows.shape[:4], -1).argmax(axis=-1)

        def rule(g):
            sums, (rows, columns) = np.zeros(wide.shape), first.shape[1:3]
            for at, (i, j) in enumerate(np.ndindex(size, size)):
                sums[:, i : i + step * (rows - 1) + 1 : step, j : j + step * (columns - 1) + 1 : step] += g * (first == at)
            return ((x, sums[:, edge : edge + x.data.shape[1], edge : edge + x.data.shape[2]]),)

        return self.note(windows.max(axis=(-2, -1)), rule)

    def mean(self, x):
        places = x.data.shape[1:-1]

        def rule(g):
            return ((x, np.broadcast_to(g.reshape(len(g), 1, 1, -1), x.data.shape) / np.prod(places)),)

        return self.note(x.data.mean(axis=(1, 2)), rule)

    def pool(self, x, size):
        n, *lengths, channels = x.data.shape
        dims, split = len(lengths), [m for length in lengths for m in (length // size, size)]
        inner = tuple(range(2, 2 + 2 * dims, 2))
        last = tuple(range(-dims, 0))
        parts = np.moveaxis(x.data.reshape(n, *split, channels), inner, last)
        windows = parts.reshape(*parts.shape[: 2 + dims], -1)
        first = windows.argmax(axis=-1)[..., None]

        def rule(g):
            chosen = np.zeros(windows.shape)
            np.put_along_axis(chosen, first, g[..., None], axis=-1)
            return ((x, np.moveaxis(chosen.reshape(parts.shape), last, inner).reshape(x.data.shape)),)

        return self.note(np.take_along_axis(windows, first, axis=-1)[..., 0], rule)

    def flatten(self, x):
        return self.note(x.data.reshape(len(x.data), -1), lambda g: ((x, g.reshape(x.data.shape)),))

    def dense(self, x, units, relu, w, b):
        y = x.data @ w.data + b.data
        y = np.maximum(y, 0) if relu else y

        def rule(g):
            g = g * (y > 0) if relu else g
            rows, gs = x.data.reshape(-1, x.data.shape[-1]), g.reshape(-1, units)
            return ((x, g @ w.data.T), (w, rows.T @ gs), (b, gs.sum(axis=0)))

        return self.note(y, rule)

    def norm(self, x, gamma, beta):
        centred = x.data - x.data.mean(axis=-1, keepdims=True)
        scale = 1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + peer_networks.EPSILON)
        y = centred * scale

        def rule(g):
            over = tuple(range(g.ndim - 1))
            inner = g * gamma.data
            means = inner.mean(axis=-1, keepdims=True), (inner * y).mean(axis=-1, keepdims=True)
            return ((x, scale * (inner - means[0] - y * means[1])), (gamma, (g * y).sum(axis=over)), (beta, g.sum(axis=over)))

        return self.note(y * gamma.data + beta.data, rule)

    def attention(self, x, heads, width, *weights):
        pairs = list(zip(weights[::2], weights[1::2]))
        into = [np.einsum("btd,dhk->bhtk", x.data, w.data, optimize=True) + b.data[:, None] for w, b in pairs[:3]]
        q, k, v = into[0] / np.sqrt(width), into[1], into[2]
        scores = q @ k.swapaxes(2, 3)
        scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
        p = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        out = p @ v
        w_out, b_out = pairs[3]

        def rule(g):
            g_out = np.einsum("btd,hkd->bhtk", g, w_out.data, optimize=True)
            g_p = g_out @ v.swapaxes(2, 3)
            g_scores = p * (g_p - (g_p * p).sum(axis=-1, keepdims=True))
            inner = g_scores @ k / np.sqrt(width), g_scores.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ g_out
            yield w_out, np.einsum("bhtk,btd->hkd", out, g, optimize=True)
            yield b_out, g.sum(axis=(0, 1))
            for (w, b), part in zip(pairs, inner):
                yield x, np.einsum("bhtk,dhk->btd", part, w.data, optimize=True)
                yield w, np.einsum("btd,bhtk->dhk", x.data, part, optimize=True)
                yield b, part.sum(axis=(0, 2))

        return self.note(np.einsum("bhtk,hkd->btd", out, w_out.data, optimize=True) + b_out.data, rule)


def logits(network, x, weights):
    return peer_networks.run(network.layers, Ops(False), iter([Value(w) for w in weights]), Value(x)).data


def loss_and_gradients(network, x, labels, weights):
    """the mean cross-entropy over all labels, and the gradients of the weights"""
    ops, values = Ops(True), [Value(w) for w in weights]
    out = peer_networks.run(network.layers, ops, iter(values), Value(x))
    logits = out.data - out.data.max(axis=-1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    g = np.exp(logs)
    np.put_along_axis(g, labels[..., None], np.take_along_axis(g, labels[..., None], -1) - 1, axis=-1)
    ops.backward(out, g / labels.size)
    return -np.take_along_axis(logs, labels[..., None], -1).mean(), [v.gradient for v in values]
