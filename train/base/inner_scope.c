/* SPDX-License-Identifier: Apache-2.0 */
#include "train/base/inner_scope.h"

#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"

typedef const gantry_tensor_t tensor;

gantry_status_t gantry__train_check_runtime(gantry_runtime_t *runtime) {
    size_t count; /* the cheapest call that needs the runtime */
    return gantry_list_physical_devices(runtime, "CPU", 0, NULL, &count);
}

gantry_status_t gantry__train_check_scope(gantry_scope_t *scope) {
    if (!scope)
        return gantry__train_refuse(NULL,
                                    "the scope is NULL; one from gantry_scope_begin is accepted%s",
                                    gantry__train_before().text);
    GANTRY__TRY(gantry_scope_status(scope));
    const gantry_status_t status = gantry__train_check_runtime(gantry_scope_runtime(scope));
    return status == GANTRY_OK ? GANTRY_OK : gantry__train_hand_on(scope, status);
}

gantry_status_t gantry__train_no_scope(gantry_runtime_t *runtime) {
    GANTRY__TRY(gantry__train_check_runtime(runtime));
    return GANTRY_RESOURCE_EXHAUSTED;
}

gantry_status_t gantry__train_no_inner(gantry_scope_t *outer) {
    return gantry__train_hand_on(outer, gantry__train_no_scope(gantry_scope_runtime(outer)));
}

static gantry_scope_t *inner_begin(gantry_scope_t *outer, const char *call,
                                   gantry_scope_t *(*begin)(gantry_scope_t *outer)) {
    if (!outer) {
        (void)gantry__train_fail_null(NULL, call, "scope", "one from gantry_scope_begin");
        return NULL;
    }
    if (gantry__train_check_scope(outer) != GANTRY_OK) return NULL;
    gantry_scope_t *inner = begin(outer);
    if (!inner) (void)gantry__train_no_inner(outer);
    return inner;
}

static gantry_scope_t *begin_observed(gantry_scope_t *outer) {
    return gantry_scope_begin_in(outer, NULL);
}

gantry_scope_t *gantry__train_begin(gantry_scope_t *outer, const char *call) {
    return inner_begin(outer, call, begin_observed);
}

gantry_scope_t *gantry__train_begin_unobserved(gantry_scope_t *outer, const char *call) {
    return inner_begin(outer, call, gantry_scope_begin_unobserved);
}

gantry_scope_t *gantry__train_begin_on(gantry_scope_t *outer, const char *device) {
    gantry_scope_t *scope = gantry_scope_begin_in(outer, device);
    if (!scope) (void)gantry__train_no_inner(outer);
    return scope;
}

gantry_status_t gantry__train_close(gantry_scope_t *scope, gantry_status_t status) {
    (void)gantry__train_hand_on(scope, status);
    return gantry_scope_end(scope);
}

/* The failure must be handed to outer before the inner scope ends, because the text goes with that
 * scope. */
static void hand_out_failure(gantry_scope_t *outer, const gantry_scope_t *inner) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    (void)snprintf(text, sizeof text, "%s", gantry_scope_message(inner));
    (void)gantry_scope_fail(outer, gantry_scope_status(inner), text);
}

tensor *gantry__train_end(gantry_scope_t *outer, gantry_scope_t *inner, tensor *result) {
    if (gantry_scope_status(inner) == GANTRY_OK && result)
        result = gantry_scope_keep(inner, result);
    if (gantry_scope_status(inner) != GANTRY_OK) {
        hand_out_failure(outer, inner);
        result = NULL;
    }
    (void)gantry_scope_end(inner);
    return result;
}

tensor *gantry__train_constant(gantry_scope_t *scope, gantry_dtype_t dtype, double value) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    if (dtype == GANTRY_FLOAT32) return gantry_scalar_f32(scope, (float)value);
    tensor *scalar = gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SCALAR, &value, sizeof value);
    return dtype == GANTRY_FLOAT64 ? scalar : gantry_cast(scope, scalar, dtype);
}

tensor *gantry__train_cast(gantry_scope_t *scope, tensor *x, gantry_dtype_t dtype) {
    return gantry_tensor_dtype(x) == dtype ? x : gantry_cast(scope, x, dtype);
}

static bool is_among(gantry_dtype_t dtype, uint64_t set) {
    return dtype > 0 && dtype < 64 && (GANTRY_DTYPE_BIT(dtype) & set) != 0;
}

bool gantry__train_is_float(gantry_dtype_t dtype) {
    return is_among(dtype, GANTRY_DTYPES_FLOATING);
}

bool gantry__train_is_number(gantry_dtype_t dtype) {
    return is_among(dtype, GANTRY_DTYPES_NUMERIC);
}
