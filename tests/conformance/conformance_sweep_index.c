/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep of the ops that sort or use indices. Random shapes, values and valid indices have many
 * ties and many updates of one place, whose order must not change the bits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance_sweep.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* the last sizes of an op: so long that a processor's threads share them */
enum { CASES = 16, LONG_CASES = 2 };

static const gantry_dtype_t dtypes[] = {GANTRY_UINT8, GANTRY_BFLOAT16, GANTRY_FLOAT32,
                                        GANTRY_INT64};

/* The case being built. */
typedef struct index_case_t {
    golden_case_t item;
    golden_tensor_t inputs[4];
    golden_attr_t attrs[4];
    gantry_dtype_t dtype;
    bool is_long;
    uint64_t state;
} index_case_t;

static int64_t pick(index_case_t *s, int64_t least, int64_t most) {
    return least + (int64_t)(sweep_next(&s->state) % (uint64_t)(most - least + 1));
}

/* Numbers of every magnitude up to 2^bits. */
static int64_t pick_size(index_case_t *s, int bits) {
    return pick(s, 1, (int64_t)1 << pick(s, 0, bits));
}

/* The size of a vector or a row: usually like pick_size. */
static int64_t pick_length(index_case_t *s, int bits) {
    return s->is_long ? pick(s, 100000, 200000) : pick_size(s, bits);
}

static void add(index_case_t *s, golden_tensor_t tensor) {
    s->inputs[s->item.input_count++] = tensor;
}

static void add_values(index_case_t *s, gantry_shape_t shape, sweep_domain_t domain) {
    add(s, sweep_tensor(sweep_next(&s->state), s->dtype, shape, domain));
}

static gantry_dtype_t pick_index_type(index_case_t *s) {
    return pick(s, 0, 1) ? GANTRY_INT32 : GANTRY_INT64;
}

static void add_indices(index_case_t *s, gantry_dtype_t dtype, gantry_shape_t shape,
                        int64_t limit) {
    add(s, sweep_indices(sweep_next(&s->state), dtype, shape, limit));
}

static void sort_numbers(golden_tensor_t *t, int (*compare)(const void *, const void *)) {
    qsort(t->data, t->bytes / gantry_dtype_size(t->dtype), gantry_dtype_size(t->dtype), compare);
}

