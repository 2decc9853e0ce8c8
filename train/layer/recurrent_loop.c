/* SPDX-License-Identifier: Apache-2.0 */
/* A run as a loop over segments, whose body has the ops of one segment's steps:
 *
 *     forward     state before segment 0 -> 1 -> ... -> n     these states are kept
 *     backward    dstate n -> ... -> 1 -> 0                   a segment runs again, under a tape,
 *                                                             from the state that was kept
 *
 * So the trace has one segment for each direction, however long the sequence is, and memory holds
 * the intermediate values of one segment: the price is that each step runs forward twice. A segment
 * of several steps makes the cost of the loop itself small, above all on devices with a queue,
 * whose host waits for the condition.
 *
 * Rows are written into tensors of all segments (TensorScatterUpdate), in place: the loop's
 * variable is the only owner. A gradient of the program's own replaces that of the general loop,
 * which would keep each variable of each step and add gradients of the whole sequence in each step.
 *
 * Variables of the loops, in this order; n: states (1 or 2), w: weights that a step reads
 *
 *     forward     number, n states, n kept states, outputs?, operands
 *     backward    number, n dstates, dx, w dweights, n kept states, doutputs?, n dkept?, operands
 *     operands    x, mask?, the tensors of list_places
 *
 * The gradient of a weight is that of its products: the states of all steps of a segment, one after
 * another, times the gradients of the products. That is one large product in place of a small one,
 * and a sum, for each step.
 *
 * The bodies get a pointer into the layer's `forms`, because they run again when a tape of second
 * order differentiates the backward pass. */
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/layer/recurrent.h"
#include "train/tape/tape_state.h"

typedef const gantry_tensor_t tensor;
typedef gantry__recurrence_t recurrence_t;

enum {
    MOST_PLACES = 2 * GANTRY__RNN_MOST_GATES + 2,
    MOST_VALUES = 4 + 4 * GANTRY__RNN_MOST_STATES + 2 * MOST_PLACES,
    MOST_PRODUCTS = GANTRY__RNN_MOST_SEGMENT * (GANTRY__RNN_MOST_GATES + 1),
    MOST_SOURCES = 2 + GANTRY__RNN_MOST_STATES + MOST_PRODUCTS
};

/* ---- operands ---- */

typedef struct form_t {
    const gantry__recurrent_t *kind;
    size_t states;
    bool has_mask, has_drops, injects;
} form_t;

static void *form_user(const gantry__recurrent_t *k, int form) { return (void *)&k->forms[form]; }

static form_t recurrent_loop_form_of(const void *user) {
    const unsigned char *place = user;
    const void *kind = place - *place - offsetof(gantry__recurrent_t, forms);
    return (form_t){.kind = kind,
                    .states = gantry__rnn_states(kind),
                    .has_mask = *place & GANTRY__LOOP_HAS_MASK,
                    .has_drops = *place & GANTRY__LOOP_HAS_DROPS,
                    .injects = *place & GANTRY__LOOP_INJECTS};
}

/* Where a recurrence has the tensors that its steps read. */
typedef struct places_t {
    tensor **at[MOST_PLACES];
    size_t biases;         /* the first ones; then weights of products */
    size_t weights, count; /* draws of dropout, which have no gradient, come last */
} places_t;

static places_t list_places(recurrence_t *r, const form_t *f) {
    const gantry__recurrent_t *k = r->kind;
    const size_t gates = f->has_drops ? (size_t)k->gates : 0;
    places_t p = {.count = 0};
    if (k->has_bias && gantry__rnn_has_two_biases(k)) p.at[p.count++] = &r->recurrent_bias;
    p.biases = p.count;
    if (k->resets_before) p.at[p.count++] = &r->kernel_candidate;
    if (gates == 0) p.at[p.count++] = k->resets_before ? &r->kernel_gates : &r->recurrent;
    for (size_t g = 0; g < gates; ++g) p.at[p.count++] = &r->kernel_of[g];
    p.weights = p.count;
    for (size_t g = 0; g < gates; ++g) p.at[p.count++] = &r->drops[g];
    return p;
}

/* What stays the same in all steps of a loop. */
typedef struct operands_t {
    tensor *x, *mask; /* [segments, steps, batch, n]; mask NULL: none */
    places_t places;
    size_t count;
} operands_t;

