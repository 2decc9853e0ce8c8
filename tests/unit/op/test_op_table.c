/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The table of ops, their names and the public listing are complete, consistent and
 * spelled as in TensorFlow. */
#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "op/op_def.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const listed[] = {
#define GANTRY__OP_NAME(name) #name,
#include "op/op_list.inc"
#undef GANTRY__OP_NAME
};

/* ---- the table ---- */

/* A name that fills its row to the last byte has no end. */
static void assert_name(const char *name, size_t row_bytes) {
    assert_non_null(memchr(name, '\0', row_bytes));
    assert_true(name[0] != '\0');
}

TEST(table_every_listed_op_is_defined) {
    for (size_t i = 0; i < COUNT(listed); ++i) {
        const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)i);
        if (!op || !op->name[0]) fail_msg("%s is listed but not defined", listed[i]);
        assert_name(op->name, sizeof op->name);
        assert_string_equal(op->name, listed[i]);
        assert_int_equal(op->id, i);
        assert_non_null(op->infer);
        if (i > 0 && strcmp(listed[i - 1], listed[i]) >= 0)
            fail_msg("%s is not in order", listed[i]);
    }
    assert_null(gantry__op_get(GANTRY__OP_COUNT));
}

static void assert_args(const gantry__op_def_t *op, const gantry__op_arg_t *args, uint32_t count) {
    int lists = 0;
    for (uint32_t k = 0; k < count; ++k) {
        assert_name(args[k].name, sizeof args[k].name);
        lists += (args[k].flags & GANTRY__ARG_LIST) != 0;
        if (args[k].type == GANTRY__TYPE_EACH) {
            assert_true((args[k].flags & GANTRY__ARG_LIST) != 0);
        } else if (args[k].type < 0) {
            assert_true(gantry_dtype_size((gantry_dtype_t)-args[k].type) > 0);
        } else if ((uint32_t)args[k].type >= op->attr_count ||
                   op->attrs[args[k].type].kind != GANTRY_ATTR_TYPE) {
            fail_msg("%s: the type of %s is no type attribute", op->name, args[k].name);
        }
    }
    assert_true(lists <= 1);
}

/* A list of outputs is the only output, and one attribute has its length, or it is as long as the
 * list of inputs, the only input. */
static void assert_output_list(const gantry__op_def_t *op) {
    uint32_t counting = 0;
    for (uint32_t k = 0; k < op->attr_count; ++k) {
        counting += op->attrs[k].counts_outputs;
        if (op->attrs[k].counts_outputs)
            assert_true(op->attrs[k].kind == GANTRY_ATTR_INT ||
                        op->attrs[k].kind == GANTRY_ATTR_INTS);
    }
    bool list = false;
    for (uint32_t k = 0; k < op->output_count; ++k)
        list |= (gantry__op_outputs(op)[k].flags & GANTRY__ARG_LIST) != 0;
    const bool is_as_long =
        list && counting == 0 && op->input_count == 1 && (op->inputs[0].flags & GANTRY__ARG_LIST);
    if ((counting != list && !is_as_long) || (list && op->output_count != 1))
        fail_msg("%s: its list of outputs", op->name);
}

static void assert_attrs(const gantry__op_def_t *op) {
    for (uint32_t k = 0; k < op->attr_count; ++k) {
        const gantry__op_attr_t *attr = &op->attrs[k];
        assert_name(attr->name, sizeof attr->name);
        bool is_type = attr->kind == GANTRY_ATTR_TYPE;
        assert_in_range(attr->kind, GANTRY_ATTR_BOOL, GANTRY_ATTR_STRING);
        if (is_type && k > 0 && op->attrs[k - 1].kind != GANTRY_ATTR_TYPE)
            fail_msg("%s: types come first", op->name);
        if (is_type && attr->dtype_mask == 0)
            fail_msg("%s: %s's set of types", op->name, attr->name);
        bool has_default = is_type && attr->i != GANTRY_DTYPE_NONE;
        if (has_default && !(attr->dtype_mask >> attr->i & 1))
            fail_msg("%s: %s's default", op->name, attr->name);
        if (attr->kind == GANTRY_ATTR_STRING && !attr->required) assert_non_null(attr->s);
        for (uint32_t j = 0; j < k; ++j) assert_string_not_equal(op->attrs[j].name, attr->name);
    }
}

