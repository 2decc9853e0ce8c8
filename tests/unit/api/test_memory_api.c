/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Public calls report memory, return unused memory to the driver, and attribute memory to
 * the tags of scopes.
 * Promise: Tensors of up to 64 bytes on the CPU backend are in the host's heap, and no figure of
 * the device counts them; longer ones, and those of other devices, are counted. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include <stddef.h>

#include "json_reader.h"
#include "run/tensor_state.h"

#define MIB (UINT64_C(1) << 20)

static gantry_memory_info_t info_of(const runtime_fixture_t *f, const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    if (gantry_get_memory_info(f->runtime, device, &info) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return info;
}

static char *report_of(const runtime_fixture_t *f, bool oom, gantry_report_format_t format) {
    size_t needed = 0;
    gantry_status_t status =
        oom ? gantry_get_oom_report(f->runtime, "GPU:0", format, NULL, 0, &needed)
            : gantry_get_memory_report(f->runtime, "GPU:0", format, NULL, 0, &needed);
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
    char *text = malloc(needed + 100);
    assert_non_null(text);
    size_t again = 0;
    status =
        oom ? gantry_get_oom_report(f->runtime, "GPU:0", format, text, needed + 100, &again)
            : gantry_get_memory_report(f->runtime, "GPU:0", format, text, needed + 100, &again);
    assert_int_equal(status, GANTRY_OK);
    assert_int_equal(again, needed);
    assert_int_equal(strlen(text), needed);
    if (format == GANTRY_REPORT_JSON && !json_is_valid(text)) fail_msg("not JSON: %s", text);
    return text;
}

static const gantry_tensor_t *try_zeros(gantry_scope_t *scope, gantry_shape_t shape) {
    size_t floats = (size_t)gantry_shape_elements(&shape);
    void *values = calloc(floats, sizeof(float));
    assert_non_null(values);
    const gantry_tensor_t *tensor =
        gantry_constant(scope, GANTRY_FLOAT32, shape, values, floats * sizeof(float));
    free(values);
    return tensor;
}

static const gantry_tensor_t *zeros(gantry_scope_t *scope, int64_t floats) {
    const gantry_tensor_t *tensor = try_zeros(scope, GANTRY_SHAPE(floats));
    if (!tensor) fail_msg("%s", gantry_scope_message(scope));
    return tensor;
}

/* ---- numbers ---- */

TEST(info_follows_what_is_allocated) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    gantry_memory_info_t info = info_of(&f, "GPU:0");
    assert_int_equal(
        info.pool_bytes + info.requested_bytes + info.region_count + info.extended_count, 0);
    const gantry_tensor_t *tensor = zeros(scope, 250);
    info = info_of(&f, "GPU:0");
    assert_int_equal(info.requested_bytes, 1000);
    assert_int_equal(info.current_bytes, 1024);
    assert_int_equal(info.region_count, 1);
    assert_int_equal(info.extended_count, 1);
    assert_int_equal(info.waited_count + info.collected_count + info.out_of_memory_count, 0);
    assert_int_equal(info_of(&f, "GPU:1").region_count, 0);
    gantry_tensor_drop(scope, tensor);
    info = info_of(&f, "GPU:0");
    assert_int_equal(info.requested_bytes, 0);
    assert_int_equal(info.region_count, 1);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(info_of_an_older_caller_ends_where_its_struct_ends) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_memory_info_t info;
    memset(&info, 0x5a, sizeof info);
    info.struct_size = offsetof(gantry_memory_info_t, requested_bytes);
    assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_OK);
    assert_int_equal(info.current_bytes, 0);
    assert_int_equal(info.requested_bytes, UINT64_C(0x5a5a5a5a5a5a5a5a));
    assert_int_equal(info.out_of_memory_count, UINT64_C(0x5a5a5a5a5a5a5a5a));
    runtime_fixture_close(&f);
}

TEST(trim_returns_what_is_not_in_use) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    uint64_t pool = 0;
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *small = zeros(scope, 1000), *large = zeros(scope, 5 << 18);
    assert_int_equal(gantry_trim_memory(f.runtime, "GPU:0", 0, &pool), GANTRY_OK);
    assert_int_equal(pool, info_of(&f, "GPU:0").pool_bytes);
    assert_true(pool >= 5 * MIB);
    gantry_tensor_drop(scope, large);
    assert_int_equal(gantry_trim_memory(f.runtime, "GPU:0", UINT64_MAX, NULL), GANTRY_OK);
    assert_int_equal(info_of(&f, "GPU:0").pool_bytes, pool);
    assert_int_equal(gantry_trim_memory(f.runtime, "GPU:0", 0, &pool), GANTRY_OK);
    assert_int_equal(pool, 2 * MIB);
    assert_int_equal(info_of(&f, "GPU:0").region_count, 1);
    gantry_tensor_drop(scope, small);
    assert_int_equal(gantry_trim_memory(f.runtime, "/device:GPU:0", 0, &pool), GANTRY_OK);
    assert_int_equal(pool, 0);
    /* and the runtime still works */
    EXPECT_F32(gantry_add(scope, F32(scope, 1, 2), F32(scope, 3, 4)), 4, 6);
    expect_ended_well(scope);
    pool = 7;
    assert_int_equal(gantry_trim_memory(f.runtime, "GPU:9", 0, &pool), GANTRY_NOT_FOUND);
    assert_int_equal(pool, 0);
    runtime_fixture_close(&f);
}