/* Reads the operands that begin at `in`, and puts the weights into r. */
static operands_t take_operands(recurrence_t *r, const form_t *f, tensor *const *in) {
    operands_t o = {.x = in[0], .mask = f->has_mask ? in[1] : NULL, .places = list_places(r, f)};
    o.count = 1 + f->has_mask;
    for (size_t i = 0; i < o.places.count; ++i) *o.places.at[i] = in[o.count++];
    return o;
}

static size_t put_operands(recurrence_t *r, const form_t *f, tensor *x, tensor *mask,
                           tensor **out) {
    const places_t places = list_places(r, f);
    size_t count = 0;
    out[count++] = x;
    if (f->has_mask) out[count++] = mask;
    for (size_t i = 0; i < places.count; ++i) out[count++] = *places.at[i];
    return count;
}

static void copy_values(tensor *const *in, size_t count, tensor **out) {
    for (size_t i = 0; i < count; ++i) out[i] = in[i];
}

/* ---- pieces of a body ---- */

/* The number of the segments of x; where it depends on data, an op finds it. */
static tensor *segments_of(gantry_scope_t *scope, tensor *x) {
    static const int64_t first = 0, one = 1;
    const int64_t count = gantry_tensor_shape(x)->dims[0];
    if (count >= 0) return gantry_scalar_i32(scope, (int32_t)count);
    tensor *sizes = gantry_shape(scope, x, GANTRY_INT32);
    return gantry_reshape(scope, gantry_slice(scope, sizes, &first, &one), GANTRY_SCALAR);
}

static tensor *last_segment(gantry_scope_t *scope, tensor *x) {
    return gantry_sub(scope, segments_of(scope, x), gantry_scalar_i32(scope, 1));
}

/* all, with value in this row. */
static tensor *recurrent_loop_put_row(gantry_scope_t *scope, tensor *all, tensor *row,
                                      tensor *value) {
    return gantry_tensor_scatter_update(scope, all, gantry_reshape(scope, row, GANTRY_SHAPE(1, 1)),
                                        gantry_expand_dims(scope, value, 0));
}

/* Zeros [segments, steps, batch, units] for x, which is wider. */
static tensor *make_rows(gantry_scope_t *scope, tensor *x, int64_t steps, int64_t units) {
    gantry_shape_t shape = *gantry_tensor_shape(x);
    shape.dims[1] = steps;
    shape.dims[3] = units;
    if (shape.dims[0] >= 0) return gantry_zeros(scope, gantry_tensor_dtype(x), shape);
    return gantry_zeros_like(scope, gantry_slice(scope, x, (int64_t[]){0, 0, 0, 0}, shape.dims));
}

/* Zeros for a state before each segment: [segments, batch, units]. */
static tensor *make_kept(gantry_scope_t *scope, tensor *x, int64_t units) {
    return gantry_reshape(scope, make_rows(scope, x, 1, units),
                          GANTRY_SHAPE(-1, gantry_tensor_shape(x)->dims[2], units));
}

/* The segment of x that is number `row` of the run. */
static tensor *recurrent_loop_place_of(const recurrence_t *r, tensor *x, tensor *row) {
    if (!r->kind->goes_backwards) return row;
    return gantry_sub(r->scope, last_segment(r->scope, x), row);
}

static void set_states(recurrence_t *r, const form_t *f, tensor *const *states) {
    r->h = states[0];
    r->c = f->states > 1 ? states[1] : NULL;
}

static void get_states(const recurrence_t *r, tensor **out) {
    out[0] = r->h;
    if (r->c) out[1] = r->c;
}

/* x: its segment of the input. outputs: of each step, or NULL. */
static tensor *run_segment(recurrence_t *r, const operands_t *o, tensor *x, tensor *place) {
    tensor *outputs[GANTRY__RNN_MOST_SEGMENT];
    tensor *mask = o->mask ? gantry_gather(r->scope, o->mask, place, 0) : NULL;
    if (gantry_scope_status(r->scope) != GANTRY_OK ||
        gantry__rnn_segment(r, x, mask, outputs) != GANTRY_OK || !r->kind->returns_sequences)
        return NULL;
    return gantry_pack(r->scope, outputs, (size_t)gantry_tensor_shape(x)->dims[0], 0);
}

/* ---- forward ---- */

