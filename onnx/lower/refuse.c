/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of a call: they name the file, the node, its op and its version. */
#include <stdarg.h>
#include <stdio.h>

#include "onnx/lower/run.h"
#include "shared/c_locale.h"

int64_t gantry__onnx_version(const gantry__onnx_call_t *call) { return call->node->version; }

GANTRY__PRINTF(3, 0)
static gantry_status_t refuse_node(gantry__onnx_call_t *call, gantry_status_t status,
                                   const char *format, va_list arguments) {
    char node[512], reason[GANTRY__MESSAGE_BYTES];
    (void)gantry__format(reason, sizeof reason, format, arguments);
    if (!call->run) return gantry__fail(status, "%s", reason); /* A check: the plan has the node. */
    gantry__onnx_describe_node(call->node, node, sizeof node);
    call->run->is_reported = true;
    return gantry__fail(status, "%s: %s: %s", call->run->constants->plan.model->path, node, reason);
}

gantry_status_t gantry__onnx_unsupported(gantry__onnx_call_t *call, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const gantry_status_t status = refuse_node(call, GANTRY_UNIMPLEMENTED, format, arguments);
    va_end(arguments);
    return status;
}

gantry_status_t gantry__onnx_invalid(gantry__onnx_call_t *call, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const gantry_status_t status = refuse_node(call, GANTRY_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    return status;
}

gantry_status_t gantry__onnx_need_attr(gantry__onnx_call_t *call, const char *name,
                                       int64_t wanted) {
    const int64_t given = gantry__onnx_attr_int(call, name, wanted);
    if (given == wanted) return GANTRY_OK;
    return gantry__onnx_unsupported(call, "%s %lld", name, (long long)given);
}
