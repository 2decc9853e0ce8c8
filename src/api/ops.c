/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops.h: each makes its host constants and calls run/eager.h.
 *
 * In this order: making tensors (device/transfer.c, not an op, makes constants), elementwise,
 * shape, matrices. The functions of the headers ops_*.h are in files of those names. */
#include <gantry/ops.h>

#include <string.h>

#include "api/elements_check.h"
#include "base/fp_mode.h"
#include "device/device_open.h"
#include "run/call_op.h"
#include "run/dispatch.h"
#include "run/trace_hooks.h"

#include "ops/type_rows.h"

/* ---- making tensors ---- */

/* Makes a constant in host memory: the function's plan moves it to the devices that need it. */
static gantry_status_t trace_constant(gantry_scope_t *scope, gantry_dtype_t dtype,
                                      const gantry_shape_t *shape, const void *data,
                                      gantry_tensor_t **out_tensor) {
    gantry_runtime_t *runtime = scope->runtime;
    GANTRY__TRY(gantry__runtime_initialize(runtime, "Const"));
    GANTRY__TRY(gantry__logical_device_open(runtime->host));
    GANTRY__TRY(gantry__tensor_from_host_for(scope, runtime->host, dtype, shape, data, out_tensor));
    gantry_status_t status = gantry__trace_constant(scope, *out_tensor);
    if (status != GANTRY_OK) gantry_tensor_release(*out_tensor);
    return status;
}

static inline gantry_status_t make_constant(gantry_scope_t *scope, gantry_dtype_t dtype,
                                            const gantry_shape_t *shape, const void *data,
                                            size_t bytes, gantry_tensor_t **out_tensor) {
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__OP_ID_Const, NULL);
    GANTRY__TRY(gantry__check_elements("constant", dtype, shape, data, bytes));
    if (scope->trace) return trace_constant(scope, dtype, shape, data, out_tensor);
    gantry_logical_device_t *device;
    GANTRY__TRY(gantry__place_core_op(scope, GANTRY__OP_ID_Const, "_EagerConst", dtype, false, NULL,
                                      &device));
    recorded.device = device;
    /* opening decides which view serves the card, and so how its memory is accessed */
    GANTRY__TRY(gantry__logical_device_open(device));
    return gantry__tensor_from_host_for(scope, device, dtype, shape, data, out_tensor);
}

const gantry_tensor_t *gantry_constant(gantry_scope_t *scope, gantry_dtype_t dtype,
                                       gantry_shape_t shape, const void *data, size_t bytes) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    status = make_constant(scope, dtype, &shape, data, bytes, &tensor);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(scope, status);
        return NULL;
    }
    gantry__scope_adopt(scope, tensor);
    return tensor;
}

const gantry_tensor_t *gantry_scalar_f32(gantry_scope_t *scope, float value) {
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SCALAR, &value, sizeof value);
}

const gantry_tensor_t *gantry_scalar_i32(gantry_scope_t *scope, int32_t value) {
    return gantry_constant(scope, GANTRY_INT32, GANTRY_SCALAR, &value, sizeof value);
}

const gantry_tensor_t *gantry_scalar_i64(gantry_scope_t *scope, int64_t value) {
    return gantry_constant(scope, GANTRY_INT64, GANTRY_SCALAR, &value, sizeof value);
}

const gantry_tensor_t *gantry_fill(gantry_scope_t *scope, gantry_shape_t shape,
                                   const gantry_tensor_t *value) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {
        gantry__add_given_shape(&extras, scope, GANTRY__OP_ID_Fill, &shape), value};
    return gantry__call_op(scope, GANTRY__OP_ID_Fill, inputs, 2, NULL, 0, &extras);
}

static const gantry_tensor_t *ops_fill_with(gantry_scope_t *scope, gantry_dtype_t dtype,
                                            const gantry_shape_t *shape, const void *one) {
    gantry__extras_t extras = {.count = 0};
    if (scope && scope->status == GANTRY_OK && gantry_dtype_size(dtype) == 0) {
        (void)gantry__scope_fail(scope,
                                 gantry__refuse("type %d is none of gantry_dtype_t", (int)dtype));
        return NULL;
    }
    const gantry_tensor_t *inputs[] = {
        gantry__add_given_shape(&extras, scope, GANTRY__OP_ID_Fill, shape), NULL};
    if (inputs[0]) inputs[1] = gantry__add_host(&extras, scope, dtype, GANTRY_SCALAR, one);
    return gantry__call_op(scope, GANTRY__OP_ID_Fill, inputs, 2, NULL, 0, &extras);
}

const gantry_tensor_t *gantry_zeros(gantry_scope_t *scope, gantry_dtype_t dtype,
                                    gantry_shape_t shape) {
    const uint64_t zero[2] = {0};
    return ops_fill_with(scope, dtype, &shape, zero);
}

const gantry_tensor_t *gantry_ones(gantry_scope_t *scope, gantry_dtype_t dtype,
                                   gantry_shape_t shape) {
    const uint64_t one[2] = {gantry__type_placed_one((int32_t)dtype)};
    return ops_fill_with(scope, dtype, &shape, one);
}

