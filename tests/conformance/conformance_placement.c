/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the placement of ops: the requested device has a kernel, or a line of the expectations
 * file gives the reason. The registry's list of kernels must agree with the devices that ran the
 * ops. */
#include <stdio.h>
#include <string.h>

#include "conformance.h"

static conformance_rule_t *find_expectation(conformance_t *c, const char *op, const char *dtype) {
    for (size_t i = 0; i < c->expectations.count; ++i) {
        conformance_rule_t *rule = &c->expectations.items[i];
        if (strcmp(rule->words[0], c->backend) == 0 && strcmp(rule->words[1], op) == 0 &&
            strcmp(rule->words[2], dtype) == 0) {
            return rule;
        }
    }
    return NULL;
}

static void check_listed(conformance_t *c, const char *op, gantry_dtype_t dtype, bool ran_here) {
    bool has = false;
    const char *source = NULL;
    if (dtype == GANTRY_DTYPE_NONE) return;
    gantry_status_t status = gantry_op_has_kernel(c->runtime, op, c->device, dtype, &has, &source);
    if (status != GANTRY_OK) {
        conformance_fail(c, "gantry_op_has_kernel: %s", conformance_last_error(status));
    } else if (has != ran_here) {
        conformance_fail(c, "gantry_op_has_kernel returns %s for %s, but the op ran on %s",
                         has ? "yes" : "no", gantry_dtype_name(dtype), c->record.device);
    }
}

bool conformance_find_op(const char *name, gantry_op_info_t *out_info) {
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        *out_info = (gantry_op_info_t){.struct_size = sizeof *out_info};
        if (gantry_op_info(i, out_info) == GANTRY_OK && strcmp(out_info->name, name) == 0)
            return true;
    }
    return false;
}

/* Whether the op computes with the type; an op that only moves elements takes complex64, too. */
static bool computes(conformance_t *c) {
    bool moves = false;
    gantry_status_t status =
        gantry_op_has_kernel(c->runtime, c->record.op, c->device, GANTRY_COMPLEX64, &moves, NULL);
    if (status != GANTRY_OK)
        conformance_fail(c, "gantry_op_has_kernel: %s", conformance_last_error(status));
    return !moves;
}

/* The op did not run here because the device lacks float64. Such an op must compute with float64;
 * an op that only moves it must run here. */
static bool is_lacking(conformance_t *c) {
    const gantry_placement_record_t *record = &c->record;
    return c->lacks_float64 && record->refusal_count > 0 &&
           record->refusals[0].why == GANTRY_REFUSED_DEVICE_LACKS_TYPE &&
           strcmp(record->refusals[0].device, gantry_logical_device_full_name(c->device)) == 0 &&
           computes(c);
}

/* The same for a part: some exist on the CPU alone. A fused program has no type of its own, and a
 * device declines one with float64. */
static bool is_part_lacking(conformance_t *c) {
    const gantry_dtype_t dtype = c->record.dtype;
    if (is_lacking(c)) return true;
    return c->lacks_float64 &&
           (dtype == GANTRY_DTYPE_NONE || (dtype == GANTRY_FLOAT64 && computes(c)));
}

/* Parts ran on the requested device. No part runs when the host computes the result, which the op's
 * own record says, or when an input is the result. */
static bool check_composed(conformance_t *c, const char *op) {
    const gantry_placement_record_t *record = &c->record;
    gantry_op_info_t info;
    if (!conformance_find_op(op, &info) || !info.is_composed) return false;
    if (!record->op[0] || strcmp(record->op, op) == 0) return true;
    CHECK(c, strcmp(record->part_of, op) == 0, "the newest placement (%s) is part of \"%s\"",
          record->op, record->part_of);
    CHECK(c,
          strcmp(record->device, gantry_logical_device_full_name(c->device)) == 0 ||
              find_expectation(c, record->op, gantry_dtype_name(record->dtype)) ||
              is_part_lacking(c),
          "part %s ran on %s", record->op, record->device);
    return true;
}

void conformance_check_placement(conformance_t *c, const char *op, const gantry_tensor_t *output) {
    const gantry_placement_record_t *record = &c->record;
    const char *asked = gantry_logical_device_full_name(c->device),
               *dtype = gantry_dtype_name(record->dtype);
    if (check_composed(c, op)) return;
    if (strcmp(record->op, op) != 0) {
        conformance_fail(c, "no placement record (the newest is of \"%s\")", record->op);
        return;
    }
    bool ran_here = strcmp(record->device, asked) == 0;
    if (ran_here && record->reason != GANTRY_PLACED_EXPLICIT) {
        conformance_fail(c, "placement reason is \"%s\"",
                         gantry_placement_reason_text(record->reason));
    }
    const bool lacks = !ran_here && is_lacking(c);
    if (!ran_here && !lacks && !find_expectation(c, op, dtype)) {
        conformance_fail(c, "ran on %s, not on %s, and \"%s %s %s\" is no expectation",
                         record->device, asked, c->backend, op, dtype);
    }
    if (ran_here && output && gantry_tensor_device(output) != c->device) {
        conformance_fail(c, "the result lies on %s",
                         gantry_logical_device_full_name(gantry_tensor_device(output)));
    }
    if (!lacks || record->dtype == GANTRY_FLOAT64) check_listed(c, op, record->dtype, ran_here);
}

