/* Elementwise ops of the portable pack that are not an expression of one type: Cast, Select, Fill, ZerosLike, OnesLike,
 * Range, AddN, BiasAdd. Ops that only move bits are built for the element's size, not its type (gantry_k_twin). */
#include <stdio.h>
#include <string.h>

#include "portable/portable_elementwise.h"
#include "portable/portable_text.h"

#define OPTIONS_BYTES 96

#define SOURCE(name_, label_)                                                                                        \
    static const gantry_program_source_t name_##_source = {.struct_size = sizeof(gantry_program_source_t),           \
                                                           .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C, \
                                                           .label = label_,                                          \
                                                           .parts = name_##_parts,                                   \
                                                           .part_count =                                             \
                                                               sizeof name_##_parts / sizeof name_##_parts[0]}

/* Builds or finds the kernel for type T and launches it over the work, `each` elements at once on a GPU. */
static int32_t launch_wide(gantry_op_call_t *call, const gantry_program_source_t *source, int32_t type,
                           const char *name, const gantry_k_work_t *work, int64_t each,
                           const gantry_launch_arg_t *args, uint32_t arg_count)
{
    gantry_backend_kernel_t *kernel;
    char options[OPTIONS_BYTES];
    int32_t status;

    snprintf(options, sizeof options, "-DGANTRY_T_ID=%d -DGANTRY_SERIAL=%d", type, gantry_k_is_serial(call));
    status = call->services->kernel(call, source, options, name, &kernel);
    return status == GANTRY_K_OK ? gantry_k_launch_wide(call, kernel, work, each, args, arg_count) : status;
}

static int32_t launch(gantry_op_call_t *call, const gantry_program_source_t *source, int32_t type, const char *name,
                      const gantry_k_work_t *work, const gantry_launch_arg_t *args, uint32_t arg_count)
{
    return launch_wide(call, source, type, name, work, 1, args, arg_count);
}

/* ---- Cast ---- */

static const char *const cast_parts[] = {gantry__text_dialect, gantry__text_launch, gantry__text_types,
                                         gantry__text_convert, gantry__text_half,   gantry__text_work,
                                         gantry__text_cast};
SOURCE(cast, "portable/cast");

/* Whether attribute Truncate makes a difference. */
static int truncates(int32_t from, int32_t to)
{
    return from == GANTRY_K_FLOAT64 ? to == GANTRY_K_FLOAT32 || to == GANTRY_K_FLOAT16
                                    : from == GANTRY_K_FLOAT32 && gantry_k_is_half(to);
}

static int32_t compute_cast(gantry_op_call_t *call)
{
    const gantry_arg_t *x = call->inputs[0];
    const gantry_arg_t *out = call->outputs[0];
    const gantry_k_work_t work = gantry_k_work(call, out->element_count, gantry_k_size(out->dtype), 0);
    const gantry_launch_arg_t args[] = {gantry_k_span(x), gantry_k_span(out), gantry_k_scalar(&work, sizeof work)};
    const uint32_t from = gantry_k_size(x->dtype), to = gantry_k_size(out->dtype), widest = from > to ? from : to;
    const int truncate = gantry_k_attr_int(call, "Truncate", 0) != 0 && truncates(x->dtype, out->dtype);
    gantry_backend_kernel_t *kernel;
    char options[OPTIONS_BYTES];
    int32_t status;

    if (x->dtype == out->dtype) {
        return call->services->copy(call, &out->span, &x->span);
    }
    snprintf(options, sizeof options, "-DGANTRY_T_ID=%d -DGANTRY_S_ID=%d -DGANTRY_SERIAL=%d%s", out->dtype, x->dtype,
             gantry_k_is_serial(call), truncate ? " -DGANTRY_TRUNCATE=1" : "");
    status = call->services->kernel(call, &cast_source, options, "cast", &kernel);
    if (status != GANTRY_K_OK) {
        return status;
    }
    return gantry_k_launch_wide(call, kernel, &work, GANTRY_K_WIDE_BYTES / widest, args, 3);
}

static const gantry_type_constraint_t cast_types[] = {{"SrcT", GANTRY_K_NUMERIC_BOOL}, {"DstT", GANTRY_K_NUMERIC_BOOL}};

const gantry_kernel_def_t gantry__portable_cast_kernel = {.struct_size = sizeof(gantry_kernel_def_t),
                                                          .op = "Cast",
                                                          .types = cast_types,
                                                          .type_count = 2,
                                                          .compute = compute_cast};

