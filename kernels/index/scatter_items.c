/* SPDX-License-Identifier: Apache-2.0 */
/* GatherNd, GatherElements and TensorScatterUpdate, and the order of updates for all ops that
 * scatter. */
#include "kernels/index/scatter_items.h"

#include <inttypes.h>
#include <stdio.h>

#include "kernels/common/program_options.h"
#include "kernels/sort/sort_items.h"

#define MOST_SLICES INT64_C(0xffffffff) /* numbers that a key has, but for one, "no slice" */

GANTRY_K_ITEM_TEXTS(scatter, GANTRY_SCATTER_ITEMS, gantry__text_indices, gantry__text_scatter,
                    gantry__text_bins, gantry__text_buckets);

static int32_t scatter_run(gantry_op_call_t *call, gantry__k_item_launch_t *launch) {
    return gantry__k_run_items_of(call, &scatter_items, &gantry__cpu_scatter_items, launch);
}

/* ---- rows of indices ---- */

static void explain_slice(const gantry_op_call_t *call, int64_t row, char *text,
                          size_t text_bytes) {
    const bool is_gather = strcmp(call->op, "GatherNd") == 0,
               is_new = strcmp(call->op, "ScatterNd") == 0;
    const gantry_arg_t *indices = call->inputs[is_new ? 0 : 1];
    const gantry_arg_t *indexed = is_gather ? call->inputs[0] : call->outputs[0];
    const int64_t batch = gantry__k_attr_int(call, "batch_dims", 0);
    const int64_t depth = indices->dims[indices->rank - 1]; /* at most the indexed tensor's */
    int64_t index[GANTRY_MAX_RANK];
    char place[GANTRY_K_PLACE_BYTES], values[GANTRY_K_PLACE_BYTES], shape[GANTRY_K_PLACE_BYTES];

    gantry__portable_print_place(indices->dims, indices->rank - 1, row, place, sizeof place);
    for (int64_t d = 0; d < depth; ++d) {
        index[d] = gantry__k_host_int(indices, row * depth + d);
    }
    gantry__portable_print_list(index, depth, ", ", values, sizeof values);
    gantry__portable_print_list(indexed->dims + batch, indexed->rank - batch, ",", shape,
                                sizeof shape);
    (void)snprintf(text, text_bytes, "indices%s = %s does not index into %sshape %s", place, values,
                   is_gather ? "param " : "", shape);
}

/* `slices` are those of a tensor of `rank` dimensions. */
static gantry_fault_words_t slice_words(const gantry_op_call_t *call,
                                        const gantry__slices_t *slices, int32_t rank) {
    const int32_t input = (int32_t)slices->input;
    const gantry_arg_t *indices = call->inputs[input];
    const bool is_gather = call->op[0] == 'G'; /* GatherNd */
    gantry_fault_words_t words =
        gantry__k_words(is_gather ? "indices@ does not index into param shape [#]"
                                  : "indices@ does not index into shape [#]",
                        indices, indices->rank - 1);

    words.value_text = is_gather ? "indices@ = $ does not index into param shape [#]"
                                 : "indices@ = $ does not index into shape [#]";
    words.value_input = input;
    words.value_count = (int32_t)slices->depth;
    words.accepted_count = rank;
    memcpy(words.accepted, slices->dims, sizeof words.accepted);
    return words;
}

static bool ignores_bad_indices(const gantry_op_call_t *call) {
    return gantry__k_attr_text(call, "bad_indices_policy", "")[0] == 'I'; /* IGNORE */
}

/* The slices of a tensor of `shape` which rows of the op's input name, after `batch` dimensions
 * that both have; *out_slices is their number, in each batch. */
static gantry__slices_t slices_of(const gantry_op_call_t *call, uint32_t input,
                                  const gantry_arg_t *shape, int32_t batch, int64_t *out_slices) {
    const gantry_arg_t *indices = call->inputs[input];
    gantry__slices_t out = {.depth = indices->dims[indices->rank - 1],
                            .inner = 1,
                            .is_wide = indices->dtype == GANTRY_INT64,
                            .ignores_bad = ignores_bad_indices(call),
                            .input = input};

    *out_slices = 1;
    for (int32_t d = 0; d < shape->rank - batch; ++d) {
        out.dims[d] = shape->dims[d + batch];
        *(d < out.depth ? out_slices : &out.inner) *= out.dims[d];
    }
    if (batch > 0) {
        out.batch_rows = gantry__k_extent(indices->dims, batch, indices->rank - 1);
        out.batch_slices = *out_slices;
    }
    return out;
}

