# SPDX-License-Identifier: Apache-2.0
"""PyTorch, eager, in inference mode, with --card on the card; chains and networks of ops go through torch.compile,
which calls the C++ compiler, and Triton for a card.

Images are in its channels-last form, which is the others' order in memory.
"""

import itertools
import operator
import os

import numpy as np
import torch
import torch.nn.functional as F

import peer_bodies
import peer_networks
import peer_training

LACKS = {}
INFERENCE = torch.inference_mode()
CARD = "PEERS_CARD" in os.environ
DEVICE = "cuda" if CARD else "cpu"
if CARD:
    finish = torch.cuda.synchronize
    torch.backends.cudnn.allow_tf32 = False  # convolutions in float32, as products are


def open_peer(threads):
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    INFERENCE.__enter__()  # for good: no record for gradients
    return f"PyTorch {torch.__version__} on {torch.cuda.get_device_name() if CARD else DEVICE}"


def put(array):
    return torch.from_numpy(np.asarray(array)).to(DEVICE)


def forget(inputs):
    if CARD:
        torch.cuda.empty_cache()  # for the other peers


def fetch(result):
    return [x.numpy(force=True) for x in result] if isinstance(result, tuple) else [result.numpy(force=True)]


def case_op(*inputs, op):
    if not op.torch:
        raise NotImplementedError("no such op")
    if not isinstance(op.torch, str):
        return lambda: op.torch(torch, *inputs)
    f = getattr(torch, op.torch, None) or getattr(F, op.torch)
    return lambda: f(*inputs)


def case_matmul(a, b):
    return lambda: torch.matmul(a, b)


def case_add(a, b):
    return lambda: torch.add(a, b)


def case_sum(a):
    return lambda: torch.sum(a)


def chain(x, y):
    return torch.relu(x * y + x) * 0.5 + torch.tanh(y)


def case_chain(x, y):
    return lambda: chain(x, y)


def compiled(f, *inputs):
    """for these sizes, also where the same code was compiled for others before"""
    g = torch.compile(f, dynamic=False)
    return lambda: g(*inputs)


def case_chain_fused(x, y):
    return compiled(chain, x, y)


def case_chain_20(x, y):
    return compiled(peer_bodies.chain_20, x, y)


def case_softmax_ops(x):
    def softmax(x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)

    return compiled(softmax, x)


def case_layer_norm_ops(x, scale, offset):
    def normalised(x, scale, offset):
        centred = x - x.mean(-1, keepdim=True)
        spread = torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5)
        return centred * spread * scale + offset

    return compiled(normalised, x, scale, offset)


def case_mlp(x, *layers):
    return compiled(peer_bodies.mlp(torch.relu), x, *layers)


def channels_first(w1, w2, w3):
    """the classifier's weights in the order that convolutions over [batch, channels, length] take"""
    flat = w3.reshape(-1, w2.shape[2], w3.shape[1]).transpose(0, 1).reshape(w3.shape)
    return w1.permute(2, 1, 0).contiguous(), w2.permute(2, 1, 0).contiguous(), flat.contiguous()


def classifier(last):
    return peer_bodies.text_classifier(
        lambda table, ids: F.embedding(ids, table).transpose(1, 2),
        F.conv1d,
        torch.relu,
        lambda x: F.max_pool1d(x, 2),
        lambda x: x.flatten(1),
        last,
    )


def case_text_classifier(ids, table, w1, b1, w2, b2, w3, b3):
    w1, w2, w3 = channels_first(w1, w2, w3)
    return compiled(classifier(lambda x: torch.softmax(x, -1)), ids, table, w1, b1, w2, b2, w3, b3)


