# SPDX-License-Identifier: Apache-2.0
"""Promise: Random programs, eager and as a tf.function, agree with TensorFlow's CPU kernels.

Random small programs, run eagerly and as a tf.function, on Gantry's devices and on TensorFlow's CPU kernels.

A program starts from a few leaves and applies random steps to what exists already. A step is exact or has a bound.
Exact steps of exact inputs agree bit for bit: moves of data, integers, and the arithmetic that IEEE 754 defines. Other
values agree within a bound, a part of their largest magnitude, that grows with every step. Steps that jump, as floor
and comparisons do, take exact inputs only. Every decision follows from the program's number, so --select finds it again:

    python run_tests.py --nightly --select random_graphs.programs_0100
"""

import sys

import numpy as np

import harness

GROUP = 25
COUNTS = {"quick": 25, "full": 150, "nightly": 4000}
STEPS = 9
NO_TILE = ("uint16", "uint32", "uint64")  # TensorFlow's CPU cannot tile these, and makes a stack of equals a tile
# The error of one step that rounds, by type.
UNITS = {"float32": 4e-6, "float64": 1e-12, "float16": 4e-3, "bfloat16": 3e-2}
FLOATS = tuple(UNITS)
# Steps that may return either zero where -0.0 meets 0.0: TensorFlow's vector code and its rest differ in it, too.
UNSIGNED = ("relu", "relu6", "clip", "maximum", "minimum", "reduce_max", "reduce_min", "max_pool", "leaky")
INTEGERS = ("int32", "int64", "int8", "uint8", "int16", "uint16", "uint32", "uint64")
WIDE = ("float32", "float32", "float32", "float64", "int32", "int64")

program = harness.Program()


class Value:
    def __init__(self, tensor, bound, signs=True, floor=0.0):
        self.tensor, self.bound = tensor, bound  # bound 0: exact
        self.floor = floor  # the magnitude of what a sum adds up, where its result may vanish
        self.signs = signs  # False: the sign of a zero follows from no rule
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype.name

    @property
    def is_float(self):
        return self.dtype in UNITS


class Maker:
    """One program: its leaves, its steps so far, and the choices of its random numbers."""

    def __init__(self, tf, number):
        self.tf = tf
        self.random = np.random.RandomState(number)
        self.leaves, self.steps, self.values, self.labels = [], [], [], []

    def pick(self, items):
        return items[self.random.randint(len(items))]

    def number(self, low, high):
        return int(self.random.randint(low, high + 1))

    def leaf(self, dtype=None, shape=None):
        dtype = dtype or self.pick(WIDE + FLOATS + INTEGERS + ("bool",))
        if shape is None:
            shape = [self.pick((1, 2, 3, 4, 5, 8, 17)) for _ in range(self.number(0, 4))]
        if dtype == "bool":
            array = self.random.rand(*shape) < 0.5
        elif dtype in UNITS:
            array = np.round(self.random.uniform(-4, 4, shape) * 64) / 64
        else:
            array = self.random.randint(0 if dtype.startswith("u") else -9, 10, shape)
        tensor = self.tf.cast(self.tf.constant(np.asarray(array)), dtype)
        self.leaves.append(tensor)
        return self.add(Value(tensor, 0), ("leaf", len(self.leaves) - 1), f"leaf {dtype}{list(shape)}")

    def add(self, value, step, label):
        self.values.append(value)
        self.steps.append(step)
        self.labels.append(label)
        return len(self.values) - 1

    def find(self, accept):
        """The place of a value that fits, or None."""
        fitting = [i for i, value in enumerate(self.values) if accept(value)]
        return self.pick(fitting) if fitting else None

    def apply(self, name, function, inputs, unit=0.0, floor=0.0):
        """Runs a step now and keeps it for the tf.function. `unit`: how many roundings it has."""
        values = [self.values[i] for i in inputs]
        result = function(*[value.tensor for value in values])
        worst = max([value.bound for value in values], default=0)
        bound = worst * (4 if unit else 2) + unit * UNITS.get(result.dtype.name, 0)
        if result.dtype.name not in UNITS:
            bound = 0
        signs = name not in UNSIGNED and all(value.signs for value in values)
        floor = max([floor if unit else 0.0] + [value.floor for value in values])
        self.add(Value(result, bound, signs, floor), ("step", function, inputs),
                 f"{name}({', '.join(f'{v.dtype}{list(v.shape)}' for v in values)})")

    def replay(self, leaves):
        """The program's function of its leaves."""
        made = []
        for kind, *step in self.steps:
            if kind == "leaf":
                made.append(leaves[step[0]])
            else:
                made.append(step[0](*[made[i] for i in step[1]]))
        return made


