/* SPDX-License-Identifier: Apache-2.0 */
#include "run/call_op.h"

#include "base/fp_mode.h"
#include "shared/struct_size.h"

static gantry_status_t make_host(gantry_scope_t *scope, gantry_logical_device_t *device,
                                 gantry_dtype_t dtype, const gantry_shape_t *shape,
                                 const void *data, gantry_tensor_t **out_tensor) {
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__OP_ID_Const, device);
    GANTRY__TRY(gantry__tensor_from_host_for(scope, device, dtype, shape, data, out_tensor));
    (*out_tensor)->is_own = true;
    return GANTRY_OK;
}

const gantry_tensor_t *gantry__add_host_on(gantry__extras_t *extras, gantry_scope_t *scope,
                                           gantry_logical_device_t *device, gantry_dtype_t dtype,
                                           const gantry_shape_t *shape, const void *data) {
    gantry_tensor_t *tensor = NULL;
    gantry_status_t status = make_host(scope, device, dtype, shape, data, &tensor);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(scope, status);
        return NULL;
    }
    extras->tensors[extras->count++] = tensor;
    return tensor;
}

const gantry_tensor_t *gantry__add_host(gantry__extras_t *extras, gantry_scope_t *scope,
                                        gantry_dtype_t dtype, gantry_shape_t shape,
                                        const void *data) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_status_t status = gantry__scope_check(scope);
    if (status != GANTRY_OK) return NULL;
    status = gantry__runtime_initialize(scope->runtime, "Const");
    if (status == GANTRY_OK)
        return gantry__add_host_on(extras, scope, scope->runtime->host, dtype, &shape, data);
    (void)gantry__scope_fail(scope, status);
    return NULL;
}

const gantry_tensor_t *gantry__add_host_shape(gantry__extras_t *extras, gantry_scope_t *scope,
                                              const gantry_shape_t *shape) {
    return gantry__add_host(extras, scope, GANTRY_INT64, GANTRY_SHAPE(shape->rank), shape->dims);
}

const gantry_tensor_t *gantry__add_given_shape(gantry__extras_t *extras, gantry_scope_t *scope,
                                               gantry__op_id_t op, const gantry_shape_t *shape) {
    if (shape->rank >= 0 && shape->rank <= GANTRY_MAX_RANK)
        return gantry__add_host_shape(extras, scope, shape);
    if (!scope || scope->status != GANTRY_OK) return NULL;
    (void)gantry__scope_fail(
        scope, gantry__refuse("%s: the shape has rank %d; 0 to %d is accepted",
                              gantry__op_get(op)->name, shape->rank, GANTRY_MAX_RANK));
    return NULL;
}

const gantry_tensor_t *gantry__add_host_i32(gantry__extras_t *extras, gantry_scope_t *scope,
                                            int32_t value) {
    return gantry__add_host(extras, scope, GANTRY_INT32, GANTRY_SCALAR, &value);
}

const gantry_tensor_t *gantry__add_host_i64(gantry__extras_t *extras, gantry_scope_t *scope,
                                            int64_t value) {
    return gantry__add_host(extras, scope, GANTRY_INT64, GANTRY_SCALAR, &value);
}

const gantry_tensor_t *gantry__add_host_int_like(gantry__extras_t *extras, gantry_scope_t *scope,
                                                 const gantry_tensor_t *like, int32_t value) {
    const int64_t wide = value;
    if (!like || like->dtype != GANTRY_INT64) return gantry__add_host_i32(extras, scope, value);
    return gantry__add_host(extras, scope, GANTRY_INT64, GANTRY_SCALAR, &wide);
}

const gantry_tensor_t *gantry__add_host_axes(gantry__extras_t *extras, gantry_scope_t *scope,
                                             const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options) {
    int32_t all[GANTRY_MAX_RANK];
    const int32_t rank = x ? x->shape.rank : 0;
    for (int32_t i = 0; i < rank; ++i) all[i] = i;
    const int32_t *axes = options && options->axes ? options->axes : all;
    const int64_t count = options && options->axes ? (int64_t)options->axis_count : rank;
    return gantry__add_host(extras, scope, GANTRY_INT32, GANTRY_SHAPE(count), axes);
}

bool gantry__take_options(gantry_scope_t *scope, const void *given, size_t first_bytes, void *out,
                          size_t out_bytes, const char *what) {
    gantry_status_t status = gantry__struct_read(given, first_bytes, out, out_bytes, what);
    if (status == GANTRY_OK) return true;
    if (gantry__scope_check(scope) == GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return false;
}

bool gantry__is_given(gantry_scope_t *scope, const void *list, size_t count, const char *what) {
    if (list || count == 0) return true;
    if (gantry__scope_check(scope) == GANTRY_OK) {
        (void)gantry__scope_fail(
            scope, gantry__refuse("%s is NULL; an array of %zu is accepted", what, count));
    }
    return false;
}

const gantry_tensor_t *gantry__add_host_of_rank(gantry__extras_t *extras, gantry_scope_t *scope,
                                                const gantry_tensor_t *x, const int64_t *list,
                                                int64_t each, const char *what) {
    static const int64_t none = 0;
    const int64_t rank = x ? x->shape.rank : 0;
    if (!gantry__is_given(scope, list, (size_t)(rank * each), what)) return NULL;
    return gantry__add_host(extras, scope, GANTRY_INT64,
                            each == 1 ? GANTRY_SHAPE(rank) : GANTRY_SHAPE(rank, each),
                            list ? list : &none);
}

static inline gantry_status_t run_and_release(gantry_scope_t *scope,
                                              const gantry__op_request_t *request,
                                              gantry__extras_t *extras, size_t *out_count) {
    gantry_status_t status = gantry__run_op(scope, request, out_count);
    for (uint32_t i = 0; extras && i < extras->count; ++i)
        gantry__scope_discard(scope, extras->tensors[i]);
    return status;
}

gantry_status_t gantry__call_op_into(gantry_scope_t *scope, gantry__op_id_t id,
                                     const gantry_tensor_t *const *inputs, size_t input_count,
                                     const gantry_attr_value_t *attrs, size_t attr_count,
                                     gantry__extras_t *extras, const gantry_tensor_t **outputs,
                                     size_t *output_count) {
    const gantry__op_request_t request = {gantry__op_get(id), inputs, input_count, attrs,
                                          attr_count,         NULL,   outputs,     *output_count};
    return run_and_release(scope, &request, extras, output_count);
}

const gantry_tensor_t *gantry__call_op(gantry_scope_t *scope, gantry__op_id_t id,
                                       const gantry_tensor_t *const *inputs, size_t input_count,
                                       const gantry_attr_value_t *attrs, size_t attr_count,
                                       gantry__extras_t *extras) {
    const gantry_tensor_t *output;
    const gantry__op_request_t request = {gantry__op_get(id), inputs, input_count, attrs,
                                          attr_count,         NULL,   &output,     1};
    (void)run_and_release(scope, &request, extras, NULL);
    return output;
}
