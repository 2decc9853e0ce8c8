/* SPDX-License-Identifier: Apache-2.0 */
/* Ops whose data decides the length of the result: Where, Unique, UniqueWithCounts. */
#include "kernels/index/compaction_items.h"

#include "kernels/common/program_options.h"
#include "kernels/sort/sort_items.h"

#include "kernels/index/unique.cl"

#define MOST_LEVELS 12 /* 64^12 exceeds any count */

GANTRY_K_ITEM_TEXTS(compaction, GANTRY_COMPACTION_ITEMS, gantry__text_indices,
                    gantry__text_compaction);
GANTRY_K_PROGRAM(unique_source, "portable/unique", gantry__text_half, gantry__text_work,
                 gantry__text_item, gantry__text_indices, gantry__text_sort_key,
                 gantry__text_unique);

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

/* Whether one group scans so many numbers sooner than several launches do. */
static bool is_for_group(const gantry_op_call_t *call, int64_t count) {
    enum { MOST_OF_GROUP = 1 << 15 };

    return !gantry__k_is_serial(call) && count <= MOST_OF_GROUP;
}

static int32_t scan_in_group(gantry_op_call_t *call, int32_t t, gantry_span_t numbers,
                             int64_t count, gantry_span_t total) {
    const gantry__scan_t parameters = {.count = count};
    const gantry__k_options_t options = gantry__k_options_of_type(call, t);
    const gantry_launch_arg_t args[] = {gantry__k_raw_span(numbers), gantry__k_raw_span(total),
                                        gantry__k_scalar(&parameters, sizeof parameters)};
    gantry_backend_kernel_t *kernel;

    GANTRY__TRY(
        call->services->kernel(call, &compaction_source, options.text, "scan_group", &kernel));
    return gantry__k_launch_groups(call, kernel, 1, gantry__k_wide_local(call, kernel), args, 3);
}

/* Replaces each of `count` 64-bit numbers by the sum of those before it, and leaves the sum of all
 * in `total`. t must be a type that the call's programs have. */
static int32_t scan(gantry_op_call_t *call, int32_t t, gantry_span_t numbers, int64_t count,
                    gantry_span_t total) {
    gantry_span_t levels[MOST_LEVELS] = {numbers}, rest;
    int64_t counts[MOST_LEVELS] = {count}, more = 0;
    int top = 0, level = 0;
    do {
        top++;
        counts[top] = chunks_of(counts[top - 1]);
        more += counts[top] * 8 + 16;
    } while (counts[top] > 1);
    GANTRY__TRY(call->services->scratch(call, (uint64_t)more, &rest));
    for (int k = 1; k < top; ++k) levels[k] = gantry__k_cut(&rest, counts[k] * 8);
    levels[top] = total;
    for (; level < top && !is_for_group(call, counts[level]); ++level) {
        GANTRY__TRY(scan_level(call, ITEM_scan_sums, t, counts[level], 0, levels[level],
                               levels[level + 1]));
    }
    if (level < top) GANTRY__TRY(scan_in_group(call, t, levels[level], counts[level], total));
    for (int k = level - 1; k >= 0; --k) {
        GANTRY__TRY(scan_level(call, ITEM_scan_spread, t, counts[k], k + 1 < top, levels[k + 1],
                               levels[k]));
    }
    return GANTRY_OK;
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
        gantry_span_t total;
        GANTRY__TRY(call->services->scratch(call, sizeof dims[0], &total));
        GANTRY__TRY(scan(call, launch.t, launch.spans[1], launch.count, total));
        GANTRY__TRY(call->services->read(call, &total, &dims[0], sizeof dims[0]));
    }
    GANTRY__TRY(call->services->allocate_output(call, 0, 2, dims));
    if (dims[0] == 0) return GANTRY_OK;
    launch.item = ITEM_where_write;
    launch.spans[2] = call->outputs[0]->span;
    launch.span_count = 3;
    return gantry__k_run_items(call, &launch);
}

/* ---- Unique ---- */

static int32_t make_outputs(gantry_op_call_t *call, int64_t values) {
    GANTRY__TRY(call->services->allocate_output(call, 0, 1, &values));
    if (call->output_count <= 2) return GANTRY_OK;
    return call->services->allocate_output(call, 2, 1, &values);
}

/* ---- Unique by a sort: on processors, and where the table has no room ---- */

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

/* ---- Unique on GPUs ---- */

typedef struct table_t {
    gantry__unique_table_t parameters;
    int32_t t;
    int64_t tiles;
    /* after the places of the table: the number of values, and whether a key was too far */
    gantry_span_t table, ends, too_far, places, counts;
} table_t;

