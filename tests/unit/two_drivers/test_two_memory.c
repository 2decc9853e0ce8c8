/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Both views of a card of two drivers report its free memory, and the memory of the
 * driver's context counts against the right limit.
 * Promise: The OpenCL view of a card has its free memory from NVML, or else from an open CUDA
 * context.
 * Promise: The memory of a card's context and of cuBLASLt counts against the shares of the card, by
 * an allowance where there is no NVML.
 * Promise: The memory of a card's context is measured again after the first matrix product.
 *
 * The stand-in's context takes 8 MiB of a card with 64 MiB. */
#define _XOPEN_SOURCE 700

#include <poll.h>

#include "two_drivers.h"

#define TOTAL (64 * MIB)
#define CONTEXT (8 * MIB)

static const gantry_tensor_t *make(gantry_scope_t *scope, uint64_t bytes) {
    return gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)(bytes / 4)));
}

static void must_make(gantry_scope_t *scope, uint64_t bytes) {
    if (!make(scope, bytes))
        fail_msg("%d MiB: %s", (int)(bytes / MIB), gantry_scope_message(scope));
}

/* ---- free memory ---- */

static void opencl_reads_free_memory_through_nvml(void **state) {
    const stand_in_control_t *control = two_drivers_control();
    two_drivers_t t;
    (void)state;
    two_drivers_open(&t, NULL);
    gantry_memory_info_t info = two_drivers_memory(&t, "GPU:0@opencl");
    assert_int_equal(info.driver_total_bytes, TOTAL);
    /* another process uses 16 MiB */
    assert_int_equal(info.driver_free_bytes, TOTAL - 16 * MIB - CONTEXT);
    /* CUDA made no context for the answer */
    assert_int_equal(control->live(STAND_IN_CONTEXTS), 0);
    gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0@opencl"),
                   *card = two_drivers_scope(&t, "GPU:0");
    must_make(scope, 10 * MIB);
    must_make(card, 6 * MIB);
    info = two_drivers_memory(&t, "GPU:0@opencl");
    assert_int_equal(info.driver_free_bytes + control->used_bytes(0) + 16 * MIB, TOTAL);
    assert_true(control->used_bytes(0) >= 16 * MIB + 2 * CONTEXT);
    assert_int_equal(two_drivers_memory(&t, "GPU:0").driver_free_bytes, info.driver_free_bytes);
    two_drivers_end_scope(scope);
    two_drivers_end_scope(card);
    two_drivers_close(&t);
}

static void opencl_that_took_over_reads_it_too(void **state) {
    two_drivers_t t;
    (void)state;
    two_drivers_open(&t, NULL);
    two_drivers_expect_product(&t, "GPU:0", "/device:GPU:0");
    two_drivers_expect_served(&t, "/physical_device:GPU:0", "opencl:0",
                              REASONS("CUDA_ERROR_DEVICE_UNAVAILABLE (46)"));
    gantry_memory_info_t info = two_drivers_memory(&t, "GPU:0");
    /* PoCL frees a buffer a moment after its release: the small ones of the first launch may still
     * count. */
    for (int i = 0;
         i < 500 && info.driver_free_bytes + two_drivers_control()->used_bytes(0) != TOTAL; ++i) {
        (void)poll(NULL, 0, 10);
        info = two_drivers_memory(&t, "GPU:0");
    }
    assert_int_equal(info.driver_free_bytes + two_drivers_control()->used_bytes(0), TOTAL);
    assert_in_range(info.context_bytes, CONTEXT, CONTEXT + 4096); /* one of OpenCL's */
    two_drivers_close(&t);
}

