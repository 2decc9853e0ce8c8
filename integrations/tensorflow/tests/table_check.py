#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: Every row of op_table.def with every type gives TensorFlow's result, or its class of error.

Calls every row of src/op_table.def with every type, on a GPU of the plug-in and on TensorFlow's CPU, and compares.

    PYTHON table_check.py [--plugin libgantry_tensorflow.so] [--cases 2] [--refusals 20] [--only Op,Op] [--list]

PYTHON has TensorFlow; without --plugin it has the installed wheel. Inputs and attributes are those of tests/golden's
cases, and of table_cases.py where they have none. For each call it counts one of: equal (the same bits, any NaN is
any NaN), close (within a few units in the last place), random (shape and type are equal, numbers are drawn), refused
(both refuse), and the failures different, only_here, only_there (one of the two refuses), other_error (both refuse, by
errors of two classes). A row and type without a call fails too, unless table_cases.py has the reason. Exit code 1 for
any failure."""
import argparse
import collections
import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # oneDNN's AvgPoolGrad ends the process for a wrong shape
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(ROOT, "tests", "golden")]
import golden_form  # noqa: E402
import numpy as np  # noqa: E402
import table_cases  # noqa: E402

TYPES = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "I8": "int8", "I16": "int16",
         "I32": "int32", "I64": "int64", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64",
         "B8": "bool", "C64": "complex64"}
FLOATING = ["F16", "BF16", "F32", "F64"]
INTEGERS = ["I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64"]
SETS = {"FLOATING": FLOATING, "INTEGERS": INTEGERS, "NUMERIC": FLOATING + INTEGERS,
        "NUMERIC_BOOL": FLOATING + INTEGERS + ["B8"], "ANY": FLOATING + INTEGERS + ["B8", "C64"]}


# ---- the table ----

def read_set(text):
    """"NUMERIC & ~I32": the names of the types."""
    base, *without = text.split(" & ~")
    names = [name for part in base.split(" | ") for name in SETS.get(part, [part])]
    return [TYPES[name] for name in names if name not in without]


def read_rows():
    """A list of (TensorFlow's op, Gantry's op, {attribute: types})."""
    with open(os.path.join(os.path.dirname(HERE), "src", "op_table.def"), encoding="utf-8") as file:
        text = file.read()
    rows = []
    for row in re.findall(r"^\{.*?\},$", text, re.MULTILINE | re.DOTALL):
        op, gantry = re.search(r'\.op = "(\w+)", \.gantry = "(\w+)"', row).groups()
        types = re.search(r"\.types = \{(.*?)\}\}", row, re.DOTALL)
        sets = re.findall(r'\{"(\w+)",\s+([^{}]*?)\}', types.group(1) + "}") if types else []
        rows.append((op, gantry, {attr: read_set(names) for attr, names in sets}))
    return rows


# ---- cases ----

def tensor_of(text):
    """A tensor of a golden case as an array."""
    import tensorflow as tf
    name, shape, data = golden_form.read_tensor(text)
    return np.frombuffer(data, tf.as_dtype(name).as_numpy_dtype).reshape(shape)


def golden_cases(gantry, source):
    """The cases of Gantry's op whose results are from this source: (name, inputs, attributes). Source "error": those
    that fail."""
    path = os.path.join(ROOT, "tests", "golden", "cases", gantry + ".json")
    if not os.path.exists(path):
        return
    for case in golden_form.read_file(path)["cases"]:
        of = "error" if "error" in case else "numpy" if case.get("source") == "numpy" else "tensorflow"
        if of != source or case.get("op", gantry) != gantry:
            continue
        attrs = {name: next(iter(value.values())) if isinstance(value, dict) else value
                 for name, value in case.get("attrs", {}).items()}
        yield case["name"], [tensor_of(t) for t in case["inputs"]], attrs


def size_of(case):
    """Cases with elements and few bytes come first, so that each type has its smallest real case."""
    sizes = [array.size for array in case[1]] or [1]
    return (min(sizes) == 0, max(len(array.shape) for array in case[1]) == 0 if case[1] else False, sum(sizes))


# ---- a call of TensorFlow ----

class Call:
    """An op of TensorFlow with its inputs and attributes. ValueError: the case does not fit the op."""

    def __init__(self, definition, inputs, attrs):
        import tensorflow as tf
        self.op, self.inputs, self.types, self.attrs = definition.name, inputs, {}, {}
        self.definition, attr_defs = definition, {a.name: a for a in definition.attr}
        rest = list(inputs)
        for index, arg in enumerate(definition.input_arg):
            after = len(definition.input_arg) - index - 1
            count = len(rest) - after if arg.number_attr else 1
            if count < 1 or len(rest) < count:
                raise ValueError(f"{self.op} has more inputs than the case")
            first, rest = rest[0], rest[count:]
            name = tf.as_dtype(first.dtype).name
            if arg.number_attr:
                self.attrs[arg.number_attr] = count
            if arg.type_attr:
                self.types[arg.type_attr] = name
            elif tf.as_dtype(arg.type).name != name:
                raise ValueError(f"{self.op} takes no {name} as {arg.name}")
        if rest:
            raise ValueError(f"{self.op} has fewer inputs than the case")
        for name, value in attrs.items():
            if name not in attr_defs:
                if not table_cases.may_leave_out(self.op, name, value):
                    raise ValueError(f"{self.op} has no attribute {name}")
            elif attr_defs[name].type == "type":
                self.types[name] = value
            else:
                self.attrs[name] = value
        for name, attr in attr_defs.items():
            if not attr.HasField("default_value"):
                continue
            if attr.type == "type":
                self.types.setdefault(name, tf.as_dtype(attr.default_value.type).name)
            elif name not in self.attrs:
                self.attrs[name] = default_of(attr)

    def output_count(self):
        return sum(self.attrs[a.number_attr] if a.number_attr else 1 for a in self.definition.output_arg)

    def run(self, device):
        """Arrays and None, or None and the error."""
        import tensorflow as tf
        from tensorflow.python.eager import context, execute
        attrs = [part for name, value in self.attrs.items() for part in (name, value)]
        for name, value in self.types.items():
            attrs += [name, tf.as_dtype(value).as_datatype_enum]
        try:
            with tf.device(device):
                inputs = [tf.constant(value) for value in self.inputs]
                results = execute.execute(self.op, self.output_count(), inputs, tuple(attrs), context.context())
                return [r.numpy() for r in results], None
        except (tf.errors.OpError, ValueError, TypeError) as error:
            return None, error


def default_of(attr):
    """The default of an attribute that is no type."""
    kind, value = attr.type, attr.default_value
    if kind == "list(int)":
        return list(value.list.i)
    if kind == "string":
        return value.s
    return {"bool": value.b, "int": value.i, "float": value.f}[kind]


# ---- comparison ----

EPSILON = {"float16": 2.0 ** -10, "bfloat16": 2.0 ** -7, "float32": 2.0 ** -23, "float64": 2.0 ** -52,
           "complex64": 2.0 ** -23, "complex128": 2.0 ** -52}


def compare(here, there):
    """equal, close or different, and the largest difference in units of the type's precision."""
    if len(here) != len(there):
        return "different", f"{len(here)} outputs, not {len(there)}"
    word, worst = "equal", 0.0
    for a, b in zip(here, there):
        if a.dtype != b.dtype or a.shape != b.shape:
            return "different", f"{a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}"
        if a.dtype.name not in EPSILON:
            if not np.array_equal(a, b):
                return "different", values(a, b)
            continue
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        x, y = a.astype(wide), b.astype(wide)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if same.all():
            continue
        with np.errstate(all="ignore"):
            scale = np.maximum(np.abs(y), np.abs(np.where(np.isfinite(y), y, 0)).max(initial=0) * 2.0 ** -6)
            off = np.abs(x - y) / (scale * EPSILON[a.dtype.name])
        off = np.where(same, 0, np.where(np.isfinite(off), off, np.inf))
        worst = max(worst, float(off.max()))
        word = "close"
        if worst > table_cases.UNITS:
            return "different", values(a, b)
    return word, f"{worst:.3g} units"