static int64_t scatter_rows_of(const gantry_arg_t *indices) {
    int64_t rows = 1;

    for (int32_t d = 0; d < indices->rank - 1; ++d) {
        rows *= indices->dims[d];
    }
    return rows;
}

/* ---- indices of elements ---- */

static int64_t axis_of(const gantry_op_call_t *call) {
    return gantry__k_from_end(gantry__k_attr_int(call, "axis", 0), call->inputs[1]->rank);
}

static void explain_element(const gantry_op_call_t *call, int64_t position, char *text,
                            size_t text_bytes) {
    const gantry_arg_t *indices = call->inputs[1];
    char place[GANTRY_K_PLACE_BYTES];

    gantry__portable_print_place(indices->dims, indices->rank, position, place, sizeof place);
    (void)snprintf(text, text_bytes, "indices%s = %" PRId64 " is not in [0, %" PRId64 ")", place,
                   gantry__k_host_int(indices, position), call->inputs[0]->dims[axis_of(call)]);
}

/* Where the op's input 1 leads in a tensor of `shape`. */
static gantry__elements_t named_elements_of(const gantry_op_call_t *call,
                                            const gantry_arg_t *shape) {
    const gantry_arg_t *indices = call->inputs[1];
    const int64_t axis = axis_of(call);
    gantry__elements_t out = {.rank = 1,
                              .sizes = {1},
                              .limit = shape->dims[axis],
                              .axis_stride = gantry__k_extent(shape->dims, axis + 1, shape->rank),
                              .is_wide = indices->dtype == GANTRY_INT64,
                              .ignores_bad = ignores_bad_indices(call)};

    for (int64_t d = 0; d < indices->rank; ++d) {
        const int64_t size = indices->dims[d],
                      stride = d == axis ? 0 : gantry__k_extent(shape->dims, d + 1, shape->rank);
        const int64_t last = out.rank - 1;
        if (size == 1) continue;
        if (out.sizes[last] == 1 || out.strides[last] == stride * size) {
            out.sizes[last] *= size;
            out.strides[last] = stride;
        } else {
            out.sizes[out.rank] = size;
            out.strides[out.rank++] = stride;
        }
    }
    return out;
}

static gantry__k_item_launch_t elements_launch(const gantry_op_call_t *call, uint32_t item,
                                               gantry__elements_t *parameters) {
    return (gantry__k_item_launch_t){
        .item = item,
        .can_fail = true,
        .never_fails = parameters->ignores_bad,
        .explain = explain_element,
        .words =
            gantry__k_words_of_value("indices@ is not in [0, #)", "indices@ = $ is not in [0, #)",
                                     call, 1, parameters->limit),
        .parameters = parameters,
        .parameter_bytes = sizeof *parameters};
}

/* ---- the order of updates ---- */

static int32_t check_slices(gantry_op_call_t *call, int64_t slices) {
    return slices < MOST_SLICES
               ? GANTRY_OK
               : call->services->fail(call, GANTRY_UNIMPLEMENTED,
                                      "more than 4294967294 slices or segments cannot be numbered");
}

#define LEAST_SHARE INT64_C(8192) /* so many elements of updates pay for a worker */
#define LEAST_COLUMNS 16          /* the least that a worker has */

void gantry__scatter_boxes(const gantry_op_call_t *call, const gantry__k_updates_t *updates,
                           int64_t *out_rows, int64_t *out_columns,
                           gantry__k_item_launch_t *launch) {
    const int64_t worth = updates->count * updates->inner / LEAST_SHARE + 1;
    int64_t workers = gantry__k_units(call);

    workers = workers < worth ? workers : worth;
    *out_columns = updates->inner >= LEAST_COLUMNS * workers ? workers : 1;
    *out_rows = *out_columns > 1 ? 1 : workers;
    launch->count = workers;
    launch->grain = 1;
}

