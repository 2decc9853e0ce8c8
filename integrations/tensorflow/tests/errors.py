# SPDX-License-Identifier: Apache-2.0
"""Promise: Programs with mistakes get TensorFlow's class of exception and text; out of memory has Gantry's report.

Programs with mistakes: the exception's class, and what its text says, are TensorFlow's."""

import re
import sys

import harness

program = harness.Program()

# Gantry's text says more, or TensorFlow's names a limit that only its CPU kernel has.
OWN_TEXTS = ("matmul rank", "reverse", "bias", "gather axis", "select")


def shape_mistakes(tf):
    ones = tf.ones
    return {
        "matmul inner": lambda: tf.matmul(ones((2, 3)), ones((2, 3))),
        "matmul rank": lambda: tf.raw_ops.MatMul(a=ones((2,)), b=ones((2, 2))),
        "add": lambda: ones((2, 3)) + ones((4, 5)),
        "add types": lambda: tf.add(ones((2,)), tf.ones((2,), tf.float64)),
        "reshape": lambda: tf.reshape(ones((6,)), (4, 2)),
        "reshape two unknown": lambda: tf.reshape(ones((6,)), (-1, -1)),
        "concat": lambda: tf.concat([ones((2, 3)), ones((3, 2))], 0),
        "concat axis": lambda: tf.concat([ones((2, 3)), ones((2, 3))], 5),
        "stack": lambda: tf.stack([ones((2,)), ones((3,))]),
        "split": lambda: tf.split(ones((5,)), 2),
        "slice": lambda: tf.slice(ones((3, 3)), [2, 0], [3, 1]),
        "strided slice": lambda: ones((3,))[5],
        "transpose": lambda: tf.transpose(ones((2, 3)), [0, 0]),
        "transpose rank": lambda: tf.transpose(ones((2, 3)), [0]),
        "tile": lambda: tf.tile(ones((2, 3)), [1]),
        "pad": lambda: tf.pad(ones((2, 3)), [[1, 1]]),
        "reverse": lambda: tf.reverse(ones((2, 3)), [7]),
        "reduce axis": lambda: tf.reduce_sum(ones((2, 3)), 4),
        "argmax axis": lambda: tf.argmax(ones((2, 3)), 4),
        "conv channels": lambda: tf.nn.conv2d(ones((1, 5, 5, 3)), ones((2, 2, 4, 1)), 1, "SAME"),
        "conv too large": lambda: tf.nn.conv2d(ones((1, 2, 2, 1)), ones((5, 5, 1, 1)), 1, "VALID"),
        "bias": lambda: tf.nn.bias_add(ones((2, 3)), ones((4,))),
        "where": lambda: tf.where([True, False], ones((3,)), ones((3,))),
        "broadcast": lambda: tf.broadcast_to(ones((2, 3)), (4, 5)),
        "gather axis": lambda: tf.gather(ones((2, 3)), [0], axis=3),
        "gather nd": lambda: tf.gather_nd(ones((2, 3)), [[0, 0, 0]]),
        "top k": lambda: tf.math.top_k(ones((3,)), 5),
        "batch matmul": lambda: tf.matmul(ones((2, 3, 4)), ones((3, 4, 5))),
        "space to depth": lambda: tf.nn.space_to_depth(ones((1, 3, 3, 1)), 2),
        "select": lambda: tf.raw_ops.Select(condition=[True], x=ones((3,)), y=ones((2,))),
        "cross entropy": lambda: tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1, 2], ones((2, 3))),
        "segment": lambda: tf.math.unsorted_segment_sum(ones((3,)), [0, 1], 2),
        "check numerics": lambda: tf.debugging.check_numerics(tf.constant([1.0, float("nan")]), "here"),
        "all finite": lambda: tf.function(lambda x: tf.debugging.assert_all_finite(x, "it"))(tf.constant([float("inf"), 1.0])),
        "assign": lambda: tf.Variable([1.0, 2.0]).assign_add([1.0, 2.0, 3.0]),
    }


def value_mistakes(tf):
    """Real GPUs return zeros for these, or nothing. TensorFlow's CPU raises, and so may Gantry; neither may crash."""
    return {
        "gather index": lambda: tf.gather(tf.constant([1.0, 2.0]), [0, 7]),
        "labels": lambda: tf.nn.sparse_softmax_cross_entropy_with_logits([0, 9], tf.ones((2, 3))),
        "int division": lambda: tf.constant([1, 2], tf.int64) // tf.constant([1, 0], tf.int64),
        "scatter": lambda: tf.scatter_nd([[9]], tf.constant([1.0]), [3]),
    }


