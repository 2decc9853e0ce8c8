#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/op_table.def and not_bridged.txt from two registries: TensorFlow's ops and kernels, and Gantry's ops.

    PYTHON generate_op_table.py --library build/release/lib/libgantry.so [--check]

PYTHON has TensorFlow, of the version that the table is made from, and no plug-in. --check writes nothing: it prints
the differences and exits with 1 for any, and with 77 for another TensorFlow.

A row is an op that both have by name, or that op_rules.py maps onto an op of Gantry. Each input, attribute
and output must have its counterpart. Otherwise the generator stops with the difference, and op_rules.py needs a
line. TensorFlow's own kernels for every device (DEFAULT) are left as they are: a kernel of ours would replace them."""
import argparse
import copy
import ctypes
import difflib
import functools
import os
import platform
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import op_classes  # noqa: E402
import op_rules  # noqa: E402

TYPES = {"float16": 19, "bfloat16": 14, "float32": 1, "float64": 2, "int8": 6, "int16": 5, "int32": 3, "int64": 9,
         "uint8": 4, "uint16": 17, "uint32": 22, "uint64": 23, "bool": 10, "complex64": 8}
LONG = {number: name.upper() for name, number in TYPES.items()}
SETS = {"the floating types": ["float16", "bfloat16", "float32", "float64"],
        "integers": ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
        "signed integers": ["int8", "int16", "int32", "int64"]}
SHORT = {19: "F16", 14: "BF16", 1: "F32", 2: "F64", 6: "I8", 5: "I16", 3: "I32", 9: "I64", 4: "U8", 17: "U16",
         22: "U32", 23: "U64", 10: "B8", 8: "C64"}
ORDER = list(SHORT)
C_SETS = {"FLOATING": {19, 14, 1, 2}, "INTEGERS": {6, 5, 3, 9, 4, 17, 22, 23}}
C_SETS["NUMERIC"] = C_SETS["FLOATING"] | C_SETS["INTEGERS"]
C_SETS["NUMERIC_BOOL"] = C_SETS["NUMERIC"] | {10}
C_SETS["ANY"] = C_SETS["NUMERIC_BOOL"] | {8}
INT32, RESOURCE = 3, 20
EACH_TYPE = -128  # in gantry_op_info_t.types: each tensor of the list has a type of its own
KINDS = {"bool": "BOOL", "int": "INT", "float": "FLOAT", "type": "TYPE", "shape": "SHAPE", "list(int)": "INTS",
         "string": "STRING"}


# ---- Gantry's registry ----

class Info(ctypes.Structure):
    """gantry_op_info_t of gantry/op.h."""
    _fields_ = [("struct_size", ctypes.c_uint32), ("name", ctypes.c_char_p), ("summary", ctypes.c_char_p),
                ("input_count", ctypes.c_size_t), ("output_count", ctypes.c_size_t), ("attr_count", ctypes.c_size_t),
                ("inputs", ctypes.POINTER(ctypes.c_char_p)), ("outputs", ctypes.POINTER(ctypes.c_char_p)),
                ("attrs", ctypes.POINTER(ctypes.c_char_p)), ("is_composed", ctypes.c_bool),
                ("part_count", ctypes.c_size_t), ("parts", ctypes.POINTER(ctypes.c_char_p)),
                ("host_inputs", ctypes.c_uint64), ("types", ctypes.POINTER(ctypes.c_int8)),
                ("has_data_shape", ctypes.c_bool), ("is_callable", ctypes.c_bool)]


class GantryOp:
    def __init__(self, info):
        self.name = info.name.decode()
        self.inputs = [info.inputs[i].decode() for i in range(info.input_count)]
        self.outputs = [info.outputs[i].decode() for i in range(info.output_count)]
        self.attrs = dict(info.attrs[i].decode().split(": ", 1) for i in range(info.attr_count))
        self.host = {name.rstrip("?") for i, name in enumerate(self.inputs) if info.host_inputs >> i & 1}
        names = list(self.attrs)
        types = info.types[:len(self.inputs) + len(self.outputs)]
        self.fixed_types = [-t if EACH_TYPE < t < 0 else None for t in types]
        self.type_attrs = [names[t] if t >= 0 else None for t in types]
        self.is_callable = info.is_callable

    def types(self, attr):
        """The numbers of the types of TYPES that a type attribute takes; None for an attribute of another kind."""
        text = self.attrs[attr]
        if not re.match(r"type\b", text):
            return None
        text = re.sub(r" = .*| \(required\)", "", text)
        if text == "type":
            return set(TYPES.values())
        names = []
        for part in re.split(r", | and ", text.removeprefix("type of ")):
            names += SETS.get(part, [part])
        return {TYPES[name] for name in names if name in TYPES}


