/* SPDX-License-Identifier: Apache-2.0 */
/* ReverseSequence, which Keras calls around a recurrent layer that goes backwards. The lengths are
 * on the host. If all of them are the whole sequence, it is Reverse; else the steps of all rows are
 * gathered:
 *
 *     x [batch, steps, n...], after a transpose if it is laid out differently
 *     row b, step t comes from step length[b] - 1 - t below the length, and from t after it */
#include <stdlib.h>

#include "bridge.h"

typedef const gantry_tensor_t tensor;

typedef struct reverse_t {
    int64_t sequence_axis, batch_axis;
} reverse_t;

static void *reverse_sequence_create_kernel(TF_OpKernelConstruction *construction) {
    reverse_t *kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        bridge_refuse_memory(construction);
        return NULL;
    }
    TF_Status *status = TF_NewStatus();
    TF_OpKernelConstruction_GetAttrInt64(construction, "seq_dim", &kernel->sequence_axis, status);
    if (TF_GetCode(status) == TF_OK)
        TF_OpKernelConstruction_GetAttrInt64(construction, "batch_dim", &kernel->batch_axis,
                                             status);
    if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(construction, status);
    TF_DeleteStatus(status);
    return kernel;
}

static void reverse_sequence_destroy_kernel(void *kernel) { free(kernel); }

/* ---- a call ---- */

typedef struct reverse_call_t {
    bridge_call_t bridge;
    int32_t sequence_axis, batch_axis;
    int64_t steps, batch;
    int64_t *lengths; /* one for each batch row */
} reverse_call_t;

static bool check_axes(reverse_call_t *c, const reverse_t *kernel, tensor *x) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const int64_t sequence = kernel->sequence_axis, batch = kernel->batch_axis;
    if (sequence < 0 || batch < 0 || sequence >= shape->rank || batch >= shape->rank ||
        sequence == batch) {
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "ReverseSequence: seq_dim is %lld and batch_dim is %lld; two different axes "
                    "of the input, whose rank is %d, are accepted",
                    (long long)sequence, (long long)batch, shape->rank);
        return false;
    }
    c->sequence_axis = (int32_t)sequence;
    c->batch_axis = (int32_t)batch;
    c->steps = shape->dims[sequence];
    c->batch = shape->dims[batch];
    return true;
}

/* Reads the lengths. *out_all says whether each is the whole sequence. */
static bool reverse_sequence_take_lengths(reverse_call_t *c, bool *out_all) {
    TF_Tensor *given = NULL;
    (void)bridge_host_input(&c->bridge, 1, &given);
    if (bridge_has_failed(&c->bridge)) return false;
    if (TF_TensorElementCount(given) != c->batch) {
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "ReverseSequence: seq_lengths has %lld elements, and axis batch_dim has %lld",
                    (long long)TF_TensorElementCount(given), (long long)c->batch);
        return false;
    }
    c->lengths = calloc((size_t)c->batch + 1, sizeof *c->lengths);
    if (!c->lengths) {
        bridge_fail_memory(&c->bridge);
        return false;
    }
    *out_all = true;
    for (int64_t i = 0; i < c->batch; ++i) {
        c->lengths[i] = bridge_host_int(given, i);
        *out_all &= c->lengths[i] == c->steps;
        if (c->lengths[i] >= 0 && c->lengths[i] <= c->steps) continue;
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "ReverseSequence: seq_lengths[%lld] is %lld; 0 to %lld are accepted",
                    (long long)i, (long long)c->lengths[i], (long long)c->steps);
        return false;
    }
    return true;
}

/* Writes the order of axes that has batch and steps first, and the order that leads back. */
static void order_axes(const reverse_call_t *c, int32_t rank, int32_t *forth, int32_t *back) {
    int32_t count = 0;
    forth[count++] = c->batch_axis;
    forth[count++] = c->sequence_axis;
    for (int32_t i = 0; i < rank; ++i) {
        if (i != c->batch_axis && i != c->sequence_axis) forth[count++] = i;
    }
    for (int32_t i = 0; i < rank; ++i) back[forth[i]] = i;
}

/* Writes, for each of [batch * steps], the row that goes there. Returns NULL after an error. */
static tensor *make_indices(reverse_call_t *c) {
    const size_t bytes = (size_t)(c->batch * c->steps) * sizeof(int64_t);
    int64_t *rows = malloc(bytes ? bytes : 1);
    if (!rows) {
        bridge_fail_memory(&c->bridge);
        return NULL;
    }
    for (int64_t b = 0, at = 0; b < c->batch; ++b) {
        for (int64_t t = 0; t < c->steps; ++t)
            rows[at++] = b * c->steps + (t < c->lengths[b] ? c->lengths[b] - 1 - t : t);
    }
    tensor *indices = gantry_constant(c->bridge.scope, GANTRY_INT64,
                                      GANTRY_SHAPE(c->batch * c->steps), rows, bytes);
    free(rows);
    return indices;
}

static tensor *gather_steps(reverse_call_t *c, tensor *x) {
    gantry_scope_t *s = c->bridge.scope;
    const int32_t rank = gantry_tensor_shape(x)->rank;
    const bool is_in_order = c->batch_axis == 0 && c->sequence_axis == 1;
    int32_t forth[GANTRY_MAX_RANK], back[GANTRY_MAX_RANK];
    order_axes(c, rank, forth, back);
    tensor *indices = make_indices(c);
    if (!indices) return NULL;
    tensor *ordered = is_in_order ? x : gantry_transpose(s, x, forth);
    if (!ordered) return NULL;
    const gantry_shape_t shape = *gantry_tensor_shape(ordered);
    tensor *rows = gantry_reshape(s, ordered, GANTRY_SHAPE(c->batch * c->steps, -1));
    tensor *y = gantry_reshape(s, gantry_gather(s, rows, indices, 0), shape);
    return is_in_order ? y : gantry_transpose(s, y, back);
}

static void reverse_sequence_compute(void *kernel, TF_OpKernelContext *context) {
    reverse_call_t c = {.lengths = NULL};
    bool is_whole = false;
    if (!bridge_begin(&c.bridge, context)) return;
    tensor *x = bridge_input(&c.bridge, 0);
    if (x && check_axes(&c, kernel, x) && reverse_sequence_take_lengths(&c, &is_whole)) {
        const bool is_empty = !gantry_tensor_elements(x);
        bridge_output(&c.bridge, 0,
                      is_empty   ? x
                      : is_whole ? gantry_reverse(c.bridge.scope, x, &c.sequence_axis, 1)
                                 : gather_steps(&c, x));
    }
    bridge_end(&c.bridge);
    free(c.lengths);
}

void reverse_sequence_register(void) {
    const uint64_t types =
        GANTRY_DTYPES_FLOATING | GANTRY_DTYPES_BOOLS | GANTRY_DTYPE_BIT(GANTRY_INT64);
    register_kernel(&(register_kernel_t){.op = "ReverseSequence",
                                         .types = {{"T", types}},
                                         .host_args = {"seq_lengths"},
                                         .create = reverse_sequence_create_kernel,
                                         .compute = reverse_sequence_compute,
                                         .destroy = reverse_sequence_destroy_kernel});
}
