/* SPDX-License-Identifier: Apache-2.0 */
/* Sort, ArgSort and TopK along an axis; LowerBound, UpperBound and InTopK, which search sorted
 * rows. */
#include "kernels/sort/sort_items.h"

#include "kernels/common/program_options.h"
#include "kernels/sort/radix_items.h"

GANTRY_K_ITEM_TEXTS(sort, GANTRY_SORT_ITEMS, gantry__text_indices, gantry__text_sort_key,
                    gantry__text_sort, gantry__text_sort_tiles);

static int32_t sort_run(gantry_op_call_t *call, gantry__k_item_launch_t *launch) {
    return gantry__k_run_items_of(call, &sort_items, &gantry__cpu_sort_items, launch);
}

/* ---- the sort ---- */

/* Keys and positions that one launch leaves for the next. */
typedef struct pairs_t {
    gantry_span_t keys, positions;
} pairs_t;

/* Takes two of them for rows of `length`. */
static int32_t take_scratch(gantry_op_call_t *call, const gantry__k_sort_t *sort, int64_t length,
                            pairs_t *pairs) {
    const int64_t elements = sort->rows * length,
                  key_bytes = elements * gantry__k_key_bytes(sort->dtype);
    const int64_t needed = 2 * (key_bytes + elements * 4) + 64; /* with room for alignment */
    gantry_span_t rest;
    GANTRY__TRY(call->services->scratch(call, (uint64_t)needed, &rest));
    for (int k = 0; k < 2; ++k) {
        pairs[k].keys = gantry__k_cut(&rest, key_bytes);
        pairs[k].positions = gantry__k_cut(&rest, elements * 4);
    }
    return GANTRY_OK;
}

/* For GPUs: the elements of a tile of sort_tiles.cl, its items, and the most that are kept of each
 * tile, so that each launch halves the rows at least. */
enum { TILE = 2048, TILE_ITEMS = TILE / GANTRY_SORT_RUN, MOST_KEPT = TILE / 2 };

/* The local memory of a tile: a key and a position for each place, and two bounds. */
static uint64_t sort_tile_bytes(const gantry__k_sort_t *sort) {
    return (TILE + TILE / 32) * ((uint64_t)gantry__k_key_bytes(sort->dtype) + 4) + 16;
}

/* The parameters of the sort by runs of this width. */
static gantry__sort_runs_t sort_runs_of(const gantry__k_sort_t *sort, int64_t width) {
    return (gantry__sort_runs_t){
        .order = gantry__sort_order(sort->dtype, sort->descending, sort->is_total),
        .length = sort->length,
        .inner = sort->inner,
        .runs = (sort->length + width - 1) / width};
}

/* The kernels for tiles; each may be NULL. */
typedef struct sort_tiles_t {
    gantry_backend_kernel_t *sort, *merge;
} sort_tiles_t;

static int32_t sort_find_tile(gantry_op_call_t *call, int32_t dtype, const char *name,
                              gantry_backend_kernel_t **out_kernel) {
    gantry__k_options_t options = gantry__k_options(call);

    gantry__k_define_type(&options, "T", gantry__k_twin(dtype));
    return call->services->kernel(call, &sort_source, options.text, name, out_kernel);
}

/* Finds no kernels if the device has no room for a tile. */
static int32_t sort_find_tiles(gantry_op_call_t *call, const gantry__k_sort_t *sort,
                               sort_tiles_t *out_tiles) {
    const gantry_device_info_t *info = call->device_info;

    *out_tiles = (sort_tiles_t){NULL};
    if (info->max_work_group_size < TILE_ITEMS ||
        info->local_memory_bytes < sort_tile_bytes(sort)) {
        return GANTRY_OK;
    }
    sort_tiles_t tiles;
    GANTRY__TRY(sort_find_tile(call, sort->dtype, "sort_tile", &tiles.sort));
    GANTRY__TRY(sort_find_tile(call, sort->dtype, "sort_merge_tile", &tiles.merge));
    if (gantry__k_group_limit(call, tiles.sort) >= TILE_ITEMS &&
        gantry__k_group_limit(call, tiles.merge) >= TILE_ITEMS) {
        *out_tiles = tiles;
    }
    return GANTRY_OK;
}

