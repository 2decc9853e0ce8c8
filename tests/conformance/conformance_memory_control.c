/* SPDX-License-Identifier: Apache-2.0 */
/* Checks control over the device's memory: settings by call, splitting, take-all, trim, reports,
 * and the last step on running out of memory. Each check has its own runtime, because settings
 * freeze. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

#define MEBI (UINT64_C(1) << CONFORMANCE_TIMES(20, 16))

typedef struct control_t {
    gantry_runtime_t *runtime;
    const gantry_physical_device_t *card; /* of the device under test, in this runtime */
    gantry_device_details_t details;
} control_t;

/* Finds the device under test among the new runtime's. False after failing the case. */
static bool find_card(conformance_t *c, control_t *control) {
    gantry_device_details_t wanted = {.struct_size = sizeof wanted};
    const gantry_physical_device_t *views[64];
    size_t count = 0;
    gantry_status_t status =
        gantry_get_device_details(c->runtime, gantry_logical_device_physical(c->device), &wanted);
    if (status == GANTRY_OK) status = gantry_list_device_views(control->runtime, 64, views, &count);
    for (size_t i = 0; i < count && i < 64 && status == GANTRY_OK; ++i) {
        control->details = (gantry_device_details_t){.struct_size = sizeof control->details};
        status = gantry_get_device_details(control->runtime, views[i], &control->details);
        control->card = views[i];
        if (strcmp(control->details.alias, wanted.alias) == 0) return true;
    }
    conformance_fail(c, "the device is not found again: %s", conformance_last_error(status));
    return false;
}

/* False after failing the case; then the caller has nothing to release. */
static bool open_control(conformance_t *c, const gantry_runtime_options_t *options,
                         control_t *control) {
    *control = (control_t){NULL, NULL, {0}};
    gantry_status_t status = gantry_runtime_create(options, &control->runtime);
    if (status != GANTRY_OK) {
        conformance_fail(c, "no runtime: %s", conformance_last_error(status));
        return false;
    }
    if (find_card(c, control)) return true;
    gantry_runtime_release(control->runtime);
    return false;
}

static gantry_memory_info_t info_of(conformance_t *c, gantry_runtime_t *runtime,
                                    const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    gantry_status_t status = gantry_get_memory_info(runtime, device, &info);
    CHECK(c, status == GANTRY_OK, "memory info of %s: %s", device, conformance_last_error(status));
    return info;
}

static const gantry_tensor_t *make_floats(gantry_scope_t *scope, uint64_t bytes) {
    return gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)(bytes / 4)));
}

/* ---- settings by call ---- */

static void a_limit_by_call_wins_over_the_option(conformance_t *c) {
    gantry_runtime_options_t options = conformance_runtime_options(c);
    gantry_setting_t setting = {.struct_size = sizeof setting};
    control_t control;
    options.memory_limit_bytes = 256 * MEBI;
    if (!open_control(c, &options, &control)) return;
    gantry_status_t status = gantry_set_memory_limit(control.runtime, control.card, 48 * MEBI);
    CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
    status = gantry_get_setting(control.runtime, "memory_limit", control.card, &setting);
    CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
    CHECK(c,
          setting.source == GANTRY_FROM_CALL &&
              strcmp(setting.set_by, "gantry_set_memory_limit") == 0,
          "set by %s (source %d)", setting.set_by, (int)setting.source);
    gantry_memory_info_t info = info_of(c, control.runtime, c->options.device); /* initialises */
    CHECK(c, info.limit_bytes == 48 * MEBI, "the limit is %" PRIu64, info.limit_bytes);
    status = gantry_set_memory_limit(control.runtime, control.card, 48 * MEBI);
    CHECK(c, status == GANTRY_OK, "the same limit again: %s", conformance_last_error(status));
    status = gantry_set_memory_limit(control.runtime, control.card, 64 * MEBI);
    conformance_check_status(c, "another limit", status, GANTRY_FAILED_PRECONDITION,
                             gantry_last_message(), "cannot be modified after being initialized");
    status = gantry_set_memory_growth(control.runtime, control.card, false);
    conformance_check_status(c, "another growth", status, GANTRY_FAILED_PRECONDITION,
                             gantry_last_message(), "cannot be modified after being initialized");
    gantry_runtime_release(control.runtime);
}

