/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Counts on a GPU are the CPU's, in any type, with a table in local memory and without; a
 * negative number is the CPU's error. Counts of integers are one launch, of floats two.
 * Promise: Updates of 32-bit integers are not sorted on a GPU, and have the CPU's bits. */
#define _XOPEN_SOURCE 700

#include "hostile_gpu.h"
#include "test.h"

enum { ROWS = 7, COLUMNS = 4001, NUMBERS = ROWS * COLUMNS };

static int count_lines(const char *text) {
    int count = 0;
    for (; *text; ++text) count += *text == '\n';
    return count;
}

/* Numbers of which some are equal, and some beyond any bin. */
static const gantry_tensor_t *make_numbers(gantry_scope_t *scope, gantry_shape_t shape,
                                           int32_t most, bool is_wide) {
    static int32_t numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; ++i)
        numbers[i] = i % 5 == 0 ? 3 : (int32_t)((int64_t)i * 7919 % most);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_INT32, shape, numbers,
                        (size_t)gantry_shape_elements(&shape) * sizeof *numbers);
    return is_wide ? gantry_cast(scope, x, GANTRY_INT64) : x;
}

/* ---- counts ---- */

typedef struct counts_t {
    int32_t bins;
    bool has_rows, is_binary;
} counts_t;

static const counts_t counts[] = {
    {10, false, false}, {1, false, false},  {4096, false, false},  {5000, false, false},
    {10, true, false},  {900, true, false}, {10, false, true},     {6000, false, true},
    {900, true, true},  {20, true, true},   {40000, false, false},
};
static const gantry_dtype_t types[] = {GANTRY_INT32, GANTRY_INT64, GANTRY_FLOAT32, GANTRY_FLOAT64};

static size_t count(gantry_runtime_t *runtime, const char *device, const counts_t *one,
                    gantry_dtype_t dtype, unsigned char *out, char *launches, size_t most) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *x =
        make_numbers(scope, one->has_rows ? GANTRY_SHAPE(ROWS, COLUMNS) : GANTRY_SHAPE(NUMBERS),
                     one->bins + 100, one->bins % 3 == 0);
    const gantry_tensor_t *weights = gantry_zeros(scope, dtype, GANTRY_SHAPE(0));
    hostile_take_launches(launches, most);
    const gantry_tensor_t *result =
        gantry_dense_bincount(scope, x, one->bins, weights, one->is_binary);
    if (!result) fail_msg("%s", gantry_scope_message(scope));
    hostile_take_launches(launches, most);
    const size_t bytes = gantry_tensor_bytes(result);
    assert_int_equal(gantry_tensor_read(result, out, bytes), GANTRY_OK);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return bytes;
}

static void compare_counts(const char *settings) {
    static unsigned char wanted[1 << 20], got[1 << 20];
    static char launches[1 << 12];
    gantry_runtime_t *runtime = hostile_open(settings);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
        for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
            const counts_t *one = &counts[i];
            const size_t bytes = count(runtime, "/CPU:0", one, types[t], wanted, launches, 4096);
            assert_int_equal(count(runtime, "/GPU:0", one, types[t], got, launches, 4096), bytes);
            if (memcmp(got, wanted, bytes) != 0)
                fail_msg("%d bins of %s, rows %d, binary %d: not the CPU's", one->bins,
                         gantry_dtype_name(types[t]), one->has_rows, one->is_binary);
            if (count_lines(launches) != (t < 2 || one->is_binary ? 1 : 2))
                fail_msg("%s", launches);
        }
    }
    gantry_runtime_release(runtime);
}

TEST(counts_are_the_processors) { compare_counts("gpu=1;units=3;log=1"); }

TEST(counts_without_room_for_a_table_are_the_processors) {
    compare_counts("gpu=1;units=48;local=8192;group=64;log=1");
}

