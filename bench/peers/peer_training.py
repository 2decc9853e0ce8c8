# SPDX-License-Identifier: Apache-2.0
"""The training of a network: its data, first weights and right losses, and the choice of a peer's way.

A call is an epoch: a few steps on batches that lie in host memory as NumPy arrays. Each step computes the loss and its
gradients, and updates all weights. An epoch waits for its last step and gives the mean of the steps' losses.
"""

import os
import sys
import time

import numpy as np

import peer_bodies
import peer_networks
import peer_reference

CHECKED_EPOCHS = 2
TIMED_EPOCHS = 2


# ---- data ----


def first_weights(network, random):
    """as Keras's initialisers distribute them"""
    return [
        ((random.random(shape, dtype=np.float32) * 2 - 1) * np.float32(distance) + np.float32(middle)).astype(np.float32)
        for shape, middle, distance in peer_networks.weights_of(network)
    ]


def data(network, rows, steps):
    def make(random):
        shape = (steps, rows, *network.sample)
        inputs = (
            random.integers(0, network.words, shape, dtype=np.int32)
            if network.words
            else random.random(shape, dtype=np.float32)
        )
        labels = random.integers(0, network.labels, (steps, rows, *network.label), dtype=np.int32)
        return [inputs, labels, *first_weights(network, random)]

    return make


def one_batch(network, rows):
    """inputs of one batch and the weights, to run the network without training"""

    def make(random):
        inputs, _, *weights = data(network, rows, 1)(random)
        return [inputs[0], *weights]

    return make


# ---- right losses and logits, in float64 ----


def right_logits(network, inputs, *weights):
    return [peer_reference.logits(network, inputs, [w.astype(np.float64) for w in weights])]


def right_losses(network, inputs, labels, *weights):
    """of the first epochs: the mean over the steps of each"""
    weights = [w.astype(np.float64) for w in weights]
    means, squares = ([np.zeros_like(w) for w in weights] for _ in range(2))
    update, losses, product = peer_bodies.OPTIMIZERS[network.optimizer], [], 1.0
    for _ in range(CHECKED_EPOCHS):
        for x, y in zip(inputs, labels):
            loss, gradients = peer_reference.loss_and_gradients(network, x, y, weights)
            losses.append(loss)
            product, weights, means, squares = update(
                len(losses), product, weights, gradients, means, squares, np.sqrt
            )
    assert abs(losses[0] / np.log(network.labels) - 1) < 0.2, losses
    means_of_epochs = np.array(losses).reshape(CHECKED_EPOCHS, -1).mean(axis=1)
    assert means_of_epochs[-1] < means_of_epochs[0], losses
    return [means_of_epochs]


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
        only = os.environ.get("PEERS_WAY")
        for name, make in self.ways.items():
            if only and name != only:
                continue
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
