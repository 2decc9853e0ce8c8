/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise ops on devices that are not an expression of one type: Cast, Select, Fill, ZerosLike,
 * OnesLike, Range, LinSpace, AddN, BiasAdd. Ops that only move bits are built for the element's
 * size, not its type (gantry__k_twin). */

#include "kernels/elementwise/elementwise_device.h"
#include "kernels/common/device_kernel.h"

/* Builds or finds the kernel for type T and launches it over the work; a work-item of a GPU takes
 * `each` elements at once. */
static int32_t launch_wide(gantry_op_call_t *call, const gantry_program_source_t *source,
                           int32_t type, const char *name, const gantry__k_work_t *work,
                           int64_t each, const gantry_launch_arg_t *args, uint32_t arg_count) {
    gantry_backend_kernel_t *kernel;
    const gantry__k_options_t options = gantry__k_options_of_type(call, type);
    GANTRY__TRY(call->services->kernel(call, source, options.text, name, &kernel));

    return gantry__k_launch_wide(call, kernel, work, each, args, arg_count);
}

static int32_t elementwise_device_other_launch(gantry_op_call_t *call,
                                               const gantry_program_source_t *source, int32_t type,
                                               const char *name, const gantry__k_work_t *work,
                                               const gantry_launch_arg_t *args,
                                               uint32_t arg_count) {
    return launch_wide(call, source, type, name, work, 1, args, arg_count);
}

/* ---- Cast ---- */

GANTRY_K_PROGRAM(cast_source, "portable/cast", gantry__text_convert, gantry__text_half,
                 gantry__text_work, gantry__text_cast_value, gantry__text_cast);

/* Whether the attribute Truncate makes a difference. */
static bool truncates(int32_t from, int32_t to) {
    const bool are_real =
        gantry__type_exponent_bits(from) > 0 && gantry__type_exponent_bits(to) > 0;

    return are_real && gantry__k_size(to) < gantry__k_size(from) &&
           !(from == GANTRY_FLOAT64 && to == GANTRY_BFLOAT16);
}

static int32_t device_compute_cast(gantry_op_call_t *call) {
    const gantry_arg_t *x = call->inputs[0];
    const gantry_arg_t *out = call->outputs[0];
    const gantry__k_work_t work =
        gantry__k_work(call, out->element_count, gantry__k_size(out->dtype), 0);
    const gantry_launch_arg_t args[] = {gantry__k_span(x), gantry__k_span(out),
                                        gantry__k_scalar(&work, sizeof work)};
    const uint32_t from = gantry__k_size(x->dtype), to = gantry__k_size(out->dtype),
                   widest = from > to ? from : to;
    const bool truncate =
        gantry__k_attr_int(call, "Truncate", 0) != 0 && truncates(x->dtype, out->dtype);
    gantry_backend_kernel_t *kernel;
    gantry__k_options_t options = gantry__k_options_of_type(call, out->dtype);

    if (x->dtype == out->dtype) return call->services->copy(call, &out->span, &x->span);
    gantry__k_define_type(&options, "S", x->dtype);
    if (truncate) {
        gantry__k_define(&options, "TRUNCATE", 1);
    }
    GANTRY__TRY(call->services->kernel(call, &cast_source, options.text, "cast", &kernel));
    return gantry__k_launch_wide(call, kernel, &work, GANTRY_K_WIDE_BYTES / widest, args, 3);
}

/* ---- Select ---- */

GANTRY_K_PROGRAM(select_source, "portable/select", gantry__text_work, gantry__text_select);

static int32_t device_compute_select(gantry_op_call_t *call) {
    const gantry_arg_t *const *in = call->inputs;
    const gantry_arg_t *out = call->outputs[0];
    const uint32_t bytes = gantry__k_size(out->dtype);
    const int64_t count = out->element_count;
    const gantry__k_work_t work = gantry__k_work(call, count, bytes, 0);
    const bool dense = in[0]->element_count == count && in[1]->element_count == count &&
                       in[2]->element_count == count;
    gantry_launch_arg_t args[5] = {gantry__k_span(in[0]), gantry__k_span(in[1]),
                                   gantry__k_span(in[2]), gantry__k_span(out)};
    gantry__k_device_plan_t device_plan;
    gantry__k_plan_t plan;

    if (dense) {
        args[4] = gantry__k_scalar(&work, sizeof work);
        return launch_wide(call, &select_source, gantry__k_twin(out->dtype), "dense", &work,
                           GANTRY_K_WIDE_BYTES / bytes, args, 5);
    }
    gantry__k_plan_broadcast(&plan, out, in, 3);
    device_plan = gantry__k_device_plan(&plan, &work);
    args[4] = gantry__k_scalar(&device_plan, sizeof device_plan);
    return elementwise_device_other_launch(call, &select_source, gantry__k_twin(out->dtype),
                                           "broadcast", &work, args, 5);
}

/* ---- Fill, ZerosLike, OnesLike ---- */

GANTRY_K_PROGRAM(fill_source, "portable/fill", gantry__text_work, gantry__text_fill);

/* nothing is read, so the caches hold larger outputs than those of other ops */
#define FILL_STREAM_BYTES (INT64_C(24) << 20)

static gantry__k_work_t fill_work(const gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    const int64_t bytes = gantry__k_size(out->dtype);
    gantry__k_work_t work = gantry__k_work(call, out->element_count, bytes, 0);

    work.stream = work.stream && out->element_count * bytes >= FILL_STREAM_BYTES;
    return work;
}

