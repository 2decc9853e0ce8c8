# SPDX-License-Identifier: Apache-2.0
"""Promise: LSTM and GRU by cuDNN's op have the formula's values, gradients, losses and lengths.

Recurrent ops on Gantry's devices: cuDNN's op against its formula, Keras's layers against their
loop on TensorFlow's CPU, values and gradients."""

import unittest

import keras
import numpy as np
import tensorflow as tf

LAYERS = keras.layers
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def step(mode, x, h, c):
    """x, h: the two products with their biases, and the states. Returns the next states."""
    (x, product), (h, c) = x, (h, c)
    if mode == "lstm":
        i, f, g, o = tf.split(x + product, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c
    if mode == "gru":
        (xz, xr, xn), (hz, hr, hn) = tf.split(x, 3, axis=1), tf.split(product, 3, axis=1)
        z = tf.sigmoid(xz + hz)
        return z * h + (1 - z) * tf.tanh(xn + tf.sigmoid(xr + hr) * hn), c
    return (tf.tanh if mode == "rnn_tanh" else tf.nn.relu)(x + product), c


def run_formula(mode, values, lengths):
    x, h, c, w, u, bias_w, bias_u = values
    outputs = []
    for t in range(x.shape[1]):
        products = (
            tf.matmul(x[:, t], w, transpose_b=True) + bias_w,
            tf.matmul(h, u, transpose_b=True) + bias_u,
        )
        next_h, next_c = step(mode, products, h, c)
        is_there = (t < lengths)[:, None]
        outputs.append(tf.where(is_there, next_h, 0.0))
        h, c = tf.where(is_there, next_h, h), tf.where(is_there, next_c, c)
    return tf.stack(outputs, 1), h, c


class Case:
    def __init__(self, mode, batch, steps, features, units, has_short):
        random = np.random.default_rng(1)
        draw = lambda *shape: random.normal(0, 0.5, shape).astype("float32")
        width = GATES[mode] * units
        self.mode, self.shape = mode, (batch, units)
        self.values = [
            draw(batch, steps, features),
            draw(batch, units),
            draw(batch, units),
            draw(width, features),
            draw(width, units),
            draw(width),
            draw(width),
        ]
        self.lengths = np.full(batch, steps, "int32")
        if has_short:
            self.lengths = random.integers(1, steps + 1, batch).astype("int32")
        self.factors = [draw(batch, steps, units), draw(batch, units), draw(batch, units)]

    def _score(self, results):
        count = 3 if self.mode == "lstm" else 2
        return sum(tf.reduce_sum(r * f) for r, f in zip(results[:count], self.factors))

    def formula(self):
        with tf.device("CPU:0"):
            with tf.GradientTape() as tape:
                values = [tf.constant(v) for v in self.values]
                tape.watch(values)
                results = run_formula(self.mode, values, self.lengths)
                score = self._score(results)
            gradients = tape.gradient(score, values, unconnected_gradients="zero")
        g = [np.asarray(v) for v in gradients]
        params = np.concatenate([v.ravel() for v in g[3:]])
        return [np.asarray(r) for r in results] + g[:3] + [params]

    def op(self, time_major):
        x, h, c, *weights = self.values
        order = (lambda v: tf.transpose(v, [1, 0, 2])) if time_major else (lambda v: v)
        params = np.concatenate([w.ravel() for w in weights])
        with tf.device("GPU:0"), tf.GradientTape() as tape:
            given = [tf.constant(v) for v in (x, h, c, params)]
            tape.watch(given)
            layers = 0 if time_major else 1
            y, last_h, last_c, _, _ = tf.raw_ops.CudnnRNNV3(
                input=order(given[0]),
                input_h=tf.expand_dims(given[1], layers),
                input_c=tf.expand_dims(given[2], layers) if self.mode == "lstm" else 0.0,
                params=given[3],
                is_training=True,
                rnn_mode=self.mode,
                sequence_lengths=self.lengths,
                time_major=time_major,
            )
            results = [order(y), tf.squeeze(last_h, layers)]
            results.append(tf.squeeze(last_c, layers) if self.mode == "lstm" else given[2])
            score = self._score(results)
        assert "GPU:0" in y.device
        gradients = tape.gradient(score, given, unconnected_gradients="zero")
        return [np.asarray(v) for v in results + gradients]


class CudnnOp(unittest.TestCase):
    def check(self, *args):
        for time_major in (False, True):
            case = Case(*args)
            for want, got in zip(case.formula(), case.op(time_major)):
                np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5, err_msg=str(args))

    def test_values_and_gradients_are_those_of_the_formula(self):
        for mode in GATES:
            self.check(mode, 3, 7, 5, 4, False)

    def test_short_sequences_keep_the_state_and_give_zeros(self):
        for mode in GATES:
            self.check(mode, 5, 6, 3, 4, True)

    def test_long_sequences_run_by_segments(self):
        for mode in ("lstm", "gru"):
            self.check(mode, 2, 131, 3, 4, True)

    def test_what_the_device_does_not_take_is_refused_with_the_reason(self):
        x, state = tf.zeros([3, 2, 4]), tf.zeros([1, 2, 5])
        params = tf.zeros([4 * 5 * (4 + 5 + 2)])

        def call(**other):
            arguments = {
                "input": x,
                "input_h": state,
                "input_c": state,
                "params": params,
                "sequence_lengths": [3, 3],
                "rnn_mode": "lstm",
            }
            return tf.raw_ops.CudnnRNNV3(**{**arguments, **other})

        refused = [
            (tf.errors.UnimplementedError, "bidirectional", {"direction": "bidirectional"}),
            (tf.errors.UnimplementedError, "2 layers", {"input_h": tf.zeros([2, 2, 5])}),
            (tf.errors.InvalidArgumentError, "needs? 220|need 220", {"params": params[1:]}),
            (tf.errors.InvalidArgumentError, "0 to 3", {"sequence_lengths": [3, 4]}),
            (tf.errors.InvalidArgumentError, "for 2 sequences", {"sequence_lengths": [3]}),
        ]
        for error, text, other in refused:
            with self.assertRaisesRegex(error, text):
                call(**other)
        self.assertEqual(call()[0].shape, (3, 2, 5))


