/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting on processors, for the ops of sort_items.c and for other families. */
#include "kernels/sort/radix_items.h"

#define LEAST_PART INT64_C(16384) /* so many elements pay for a thread */
/* from so many elements on, keys exceed the inner caches and buckets are faster */
#define LONG_ROW INT64_C(131072)
#define SHARES_PER_UNIT 4 /* shares of buckets differ in length, so there are more than threads */
/* the keys of a bucket: the bucket and its copy fit in the first-level cache */
#define BUCKET INT64_C(2048)
#define LEAST_BUCKETS INT64_C(16)
#define BIN INT64_C(16) /* the keys of a part for each bin */
#define MOST_BINS INT64_C(16384)
#define FEW_ROWS INT64_C(8)       /* least number of short rows: empty lanes cost less than them */
#define SHORT_BYTES INT64_C(2048) /* the most bytes of the keys of a short row */
/* the most bytes of the keys of a row; longer rows are faster by digits */
#define NETWORK_BYTES INT64_C(131072)
#define NARROW_BYTES INT64_C(4096) /* the same, without vectors of 8 elements */
#define SHORTEST_GROUP INT64_C(16) /* elements of a group whose least is found */
#define LONGEST_GROUP INT64_C(1024)
#define LEAST_ROOM INT64_C(256)
#define PLACE_GAP INT64_C(1088)

GANTRY_K_ITEM_TEXTS(radix, GANTRY_RADIX_ITEMS, gantry__text_indices, gantry__text_sort_key,
                    gantry__text_radix_pairs, gantry__text_radix, gantry__text_sort_network_rows,
                    gantry__text_sort_network, gantry__text_top_k);

static int32_t radix_run(gantry_op_call_t *call, gantry__k_item_launch_t *launch, uint32_t item,
                         int64_t count, int64_t grain) {
    launch->item = item;
    launch->count = count;
    launch->grain = grain;
    return gantry__k_run_items_of(call, &radix_items, &gantry__cpu_radix_items, launch);
}

/* The number of parts of each of `rows` rows, so that each thread has one. */
static int64_t radix_parts_of(const gantry_op_call_t *call, int64_t rows, int64_t length,
                              int64_t least) {
    const int64_t parts = (gantry__k_units(call) + rows - 1) / rows, most = length / least;

    return most < 1 ? 1 : parts < most ? parts : most;
}

static int64_t between(int64_t value, int64_t least, int64_t most) {
    return value < least ? least : value > most ? most : value;
}

/* The number of rows that pay for a thread. */
static int64_t radix_rows_of(int64_t length) {
    return length < LEAST_PART ? LEAST_PART / length : 1;
}

/* The place of the next `bytes` of a scratch that ends at *end. Arrays of 2^k elements are walked
 * together; the gap between two places keeps them out of the same sets of a cache. */
static int64_t add_place(int64_t *end, int64_t bytes) {
    const int64_t place = *end;

    *end += (bytes + 63) / 64 * 64 + PLACE_GAP;
    return place;
}

static gantry_span_t span_at(gantry_span_t scratch, int64_t place, int64_t bytes) {
    return (gantry_span_t){scratch.region, scratch.offset_bytes + (uint64_t)place, (uint64_t)bytes};
}

/* ---- all of each row, by digits ---- */

/* Chooses parts, takes the scratch and divides it. in_parts: rows are not sorted one by one. */
static int32_t radix_prepare(gantry_op_call_t *call, const gantry__k_sort_t *sort,
                             gantry__radix_t *out, gantry_span_t *scratch, int *in_parts) {
    const int64_t elements = sort->rows * sort->length, units = gantry__k_units(call);
    int64_t end = 0;

    out->order = gantry__sort_order(sort->dtype, sort->descending, sort->is_total);
    out->length = sort->length;
    out->inner = sort->inner;
    out->parts = radix_parts_of(call, sort->rows, sort->length, LEAST_PART);
    out->shares = SHARES_PER_UNIT * ((units + sort->rows - 1) / sort->rows);
    for (int k = 0; k < 2; ++k) {
        out->keys[k] = add_place(&end, elements * gantry__k_key_bytes(sort->dtype));
        out->positions[k] = add_place(&end, out->has_positions ? elements * 4 : 0);
    }
    *in_parts = out->parts > 1 || sort->length >= LONG_ROW;
    if (*in_parts) {
        out->bounds = add_place(&end, sort->rows * out->parts * 3 * 8);
        out->buckets = between(sort->length / BUCKET, LEAST_BUCKETS, GANTRY_RADIX_BUCKETS);
        out->bins = between(sort->length / (BIN * out->parts), out->buckets, MOST_BINS);
        out->counts = add_place(&end, sort->rows * out->parts * out->bins * 4);
        out->tables = add_place(&end, sort->rows * out->parts * out->bins * 2);
        out->starts = add_place(&end, sort->rows * (out->buckets + 1) * 4);
    }
    return call->services->scratch(call, (uint64_t)end, scratch);
}

