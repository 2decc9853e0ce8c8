/* SPDX-License-Identifier: Apache-2.0 */
/* Inference of an op in a trace whose inputs do not say all that a shape function asks for: some
 * sizes are open (-1), since they depend on data, or a host input, such as a limit or a shape, is
 * symbolic.
 *
 * The shape functions know numbers only. So they run with several numbers in place of the open
 * ones: a size of the result that is the same each time is known, all others are open. Numbers that
 * the op declines do not count. They are:
 *
 *     TRIED, 2 * TRIED    everywhere; TRIED is a multiple of all small numbers, for Reshape
 *     0 to 7              everywhere: axes, bounds, sizes of 1 that broadcast
 *     each known size     of the inputs, everywhere: an op may ask for equal sizes
 *     twice the first     that the op took, for one open size after the other
 *     all elements        of input 0 in one place of a host input, 1 in the others: Reshape
 *
 * This does not find every dependence, for example that of a size which a rule ties to a known one,
 * as the inner sizes of a product. The frame compares what a call makes with what was inferred
 * here. */
#include "op/op_infer.h"

#include <stdio.h>

enum { TRIED = 2520, MOST_AXIS = 7, MOST_NUMBERS = 2 * GANTRY_MAX_RANK, ALL = -1 };

/* Numbers of a symbolic host input. */
typedef struct open_numbers_t {
    int64_t number; /* of the inputs in turn: this, twice this, 1 */
    int32_t place;  /* the only place that has it, of 1 in the others; ALL: every one */
    union {
        int32_t i32[MOST_NUMBERS];
        int64_t i64[MOST_NUMBERS];
        float f32[MOST_NUMBERS];
        double f64[MOST_NUMBERS];
    } data[3]; /* one for each of three inputs */
} open_numbers_t;

