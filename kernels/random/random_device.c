/* SPDX-License-Identifier: Apache-2.0 */
/* Random values that take a fixed number of words, on every device that builds programs. The host
 * makes key and counter, and the device makes one group of values for each counter step. */
#include "kernels/common/device_kernel.h"
#include "host/try.h"
#include "kernels/common/work.h"
#include "kernels/random/random_seed.h"

GANTRY_K_PROGRAM(source, "portable/random", gantry__text_math_float32, gantry__text_math_float64,
                 gantry__text_half, gantry__text_philox, gantry__text_work, gantry__text_random);

/* Must have the same fields as gantry__random_t of random.cl. */
typedef struct random_scalars_t {
    gantry__k_work_t work;
    int64_t values;
    uint64_t low;
    uint64_t high;
    uint64_t key;
    uint64_t lowest;
    uint64_t range;
} random_scalars_t;

/* The type of the program. Integers have one for each size. */
static int32_t text_type(const gantry__k_random_op_t *op, int32_t dtype) {
    if (op->values != GANTRY_K_DRAWS_INTEGERS) return dtype;
    return gantry__k_size(dtype) == 8 ? GANTRY_UINT64 : GANTRY_UINT32;
}

static int32_t device_compute_random(gantry_op_call_t *call) {
    /* in the order of gantry__k_random_op_t's values */
    static const char *const names[] = {"uniform", "normal", "integers"};
    const gantry__k_random_op_t *op = call->kernel->data;
    const gantry_arg_t *out = call->outputs[0];
    const int64_t group = gantry__k_group_of(out->dtype);
    const int64_t groups = (out->element_count + group - 1) / group;
    gantry__k_draw_t draw;
    GANTRY__TRY(gantry__portable_random_draw(call, &draw));
    const gantry__k_options_t options = gantry__k_options_of_type(call, text_type(op, out->dtype));
    gantry_backend_kernel_t *kernel;
    GANTRY__TRY(call->services->kernel(call, &source, options.text, names[op->values], &kernel));
    random_scalars_t scalars = {
        .work = gantry__k_work(call, groups, group * (int64_t)gantry__k_size(out->dtype), 1),
        .values = out->element_count,
        .low = draw.stream.low,
        .high = draw.stream.high,
        .key = (uint64_t)draw.stream.key1 << 32 | draw.stream.key0,
        .lowest = draw.lowest,
        .range = draw.range};
    const gantry_launch_arg_t args[] = {gantry__k_span(out),
                                        gantry__k_scalar(&scalars, sizeof scalars)};
    return gantry__k_launch_work(call, kernel, &scalars.work, args, 2);
}

GANTRY_K_RANDOM_OPS(GANTRY_K_RANDOM_KERNEL)

static const gantry_kernel_def_t *const kernels[] = {
    GANTRY_K_RANDOM_OPS(GANTRY_K_RANDOM_KERNEL_POINTER)};
GANTRY_K_PACK(random, "random", kernels);
