/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of Gather and OneHot that follow from a call (gather_shape.h). */
#include "kernels/index/gather_shape.h"

/* A prefetch takes at most LINES_AHEAD lines at a time: those of at most ROWS_AHEAD rows, and
 * ROW_LINES lines of a row. The hardware prefetcher follows with the rest of a row. */
#define LINE_BYTES 64
#define ROW_LINES 8
#define LINES_AHEAD 128
#define ROWS_AHEAD 32

static void look_ahead(int64_t row_bytes, gantry__gather_shape_t *out) {
    out->lines =
        row_bytes < ROW_LINES * LINE_BYTES ? (row_bytes + LINE_BYTES - 1) / LINE_BYTES : ROW_LINES;
    out->ahead = out->lines * ROWS_AHEAD <= LINES_AHEAD ? ROWS_AHEAD : LINES_AHEAD / out->lines;
}

void gantry__gather_shape(const gantry_op_call_t *call, gantry__gather_shape_t *out) {
    const gantry_arg_t *params = call->inputs[0];
    const gantry_arg_t *indices = call->inputs[1];
    int64_t axis = gantry__k_from_end(gantry__k_host_int(call->inputs[2], 0), params->rank);
    int64_t batch_dims =
        gantry__k_from_end(gantry__k_attr_int(call, "batch_dims", 0), indices->rank);
    out->batch = gantry__k_extent(indices->dims, 0, batch_dims);
    out->outer = gantry__k_extent(params->dims, batch_dims, axis);
    out->limit = params->dims[axis];
    out->picks = gantry__k_extent(indices->dims, batch_dims, indices->rank);
    out->inner = gantry__k_extent(params->dims, axis + 1, params->rank);
    look_ahead(out->inner * (int64_t)gantry__k_size(params->dtype), out);
}

void gantry__one_hot_shape(const gantry_op_call_t *call, gantry__one_hot_shape_t *out) {
    const gantry_arg_t *indices = call->inputs[0];
    int64_t axis = gantry__k_attr_int(call, "axis", -1);
    if (axis < 0) axis += indices->rank + 1;
    out->prefix = gantry__k_extent(indices->dims, 0, axis);
    out->depth = call->outputs[0]->dims[axis];
    out->suffix = gantry__k_extent(indices->dims, axis, indices->rank);
}
