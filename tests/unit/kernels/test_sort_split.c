/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The search along the merge path in kernels/sort/sort.cl splits as a plain merge does.
 *
 * It and its keys run as C. */

#include "kernels/sort/sort_items.h"
#include "test.h"

#include "kernels/common/cpu_items.h"

/* The items for elements of 4 bytes. */
#define GANTRY_ITEM_TEXT_FILE "kernels/sort/sort_cpu_text.h"
#define GANTRY_ITEM_LIST GANTRY_SORT_ITEMS
#define GANTRY_T i32
#define GANTRY_ALL_ITEMS /* includes items that the library runs only on devices */
#include "kernels/common/cpu_item_rows.h"

#define split sort_split_item_i32_none
#define key_of sort_key_item_i32_none
#define sort_runs functions_i32_none[0]

/* The expected split, from merging one by one; of equal keys, a's come first. */
static int64_t count_by_merging(const uint32_t *keys, int64_t a_count, int64_t b_count,
                                int64_t diagonal) {
    int64_t a = 0, b = 0;
    while (a + b < diagonal) {
        if (a < a_count && (b >= b_count || keys[a] <= keys[a_count + b]))
            a++;
        else
            b++;
    }
    return a;
}

static void check_all_diagonals(const uint32_t *keys, int64_t a_count, int64_t b_count) {
    for (int64_t d = 0; d <= a_count + b_count; ++d) {
        assert_int_equal(split(keys, a_count, b_count, d),
                         count_by_merging(keys, a_count, b_count, d));
    }
}

TEST(split_of_apart_runs_takes_one_first) {
    check_all_diagonals((const uint32_t[]){1, 2, 3, 4, 5, 6}, 3, 3);
    check_all_diagonals((const uint32_t[]){4, 5, 6, 1, 2, 3}, 3, 3);
}

TEST(split_of_equal_keys_takes_the_first_runs) {
    const uint32_t keys[] = {7, 7, 7, 7, 7};
    assert_int_equal(split(keys, 3, 2, 2), 2);
    assert_int_equal(split(keys, 3, 2, 4), 3);
    check_all_diagonals(keys, 3, 2);
}

TEST(split_with_an_empty_run_takes_all_of_the_other) {
    const uint32_t keys[] = {1, 2, 3};
    check_all_diagonals(keys, 3, 0);
    check_all_diagonals(keys, 0, 3);
}

TEST(split_of_any_runs_is_what_merging_takes) {
    uint32_t keys[24], random = 1;
    for (int round = 0; round < 500; ++round) {
        const int64_t a_count = round % 13, b_count = round / 13 % 12;
        for (int64_t i = 0; i < a_count + b_count; ++i) {
            random = random * 1664525u + 1013904223u;
            /* ascending, with repeats */
            keys[i] = (i == 0 || i == a_count ? 0 : keys[i - 1]) + (random >> 30);
        }
        check_all_diagonals(keys, a_count, b_count);
    }
}

TEST(keys_are_in_the_order_of_their_elements) {
    static const float floats[] = {-INFINITY, -1, -1e-45f, 0, 1e-45f, 1, INFINITY};
    static const int32_t ints[] = {INT32_MIN, -1, 0, 1, INT32_MAX};
    const gantry__order_t of_floats = gantry__sort_order(GANTRY_FLOAT32, 0, false);
    const gantry__order_t of_ints = gantry__sort_order(GANTRY_INT32, 0, false);
    for (size_t i = 1; i < sizeof floats / sizeof floats[0]; ++i) {
        assert_true(key_of(GANTRY_AS_INT(floats[i - 1]), &of_floats) <
                    key_of(GANTRY_AS_INT(floats[i]), &of_floats));
    }
    for (size_t i = 1; i < sizeof ints / sizeof ints[0]; ++i) {
        assert_true(key_of(ints[i - 1], &of_ints) < key_of(ints[i], &of_ints));
    }
    assert_true(key_of(GANTRY_AS_INT(-0.0f), &of_floats) == key_of(0, &of_floats));
    assert_true(key_of(GANTRY_AS_INT(-NAN), &of_floats) == UINT32_MAX);
    assert_true(key_of(GANTRY_AS_INT(NAN), &of_floats) >
                key_of(GANTRY_AS_INT(INFINITY), &of_floats));
}

TEST(keys_in_descending_order_are_turned_round) {
    const gantry__order_t up = gantry__sort_order(GANTRY_INT32, 0, false),
                          down = gantry__sort_order(GANTRY_INT32, 1, false);
    assert_true(key_of(5, &up) > key_of(-5, &up));
    assert_true(key_of(5, &down) < key_of(-5, &down));
}

TEST(run_is_sorted_and_equal_elements_keep_their_order) {
    int32_t x[] = {3, 1, 3, -2, 1, 3, 0, -2, 9, 8}, positions[10];
    uint32_t keys[10];
    const gantry__sort_runs_t two_runs = {
        .order = gantry__sort_order(GANTRY_INT32, 0, false), .length = 10, .inner = 1, .runs = 2};
    sort_runs((void *const[]){x, keys, positions}, &two_runs, 0, 2);
    assert_memory_equal(positions, ((const int32_t[]){3, 7, 6, 1, 4, 0, 2, 5, 9, 8}),
                        sizeof positions);
    for (int i = 0; i < 10; ++i)
        assert_int_equal(keys[i], key_of(x[positions[i]], &two_runs.order));
}

int main(void) { return test_main(); }
