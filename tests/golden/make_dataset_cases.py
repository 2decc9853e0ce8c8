#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes keras/pads.json, and bar_cases.inc of tests/unit/support: padded sequences and progress bars of Keras; and
shuffle_orders.inc.

The orders are computed here from the definition in include/gantry_train/dataset.h, by philox_reference.py. Keras's bars
get times from a list; "\\b" is left out, because "\\r" alone does its work. Run: make_dataset_cases.py.
"""
import itertools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from keras.src.utils import io_utils, progbar

import golden_form
import philox_reference

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- shuffle ----

class Random:
    def __init__(self, seed, iteration):
        self.seed, self.iteration, self.block, self.numbers = seed, iteration, 0, []

    def below(self, bound):
        while True:
            if not self.numbers:
                w = [int(x) for x in philox_reference.philox(self.iteration << 64 | self.block, self.seed, 1)[0]]
                self.numbers = [w[0] | w[1] << 32, w[2] | w[3] << 32]
                self.block += 1
            number = self.numbers.pop(0) & (2 ** (bound - 1).bit_length() - 1)
            if number < bound:
                return number


def shuffled(count, buffer_size, seed, iteration):
    random, buffer, order, rest = Random(seed, iteration), [], [], list(range(count))
    while rest or buffer:
        while rest and len(buffer) < buffer_size:
            buffer.append(rest.pop(0))
        chosen = random.below(len(buffer))
        order.append(buffer[chosen])
        buffer[chosen] = buffer[-1]
        buffer.pop()
    return order


# ---- pad_sequences ----

GROUPS = {
    "ints": ("int32", [[1], [2, 3], [], [4, 5, 6, -7], [2147483647, -2147483648]]),
    "longs": ("int64", [[1, -1, 1 << 20], [], [2147483647]]),
    "floats": ("float32", [[0.5], [-1.75, 2.25, 3.5, 1e6], [], [-0.0, 7.0]]),
    "empty": ("int32", [[], []]),
}


def pad_case(name, kind, sequences, dtype, padding, truncating, maxlen, value):
    """The inputs are the sequences; without maxlen it is the longest one's length."""
    want = keras.utils.pad_sequences(sequences, maxlen=maxlen, dtype=dtype, padding=padding, truncating=truncating,
                                     value=value)
    attrs = {"padding": padding, "truncating": truncating, "value": {"float": float(value)}}
    return {"name": f"{name} {dtype} {padding} {truncating} {maxlen}",
            "attrs": attrs | ({} if maxlen is None else {"maxlen": maxlen}),
            "inputs": [golden_form.array_text(np.array(s, kind)) for s in sequences],
            "outputs": [golden_form.array_text(np.ascontiguousarray(want))]}


def pads():
    ends = ("pre", "post")
    for name, (kind, sequences) in GROUPS.items():
        for dtype, padding, truncating in itertools.product(("int32", "float32"), ends, ends):
            for maxlen, value in ((None, 0), (1, 0), (3, -2), (6, 7.75)):
                yield pad_case(name, kind, sequences, dtype, padding, truncating, maxlen, value)
    small = [[1, 2, 3], [], [100, 5, 7, 0, 9]]
    kinds = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float32", "float64")
    for kind, dtype in itertools.product(kinds, kinds):
        given = [[x + 0.75 for x in s] for s in small] if kind.startswith("float") else small
        yield pad_case(f"{kind} to", kind, given, dtype, "pre", "post", 4, 3.5)


# ---- progress bars ----

def values(**kinds):
    return list(kinds.items())


