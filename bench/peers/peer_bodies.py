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
