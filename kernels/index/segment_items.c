/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that combine the updates of each slice or segment: ScatterNd, ScatterElements,
 * TensorScatterAdd, Sub, Mul, Max and Min; SegmentSum and its variants, over sorted ids;
 * UnsortedSegmentSum and its variants; Bincount and DenseBincount. */
#include "kernels/index/segment_items.h"

#include <inttypes.h>
#include <stdio.h>

#include "kernels/common/program_options.h"
#include "kernels/index/scatter_items.h"
#include "kernels/index/segment_tiles.cl"

GANTRY_K_ITEM_TEXTS(segment, GANTRY_SEGMENT_ITEMS, gantry__text_indices, gantry__text_segment);
GANTRY_K_PROGRAM(segment_tile_source, "portable/segment_tile", gantry__text_half, gantry__text_work,
                 gantry__text_item, gantry__text_indices, gantry__text_segment_tiles);

#define NO_ITEM UINT32_MAX

/* How an op combines, sorted and directly, and the result where there are no updates. */
typedef struct way_t {
    const char *op;
    uint32_t item, direct;
    enum { FROM_ZERO, FROM_ONE, FROM_LOWEST, FROM_HIGHEST } start;
    const char *reduction; /* the attribute's word; NULL: none */
} way_t;

static const way_t ways[] = {
    {"TensorScatterAdd", ITEM_combine_sum, ITEM_direct_sum, FROM_ZERO, "ADD"},
    {"TensorScatterSub", ITEM_combine_difference, ITEM_direct_difference, FROM_ZERO, NULL},
    {"TensorScatterMul", ITEM_combine_product, ITEM_direct_product, FROM_ZERO, "MUL"},
    {"TensorScatterMax", ITEM_scatter_larger, ITEM_direct_scatter_larger, FROM_ZERO, "MAX"},
    {"TensorScatterMin", ITEM_scatter_smaller, ITEM_direct_scatter_smaller, FROM_ZERO, "MIN"},
    {"SegmentSum", ITEM_combine_sum, ITEM_direct_sum, FROM_ZERO, NULL},
    {"SegmentMean", ITEM_combine_mean, ITEM_direct_sum, FROM_ZERO, NULL},
    {"SegmentMax", ITEM_segment_larger, ITEM_direct_segment_larger, FROM_ZERO, NULL},
    {"SegmentMin", ITEM_segment_smaller, ITEM_direct_segment_smaller, FROM_ZERO, NULL},
    {"SegmentProd", ITEM_combine_product, ITEM_direct_product, FROM_ONE, NULL},
    {"UnsortedSegmentSum", ITEM_combine_sum, ITEM_direct_sum, FROM_ZERO, NULL},
    {"UnsortedSegmentMean", ITEM_combine_mean, ITEM_direct_sum, FROM_ZERO, NULL},
    {"UnsortedSegmentMax", ITEM_segment_larger, ITEM_direct_segment_larger, FROM_LOWEST, NULL},
    {"UnsortedSegmentMin", ITEM_segment_smaller, ITEM_direct_segment_smaller, FROM_HIGHEST, NULL},
    {"UnsortedSegmentProd", ITEM_combine_product, ITEM_direct_product, FROM_ONE, NULL},
    {"Bincount", ITEM_combine_sum, ITEM_direct_sum, FROM_ZERO, NULL},
    {"DenseBincount", ITEM_combine_sum, ITEM_direct_sum, FROM_ZERO, NULL},
};

static const way_t *way_of(const gantry_op_call_t *call) {
    const char *op = call->op;
    size_t k = 0;

    while (k + 1 < GANTRY_K_COUNT_OF(ways) &&
           (ways[k].op[0] != op[0] || strcmp(ways[k].op, op) != 0)) {
        k++;
    }
    return &ways[k];
}

/* NONE combines nothing: only the zeros from which sums begin count. */
static const way_t *way_of_reduction(const char *reduction) {
    for (size_t k = 0; k < GANTRY_K_COUNT_OF(ways); ++k) {
        if (ways[k].reduction && strcmp(ways[k].reduction, reduction) == 0) return &ways[k];
    }
    return &ways[0];
}

/* Of bools a sum and a maximum are true if one of them is, a product and a minimum if all are. */
static bool takes_all_bools(const way_t *way) {
    return way->direct == ITEM_direct_product || way->direct == ITEM_direct_segment_smaller ||
           way->direct == ITEM_direct_scatter_smaller;
}

