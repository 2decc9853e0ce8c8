/* SPDX-License-Identifier: Apache-2.0 */
/* Ops whose data decides the length of the result: Where, Unique, UniqueWithCounts. */
#include "kernels/index/compaction_items.h"

#include "kernels/sort/sort_items.h"

#define MOST_LEVELS 12 /* 64^12 exceeds any count */

GANTRY_K_ITEM_TEXTS(compaction, GANTRY_COMPACTION_ITEMS, gantry__text_indices,
                    gantry__text_compaction);

static int64_t chunks_of(int64_t count) {
    return (count + GANTRY_SCAN_CHUNK - 1) / GANTRY_SCAN_CHUNK;
}

/* ---- counts become places ---- */

/* Runs an item for each chunk of `count` numbers. Sums or bases must have one number for each
 * chunk. */
static int32_t scan_level(gantry_op_call_t *call, uint32_t item, int32_t t, int64_t count,
                          bool has_base, gantry_span_t first, gantry_span_t second) {
    gantry__scan_t parameters = {.count = count, .has_base = has_base};
    gantry__k_item_launch_t launch = {.item = item,
                                      .t = t,
                                      .count = chunks_of(count),
                                      .item_bytes = 8,
                                      .is_costly = true,
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters,
                                      .spans = {first, second},
                                      .span_count = 2};

    return gantry__k_run_items(call, &launch);
}

/* Replaces each of `count` 64-bit numbers by the sum of those before it. *out_total is the sum of
 * all; reading it waits for the device. t must be a type that the call's programs have. */
static int32_t scan(gantry_op_call_t *call, int32_t t, gantry_span_t numbers, int64_t count,
                    int64_t *out_total) {
    gantry_span_t levels[MOST_LEVELS] = {numbers}, rest;
    int64_t counts[MOST_LEVELS] = {count}, more = 0;
    int top = 0;
    do {
        top++;
        counts[top] = chunks_of(counts[top - 1]);
        more += counts[top] * 8 + 16;
    } while (counts[top] > 1);
    GANTRY__TRY(call->services->scratch(call, (uint64_t)more, &rest));
    for (int k = 1; k <= top; ++k) {
        levels[k] = gantry__k_cut(&rest, counts[k] * 8);
        GANTRY__TRY(
            scan_level(call, ITEM_scan_sums, t, counts[k - 1], 0, levels[k - 1], levels[k]));
    }
    for (int k = top - 1; k >= 0; --k) {
        GANTRY__TRY(scan_level(call, ITEM_scan_spread, t, counts[k], k + 1 < top, levels[k + 1],
                               levels[k]));
    }
    return call->services->read(call, &levels[top], out_total, 8);
}

/* ---- Where ---- */

/* The bits that make an element true, which are all bits but the signs of zeros. */
static uint64_t truth_mask(int32_t dtype) {
    if (dtype == GANTRY_COMPLEX64) return UINT64_C(0x7fffffff7fffffff);
    if (dtype == GANTRY_COMPLEX128) return UINT64_C(0x7fffffffffffffff); /* of each part */

    const uint64_t sign = UINT64_C(1) << (8 * gantry__k_size(dtype) - 1);
    return gantry__type_exponent_bits(dtype) > 0 ? sign - 1 : sign | (sign - 1);
}

static int32_t compute_where(gantry_op_call_t *call) {
    const gantry_arg_t *x = call->inputs[0];
    gantry__where_t where = {
        .count = x->element_count, .mask = truth_mask(x->dtype), .rank = x->rank};
    int64_t dims[2] = {0, x->rank};
    gantry__k_item_launch_t launch = {.item = ITEM_where_count,
                                      .t = gantry__k_twin(x->dtype),
                                      .count = chunks_of(x->element_count),
                                      .item_bytes = 8,
                                      .is_costly = true,
                                      .parameters = &where,
                                      .parameter_bytes = sizeof where,
                                      .spans = {x->span},
                                      .span_count = 2};

    memcpy(where.dims, x->dims, (size_t)x->rank * sizeof x->dims[0]);
    if (launch.count > 0) {
        GANTRY__TRY(call->services->scratch(call, (uint64_t)launch.count * 8, &launch.spans[1]));
        GANTRY__TRY(gantry__k_run_items(call, &launch));
        GANTRY__TRY(scan(call, launch.t, launch.spans[1], launch.count, &dims[0]));
    }
    GANTRY__TRY(call->services->allocate_output(call, 0, 2, dims));
    if (dims[0] == 0) return GANTRY_OK;
    launch.item = ITEM_where_write;
    launch.spans[2] = call->outputs[0]->span;
    launch.span_count = 3;
    return gantry__k_run_items(call, &launch);
}

