/* SPDX-License-Identifier: Apache-2.0 */
/* gantry model run --compare: the outputs of two devices, and how far they differ. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "function/function.h"
#include "model/model.h"

typedef struct model_difference_t {
    uint64_t elements, different; /* of other bits */
    double largest;               /* difference; NaN where only one is a number */
    double greatest;              /* of the first device's finite values, without their signs */
} model_difference_t;

/* The elements as float64; the caller frees them. */
static double *model_doubles_of(const model_call_t *call, const convert_tensor_t *tensor) {
    const size_t bytes = (size_t)gantry_shape_elements(&tensor->shape) * sizeof(double);
    double *out = malloc(bytes + 1);
    gantry_scope_t *scope = gantry_scope_begin(call->runtime, "CPU:0");
    const gantry_tensor_t *wide =
        scope ? gantry_cast(scope,
                            gantry_constant(scope, tensor->dtype, tensor->shape, tensor->data,
                                            tensor->bytes),
                            GANTRY_FLOAT64)
              : NULL;
    const bool good = wide && out && gantry_tensor_read(wide, out, bytes) == GANTRY_OK;
    if (!good) (void)gantry_tool_fail_last();
    if (scope) (void)gantry_scope_end(scope);
    if (good) return out;
    free(out);
    return NULL;
}

static void model_add_difference(model_difference_t *out, double left, double right) {
    if (isfinite(left)) out->greatest = fmax(out->greatest, fabs(left));
    if (left == right || (isnan(left) && isnan(right))) return;
    const double distance = fabs(left - right);
    if (isnan(distance))
        out->largest = (double)NAN;
    else if (!isnan(out->largest))
        out->largest = fmax(out->largest, distance);
}

static bool model_find_difference(const model_call_t *call, const convert_tensor_t *left,
                                  const convert_tensor_t *right, model_difference_t *out) {
    const size_t size = gantry_dtype_size(left->dtype);
    *out = (model_difference_t){.elements = (uint64_t)gantry_shape_elements(&left->shape)};
    if (left->dtype != right->dtype || !gantry_shape_equal(&left->shape, &right->shape)) {
        (void)gantry_tool_fail("the output %.200s has another type or shape on the second device",
                               left->name);
        return false;
    }
    double *a = model_doubles_of(call, left), *b = model_doubles_of(call, right);
    for (size_t i = 0; a && b && i < out->elements; ++i) {
        model_add_difference(out, a[i], b[i]);
        out->different += memcmp((const char *)left->data + i * size,
                                 (const char *)right->data + i * size, size) != 0;
    }
    const bool good = a && b;
    free(a);
    free(b);
    return good;
}

static void model_print_difference(const model_call_t *call, const char *name,
                                   const model_difference_t *difference) {
    if (call->json) {
        gantry_json_object(call->json, NULL);
        gantry_json_text(call->json, "name", name);
        gantry_json_unsigned(call->json, "elements", difference->elements);
        gantry_json_unsigned(call->json, "elements_of_other_bits", difference->different);
        gantry_json_number(call->json, "largest_difference", difference->largest);
        gantry_json_number(call->json, "largest_value", difference->greatest);
        gantry_json_end(call->json);
        return;
    }
    function_print_text(name);
    if (difference->different == 0)
        (void)printf(": equal bits in %llu elements\n", (unsigned long long)difference->elements);
    else
        (void)printf(": %llu of %llu elements differ, at most by %.3g; the largest value is %.6g\n",
                     (unsigned long long)difference->different,
                     (unsigned long long)difference->elements, difference->largest,
                     difference->greatest);
}

int model_compare(const model_call_t *call, const convert_set_t *inputs,
                  const convert_set_t *outputs) {
    const char *device = gantry_command_value(call->values, "compare");
    convert_set_t others = {0};
    bool good = model_run_on(call, device, inputs, &others);
    if (good && call->json) gantry_json_array(call->json, NULL);
    for (size_t i = 0; good && i < outputs->count; ++i) {
        model_difference_t difference;
        good = model_find_difference(call, &outputs->tensors[i], &others.tensors[i], &difference);
        if (good) model_print_difference(call, outputs->tensors[i].name, &difference);
    }
    if (good && call->json) gantry_json_end(call->json);
    convert_set_deinit(&others);
    return good ? GANTRY_TOOL_OK : GANTRY_TOOL_FAILED;
}