static void a_fraction_is_a_part_of_the_total(conformance_t *c) {
    gantry_runtime_options_t options = conformance_runtime_options(c);
    control_t control;
    if (!open_control(c, &options, &control)) return;
    gantry_status_t status = gantry_set_memory_fraction(control.runtime, control.card, 1.5);
    conformance_check_status(c, "fraction 1.5", status, GANTRY_INVALID_ARGUMENT,
                             gantry_last_message(), "1.5");
    status = gantry_set_memory_fraction(control.runtime, control.card, 0.125);
    CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
    gantry_memory_info_t info = info_of(c, control.runtime, c->options.device);
    uint64_t eighth = control.details.total_bytes / 8;
    CHECK(c, info.limit_bytes <= eighth + 4096 && info.limit_bytes + 4096 >= eighth,
          "the limit is %" PRIu64 " of %" PRIu64, info.limit_bytes, control.details.total_bytes);
    gantry_runtime_release(control.runtime);
}

static void take_all_takes_the_limit_at_once(conformance_t *c) {
    gantry_runtime_options_t options = conformance_runtime_options(c);
    control_t control;
    uint64_t pool = 0;
    options.memory_growth = GANTRY_OFF;
    options.memory_limit_bytes = 40 * MEBI;
    if (!open_control(c, &options, &control)) return;
    gantry_memory_info_t before = info_of(c, control.runtime, c->options.device);
    CHECK(c, before.pool_bytes == 0, "%" PRIu64 " bytes were taken before the first tensor",
          before.pool_bytes);
    gantry_scope_t *scope = gantry_scope_begin(control.runtime, c->options.device);
    CHECK(c, make_floats(scope, MEBI), "%s", gantry_scope_message(scope));
    gantry_memory_info_t info = info_of(c, control.runtime, c->options.device);
    CHECK(c,
          info.pool_bytes + info.staging_bytes + MEBI >= 40 * MEBI &&
              info.pool_bytes + info.staging_bytes <= 40 * MEBI,
          "the first tensor took %" PRIu64 " bytes of 40 MiB", info.pool_bytes);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_status_t status = gantry_trim_memory(control.runtime, c->options.device, 0, &pool);
    CHECK(c, status == GANTRY_OK && pool <= info.pool_bytes, "trim: %" PRIu64 " held, %s", pool,
          conformance_last_error(status));
    gantry_runtime_release(control.runtime);
}

/* ---- giving back ---- */

static void trim_gives_back_what_is_not_used(conformance_t *c) {
    gantry_runtime_options_t options = conformance_runtime_options(c);
    control_t control;
    uint64_t pool = 0;
    options.memory_limit_bytes = 256 * MEBI;
    if (!open_control(c, &options, &control)) return;
    gantry_scope_t *outer = gantry_scope_begin(control.runtime, c->options.device);
    const gantry_tensor_t *kept = conformance_iota(outer, 100000);
    gantry_scope_t *scope = gantry_scope_begin_in(outer, NULL);
    for (int i = 0; i < 10; ++i)
        CHECK(c, make_floats(scope, 12 * MEBI), "%s", gantry_scope_message(scope));
    gantry_memory_info_t full = info_of(c, control.runtime, c->options.device);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_status_t status = gantry_trim_memory(control.runtime, c->options.device, 0, &pool);
    gantry_memory_info_t info = info_of(c, control.runtime, c->options.device);
    CHECK(c, status == GANTRY_OK && pool == info.pool_bytes,
          "trim says %" PRIu64 ", held are %" PRIu64 ": %s", pool, info.pool_bytes,
          conformance_last_error(status));
    CHECK(c,
          full.pool_bytes >= 120 * MEBI && info.pool_bytes <= 40 * MEBI &&
              info.pool_bytes >= info.current_bytes,
          "trim left %" PRIu64 " of %" PRIu64 " bytes for %" PRIu64 " in use", info.pool_bytes,
          full.pool_bytes, info.current_bytes);
    CHECK(c, info.peak_pool_bytes >= full.pool_bytes, "the pool's peak fell to %" PRIu64,
          info.peak_pool_bytes);
    scope = gantry_scope_begin_in(outer, NULL);
    CHECK(c, make_floats(scope, 100 * MEBI), "after a trim: %s", gantry_scope_message(scope));
    conformance_end_scope(c, scope, GANTRY_OK);
    float last = 0;
    const int64_t begin[] = {99999}, size[] = {1};
    const gantry_tensor_t *end = gantry_slice(outer, kept, begin, size);
    CHECK(c, end && gantry_tensor_read(end, &last, sizeof last) == GANTRY_OK && last == 99999.0f,
          "a tensor that was in use changed: %g", (double)last);
    conformance_end_scope(c, outer, GANTRY_OK);
    gantry_runtime_release(control.runtime);
}