# ---- steps --------------------------------------------------------------------------------------
# Each takes a Maker and returns False where nothing in the program fits it.

def exact_unary(m):
    tf = m.tf
    i = m.find(lambda v: v.is_float and not v.bound)
    if i is None:
        return False
    name, function = m.pick([
        ("abs", tf.abs), ("neg", tf.negative), ("sign", tf.sign), ("floor", tf.floor), ("ceil", tf.math.ceil),
        ("round", tf.round), ("relu", tf.nn.relu), ("relu6", tf.nn.relu6), ("square", tf.square),
        ("sqrt", lambda x: tf.sqrt(tf.abs(x))), ("isnan", tf.math.is_nan), ("isfinite", tf.math.is_finite),
        ("zeros_like", tf.zeros_like), ("ones_like", tf.ones_like), ("leaky", lambda x: tf.nn.leaky_relu(x, 0.25)),
        ("clip", lambda x: tf.clip_by_value(x, tf.cast(-1, x.dtype), tf.cast(2, x.dtype)))])
    m.apply(name, function, [i])


def smooth_unary(m):
    tf = m.tf
    i = m.find(lambda v: v.is_float)
    if i is None:
        return False
    name, function = m.pick([
        ("exp", lambda x: tf.exp(tf.minimum(x, tf.cast(4, x.dtype)))), ("tanh", tf.tanh), ("sigmoid", tf.sigmoid),
        ("log1p", lambda x: tf.math.log1p(tf.abs(x))), ("log", lambda x: tf.math.log(tf.abs(x) + tf.cast(1, x.dtype))),
        ("sin", tf.sin), ("cos", tf.cos), ("softplus", tf.nn.softplus), ("elu", tf.nn.elu), ("selu", tf.nn.selu),
        ("softsign", tf.nn.softsign), ("erf", tf.math.erf), ("atan", tf.atan),
        ("rsqrt", lambda x: tf.math.rsqrt(tf.abs(x) + tf.cast(0.5, x.dtype))),
        ("expm1", lambda x: tf.math.expm1(tf.minimum(x, tf.cast(2, x.dtype)))),
        ("reciprocal", lambda x: tf.math.reciprocal(tf.abs(x) + tf.cast(0.5, x.dtype)))])
    m.apply(name, function, [i], unit=2)


def partner(m, i, accept=lambda v: True):
    """A value that broadcasts with value i, made where none exists."""
    first = m.values[i]
    j = m.find(lambda v: v.dtype == first.dtype and v.shape == first.shape and accept(v))
    if j is not None and m.random.rand() < 0.6:
        return j
    cut = m.number(0, len(first.shape))
    return m.leaf(first.dtype, [1 if m.random.rand() < 0.3 else size for size in first.shape[cut:]])


def arithmetic(m):
    tf = m.tf
    i = m.find(lambda v: v.dtype in WIDE + FLOATS + INTEGERS)
    if i is None:
        return False
    j = partner(m, i)
    m.apply(*m.pick([("add", tf.add), ("subtract", tf.subtract), ("multiply", tf.multiply), ("maximum", tf.maximum),
                     ("minimum", tf.minimum)]), m.pick([(i, j), (j, i)]))


def division(m):
    tf = m.tf
    i = m.find(lambda v: v.is_float and not v.bound)
    if i is None:
        return False
    name, function = m.pick([("divide", lambda x, y: x / (tf.abs(y) + tf.cast(1, y.dtype))),
                             ("div_no_nan", tf.math.divide_no_nan),
                             ("squared_difference", tf.math.squared_difference)])
    # TensorFlow's CPU rounds a half's difference before it squares
    twice = name == "squared_difference" and m.values[i].dtype in ("float16", "bfloat16")
    m.apply(name, function, [i, partner(m, i, lambda v: not v.bound)], unit=2 if twice else 0)


