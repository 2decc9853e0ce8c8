/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Sort, ArgSort and TopK on the CPU agree with a plain stable sort: every type, method and
 * instruction set, hard data for radix sort, any number of threads.
 * Promise: Sorts in the total order put -NaN first, -0 before 0 and NaN last, and keep the bits of
 * each. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"

typedef struct type_t {
    gantry_dtype_t dtype;
    bool is_float, is_signed;
    uint64_t infinity; /* its bits; of a type without, those of the largest number */
    bool is_total;     /* the total order of IEEE 754 */
} type_t;

static const type_t types[] = {
    {GANTRY_INT8, false, true, 0, false},
    {GANTRY_UINT8, false, false, 0, false},
    {GANTRY_INT16, false, true, 0, false},
    {GANTRY_UINT16, false, false, 0, false},
    {GANTRY_FLOAT16, true, true, 0x7c00, false},
    {GANTRY_BFLOAT16, true, true, 0x7f80, false},
    {GANTRY_INT32, false, true, 0, false},
    {GANTRY_UINT32, false, false, 0, false},
    {GANTRY_FLOAT32, true, true, 0x7f800000, false},
    {GANTRY_INT64, false, true, 0, false},
    {GANTRY_UINT64, false, false, 0, false},
    {GANTRY_FLOAT8_E5M2, true, true, 0x7c, false},
    {GANTRY_FLOAT8_E4M3FN, true, true, 0x7e, false},
    {GANTRY_FLOAT64, true, true, UINT64_C(0x7ff0000000000000), false},
};
static const type_t in_total_order[] = {
    {GANTRY_FLOAT8_E4M3FN, true, true, 0, true}, {GANTRY_FLOAT16, true, true, 0, true},
    {GANTRY_FLOAT32, true, true, 0, true},       {GANTRY_INT32, false, true, 0, true},
    {GANTRY_FLOAT64, true, true, 0, true},
};

enum { TYPES = sizeof types / sizeof types[0], FLOAT32 = 8, INT64 = 9 };

/* Rows whose elements are `inner` apart: [outer, length, inner]. */
typedef struct shape_t {
    int64_t outer, length, inner;
} shape_t;

typedef enum {
    RANDOM_BITS,
    SMALL_NUMBERS,
    FEW,
    ALIKE,
    RISING,
    FALLING,
    EVEN_STEPS,
    ONE_FAR,
    PATTERNS
} pattern_t;

typedef struct rows_t {
    const type_t *type;
    shape_t shape;
    int64_t count;
    uint64_t *bits; /* of each element */
    int64_t *ranks; /* ascending like the elements; equal elements have equal keys */
    int32_t *order; /* positions of each row's elements in stable order */
} rows_t;

static uint64_t next(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 32) * UINT64_C(0x9e3779b97f4a7c15) ^ *state >> 29;
}

static uint64_t mask_of(const type_t *type) {
    return UINT64_MAX >> (64 - 8 * gantry_dtype_size(type->dtype));
}

static uint64_t make_bits(pattern_t pattern, int64_t i, int64_t count, uint64_t *random) {
    switch (pattern) {
        case RANDOM_BITS: return next(random);
        case SMALL_NUMBERS: return next(random) % 1000;
        /* the sign bits of some types: -0 */
        case FEW: return (next(random) % 3) * UINT64_C(0x4000800040008040);
        case ALIKE: return 42;
        case RISING: return (uint64_t)i;
        case FALLING: return (uint64_t)(count - i);
        case EVEN_STEPS: return (uint64_t)(i * 40503 % 65536 + i / 65536 * 65536) * 16;
        default: return i == count / 3 ? UINT64_C(0x7e7e7e7e7e7e7e7e) : next(random) % 50000;
    }
}