static int32_t sort_updates(gantry_op_call_t *call, gantry__k_updates_t *updates) {
    gantry__k_sort_t sort = {.source = updates->keys,
                             .dtype = GANTRY_UINT32,
                             .rows = 1,
                             .length = updates->count,
                             .inner = 1,
                             .kept = updates->count};
    GANTRY__TRY(gantry__sort_rows(call, &sort));
    updates->keys = sort.keys;
    updates->positions = sort.positions;
    return GANTRY_OK;
}

/* Makes the keys of all updates, in the updates' order. */
static int32_t make_keys(gantry_op_call_t *call, gantry__k_item_launch_t *launch,
                         gantry__k_updates_t *updates) {
    GANTRY__TRY(call->services->scratch(call, (uint64_t)updates->count * 4, &updates->keys));
    launch->t = GANTRY_BOOL;
    launch->count = updates->count;
    if (gantry__k_is_serial(call) && launch->item != ITEM_element_keys) {
        launch->item =
            launch->item == ITEM_slice_keys ? ITEM_slice_keys_run : ITEM_segment_keys_run;
        launch->count = (updates->count + GANTRY_KEYS_RUN - 1) / GANTRY_KEYS_RUN;
        launch->grain = LEAST_SHARE / GANTRY_KEYS_RUN;
    }
    launch->item_bytes = 4;
    launch->can_fail = true;
    launch->spans[1] = updates->keys;
    launch->span_count = 2;
    return scatter_run(call, launch);
}

/* ---- the order of many updates on GPUs, by buckets.cl ---- */

/* In the order of the items whose keys they count. */
static const char *const counted_names[] = {"slice_keys_counted", "segment_keys_counted",
                                            "element_keys_counted"};
static const gantry__k_items_t counted_items = {
    .run = gantry__portable_run_items, .names = counted_names, .source = &scatter_source};

/* What the launches share. */
typedef struct buckets_t {
    gantry_span_t keys, head, ends, crowded; /* head: two words, and the counts */
    gantry__buckets_t parameters;
} buckets_t;

/* Whether the updates are counted, not sorted: where the sort would have some launches more, and
 * the buckets are not many more than the updates. */
static bool has_buckets(const gantry_op_call_t *call, const gantry__k_updates_t *updates) {
    enum { LEAST_UPDATES = 1 << 14, MOST_UPDATES = 1 << 30, BUCKETS_OF_UPDATE = 4 };

    return !gantry__k_is_serial(call) && updates->count >= LEAST_UPDATES &&
           updates->count <= MOST_UPDATES && updates->slices < BUCKETS_OF_UPDATE * updates->count &&
           call->device_info->local_memory_bytes >= GANTRY_BUCKETS_TILE * sizeof(uint32_t);
}

static int32_t take_buckets(gantry_op_call_t *call, gantry__k_updates_t *updates,
                            buckets_t *buckets) {
    const int64_t words = updates->count * 4, counts = (updates->slices + 1) * 4,
                  lists = (updates->count / GANTRY_BUCKETS_FEW + 1) * 4,
                  head = counts + GANTRY_BUCKETS_HEAD * 4;
    const int64_t room_for_alignment = 6 * 16;
    gantry_span_t rest;
    GANTRY__TRY(call->services->scratch(
        call, (uint64_t)(3 * words + head + counts + lists + room_for_alignment), &rest));
    buckets->keys = gantry__k_cut(&rest, words);
    buckets->head = gantry__k_cut(&rest, head);
    buckets->ends = gantry__k_cut(&rest, counts);
    buckets->crowded = gantry__k_cut(&rest, lists);
    updates->keys = gantry__k_cut(&rest, words);
    updates->positions = gantry__k_cut(&rest, words);
    return call->services->fill(call, &buckets->head, "", 1);
}

