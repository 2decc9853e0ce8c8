/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels CudnnRNN, CudnnRNNV2, CudnnRNNV3 and their Backprop: one layer, one direction, as
 * Keras calls them. Everything else that the ops can do is refused with a reason when the node is
 * made. */
#include "cudnn_rnn.h"

#include <stdlib.h>
#include <string.h>

#include "bridge.h"

typedef const gantry_tensor_t tensor;

enum { MOST_TEXT = 32 };

/* A node's attributes. */
typedef struct rnn_kernel_t {
    rnn_mode_t mode;
    bool is_time_major, is_training, has_lengths, has_host_reserved;
} rnn_kernel_t;

/* ---- making a kernel ---- */

static bool cudnn_rnn_read_text(TF_OpKernelConstruction *construction, const char *name,
                                char out[MOST_TEXT]) {
    TF_Status *status = TF_NewStatus();
    int32_t count = 0, bytes = 0;
    TF_OpKernelConstruction_GetAttrSize(construction, name, &count, &bytes, status);
    memset(out, 0, MOST_TEXT);
    if (TF_GetCode(status) == TF_OK && bytes < MOST_TEXT)
        TF_OpKernelConstruction_GetAttrString(construction, name, out, MOST_TEXT - 1, status);
    const bool is_read = TF_GetCode(status) == TF_OK && bytes < MOST_TEXT;
    TF_DeleteStatus(status);
    return is_read;
}

static bool has_text(TF_OpKernelConstruction *construction, const char *name, const char *wanted) {
    char text[MOST_TEXT];
    return cudnn_rnn_read_text(construction, name, text) && !strcmp(text, wanted);
}

static bool read_bool(TF_OpKernelConstruction *construction, const char *name, bool absent) {
    TF_Status *status = TF_NewStatus();
    TF_Bool value = absent;
    if (TF_OpKernelConstruction_HasAttr(construction, name, status))
        TF_OpKernelConstruction_GetAttrBool(construction, name, &value, status);
    TF_DeleteStatus(status);
    return value;
}

static int64_t cudnn_rnn_read_int(TF_OpKernelConstruction *construction, const char *name) {
    TF_Status *status = TF_NewStatus();
    int64_t value = 0;
    if (TF_OpKernelConstruction_HasAttr(construction, name, status))
        TF_OpKernelConstruction_GetAttrInt64(construction, name, &value, status);
    TF_DeleteStatus(status);
    return value;
}

static bool read_mode(TF_OpKernelConstruction *construction, rnn_mode_t *out) {
    static const char *const names[RNN_MODES] = {
        [RNN_RELU] = "rnn_relu", [RNN_TANH] = "rnn_tanh", [RNN_LSTM] = "lstm", [RNN_GRU] = "gru"};
    for (*out = 0; *out < RNN_MODES; ++*out) {
        if (has_text(construction, "rnn_mode", names[*out])) return true;
    }
    return false;
}

/* Why Gantry cannot run this node; NULL: it can. */
static const char *find_obstacle(TF_OpKernelConstruction *construction) {
    rnn_mode_t mode;
    if (!read_mode(construction, &mode))
        return "rnn_mode of a CudnnRNN op is none of rnn_relu, rnn_tanh, lstm, gru";
    if (!has_text(construction, "direction", "unidirectional"))
        return "a CudnnRNN op has direction \"bidirectional\"; Gantry's devices take "
               "\"unidirectional\", which Keras's Bidirectional uses twice";
    if (!has_text(construction, "input_mode", "linear_input"))
        return "a CudnnRNN op has another input_mode than \"linear_input\", the one that Gantry's "
               "devices take";
    if (cudnn_rnn_read_int(construction, "num_proj"))
        return "a CudnnRNN op has num_proj; Gantry's devices take 0";
    return NULL;
}

static void *cudnn_rnn_create_kernel(TF_OpKernelConstruction *construction) {
    char op[64];
    if (!bridge_op_name(construction, op, sizeof op)) return NULL;
    const char *obstacle = find_obstacle(construction);
    if (obstacle) {
        bridge_refuse(construction, GANTRY_UNIMPLEMENTED, obstacle);
        return NULL;
    }
    rnn_kernel_t *kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        bridge_refuse_memory(construction);
        return NULL;
    }
    (void)read_mode(construction, &kernel->mode);
    const char version = op[strlen(op) - 1];
    kernel->has_lengths = version == '3';
    kernel->has_host_reserved = version == '2' || version == '3';
    kernel->is_time_major = read_bool(construction, "time_major", true);
    kernel->is_training = read_bool(construction, "is_training", true);
    return kernel;
}

static void cudnn_rnn_destroy_kernel(void *kernel) { free(kernel); }

/* ---- inputs ---- */