static int compare_i32(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* ---- sorting ---- */

/* Rows of distinct values, or of few different values. */
static gantry_shape_t add_rows(index_case_t *s, int rank) {
    const int64_t length = pick_length(s, 14),
                  rows = pick_size(s, length > 1000 ? s->is_long ? 1 : 3 : 8);
    const gantry_shape_t shape =
        rank == 2 ? GANTRY_SHAPE(rows, length) : GANTRY_SHAPE(rows, length, pick(s, 1, 4));
    add_values(s, shape, pick(s, 0, 1) ? SWEEP_ANY : SWEEP_UNIT);
    return shape;
}

static void make_sort(index_case_t *s) {
    static char *const words[] = {"ASCENDING", "DESCENDING"};
    (void)add_rows(s, 3);
    s->attrs[0] =
        (golden_attr_t){.name = "axis", .kind = GOLDEN_ATTR_INT, .int_value = pick(s, -3, 2)};
    s->attrs[1] = (golden_attr_t){
        .name = "direction", .kind = GOLDEN_ATTR_STRING, .string_value = words[pick(s, 0, 1)]};
    s->item.attr_count = 2;
}

static void make_top(index_case_t *s) {
    const int64_t length = add_rows(s, 2).dims[1];
    add(s, sweep_scalar_int((int32_t)pick(s, 1, pick(s, 0, 1) && length > 20 ? 20 : length)));
}

static void make_in_top(index_case_t *s) {
    const int64_t classes = pick_size(s, 12), rows = pick_size(s, 8);
    s->dtype = GANTRY_FLOAT32;
    add_values(s, GANTRY_SHAPE(rows, classes), SWEEP_MODERATE);
    add_indices(s, GANTRY_INT32, GANTRY_SHAPE(rows), classes + 1);
    add(s, sweep_scalar_int((int32_t)pick(s, 0, classes)));
}

static void make_bound(index_case_t *s) {
    const int64_t length = pick_size(s, 14), values = pick_size(s, 12);
    s->dtype = GANTRY_INT32;
    add_values(s, GANTRY_SHAPE(1, length), pick(s, 0, 1) ? SWEEP_ANY : SWEEP_MODERATE);
    sort_numbers(&s->inputs[0], compare_i32);
    add_values(s, GANTRY_SHAPE(1, values), SWEEP_MODERATE);
}

/* ---- gathering and scattering ---- */

/* A tensor's shape, and the shape of updates to its rows or elements. */
typedef struct places_t {
    gantry_shape_t tensor, indices, updates;
    int64_t least; /* sizes of the indexed dimensions */
} places_t;

static places_t pick_places(index_case_t *s) {
    const int64_t rows = pick_size(s, 12), columns = pick_size(s, rows > 500 ? 4 : 8);
    const int64_t updates = s->is_long ? pick(s, 30000, 60000) : pick_size(s, 12);
    const int64_t least = rows < columns ? rows : columns;
    return pick(s, 0, 1) ? (places_t){GANTRY_SHAPE(rows, columns), GANTRY_SHAPE(updates, 1),
                                      GANTRY_SHAPE(updates, columns), rows}
                         : (places_t){GANTRY_SHAPE(rows, columns), GANTRY_SHAPE(updates, 2),
                                      GANTRY_SHAPE(updates), least};
}

static void make_gather_nd(index_case_t *s) {
    const places_t places = pick_places(s);
    add_values(s, places.tensor, SWEEP_ANY);
    add_indices(s, pick_index_type(s), places.indices, places.least);
}

static void make_scatter_nd(index_case_t *s) {
    const places_t places = pick_places(s);
    const int32_t shape[] = {(int32_t)places.tensor.dims[0], (int32_t)places.tensor.dims[1]};
    add_indices(s, GANTRY_INT32, places.indices, places.least);
    add_values(s, places.updates, SWEEP_MODERATE);
    add(s, sweep_ints(shape, 2));
}

static void make_tensor_scatter(index_case_t *s) {
    const places_t places = pick_places(s);
    const sweep_domain_t domain = pick(s, 0, 1) ? SWEEP_ANY : SWEEP_MODERATE;
    add_values(s, places.tensor, domain);
    add_indices(s, pick_index_type(s), places.indices, places.least);
    add_values(s, places.updates, domain);
}

/* Indices along the first dimension: fewer than it has, or more. */
static void make_gather_elements(index_case_t *s) {
    const places_t places = pick_places(s);
    const int64_t rows = places.tensor.dims[0], columns = pick(s, 1, places.tensor.dims[1]);
    add_values(s, places.tensor, SWEEP_ANY);
    add_indices(s, pick_index_type(s), GANTRY_SHAPE(places.indices.dims[0], columns), rows);
}

static void make_scatter_elements(index_case_t *s) {
    static char *const words[] = {"NONE", "ADD", "MUL", "MAX", "MIN"};
    make_gather_elements(s);
    const gantry_shape_t shape = s->inputs[1].shape;
    add_values(s, shape, SWEEP_MODERATE);
    s->attrs[0] = (golden_attr_t){
        .name = "reduction", .kind = GOLDEN_ATTR_STRING, .string_value = words[pick(s, 0, 4)]};
    s->item.attr_count = 1;
}

static void make_segments(index_case_t *s) {
    const int64_t rows = s->is_long ? pick(s, 20000, 40000) : pick_size(s, 12),
                  columns = pick_size(s, s->is_long ? 4 : 6);
    add_values(s, GANTRY_SHAPE(rows, columns), pick(s, 0, 1) ? SWEEP_ANY : SWEEP_MODERATE);
    add_indices(s, GANTRY_INT32, GANTRY_SHAPE(rows), pick_size(s, 12));
}

static void make_sorted_segments(index_case_t *s) {
    make_segments(s);
    sort_numbers(&s->inputs[1], compare_i32);
}

static void make_unsorted_segments(index_case_t *s) {
    if (strcmp(s->item.op, "UnsortedSegmentMean") == 0)
        s->dtype = pick(s, 0, 1) ? GANTRY_BFLOAT16 : GANTRY_FLOAT32;
    make_segments(s);
    add(s, sweep_scalar_int(4096));
}

static void make_bincount(index_case_t *s) {
    const int64_t numbers = pick_length(s, 14);
    s->dtype = GANTRY_FLOAT32;
    add_indices(s, GANTRY_INT32, GANTRY_SHAPE(numbers), pick_size(s, 12));
    add(s, sweep_scalar_int((int32_t)pick_size(s, 12)));
    add_values(s, GANTRY_SHAPE(pick(s, 0, 1) ? numbers : 0), SWEEP_MODERATE);
}

/* ---- results whose length depends on data ---- */

static void make_where(index_case_t *s) {
    const int64_t rows = pick_size(s, 8), columns = pick(s, 1, 3), depth = pick_size(s, 8);
    add_values(s, GANTRY_SHAPE(rows, columns, depth), pick(s, 0, 1) ? SWEEP_UNIT : SWEEP_ANY);
}

static void make_unique(index_case_t *s) {
    const int64_t length = pick_length(s, 15);
    add_values(s, GANTRY_SHAPE(length), pick(s, 0, 1) ? SWEEP_UNIT : SWEEP_ANY);
}

static const struct {
    char *op;
    void (*make)(index_case_t *s); /* adds inputs and attributes; may choose another type */
} specs[] = {
    {"Sort", make_sort},
    {"ArgSort", make_sort},
    {"TopK", make_top},
    {"InTopK", make_in_top},
    {"LowerBound", make_bound},
    {"UpperBound", make_bound},
    {"GatherNd", make_gather_nd},
    {"ScatterNd", make_scatter_nd},
    {"TensorScatterUpdate", make_tensor_scatter},
    {"TensorScatterAdd", make_tensor_scatter},
    {"TensorScatterSub", make_tensor_scatter},
    {"GatherElements", make_gather_elements},
    {"ScatterElements", make_scatter_elements},
    {"TensorScatterMul", make_tensor_scatter},
    {"TensorScatterMax", make_tensor_scatter},
    {"TensorScatterMin", make_tensor_scatter},
    {"SegmentSum", make_sorted_segments},
    {"SegmentMean", make_sorted_segments},
    {"SegmentMax", make_sorted_segments},
    {"SegmentMin", make_sorted_segments},
    {"SegmentProd", make_sorted_segments},
    {"UnsortedSegmentSum", make_unsorted_segments},
    {"UnsortedSegmentMean", make_unsorted_segments},
    {"UnsortedSegmentMax", make_unsorted_segments},
    {"UnsortedSegmentMin", make_unsorted_segments},
    {"UnsortedSegmentProd", make_unsorted_segments},
    {"Bincount", make_bincount},
    {"Where", make_where},
    {"Unique", make_unique},
    {"UniqueWithCounts", make_unique},
};

static void run_case(conformance_t *c, size_t spec, int number) {
    char name[64];
    const gantry_dtype_t dtype = dtypes[number % (int)COUNT(dtypes)];
    snprintf(name, sizeof name, "random_%s_%d", gantry_dtype_name(dtype), number);
    if ((uint64_t)number % c->options.every || !conformance_begin(c, specs[spec].op, name)) return;
    index_case_t s = {
        .item = {.name = name, .op = specs[spec].op, .inputs = s.inputs, .attrs = s.attrs},
        .dtype = dtype,
        .is_long = number >= CASES - LONG_CASES,
        .state = sweep_hash(name) ^ sweep_hash(specs[spec].op)};
    specs[spec].make(&s);
    sweep_run(c, &s.item);
    conformance_free_outputs(s.inputs, s.item.input_count);
}

void conformance_run_sweep_index(conformance_t *c) {
    for (size_t spec = 0; spec < COUNT(specs); ++spec) {
        if (!conformance_wants(c, specs[spec].op)) continue;
        for (int number = 0; number < CASES; ++number) run_case(c, spec, number);
    }
}