/* Launches about so many work-items, but not more groups than fill the device. */
static int32_t run_buckets(gantry_op_call_t *call, const char *name, int64_t items,
                           const gantry_launch_arg_t *args, uint32_t arg_count) {
    const gantry__k_options_t options = gantry__k_options_of_type(call, GANTRY_BOOL);
    const int64_t units = call->device_info->compute_units,
                  most = (units > 0 ? units : 1) * GANTRY_K_GROUPS_PER_UNIT;
    gantry_backend_kernel_t *kernel;
    GANTRY__TRY(call->services->kernel(call, &scatter_source, options.text, name, &kernel));
    const uint32_t local = gantry__k_wide_local(call, kernel);
    const int64_t groups = (items + local - 1) / local;

    return gantry__k_launch_groups(call, kernel, (uint64_t)(groups < most ? groups : most), local,
                                   args, arg_count);
}

static int32_t fill_buckets(gantry_op_call_t *call, buckets_t *buckets,
                            const gantry__k_updates_t *updates) {
    const gantry__k_options_t options = gantry__k_options_of_type(call, GANTRY_BOOL);
    const gantry__k_work_t work = gantry__k_work(call, updates->count, sizeof(int32_t), false);
    gantry_backend_kernel_t *kernel;
    const gantry_launch_arg_t args[] = {
        gantry__k_raw_span(buckets->keys), gantry__k_raw_span(buckets->ends),
        gantry__k_raw_span(updates->keys), gantry__k_raw_span(updates->positions),
        gantry__k_scalar(&buckets->parameters, sizeof buckets->parameters)};

    memcpy(&buckets->parameters, &work, sizeof work);
    GANTRY__TRY(
        call->services->kernel(call, &scatter_source, options.text, "buckets_fill", &kernel));
    return gantry__k_launch_work(call, kernel, &work, args, 5);
}

/* `launch` must be that of make_keys. */
static int32_t order_by_buckets(gantry_op_call_t *call, gantry__k_item_launch_t *launch,
                                gantry__k_updates_t *updates) {
    buckets_t buckets = {.parameters = {.slices = updates->slices}};
    GANTRY__TRY(take_buckets(call, updates, &buckets));
    const gantry_launch_arg_t parameters =
        gantry__k_scalar(&buckets.parameters, sizeof buckets.parameters);
    const gantry_launch_arg_t head = gantry__k_raw_span(buckets.head),
                              ends = gantry__k_raw_span(buckets.ends),
                              crowded = gantry__k_raw_span(buckets.crowded),
                              positions = gantry__k_raw_span(updates->positions);

    launch->item = launch->item == ITEM_slice_keys ? 0 : launch->item == ITEM_segment_keys ? 1 : 2;
    launch->t = GANTRY_BOOL;
    launch->count = updates->count;
    launch->item_bytes = 4;
    launch->can_fail = true;
    launch->spans[1] = buckets.keys;
    launch->spans[2] = buckets.head;
    launch->span_count = 3;
    GANTRY__TRY(gantry__portable_run_items(call, &counted_items, launch));
    GANTRY__TRY(run_buckets(call, "buckets_room", updates->slices / GANTRY_BUCKETS_AT_ONCE + 1,
                            (gantry_launch_arg_t[]){head, ends, crowded, parameters}, 4));
    GANTRY__TRY(fill_buckets(call, &buckets, updates));
    return run_buckets(call, "buckets_order", updates->slices + updates->count,
                       (gantry_launch_arg_t[]){head, ends, crowded, positions, parameters}, 5);
}

/* ---- keys of all ops that scatter ---- */

/* Makes keys by the launch, and brings updates that do not stay in order. */
static int32_t order_updates(gantry_op_call_t *call, gantry__k_item_launch_t *launch,
                             gantry__k_updates_t *updates) {
    if (!updates->stay && has_buckets(call, updates)) {
        return order_by_buckets(call, launch, updates);
    }
    GANTRY__TRY(make_keys(call, launch, updates));
    return updates->stay ? GANTRY_OK : sort_updates(call, updates);
}

int32_t gantry__scatter_by_slices(gantry_op_call_t *call, uint32_t input, const gantry_arg_t *shape,
                                  gantry__k_updates_t *updates) {
    int64_t slices;
    gantry__slices_t parameters = slices_of(call, input, shape, 0, &slices);
    gantry__k_item_launch_t launch = {.item = ITEM_slice_keys,
                                      .explain = explain_slice,
                                      .never_fails = parameters.ignores_bad,
                                      .words = slice_words(call, &parameters, shape->rank),
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .spans = {call->inputs[input]->span}};
    GANTRY__TRY(check_slices(call, slices));
    updates->count = parameters.count = scatter_rows_of(call->inputs[input]);
    updates->inner = parameters.inner;
    updates->slices = slices;
    return order_updates(call, &launch, updates);
}

