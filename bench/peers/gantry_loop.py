# SPDX-License-Identifier: Apache-2.0
"""A network out of Gantry's ops, and a training step of a program's own: tape, gradients and optimizer in one function.

Models of libgantry_train are float32; this is how a program trains in bfloat16.
"""

import ctypes
import functools

import numpy as np

import peer_networks
from gantry_ctypes import ADDRESS, DTYPES, InputSpec, ReduceOptions, Shape, Sized, WindowOptions
from gantry_train_ctypes import SPARSE_CATEGORICAL_CROSSENTROPY, STATUS, LossOptions, open_library

BFLOAT16 = 14  # gantry_dtype_t; NumPy has no such type
EXPLICIT = 2  # gantry_padding_t
MOMENTUM = 0.99  # of moving means and variances, as Keras's


class MatmulOptions(Sized):
    """gantry_matmul_options_t"""

    _fields_ = [("struct_size", ctypes.c_uint32), ("transpose_a", ctypes.c_bool), ("transpose_b", ctypes.c_bool)]


class Source(ctypes.Structure):
    """gantry_source_t"""

    _fields_ = [("tensor", ADDRESS), ("variable", ADDRESS)]


def window(size, step):
    edges = (ctypes.c_int64 * 4)(*[size // 2] * 4)
    return ctypes.byref(WindowOptions(strides=(step, step), padding=EXPLICIT, explicit_paddings=edges))


def over(axes, keep=False):
    return ctypes.byref(ReduceOptions(axes=(ctypes.c_int32 * len(axes))(*axes), axis_count=len(axes), keep_dims=keep))


class Layers:
    """of peer_networks.run, by ops of a scope; moved has the new moving means and variances of a training step"""

    def __init__(self, gantry, scope, constants, training):
        self.gantry, self.scope, self.constants, self.training = gantry, scope, constants, training
        self.moved = []

    def __getattr__(self, name):
        """add, relu and other ops as they are"""
        return functools.partial(getattr(self.gantry.library, "gantry_" + name), self.scope)

    def op(self, name):
        return Layers.__getattr__(self, name)

    def constant(self, name, make, like):
        """of the type of a tensor; the loop keeps it"""
        dtype = self.gantry.library.gantry_tensor_dtype(like)
        value = self.constants.setdefault(name, None) or self.gantry.put(make())
        self.constants[name] = value
        return value if dtype == DTYPES["float32"] else self.cast(value, dtype)

    def reshape(self, x, *dims):
        return self.op("reshape")(x, Shape.of(dims))

    def embedding(self, x, words, width, table):
        return self.gather(table, x, 0)

    def conv_same(self, x, filters, size, step, w):
        return self.conv2d(x, w, window(size, step))

    def batch_norm(self, x, relu, gamma, beta, mean, variance):
        dtype = self.gantry.library.gantry_tensor_dtype(x)
        wide = self.cast(x, DTYPES["float32"])
        if self.training:
            old, new = (mean, variance), [ADDRESS(), ADDRESS()]
            self.moments(wide, over((0, 1, 2)), *map(ctypes.byref, new))
            mean, variance = (value.value for value in new)
            part = self.constant("part", lambda: np.float32(1 - MOMENTUM), mean)
            self.moved += [self.add(a, self.mul(self.sub(b, a), part)) for a, b in zip(old, (mean, variance))]
        y = self.cast(self.op("batch_norm")(wide, mean, variance, beta, gamma, peer_networks.EPSILON), dtype)
        return self.relu(y) if relu else y

    def pool_same(self, x, size, step):
        return self.max_pool2d(x, size, size, window(size, step))

    def mean(self, x):
        return self.op("mean")(x, over((1, 2)))

    def product(self, x, w, b):
        """of the last dimension, with a bias"""
        *outer, inner = self.gantry.shape(x)
        columns = self.gantry.shape(w)[-1]
        y = self.bias_add(self.matmul(self.reshape(x, -1, inner), w, None), b)
        return self.reshape(y, *outer, columns)

    def dense(self, x, units, relu, w, b):
        y = self.product(x, w, b)
        return self.relu(y) if relu else y

    def norm(self, x, gamma, beta):
        return self.layer_norm(x, gamma, beta, -1, peer_networks.EPSILON)

    def attention(self, x, heads, width, *weights):
        rows, length, n = self.gantry.shape(x)
        swap = (ctypes.c_int32 * 4)(0, 2, 1, 3)

        def taken(w, b):
            flat = self.product(x, self.reshape(w, n, heads * width), self.reshape(b, heads * width))
            return self.transpose(self.reshape(flat, rows, length, heads, width), swap)

        q, k, v = (taken(*weights[i : i + 2]) for i in (0, 2, 4))
        q = self.mul(q, self.constant(("scale", width), lambda: np.float32(width**-0.5), q))
        scores = self.matmul(q, k, ctypes.byref(MatmulOptions(transpose_b=True)))
        seen = self.constants.get(("seen", length)) or self.gantry.put(np.tri(length, dtype=bool))
        self.constants["seen", length] = seen
        hidden = self.constant("hidden", lambda: np.float32(-1e9), scores)
        out = self.transpose(self.matmul(self.softmax(self.select(seen, scores, hidden)), v, None), swap)
        flat = self.reshape(out, rows, length, heads * width)
        return self.product(flat, self.reshape(weights[6], heads * width, n), weights[7])


class Loop:
    """The network, with its weights as variables on the device of gantry's scope."""

    def __init__(self, gantry, network, weights):
        self.gantry, self.network = gantry, network
        self.library, self.constants, self.function = open_library(), {}, None
        create = gantry.library.gantry_variable_create
        create.restype, create.argtypes = ADDRESS, [ADDRESS, ADDRESS, ctypes.c_char_p]
        for name, result, more in (("read", ADDRESS, []), ("assign", STATUS, [ADDRESS])):
            function = getattr(gantry.library, "gantry_variable_" + name)
            function.restype, function.argtypes = result, [ADDRESS, ADDRESS, *more]
        gantry.library.gantry_variable_release.argtypes = [ADDRESS]
        self.variables = []
        for array in weights:
            initial = gantry.put(array)
            self.variables.append(gantry.keep(create(gantry.scope, initial, None)))
            gantry.drop(initial)

    def logits(self, scope, x, training):
        """-> float32 logits, and the layers that made them"""
        layers = Layers(self.gantry, scope, self.constants, training)
        weights = [self.gantry.library.gantry_variable_read(scope, v) for v in self.variables]
        rounded = lambda value: layers.cast(value, BFLOAT16)
        return layers.cast(peer_networks.logits(self.network, layers, weights, x, rounded), DTYPES["float32"]), layers

    def release(self):
        for variable in self.variables:
            self.gantry.library.gantry_variable_release(variable)
        for value in self.constants.values():
            self.gantry.drop(value)
        self.variables, self.constants = [], {}

    def __del__(self):
        self.release()


class Training(Loop):
    """Such a network and its batches."""

    def __init__(self, gantry, network, inputs, labels, weights):
        super().__init__(gantry, network, weights)
        self.batches = list(zip(inputs, labels))
        self.optimizer = getattr(self.library, "gantry_" + network.optimizer)(None)
        moving = peer_networks.moving(network)
        self.moving = [self.variables[i] for i in moving]
        self.trained = [v for i, v in enumerate(self.variables) if i not in moving]
        self.addresses = (ADDRESS * len(self.trained))(*self.trained)
        count = len(self.trained)
        gantry.check(self.library.gantry_optimizer_build(self.optimizer, gantry.scope, self.addresses, count) == 0)
        first = [gantry.put(array) for array in self.batches[0]]
        self.function = gantry.function(self._step, first)
        for tensor in first:
            gantry.drop(tensor)

    def _step(self, op, given):
        scope, lib, count = op("add").args[0], self.library, len(self.trained)
        options = LossOptions(from_logits=True)
        tape = lib.gantry_tape_begin(scope, None)
        logits, layers = self.logits(scope, given[0], True)
        loss = lib.gantry_loss(scope, SPARSE_CATEGORICAL_CROSSENTROPY, given[1], logits, ctypes.byref(options))
        sources, gradients = (Source * count)(*(Source(None, v) for v in self.trained)), (ADDRESS * count)()
        lib.gantry_tape_gradient(tape, loss, None, sources, count, None, gradients)
        lib.gantry_tape_end(tape)
        lib.gantry_optimizer_apply(self.optimizer, scope, self.addresses, gradients, count)
        for variable, value in zip(self.moving, layers.moved):
            self.gantry.library.gantry_variable_assign(scope, variable, value)
        return loss

    def epoch(self):
        """-> the mean of the steps' losses"""
        losses = []
        for batch in self.batches:
            given = [self.gantry.put(array) for array in batch]
            losses.append(self.gantry.keep(self.function(*given)))
            for tensor in given:
                self.gantry.drop(tensor)
        self.gantry.check(self.gantry.library.gantry_runtime_synchronize(self.gantry.runtime) == 0)
        read = [float(self.gantry.read(loss)) for loss in losses]
        for loss in losses:
            self.gantry.drop(loss)
        return sum(read) / len(read)

    def release(self):
        super().release()
        if self.optimizer:
            self.library.gantry_optimizer_release(self.optimizer)
            self.optimizer = None
