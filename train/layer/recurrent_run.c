/* SPDX-License-Identifier: Apache-2.0 */
/* A run over a sequence. The input product of all time steps is one matrix product before the first
 * step, so that a step has one small product and elementwise work.
 *
 *     unrolled    each step has ops of its own in the trace, which grows with the sequence
 *     a loop      recurrent_loop.c, over segments of steps; those that are left over are unrolled
 *
 * Both run the same ops on the same numbers. Unrolled sequences are cut into steps, and steps
 * joined, in two levels of at most MOST_PARTS: because an op has at most GANTRY_MAX_OP_INPUTS
 * inputs. A slice for each step would make the gradient of one step as long as the sequence. A loop
 * takes sequences with the steps in front, so that segments lie in one piece.
 *
 * Dropout is Keras's: one draw for all steps. With dropout of the state, each gate has draws of its
 * own, of the input, too; without, the gates share that of the input. */
#include <gantry_train/tape.h>

#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/layer/recurrent.h"

typedef const gantry_tensor_t tensor;
typedef gantry__recurrence_t recurrence_t;

enum { MOST_PARTS = GANTRY__RNN_MOST_PARTS, MOST_GATES = GANTRY__RNN_MOST_GATES };

size_t gantry__rnn_states(const gantry__recurrent_t *k) { return k->gates == 4 ? 2 : 1; }

bool gantry__rnn_has_two_biases(const gantry__recurrent_t *k) {
    return k->gates == 3 && !k->resets_before;
}

/* ---- steps of a sequence ---- */

static size_t count_chunks(size_t steps) { return (steps + MOST_PARTS - 1) / MOST_PARTS; }

static size_t chunk_size(size_t steps, size_t chunk) {
    const size_t left = steps - chunk * MOST_PARTS;
    return left < MOST_PARTS ? left : MOST_PARTS;
}

/* [batch, steps, n] to [batch, n], steps times. */
static gantry_status_t cut_steps(gantry_scope_t *s, tensor *x, tensor **parts, size_t steps) {
    const size_t chunks = count_chunks(steps);
    int64_t sizes[MOST_PARTS];
    tensor *pieces[MOST_PARTS] = {x};
    for (size_t i = 0; i < chunks; ++i) sizes[i] = (int64_t)chunk_size(steps, i);
    if (chunks > 1) GANTRY__TRY(gantry_split_v(s, x, sizes, 1, pieces, chunks));
    for (size_t i = 0; i < chunks; ++i)
        GANTRY__TRY(gantry_unpack(s, pieces[i], 1, parts + i * MOST_PARTS, chunk_size(steps, i)));
    return GANTRY_OK;
}

static tensor *join_steps(gantry_scope_t *s, tensor *const *parts, size_t steps) {
    const size_t chunks = count_chunks(steps);
    tensor *pieces[MOST_PARTS] = {NULL};
    for (size_t i = 0; i < chunks; ++i)
        pieces[i] = gantry_pack(s, parts + i * MOST_PARTS, chunk_size(steps, i), 1);
    return chunks > 1 ? gantry_concat(s, pieces, chunks, 1) : pieces[0];
}

/* ---- dropout ---- */

/* Draws `count` times what the elements of x are multiplied by. */
static void draw_drops(const gantry_layer_call_t *call, tensor *x, double rate, tensor **drops,
                       size_t count) {
    for (size_t i = 0; i < count; ++i)
        drops[i] = gantry__layer_dropout(call, gantry_ones_like(call->scope, x), rate);
}

static bool drops_by_gate(const gantry__recurrent_t *k) { return k->recurrent_dropout > 0; }

/* ---- the input product ---- */

static tensor *bias_row(gantry_scope_t *s, const gantry__recurrent_t *k, tensor *bias,
                        int64_t row) {
    const int64_t width = k->gates * k->units;
    return gantry_reshape(s, gantry_slice(s, bias, (int64_t[]){row, 0}, (int64_t[]){1, width}),
                          GANTRY_SHAPE(width));
}

static tensor *times_kernel(gantry_scope_t *s, tensor *x, tensor *kernel) {
    const int64_t features = gantry_tensor_shape(x)->dims[2];
    return gantry_matmul(s, gantry_reshape(s, x, GANTRY_SHAPE(-1, features)), kernel, NULL);
}