def gantry_ops(path):
    library = ctypes.CDLL(path)
    library.gantry_op_count.restype = ctypes.c_size_t
    library.gantry_op_info.argtypes = [ctypes.c_size_t, ctypes.POINTER(Info)]
    ops = {}
    for index in range(library.gantry_op_count()):
        info = Info(struct_size=ctypes.sizeof(Info))
        if library.gantry_op_info(index, ctypes.byref(info)) != 0:
            sys.exit(f"gantry_op_info({index}) failed")
        op = GantryOp(info)
        ops[op.name] = op
    return ops


@functools.cache
def elementwise_ops():
    with open(os.path.join(HERE, "../../ops/elementwise.def"), encoding="utf-8") as file:
        return op_rules.ELEMENTWISE.union(re.findall(r"^GANTRY_ELEMENTWISE\((\w+)", file.read(), re.M))


# ---- TensorFlow's registry ----

class TensorFlowOp:
    def __init__(self, definition, kernels):
        self.name = definition.name
        self.definition = definition
        self.inputs = [a.name + ("..." if a.number_attr or a.type_list_attr else "") for a in definition.input_arg]
        self.outputs = [a.name for a in definition.output_arg]
        self.attrs = {a.name: a for a in definition.attr}
        self.lengths = {a.number_attr for a in definition.input_arg}
        self.kernels = kernels

    def allowed(self, attr):
        """The numbers of the types that the op takes, of those that Gantry has."""
        allowed = self.attrs[attr].allowed_values.list.type
        return set(allowed) & set(SHORT) if allowed else set(SHORT)

    def served(self, attr, devices):
        """The types for which TensorFlow has a kernel for one of the devices: all types, if a kernel is not bound
        to a type of this attribute."""
        served = set()
        for kernel in self.kernels:
            if kernel.device_type not in devices:
                continue
            bound = [set(c.allowed_values.list.type) for c in kernel.constraint if c.name == attr]
            served |= bound[0] if bound else set(SHORT)
        return served

    def arguments(self):
        return [a.name for a in list(self.definition.input_arg) + list(self.definition.output_arg)]

    def uses_types(self, types):
        """Has an input or output one of these types, whatever the attributes?"""
        return any(a.type in types for a in list(self.definition.input_arg) + list(self.definition.output_arg))

    def is_removed(self):
        """May graphs of this TensorFlow not have the op any more?"""
        return self.definition.HasField("deprecation")

    def has_cpu_kernel(self):
        return any(k.device_type in ("CPU", "DEFAULT") for k in self.kernels)


def tensorflow_ops():
    import tensorflow  # noqa: F401: registers the kernels
    from tensorflow.python.framework import kernels, op_def_registry
    by_op = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        by_op.setdefault(kernel.op, []).append(kernel)
    ops = {}
    for name in sorted(by_op):
        definition = op_def_registry.get(name)
        if definition is not None:
            ops[name] = TensorFlowOp(definition, by_op[name])
    return ops


# ---- rows ----

class Row:
    def __init__(self, tf, gantry, adapter):
        self.tf, self.gantry, self.adapter, self.arguments = tf.name, gantry, adapter, tf.arguments()
        self.types, self.attrs, self.host = [], [], []

    def copy(self, types):
        row = copy.copy(self)
        row.types = types
        return row

    def text(self):
        def fields():
            yield f'.op = "{self.tf}"'
            yield f'.gantry = "{self.gantry}"'
            if self.adapter:
                yield f".adapt = {self.adapter}"
            elif self.gantry in elementwise_ops():
                yield ".is_elementwise = true"
            if self.tf in op_rules.BEFORE_TENSORFLOW:
                yield ".priority = 1"
            types = [f'{{"{attr}", {set_text(numbers)}}}'
                     for attr, numbers in self.types]
            attrs = [f'{{"{attr[0]}", GANTRY_ATTR_{attr[1]}' + (f', "{attr[2]}"}}' if len(attr) > 2 else "}")
                     for attr in self.attrs]
            host = [f'"{name}"' for name in self.host]
            for name, values in (("types", types), ("attrs", attrs), ("host_args", host)):
                if values:
                    yield f".{name} = {{{', '.join(values)}}}"
        lines = ["{"]
        for field in fields():
            if len(lines[-1]) + len(field) > 116:
                lines.append(" ")
            lines[-1] += field + ", "
        return "\n".join(line.rstrip() for line in lines).rstrip(",") + "},"