/* NaN has the largest key; -0 and 0 have the same. */
static int64_t rank_of(const type_t *type, uint64_t bits) {
    const int unused = 64 - 8 * (int)gantry_dtype_size(type->dtype);
    const uint64_t magnitude = bits & mask_of(type) >> 1;
    if (type->is_float && type->is_total)
        return bits == magnitude ? (int64_t)magnitude : -1 - (int64_t)magnitude;
    if (type->is_float) {
        return magnitude > type->infinity ? INT64_MAX
               : bits == magnitude        ? (int64_t)magnitude
                                          : -(int64_t)magnitude;
    }
    return type->is_signed ? (int64_t)(bits << unused) >> unused
                           : (int64_t)(bits ^ UINT64_C(1) << 63);
}

NOT_SANITIZED static void merge(const rows_t *rows, const int32_t *from, int32_t *to,
                                const int64_t *ranks, int64_t begin, int64_t middle, int64_t end,
                                bool descending) {
    const int64_t step = rows->shape.inner;
    int64_t a = begin, b = middle;
    for (int64_t i = begin; i < end; ++i) {
        bool takes_a = b == end;
        if (a < middle && b < end) {
            const int64_t x = ranks[from[a] * step], y = ranks[from[b] * step];
            takes_a = descending ? x >= y : x <= y;
        }
        to[i] = from[takes_a ? a++ : b++];
    }
}

/* Sorts one row's positions by merging. */
static void sort_row(const rows_t *rows, const int64_t *ranks, int32_t *places, int32_t *room,
                     bool descending) {
    const int64_t length = rows->shape.length;
    for (int64_t i = 0; i < length; ++i) places[i] = (int32_t)i;
    for (int64_t width = 1; width < length; width *= 2) {
        for (int64_t begin = 0; begin < length; begin += 2 * width) {
            const int64_t middle = begin + width < length ? begin + width : length;
            const int64_t end = begin + 2 * width < length ? begin + 2 * width : length;
            merge(rows, places, room, ranks, begin, middle, end, descending);
        }
        memcpy(places, room, (size_t)length * sizeof *places);
    }
}

static void sort_rows(rows_t *rows, bool descending) {
    const shape_t s = rows->shape;
    int32_t *places = malloc((size_t)s.length * sizeof *places),
            *room = malloc((size_t)s.length * sizeof *room);
    assert_true(places && room);
    for (int64_t row = 0; row < s.outer * s.inner; ++row) {
        const int64_t first = row / s.inner * s.length * s.inner + row % s.inner;
        sort_row(rows, rows->ranks + first, places, room, descending);
        for (int64_t i = 0; i < s.length; ++i) rows->order[first + i * s.inner] = places[i];
    }
    free(places);
    free(room);
}

static void make_rows(rows_t *rows, const type_t *type, shape_t shape, pattern_t pattern) {
    uint64_t random = (uint64_t)pattern + 1;
    *rows =
        (rows_t){.type = type, .shape = shape, .count = shape.outer * shape.length * shape.inner};
    rows->bits = malloc((size_t)rows->count * sizeof *rows->bits);
    rows->ranks = malloc((size_t)rows->count * sizeof *rows->ranks);
    rows->order = malloc((size_t)rows->count * sizeof *rows->order);
    assert_true(rows->bits && rows->ranks && rows->order);
    for (int64_t i = 0; i < rows->count; ++i) {
        rows->bits[i] = make_bits(pattern, i, rows->count, &random) & mask_of(type);
        rows->ranks[i] = rank_of(type, rows->bits[i]);
    }
}

static void free_rows(rows_t *rows) {
    free(rows->bits);
    free(rows->ranks);
    free(rows->order);
}

static const gantry_tensor_t *put_rows(gantry_scope_t *scope, const rows_t *rows) {
    const size_t size = gantry_dtype_size(rows->type->dtype), bytes = (size_t)rows->count * size;
    char *data = malloc(bytes);
    assert_non_null(data);
    /* little-endian */
    for (int64_t i = 0; i < rows->count; ++i) memcpy(data + (size_t)i * size, &rows->bits[i], size);
    const gantry_tensor_t *out = gantry_constant(
        scope, rows->type->dtype,
        GANTRY_SHAPE(rows->shape.outer, rows->shape.length, rows->shape.inner), data, bytes);
    free(data);
    return out;
}