/* ---- reports ---- */

typedef gantry_status_t (*report_fn)(gantry_runtime_t *, const char *, gantry_report_format_t,
                                     char *, size_t, size_t *);

/* The whole report in heap memory; NULL after failing the case. */
static char *report_of(conformance_t *c, gantry_runtime_t *runtime, report_fn report,
                       gantry_report_format_t format) {
    size_t needed = 0;
    gantry_status_t status = report(runtime, c->options.device, format, NULL, 0, &needed);
    char *text = status == GANTRY_OK ? malloc(needed + 1) : NULL;
    if (text) status = report(runtime, c->options.device, format, text, needed + 1, &needed);
    if (text && status == GANTRY_OK && strlen(text) == needed) return text;
    conformance_fail(c, "no report: %s", conformance_last_error(status));
    free(text);
    return NULL;
}

static void check_text(conformance_t *c, const char *text, const char *const *parts, size_t count) {
    for (size_t i = 0; text && i < count; ++i)
        CHECK(c, strstr(text, parts[i]), "\"%s\" is not in the report:\n%.800s", parts[i], text);
}

static void out_of_memory_leaves_a_report(conformance_t *c) {
    static const char *const parts[] = {"ran out of memory", "weights", "Tried:", "Bins of",
                                        "largest"};
    gantry_runtime_options_t options = conformance_runtime_options(c);
    control_t control;
    size_t needed;
    options.memory_limit_bytes = 32 * MEBI;
    if (!open_control(c, &options, &control)) return;
    gantry_status_t status = gantry_get_oom_report(control.runtime, c->options.device,
                                                   GANTRY_REPORT_TEXT, NULL, 0, &needed);
    conformance_check_status(c, "before", status, GANTRY_NOT_FOUND, gantry_last_message(), "");
    gantry_scope_t *scope = gantry_scope_begin(control.runtime, c->options.device);
    status = gantry_scope_set_tag(scope, "weights");
    CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
    const gantry_tensor_t *x = make_floats(scope, 8 * MEBI), *y = make_floats(scope, 8 * MEBI);
    CHECK(c, x && y && !make_floats(scope, 24 * MEBI), "24 MiB beside 16 MiB fit into 32 MiB");
    conformance_check_status(c, "the third", gantry_scope_status(scope), GANTRY_RESOURCE_EXHAUSTED,
                             gantry_scope_message(scope),
                             "OOM when allocating tensor with shape[" CONFORMANCE_TIMES(
                                 "6291456", "393216") "] and type float");
    gantry_scope_clear(scope);
    char *text = report_of(c, control.runtime, gantry_get_oom_report, GANTRY_REPORT_TEXT);
    check_text(c, text, parts, sizeof parts / sizeof parts[0]);
    free(text);
    char *json = report_of(c, control.runtime, gantry_get_oom_report, GANTRY_REPORT_JSON);
    cJSON *tree = json ? cJSON_Parse(json) : NULL;
    CHECK(c, tree && cJSON_IsObject(tree), "the report is no JSON object: %.300s",
          json ? json : "");
    CHECK(c, json && strstr(json, "weights"), "the tag is not in the JSON report");
    cJSON_Delete(tree);
    free(json);
    text = report_of(c, control.runtime, gantry_get_memory_report, GANTRY_REPORT_TEXT);
    CHECK(c, text && strstr(text, "weights"), "the tag is not in the report of the present");
    free(text);
    gantry_memory_info_t info = info_of(c, control.runtime, c->options.device);
    CHECK(c, info.out_of_memory_count == 1 && info.extended_count >= 1,
          "%" PRIu64 " times out of memory, %" PRIu64 " extended", info.out_of_memory_count,
          info.extended_count);
    conformance_check_floats(
        c, "the next op", gantry_add(scope, conformance_iota(scope, 2), conformance_iota(scope, 2)),
        (const float[]){0, 2}, 2);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_runtime_release(control.runtime);
}