static void forward_goes_on(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                            void *user) {
    const form_t f = recurrent_loop_form_of(user);
    tensor *x = inputs[1 + 2 * f.states + f.kind->returns_sequences];
    outputs[0] = gantry_less(scope, inputs[0], segments_of(scope, x));
}

static void forward_step(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                         void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const form_t f = recurrent_loop_form_of(user);
    const size_t kept = 1 + f.states, y = kept + f.states, rest = y + f.kind->returns_sequences;
    recurrence_t r = {.kind = f.kind, .scope = scope};
    const operands_t o = take_operands(&r, &f, inputs + rest);
    outputs[0] = gantry_add(scope, inputs[0], gantry_scalar_i32(scope, 1));
    for (size_t s = 0; s < f.states; ++s)
        outputs[kept + s] =
            recurrent_loop_put_row(scope, inputs[kept + s], inputs[0], inputs[1 + s]);
    set_states(&r, &f, inputs + 1);
    tensor *place = recurrent_loop_place_of(&r, o.x, inputs[0]);
    tensor *all = run_segment(&r, &o, gantry_gather(scope, o.x, place, 0), place);
    get_states(&r, outputs + 1);
    if (f.kind->returns_sequences)
        outputs[y] = recurrent_loop_put_row(scope, inputs[y], inputs[0], all);
    copy_values(inputs + rest, o.count, outputs + rest);
}

/* The op whose gradient is run_backward: inputs are n states and the operands, outputs n states, n
 * kept states, and the outputs of all steps if they are returned. */
static void run_forward(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                        void *user) {
    const form_t f = recurrent_loop_form_of(user);
    recurrence_t r = {.kind = f.kind, .scope = scope};
    const operands_t o = take_operands(&r, &f, inputs + f.states);
    tensor *values[MOST_VALUES];
    size_t count = 0;
    values[count++] = gantry_scalar_i32(scope, 0);
    copy_values(inputs, f.states, values + count);
    count += f.states;
    for (size_t s = 0; s < f.states; ++s) values[count++] = make_kept(scope, o.x, f.kind->units);
    if (f.kind->returns_sequences)
        values[count++] = make_rows(scope, o.x, gantry_tensor_shape(o.x)->dims[1], f.kind->units);
    const size_t made = count - 1;
    copy_values(inputs + f.states, o.count, values + count);
    if (gantry_scope_status(scope) != GANTRY_OK ||
        gantry_while(scope, forward_goes_on, forward_step, user, values, count + o.count, NULL,
                     values) != GANTRY_OK)
        return;
    copy_values(values + 1, made, outputs);
}

/* ---- backward ---- */

/* Where the variables of the backward pass are. */
typedef struct back_t {
    size_t states, dx, weights, kept, dy, injected, operands;
} back_t;

static back_t find_back(const form_t *f, size_t weights) {
    back_t b = {.states = 1, .dx = 1 + f->states};
    b.weights = b.dx + 1;
    b.kept = b.weights + weights;
    b.dy = b.kept + f->states;
    b.injected = b.dy + f->kind->returns_sequences;
    b.operands = b.injected + (f->injects ? f->states : 0);
    return b;
}

static size_t recurrent_loop_count_weights(const form_t *f) {
    recurrence_t r = {.kind = f->kind};
    return list_places(&r, f).weights;
}

static void recurrent_loop_backward_goes_on(gantry_scope_t *scope, tensor *const *inputs,
                                            tensor **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_greater_equal(scope, inputs[0], gantry_scalar_i32(scope, 0));
}

/* One segment under a tape. sources: x, the states before it, the biases, then the products. */
typedef struct segment_t {
    gantry_source_t sources[MOST_SOURCES];
    tensor *gradients[MOST_SOURCES]; /* of each source, or NULL */
    size_t source_count;
    gantry__rnn_product_t products[MOST_PRODUCTS];
    tensor *dweights[MOST_PLACES];
} segment_t;

static gantry_status_t segment_watch(segment_t *g, gantry_tape_t *tape, tensor *source) {
    g->sources[g->source_count++].tensor = source;
    return source ? gantry_tape_watch(tape, source) : GANTRY_OK; /* NULL: the scope has failed */
}