int32_t gantry__scatter_by_elements(gantry_op_call_t *call, const gantry_arg_t *shape,
                                    gantry__k_updates_t *updates) {
    gantry__elements_t parameters = named_elements_of(call, shape);
    gantry__k_item_launch_t launch = elements_launch(call, ITEM_element_keys, &parameters);
    GANTRY__TRY(check_slices(call, shape->element_count));
    updates->count = call->inputs[1]->element_count;
    updates->inner = 1;
    updates->slices = shape->element_count;
    launch.spans[0] = call->inputs[1]->span;
    return order_updates(call, &launch, updates);
}

gantry_fault_words_t gantry__scatter_words(const gantry_op_call_t *call, int64_t input,
                                           int64_t limit, const gantry__k_bad_ids_t *bad) {
    gantry_fault_words_t words =
        gantry__k_words_of_value(bad->words, bad->value_words, call, (int32_t)input, limit);

    words.inside_text = bad->inside_words;
    words.value_end = INT64_MAX;
    return words;
}

int32_t gantry__scatter_by_segments(gantry_op_call_t *call, gantry__segments_t *parameters,
                                    const gantry__k_bad_ids_t *bad, gantry__k_updates_t *updates) {
    const gantry_arg_t *ids = call->inputs[parameters->input];
    gantry__k_item_launch_t launch = {
        .item = ITEM_segment_keys,
        .explain = bad->explain,
        .words = gantry__scatter_words(call, parameters->input, parameters->limit, bad),
        .parameters = parameters,
        .parameter_bytes = sizeof *parameters,
        .spans = {ids->span}};

    updates->slices = updates->count / parameters->per_row * parameters->limit;
    GANTRY__TRY(check_slices(call, updates->slices));
    parameters->is_wide = ids->dtype == GANTRY_INT64;
    parameters->count = updates->count;
    if (!parameters->is_sorted) return order_updates(call, &launch, updates);
    GANTRY__TRY(make_keys(call, &launch, updates));
    updates->positions = updates->keys;
    return GANTRY_OK;
}

/* ---- counts ---- */

int32_t gantry__scatter_count(gantry_op_call_t *call, uint32_t input, int64_t bins,
                              const gantry__k_bad_ids_t *bad, gantry_span_t *out_counts,
                              int64_t *out_tables) {
    const gantry_arg_t *numbers = call->inputs[input];
    const int64_t units = gantry__k_units(call);
    const int64_t worth = numbers->element_count / (bins > LEAST_SHARE ? bins : LEAST_SHARE);
    gantry__bin_parts_t parameters = {.count = numbers->element_count,
                                      .parts = worth < 1       ? 1
                                               : worth < units ? worth
                                                               : units,
                                      .bins = bins,
                                      .is_wide = numbers->dtype == GANTRY_INT64,
                                      .input = input};
    gantry__k_item_launch_t launch = {.item = ITEM_bin_parts,
                                      .t = GANTRY_BOOL,
                                      .count = parameters.parts,
                                      .grain = 1,
                                      .can_fail = true,
                                      .explain = bad->explain,
                                      .words = gantry__scatter_words(call, input, bins, bad),
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .spans = {numbers->span},
                                      .span_count = 2};
    const int32_t status =
        call->services->scratch(call, (uint64_t)(2 * parameters.parts * bins) * 4, out_counts);

    *out_tables = 2 * parameters.parts;
    launch.spans[1] = *out_counts;
    return status == GANTRY_OK ? scatter_run(call, &launch) : status;
}

