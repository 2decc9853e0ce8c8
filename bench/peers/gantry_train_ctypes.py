# SPDX-License-Identifier: Apache-2.0
"""The few functions of libgantry_train.so that the training case needs, through ctypes. Not a binding for programs."""

import ctypes
import os

import peer_networks
from gantry_ctypes import ADDRESS, BOOL, DTYPES, F64, I64, GantryError, Shape, Sized

RELU, LINEAR = 1, 0  # gantry_activation_t
SPARSE_CATEGORICAL_CROSSENTROPY = 1  # gantry_loss_t


class AttentionOptions(Sized):
    """gantry_attention_options_t"""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("value_dim", I64),
        ("dropout", F64),
        ("no_bias", BOOL),
        ("causal", BOOL),
        ("kernel_initializer", ADDRESS),
    ]


class Array(ctypes.Structure):
    """gantry_array_t"""

    _fields_ = [("dtype", ctypes.c_int), ("shape", Shape), ("data", ADDRESS)]

    @classmethod
    def of(cls, array):
        return cls(DTYPES[array.dtype.name], Shape.of(array.shape), array.ctypes.data)


class ModelOptions(Sized):
    """gantry_model_options_t"""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("device", ctypes.c_char_p),
        ("dtype", ctypes.c_int),
        ("seed", I64),
        ("strategy", ADDRESS),
    ]


class LossOptions(Sized):
    """gantry_loss_options_t"""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reduction", ctypes.c_int),
        ("from_logits", BOOL),
        ("label_smoothing", F64),
        ("delta", F64),
        ("sample_weights", ADDRESS),
    ]


class CompileOptions(Sized):
    """gantry_compile_options_t"""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("optimizer", ADDRESS),
        ("loss", ctypes.c_int),
        ("loss_options", ctypes.POINTER(LossOptions)),
        ("metrics", ADDRESS),
        ("metric_count", ctypes.c_size_t),
        ("runs_eagerly", BOOL),
    ]


class Logs(ctypes.Structure):
    """gantry_logs_t"""

    _fields_ = [
        ("names", ctypes.POINTER(ctypes.c_char_p)),
        ("values", ctypes.POINTER(F64)),
        ("count", ctypes.c_size_t),
    ]


EPOCH_END = ctypes.CFUNCTYPE(ctypes.c_int, ADDRESS, I64, ctypes.POINTER(Logs), ctypes.POINTER(BOOL), ADDRESS)


class Callback(Sized):
    """gantry_callback_t"""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("user", ADDRESS),
        ("epoch_begin", ADDRESS),
        ("epoch_end", EPOCH_END),
        ("step_end", ADDRESS),
        ("get_state", ADDRESS),
        ("set_state", ADDRESS),
    ]


class FitOptions(Sized):
    """gantry_fit_options_t"""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("epochs", I64),
        ("initial_epoch", I64),
        ("validation", ADDRESS),
        ("callbacks", ctypes.POINTER(ctypes.POINTER(Callback))),
        ("callback_count", ctypes.c_size_t),
        ("write", ADDRESS),
        ("write_user", ADDRESS),
        ("is_terminal", BOOL),
    ]