/* A type that no input determines must have a default or be required. */
static void assert_types_settle(const gantry__op_def_t *op) {
    for (uint32_t k = 0; k < op->attr_count && op->attrs[k].kind == GANTRY_ATTR_TYPE; ++k) {
        bool settled = op->attrs[k].required || op->attrs[k].i != GANTRY_DTYPE_NONE;
        for (uint32_t j = 0; j < op->input_count; ++j) settled |= op->inputs[j].type == (int16_t)k;
        if (!settled) fail_msg("%s: nothing settles %s", op->name, op->attrs[k].name);
    }
}

TEST(table_definitions_are_consistent) {
    for (size_t i = 0; i < GANTRY__OP_COUNT; ++i) {
        const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)i);
        assert_true(op->input_count <= GANTRY__MAX_INPUTS);
        assert_in_range(op->output_count, 1, GANTRY__MAX_OUTPUTS);
        assert_true(op->attr_count <= GANTRY__MAX_ATTRS);
        assert_args(op, op->inputs, op->input_count);
        assert_args(op, gantry__op_outputs(op), op->output_count);
        assert_attrs(op);
        assert_output_list(op);
        assert_types_settle(op);
    }
}

TEST(table_flags_mark_aliases_and_variables) {
    static const char *const aliases[] = {"Bitcast", "ExpandDims", "Identity",
                                          "Reshape", "Squeeze",    "StopGradient"};
    static const char *const variables[] = {"AssignAddVariableOp", "AssignSubVariableOp",
                                            "AssignVariableOp", "ReadVariableOp", "VarHandleOp"};
    size_t alias_count = 0, variable_count = 0, update_count = 0, sequenced_count = 0;
    for (size_t i = 0; i < GANTRY__OP_COUNT; ++i) {
        const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)i);
        if (op->flags & GANTRY__OP_ALIAS) assert_string_equal(op->name, aliases[alias_count++]);
        if (op->flags & GANTRY__OP_COMPOSED) { /* updates: on tensors, they are called by name */
            const bool is_update = strncmp(op->name, "Resource", strlen("Resource")) == 0;
            assert_int_equal((op->flags & GANTRY__OP_VARIABLE) != 0, is_update);
            update_count += is_update;
        } else if (op->flags & GANTRY__OP_VARIABLE) {
            assert_string_equal(op->name, variables[variable_count++]);
        }
        if (op->flags & GANTRY__OP_SEQUENCED) ++sequenced_count;
    }
    assert_int_equal(alias_count, COUNT(aliases));
    assert_int_equal(variable_count, COUNT(variables));
    assert_int_equal(update_count, 29);
    assert_int_equal(sequenced_count, COUNT(variables) + 1); /* plus Const */
    assert_true(gantry__op_find("Const")->flags & GANTRY__OP_SEQUENCED);
}

/* ---- look-up ---- */

TEST(find_every_exact_name_gives_its_op) {
    for (size_t i = 0; i < COUNT(listed); ++i) {
        const gantry__op_def_t *op = gantry__op_find(listed[i]);
        assert_non_null(op);
        assert_string_equal(op->name, listed[i]);
    }
}