/* A call with its inputs. */
typedef struct rnn_call_t {
    const rnn_kernel_t *kernel;
    bridge_call_t bridge;
    rnn_form_t form;
    rnn_inputs_t in;
    gantry_shape_t state; /* the shape of h, as given */
    int64_t steps, batch, units;
} rnn_call_t;

static void cudnn_rnn_check_sizes(rnn_call_t *c, tensor *x, tensor *h, tensor *params) {
    const gantry_shape_t *sizes = gantry_tensor_shape(x);
    c->state = *gantry_tensor_shape(h);
    if (sizes->rank != 3 || c->state.rank != 3) {
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "input and input_h of a CudnnRNN op have ranks %d and %d; both are 3",
                    sizes->rank, c->state.rank);
        return;
    }
    const bool by_time = c->kernel->is_time_major;
    c->steps = sizes->dims[!by_time];
    c->batch = sizes->dims[by_time];
    c->units = c->state.dims[2];
    const long long layers = c->state.dims[!by_time], rows = c->state.dims[by_time];
    const long long wanted = rnn_params(c->kernel->mode, c->units, sizes->dims[2]);
    const long long given = gantry_tensor_elements(params);
    if (rows != c->batch)
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "input of a CudnnRNN op has %lld sequences, and input_h has %lld",
                    (long long)c->batch, rows);
    if (layers != 1)
        bridge_fail(&c->bridge, GANTRY_UNIMPLEMENTED,
                    "a CudnnRNN op has %lld layers; Gantry's devices take 1", layers);
    if (c->steps < 1 || c->batch < 1)
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "input of a CudnnRNN op has %lld steps of %lld sequences; each is at least 1",
                    (long long)c->steps, (long long)c->batch);
    if (given != wanted)
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "params of a CudnnRNN op has %lld elements; its sizes need %lld", given,
                    wanted);
}

/* Whether all lengths are possible; otherwise the call fails. *out_short says whether one is
 * shorter than the sequence. */
static bool check_lengths(rnn_call_t *c, const int32_t *lengths, int64_t count, bool *out_short) {
    *out_short = false;
    if (count != c->batch)
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "sequence_lengths of a CudnnRNN op has %lld elements for %lld sequences",
                    (long long)count, (long long)c->batch);
    for (int64_t i = 0; i < c->batch && !bridge_has_failed(&c->bridge); ++i) {
        *out_short |= lengths[i] < c->steps;
        if (lengths[i] >= 0 && lengths[i] <= c->steps) continue;
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "sequence_lengths[%lld] of a CudnnRNN op is %d; 0 to %lld are accepted",
                    (long long)i, lengths[i], (long long)c->steps);
    }
    return !bridge_has_failed(&c->bridge);
}

/* Makes the mask of the lengths, which are on the host. There is none if all sequences have all
 * steps. */
static void take_lengths(rnn_call_t *c, int input) {
    TF_Tensor *given = NULL;
    const int32_t *lengths = bridge_host_input(&c->bridge, input, &given);
    bool has_short = false;
    if (!lengths || !check_lengths(c, lengths, TF_TensorElementCount(given), &has_short)) return;
    if (!has_short) return;
    const size_t bytes = (size_t)(c->steps * c->batch);
    bool *mask = malloc(bytes);
    if (!mask) {
        bridge_fail_memory(&c->bridge);
        return;
    }
    for (int64_t i = 0; i < c->steps * c->batch; ++i)
        mask[i] = i / c->batch < lengths[i % c->batch];
    c->form.has_mask = true;
    c->in.at[RNN_MASK] = gantry_constant(c->bridge.scope, GANTRY_BOOL,
                                         GANTRY_SHAPE(c->steps, c->batch, 1), mask, bytes);
    free(mask);
}

/* A state as the functions take it: [batch, units]. */
static tensor *as_rows(rnn_call_t *c, tensor *state) {
    return gantry_reshape(c->bridge.scope, state, GANTRY_SHAPE(c->batch, c->units));
}

static tensor *input_rows(rnn_call_t *c, int i) { return as_rows(c, bridge_input(&c->bridge, i)); }

static bool begin_call(rnn_call_t *c, const rnn_kernel_t *kernel, TF_OpKernelContext *context) {
    memset(c, 0, sizeof *c);
    c->kernel = kernel;
    if (!bridge_begin(&c->bridge, context)) return false;
    tensor *x = bridge_input(&c->bridge, 0), *h = bridge_input(&c->bridge, 1);
    tensor *params = bridge_input(&c->bridge, 3);
    if (!bridge_has_failed(&c->bridge)) cudnn_rnn_check_sizes(c, x, h, params);
    if (bridge_has_failed(&c->bridge)) return true;
    c->form = (rnn_form_t){.mode = kernel->mode,
                           .dtype = gantry_tensor_dtype(x),
                           .is_time_major = kernel->is_time_major};
    c->in.at[RNN_X] = x;
    c->in.at[RNN_PARAMS] = params;
    c->in.at[RNN_H] = as_rows(c, h);
    if (kernel->mode == RNN_LSTM) c->in.at[RNN_C] = input_rows(c, 2);
    if (kernel->has_lengths) take_lengths(c, 4);
    return true;
}