def values(a, b):
    differ = np.flatnonzero(~((a == b) | ((a != a) & (b != b))))
    first = differ[0]
    return f"{a.flat[first]!r}, not {b.flat[first]!r}, at {first} of {a.size} ({len(differ)} differ)"


def judge(call):
    """The word for one call, and a note."""
    here, error_here = call.run("GPU:0")
    there, error_there = call.run("CPU:0")
    if error_here and error_there:
        same = type(error_here) is type(error_there)
        text = str(error_there).replace("\n", " ")[:200]
        here = str(error_here).replace("\n", " ")[:200]
        return ("refused", text) if same else ("other_error", f"{type(error_here).__name__}: {here}, not "
                                                              f"{type(error_there).__name__}: {text}")
    if error_here:
        return "only_here", str(error_here).replace("\n", " ")[:300]
    if error_there:
        return "only_there", str(error_there).replace("\n", " ")[:300]
    if call.op in table_cases.DRAWN:
        same = [(a.dtype, a.shape) for a in here] == [(b.dtype, b.shape) for b in there]
        return ("random", "") if same else ("different", "shape or type")
    return compare(here, there)


# ---- all rows ----

def all_sets(definition, sets):
    """The types of every type attribute: those of the row, or all that TensorFlow's op takes."""
    import tensorflow as tf
    every = {}
    for attr in definition.attr:
        if attr.type == "type":
            every[attr.name] = sets.get(attr.name) or [tf.as_dtype(t).name for t in attr.allowed_values.list.type]
    return every


def wanted(sets):
    """Each type of each attribute."""
    return [(attr, name) for attr, types in sets.items() for name in types] or [(None, None)]