TEST(find_aliases_and_suffixes_give_the_op) {
    static const struct {
        const char *name, *op;
    } rows[] = {
        {"AddV2", "Add"},
        {"ConcatV2", "Concat"},
        {"SelectV2", "Select"},
        {"GatherV2", "Gather"},
        {"BatchMatMulV2", "BatchMatMul"},
        {"BatchMatMulV3", "BatchMatMul"},
        {"SumV4", "Sum"},
        {"RealDiv", "Div"},
        {"InvGrad", "ReciprocalGrad"},
        {"_EagerConst", "Const"},
        {"StatelessRandomUniformV2", "StatelessRandomUniformV2"},
        {"StatelessRandomNormalV2", "StatelessRandomNormalV2"},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        const gantry__op_def_t *op = gantry__op_find(rows[i].name);
        if (!op) fail_msg("%s is not found", rows[i].name);
        assert_string_equal(op->name, rows[i].op);
    }
}

TEST(find_unknown_name_gives_null) {
    static const char *const names[] = {"",
                                        "A",
                                        "Ad",
                                        "Adds",
                                        "add",
                                        "Add ",
                                        "AddN2",
                                        "MatMu",
                                        "V2",
                                        "Zzz",
                                        "AddV",
                                        "AddV1",
                                        "AddV5",
                                        "AddV22",
                                        "AddV2V2",
                                        "RealDivV2",
                                        "StatelessRandomUniformV3",
                                        "StatelessRandomUniformV2V2"};
    for (size_t i = 0; i < COUNT(names); ++i) {
        if (gantry__op_find(names[i]))
            fail_msg("'%s' gives %s", names[i], gantry__op_find(names[i])->name);
    }
    assert_null(gantry__op_find(NULL));
}

/* ---- the public listing ---- */

static gantry_op_info_t info_of(const char *name) {
    gantry_op_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_op_info(gantry__op_find(name)->id, &info), GANTRY_OK);
    assert_string_equal(info.name, name);
    return info;
}

TEST(info_leaves_out_the_cores_own_ops) {
    assert_string_equal(listed[gantry_op_count()], "_Attention");
    for (size_t i = 0; i < COUNT(listed); ++i)
        assert_int_equal(listed[i][0] == '_', i >= gantry_op_count());
}

TEST(info_lists_names_of_every_op) {
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)i);
        gantry_op_info_t info = info_of(listed[i]);
        if (!info.summary[0]) fail_msg("%s has no summary", listed[i]);
        assert_int_equal(info.input_count, op->input_count);
        assert_int_equal(info.output_count, op->output_count);
        assert_int_equal(info.attr_count, op->attr_count);
        for (size_t k = 0; k < info.input_count; ++k) {
            char expected[64];
            const uint32_t flags = op->inputs[k].flags;
            const char *mark = flags & GANTRY__ARG_LIST       ? "..."
                               : flags & GANTRY__ARG_OPTIONAL ? "?"
                                                              : "";
            (void)snprintf(expected, sizeof expected, "%s%s", op->inputs[k].name, mark);
            assert_string_equal(info.inputs[k], expected);
        }
        for (size_t k = 0; k < info.output_count; ++k) {
            char expected[64];
            bool list = (gantry__op_outputs(op)[k].flags & GANTRY__ARG_LIST) != 0;
            (void)snprintf(expected, sizeof expected, "%s%s", gantry__op_outputs(op)[k].name,
                           list ? "..." : "");
            assert_string_equal(info.outputs[k], expected);
        }
        for (size_t k = 0; k < info.attr_count; ++k) {
            size_t length = strlen(op->attrs[k].name);
            assert_memory_equal(info.attrs[k], op->attrs[k].name, length);
            assert_memory_equal(info.attrs[k] + length, ": ", 2);
        }
        assert_null(info.inputs[info.input_count]);
        assert_null(info.outputs[info.output_count]);
        assert_null(info.attrs[info.attr_count]);
    }
}