def set_text(numbers):
    """A set of types as an expression of C: F32 | F64, NUMERIC & ~I32."""
    for name, members in C_SETS.items():
        missing = members - numbers
        if numbers <= members and len(missing) < 2:
            return name + "".join(f" & ~{SHORT[t]}" for t in missing)
    return " | ".join(SHORT[t] for t in ORDER if t in numbers)


def gantry_name(name, gantry):
    """Gantry's op of the same meaning, or None."""
    if name in op_rules.ALIASES:
        return op_rules.ALIASES[name]
    if name in gantry:
        return name
    base = re.sub(r"V\d$", "", name)
    return base if base in gantry else None


def match_inputs(tf, op, row):
    """Stops unless TensorFlow's inputs are Gantry's, in order; the last may be left out where Gantry says so."""
    rule = op_rules.RENAMED_INPUTS.get(tf.name, {})
    theirs = [rule.get(name, name) for name in tf.inputs]
    ours = [name.rstrip("?") for name in op.inputs]
    if theirs != ours[:len(theirs)] or any(not name.endswith("?") for name in op.inputs[len(theirs):]):
        sys.exit(f"{tf.name}: inputs {tf.inputs} of TensorFlow, {op.inputs} of Gantry; op_rules.py has no rule")
    for arg, number in zip(tf.definition.input_arg, op.fixed_types):
        if number and arg.type != number:
            sys.exit(f"{tf.name}: {arg.name} is of a type that op_rules.py does not explain")
    row.host = [name.removesuffix("...") for name, our in zip(tf.inputs, theirs) if our in op.host]


def match_attrs(tf, op, row):
    fixed = op_rules.FIXED_ATTRS.get(tf.name, {})
    for name, attr in tf.attrs.items():
        if name in op.attrs:
            kind = KINDS[attr.type]
            follows = name in tf.lengths or (kind == "TYPE" and any(a.type_attr == name
                                                                    for a in tf.definition.input_arg))
            if not follows:
                row.attrs.append((name, kind))
        elif row.adapter and name not in tf.lengths and attr.type != "type":
            row.attrs.append((name, KINDS[attr.type]))
        elif name not in op_rules.IGNORED_ATTRS.get(tf.name, {}) and name not in tf.lengths and attr.type != "type":
            sys.exit(f"{tf.name}: Gantry's {op.name} has no attribute {name}; op_rules.py has no rule")
    for name, value in fixed.items():
        if name not in op.attrs or name in tf.attrs:
            sys.exit(f"{tf.name}: op_rules.py fixes {name}, which is no attribute of Gantry's {op.name} alone")
        row.attrs.append((name, "STRING", value))


def type_sets(tf, op):
    """For each type attribute, the types that both have, but for those of TensorFlow's own kernels for all devices.
    None: no type is left.
    Left out: attributes whose types are all of TensorFlow's, unless the attribute decides about the kernel."""
    attrs = [name for name, attr in tf.attrs.items() if attr.type == "type"]
    main = next((name for name in op_rules.MAIN_TYPES if name in attrs), attrs[0] if attrs else None)
    if main is None:
        return [] if not tf.served(None, ("DEFAULT", "GPU")) else None
    sets = []
    for name in attrs:
        ours = op.types(op_rules.type_attr(tf.name, name))
        both = tf.allowed(name) & ours & tf.served(name, ("CPU",)) - set(op_rules.WITHOUT_TYPES.get(tf.name, ()))
        if name == main and tf.name not in op_rules.BEFORE_TENSORFLOW:
            both -= tf.served(name, ("DEFAULT", "GPU"))
        if not both:
            return None
        if both != set(tf.attrs[name].allowed_values.list.type) or tf.name in op_rules.SAME_TYPES:
            sets.append((name, both))
    return sets


def split_row(row, sets):
    """Rows for the sets of types: one for all, but one for each type where several attributes must agree, and one
    in host memory where TensorFlow keeps int32 there."""
    names = [name for name, _ in sets]
    if row.tf in op_rules.SAME_TYPES:
        both = set.intersection(*(types for _, types in sets))
        return [row.copy([(name, {t}) for name in names]) for t in ORDER if t in both]
    if row.tf not in op_rules.INT32_ON_HOST:
        return [row.copy(sets)]
    main = next(name for name in op_rules.MAIN_TYPES if name in names)
    on_host = row.copy([(name, {INT32} if name == main else types) for name, types in sets])
    on_host.host = row.arguments
    return [row.copy([(name, types - {INT32} if name == main else types) for name, types in sets]), on_host]