static void *fetch(const gantry_tensor_t *tensor, size_t bytes) {
    void *data = malloc(bytes);
    assert_non_null(data);
    if (!tensor || gantry_tensor_read(tensor, data, bytes) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return data;
}

static uint64_t bits_at(const char *data, size_t size, int64_t i) {
    uint64_t bits = 0;
    memcpy(&bits, data + (size_t)i * size, size);
    return bits;
}

static int64_t element_at(const rows_t *rows, int64_t i) {
    const int64_t step = rows->shape.inner,
                  first = i / (rows->shape.length * step) * rows->shape.length * step + i % step;
    return first + rows->order[i] * step;
}

/* Sort or ArgSort along axis 1 in the total order. */
static const gantry_tensor_t *in_total(gantry_scope_t *scope, const char *op,
                                       const gantry_tensor_t *x, bool descending) {
    const gantry_attr_value_t attrs[] = {
        {.name = "axis", .kind = GANTRY_ATTR_INT, .i = 1},
        {.name = "order", .kind = GANTRY_ATTR_STRING, .s = "TOTAL"},
        {.name = "direction",
         .kind = GANTRY_ATTR_STRING,
         .s = descending ? "DESCENDING" : "ASCENDING"}};
    const gantry_tensor_t *out = NULL;
    size_t count = 1;
    (void)gantry_op_call(scope, op, &x, 1, attrs, 3, &out, &count);
    return out;
}

static const gantry_tensor_t *sorted(gantry_scope_t *scope, const rows_t *rows,
                                     const gantry_tensor_t *x, bool descending) {
    return rows->type->is_total ? in_total(scope, "Sort", x, descending)
                                : gantry_sort(scope, x, 1, descending);
}

static const gantry_tensor_t *positions(gantry_scope_t *scope, const rows_t *rows,
                                        const gantry_tensor_t *x, bool descending) {
    return rows->type->is_total ? in_total(scope, "ArgSort", x, descending)
                                : gantry_argsort(scope, x, 1, descending);
}

static void check_order(gantry_scope_t *scope, const rows_t *rows, const gantry_tensor_t *x,
                        bool descending) {
    const size_t size = gantry_dtype_size(rows->type->dtype);
    char *values = fetch(sorted(scope, rows, x, descending), (size_t)rows->count * size);
    int32_t *order =
        fetch(positions(scope, rows, x, descending), (size_t)rows->count * sizeof *order);
    for (int64_t i = 0; i < rows->count; ++i) {
        if (order[i] != rows->order[i] ||
            bits_at(values, size, i) != rows->bits[element_at(rows, i)])
            fail_msg("%s [%d,%d,%d] %s: wrong at %d", gantry_dtype_name(rows->type->dtype),
                     (int)rows->shape.outer, (int)rows->shape.length, (int)rows->shape.inner,
                     descending ? "down" : "up", (int)i);
    }
    free(values);
    free(order);
}

/* rows in descending order, of inner 1. */
static void check_top(gantry_scope_t *scope, const rows_t *rows, const gantry_tensor_t *x,
                      int32_t k) {
    const size_t size = gantry_dtype_size(rows->type->dtype);
    const int64_t length = rows->shape.length, kept = rows->shape.outer * k;
    const gantry_tensor_t *indices = NULL, *rows_of_x = gantry_reshape(
                                               scope, x, GANTRY_SHAPE(rows->shape.outer, length));
    char *values = fetch(gantry_top_k(scope, rows_of_x, k, &indices), (size_t)kept * size);
    int32_t *order = fetch(indices, (size_t)kept * sizeof *order);
    for (int64_t i = 0; i < kept; ++i) {
        const int64_t at = i / k * length + i % k;
        if (order[i] != rows->order[at] ||
            bits_at(values, size, i) != rows->bits[element_at(rows, at)])
            fail_msg("top %d of %s [%d,%d]: wrong at %d", (int)k,
                     gantry_dtype_name(rows->type->dtype), (int)rows->shape.outer, (int)length,
                     (int)i);
    }
    free(values);
    free(order);
}

static void check_rows(gantry_scope_t *scope, const type_t *type, shape_t shape,
                       pattern_t pattern) {
    rows_t rows;
    make_rows(&rows, type, shape, pattern);
    const gantry_tensor_t *x = put_rows(scope, &rows);
    for (int descending = 0; descending < 2; ++descending) {
        sort_rows(&rows, descending != 0);
        check_order(scope, &rows, x, descending != 0);
    }
    for (int64_t k = 1; shape.inner == 1 && !type->is_total && k <= shape.length; k *= 29)
        check_top(scope, &rows, x, (int32_t)k);
    free_rows(&rows);
}

/* Radix sort takes few rows one by one. Many short rows are sorted side by side in groups, of which
 * the last may be small; a longer row is cut into parts. Rows of 131072 elements or more always use
 * buckets. */
static const shape_t shapes[] = {{3, 1, 1},  {5, 16, 1},  {3, 17, 2},   {4, 64, 1},
                                 {3, 65, 1}, {3, 700, 1}, {1, 4100, 2}, {50, 7, 1},
                                 {9, 17, 2}, {16, 64, 1}, {1, 130, 9},  {34, 290, 1}};
static const shape_t in_parts = {1, 33000, 1};

static gantry_scope_t *open_with(runtime_fixture_t *f, int32_t threads, const char *simd) {
    if (simd) (void)setenv("GANTRY_CPU_SIMD", simd, 1);
    fake->set_device_count(0);
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.cpu_threads = threads;
    runtime_fixture_open_with(f, &options);
    return runtime_fixture_scope(f, "CPU:0");
}

/* Every step-th type, with all patterns; under sanitizers each type has every fourth. */
static void check_types(gantry_scope_t *scope, size_t first, size_t step) {
    for (size_t t = first; t < TYPES; t += step) {
        for (int pattern = 0; pattern < PATTERNS; ++pattern) {
            if ((t + (size_t)pattern) % FEWER_FOR_SANITIZERS(1, 4) != 0) continue;
            for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s)
                check_rows(scope, &types[t], shapes[s], (pattern_t)pattern);
            if ((t + (size_t)pattern) % 4 == 0)
                check_rows(scope, &types[t], in_parts, (pattern_t)pattern);
        }
    }
}