static void without_memory_an_op_moves_when_allowed(conformance_t *c) {
    gantry_runtime_options_t options = conformance_runtime_options(c);
    control_t control;
    if (strcmp(gantry_logical_device_type(c->device), "CPU") == 0 &&
        strcmp(c->backend, "cpu") == 0) {
        conformance_skip(c, "there is no other device than the CPU to move to");
        return;
    }
    options.memory_limit_bytes = 32 * MEBI;
    options.oom_fallback = GANTRY_ON;
    if (!open_control(c, &options, &control)) return;
    gantry_status_t status = gantry_set_memory_limit(control.runtime, control.card, 20 * MEBI);
    CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
    gantry_scope_t *scope = gantry_scope_begin(control.runtime, c->options.device);
    const gantry_tensor_t *x = make_floats(scope, 8 * MEBI), *y = make_floats(scope, 8 * MEBI),
                          *sum = gantry_add(scope, x, y);
    CHECK(c, sum, "%s", gantry_scope_message(scope));
    CHECK(c, sum && strcmp(gantry_logical_device_type(gantry_tensor_device(sum)), "CPU") == 0,
          "the sum lies on %s",
          sum ? gantry_logical_device_name(gantry_tensor_device(sum)) : "nothing");
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count = 0;
    status = gantry_get_placements(control.runtime, 1, &record, &count);
    CHECK(c, status == GANTRY_OK && count == 1 && record.reason == GANTRY_PLACED_OUT_OF_MEMORY,
          "reason: %s", gantry_placement_reason_text(record.reason));
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_runtime_release(control.runtime);
}

/* CLBlast's kernel for small products needs no workspace, and the card decides which products are
 * small. On PoCL the product below is large. */
static bool may_do_without(const control_t *control, bool is_opencl) {
    return !is_opencl || !strstr(control->details.platform, "Portable Computing Language");
}

/* A vendor library's workspace comes from the pool. The workspace shows in the peak, and a limit
 * without room for it refuses the product. */
static void workspaces_of_libraries_count(conformance_t *c) {
    static const char *const extra[] = {"GANTRY_OPENCL_MATMUL=clblast", NULL};
    gantry_runtime_options_t options = conformance_runtime_options(c);
    control_t control;
    bool is_opencl = strcmp(c->backend, "opencl") == 0;
    if (!is_opencl && strcmp(c->backend, "cuda") != 0) {
        conformance_skip(c, "no library of backend %s uses a workspace from its caller",
                         c->backend);
        return;
    }
    if (is_opencl) options.extra = extra;
    if (!open_control(c, &options, &control)) return;
    gantry_scope_t *scope = gantry_scope_begin(control.runtime, c->options.device);
    const gantry_tensor_t *a = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1400, 1401)),
                          *b = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1401, 1402));
    gantry_status_t status = gantry_reset_memory_stats(control.runtime, c->options.device);
    gantry_memory_info_t before = info_of(c, control.runtime, c->options.device);
    CHECK(c, status == GANTRY_OK && gantry_matmul(scope, a, b, NULL), "%s",
          gantry_scope_message(scope));
    gantry_memory_info_t after = info_of(c, control.runtime, c->options.device);
    uint64_t product = after.current_bytes - before.current_bytes,
             workspace = after.peak_bytes - after.current_bytes;
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count = 0;
    (void)gantry_get_placements(control.runtime, 1, &record, &count);
    if (strcmp(record.kernel, c->backend) != 0) {
        conformance_skip(c, "CLBlast or cuBLASLt is missing: the product ran as %s", record.kernel);
    } else if (workspace == 0 && may_do_without(&control, is_opencl)) {
        conformance_skip(c, "%s wants no workspace for this product",
                         is_opencl ? "CLBlast" : "cuBLASLt");
    } else {
        CHECK(c, product >= 1400 * 1402 * 4 && workspace >= (is_opencl ? MEBI : 1),
              "%" PRIu64 " bytes for the product, %" PRIu64 " at the peak beside it (kernel %s)",
              product, workspace, record.kernel);
    }
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_runtime_release(control.runtime);
}

