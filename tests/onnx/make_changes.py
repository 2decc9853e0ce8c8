#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models that must be refused: stored cases of one node, each with one change.

    make_changes.py FOLDER                  the changed cases that changes.txt names, a folder for each
    make_changes.py FOLDER --all            every change of the first cases of each op and operator set
    make_changes.py --list LOG              what node_tests prints of these as changes.txt: a case for each reason of an op

A change leaves out an input or an attribute, gives an input another dimension in front or one dimension only, or the
same bytes as elements of another type. Needs no package: the cases' models are read and written as fields.
"""
import argparse
import ast
import io
import os
import re
import struct
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "changes.txt")
SETS = ("sample", "versions", "contrib", "moves", "learned")
HEAD = ('# SPDX-License-Identifier: Apache-2.0\n# Cases of make_changes.py that must be refused, "NAME: REASON" a line. '
        "tests/onnx/make_changes.py says how to write it again.\n")
# Element types that change into each other, with the names that cases and NumPy have for them.
TYPES = {1: ("float32", "<f4"), 6: ("int32", "<i4"), 7: ("int64", "<i8"), 11: ("float64", "<f8"), 2: ("uint8", "|u1"), 9: ("bool", "|b1"),
         10: ("float16", "<f2"), 4: ("uint16", "<u2")}
OTHER = {1: 6, 6: 1, 7: 11, 11: 7, 9: 2, 10: 4}
MOST_OF_OP = 4
# Words of libgantry's own ops, which its tests have, and those of all rows, for which one case is enough.
OF_CORE = r"cannot compute |value for attr |^\w+: |^\w+ must have |is not compatible|^node |^index \d+ of a"
OF_ALL = r"it has \d+ (in|out)puts|input \d+ is left out|axis -?\d+ of rank|\w+ has elements of \w+; integers|\w+ has \d+ dimensions; a vector"


# ---- protobuf ----
def take_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def put_varint(value):
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def fields_of(data):
    """[number, wire type, value] of each field; the value of a message is its bytes."""
    at, fields = 0, []
    while at < len(data):
        key, at = take_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = take_varint(data, at)
        else:
            size = 8 if kind == 1 else 4
            if kind == 2:
                size, at = take_varint(data, at)
            value, at = data[at:at + size], at + size
        fields.append([key >> 3, kind, value])
    return fields


def bytes_of(fields):
    out = bytearray()
    for number, kind, value in fields:
        out += put_varint(number << 3 | kind)
        out += put_varint(value) if kind == 0 else (put_varint(len(value)) if kind == 2 else b"") + value
    return bytes(out)


def first(fields, number, default=b""):
    return next((value for key, _, value in fields if key == number), default)


def inside(fields, number, change):
    """Changes the fields of a message that is a field."""
    for field in fields:
        if field[0] == number:
            inner = fields_of(field[2])
            change(inner)
            field[2] = bytes_of(inner)
            return


def changed_dims(fields, change):
    """The dimensions of a tensor, packed or not."""
    dims = []
    for number, kind, value in fields:
        at = 0
        if number == 1 and kind == 0:
            dims.append(value)
        while number == 1 and kind == 2 and at < len(value):
            size, at = take_varint(value, at)
            dims.append(size)
    fields[:] = [[1, 0, size] for size in change(dims)] + [field for field in fields if field[0] != 1]


# ---- cases ----
class Model:
    """A model of one node."""

    def __init__(self, data):
        self.fields = fields_of(data)
        self.graph = fields_of(first(self.fields, 7))
        nodes = [field for field in self.graph if field[0] == 1]
        self.is_single = len(nodes) == 1 and not first(self.fields, 25)
        self.node = nodes[0] if self.is_single else None
        self.parts = fields_of(self.node[2]) if self.node else []

    def opset(self):
        domain, newest = first(self.parts, 7), 0
        for number, _, value in self.fields:
            entry = fields_of(value) if number == 8 else []
            if number == 8 and first(entry, 1) == domain:
                newest = first(entry, 2, 0)
        return first(self.parts, 4).decode(), domain.decode(), newest

    def inputs(self):
        return [value.decode() for number, _, value in self.parts if number == 1]

    def attributes(self):
        return [first(fields_of(value), 1).decode() for number, _, value in self.parts if number == 5]

    def fed(self):
        fixed = {first(fields_of(value), 8) for number, _, value in self.graph if number == 5}
        names = [first(fields_of(value), 1) for number, _, value in self.graph if number == 11]
        return [name.decode() for name in names if name not in fixed]

    def find(self, name):
        """The graph's field of an input, an initializer or both."""
        return [field for field in self.graph if field[0] in (5, 11) and first(fields_of(field[2]), 8 if field[0] == 5 else 1) == name.encode()]

    def data(self):
        self.node[2] = bytes_of(self.parts)
        for field in self.fields:
            if field[0] == 7:
                field[2] = bytes_of(self.graph)
        return bytes_of(self.fields)


def array_of(data):
    """The type, the shape and the bytes of an .npy file."""
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + size].decode("latin-1"))
    return head["descr"], head["shape"], head["fortran_order"], data[10 + size:]


