/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the device's memory: consistent numbers, an enforced limit, and an out-of-memory error
 * that the program survives. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

#define MEBI (UINT64_C(1) << CONFORMANCE_TIMES(20, 16))
#define LIMIT (64 * MEBI)

/* Makes a separate runtime, so that numbers start small; limit 0: the device's own limit. */
static gantry_runtime_t *open_runtime(conformance_t *c, uint64_t limit) {
    gantry_runtime_t *runtime = NULL;
    gantry_runtime_options_t options = conformance_runtime_options(c);
    options.memory_limit_bytes = limit;
    gantry_status_t status = gantry_runtime_create(&options, &runtime);
    if (status != GANTRY_OK) conformance_fail(c, "no runtime: %s", conformance_last_error(status));
    return runtime;
}

static gantry_memory_info_t info_of(conformance_t *c, gantry_runtime_t *runtime) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    gantry_status_t status = gantry_runtime_synchronize(runtime);
    CHECK(c, status == GANTRY_OK, "synchronize: %s", conformance_last_error(status));
    status = gantry_get_memory_info(runtime, c->options.device, &info);
    CHECK(c, status == GANTRY_OK, "memory info: %s", conformance_last_error(status));
    return info;
}

static const gantry_tensor_t *make_floats(gantry_scope_t *scope, uint64_t bytes) {
    return gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)(bytes / 4)));
}

/* Creates the programs and tables that live as long as the runtime before the check compares
 * numbers. */
static void warm_up(conformance_t *c, gantry_runtime_t *runtime) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, c->options.device);
    const gantry_tensor_t *x = make_floats(scope, MEBI),
                          *row = gantry_gather(scope, x, gantry_scalar_i32(scope, 0), 0);
    CHECK(c, row && gantry_add(scope, x, x), "%s", gantry_scope_message(scope));
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void current_returns_to_where_it_was(conformance_t *c) {
    gantry_runtime_t *runtime = open_runtime(c, 0);
    if (!runtime) return;
    warm_up(c, runtime);
    gantry_memory_info_t before = info_of(c, runtime);
    gantry_scope_t *scope = gantry_scope_begin(runtime, c->options.device);
    const gantry_tensor_t *x = make_floats(scope, 4 * MEBI), *y = gantry_add(scope, x, x);
    CHECK(c, y && gantry_exp(scope, y), "%s", gantry_scope_message(scope));
    gantry_memory_info_t during = info_of(c, runtime);
    CHECK(c, during.current_bytes >= before.current_bytes + 12 * MEBI,
          "%" PRIu64 " bytes in use, %" PRIu64 " before three tensors", during.current_bytes,
          before.current_bytes);
    CHECK(c, during.allocation_count >= before.allocation_count + 3,
          "%" PRIu64 " allocations, %" PRIu64 " before three tensors", during.allocation_count,
          before.allocation_count);
    gantry_tensor_drop(scope, y);
    gantry_memory_info_t dropped = info_of(c, runtime);
    CHECK(c, dropped.current_bytes + 4 * MEBI <= during.current_bytes,
          "dropping a tensor of 4 MiB freed %" PRIu64 " bytes",
          during.current_bytes - dropped.current_bytes);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_memory_info_t after = info_of(c, runtime);
    CHECK(c, after.current_bytes == before.current_bytes,
          "%" PRIu64 " bytes in use after the scope, %" PRIu64 " before it", after.current_bytes,
          before.current_bytes);
    gantry_runtime_release(runtime);
}