/* Sorts rows in parts. If the elements are not wanted, out may be the scratch. */
static int32_t sort_parts(gantry_op_call_t *call, const gantry__k_sort_t *sort,
                          gantry__k_item_launch_t *launch, const gantry__radix_t *parameters,
                          gantry_span_t scratch, gantry_span_t out) {
    const int64_t parts = sort->rows * parameters->parts;
    launch->spans[0] = sort->source;
    launch->spans[1] = scratch;
    launch->span_count = 2;
    GANTRY__TRY(radix_run(call, launch, ITEM_radix_keys, parts, 1));
    launch->spans[0] = scratch;
    launch->spans[1] = out;
    launch->span_count = 1;
    GANTRY__TRY(radix_run(call, launch, ITEM_radix_count, parts, 1));
    GANTRY__TRY(radix_run(call, launch, ITEM_radix_spread, parts, 1));
    launch->span_count = 2;
    GANTRY__TRY(radix_run(call, launch, ITEM_radix_finish, sort->rows * parameters->shares, 1));
    if (parameters->has_positions || parameters->order.infinity == 0) return GANTRY_OK;
    launch->spans[0] = sort->source;
    launch->spans[1] = scratch;
    launch->spans[2] = out;
    launch->span_count = 3;
    return radix_run(call, launch, ITEM_radix_restore, sort->rows, 1);
}

/* ---- short rows, many at a time ---- */

static int64_t lane_bytes(const gantry__k_sort_t *sort, bool has_positions) {
    return has_positions ? 8 : gantry__k_key_bytes(sort->dtype);
}

/* Whether the network sorts the rows. Keys of eight bytes have no room for positions in their
 * lanes. */
static bool is_for_network(const gantry_op_call_t *call, const gantry__k_sort_t *sort,
                           bool has_positions) {
    const int64_t bytes = sort->length * lane_bytes(sort, has_positions);
    const int64_t most = call->device_info->native_vector_width < 8 ? NARROW_BYTES : NETWORK_BYTES;
    const int64_t least =
        bytes <= SHORT_BYTES ? FEW_ROWS : gantry__k_units(call) * GANTRY_NETWORK_ROWS;

    return sort->rows >= least && bytes <= most &&
           (!has_positions || gantry__k_key_bytes(sort->dtype) == 4);
}

/* Does what sort_all does; keys and positions are in the first of the two places. */
static int32_t sort_short(gantry_op_call_t *call, const gantry__k_sort_t *sort,
                          const gantry_span_t *out, gantry__radix_t *places,
                          gantry_span_t *scratch) {
    const int64_t groups = (sort->rows + GANTRY_NETWORK_ROWS - 1) / GANTRY_NETWORK_ROWS;
    const int64_t places_of_row =
        (sort->length + GANTRY_NETWORK_STEP - 1) / GANTRY_NETWORK_STEP * GANTRY_NETWORK_STEP;
    const int64_t elements = sort->rows * sort->length;
    gantry__network_t network = {
        .order = gantry__sort_order(sort->dtype, sort->descending, sort->is_total),
        .rows = sort->rows,
        .length = sort->length,
        .inner = sort->inner,
        .places = places_of_row};
    gantry__k_item_launch_t launch = {.t = gantry__k_twin(sort->dtype),
                                      .parameters = &network,
                                      .parameter_bytes = sizeof network};
    int64_t end = 0;
    network.lanes =
        add_place(&end, groups * GANTRY_NETWORK_ROWS * places_of_row * lane_bytes(sort, !out));
    network.keys = places->keys[0] = add_place(&end, !out ? elements * 4 : 0);
    network.positions = places->positions[0] = add_place(&end, !out ? elements * 4 : 0);
    GANTRY__TRY(call->services->scratch(call, (uint64_t)end, scratch));
    launch.spans[0] = sort->source;
    launch.spans[1] = *scratch;
    launch.span_count = 2;
    if (out) launch.spans[launch.span_count++] = *out;
    return radix_run(call, &launch, out ? ITEM_network_values : ITEM_network_pairs, groups,
                     radix_rows_of(sort->length * GANTRY_NETWORK_ROWS));
}

/* ---- either ---- */

/* out must be NULL if keys and positions are wanted; *which is then the one of two places that
 * holds them. */
