/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Elementwise ops on a GPU, one operand of which is repeated in rows, element by element
 * or as a scalar, have the CPU's bits and report a zero divisor as the CPU does. */
#define _XOPEN_SOURCE 700

#include "hostile_gpu.h"
#include "test.h"

/* Shapes of the whole operand and of the repeated one, and the kernel without its side. */
static const struct {
    int64_t all[3], few[3];
    const char *kernel;
} cases[] = {
    {{7, 5, 64}, {1, 1, 64}, "repeat_rows"}, {{1, 9, 33}, {1, 1, 33}, "repeat_rows"},
    {{3, 8, 6}, {1, 8, 6}, "repeat_rows"},   {{1, 600, 96}, {1, 1, 96}, "repeat_rows"},
    {{1, 16, 64}, {1, 16, 1}, "repeat_"},    {{1, 16, 63}, {1, 16, 1}, "repeat_"},
    {{5, 7, 48}, {1, 7, 1}, "repeat_"},      {{5, 7, 3}, {1, 7, 1}, "repeat_"},
    {{1, 1, 1000}, {1, 1, 1}, "repeat_"},    {{1, 1, 1003}, {1, 1, 1}, "repeat_"},
    {{1, 64, 1}, {1, 1, 60}, "broadcast"},
};
static const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16, GANTRY_INT8};

static const gantry_tensor_t *make_values(gantry_scope_t *scope, const int64_t *shape,
                                          gantry_dtype_t dtype, int least) {
    const size_t count = (size_t)(shape[0] * shape[1] * shape[2]);
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) values[i] = (float)((int)(i * 7919 % 101) + least);
    const gantry_tensor_t *data =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(shape[0], shape[1], shape[2]), values,
                        count * sizeof *values);
    free(values);
    return dtype == GANTRY_FLOAT32 ? data : gantry_cast(scope, data, dtype);
}

static size_t subtract(gantry_runtime_t *runtime, const char *device, size_t at,
                       gantry_dtype_t dtype, bool is_swapped, unsigned char *out, size_t most) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *all = make_values(scope, cases[at].all, dtype, 0),
                          *few = make_values(scope, cases[at].few, dtype, 3);
    const gantry_tensor_t *result =
        is_swapped ? gantry_sub(scope, few, all) : gantry_sub(scope, all, few);
    const size_t bytes = result ? gantry_tensor_bytes(result) : 0;
    assert_true(bytes <= most);
    if (!result || gantry_tensor_read(result, out, bytes) != GANTRY_OK)
        fail_msg("%s", result ? gantry_last_message() : gantry_scope_message(scope));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return bytes;
}

static void compare(gantry_runtime_t *runtime, size_t at, gantry_dtype_t dtype, bool is_swapped) {
    static unsigned char wanted[1 << 19], got[1 << 19];
    const size_t bytes = subtract(runtime, "/CPU:0", at, dtype, is_swapped, wanted, sizeof wanted);
    assert_int_equal(subtract(runtime, "/GPU:0", at, dtype, is_swapped, got, sizeof got), bytes);
    if (memcmp(got, wanted, bytes) != 0)
        fail_msg("case %d of %s, swapped %d: the bits are not the CPU's", (int)at,
                 gantry_dtype_name(dtype), is_swapped);
}

TEST(repeated_operands_have_the_bits_of_the_processor) {
    static char launches[1 << 16];
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=1;log=1");
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; ++at) {
        hostile_take_launches(launches, sizeof launches);
        for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
            compare(runtime, at, types[t], false);
            compare(runtime, at, types[t], true);
        }
        hostile_take_launches(launches, sizeof launches);
        if (!strstr(launches, cases[at].kernel))
            fail_msg("case %d: %s did not run, but:\n%s", (int)at, cases[at].kernel, launches);
        if (strcmp(cases[at].kernel, "broadcast") != 0) assert_null(strstr(launches, "broadcast"));
    }
    gantry_runtime_release(runtime);
}

/* Divides by a repeated operand whose element `zero` is 0; gives the message. */
static void divide(gantry_runtime_t *runtime, const char *device, const int64_t *all,
                   const int64_t *few, size_t zero, char *out, size_t out_bytes) {
    int32_t divisors[256];
    const size_t count = (size_t)(few[0] * few[1] * few[2]);
    for (size_t i = 0; i < count; ++i) divisors[i] = i == zero ? 0 : 1 + (int32_t)i;
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *y =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(few[0], few[1], few[2]), divisors,
                        count * sizeof *divisors);
    const gantry_tensor_t *quotient =
        gantry_div(scope, make_values(scope, all, GANTRY_INT32, 1), y);
    if (quotient) assert_int_not_equal(gantry_tensor_wait(quotient), GANTRY_OK);
    (void)snprintf(out, out_bytes, "%s",
                   quotient ? gantry_last_message() : gantry_scope_message(scope));
    (void)gantry_scope_end(scope);
}

TEST(a_zero_divisor_is_reported_as_on_the_processor) {
    static const int64_t shapes[][2][3] = {{{5, 40, 64}, {1, 1, 64}},
                                           {{5, 40, 33}, {1, 1, 33}},
                                           {{5, 40, 64}, {1, 40, 1}},
                                           {{5, 40, 64}, {1, 1, 1}}};
    char wanted[512], got[512];
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=1");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        const size_t zero = i == 3 ? 0 : 31;
        divide(runtime, "/CPU:0", shapes[i][0], shapes[i][1], zero, wanted, sizeof wanted);
        divide(runtime, "/GPU:0", shapes[i][0], shapes[i][1], zero, got, sizeof got);
        assert_non_null(strstr(wanted, "division by zero"));
        assert_non_null(strstr(got, wanted));
    }
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