/* ---- the whole list ---- */

/* Verify mode: an expectation whose kernel exists, or whose op does not, is stale. */
static void check_expectation(conformance_t *c, conformance_rule_t *rule) {
    const char *op = rule->words[1];
    gantry_dtype_t dtype = gantry_dtype_from_name(rule->words[2]);
    bool has = false;
    gantry_op_info_t info;
    if (!conformance_find_op(op, &info) || dtype == GANTRY_DTYPE_NONE) {
        conformance_fail(c, "op %s or type %s does not exist: the line is stale", op,
                         rule->words[2]);
        return;
    }
    gantry_status_t status = gantry_op_has_kernel(c->runtime, op, c->device, dtype, &has, NULL);
    if (status != GANTRY_OK) conformance_fail(c, "%s", conformance_last_error(status));
    CHECK(c, !has, "the kernel exists: the line is stale");
}

static void check_info(conformance_t *c, const gantry_op_info_t *info, const char *op) {
    CHECK(c, info->name && strcmp(info->name, op) == 0, "the name is \"%s\"",
          info->name ? info->name : "(null)");
    CHECK(c, info->summary && *info->summary, "there is no summary");
    for (size_t i = 0; i < info->input_count; ++i)
        CHECK(c, info->inputs[i] && *info->inputs[i], "input %zu has no name", i);
    for (size_t i = 0; i < info->output_count; ++i) {
        CHECK(c, info->outputs[i] && *info->outputs[i], "output %zu has no name", i);
    }
    for (size_t i = 0; i < info->attr_count; ++i) {
        CHECK(c, info->attrs[i] && strchr(info->attrs[i], ':'),
              "attribute %zu does not read \"name: kind\"", i);
    }
}

/* Ops without golden files, which other groups check; NcclAllReduce: test_nccl.c. */
static bool is_checked_elsewhere(const char *op) {
    static const char *const ops[] = {"Const",
                                      "VarHandleOp",
                                      "ReadVariableOp",
                                      "AssignVariableOp",
                                      "AssignAddVariableOp",
                                      "AssignSubVariableOp",
                                      "NcclAllReduce"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
        if (strcmp(ops[i], op) == 0) return true;
    }
    return false;
}

/* Runs each op even when --every leaves cases out. */
static bool was_run(const conformance_t *c, const char *op) {
    for (size_t i = 0; i < c->row_count; ++i) {
        if (strcmp(c->rows[i].group, op) == 0)
            return c->rows[i].passed + c->rows[i].failed + c->rows[i].skipped > 0;
    }
    return c->options.only || c->options.case_part;
}

static void check_op(conformance_t *c, size_t index) {
    char path[1024];
    gantry_op_info_t info = {.struct_size = sizeof info};
    gantry_status_t status = gantry_op_info(index, &info);
    if (status != GANTRY_OK) {
        conformance_fail(c, "gantry_op_info: %s", conformance_last_error(status));
        return;
    }
    check_info(c, &info, c->case_name);
    if (is_checked_elsewhere(info.name)) return;
    snprintf(path, sizeof path, "%s/%s.json", c->options.golden, info.name);
    FILE *file = fopen(path, "rb");
    CHECK(c, file, "there are no golden cases: %s cannot be opened", path);
    if (file) fclose(file);
    CHECK(c, was_run(c, info.name), "no case of the op was run");
}

void conformance_run_coverage(conformance_t *c) {
    if (!conformance_wants(c, "coverage")) return;
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        if (gantry_op_info(i, &info) != GANTRY_OK) info.name = "(unknown)";
        if (!conformance_begin(c, "coverage", info.name)) continue;
        check_op(c, i);
        conformance_end(c);
    }
    for (size_t i = 0; i < c->expectations.count; ++i) {
        conformance_rule_t *rule = &c->expectations.items[i];
        char name[160];
        snprintf(name, sizeof name, "expects %.40s %.40s %.40s", rule->words[0], rule->words[1],
                 rule->words[2]);
        if (!c->options.list && strcmp(rule->words[0], c->backend) != 0) continue;
        if (!conformance_begin(c, "coverage", name)) continue;
        check_expectation(c, rule);
        conformance_end(c);
    }
}
