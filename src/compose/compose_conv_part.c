/* SPDX-License-Identifier: Apache-2.0 */
/* Where a part of a convolution would run, and which kernel computes it there without patches
 * (compose_conv.h). */
#include "compose/compose_conv.h"
#include "device/logical_device.h"
#include "run/asked_call.h"
#include "run/call_op.h"

#include "ops/type_rows.h"

typedef gantry__conv_t conv_t;

bool gantry__conv_sees_pixels(const conv_t *conv) {
    return conv->rows == 1 && conv->columns == 1 && conv->strides[1] == 1 &&
           conv->strides[2] == 1 && !conv->has_pads;
}

size_t gantry__conv_attrs(const conv_t *conv, gantry_attr_value_t out[4]) {
    out[0] = gantry__attr_ints("strides", conv->strides, 4);
    out[1] = gantry__attr_ints("dilations", conv->rates, 4);
    out[2] = gantry__attr_text("padding", conv->padding);
    out[3] = gantry__attr_ints("explicit_paddings", conv->pads, 8);
    return conv->has_pads ? 4 : 3;
}

const gantry_logical_device_t *gantry__conv_find_device(const conv_t *conv, gantry__op_id_t id,
                                                        gantry_dtype_t dtype) {
    const uint32_t before = gantry__failures();
    const gantry__op_def_t *op = gantry__op_get(id);
    gantry_attr_t attrs[GANTRY__MAX_ATTRS];
    gantry__dispatch_types(op, dtype, attrs);
    const gantry__place_request_t request =
        gantry__dispatch_request(conv->scope->runtime, op, attrs, conv->scope->wish, NULL,
                                 conv->scope->order.batch_invariant);
    gantry__kept_plan_t *kept = NULL;
    if (gantry__plan_cache_place(&conv->scope->runtime->plans, &request, &kept) == GANTRY_OK)
        return kept->plan.device;
    gantry__forget_since(before);
    return NULL;
}

void gantry__conv_write_sizes(const gantry_shape_t *shape, int32_t out[4]) {
    for (int d = 0; d < 4; ++d) out[d] = (int32_t)shape->dims[d];
}

/* The sizes that a part has as its input on the host. */
static const void *compose_conv_sizes(void *caller, uint32_t input) {
    (void)input;
    return caller;
}

/* Libraries have no good engine for windows that see one channel of many. */
static bool conv_part_is_depthwise(const conv_t *conv) {
    return conv->groups > 1 && conv->channels == 1;
}

/* The kernel of a call whose inputs are set, on the device; NULL: none takes it. */
static const gantry_kernel_def_t *compose_conv_find_kernel(const conv_t *conv,
                                                           gantry__asked_call_t *call,
                                                           const gantry_attr_value_t *attrs,
                                                           size_t attr_count,
                                                           const gantry_logical_device_t *device) {
    const uint32_t before = gantry__failures();
    const gantry_kernel_def_t *kernel = NULL;
    if (gantry__op_infer(&call->infer, attrs, attr_count) == GANTRY_OK)
        (void)gantry__asked_find_kernel(conv->scope->runtime, call, conv->scope->wish,
                                        conv->scope->order.batch_invariant, device, &kernel);
    gantry__forget_since(before);
    return kernel;
}

/* Whether the portable kernel would multiply the part's patches. Those of libraries, and a
 * backend's own, are above it. */
static bool compose_conv_has_portable_product(const conv_t *conv, gantry__op_id_t id,
                                              gantry_dtype_t dtype,
                                              const gantry_logical_device_t *device) {
    const int64_t *p = conv->places.dims, places = p[0] * p[1] * p[2],
                  each = conv->rows * conv->columns * conv->channels;
    const bool is_filter = id == GANTRY__OP_ID__ImagesFilterGradient,
               is_image = id == GANTRY__OP_ID__ImagesGradient;
    const gantry_shape_t shapes[] = {GANTRY_SHAPE(places, is_image ? conv->outputs : each),
                                     GANTRY_SHAPE(is_filter ? places : each, conv->outputs)};
    const gantry_attr_value_t attrs[] = {gantry__attr_bool("transpose_a", is_filter),
                                         gantry__attr_bool("transpose_b", is_image)};
    gantry__asked_call_t call;
    gantry__asked_init(&call, GANTRY__OP_ID_MatMul, 2);
    for (uint32_t i = 0; i < 2; ++i) {
        call.shapes[i] = &shapes[i];
        call.dtypes[i] = dtype;
    }
    const gantry_kernel_def_t *kernel = compose_conv_find_kernel(conv, &call, attrs, 2, device);
    return kernel && kernel->priority == 0 && !kernel->library;
}

/* The items of window_sum.cl, whose priority is below 0, are slower than patches. */
const gantry_kernel_def_t *gantry__conv_at_once(const conv_t *conv, gantry__op_id_t id,
                                                const gantry_shape_t *const *shapes, uint32_t count,
                                                uint32_t host) {
    const gantry_dtype_t dtype = conv->c->call->out_dtypes[0];
    const gantry_shape_t four = GANTRY_SHAPE(4);
    gantry__asked_call_t call;
    gantry_attr_value_t attrs[4];
    int32_t sizes[4];
    if (conv_part_is_depthwise(conv) || gantry__conv_sees_pixels(conv) ||
        !GANTRY__TYPE_IS(dtype, FLOATING))
        return NULL;
    const gantry_logical_device_t *device =
        gantry__conv_find_device(conv, GANTRY__OP_ID_ConvolveImages, dtype);
    if (!device || gantry__logical_is_processor(device)) return NULL;
    gantry__asked_init(&call, id, count);
    for (uint32_t i = 0; i < count; ++i) {
        call.shapes[i] = i == host ? &four : shapes[i];
        call.dtypes[i] = i == host ? GANTRY_INT32 : dtype;
    }
    if (host < count) {
        gantry__conv_write_sizes(shapes[host], sizes);
        call.infer.host_value = compose_conv_sizes;
        call.infer.caller = sizes;
    }
    const gantry_kernel_def_t *kernel =
        compose_conv_find_kernel(conv, &call, attrs, gantry__conv_attrs(conv, attrs), device);
    const bool is_faster =
        kernel && (kernel->library || (conv->groups == 1 && kernel->priority >= 0 &&
                                       compose_conv_has_portable_product(conv, id, dtype, device)));
    return is_faster ? kernel : NULL;
}
