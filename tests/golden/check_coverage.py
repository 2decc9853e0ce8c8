#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise (golden_coverage): Every op has golden cases of each type, edge and refusal, or a reason why not.

Lists holes of the golden cases: a type of an op, an edge of a type, no elements, an
odd size, rank 0 or 8, broadcasting, an error.

The ops' types come from ops/ and src/op (a C preprocessor expands the rows), the cases from cases/*.json.
coverage_exceptions.txt lists the holes that cannot be filled, with reasons. Exit code 1 for any other hole, and for an
exception that is not a hole."""
import fnmatch
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True

import golden_form

HERE = os.path.dirname(os.path.abspath(__file__))
OPS = os.path.join(HERE, "..", "..", "src", "op")
FLOAT_BITS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}   # exponent, fraction
INTEGER_BITS = {f"{sign}int{bits}": (bits, sign == "") for sign in ("", "u") for bits in (8, 16, 32, 64)}
BINARY = ("gantry__infer_binary", "gantry__infer_equal", "gantry__infer_select")


# ---- inputs of ops ----

def read_source(name, sets):
    with open(os.path.join(OPS, name), encoding="ascii") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    text = re.sub(r'^#include "op/(\w+\.def)"$', lambda m: read_rows(sets) if m[1] == "op_rows.def" else read_source(m[1], sets), text, flags=re.M)
    return text.replace(r'\"', "")


def read_rows(sets):
    """The rows of ops/ as OP(...): op_rows.def expands them, with the build's masks of each set (cmake/gantry_types.cmake)."""
    one = [f"-DGANTRY_{name}_IS_ONE(yes,no)={'yes' if len(types) == 1 else 'no'}" for name, types in sets.items()]
    command = [os.environ.get("CC", "cc"), "-E", "-P", "-x", "c", *one, "-I", os.path.join(OPS, "..", ".."), os.path.join(OPS, "op_rows.def")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def type_sets():
    """{"NUMERIC": {"float16", ...}, ...} from the rows of ops/types.def."""
    with open(os.path.join(OPS, "..", "..", "ops", "types.def"), encoding="ascii") as file:
        text = file.read()
    names = {short: {constant.lower()} for short, constant in re.findall(r"^GANTRY_ELEMENT_TYPE\((\w+), (\w+),", text, re.M)}
    sets = {}
    for name, members in re.findall(r'^GANTRY_TYPE_SET\((\w+), "[^"]*", ([\w ]+)\)', text, re.M):
        sets[name] = set().union(*(names.get(m) or sets[m] for m in members.split()))
    return sets


def calls(text):
    """NAME(...) NAME(...): each name with its arguments, split at the commas that no bracket or string holds."""
    found, at = [], 0
    while match := re.compile(r"\s*(\w+)\(").match(text, at):
        depth, quoted, start, at, arguments = 1, False, match.end(), match.end(), []
        while depth:
            c = text[at]
            quoted ^= c == '"'
            depth += 0 if quoted else {"(": 1, ")": -1}.get(c, 0)
            if not quoted and (depth == 0 or depth == 1 and c == ","):
                arguments.append(text[start:at].strip())
                start = at + 1
            at += 1
        found.append((match[1], arguments))
    return found


class Op:
    def __init__(self, arguments, sets):
        self.name, _, flags, self.infer, inputs, outputs, attributes = arguments
        # names that begin with "_" are the core's own; unit tests compare them with the ops that they stand for; an op of
        # NCCL is one call of several cards
        self.skipped = "GANTRY__OP_VARIABLE" in flags or self.name in ("Const", "NcclAllReduce") or self.name.startswith("_")
        self.inputs = [(kind, a[0], a[1]) for kind, a in calls(inputs)]
        self.outputs = [(kind, a[0], a[1]) for kind, a in calls(outputs)]
        self.kinds = {a[0]: kind for kind, a in calls(attributes)}
        self.attributes = [(a[0], sets.get(a[1], set()) if kind.startswith("TYPE") else None) for kind, a in calls(attributes)]

    def types(self, type_text):
        """The types of an input or output: FIXED(BOOL), or the number of an attribute. Lists of EACH_TYPE have no set."""
        if type_text == "EACH_TYPE":
            return set()
        fixed = re.match(r"FIXED\((\w+)\)", type_text)
        return {fixed[1].lower()} if fixed else self.attributes[int(type_text)][1]

    def arguments_of(self, case):
        """The case's inputs, each with its definition."""
        inputs, at = case["inputs"], 0
        for i, (kind, name, type_text) in enumerate(self.inputs):
            count = len(inputs) - len(self.inputs) + 1 if kind == "LIST_IN" else 1
            for tensor in inputs[at:at + count]:
                yield kind, name, type_text, tensor
            at += count


def read_ops():
    sets = type_sets()
    return [Op(arguments, sets) for kind, arguments in calls(read_source("op_definitions.def", sets)) if kind == "OP"]


# ---- coverage of a case ----

# Types that kernels move as bits: a case of the twin shows them, too. tests/unit/support/float8_case.h and
# complex128_case.h, in which the halves of an element are the twin, compare both.
MOVED_AS = {"float8_e4m3fn": "uint8", "float8_e5m2": "uint8", "complex128": "int64"}


def elements(tensor):
    """The elements as unsigned integers, each once."""
    dtype, _, data = golden_form.read_tensor(tensor["text"])
    size = golden_form.SIZES[dtype]
    return {int.from_bytes(data[i:i + size], "little") for i in range(0, len(data), size)}


def float_kinds(kind, values):
    exponent_bits, fraction_bits = FLOAT_BITS[kind]
    exponents, found = (1 << exponent_bits) - 1, set()
    for value in values:
        exponent, fraction = value >> fraction_bits & exponents, value & (1 << fraction_bits) - 1
        negative = value >> (exponent_bits + fraction_bits)
        if exponent == exponents:
            found.add("nan" if fraction else "infinity")
        elif exponent == 0:
            found.add("denormal" if fraction else "-0" if negative else "0")
    return found & {"nan", "infinity", "denormal", "-0"}


def integer_kinds(kind, values):
    bits, signed = INTEGER_BITS[kind]
    top = (1 << bits - signed) - 1
    return {"highest"} & {"highest" if top in values else ""} | ({"lowest"} if signed and top + 1 in values else set())


class Seen:
    """The coverage of one op's cases: types by type attribute, and values and shapes of data inputs."""

    def __init__(self, op, cases):
        self.types, self.kinds, self.ranks, self.errors = {}, {}, set(), 0
        self.empty = self.odd = False
        self.broadcast = set()
        for case in cases:
            if "error" in case:
                self.errors += 1
            else:
                self.add(op, case)

    def add(self, op, case):
        listed = [(t, tensor) for _, _, t, tensor in op.arguments_of(case)]
        listed += list(zip([t for kind, _, t in op.outputs for _ in (range(64) if kind == "LIST_OUT" else range(1))], case["outputs"]))
        for type_text, tensor in listed:
            self.types.setdefault(type_text, set()).add(tensor["dtype"])
        for name, value in case.get("attrs", {}).items():
            if isinstance(value, dict) and "type" in value:
                self.types.setdefault(name, set()).add(value["type"])
        data = [(name, tensor) for kind, name, _, tensor in op.arguments_of(case) if kind in ("IN", "LIST_IN")]
        for name, tensor in data:
            kind = tensor["dtype"]
            if kind in FLOAT_BITS:
                self.kinds.setdefault((name, kind), set()).update(float_kinds(kind, elements(tensor)))
            elif kind in INTEGER_BITS:
                self.kinds.setdefault((name, kind), set()).update(integer_kinds(kind, elements(tensor)))
        for tensor in [t for _, t in data] + case["outputs"]:
            self.ranks.add(len(tensor["shape"]))
            self.empty |= 0 in tensor["shape"]
            self.odd |= any(n % 2 and n > 1 for n in tensor["shape"])
        if op.infer in BINARY and len(data) > 1:
            out = case["outputs"][0]["shape"]
            small = [i for i, (_, t) in enumerate(data) if t["shape"] != out]
            self.broadcast.update(small if len(small) < len(data) else ["all"])


def holes(op, cases):
    """The holes as words: "type T int8", "value x float32 nan", ..."""
    seen = Seen(op, cases)
    for i, (name, types) in enumerate(op.attributes):
        shown = seen.types.get(str(i), set()) | seen.types.get(name, set())
        if types and MOVED_AS.keys() <= types and "complex64" in types:
            shown |= {moved for moved, twin in MOVED_AS.items() if twin in shown}
        yield from (f"type {name} {t}" for t in sorted((types or set()) - shown))
    for kind, name, type_text in op.inputs:
        if kind not in ("IN", "LIST_IN"):
            continue
        for t in sorted(op.types(type_text)):
            wanted = (["-0", "denormal", "infinity", "nan"] if t in FLOAT_BITS else
                      ["highest", "lowest"][:1 + INTEGER_BITS[t][1]] if t in INTEGER_BITS else [])
            yield from (f"value {name} {t} {w}" for w in wanted if w not in seen.kinds.get((name, t), ()))
    if not seen.empty:
        yield "empty"
    if not seen.odd:
        yield "odd"
    yield from (f"rank {r}" for r in (0, 8) if r not in seen.ranks)
    if op.infer in BINARY:
        yield from (f"broadcast {i}" for i in [*range(len(op.inputs)), "all"] if i not in seen.broadcast)
    if not seen.errors:
        yield "error"


# ---- the check ----

def read_cases(path):
    """The file's cases; a tensor has its text, its type and its shape."""
    cases = golden_form.read_file(path)["cases"]
    for case in cases:
        for key in ("inputs", "outputs"):
            heads = [(text, golden_form.read_head(text)) for text in case[key]]
            case[key] = [{"text": text, "dtype": dtype, "shape": shape} for text, (dtype, shape, _) in heads]
    return cases


def read_exceptions():
    """[(ops, patterns of holes)]; a line is: ops | holes, separated by commas | the reason"""
    with open(os.path.join(HERE, "coverage_exceptions.txt"), encoding="ascii") as file:
        lines = [line.split("|") for line in file if line.strip() and not line.startswith("#")]
    return [(ops.split(), [h.strip() for h in found.split(",")]) for ops, found, reason in lines if reason.strip()]


def main():
    exceptions, used, missing, count = read_exceptions(), set(), [], 0
    for op in read_ops():
        path = os.path.join(HERE, "cases", op.name + ".json")
        if op.skipped:
            continue
        if not os.path.exists(path):
            missing.append(f"{op.name}: there is no {path}")
            continue
        cases = read_cases(path)
        count += len(cases)
        for hole in holes(op, cases):
            excused = [(op.name, p) for ops, patterns in exceptions for p in patterns if op.name in ops and fnmatch.fnmatch(hole, p)]
            used.update(excused)
            if not excused:
                missing.append(f"{op.name}: no case of: {hole}")
    missing += [f"coverage_exceptions.txt: {op} has a case of: {pattern}, or does not exist" for ops, patterns in exceptions
                for op in ops for pattern in patterns if (op, pattern) not in used]
    print("\n".join(missing) if missing else f"{count} cases have no hole")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