/* The groups of a launch of bins: few, because each adds its own table to the result. */
static uint64_t bins_groups(const gantry_op_call_t *call, int64_t count, int64_t bins) {
    enum { GROUPS_PER_UNIT = 4, NUMBERS_OF_BIN = 4 };
    const int64_t units = call->device_info->compute_units,
                  most = (units > 0 ? units : 1) * GROUPS_PER_UNIT,
                  least = NUMBERS_OF_BIN * GANTRY_K_LOCAL_MOST,
                  share = bins <= GANTRY_BINS_TABLE && NUMBERS_OF_BIN * bins > least
                              ? NUMBERS_OF_BIN * bins
                              : least,
                  even = (count + share - 1) / share;

    return (uint64_t)(even < most ? even : most);
}

int32_t gantry__scatter_count_here(gantry_op_call_t *call, int64_t bins, int64_t per_row,
                                   const gantry__k_bad_ids_t *bad, bool is_binary) {
    const gantry_arg_t *numbers = call->inputs[0], *out = call->outputs[0];
    const uint32_t words = gantry__k_size(out->dtype) / 4;
    const bool is_float = GANTRY__TYPE_IS(out->dtype, FLOATS);
    const uint64_t one = gantry__type_one(out->dtype);
    const gantry__bins_t parameters = {
        .count = numbers->element_count,
        .per_row = per_row,
        .bins = bins,
        .all_bins = out->element_count,
        .is_wide = numbers->dtype == GANTRY_INT64,
        .words = words,
        .word = is_binary && is_float ? words - 1 : 0, /* where the bits of 1.0 are */
        .mark = !is_binary ? 0 : (int64_t)(is_float ? one >> 32 * (words - 1) : one)};
    const gantry_fault_words_t words_of_bad = gantry__scatter_words(call, 0, bins, bad);
    gantry__k_options_t options = gantry__k_options_of_type(call, GANTRY_BOOL);
    gantry_backend_kernel_t *kernel;
    gantry_span_t fault;

    if (call->device_info->local_memory_bytes < GANTRY_BINS_TABLE * sizeof(uint32_t)) {
        gantry__k_define(&options, "BINS_TABLE", 1);
    }
    if (parameters.count > UINT32_MAX) {
        return call->services->fail(call, GANTRY_UNIMPLEMENTED,
                                    "4294967296 numbers or more are not counted");
    }
    GANTRY__TRY(call->services->kernel(call, &scatter_source, options.text, "bins", &kernel));
    GANTRY__TRY(gantry__k_fault(call, &words_of_bad, &fault));
    const gantry_launch_arg_t args[] = {gantry__k_span(numbers), gantry__k_span(out),
                                        gantry__k_scalar(&parameters, sizeof parameters),
                                        gantry__k_raw_span(fault)};

    return gantry__k_launch_groups(call, kernel,
                                   bins_groups(call, parameters.count, parameters.all_bins),
                                   gantry__k_wide_local(call, kernel), args, 4);
}

/* ---- updates in any order ---- */

int32_t gantry__scatter_unsorted(gantry_op_call_t *call, int32_t operation,
                                 const gantry__k_updates_t *updates, const gantry_span_t *values) {
    const gantry_arg_t *out = call->outputs[0];
    const gantry__k_options_t options = gantry__k_options_of_type(call, GANTRY_BOOL);
    const gantry__k_work_t work =
        gantry__k_work(call, updates->count * updates->inner, sizeof(int32_t), false);
    const gantry__unsorted_t parameters = {
        .work = {.count = work.count, .run = work.run, .stream = work.stream},
        .inner = updates->inner,
        .operation = operation,
        .is_signed = out->dtype == GANTRY_INT32};
    const gantry_launch_arg_t args[] = {gantry__k_raw_span(updates->keys),
                                        gantry__k_raw_span(*values), gantry__k_span(out),
                                        gantry__k_scalar(&parameters, sizeof parameters)};
    gantry_backend_kernel_t *kernel;

    GANTRY__TRY(call->services->kernel(call, &scatter_source, options.text, "unsorted", &kernel));
    return gantry__k_launch_work(call, kernel, &work, args, 4);
}

/* ---- GatherNd, GatherElements, TensorScatterUpdate ---- */