static void numbers_agree_with_each_other(conformance_t *c) {
    gantry_runtime_t *runtime = open_runtime(c, 0);
    if (!runtime) return;
    warm_up(c, runtime);
    gantry_status_t status = gantry_reset_memory_stats(runtime, c->options.device);
    CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
    gantry_memory_info_t start = info_of(c, runtime);
    CHECK(c, start.peak_bytes == start.current_bytes,
          "after a reset the peak is %" PRIu64 ", in use are %" PRIu64, start.peak_bytes,
          start.current_bytes);
    gantry_scope_t *scope = gantry_scope_begin(runtime, c->options.device);
    const gantry_tensor_t *x = make_floats(scope, 6 * MEBI);
    gantry_tensor_drop(scope, x);
    CHECK(c, make_floats(scope, 2 * MEBI), "%s", gantry_scope_message(scope));
    gantry_memory_info_t info = info_of(c, runtime);
    CHECK(c,
          info.peak_bytes >= start.current_bytes + 6 * MEBI &&
              info.peak_bytes <= start.current_bytes + 9 * MEBI,
          "the peak is %" PRIu64 " over %" PRIu64, info.peak_bytes, start.current_bytes);
    CHECK(c,
          info.current_bytes <= info.peak_bytes && info.peak_bytes <= info.peak_pool_bytes &&
              info.current_bytes <= info.pool_bytes,
          "in use %" PRIu64 ", peak %" PRIu64 ", pool %" PRIu64, info.current_bytes,
          info.peak_bytes, info.pool_bytes);
    CHECK(c, info.pool_bytes <= info.limit_bytes && info.limit_bytes > 0,
          "pool %" PRIu64 ", limit %" PRIu64, info.pool_bytes, info.limit_bytes);
    CHECK(c, info.largest_free_bytes + info.current_bytes <= info.pool_bytes,
          "largest free %" PRIu64 ", in use %" PRIu64 ", pool %" PRIu64, info.largest_free_bytes,
          info.current_bytes, info.pool_bytes);
    CHECK(c, info.largest_allocation_bytes >= 6 * MEBI, "largest allocation %" PRIu64,
          info.largest_allocation_bytes);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_runtime_release(runtime);
}

static void questions_about_no_device_are_refused(conformance_t *c) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    gantry_status_t status = gantry_get_memory_info(c->runtime, "/CPU:99", &info);
    conformance_check_status(c, "/CPU:99", status, GANTRY_NOT_FOUND, gantry_last_message(),
                             "CPU:99");
    status = gantry_get_memory_info(c->runtime, "no device", &info);
    conformance_check_status(c, "no device", status, GANTRY_INVALID_ARGUMENT, gantry_last_message(),
                             "no device");
    status = gantry_get_memory_info(c->runtime, c->options.device, NULL);
    conformance_check_status(c, "NULL", status, GANTRY_INVALID_ARGUMENT, gantry_last_message(), "");
    status = gantry_reset_memory_stats(c->runtime, "/CPU:99");
    conformance_check_status(c, "/CPU:99", status, GANTRY_NOT_FOUND, gantry_last_message(),
                             "CPU:99");
}

/* ---- the limit ---- */

static void the_limit_binds_and_is_survived(conformance_t *c) {
    gantry_runtime_t *runtime = open_runtime(c, LIMIT);
    if (!runtime) return;
    gantry_scope_t *scope = gantry_scope_begin(runtime, c->options.device);
    CHECK(c, !make_floats(scope, 2 * LIMIT), "a tensor of twice the limit was made");
    conformance_check_status(c, "twice the limit", gantry_scope_status(scope),
                             GANTRY_RESOURCE_EXHAUSTED, gantry_scope_message(scope),
                             "OOM when allocating tensor with shape[" CONFORMANCE_TIMES(
                                 "33554432", "2097152") "] and type float");
    CHECK(c, strstr(gantry_scope_message(scope), gantry_logical_device_full_name(c->device)),
          "the device is not named: %s", gantry_scope_message(scope));
    gantry_scope_clear(scope);
    const gantry_tensor_t *x = conformance_iota(scope, 3);
    conformance_check_floats(c, "the next op", gantry_add(scope, x, x), (const float[]){0, 2, 4},
                             3);
    gantry_memory_info_t info = info_of(c, runtime);
    CHECK(c, info.limit_bytes == LIMIT, "the limit is said to be %" PRIu64, info.limit_bytes);
    CHECK(c, info.peak_pool_bytes <= LIMIT, "%" PRIu64 " bytes were taken from the driver",
          info.peak_pool_bytes);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_runtime_release(runtime);
}

/* Fills the device, keeps every second tensor, and checks that the freed memory can be used
 * again. */