/* ---- what every op does ---- */

static int32_t segment_fill(gantry_op_call_t *call, const way_t *way) {
    const gantry_arg_t *out = call->outputs[0];
    const uint32_t bytes = gantry__k_size(out->dtype);
    uint64_t bits = 0;

    if (way->start != FROM_ZERO) {
        bits = way->start == FROM_ONE      ? gantry__type_one(out->dtype)
               : way->start == FROM_LOWEST ? gantry__type_lowest(out->dtype)
                                           : gantry__type_greatest(out->dtype);
    }
    bits = gantry__bits_placed(bits, bytes);
    return call->services->fill(call, &out->span, &bits, bytes);
}

/* Whether updates are combined directly: on processors, for types whose sums have the type itself.
 * Means of integers divide a wider sum. */
static bool goes_directly(const gantry_op_call_t *call, const way_t *way) {
    const int32_t dtype = call->outputs[0]->dtype;

    if (!gantry__k_is_serial(call) || gantry__k_is_half(dtype)) return false;
    return way->item != ITEM_combine_mean || GANTRY__TYPE_IS(dtype, FLOATS);
}

/* The operation of bins.cl that does not need an order of the updates, or -1: on GPUs, for integers
 * of 32 bits, and for float32 where any order is allowed. */
static int32_t unsorted_operation(const gantry_op_call_t *call, const way_t *way) {
    const int32_t dtype = call->outputs[0]->dtype;

    if (dtype == GANTRY_FLOAT32 && !gantry__k_is_serial(call) && gantry__k_takes_any_order(call)) {
        return way->item == ITEM_combine_sum          ? GANTRY_UNSORTED_FLOAT_SUM
               : way->item == ITEM_combine_difference ? GANTRY_UNSORTED_FLOAT_DIFFERENCE
                                                      : -1;
    }
    if (gantry__k_is_serial(call) || (dtype != GANTRY_INT32 && dtype != GANTRY_UINT32)) return -1;
    switch (way->item) {
        case ITEM_combine_sum: return GANTRY_UNSORTED_SUM;
        case ITEM_combine_difference: return GANTRY_UNSORTED_DIFFERENCE;
        case ITEM_segment_larger:
        case ITEM_scatter_larger: return GANTRY_UNSORTED_LARGER;
        case ITEM_segment_smaller:
        case ITEM_scatter_smaller: return GANTRY_UNSORTED_SMALLER;
        default: return -1;
    }
}

/* Whether the updates may keep their order. */
static bool stays(const gantry_op_call_t *call, const way_t *way) {
    return goes_directly(call, way) || unsorted_operation(call, way) >= 0;
}

/* Counts the updates of each slice into `counts`, which must be zero before. */
static int32_t count_directly(gantry_op_call_t *call, const gantry__k_updates_t *updates,
                              gantry_span_t counts, int32_t dtype, bool is_binary) {
    gantry__direct_t parameters = {
        .count = updates->count, .inner = 1, .slices = updates->slices, .is_binary = is_binary};
    gantry__k_updates_t single = *updates;
    gantry__k_item_launch_t launch = {.item = ITEM_direct_count,
                                      .t = dtype,
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .spans = {updates->keys, counts},
                                      .span_count = 2};

    single.inner = 1;
    gantry__scatter_boxes(call, &single, &parameters.rows, &parameters.columns, &launch);
    return gantry__k_run_items(call, &launch);
}

/* Divides the sums by the number of updates. */
static int32_t divide_directly(gantry_op_call_t *call, const gantry__k_updates_t *updates) {
    static const unsigned char zero[4] = {0};
    const gantry_arg_t *out = call->outputs[0];
    gantry__combine_t parameters = {.count = updates->slices, .inner = updates->inner};
    gantry__k_item_launch_t launch = {.item = ITEM_direct_mean,
                                      .t = out->dtype,
                                      .count = updates->slices,
                                      .is_costly = true,
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .spans = {{0}, out->span},
                                      .span_count = 2};
    GANTRY__TRY(call->services->scratch(call, (uint64_t)updates->slices * sizeof(int32_t),
                                        &launch.spans[0]));
    GANTRY__TRY(call->services->fill(call, &launch.spans[0], zero, sizeof zero));
    GANTRY__TRY(count_directly(call, updates, launch.spans[0], GANTRY_INT32, 0));
    return gantry__k_run_items(call, &launch);
}