static int32_t take_table(gantry_op_call_t *call, table_t *table) {
    const int64_t count = table->parameters.count, alignment = 3 * 16;
    gantry_span_t rest;
    while (table->parameters.mask < 2 * count) table->parameters.mask *= 2;
    const int64_t bytes = table->parameters.mask-- * 4;
    table->tiles = (count + GANTRY_UNIQUE_TILE - 1) / GANTRY_UNIQUE_TILE;
    GANTRY__TRY(call->services->scratch(
        call, (uint64_t)(bytes + 16 + count * 4 + table->tiles * 8 + alignment), &rest));
    table->table = gantry__k_cut(&rest, bytes + 16);
    table->ends = table->table;
    table->ends.offset_bytes += (uint64_t)bytes;
    table->ends.size_bytes = 16;
    table->too_far = table->ends;
    table->too_far.offset_bytes += 8;
    table->too_far.size_bytes = 8;
    table->places = gantry__k_cut(&rest, count * 4);
    table->counts = gantry__k_cut(&rest, table->tiles * 8);
    return call->services->fill(call, &table->table, "", 1);
}

/* Runs a kernel over the elements, or over tiles of them. */
static int32_t run_table(gantry_op_call_t *call, table_t *table, const char *name, bool is_tiled,
                         const gantry_span_t *spans, uint32_t span_count) {
    const gantry__k_options_t options = gantry__k_options_of_type(call, table->t);
    const gantry__k_work_t work =
        gantry__k_work(call, table->parameters.count, sizeof(int32_t), true);
    gantry_launch_arg_t args[6];
    gantry_backend_kernel_t *kernel;
    memcpy(&table->parameters, &work, sizeof work);
    for (uint32_t k = 0; k < span_count; ++k) args[k] = gantry__k_raw_span(spans[k]);
    args[span_count] = gantry__k_scalar(&table->parameters, sizeof table->parameters);
    GANTRY__TRY(call->services->kernel(call, &unique_source, options.text, name, &kernel));
    return is_tiled
               ? gantry__k_launch_groups(call, kernel, (uint64_t)table->tiles,
                                         gantry__k_wide_local(call, kernel), args, span_count + 1)
               : gantry__k_launch_work(call, kernel, &work, args, span_count + 1);
}

/* Fills the table. *out_values is -1 if a key was not found within its probes; reading it waits for
 * the device. */
static int32_t fill_table(gantry_op_call_t *call, table_t *table, int64_t *out_values) {
    uint64_t ends[2] = {0};
    GANTRY__TRY(run_table(
        call, table, "unique_find", false,
        (gantry_span_t[]){call->inputs[0]->span, table->table, table->places, table->too_far}, 4));
    GANTRY__TRY(run_table(call, table, "unique_count", true,
                          (gantry_span_t[]){table->table, table->places, table->counts}, 3));
    GANTRY__TRY(scan(call, table->t, table->counts, table->tiles, table->ends));
    GANTRY__TRY(call->services->read(call, &table->ends, ends, sizeof ends));
    *out_values = ends[1] == 0 ? (int64_t)ends[0] : -1;
    return GANTRY_OK;
}

static int32_t write_by_table(gantry_op_call_t *call, table_t *table) {
    const gantry_arg_t *x = call->inputs[0], *values = call->outputs[0], *idx = call->outputs[1];
    const gantry_span_t counts = call->output_count > 2 ? call->outputs[2]->span : idx->span;
    if (table->parameters.counts) GANTRY__TRY(call->services->fill(call, &counts, "", 1));
    GANTRY__TRY(run_table(
        call, table, "unique_put", true,
        (gantry_span_t[]){x->span, table->table, table->places, table->counts, values->span}, 5));
    return run_table(call, table, "unique_number", false,
                     (gantry_span_t[]){table->table, table->places, idx->span, counts}, 4);
}

/* *out_done is false if the table had no room for a key. */
static int32_t unique_by_table(gantry_op_call_t *call, bool *out_done) {
    const gantry_arg_t *x = call->inputs[0];
    table_t table = {.parameters = {.order = gantry__sort_order(x->dtype, false, false),
                                    .count = x->element_count,
                                    .mask = 1,
                                    .is_float = GANTRY__TYPE_IS(x->dtype, FLOATING),
                                    .is_wide = call->outputs[1]->dtype == GANTRY_INT64,
                                    .counts = call->output_count > 2},
                     .t = gantry__k_twin(x->dtype)};
    int64_t values;
    GANTRY__TRY(take_table(call, &table));
    GANTRY__TRY(fill_table(call, &table, &values));
    *out_done = values >= 0;
    if (!*out_done) return GANTRY_OK;
    GANTRY__TRY(make_outputs(call, values));
    return write_by_table(call, &table);
}

static int32_t compute_unique(gantry_op_call_t *call) {
    enum { MOST_OF_TABLE = 1 << 29 };
    const gantry_arg_t *x = call->inputs[0];
    gantry__k_sort_t sort = {.source = x->span,
                             .dtype = x->dtype,
                             .rows = 1,
                             .length = x->element_count,
                             .inner = 1,
                             .kept = x->element_count};
    bool is_done = false;
    if (x->element_count == 0) return make_outputs(call, 0);
    if (!gantry__k_is_serial(call) && x->element_count <= MOST_OF_TABLE) {
        GANTRY__TRY(unique_by_table(call, &is_done));
    }
    if (is_done) return GANTRY_OK;
    GANTRY__TRY(gantry__sort_rows(call, &sort));
    return unique_by_heads(call, &sort);
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
