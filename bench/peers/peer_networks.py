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
    residual LAYERS [SHORTCUT]    their input, or what the layers of the shortcut make of it, is added to their output
    conv_same FILTERS SIZE STEP   of images, with padding of SIZE / 2 on each side, without bias
    batch_norm RELU          over all but the channels; gamma, beta, and the moving mean and variance, which training
                             updates and inference uses
    relu
    pool_same SIZE STEP      the largest of each window, with padding of SIZE / 2 on each side
    mean                     over all places

Weights come in this order, those of a layer as Keras has them.

In bfloat16 the weights, the optimizer's state and the loss are float32. Images and weights are rounded before each use,
but those of batch_norm are not, so that each layer takes and gives bfloat16; means and variances are float32 inside.
"""

import dataclasses
import math

EPSILON = 0.001  # of norm
WEIGHTS = {"embedding": 1, "conv": 2, "dense": 2, "norm": 2, "attention": 8, "conv_same": 1, "batch_norm": 4}


@dataclasses.dataclass(frozen=True)
class Network:
    layers: tuple
    sample: tuple  # the shape of one sample
    words: int  # ids below this; 0: floats from 0 to 1
    labels: int
    label: tuple  # the shape of a sample's labels
    optimizer: str
    precision: str = "float32"  # or "bfloat16"
    is_large: bool = False  # too much for NumPy in float64: the peers are compared with each other
    is_composed: bool = False  # Gantry takes ops and a step of its own, not libgantry_train's model


def block(width, heads):
    return (
        ("residual", (("norm",), ("attention", heads, width // heads))),
        ("residual", (("norm",), ("dense", 4 * width, True), ("dense", width, False))),
    )


def bottleneck(width, step, has_shortcut):
    """three convolutions; the second one makes the steps"""
    inner = (
        ("conv_same", width, 1, 1),
        ("batch_norm", True),
        ("conv_same", width, 3, step),
        ("batch_norm", True),
        ("conv_same", 4 * width, 1, 1),
        ("batch_norm", False),
    )
    shortcut = ((("conv_same", 4 * width, 1, step), ("batch_norm", False)),) if has_shortcut else ()
    return (("residual", inner, *shortcut), ("relu",))


def residual_network(precision, blocks, width, side, labels):
    """blocks: how many each stage has; each stage doubles the width and, but for the first, halves the sides"""
    layers = [("conv_same", width, 7, 2), ("batch_norm", True), ("pool_same", 3, 2)]
    for stage, count in enumerate(blocks):
        for i in range(count):
            layers += bottleneck(width << stage, 2 if stage and not i else 1, i == 0)
    layers += [("mean",), ("dense", labels, False)]
    return Network(tuple(layers), (side, side, 3), 0, labels, (), "adam", precision, side > 64, True)


def decoder(precision, blocks, width, heads, length, words):
    layers = (("embedding", words, width), *blocks * block(width, heads), ("norm",), ("dense", words, False))
    return Network(layers, (length,), words, words, (length,), "adam", precision, length > 64, True)


def large(is_small):
    """the networks of a card; small: a block for a stage, two blocks, and less of all else, by the same code"""
    sizes = (((1, 1), 8, 32, 10), (2, 16, 2, 8, 32)) if is_small else (((3, 4, 6, 3), 64, 224, 1000), (12, 768, 12, 256, 32768))
    return {
        f"{name}{suffix}": make(precision, *size)
        for precision, suffix in (("bfloat16", "_bfloat16"), ("float32", ""))
        for (name, make), size in zip((("residual_50", residual_network), ("decoder_12", decoder)), sizes)
    }


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
            y = run(numbers[0], ops, weights, x)
            x = ops.add(run(numbers[1], ops, weights, x) if numbers[1:] else x, y)
        else:
            x = getattr(ops, name)(x, *numbers, *(next(weights) for _ in range(WEIGHTS.get(name, 0))))
    return x


def owners(layers):
    """the name of the layer that each weight belongs to"""
    for name, *numbers in layers:
        for inner in numbers if name == "residual" else ():
            yield from owners(inner)
        yield from [name] * WEIGHTS.get(name, 0)


def moving(network):
    """the places among the weights of the moving means and variances, which are not trained"""
    places = [i for i, name in enumerate(owners(network.layers)) if name == "batch_norm"]
    return [i for first in range(0, len(places), 4) for i in places[first + 2 : first + 4]]


def logits(network, ops, weights, x, rounded):
    """The network's output; rounded makes bfloat16 of a weight or of images"""
    if network.precision != "float32":
        pairs = zip(owners(network.layers), weights)
        weights = [w if name == "batch_norm" else rounded(w) for name, w in pairs]
        x = x if network.words else rounded(x)
    return run(network.layers, ops, iter(weights), x)


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

    @staticmethod
    def steps(x, size, step):
        return tuple((n + size // 2 * 2 - size) // step + 1 for n in x[:-1])

    def conv_same(self, x, filters, size, step):
        self.weights.append(glorot((size, size, x[-1], filters), size * size * x[-1], size * size * filters))
        return (*self.steps(x, size, step), filters)

    def batch_norm(self, x, relu):
        shape = (x[-1],)
        self.weights += [constant(shape, 1.0), constant(shape, 0.0), (shape, 0.0, 0.1), constant(shape, 1.0)]
        return x

    @staticmethod
    def relu(x):
        return x

    def pool_same(self, x, size, step):
        return (*self.steps(x, size, step), x[-1])

    @staticmethod
    def mean(x):
        return x[-1:]

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
        ends = [run_shapes(inner, shapes, x) for inner in numbers] if name == "residual" else ()
        x = ends[0] if ends else getattr(shapes, name)(x, *numbers)
    return x


def weights_of(network):
    """-> (shape, middle, distance) of each weight's first values, which are uniform"""
    shapes = Shapes()
    assert run_shapes(network.layers, shapes, network.sample) == (*network.label, network.labels)
    return shapes.weights
