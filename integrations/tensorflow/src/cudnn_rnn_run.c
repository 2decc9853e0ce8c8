/* SPDX-License-Identifier: Apache-2.0 */
/* A run by segments: the state goes from one to the next, and on the way back its gradient from
 * the last to the first. Segments differ by at most one step, so that a length has at most two
 * traces.
 *
 * Functions are made when they are first called, one for each form and direction, and live as long
 * as the plug-in, which is as long as the process. */
#include <pthread.h>
#include <stdio.h>

#include "cudnn_rnn.h"

typedef const gantry_tensor_t tensor;

enum {
    MOST_SEGMENTS = 64, /* most of one op call: Concat takes no more */
    FORMS = RNN_MODES * 3 * 2 * 2,
    BACK_INPUTS = RNN_INPUTS + RNN_BACK_INPUTS
};

/* ---- functions ---- */

typedef struct functions_t {
    pthread_mutex_t lock;
    rnn_form_t forms[FORMS];
    gantry_function_t *forward[FORMS], *backward[FORMS];
} functions_t;

static functions_t functions = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t form_index(const rnn_form_t *form) {
    const size_t type = form->dtype == GANTRY_FLOAT32 ? 0 : form->dtype == GANTRY_FLOAT64 ? 1 : 2;
    return ((form->mode * 3 + type) * 2 + form->is_time_major) * 2 + form->has_mask;
}

static gantry_input_spec_t spec(gantry_dtype_t dtype, int32_t rank) {
    gantry_input_spec_t out = {.dtype = dtype, .shape = {.rank = rank}};
    for (int32_t i = 0; i < rank; ++i) out.shape.dims[i] = -1;
    return out;
}

static size_t list_specs(const rnn_form_t *form, bool is_back, gantry_input_spec_t *out) {
    static const int32_t ranks[] = {3, 2, 2, 1}, back_ranks[] = {3, 3, 3, 2, 2};
    size_t count = 0;
    for (size_t i = 0; i < RNN_MASK; ++i) out[count++] = spec(form->dtype, ranks[i]);
    if (form->has_mask) {
        out[count++] = spec(GANTRY_BOOL, 3);
        out[count - 1].shape.dims[2] = 1;
    }
    for (size_t i = 0; is_back && i < RNN_BACK_INPUTS; ++i)
        out[count++] = spec(form->dtype, back_ranks[i]);
    return count;
}

static gantry_status_t make_function(gantry_runtime_t *runtime, const rnn_form_t *form,
                                     bool is_back, gantry_function_t **out) {
    gantry_input_spec_t specs[BACK_INPUTS];
    const size_t count = list_specs(form, is_back, specs);
    return gantry_function_trace(runtime, is_back ? "CudnnRNNBackprop" : "CudnnRNN",
                                 is_back ? rnn_trace_backward : rnn_trace_forward, (void *)form,
                                 specs, count, is_back ? RNN_BACK_OUTPUTS : RNN_OUTPUTS, NULL, out);
}

/* Returns NULL after an error, which the scope keeps. */
static gantry_function_t *cudnn_rnn_run_find_function(gantry_scope_t *scope, const rnn_form_t *form,
                                                      bool is_back) {
    const size_t index = form_index(form);
    gantry_function_t **place = is_back ? &functions.backward[index] : &functions.forward[index];
    pthread_mutex_lock(&functions.lock);
    if (!*place) {
        functions.forms[index] = *form;
        const gantry_status_t status =
            make_function(gantry_scope_runtime(scope), &functions.forms[index], is_back, place);
        if (status) (void)gantry_scope_fail(scope, status, gantry_last_message());
    }
    gantry_function_t *function = *place;
    pthread_mutex_unlock(&functions.lock);
    return function;
}

/* ---- segments ---- */

typedef struct run_t {
    gantry_scope_t *scope;
    const rnn_form_t *form;
    int64_t steps, segments;
} run_t;

static int64_t segment_begin(const run_t *r, int64_t segment) {
    return segment * r->steps / r->segments;
}

static run_t begin_run(gantry_scope_t *scope, const rnn_form_t *form, tensor *x) {
    run_t r = {.scope = scope, .form = form};
    r.steps = gantry_tensor_shape(x)->dims[!form->is_time_major];
    r.segments = (r.steps + RNN_MOST_STEPS - 1) / RNN_MOST_STEPS;
    if (r.segments > MOST_SEGMENTS) {
        char text[160];
        snprintf(text, sizeof text,
                 "the sequence has more than %d steps, the most that the op takes on Gantry's "
                 "devices; Keras: pass use_cudnn=False to the layer",
                 MOST_SEGMENTS * RNN_MOST_STEPS);
        (void)gantry_scope_fail(scope, GANTRY_INVALID_ARGUMENT, text);
    }
    return r;
}

/* Cuts the steps of a segment out of x, along this axis. */
static tensor *cudnn_rnn_run_cut(const run_t *r, tensor *x, int32_t axis, int64_t segment) {
    if (!x || r->segments == 1) return x;
    int64_t begin[3] = {0, 0, 0}, size[3] = {-1, -1, -1};
    begin[axis] = segment_begin(r, segment);
    size[axis] = segment_begin(r, segment + 1) - begin[axis];
    return gantry_slice(r->scope, x, begin, size);
}

static tensor *cut_step(const run_t *r, tensor *x, int32_t axis, int64_t step) {
    int64_t begin[3] = {0, 0, 0}, size[3] = {-1, -1, -1};
    begin[axis] = step;
    size[axis] = 1;
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    return gantry_reshape(r->scope, gantry_slice(r->scope, x, begin, size),
                          GANTRY_SHAPE(shape->dims[!axis], shape->dims[2]));
}