/* ---- Unique ---- */

/* Runs an item over the elements of Unique's input. */
static int32_t run_unique(gantry_op_call_t *call, uint32_t item, int64_t item_bytes,
                          const gantry_span_t *spans, uint32_t span_count) {
    const gantry_arg_t *x = call->inputs[0];
    gantry__unique_t unique = {.count = x->element_count,
                               .is_float = GANTRY__TYPE_IS(x->dtype, FLOATING),
                               .is_wide = call->outputs[1]->dtype == GANTRY_INT64};
    gantry__k_item_launch_t launch = {.item = item,
                                      .t = gantry__k_twin(x->dtype),
                                      .count = x->element_count,
                                      .item_bytes = item_bytes,
                                      .parameters = &unique,
                                      .parameter_bytes = sizeof unique,
                                      .span_count = span_count};

    memcpy(launch.spans, spans, span_count * sizeof spans[0]);
    return gantry__k_run_items(call, &launch);
}

/* Numbers the values by the position of their first element. ranks[i] of any other element is the
 * number of the next new value. ranks has one more number than there are elements. */
static int32_t rank_values(gantry_op_call_t *call, const gantry__k_sort_t *sort,
                           gantry_span_t *ranks, int64_t *out_values) {
    const int64_t bytes = sort->length * 8;
    GANTRY__TRY(call->services->scratch(call, (uint64_t)bytes + 8, ranks));
    const gantry_span_t last = {ranks->region, ranks->offset_bytes + (uint64_t)bytes, 8};

    GANTRY__TRY(call->services->fill(call, &last, "", 1));
    GANTRY__TRY(run_unique(call, ITEM_unique_marks, 8,
                           (gantry_span_t[]){sort->keys, sort->positions, *ranks}, 3));
    return scan(call, gantry__k_twin(sort->dtype), *ranks, sort->length + 1, out_values);
}

static int32_t make_outputs(gantry_op_call_t *call, int64_t values) {
    GANTRY__TRY(call->services->allocate_output(call, 0, 1, &values));
    if (call->output_count <= 2) return GANTRY_OK;
    return call->services->allocate_output(call, 2, 1, &values);
}

static int32_t write_outputs(gantry_op_call_t *call, const gantry__k_sort_t *sort,
                             gantry_span_t ranks) {
    const gantry_arg_t *y = call->outputs[0], *idx = call->outputs[1];
    const int64_t index_bytes = gantry__k_size(idx->dtype);
    GANTRY__TRY(run_unique(call, ITEM_unique_values, 0,
                           (gantry_span_t[]){sort->source, ranks, y->span}, 3));
    GANTRY__TRY(run_unique(call, ITEM_unique_indices, index_bytes,
                           (gantry_span_t[]){sort->keys, sort->positions, ranks, idx->span}, 4));
    if (call->output_count <= 2) return GANTRY_OK;
    return run_unique(call, ITEM_unique_counts, index_bytes,
                      (gantry_span_t[]){sort->keys, sort->positions, ranks, call->outputs[2]->span},
                      4);
}

/* ---- Unique on processors ---- */

#define LEAST_PART INT64_C(16384) /* so many elements pay for a thread */

typedef struct heads_t {
    gantry__heads_t parameters;
    gantry__k_sort_t elements, stand; /* sorted, and sorted heads */
    gantry_span_t counts, lists;      /* what the parts have (gantry__heads_t) */
} heads_t;

/* Runs `count` items; `grain` items pay for a thread. */
static int32_t run_heads(gantry_op_call_t *call, heads_t *heads, uint32_t item, int64_t count,
                         int64_t grain, const gantry_span_t *spans, uint32_t span_count) {
    gantry__k_item_launch_t launch = {.item = item,
                                      .t = gantry__k_twin(call->inputs[0]->dtype),
                                      .count = count,
                                      .grain = grain,
                                      .parameters = &heads->parameters,
                                      .parameter_bytes = sizeof heads->parameters,
                                      .span_count = span_count};

    memcpy(launch.spans, spans, span_count * sizeof spans[0]);
    return gantry__k_run_items(call, &launch);
}

/* Counts the heads of the parts. Reading the sum waits for the device. */
static int32_t count_heads(gantry_op_call_t *call, heads_t *heads) {
    const int64_t parts = heads->parameters.parts;
    int64_t counts[GANTRY_K_MOST_UNITS];
    GANTRY__TRY(call->services->scratch(call, (uint64_t)parts * 8, &heads->counts));
    GANTRY__TRY(run_heads(call, heads, ITEM_heads_count, parts, 1,
                          (gantry_span_t[]){heads->elements.keys, heads->counts}, 2));
    GANTRY__TRY(call->services->read(call, &heads->counts, counts, (uint64_t)parts * 8));
    for (int64_t part = 0; part < parts; ++part) heads->parameters.values += counts[part];
    return GANTRY_OK;
}

