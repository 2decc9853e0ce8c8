# SPDX-License-Identifier: Apache-2.0
"""Updates of variables: steps of optimizers, and rows and slices that are scattered. TensorFlow's ops take resources; a case
has the values of the variables in their place, and their new values as outputs."""
import numpy as np
import tensorflow as tf

from golden_case import BF16, BOOL, F16, F32, F64, FLOATS, HALVES, I8, I32, I64, MOVED_TYPES, U8, Recorder, cycled, random_values
from golden_index import multiply
from golden_onnx import add_reference, onnx_op
from golden_shapes import text
from optimizer_steps import NUMBERS, STEPS

POSITIVE = ("accum", "accum_update", "v", "vhat", "ms")
# shapes that TensorFlow does not look at, and inputs that its messages call otherwise
NOT_LOOKED_AT = {"Adadelta": ("accum_update",), "AdamWithAmsgrad": ("vhat",), "AddSign": ("sign_decay",), "PowerSign": ("sign_decay",)}
NAMED_OTHERWISE = ("l1", "l2", "l2_shrinkage", "logbase")
# TensorFlow has no kernel of these for one half or for both
FEW_TYPES = {"AdaMax": (F16,), "ProximalAdagrad": (), "ProximalGradientDescent": ()}
# of a step of a few operations
NEAR = {F32: {"abs": 1e-6, "rel": 2e-6}, F64: {"abs": 2e-15, "rel": 4e-15}, F16: {"abs": 0.004, "rel": 0.008},
        BF16: {"abs": 0.03, "rel": 0.06}}


def apply(name):
    """The op with resources made of its first inputs."""
    states, others, _ = STEPS[name]
    states, others = states.split(), others.split()
    op = getattr(tf.raw_ops, "ResourceApply" + name)

    def update(inputs, attrs):
        variables = [tf.Variable(value) for value in inputs[:len(states)]]
        op(**{n: v.handle for n, v in zip(states, variables)}, **dict(zip(others, inputs[len(states):])), **attrs)
        return [v.read_value() for v in variables]

    update.__name__ = "ResourceApply" + name
    return update


def step_inputs(name, dtype, shape):
    states, others, _ = STEPS[name]
    made = []
    for word in states.split() + others.split():
        if word in NUMBERS:
            made.append(np.array(NUMBERS[word], dtype))
        else:
            values = cycled(random_values(dtype, shape, "update", name, word), 37)
            # mg: the variance is no negative number
            made.append(np.abs(values) + dtype.type(17) if word == "ms" and name == "CenteredRMSProp" else
                        np.abs(values) if word in POSITIVE else values)
    return made


def step(name):
    r = Recorder("ResourceApply" + name, tf_op=apply(name))
    states, others, form = STEPS[name]
    words = states.split() + others.split()
    for dtype in FLOATS + FEW_TYPES.get(name, HALVES):
        for shape in ((5,), (3, 7), (), (0, 3), (40, 33)) if dtype == F32 else ((2, 9),):
            for variant in (False, True) if form else (None,):
                attrs = {} if variant is None else {form: variant}
                label = f"{dtype.name}_{text(shape)}" + ("" if variant is None else f"_{form}_{variant}")
                # of FTRL the difference of two powers, which TensorFlow computes as roots, is divided by lr
                scale = 16 if name.startswith("Ftrl") else 1
                r.add(label, step_inputs(name, dtype, shape), attrs,
                      tolerance={key: scale * bound for key, bound in NEAR[dtype].items()})
    inputs = step_inputs(name, F32, (2, 3))
    wide = [np.array([value], F32) for value in inputs]
    for i, word in enumerate(words):
        if i == 0:
            continue
        changed = list(inputs)
        changed[i] = wide[i] if word in NUMBERS else inputs[i][:1]
        contains = f"{word} is not a scalar" if word in NUMBERS else f"var and {word} do not have the same shape"
        if word in NAMED_OTHERWISE or (name, word) == ("ProximalAdagrad", "lr"):
            contains = " scalar"
        if word in NOT_LOOKED_AT.get(name, ()):
            r.our_error(f"{word}_shape", changed, contains=contains)
        else:
            r.error(f"{word}_shape", changed, contains=contains)
    r.our_error("integers", [value.astype(I32) for value in inputs], contains="int32")
    mixed = inputs[:-1] + [inputs[-1].astype(F64)]
    r.our_error("types_differ", mixed, contains="float64")
    return r


def scatter(name, first):
    op = getattr(tf.raw_ops, name)

    def update(inputs, attrs):
        variable = tf.Variable(inputs[0])
        op(**{first: variable.handle}, indices=inputs[1], updates=inputs[2], **attrs)
        return variable.read_value()

    update.__name__ = name
    return update


