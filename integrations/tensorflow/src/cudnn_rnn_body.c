/* SPDX-License-Identifier: Apache-2.0 */
/* What the bodies of both directions share: the split of the parameters, layouts, products. */
#include "cudnn_rnn_body.h"

typedef const gantry_tensor_t tensor;

int64_t rnn_gates(rnn_mode_t mode) {
    if (mode == RNN_LSTM) return 4;
    return mode == RNN_GRU ? 3 : 1;
}

int64_t rnn_params(rnn_mode_t mode, int64_t units, int64_t features) {
    return rnn_gates(mode) * units * (features + units + 2);
}

tensor *rnn_by_time(const rnn_body_t *b, tensor *x) {
    static const int32_t swap[] = {1, 0, 2};
    return b->form->is_time_major ? x : gantry_transpose(b->s, x, swap);
}

tensor *rnn_as_given(const rnn_body_t *b, tensor *x) { return rnn_by_time(b, x); }

static tensor *cut_params(const rnn_body_t *b, tensor *params, int64_t *at, int64_t columns) {
    const int64_t begin = *at, size = b->width * (columns ? columns : 1);
    *at += size;
    tensor *part = gantry_slice(b->s, params, &begin, &size);
    return columns ? gantry_reshape(b->s, part, GANTRY_SHAPE(b->width, columns)) : part;
}

rnn_body_t rnn_body_begin(gantry_scope_t *scope, tensor *const *inputs, const rnn_form_t *form) {
    const int64_t *sizes = gantry_tensor_shape(inputs[RNN_X])->dims;
    rnn_body_t b = {.s = scope,
                    .form = form,
                    .steps = sizes[!form->is_time_major],
                    .batch = sizes[form->is_time_major],
                    .features = sizes[2],
                    .units = gantry_tensor_shape(inputs[RNN_H])->dims[1],
                    .h = inputs[RNN_H],
                    .c = inputs[RNN_C],
                    .mask = form->has_mask ? inputs[RNN_MASK] : NULL};
    b.width = rnn_gates(form->mode) * b.units;
    b.x = gantry_reshape(scope, rnn_by_time(&b, inputs[RNN_X]), GANTRY_SHAPE(-1, b.features));
    int64_t at = 0;
    b.w = cut_params(&b, inputs[RNN_PARAMS], &at, b.features);
    b.u = cut_params(&b, inputs[RNN_PARAMS], &at, b.units);
    b.bias_w = cut_params(&b, inputs[RNN_PARAMS], &at, 0);
    b.bias_u = cut_params(&b, inputs[RNN_PARAMS], &at, 0);
    if (form->mode != RNN_GRU) b.bias_w = gantry_add(scope, b.bias_w, b.bias_u);
    return b;
}

tensor *rnn_times_transposed(gantry_scope_t *s, tensor *a, tensor *b) {
    const gantry_matmul_options_t options = {.struct_size = sizeof options, .transpose_b = true};
    return gantry_matmul(s, a, b, &options);
}

tensor *rnn_project(const rnn_body_t *b) {
    return gantry_bias_add(b->s, rnn_times_transposed(b->s, b->x, b->w), b->bias_w);
}

tensor *rnn_complement(const rnn_body_t *b, tensor *x) {
    const float one = 1;
    tensor *all = gantry_constant(b->s, GANTRY_FLOAT32, GANTRY_SCALAR, &one, sizeof one);
    if (b->form->dtype != GANTRY_FLOAT32) all = gantry_cast(b->s, all, b->form->dtype);
    return gantry_sub(b->s, all, x);
}

tensor *rnn_activate(const rnn_body_t *b, tensor *x) {
    return b->form->mode == RNN_RELU ? gantry_relu(b->s, x) : gantry_tanh(b->s, x);
}
