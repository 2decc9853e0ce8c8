/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Many updates of floats are combined with the CPU's bits on a GPU in five launches, none
 * of which sorts keys, however many of them go to one slice.
 * Promise: Where a tile has no room in local memory they are sorted, with the same bits. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "hostile_gpu.h"
#include "test.h"

enum { UPDATES = 20000, MOST_SLICES = 60000, MOST_WIDTH = 3 };

typedef enum kind_t { ALL_OF_ONE, FEW, THREE_IN_FOUR_OF_ONE, RANDOM, ROUND } kind_t;

typedef struct case_t {
    const char *name;
    kind_t kind;
    int32_t slices;
    int width;
    gantry_dtype_t dtype;
} case_t;

static const case_t cases[] = {
    {"all of one slice", ALL_OF_ONE, 5, 1, GANTRY_FLOAT32},
    {"pairs of three slices", ROUND, 3, 2, GANTRY_FLOAT32},
    {"slices of 32 and 33", ROUND, 620, 1, GANTRY_FLOAT64},
    {"slices of 2048 and more", ROUND, 9, 1, GANTRY_FLOAT32},
    {"one crowded slice", THREE_IN_FOUR_OF_ONE, 4000, 1, GANTRY_BFLOAT16},
    {"random slices", RANDOM, 20000, 3, GANTRY_FLOAT32},
    {"more slices than updates", RANDOM, MOST_SLICES, 1, GANTRY_FLOAT16},
    {"wide integers", RANDOM, 300, 2, GANTRY_INT64},
};

static int32_t slice_of(const case_t *one, int i) {
    const uint32_t number = (uint32_t)i * 2654435761u >> 7;
    switch (one->kind) {
        case ALL_OF_ONE: return 3;
        case ROUND: return (i * 7 + i / 1000) % one->slices;
        case THREE_IN_FOUR_OF_ONE:
            return i % 4 != 0 ? 17 : (int32_t)(number % (uint32_t)one->slices);
        default: return (int32_t)(number % (uint32_t)one->slices);
    }
}

static const gantry_tensor_t *make_ids(gantry_scope_t *scope, const case_t *one, bool drops,
                                       gantry_shape_t shape) {
    static int32_t ids[UPDATES];
    for (int i = 0; i < UPDATES; ++i) ids[i] = drops && i % 11 == 0 ? -1 : slice_of(one, i);
    return gantry_constant(scope, GANTRY_INT32, shape, ids, sizeof ids);
}

/* The order of additions changes their sums. */
static const gantry_tensor_t *make_data(gantry_scope_t *scope, const case_t *one, int rows) {
    static float values[MOST_SLICES * MOST_WIDTH];
    const int count = rows * one->width;
    for (int i = 0; i < count; ++i) values[i] = (float)((i * 7919 + rows) % 1009) * 0.37f - 99.0f;
    const gantry_tensor_t *data =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(rows, one->width), values,
                        (size_t)count * sizeof *values);
    return one->dtype == GANTRY_FLOAT32 ? data : gantry_cast(scope, data, one->dtype);
}

enum { SCATTER_ND, ADD, UPDATE, SEGMENT_SUM, SEGMENT_MEAN, ELEMENTS, OPS };

static const gantry_tensor_t *compute(gantry_scope_t *scope, const case_t *one, int op) {
    const gantry_tensor_t *data = make_data(scope, one, UPDATES),
                          *old = make_data(scope, one, one->slices);
    const gantry_tensor_t *rows = make_ids(scope, one, false, GANTRY_SHAPE(UPDATES, 1)),
                          *ids = make_ids(scope, one, true, GANTRY_SHAPE(UPDATES));
    hostile_take_launches((char[1 << 12]){0}, 1 << 12);
    switch (op) {
        case SCATTER_ND:
            return gantry_scatter_nd(scope, rows, data, GANTRY_SHAPE(one->slices, one->width));
        case ADD: return gantry_tensor_scatter_add(scope, old, rows, data);
        case UPDATE: return gantry_tensor_scatter_update(scope, old, rows, data);
        case SEGMENT_SUM: return gantry_unsorted_segment_sum(scope, data, ids, one->slices);
        case SEGMENT_MEAN: return gantry_unsorted_segment_mean(scope, data, ids, one->slices);
        default: return gantry_scatter_elements(scope, old, rows, data, 0, "ADD");
    }
}

static int count_lines(const char *text) {
    int count = 0;
    for (; *text; ++text) count += *text == '\n';
    return count;
}

static void compare(gantry_runtime_t *runtime, const case_t *one, int op, bool has_tiles) {
    static unsigned char out[2][MOST_SLICES * MOST_WIDTH * 8];
    static char launches[1 << 12];
    size_t bytes = 0;
    for (int on_gpu = 0; on_gpu < 2; ++on_gpu) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, on_gpu ? "/GPU:0" : "/CPU:0");
        const gantry_tensor_t *result = compute(scope, one, op);
        if (!result) fail_msg("%s", gantry_scope_message(scope));
        hostile_take_launches(launches, sizeof launches);
        bytes = gantry_tensor_bytes(result);
        assert_true(bytes <= sizeof out[0]);
        assert_int_equal(gantry_tensor_read(result, out[on_gpu], bytes), GANTRY_OK);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    if (memcmp(out[0], out[1], bytes) != 0)
        fail_msg("%s, op %d: the bits are not the CPU's\n%s", one->name, op, launches);
    if ((strstr(launches, "sort_") == NULL) != has_tiles ||
        (has_tiles && count_lines(launches) != 5))
        fail_msg("%s, op %d:\n%s", one->name, op, launches);
}

TEST(many_updates_take_five_launches_and_have_the_bits) {
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=3;log=1");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k)
        for (int op = 0; op < OPS; ++op)
            if ((op != SEGMENT_MEAN || cases[k].dtype != GANTRY_INT64) &&
                (op != ELEMENTS || cases[k].width == 1))
                compare(runtime, &cases[k], op, true);
    gantry_runtime_release(runtime);
}

TEST(without_room_for_a_tile_updates_are_sorted) {
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=48;local=4096;group=64;log=1");
    for (int op = 0; op < OPS; ++op) compare(runtime, &cases[4], op, false);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