TEST(orders_with_two_threads_are_stable) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_with(&f, 2, NULL);
    check_types(scope, 0, 1);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* The largest number of buckets. At this length, bins behind the last key would start another
 * bucket. */
TEST(orders_of_a_very_long_row_are_stable) {
    static const shape_t very_long = {1, 1 << 20, 1};
    runtime_fixture_t f;
    gantry_scope_t *scope = open_with(&f, 2, NULL);
    check_rows(scope, &types[FLOAT32], very_long, SMALL_NUMBERS);
    check_rows(scope, &types[FLOAT32], very_long, RANDOM_BITS);
    check_rows(scope, &types[INT64], very_long, ONE_FAR);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(orders_with_one_thread_are_the_same) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_with(&f, 1, "avx2");
    check_types(scope, 1, 4);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(orders_with_five_threads_are_the_same) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_with(&f, 5, "base");
    check_types(scope, 3, 5);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(total_orders_are_stable_and_keep_all_bits) {
    static const pattern_t patterns[] = {RANDOM_BITS, FEW};
    runtime_fixture_t f;
    gantry_scope_t *scope = open_with(&f, 2, NULL);
    for (size_t t = 0; t < sizeof in_total_order / sizeof in_total_order[0]; ++t) {
        for (size_t p = 0; p < 2; ++p) {
            for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s)
                check_rows(scope, &in_total_order[t], shapes[s], patterns[p]);
            check_rows(scope, &in_total_order[t], in_parts, patterns[p]);
        }
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* More equal elements than are collected at a time, and no later element is wanted. */
TEST(top_of_the_largest_is_the_first_of_them) {
    enum { LENGTH = 5000, TOP = 5 };
    static uint8_t bits[2 * LENGTH];
    runtime_fixture_t f;
    gantry_scope_t *scope = open_with(&f, 2, NULL);
    const gantry_tensor_t *indices = NULL;
    memset(bits, 255, sizeof bits);
    bits[LENGTH] = 254; /* of the second row */
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_UINT8, GANTRY_SHAPE(2, LENGTH), bits, sizeof bits);
    uint8_t *values = fetch(gantry_top_k(scope, x, TOP, &indices), 2 * TOP);
    int32_t *order = fetch(indices, 2 * TOP * sizeof *order);
    for (int i = 0; i < 2 * TOP; ++i) {
        assert_int_equal(values[i], 255);
        assert_int_equal(order[i], i < TOP ? i : i - TOP + 1);
    }
    free(values);
    free(order);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* A network that sorts all rows of zeros and ones sorts all rows. */
TEST(every_short_row_of_zeros_and_ones_is_sorted) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_with(&f, 2, NULL);
    for (int64_t length = 3; length <= 13; ++length) {
        const int64_t rows = INT64_C(1) << length, count = rows * length;
        uint8_t *bits = malloc((size_t)count);
        assert_non_null(bits);
        for (int64_t i = 0; i < count; ++i) bits[i] = (uint8_t)(i / length >> i % length & 1);
        const gantry_tensor_t *x =
            gantry_constant(scope, GANTRY_UINT8, GANTRY_SHAPE(rows, length), bits, (size_t)count);
        uint8_t *sorted = fetch(gantry_sort(scope, x, 1, false), (size_t)count);
        for (int64_t i = 0; i < count; ++i) {
            int64_t ones = 0;
            for (int64_t e = 0; e < length; ++e) ones += i / length >> e & 1;
            if (sorted[i] != (i % length >= length - ones))
                fail_msg("length %d, row %d", (int)length, (int)(i / length));
        }
        free(sorted);
        free(bits);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* All rows of two sorted runs of zeros and ones. The first run has the full length, and a network
 * of powers of two merges them last. If shorter rows are sorted, a network that sorts these rows
 * sorts all rows. */
TEST(every_merge_of_zeros_and_ones_is_sorted) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_with(&f, 2, NULL);
    for (int64_t length = 9; length <= 264; length += length < 72 ? 1 : 32) {
        int64_t run = 8;
        while (2 * run < length) run *= 2;
        const int64_t others = length - run + 1, rows = (run + 1) * others, count = rows * length;
        uint8_t *bits = malloc((size_t)count);
        assert_non_null(bits);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t place = i % length, first = i / length / others,
                          second = i / length % others;
            bits[i] = place < run ? place >= first : place - run >= second;
        }
        const gantry_tensor_t *x =
            gantry_constant(scope, GANTRY_UINT8, GANTRY_SHAPE(rows, length), bits, (size_t)count);
        uint8_t *sorted = fetch(gantry_sort(scope, x, 1, false), (size_t)count);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t zeros = i / length / others + i / length % others;
            if (sorted[i] != (i % length >= zeros))
                fail_msg("length %d, row %d", (int)length, (int)(i / length));
        }
        free(sorted);
        free(bits);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* The longest rows that are sorted side by side, or one more element. */
TEST(orders_of_rows_side_by_side_are_stable) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_with(&f, 2, NULL);
    /* with and without positions, wide vectors or narrow */
    static const int64_t lengths[] = {512, 1025, 16385, 32768};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        check_rows(scope, &types[FLOAT32], (shape_t){33, lengths[i], 1}, RANDOM_BITS);
        check_rows(scope, &types[TYPES - 1], (shape_t){1, lengths[i], 35}, FEW);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(orders_of_long_rows_are_stable) {
    static const pattern_t patterns[] = {RANDOM_BITS, FEW, EVEN_STEPS, ONE_FAR};
    runtime_fixture_t f;
    gantry_scope_t *scope = open_with(&f, 2, NULL);
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; ++p) {
        check_rows(scope, &types[FLOAT32], (shape_t){1, 140000, 1}, patterns[p]);
        check_rows(scope, &types[TYPES - 1], (shape_t){2, 132000, 1}, patterns[p]);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