LAYER, STATUS, NAME, VALUE = ADDRESS, ctypes.c_int, ctypes.c_char_p, ctypes.c_int32
FUNCTIONS = {  # name: (result, arguments)
    "functional": (ADDRESS, [ADDRESS, ADDRESS]),
    "model_input": (VALUE, [ADDRESS, ctypes.c_int, Shape]),
    "model_apply": (VALUE, [ADDRESS, LAYER, ctypes.POINTER(VALUE), ctypes.c_size_t]),
    "model_build": (STATUS, [ADDRESS, ctypes.c_int, Shape]),
    "model_compile": (STATUS, [ADDRESS, ADDRESS]),
    "model_set_variable": (STATUS, [ADDRESS, ctypes.c_size_t, ADDRESS, ctypes.c_size_t]),
    "model_call": (ADDRESS, [ADDRESS, ADDRESS, ADDRESS, ctypes.c_size_t, BOOL]),
    "model_fit": (STATUS, [ADDRESS, ADDRESS, ADDRESS]),
    "model_release": (None, [ADDRESS]),
    "embedding": (LAYER, [I64, I64, ADDRESS, NAME]),
    "conv1d_layer": (LAYER, [I64, I64, ctypes.c_int, ADDRESS]),
    "conv2d_layer": (LAYER, [I64, I64, ctypes.c_int, ADDRESS]),
    "max_pool1d_layer": (LAYER, [I64, ADDRESS]),
    "max_pool2d_layer": (LAYER, [I64, ADDRESS]),
    "flatten": (LAYER, [NAME]),
    "dense": (LAYER, [I64, ctypes.c_int, ADDRESS]),
    "layer_normalization": (LAYER, [ADDRESS]),
    "multi_head_attention": (LAYER, [I64, I64, ADDRESS]),
    "add_layer": (LAYER, [NAME]),
    "nadam": (ADDRESS, [ADDRESS]),
    "adam": (ADDRESS, [ADDRESS]),
    "optimizer_build": (STATUS, [ADDRESS, ADDRESS, ADDRESS, ctypes.c_size_t]),
    "optimizer_apply": (STATUS, [ADDRESS, ADDRESS, ADDRESS, ADDRESS, ctypes.c_size_t]),
    "optimizer_release": (None, [ADDRESS]),
    "tape_begin": (ADDRESS, [ADDRESS, ADDRESS]),
    "tape_gradient": (STATUS, [ADDRESS, ADDRESS, ADDRESS, ADDRESS, ctypes.c_size_t, ADDRESS, ADDRESS]),
    "tape_end": (None, [ADDRESS]),
    "loss": (ADDRESS, [ADDRESS, ctypes.c_int, ADDRESS, ADDRESS, ADDRESS]),
    "dataset_from_arrays": (ADDRESS, [ADDRESS, ctypes.c_size_t, BOOL]),
    "dataset_batch": (ADDRESS, [ADDRESS, I64, BOOL]),
    "dataset_release": (None, [ADDRESS]),
}


def open_library():
    library = ctypes.CDLL(os.path.join(os.environ["GANTRY_BUILD"], "lib", "libgantry_train.so"))
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, "gantry_" + name)
        function.restype, function.argtypes = result, arguments
    return library


class Layers:
    """of peer_networks.run, on values of a functional model; notes the weights in the order of the model's variables"""

    def __init__(self, library, model, dims):
        self.library, self.model = library, model
        self.dims = dims  # between batch and channels
        self.weights = []

    def applied(self, layer, *values, weights=()):
        self.weights += weights
        return self.library.gantry_model_apply(self.model, layer, (VALUE * len(values))(*values), len(values))

    def of_dims(self, lines, images):
        return getattr(self.library, f"gantry_{lines if self.dims == 1 else images}")

    def add(self, x, y):
        return self.applied(self.library.gantry_add_layer(None), x, y)

    def embedding(self, x, words, width, *weights):
        return self.applied(self.library.gantry_embedding(words, width, None, None), x, weights=weights)

    def conv(self, x, filters, size, *weights):
        layer = self.of_dims("conv1d_layer", "conv2d_layer")(filters, size, RELU, None)
        return self.applied(layer, x, weights=weights)

    def pool(self, x, size):
        return self.applied(self.of_dims("max_pool1d_layer", "max_pool2d_layer")(size, None), x)

    def flatten(self, x):
        return self.applied(self.library.gantry_flatten(None), x)

    def dense(self, x, units, relu, *weights):
        layer = self.library.gantry_dense(units, RELU if relu else LINEAR, None)
        return self.applied(layer, x, weights=weights)

    def norm(self, x, *weights):
        assert peer_networks.EPSILON == 0.001  # the layer's own
        return self.applied(self.library.gantry_layer_normalization(None), x, weights=weights)

    def attention(self, x, heads, width, *weights):
        options = AttentionOptions(causal=True)
        layer = self.library.gantry_multi_head_attention(heads, width, ctypes.byref(options))
        return self.applied(layer, x, weights=weights)