static int32_t signed_twin(int32_t dtype) {
    static const int32_t twins[] = {GANTRY_INT8, GANTRY_INT16, GANTRY_INT32, GANTRY_INT64};

    return GANTRY__TYPE_IS(dtype, UNSIGNED) ? twins[gantry__k_size_row(gantry__k_size(dtype))]
                                            : dtype;
}

/* The direct item of the way, and its type. Items with equal results exist once: a bool is the
 * larger or the smaller of bytes, wrapping sums and products do not depend on the sign, and
 * scatter_ differs from segment_ only for a NaN. */
static gantry__k_item_launch_t direct_alike(const way_t *way, int32_t dtype) {
    if (dtype == GANTRY_BOOL)
        return (gantry__k_item_launch_t){
            .item = takes_all_bools(way) ? ITEM_direct_segment_smaller : ITEM_direct_segment_larger,
            .t = GANTRY_UINT8};
    const bool is_integer = GANTRY__TYPE_IS(dtype, INTEGERS);
    switch (way->direct) {
        case ITEM_direct_sum:
        case ITEM_direct_difference:
        case ITEM_direct_product:
            return (gantry__k_item_launch_t){.item = way->direct, .t = signed_twin(dtype)};
        case ITEM_direct_scatter_larger:
            return (gantry__k_item_launch_t){
                .item = is_integer ? ITEM_direct_segment_larger : way->direct, .t = dtype};
        case ITEM_direct_scatter_smaller:
            return (gantry__k_item_launch_t){
                .item = is_integer ? ITEM_direct_segment_smaller : way->direct, .t = dtype};
        default: return (gantry__k_item_launch_t){.item = way->direct, .t = dtype};
    }
}

static int32_t combine_directly(gantry_op_call_t *call, const way_t *way,
                                const gantry__k_updates_t *updates, const gantry_span_t *values,
                                bool is_sorted) {
    const gantry_arg_t *out = call->outputs[0];
    gantry__direct_t parameters = {.count = updates->count,
                                   .inner = updates->inner,
                                   .slices = updates->slices,
                                   .takes_first = is_sorted};
    gantry__k_item_launch_t launch = direct_alike(way, out->dtype);
    launch.parameters = &parameters;
    launch.parameter_bytes = sizeof parameters;
    launch.spans[0] = updates->keys;
    launch.spans[1] = *values;
    launch.spans[2] = out->span;
    launch.span_count = 3;
    gantry__scatter_boxes(call, updates, &parameters.rows, &parameters.columns, &launch);
    const int32_t status = gantry__k_run_items(call, &launch);

    return status == GANTRY_OK && way->item == ITEM_combine_mean ? divide_directly(call, updates)
                                                                 : status;
}

/* The most updates that one launch does on a GPU. They may all go to one slice, which is then one
 * work-item's; that must not run for seconds, because desktop drivers take it for a crash. */
#define MOST_UPDATES (INT64_C(1) << 20)

/* Launches over all updates. On processors that is one launch, because nothing ends a long one. */
static int32_t combine_by_ranges(gantry_op_call_t *call, gantry__combine_t *parameters,
                                 gantry__k_item_launch_t *launch) {
    const int64_t most = gantry__k_is_serial(call) ? parameters->count : MOST_UPDATES;
    int32_t status = GANTRY_OK;

    if (parameters->count > most) {
        status = call->services->scratch(call, 2 * (uint64_t)parameters->inner * sizeof(uint64_t),
                                         &launch->spans[4]);
    }
    for (int64_t begin = 0; status == GANTRY_OK && begin < parameters->count; begin += most) {
        const int64_t rest = parameters->count - begin;

        parameters->begin = begin;
        parameters->end = begin + (rest < most ? rest : most);
        parameters->carry_from = begin / most % 2 == 0 ? parameters->inner : 0;
        parameters->carry_to = parameters->inner - parameters->carry_from;
        launch->count = (parameters->end - begin) * parameters->inner;
        status = gantry__k_run_items(call, launch);
    }
    return status;
}