/* The results of a sort; each may be NULL. */
typedef struct sort_results_t {
    const gantry_arg_t *values, *indices;
} sort_results_t;

/* The places of a row in a tile. */
static int64_t tile_room_of(int64_t length) {
    int64_t room = GANTRY_SORT_RUN;

    while (room < length && room < TILE) {
        room *= 2;
    }
    return room;
}

/* One launch over rows of *length elements, or of the pairs in `from`. The pairs that it leaves, or
 * the result, have the first `kept` of each tile; *length is then theirs. */
static int32_t sort_by_tiles(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                             const gantry__k_sort_t *sort, int64_t kept, int64_t *length,
                             const pairs_t *from, const pairs_t *to,
                             const sort_results_t *results) {
    const int64_t tiles = (*length + TILE - 1) / TILE, last = *length - (tiles - 1) * TILE,
                  room = tile_room_of(*length), rows = TILE / room;
    const gantry_arg_t *values = results ? results->values : NULL,
                       *indices = results ? results->indices : NULL;
    const gantry__sort_tile_t parameters = {
        .order = gantry__sort_order(sort->dtype, sort->descending, sort->is_total),
        .rows = sort->rows,
        .length = *length,
        .inner = sort->inner,
        .tiles = tiles,
        .room = room,
        .kept = kept,
        .out_length = (tiles - 1) * kept + (last < kept ? last : kept),
        .takes_pairs = from != NULL,
        .gives_pairs = results == NULL,
        .x_length = sort->length,
        .has_values = values != NULL,
        .index_bytes = indices ? gantry__k_size(indices->dtype) : 0};
    const gantry_span_t x = sort->source;
    const gantry_launch_arg_t args[] = {gantry__k_raw_span(x),
                                        gantry__k_raw_span(from ? from->keys : x),
                                        gantry__k_raw_span(from ? from->positions : x),
                                        gantry__k_raw_span(to ? to->keys : x),
                                        gantry__k_raw_span(to ? to->positions : x),
                                        gantry__k_raw_span(values ? values->span : x),
                                        gantry__k_raw_span(indices ? indices->span : x),
                                        gantry__k_scalar(&parameters, sizeof parameters)};

    *length = parameters.out_length;
    return gantry__k_launch_groups(call, kernel, (uint64_t)((sort->rows + rows - 1) / rows * tiles),
                                   TILE_ITEMS, args, 8);
}

/* Sorts rows of a tile, or keeps the first few of longer rows until they are one. */
static int32_t sort_in_tiles(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                             const gantry__k_sort_t *sort, const sort_results_t *results) {
    const pairs_t *from = NULL;
    int64_t length = sort->length;
    pairs_t pairs[2];
    int at = 0;

    if (length > TILE) {
        GANTRY__TRY(take_scratch(call, sort, (length + TILE - 1) / TILE * sort->kept, pairs));
    }
    for (; length > TILE; at = 1 - at) {
        GANTRY__TRY(
            sort_by_tiles(call, kernel, sort, sort->kept, &length, from, &pairs[at], results));
        from = &pairs[at];
    }
    return sort_by_tiles(call, kernel, sort, sort->kept, &length, from, NULL, results);
}

static int32_t merge_by_tiles(gantry_op_call_t *call, gantry_backend_kernel_t *kernel, int64_t rows,
                              const gantry__sort_merge_t *parameters, const pairs_t *from,
                              const pairs_t *to) {
    const gantry_launch_arg_t args[] = {
        gantry__k_raw_span(from->keys), gantry__k_raw_span(from->positions),
        gantry__k_raw_span(to->keys), gantry__k_raw_span(to->positions),
        gantry__k_scalar(parameters, sizeof *parameters)};

    return gantry__k_launch_groups(call, kernel, (uint64_t)(rows * parameters->pieces), TILE_ITEMS,
                                   args, 5);
}