def further_row(tf, gantry):
    """The row of the second op of Gantry that serves this op."""
    name, types = op_rules.FURTHER[tf.name]
    row = Row(tf, name, None)
    match_inputs(tf, gantry[name], row)
    match_attrs(tf, gantry[name], row)
    for attr, numbers in types.items():
        if not numbers <= gantry[name].types(attr) & tf.allowed(attr) & tf.served(attr, ("CPU",)):
            sys.exit(f"{tf.name}: {name} or TensorFlow has not all types of {attr} in FURTHER of op_rules.py")
    return row.copy(list(types.items()))


def make_rows(gantry, tensorflow):
    rows = []
    for tf in tensorflow.values():
        name = gantry_name(tf.name, gantry)
        if not name or tf.name in op_rules.SKIPPED or not tf.has_cpu_kernel():
            continue
        if tf.is_removed() or tf.uses_types({RESOURCE}) or not gantry[name].is_callable:
            continue
        adapter, host = op_rules.ADAPTERS.get(tf.name, (None, []))
        op, row = gantry[name], Row(tf, name, adapter)
        if not adapter:
            match_inputs(tf, op, row)
        else:
            row.host = host
        match_attrs(tf, op, row)
        if tf.name in op_rules.ON_HOST:
            row.host = tf.arguments()
        sets = type_sets(tf, op)
        if sets is not None:
            rows += split_row(row, sets)
        if tf.name in op_rules.FURTHER:
            rows.append(further_row(tf, gantry))
    return rows


# ---- texts ----

def table_text(rows, version):
    define = "".join(f"#define {name} GANTRY_DTYPE_BIT(GANTRY_{LONG[number]})\n" for number, name in SHORT.items())
    for name, members in C_SETS.items():
        define += f"#define {name} ({' | '.join(SHORT[t] for t in ORDER if t in members)})\n"
    undefine = "".join(f"#undef {name}\n" for name in [*SHORT.values(), *C_SETS])
    head = f"""/* SPDX-License-Identifier: Apache-2.0 */
/* Made by generate_op_table.py from TensorFlow {version} and Gantry: {len(rows)} kernels of {len({r.tf for r in rows})} ops. Do not edit;
 * op_rules.py has the rules. op_table.h explains the fields.
 *
 * If all arguments of a row are host_args, Gantry's CPU computes. TensorFlow's kernels for all devices have no row:
 * a kernel of ours would replace them.
 *
 * No include guard: included once by the table. */
"""
    return head + define + "\n".join(row.text() for row in rows) + "\n" + undefine


def compare(path, text):
    """Prints the difference between a file and its new text. Is there none?"""
    with open(path, encoding="utf-8") as file:
        old = file.read()
    for line in difflib.unified_diff(old.splitlines(), text.splitlines(), path, "made now", lineterm="", n=0):
        print(line)
    return old == text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    import tensorflow as tf
    here = f"{tf.__version__} for {platform.machine()}"
    if arguments.check and here != op_rules.TENSORFLOW:
        print(f"SKIP: the table is made from TensorFlow {op_rules.TENSORFLOW}, and this is {here}")
        return 77
    gantry, tensorflow = gantry_ops(arguments.library), tensorflow_ops()
    if tensorflow["MatMul"].served("T", ("GPU",)):
        sys.exit("generate_op_table.py: this Python's TensorFlow has kernels for GPUs, by a plug-in or CUDA, which "
                 "hide its own; run it by a Python with tensorflow-cpu alone")
    rows = make_rows(gantry, tensorflow)
    files = {"src/op_table.def": table_text(rows, tf.__version__),
             "not_bridged.txt": op_classes.text(rows, tensorflow, tf.__version__, op_rules.SKIPPED)}
    same = True
    for name, text in files.items():
        path = os.path.join(HERE, name)
        if arguments.check:
            same = compare(path, text) and same
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    print(f"{len(rows)} ops of TensorFlow {tf.__version__}, by {len({r.gantry for r in rows})} of Gantry's "
          f"{len(gantry)}: {'the files differ' if not same else 'as in the files' if arguments.check else 'written'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