/* values must be the updates, one slice each. */
static int32_t combine(gantry_op_call_t *call, const way_t *way, const gantry__k_updates_t *updates,
                       const gantry_span_t *values, bool is_sorted) {
    const gantry_arg_t *out = call->outputs[0];
    if (goes_directly(call, way)) return combine_directly(call, way, updates, values, is_sorted);
    if (updates->stay)
        return gantry__scatter_unsorted(call, unsorted_operation(call, way), updates, values);

    gantry__combine_t parameters = {.count = updates->count,
                                    .inner = updates->inner,
                                    .is_sorted = is_sorted,
                                    .takes_first = is_sorted};
    gantry__k_item_launch_t launch = {
        .item = way->item,
        .t = out->dtype,
        .is_costly = true,
        .parameters = &parameters,
        .parameter_bytes = sizeof parameters,
        .spans = {updates->keys, updates->positions, *values, out->span, out->span},
        .span_count = 5};

    if (out->dtype == GANTRY_BOOL) {
        launch.item = takes_all_bools(way) ? ITEM_segment_smaller : ITEM_segment_larger;
        launch.t = GANTRY_UINT8;
    }
    return combine_by_ranges(call, &parameters, &launch);
}

/* ---- ScatterNd, ScatterElements, TensorScatterAdd and its kin ---- */

/* is_new: into zeros. by_elements: as GatherElements reads. */
static int32_t scatter_by(gantry_op_call_t *call, const way_t *way, bool replaces, bool is_new,
                          bool by_elements) {
    const gantry_arg_t *values = call->inputs[is_new ? 1 : 2], *out = call->outputs[0];
    gantry__k_updates_t updates = {.stay = replaces ? gantry__k_is_serial(call) : stays(call, way)};
    GANTRY__TRY(is_new ? segment_fill(call, way)
                       : call->services->copy(call, &out->span, &call->inputs[0]->span));
    if (values->element_count == 0) return GANTRY_OK;
    GANTRY__TRY(by_elements ? gantry__scatter_by_elements(call, out, &updates)
                            : gantry__scatter_by_slices(call, is_new ? 0 : 1, out, &updates));
    return replaces ? gantry__scatter_replace(call, &updates, &values->span)
                    : combine(call, way, &updates, &values->span, 0);
}

static int32_t scatter_by_reduction(gantry_op_call_t *call, bool is_new, bool by_elements) {
    const char *reduction = gantry__k_attr_text(call, "reduction", "");
    const bool replaces = strcmp(reduction, "NONE") == 0;
    return scatter_by(call, way_of_reduction(reduction), replaces, is_new, by_elements);
}

static int32_t compute_scatter(gantry_op_call_t *call) {
    return scatter_by(call, way_of(call), false, false, false);
}

static int32_t compute_scatter_nd(gantry_op_call_t *call) {
    return scatter_by_reduction(call, true, false);
}

static int32_t compute_scatter_elements(gantry_op_call_t *call) {
    return scatter_by_reduction(call, false, true);
}

/* ---- segments ---- */

static void explain_unsorted(const gantry_op_call_t *call, int64_t position, char *text,
                             size_t text_bytes) {
    const gantry_arg_t *ids = call->inputs[1];
    char place[GANTRY_K_PLACE_BYTES];

    gantry__portable_print_place(ids->dims, ids->rank, position, place, sizeof place);
    (void)snprintf(text, text_bytes, "segment_ids%s = %" PRId64 " is out of range [0, %" PRId64 ")",
                   place, gantry__k_host_int(ids, position),
                   gantry__k_host_int(call->inputs[2], 0));
}

static int32_t compute_unsorted(gantry_op_call_t *call) {
    const gantry_arg_t *data = call->inputs[0], *ids = call->inputs[1];
    const way_t *way = way_of(call);
    gantry__segments_t parameters = {.limit = gantry__k_host_int(call->inputs[2], 0),
                                     .per_row = ids->element_count,
                                     .drops_negative = 1,
                                     .input = 1};
    gantry__k_updates_t updates = {.stay = stays(call, way), .count = ids->element_count};
    GANTRY__TRY(segment_fill(call, way));
    if (data->element_count == 0) return GANTRY_OK;
    updates.inner = data->element_count / ids->element_count;
    GANTRY__TRY(gantry__scatter_by_segments(
        call, &parameters,
        &(gantry__k_bad_ids_t){explain_unsorted, "segment_ids@ is out of range [0, #)",
                               "segment_ids@ = $ is out of range [0, #)", NULL},
        &updates));
    return combine(call, way, &updates, &data->span, 0);
}

