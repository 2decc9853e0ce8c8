/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of TensorFlow that Gantry computes under a name, one row each. op_table.def has the rows;
 * generate_op_table.py writes it from the registries of both. Constant. */
#ifndef GANTRY_TENSORFLOW_OP_TABLE_H
#define GANTRY_TENSORFLOW_OP_TABLE_H

#include <gantry/gantry.h>

#include "register.h"

/* The most attributes of a row that Gantry knows. */
#define OP_ATTRS 12

/* An attribute that both know by one name. */
typedef struct op_attr_t {
    const char *name; /* NULL ends a list */
    gantry_attr_kind_t kind;
} op_attr_t;

/* An op. In the rows: {.op = "AddV2", .gantry = "Add", .types = {{"T", 0x84006}}}. */
typedef struct op_row_t {
    const char *op;                            /* TensorFlow's name: "AddV2" */
    const char *gantry;                        /* Gantry's: "Add" */
    register_types_t types[REGISTER_TYPES];    /* attributes and the types that Gantry takes */
    op_attr_t attrs[OP_ATTRS];                 /* handed to Gantry */
    const char *host_args[REGISTER_HOST_ARGS]; /* inputs and outputs in host memory */
} op_row_t;

/* The row with this index; NULL beyond the last. */
const op_row_t *op_row_at(size_t index);
/* The row of an op of TensorFlow; NULL: there is none. */
const op_row_t *op_row_find(const char *op);

#endif