static int32_t sort_runs(gantry_op_call_t *call, const gantry__k_sort_t *sort, const pairs_t *to) {
    gantry__sort_runs_t parameters = sort_runs_of(sort, GANTRY_SORT_RUN);
    gantry__k_item_launch_t launch = {.item = ITEM_sort_runs,
                                      .t = gantry__k_twin(sort->dtype),
                                      .count = sort->rows * parameters.runs,
                                      .is_costly = true,
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .spans = {sort->source, to->keys, to->positions},
                                      .span_count = 3};

    return sort_run(call, &launch);
}

/* parameters must have the length and width of the runs; on return it has those of the merged ones.
 * tile is the kernel for tiles, or NULL. */
static int32_t merge_runs(gantry_op_call_t *call, const gantry__k_sort_t *sort,
                          gantry_backend_kernel_t *tile, gantry__sort_merge_t *parameters,
                          const pairs_t *from, const pairs_t *to) {
    const int64_t piece = tile ? TILE : GANTRY_SORT_PIECE;
    gantry__k_item_launch_t launch = {
        .item = ITEM_sort_merge,
        .t = gantry__k_twin(sort->dtype),
        .is_costly = true,
        .parameters = parameters,
        .parameter_bytes = sizeof *parameters,
        .spans = {from->keys, from->positions, to->keys, to->positions},
        .span_count = 4};
    const int64_t both = 2 * parameters->width, rest = parameters->length % both;
    parameters->out_width =
        parameters->width >= sort->kept && parameters->width >= piece ? parameters->width : both;
    parameters->out_length = parameters->length / both * parameters->out_width +
                             (rest < parameters->out_width ? rest : parameters->out_width);
    parameters->pieces = (parameters->out_length + piece - 1) / piece;
    launch.count = sort->rows * parameters->pieces;
    GANTRY__TRY(tile ? merge_by_tiles(call, tile, sort->rows, parameters, from, to)
                     : sort_run(call, &launch));
    parameters->length = parameters->out_length;
    parameters->width = parameters->out_width;
    return GANTRY_OK;
}

int32_t gantry__sort_rows(gantry_op_call_t *call, gantry__k_sort_t *sort) {
    gantry__sort_merge_t passes = {.length = sort->length, .width = GANTRY_SORT_RUN};
    pairs_t pairs[2];
    int at = 0;
    if (sort->length > INT32_MAX) {
        return call->services->fail(call, GANTRY_UNIMPLEMENTED,
                                    "rows of 2147483648 elements or more are not sorted");
    }
    if (gantry__k_is_serial(call)) {
        return gantry__radix_is_top(sort) ? gantry__radix_top(call, sort)
                                          : gantry__radix_sort(call, sort);
    }
    GANTRY__TRY(take_scratch(call, sort, sort->length, pairs));
    sort_tiles_t tiles;
    GANTRY__TRY(sort_find_tiles(call, sort, &tiles));
    if (tiles.sort) passes.width = TILE;
    GANTRY__TRY(tiles.sort ? sort_by_tiles(call, tiles.sort, sort, TILE, &passes.length, NULL,
                                           &pairs[0], NULL)
                           : sort_runs(call, sort, &pairs[0]));
    while (passes.length > passes.width) {
        GANTRY__TRY(merge_runs(call, sort, tiles.merge, &passes, &pairs[at], &pairs[1 - at]));
        at = 1 - at;
    }
    sort->keys = pairs[at].keys;
    sort->positions = pairs[at].positions;
    sort->stride = passes.length;
    return GANTRY_OK;
}

/* ---- Sort, ArgSort, TopK ---- */

