/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: When a card of the stand-in for NVIDIA's driver is lost during work, dependent work
 * fails with the cause, other devices keep working, and nothing leaks.
 * Promise: After a call of NVIDIA's driver fails with an error that loses the card, every result is
 * right or refused with the cause. */
#define _XOPEN_SOURCE 700

#include "two_drivers.h"

#define SIDE 64

static const gantry_tensor_t *square(gantry_scope_t *scope, int seed) {
    return two_drivers_floats(scope, SIDE, SIDE, seed);
}

/* Unavailable from the call that meets the loss. Later ops avoid the card; without soft placement
 * they fail. */
static void expect_lost(const gantry_scope_t *scope, const char *cause) {
    gantry_status_t status = gantry_scope_status(scope);
    assert_true(status == GANTRY_UNAVAILABLE || status == GANTRY_INVALID_ARGUMENT);
    if (!strstr(gantry_scope_message(scope), "device:GPU:0 was lost: "))
        fail_msg("%s", gantry_scope_message(scope));
    if (!strstr(gantry_scope_message(scope), cause)) fail_msg("%s", gantry_scope_message(scope));
}

static void expect_others_work(two_drivers_t *t) {
    two_drivers_expect_product(t, "GPU:1", "/device:GPU:1");
    two_drivers_expect_product(t, "CPU:0", "/device:CPU:0");
}

static void expect_read_fails(const gantry_tensor_t *tensor, const char *cause) {
    static float values[SIDE * SIDE];
    assert_int_equal(gantry_tensor_read(tensor, values, sizeof values), GANTRY_UNAVAILABLE);
    if (!strstr(gantry_last_message(), cause)) fail_msg("%s", gantry_last_message());
}

/* ---- loss between two calls of the program: each use fails with the cause ---- */

typedef struct loss_t {
    int code;
    const char *name;
} loss_t;

