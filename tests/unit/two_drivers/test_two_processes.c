/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Two processes share one card of 128 MiB, each with a share by GANTRY_MEMORY_FRACTION.
 *
 * They take turns if a test needs an order, and otherwise work at once. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include <signal.h>

#include "two_drivers.h"

#define TOTAL (128 * MIB)
#define PATIENCE_S 100

/* ---- turns: bytes through a pipe in each direction; the other process's end ends the wait ---- */

/* [0]: the second process reads, the first one writes; [1]: the reverse */
static int pipes[2][2];

static void tell(int who) { assert_int_equal(write(pipes[who][1], "!", 1), 1); }

static void await(int who) {
    char byte;
    if (read(pipes[1 - who][0], &byte, 1) != 1) fail_msg("the other process has ended");
}

static void close_pipe(int which, int end) {
    if (pipes[which][end] >= 0) (void)close(pipes[which][end]);
    pipes[which][end] = -1;
}

/* In process `who`: closes the other process's ends. */
static void keep_own_ends(int who) {
    close_pipe(who, 0);
    close_pipe(1 - who, 1);
    (void)alarm(PATIENCE_S);
}

/* ---- pieces of memory ---- */

static const gantry_tensor_t *make(gantry_scope_t *scope, uint64_t bytes) {
    return gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)(bytes / 4)));
}

static void open_shared(two_drivers_t *t, const char *fraction) {
    char setting[64];
    (void)snprintf(setting, sizeof setting, "GANTRY_MEMORY_FRACTION=%s", fraction);
    const char *const extra[] = {setting, NULL};
    two_drivers_open(t, extra);
}

/* Takes the whole share in pieces, until the limit refuses one, not the card. Returns the number of
 * bytes. */
static uint64_t fill(two_drivers_t *t, gantry_scope_t *scope) {
    uint64_t bytes = 0;
    while (make(scope, MIB)) bytes += MIB;
    assert_int_equal(gantry_scope_status(scope), GANTRY_RESOURCE_EXHAUSTED);
    if (strstr(gantry_scope_message(scope), "driver: "))
        fail_msg("%s", gantry_scope_message(scope));
    gantry_scope_clear(scope);
    assert_true(two_drivers_control()->used_bytes(0) <= two_drivers_memory(t, "GPU:0").limit_bytes);
    return bytes;
}

/* ---- half each: both compute at once, both fill their half, no call fails ---- */

static void work_on_one_half(int who) {
    two_drivers_t t;
    keep_own_ends(who);
    if (who == 1) await(who); /* contexts are measured one after the other */
    open_shared(&t, "0.5");
    two_drivers_expect_product(&t, "GPU:0", "/device:GPU:0");
    tell(who);
    if (who == 0) await(who);
    for (int round = 0; round < 5; ++round) {
        gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0");
        assert_true(fill(&t, scope) >= 48 * MIB); /* of 64 less the context and staging */
        if (round == 2) {                         /* both shares are full now */
            tell(who);
            await(who);
            gantry_memory_info_t info = two_drivers_memory(&t, "GPU:0");
            assert_int_equal(info.driver_total_bytes, TOTAL);
            assert_true(info.driver_free_bytes <= 16 * MIB);
            tell(who);
            await(who);
        }
        two_drivers_end_scope(scope);
        two_drivers_expect_product(&t, "GPU:0", "/device:GPU:0");
        assert_int_equal(gantry_trim_memory(t.runtime, "GPU:0", 0, NULL), GANTRY_OK);
    }
    two_drivers_close(&t);
}

static void first_half(void **state) {
    (void)state;
    work_on_one_half(0);
}

static void second_half(void **state) {
    (void)state;
    work_on_one_half(1);
}

/* ---- 0.7 each: the second process is refused memory that the first holds, and gets it later
 * ---- */

static void first_of_too_much(void **state) {
    two_drivers_t t;
    (void)state;
    keep_own_ends(0);
    open_shared(&t, "0.7");
    gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0");
    if (!make(scope, 72 * MIB)) fail_msg("%s", gantry_scope_message(scope));
    tell(0);
    await(0); /* the other process was refused */
    two_drivers_end_scope(scope);
    assert_int_equal(gantry_trim_memory(t.runtime, "GPU:0", 0, NULL), GANTRY_OK);
    tell(0);
    await(0);
    two_drivers_close(&t);
}