/* values or indices may be NULL. */
static int32_t sort_take(gantry_op_call_t *call, const gantry__k_sort_t *sort,
                         const gantry_arg_t *values, const gantry_arg_t *indices) {
    gantry__sort_take_t parameters = {.kept = sort->kept,
                                      .inner = sort->inner,
                                      .length = sort->length,
                                      .stride = sort->stride,
                                      .is_wide = indices && indices->dtype == GANTRY_INT64};
    gantry__k_item_launch_t launch = {.t = gantry__k_twin(sort->dtype),
                                      .count = sort->rows * sort->kept,
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters};
    if (values) {
        launch.item = ITEM_sort_values;
        launch.spans[0] = sort->source;
        launch.spans[1] = sort->positions;
        launch.spans[2] = values->span;
        launch.span_count = 3;
        GANTRY__TRY(sort_run(call, &launch));
    }
    if (indices) {
        launch.item = indices->dtype == GANTRY_INT16 ? ITEM_sort_short_indices : ITEM_sort_indices;
        launch.item_bytes = gantry__k_size(indices->dtype);
        launch.spans[0] = sort->positions;
        launch.spans[1] = indices->span;
        launch.span_count = 2;
        GANTRY__TRY(sort_run(call, &launch));
    }
    return GANTRY_OK;
}

/* Sorts into the results. */
static int32_t sort_into(gantry_op_call_t *call, gantry__k_sort_t *sort,
                         const sort_results_t *results) {
    sort_tiles_t tiles = {NULL};

    if (!gantry__k_is_serial(call) && sort->length <= INT32_MAX &&
        (sort->length <= TILE || sort->kept <= MOST_KEPT)) {
        GANTRY__TRY(sort_find_tiles(call, sort, &tiles));
    }
    if (tiles.sort) return sort_in_tiles(call, tiles.sort, sort, results);
    GANTRY__TRY(gantry__sort_rows(call, sort));
    return sort_take(call, sort, results->values, results->indices);
}

static int64_t sort_items_axis(const gantry_op_call_t *call) {
    return gantry__k_from_end(gantry__k_attr_int(call, "axis", -1), call->inputs[0]->rank);
}

/* The rows of input 0 along an axis, none of which may be empty, in the order that the
 * attribute `order` names. */
static gantry__k_sort_t sort_of(const gantry_op_call_t *call, int64_t axis) {
    const gantry_arg_t *input = call->inputs[0];
    const gantry_attr_t *order = gantry__k_attr_at(call, call->attr_count - 1, "order");
    gantry__k_sort_t sort = {.source = input->span,
                             .dtype = input->dtype,
                             .is_total = order && strcmp(order->s, "TOTAL") == 0,
                             .length = 1,
                             .inner = 1};

    sort.length = sort.kept = input->dims[axis];
    for (int64_t d = axis + 1; d < input->rank; ++d) {
        sort.inner *= input->dims[d];
    }
    sort.rows = input->element_count / sort.length;
    return sort;
}

static int32_t compute_sort(gantry_op_call_t *call) {
    gantry__k_sort_t sort = sort_of(call, sort_items_axis(call));
    const bool wants_indices = strcmp(call->op, "ArgSort") == 0;

    sort.descending = strcmp(gantry__k_attr(call, "direction")->s, "DESCENDING") == 0;
    if (gantry__k_is_serial(call) && !wants_indices && sort.length <= INT32_MAX) {
        return gantry__radix_values(call, &sort, &call->outputs[0]->span);
    }
    return sort_into(call, &sort,
                     wants_indices ? &(sort_results_t){NULL, call->outputs[0]}
                                   : &(sort_results_t){call->outputs[0], NULL});
}

static int32_t compute_top(gantry_op_call_t *call) {
    const int64_t axis = sort_items_axis(call);
    gantry__k_sort_t sort = sort_of(call, axis);

    sort.descending = gantry__k_attr_int(call, "largest", 1) != 0;
    sort.kept = call->outputs[0]->dims[axis];
    return sort_into(call, &sort, &(sort_results_t){call->outputs[0], call->outputs[1]});
}

