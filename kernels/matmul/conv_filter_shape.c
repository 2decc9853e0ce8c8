/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the gradient of a filter into chunks and tiles (conv_filter_shape.h). */
#include "kernels/matmul/conv_filter_shape.h"

#define LEAST_PLACES 512      /* least of a chunk */
#define UNITS 32              /* the wanted number */
#define PARTS_BYTES (8 << 20) /* the most for products of chunks */

static int64_t filter_parts_of(int64_t value, int64_t each) { return (value + each - 1) / each; }

/* Cuts the places into chunks, which depend only on the shapes and the panels. */
static void cut_filter(gantry__filter_t *filter, int64_t size) {
    filter->tiles = filter_parts_of(filter->m, GANTRY_FILTER_PANELS * filter->panel_rows);
    filter->chunks =
        gantry__filter_least(filter_parts_of(UNITS, filter->tiles),
                             gantry__filter_least(filter->k / LEAST_PLACES,
                                                  PARTS_BYTES / (filter->m * filter->n * size)));
    if (filter->chunks < 1) filter->chunks = 1;
    filter->places = filter_parts_of(filter->k, filter->chunks);
    filter->chunks = filter_parts_of(filter->k, filter->places);
}

int32_t gantry__filter_is_whole(const gantry_op_call_t *call) {
    return call->inputs[0]->dims[3] == call->outputs[0]->dims[2];
}

void gantry__filter_fill(const gantry_op_call_t *call, int64_t panel_rows, int64_t panel_columns,
                         int64_t most_lanes, gantry__filter_t *out) {
    static const gantry__window_names_t names = {"strides", "dilations", NULL};
    const gantry_arg_t *images = call->inputs[0], *grad = call->inputs[2],
                       *result = call->outputs[0];
    const int64_t n = result->dims[3], columns = filter_parts_of(n, panel_columns) * panel_columns;
    *out = (gantry__filter_t){.m = result->element_count / n,
                              .n = n,
                              .k = grad->element_count / n,
                              .elements = images->element_count,
                              .panel_rows = panel_rows,
                              .panel_columns = panel_columns};
    gantry__window_fill(call, &names, images, grad, result->dims[0], result->dims[1], &out->window);
    cut_filter(out, gantry__k_size(result->dtype));
    out->lanes = gantry__filter_least(out->tiles * out->chunks, most_lanes);
    out->lane_elements =
        (panel_rows + gantry__filter_least(GANTRY_FILTER_COLUMNS, columns)) * GANTRY_FILTER_PLACES;
}

int64_t gantry__filter_lane_memory(const gantry__filter_t *filter) {
    return filter->lanes * filter->lane_elements;
}

int64_t gantry__filter_part_memory(const gantry__filter_t *filter) {
    return filter->chunks > 1 ? filter->chunks * filter->m * filter->n : 0;
}
