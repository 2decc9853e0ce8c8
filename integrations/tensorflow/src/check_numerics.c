/* SPDX-License-Identifier: Apache-2.0 */
/* CheckNumerics: its input, if all numbers are finite, else TensorFlow's error. It waits for the
 * device. tf.debugging.assert_all_finite puts the op where its input is, and soft placement does
 * not move it away. */
#include <stdlib.h>

#include "bridge.h"

typedef const gantry_tensor_t tensor;

enum { MOST_MESSAGE = 1024 };

/* The kernel is the op's message. */
static void *create_kernel(TF_OpKernelConstruction *construction) {
    char *message = calloc(1, MOST_MESSAGE + 1);
    if (!message) {
        bridge_refuse_memory(construction);
        return NULL;
    }
    TF_Status *status = TF_NewStatus();
    TF_OpKernelConstruction_GetAttrString(construction, "message", message, MOST_MESSAGE, status);
    if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(construction, status);
    TF_DeleteStatus(status);
    return message;
}

static void destroy_kernel(void *kernel) { free(kernel); }

/* Whether one of the booleans is true. Returns false after an error, with which the call then
 * ends. */
static bool has_true(bridge_call_t *call, tensor *flags) {
    bool found = false;
    tensor *any = gantry_any(call->scope, flags, NULL);
    const gantry_status_t status =
        any ? gantry_tensor_read(any, &found, sizeof found) : GANTRY_OK; /* the scope has it */
    if (status != GANTRY_OK) bridge_fail(call, status, "%s", gantry_last_message());
    return status == GANTRY_OK && found;
}

static void check_numerics_compute(void *kernel, TF_OpKernelContext *context) {
    bridge_call_t call;
    if (!bridge_begin(&call, context)) return;
    gantry_scope_t *s = call.scope;
    tensor *x = bridge_input(&call, 0);
    if (x && has_true(&call, gantry_logical_not(s, gantry_is_finite(s, x)))) {
        const bool has_nan = has_true(&call, gantry_is_nan(s, x)),
                   has_inf = has_true(&call, gantry_is_inf(s, x));
        bridge_fail(&call, GANTRY_INVALID_ARGUMENT, "%s : Tensor had %s values",
                    (const char *)kernel,
                    !has_nan  ? "Inf"
                    : has_inf ? "Inf and NaN"
                              : "NaN");
    }
    bridge_output(&call, 0, x);
    bridge_end(&call);
}

void check_numerics_register(void) {
    register_kernel(&(register_kernel_t){.op = "CheckNumerics",
                                         .types = {{"T", GANTRY_DTYPES_FLOATING}},
                                         .create = create_kernel,
                                         .compute = check_numerics_compute,
                                         .destroy = destroy_kernel});
}