static void without_nvml_an_open_device_tells(void **state) {
    two_drivers_t t;
    (void)state;
    two_drivers_open(&t, NULL);
    gantry_memory_info_t info = two_drivers_memory(&t, "GPU:0@opencl");
    assert_int_equal(info.driver_free_bytes + info.driver_total_bytes, 0);
    assert_int_equal(info.context_bytes, 0);
    /* this call opens the card with CUDA; the size of one context could not be measured, so it is
     * that of both */
    info = two_drivers_memory(&t, "GPU:0");
    assert_int_equal(info.driver_total_bytes, TOTAL);
    assert_int_equal(info.context_bytes, 2 * CONTEXT);
    assert_int_equal(info.context_charged_bytes, 2 * CONTEXT);
    info = two_drivers_memory(&t, "GPU:0@opencl");
    assert_int_equal(info.driver_free_bytes + two_drivers_control()->used_bytes(0), TOTAL);
    two_drivers_close(&t);
}

/* ---- the context's share of the limit ---- */

/* Checks that the device has room for limit - charged bytes; the context has the rest. */
static void expect_room(two_drivers_t *t, const char *device, uint64_t limit, uint64_t charged) {
    gantry_memory_info_t info = two_drivers_memory(t, device);
    assert_int_equal(info.limit_bytes, limit);
    assert_int_equal(info.context_bytes, CONTEXT);
    assert_int_equal(info.context_charged_bytes, charged);
    gantry_scope_t *scope = two_drivers_scope(t, device);
    assert_null(make(scope, limit - charged + 4));
    if (charged > 0) {
        char text[64];
        (void)snprintf(text, sizeof text, "(%d of it the driver's context)", (int)charged);
        if (!strstr(gantry_scope_message(scope), text)) fail_msg("%s", gantry_scope_message(scope));
    }
    gantry_scope_clear(scope);
    must_make(scope,
              /* staging uses some of it, and small tensors have a region of their own */
              limit - charged - 4 * MIB);
    info = two_drivers_memory(t, device);
    assert_true(info.pool_bytes + info.staging_bytes + charged <= limit);
    two_drivers_end_scope(scope);
}

static void expect_room_with(const char *setting, uint64_t limit, uint64_t charged) {
    const char *const extra[] = {setting, NULL};
    two_drivers_t t;
    two_drivers_open(&t, extra);
    expect_room(&t, "GPU:0", limit, charged);
    assert_true(two_drivers_control()->used_bytes(0) <= limit + CONTEXT - charged);
    two_drivers_close(&t);
}

static void share_of_the_card_includes_the_context(void **state) {
    (void)state;
    expect_room_with("GANTRY_MEMORY_FRACTION=0.5", TOTAL / 2, CONTEXT);
    expect_room_with("GANTRY_MEMORY_LIMIT=50%", TOTAL / 2, CONTEXT);
    expect_room_with("GANTRY_MEMORY_FRACTION=1", TOTAL, CONTEXT);
    expect_room_with("GANTRY_LOG_LEVEL=info", TOTAL, CONTEXT); /* without a limit: the whole card */
}

static void limit_in_bytes_leaves_it_beside(void **state) {
    (void)state;
    expect_room_with("GANTRY_MEMORY_LIMIT=16M", 16 * MIB, 0);
    expect_room_with("GANTRY_MEMORY_LIMIT=56M", 56 * MIB, 0);
    /* the context does not fit beside this limit */
    expect_room_with("GANTRY_MEMORY_LIMIT=59M", 59 * MIB, 3 * MIB);
    expect_room_with("GANTRY_MEMORY_LIMIT=64M", TOTAL, CONTEXT);
}

static void share_smaller_than_the_context_is_refused(void **state) {
    static const char *const extra[] = {"GANTRY_MEMORY_FRACTION=GPU:0=0.1", NULL};
    two_drivers_t t;
    gantry_memory_info_t info = {.struct_size = sizeof info};
    (void)state;
    two_drivers_open(&t, extra);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(gantry_get_memory_info(t.runtime, "GPU:0", &info),
                         GANTRY_RESOURCE_EXHAUSTED);
        if (!strstr(
                gantry_last_message(),
                "/device:GPU:0 has a limit of 6710886 bytes; the driver's context takes 8388608"))
            fail_msg("%s", gantry_last_message());
    }
    two_drivers_expect_product(&t, "CPU:0", "/device:CPU:0");
    two_drivers_close(&t);
}