/* ---- Select ---- */

static const char *const select_parts[] = {gantry__text_dialect, gantry__text_launch, gantry__text_types,
                                           gantry__text_work, gantry__text_select};
SOURCE(select, "portable/select");

static int32_t compute_select(gantry_op_call_t *call)
{
    const gantry_arg_t *const *in = call->inputs;
    const gantry_arg_t *out = call->outputs[0];
    const uint32_t bytes = gantry_k_size(out->dtype);
    const int64_t count = out->element_count;
    const gantry_k_work_t work = gantry_k_work(call, count, bytes, 0);
    const int dense = in[0]->element_count == count && in[1]->element_count == count && in[2]->element_count == count;
    gantry_launch_arg_t args[5] = {gantry_k_span(in[0]), gantry_k_span(in[1]), gantry_k_span(in[2]),
                                   gantry_k_span(out)};
    gantry_k_device_plan_t device_plan;
    gantry_k_plan_t plan;

    if (dense) {
        args[4] = gantry_k_scalar(&work, sizeof work);
        return launch_wide(call, &select_source, gantry_k_twin(out->dtype), "dense", &work,
                           GANTRY_K_WIDE_BYTES / bytes, args, 5);
    }
    gantry_k_plan_broadcast(&plan, out, in, 3);
    device_plan = gantry_k_device_plan(&plan, &work);
    args[4] = gantry_k_scalar(&device_plan, sizeof device_plan);
    return launch(call, &select_source, gantry_k_twin(out->dtype), "broadcast", &work, args, 5);
}

static const gantry_type_constraint_t any_type[] = {{"T", GANTRY_K_ANY}};

const gantry_kernel_def_t gantry__portable_select_kernel = {.struct_size = sizeof(gantry_kernel_def_t),
                                                            .op = "Select",
                                                            .types = any_type,
                                                            .type_count = 1,
                                                            .compute = compute_select};

/* ---- Fill, ZerosLike, OnesLike ---- */

static const char *const fill_parts[] = {gantry__text_dialect, gantry__text_launch, gantry__text_types,
                                         gantry__text_work, gantry__text_fill};
SOURCE(fill, "portable/fill");

static int32_t compute_fill(gantry_op_call_t *call)
{
    const gantry_arg_t *out = call->outputs[0];
    const uint32_t bytes = gantry_k_size(out->dtype);
    const gantry_k_work_t work = gantry_k_work(call, out->element_count, bytes, 0);
    const gantry_launch_arg_t args[] = {gantry_k_span(call->inputs[1]), gantry_k_span(out),
                                        gantry_k_scalar(&work, sizeof work)};

    return launch(call, &fill_source, gantry_k_twin(out->dtype), "fill", &work, args, 3);
}

static const char *const fill_host_args[] = {"dims"};

const gantry_kernel_def_t gantry__portable_fill_kernel = {.struct_size = sizeof(gantry_kernel_def_t),
                                                          .op = "Fill",
                                                          .types = any_type,
                                                          .type_count = 1,
                                                          .host_args = fill_host_args,
                                                          .host_arg_count = 1,
                                                          .compute = compute_fill};

static int32_t compute_zeros_like(gantry_op_call_t *call)
{
    static const uint64_t zero = 0;

    return call->services->fill(call, &call->outputs[0]->span, &zero, gantry_k_size(call->outputs[0]->dtype));
}

static int32_t compute_ones_like(gantry_op_call_t *call)
{
    const gantry_arg_t *out = call->outputs[0];
    const uint64_t one = gantry_k_one(out->dtype);

    return call->services->fill(call, &out->span, &one, gantry_k_size(out->dtype));
}

const gantry_kernel_def_t gantry__portable_zeros_like_kernel = {.struct_size = sizeof(gantry_kernel_def_t),
                                                                .op = "ZerosLike",
                                                                .types = any_type,
                                                                .type_count = 1,
                                                                .compute = compute_zeros_like};
const gantry_kernel_def_t gantry__portable_ones_like_kernel = {.struct_size = sizeof(gantry_kernel_def_t),
                                                               .op = "OnesLike",
                                                               .types = any_type,
                                                               .type_count = 1,
                                                               .compute = compute_ones_like};

/* ---- Range ---- */

static const char *const range_parts[] = {gantry__text_dialect, gantry__text_launch, gantry__text_types,
                                          gantry__text_half,    gantry__text_work,   gantry__text_range};
