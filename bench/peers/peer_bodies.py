# SPDX-License-Identifier: Apache-2.0
"""Bodies that compilers get, written with operators, which every array library has."""


def chain_20(x, y):
    r = x
    for _ in range(10):
        r = r * y + x
    return r


def mlp(relu):
    """-> layers of a product, a bias and, between two layers, relu"""

    def body(x, *layers):
        for i in range(0, len(layers), 2):
            x = x @ layers[i] + layers[i + 1]
            x = relu(x) if i + 2 < len(layers) else x
        return x

    return body


def text_classifier(take, conv, relu, pool, flat, softmax):
    """-> an embedding, two convolutions with bias, relu and pooling, and a dense layer; the functions are the library's"""

    def body(ids, table, w1, b1, w2, b2, w3, b3):
        x = take(table, ids)
        for w, b in ((w1, b1), (w2, b2)):
            x = pool(relu(conv(x, w, b)))
        return softmax(flat(x) @ w3 + b3)

    return body


def nadam(step, product, weights, gradients, means, squares, root):
    """Keras's formula with its default numbers; step counts from 1, product is that of the momenta so far, 1 at first
    -> product, weights, means, squares"""
    rate, beta_1, beta_2, epsilon = 0.001, 0.9, 0.999, 1e-7
    now, later = (beta_1 * (1 - 0.5 * 0.96 ** (step + i)) for i in (0, 1))
    product = product * now
    of_mean, of_gradient = rate * later / (1 - product * later), rate * (1 - now) / (1 - product)
    of_square = 1 / (1 - beta_2**step)
    means = [m + (g - m) * (1 - beta_1) for m, g in zip(means, gradients)]
    squares = [v + (g * g - v) * (1 - beta_2) for v, g in zip(squares, gradients)]
    weights = [
        w - (m * of_mean + g * of_gradient) / (root(v * of_square) + epsilon)
        for w, g, m, v in zip(weights, gradients, means, squares)
    ]
    return product, weights, means, squares


def adam(step, product, weights, gradients, means, squares, root):
    """likewise; it has no use for product"""
    rate, beta_1, beta_2, epsilon = 0.001, 0.9, 0.999, 1e-7
    rate = rate * root(1 - beta_2**step) / (1 - beta_1**step)
    means = [m + (g - m) * (1 - beta_1) for m, g in zip(means, gradients)]
    squares = [v + (g * g - v) * (1 - beta_2) for v, g in zip(squares, gradients)]
    weights = [w - m * rate / (root(v) + epsilon) for w, m, v in zip(weights, means, squares)]
    return product, weights, means, squares


OPTIMIZERS = {"nadam": nadam, "adam": adam}