/* The first tensor may use all free memory except the reserve: the context was already made. */
static void whole_card_at_once_leaves_the_context_out(void **state) {
    static const char *const extra[] = {"GANTRY_MEMORY_GROWTH=0", NULL};
    two_drivers_t t;
    (void)state;
    two_drivers_open(&t, extra);
    gantry_memory_info_t info = two_drivers_memory(&t, "GPU:0");
    uint64_t is_free = TOTAL - 16 * MIB - CONTEXT; /* less than the reserve */
    assert_int_equal(info.limit_bytes, is_free + CONTEXT);
    assert_int_equal(info.context_charged_bytes, CONTEXT);
    gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0");
    must_make(scope, 4 * MIB);
    info = two_drivers_memory(&t, "GPU:0");
    if (info.pool_bytes + info.staging_bytes > is_free ||
        info.pool_bytes + info.staging_bytes + MIB < is_free)
        fail_msg("%d bytes of %d", (int)info.pool_bytes, (int)is_free);
    assert_int_equal(info.region_count, 1);
    two_drivers_end_scope(scope);
    two_drivers_close(&t);
}

typedef struct split_t {
    const char *setting;
    uint64_t limits[2], charged[2];
} split_t;

/* The context is charged once per card, for any number of parts, opened in any order. */
static void parts_pay_in_proportion(void **state) {
    static const split_t splits[] = {
        {"GANTRY_LOGICAL_DEVICES=GPU:0=32M,32M", {32 * MIB, 32 * MIB}, {4 * MIB, 4 * MIB}},
        {"GANTRY_LOGICAL_DEVICES=GPU:0=48M,16M", {48 * MIB, 16 * MIB}, {6 * MIB, 2 * MIB}},
        {"GANTRY_LOGICAL_DEVICES=GPU:0=30M,30M", {30 * MIB, 30 * MIB}, {2 * MIB, 2 * MIB}},
        {"GANTRY_LOGICAL_DEVICES=GPU:0=16M,16M", {16 * MIB, 16 * MIB}, {0, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; ++i) {
        for (int first = 0; first < 2; ++first) {
            const char *const extra[] = {splits[i].setting, NULL};
            two_drivers_t t;
            two_drivers_open(&t, extra);
            int second = 1 - first;
            expect_room(&t, first ? "GPU:1" : "GPU:0", splits[i].limits[first],
                        splits[i].charged[first]);
            expect_room(&t, second ? "GPU:1" : "GPU:0", splits[i].limits[second],
                        splits[i].charged[second]);
            assert_true(two_drivers_control()->used_bytes(0) <= TOTAL);
            two_drivers_close(&t);
        }
    }
}

static void report_has_it_as_a_line_of_its_own(void **state) {
    static const char *const extra[] = {"GANTRY_MEMORY_FRACTION=0.5", NULL};
    static char text[1 << 16];
    two_drivers_t t;
    (void)state;
    two_drivers_open(&t, extra);
    assert_int_equal(
        gantry_get_memory_report(t.runtime, "GPU:0", GANTRY_REPORT_TEXT, text, sizeof text, NULL),
        GANTRY_OK);
    if (!strstr(text, "; the driver's context: 8388608; ")) fail_msg("%s", text);
    assert_int_equal(
        gantry_get_memory_report(t.runtime, "GPU:0", GANTRY_REPORT_JSON, text, sizeof text, NULL),
        GANTRY_OK);
    if (!strstr(text, ",\"context_bytes\":8388608,")) fail_msg("%s", text);
    two_drivers_close(&t);
}

static void processor_has_no_context(void **state) {
    two_drivers_t t;
    (void)state;
    two_drivers_open(&t, NULL);
    gantry_memory_info_t info = two_drivers_memory(&t, "CPU:0");
    assert_int_equal(info.context_bytes + info.context_charged_bytes, 0);
    two_drivers_close(&t);
}

/* A measurement includes memory that another process takes at that moment, up to a bound. */
static int32_t take_much(void *self, const char *function) {
    if (strcmp(function, "cuDevicePrimaryCtxRetain") == 0) (void)two_drivers_control()->set(self);
    return 0;
}

static void what_others_take_meanwhile_is_bounded(void **state) {
    two_drivers_t t;
    char other[] = "other=3G";
    (void)state;
    two_drivers_control()->watch(take_much, other);
    two_drivers_open(&t, NULL);
    assert_int_equal(two_drivers_memory(&t, "GPU:0").context_bytes, 1024 * MIB);
    two_drivers_expect_product(&t, "GPU:0", "/device:GPU:0");
    two_drivers_close(&t);
}

/* The same on a card that others use: the charge is at most what a context can need. */
static void allowance_without_nvml_is_bounded(void **state) {
    two_drivers_t t;
    (void)state;
    two_drivers_open(&t, NULL);
    gantry_memory_info_t info = two_drivers_memory(&t, "GPU:0");
    assert_int_equal(info.context_bytes, 512 * MIB);
    assert_int_equal(info.context_charged_bytes, 512 * MIB);
    two_drivers_close(&t);
}

/* cuBLASLt loads its kernels at the first product. */
static void what_a_library_takes_counts_with_the_context(void **state) {
    two_drivers_t t;
    (void)state;
    two_drivers_open(&t, NULL);
    assert_int_equal(two_drivers_memory(&t, "GPU:0").context_bytes, CONTEXT);
    for (int i = 0; i < 2; ++i) { /* only once */
        two_drivers_expect_product(&t, "GPU:0", "/device:GPU:0");
        gantry_memory_info_t info = two_drivers_memory(&t, "GPU:0");
        assert_int_equal(info.context_bytes, CONTEXT + 4 * MIB);
        assert_int_equal(info.context_charged_bytes, CONTEXT + 4 * MIB);
    }
    gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0");
    assert_null(make(scope, TOTAL - CONTEXT - 4 * MIB + 4));
    gantry_scope_clear(scope);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    two_drivers_close(&t);
}

#define CARD "memory=64M"
#define NO_NVML "/nonexistent/libnvidia-ml.so"

int main(void) {
    const two_drivers_case_t cases[] = {
#define CASE(body, ...) {#body, body, __VA_ARGS__}
        CASE(opencl_reads_free_memory_through_nvml, CARD ";other=16M", NULL, NULL, NULL),
        CASE(opencl_that_took_over_reads_it_too, CARD ";busy=1", NULL, NULL, NULL),
        CASE(without_nvml_an_open_device_tells, CARD, NULL, NULL, NO_NVML),
        CASE(allowance_without_nvml_is_bounded, "memory=8G;other=3G", NULL, NULL, NO_NVML),
        CASE(what_a_library_takes_counts_with_the_context, CARD ";library=4M", NULL, NULL, NULL),
        CASE(share_of_the_card_includes_the_context, CARD, NULL, NULL, NULL),
        CASE(limit_in_bytes_leaves_it_beside, CARD, NULL, NULL, NULL),
        CASE(share_smaller_than_the_context_is_refused, CARD, NULL, NULL, NULL),
        CASE(whole_card_at_once_leaves_the_context_out, CARD ";other=16M", NULL, NULL, NULL),
        CASE(parts_pay_in_proportion, CARD, NULL, NULL, NULL),
        CASE(report_has_it_as_a_line_of_its_own, CARD, NULL, NULL, NULL),
        CASE(processor_has_no_context, CARD, NULL, NULL, NULL),
        CASE(what_others_take_meanwhile_is_bounded, "memory=8G", NULL, NULL, NULL),
    };
    return two_drivers_run(cases, sizeof cases / sizeof cases[0]);
}