SOURCE(range, "portable/range");

/* As gantry_range_t of range.cl. */
typedef struct range_scalars_t {
    gantry_k_work_t work;
    uint64_t start;
    uint64_t delta;
} range_scalars_t;

/* The bits of a host scalar. */
static uint64_t bits_of(const gantry_arg_t *arg)
{
    uint64_t bits = 0;

    memcpy(&bits, arg->data, gantry_k_size(arg->dtype)); /* little-endian, as everywhere in Gantry */
    return bits;
}

static int32_t compute_range(gantry_op_call_t *call)
{
    const gantry_arg_t *out = call->outputs[0];
    const range_scalars_t scalars = {.work = gantry_k_work(call, out->element_count, gantry_k_size(out->dtype), 0),
                                     .start = bits_of(call->inputs[0]),
                                     .delta = bits_of(call->inputs[2])};
    const gantry_launch_arg_t args[] = {gantry_k_span(out), gantry_k_scalar(&scalars, sizeof scalars)};

    return launch(call, &range_source, out->dtype, "range", &scalars.work, args, 2);
}

static const gantry_type_constraint_t range_types[] = {{"Tidx", GANTRY_K_NUMERIC}};
static const char *const range_host_args[] = {"start", "limit", "delta"};

const gantry_kernel_def_t gantry__portable_range_kernel = {.struct_size = sizeof(gantry_kernel_def_t),
                                                           .op = "Range",
                                                           .types = range_types,
                                                           .type_count = 1,
                                                           .host_args = range_host_args,
                                                           .host_arg_count = 3,
                                                           .compute = compute_range};

/* ---- AddN ---- */

#define REST_MOST 7u

static const char *const add_n_parts[] = {gantry__text_dialect, gantry__text_launch, gantry__text_types,
                                          gantry__text_half,    gantry__text_work,   gantry__text_add_n};
SOURCE(add_n, "portable/add_n");

/* As gantry_add_n_t of add_n.cl. */
typedef struct add_n_scalars_t {
    gantry_k_work_t work;
    int64_t rest;
} add_n_scalars_t;

/* The first input with up to seven more, then the output so far with up to seven more. */
static int32_t compute_add_n(gantry_op_call_t *call)
{
    const gantry_arg_t *out = call->outputs[0];
    add_n_scalars_t scalars = {.work = gantry_k_work(call, out->element_count, gantry_k_size(out->dtype), 0)};
    const gantry_arg_t *first = call->inputs[0];
    uint32_t next = 1;

    if (call->input_count == 1) {
        return call->services->copy(call, &out->span, &first->span);
    }
    while (next < call->input_count) {
        const uint32_t rest = call->input_count - next < REST_MOST ? call->input_count - next : REST_MOST;
        gantry_launch_arg_t args[REST_MOST + 3];
        int32_t status;

        args[0] = gantry_k_span(first);
        for (uint32_t r = 0; r < REST_MOST; r++) {
            args[1 + r] = gantry_k_span(r < rest ? call->inputs[next + r] : first);
        }
        scalars.rest = rest;
        args[REST_MOST + 1] = gantry_k_span(out);
        args[REST_MOST + 2] = gantry_k_scalar(&scalars, sizeof scalars);
        status = launch(call, &add_n_source, out->dtype, "add_n", &scalars.work, args, REST_MOST + 3);
        if (status != GANTRY_K_OK) {
            return status;
        }
        first = out;
        next += rest;
    }
    return GANTRY_K_OK;
}

static const gantry_type_constraint_t numeric_types[] = {{"T", GANTRY_K_NUMERIC}};

const gantry_kernel_def_t gantry__portable_add_n_kernel = {.struct_size = sizeof(gantry_kernel_def_t),
                                                           .op = "AddN",
                                                           .types = numeric_types,
                                                           .type_count = 1,
                                                           .compute = compute_add_n};

/* ---- BiasAdd: Add with a plan of its own ---- */

static int32_t compute_bias_add(gantry_op_call_t *call)
{
    gantry_k_plan_t plan;

    gantry_k_plan_bias(&plan, call);
    return gantry__portable_broadcast(call, &gantry__portable_add_source, &plan, 0);
}

const gantry_kernel_def_t gantry__portable_bias_add_kernel = {.struct_size = sizeof(gantry_kernel_def_t),
                                                              .op = "BiasAdd",
                                                              .types = numeric_types,
                                                              .type_count = 1,
                                                              .compute = compute_bias_add};