static void a_full_device_can_be_used_again(conformance_t *c) {
    const gantry_tensor_t *tensors[64] = {NULL};
    gantry_runtime_t *runtime = open_runtime(c, LIMIT);
    if (!runtime) return;
    gantry_scope_t *scope = gantry_scope_begin(runtime, c->options.device);
    size_t count = 0;
    while (count < 64 && (tensors[count] = make_floats(scope, 4 * MEBI))) count++;
    CHECK(c, count >= 12 && count <= 16, "%zu tensors of 4 MiB fit into 64 MiB", count);
    CHECK(c, gantry_scope_status(scope) == GANTRY_RESOURCE_EXHAUSTED, "%s: %s",
          gantry_status_name(gantry_scope_status(scope)), gantry_scope_message(scope));
    gantry_scope_clear(scope);
    gantry_memory_info_t info = info_of(c, runtime);
    CHECK(c, info.pool_bytes <= LIMIT, "%" PRIu64 " bytes are taken from the driver",
          info.pool_bytes);
    for (size_t i = 0; i < count; i += 2) gantry_tensor_drop(scope, tensors[i]);
    for (size_t i = 0; i < count; i += 2) {
        tensors[i] = make_floats(scope, 4 * MEBI);
        CHECK(c, tensors[i], "a freed tensor's place cannot be used again: %s",
              gantry_scope_message(scope));
    }
    conformance_end_scope(c, scope, c->reasons ? gantry_scope_status(scope) : GANTRY_OK);
    scope = gantry_scope_begin(runtime, c->options.device);
    CHECK(c, make_floats(scope, 40 * MEBI),
          "40 MiB cannot be allocated although all memory is free: %s",
          gantry_scope_message(scope));
    conformance_end_scope(c, scope, c->reasons ? gantry_scope_status(scope) : GANTRY_OK);
    gantry_runtime_release(runtime);
}

/* 100 results of 8 MiB fit in 64 MiB, because each is dropped once the next exists. */
static void long_chains_reuse_memory(conformance_t *c) {
    gantry_runtime_t *runtime = open_runtime(c, LIMIT);
    if (!runtime) return;
    gantry_scope_t *scope = gantry_scope_begin(runtime, c->options.device);
    const gantry_tensor_t *x = make_floats(scope, 8 * MEBI), *one = gantry_scalar_f32(scope, 1);
    for (int i = 0; i < 100 && x; ++i) {
        const gantry_tensor_t *next = gantry_add(scope, x, one);
        gantry_tensor_drop(scope, x);
        x = next;
    }
    CHECK(c, x, "%s", gantry_scope_message(scope));
    if (x) {
        const int64_t begin[] = {1000000}, size[] = {2};
        conformance_check_floats(c, "the end of the chain", gantry_slice(scope, x, begin, size),
                                 (const float[]){100, 100}, 2);
    }
    gantry_memory_info_t info = info_of(c, runtime);
    CHECK(c, info.peak_bytes <= 40 * MEBI, "the peak is %" PRIu64 " bytes", info.peak_bytes);
    conformance_end_scope(c, scope, c->reasons ? gantry_scope_status(scope) : GANTRY_OK);
    gantry_runtime_release(runtime);
}

static void growth_takes_what_is_needed(conformance_t *c) {
    gantry_runtime_t *runtime = open_runtime(c, 0);
    if (!runtime) return;
    gantry_scope_t *scope = gantry_scope_begin(runtime, c->options.device);
    CHECK(c, make_floats(scope, 3 * MEBI), "%s", gantry_scope_message(scope));
    gantry_memory_info_t info = info_of(c, runtime);
    CHECK(c, info.pool_bytes <= 64 * MEBI, "a tensor of 3 MiB made the pool take %" PRIu64 " bytes",
          info.pool_bytes);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_runtime_release(runtime);
}

void conformance_run_memory(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"current_returns_to_where_it_was", current_returns_to_where_it_was},
        {"numbers_agree_with_each_other", numbers_agree_with_each_other},
        {"questions_about_no_device_are_refused", questions_about_no_device_are_refused},
        {"the_limit_binds_and_is_survived", the_limit_binds_and_is_survived},
        {"a_full_device_can_be_used_again", a_full_device_can_be_used_again},
        {"long_chains_reuse_memory", long_chains_reuse_memory},
        {"growth_takes_what_is_needed", growth_takes_what_is_needed},
    };
    conformance_run_checks(c, "memory", checks, sizeof checks / sizeof checks[0]);
}
