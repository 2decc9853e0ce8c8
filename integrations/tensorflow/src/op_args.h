/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a call of Gantry, as the table of ops describes them and adapters change them.
 * Owner: the call owns its arguments. Threads: only the call's thread uses them. */
#ifndef GANTRY_TENSORFLOW_OP_ARGS_H
#define GANTRY_TENSORFLOW_OP_ARGS_H

#include <gantry/gantry.h>

/* The most attributes of a row that Gantry knows. */
#define OP_ATTRS 12

/* An attribute that has one name for both. */
typedef struct op_attr_t {
    const char *name; /* NULL ends a list */
    gantry_attr_kind_t kind;
    const char *text; /* a STRING's value that no node has; NULL: the node has it */
} op_attr_t;

/* The arguments of a call of Gantry, which an adapter may change. */
typedef struct op_args_t {
    const gantry_tensor_t **inputs; /* has room for GANTRY_MAX_OP_INPUTS */
    size_t input_count;
    gantry_attr_value_t attrs[OP_ATTRS];
    size_t attr_count;
    int64_t numbers[2 * GANTRY_MAX_RANK]; /* room for the lists of two attributes */
} op_args_t;

#endif
