/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of golden cases as those of a call. Header only.
 *
 * Owner: the golden file owns what the value points to.
 * Threads: thread-safe. */
#ifndef GANTRY_TESTS_GOLDEN_ATTR_H
#define GANTRY_TESTS_GOLDEN_ATTR_H

#include <gantry/op.h>

#include "golden.h"

static inline gantry_attr_value_t golden_attr_value(const golden_attr_t *attr) {
    gantry_attr_value_t value = {.name = attr->name};
    switch (attr->kind) {
        case GOLDEN_ATTR_BOOL:
            value.kind = GANTRY_ATTR_BOOL;
            value.i = attr->bool_value;
            break;
        case GOLDEN_ATTR_INT:
            value.kind = GANTRY_ATTR_INT;
            value.i = attr->int_value;
            break;
        case GOLDEN_ATTR_FLOAT:
            value.kind = GANTRY_ATTR_FLOAT;
            value.f = attr->float_value;
            break;
        case GOLDEN_ATTR_TYPE:
            value.kind = GANTRY_ATTR_TYPE;
            value.i = attr->type_value;
            break;
        case GOLDEN_ATTR_SHAPE:
            value.kind = GANTRY_ATTR_SHAPE;
            value.i = attr->shape_value.rank;
            value.list = attr->shape_value.dims;
            break;
        case GOLDEN_ATTR_INTS:
            value.kind = GANTRY_ATTR_INTS;
            value.i = (int64_t)attr->int_count;
            value.list = attr->ints;
            break;
        case GOLDEN_ATTR_STRING:
            value.kind = GANTRY_ATTR_STRING;
            value.s = attr->string_value;
            break;
    }
    return value;
}

#endif