class ReverseSequence(unittest.TestCase):
    def check(self, shape, sequence, batch, lengths, dtype="float32"):
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        arguments = {"seq_lengths": lengths, "seq_axis": sequence, "batch_axis": batch}
        with tf.device("CPU:0"):
            want = tf.reverse_sequence(x, **arguments)
        got = tf.reverse_sequence(tf.identity(tf.constant(x)), **arguments)
        self.assertIn("GPU:0", got.device)
        np.testing.assert_array_equal(got, want, err_msg=str((shape, sequence, batch)))

    def test_whole_and_short_sequences_on_any_axes(self):
        for lengths in ([4, 4, 4], [4, 0, 2]):
            self.check((3, 4, 5), 1, 0, lengths)
            self.check((4, 3, 5), 0, 1, lengths)
            self.check((4, 2, 3), 0, 2, np.array(lengths, "int64"))
            self.check((2, 3, 5, 4), 3, 1, lengths, "float64")
            self.check((3, 4), 1, 0, lengths, "bool")
        self.check((0, 4, 5), 1, 0, np.zeros(0, "int32"))

    def test_gradient_is_the_reverse(self):
        x = tf.constant(np.arange(12, dtype="float32").reshape(3, 4))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.reverse_sequence(x, [1, 3, 4], seq_axis=1) * x)
        want = 2 * tf.reverse_sequence(x, [1, 3, 4], seq_axis=1)
        np.testing.assert_array_equal(tape.gradient(y, x), want)

    def test_a_length_that_is_too_long_is_refused(self):
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "is 5; 0 to 4 are accepted"):
            tf.raw_ops.ReverseSequence(
                input=tf.ones([2, 4]), seq_lengths=tf.constant([4, 5]), seq_dim=1, batch_dim=0
            )


