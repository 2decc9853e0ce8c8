/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the golden cases: every op on the device under test must give TensorFlow's values.
 *
 * A case that succeeds is run twice from the same inputs: values and placement are checked, the
 * second run must give the same bits and leave its neighbours in memory alone. An op that updates
 * variables also updates some (conformance_update.c). With --compare,
 * both devices must give the same bits. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "conformance_sweep.h"
#include "golden_draw.h"

/* ---- cases that must fail ---- */

static void check_late_error(conformance_t *c, const golden_case_t *item,
                             const gantry_tensor_t *const *outputs, size_t count) {
    bool failed = false;
    for (size_t i = 0; i < count && outputs[i]; ++i) {
        golden_tensor_t got;
        gantry_status_t status = conformance_read(outputs[i], &got);
        conformance_free_outputs(&got, 1);
        if (status == GANTRY_OK) continue;
        failed = true;
        conformance_check_status(c, "reading the result", status, item->error_status,
                                 gantry_last_message(), item->message_contains);
    }
    CHECK(c, failed, "neither the call nor reading its result failed; %s was due",
          gantry_status_name(item->error_status));
}

static void check_error(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                        const gantry_tensor_t *const *inputs) {
    const gantry_tensor_t *outputs[CONFORMANCE_MAX_OUTPUTS];
    size_t count = 0;
    gantry_status_t status = conformance_call(c, scope, item, inputs, outputs, &count);
    CHECK(c, status == gantry_scope_status(scope), "the call returned %s, the scope has %s",
          gantry_status_name(status), gantry_status_name(gantry_scope_status(scope)));
    if (status == GANTRY_OK) {
        check_late_error(c, item, outputs, count);
        status = gantry_scope_end(scope);
        CHECK(c, status == GANTRY_OK || status == item->error_status, "the scope ended with %s",
              gantry_status_name(status));
        return;
    }
    conformance_check_status(c, "the call", status, item->error_status, gantry_scope_message(scope),
                             item->message_contains);
    for (size_t i = 0; i < CONFORMANCE_MAX_OUTPUTS; ++i)
        CHECK(c, !outputs[i], "output %zu of a failed call is not NULL", i);
    conformance_end_scope(c, scope, item->error_status);
}

/* ---- cases that must succeed ---- */

static void check_output(conformance_t *c, const golden_case_t *item, size_t index,
                         const golden_tensor_t *got) {
    char shape[128], wanted_shape[128], why[512];
    const golden_tensor_t *wanted = &item->outputs[index];
    if (got->dtype != wanted->dtype || !gantry_shape_equal(&got->shape, &wanted->shape)) {
        gantry_shape_format(&got->shape, shape, sizeof shape);
        gantry_shape_format(&wanted->shape, wanted_shape, sizeof wanted_shape);
        conformance_fail(c, "output %zu is %s%s instead of %s%s", index,
                         gantry_dtype_name(got->dtype), shape, gantry_dtype_name(wanted->dtype),
                         wanted_shape);
        return;
    }
    if (golden_compare(wanted, &item->tolerance, got->data, why, sizeof why)) {
        conformance_fail(c, "output %zu (by %s): %s", index, item->source, why);
    } else if (item->tolerance.ulp > 0 && item->tolerance.absolute == 0) {
        int64_t ulp = golden_largest_ulp(wanted, got->data);
        if (ulp > c->row->largest_ulp) c->row->largest_ulp = ulp;
    }
}

/* Reads a call's outputs and compares each with the golden one. */
static void check_outputs(conformance_t *c, const golden_case_t *item,
                          const gantry_tensor_t *const *outputs, size_t count,
                          golden_tensor_t *out_values) {
    if (count != item->output_count) {
        conformance_fail(c, "%zu outputs instead of %zu", count, item->output_count);
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        gantry_status_t status = conformance_read(outputs[i], &out_values[i]);
        if (status != GANTRY_OK)
            conformance_fail(c, "output %zu: %s", i, conformance_last_error(status));
        else
            check_output(c, item, i, &out_values[i]);
    }
}

