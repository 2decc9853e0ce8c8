# SPDX-License-Identifier: Apache-2.0
"""The networks that are trained and run: each is described once, and every peer builds its own from the description.

A network is layers, one after the other. A layer is a name and numbers:

    embedding WORDS WIDTH    ids become rows of a table
    conv FILTERS SIZE        over all dimensions between batch and channels, without padding, with relu
    pool SIZE                the largest of each window
    flatten
    dense UNITS RELU         a product and a bias, with relu or without
    norm                     over the last dimension; gamma, beta
    attention HEADS WIDTH    causal; kernel and bias of query, key, value and output
    residual LAYERS          their input is added to their output

Weights come in this order, those of a layer as Keras has them.
"""

import dataclasses
import math

EPSILON = 0.001  # of norm
WEIGHTS = {"embedding": 1, "conv": 2, "pool": 0, "flatten": 0, "dense": 2, "norm": 2, "attention": 8}


@dataclasses.dataclass(frozen=True)
class Network:
    layers: tuple
    sample: tuple  # the shape of one sample
    words: int  # ids below this; 0: floats from 0 to 1
    labels: int
    label: tuple  # the shape of a sample's labels
    optimizer: str


def block(width, heads):
    return (
        ("residual", (("norm",), ("attention", heads, width // heads))),
        ("residual", (("norm",), ("dense", 4 * width, True), ("dense", width, False))),
    )


NETWORKS = {
    "mlp": Network(
        (("dense", 512, True), ("dense", 512, True), ("dense", 10, False)),
        (784,),
        0,
        10,
        (),
        "adam",
    ),
    "text_classifier": Network(
        (
            ("embedding", 10000, 7),
            ("conv", 64, 5),
            ("pool", 2),
            ("conv", 32, 3),
            ("pool", 2),
            ("flatten",),
            ("dense", 39, False),
        ),
        (300,),
        10000,
        39,
        (),
        "nadam",
    ),
    "digits_cnn": Network(
        (("conv", 32, 3), ("pool", 2), ("conv", 64, 3), ("flatten",), ("dense", 10, False)),
        (28, 28, 1),
        0,
        10,
        (),
        "adam",
    ),
    "transformer": Network(
        (("embedding", 96, 64), *block(64, 4), *block(64, 4), ("norm",), ("dense", 96, False)),
        (64,),
        96,
        96,
        (64,),
        "adam",
    ),
}


def run(layers, ops, weights, x):
    """The output of the layers for x. ops has a function for each name, of x, the numbers and the layer's weights, and
    `add`; weights is an iterator over all of them."""
    for name, *numbers in layers:
        if name == "residual":
            x = ops.add(x, run(numbers[0], ops, weights, x))
        else:
            x = getattr(ops, name)(x, *numbers, *(next(weights) for _ in range(WEIGHTS[name])))
    return x


# ---- shapes ----


def glorot(shape, inputs, outputs):
    return shape, 0.0, math.sqrt(6 / (inputs + outputs))


def constant(shape, value):
    return shape, value, 0.0


class Shapes:
    """Layers on the shapes of samples; they note their weights."""

    def __init__(self):
        self.weights = []

    def embedding(self, x, words, width):
        self.weights.append(((words, width), 0.0, 0.05))
        return (*x, width)

    def conv(self, x, filters, size):
        *lengths, channels = x
        window = (size,) * len(lengths)
        inputs, outputs = (math.prod(window) * n for n in (channels, filters))
        self.weights += [glorot((*window, channels, filters), inputs, outputs), constant((filters,), 0.0)]
        return (*(n - size + 1 for n in lengths), filters)

    @staticmethod
    def pool(x, size):
        return (*(n // size for n in x[:-1]), x[-1])

    @staticmethod
    def flatten(x):
        return (math.prod(x),)

    def dense(self, x, units, relu):
        self.weights += [glorot((x[-1], units), x[-1], units), constant((units,), 0.0)]
        return (*x[:-1], units)

    def norm(self, x):
        self.weights += [constant((x[-1],), 1.0), constant((x[-1],), 0.0)]
        return x

    def attention(self, x, heads, width):
        n, inner = x[-1], heads * width
        for _ in range(3):
            self.weights += [glorot((n, heads, width), n, inner), constant((heads, width), 0.0)]
        self.weights += [glorot((heads, width, n), inner, n), constant((n,), 0.0)]
        return x


def run_shapes(layers, shapes, x):
    for name, *numbers in layers:
        x = run_shapes(numbers[0], shapes, x) if name == "residual" else getattr(shapes, name)(x, *numbers)
    return x


def weights_of(network):
    """-> (shape, middle, distance) of each weight's first values, which are uniform"""
    shapes = Shapes()
    assert run_shapes(network.layers, shapes, network.sample) == (*network.label, network.labels)
    return shapes.weights