MODELS = {
    "LSTM": lambda: [LAYERS.LSTM(5)],
    "GRU": lambda: [LAYERS.GRU(5)],
    "two, one backwards": lambda: [
        LAYERS.LSTM(5, return_sequences=True),
        LAYERS.GRU(3, go_backwards=True),
    ],
    "bidirectional": lambda: [
        LAYERS.Bidirectional(LAYERS.LSTM(5, return_sequences=True)),
        LAYERS.Bidirectional(LAYERS.GRU(3)),
    ],
    "masked": lambda: [
        LAYERS.Masking(),
        LAYERS.Bidirectional(LAYERS.LSTM(5, return_sequences=True)),
        LAYERS.GRU(4),
    ],
}


def recurrent_layers(layers):
    for layer in layers:
        for found in (layer, getattr(layer, "forward_layer", 0), getattr(layer, "backward_layer", 0)):
            if hasattr(found, "use_cudnn"):
                yield found


class KerasLayers(unittest.TestCase):
    def data(self):
        x = np.random.default_rng(0).normal(size=(4, 9, 6)).astype("float32")
        x[1, 5:] = 0
        x[2, 2:] = 0
        return x

    def gradients(self, make, device, use_cudnn):
        keras.utils.set_random_seed(3)
        layers = make()
        for layer in recurrent_layers(layers):
            layer.use_cudnn = use_cudnn
        with tf.device(device):
            model = keras.Sequential([keras.Input((9, 6)), *layers, LAYERS.Dense(1)])
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(self.data()) - 1.0))
            return [loss.numpy()] + [
                np.asarray(g) for g in tape.gradient(loss, model.trainable_variables)
            ]

    def test_layers_have_the_gradients_of_their_loop_on_the_cpu(self):
        for name, make in MODELS.items():
            want = self.gradients(make, "CPU:0", False)
            for use_cudnn in ("auto", True):
                got = self.gradients(make, "GPU:0", use_cudnn)
                for w, g in zip(want, got):
                    np.testing.assert_allclose(g, w, rtol=1e-4, atol=2e-6, err_msg=name)

    def losses(self, make, device):
        keras.utils.set_random_seed(3)
        x = self.data()
        with tf.device(device):
            model = keras.Sequential([keras.Input((9, 6)), *make(), LAYERS.Dense(1)])
            model.compile(loss="mse", optimizer=keras.optimizers.SGD(0.1))
            history = model.fit(x, np.ones((4, 1), "float32"), epochs=20, batch_size=4, verbose=0)
        return history.history["loss"]

    def test_fit_has_the_losses_of_the_cpu_over_20_steps(self):
        def on_cpu(make):
            layers = make()
            for layer in recurrent_layers(layers):
                layer.use_cudnn = False
            return layers

        for name in ("LSTM", "GRU", "masked"):
            want = self.losses(lambda: on_cpu(MODELS[name]), "CPU:0")
            got = self.losses(MODELS[name], "GPU:0")
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=name)
            self.assertLess(got[-1], got[0])

    def test_mixed_bfloat16_has_the_values_of_float32(self):
        x = tf.constant(np.random.default_rng(5).standard_normal((3, 6, 5)), tf.float32)
        for kind in (LAYERS.LSTM, LAYERS.GRU):
            wide, narrow = kind(4), kind(4, dtype=keras.DTypePolicy("mixed_bfloat16"))
            with tf.device("GPU:0"):
                wide.build(x.shape), narrow.build(x.shape)
                narrow.set_weights(wide.get_weights())
                with tf.GradientTape() as tape:
                    got = narrow(x)
                    score = tf.reduce_sum(tf.cast(got, tf.float32))
                gradients = tape.gradient(score, narrow.trainable_variables)
            self.assertEqual(got.dtype, tf.bfloat16)
            np.testing.assert_allclose(tf.cast(got, tf.float32), wide(x), atol=0.03, err_msg=kind.__name__)
            self.assertTrue(all(np.isfinite(np.asarray(g)).all() for g in gradients))


if __name__ == "__main__":
    unittest.main()