def add_bools(r, kind, indices):
    """TensorFlow has no bool here. A row of indices names a row of the variable."""
    def update(inputs, attrs):
        return onnx_op("ScatterND", [inputs[0], inputs[1].reshape(-1, 1).astype(I64), inputs[2]], {"reduction": kind.lower()})

    if kind in ("Max", "Min"):
        add_reference(r, update, "bool", [random_values(BOOL, (4, 3), r.op), indices, random_values(BOOL, (2, 3), r.op, 1)])


def types_of(kind):
    return MOVED_TYPES if kind == "Update" else FLOATS + HALVES + (I8, I32, I64, U8)


# variable, indices, updates
ROWS = (((5,), (3,), (3,)), ((5, 4), (2,), (2, 4)), ((4, 3), (2, 2), (2, 2, 3)), ((3, 2, 2), (), (2, 2)), ((4, 3), (2,), ()),
        ((4, 3), (0,), (0, 3)), ((30, 7), (20,), (20, 7)))


def scatter_rows(kind):
    name = "ResourceScatter" + kind
    r = Recorder(name, tf_op=scatter(name, "resource"))
    for i, (dims, shape, given) in enumerate(ROWS):
        index = (I32, I64)[i % 2]
        rng = np.random.RandomState(i)
        count = int(np.prod(shape))
        # each row once: what several updates of a row give is TensorScatter's matter
        indices = rng.permutation(dims[0])[:count].reshape(shape).astype(index)
        r.add(f"{text(dims)}_{text(shape)}_{text(given)}",
              [random_values(F32, dims, name), indices, random_values(F32, given, name, 1)])
    for dtype in types_of(kind):
        r.add(dtype.name, [random_values(dtype, (4, 3), name), np.array([2, 0], I32), random_values(dtype, (2, 3), name, 1)])
    add_bools(r, kind, np.array([2, 0], I32))
    twice = [np.array([1, 2, 3], I32), np.array([1, 1, 0], I64), np.array([10, 20, 30], I32)]
    r.add("a_row_twice", twice)
    x, one = random_values(F32, (3, 2), name), np.ones((1, 2), F32)
    for label, index in (("outside", 3), ("negative", -1)):
        r.error(label, [x, np.array([index], I32), one], contains="indices[0] = ")
    r.our_error("rows", [x, np.array([0, 1], I32), one],
                contains="Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], "
                         "got updates.shape [1,2], indices.shape [2], params.shape [3,2]")
    r.error("scalar", [np.array(1, F32), np.array([0], I32), np.ones(1, F32)],
            contains="Must have updates.shape = indices.shape + params.shape[1:]")
    return r


SLICES = (((5,), (3, 1)), ((4, 3), (2, 2)), ((4, 3), (2, 1)), ((2, 3, 4), (2, 2, 2)), ((5,), (0, 1)), ((2, 1, 2, 3), (3, 4)))


def scatter_slices(kind):
    name = "ResourceScatterNd" + kind
    is_known = hasattr(tf.raw_ops, name)
    r = Recorder(name, tf_op=scatter(name, "ref") if is_known else multiply)
    error = r.error if is_known else r.our_error
    for i, (dims, shape) in enumerate(SLICES):
        rng = np.random.RandomState(i)
        depth, count = shape[-1], int(np.prod(shape[:-1]))
        places = rng.permutation(int(np.prod(dims[:depth])))[:count]
        indices = np.stack(np.unravel_index(places, dims[:depth]), -1).reshape(shape).astype((I32, I64)[i % 2])
        given = shape[:-1] + dims[depth:]
        r.add(f"{text(dims)}_{text(shape)}", [random_values(F32, dims, name), indices, random_values(F32, given, name, 1)])
    for dtype in types_of(kind):
        r.add(dtype.name, [random_values(dtype, (4, 3), name), np.array([[2], [0]], I32), random_values(dtype, (2, 3), name, 1)])
    add_bools(r, kind, np.array([[2], [0]], I32))
    x = random_values(F32, (3, 2), name)
    error("outside", [x, np.array([[1], [5]], I32), np.ones((2, 2), F32)],
          contains="indices[1] = [5] does not index into shape [3,2]")
    r.add("ignored", [x, np.array([[1], [5]], I32), np.ones((2, 2), F32)], {"bad_indices_policy": "IGNORE"})
    error("rows", [x, np.array([[1], [0]], I32), np.ones((1, 2), F32)], contains="Dimensions [0,1) of indices[shape=[2,1]]")
    return r


def build():
    made = {"ResourceApply" + name: (lambda name=name: step(name)) for name in STEPS}
    for kind in ("Add", "Max", "Min", "Mul", "Sub", "Update"):
        made["ResourceScatter" + kind] = lambda kind=kind: scatter_rows(kind)
        made["ResourceScatterNd" + kind] = lambda kind=kind: scatter_slices(kind)
    return made