static int32_t device_compute_fill(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    const gantry__k_work_t work = fill_work(call);
    const gantry_launch_arg_t args[] = {gantry__k_span(call->inputs[1]), gantry__k_span(out),
                                        gantry__k_scalar(&work, sizeof work)};

    return elementwise_device_other_launch(call, &fill_source, gantry__k_twin(out->dtype), "fill",
                                           &work, args, 3);
}

/* Must have the same fields as gantry__fill_t of fill.cl. */
typedef struct fill_scalars_t {
    gantry__k_work_t work;
    uint64_t bits[2];
} fill_scalars_t;

/* below this, a runtime's own fill costs less than a launch on more than one core */
#define FILL_BYTES (INT64_C(1) << 20)

static int32_t elementwise_device_other_fill_with(gantry_op_call_t *call, uint64_t bits) {
    const gantry_arg_t *out = call->outputs[0];
    const uint32_t bytes = gantry__k_size(out->dtype);
    const fill_scalars_t scalars = {.work = fill_work(call), .bits = {bits}};
    const gantry_launch_arg_t args[] = {gantry__k_span(out),
                                        gantry__k_scalar(&scalars, sizeof scalars)};

    if (bytes <= sizeof bits &&
        (!gantry__k_is_serial(call) || out->element_count < FILL_BYTES / bytes)) {
        const uint64_t pattern = gantry__bits_placed(bits, bytes);
        return call->services->fill(call, &out->span, &pattern, bytes);
    }
    return elementwise_device_other_launch(call, &fill_source, gantry__k_twin(out->dtype),
                                           "fill_bits", &scalars.work, args, 2);
}

static int32_t device_compute_zeros_like(gantry_op_call_t *call) {
    return elementwise_device_other_fill_with(call, 0);
}

static int32_t device_compute_ones_like(gantry_op_call_t *call) {
    return elementwise_device_other_fill_with(call, gantry__type_one(call->outputs[0]->dtype));
}

/* ---- Range ---- */

GANTRY_K_PROGRAM(range_source, "portable/range", gantry__text_half, gantry__text_work,
                 gantry__text_range);

/* Must have the same fields as gantry__range_t of range.cl. */
typedef struct range_scalars_t {
    gantry__k_work_t work;
    uint64_t start;
    uint64_t delta;
} range_scalars_t;

static int32_t device_compute_range(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    const range_scalars_t scalars = {
        .work = gantry__k_work(call, out->element_count, gantry__k_size(out->dtype), 0),
        .start = gantry__k_host_bits(call->inputs[0]),
        .delta = gantry__k_host_bits(call->inputs[2])};
    const gantry_launch_arg_t args[] = {gantry__k_span(out),
                                        gantry__k_scalar(&scalars, sizeof scalars)};

    return elementwise_device_other_launch(call, &range_source, out->dtype, "range", &scalars.work,
                                           args, 2);
}

/* ---- LinSpace ---- */

GANTRY_K_PROGRAM(lin_space_source, "portable/lin_space", gantry__text_half, gantry__text_work,
                 gantry__text_lin_space);

static int32_t device_compute_lin_space(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    const gantry__k_work_t work =
        gantry__k_work(call, out->element_count, gantry__k_size(out->dtype), 0);
    const gantry_launch_arg_t args[] = {gantry__k_span(call->inputs[0]),
                                        gantry__k_span(call->inputs[1]), gantry__k_span(out),
                                        gantry__k_scalar(&work, sizeof work)};

    return elementwise_device_other_launch(call, &lin_space_source, out->dtype, "lin_space", &work,
                                           args, 4);
}

/* ---- AddN ---- */

#define REST_MOST 7u

GANTRY_K_PROGRAM(add_n_source, "portable/add_n", gantry__text_half, gantry__text_work,
                 gantry__text_add_n);

/* Must have the same fields as gantry__add_n_t of add_n.cl. */
typedef struct add_n_scalars_t {
    gantry__k_work_t work;
    int64_t rest;
} add_n_scalars_t;

/* Adds the first input with up to seven more, then the output so far with up to seven more, until
 * none is left. */
static int32_t device_compute_add_n(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    add_n_scalars_t scalars = {
        .work = gantry__k_work(call, out->element_count, gantry__k_size(out->dtype), 0)};
    const gantry_arg_t *first = call->inputs[0];
    uint32_t next = 1;

    if (call->input_count == 1) return call->services->copy(call, &out->span, &first->span);
    while (next < call->input_count) {
        const uint32_t rest =
            call->input_count - next < REST_MOST ? call->input_count - next : REST_MOST;
        gantry_launch_arg_t args[REST_MOST + 3];

        args[0] = gantry__k_span(first);
        for (uint32_t r = 0; r < REST_MOST; ++r) {
            args[1 + r] = gantry__k_span(r < rest ? call->inputs[next + r] : first);
        }
        scalars.rest = rest;
        args[REST_MOST + 1] = gantry__k_span(out);
        args[REST_MOST + 2] = gantry__k_scalar(&scalars, sizeof scalars);
        GANTRY__TRY(elementwise_device_other_launch(call, &add_n_source, out->dtype, "add_n",
                                                    &scalars.work, args, REST_MOST + 3));
        first = out;
        next += rest;
    }
    return GANTRY_OK;
}

/* ---- BiasAdd: Add with a plan of its own ---- */

static int32_t device_compute_bias_add(gantry_op_call_t *call) {
    gantry__k_plan_t plan;

    gantry__k_plan_bias(&plan, call);
    return gantry__portable_broadcast(call, gantry__portable_add_source, &plan, 0);
}

GANTRY_K_ELEMENTWISE_OTHERS(GANTRY_K_PORTABLE_KERNEL)