static void explain_sorted(const gantry_op_call_t *call, int64_t position, char *text,
                           size_t text_bytes) {
    const int64_t id = gantry__k_host_int(call->inputs[1], position);

    (void)snprintf(text, text_bytes, "%s: segment_ids[%" PRId64 "] = %" PRId64,
                   id < 0 ? "segment ids must be >= 0" : "segment ids are not increasing", position,
                   id);
}

/* The largest number of segments that the ids of data's rows may name. A dimension without elements
 * counts as 1. */
static int64_t most_segments(const gantry_arg_t *data) {
    int64_t most = INT64_MAX / 16;

    for (int32_t d = 1; d < data->rank; ++d) {
        most /= data->dims[d] > 0 ? data->dims[d] : 1;
    }
    return most;
}

/* Makes the output. The number of segments follows from the last id, which is read back. */
static int32_t segment_make_output(gantry_op_call_t *call, int64_t *out_segments) {
    const gantry_arg_t *data = call->inputs[0], *ids = call->inputs[1];
    const uint32_t bytes = gantry__k_size(ids->dtype);
    const int64_t most = most_segments(data);
    int64_t last = -1, dims[GANTRY_MAX_RANK];
    if (ids->element_count > 0) {
        gantry_span_t span = ids->span;
        int32_t narrow;
        span.offset_bytes += (uint64_t)(ids->element_count - 1) * bytes;
        span.size_bytes = bytes;
        GANTRY__TRY(
            call->services->read(call, &span, bytes == 4 ? (void *)&narrow : (void *)&last, bytes));
        if (bytes == 4) last = narrow;
        if (last < 0)
            return call->services->fail(call, GANTRY_INVALID_ARGUMENT, "segment ids must be >= 0");
        if (last >= most)
            return call->services->fail(
                call, GANTRY_INVALID_ARGUMENT,
                "the last segment id asks for more elements than a tensor can have");
    }
    memcpy(dims, data->dims, (size_t)data->rank * sizeof dims[0]);
    dims[0] = *out_segments = last + 1;
    return call->services->allocate_output(call, 0, data->rank, dims);
}

static const gantry__k_bad_ids_t bad_sorted_ids = {
    explain_sorted, "segment ids must be >= 0, or segment ids are not increasing: segment_ids@",
    "segment ids must be >= 0: segment_ids@ = $",
    "segment ids are not increasing: segment_ids@ = $"};

/* The operation of segment_tiles.cl, or -1: on GPUs, for segments that have so many rows that a
 * group's work is worth it, and not more than end soon enough if they are all in one. */
static int32_t tile_operation(const gantry_op_call_t *call, const way_t *way, int64_t segments) {
    enum { LEAST_ROWS = 32, MOST_ROWS = 1 << 24 };
    const int64_t rows = call->inputs[1]->element_count;
    const gantry_device_info_t *info = call->device_info;

    if (gantry__k_is_serial(call) || call->outputs[0]->dtype == GANTRY_BOOL) return -1;
    if (rows > MOST_ROWS || rows / LEAST_ROWS < segments ||
        info->max_work_group_size < GANTRY_SEGMENT_ITEMS_OF_TILE ||
        info->local_memory_bytes < GANTRY_SEGMENT_TILE_BYTES + 2 * sizeof(uint32_t))
        return -1;
    switch (way->item) {
        case ITEM_combine_sum: return GANTRY_SEGMENT_TILE_SUM;
        case ITEM_combine_product: return GANTRY_SEGMENT_TILE_PRODUCT;
        case ITEM_segment_larger: return GANTRY_SEGMENT_TILE_LARGER;
        case ITEM_segment_smaller: return GANTRY_SEGMENT_TILE_SMALLER;
        default: return -1;
    }
}

/* The kernel for the operation. It is NULL if there is none, or if the driver allows no such
 * group. */