class Network:
    """A network with given first weights, on a device."""

    def __init__(self, gantry, device, network, dtype, weights):
        self.model = None
        self.gantry = gantry
        self.library = open_library()
        self._make_model(device, network, dtype, weights)

    def check(self, is_good):
        if not is_good:
            raise GantryError(self.gantry.last_message())

    def _make_model(self, device, network, dtype, weights):
        lib, dims = self.library, len(network.sample) - (0 if network.words else 1)
        options = ModelOptions(device=("/" + device).encode())
        self.model = lib.gantry_functional(self.gantry.runtime, ctypes.byref(options))
        x = lib.gantry_model_input(self.model, DTYPES[dtype], Shape.of(network.sample))
        layers = Layers(lib, self.model, dims)
        self.check(peer_networks.run(network.layers, layers, iter(weights), x) >= 0)
        self.check(lib.gantry_model_build(self.model, DTYPES[dtype], Shape.of(network.sample)) == 0)
        for i, array in enumerate(layers.weights):
            self.check(lib.gantry_model_set_variable(self.model, i, array.ctypes.data, array.nbytes) == 0)

    def call(self, scope, x):
        """-> the logits, or 0 after a failure; the scope may record"""
        return self.library.gantry_model_call(self.model, scope, (ADDRESS * 1)(x), 1, False)

    def __del__(self):
        if self.model:
            self.library.gantry_model_release(self.model)


class Trainer(Network):
    """Such a network and its batches."""

    def __init__(self, gantry, device, network, inputs, labels, weights):
        self.batches = None
        super().__init__(gantry, device, network, inputs.dtype.name, weights)
        self._compile_model(network)
        self._make_batches(inputs, labels)
        self._make_options()

    def _compile_model(self, network):
        lib, loss = self.library, LossOptions(from_logits=True)
        options = CompileOptions(
            optimizer=getattr(lib, "gantry_" + network.optimizer)(None),
            loss=SPARSE_CATEGORICAL_CROSSENTROPY,
            loss_options=ctypes.pointer(loss),
        )
        self.check(lib.gantry_model_compile(self.model, ctypes.byref(options)) == 0)

    def _make_batches(self, inputs, labels):
        steps, rows = labels.shape[:2]
        self.held = [x.reshape(steps * rows, *x.shape[2:]) for x in (inputs, labels)]  # the data set borrows them
        arrays = (Array * 2)(*(Array.of(array) for array in self.held))
        self.batches = self.library.gantry_dataset_batch(
            self.library.gantry_dataset_from_arrays(arrays, 2, False), rows, False
        )
        self.check(self.batches)

    def _make_options(self):
        losses = self.losses = [None]

        def keep_loss(model, epoch, logs, stop, user):
            losses[0] = logs.contents.values[0]
            return 0

        self.callback = Callback(epoch_end=EPOCH_END(keep_loss))
        self.callbacks = (ctypes.POINTER(Callback) * 1)(ctypes.pointer(self.callback))
        self.options = FitOptions(callbacks=self.callbacks, callback_count=1)

    def epoch(self):
        """-> the mean of the steps' losses"""
        self.check(self.library.gantry_model_fit(self.model, self.batches, ctypes.byref(self.options)) == 0)
        self.check(self.gantry.library.gantry_runtime_synchronize(self.gantry.runtime) == 0)
        return self.losses[0]

    def __del__(self):
        super().__del__()
        if self.batches:
            self.library.gantry_dataset_release(self.batches)