static tensor *cudnn_rnn_run_join(const run_t *r, tensor *const *parts, int32_t axis) {
    if (r->segments == 1) return parts[0];
    return gantry_concat(r->scope, parts, (size_t)r->segments, axis);
}

static int32_t time_axis(const run_t *r) { return r->form->is_time_major ? 0 : 1; }

/* Puts the inputs of one segment that both directions have. Returns their number. */
static size_t put_inputs(const run_t *r, const rnn_inputs_t *in, int64_t segment, tensor **out) {
    size_t count = 0;
    out[count++] = cudnn_rnn_run_cut(r, in->at[RNN_X], time_axis(r), segment);
    out[count++] = in->at[RNN_H];
    out[count++] = r->form->mode == RNN_LSTM ? in->at[RNN_C] : in->at[RNN_H];
    out[count++] = in->at[RNN_PARAMS];
    if (r->form->has_mask) out[count++] = cudnn_rnn_run_cut(r, in->at[RNN_MASK], 0, segment);
    return count;
}

gantry_status_t rnn_run_forward(gantry_scope_t *scope, const rnn_form_t *form,
                                const rnn_inputs_t *in, tensor *out[RNN_OUTPUTS]) {
    const run_t r = begin_run(scope, form, in->at[RNN_X]);
    gantry_function_t *function = cudnn_rnn_run_find_function(scope, form, false);
    tensor *inputs[RNN_INPUTS], *y[MOST_SEGMENTS], *cells[MOST_SEGMENTS];
    rnn_inputs_t now = *in;
    for (int64_t i = 0; i < r.segments && !gantry_scope_status(scope); ++i) {
        const size_t count = put_inputs(&r, &now, i, inputs);
        (void)gantry_function_call(scope, function, inputs, count, out, RNN_OUTPUTS);
        y[i] = out[RNN_OUT_Y];
        cells[i] = out[RNN_OUT_CELLS];
        now.at[RNN_H] = out[RNN_OUT_H];
        now.at[RNN_C] = out[RNN_OUT_C];
    }
    if (gantry_scope_status(scope)) return gantry_scope_status(scope);
    out[RNN_OUT_Y] = cudnn_rnn_run_join(&r, y, time_axis(&r));
    if (form->mode == RNN_LSTM) out[RNN_OUT_CELLS] = cudnn_rnn_run_join(&r, cells, 0);
    return gantry_scope_status(scope);
}

/* Puts the state before a segment into the segment's inputs. */
static void enter_segment(const run_t *r, const rnn_inputs_t *in, int64_t segment,
                          rnn_inputs_t *now) {
    now->at[RNN_H] = in->at[RNN_H];
    now->at[RNN_C] = in->at[RNN_C];
    if (segment == 0) return;
    const int64_t step = segment_begin(r, segment) - 1;
    now->at[RNN_H] = cut_step(r, in->back[RNN_Y], time_axis(r), step);
    if (r->form->mode == RNN_LSTM) now->at[RNN_C] = cut_step(r, in->back[RNN_CELLS], 0, step);
}

static size_t put_back_inputs(const run_t *r, const rnn_inputs_t *in, int64_t segment,
                              tensor **out) {
    const bool is_lstm = r->form->mode == RNN_LSTM;
    size_t count = put_inputs(r, in, segment, out);
    tensor *y = out[count++] = cudnn_rnn_run_cut(r, in->back[RNN_Y], time_axis(r), segment);
    out[count++] = is_lstm ? cudnn_rnn_run_cut(r, in->back[RNN_CELLS], 0, segment) : y;
    out[count++] = cudnn_rnn_run_cut(r, in->back[RNN_DY], time_axis(r), segment);
    out[count++] = in->back[RNN_DH];
    out[count++] = is_lstm ? in->back[RNN_DC] : in->back[RNN_DH];
    return count;
}

gantry_status_t rnn_run_backward(gantry_scope_t *scope, const rnn_form_t *form,
                                 const rnn_inputs_t *in, tensor *out[RNN_BACK_OUTPUTS]) {
    const run_t r = begin_run(scope, form, in->at[RNN_X]);
    gantry_function_t *function = cudnn_rnn_run_find_function(scope, form, true);
    tensor *inputs[BACK_INPUTS], *dx[MOST_SEGMENTS], *dparams = NULL;
    rnn_inputs_t now = *in;
    for (int64_t i = r.segments - 1; i >= 0 && !gantry_scope_status(scope); --i) {
        enter_segment(&r, in, i, &now);
        const size_t count = put_back_inputs(&r, &now, i, inputs);
        (void)gantry_function_call(scope, function, inputs, count, out, RNN_BACK_OUTPUTS);
        dx[i] = out[RNN_OUT_DX];
        dparams = dparams ? gantry_add(scope, dparams, out[RNN_OUT_DPARAMS]) : out[RNN_OUT_DPARAMS];
        now.back[RNN_DH] = out[RNN_OUT_DH];
        now.back[RNN_DC] = out[RNN_OUT_DC];
    }
    if (gantry_scope_status(scope)) return gantry_scope_status(scope);
    out[RNN_OUT_DX] = cudnn_rnn_run_join(&r, dx, time_axis(&r));
    out[RNN_OUT_DPARAMS] = dparams;
    return gantry_scope_status(scope);
}