static int32_t find_tile(gantry_op_call_t *call, int32_t operation,
                         gantry_backend_kernel_t **out_kernel) {
    gantry__k_options_t options = gantry__k_options_of_type(call, call->outputs[0]->dtype);

    *out_kernel = NULL;
    if (operation < 0) return GANTRY_OK;
    gantry__k_define(&options, "OPERATION", (uint32_t)operation);
    GANTRY__TRY(call->services->kernel(call, &segment_tile_source, options.text, "segment_tile",
                                       out_kernel));
    if (gantry__k_group_limit(call, *out_kernel) < GANTRY_SEGMENT_ITEMS_OF_TILE) *out_kernel = NULL;
    return GANTRY_OK;
}

/* Does all of the op in one launch. */
static int32_t combine_by_tiles(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                                const way_t *way, int64_t segments) {
    enum { MOST_COLUMNS = 64 };
    const gantry_arg_t *data = call->inputs[0], *ids = call->inputs[1], *out = call->outputs[0];
    gantry__segment_tile_t parameters = {
        .count = ids->element_count,
        .inner = data->element_count / ids->element_count,
        .segments = segments,
        .columns = 1,
        .is_wide = ids->dtype == GANTRY_INT64,
        .empty = way->start == FROM_ONE ? gantry__type_one(out->dtype) : 0};
    const gantry_fault_words_t words = gantry__scatter_words(call, 1, segments, &bad_sorted_ids);
    gantry_span_t fault;

    while (parameters.columns < parameters.inner && parameters.columns < MOST_COLUMNS) {
        parameters.columns *= 2;
    }
    parameters.column_groups = (parameters.inner + parameters.columns - 1) / parameters.columns;
    GANTRY__TRY(gantry__k_fault(call, &words, &fault));
    const gantry_launch_arg_t args[] = {
        gantry__k_span(data), gantry__k_span(ids), gantry__k_span(out),
        gantry__k_scalar(&parameters, sizeof parameters), gantry__k_raw_span(fault)};

    return gantry__k_launch_groups(call, kernel, (uint64_t)(segments * parameters.column_groups),
                                   GANTRY_SEGMENT_ITEMS_OF_TILE, args, 5);
}

static int32_t compute_sorted(gantry_op_call_t *call) {
    const gantry_arg_t *data = call->inputs[0], *ids = call->inputs[1];
    const way_t *way = way_of(call);
    gantry__segments_t parameters = {.per_row = ids->element_count, .is_sorted = 1, .input = 1};
    gantry__k_updates_t updates = {.count = ids->element_count};
    gantry_backend_kernel_t *tile = NULL;
    GANTRY__TRY(segment_make_output(call, &parameters.limit));
    if (data->element_count > 0) {
        GANTRY__TRY(find_tile(call, tile_operation(call, way, parameters.limit), &tile));
    }
    if (tile) return combine_by_tiles(call, tile, way, parameters.limit);
    GANTRY__TRY(segment_fill(call, way));
    if (data->element_count == 0) return GANTRY_OK;
    updates.inner = data->element_count / ids->element_count;
    GANTRY__TRY(gantry__scatter_by_segments(call, &parameters, &bad_sorted_ids, &updates));
    return combine(call, way, &updates, &data->span, 1);
}

/* ---- Bincount ---- */

static void explain_bin(const gantry_op_call_t *call, int64_t position, char *text,
                        size_t text_bytes) {
    const gantry_arg_t *arr = call->inputs[0];
    char place[GANTRY_K_PLACE_BYTES];

    gantry__portable_print_place(arr->dims, arr->rank, position, place, sizeof place);
    (void)snprintf(text, text_bytes, "Input arr must be non-negative! arr%s = %" PRId64, place,
                   gantry__k_host_int(arr, position));
}

static const gantry__k_bad_ids_t bad_bins = {explain_bin, "Input arr must be non-negative! arr@",
                                             "Input arr must be non-negative! arr@ = $", NULL};

#define LEAST_BINS INT64_C(1024) /* so many pay for a thread */

/* Counts each part of the numbers for itself, for fewer bins than numbers. */
static int32_t count_parts(gantry_op_call_t *call, int64_t bins, bool is_binary) {
    const int64_t units = gantry__k_units(call), worth = bins / LEAST_BINS + 1;
    gantry__join_counts_t parameters = {
        .bins = bins, .shares = units < worth ? units : worth, .is_binary = is_binary};
    gantry__k_item_launch_t launch = {.item = ITEM_join_counts,
                                      .t = call->outputs[0]->dtype,
                                      .count = parameters.shares,
                                      .grain = 1,
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .span_count = 2};
    GANTRY__TRY(
        gantry__scatter_count(call, 0, bins, &bad_bins, &launch.spans[0], &parameters.parts));
    launch.spans[1] = call->outputs[0]->span;
    return gantry__k_run_items(call, &launch);
}