# target, terminal, [(steps, seconds, values, last)]
BARS = [
    (938, True, [(1, 0.5, values(accuracy=0.125, loss=2.3), False), (2, 0.52, values(accuracy=0.2, loss=2.2), False),
                 (100, 1.75, values(accuracy=0.5012, loss=1.2), False), (101, 1.76, values(accuracy=0.5, loss=1.1), False),
                 (937, 13.0, values(accuracy=0.9, loss=0.0005), False),
                 (938, 13.01, values(accuracy=0.91, loss=0.25), True)]),
    (938, False, [(1, 0.5, values(accuracy=0.5, loss=2.3), False), (100, 2.0, values(accuracy=0.5, loss=2.3), False),
                  (938, 12.4, values(accuracy=0.5012, loss=1.2, change=-0.5, small=1e-4), True)]),
    (0, True, [(1, 0.25, values(loss=2.3), False), (1234567, 90.0, values(loss=-2.5), False),
               (1234570, 91.0, values(loss=1.0), True)]),
    (0, False, [(3, 1.0, values(loss=1.0), False), (30, 3.5, values(loss=1.0), True)]),
    (10, True, [(0, 0.1, [], False), (1, 2000.0, [], False), (2, 2900.0, [], False), (5, 2950.0, [], False),
                (8, 3000.0, [], False), (10, 3001.0, [], True)]),
    (1000000, True, [(1, 0.00001, [], False), (20000, 0.5, values(loss=float("nan"), gain=1.0), False),
                     (999999, 5.5, values(loss=float("inf"), gain=-12345.6789), False),
                     (1000000, 5.6, values(loss=1.0, gain=0.5), True)]),
    (1, False, [(1, 0.0003, values(loss=0.001), True)]),
    (1, True, [(1, 7.5, values(loss=0.001), True)]),
    (7, True, [(3, 1.5, values(loss=1.0), False), (7, 1.5, values(loss=1.0), True)]),
]


def bar_texts(target, terminal, updates):
    """Keras's texts, one for each update; "" where nothing is printed. Plain lines are verbose=2."""
    clock, texts = [1e6], []
    time = progbar.time
    progbar.time = type("clock", (), {"time": staticmethod(lambda: clock[0])})
    print_msg = io_utils.print_msg
    io_utils.print_msg = lambda text, line_break=True: texts.append(text)
    bar = keras.utils.Progbar(target or None, verbose=1 if terminal else 2, stateless_metrics=set())
    bar._dynamic_display = True
    out = []
    for steps, seconds, shown, last in updates:
        clock[0], texts[:] = 1e6 + seconds, []
        if last and bar.target is None:
            bar.target = steps
        bar.update(steps, shown, finalize=last)
        out.append("".join(texts).replace("\b", ""))
    progbar.time, io_utils.print_msg = time, print_msg
    return out


def c_string(text):
    plain = set(range(32, 127)) - set(b'"\\')
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'


def c_value(value):
    if value != value:
        return "NAN"
    return "INFINITY" if value == float("inf") else repr(value)


def put_bars(out):
    rows = []
    for target, terminal, updates in BARS:
        for i, ((steps, seconds, shown, last), text) in enumerate(zip(updates, bar_texts(target, terminal, updates))):
            shown_text = ", ".join(f'{{"{name}", {c_value(value)}}}' for name, value in shown)
            rows.append(f"    {{{'true' if i == 0 else 'false'}, {target}, {'true' if terminal else 'false'}, {steps}, "
                        f"{seconds!r}, {{{shown_text or '{NULL, 0}'}}}, {len(shown)}, {'true' if last else 'false'},")
            rows.append(f"     {c_string(text)}}},")
    out += ["static const bar_case_t bar_cases[] = {", *rows, "};"]


def write(name, lines):
    head = ["/* SPDX-License-Identifier: Apache-2.0 */",
            f"/* Made by tests/golden/make_dataset_cases.py with Keras {keras.__version__}; do not edit. */", ""]
    with open(os.path.join(HERE, "..", "unit", "support", name), "w", encoding="utf-8") as file:
        file.write("\n".join(head + lines) + "\n")


def main():
    orders = ["/* 10 elements, a buffer of 4, seed 7, iterations 0 and 1 */", "static const int32_t shuffle_orders[2][10] = {"]
    orders += ["    {" + ", ".join(map(str, shuffled(10, 4, 7, iteration))) + "}," for iteration in range(2)] + ["};"]
    write("shuffle_orders.inc", orders)
    golden_form.write_keras("pads", keras.__version__, list(pads()))
    bars = []
    put_bars(bars)
    write("bar_cases.inc", bars)


if __name__ == "__main__":
    main()
