/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each row of the TensorFlow plug-in's op table names an op, attributes, types and host
 * inputs that Gantry has.
 *
 * TensorFlow is not needed. */
#include <stdio.h>
#include <string.h>

#include <gantry/gantry.h>

#include "test.h"

/* As op_table.h of the plug-in, which needs TensorFlow's headers. */
typedef struct row_t {
    const char *op, *gantry;
    int adapt;
    bool is_elementwise;
    uint32_t priority;
    struct {
        const char *attr;
        uint64_t types;
    } types[4];
    struct {
        const char *name;
        gantry_attr_kind_t kind;
        const char *text;
    } attrs[12];
    const char *host_args[12];
} row_t;

enum { adapt_batch_norm_grad = 1, adapt_concat, adapt_gather, adapt_k, adapt_select, adapt_window };

static const row_t rows[] = {
#include "../../../integrations/tensorflow/src/op_table.def"
};

#define ROW_COUNT (sizeof rows / sizeof *rows)

static gantry_op_info_t info_of(const row_t *row) {
    gantry_op_info_t info = {.struct_size = sizeof info};
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        if (!strcmp(info.name, row->gantry)) return info;
    }
    fail_msg("%s: Gantry has no op %s", row->op, row->gantry);
    return info;
}

/* The text behind "name: " of the op's attribute; NULL: there is none. */
static const char *attr_text(const gantry_op_info_t *info, const char *name) {
    const size_t length = strlen(name);
    for (size_t i = 0; i < info->attr_count; ++i) {
        if (!strncmp(info->attrs[i], name, length) && !strncmp(info->attrs[i] + length, ": ", 2))
            return info->attrs[i] + length + 2;
    }
    return NULL;
}

static const char *const kind_texts[] = {
    [GANTRY_ATTR_BOOL] = "bool",         [GANTRY_ATTR_INT] = "int",
    [GANTRY_ATTR_FLOAT] = "float",       [GANTRY_ATTR_TYPE] = "type",
    [GANTRY_ATTR_INTS] = "list of ints", [GANTRY_ATTR_STRING] = "string",
};

TEST(table_every_attribute_is_the_ops) {
    for (size_t i = 0; i < ROW_COUNT; ++i) {
        const row_t *row = &rows[i];
        const gantry_op_info_t info = info_of(row);
        for (size_t k = 0; row->attrs[k].name; ++k) {
            const char *text = attr_text(&info, row->attrs[k].name);
            if (!text && row->adapt) continue; /* the adapter takes it out */
            if (!text) fail_msg("%s: %s has no %s", row->op, row->gantry, row->attrs[k].name);
            const char *kind = kind_texts[row->attrs[k].kind];
            if (strncmp(text, kind, strlen(kind)) != 0)
                fail_msg("%s: %s is %s, not %s", row->op, row->attrs[k].name, text, kind);
            if (row->attrs[k].text) assert_int_equal(row->attrs[k].kind, GANTRY_ATTR_STRING);
        }
    }
}

TEST(table_every_host_input_is_a_host_argument) {
    for (size_t i = 0; i < ROW_COUNT; ++i) {
        const row_t *row = &rows[i];
        const gantry_op_info_t info = info_of(row);
        for (size_t k = 0; k < info.input_count && !row->adapt; ++k) {
            if (!(info.host_inputs >> k & 1) || strchr(info.inputs[k], '?')) continue;
            bool is_listed = false;
            for (size_t n = 0; n < 12 && row->host_args[n]; ++n) {
                is_listed = is_listed || !strcmp(row->host_args[n], info.inputs[k]);
            }
            if (!is_listed) fail_msg("%s: %s lies on the device", row->op, info.inputs[k]);
        }
    }
}

/* has_kernel asks about T, or about the op's first type attribute. */
TEST(table_every_type_has_a_kernel) {
    gantry_runtime_t *runtime;
    const gantry_logical_device_t *cpu;
    gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    assert_int_equal(gantry_find_logical_device(runtime, "CPU:0", &cpu), GANTRY_OK);
    for (size_t i = 0; i < ROW_COUNT; ++i) {
        const row_t *row = &rows[i];
        const gantry_op_info_t info = info_of(row);
        for (size_t k = 0; k < 4 && row->types[k].attr; ++k) {
            const char *attr = row->types[k].attr;
            const bool is_asked =
                !strcmp(attr, "T") ||
                (info.attr_count && !attr_text(&info, "T") && attr_text(&info, attr) &&
                 !strncmp(info.attrs[0], attr, strlen(attr)));
            for (int type = 1; type < 64 && is_asked; ++type) {
                bool has = false;
                if (!(row->types[k].types >> type & 1)) continue;
                assert_int_equal(gantry_op_has_kernel(runtime, row->gantry, cpu,
                                                      (gantry_dtype_t)type, &has, NULL),
                                 GANTRY_OK);
                if (!has)
                    fail_msg("%s: no kernel of %s takes %s", row->op, row->gantry,
                             gantry_dtype_name((gantry_dtype_t)type));
            }
        }
    }
    gantry_runtime_release(runtime);
}

/* TensorFlow refuses to choose between two kernels of one type. */
TEST(table_no_two_rows_serve_one_type) {
    for (size_t i = 0; i + 1 < ROW_COUNT; ++i) {
        const int order = strcmp(rows[i].op, rows[i + 1].op);
        if (order > 0) fail_msg("%s comes after %s", rows[i + 1].op, rows[i].op);
        if (order < 0) continue;
        assert_string_equal(rows[i].types[0].attr, rows[i + 1].types[0].attr);
        if (rows[i].types[0].types & rows[i + 1].types[0].types)
            fail_msg("two rows of %s have one type", rows[i].op);
    }
    assert_true(ROW_COUNT > 200);
}

/* Their dimensions may be merged: no axis, no window, no second result. */
TEST(table_elementwise_rows_know_no_dimension) {
    size_t count = 0;
    for (size_t i = 0; i < ROW_COUNT; ++i) {
        const row_t *row = &rows[i];
        if (!row->is_elementwise) continue;
        ++count;
        const gantry_op_info_t info = info_of(row);
        if (info.host_inputs || info.output_count != 1 || info.has_data_shape || row->adapt)
            fail_msg("%s looks at dimensions", row->op);
        for (size_t k = 0; row->attrs[k].name; ++k) {
            if (row->attrs[k].kind == GANTRY_ATTR_INTS || row->attrs[k].kind == GANTRY_ATTR_INT)
                fail_msg("%s: attribute %s", row->op, row->attrs[k].name);
        }
    }
    assert_true(count > 80);
}

int main(void) { return test_main(); }