def check_row(row, definition, count):
    """Runs the calls of a row: {(attribute, type): list of (word, note, case)}. A type without a case gets the cases
    of other types, converted, and then those in which TensorFlow differs from the reference."""
    row = (row[0], row[1], all_sets(definition, row[2]))
    results = {key: [] for key in wanted(row[2])}
    fitting = [table_cases.fit(definition, case) for case in golden_cases(row[1], "tensorflow")]
    cases = table_cases.extra(row[0]) + sorted(fitting, key=size_of)
    for case in cases:
        run_case(results, row, definition, case, count)
    cases += [table_cases.fit(definition, case) for case in golden_cases(row[1], "numpy")]
    for attr, dtype in results:
        for case in cases:
            if not lacks(results[attr, dtype], 1):
                break
            run_case(results, row, definition, case, count)
            converted = convert(definition, case, attr, dtype) if attr else None
            if converted:
                run_case(results, row, definition, converted, count)
    return results


FAILURES = ("different", "only_here", "only_there", "other_error")
RAN = ("equal", "close", "random", "different")


def check_refusals(row, definition, count):
    """Runs calls that golden cases say are refused: a list of (word, note, case)."""
    results = []
    for case in golden_cases(row[1], "error"):
        try:
            name, inputs, attrs = table_cases.fit(definition, case)
            call = Call(definition, inputs, attrs)
        except (KeyError, TypeError, ValueError):
            continue
        if len(results) < count and all(call.types.get(attr) in types for attr, types in row[2].items()):
            results.append((*judge(call), name))
    return results


def lacks(calls, count):
    """Are there fewer calls than this that ran here and there?"""
    return sum(word in RAN for word, _, _ in calls) < count


def run_case(results, row, definition, case, count):
    name, inputs, attrs = case
    try:
        call = Call(definition, inputs, attrs)
    except ValueError:
        return
    if any(call.types.get(attr) not in types for attr, types in row[2].items()):
        return
    keys = [key for key in results if key[0] is None or call.types.get(key[0]) == key[1]]
    if not any(lacks(results[key], count) for key in keys):
        return
    word, note = judge(call)
    for key in keys:
        results[key].append((word, note, name))


def convert(definition, case, attr, dtype):
    """The case with another type of this attribute, and of those that must be equal to it."""
    import tensorflow as tf
    name, inputs, attrs = case
    same = table_cases.SAME_TYPES.get(definition.name, [attr])
    args = [arg.type_attr for arg in definition.input_arg]
    if any(arg.number_attr for arg in definition.input_arg):
        args = [args[0]] * (len(inputs) - len(args) + 1) + args[1:] if definition.input_arg[0].number_attr else None
    if args is None or len(args) != len(inputs):
        return None
    type_ = tf.as_dtype(dtype).as_numpy_dtype
    with np.errstate(all="ignore"):
        inputs = [array.astype(type_) if arg in same else array for arg, array in zip(args, inputs)]
    attrs = {**attrs, **{other: dtype for other in same if other not in args}}
    if attr not in args and attr not in attrs and attr not in same:
        attrs[attr] = dtype
    return f"{name} as {dtype}", inputs, attrs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin")
    parser.add_argument("--cases", type=int, default=2)
    parser.add_argument("--refusals", type=int, default=20)
    parser.add_argument("--only")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry
    if arguments.plugin:
        load(arguments.plugin)
    if not tf.config.list_physical_devices("GPU"):
        sys.exit("table_check: no GPU; the plug-in, or a device, is missing")
    tf.config.set_soft_device_placement(False)
    only = set(arguments.only.split(",")) if arguments.only else None
    counts, bad, missing, exercised = collections.Counter(), [], [], 0
    for row in read_rows():
        if only and row[0] not in only:
            continue
        results = check_row(row, op_def_registry.get(row[0]), arguments.cases)
        results["refusals", None] = check_refusals(row, op_def_registry.get(row[0]), arguments.refusals)
        for key, calls in results.items():
            label = f"{row[0]} {key[0]}={key[1]}" if key[0] else row[0]
            counts.update(word for word, _, _ in calls)
            if key[0] == "refusals":
                label = row[0]
            elif lacks(calls, 1):
                if not table_cases.cannot_run(row[0], key[1]):
                    missing.append(label)
            else:
                exercised += 1
            for word, note, case in calls:
                known = table_cases.known(row[0], key[1], word, note)
                if word in FAILURES and not known:
                    bad.append(f"{word}: {label}, {case}: {note}")
                elif arguments.list:
                    print(f"{word}: {label}, {case}: {note}")
    for line in bad:
        print(line)
    for label in missing:
        print(f"never ran: {label}")
    print(f"{exercised} rows and types ran, {len(missing)} never did; calls: "
          + ", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return 1 if bad or missing else 0


def load(path):
    """Loads a plug-in that is not installed."""
    from tensorflow.python.client import pywrap_tf_session
    pywrap_tf_session.TF_LoadPluggableDeviceLibrary(path)


if __name__ == "__main__":
    sys.exit(main())
