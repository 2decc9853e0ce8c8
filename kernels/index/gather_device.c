/* SPDX-License-Identifier: Apache-2.0 */
/* Gather and OneHot on every device that builds programs, per element size and index type. */
#include "kernels/index/gather_shape.h"
#include "kernels/common/device_kernel.h"
#include "kernels/common/work.h"

/* Must have the same fields as gantry__gather_t of gather.cl and gantry__one_hot_t of
 * one_hot.cl. */
typedef struct device_gather_t {
    gantry__k_work_t work;
    int64_t outer, limit, picks, inner;
    int64_t lines, ahead;
} device_gather_t;

typedef struct device_one_hot_t {
    gantry__k_work_t work;
    int64_t depth, suffix;
} device_one_hot_t;

GANTRY_K_PROGRAM(gather_source, "portable/gather", gantry__text_work, gantry__text_gather);
GANTRY_K_PROGRAM(one_hot_source, "portable/one_hot", gantry__text_work, gantry__text_one_hot);

/* A work-item of a GPU moves one element. Rows of bools and halves become rows of fewer, larger
 * elements if their length and the spans allow it. Returns the bytes of an element, and divides the
 * counts of elements in shape and count. */
static uint32_t merge_elements(const gantry_op_call_t *call, gantry__gather_shape_t *shape,
                               int64_t *count) {
    const gantry_span_t *params = &call->inputs[0]->span, *out = &call->outputs[0]->span;
    const uint64_t places =
        params->offset_bytes | out->offset_bytes | call->device_info->base_alignment_bytes;
    uint32_t bytes = gantry__k_size(call->outputs[0]->dtype);
    while (!gantry__k_is_serial(call) && bytes < 4 && shape->inner % 2 == 0 &&
           places % (2 * bytes) == 0) {
        bytes *= 2;
        shape->inner /= 2;
        *count /= 2;
    }
    return bytes;
}

static int32_t device_compute_gather(gantry_op_call_t *call) {
    const gantry_arg_t *params = call->inputs[0], *indices = call->inputs[1],
                       *out = call->outputs[0];
    int64_t count = out->element_count;
    gantry__gather_shape_t shape;
    gantry__gather_shape(call, &shape);
    const uint32_t bytes = merge_elements(call, &shape, &count);
    const device_gather_t scalars = {.work = gantry__k_work(call, count, bytes, 0),
                                     .outer = shape.outer,
                                     .limit = shape.limit,
                                     .picks = shape.picks,
                                     .inner = shape.inner,
                                     .lines = shape.lines,
                                     .ahead = shape.ahead};
    gantry_span_t fault;
    gantry_backend_kernel_t *kernel;
    const gantry__k_options_t options = gantry__k_size_options(call, bytes, indices->dtype);
    GANTRY__TRY(call->services->kernel(call, &gather_source, options.text, "gather", &kernel));
    const gantry_fault_words_t words = gantry__k_words_of_value(
        "indices@ is not in [0, #)", "indices@ = $ is not in [0, #)", call, 1, shape.limit);
    GANTRY__TRY(gantry__k_fault(call, &words, &fault));
    const gantry_launch_arg_t args[] = {
        gantry__k_span(params), gantry__k_span(indices), gantry__k_span(out),
        gantry__k_scalar(&scalars, sizeof scalars), gantry__k_raw_span(fault)};
    return gantry__k_launch_work(call, kernel, &scalars.work, args, 5);
}

static int32_t device_compute_one_hot(gantry_op_call_t *call) {
    const gantry_arg_t *indices = call->inputs[0], *on = call->inputs[2], *off = call->inputs[3],
                       *out = call->outputs[0];
    gantry__one_hot_shape_t shape;
    gantry__one_hot_shape(call, &shape);
    const device_one_hot_t scalars = {
        .work = gantry__k_work(call, out->element_count, gantry__k_size(out->dtype), 0),
        .depth = shape.depth,
        .suffix = shape.suffix};
    const gantry_launch_arg_t args[] = {gantry__k_span(indices), gantry__k_span(on),
                                        gantry__k_span(off), gantry__k_span(out),
                                        gantry__k_scalar(&scalars, sizeof scalars)};
    gantry_backend_kernel_t *kernel;
    const gantry__k_options_t options =
        gantry__k_size_options(call, gantry__k_size(out->dtype), indices->dtype);
    GANTRY__TRY(call->services->kernel(call, &one_hot_source, options.text, "one_hot", &kernel));
    return gantry__k_launch_work(call, kernel, &scalars.work, args, 5);
}

GANTRY_GATHER_OPS(GANTRY_K_PORTABLE_KERNEL)

static const gantry_kernel_def_t *const kernels[] = {
    GANTRY_GATHER_OPS(GANTRY_K_PORTABLE_KERNEL_POINTER)};
GANTRY_K_PACK(gather, "gather", kernels);
