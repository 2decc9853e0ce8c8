/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to try: golden cases with random changes.
 *
 * Ownership: a fuzz_case_t is a value that holds its inputs' bytes; golden files are read only.
 * Threads: one. */
#ifndef GANTRY_TESTS_FUZZ_CASE_H
#define GANTRY_TESTS_FUZZ_CASE_H

#include <gantry/op.h>

#include "../conformance/golden.h"
#include "fuzz_random.h"

enum {
    FUZZ_MOST_INPUTS = 12,
    FUZZ_MOST_ATTRS = 12,
    FUZZ_MOST_INTS = 16,
    FUZZ_INPUT_BYTES = 1 << 16
};

typedef struct fuzz_input_t {
    bool is_null;
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    size_t bytes;
    unsigned char *data; /* FUZZ_INPUT_BYTES of room */
} fuzz_input_t;

typedef struct fuzz_case_t {
    char op[64];
    size_t input_count;
    fuzz_input_t inputs[FUZZ_MOST_INPUTS];
    size_t attr_count;
    /* names and texts are the golden file's or constant */
    gantry_attr_value_t attrs[FUZZ_MOST_ATTRS];
    int64_t ints[FUZZ_MOST_ATTRS][FUZZ_MOST_INTS];
    char changes[256]; /* the changes, for the report */
} fuzz_case_t;

/* Allocates room for the inputs; false when memory is out. */
bool fuzz_case_init(fuzz_case_t *c);
void fuzz_case_deinit(fuzz_case_t *c);
/* Copies the golden case; false when the case is larger than a fuzz_case_t. */
bool fuzz_case_load(fuzz_case_t *c, const golden_case_t *item);
/* One change at random. other: a golden case of any op, which may lend its op's name or an
 * input. */
void fuzz_case_change(fuzz_case_t *c, const golden_case_t *other, fuzz_random_t *random);
/* Writes the call in one line: "Add(float32[2,3], int32[]) {axis=1}; changes". */
void fuzz_case_print(const fuzz_case_t *c, char *out, size_t out_bytes);

#endif