static int32_t sort_all(gantry_op_call_t *call, const gantry__k_sort_t *sort,
                        const gantry_span_t *out, gantry__radix_t *parameters,
                        gantry_span_t *scratch, int *which) {
    gantry__k_item_launch_t launch = {.t = gantry__k_twin(sort->dtype),
                                      .parameters = parameters,
                                      .parameter_bytes = sizeof *parameters};
    if (is_for_network(call, sort, !out)) {
        *which = 0;
        return sort_short(call, sort, out, parameters, scratch);
    }
    parameters->has_positions = !out;
    GANTRY__TRY(radix_prepare(call, sort, parameters, scratch, which));
    if (*which) return sort_parts(call, sort, &launch, parameters, *scratch, out ? *out : *scratch);
    launch.spans[0] = sort->source;
    launch.spans[1] = *scratch;
    launch.spans[2] = out ? *out : *scratch;
    launch.span_count = 3;
    return radix_run(call, &launch, ITEM_radix_rows, sort->rows, radix_rows_of(sort->length));
}

int32_t gantry__radix_values(gantry_op_call_t *call, const gantry__k_sort_t *sort,
                             const gantry_span_t *out) {
    gantry__radix_t parameters = {.length = 0};
    gantry_span_t scratch;
    int which;

    return sort_all(call, sort, out, &parameters, &scratch, &which);
}

int32_t gantry__radix_sort(gantry_op_call_t *call, gantry__k_sort_t *sort) {
    const int64_t elements = sort->rows * sort->length;
    gantry__radix_t parameters = {.length = 0};
    gantry_span_t scratch;
    int which = 0;
    GANTRY__TRY(sort_all(call, sort, NULL, &parameters, &scratch, &which));
    sort->keys =
        span_at(scratch, parameters.keys[which], elements * gantry__k_key_bytes(sort->dtype));
    sort->positions = span_at(scratch, parameters.positions[which], elements * 4);
    sort->stride = sort->length;
    return GANTRY_OK;
}

/* ---- the first few of each row ---- */

static gantry__top_t top_of(const gantry_op_call_t *call, const gantry__k_sort_t *sort,
                            int64_t *out_bytes) {
    const int64_t key_bytes = gantry__k_key_bytes(sort->dtype), kept = sort->kept;
    const int64_t least = LEAST_PART > 16 * kept ? LEAST_PART : 16 * kept;
    const int64_t shares = SHARES_PER_UNIT * gantry__k_units(call);
    gantry__top_t out = {.order = gantry__sort_order(sort->dtype, sort->descending, sort->is_total),
                         .length = sort->length,
                         .kept = kept};
    int64_t end = 0;

    out.parts = radix_parts_of(call, sort->rows, sort->length, least);
    out.all = sort->rows * out.parts;
    out.items = out.parts > 1 || out.all < shares ? out.all : shares;
    out.group = sort->length / out.parts / (4 * kept);
    /* only whole vectors */
    out.group = (out.group + SHORTEST_GROUP - 1) / SHORTEST_GROUP * SHORTEST_GROUP;
    out.group = out.group < SHORTEST_GROUP  ? SHORTEST_GROUP
                : out.group > LONGEST_GROUP ? LONGEST_GROUP
                                            : out.group;
    out.room = (sort->length / out.parts + 1) / out.group + 1;
    out.room = out.room > 4 * kept + LEAST_ROOM ? out.room : 4 * kept + LEAST_ROOM;
    for (int k = 0; k < 2; ++k) {
        out.keys[k] = add_place(&end, out.items * out.room * key_bytes);
        out.positions[k] = add_place(&end, out.items * out.room * 4);
    }
    out.leasts = add_place(&end, out.items * out.room * key_bytes);
    out.found_keys = add_place(&end, out.all * kept * key_bytes);
    out.found_positions = add_place(&end, out.all * kept * 4);
    out.founds = add_place(&end, out.all * 8);
    *out_bytes = end;
    return out;
}

int32_t gantry__radix_top(gantry_op_call_t *call, gantry__k_sort_t *sort) {
    int64_t bytes;
    gantry__top_t parameters = top_of(call, sort, &bytes);
    gantry__k_item_launch_t launch = {.t = gantry__k_twin(sort->dtype),
                                      .parameters = &parameters,
                                      .parameter_bytes = sizeof parameters};
    const int64_t found = parameters.all * sort->kept, share = parameters.all / parameters.items;
    gantry_span_t scratch;
    GANTRY__TRY(call->services->scratch(call, (uint64_t)bytes, &scratch));
    launch.spans[0] = sort->source;
    launch.spans[1] = scratch;
    launch.span_count = 2;
    GANTRY__TRY(radix_run(call, &launch, ITEM_top_parts, parameters.items,
                          radix_rows_of(sort->length / parameters.parts * share)));
    launch.spans[0] = scratch;
    launch.span_count = 1;
    if (parameters.parts > 1) GANTRY__TRY(radix_run(call, &launch, ITEM_top_join, sort->rows, 1));
    sort->keys = span_at(scratch, parameters.found_keys, found * gantry__k_key_bytes(sort->dtype));
    sort->positions = span_at(scratch, parameters.found_positions, found * 4);
    sort->stride = parameters.parts * sort->kept;
    return GANTRY_OK;
}
