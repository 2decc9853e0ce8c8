/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A card that two OpenCL drivers see is one device: its maker's driver serves it, and the
 * other one takes over or stays reachable.
 * Promise: Two OpenCL drivers that report different memory of one card are named in the log, and
 * the card stays one device. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <gantry/gantry.h>

#include "log_lines.h"
#include "need_opencl.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

static log_lines_t lines;

typedef struct cards_t {
    gantry_runtime_t *runtime;
    size_t count;
    const gantry_physical_device_t *gpus[4];
} cards_t;

static void open_cards(cards_t *cards, const char *first, const char *second) {
    assert_int_equal(setenv("TWIN_0", first, 1), 0);
    assert_int_equal(setenv("TWIN_1", second, 1), 0);
    log_lines_init(&lines);
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .log = log_lines_write,
                                              .log_user = &lines,
                                              .backend_path = MODULES,
                                              .backends = "cpu,opencl",
                                              .kernel_cache = ""};
    if (gantry_runtime_create(&options, &cards->runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(
        gantry_list_physical_devices(cards->runtime, "GPU", 4, cards->gpus, &cards->count),
        GANTRY_OK);
}

static gantry_device_details_t details_of(const cards_t *cards, size_t i) {
    gantry_device_details_t details = {.struct_size = sizeof details};
    assert_int_equal(gantry_get_device_details(cards->runtime, cards->gpus[i], &details),
                     GANTRY_OK);
    return details;
}

static void expect_one(const char *first, const char *second, const char *server,
                       const char *other) {
    cards_t cards;
    open_cards(&cards, first, second);
    if (cards.count != 1) fail_msg("\"%s\" and \"%s\" are %zu GPUs", first, second, cards.count);
    gantry_device_details_t details = details_of(&cards, 0);
    assert_string_equal(details.alias, server);
    assert_string_equal(details.other_view, other);
    gantry_runtime_release(cards.runtime);
}

static void expect_two(const char *first, const char *second) {
    cards_t cards;
    open_cards(&cards, first, second);
    if (cards.count != 2) fail_msg("\"%s\" and \"%s\" are %zu GPUs", first, second, cards.count);
    gantry_runtime_release(cards.runtime);
}

static void same_address_is_one_card(void **state) {
    (void)state;
    expect_one("0000:17:00.0 - - -", "0000:17:00.0 - - -", "opencl:0", "opencl:1");
    expect_one("0000:17:00.0 11 - -", "0000:17:00.0 22 - -", "opencl:0", "opencl:1");
}

static void same_uuid_is_one_card_where_an_address_is_missing(void **state) {
    (void)state;
    expect_one("- 11 - -", "- 11 - -", "opencl:0", "opencl:1");
    expect_one("0000:17:00.0 11 - -", "- 11 - -", "opencl:0", "opencl:1");
}

static void other_identities_stay_two_cards(void **state) {
    (void)state;
    expect_two("- 11 - -", "- 22 - -");
    expect_two("0000:17:00.0 11 - -", "0000:18:00.0 11 - -");
    expect_two("- - - -", "- - - -");
}

static void makers_driver_serves(void **state) {
    (void)state;
    expect_one("0000:17:00.0 - - Mesa", "0000:17:00.0 - - Acme", "opencl:1", "opencl:0");
    expect_one("0000:17:00.0 - - Acme", "0000:17:00.0 - - Mesa", "opencl:0", "opencl:1");
}

static void each_view_computes_under_one_name(void **state) {
    static const struct {
        const char *name, *device;
    } cases[] = {{"GPU:0", "/device:GPU:0"},
                 {"GPU:0@opencl", "/device:GPU:0"},
                 {"opencl:1", "/device:GPU:0"},
                 {"opencl:0", "opencl:0"},
                 {"0000:17:00.0", "/device:GPU:0"}};
    (void)state;
    cards_t cards;
    open_cards(&cards, "0000:17:00.0 - - Mesa", "0000:17:00.0 - - Acme");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(cards.runtime, cases[i].name);
        if (!scope) fail_msg("%s", gantry_last_message());
        const float two = 2;
        float got = 0;
        const gantry_tensor_t *x =
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SCALAR, &two, sizeof two);
        const gantry_tensor_t *y = gantry_mul(scope, x, x);
        if (!y) fail_msg("%s: %s", cases[i].name, gantry_scope_message(scope));
        assert_string_equal(gantry_logical_device_name(gantry_tensor_device(y)), cases[i].device);
        assert_int_equal(gantry_tensor_read(y, &got, sizeof got), GANTRY_OK);
        assert_true(got == 4);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    gantry_runtime_release(cards.runtime);
}

static void drivers_that_disagree_about_memory_are_told_of(void **state) {
    (void)state;
    cards_t cards;
    open_cards(&cards, "0000:17:00.0 - 8192 Acme", "0000:17:00.0 - 4096 Mesa");
    assert_int_equal(cards.count, 1);
    gantry_device_details_t details = details_of(&cards, 0);
    static const char expected[] =
        "its drivers disagree about its memory: opencl:0 says 8192 MiB, which counts, and opencl:1 4096 MiB";
    if (!strstr(details.note, expected)) fail_msg("\"%s\"", details.note);
    assert_int_equal(details.total_bytes, UINT64_C(8192) << 20);
    assert_int_equal(log_lines_with(&lines, expected, ""), 1);
    gantry_runtime_release(cards.runtime);
    /* memory that a driver reserves is no difference */
    open_cards(&cards, "0000:17:00.0 - 8192 Acme", "0000:17:00.0 - 7900 Mesa");
    assert_string_equal(details_of(&cards, 0).note, "");
    gantry_runtime_release(cards.runtime);
}

static int run_alone(const struct CMUnitTest *test) {
    int state = -1;
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(_cmocka_run_group_tests("opencl_twins", test, 1, NULL, NULL));
    return child < 0 || waitpid(child, &state, 0) != child || state != 0;
}

int main(void) {
    const int code = skip_without_opencl();
    if (code != 0) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_address_is_one_card),
        cmocka_unit_test(same_uuid_is_one_card_where_an_address_is_missing),
        cmocka_unit_test(other_identities_stay_two_cards),
        cmocka_unit_test(makers_driver_serves),
        cmocka_unit_test(each_view_computes_under_one_name),
        cmocka_unit_test(drivers_that_disagree_about_memory_are_told_of),
    };
    int failed = 0;
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    (void)setenv("OPENCL_LAYERS", GANTRY_TEST_MODULES "/opencl/twin_layer.so", 1);
    (void)setenv("GANTRY_OPENCL_MATMUL", "portable", 1);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; ++i) failed += run_alone(&tests[i]);
    return failed;
}