TEST(info_attributes_show_kind_types_and_default) {
    static const struct {
        const char *op;
        size_t place;
        const char *text;
    } rows[] = {
        {"MatMul", 0, "T: type of float16, bfloat16, float32, float64, int32, int64"},
        {"MatMul", 1, "transpose_a: bool = false"},
        {"Equal", 0, "T: type of the floating types, integers and bool"},
        {"Equal", 1, "incompatible_shape_error: bool = true"},
        {"Exp", 0, "T: type of the floating types"},
        {"ArgMax", 2, "output_type: type of int16, uint16, int32, int64 = int64"},
        {"Cast", 1,
         "DstT: type of the floating types, float8_e4m3fn, float8_e5m2, integers and bool "
         "(required)"},
        {"Identity", 0, "T: type"},
        {"OneHot", 2, "axis: int = -1"},
        {"BiasAdd", 1, "data_format: string = \"NHWC\""},
        {"Squeeze", 1, "squeeze_dims: list of ints = {}"},
        {"VarHandleOp", 1, "shape: shape (required)"},
        {"AddN", 1, "N: int (the list's length)"},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        assert_string_equal(info_of(rows[i].op).attrs[rows[i].place], rows[i].text);
    }
    assert_string_equal(info_of("Concat").inputs[0], "values...");
    assert_string_equal(info_of("Concat").inputs[1], "axis");
    assert_int_equal(info_of("Const").input_count, 0);
    assert_int_equal(info_of("LogicalNot").attr_count, 0);
}

TEST(info_types_and_host_inputs_are_the_definitions) {
    size_t hosts = 0;
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)i);
        const gantry_op_info_t info = info_of(listed[i]);
        for (size_t k = 0; k < info.input_count; ++k) {
            const bool is_host = op->inputs[k].flags & GANTRY__ARG_HOST;
            assert_int_equal(info.types[k], op->inputs[k].type);
            assert_int_equal(info.host_inputs >> k & 1, is_host);
            hosts += is_host;
        }
        assert_int_equal(info.host_inputs >> info.input_count, 0);
        for (size_t k = 0; k < info.output_count; ++k)
            assert_int_equal(info.types[info.input_count + k], gantry__op_outputs(op)[k].type);
        for (size_t k = 0; k < info.input_count + info.output_count; ++k) {
            if (info.types[k] >= 0) assert_non_null(strstr(info.attrs[info.types[k]], ": type"));
            if (info.types[k] < 0 && info.types[k] != INT8_MIN) /* each has a type of its own */
                assert_true(gantry_dtype_size((gantry_dtype_t)-info.types[k]) > 0);
        }
    }
    assert_true(hosts > 60);
}

TEST(info_tells_what_a_bridge_asks) {
    const gantry_op_info_t slice = info_of("Slice"), equal = info_of("Equal"),
                           where = info_of("Where");
    assert_int_equal(slice.host_inputs, 6); /* begin, size */
    assert_string_equal(slice.attrs[slice.types[1]], "Index: type of int32, int64");
    assert_int_equal(equal.types[2], -GANTRY_BOOL);
    assert_true(where.has_data_shape && !equal.has_data_shape);
    assert_true(equal.is_callable && !info_of("Const").is_callable);
    assert_false(info_of("AssignAddVariableOp").is_callable);
}

TEST(info_beyond_the_list_is_out_of_range) {
    gantry_op_info_t info = {.struct_size = sizeof info, .name = "untouched"};
    assert_int_equal(gantry_op_info(gantry_op_count(), &info), GANTRY_OUT_OF_RANGE);
    assert_string_equal(info.name, "untouched");
    char expected[64];
    size_t count = gantry_op_count();
    (void)snprintf(expected, sizeof expected, "op %zu does not exist: there are %zu ops, 0 to %zu",
                   count, count, count - 1);
    assert_string_equal(gantry__message(), expected);
}

TEST(info_struct_size_bounds_what_is_written) {
    gantry_op_info_t info = {.struct_size = offsetof(gantry_op_info_t, summary),
                             .summary = "untouched"};
    assert_int_equal(gantry_op_info(0, &info), GANTRY_OK);
    assert_string_equal(info.name, listed[0]);
    assert_string_equal(info.summary, "untouched");
    info.struct_size = 0;
    assert_int_equal(gantry_op_info(0, &info), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_op_info(0, NULL), GANTRY_INVALID_ARGUMENT);
}

int main(void) { return test_main(); }