/* Whether counts may be made in the output's type; float32 counts exactly up to 2^24. */
static bool counts_directly(const gantry_op_call_t *call, int64_t count) {
    return call->outputs[0]->dtype != GANTRY_FLOAT32 || count < 1 << 24;
}

/* Makes floats of the counts in the output. */
static int32_t make_values(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    gantry__direct_t parameters = {.count = 0};
    gantry__k_item_launch_t launch = {.item = ITEM_count_values,
                                      .t = out->dtype,
                                      .count = out->element_count,
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .spans = {out->span},
                                      .span_count = 1};

    return out->element_count > 0 ? gantry__k_run_items(call, &launch) : GANTRY_OK;
}

/* Counts on a processor, one number after the other. */
static int32_t count_in_turn(gantry_op_call_t *call, gantry__segments_t *parameters,
                             bool is_binary) {
    const gantry_arg_t *in = call->inputs[0], *out = call->outputs[0];
    const bool is_direct = is_binary || counts_directly(call, in->element_count);
    gantry__k_updates_t updates = {.stay = true, .count = in->element_count, .inner = 1};

    GANTRY__TRY(gantry__scatter_by_segments(call, parameters, &bad_bins, &updates));
    GANTRY__TRY(count_directly(call, &updates, out->span, is_direct ? out->dtype : GANTRY_INT32,
                               is_binary));
    return is_direct ? GANTRY_OK : make_values(call);
}

static int32_t count_bins(gantry_op_call_t *call, gantry__segments_t *parameters, bool is_binary) {
    if (gantry__k_is_serial(call)) return count_in_turn(call, parameters, is_binary);
    GANTRY__TRY(gantry__scatter_count_here(call, parameters->limit, parameters->per_row, &bad_bins,
                                           is_binary));
    return is_binary || !GANTRY__TYPE_IS(call->outputs[0]->dtype, FLOATS) ? GANTRY_OK
                                                                          : make_values(call);
}

static int32_t compute_bins(gantry_op_call_t *call) {
    const gantry_arg_t *in = call->inputs[0], *weights = call->inputs[2], *out = call->outputs[0];
    const bool has_rows = out->rank == 2; /* only DenseBincount has them */
    const bool is_binary = gantry__k_attr_int(call, "binary_output", 0) != 0;
    const way_t *way = way_of(call);
    gantry__segments_t parameters = {.limit = gantry__k_host_int(call->inputs[1], 0),
                                     .per_row = has_rows ? in->dims[1] : in->element_count,
                                     .drops_large = 1,
                                     .input = 0};
    const bool counts = is_binary || weights->element_count == 0;
    gantry__k_updates_t updates = {
        .stay = stays(call, way), .count = in->element_count, .inner = 1};

    if (counts && !has_rows &&
        gantry__scatter_can_count(call, in->element_count, parameters.limit)) {
        return count_parts(call, parameters.limit, is_binary);
    }
    GANTRY__TRY(segment_fill(call, way));
    if (in->element_count == 0) return GANTRY_OK;
    if (counts) return count_bins(call, &parameters, is_binary);
    GANTRY__TRY(gantry__scatter_by_segments(call, &parameters, &bad_bins, &updates));
    return combine(call, way, &updates, &weights->span, 0);
}

/* ---- the table ---- */

static const gantry_type_constraint_t scatter_types[] = {{"T", GANTRY_DTYPES_NUMERIC},
                                                         {"Tindices", GANTRY_DTYPES_INTS}};
static const gantry_type_constraint_t extreme_types[] = {{"T", GANTRY_DTYPES_NUMERIC_BOOL},
                                                         {"Tindices", GANTRY_DTYPES_INTS}};
static const gantry_type_constraint_t element_types[] = {{"T", GANTRY_DTYPES_ANY},
                                                         {"Tindices", GANTRY_DTYPES_INTS}};
static const gantry_type_constraint_t mean_types[] = {{"T", GANTRY_DTYPES_FLOATING},
                                                      {"Tindices", GANTRY_DTYPES_INTS}};