/* ---- LowerBound, UpperBound ---- */

static int32_t compute_bound(gantry_op_call_t *call) {
    const gantry_arg_t *sorted = call->inputs[0], *values = call->inputs[1],
                       *out = call->outputs[0];
    gantry__sort_bound_t bound = {.order = gantry__sort_order(sorted->dtype, 0, 0),
                                  .length = sorted->dims[1],
                                  .values = values->dims[1],
                                  .is_upper = strcmp(call->op, "UpperBound") == 0,
                                  .is_wide = out->dtype == GANTRY_INT64};
    gantry__k_item_launch_t launch = {.item = ITEM_sort_bound,
                                      .t = gantry__k_twin(sorted->dtype),
                                      .count = out->element_count,
                                      .item_bytes = gantry__k_size(out->dtype),
                                      .is_costly = true,
                                      .parameters = &bound,
                                      .parameter_bytes = sizeof bound,
                                      .spans = {sorted->span, values->span, out->span},
                                      .span_count = 3};

    return sort_run(call, &launch);
}

/* ---- InTopK ---- */

static int32_t compute_in_top(gantry_op_call_t *call) {
    const gantry_arg_t *predictions = call->inputs[0], *targets = call->inputs[1],
                       *out = call->outputs[0];
    const int64_t rows = predictions->dims[0], classes = predictions->dims[1];
    gantry__in_top_t parameters = {.order = gantry__sort_order(predictions->dtype, 0, 0),
                                   .classes = classes,
                                   .chunks = (classes + GANTRY_SORT_CHUNK - 1) / GANTRY_SORT_CHUNK,
                                   .k = gantry__k_host_int(call->inputs[2], 0),
                                   .is_wide = targets->dtype == GANTRY_INT64};
    gantry__k_item_launch_t launch = {.item = ITEM_in_top_count,
                                      .t = GANTRY_INT32,
                                      .count = rows * parameters.chunks,
                                      .is_costly = true,
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .spans = {predictions->span, targets->span},
                                      .span_count = 3};

    if (classes == 0) { /* no target can be a class */
        return call->services->fill(call, &out->span, "", 1);
    }
    GANTRY__TRY(call->services->scratch(call, (uint64_t)launch.count * 8, &launch.spans[2]));
    GANTRY__TRY(sort_run(call, &launch));
    launch.item = ITEM_in_top;
    launch.count = rows;
    launch.spans[0] = launch.spans[2];
    launch.spans[1] = out->span;
    launch.span_count = 2;
    return sort_run(call, &launch);
}

static const gantry_type_constraint_t sorted_types[] = {{"T", GANTRY_MASK_CONVERTED}};
static const gantry_type_constraint_t in_top_types[] = {{"T", GANTRY_DTYPES_INTS}};
static const char *const top_hosts[] = {"k"};

GANTRY_K_ITEM_KERNEL(sort, sort, "Sort", sorted_types, compute_sort);
GANTRY_K_ITEM_KERNEL(arg_sort, sort, "ArgSort", sorted_types, compute_sort);
GANTRY_K_ITEM_KERNEL_HOST(top, sort, "TopK", sorted_types, top_hosts, compute_top);
GANTRY_K_ITEM_KERNEL_HOST(in_top, sort, "InTopK", in_top_types, top_hosts, compute_in_top);
GANTRY_K_ITEM_KERNEL(lower_bound, sort, "LowerBound", gantry__k_numeric_type, compute_bound);
GANTRY_K_ITEM_KERNEL(upper_bound, sort, "UpperBound", gantry__k_numeric_type, compute_bound);

#define OPS(OP)     \
    OP(sort)        \
    OP(arg_sort)    \
    OP(top)         \
    OP(in_top)      \
    OP(lower_bound) \
    OP(upper_bound)
GANTRY_K_ITEM_PACK(sort, OPS);