/* x kernel, in training with dropout. axis: of the steps. */
static tensor *multiply_input(const recurrence_t *r, tensor *x, int32_t axis) {
    gantry_scope_t *s = r->scope;
    const gantry__recurrent_t *k = r->kind;
    tensor *drops[MOST_GATES], *parts[MOST_GATES], *kernel_of[MOST_GATES];
    if (!r->call->training || k->dropout == 0) return times_kernel(s, x, r->weights[0]);
    const size_t count = drops_by_gate(k) ? (size_t)k->gates : 1;
    int64_t one[] = {-1, -1, -1};
    one[axis] = 1;
    tensor *first = gantry_slice(s, x, (int64_t[]){0, 0, 0}, one);
    draw_drops(r->call, first, k->dropout, drops, count);
    if (count == 1) return times_kernel(s, gantry_mul(s, x, drops[0]), r->weights[0]);
    if (gantry_split(s, r->weights[0], 1, kernel_of, count) != GANTRY_OK) return NULL;
    for (size_t g = 0; g < count; ++g)
        parts[g] = times_kernel(s, gantry_mul(s, x, drops[g]), kernel_of[g]);
    return gantry_concat(s, parts, count, 1);
}

/* x kernel + bias of all steps: x has steps along this axis, and so has the result. */
static tensor *project_input(const recurrence_t *r, tensor *x, int32_t axis) {
    gantry_scope_t *s = r->scope;
    const gantry__recurrent_t *k = r->kind;
    tensor *y = x ? multiply_input(r, x, axis) : NULL;
    if (!y) return NULL;
    if (k->has_bias)
        y = gantry_bias_add(
            s, y, gantry__rnn_has_two_biases(k) ? bias_row(s, k, r->weights[2], 0) : r->weights[2]);
    return gantry_reshape(s, y,
                          GANTRY_SHAPE(-1, gantry_tensor_shape(x)->dims[1], k->gates * k->units));
}

/* ---- one step ---- */

static void recurrent_run_advance(recurrence_t *r, tensor *x, tensor *mask) {
    tensor *h = r->h, *c = r->c;
    r->kind->step(r, x);
    if (!mask) return;
    r->h = gantry_select(r->scope, mask, r->h, h);
    if (c) r->c = gantry_select(r->scope, mask, r->c, c);
}

gantry_status_t gantry__rnn_segment(recurrence_t *r, tensor *x, tensor *mask, tensor **outputs) {
    tensor *parts[GANTRY__RNN_MOST_SEGMENT], *masks[GANTRY__RNN_MOST_SEGMENT];
    const size_t steps = (size_t)gantry_tensor_shape(x)->dims[0];
    GANTRY__TRY(gantry_unpack(r->scope, x, 0, parts, steps));
    if (mask) GANTRY__TRY(gantry_unpack(r->scope, mask, 0, masks, steps));
    for (size_t i = 0; i < steps; ++i) {
        const size_t at = r->kind->goes_backwards ? steps - 1 - i : i;
        recurrent_run_advance(r, parts[at], mask ? masks[at] : NULL);
        outputs[i] = r->h;
    }
    return gantry_scope_status(r->scope);
}

/* ---- the state ---- */

static void set_weights(recurrence_t *r) {
    gantry_scope_t *s = r->scope;
    const gantry__recurrent_t *k = r->kind;
    tensor *kernel = r->recurrent = r->weights[1];
    if (k->has_bias && gantry__rnn_has_two_biases(k))
        r->recurrent_bias = bias_row(s, k, r->weights[2], 1);
    if (!k->resets_before) return;
    r->kernel_gates =
        gantry_slice(s, kernel, (int64_t[]){0, 0}, (int64_t[]){k->units, 2 * k->units});
    r->kernel_candidate =
        gantry_slice(s, kernel, (int64_t[]){0, 2 * k->units}, (int64_t[]){k->units, k->units});
}

static gantry_variable_t *const *kept_states(const recurrence_t *r, const gantry__rnn_start_t *at) {
    gantry_variable_t *const *all = r->kind->is_stateful ? gantry__layer_states(r->call) : NULL;
    return all ? all + at->first_kept : NULL;
}

static gantry_status_t check_batch(const recurrence_t *r, const gantry_variable_t *state) {
    const int64_t kept = gantry_variable_shape(state)->dims[0],
                  given = gantry_tensor_shape(r->call->inputs[0])->dims[0];
    if (given == kept) return GANTRY_OK;
    return gantry__train_refuse(
        r->scope, "the layer is stateful for batches of %lld rows; the batch has %lld",
        (long long)kept, (long long)given);
}

/* A kept state, through which no gradient flows to the batch before. */
static tensor *read_state(const recurrence_t *r, gantry_variable_t *state) {
    return gantry_stop_gradient(r->scope, gantry_variable_read(r->scope, state));
}