class Layers:
    """of peer_networks.run. Channels come first between an embedding or the input and flatten, if a convolution follows;
    the weights are in PyTorch's order, as `prepare` gives them."""

    add = staticmethod(operator.add)

    def __init__(self, network, training=False):
        self.is_convolved = any(name == "conv" for name, *_ in network.layers)
        self.training = training

    def embedding(self, x, words, width, table):
        y = F.embedding(x, table)
        return y.transpose(1, 2) if self.is_convolved else y

    @staticmethod
    def conv(x, filters, size, w, b):
        return torch.relu((F.conv1d if x.dim() == 3 else F.conv2d)(x, w, b))

    @staticmethod
    def pool(x, size):
        return (F.max_pool1d if x.dim() == 3 else F.max_pool2d)(x, size)

    @staticmethod
    def conv_same(x, filters, size, step, w):
        return F.conv2d(x, w, stride=step, padding=size // 2)

    def batch_norm(self, x, relu, gamma, beta, mean, variance):
        y = F.batch_norm(x, mean, variance, gamma, beta, self.training, 0.01, peer_networks.EPSILON)
        return torch.relu(y) if relu else y

    relu = staticmethod(torch.relu)

    @staticmethod
    def pool_same(x, size, step):
        return F.max_pool2d(x, size, step, size // 2)

    @staticmethod
    def mean(x):
        return x.mean((2, 3))

    @staticmethod
    def flatten(x):
        return x.flatten(1)

    @staticmethod
    def dense(x, units, relu, w, b):
        y = F.linear(x, w, b)
        return torch.relu(y) if relu else y

    @staticmethod
    def norm(x, gamma, beta):
        return F.layer_norm(x, x.shape[-1:], gamma, beta, peer_networks.EPSILON)

    @staticmethod
    def attention(x, heads, width, *weights):
        q, k, v = (F.linear(x, weights[i], weights[i + 1]) for i in (0, 2, 4))
        q, k, v = (y.unflatten(-1, (heads, width)).transpose(1, 2) for y in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return F.linear(out, weights[6], weights[7])


def prepare(layers, weights, channels=None):
    """-> the weights in PyTorch's order: outputs first, channels before positions; weights is an iterator"""
    found = []
    for name, *numbers in layers:
        if name == "residual":
            for inner in numbers:
                found += prepare(inner, weights)
            continue
        own = [next(weights) for _ in range(peer_networks.WEIGHTS.get(name, 0))]
        if name == "conv":
            own[0], channels = np.moveaxis(own[0], (-1, -2), (0, 1)), numbers[0]
        elif name == "conv_same":
            own[0] = np.moveaxis(own[0], (-1, -2), (0, 1))
        elif name == "dense":
            if channels:  # behind flatten: the elements of a channel lie together
                own[0] = own[0].reshape(-1, channels, own[0].shape[1]).swapaxes(0, 1).reshape(own[0].shape)
            own[0], channels = own[0].T, None
        elif name == "attention":
            inner, n = numbers[0] * numbers[1], own[0].shape[0]
            own = [w.reshape(n, inner).T if w.ndim == 3 else w.reshape(-1) for w in own[:6]] + [
                own[6].reshape(inner, n).T,
                own[7],
            ]
        found += own
    return found


def rounded(x):
    return x.bfloat16()


def in_order(network, x):
    """Images or filters in the order in memory that suits the network: channels last in bfloat16, because tensor cores
    take them so"""
    is_last = network.precision != "float32" and x.dim() == 4
    return x.contiguous(memory_format=torch.channels_last if is_last else torch.contiguous_format)


def optimizer_of(network, parameters, capturable):
    """by Keras's formulas -> an optimizer, and a function that prepares its step of a number from 1"""
    if network.optimizer == "nadam":
        # momentum_decay 1 is Keras's
        nadam = torch.optim.NAdam(parameters, lr=0.001, eps=1e-7, momentum_decay=1.0, capturable=capturable)
        return nadam, lambda step: None
    # Keras adds epsilon before it corrects the mean of squares
    epsilon = torch.tensor(1e-7, device=DEVICE)
    adam = torch.optim.Adam(parameters, lr=0.001, eps=1e-7, capturable=capturable)
    adam.param_groups[0]["eps"] = epsilon
    return adam, lambda step: epsilon.fill_(1e-7 / (1 - 0.999**step) ** 0.5)


def case_network(x, *weights, network):
    layers = Layers(network)
    prepared = prepare(network.layers, iter([w.numpy(force=True) for w in weights]))
    own = [in_order(network, put(np.ascontiguousarray(w))) for w in prepared]
    x = x if network.words else in_order(network, x.movedim(-1, 1))
    return compiled(lambda x, *own: peer_networks.logits(network, layers, own, x, rounded).float(), x, *own)


def case_train(inputs, labels, *weights, network):
    layers = Layers(network, training=True)
    moving = peer_networks.moving(network)
    with torch.inference_mode(False):
        batches = [(torch.from_numpy(x), torch.from_numpy(y).long()) for x, y in zip(inputs, labels)]
        if not network.words:
            batches = [(in_order(network, x.movedim(-1, 1)), y) for x, y in batches]

    def loss_of(x, labels, *weights):
        logits = peer_networks.logits(network, layers, weights, x, rounded).float()
        return F.cross_entropy(logits.flatten(0, -2), labels.flatten())

    def way(loss_of, compiles_optimizer):
        with torch.inference_mode(False):
            own = [in_order(network, torch.tensor(np.ascontiguousarray(w), device=DEVICE)) for w in prepare(network.layers, iter(weights))]
            parameters = [w.requires_grad_(i not in moving) for i, w in enumerate(own)]
            trained = [w for w in parameters if w.requires_grad]
            optimizer, prepare_step = optimizer_of(network, trained, compiles_optimizer)
        steps = itertools.count(1)
        update = torch.compile(optimizer.step) if compiles_optimizer else optimizer.step

        def step(x, y):
            optimizer.zero_grad()
            loss = loss_of(x.to(DEVICE), y.to(DEVICE), *parameters)
            loss.backward()
            prepare_step(next(steps))
            update()
            return loss.detach()

        def epoch():
            with torch.inference_mode(False):
                losses = torch.stack([step(x, y) for x, y in batches])
                if CARD:
                    torch.cuda.synchronize()
                return float(losses.mean())

        return epoch

    ways = {
        "eager": lambda: way(loss_of, False),
        "torch_compile": lambda: way(torch.compile(loss_of, dynamic=False), False),
        "torch_compile_with_optimizer": lambda: way(torch.compile(loss_of, dynamic=False), True),
    }
    if network.is_large:  # Each way that is compiled takes much of a run's time.
        del ways["torch_compile_with_optimizer"]
    return peer_training.Training(**ways)


def case_function(a, name):
    f = getattr(torch, name)
    return lambda: f(a)


def case_conv1d(x, w):
    weights = w.permute(2, 1, 0).contiguous()
    return lambda: F.conv1d(x.transpose(1, 2), weights).transpose(1, 2)


def case_conv2d(x, w, padding="VALID"):
    images = x.permute(0, 3, 1, 2)  # a view: channels last
    weights = w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    return lambda: F.conv2d(images, weights, padding=padding.lower()).permute(0, 2, 3, 1)


def case_sort(a):
    return lambda: torch.sort(a).values


def case_top_k(a, k):
    return lambda: torch.topk(a, k).values


def case_gather(a, i):
    return lambda: torch.index_select(a, 0, i)


def case_transpose(a):
    return lambda: a.t().contiguous()


def case_cumsum(a):
    return lambda: torch.cumsum(a, -1)


def case_scatter_nd(updates, ids):
    wide_ids = ids.long()
    return lambda: torch.zeros_like(updates).scatter_add_(0, wide_ids, updates)


def case_segment_sum(data, ids):
    count = int(ids[-1]) + 1
    return lambda: torch.zeros(count, data.shape[1], device=DEVICE).index_add_(0, ids, data)


def case_bincount(a, size):
    return lambda: torch.bincount(a, minlength=size)


def case_unique(a):
    return lambda: torch.unique(a, sorted=False, return_inverse=True)


def case_softmax(x):
    return lambda: torch.softmax(x, -1)


def case_layer_norm(x, scale, offset):
    return lambda: F.layer_norm(x, (x.shape[-1],), scale, offset, 1e-5)


def case_max_pool(x):
    images = x.permute(0, 3, 1, 2)
    return lambda: F.max_pool2d(images, 2).permute(0, 2, 3, 1)
