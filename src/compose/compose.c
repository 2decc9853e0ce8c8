/* SPDX-License-Identifier: Apache-2.0 */
#include "compose/compose.h"

#include <gantry/ops.h>

#include <math.h>
#include <string.h>

#include "device/device_open.h"
#include "op/op_infer.h"
#include "run/call_op.h"
#include "run/dispatch.h"
#include "run/observe.h"

#include "ops/type_rows.h"

typedef void (*compose_fn)(const gantry__compose_t *c);

#define PART(name)

/* A number for each composed op. */
enum {
#define COMPOSED(name, function, parts) ORDER_##name,
#include "op/composed.def"
#undef COMPOSED
};

static const uint8_t orders[GANTRY__OP_COUNT] = {
#define COMPOSED(name, function, parts) [GANTRY__OP_ID_##name] = ORDER_##name,
#include "op/composed.def"
#undef COMPOSED
};

static const compose_fn functions[] = {
#define COMPOSED(name, function, parts) gantry__compose_##function,
#include "op/composed.def"
};

gantry_status_t gantry__check_part(const gantry_scope_t *scope, const gantry__op_def_t *op) {
    uint32_t count;
    const uint16_t *parts = gantry__op_parts(scope->composed, &count);
    for (uint32_t i = 0; i < count; ++i) {
        if (parts[i] == op->id) return GANTRY_OK;
    }
    return gantry__fail(GANTRY_INTERNAL, "op %s is not listed among the parts of %s", op->name,
                        scope->composed->name);
}

/* ---- results ---- */

static gantry_status_t check_result(const gantry__infer_t *call, uint32_t i,
                                    const gantry_tensor_t *output) {
    if (!output)
        return gantry__fail(GANTRY_INTERNAL, "op %s succeeded without making output %u",
                            call->op->name, i);
    const gantry_shape_t *shape = &call->out_shapes[i];
    bool agrees = output->dtype == call->out_dtypes[i] && output->shape.rank == shape->rank;
    for (int32_t k = 0; agrees && k < shape->rank; ++k)
        agrees = shape->dims[k] == -1 || shape->dims[k] == output->shape.dims[k];
    if (agrees) return GANTRY_OK;
    return gantry__fail(GANTRY_INTERNAL,
                        "op %s made output %u as %s%s; by its definition it is %s%s",
                        call->op->name, i, gantry_dtype_name(output->dtype),
                        gantry__shape_text(&output->shape).text,
                        gantry_dtype_name(call->out_dtypes[i]), gantry__shape_text(shape).text);
}

/* An input, or a tensor that is another output already, gets a new object over the same memory. */
static gantry_status_t take_result(gantry_scope_t *inner, const gantry_tensor_t *output,
                                   gantry_tensor_t **out_tensor) {
    if (output->scope == inner) {
        *out_tensor = gantry__scope_take(inner, output);
        return GANTRY_OK;
    }
    GANTRY__TRY(gantry__tensor_alias(inner, output, &output->shape, out_tensor));
    if (inner->observer) GANTRY__TRY(gantry__observe_alias(inner, output, *out_tensor));
    return gantry__tensor_inherit_faults(*out_tensor, output);
}

static gantry_status_t take_results(gantry_scope_t *inner, const gantry__infer_t *call,
                                    const gantry_tensor_t *const *results,
                                    gantry_tensor_t **outputs) {
    for (uint32_t i = 0; i < call->output_count; ++i) {
        GANTRY__TRY(check_result(call, i, results[i]));
        GANTRY__TRY(take_result(inner, results[i], &outputs[i]));
    }
    return GANTRY_OK;
}

/* Checks the request in a trace, where the op becomes a constant, which keeps no request. A request
 * that cannot be met is refused, as it is outside a trace. */
static gantry_status_t check_traced_request(gantry_scope_t *scope, const gantry__infer_t *call) {
    const gantry__place_request_t rules = gantry__dispatch_request(
        scope->runtime, NULL, NULL, NULL, NULL, scope->order.batch_invariant);
    if ((rules.soft && !rules.require) || !scope->wish || scope->wish->is_empty) return GANTRY_OK;
    gantry__kept_plan_t *kept;
    return gantry__plan_core_op(scope, (gantry__op_id_t)call->op->id, call->op->name,
                                call->dtypes[0], false, NULL, &kept);
}

/* Leaves the record of an op that the core computes. *out_host: the placed device, if its memory is
 * the host's; else the host. */
