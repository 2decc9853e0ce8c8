/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that update variables, one row each, and what is made for a node. Owner: rows are
 * constant; TensorFlow deletes a node's kernel. Threads: thread-safe, because a kernel does not
 * change after it was made. */
#ifndef GANTRY_TENSORFLOW_VARIABLE_ROW_H
#define GANTRY_TENSORFLOW_VARIABLE_ROW_H

#include "variable_access.h"

/* The most attributes of a row that Gantry knows. */
#define VARIABLE_ATTRS 2

/* An op. Its first inputs must be variables; the others go to Gantry's op after the variables'
 * values. */
typedef struct variable_row_t {
    const char *op;     /* TensorFlow's name: "ResourceSparseApplyAdam" */
    const char *gantry; /* Gantry's op on values, or on rows of values: "ResourceApplyAdam" */
    int variables;      /* how many inputs are variables */
    const char *type;   /* the attribute with the type of their elements: "T" */
    uint64_t types;     /* GANTRY_DTYPE_BIT of each */
    const char *attrs[VARIABLE_ATTRS]; /* those that Gantry gets */
    void (*compute)(void *kernel, TF_OpKernelContext *context);
    int indices; /* for updates of rows: the input with the rows' numbers */
} variable_row_t;

/* A node's kernel. */
typedef struct variable_kernel_t {
    const variable_row_t *row;
    size_t attr_count;
    gantry_attr_value_t attrs[VARIABLE_ATTRS];
    char text[32]; /* the policy's */
} variable_kernel_t;

/* The policy of Gantry's ops for indices that were already checked, in variable_rows.c. */
extern const gantry_attr_value_t variable_ignores_bad;

/* Writes the inputs after the variables, from `first` on; returns how many. */
size_t variable_inputs(bridge_call_t *call, int first, const gantry_tensor_t **out);

/* Update rows of variables, in variable_rows.c. */
void variable_rounds_compute(void *kernel, TF_OpKernelContext *context);
void variable_scatter_compute(void *kernel, TF_OpKernelContext *context);
void variable_scatter_nd_compute(void *kernel, TF_OpKernelContext *context);
/* Read rows and slices of a variable, in variable_read.c. */
void variable_gather_compute(void *kernel, TF_OpKernelContext *context);
void variable_gather_nd_compute(void *kernel, TF_OpKernelContext *context);
/* Registers ResourceStridedSliceAssign for these types, or StridedSliceAssign, in variable_slice.c.
 * Init-only. */
void variable_slice_register(uint64_t types, bool is_by_reference);

/* ---- variables of TensorFlow 1, in variable_reference.c ---- */

/* Whether this process has kernels for them. */
bool variable_has_references(void);
/* The op that does the same to variables which it gets by reference, "ApplyAdam"; NULL: there is
 * none. */
const char *variable_reference_op(const variable_row_t *row);

#endif
