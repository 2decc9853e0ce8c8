/* SPDX-License-Identifier: Apache-2.0 */
/* Inference of an op some of whose inputs have open sizes (-1): results of ops whose shape depends
 * on data, while a function is traced.
 *
 * The shape functions know sizes only. So they run with several sizes in place of the open ones: a
 * size of the result that is the same each time is known, all others are open. Sizes that the op
 * declines do not count. The sizes tried:
 *
 *     TRIED, 2 * TRIED, 1    for all open sizes; TRIED divides by all small numbers, for Reshape
 *     each known size        of the inputs, for all: an op may ask for equal sizes
 *     twice the first one    that the op took, for one open size after the other
 *
 * An open size that a rule ties to a known one (the inner sizes of a product) does not show. The
 * frame compares what a call makes with what was inferred here. */
#include "op/op_infer.h"

#include <stdio.h>

enum { TRIED = 2520 };

typedef struct open_call_t {
    gantry__infer_t *call;
    const gantry_attr_value_t *attrs;
    size_t attr_count;
    const gantry_shape_t *given[GANTRY__MAX_INPUTS];
    gantry_shape_t tried[GANTRY__MAX_INPUTS];
    gantry_shape_t results[GANTRY__MAX_OUTPUTS];
    uint32_t result_count;
    int64_t taken; /* the first size that the op took; 0: none */
    bool differs;  /* the number or the rank of the results is not always the same */
    gantry_status_t status;
    char text[512]; /* of the first failure */
} open_call_t;

bool gantry__shape_is_open(const gantry_shape_t *shape) {
    for (int32_t d = 0; d < shape->rank; ++d) {
        if (shape->dims[d] < 0) return true;
    }
    return false;
}

static void fill_open(open_call_t *open, int64_t size) {
    for (uint32_t i = 0; i < open->call->input_count; ++i) {
        open->tried[i] = *open->given[i];
        for (int32_t d = 0; d < open->tried[i].rank; ++d) {
            if (open->tried[i].dims[d] < 0) open->tried[i].dims[d] = size;
        }
    }
}

static void merge_result(open_call_t *open, uint32_t i) {
    const gantry_shape_t *found = &open->call->out_shapes[i];
    gantry_shape_t *merged = &open->results[i];
    open->differs |= found->rank != merged->rank;
    for (int32_t d = 0; d < merged->rank && !open->differs; ++d) {
        if (merged->dims[d] != found->dims[d]) merged->dims[d] = -1;
    }
}

/* False: the op declines these sizes. */
static bool try_sizes(open_call_t *open) {
    gantry__infer_t *call = open->call;
    gantry_status_t status = gantry__op_infer(call, open->attrs, open->attr_count);
    if (status != GANTRY_OK) {
        if (open->status == GANTRY_OK)
            (void)snprintf(open->text, sizeof open->text, "%s", gantry__message());
        if (open->status == GANTRY_OK) open->status = status;
        return false;
    }
    if (open->taken == 0) {
        memcpy(open->results, call->out_shapes, call->output_count * sizeof *open->results);
        open->result_count = call->output_count;
        return true;
    }
    open->differs |= call->output_count != open->result_count;
    for (uint32_t i = 0; i < call->output_count && !open->differs; ++i) merge_result(open, i);
    return true;
}

static void try_for_all(open_call_t *open, int64_t size) {
    fill_open(open, size);
    if (try_sizes(open) && open->taken == 0) open->taken = size;
}

static void try_known_sizes(open_call_t *open) {
    for (uint32_t i = 0; i < open->call->input_count; ++i) {
        const gantry_shape_t *shape = open->given[i];
        for (int32_t d = 0; d < shape->rank; ++d) {
            if (shape->dims[d] > 1) try_for_all(open, shape->dims[d]);
        }
    }
}

static void try_one_by_one(open_call_t *open) {
    for (uint32_t i = 0; i < open->call->input_count; ++i) {
        for (int32_t d = 0; d < open->given[i]->rank; ++d) {
            if (open->given[i]->dims[d] >= 0) continue;
            fill_open(open, open->taken);
            open->tried[i].dims[d] = 2 * open->taken;
            (void)try_sizes(open);
        }
    }
}

static gantry_status_t try_all(open_call_t *open) {
    try_for_all(open, TRIED);
    try_for_all(open, 2 * TRIED);
    try_for_all(open, 1);
    try_known_sizes(open);
    if (open->taken == 0)
        return gantry__fail(open->status, "%s; this is with %d for each size that depends on data",
                            open->text, TRIED);
    try_one_by_one(open);
    /* the last one may have failed: what depends on types and attributes alone is made again */
    fill_open(open, open->taken);
    GANTRY__TRY(gantry__op_infer(open->call, open->attrs, open->attr_count));
    if (!open->differs) return GANTRY_OK;
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "%s: the number or the rank of its results depends on data",
                        open->call->op->name);
}

gantry_status_t gantry__op_infer_open(gantry__infer_t *call, const gantry_attr_value_t *attrs,
                                      size_t attr_count) {
    const uint32_t before = gantry__failures();
    open_call_t open = {.call = call, .attrs = attrs, .attr_count = attr_count};
    for (uint32_t i = 0; i < call->input_count; ++i) {
        open.given[i] = call->shapes[i];
        call->shapes[i] = &open.tried[i];
    }
    gantry_status_t status = try_all(&open);
    for (uint32_t i = 0; i < call->input_count; ++i) call->shapes[i] = open.given[i];
    if (status != GANTRY_OK) return status;
    memcpy(call->out_shapes, open.results, open.result_count * sizeof *open.results);
    call->piece_first = -1;
    call->known_bool = -1;
    gantry__forget_since(before);
    return GANTRY_OK;
}
