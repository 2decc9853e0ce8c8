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