static const loss_t losses[] = {{719, "CUDA_ERROR_LAUNCH_FAILED"},
                                {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                {214, "CUDA_ERROR_ECC_UNCORRECTABLE"}};

typedef enum use_t {
    READ,
    OP,
    COPY_TO_SIBLING,
    COPY_FROM_SIBLING,
    COPY_TO_HOST,
    CONSTANT,
    SYNCHRONIZE,
    USES
} use_t;

static void use_lost_card(two_drivers_t *t, use_t use, const gantry_tensor_t *there,
                          const gantry_tensor_t *elsewhere, const char *cause) {
    static const char *const devices[USES] = {"GPU:0", "GPU:0", "GPU:1", "GPU:0",
                                              "CPU:0", "GPU:0", "GPU:0"};
    gantry_scope_t *scope = two_drivers_scope(t, devices[use]);
    const gantry_tensor_t *made = NULL;
    switch (use) {
        case READ: expect_read_fails(there, cause); break;
        case OP: made = gantry_matmul(scope, there, there, NULL); break;
        case COPY_TO_SIBLING:
        case COPY_TO_HOST: made = gantry_identity(scope, there); break;
        case COPY_FROM_SIBLING: made = gantry_identity(scope, elsewhere); break;
        case CONSTANT: made = gantry_identity(scope, square(scope, 1)); break;
        default:
            assert_int_equal(gantry_runtime_synchronize(t->runtime), GANTRY_UNAVAILABLE);
            break;
    }
    if (made) expect_read_fails(made, cause); /* the failure came later, from a dependent call */
    if (!made && use != READ && use != SYNCHRONIZE) expect_lost(scope, cause);
    gantry_scope_clear(scope);
    (void)gantry_scope_end(scope);
}

static void expect_failing(const loss_t *loss, use_t use) {
    two_drivers_t t;
    two_drivers_open(&t, NULL);
    gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0"), *other = two_drivers_scope(&t, "GPU:1");
    const gantry_tensor_t *x = square(scope, 1), *y = gantry_matmul(scope, x, x, NULL);
    const gantry_tensor_t *elsewhere = gantry_identity(other, square(other, 2));
    assert_true(y && elsewhere);
    two_drivers_control()->lose(0, loss->code);
    use_lost_card(&t, use, y, elsewhere, loss->name);
    expect_others_work(&t);
    use_lost_card(&t, OP, y, elsewhere, loss->name); /* and it stays lost */
    assert_int_equal(log_lines_with(&t.log, "was lost and is not used any more", loss->name), 1);
    assert_int_equal(log_lines_with(&t.log, "GPU:1", "was lost"), 0);
    (void)gantry_scope_end(scope);
    (void)gantry_scope_end(other);
    two_drivers_close(&t);
    two_drivers_control()->reset();
}

static void every_use_of_a_lost_card_fails_with_the_cause(void **state) {
    (void)state;
    for (int use = 0; use < USES; ++use) expect_failing(&losses[0], (use_t)use);
    expect_failing(&losses[1], READ);
    expect_failing(&losses[2], OP);
}

/* ---- loss at any call of the driver ---- */

typedef struct ambush_t {
    uint64_t calls, at; /* the card is lost before the call with this number; 0: never */
} ambush_t;

static int32_t lie_in_wait(void *self, const char *function) {
    ambush_t *ambush = self;
    (void)function;
    if (++ambush->calls == ambush->at) two_drivers_control()->lose(0, 719);
    return 0;
}

/* Checks that the result is right, or missing for the stated reason; returns whether it is
 * right. */
static bool is_right(const gantry_tensor_t *tensor, const float *expected) {
    static float values[SIDE * SIDE];
    gantry_status_t status = gantry_tensor_read(tensor, values, sizeof values);
    if (status == GANTRY_OK && memcmp(values, expected, sizeof values) != 0)
        fail_msg("a result is wrong");
    if (status != GANTRY_OK && status != GANTRY_UNAVAILABLE) fail_msg("%s", gantry_last_message());
    return status == GANTRY_OK;
}

static void work(two_drivers_t *t, const float *expected, int *right, int *lost) {
    gantry_scope_t *card = two_drivers_scope(t, "GPU:0"), *other = two_drivers_scope(t, "GPU:1"),
                   *host = two_drivers_scope(t, "CPU:0");
    const gantry_tensor_t *x = square(card, 1);
    const gantry_tensor_t *product = x ? gantry_matmul(card, x, x, NULL) : NULL;
    const gantry_tensor_t *sum = product ? gantry_add(card, product, product) : NULL;
    const gantry_tensor_t *results[] = {sum, sum ? gantry_identity(other, sum) : NULL,
                                        sum ? gantry_identity(host, sum) : NULL};
    for (int i = 0; i < 3; ++i) ++*(results[i] && is_right(results[i], expected) ? right : lost);
    gantry_scope_t *const scopes[] = {card, other, host};
    for (int i = 0; i < 3; ++i) {
        gantry_status_t status = gantry_scope_status(scopes[i]);
        if (status != GANTRY_OK &&
            !strstr(gantry_scope_message(scopes[i]), "CUDA_ERROR_LAUNCH_FAILED"))
            fail_msg("%s", gantry_scope_message(
                               /* a card that is lost during its opening counts as one that cannot
                                * be opened */
                               scopes[i]));
        gantry_scope_clear(scopes[i]);
        (void)gantry_scope_end(scopes[i]);
    }
}

static void fill_expected(float *out) {
    for (int i = 0; i < SIDE * SIDE; ++i) {
        int sum = 0;
        for (int k = 0; k < SIDE; ++k) {
            int left = (i / SIDE * SIDE + k) * 7 + 1, right = (k * SIDE + i % SIDE) * 7 + 1;
            sum += (left % 11 - 5) * (right % 11 - 5);
        }
        out[i] = (float)(2 * sum);
    }
}

static void run_with(ambush_t *ambush, const float *expected, int *right, int *lost) {
    two_drivers_t t;
    two_drivers_control()->watch(lie_in_wait, ambush);
    two_drivers_open(&t, NULL);
    work(&t, expected, right, lost);
    two_drivers_control()->watch(NULL, NULL);
    expect_others_work(&t);
    two_drivers_close(&t);
    two_drivers_control()->reset();
}

/* If the loss comes before the card is open, OpenCL's view takes over, and the results are
 * right. */
static void card_lost_at_any_call_spoils_nothing_else(void **state) {
    enum { TRIES = 24 };
    static float expected[SIDE * SIDE];
    ambush_t whole = {0, 0};
    int right = 0, lost = 0;
    (void)state;
    fill_expected(expected);
    run_with(&whole, expected, &right, &lost);
    assert_int_equal(right, 3);
    assert_true(whole.calls > TRIES);
    for (uint64_t i = 0; i < TRIES; ++i) {
        ambush_t ambush = {0, 1 + i * whole.calls / TRIES};
        run_with(&ambush, expected, &right, &lost);
    }
    print_message("%d calls; lost at %d of them: %d results right, %d lost with the card\n",
                  (int)whole.calls, TRIES, right, lost);
    assert_true(right > 3 && lost > 0);
}

#define TWO "devices=2;memory=64M"

int main(void) {
    const two_drivers_case_t cases[] = {
#define CASE(body, ...) {#body, body, __VA_ARGS__}
        CASE(every_use_of_a_lost_card_fails_with_the_cause, TWO, NULL, NULL, NULL),
        CASE(card_lost_at_any_call_spoils_nothing_else, TWO, NULL, NULL, NULL),
    };
    return two_drivers_run(cases, sizeof cases / sizeof cases[0]);
}