static tensor *zero_state(const recurrence_t *r, tensor *first) {
    gantry_scope_t *s = r->scope;
    const int64_t units = r->kind->units, batch = gantry_tensor_shape(r->call->inputs[0])->dims[0];
    if (batch >= 0)
        return gantry_zeros(s, gantry_tensor_dtype(r->weights[1]), GANTRY_SHAPE(batch, units));
    return gantry_zeros_like(s, gantry_slice(s, first, (int64_t[]){0, 0}, (int64_t[]){-1, units}));
}

/* Begins a run; `first` must be the first of the projected steps. */
static void recurrent_run_begin(recurrence_t *r, const gantry__rnn_start_t *start, tensor *first) {
    const gantry__recurrent_t *k = r->kind;
    gantry_variable_t *const *kept = kept_states(r, start);
    const bool has_c = gantry__rnn_states(k) > 1;
    if (kept && check_batch(r, kept[0]) != GANTRY_OK) return;
    set_weights(r);
    if (start->states) {
        r->h = start->states[0];
        r->c = has_c ? start->states[1] : NULL;
    } else if (kept) {
        r->h = read_state(r, kept[0]);
        r->c = has_c ? read_state(r, kept[1]) : NULL;
    } else {
        r->h = zero_state(r, first);
        r->c = has_c ? r->h : NULL;
    }
    if (!r->call->training || k->recurrent_dropout == 0) return;
    draw_drops(r->call, r->h, k->recurrent_dropout, r->drops, (size_t)k->gates);
    r->kernel_of[0] = r->recurrent;
    if (k->gates > 1) (void)gantry_split(r->scope, r->recurrent, 1, r->kernel_of, (size_t)k->gates);
}

static void keep_states(const recurrence_t *r, const gantry__rnn_start_t *start) {
    gantry_variable_t *const *kept = kept_states(r, start);
    if (!kept) return;
    (void)gantry_variable_assign(r->scope, kept[0], r->h);
    if (r->c) (void)gantry_variable_assign(r->scope, kept[1], r->c);
}

static tensor *mask_of(const recurrence_t *r, const gantry__rnn_start_t *start) {
    tensor *mask = start->states ? NULL : r->call->masks[0];
    return mask ? gantry_expand_dims(r->scope, mask, -1) : NULL;
}

/* ---- a run whose steps are unrolled ---- */

/* parts must have room for the inputs, the outputs and the masks of all steps. */
static tensor *unroll_into(recurrence_t *r, const gantry__rnn_start_t *start, tensor **parts,
                           size_t steps) {
    tensor **outputs = parts + steps, **masks = parts + 2 * steps, *mask = mask_of(r, start);
    if (cut_steps(r->scope, project_input(r, r->call->inputs[0], 1), parts, steps) != GANTRY_OK ||
        (mask && cut_steps(r->scope, mask, masks, steps) != GANTRY_OK))
        return NULL;
    recurrent_run_begin(r, start, parts[0]);
    for (size_t i = 0; i < steps && gantry_scope_status(r->scope) == GANTRY_OK; ++i) {
        const size_t at = r->kind->goes_backwards ? steps - 1 - i : i;
        recurrent_run_advance(r, parts[at], mask ? masks[at] : NULL);
        outputs[i] = r->h;
    }
    if (!r->kind->returns_sequences || gantry_scope_status(r->scope) != GANTRY_OK) return r->h;
    return join_steps(r->scope, outputs, steps);
}

static tensor *run_unrolled(recurrence_t *r, const gantry__rnn_start_t *start, int64_t given) {
    if (given < 0 || given > GANTRY__RNN_MOST_STEPS)
        return gantry__train_refuse_pointer(
            r->scope,
            "%lld time steps of %lld rows are unrolled (-1: not known); 1 to %d are accepted, and a loop takes any number for a known number of rows",
            (long long)given, (long long)gantry_tensor_shape(r->call->inputs[0])->dims[0],
            GANTRY__RNN_MOST_STEPS);
    const size_t steps = (size_t)given;
    tensor **parts = gantry__alloc(3 * steps, sizeof *parts);
    if (!parts) {
        (void)gantry__train_hand_on(r->scope, GANTRY_RESOURCE_EXHAUSTED);
        return NULL;
    }
    tensor *y = unroll_into(r, start, parts, steps);
    gantry__free((void *)parts);
    return y;
}

/* ---- a run as a loop ---- */

static const int32_t swap[] = {1, 0, 2}; /* [batch, steps, n] and [steps, batch, n] */