static gantry_status_t recurrent_loop_differentiate(segment_t *g, recurrence_t *r, const form_t *f,
                                                    const operands_t *o, const back_t *b,
                                                    tensor *const *inputs, gantry_tape_t *tape) {
    gantry_scope_t *scope = r->scope;
    tensor *row = inputs[0], *place = recurrent_loop_place_of(r, o->x, row),
           *states[GANTRY__RNN_MOST_STATES] = {NULL}, *targets[1 + GANTRY__RNN_MOST_STATES],
           *dtargets[1 + GANTRY__RNN_MOST_STATES];
    size_t count = f->states;
    tensor *x = gantry_gather(scope, o->x, place, 0);
    GANTRY__TRY(segment_watch(g, tape, x));
    for (size_t s = 0; s < f->states; ++s) {
        states[s] = gantry_gather(scope, inputs[b->kept + s], row, 0);
        GANTRY__TRY(segment_watch(g, tape, states[s]));
        dtargets[s] = inputs[b->states + s];
    }
    for (size_t i = 0; i < o->places.biases; ++i)
        GANTRY__TRY(segment_watch(g, tape, *o->places.at[i]));
    set_states(r, f, states);
    r->products = g->products;
    tensor *y = run_segment(r, o, x, place);
    for (size_t i = 0; i < r->product_count; ++i)
        g->sources[g->source_count++].tensor = g->products[i].product;
    get_states(r, targets);
    if (y) {
        targets[count] = y;
        dtargets[count++] = gantry_gather(scope, inputs[b->dy], row, 0);
    }
    GANTRY__TRY(gantry_scope_status(scope));
    return gantry__tape_gradients(tape, targets, dtargets, count, g->sources, g->source_count,
                                  g->gradients);
}

/* The gradient of a weight; NULL: none. first: the source that is the first product. */
static tensor *sum_products(const segment_t *g, const recurrence_t *r, tensor *weight,
                            size_t first) {
    tensor *states[MOST_PRODUCTS], *gradients[MOST_PRODUCTS];
    size_t count = 0;
    for (size_t i = 0; i < r->product_count; ++i) {
        if (g->products[i].weight != weight || !g->gradients[first + i]) continue;
        states[count] = g->products[i].state;
        gradients[count++] = g->gradients[first + i];
    }
    if (count == 0) return NULL;
    tensor *left = count > 1 ? gantry_concat(r->scope, states, count, 0) : states[0],
           *right = count > 1 ? gantry_concat(r->scope, gradients, count, 0) : gradients[0];
    return gantry_matmul(r->scope, left, right, &(gantry_matmul_options_t){.transpose_a = true});
}

static void find_dweights(segment_t *g, const recurrence_t *r, const form_t *f,
                          const operands_t *o) {
    const size_t biases = 1 + f->states, first = biases + o->places.biases;
    for (size_t i = 0; i < o->places.weights; ++i)
        g->dweights[i] = i < o->places.biases ? g->gradients[biases + i]
                                              : sum_products(g, r, *o->places.at[i], first);
}

static tensor *or_zeros(gantry_scope_t *scope, tensor *gradient, tensor *like) {
    return gradient ? gradient : gantry_zeros_like(scope, like);
}

/* Sets the variables of the segment before. */
static void set_before(const segment_t *g, gantry_scope_t *scope, const form_t *f,
                       const operands_t *o, const back_t *b, tensor *const *inputs,
                       tensor **outputs) {
    tensor *const *dstates = g->gradients + 1;
    outputs[0] = gantry_sub(scope, inputs[0], gantry_scalar_i32(scope, 1));
    for (size_t s = 0; s < f->states; ++s) {
        tensor *d = or_zeros(scope, dstates[s], inputs[b->states + s]);
        if (f->injects)
            d = gantry_add(scope, d, gantry_gather(scope, inputs[b->injected + s], inputs[0], 0));
        outputs[b->states + s] = d;
    }
    outputs[b->dx] = recurrent_loop_put_row(scope, inputs[b->dx], inputs[0],
                                            or_zeros(scope, g->gradients[0], g->sources[0].tensor));
    for (size_t i = 0; i < o->places.weights; ++i) {
        tensor *sum = inputs[b->weights + i];
        outputs[b->weights + i] = g->dweights[i] ? gantry_add(scope, sum, g->dweights[i]) : sum;
    }
    copy_values(inputs + b->kept, b->operands + o->count - b->kept, outputs + b->kept);
}

