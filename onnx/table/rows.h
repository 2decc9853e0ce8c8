/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ops: one row for an op of a domain and a range of versions. The rows are in
 * table/rows_*.def, a file for each subject:
 *
 *     ROW(domain, op, from, to, least_inputs, most_inputs, most_outputs, function)
 *     ROW("", Conv, 1, 28, 2, 3, 1, conv)
 *
 * to is the last version whose meaning the function has; function is the part of the name after
 * gantry__onnx_lower_. MANY: any number. A row without a function is a refusal:
 *
 *     NO_ROW(domain, op, reason)
 *
 * Attributes and their kinds are checked by the function that reads them, except those that no
 * function reads, which table/attributes.def names, so that a misspelt one is refused.
 *
 * Threads: constant. */
#ifndef GANTRY_ONNX_ROWS_H
#define GANTRY_ONNX_ROWS_H

#include "onnx/lower/lower.h"

#define GANTRY__ONNX_MANY UINT32_MAX
/* The newest operator set of ai.onnx that the library knows, and the oldest. */
#define GANTRY__ONNX_NEWEST_OPSET 28
#define GANTRY__ONNX_OLDEST_OPSET 7

/* A row. */
typedef struct gantry__onnx_row_t {
    const char *domain, *op;
    int32_t from, to;
    uint32_t least_inputs, most_inputs, most_outputs;
    gantry__onnx_lower_fn lower; /* NULL: refused, with reason. */
    const char *reason;
} gantry__onnx_row_t;

/* The row of a node; NULL with a failure that names the op and says why: an op that no row names,
 * a version that no row has, a refusal. */
const gantry__onnx_row_t *gantry__onnx_find_row(const char *domain, const char *op,
                                                int64_t version);
/* All rows, for lists. */
const gantry__onnx_row_t *gantry__onnx_rows(size_t *out_count);

#endif