/* ---- splitting ---- */

#define PARTS 2

/* The logical devices of the card, in order; returns their number. */
static size_t parts_of(conformance_t *c, const control_t *control,
                       const gantry_logical_device_t **parts, size_t capacity) {
    const gantry_logical_device_t *all[64];
    size_t count = 0, found = 0;
    gantry_status_t status = gantry_list_logical_devices(control->runtime, NULL, 64, all, &count);
    CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
    for (size_t i = 0; i < count && i < 64; ++i) {
        if (gantry_logical_device_physical(all[i]) != control->card) continue;
        if (found < capacity) parts[found] = all[i];
        found++;
    }
    return found;
}

/* Makes two parts of 40 MiB. False after failing or skipping the case and releasing everything. */
static bool open_split(conformance_t *c, control_t *control,
                       const gantry_logical_device_t **parts) {
    static const gantry_logical_device_config_t configs[PARTS] = {
        {.memory_limit_bytes = 40 * MEBI}, {.memory_limit_bytes = 40 * MEBI}};
    gantry_runtime_options_t options = conformance_runtime_options(c);
    if (!open_control(c, &options, control)) return false;
    gantry_status_t status =
        gantry_set_logical_device_configuration(control->runtime, control->card, configs, PARTS);
    if (!control->details.listed) {
        conformance_check_status(c, "an unlisted view", status, GANTRY_INVALID_ARGUMENT,
                                 gantry_last_message(), control->details.alias);
    } else if (status != GANTRY_OK) {
        conformance_fail(c, "%s", conformance_last_error(status));
    } else {
        size_t count = parts_of(c, control, parts, PARTS);
        if (count == PARTS) return true;
        conformance_fail(c, "two parts gave %zu logical devices", count);
    }
    gantry_runtime_release(control->runtime);
    return false;
}

static void parts_have_limits_and_numbers_of_their_own(conformance_t *c) {
    const gantry_logical_device_t *parts[PARTS];
    control_t control;
    if (!open_split(c, &control, parts)) return;
    const char *first = gantry_logical_device_name(parts[0]),
               *second = gantry_logical_device_name(parts[1]);
    gantry_scope_t *scope = gantry_scope_begin(control.runtime, first);
    CHECK(c, make_floats(scope, 24 * MEBI), "%s", gantry_scope_message(scope));
    CHECK(c, !make_floats(scope, 24 * MEBI), "allocations of 48 MiB succeeded in a part of 40");
    conformance_check_status(c, "the first part", gantry_scope_status(scope),
                             GANTRY_RESOURCE_EXHAUSTED, gantry_scope_message(scope),
                             gantry_logical_device_full_name(parts[0]));
    gantry_scope_clear(scope);
    gantry_scope_t *other = gantry_scope_begin(control.runtime, second);
    CHECK(c, make_floats(other, 24 * MEBI), "the second part is touched by the first: %s",
          gantry_scope_message(other));
    gantry_memory_info_t a = info_of(c, control.runtime, first),
                         b = info_of(c, control.runtime, second);
    CHECK(c, a.limit_bytes == 40 * MEBI && b.limit_bytes == 40 * MEBI,
          "limits %" PRIu64 " and %" PRIu64, a.limit_bytes, b.limit_bytes);
    CHECK(c, a.out_of_memory_count == 1 && b.out_of_memory_count == 0,
          "out of memory %" PRIu64 " and %" PRIu64 " times", a.out_of_memory_count,
          b.out_of_memory_count);
    CHECK(c, a.pool_bytes <= 40 * MEBI && b.pool_bytes <= 40 * MEBI && b.current_bytes >= 24 * MEBI,
          "pools %" PRIu64 " and %" PRIu64, a.pool_bytes, b.pool_bytes);
    conformance_end_scope(c, other, GANTRY_OK);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_runtime_release(control.runtime);
}

/* A chain of results alternates between the parts. The results are large, so that each copy takes a
 * while, and memory is reused at once. */
