/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A device that reports false limits (zeros, absurd numbers, an allocation larger than the
 * memory) computes right results or is left out with a reason.
 *
 * The CPU keeps working. */
#define _XOPEN_SOURCE 700

#include "hostile_gpu.h"
#include "test.h"

#define SIDE 48 /* all sums are below 2^24: exact */

/* reason: a part of the reason for leaving the device out; NULL: it computes. */
static const struct {
    const char *settings;
    const char *reason;
} lies[] = {
    {"units=0", NULL},
    {"units=4294967295", NULL},
    {"local=0", NULL},
    {"local=18446744073709551615", NULL},
    {"device_group=0", NULL},
    {"device_group=1", NULL},
    {"device_group=1048576", NULL},
    {"group=0", NULL},
    {"vector=0", NULL},
    {"vector=4294967295", NULL},
    {"alloc=0", NULL},
    {"memory=1073741824;alloc=18446744073709551615", NULL},
    {"memory=18446744073709551615", NULL},
    {"memory=0", "it says that it has no memory"},
};

static void expect_sums(gantry_runtime_t *runtime, const char *device, const char *settings) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *x = hostile_ramp(scope, SIDE, SIDE);
    const gantry_tensor_t *all = gantry_sum(scope, gantry_matmul(scope, x, x, NULL), NULL);
    float got = 0, wanted = 0;
    if (!all || gantry_tensor_read(all, &got, sizeof got) != GANTRY_OK)
        fail_msg("%s on %s: %s", settings, device,
                 all ? gantry_last_message() : gantry_scope_message(scope));
    for (int k = 0; k < SIDE; ++k) { /* the sum over a product: column sums times row sums */
        float column = 0, row = 0;
        for (int i = 0; i < SIDE; ++i) {
            column += (float)((i * SIDE + k) % 13);
            row += (float)((k * SIDE + i) % 13);
        }
        wanted += column * row;
    }
    if (got != wanted)
        fail_msg("%s on %s: %g, not %g", settings, device, (double)got, (double)wanted);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static void expect_reason(gantry_runtime_t *runtime, const char *settings, const char *reason) {
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        assert_int_equal(gantry_backend_status(runtime, i, &status), GANTRY_OK);
        if (strcmp(status.name, "opencl") == 0 && strstr(status.reason, reason)) return;
        if (strcmp(status.name, "opencl") == 0)
            fail_msg("%s: \"%s\" does not say \"%s\"", settings, status.reason, reason);
    }
    fail_msg("there is no OpenCL backend");
}

TEST(each_lie_computes_or_gives_a_reason) {
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; ++i) {
        char settings[160];
        (void)snprintf(settings, sizeof settings, "gpu=1;%s", lies[i].settings);
        gantry_runtime_t *runtime = hostile_open(settings);
        if (lies[i].reason) {
            expect_reason(runtime, settings, lies[i].reason);
        } else {
            expect_sums(runtime, "/GPU:0", settings);
        }
        expect_sums(runtime, "/CPU:0", settings);
        gantry_runtime_release(runtime);
    }
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