static void backward_step(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                          void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const form_t f = recurrent_loop_form_of(user);
    const back_t b = find_back(&f, recurrent_loop_count_weights(&f));
    recurrence_t r = {.kind = f.kind, .scope = scope};
    const operands_t o = take_operands(&r, &f, inputs + b.operands);
    segment_t g = {.source_count = 0};
    gantry_tape_t *tape =
        gantry_tape_begin(scope, &(gantry_tape_options_t){.watches_named_variables = true});
    if (!tape) return;
    const gantry_status_t status = recurrent_loop_differentiate(&g, &r, &f, &o, &b, inputs, tape);
    gantry_tape_end(tape);
    if (gantry__train_hand_on(scope, status) != GANTRY_OK) return;
    find_dweights(&g, &r, &f, &o);
    set_before(&g, scope, &f, &o, &b, inputs, outputs);
}

/* The values with which the backward pass begins. Returns their number. */
static size_t begin_back(gantry_scope_t *scope, const form_t *f, const back_t *b,
                         const operands_t *o, tensor *const *inputs, tensor *const *outputs,
                         tensor *const *dy, tensor **values) {
    const size_t n = f->states;
    values[0] = last_segment(scope, o->x);
    for (size_t s = 0; s < n; ++s) {
        values[b->states + s] = or_zeros(scope, dy[s], outputs[s]);
        values[b->kept + s] = outputs[n + s];
        if (f->injects) values[b->injected + s] = or_zeros(scope, dy[n + s], outputs[n + s]);
    }
    values[b->dx] = o->x; /* each row is overwritten, so that zeros would only take memory */
    for (size_t i = 0; i < o->places.weights; ++i)
        values[b->weights + i] = gantry_zeros_like(scope, *o->places.at[i]);
    if (f->kind->returns_sequences) values[b->dy] = or_zeros(scope, dy[2 * n], outputs[2 * n]);
    copy_values(inputs + n, o->count, values + b->operands);
    return b->operands + o->count;
}

/* Rows of dx are in the order of the run. */
static tensor *order_rows(gantry_scope_t *scope, const form_t *f, tensor *dx) {
    static const int32_t first = 0;
    return f->kind->goes_backwards ? gantry_reverse(scope, dx, &first, 1) : dx;
}

static void run_backward(gantry_scope_t *scope, tensor *const *inputs, tensor *const *outputs,
                         tensor *const *dy, tensor **dx, void *user) {
    form_t f = recurrent_loop_form_of(user);
    recurrence_t r = {.kind = f.kind, .scope = scope};
    const operands_t o = take_operands(&r, &f, inputs + f.states);
    for (size_t s = 0; s < f.states; ++s) f.injects |= dy[f.states + s] != NULL;
    const back_t b = find_back(&f, o.places.weights);
    tensor *values[MOST_VALUES];
    const size_t count = begin_back(scope, &f, &b, &o, inputs, outputs, dy, values);
    const int form = *(const unsigned char *)user | (f.injects ? GANTRY__LOOP_INJECTS : 0);
    if (gantry_scope_status(scope) != GANTRY_OK ||
        gantry_while(scope, recurrent_loop_backward_goes_on, backward_step, form_user(f.kind, form),
                     values, count, NULL, values) != GANTRY_OK)
        return;
    copy_values(values + b.states, f.states, dx);
    dx[f.states] = order_rows(scope, &f, values[b.dx]);
    copy_values(values + b.weights, o.places.weights, dx + f.states + 1 + f.has_mask);
}

/* ---- the run ---- */

tensor *gantry__rnn_loop(recurrence_t *r, tensor *x, tensor *mask) {
    const int form =
        (mask ? GANTRY__LOOP_HAS_MASK : 0) | (r->drops[0] ? GANTRY__LOOP_HAS_DROPS : 0);
    void *user = form_user(r->kind, form);
    const form_t f = recurrent_loop_form_of(user);
    const size_t made = 2 * f.states + r->kind->returns_sequences;
    tensor *inputs[MOST_VALUES], *outputs[MOST_VALUES];
    get_states(r, inputs);
    const size_t count = f.states + put_operands(r, &f, x, mask, inputs + f.states);
    gantry_observer_t inside;
    if (gantry__custom_gradient(r->scope, gantry__layer_observer(r->call, &inside), run_forward,
                                run_backward, user, inputs, count, outputs, made) != GANTRY_OK)
        return NULL;
    set_states(r, &f, outputs);
    return r->kind->returns_sequences ? outputs[2 * f.states] : NULL;
}
