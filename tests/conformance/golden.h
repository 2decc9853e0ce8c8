/* SPDX-License-Identifier: Apache-2.0 */
/* Golden cases: inputs and required outputs of one op, read from tests/golden/cases/<Op>.json
 * (format: tests/golden/README.md).
 *
 * The code runs no ops: it reads, compares and describes differences.
 * Ownership: golden_load fills a file whose every pointer belongs to it until golden_free; on
 * failure nothing is left to free.
 * Threads: externally synchronised (a loaded file may be read by many). */
#ifndef GANTRY_TESTS_GOLDEN_H
#define GANTRY_TESTS_GOLDEN_H

#include <gantry/status.h>
#include <gantry/types.h>

enum { GOLDEN_SAMPLES = 64, GOLDEN_HASHED_SAMPLES = 16 };

typedef struct golden_tensor_t {
    gantry_dtype_t
        dtype; /* GANTRY_DTYPE_NONE: a case of training has no such tensor, and no data */
    gantry_shape_t shape;
    size_t bytes;        /* elements * gantry_dtype_size(dtype) */
    void *data;          /* host byte order; never NULL, even when bytes is 0 */
    size_t sample_count; /* not 0: data has that many elements only */
    bool is_hashed;      /* hash is of all elements (golden_hash) */
    bool is_summed;      /* sum is of all elements (golden_sum) */
    uint64_t hash;
    double sum;
} golden_tensor_t;

typedef enum golden_attr_kind_t {
    GOLDEN_ATTR_BOOL,
    GOLDEN_ATTR_INT,
    GOLDEN_ATTR_FLOAT,
    GOLDEN_ATTR_TYPE,
    GOLDEN_ATTR_SHAPE,
    GOLDEN_ATTR_INTS,
    GOLDEN_ATTR_STRING
} golden_attr_kind_t;

typedef struct golden_attr_t {
    char *name;
    golden_attr_kind_t kind;
    bool bool_value;
    int64_t int_value;
    double float_value;
    gantry_dtype_t type_value;
    gantry_shape_t shape_value;
    int64_t *ints; /* GOLDEN_ATTR_INTS; NULL when int_count is 0 */
    size_t int_count;
    char *string_value;
} golden_attr_t;

/* An element is right if it is equal (NaN equals NaN), or exact is false and one of the given
 * bounds holds. */
typedef struct golden_tolerance_t {
    bool exact;      /* equal bits, so -0 differs from +0; otherwise they are equal */
    int64_t ulp;     /* distance in units in the last place; 0 when not given */
    double absolute; /* |actual - expected| <= absolute + relative * |expected| */
    double relative;
} golden_tolerance_t;

typedef struct golden_case_t {
    char *name;
    char *op; /* Gantry's name: TensorFlow's without version suffix */
    golden_attr_t *attrs;
    size_t attr_count;
    golden_tensor_t *inputs;
    size_t input_count;
    golden_tensor_t *outputs; /* none when error_status is not GANTRY_OK */
    size_t output_count;
    golden_tolerance_t tolerance;
    gantry_status_t error_status; /* GANTRY_OK: the case must succeed */
    char *message_contains;       /* "": any message */
    /* source of the outputs: "tensorflow", "reference" or "numpy" */
    char *source;
    char *text; /* "", or what the case gives in place of outputs: a printed tensor */
} golden_case_t;

typedef struct golden_file_t {
    char *op;
    char *tensorflow_op;
    golden_case_t *cases;
    size_t case_count;
} golden_file_t;

/* Reads a case file. Returns 0, or -1 with a text (file, case, error) in error, which may be
 * NULL. */
int golden_load(const char *path, golden_file_t *out, char *error, size_t error_bytes);

/* Frees everything and empties the file; accepts an empty file. */
void golden_free(golden_file_t *file);

/* Reads a tensor's text. Returns 0, or -1 with a text in why; the caller frees out->data either
 * way. */
int golden_read_tensor(const char *text, golden_tensor_t *out, char *why, size_t why_bytes);

/* The place of a sample among `count` elements: the first, the last, and places that the golden
 * ratio spreads. */
size_t golden_sample_place(size_t count, size_t sample);

/* NULL when the case has no such attribute. */
const golden_attr_t *golden_find_attr(const golden_case_t *item, const char *name);

bool golden_is_float(gantry_dtype_t dtype);
/* An element of a float type as a number, and a number rounded to one (to the nearest, ties to
 * even). */
double golden_number_at(gantry_dtype_t dtype, const void *data, size_t index);
/* All elements as numbers, zeros for a type that is no float type; the caller frees them. NULL when
 * memory is out. */
double *golden_numbers(const golden_tensor_t *t);
void golden_store_number(gantry_dtype_t dtype, void *data, size_t index, double value);

/* XXH64 of `bytes` bytes of elements in the order of files. Every NaN counts as the positive quiet
 * one; with is_value, -0 counts as +0. */
uint64_t golden_hash(gantry_dtype_t dtype, const void *data, size_t bytes, bool is_value);

/* The sum of the finite elements of a float type, each times a weight from 1 to 2 that its place
 * gives. out_bound gets how far it may be from the sum of elements of which each is within the
 * bounds. */
double golden_sum(gantry_dtype_t dtype, const void *data, size_t bytes,
                  const golden_tolerance_t *tolerance, double *out_bound);

/* Compares expected->bytes bytes at actual, which has expected's type and shape. Returns 0 when
 * every element is right; otherwise 1. why (may be NULL) then gets the number of differing
 * elements, and the first one's index, both values and their distance. */
int golden_compare(const golden_tensor_t *expected, const golden_tolerance_t *tolerance,
                   const void *actual, char *why, size_t why_bytes);

/* The largest distance in ulp between two arrays of a float type (0 for other types); INT64_MAX
 * when a NaN meets a number or an infinity meets a finite number of the other half. For reports. */
int64_t golden_largest_ulp(const golden_tensor_t *expected, const void *actual);

#endif