static void copies_between_parts_are_right(conformance_t *c) {
    enum { ELEMENTS = CONFORMANCE_TIMES(1 << 18, 1 << 10), ROUNDS = CONFORMANCE_TIMES(20, 4) };
    const gantry_logical_device_t *parts[PARTS];
    control_t control;
    if (!open_split(c, &control, parts)) return;
    gantry_scope_t *scopes[PARTS];
    for (int k = 0; k < PARTS; ++k)
        scopes[k] = gantry_scope_begin(control.runtime, gantry_logical_device_name(parts[k]));
    const gantry_tensor_t *x = conformance_iota(scopes[0], ELEMENTS);
    gantry_scope_t *owner = scopes[0];
    for (int i = 0; i < ROUNDS && x; ++i) {
        gantry_scope_t *scope = scopes[(i + 1) % PARTS];
        const gantry_tensor_t *next = gantry_add(scope, x, gantry_scalar_f32(scope, 1));
        CHECK(c, next && gantry_tensor_device(next) == parts[(i + 1) % PARTS], "round %d: %s", i,
              gantry_scope_message(scope));
        gantry_tensor_drop(owner, x);
        owner = scope;
        x = next;
    }
    float *got = malloc(ELEMENTS * sizeof *got);
    if (x && got && gantry_tensor_read(x, got, ELEMENTS * sizeof *got) == GANTRY_OK) {
        size_t wrong = 0;
        for (int i = 0; i < ELEMENTS; ++i) wrong += got[i] != (float)i + ROUNDS;
        CHECK(c, wrong == 0, "%zu of %d elements are wrong", wrong, (int)ELEMENTS);
    } else {
        conformance_fail(c, "%s", gantry_last_message());
    }
    free(got);
    for (int k = PARTS; k-- > 0;)
        conformance_end_scope(c, scopes[k],
                              c->reasons ? gantry_scope_status(scopes[k]) : GANTRY_OK);
    gantry_runtime_release(control.runtime);
}

static void a_smaller_device_can_be_imitated(conformance_t *c) {
    static const gantry_logical_device_config_t config = {.memory_limit_bytes = 64 * MEBI,
                                                          .largest_allocation_bytes = 4 * MEBI};
    gantry_runtime_options_t options = conformance_runtime_options(c);
    control_t control;
    if (!open_control(c, &options, &control)) return;
    gantry_status_t status =
        gantry_set_logical_device_configuration(control.runtime, control.card, &config, 1);
    if (!control.details.listed) {
        conformance_check_status(c, "an unlisted view", status, GANTRY_INVALID_ARGUMENT,
                                 gantry_last_message(), control.details.alias);
        gantry_runtime_release(control.runtime);
        return;
    }
    CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
    gantry_scope_t *scope = gantry_scope_begin(control.runtime, c->options.device);
    for (int i = 0; i < 4; ++i)
        CHECK(c, make_floats(scope, 4 * MEBI), "%s", gantry_scope_message(scope));
    CHECK(c, !make_floats(scope, 5 * MEBI),
          "an allocation of 5 MiB succeeded although the largest is 4");
    conformance_check_status(c, "5 MiB", gantry_scope_status(scope), GANTRY_RESOURCE_EXHAUSTED,
                             gantry_scope_message(scope), "largest");
    gantry_scope_clear(scope);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_runtime_release(control.runtime);
}

void conformance_run_memory_control(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"a_limit_by_call_wins_over_the_option", a_limit_by_call_wins_over_the_option},
        {"a_fraction_is_a_part_of_the_total", a_fraction_is_a_part_of_the_total},
        {"take_all_takes_the_limit_at_once", take_all_takes_the_limit_at_once},
        {"trim_gives_back_what_is_not_used", trim_gives_back_what_is_not_used},
        {"out_of_memory_leaves_a_report", out_of_memory_leaves_a_report},
        {"without_memory_an_op_moves_when_allowed", without_memory_an_op_moves_when_allowed},
        {"workspaces_of_libraries_count", workspaces_of_libraries_count},
        {"parts_have_limits_and_numbers_of_their_own", parts_have_limits_and_numbers_of_their_own},
        {"copies_between_parts_are_right", copies_between_parts_are_right},
        {"a_smaller_device_can_be_imitated", a_smaller_device_can_be_imitated},
    };
    conformance_run_checks(c, "memory", checks, sizeof checks / sizeof checks[0]);
}