/* Returns the size of a segment that leaves the fewest steps after the loop. steps is -1 where
 * their number depends on data. */
static int64_t segment_size(int64_t steps) {
    int64_t best = GANTRY__RNN_MOST_SEGMENT;
    if (steps < 0) return 1;
    if (steps <= best) return steps;
    for (int64_t size = best - 1; size > GANTRY__RNN_MOST_SEGMENT / 2; --size) {
        if (steps % size < steps % best) best = size;
    }
    return best;
}

static tensor *slice_steps(gantry_scope_t *s, tensor *x, int64_t first, int64_t count) {
    if (!x || count == gantry_tensor_shape(x)->dims[0]) return x;
    return gantry_slice(s, x, (int64_t[]){first, 0, 0}, (int64_t[]){count, -1, -1});
}

static tensor *as_segments(gantry_scope_t *s, tensor *x, int64_t size) {
    if (!x) return NULL;
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    return gantry_reshape(s, x, GANTRY_SHAPE(-1, size, shape->dims[1], shape->dims[2]));
}

/* Runs the steps after the last whole segment, and returns y with their outputs after it, [steps,
 * batch, n]. */
static tensor *run_rest(recurrence_t *r, tensor *y, tensor *x, tensor *mask) {
    tensor *outputs[GANTRY__RNN_MOST_SEGMENT];
    const size_t steps = (size_t)gantry_tensor_shape(x)->dims[0];
    if (gantry__rnn_segment(r, x, mask, outputs) != GANTRY_OK || !y) return NULL;
    tensor *both[] = {y, gantry_pack(r->scope, outputs, steps, 0)};
    return gantry_concat(r->scope, both, 2, 0);
}

/* x: projected, [steps, batch, n]; mask: [steps, batch, 1] or NULL. */
static tensor *run_segments(recurrence_t *r, tensor *x, tensor *mask) {
    gantry_scope_t *s = r->scope;
    const int64_t steps = gantry_tensor_shape(x)->dims[0], size = segment_size(steps),
                  rest = steps < 0 ? 0 : steps % size, looped = steps - rest,
                  first = r->kind->goes_backwards ? rest : 0,
                  rest_at = r->kind->goes_backwards ? 0 : looped;
    tensor *y = gantry__rnn_loop(r, as_segments(s, slice_steps(s, x, first, looped), size),
                                 as_segments(s, slice_steps(s, mask, first, looped), size));
    if (y)
        y = gantry_reshape(s, y, GANTRY_SHAPE(-1, gantry_tensor_shape(x)->dims[1], r->kind->units));
    if (rest > 0 && gantry_scope_status(s) == GANTRY_OK)
        y = run_rest(r, y, slice_steps(s, x, rest_at, rest), slice_steps(s, mask, rest_at, rest));
    return y;
}

static tensor *run_looped(recurrence_t *r, const gantry__rnn_start_t *start) {
    gantry_scope_t *s = r->scope;
    tensor *mask = mask_of(r, start);
    tensor *x = project_input(r, gantry_transpose(s, r->call->inputs[0], swap), 0);
    if (mask) mask = gantry_transpose(s, mask, swap);
    recurrent_run_begin(r, start, NULL);
    if (gantry_scope_status(s) != GANTRY_OK) return NULL;
    tensor *y = run_segments(r, x, mask);
    return r->kind->returns_sequences ? gantry_transpose(s, y, swap) : r->h;
}

static bool is_loop(const recurrence_t *r, const gantry_shape_t *shape) {
    if (shape->dims[0] < 0 || r->kind->unroll == GANTRY_ON) return false;
    if (shape->dims[1] < 0 || shape->dims[1] > GANTRY__RNN_MOST_STEPS) return true;
    return r->kind->unroll == GANTRY_OFF || shape->dims[1] > GANTRY__RNN_UNROLLED;
}

bool gantry__rnn_run(const gantry_layer_call_t *call, const gantry__recurrent_t *k,
                     tensor *const *weights, const gantry__rnn_start_t *start,
                     tensor *out[1 + GANTRY__RNN_MOST_STATES]) {
    const gantry_shape_t *shape = gantry_tensor_shape(call->inputs[0]);
    recurrence_t r = {.kind = k, .call = call, .scope = call->scope, .weights = weights};
    out[0] = is_loop(&r, shape) ? run_looped(&r, start) : run_unrolled(&r, start, shape->dims[1]);
    if (gantry_scope_status(call->scope) == GANTRY_OK) keep_states(&r, start);
    out[1] = r.h;
    out[2] = r.c;
    return gantry_scope_status(call->scope) == GANTRY_OK;
}