const gantry_tensor_t *gantry_zeros_like(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry__call_op(scope, GANTRY__OP_ID_ZerosLike, &x, 1, NULL, 0, NULL);
}

const gantry_tensor_t *gantry_ones_like(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry__call_op(scope, GANTRY__OP_ID_OnesLike, &x, 1, NULL, 0, NULL);
}

const gantry_tensor_t *gantry_range(gantry_scope_t *scope, const gantry_tensor_t *start,
                                    const gantry_tensor_t *limit, const gantry_tensor_t *delta) {
    const gantry_tensor_t *inputs[] = {start, limit, delta};
    return gantry__call_op(scope, GANTRY__OP_ID_Range, inputs, 3, NULL, 0, NULL);
}

/* ---- further elementwise ops ---- */

const gantry_tensor_t *gantry_clip_by_value(gantry_scope_t *scope, const gantry_tensor_t *x,
                                            const gantry_tensor_t *min,
                                            const gantry_tensor_t *max) {
    const gantry_tensor_t *inputs[] = {x, min, max};
    return gantry__call_op(scope, GANTRY__OP_ID_ClipByValue, inputs, 3, NULL, 0, NULL);
}

const gantry_tensor_t *gantry_select(gantry_scope_t *scope, const gantry_tensor_t *condition,
                                     const gantry_tensor_t *x, const gantry_tensor_t *y) {
    const gantry_tensor_t *inputs[] = {condition, x, y};
    return gantry__call_op(scope, GANTRY__OP_ID_Select, inputs, 3, NULL, 0, NULL);
}

const gantry_tensor_t *gantry_cast(gantry_scope_t *scope, const gantry_tensor_t *x,
                                   gantry_dtype_t dtype) {
    const gantry_attr_value_t attr = gantry__attr_type("DstT", dtype);
    return gantry__call_op(scope, GANTRY__OP_ID_Cast, &x, 1, &attr, 1, NULL);
}

const gantry_tensor_t *gantry_add_n(gantry_scope_t *scope, const gantry_tensor_t *const *values,
                                    size_t count) {
    if (!gantry__is_given(scope, values, count, "gantry_add_n: values")) return NULL;
    return gantry__call_op(scope, GANTRY__OP_ID_AddN, values, count, NULL, 0, NULL);
}

const gantry_tensor_t *gantry_bias_add(gantry_scope_t *scope, const gantry_tensor_t *value,
                                       const gantry_tensor_t *bias) {
    const gantry_tensor_t *inputs[] = {value, bias};
    return gantry__call_op(scope, GANTRY__OP_ID_BiasAdd, inputs, 2, NULL, 0, NULL);
}

/* ---- shape ---- */

const gantry_tensor_t *gantry_identity(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry__call_op(scope, GANTRY__OP_ID_Identity, &x, 1, NULL, 0, NULL);
}

const gantry_tensor_t *gantry_reshape(gantry_scope_t *scope, const gantry_tensor_t *x,
                                      gantry_shape_t shape) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {
        x, gantry__add_given_shape(&extras, scope, GANTRY__OP_ID_Reshape, &shape)};
    return gantry__call_op(scope, GANTRY__OP_ID_Reshape, inputs, 2, NULL, 0, &extras);
}

const gantry_tensor_t *gantry_expand_dims(gantry_scope_t *scope, const gantry_tensor_t *x,
                                          int32_t axis) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {x, gantry__add_host_i32(&extras, scope, axis)};
    return gantry__call_op(scope, GANTRY__OP_ID_ExpandDims, inputs, 2, NULL, 0, &extras);
}

const gantry_tensor_t *gantry_squeeze(gantry_scope_t *scope, const gantry_tensor_t *x,
                                      const int32_t *axes, size_t axis_count) {
    int64_t list[GANTRY_MAX_RANK] = {0};
    if (axes && axis_count > GANTRY_MAX_RANK) {
        if (gantry__scope_check(scope) == GANTRY_OK) {
            (void)gantry__scope_fail(
                scope,
                gantry__refuse("gantry_squeeze: axis_count is %zu; at most %d axes are accepted",
                               axis_count, GANTRY_MAX_RANK));
        }
        return NULL;
    }
    for (size_t i = 0; axes && i < axis_count; ++i) list[i] = axes[i];
    const gantry_attr_value_t attr = gantry__attr_ints("squeeze_dims", list, axis_count);
    return gantry__call_op(scope, GANTRY__OP_ID_Squeeze, &x, 1, &attr, axes ? 1 : 0, NULL);
}

const gantry_tensor_t *gantry_bitcast(gantry_scope_t *scope, const gantry_tensor_t *x,
                                      gantry_dtype_t dtype) {
    const gantry_attr_value_t attr = gantry__attr_type("type", dtype);
    return gantry__call_op(scope, GANTRY__OP_ID_Bitcast, &x, 1, &attr, 1, NULL);
}