def outcome(tf, function):
    try:
        result = function()
        return "", f"no error: {result.dtype.name}{result.shape.as_list()}"
    except Exception as error:  # pylint: disable=broad-except
        return type(error).__name__, str(error)


def plain(text):
    """A text without names of devices and nodes, and without the op's name that Gantry puts before TensorFlow's text."""
    text = re.sub(r"/job:localhost\S*?device:[A-Z]+:\d+", "DEVICE", text)
    text = re.sub(r"\{\{[^}]*\}\} ", "", text)
    text = re.sub(r"^(Gantry )?(\w+ ?: )+", "", text)
    return text.strip()


def compare(record, tf, mistakes):
    for name, function in mistakes.items():
        kind, text = outcome(tf, function)
        record.text(f"{name}, class", kind or plain(text))
        if name not in OWN_TEXTS:
            record.text(f"{name}, text", plain(text))


@program.case(size="quick")
def eager_mistakes(record):
    import tensorflow as tf

    compare(record, tf, shape_mistakes(tf))


@program.case()
def graph_mistakes(record):
    """Shapes that are known only when the function runs."""
    import tensorflow as tf

    unknown = tf.TensorSpec(None, tf.float32)

    @tf.function(input_signature=[unknown, unknown])
    def product(a, b):
        return tf.matmul(a, b)

    @tf.function(input_signature=[unknown, unknown])
    def total(a, b):
        return tf.reduce_sum(a + b)

    for name, function in (("matmul", product), ("add", total)):
        kind, text = outcome(tf, lambda function=function: function(tf.ones((2, 3)), tf.ones((4, 5))))
        record.text(f"{name}, class", kind)
        record.text(f"{name}, text", plain(text).split("\n")[0])
        kind, _ = outcome(tf, lambda function=function: function(tf.ones((2, 2)), tf.ones((2, 2))))
        record.text(f"{name} works afterwards", kind)


@program.case(size="quick")
def bad_values(record):
    import tensorflow as tf

    for name, function in value_mistakes(tf).items():
        kind, text = outcome(tf, function)
        allowed = ("", "InvalidArgumentError", "NotFoundError")
        record.check(kind in allowed, f"{name}: {kind}: {text}")
        record.check(float(tf.reduce_sum(tf.ones((3,)))) == 3, f"nothing works after {name}")


@program.case()
def many_tensors(record):
    """More inputs and outputs than one call of Gantry takes."""
    import tensorflow as tf

    x = tf.reshape(tf.range(300.0), (100, 3))
    rows = tf.unstack(x)
    record.exact("unstack", rows[99])
    record.exact("stack", tf.stack(rows[::-1]))
    record.exact("concat", tf.concat(rows, 0))
    record.exact("split", tf.split(x, 100)[63])
    record.exact("add_n", tf.add_n(rows))


@program.case()
def integers_of_the_host(record):
    """Shapes are on the host, and TensorFlow hands them to kernels that want them on the device."""
    import tensorflow as tf

    shape = tf.shape(tf.ones((2, 3)))
    record.exact("zeros of a shape", tf.zeros_like(shape))
    record.exact("ones of a shape", tf.ones_like(shape))
    record.exact("of a result", tf.zeros_like(tf.argmax(tf.ones((2, 3)), output_type=tf.int32)))
    record.within("linspace", tf.linspace(-1.0, 1.0, 9), 1e-6)
    record.exact("on the other device", tf.zeros_like(shape) + shape)


@program.case(gantry_only=True)
def out_of_memory(record):
    """TensorFlow's class, with Gantry's report after it; a smaller tensor fits afterwards."""
    import tensorflow as tf

    def too_large(x):
        return tf.fill((1 << 20, 1 << 14), x) * 2.0  # 64 GiB

    x = tf.constant(1.0)  # an argument: TensorFlow would compute a constant on the host
    for name, function in (("eager", lambda: too_large(x)), ("graph", lambda: tf.function(too_large)(x))):
        kind, text = outcome(tf, function)
        record.check(kind == "ResourceExhaustedError", f"{name}: {kind}: {text[:600]}")
        record.check("GPU:0" in text and ("GiB" in text or "bytes" in text), f"{name}: no report in: {text[:600]}")
        record.check(float(tf.reduce_sum(tf.ones((1000,)))) == 1000, f"{name}: nothing fits afterwards")


if __name__ == "__main__":
    sys.exit(program.main())
