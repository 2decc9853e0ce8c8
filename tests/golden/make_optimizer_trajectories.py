#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/unit/train/optimizer_trajectories.inc: weights under Keras's optimizers, and rates of its schedules.

Each row has the call of Gantry's that makes the same optimizer. The test computes the same first weights and gradients:
they are multiples of 1/16, so that both sides have the same numbers in every type. Run: make_optimizer_trajectories.py.
"""
import inspect
import os
import warnings

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from keras import optimizers as opt
from keras.optimizers import schedules as sch
from keras.src import ops

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPES = [(2, 3), (3,), ()]
STEPS = 20
KEPT = {"float64": [1, 2, 5, 20], "float32": [1, 20]}
RATES = 26


def weight(j):
    return 1 + (j * 11) % 17 / 16


def gradient(t, j):
    """Of element j, counted over all variables, in step t from 1 on."""
    return ((t * 7 + j * 13 + j * j * 5) % 31 - 15) / 16


def pieces(numbers, dtype):
    at, out = 0, []
    for shape in SHAPES:
        n = int(np.prod(shape))
        out.append(np.array(numbers[at:at + n], dtype).reshape(shape))
        at += n
    return out


def wide(value):
    """Keras rounds numbers of Python to float32 on the way to float64, but not those of NumPy."""
    if isinstance(value, list):
        return [wide(v) for v in value]
    return np.float64(value) if isinstance(value, float) else value


# Nadam casts its 0.96.
cast = ops.cast
ops.cast = lambda x, dtype: cast(wide(x) if dtype == "float64" else x, dtype)

COUNT = sum(int(np.prod(s)) for s in SHAPES)

# (name, Gantry's call, Keras's class, its arguments). skips: variable 1 has no gradient in steps divisible by 3.

def call(kind, fields):
    if not fields:
        return f"gantry_{kind}(NULL)"
    fields = [f".struct_size = sizeof(gantry_{kind}_options_t)"] + fields
    return f"gantry_{kind}(&(gantry_{kind}_options_t){{{', '.join(fields)}}})"


def row(name, kind, cls, fields, skips=False, **kwargs):
    return name, call(kind, fields), cls, kwargs, skips


OPTIMIZERS = [
    row("SGD", "sgd", opt.SGD, []),
    row("SGD, rate", "sgd", opt.SGD, [".learning_rate = 0.1"], learning_rate=0.1),
    row("SGD, momentum", "sgd", opt.SGD, [".momentum = 0.9"], momentum=0.9),
    row("SGD, Nesterov", "sgd", opt.SGD, [".momentum = 0.9", ".nesterov = true"], momentum=0.9, nesterov=True),
    row("SGD, decay", "sgd", opt.SGD, [".momentum = 0.5", ".weight_decay = 0.05"], momentum=0.5, weight_decay=0.05),
    row("SGD, clipvalue", "sgd", opt.SGD, [".clipvalue = 0.25"], clipvalue=0.25),
    row("SGD, clipnorm", "sgd", opt.SGD, [".clipnorm = 0.75"], clipnorm=0.75),
    row("SGD, global clipnorm", "sgd", opt.SGD, [".global_clipnorm = 0.75"], global_clipnorm=0.75),
    row("SGD, missing gradients", "sgd", opt.SGD, [".momentum = 0.9"], skips=True, momentum=0.9),
    row("Adam", "adam", opt.Adam, []),
    row("Adam, all", "adam", opt.Adam, [".learning_rate = 0.02", ".beta_1 = 0.8", ".beta_2 = 0.95", ".epsilon = 1e-4"],
        learning_rate=0.02, beta_1=0.8, beta_2=0.95, epsilon=1e-4),
    row("Adam, amsgrad", "adam", opt.Adam, [".learning_rate = 0.02", ".beta_2 = 0.9", ".amsgrad = true"],
        learning_rate=0.02, beta_2=0.9, amsgrad=True),
    row("Adam, global clipnorm", "adam", opt.Adam, [".learning_rate = 0.02", ".global_clipnorm = 0.5"],
        learning_rate=0.02, global_clipnorm=0.5),
    row("Adam, missing gradients", "adam", opt.Adam, [".learning_rate = 0.02", ".amsgrad = true"], skips=True,
        learning_rate=0.02, amsgrad=True),
    row("AdamW", "adamw", opt.AdamW, []),
    row("AdamW, all", "adamw", opt.AdamW,
        [".learning_rate = 0.02", ".weight_decay = 0.1", ".beta_1 = 0.8", ".beta_2 = 0.95", ".epsilon = 1e-4",
         ".amsgrad = true", ".clipvalue = 0.5"],
        learning_rate=0.02, weight_decay=0.1, beta_1=0.8, beta_2=0.95, epsilon=1e-4, amsgrad=True, clipvalue=0.5),
    row("Nadam", "nadam", opt.Nadam, []),
    row("Nadam, all", "nadam", opt.Nadam,
        [".learning_rate = 0.02", ".beta_1 = 0.8", ".beta_2 = 0.95", ".epsilon = 1e-4", ".weight_decay = 0.1",
         ".clipnorm = 0.75"],
        learning_rate=0.02, beta_1=0.8, beta_2=0.95, epsilon=1e-4, weight_decay=0.1, clipnorm=0.75),
    row("Nadam, missing gradients", "nadam", opt.Nadam, [".learning_rate = 0.02"], skips=True, learning_rate=0.02),
    row("RMSprop", "rmsprop", opt.RMSprop, []),
    row("RMSprop, momentum", "rmsprop", opt.RMSprop, [".learning_rate = 0.01", ".rho = 0.8", ".momentum = 0.5"],
        learning_rate=0.01, rho=0.8, momentum=0.5),
    row("RMSprop, centered", "rmsprop", opt.RMSprop, [".learning_rate = 0.01", ".epsilon = 1e-2", ".centered = true"],
        learning_rate=0.01, epsilon=1e-2, centered=True),
    row("RMSprop, all", "rmsprop", opt.RMSprop,
        [".learning_rate = 0.01", ".rho = 0.8", ".momentum = 0.5", ".epsilon = 1e-2", ".centered = true",
         ".weight_decay = 0.1", ".clipvalue = 0.5"],
        learning_rate=0.01, rho=0.8, momentum=0.5, epsilon=1e-2, centered=True, weight_decay=0.1, clipvalue=0.5),
    row("Adagrad", "adagrad", opt.Adagrad, []),
    row("Adagrad, all", "adagrad", opt.Adagrad,
        [".learning_rate = 0.1", ".initial_accumulator_value = 0.5", ".epsilon = 1e-2", ".weight_decay = 0.1"],
        learning_rate=0.1, initial_accumulator_value=0.5, epsilon=1e-2, weight_decay=0.1),
    row("Adamax", "adamax", opt.Adamax, []),
    row("Adamax, all", "adamax", opt.Adamax,
        [".learning_rate = 0.02", ".beta_1 = 0.8", ".beta_2 = 0.9", ".epsilon = 1e-2", ".global_clipnorm = 0.75"],
        learning_rate=0.02, beta_1=0.8, beta_2=0.9, epsilon=1e-2, global_clipnorm=0.75),
    row("Lion", "lion", opt.Lion, []),
    row("Lion, all", "lion", opt.Lion, [".learning_rate = 0.02", ".beta_1 = 0.7", ".beta_2 = 0.8", ".weight_decay = 0.1"],
        learning_rate=0.02, beta_1=0.7, beta_2=0.8, weight_decay=0.1),
    row("SGD, accumulation", "sgd", opt.SGD, [".momentum = 0.9", ".gradient_accumulation_steps = 2"],
        momentum=0.9, gradient_accumulation_steps=2),
    row("SGD, averages", "sgd", opt.SGD,
        [".learning_rate = 0.1", ".momentum = 0.5", ".use_ema = true", ".ema_momentum = 0.75",
         ".ema_overwrite_frequency = 2"],
        learning_rate=0.1, momentum=0.5, use_ema=True, ema_momentum=0.75, ema_overwrite_frequency=2),
    row("SGD, averages and missing gradients", "sgd", opt.SGD,
        [".learning_rate = 0.1", ".use_ema = true", ".ema_overwrite_frequency = 3"], skips=True,
        learning_rate=0.1, use_ema=True, ema_overwrite_frequency=3),
    row("SGD, accumulation and missing gradients", "sgd", opt.SGD,
        [".momentum = 0.9", ".global_clipnorm = 0.5", ".gradient_accumulation_steps = 5"], skips=True,
        momentum=0.9, global_clipnorm=0.5, gradient_accumulation_steps=5),
    row("SGD, accumulation by threes and missing gradients", "sgd", opt.SGD,
        [".momentum = 0.9", ".clipnorm = 0.25", ".gradient_accumulation_steps = 3"], skips=True,
        momentum=0.9, clipnorm=0.25, gradient_accumulation_steps=3),
    row("AdamW, accumulation", "adamw", opt.AdamW,
        [".learning_rate = 0.02", ".weight_decay = 0.1", ".clipnorm = 0.5", ".gradient_accumulation_steps = 4"],
        learning_rate=0.02, weight_decay=0.1, clipnorm=0.5, gradient_accumulation_steps=4),
    row("AdamW, accumulation and averages", "adamw", opt.AdamW,
        [".learning_rate = 0.02", ".weight_decay = 0.1", ".amsgrad = true", ".global_clipnorm = 0.5",
         ".gradient_accumulation_steps = 2", ".use_ema = true", ".ema_momentum = 0.9", ".ema_overwrite_frequency = 3"],
        learning_rate=0.02, weight_decay=0.1, amsgrad=True, global_clipnorm=0.5, gradient_accumulation_steps=2,
        use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=3),
    row("Adam, averages of the newest weights", "adam", opt.Adam,
        [".learning_rate = 0.02", ".clipvalue = 0.25", ".use_ema = true", ".ema_momentum = 1e-300",
         ".ema_overwrite_frequency = 1"],
        learning_rate=0.02, clipvalue=0.25, use_ema=True, ema_momentum=0.0, ema_overwrite_frequency=1),
    row("Nadam, accumulation", "nadam", opt.Nadam, [".learning_rate = 0.02", ".gradient_accumulation_steps = 3"],
        skips=True, learning_rate=0.02, gradient_accumulation_steps=3),
    row("RMSprop, accumulation", "rmsprop", opt.RMSprop,
        [".learning_rate = 0.01", ".momentum = 0.5", ".centered = true", ".gradient_accumulation_steps = 2"],
        learning_rate=0.01, momentum=0.5, centered=True, gradient_accumulation_steps=2),
    row("Adagrad, averages", "adagrad", opt.Adagrad,
        [".learning_rate = 0.1", ".weight_decay = 0.1", ".use_ema = true", ".ema_overwrite_frequency = 4"],
        learning_rate=0.1, weight_decay=0.1, use_ema=True, ema_overwrite_frequency=4),
    row("Adamax, accumulation", "adamax", opt.Adamax, [".learning_rate = 0.02", ".gradient_accumulation_steps = 2"],
        learning_rate=0.02, gradient_accumulation_steps=2),
    row("Lion, accumulation and averages", "lion", opt.Lion,
        [".learning_rate = 0.02", ".gradient_accumulation_steps = 2", ".use_ema = true", ".ema_momentum = 0.5",
         ".ema_overwrite_frequency = 1"],
        learning_rate=0.02, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=1),
    row("Adadelta", "adadelta", opt.Adadelta, []),
    row("Adadelta, all", "adadelta", opt.Adadelta,
        [".learning_rate = 1", ".rho = 0.8", ".epsilon = 1e-2", ".weight_decay = 0.1", ".clipnorm = 0.75"],
        learning_rate=1.0, rho=0.8, epsilon=1e-2, weight_decay=0.1, clipnorm=0.75),
    row("Adadelta, missing gradients", "adadelta", opt.Adadelta, [".learning_rate = 0.5", ".clipvalue = 0.25"],
        skips=True, learning_rate=0.5, clipvalue=0.25),
    row("Adadelta, accumulation and averages", "adadelta", opt.Adadelta,
        [".learning_rate = 0.5", ".global_clipnorm = 0.5", ".gradient_accumulation_steps = 2", ".use_ema = true",
         ".ema_momentum = 0.5", ".ema_overwrite_frequency = 3"],
        learning_rate=0.5, global_clipnorm=0.5, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.5,
        ema_overwrite_frequency=3),
    row("Ftrl", "ftrl", opt.Ftrl, []),
    row("Ftrl, all", "ftrl", opt.Ftrl,
        [".learning_rate = 0.1", ".learning_rate_power = -0.75", ".initial_accumulator_value = 0.5",
         ".l1_regularization_strength = 0.01", ".l2_regularization_strength = 0.02",
         ".l2_shrinkage_regularization_strength = 0.03", ".beta = 0.5", ".weight_decay = 0.1", ".clipnorm = 0.75"],
        learning_rate=0.1, learning_rate_power=-0.75, initial_accumulator_value=0.5, l1_regularization_strength=0.01,
        l2_regularization_strength=0.02, l2_shrinkage_regularization_strength=0.03, beta=0.5, weight_decay=0.1, clipnorm=0.75),
    row("Ftrl, weights of zero", "ftrl", opt.Ftrl, [".learning_rate = 0.5", ".l1_regularization_strength = 2"],
        learning_rate=0.5, l1_regularization_strength=2.0),
    row("Ftrl, a rate that stays", "ftrl", opt.Ftrl, [".learning_rate = 0.1", ".learning_rate_power = -1e-300"],
        learning_rate=0.1, learning_rate_power=0.0),
    row("Ftrl, missing gradients", "ftrl", opt.Ftrl, [".learning_rate = 0.1", ".clipvalue = 0.25", ".beta = 1"], skips=True,
        learning_rate=0.1, clipvalue=0.25, beta=1.0),
    row("Ftrl, accumulation and averages", "ftrl", opt.Ftrl,
        [".learning_rate = 0.1", ".l2_regularization_strength = 0.5", ".global_clipnorm = 2",
         ".gradient_accumulation_steps = 2", ".use_ema = true", ".ema_momentum = 0.25", ".ema_overwrite_frequency = 5"],
        learning_rate=0.1, l2_regularization_strength=0.5, global_clipnorm=2.0, gradient_accumulation_steps=2, use_ema=True,
        ema_momentum=0.25, ema_overwrite_frequency=5),
]


def schedule(name, kind, cls, fields, **kwargs):
    return name, call(kind, fields), cls, kwargs


SCHEDULES = [
    schedule("ExponentialDecay", "exponential_decay", sch.ExponentialDecay,
             [".initial_learning_rate = 0.1", ".decay_steps = 7", ".decay_rate = 0.9"],
             initial_learning_rate=0.1, decay_steps=7, decay_rate=0.9),
    schedule("ExponentialDecay, staircase", "exponential_decay", sch.ExponentialDecay,
             [".initial_learning_rate = 0.1", ".decay_steps = 7", ".decay_rate = 0.9", ".staircase = true"],
             initial_learning_rate=0.1, decay_steps=7, decay_rate=0.9, staircase=True),
    schedule("PiecewiseConstantDecay", "piecewise_constant_decay", sch.PiecewiseConstantDecay,
             [".boundaries = (const int64_t[]){3, 7, 15}", ".boundary_count = 3",
              ".values = (const double[]){1, 0.5, 0.25, 0.125}"],
             boundaries=[3, 7, 15], values=[1.0, 0.5, 0.25, 0.125]),
    schedule("PiecewiseConstantDecay, one boundary", "piecewise_constant_decay", sch.PiecewiseConstantDecay,
             [".boundaries = (const int64_t[]){4}", ".boundary_count = 1", ".values = (const double[]){0.3, 0.1}"],
             boundaries=[4], values=[0.3, 0.1]),
    schedule("PolynomialDecay", "polynomial_decay", sch.PolynomialDecay,
             [".initial_learning_rate = 0.1", ".decay_steps = 10"], initial_learning_rate=0.1, decay_steps=10),
    schedule("PolynomialDecay, power", "polynomial_decay", sch.PolynomialDecay,
             [".initial_learning_rate = 0.1", ".decay_steps = 10", ".end_learning_rate = 0.01", ".power = 0.5"],
             initial_learning_rate=0.1, decay_steps=10, end_learning_rate=0.01, power=0.5),
    schedule("PolynomialDecay, cycle", "polynomial_decay", sch.PolynomialDecay,
             [".initial_learning_rate = 0.1", ".decay_steps = 6", ".end_learning_rate = 0.01", ".power = 2",
              ".cycle = true"],
             initial_learning_rate=0.1, decay_steps=6, end_learning_rate=0.01, power=2.0, cycle=True),
    schedule("InverseTimeDecay", "inverse_time_decay", sch.InverseTimeDecay,
             [".initial_learning_rate = 0.1", ".decay_steps = 4", ".decay_rate = 0.5"],
             initial_learning_rate=0.1, decay_steps=4, decay_rate=0.5),
    schedule("InverseTimeDecay, staircase", "inverse_time_decay", sch.InverseTimeDecay,
             [".initial_learning_rate = 0.1", ".decay_steps = 4", ".decay_rate = 0.5", ".staircase = true"],
             initial_learning_rate=0.1, decay_steps=4, decay_rate=0.5, staircase=True),
    schedule("CosineDecay", "cosine_decay", sch.CosineDecay,
             [".initial_learning_rate = 0.1", ".decay_steps = 16", ".alpha = 0.1"],
             initial_learning_rate=0.1, decay_steps=16, alpha=0.1),
    schedule("CosineDecay, warmup", "cosine_decay", sch.CosineDecay,
             [".initial_learning_rate = 0.01", ".decay_steps = 12", ".warmup_target = 0.1", ".warmup_steps = 5"],
             initial_learning_rate=0.01, decay_steps=12, warmup_target=0.1, warmup_steps=5),
    schedule("CosineDecayRestarts", "cosine_decay_restarts", sch.CosineDecayRestarts,
             [".initial_learning_rate = 0.1", ".first_decay_steps = 5"],
             initial_learning_rate=0.1, first_decay_steps=5),
    schedule("CosineDecayRestarts, all", "cosine_decay_restarts", sch.CosineDecayRestarts,
             [".initial_learning_rate = 0.1", ".first_decay_steps = 6", ".t_mul = 1", ".m_mul = 0.8", ".alpha = 0.05"],
             initial_learning_rate=0.1, first_decay_steps=6, t_mul=1.0, m_mul=0.8, alpha=0.05),
    schedule("CosineDecayRestarts, longer", "cosine_decay_restarts", sch.CosineDecayRestarts,
             [".initial_learning_rate = 0.1", ".first_decay_steps = 3", ".t_mul = 1.5", ".m_mul = 0.8"],
             initial_learning_rate=0.1, first_decay_steps=3, t_mul=1.5, m_mul=0.8),
]




def widen(cls, kwargs):
    defaults = {name: p.default for name, p in inspect.signature(cls).parameters.items() if type(p.default) is float}
    return {name: wide(value) for name, value in {**defaults, **kwargs}.items()}


def train(cls, kwargs, skips, dtype):
    keras.config.set_floatx(dtype)
    warnings.simplefilter("ignore")  # of missing gradients
    variables = [keras.Variable(w, dtype=dtype) for w in pieces([weight(j) for j in range(COUNT)], dtype)]
    optimizer = cls(**(widen(cls, kwargs) if dtype == "float64" else kwargs))
    kept = []
    for t in range(1, STEPS + 1):
        gradients = pieces([gradient(t, j) for j in range(COUNT)], dtype)
        gradients = [keras.ops.convert_to_tensor(g) for g in gradients]
        if skips and t % 3 == 0:
            gradients[1] = None
        optimizer.apply(gradients, variables)
        if t in KEPT[dtype]:
            kept.append(np.concatenate([v.numpy().reshape(-1) for v in variables]))
    return kept


def numbers(values, dtype):
    """As many digits as tell two numbers of the type apart."""
    return ", ".join(("%.17g" if dtype == "float64" else "%.9g") % v for v in values)


def write_optimizers(out):
    out.write("#ifdef OPTIMIZER_ROW\n")
    for name, text, cls, kwargs, skips in OPTIMIZERS:
        full, narrow = (train(cls, kwargs, skips, dtype) for dtype in ("float64", "float32"))
        out.write(f'OPTIMIZER_ROW("{name}", {str(skips).lower()}, ({text}),\n')
        out.write("    (" + ",\n     ".join(numbers(row, "float64") for row in full) + "),\n")
        out.write("    (" + ",\n     ".join(numbers(row, "float32") for row in narrow) + "))\n")
    out.write("#endif\n")


def write_schedules(out):
    out.write("#ifdef SCHEDULE_ROW\n")
    keras.config.set_floatx("float64")
    for name, text, cls, kwargs in SCHEDULES:
        rates = [float(cls(**widen(cls, kwargs))(np.int64(t))) for t in range(RATES)]
        lines = [numbers(rates[i:i + 5], "float64") for i in range(0, RATES, 5)]
        out.write(f'SCHEDULE_ROW("{name}", ({text}),\n    (' + ",\n     ".join(lines) + "))\n")
    out.write("#endif\n")


def main():
    path = os.path.join(HERE, "..", "unit", "train", "optimizer_trajectories.inc")
    with open(path, "w") as out:
        out.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
        out.write(f"/* Written by tests/golden/make_optimizer_trajectories.py with Keras {keras.__version__}. */\n")
        out.write(f"/* Rows: name, whether gradients miss, the call, the weights of {KEPT['float64']} steps in float64,\n"
                  f" * those of {KEPT['float32']} steps in float32. Schedules: name, the call, the rates of steps 0 to "
                  f"{RATES - 1}. */\n")
        write_optimizers(out)
        write_schedules(out)


if __name__ == "__main__":
    main()