/* The second run: a prepared op, on views of larger tensors, with asynchronous reads. */
static void check_again(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                        const golden_tensor_t *first) {
    const gantry_tensor_t *inputs[CONFORMANCE_MAX_INPUTS], *outputs[CONFORMANCE_MAX_OUTPUTS];
    conformance_sentinels_t sentinels;
    size_t count = 0;
    if (!conformance_make_views(c, scope, item, inputs)) return;
    conformance_sentinels_place(c, scope, first[0].bytes, &sentinels);
    c->prepares = true;
    gantry_status_t called = conformance_call(c, scope, item, inputs, outputs, &count);
    c->prepares = false;
    if (called != GANTRY_OK) {
        conformance_fail(c, "the second call failed: %s", gantry_scope_message(scope));
        return;
    }
    for (size_t i = 0; i < count && i < item->output_count; ++i) {
        golden_tensor_t again;
        gantry_status_t status = conformance_read_later(outputs[i], &again);
        if (status != GANTRY_OK)
            conformance_fail(c, "second run, output %zu: %s", i, conformance_last_error(status));
        else
            conformance_check_same(c, "the second run differs from the first", &first[i], &again);
        conformance_free_outputs(&again, 1);
    }
    conformance_sentinels_check(c, scope, &sentinels);
}

static void check_values(conformance_t *c, gantry_scope_t *scope, const golden_case_t *item,
                         const gantry_tensor_t *const *inputs) {
    const gantry_tensor_t *outputs[CONFORMANCE_MAX_OUTPUTS];
    golden_tensor_t first[CONFORMANCE_MAX_OUTPUTS] = {{0}};
    size_t count = 0;
    if (conformance_call(c, scope, item, inputs, outputs, &count) != GANTRY_OK) {
        conformance_fail(c, "the call failed: %s: %s",
                         gantry_status_name(gantry_scope_status(scope)),
                         gantry_scope_message(scope));
        gantry_scope_end(scope);
        return;
    }
    conformance_check_placement(c, item->op, outputs[0]);
    check_outputs(c, item, outputs, count, first);
    if (c->reasons == 0 && !c->options.once) check_again(c, scope, item, first);
    if (c->reasons == 0) conformance_check_update(c, scope, item, inputs, first);
    conformance_free_outputs(first, CONFORMANCE_MAX_OUTPUTS);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void run_case(conformance_t *c, const golden_case_t *item) {
    const gantry_tensor_t *inputs[CONFORMANCE_MAX_INPUTS];
    gantry_scope_t *scope = conformance_scope(c);
    if (!conformance_make_inputs(c, scope, item, inputs))
        gantry_scope_end(scope);
    else if (item->error_status != GANTRY_OK)
        check_error(c, scope, item, inputs);
    else
        check_values(c, scope, item, inputs);
}

/* ---- the same bits on two devices ---- */

/* Matrix products, convolutions, attention, and ops composed of them may give different bits. */
static bool promises_bits(const char *op) {
    static const char *const products[] = {"MatMul", "BatchMatMul", "ConvolveImages", "_Attention",
                                           "_AttentionGrad"};
    gantry_op_info_t info;
    for (size_t i = 0; i < sizeof products / sizeof products[0]; ++i) {
        if (strcmp(op, products[i]) == 0) return false;
    }
    if (!conformance_find_op(op, &info)) return true;
    for (size_t i = 0; i < info.part_count; ++i) {
        if (!promises_bits(info.parts[i])) return false;
    }
    return true;
}

/* Float64 functions of the device's own library (Sin and Cos of large arguments), and their
 * callers. */
static bool is_from_library(const golden_case_t *item) {
#define OP_SAME(op)
#define OP_NONE(op)
#define OP_NEAR(op) #op,
#define OP_PARTLY OP_NEAR
#define OP_LIBRARY OP_NEAR
#define GANTRY_MATH_FUNCTION(form, op, name, float64, ...) OP_##float64(op)
#define GANTRY_MATH_PAIR(op, name, float64) OP_##float64(op)
    static const char *const ops[] = {
#include "functions.def"
        "Xlog1py", "ResourceApplyFtrl", "ResourceApplyFtrlV2"};
    if (item->input_count == 0 || item->inputs[0].dtype != GANTRY_FLOAT64) return false;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
        if (strcmp(item->op, ops[i]) == 0) return true;
    }
    return false;
}

/* Of an element, or of a part of a complex one. */
static size_t number_bytes(gantry_dtype_t dtype) {
    return gantry_dtype_size(dtype) / (GANTRY_DTYPE_BIT(dtype) & GANTRY_DTYPES_COMPLEXES ? 2 : 1);
}

/* Bitcasts to numbers of another size show the order of bytes in memory; files have the lowest
 * first. */
