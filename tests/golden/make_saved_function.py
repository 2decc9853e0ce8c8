#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/saved_function_0_1.safetensors, a saved function of format 1, from the description of the format
in src/function/saved/saved_format.h, without the library: every later library must load it. tests/unit/function/
test_saved_golden.c has what it computes. The file never changes; a new format gets a file of its own.

    def f(x, y):                            # x: float32 [2, 3]; y: float32, any sizes
        steps += 1
        h = relu(x @ kernel + bias)         # kernel: a variable; bias, a constant in the graph
        h = while max(h) > 4: h * 0.5
        s = cond(steps > 1.5, h + offset, h - offset)         # offset: a constant of 80 bytes
        return s, y + 1, uniform of a stream

saved_joined_0_1.safetensors is of format 2: products of the rows of a float32 [2, 3], by a node whose body multiplies.
"""
import json
import pathlib
import struct

FLOAT, INT32, UINT64, UINT8 = 1, 3, 23, 4
CONSTANT, OP, READ, ASSIGN, CASE, WHILE, DRAW, JOIN = 1, 2, 3, 4, 5, 6, 7, 8


def attr_kinds():
    header = pathlib.Path(__file__).parents[2] / "include/gantry/abi_types.h"
    kinds = {}
    for line in header.read_text().splitlines():
        words = line.replace(",", " ").split()
        if len(words) > 2 and words[0].startswith("GANTRY_ATTR_") and words[1] == "=":
            kinds[words[0][12:]] = int(words[2])
    return kinds


KIND = attr_kinds()


def u8(n): return struct.pack("<B", n)
def u32(n): return struct.pack("<I", n)
def u64(n): return struct.pack("<Q", n)
def i64(n): return struct.pack("<q", n)
def text(s): return struct.pack("<H", len(s.encode())) + s.encode() + b"\0"
def typed(dtype, shape): return u8(dtype) + u8(len(shape)) + b"".join(i64(d) for d in shape)
def listed(values): return u32(len(values)) + b"".join(u32(v) for v in values)
def floats(*numbers): return struct.pack(f"<{len(numbers)}f", *numbers)


class Writer:
    def __init__(self):
        self.ops = {}
        self.next_value = 0

    def values(self, count):
        first = self.next_value
        self.next_value += count
        return first

    def body(self, name, inputs, make):
        """make(input values) gives the rows and (name, value) of the outputs."""
        first = self.values(len(inputs))
        rows, outputs = make(*range(first, first + len(inputs)))
        out = text(name) + u8(0) + u32(len(inputs)) + b"".join(text(n) + typed(t, s) for n, t, s in inputs)
        out += u32(len(outputs)) + b"".join(text(n) + u32(v) for n, v in outputs)
        return out + u32(len(rows)) + b"".join(rows)

    def op(self, rows, name, op, inputs, attrs=()):
        number = self.ops.setdefault(op, (len(self.ops), [a for a, _, _ in attrs]))[0]
        names = self.ops[op][1]
        row = u8(OP) + u8(0) + text(name) + u32(number) + listed(inputs) + u8(len(attrs))
        for attr, kind, value in attrs:
            row += u8(names.index(attr)) + u8(KIND[kind]) + i64(value)
        rows.append(row)
        return self.values(1)

    def scalar(self, rows, name, number):
        rows.append(u8(CONSTANT) + u8(8) + text(name) + typed(FLOAT, []) + floats(number))
        return self.values(1)


w = Writer()


def condition(h):
    rows = []
    rows.append(u8(CONSTANT) + u8(8) + text("axes") + typed(INT32, [2]) + struct.pack("<2i", 0, 1))
    axes = w.values(1)
    top = w.op(rows, "top", "Max", [h, axes])
    return rows, [("", w.op(rows, "goes_on", "Greater", [top, w.scalar(rows, "four", 4.0)]))]


def halve(h):
    rows = []
    return rows, [("", w.op(rows, "half", "Mul", [h, w.scalar(rows, "by", 0.5)]))]


def f(x, y):
    rows = []
    one = w.scalar(rows, "one", 1.0)
    rows.append(u8(ASSIGN) + u8(0) + text("count") + u32(1) + u8(1) + u32(one))
    rows.append(u8(READ) + u8(0) + text("kernel/read") + u32(0))
    kernel = w.values(1)
    product = w.op(rows, "product", "MatMul", [x, kernel], [("transpose_a", "BOOL", 0), ("transpose_b", "BOOL", 0)])
    rows.append(u8(CONSTANT) + u8(8) + text("bias") + typed(FLOAT, [4]) + floats(1, 0, -1, 0.5))
    bias = w.values(1)
    h = w.op(rows, "relu", "Relu", [w.op(rows, "sum", "Add", [product, bias])])
    bodies = [w.body("condition", [("h", FLOAT, [2, 4])], condition), w.body("body", [("h", FLOAT, [2, 4])], halve)]
    rows.append(u8(WHILE) + u8(0) + text("halving") + listed([h]) + u64(100) + b"".join(bodies))
    h = w.values(1)
    rows.append(u8(READ) + u8(0) + text("steps/read") + u32(1))
    steps = w.values(1)
    later = w.op(rows, "later", "Greater", [steps, w.scalar(rows, "once", 1.5)])
    rows.append(u8(CONSTANT) + u8(0) + text("offset") + u32(2))
    offset = w.values(1)
    begin = struct.pack("<2i", 0, 0)
    rows.append(u8(CONSTANT) + u8(8) + text("begin") + typed(INT32, [2]) + begin)
    start = w.values(1)
    rows.append(u8(CONSTANT) + u8(8) + text("size") + typed(INT32, [2]) + struct.pack("<2i", 2, 4))
    piece = w.op(rows, "piece", "Slice", [offset, start, w.values(1)])

    def added():
        inner = []
        return inner, [("", w.op(inner, "added", "Add", [h, piece]))]

    def taken():
        inner = []
        return inner, [("", w.op(inner, "taken", "Sub", [h, piece]))]

    bodies = [w.body("then", [], added), w.body("else", [], taken)]
    rows.append(u8(CASE) + u8(0) + text("choice") + listed([later]) + u8(2) + b"".join(bodies))
    scores = w.values(1)
    more = w.op(rows, "more", "Add", [y, one])
    rows.append(u8(DRAW) + u8(0) + text("place") + u32(0) + u64(256 * 2))
    key = w.values(2)
    rows.append(u8(CONSTANT) + u8(8) + text("two") + typed(INT32, [1]) + struct.pack("<i", 2))
    shape = w.values(1)
    rows.append(u8(CONSTANT) + u8(8) + text("philox") + typed(INT32, []) + struct.pack("<i", 1))
    philox = w.values(1)
    drawn = w.op(rows, "uniform", "StatelessRandomUniformV2", [shape, key, key + 1, philox], [("dtype", "TYPE", FLOAT)])
    return rows, [("scores", scores), ("", more), ("drawn", drawn)]


body = w.body("golden", [("x", FLOAT, [2, 3]), ("y", FLOAT, [-2])], f)
graph = b"GTRYGRPH" + u32(1) + u32(len(w.ops))
for op, (_, attrs) in w.ops.items():
    graph += text(op) + u32(1) + u8(len(attrs)) + b"".join(text(a) for a in attrs)
graph += u32(3) + text("kernel") + u8(1) + typed(FLOAT, [3, 4]) + text("steps") + u8(1) + typed(FLOAT, [])
graph += text("offset") + u8(2) + typed(FLOAT, [4, 5])
graph += u32(1) + u64(5) + u64(0) + u64(7) + u64(517) + u64(0) + u64(7) + u8(1)
graph += body

tensors = [("kernel", "F32", [3, 4], floats(*[(i % 5) - 2 for i in range(12)])),
           ("offset", "F32", [4, 5], floats(*[i * 0.25 for i in range(20)])),
           ("steps", "F32", [], floats(0)),
           ("gantry.graph", "U8", [len(graph)], graph)]


def write(name, number, tensors):
    """Writes a file of the format with this number."""
    header = {"__metadata__": {"format": "gantry_function", "gantry_format": str(number), "gantry_version": "0.1.0",
                               "user:author": "make_saved_function.py"}}
    at = 0
    for tensor, dtype, shape, data in tensors:
        header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    front = json.dumps(header, separators=(",", ":")).encode()
    front += b" " * (-(len(front) + 8) % 8)
    path = pathlib.Path(__file__).parent / name
    path.write_bytes(u64(len(front)) + front + b"".join(data for _, _, _, data in tensors))
    print(path.name, path.stat().st_size, "bytes")


write("saved_function_0_1.safetensors", 1, tensors)

# ---- format 2: a node whose elements a body joins ----

w = Writer()


def product_of_two(left, right):
    rows = []
    return rows, [("", w.op(rows, "product", "Mul", [left, right]))]


def joined(x, init):
    name = [("left", 0, []), ("right", 0, [])]  # the type that the node gives
    body = w.body("multiplies", name, product_of_two)
    row = u8(JOIN) + u8(0) + text("products") + text("Reduce") + listed([x, init]) + u8(2)
    row += text("axes") + u8(KIND["INTS"]) + u32(1) + i64(1) + text("in_order") + u8(KIND["BOOL"]) + i64(1)
    return [row + body], [("products", w.values(1))]


body = w.body("joined", [("x", FLOAT, [2, 3]), ("init", FLOAT, [])], joined)
graph = b"GTRYGRPH" + u32(2) + u32(len(w.ops))
for op, (_, attrs) in w.ops.items():
    graph += text(op) + u32(1) + u8(len(attrs)) + b"".join(text(a) for a in attrs)
graph += u32(0) + u32(0) + body
write("saved_joined_0_1.safetensors", 2, [("gantry.graph", "U8", [len(graph)], graph)])