typedef struct open_call_t {
    gantry__infer_t *call;
    const gantry_attr_value_t *attrs;
    size_t attr_count;
    uint64_t symbolic; /* a bit for each input without elements */
    const void *(*host_value)(void *caller, uint32_t input);
    void *caller;
    open_numbers_t numbers;
    const gantry_shape_t *given[GANTRY__MAX_INPUTS];
    gantry_shape_t tried[GANTRY__MAX_INPUTS];
    gantry_shape_t results[GANTRY__MAX_OUTPUTS];
    uint32_t result_count;
    bool is_taken;
    int64_t taken; /* the first number that the op took */
    int32_t place; /* its place */
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

/* ---- host inputs ---- */

static bool open_put_number(open_numbers_t *numbers, int which, gantry_dtype_t dtype, int64_t place,
                            int64_t number) {
    switch ((int)dtype) {
        case GANTRY_INT32: numbers->data[which].i32[place] = (int32_t)number; return true;
        case GANTRY_INT64: numbers->data[which].i64[place] = number; return true;
        case GANTRY_FLOAT32: numbers->data[which].f32[place] = (float)number; return true;
        case GANTRY_FLOAT64: numbers->data[which].f64[place] = (double)number; return true;
        default: return false;
    }
}

/* How many symbolic host inputs come before this one. */
static int order_of(const open_call_t *open, uint32_t input) {
    int count = 0;
    for (uint32_t i = 0; i < input; ++i) {
        const gantry__op_arg_t *arg =
            gantry__op_input_arg(open->call->op, open->call->input_count, i);
        if (arg->flags & GANTRY__ARG_HOST && open->symbolic >> i & 1) ++count;
    }
    return count;
}

static const void *open_host_value(void *caller, uint32_t input) {
    open_call_t *open = caller;
    open_numbers_t *numbers = &open->numbers;
    if (!(open->symbolic >> input & 1)) return open->host_value(open->caller, input);
    const int64_t count = gantry_shape_elements(open->given[input]);
    const int which = order_of(open, input);
    bool fits = count >= 0 && count <= MOST_NUMBERS && which < 3;
    const int64_t number = which == 2 ? 1 : numbers->number * (which + 1);
    for (int64_t i = 0; fits && i < count; ++i)
        fits = open_put_number(numbers, which, open->call->dtypes[input], i,
                               numbers->place == ALL || numbers->place == i ? number : 1);
    if (fits) return &numbers->data[which];
    /* the reason: it is symbolic */
    return open->host_value(open->caller, input);
}

/* ---- trying ---- */

static void fill_open(open_call_t *open, int64_t size) {
    open->numbers.number = size;
    open->numbers.place = ALL;
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
    if (!open->is_taken) {
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
    if (try_sizes(open) && !open->is_taken) {
        open->is_taken = true;
        open->taken = size;
    }
}

static void try_known_sizes(open_call_t *open) {
    for (uint32_t i = 0; i < open->call->input_count; ++i) {
        const gantry_shape_t *shape = open->given[i];
        for (int32_t d = 0; d < shape->rank; ++d) {
            if (shape->dims[d] > MOST_AXIS) try_for_all(open, shape->dims[d]);
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

/* All elements of input 0 in each place of the symbolic host inputs. */
static void try_places(open_call_t *open) {
    const int64_t size = open->is_taken ? open->taken : TRIED;
    for (int32_t place = 0; place < MOST_NUMBERS; ++place) {
        fill_open(open, size);
        open->numbers.number = gantry_shape_elements(&open->tried[0]);
        open->numbers.place = place;
        if (!try_sizes(open) || open->is_taken) continue;
        open->is_taken = true;
        open->taken = size;
        open->place = place;
    }
}

static void fill_taken(open_call_t *open) {
    fill_open(open, open->taken);
    if (open->place == ALL) return;
    open->numbers.number = gantry_shape_elements(&open->tried[0]);
    open->numbers.place = open->place;
}

static gantry_status_t open_try_all(open_call_t *open) {
    try_for_all(open, TRIED);
    try_for_all(open, (int64_t)2 * TRIED);
    for (int64_t size = MOST_AXIS; size >= 0; --size) try_for_all(open, size);
    try_known_sizes(open);
    if (open->symbolic) try_places(open);
    if (!open->is_taken)
        return gantry__fail(open->status,
                            "%s; this is with %d for each number that depends on data", open->text,
                            TRIED);
    if (open->place == ALL) try_one_by_one(open);
    /* the last one may have failed: what depends on types and attributes alone is made again */
    fill_taken(open);
    GANTRY__TRY(gantry__op_infer(open->call, open->attrs, open->attr_count));
    if (!open->differs) return GANTRY_OK;
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "%s: the number or the rank of its results depends on data",
                        open->call->op->name);
}

gantry_status_t gantry__op_infer_open(gantry__infer_t *call, const gantry_attr_value_t *attrs,
                                      size_t attr_count, uint64_t symbolic) {
    const uint32_t before = gantry__failures();
    open_call_t open = {.call = call,
                        .attrs = attrs,
                        .attr_count = attr_count,
                        .symbolic = symbolic,
                        .host_value = call->host_value,
                        .caller = call->caller,
                        .place = ALL};
    for (uint32_t i = 0; i < call->input_count; ++i) {
        open.given[i] = call->shapes[i];
        call->shapes[i] = &open.tried[i];
    }
    call->host_value = open_host_value;
    call->caller = &open;
    gantry_status_t status = open_try_all(&open);
    call->host_value = open.host_value;
    call->caller = open.caller;
    for (uint32_t i = 0; i < call->input_count; ++i) call->shapes[i] = open.given[i];
    if (status != GANTRY_OK) return status;
    memcpy(call->out_shapes, open.results, open.result_count * sizeof *open.results);
    call->piece_first = -1;
    call->known_bool = -1;
    call->is_open = true;
    gantry__forget_since(before);
    return GANTRY_OK;
}