def npy_of(descr, shape, data):
    head = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def changes_of(model):
    yield from (f"without_input_{i}" for i, name in enumerate(model.inputs()) if name)
    yield from (f"without_{name}" for name in model.attributes())
    for i, name in enumerate(model.inputs()):
        if name:
            yield from (f"{what}_{i}" for what in ("wide", "flat", "type"))


def change_rank(fields, is_wide):
    changed = (lambda dims: [1, *dims]) if is_wide else (lambda dims: [flat_size(dims)])
    changed_dims(fields, changed)


def flat_size(dims):
    size = 1
    for dim in dims:
        size *= dim
    return size


def change_type(fields, where):
    """The element type, field `where` of a tensor or of a tensor's type; False: it has no other one."""
    for field in fields:
        if field[0] == where and field[2] in OTHER:
            field[2] = OTHER[field[2]]
            return True
    return False


def typed(field, change):
    """Changes the type of an input's value."""
    fields = fields_of(field[2])
    inside(fields, 2, lambda kind: inside(kind, 1, change))
    field[2] = bytes_of(fields)


def changed_case(files, change):
    """The files of a case with a change; None: it cannot be made."""
    files = dict(files)
    model = Model(files["model.onnx"])
    lines = files["case.txt"].decode().split("\n")
    if change.startswith("without_input_"):
        at = int(change.rsplit("_", maxsplit=1)[1])
        fields = [field for field in model.parts if field[0] == 1]
        fields[at][2] = b""
    elif change.startswith("without_"):
        name = change[len("without_"):]
        model.parts = [field for field in model.parts if field[0] != 5 or first(fields_of(field[2]), 1).decode() != name]
    else:
        what, at = change.rsplit("_", maxsplit=1)
        name = model.inputs()[int(at)]
        fed = model.fed()
        for field in model.find(name):
            if field[0] == 5:
                tensor = fields_of(field[2])
                if what == "type" and (not first(tensor, 9) or not change_type(tensor, 2)):
                    return None
                if what != "type":
                    change_rank(tensor, what == "wide")
                field[2] = bytes_of(tensor)
            elif what == "type":
                made = []
                typed(field, lambda kind: made.append(change_type(kind, 1)))
                if made != [True]:
                    return None
            else: # no shape is said
                typed(field, lambda kind: kind.__setitem__(slice(None), [entry for entry in kind if entry[0] != 2]))
        if name in fed:
            key = f"in_{fed.index(name)}.npy"
            if key not in files:
                return None
            descr, shape, turned, data = array_of(files[key])
            if turned:
                return None
            if what == "type":
                other = [TYPES[OTHER[number]] for number, (_, known) in TYPES.items() if known == descr and number in OTHER]
                if not other:
                    return None
                descr = other[0][1]
                places = [i for i, line in enumerate(lines) if line.startswith("in ")]
                lines[places[fed.index(name)]] = f"in {other[0][0]}"
            else:
                shape = (1, *shape) if what == "wide" else (flat_size(shape),)
            files[key] = npy_of(descr, shape, data)
    files["model.onnx"] = model.data()
    files["case.txt"] = "\n".join(lines).encode()
    return files


def read_cases():
    """The files of each case, by "SET.CASE"."""
    cases = {}
    for kind in SETS:
        with tarfile.open(os.path.join(HERE, f"{kind}.tar.gz")) as tar:
            for entry in tar:
                if entry.isfile():
                    case, name = entry.name.split("/")[-2:]
                    cases.setdefault(f"{kind}.{case}", {})[name] = tar.extractfile(entry).read()
    return cases


def all_names(cases):
    counts = {}
    for name, files in cases.items():
        model = Model(files["model.onnx"])
        if ".refused_" in name or not model.is_single or b"in none" in files["case.txt"]:
            continue
        key = (*model.opset(), len(model.inputs()))
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= MOST_OF_OP:
            yield from (f"{name}--{change}" for change in changes_of(model))


def listed_names():
    with open(LIST, encoding="utf-8") as file:
        return [line.split(": ")[0] for line in file if not line.startswith("#")]


def write_case(folder, name, files):
    os.makedirs(os.path.join(folder, name), exist_ok=True)
    for key, data in files.items():
        with open(os.path.join(folder, name, key), "wb") as file:
            file.write(data)


def write_list(log):
    seen, lines = set(), []
    with open(log, encoding="utf-8") as file:
        for line in sorted(file):
            found = re.match(r"REFUSED (\S+) \((.*?)\): .*?opset \d+\): (.*)", line)
            if not found:
                continue
            name, op, reason = found.groups()
            if re.search(OF_CORE, reason):
                continue
            text = re.sub(r"[-\d.]+|\[.*?\]", "#", reason)
            key = ("" if re.match(OF_ALL, reason) else op, text)
            if key not in seen:
                lines.append(f"{name}: {reason}\n")
            seen.add(key)
    with open(LIST, "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(lines))
    print(f"{len(lines)} lines")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", metavar="LOG")
    given = parser.parse_args()
    if given.list:
        return write_list(given.list)
    if not given.folder:
        parser.error("a folder is needed")
    cases = read_cases()
    count = 0
    for name in all_names(cases) if given.all else listed_names():
        case, change = name.split("--")
        files = changed_case(cases[case], change)
        if files:
            write_case(given.folder, name, files)
            count += 1
    print(f"{count} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