/* ---- tags ---- */

TEST(tags_mark_what_a_scope_allocates) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    char word[] = "encoder";
    gantry_scope_t *outer = runtime_fixture_scope(&f, "GPU:0");
    gantry_scope_t *early = gantry_scope_begin_in(outer, NULL);
    assert_int_equal(gantry_scope_set_tag(outer, word), GANTRY_OK);
    word[0] = '?'; /* the runtime has its own copy */
    gantry_scope_t *inner = gantry_scope_begin_in(outer, NULL),
                   *head = gantry_scope_begin_in(outer, NULL);
    assert_int_equal(gantry_scope_set_tag(head, "head \"1\""), GANTRY_OK);
    (void)zeros(early, 64);    /* untagged */
    (void)F32(inner, 1, 2, 3); /* inherited from the outer scope */
    (void)gantry_add(inner, zeros(inner, 16384), zeros(inner, 16384));
    (void)zeros(head, 32768);
    assert_int_equal(gantry_scope_set_tag(head, NULL), GANTRY_OK);
    (void)zeros(head, 65536);
    assert_int_equal(gantry_scope_set_tag(head, ""), GANTRY_OK); /* an empty tag is no tag */
    char *json = report_of(&f, false, GANTRY_REPORT_JSON),
         *text = report_of(&f, false, GANTRY_REPORT_TEXT);
    static const char *const tags[] = {"\"\"", "\"encoder\"", "\"head \\\"1\\\"\"", "\"encoder\""};
    for (long i = 0; i < 4; ++i) {
        char path[32];
        (void)snprintf(path, sizeof path, "owners.%ld.tag", i);
        if (!json_has(json, path, tags[i])) fail_msg("%s is not %s in %s", path, tags[i], json);
    }
    assert_true(json_has(json, "owners.1.op", "\"Const\""));
    assert_true(json_has(json, "owners.3.op", "\"Add\""));
    assert_true(json_has(json, "out_of_memory", "false"));
    assert_non_null(strstr(text, "[head \"1\"]"));
    free(json);
    free(text);
    expect_ended_well(head);
    expect_ended_well(inner);
    expect_ended_well(early);
    expect_ended_well(outer);
    runtime_fixture_close(&f);
}

TEST(tag_of_a_bad_scope_or_without_memory_is_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(gantry_scope_set_tag(NULL, "x"), GANTRY_INVALID_ARGUMENT);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    runtime_fixture_starve(&f, 0);
    assert_int_equal(gantry_scope_set_tag(scope, "x"), GANTRY_RESOURCE_EXHAUSTED);
    f.heap.inner.fail_at = -1;
    /* the scope has failed */
    assert_int_equal(gantry_scope_set_tag(scope, "x"), GANTRY_RESOURCE_EXHAUSTED);
    gantry_scope_clear(scope);
    assert_int_equal(gantry_scope_set_tag(scope, "x"), GANTRY_OK);
    assert_int_equal(gantry_scope_set_tag(scope, "x"), GANTRY_OK);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(temporary_memory_ends_with_its_op) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *host = runtime_fixture_scope(&f, "CPU:0"),
                   *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *away = zeros(host, 1000);
    const gantry_tensor_t *sum = gantry_add(scope, away, away),
                          *alias = gantry_reshape(scope, away, GANTRY_SHAPE(10, 100));
    assert_non_null(sum);
    assert_non_null(alias);
    expect_on(alias, "/device:GPU:0");
    gantry_logical_device_t *device = sum->device;
    /* the copy behind the alias is no temporary */
    assert_int_equal(device->allocator.temporaries, 0);
    assert_int_equal(device->allocator.temporary_bytes, 0);
    expect_ended_well(scope);
    expect_ended_well(host);
    runtime_fixture_close(&f);
}

/* ---- reports ---- */