def integer_division(m):
    tf = m.tf
    i = m.find(lambda v: v.dtype in ("int32", "int64", "int8", "int16", "uint8"))
    if i is None:
        return False
    m.apply(*m.pick([("floordiv", lambda x, y: x // tf.maximum(y, tf.cast(2, y.dtype))),
                     ("floormod", lambda x, y: x % tf.maximum(y, tf.cast(2, y.dtype))),
                     ("truncatediv", lambda x, y: tf.truncatediv(x, tf.maximum(y, tf.cast(3, y.dtype))))]),
            [i, partner(m, i)])


def bits(m):
    tf = m.tf
    i = m.find(lambda v: v.dtype in INTEGERS)
    if i is None:
        return False
    m.apply(*m.pick([("and", tf.bitwise.bitwise_and), ("or", tf.bitwise.bitwise_or), ("xor", tf.bitwise.bitwise_xor)]),
            [i, partner(m, i)])


def compare(m):
    tf = m.tf
    i = m.find(lambda v: v.dtype in WIDE + FLOATS and not v.bound)
    if i is None:
        return False
    m.apply(*m.pick([("equal", tf.equal), ("less", tf.less), ("greater_equal", tf.greater_equal),
                     ("not_equal", tf.not_equal)]), [i, partner(m, i, lambda v: not v.bound)])


def logical(m):
    tf = m.tf
    i = m.find(lambda v: v.dtype == "bool")
    if i is None:
        return False
    name, function = m.pick([("and", tf.logical_and), ("or", tf.logical_or), ("any", None), ("all", None)])
    if function:
        m.apply("logical_" + name, function, [i, partner(m, i)])
    else:
        axis = m.pick([None] + list(range(len(m.values[i].shape))))
        m.apply("reduce_" + name, lambda x: getattr(tf, "reduce_" + name)(x, axis), [i])


def select(m):
    tf = m.tf
    i = m.find(lambda v: v.dtype in WIDE)
    if i is None:
        return False
    condition = m.leaf("bool", m.values[i].shape)
    m.apply("where", tf.where, [condition, i, partner(m, i)])


def cast(m):
    i = m.find(lambda v: not v.bound)
    if i is None:
        return False
    to = m.pick(WIDE + FLOATS + ("bool", "int8", "uint8"))
    source = m.values[i].dtype
    if source in UNITS and to not in UNITS and to != "bool":
        # out of range has no defined result
        m.apply("cast to " + to, lambda x: m.tf.cast(m.tf.clip_by_value(x, m.tf.cast(0, x.dtype),
                                                                        m.tf.cast(100, x.dtype)), to), [i])
    else:
        m.apply("cast to " + to, lambda x: m.tf.cast(x, to), [i])


def reduction(m):
    tf = m.tf
    i = m.find(lambda v: v.dtype in WIDE and v.shape)
    if i is None:
        return False
    rank = len(m.values[i].shape)
    axis = m.pick([None, m.number(0, rank - 1), sorted(set(m.random.randint(0, rank, 2).tolist()))])
    keep = bool(m.number(0, 1))
    name = m.pick(["reduce_sum", "reduce_mean", "reduce_max", "reduce_min"])
    if name == "reduce_mean" and not m.values[i].is_float:
        name = "reduce_sum"
    m.apply(name, lambda x: getattr(tf, name)(x, axis, keep), [i],
            unit=8 if name in ("reduce_sum", "reduce_mean") else 0)


def search(m):
    tf = m.tf
    i = m.find(lambda v: v.dtype in ("float32", "float64", "int32", "int64") and v.shape and not v.bound)
    if i is None:
        return False
    last = m.values[i].shape[-1]
    m.apply(*m.pick([("argmax", lambda x: tf.argmax(x, -1)), ("argmin", lambda x: tf.argmin(x, 0)),
                     ("sort", lambda x: tf.sort(x, -1)), ("argsort", lambda x: tf.argsort(x, -1, stable=True)),
                     ("top_k", lambda x: tf.math.top_k(x, min(2, last)).values),
                     ("cummax", lambda x: tf.math.cumsum(tf.cast(x > 0, tf.int32), -1, reverse=True))]), [i])


def shape_step(m):
    tf = m.tf
    i = m.find(lambda v: v.shape and v.dtype not in NO_TILE)
    shape = m.values[i].shape if i is not None else None
    if not shape:
        return False
    rank, axis = len(shape), m.number(0, len(shape) - 1)
    order = m.random.permutation(rank).tolist()
    begin = [m.number(0, size - 1) for size in shape]
    size = [m.number(1, length - start) for start, length in zip(begin, shape)]
    index = m.random.randint(0, shape[axis], m.number(1, 6))
    shift = m.number(-3, 3)
    m.apply(*m.pick([
        ("transpose", lambda x: tf.transpose(x, order)), ("flatten", lambda x: tf.reshape(x, [-1])),
        ("expand", lambda x: tf.expand_dims(x, axis)), ("slice", lambda x: tf.slice(x, begin, size)),
        ("strided", lambda x: x[..., ::-2]), ("strided2", lambda x: x[begin[0]:, ...]),
        ("reverse", lambda x: tf.reverse(x, [axis])), ("roll", lambda x: tf.roll(x, shift, axis)),
        ("tile", lambda x: tf.tile(x, [2] + [1] * (rank - 1))), ("gather", lambda x: tf.gather(x, index, axis=axis)),
        ("pad", lambda x: tf.pad(x, [[1, 0]] + [[0, 1]] * (rank - 1))),
        ("squeeze", tf.squeeze), ("unstack", lambda x: tf.unstack(x, axis=axis)[-1]),
        ("split", lambda x: tf.split(x, [1, shape[axis] - 1], axis)[0])]), [i])


def join(m):
    tf = m.tf
    i = m.find(lambda v: v.shape and v.dtype not in NO_TILE)
    if i is None:
        return False
    value = m.values[i]
    j = m.find(lambda v: v.dtype == value.dtype and v.shape == value.shape)
    axis = m.number(0, len(value.shape) - 1)
    m.apply(*m.pick([("concat", lambda x, y: tf.concat([x, y, x], axis)), ("stack", lambda x, y: tf.stack([x, y], axis))]),
            [i, j])


def matmul(m):
    tf = m.tf
    i = m.find(lambda v: v.dtype in ("float32", "float64", "float16", "bfloat16") and len(v.shape) >= 2)
    if i is None:
        return False
    value = m.values[i]
    other = m.leaf(value.dtype, list(value.shape[:-2]) + [m.number(1, 9), value.shape[-1]])
    m.apply("matmul", lambda x, y: tf.matmul(x, y, transpose_b=True), [i, other], unit=8)


def window(m):
    tf = m.tf
    dtype = m.pick(("float32", "float32", "float64"))
    x = m.leaf(dtype, [m.number(1, 3), m.number(4, 9), m.number(4, 9), m.number(1, 5)])
    padding = m.pick(("SAME", "VALID"))
    stride, size = m.number(1, 2), m.number(1, 3)
    kind = m.pick(("conv", "depthwise", "max_pool", "avg_pool"))
    channels = m.values[x].shape[3]
    if kind == "conv":
        f = m.leaf(dtype, [size, size, channels, m.number(1, 6)])
        m.apply("conv2d " + padding, lambda a, b: tf.nn.conv2d(a, b, stride, padding), [x, f], unit=16)
    elif kind == "depthwise":
        f = m.leaf(dtype, [size, size, channels, 2])
        m.apply("depthwise " + padding,
                lambda a, b: tf.nn.depthwise_conv2d(a, b, [1, stride, stride, 1], padding), [x, f], unit=16)
    elif kind == "max_pool":
        m.apply(kind, lambda a: tf.nn.max_pool2d(a, size, stride, padding), [x])
    else:
        m.apply(kind, lambda a: tf.nn.avg_pool2d(a, size, stride, padding), [x], unit=8)


def network(m):
    tf = m.tf
    i = m.find(lambda v: v.dtype in ("float32", "float64") and len(v.shape) >= 2)
    if i is None:
        return False
    m.apply(*m.pick([("softmax", tf.nn.softmax), ("log_softmax", tf.nn.log_softmax),
                     ("l2_normalize", lambda x: tf.math.l2_normalize(x, -1, 1e-3)),
                     ("logsumexp", lambda x: tf.reduce_logsumexp(x, -1)),
                     ("cumsum", lambda x: tf.cumsum(x, -1)), ("l2_loss", tf.nn.l2_loss),
                     ("moments", lambda x: tf.nn.moments(x, [0])[0])]), [i], unit=12)


def gradient(m):
    """The gradient of a sum of smooth steps; it runs the gradient ops."""
    tf = m.tf
    i = m.find(lambda v: v.dtype == "float32" and v.shape and not v.bound)
    if i is None:
        return False
    name, function = m.pick([
        ("tanh", tf.tanh), ("sigmoid", tf.sigmoid), ("softplus", tf.nn.softplus), ("elu", tf.nn.elu),
        ("relu", tf.nn.relu), ("relu6", tf.nn.relu6), ("selu", tf.nn.selu), ("square", tf.square), ("exp", tf.exp),
        ("rsqrt", lambda x: tf.math.rsqrt(tf.abs(x) + 0.5)), ("sqrt", lambda x: tf.sqrt(tf.abs(x) + 0.5)),
        ("softmax", tf.nn.softmax), ("strided", lambda x: x[..., ::2]), ("max", lambda x: tf.reduce_max(x, -1)),
        ("gather", lambda x: tf.gather(x, [0, 0])), ("log_softmax", tf.nn.log_softmax),
        ("reciprocal", lambda x: tf.math.reciprocal(tf.abs(x) + 0.5)), ("softsign", tf.nn.softsign),
        ("reverse", lambda x: tf.reverse(x, [0])), ("cumsum", lambda x: tf.cumsum(x, -1)),
        ("mean", lambda x: tf.reduce_mean(x, 0)), ("tile", lambda x: tf.tile(x, [3] + [1] * (len(x.shape) - 1)))])

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
            total = tf.reduce_sum(y * y + y)
        result = tape.gradient(total, x)
        return tf.convert_to_tensor(result)

    m.apply("gradient of " + name, slope, [i], unit=16, floor=1.0)


STEP_KINDS = (exact_unary, exact_unary, smooth_unary, smooth_unary, arithmetic, arithmetic, division, integer_division,
              bits, compare, logical, select, cast, reduction, reduction, search, shape_step, shape_step, shape_step,
              join, matmul, window, network, gradient)


def make(tf, number):
    maker = Maker(tf, number)
    for _ in range(3):
        maker.leaf()
    maker.leaf("float32", [3, 4])
    taken = 0
    while taken < STEPS:
        if maker.pick(STEP_KINDS)(maker) is not False:
            taken += 1
    return maker


def run_program(record, tf, number):
    maker = make(tf, number)
    leaves = maker.leaves
    replayed = tf.function(lambda *inputs: maker.replay(inputs), autograph=False)(*leaves)
    for i, (value, label, graph) in enumerate(zip(maker.values, maker.labels, replayed)):
        if label.startswith("leaf"):
            continue
        for mode, tensor in (("eager", value.tensor), ("graph", graph)):
            name = f"program {number}, value {i}, {mode}: {label}"
            # A graph may be rewritten: constants folded, products fused, divisions turned into products.
            bound = value.bound + (2 * UNITS.get(value.dtype, 0) if mode == "graph" and value.is_float else 0)
            if bound:
                record.within(name, tensor, min(bound, 0.5), value.floor)
            else:
                record.exact(name, tensor, signs=value.signs)


def add_group(first, size):
    def case(record):
        import tensorflow as tf

        for number in range(first, first + GROUP):
            run_program(record, tf, number)

    case.__name__ = f"programs_{first:04d}"
    program.case(size=size)(case)


for start in range(0, COUNTS["nightly"], GROUP):
    add_group(start, next(size for size in harness.SIZES if start < COUNTS[size]))

if __name__ == "__main__":
    sys.exit(program.main())