static const gantry_type_constraint_t bin_types[] = {{"T", GANTRY_DTYPES_NUMBERS}};
static const char *const new_hosts[] = {"shape"};
static const char *const segment_hosts[] = {"num_segments"};
static const char *const bin_hosts[] = {"size"};

GANTRY_K_ITEM_KERNEL_ANY_ORDER(scatter_nd, segment, "ScatterNd", extreme_types, new_hosts,
                               GANTRY_K_COUNT_OF(new_hosts), 0, compute_scatter_nd);
GANTRY_K_ITEM_KERNEL_ANY_ORDER(scatter_elements, segment, "ScatterElements", element_types, NULL, 0,
                               GANTRY_KERNEL_IN_PLACE_FIRST, compute_scatter_elements);
GANTRY_K_ITEM_KERNEL_ANY_ORDER(scatter_add, segment, "TensorScatterAdd", scatter_types, NULL, 0,
                               GANTRY_KERNEL_IN_PLACE_FIRST, compute_scatter);
GANTRY_K_ITEM_KERNEL_ANY_ORDER(scatter_sub, segment, "TensorScatterSub", scatter_types, NULL, 0,
                               GANTRY_KERNEL_IN_PLACE_FIRST, compute_scatter);
GANTRY_K_ITEM_KERNEL_IN_PLACE(scatter_mul, segment, "TensorScatterMul", scatter_types,
                              compute_scatter);
GANTRY_K_ITEM_KERNEL_IN_PLACE(scatter_max, segment, "TensorScatterMax", extreme_types,
                              compute_scatter);
GANTRY_K_ITEM_KERNEL_IN_PLACE(scatter_min, segment, "TensorScatterMin", extreme_types,
                              compute_scatter);
GANTRY_K_ITEM_KERNEL(sum, segment, "SegmentSum", scatter_types, compute_sorted);
GANTRY_K_ITEM_KERNEL(mean, segment, "SegmentMean", scatter_types, compute_sorted);
GANTRY_K_ITEM_KERNEL(max, segment, "SegmentMax", extreme_types, compute_sorted);
GANTRY_K_ITEM_KERNEL(min, segment, "SegmentMin", extreme_types, compute_sorted);
GANTRY_K_ITEM_KERNEL(prod, segment, "SegmentProd", scatter_types, compute_sorted);
GANTRY_K_ITEM_KERNEL_ANY_ORDER(any_sum, segment, "UnsortedSegmentSum", scatter_types, segment_hosts,
                               GANTRY_K_COUNT_OF(segment_hosts), 0, compute_unsorted);
GANTRY_K_ITEM_KERNEL_HOST(any_mean, segment, "UnsortedSegmentMean", mean_types, segment_hosts,
                          compute_unsorted);
GANTRY_K_ITEM_KERNEL_HOST(any_max, segment, "UnsortedSegmentMax", extreme_types, segment_hosts,
                          compute_unsorted);
GANTRY_K_ITEM_KERNEL_HOST(any_min, segment, "UnsortedSegmentMin", extreme_types, segment_hosts,
                          compute_unsorted);
GANTRY_K_ITEM_KERNEL_HOST(any_prod, segment, "UnsortedSegmentProd", scatter_types, segment_hosts,
                          compute_unsorted);
GANTRY_K_ITEM_KERNEL_ANY_ORDER(bincount, segment, "Bincount", bin_types, bin_hosts,
                               GANTRY_K_COUNT_OF(bin_hosts), 0, compute_bins);
GANTRY_K_ITEM_KERNEL_ANY_ORDER(dense_bincount, segment, "DenseBincount", bin_types, bin_hosts,
                               GANTRY_K_COUNT_OF(bin_hosts), 0, compute_bins);

#define OPS(OP)          \
    OP(scatter_nd)       \
    OP(scatter_elements) \
    OP(scatter_add)      \
    OP(scatter_sub)      \
    OP(scatter_mul)      \
    OP(scatter_max)      \
    OP(scatter_min)      \
    OP(sum)              \
    OP(mean)             \
    OP(max)              \
    OP(min)              \
    OP(prod)             \
    OP(any_sum)          \
    OP(any_mean)         \
    OP(any_max)          \
    OP(any_min)          \
    OP(any_prod)         \
    OP(bincount)         \
    OP(dense_bincount)
GANTRY_K_ITEM_PACK(segment, OPS);