static bool shows_order_of_bytes(const golden_case_t *item) {
    return strcmp(item->op, "Bitcast") == 0 && item->output_count == 1 &&
           number_bytes(item->inputs[0].dtype) != number_bytes(item->outputs[0].dtype);
}

static void compare_case(conformance_t *c, const golden_case_t *item) {
    golden_tensor_t first[CONFORMANCE_MAX_OUTPUTS] = {{0}}, second[CONFORMANCE_MAX_OUTPUTS] = {{0}};
    size_t first_count = 0, second_count = 0;
    conformance_evaluate(c, c->options.device, item, first, &first_count);
    if (c->bits) {
        if (c->reasons == 0) conformance_check_bits(c, first, first_count);
        conformance_free_outputs(first, CONFORMANCE_MAX_OUTPUTS);
        return;
    }
    conformance_evaluate(c, c->options.compare, item, second, &second_count);
    CHECK(c, first_count == second_count, "%zu outputs and %zu", first_count, second_count);
    for (size_t i = 0; c->reasons == 0 && i < first_count; ++i) {
        conformance_check_same(c, c->options.compare, &first[i], &second[i]);
    }
    conformance_free_outputs(first, CONFORMANCE_MAX_OUTPUTS);
    conformance_free_outputs(second, CONFORMANCE_MAX_OUTPUTS);
}

/* ---- files ---- */

static bool is_broadcast(const golden_case_t *item) {
    return item->input_count == 2 &&
           !gantry_shape_equal(&item->inputs[0].shape, &item->inputs[1].shape);
}

static bool is_case_spared(const conformance_t *c, const golden_case_t *item) {
    if (is_broadcast(item) && sweep_spares_broadcast(c, item->op, item->inputs[0].dtype))
        return true;
    bool has_further = false;
    for (size_t i = 0; i < item->input_count; ++i) {
        const gantry_dtype_t dtype = item->inputs[i].dtype;
        /* the key or counter of random values */
        if (i > 0 && dtype == GANTRY_UINT64) continue;
        if (conformance_spares_type(c, item->op, dtype)) return true;
        has_further |= conformance_is_further_type(c, item->op, dtype);
    }
    for (size_t i = 0; i < item->attr_count; ++i) {
        const golden_attr_t *attr = &item->attrs[i];
        if (attr->kind != GOLDEN_ATTR_TYPE) continue;
        if (conformance_spares_type(c, item->op, attr->type_value)) return true;
        has_further |= conformance_is_further_type(c, item->op, attr->type_value);
    }
    return c->options.further_types && !has_further;
}

static void run_file(conformance_t *c, const char *op) {
    char path[1024], error[512];
    golden_file_t file;
    snprintf(path, sizeof path, "%s/%s.json", c->options.golden, op);
    if (golden_load(path, &file, error, sizeof error)) {
        if (!conformance_begin(c, op, "(golden file)")) return;
        conformance_fail(c, "%s", error);
        conformance_end(c);
        return;
    }
    for (size_t i = 0; i < file.case_count; ++i) {
        const golden_case_t *item = &file.cases[i];
        /* the first case of every op always runs */
        if (i % c->options.every || is_case_spared(c, item)) continue;
        if (conformance_only_bits(c) &&
            (item->error_status != GANTRY_OK || !promises_bits(item->op) || is_from_library(item)))
            continue;
        if (!conformance_begin(c, item->op, item->name)) continue;
        if (golden_is_big_endian() && shows_order_of_bytes(item))
            conformance_skip(c, "the lowest byte is not the first one in this machine's memory");
        else if (conformance_only_bits(c))
            compare_case(c, item);
        else
            run_case(c, item);
        conformance_end(c);
    }
    golden_free(&file);
}

static int is_json(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

void conformance_run_golden(conformance_t *c) {
    struct dirent **entries = NULL;
    int count = scandir(c->options.golden, &entries, is_json, alphasort);
    if (count <= 0) { /* independent of the filters */
        c->row = conformance_row(c, "golden");
        c->row->failed++;
        printf("FAIL golden/(files): there is no golden file in %s\n", c->options.golden);
    }
    for (int i = 0; i < count; ++i) {
        char op[64];
        snprintf(op, sizeof op, "%.*s", (int)strlen(entries[i]->d_name) - 5, entries[i]->d_name);
        if (conformance_wants(c, op)) run_file(c, op);
        free(entries[i]);
    }
    free(entries);
}