const gantry_tensor_t *gantry_transpose(gantry_scope_t *scope, const gantry_tensor_t *x,
                                        const int32_t *perm) {
    gantry__extras_t extras = {.count = 0};
    int32_t reversed[GANTRY_MAX_RANK];
    int32_t rank = x ? x->shape.rank : 0;
    for (int32_t i = 0; i < rank; ++i) reversed[i] = rank - 1 - i;
    const gantry_tensor_t *inputs[] = {
        x,
        gantry__add_host(&extras, scope, GANTRY_INT32, GANTRY_SHAPE(rank), perm ? perm : reversed)};
    return gantry__call_op(scope, GANTRY__OP_ID_Transpose, inputs, 2, NULL, 0, &extras);
}

const gantry_tensor_t *gantry_broadcast_to(gantry_scope_t *scope, const gantry_tensor_t *x,
                                           gantry_shape_t shape) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {
        x, gantry__add_given_shape(&extras, scope, GANTRY__OP_ID_BroadcastTo, &shape)};
    return gantry__call_op(scope, GANTRY__OP_ID_BroadcastTo, inputs, 2, NULL, 0, &extras);
}

const gantry_tensor_t *gantry_concat(gantry_scope_t *scope, const gantry_tensor_t *const *values,
                                     size_t count, int32_t axis) {
    if (!gantry__is_given(scope, values, count, "gantry_concat: values")) return NULL;
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[GANTRY__MAX_INPUTS];
    size_t given = count < GANTRY__MAX_INPUTS ? count : GANTRY__MAX_INPUTS - 1;
    for (size_t i = 0; i < given; ++i) inputs[i] = values[i];
    inputs[given] = gantry__add_host_i32(&extras, scope, axis);
    /* the op refuses more inputs than fit, by their count */
    return gantry__call_op(scope, GANTRY__OP_ID_Concat, inputs, count + 1, NULL, 0, &extras);
}

const gantry_tensor_t *gantry_slice(gantry_scope_t *scope, const gantry_tensor_t *x,
                                    const int64_t *begin, const int64_t *size) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {x, NULL, NULL};
    inputs[1] = gantry__add_host_of_rank(&extras, scope, x, begin, 1, "gantry_slice: begin");
    if (inputs[1])
        inputs[2] = gantry__add_host_of_rank(&extras, scope, x, size, 1, "gantry_slice: size");
    return gantry__call_op(scope, GANTRY__OP_ID_Slice, inputs, 3, NULL, 0, &extras);
}

const gantry_tensor_t *gantry_dynamic_slice(gantry_scope_t *scope, const gantry_tensor_t *x,
                                            const gantry_tensor_t *starts, const int64_t *size) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {x, starts, NULL};
    inputs[2] = gantry__add_host_of_rank(&extras, scope, x, size, 1, "gantry_dynamic_slice: size");
    return gantry__call_op(scope, GANTRY__OP_ID_XlaDynamicSlice, inputs, 3, NULL, 0, &extras);
}

const gantry_tensor_t *gantry_dynamic_update_slice(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                   const gantry_tensor_t *update,
                                                   const gantry_tensor_t *starts) {
    const gantry_tensor_t *inputs[] = {x, update, starts};
    return gantry__call_op(scope, GANTRY__OP_ID_XlaDynamicUpdateSlice, inputs, 3, NULL, 0, NULL);
}

const gantry_tensor_t *gantry_gather(gantry_scope_t *scope, const gantry_tensor_t *params,
                                     const gantry_tensor_t *indices, int32_t axis) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {params, indices, gantry__add_host_i32(&extras, scope, axis)};
    return gantry__call_op(scope, GANTRY__OP_ID_Gather, inputs, 3, NULL, 0, &extras);
}

const gantry_tensor_t *gantry_one_hot(gantry_scope_t *scope, const gantry_tensor_t *indices,
                                      int32_t depth, const gantry_tensor_t *on_value,
                                      const gantry_tensor_t *off_value, int32_t axis) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {indices, gantry__add_host_i32(&extras, scope, depth),
                                       on_value, off_value};
    const gantry_attr_value_t attr = gantry__attr_int("axis", axis);
    return gantry__call_op(scope, GANTRY__OP_ID_OneHot, inputs, 4, &attr, 1, &extras);
}

/* ---- matrices ---- */

const gantry_tensor_t *gantry_matmul(gantry_scope_t *scope, const gantry_tensor_t *a,
                                     const gantry_tensor_t *b,
                                     const gantry_matmul_options_t *options) {
    gantry_matmul_options_t o;
    if (!GANTRY__TAKE_OPTIONS(scope, options, gantry_matmul_options_t, transpose_b, &o))
        return NULL;
    const gantry_tensor_t *inputs[] = {a, b};
    bool batched = a && b && (a->shape.rank > 2 || b->shape.rank > 2);
    size_t count = 0;
    gantry_attr_value_t attrs[2];
    if (o.transpose_a) attrs[count++] = gantry__attr_bool(batched ? "adj_x" : "transpose_a", true);
    if (o.transpose_b) attrs[count++] = gantry__attr_bool(batched ? "adj_y" : "transpose_b", true);
    return gantry__call_op(scope, batched ? GANTRY__OP_ID_BatchMatMul : GANTRY__OP_ID_MatMul,
                           inputs, 2, attrs, count, NULL);
}