static gantry_status_t place_on_host(gantry_scope_t *scope, const gantry__infer_t *call,
                                     gantry_logical_device_t **out_host) {
    gantry_logical_device_t *placed;
    *out_host = scope->runtime->host;
    if (!(call->op->flags & GANTRY__OP_ON_HOST)) return GANTRY_OK;
    if (scope->trace) return check_traced_request(scope, call);
    GANTRY__TRY(gantry__place_core_op(scope, (gantry__op_id_t)call->op->id, call->op->name,
                                      call->dtypes[0], false, NULL, &placed));
    if (!placed->synchronous || !placed->host_addressable) return GANTRY_OK;
    *out_host = placed;
    return gantry__logical_device_open(placed);
}

gantry_status_t gantry__compose(gantry_scope_t *scope, gantry__infer_t *call,
                                const gantry_tensor_t *const *inputs, gantry_tensor_t **outputs) {
    gantry_scope_t inner;
    const gantry_tensor_t *results[GANTRY__MAX_OUTPUTS];
    for (uint32_t i = 0; i < call->output_count; ++i) {
        outputs[i] = NULL;
        results[i] = NULL;
    }
    gantry_logical_device_t *host;
    GANTRY__TRY(place_on_host(scope, call, &host));
    gantry__scope_begin_parts(&inner, scope, call->op);
    if (scope->observer && gantry__observes_parts(scope, call->op))
        inner.observer = scope->observer;
    functions[orders[call->op->id]](&(gantry__compose_t){&inner, call, inputs, host, results});
    gantry_status_t status = inner.status;
    if (status == GANTRY_OK) {
        status = take_results(&inner, call, results, outputs);
    } else {
        status = gantry__fail(status, "%s: %s", call->op->name, gantry_scope_message(&inner));
    }
    gantry__scope_end_parts(&inner);
    return status;
}

/* ---- for the functions ---- */

const gantry_tensor_t *gantry__compose_host(const gantry__compose_t *c, gantry_dtype_t dtype,
                                            const gantry_shape_t *shape, const void *data) {
    gantry__extras_t made = {.count = 0};
    const gantry_tensor_t *tensor =
        gantry__add_host_on(&made, c->scope, c->host, dtype, shape, data);
    if (tensor) gantry__scope_adopt(c->scope, made.tensors[0]);
    return tensor;
}

static uint16_t bfloat16_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    /* to the nearest, ties to even; the value is no NaN */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t float16_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    /* rounds to infinity */
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    /* a denormal */
    if (size < 0x38800000) return (uint16_t)(sign | (uint32_t)lrintf(fabsf(value) * 0x1p24f));
    return (uint16_t)(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}

const gantry_tensor_t *gantry__compose_range(const gantry__compose_t *c, int64_t from,
                                             int64_t limit, int64_t step) {
    return gantry_range(c->scope, gantry__compose_host(c, GANTRY_INT64, &GANTRY_SCALAR, &from),
                        gantry__compose_host(c, GANTRY_INT64, &GANTRY_SCALAR, &limit),
                        gantry__compose_host(c, GANTRY_INT64, &GANTRY_SCALAR, &step));
}

const gantry_tensor_t *gantry__compose_scalar(const gantry__compose_t *c, gantry_dtype_t dtype,
                                              double value) {
    const float narrow = (float)value;
    /* a float may be infinite */
    const uint64_t whole = gantry__bits_placed(fabs(value) < 0x1p63 ? (uint64_t)(int64_t)value : 0,
                                               gantry_dtype_size(dtype));
    const uint16_t half = dtype == GANTRY_FLOAT16 ? float16_bits(narrow) : bfloat16_bits(narrow);
    const void *data = dtype == GANTRY_FLOAT64          ? (const void *)&value
                       : dtype == GANTRY_FLOAT32        ? (const void *)&narrow
                       : GANTRY__TYPE_IS(dtype, HALVES) ? (const void *)&half
                                                        : &whole;
    return gantry_constant(c->scope, dtype, GANTRY_SCALAR, data, gantry_dtype_size(dtype));
}

const gantry_tensor_t *gantry__compose_narrow(const gantry__compose_t *c, const gantry_tensor_t *x,
                                              gantry_dtype_t dtype) {
    return !x || x->dtype == dtype ? x : gantry_cast(c->scope, x, dtype);
}

const gantry_tensor_t *gantry__compose_widen(const gantry__compose_t *c, const gantry_tensor_t *x) {
    const bool is_half = x && GANTRY__TYPE_IS(x->dtype, HALVES);
    return is_half ? gantry_cast(c->scope, x, GANTRY_FLOAT32) : x;
}