static int32_t compute_gather_nd(gantry_op_call_t *call) {
    const gantry_arg_t *params = call->inputs[0], *indices = call->inputs[1],
                       *out = call->outputs[0];
    /* batch_dims: what the indices neither name nor leave to the result */
    const int32_t depth = (int32_t)indices->dims[indices->rank - 1],
                  batch = params->rank - depth - (out->rank - (indices->rank - 1));
    int64_t slices;
    gantry__slices_t parameters = slices_of(call, 1, params, batch, &slices);
    gantry__k_item_launch_t launch = {.item = ITEM_gather_nd,
                                      .t = gantry__k_twin(params->dtype),
                                      .count = out->element_count,
                                      .can_fail = true,
                                      .never_fails = parameters.ignores_bad,
                                      .explain = explain_slice,
                                      .words = slice_words(call, &parameters, params->rank - batch),
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .spans = {params->span, indices->span, out->span},
                                      .span_count = 3};

    return scatter_run(call, &launch);
}

static int32_t update_in_order(gantry_op_call_t *call, const gantry__k_updates_t *updates,
                               const gantry_span_t *values) {
    gantry__scatter_last_t parameters = {
        .count = updates->count, .inner = updates->inner, .slices = updates->slices};
    gantry__k_item_launch_t launch = {.item = ITEM_scatter_direct,
                                      .t = gantry__k_twin(call->outputs[0]->dtype),
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .spans = {updates->keys, *values, call->outputs[0]->span},
                                      .span_count = 3};

    gantry__scatter_boxes(call, updates, &parameters.rows, &parameters.columns, &launch);
    return scatter_run(call, &launch);
}

int32_t gantry__scatter_replace(gantry_op_call_t *call, const gantry__k_updates_t *updates,
                                const gantry_span_t *values) {
    const gantry_arg_t *out = call->outputs[0];
    if (updates->stay) return update_in_order(call, updates, values);
    gantry__scatter_last_t parameters = {.count = updates->count, .inner = updates->inner};
    gantry__k_item_launch_t launch = {
        .item = ITEM_scatter_last,
        .t = gantry__k_twin(out->dtype),
        .count = updates->count * updates->inner,
        .parameters = &parameters,
        .parameter_bytes = sizeof parameters,
        .spans = {updates->keys, updates->positions, *values, out->span},
        .span_count = 4};
    return scatter_run(call, &launch);
}

static int32_t compute_update(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0], *values = call->inputs[2];
    gantry__k_updates_t updates = {.stay = gantry__k_is_serial(call)};
    GANTRY__TRY(call->services->copy(call, &out->span, &call->inputs[0]->span));
    if (values->element_count == 0) return GANTRY_OK;
    GANTRY__TRY(gantry__scatter_by_slices(call, 1, out, &updates));
    return gantry__scatter_replace(call, &updates, &values->span);
}

static int32_t compute_gather_elements(gantry_op_call_t *call) {
    const gantry_arg_t *data = call->inputs[0], *out = call->outputs[0];
    gantry__elements_t parameters = named_elements_of(call, data);
    gantry__k_item_launch_t launch = elements_launch(call, ITEM_gather_elements, &parameters);

    launch.t = gantry__k_twin(data->dtype);
    launch.count = out->element_count;
    launch.spans[0] = data->span;
    launch.spans[1] = call->inputs[1]->span;
    launch.spans[2] = out->span;
    launch.span_count = 3;
    return scatter_run(call, &launch);
}

static const gantry_type_constraint_t gather_nd_types[] = {{"Tparams", GANTRY_DTYPES_ANY},
                                                           {"Tindices", GANTRY_DTYPES_INTS}};
static const gantry_type_constraint_t update_types[] = {{"T", GANTRY_DTYPES_ANY},
                                                        {"Tindices", GANTRY_DTYPES_INTS}};

GANTRY_K_ITEM_KERNEL(gather_nd, scatter, "GatherNd", gather_nd_types, compute_gather_nd);
GANTRY_K_ITEM_KERNEL(gather_elements, scatter, "GatherElements", update_types,
                     compute_gather_elements);
GANTRY_K_ITEM_KERNEL_IN_PLACE(update, scatter, "TensorScatterUpdate", update_types, compute_update);

#define OPS(OP)         \
    OP(gather_nd)       \
    OP(gather_elements) \
    OP(update)
GANTRY_K_ITEM_PACK(scatter, OPS);