TEST(a_negative_number_is_the_processors_error) {
    static const int32_t numbers[] = {4, 2, 7, -3, 1, -8};
    char texts[2][512];
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=4");
    for (int on_gpu = 0; on_gpu < 2; ++on_gpu) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, on_gpu ? "/GPU:0" : "/CPU:0");
        const gantry_tensor_t *x =
            gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(6), numbers, sizeof numbers);
        const gantry_tensor_t *weights = gantry_zeros(scope, GANTRY_INT32, GANTRY_SHAPE(0));
        const gantry_tensor_t *result = gantry_bincount(scope, x, 5, weights);
        int32_t out[5];
        if (result)
            assert_int_equal(gantry_tensor_read(result, out, sizeof out), GANTRY_INVALID_ARGUMENT);
        const char *message = result ? gantry_last_message() : gantry_scope_message(scope);
        const char *at = strstr(message, "Input arr");
        if (!at) fail_msg("%s", message);
        (void)snprintf(texts[on_gpu], sizeof texts[on_gpu], "%s", at);
        (void)gantry_scope_end(scope);
    }
    if (strncmp(texts[0], texts[1], strlen("Input arr must be non-negative! arr[3] = -3")) != 0)
        fail_msg("%s\n%s", texts[0], texts[1]);
    gantry_runtime_release(runtime);
}

/* ---- updates ---- */

enum { SLICES = 37, WIDTH = 3 };

static const gantry_tensor_t *update(gantry_scope_t *scope, gantry_dtype_t dtype, int op) {
    static int32_t values[NUMBERS * WIDTH];
    for (int i = 0; i < NUMBERS * WIDTH; ++i) values[i] = (int32_t)((uint32_t)i * 2654435761u);
    const gantry_tensor_t *ids = make_numbers(scope, GANTRY_SHAPE(NUMBERS), SLICES, op % 2 != 0);
    const gantry_tensor_t *indices = gantry_reshape(scope, ids, GANTRY_SHAPE(NUMBERS, 1));
    const gantry_tensor_t *data =
        gantry_constant(scope, dtype, GANTRY_SHAPE(NUMBERS, WIDTH), values, sizeof values);
    const gantry_tensor_t *old = gantry_constant(scope, dtype, GANTRY_SHAPE(SLICES, WIDTH),
                                                 values + 500, SLICES * WIDTH * sizeof *values);
    hostile_take_launches((char[1 << 12]){0}, 1 << 12);
    switch (op) {
        case 0: return gantry_tensor_scatter_add(scope, old, indices, data);
        case 1: return gantry_tensor_scatter_sub(scope, old, indices, data);
        case 2: return gantry_tensor_scatter_max(scope, old, indices, data);
        case 3: return gantry_tensor_scatter_min(scope, old, indices, data);
        case 4: return gantry_scatter_nd(scope, indices, data, GANTRY_SHAPE(SLICES, WIDTH));
        case 5: return gantry_unsorted_segment_sum(scope, data, ids, SLICES + 2);
        case 6: return gantry_unsorted_segment_max(scope, data, ids, SLICES + 2);
        case 7: return gantry_unsorted_segment_min(scope, data, ids, SLICES + 2);
        default:
            return gantry_bincount(scope, ids, SLICES,
                                   gantry_constant(scope, dtype, GANTRY_SHAPE(NUMBERS), values,
                                                   NUMBERS * sizeof *values));
    }
}

TEST(updates_of_integers_keep_their_order_and_the_bits) {
    static const gantry_dtype_t integers[] = {GANTRY_INT32, GANTRY_UINT32};
    static unsigned char out[2][(SLICES + 2) * WIDTH * 4];
    static char launches[1 << 12];
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=48;log=1");
    for (int op = 0; op < 9; ++op) {
        for (size_t t = 0; t < (op < 8 ? 2u : 1u); ++t) {
            size_t bytes = 0;
            for (int on_gpu = 0; on_gpu < 2; ++on_gpu) {
                gantry_scope_t *scope = gantry_scope_begin(runtime, on_gpu ? "/GPU:0" : "/CPU:0");
                const gantry_tensor_t *result = update(scope, integers[t], op);
                if (!result) fail_msg("%s", gantry_scope_message(scope));
                hostile_take_launches(launches, sizeof launches);
                bytes = gantry_tensor_bytes(result);
                assert_int_equal(gantry_tensor_read(result, out[on_gpu], bytes), GANTRY_OK);
                assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
            }
            if (memcmp(out[0], out[1], bytes) != 0 || strstr(launches, "sort_") ||
                !strstr(launches, "unsorted"))
                fail_msg("op %d of %s:\n%s", op, gantry_dtype_name(integers[t]), launches);
        }
    }
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
