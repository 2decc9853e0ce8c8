#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostile_files.py FOLDER: writes one file for each thing that a reader of ONNX files must refuse, and files that it must
take, with FOLDER/list.txt: name, status, and a part of the message. The name says the condition."""
import os
import struct
import sys

import wire_bytes as w

BAD, LACKS, MISSING, FULL, FINE = "InvalidArgument", "Unimplemented", "NotFound", "ResourceExhausted", "OK"
NODE = "node 'n' (Relu, opset 17)"
CASES = []


def case(name, status, text, data, **files):
    CASES.append((name, status, text, data, files))


def relu(x="x", y="y", name="n", attrs=(), **more):
    return w.node("Relu", [x], [y], attrs, name, **more)


def plain(nodes=None, inputs=None, outputs=None, **more):
    """A graph of one Relu, with parts replaced."""
    return w.graph([relu()] if nodes is None else nodes, [w.value("x")] if inputs is None else inputs,
                   [w.value("y")] if outputs is None else outputs, **more)


def with_attr(attr, more=()):
    return w.model(plain([relu(attrs=[attr, *more])]))


def with_tensor(tensor):
    return w.model(plain(initializers=[tensor]))


def with_function(functions, op="F", domain="d", attrs=(), inputs=("x",), outputs=("y",), overload=None):
    nodes = [w.node(op, list(inputs), list(outputs), attrs, "n", domain, overload)]
    return w.model(plain(nodes), opsets=[w.opset(17), w.opset(1, "d")], functions=functions)


def function_of(name, calls, **more):
    """A function that calls others, one after the other."""
    names = ["a"] + [f"v{i}" for i in range(len(calls) - 1)] + ["b"]
    nodes = [w.node(op, [names[i]], [names[i + 1]], domain="" if op == "Relu" else "d") for i, op in enumerate(calls)]
    return w.function(name, "d", ["a"], ["b"], nodes, **more)


def branch(nodes, out, name="b"):
    return w.graph(nodes, [], [w.value(out)], name=name)


def if_node(then, other=None, x="x", y="y", name="n"):
    other = branch([w.node("Neg", ["x"], ["other"])], "other") if other is None else other
    return w.node("If", [x], [y], [w.attr_graph("then_branch", then), w.attr_graph("else_branch", other)], name)


def nested_if(depth):
    inner = branch([w.node("Neg", ["x"], ["v0"])], "v0")
    for i in range(depth):
        inner = branch([w.node("If", ["x"], [f"v{i + 1}"], [w.attr_graph("then_branch", inner)])], f"v{i + 1}")
    return w.model(plain([if_node(inner)]))


# ---- what is no ONNX file ----
case("empty_file", BAD, "IR version 0", b"")
case("html_page", BAD, "is it an ONNX file?", b"<!DOCTYPE html><html></html>" * 4)
case("zeros", BAD, "a field has the number 0", bytes(64))
case("field_number_0", BAD, "a field has the number 0", b"\x02\x00")
case("field_number_too_large", BAD, "a field has the number", w.varint(1 << 35) + b"\x00")
case("group_begin", BAD, "the wire type 3", w.tag(9, 3) + w.tag(9, 4))
case("group_end", BAD, "the wire type 4", w.tag(9, 4))
case("wire_type_6", BAD, "the wire type 6", w.tag(9, 6))
case("number_of_11_bytes", BAD, "a number is too long", w.tag(1, 0) + b"\xff" * 10 + b"\x01")
case("number_of_more_than_64_bits", BAD, "a number is too long", w.tag(1, 0) + b"\xff" * 9 + b"\x02")
case("number_cut_off", BAD, "the file ends within a number", w.tag(1, 0) + b"\x80")
case("length_beyond_the_file", BAD, "are left", w.tag(7, 2) + w.varint(1000) + b"x")
case("length_of_64_bits", BAD, "are left", w.tag(7, 2) + w.varint((1 << 64) - 1) + b"x")
case("field_of_another_wire_type", BAD, "the field ir_version of ModelProto has the wire type 2", w.part(1, b"8"))
case("floats_of_5_bytes", BAD, "the field floats of AttributeProto", with_attr(w.attribute("a", 6, w.part(7, b"12345"))))

# ---- the model ----
case("no_ir_version", BAD, "IR version 0", w.model(plain(), ir=None))
case("ir_version_2", LACKS, "IR version 2; this library reads 3 to 14", w.model(plain(), ir=2))
case("ir_version_15", LACKS, "IR version 15", w.model(plain(), ir=15))
case("ir_version_negative", BAD, "IR version -1", w.model(plain(), ir=-1))
case("no_graph", BAD, "it has no graph", w.model(None))
case("no_opset_import", BAD, "it imports no operator set", w.model(plain(), opsets=[]))
case("opset_29", LACKS, "opset 29 of ONNX; this library reads up to 28", w.model(plain(), opsets=[w.opset(29)]))
case("opset_0", BAD, "has the version 0", w.model(plain(), opsets=[w.opset(0)]))
case("opset_of_64_bits", BAD, "has the version", w.model(plain(), opsets=[w.opset(1 << 40)]))
case("domain_imported_twice", BAD, "imported twice", w.model(plain(), opsets=[w.opset(17), w.opset(18, "ai.onnx")]))
case("domains_without_end", BAD, "operator sets are imported",
     w.model(plain(), opsets=[w.opset(17)] + [w.opset(1, f"d{i}") for i in range(100)]))
case("metadata_key_twice", BAD, "the key 'k' twice", w.model(plain(), metadata=[w.entry("k", "1"), w.entry("k", "2")]))
case("metadata_key_with_zero", BAD, "has a zero byte", w.model(plain(), metadata=[w.entry("k\0", "1")]))
case("producer_with_zero", BAD, "the producer's name", w.model(plain(), more=w.part(2, "a\0b")))

# ---- graphs and names ----
case("graph_without_name", BAD, "the graph has no name", w.model(plain(name=None)))
case("subgraph_without_name", BAD, "its graph has no name", w.model(plain([if_node(branch([relu(y="z")], "z", name=""))])))
case("input_twice", BAD, "the input of the graph 'x' has the name of another value",
     w.model(plain(inputs=[w.value("x"), w.value("x")])))
case("input_without_name", BAD, "the input of the graph has no name", w.model(plain(inputs=[w.value("x"), w.value("")])))
case("initializer_twice", BAD, "two initializers have the name 'w'",
     w.model(plain(initializers=[w.tensor("w", [1], raw=bytes(4))] * 2)))
case("initializer_without_name", BAD, "the initializer has no name",
     w.model(plain(initializers=[w.tensor("", [1], raw=bytes(4))])))
case("input_that_nobody_makes", BAD, NODE + ": its input 'z' is not made", w.model(plain([relu("z")])))
case("input_that_a_later_node_makes", BAD, "node 'first' (Relu, opset 17): its input 'z'",
     w.model(plain([relu("z", "y", "first"), relu("x", "z")])))
case("node_reads_its_own_output", BAD, NODE + ": its input 'y'", w.model(plain([relu("y", "y")])))
case("branch_reads_the_output_of_its_node", BAD, "its input 'y' is not made",
     w.model(plain([if_node(branch([w.node("Neg", ["y"], ["z"])], "z"))])))
case("output_twice", BAD, "its output 'y' has the name of another value", w.model(plain([relu(), relu()])))
case("output_twice_in_a_node", BAD, "its output 'y'", w.model(plain([w.node("Split", ["x"], ["y", "y"], name="n")])))
case("output_named_as_an_input", BAD, "its output 'x' has the name of another value", w.model(plain([relu(y="x")])))
case("branch_hides_a_name", BAD, "its output 'x' has the name of another value",
     w.model(plain([if_node(branch([relu(y="x")], "x"))])))
case("branch_input_hides_a_name", BAD, "the input of the graph 'x'",
     w.model(plain([if_node(w.graph([relu(y="z")], [w.value("x")], [w.value("z")]))])))
case("graph_output_that_nobody_makes", BAD, "the output of the graph 'z' is not made",
     w.model(plain(outputs=[w.value("z")])))
case("graph_output_without_name", BAD, "output 0 of the graph has no name", w.model(plain(outputs=[w.value("")])))
case("branch_output_that_nobody_makes", BAD, "node 'n' (If, opset 17): the output of the graph 'z'",
     w.model(plain([if_node(branch([], "z"))])))
case("value_of_another_branch", BAD, "its input 'z' is not made",
     w.model(plain([if_node(branch([relu(y="z")], "z"), branch([relu("z", "u")], "u"))])))
case("name_of_5000_bytes", BAD, "has 5000 bytes", w.model(plain([relu(y="y" * 5000)])))
case("name_with_zero", BAD, "has a zero byte", w.model(plain([relu(y="y\0z")])))
case("node_name_with_zero", BAD, "the name of a node", w.model(plain([relu(name="a\0b")])))
case("op_with_zero", BAD, "the op of a node", w.model(plain([w.node("Re\0lu", ["x"], ["y"])])))
case("input_of_rank_9", LACKS, "a value has 9 dimensions", w.model(plain(inputs=[w.value("x", w.tensor_type(1, [1] * 9))])))
case("input_of_type_99", LACKS, "the element type 99", w.model(plain(inputs=[w.value("x", w.tensor_type(99))])))

# ---- nodes ----
case("node_without_op", BAD, "node 'n' (): it has no op", w.model(plain([w.node(None, ["x"], ["y"], name="n")])))
case("node_without_inputs_and_outputs", BAD, "node 'n' (Relu, opset 17): it has no inputs and no outputs",
     w.model(plain([w.node("Relu", [], [], name="n"), relu()])))
case("node_of_a_domain_that_is_not_imported", BAD, "node 'n' (Relu): no operator set is imported for its domain 'other'",
     w.model(plain([relu(domain="other")])))
case("node_without_name", BAD, "node 0 of the graph (Relu, opset 17)", w.model(plain([relu("z", name=None)])))
case("name_with_commands_of_a_terminal", BAD, "node '?[31m'", w.model(plain([relu("z", name="\x1b[31m")])))

# ---- attributes ----
case("attribute_twice", BAD, NODE + ": the attribute 'a' is given twice", with_attr(w.attr_int("a", 1), [w.attr_int("a", 2)]))
case("attribute_twice_of_many", BAD, "the attribute 'a3' is given twice",
     with_attr(w.attr_int("a3", 1), [w.attr_int(f"a{i}", 2) for i in range(40)]))
case("attribute_with_two_values", BAD, "more than one value", with_attr(w.attribute("a", 2, w.number(3, 1) + w.real(2, 1.0))))
case("attribute_of_another_kind", BAD, "of kind INT has a value of another kind", with_attr(w.attribute("a", 2, w.real(2, 1.0))))
case("attribute_without_name", BAD, "an attribute has no name", with_attr(w.attr_int("", 1)))
case("attribute_without_kind", BAD, "has the kind 0", with_attr(w.part(1, "a") + w.number(3, 1)))
case("attribute_of_kind_15", BAD, "has the kind 15", with_attr(w.attribute("a", 15)))
case("attribute_without_tensor", BAD, "of kind TENSOR has no value", with_attr(w.attribute("a", 4)))
case("attribute_without_graph", BAD, "of kind GRAPH has no value", with_attr(w.attribute("a", 5)))
case("attribute_text_with_zero", BAD, "has a zero byte", with_attr(w.attribute("a", 3, w.part(4, "x\0y"))))
case("attribute_refers_outside_a_function", BAD, "outside a function", with_attr(w.attribute("a", 2, refers="b")))
case("attribute_refers_and_has_a_value", BAD, "has a value and refers", with_attr(w.attribute("a", 2, w.number(3, 1), "b")))
case("tensor_of_an_attribute", BAD, NODE + ": the tensor 't' has 2 bytes",
     with_attr(w.attribute("a", 4, w.part(5, w.tensor("t", [1], raw=b"12")))))

# ---- tensors ----
case("tensor_without_type", BAD, "the tensor 'w' has no type", with_tensor(w.tensor("w", [1], 0, bytes(4))))
case("tensor_of_type_99", LACKS, "has the type 99", with_tensor(w.tensor("w", [1], 99, bytes(4))))
case("tensor_of_type_2_to_32", LACKS, "has the type 4294967297", with_tensor(w.tensor("w", [1], (1 << 32) + 1, bytes(4))))
case("tensor_of_rank_9", LACKS, "has 9 dimensions; at most 8", with_tensor(w.tensor("w", [1] * 9, raw=bytes(4))))
case("tensor_of_many_dimensions", LACKS, "has 100000 dimensions", with_tensor(w.tensor("w", [1] * 100000, raw=bytes(4))))
case("tensor_of_negative_size", BAD, "has the size -1 in dimension 1", with_tensor(w.tensor("w", [2, -1], raw=bytes(4))))
case("tensor_of_sizes_whose_product_overflows", BAD, "product is too large",
     with_tensor(w.tensor("w", [1 << 31, 1 << 31, 1 << 31], raw=bytes(4))))
case("tensor_of_a_product_that_wraps_to_1", BAD, "product is too large",
     with_tensor(w.tensor("w", [(1 << 32) + 1, (1 << 32) - 1, 7], raw=bytes(4))))
case("tensor_of_2_to_50_elements", BAD, "has 4 bytes of raw_data", with_tensor(w.tensor("w", [1 << 50], raw=bytes(4))))
case("tensor_without_data", BAD, "0 numbers", with_tensor(w.tensor("w", [2])))
case("tensor_with_two_data_fields", BAD, "data in 2 fields",
     with_tensor(w.tensor("w", [1], raw=bytes(4), more=w.part(4, bytes(4)))))
case("tensor_with_data_and_no_elements", BAD, "has data and no elements", with_tensor(w.tensor("w", [0], raw=bytes(4))))
case("tensor_with_too_few_bytes", BAD, "has 7 bytes of raw_data; its 2 elements of type FLOAT take 8",
     with_tensor(w.tensor("w", [2], raw=bytes(7))))
case("tensor_with_too_few_numbers", BAD, "has 1 numbers", with_tensor(w.tensor("w", [2], 7, more=w.packed(7, [1]))))
case("tensor_with_too_many_numbers", BAD, "has 3 numbers", with_tensor(w.tensor("w", [2], 7, more=w.packed(7, [1, 2, 3]))))
case("tensor_in_the_field_of_another_type", BAD, "has 0 numbers", with_tensor(w.tensor("w", [1], 7, more=w.packed(5, [1]))))
case("tensor_number_outside_its_type", BAD, "the number 300 at element 1; type UINT8 is 0 to 255",
     with_tensor(w.tensor("w", [2], 2, more=w.packed(5, [1, 300]))))
case("tensor_bool_of_2", BAD, "the number 2", with_tensor(w.tensor("w", [1], 9, more=w.packed(5, [2]))))
case("tensor_half_of_17_bits", BAD, "the number 65536", with_tensor(w.tensor("w", [1], 10, more=w.packed(5, [65536]))))
case("tensor_with_too_many_bytes", BAD, "has 7 bytes of raw_data; its 1 elements of type FLOAT take 4",
     with_tensor(w.tensor("w", [1], raw=bytes(7))))
case("texts_in_raw_data", BAD, "of texts has raw_data", with_tensor(w.tensor("w", [1], 8, b"text")))
case("tensor_segment", LACKS, "a segment of a tensor", with_tensor(w.tensor("w", [1], raw=bytes(4), more=w.part(3, b""))))
case("tensor_at_an_unknown_place", BAD, "the place 2", with_tensor(w.tensor("w", [1], raw=bytes(4), more=w.number(14, 2))))


# ---- sparse tensors ----
def with_sparse(values, indices, dims):
    return w.model(plain(sparses=[w.sparse(values, indices, dims)]))


def longs(*numbers):
    return struct.pack(f"<{len(numbers)}q", *numbers)


two = w.tensor("s", [2], raw=bytes(8))
case("sparse_index_outside", BAD, "an index outside its shape at value 1", with_sparse(two, w.tensor("", [2], 7, longs(0, 9)), [9]))
case("sparse_index_negative", BAD, "an index outside", with_sparse(two, w.tensor("", [2], 7, longs(-1, 0)), [9]))
case("sparse_indices_not_sorted", BAD, "do not ascend", with_sparse(two, w.tensor("", [2], 7, longs(3, 1)), [9]))
case("sparse_index_twice", BAD, "do not ascend", with_sparse(two, w.tensor("", [2], 7, longs(1, 1)), [9]))
case("sparse_grid_index_outside", BAD, "an index outside",
     with_sparse(two, w.tensor("", [2, 2], 7, longs(0, 0, 0, 3)), [2, 3]))
case("sparse_grid_of_another_rank", BAD, "indices of another shape", with_sparse(two, w.tensor("", [2, 1], 7, longs(0, 1)), [2, 3]))
case("sparse_with_fewer_indices", BAD, "indices of another shape", with_sparse(two, w.tensor("", [1], 7, longs(0)), [9]))
case("sparse_indices_of_int32", BAD, "indices of another shape or type", with_sparse(two, w.tensor("", [2], 6, bytes(8)), [9]))
case("sparse_without_values", BAD, "has no values", w.model(plain(sparses=[w.part(2, w.tensor("", [1], 7, longs(0)))])))
case("sparse_values_of_rank_2", BAD, "values of 2 dimensions",
     with_sparse(w.tensor("s", [1, 2], raw=bytes(8)), w.tensor("", [2], 7, longs(0, 1)), [9]))
case("sparse_shape_overflows", BAD, "product is too large",
     with_sparse(two, w.tensor("", [2], 7, longs(0, 1)), [1 << 40, 1 << 40]))


# ---- external data ----
def with_external(dims=(2,), kind=1, **keys):
    return with_tensor(w.external("w", dims, kind, **keys))


PLACE = "a path to a file in the model's folder"
case("location_missing", BAD, PLACE, with_external())
for title, location in [("empty", ""), ("absolute", "/etc/passwd"), ("of_the_folder_above", "../w.bin"), ("of_a_folder", ".."),
                        ("of_this_folder", "."), ("that_leaves_later", "a/../../w.bin"), ("that_ends_in_a_dot", "./w.bin/."),
                        ("with_two_slashes", "a//w.bin"), ("that_ends_in_a_slash", "w.bin/"), ("with_backslash", "a\\w.bin")]:
    case(f"location_{title}", BAD, PLACE, with_external(location=location))
case("location_with_zero", BAD, "has a zero byte", with_external(location="w\0.bin"))
case("location_of_5000_bytes", BAD, "has 5000 bytes", with_external(location="w" * 5000))
case("external_file_missing", MISSING, "are missing", with_external(location="nowhere.bin"))
case("external_folder_missing", MISSING, "are missing", with_external(location="nowhere/w.bin"))
case("external_file_is_a_folder", BAD, "no regular file", with_external(location="folder"))
case("external_file_is_a_pipe", BAD, "no regular file", with_external(location="pipe"))
case("external_file_is_a_symbolic_link", BAD, "a symbolic link", with_external(location="link.bin"))
case("external_file_is_a_link_out_of_the_folder", BAD, "a symbolic link", with_external(location="out.bin"))
case("external_folder_is_a_symbolic_link", BAD, "a symbolic link", with_external(location="linked/w.bin"))
case("external_file_has_hard_links", BAD, "more than one name", with_external(location="hard.bin"))
case("external_data_beyond_the_file", BAD, "which has 8", with_external([3], location="w.bin"))
case("external_offset_beyond_the_file", BAD, "8 bytes at byte 4 of 'w.bin', which has 8", with_external(location="w.bin", offset="4"))
case("external_length_beyond_the_file", BAD, "12 bytes at byte 0 of 'w.bin', which has 8",
     with_external(location="w.bin", length="12"))
case("external_length_of_63_bits", BAD, "9223372036854775807 bytes at byte 0 of 'w.bin', which has 8",
     with_external(location="w.bin", length=str((1 << 63) - 1)))
case("external_offset_of_63_bits", BAD, "begin at byte", with_external(location="w.bin", offset=str((1 << 63) - 1)))
case("external_offset_negative", BAD, "a decimal number", with_external(location="w.bin", offset="-4"))
case("external_offset_of_20_digits", BAD, "a decimal number", with_external(location="w.bin", offset="9" * 20))
case("external_offset_no_number", BAD, "a decimal number", with_external(location="w.bin", offset="0x10"))
case("external_length_too_small", BAD, "have 7 bytes", with_external(location="w.bin", length="7"))
case("external_basepath", LACKS, "a basepath", with_external(location="w.bin", basepath="/tmp"))
case("external_texts", BAD, "of texts has external data", with_external(kind=8, location="w.bin"))
case("external_and_raw_data", BAD, "in the model and in another file",
     with_tensor(w.tensor("w", [2], raw=bytes(8), more=w.parts(13, [w.entry("location", "w.bin")]) + w.number(14, 1))))
case("sparse_indices_in_another_file", LACKS, "has indices in another file",
     with_sparse(w.tensor("s", [1], raw=bytes(4)), w.external("i", [1], 7, location="w.bin"), [9]))

# ---- functions ----
case("function_calls_itself", BAD, "which calls itself", with_function([function_of("F", ["F"])]))
case("function_calls_itself_through_others", BAD, "which calls itself",
     with_function([function_of("F", ["G"]), function_of("G", ["H"]), function_of("H", ["Relu", "F"])]))
case("functions_nested_100_deep", BAD, "nested more than 64 deep",
     with_function([function_of("F", ["F1"])] + [function_of(f"F{i}", [f"F{i + 1}"]) for i in range(1, 100)] +
                   [function_of("F100", ["Relu"])]))
case("functions_that_grow_to_10_to_9_nodes", FULL, "reading it takes more than",
     with_function([function_of("F", ["F1"] * 1000), function_of("F1", ["F2"] * 1000), function_of("F2", ["Relu"] * 1000)]))
case("functions_that_double_50_times", FULL, "reading it takes more than",
     with_function([function_of("F", ["F1"])] + [function_of(f"F{i}", [f"F{i + 1}"] * 2) for i in range(1, 50)] +
                   [function_of("F50", ["Relu"])]))
case("functions_without_nodes_that_double", FULL, "reading it takes more than",
     with_function([function_of("F", ["F1"])] + [function_of(f"F{i}", [f"F{i + 1}"] * 2) for i in range(1, 50)] +
                   [w.function("F50", "d", ["a"], ["a"], [])]))
case("function_twice", BAD, "two functions have this name", with_function([function_of("F", ["Relu"])] * 2))
case("function_without_name", BAD, "has no name", with_function([function_of("", ["Relu"])]))
case("function_with_too_many_inputs", BAD, "node 'n' (F, opset 1): it gives 2 inputs to a function of 1",
     with_function([function_of("F", ["Relu"])], inputs=["x", "x"]))
case("function_with_too_many_outputs", BAD, "it takes 2 outputs of a function of 1",
     with_function([function_of("F", ["Relu"])], outputs=["y", "z"]))
case("function_input_twice", BAD, "the function's input 'a'", with_function([w.function("F", "d", ["a", "a"], ["a"], [])]))
case("function_output_that_nobody_makes", BAD, "the function's output 'q' is not made",
     with_function([w.function("F", "d", ["a"], ["q"], [])]))
case("function_reads_a_value_of_the_caller", BAD, "function 'F': node 0 of the graph (Relu, opset 17): its input 'x'",
     with_function([w.function("F", "d", ["a"], ["b"], [w.node("Relu", ["x"], ["b"])])]))
case("function_node_of_a_domain_that_is_not_imported", BAD, "no operator set is imported for its domain 'e'",
     with_function([w.function("F", "d", ["a"], ["b"], [w.node("Relu", ["a"], ["b"], domain="e")])]))
case("function_opset_29", LACKS, "function 'F': it uses opset 29", with_function([function_of("F", ["Relu"], opsets=[w.opset(29)])]))
case("function_attribute_of_another_kind", BAD, "refers to 'k' of kind INT",
     with_function([w.function("F", "d", ["a"], ["b"], [w.node("Relu", ["a"], ["b"], [w.attribute("m", 1, refers="k")])], ["k"])],
                   attrs=[w.attr_int("k", 1)]))
case("function_gives_an_input_that_is_left_out", BAD, "does not give",
     with_function([w.function("F", "d", ["a", "b"], ["b"], [])]))

# ---- bounds ----
case("subgraphs_nested_20_deep", FINE, "", nested_if(20))
case("subgraphs_nested_40_deep", BAD, "nested 101 deep", nested_if(40))
deep = b""
for _ in range(5000):
    deep = w.part(4, w.part(1, deep))
case("types_nested_5000_deep", BAD, "nested 101 deep", w.model(plain(inputs=[w.value("x", deep)])))
case("more_than_a_million_nodes", BAD, "the field node of GraphProto comes 1000001 times",
     w.model(w.part(1, w.node("A", ["x"], [])) * 1000001 + w.part(2, "g")))
case("a_million_empty_attributes", FULL, "reading it takes more than", w.model(plain([w.node("A", ["x"], ["y"], [b""] * 1000000)])))
case("a_million_empty_inputs", BAD, "", w.model(plain([w.node("A", ["z"] + [""] * 1000000, ["y"])])))
case("ints_beyond_the_file", BAD, "are left", with_attr(w.attribute("a", 7, w.tag(8, 2) + w.varint(1 << 40) + b"\x01")))


# Names of 16 bytes with one hash (onnx/graph/names.c): the second word undoes what the first one did.
def mixed(value):
    mask = (1 << 64) - 1
    for _ in range(2):
        value = ((value ^ (value >> 32)) * 0xD6E8FEB86659FD93) & mask
    return value ^ (value >> 32)


def colliding_names(count, scope):
    mask, golden = (1 << 64) - 1, pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    start = mixed((scope << 32) + 16)
    target = mixed(12345)
    for i in range(count * 3):
        first = 0x0101010101010101 + i * 0x0101
        middle = mixed((start + first * 0x9E3779B97F4A7C15) & mask)
        second = (12345 - middle) * golden & mask
        name = struct.pack("<QQ", first & mask, second)
        assert mixed((middle + second * 0x9E3779B97F4A7C15) & mask) == target
        if 0 not in name:
            yield name


names = list(colliding_names(20000, 2))[:20000]
case("names_with_one_hash", FULL, "takes more than", w.model(plain([w.node("A", ["x"], names)])))

# ---- what must be taken ----
loop = w.graph([w.node("Identity", ["c"], ["d"]), w.node("Add", ["v", "x"], ["e"]), w.node("If", ["c"], ["f"], [
    w.attr_graph("then_branch", branch([w.node("Add", ["x", "e"], ["g"])], "g"))])],
               [w.value("i"), w.value("c"), w.value("v")], [w.value("d"), w.value("e"), w.value("f")], name="body")
case("valid_everything", FINE, "", w.model(
    w.graph([w.node("F", ["x", ""], ["t"], [w.attr_int("k", 3)], "call", "d"), w.node("Split", ["t"], ["", "p"]),
             w.node("Loop", ["", "", "p"], ["q", "r"], [w.attr_graph("body", loop)], "loop"),
             w.node("Constant", [], ["k"], [w.attribute("sparse_value", 11, w.part(22, w.sparse(
                 w.tensor("", [1], raw=bytes(4)), w.tensor("", [1, 2], 7, longs(1, 1)), [2, 2])))]),
             w.node("A", ["r", "k", "w", "s", "u"], ["y"], [
                 w.attribute("f", 1, w.real(2, 1.5)), w.attribute("s", 3, w.part(4, "text")),
                 w.attribute("fs", 6, w.part(7, struct.pack("<3f", 1, 2, 3)) + w.real(7, 4)),
                 w.attribute("is", 7, w.packed(8, [1, -2]) + w.number(8, 3)), w.attribute("ss", 8, w.parts(9, ["a", "b"])),
                 w.attribute("ts", 9, w.parts(10, [w.tensor("", [1], 10, more=w.packed(5, [15360]))])),
                 w.attribute("tp", 13, w.part(14, w.part(4, w.part(1, w.tensor_type()))))])],
            [w.value("x", w.tensor_type(1, ["n", 2]))], [w.value("y")],
            [w.tensor("w", [3], 22, raw=b"\x21\x0f"), w.tensor("u", [2], 8, more=w.parts(6, ["a", "b"]))], name="g",
            infos=[w.value("t", w.tensor_type(1, [1] * 12)), w.value("none")],
            sparses=[w.sparse(w.tensor("s", [2], 7, longs(5, 6)), w.tensor("", [2], 7, longs(0, 8)), [3, 3])]),
    opsets=[w.opset(17), w.opset(1, "d"), w.opset(3, "never.used")], metadata=[w.entry("author", "somebody")],
    functions=[w.function("F", "d", ["a", "b"], ["c"],
                          [w.node("G", ["a"], ["m"], [w.attribute("j", 2, refers="k")], domain="d"),
                           w.node("Max", ["m", "b"], ["c"])], ["k"]),
               w.function("G", "d", ["a"], ["b"], [w.node("LeakyRelu", ["a"], ["b"], [
                   w.attribute("alpha", 1, refers="alpha"), w.attribute("n", 2, refers="j")])], ["j"],
                          defaults=[w.attribute("alpha", 1, w.real(2, 0.5))])], more=w.part(2, "producer") + w.part(99, "unknown")))
case("valid_message_in_two_parts", FINE, "",
     w.model(w.graph([relu()], [w.value("x")], [], name="g")) + w.part(7, w.parts(12, [w.value("y")])))
case("valid_external_data", FINE, "", with_external(location="folder/inner.bin", offset="4", length="8", checksum="x"))
case("valid_external_data_without_elements", FINE, "", with_external([0], location="w.bin"))
case("valid_ir_3", FINE, "", w.model(plain([w.node("Add", ["x", "w"], ["y"])], [w.value("x"), w.value("w")],
                                           initializers=[w.tensor("w", [2], raw=bytes(8))]), ir=3, opsets=[w.opset(8)]))
case("valid_empty_tensors", FINE, "", w.model(plain(initializers=[w.tensor("w", [0, 1 << 60]), w.tensor("v", [3, 0], raw=b"")])))


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def main(folder):
    os.makedirs(os.path.join(folder, "folder"), exist_ok=True)
    place = lambda name: os.path.join(folder, name)
    write(place("w.bin"), bytes(8))
    write(place("folder/inner.bin"), bytes(range(12)))
    for name in ("hard.bin", "hard_too.bin", "link.bin", "out.bin", "linked", "pipe"):
        if os.path.lexists(place(name)):
            os.unlink(place(name))
    write(place("hard.bin"), bytes(8))
    os.link(place("hard.bin"), place("hard_too.bin"))
    os.symlink("w.bin", place("link.bin"))
    os.symlink("/etc/passwd", place("out.bin"))
    os.symlink("folder", place("linked"))
    os.mkfifo(place("pipe"))
    with open(place("list.txt"), "w") as listing:
        for name, status, text, data, _ in CASES:
            write(place(name + ".onnx"), data)
            listing.write(f"{name}\t{status}\t{text}\n")


main(sys.argv[1])
