/* SPDX-License-Identifier: Apache-2.0 */
/* A run over a sequence. The input product of all time steps is one matrix product before the first
 * step, so that a step has one small product and elementwise work. Steps are unrolled: their number
 * is known when a model is traced.
 *
 * Sequences are cut into steps, and steps joined, in two levels of at most MOST_PARTS: an op has at
 * most GANTRY_MAX_OP_INPUTS inputs. A slice for each step would make the gradient of one step as
 * long as the sequence.
 *
 * Dropout is Keras's: one draw for all steps. With dropout of the state, each gate has draws of its
 * own, of the input, too; without, the gates share that of the input. */
#include "train/base/fail.h"
#include "train/base/memory.h"
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
    if (chunks > 1) GANTRY__TRAIN_TRY(gantry_split_v(s, x, sizes, 1, pieces, chunks));
    for (size_t i = 0; i < chunks; ++i)
        GANTRY__TRAIN_TRY(
            gantry_unpack(s, pieces[i], 1, parts + i * MOST_PARTS, chunk_size(steps, i)));
    return GANTRY_OK;
}

static tensor *join_steps(gantry_scope_t *s, tensor *const *parts, size_t steps) {
    const size_t chunks = count_chunks(steps);
    tensor *pieces[MOST_PARTS];
    for (size_t i = 0; i < chunks; ++i)
        pieces[i] = gantry_pack(s, parts + i * MOST_PARTS, chunk_size(steps, i), 1);
    return chunks > 1 ? gantry_concat(s, pieces, chunks, 1) : pieces[0];
}

/* ---- dropout ---- */

/* What an element of x is multiplied by: `count` draws. */
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

/* x kernel, [batch steps, gates units], in training with dropout. */
static tensor *multiply_input(const recurrence_t *r, tensor *x) {
    gantry_scope_t *s = r->scope;
    const gantry__recurrent_t *k = r->kind;
    tensor *drops[MOST_GATES], *parts[MOST_GATES], *kernel_of[MOST_GATES];
    if (!r->call->training || k->dropout == 0) return times_kernel(s, x, r->weights[0]);
    const size_t count = drops_by_gate(k) ? (size_t)k->gates : 1;
    tensor *first = gantry_slice(s, x, (int64_t[]){0, 0, 0}, (int64_t[]){-1, 1, -1});
    draw_drops(r->call, first, k->dropout, drops, count);
    if (count == 1) return times_kernel(s, gantry_mul(s, x, drops[0]), r->weights[0]);
    if (gantry_split(s, r->weights[0], 1, kernel_of, count) != GANTRY_OK) return NULL;
    for (size_t g = 0; g < count; ++g)
        parts[g] = times_kernel(s, gantry_mul(s, x, drops[g]), kernel_of[g]);
    return gantry_concat(s, parts, count, 1);
}

/* x kernel + bias of all steps. */
static tensor *project_input(const recurrence_t *r) {
    gantry_scope_t *s = r->scope;
    const gantry__recurrent_t *k = r->kind;
    tensor *x = r->call->inputs[0], *y = multiply_input(r, x);
    if (k->has_bias && y)
        y = gantry_bias_add(
            s, y, gantry__rnn_has_two_biases(k) ? bias_row(s, k, r->weights[2], 0) : r->weights[2]);
    return gantry_reshape(s, y,
                          GANTRY_SHAPE(-1, gantry_tensor_shape(x)->dims[1], k->gates * k->units));
}

/* ---- a run ---- */

static tensor *zero_state(gantry_scope_t *s, tensor *x, int64_t units) {
    return gantry_zeros_like(s, gantry_slice(s, x, (int64_t[]){0, 0}, (int64_t[]){-1, units}));
}

static void begin(recurrence_t *r, tensor *const *states, tensor *first) {
    gantry_scope_t *s = r->scope;
    const gantry__recurrent_t *k = r->kind;
    tensor *kernel = r->weights[1];
    if (k->has_bias && gantry__rnn_has_two_biases(k))
        r->recurrent_bias = bias_row(s, k, r->weights[2], 1);
    if (k->resets_before) {
        r->kernel_gates =
            gantry_slice(s, kernel, (int64_t[]){0, 0}, (int64_t[]){k->units, 2 * k->units});
        r->kernel_candidate =
            gantry_slice(s, kernel, (int64_t[]){0, 2 * k->units}, (int64_t[]){k->units, k->units});
    }
    r->h = states ? states[0] : zero_state(s, first, k->units);
    r->c = gantry__rnn_states(k) == 1 ? NULL : states ? states[1] : r->h;
    if (!r->call->training || k->recurrent_dropout == 0) return;
    draw_drops(r->call, r->h, k->recurrent_dropout, r->drops, (size_t)k->gates);
    r->kernel_of[0] = kernel;
    if (k->gates > 1) (void)gantry_split(s, kernel, 1, r->kernel_of, (size_t)k->gates);
}

/* One step; where the mask is false, the state stays. */
static void advance(recurrence_t *r, tensor *x, tensor *mask) {
    tensor *h = r->h, *c = r->c;
    r->kind->step(r, x);
    if (!mask) return;
    r->h = gantry_select(r->scope, mask, r->h, h);
    if (c) r->c = gantry_select(r->scope, mask, r->c, c);
}

/* parts: room for the inputs, the outputs and the masks of all steps. */
static void run_steps(recurrence_t *r, tensor *const *states, tensor **parts, size_t steps) {
    tensor **outputs = parts + steps, **masks = parts + 2 * steps, *mask = r->call->masks[0];
    const bool has_mask = mask && !states;
    if (cut_steps(r->scope, project_input(r), parts, steps) != GANTRY_OK) return;
    if (has_mask &&
        cut_steps(r->scope, gantry_expand_dims(r->scope, mask, -1), masks, steps) != GANTRY_OK)
        return;
    begin(r, states, parts[0]);
    for (size_t i = 0; i < steps && gantry_scope_status(r->scope) == GANTRY_OK; ++i) {
        const size_t at = r->kind->goes_backwards ? steps - 1 - i : i;
        advance(r, parts[at], has_mask ? masks[at] : NULL);
        outputs[i] = r->h;
    }
}

bool gantry__rnn_run(const gantry_layer_call_t *call, const gantry__recurrent_t *k,
                     tensor *const *weights, tensor *const *states,
                     tensor *out[1 + GANTRY__RNN_MOST_STATES]) {
    const size_t steps = (size_t)gantry_tensor_shape(call->inputs[0])->dims[1];
    recurrence_t r = {.kind = k, .call = call, .scope = call->scope, .weights = weights};
    tensor **parts = gantry__train_alloc(3 * steps, sizeof *parts);
    if (!parts) return gantry__train_hand_on(call->scope, GANTRY_RESOURCE_EXHAUSTED), false;
    run_steps(&r, states, parts, steps);
    if (gantry_scope_status(call->scope) == GANTRY_OK) {
        out[0] = k->returns_sequences ? join_steps(r.scope, parts + steps, steps) : r.h;
        out[1] = r.h;
        out[2] = r.c;
    }
    gantry__train_free((void *)parts);
    return gantry_scope_status(call->scope) == GANTRY_OK;
}
