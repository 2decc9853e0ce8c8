/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Kernels' items and the division in device text find positions in tensors with more than
 * 2^32 elements, compiled as C.
 * Promise: Positions that are computed with 32-bit divisions are those of 64-bit divisions.
 *
 * The tensors reserve 4 GiB of addresses and touch few pages of them. */
#define _DEFAULT_SOURCE

#include <sys/mman.h>

#include "kernels/matrix/matrix_items.h"
#include "kernels/index/scatter_items.h"
#include "test.h"

#include "kernels/matrix/matrix.cl"

#define BORDER (INT64_C(1) << 32)

/* 0 to 4, and numbers within 4 of each power of two. */
static size_t make_numbers(int64_t *numbers) {
    size_t count = 0;
    for (int bit = 2; bit < 63; ++bit) {
        for (int64_t away = -4; away <= 4; ++away) {
            numbers[count++] = (INT64_C(1) << bit) + away;
        }
    }
    numbers[count++] = INT64_MAX;
    return count;
}

TEST(divided_positions_are_those_of_64_bits) {
    static int64_t numbers[61 * 9 + 1];
    const size_t count = make_numbers(numbers);
    for (size_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < count; ++k) {
            if (numbers[k] > 0 &&
                gantry__divide_position(numbers[i], numbers[k]) != numbers[i] / numbers[k]) {
                fail_msg("%lld / %lld", (long long)numbers[i], (long long)numbers[k]);
            }
        }
    }
}

/* ---- items ---- */

/* A family's functions for elements of one byte. */
static const gantry__k_item_fn *functions_of(const gantry__k_items_t *items) {
    for (const gantry__k_item_row_t *row = items->rows[0]; row->functions != NULL; ++row) {
        if (row->t == 10) {
            return row->functions;
        }
    }
    return NULL;
}

#define NAME(name) ITEM_##name,
enum { GANTRY_MATRIX_ITEMS(NAME) };
enum { GANTRY_SCATTER_ITEMS(NAME) };

static uint8_t *reserve(size_t bytes) {
    void *memory = sizeof bytes < 8 ? MAP_FAILED
                                    : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        print_message("skipped: no %zu bytes of addresses\n", bytes);
        skip();
    }
    return memory;
}

/* Rows of 3 in matrices of 5 columns that keep their diagonal: position 2^32 lies inside a
 * matrix. */
TEST(matrices_beyond_32_bits_keep_their_band) {
    extern const gantry__k_items_t gantry__cpu_matrix_items;
    const size_t bytes = (size_t)BORDER + 4096;
    uint8_t *x = reserve(bytes), *out = reserve(bytes);
    void *const spans[] = {x, out};
    gantry__band_t p = {
        .work = {.count = (int64_t)bytes}, .runs = {5, 1, 5}, .rows = 3, .columns = 5};
    for (int64_t i = BORDER - 40; i < BORDER + 40; ++i) {
        x[i] = 7;
    }
    functions_of(&gantry__cpu_matrix_items)[ITEM_band](spans, &p, BORDER - 40, BORDER + 40);
    for (int64_t i = BORDER - 40; i < BORDER + 40; ++i) {
        assert_int_equal(out[i], i % 5 == i / 5 % 3 ? 7 : 0);
    }
    munmap(x, bytes);
    munmap(out, bytes);
}

/* Gathers the end of row `row`, which is slice `slice` of the tensor, with `inner` elements. */
static void check_gather_nd(int64_t inner, int64_t row, int64_t slice) {
    extern const gantry__k_items_t gantry__cpu_scatter_items;
    const size_t bytes = (size_t)BORDER + (1 << 20);
    uint8_t *params = reserve(2 * bytes), *out = reserve(2 * bytes), *memory = reserve(5 * bytes);
    uint8_t fault[16] = {0};
    void *const spans[] = {params, memory, out, fault};
    int32_t *indices = (int32_t *)(void *)memory;
    gantry__slices_t p = {.depth = 1, .inner = inner, .dims = {slice + 1}};
    indices[row] = (int32_t)slice;
    for (int64_t e = 0; e < 8; ++e) {
        params[slice * inner + (inner < 8 ? e % inner : inner - 8 + e)] = (uint8_t)(e + 1);
    }
    const int64_t begin = (row + 1) * inner - (inner < 8 ? inner : 8), end = (row + 1) * inner;
    functions_of(&gantry__cpu_scatter_items)[ITEM_gather_nd](spans, &p, begin, end);
    for (int64_t i = begin; i < end; ++i) {
        assert_int_equal(out[i], params[slice * inner + i - row * inner]);
        assert_int_not_equal(out[i], 0);
    }
    assert_int_equal(fault[0], 0);
    munmap(params, 2 * bytes);
    munmap(out, 2 * bytes);
    munmap(memory, 5 * bytes);
}

TEST(slices_beyond_32_bits_are_gathered) {
    check_gather_nd(BORDER - 1, 0, 1);
    check_gather_nd(BORDER, 0, 1);
    check_gather_nd(BORDER + 1, 1, 0);
    check_gather_nd(1, BORDER, 3);
    check_gather_nd(3, BORDER / 3, 2);
}

int main(void) { return test_main(); }