static void second_of_too_much(void **state) {
    static const char *const words[] = {
        "OOM when allocating tensor", "limit 93952409 (8388608 of it the driver's context)",
        "driver: ", " of 134217728 bytes are free: ", "CUDA_ERROR_OUT_OF_MEMORY (2)"};
    two_drivers_t t;
    (void)state;
    keep_own_ends(1);
    await(1);
    open_shared(&t, "0.7");
    two_drivers_expect_product(&t, "GPU:0", "/device:GPU:0"); /* a small op still fits */
    gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0");
    assert_null(make(scope, 64 * MIB));
    assert_int_equal(gantry_scope_status(scope), GANTRY_RESOURCE_EXHAUSTED);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        if (!strstr(gantry_scope_message(scope), words[i]))
            fail_msg("\"%s\" is not in: %s", words[i], gantry_scope_message(scope));
    }
    gantry_scope_clear(scope);
    tell(1);
    await(1);
    if (!make(scope, 64 * MIB)) fail_msg("%s", gantry_scope_message(scope));
    two_drivers_end_scope(scope);
    tell(1);
    two_drivers_close(&t);
}

/* ---- the memory of a killed process is free again ---- */

static void one_that_stays(void **state) {
    two_drivers_t t;
    char byte;
    (void)state;
    keep_own_ends(0);
    open_shared(&t, "0.5");
    gantry_memory_info_t before = two_drivers_memory(&t, "GPU:0");
    tell(0);
    await(0);
    assert_true(two_drivers_memory(&t, "GPU:0").driver_free_bytes + 32 * MIB <=
                before.driver_free_bytes);
    tell(0);
    assert_int_equal(read(pipes[1][0], &byte, 1), 0); /* the other process has ended */
    for (int i = 0; i < PATIENCE_S * 100 &&
                    two_drivers_memory(&t, "GPU:0").driver_free_bytes != before.driver_free_bytes;
         ++i)
        (void)usleep(10000); /* until its parent has seen it, too */
    assert_int_equal(two_drivers_memory(&t, "GPU:0").driver_free_bytes, before.driver_free_bytes);
    two_drivers_close(&t);
}

static void one_that_dies(void **state) {
    two_drivers_t t;
    (void)state;
    keep_own_ends(1);
    await(1);
    open_shared(&t, "0.5");
    gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0");
    if (!make(scope, 32 * MIB)) fail_msg("%s", gantry_scope_message(scope));
    tell(1);
    await(1);
    _exit(0); /* as if killed: it frees nothing */
}

/* ---- */

typedef void (*body_fn)(void **state);

static int run_pair(const char *first_name, body_fn first, const char *second_name,
                    body_fn second) {
    char path[] = "/tmp/gantry_shared_card_XXXXXX", machine[128];
    int file = mkstemp(path);
    if (file < 0 || pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0) return 1;
    (void)snprintf(machine, sizeof machine, "memory=128M;shared=%s", path);
    const two_drivers_case_t cases[2] = {{first_name, first, machine, NULL, NULL, NULL},
                                         {second_name, second, machine, NULL, NULL, NULL}};
    pid_t children[2] = {two_drivers_start(&cases[0]), two_drivers_start(&cases[1])};
    for (int i = 0; i < 2; ++i) close_pipe(i, 0), close_pipe(i, 1);
    /* the second process may die while the first one waits for its death */
    int failed = two_drivers_end(children[1]) != 0;
    failed += two_drivers_end(children[0]) != 0;
    (void)close(file);
    (void)unlink(path);
    return failed;
}

#define PAIR(a, b) run_pair(#a, a, #b, b)

int main(void) {
    int failed = two_drivers_run(NULL, 0);
    if (failed) return failed;
    (void)signal(SIGPIPE, SIG_IGN); /* a write to an ended process fails */
    failed += PAIR(first_half, second_half);
    failed += PAIR(first_of_too_much, second_of_too_much);
    failed += PAIR(one_that_stays, one_that_dies);
    printf("%d failed\n", failed);
    return failed > 0;
}