/* ---- outputs ---- */

static void output_state(rnn_call_t *c, int i, tensor *state) {
    if (!bridge_has_failed(&c->bridge))
        bridge_output(&c->bridge, i, gantry_reshape(c->bridge.scope, state, c->state));
}

/* Sets the output c of a mode that has none: a scalar, as in TensorFlow. */
static void output_cell(rnn_call_t *c, int i, tensor *cell) {
    if (c->kernel->mode == RNN_LSTM)
        output_state(c, i, cell);
    else
        bridge_output(&c->bridge, i, gantry_zeros(c->bridge.scope, c->form.dtype, GANTRY_SCALAR));
}

static void output_nothing(rnn_call_t *c, int i, gantry_dtype_t dtype) {
    bridge_output(&c->bridge, i, gantry_zeros(c->bridge.scope, dtype, GANTRY_SHAPE(0)));
}

static void compute_forward(void *kernel, TF_OpKernelContext *context) {
    rnn_call_t c;
    tensor *out[RNN_OUTPUTS] = {NULL};
    if (!begin_call(&c, kernel, context)) return;
    if (!bridge_has_failed(&c.bridge) && !rnn_run_forward(c.bridge.scope, &c.form, &c.in, out)) {
        bridge_output(&c.bridge, 0, out[RNN_OUT_Y]);
        output_state(&c, 1, out[RNN_OUT_H]);
        output_cell(&c, 2, out[RNN_OUT_C]);
        if (c.kernel->is_training && c.kernel->mode == RNN_LSTM)
            bridge_output(&c.bridge, 3, out[RNN_OUT_CELLS]);
        else
            output_nothing(&c, 3, c.form.dtype);
        if (c.kernel->has_host_reserved) output_nothing(&c, 4, GANTRY_INT8);
    }
    bridge_end(&c.bridge);
}

/* `first` must be the number of the input `output`. */
static void take_back_inputs(rnn_call_t *c, int first) {
    tensor **back = c->in.back;
    back[RNN_Y] = bridge_input(&c->bridge, first);
    back[RNN_DY] = bridge_input(&c->bridge, first + 3);
    back[RNN_DH] = input_rows(c, first + 4);
    if (c->kernel->mode != RNN_LSTM) return;
    back[RNN_DC] = input_rows(c, first + 5);
    tensor *cells = bridge_input(&c->bridge, first + 6);
    if (cells && gantry_tensor_elements(cells) != c->steps * c->batch * c->units)
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "reserve_space of a CudnnRNNBackprop op has %lld elements; the op that made "
                    "the output, with is_training=True, gives %lld",
                    (long long)gantry_tensor_elements(cells),
                    (long long)(c->steps * c->batch * c->units));
    back[RNN_CELLS] =
        gantry_reshape(c->bridge.scope, cells, GANTRY_SHAPE(c->steps, c->batch, c->units));
}

static void compute_backward(void *kernel, TF_OpKernelContext *context) {
    rnn_call_t c;
    tensor *out[RNN_BACK_OUTPUTS] = {NULL};
    if (!begin_call(&c, kernel, context)) return;
    if (!bridge_has_failed(&c.bridge)) take_back_inputs(&c, c.kernel->has_lengths ? 5 : 4);
    if (!bridge_has_failed(&c.bridge) && !rnn_run_backward(c.bridge.scope, &c.form, &c.in, out)) {
        bridge_output(&c.bridge, 0, out[RNN_OUT_DX]);
        output_state(&c, 1, out[RNN_OUT_DH]);
        output_cell(&c, 2, out[RNN_OUT_DC]);
        bridge_output(&c.bridge, 3, out[RNN_OUT_DPARAMS]);
    }
    bridge_end(&c.bridge);
}

/* ---- registration ---- */

void cudnn_rnn_register(void) {
    static const char *const forward[] = {"CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"};
    static const char *const backward[] = {"CudnnRNNBackprop", "CudnnRNNBackpropV2",
                                           "CudnnRNNBackpropV3"};
    for (size_t i = 0; i < 3; ++i) {
        register_kernel_t kernel = {.types = {{"T", GANTRY_DTYPES_FLOATING}},
                                    .create = cudnn_rnn_create_kernel,
                                    .destroy = cudnn_rnn_destroy_kernel};
        size_t count = 0;
        if (i > 0) kernel.host_args[count++] = "host_reserved";
        if (i > 1) kernel.host_args[count++] = "sequence_lengths";
        kernel.op = forward[i];
        kernel.compute = compute_forward;
        register_kernel(&kernel);
        kernel.op = backward[i];
        kernel.compute = compute_backward;
        register_kernel(&kernel);
    }
}