/* Lists the heads, and numbers them by position. */
static int32_t list_heads(gantry_op_call_t *call, heads_t *heads) {
    const int64_t values = heads->parameters.values;
    GANTRY__TRY(call->services->scratch(call, (uint64_t)(3 * values + 1) * 4, &heads->lists));
    GANTRY__TRY(run_heads(call, heads, ITEM_heads_write, heads->parameters.parts, 1,
                          (gantry_span_t[]){heads->elements.keys, heads->elements.positions,
                                            heads->counts, heads->lists},
                          4));
    heads->stand = (gantry__k_sort_t){.source = heads->lists,
                                      .dtype = GANTRY_UINT32,
                                      .rows = 1,
                                      .length = values,
                                      .inner = 1,
                                      .kept = values};
    heads->stand.source.offset_bytes += (uint64_t)(values + 1) * 4;
    heads->stand.source.size_bytes = (uint64_t)values * 4;
    GANTRY__TRY(gantry__sort_rows(call, &heads->stand));
    return run_heads(call, heads, ITEM_heads_number, values, LEAST_PART,
                     (gantry_span_t[]){heads->stand.positions, heads->lists}, 2);
}

static int32_t write_by_heads(gantry_op_call_t *call, heads_t *heads) {
    const int64_t values = heads->parameters.values;
    GANTRY__TRY(run_heads(
        call, heads, ITEM_heads_values, values, LEAST_PART,
        (gantry_span_t[]){heads->elements.source, heads->stand.keys, call->outputs[0]->span}, 3));
    GANTRY__TRY(run_heads(call, heads, ITEM_heads_indices, heads->parameters.parts, 1,
                          (gantry_span_t[]){heads->elements.positions, heads->counts, heads->lists,
                                            call->outputs[1]->span},
                          4));
    if (call->output_count <= 2) return GANTRY_OK;
    return run_heads(
        call, heads, ITEM_heads_lengths, values, LEAST_PART,
        (gantry_span_t[]){heads->stand.positions, heads->lists, call->outputs[2]->span}, 3);
}

static int32_t unique_by_heads(gantry_op_call_t *call, const gantry__k_sort_t *sorted) {
    const int64_t units = gantry__k_units(call), worth = sorted->length / LEAST_PART + 1;
    heads_t heads = {.parameters = {.count = sorted->length,
                                    .parts = worth < units ? worth : units,
                                    .is_float = GANTRY__TYPE_IS(sorted->dtype, FLOATING),
                                    .is_wide = call->outputs[1]->dtype == GANTRY_INT64},
                     .elements = *sorted};
    GANTRY__TRY(count_heads(call, &heads));
    GANTRY__TRY(list_heads(call, &heads));
    GANTRY__TRY(make_outputs(call, heads.parameters.values));
    return write_by_heads(call, &heads);
}

static int32_t compute_unique(gantry_op_call_t *call) {
    const gantry_arg_t *x = call->inputs[0];
    gantry__k_sort_t sort = {.source = x->span,
                             .dtype = x->dtype,
                             .rows = 1,
                             .length = x->element_count,
                             .inner = 1,
                             .kept = x->element_count};
    if (x->element_count == 0) return make_outputs(call, 0);
    GANTRY__TRY(gantry__sort_rows(call, &sort));
    if (gantry__k_is_serial(call)) return unique_by_heads(call, &sort);
    gantry_span_t ranks;
    int64_t values = 0;
    GANTRY__TRY(rank_values(call, &sort, &ranks, &values));
    GANTRY__TRY(make_outputs(call, values));
    return write_outputs(call, &sort, ranks);
}

static const gantry_type_constraint_t unique_types[] = {{"T", GANTRY_DTYPES_NUMERIC_BOOL}};

GANTRY_K_ITEM_KERNEL(where, compaction, "Where", gantry__k_any_type, compute_where);
GANTRY_K_ITEM_KERNEL(unique, compaction, "Unique", unique_types, compute_unique);
GANTRY_K_ITEM_KERNEL(unique_with_counts, compaction, "UniqueWithCounts", unique_types,
                     compute_unique);

#define OPS(OP) \
    OP(where)   \
    OP(unique)  \
    OP(unique_with_counts)
GANTRY_K_ITEM_PACK(compaction, OPS);