TEST(out_of_memory_leaves_a_report) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    size_t needed = 7;
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    assert_int_equal(
        gantry_get_oom_report(f.runtime, "GPU:0", GANTRY_REPORT_TEXT, NULL, 0, &needed),
        GANTRY_NOT_FOUND);
    assert_int_equal(needed, 0);
    assert_int_equal(gantry_scope_set_tag(scope, "weights"), GANTRY_OK);
    (void)zeros(scope, 10 << 20); /* 40 MiB */
    assert_int_equal(gantry_scope_set_tag(scope, "activations"), GANTRY_OK);
    assert_null(try_zeros(scope, GANTRY_SHAPE(1 << 10, 1 << 13)));
    const char *const parts[] = {
        "OOM when allocating tensor with shape[1024,8192] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc: ",
        "33554432 bytes",
        "in use",
        "held from the driver",
        "largest free chunk",
        "limit 67108864",
        "tried: reuse, extend",
        "biggest owner ",
        "[weights] with ",
        "gantry_get_oom_report"};
    const char *at = gantry_scope_message(scope);
    assert_ptr_equal(strstr(at, parts[0]), at); /* the message begins with it */
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        at = strstr(at, parts[i]);
        if (!at) fail_msg("%s not in %s", parts[i], gantry_scope_message(scope));
    }
    assert_true(strlen(gantry_scope_message(scope)) < 2047);
    gantry_scope_clear(scope);
    assert_int_equal(info_of(&f, "GPU:0").out_of_memory_count, 1);
    char *json = report_of(&f, true, GANTRY_REPORT_JSON),
         *text = report_of(&f, true, GANTRY_REPORT_TEXT);
    assert_true(json_has(json, "out_of_memory", "true"));
    assert_true(json_has(json, "request.bytes", "33554432"));
    assert_true(json_has(json, "request.tag", "\"activations\""));
    assert_true(json_has(json, "owners.0.tag", "\"weights\""));
    assert_true(json_has(json, "stats.out_of_memory_count", "1"));
    assert_non_null(strstr(text, "Allocator GPU_0_bfc ran out of memory: "));
    free(json);
    free(text);
    expect_ended_well(scope);
    /* the report outlives the tensors that it lists */
    json = report_of(&f, true, GANTRY_REPORT_JSON);
    assert_true(json_has(json, "owners.0.requested_bytes", "41943040"));
    free(json);
    runtime_fixture_close(&f);
}

TEST(report_is_cut_to_fit) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    char out[8] = "xxxxxxx", one[1] = {'x'};
    size_t needed = 0;
    assert_int_equal(
        gantry_get_memory_report(f.runtime, "GPU:0", GANTRY_REPORT_TEXT, out, sizeof out, &needed),
        GANTRY_OK);
    assert_string_equal(out, "Memory ");
    assert_true(needed > 1000);
    assert_int_equal(gantry_get_memory_report(f.runtime, "GPU:0", GANTRY_REPORT_TEXT, one, 1, NULL),
                     GANTRY_OK);
    assert_int_equal(one[0], '\0');
    runtime_fixture_close(&f);
}

TEST(bad_report_calls_are_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    char out[16] = "x";
    assert_int_equal(gantry_get_memory_report(f.runtime, "GPU:0", (gantry_report_format_t)7, out,
                                              sizeof out, NULL),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "format is 7"));
    assert_string_equal(out, "");
    assert_int_equal(gantry_get_oom_report(f.runtime, "GPU:0", GANTRY_REPORT_JSON, NULL, 10, NULL),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(
        gantry_get_memory_report(f.runtime, "GPU:7", GANTRY_REPORT_JSON, out, sizeof out, NULL),
        GANTRY_NOT_FOUND);
    assert_int_equal(
        gantry_get_memory_report(NULL, "GPU:0", GANTRY_REPORT_JSON, out, sizeof out, NULL),
        GANTRY_INVALID_ARGUMENT);
    for (long at = 0; at < 3; ++at) { /* the device is open: only the report allocates */
        assert_int_equal(
            gantry_get_memory_report(f.runtime, "GPU:0", GANTRY_REPORT_JSON, out, sizeof out, NULL),
            GANTRY_OK);
        runtime_fixture_starve(&f, at);
        assert_int_equal(
            gantry_get_memory_report(f.runtime, "GPU:0", GANTRY_REPORT_JSON, out, sizeof out, NULL),
            GANTRY_RESOURCE_EXHAUSTED);
        f.heap.inner.fail_at = -1;
    }
    runtime_fixture_close(&f);
}

/* What a tensor of so many floats adds to the figures of its device. */
static void expect_counted(runtime_fixture_t *f, const char *device, int64_t floats, bool counted) {
    gantry_scope_t *scope = runtime_fixture_scope(f, device);
    const gantry_memory_info_t before = info_of(f, device);
    assert_non_null(try_zeros(scope, GANTRY_SHAPE(floats)));
    const gantry_memory_info_t after = info_of(f, device);
    assert_int_equal(after.allocation_count - before.allocation_count, counted);
    assert_int_equal(after.current_bytes > before.current_bytes, counted);
    assert_int_equal(after.requested_bytes - before.requested_bytes,
                     counted ? (uint64_t)floats * sizeof(float) : 0);
    expect_ended_well(scope);
}

TEST(small_tensors_of_the_cpu_are_not_counted) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    expect_counted(&f, "CPU:0", 1, false);
    expect_counted(&f, "CPU:0", 16, false);
    expect_counted(&f, "CPU:0", 17, true);
    expect_counted(&f, "GPU:0", 16, true);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
