# SPDX-License-Identifier: Apache-2.0
"""Bytes of ONNX files, written without onnx and protobuf: each function returns the bytes of one message or field."""
import struct


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        low, value = value & 0x7F, value >> 7
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def tag(number, kind):
    return varint(number << 3 | kind)


def number(field, value):
    return tag(field, 0) + varint(value)


def part(field, data):
    data = data.encode() if isinstance(data, str) else data
    return tag(field, 2) + varint(len(data)) + data


def real(field, value):
    return tag(field, 5) + struct.pack("<f", value)


def parts(field, items):
    return b"".join(part(field, item) for item in items)


def packed(field, values):
    return part(field, b"".join(varint(value) for value in values))


def opset(version, domain=None):
    return (b"" if domain is None else part(1, domain)) + number(2, version)


def entry(key, value):
    return part(1, key) + part(2, value)


def tensor(name, dims, kind=1, raw=None, more=b""):
    """kind: 1 float32, 7 int64, ..."""
    body = packed(1, dims) if dims else b""
    return body + number(2, kind) + part(8, name) + (b"" if raw is None else part(9, raw)) + more


def external(name, dims, kind=1, **keys):
    more = parts(13, [entry(key, value) for key, value in keys.items()]) + number(14, 1)
    return tensor(name, dims, kind, more=more)


def sparse(values, indices, dims):
    return part(1, values) + part(2, indices) + packed(3, dims)


def tensor_type(kind=1, dims=(2,)):
    shape = parts(1, [part(2, size) if isinstance(size, str) else number(1, size) for size in dims])
    return part(1, number(1, kind) + part(2, shape))


def value(name, type_bytes=None):
    return part(1, name) + part(2, tensor_type() if type_bytes is None else type_bytes)


def attribute(name, kind, body=b"", refers=None):
    return part(1, name) + number(20, kind) + body + (b"" if refers is None else part(21, refers))


def attr_int(name, i):
    return attribute(name, 2, number(3, i))


def attr_graph(name, graph_bytes):
    return attribute(name, 5, part(6, graph_bytes))


def node(op, inputs, outputs, attrs=(), name=None, domain=None, overload=None):
    body = parts(1, inputs) + parts(2, outputs)
    body += b"" if name is None else part(3, name)
    body += b"" if op is None else part(4, op)
    body += parts(5, attrs)
    body += b"" if domain is None else part(7, domain)
    return body + (b"" if overload is None else part(8, overload))


def graph(nodes=(), inputs=(), outputs=(), initializers=(), name="g", infos=(), sparses=()):
    return (parts(1, nodes) + (b"" if name is None else part(2, name)) + parts(5, initializers) + parts(11, inputs) +
            parts(12, outputs) + parts(13, infos) + parts(15, sparses))


def function(name, domain, inputs, outputs, nodes, attrs=(), opsets=None, defaults=(), overload=None):
    opsets = [opset(17), opset(1, domain)] if opsets is None else opsets
    return (part(1, name) + parts(4, inputs) + parts(5, outputs) + parts(6, attrs) + parts(7, nodes) + parts(9, opsets) +
            part(10, domain) + parts(11, defaults) + (b"" if overload is None else part(13, overload)))


def model(graph_bytes, ir=8, opsets=None, functions=(), metadata=(), more=b""):
    opsets = [opset(17, "")] if opsets is None else opsets
    return ((b"" if ir is None else number(1, ir)) + (b"" if graph_bytes is None else part(7, graph_bytes)) +
            parts(8, opsets) + parts(14, metadata) + parts(25, functions) + more)
