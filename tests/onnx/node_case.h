/* SPDX-License-Identifier: Apache-2.0 */
/* A case of scripts/make-onnx-cases: a model, its inputs and the outputs that it must give.
 *
 * Owner: the case has its arrays until node_case_deinit. Threads: one. */
#ifndef GANTRY_TESTS_ONNX_NODE_CASE_H
#define GANTRY_TESTS_ONNX_NODE_CASE_H

#include <gantry/gantry.h>

#define NODE_MOST_ARRAYS 48

typedef struct node_array_t {
    char type[32];        /* "float32", "int4" */
    gantry_dtype_t dtype; /* GANTRY_DTYPE_NONE: Gantry has no such type, and data is NULL. */
    gantry_shape_t shape;
    void *data;
    size_t bytes;
} node_array_t;

typedef struct node_case_t {
    char op[64];        /* "-": several */
    char left_out[160]; /* "a sequence as input 0"; "": the case runs. */
    char model[4096];   /* The path. */
    bool is_expanded, is_drawn;
    double rtol, atol;
    size_t input_count, output_count;
    node_array_t inputs[NODE_MOST_ARRAYS], outputs[NODE_MOST_ARRAYS];
} node_case_t;

/* Reads folder/name. False, with why, for a case that is damaged; deinit then, too. */
bool node_case_read(node_case_t *self, const char *folder, const char *name, char *why,
                    size_t why_size);
void node_case_deinit(node_case_t *self);

/* Compares an output with what the case wants: integers and bools exactly, others with the case's
 * tolerances, halves with a relative one of at least 4 steps; NaN equals NaN. False, with the
 * difference. */
bool node_case_compare(const node_case_t *self, size_t index, const gantry_tensor_t *output,
                       char *why, size_t why_size);

#endif
