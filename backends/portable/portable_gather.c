/* Gather and OneHot on every device that builds programs, per element size and index type. */
#include "portable/move_shape.h"
#include "portable/portable_move.h"
#include "portable/portable_text.h"

/* As gantry_gather_t of gather.cl and gantry_one_hot_t of one_hot.cl. */
typedef struct device_gather_t {
    gantry_k_work_t work;
    int64_t outer, limit, picks, inner;
} device_gather_t;

typedef struct device_one_hot_t {
    gantry_k_work_t work;
    int64_t depth, suffix;
} device_one_hot_t;

#define SOURCE(stem)                                                                                                   \
    static const char *const stem##_parts[] = {gantry__text_dialect, gantry__text_launch, gantry__text_types,          \
                                               gantry__text_work, gantry__text_##stem};                                \
    static const gantry_program_source_t stem##_source = {.struct_size = sizeof(gantry_program_source_t),              \
                                                          .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,    \
                                                          .label = "portable/" #stem,                                  \
                                                          .parts = stem##_parts,                                       \
                                                          .part_count = sizeof stem##_parts / sizeof stem##_parts[0]}
SOURCE(gather);
SOURCE(one_hot);

/* On GPUs rows of bools and halves are taken as fewer, larger elements where their length and the spans allow: a
 * work-item moves one. Returns the bytes of an element; lessens shape's and count's elements. */
static uint32_t merge_elements(const gantry_op_call_t *call, gantry__move_gather_t *shape, int64_t *count) {
    const gantry_span_t *params = &call->inputs[0]->span, *out = &call->outputs[0]->span;
    const uint64_t places = params->offset_bytes | out->offset_bytes | call->device_info->base_alignment_bytes;
    uint32_t bytes = gantry_k_size(call->outputs[0]->dtype);
    while (!gantry_k_is_serial(call) && bytes < 4 && shape->inner % 2 == 0 && places % (2 * bytes) == 0) {
        bytes *= 2;
        shape->inner /= 2;
        *count /= 2;
    }
    return bytes;
}

static int32_t compute_gather(gantry_op_call_t *call) {
    const gantry_arg_t *params = call->inputs[0], *indices = call->inputs[1], *out = call->outputs[0];
    int64_t count = out->element_count;
    gantry__move_gather_t shape;
    gantry__move_gather(call, &shape);
    const uint32_t bytes = merge_elements(call, &shape, &count);
    const device_gather_t scalars = {.work = gantry_k_work(call, count, bytes, 0),
                                     .outer = shape.outer,
                                     .limit = shape.limit,
                                     .picks = shape.picks,
                                     .inner = shape.inner};
    gantry_span_t fault;
    gantry_backend_kernel_t *kernel;
    char options[GANTRY_MOVE_OPTIONS_BYTES];
    gantry__move_options(call, bytes, indices->dtype, options);
    int32_t status = call->services->kernel(call, &gather_source, options, "gather", &kernel);
    const gantry_fault_words_t words = gantry_k_words_up_to("indices@ is not in [0, #)", indices, shape.limit);
    if (status == GANTRY_K_OK) status = gantry_k_fault(call, &words, &fault);
    if (status != GANTRY_K_OK) return status;
    const gantry_launch_arg_t args[] = {gantry_k_span(params), gantry_k_span(indices), gantry_k_span(out),
                                        gantry_k_scalar(&scalars, sizeof scalars), gantry_k_raw_span(fault)};
    return gantry_k_launch_work(call, kernel, &scalars.work, args, 5);
}

static int32_t compute_one_hot(gantry_op_call_t *call) {
    const gantry_arg_t *indices = call->inputs[0], *on = call->inputs[2], *off = call->inputs[3],
                       *out = call->outputs[0];
    gantry__move_one_hot_t shape;
    gantry__move_one_hot(call, &shape);
    const device_one_hot_t scalars = {.work = gantry_k_work(call, out->element_count, gantry_k_size(out->dtype), 0),
                                      .depth = shape.depth,
                                      .suffix = shape.suffix};
    const gantry_launch_arg_t args[] = {gantry_k_span(indices), gantry_k_span(on), gantry_k_span(off),
                                        gantry_k_span(out), gantry_k_scalar(&scalars, sizeof scalars)};
    gantry_backend_kernel_t *kernel;
    char options[GANTRY_MOVE_OPTIONS_BYTES];
    gantry__move_options(call, gantry_k_size(out->dtype), indices->dtype, options);
    int32_t status = call->services->kernel(call, &one_hot_source, options, "one_hot", &kernel);
    return status == GANTRY_K_OK ? gantry_k_launch_work(call, kernel, &scalars.work, args, 5) : status;
}

static const gantry_type_constraint_t gather_types[] = {{"Tparams", GANTRY_K_ANY}, {"Tindices", GANTRY_K_INTS}};
static const gantry_type_constraint_t one_hot_types[] = {{"T", GANTRY_K_ANY}, {"TI", GANTRY_K_INTS}};
static const char *const gather_host[] = {"axis"};
static const char *const one_hot_host[] = {"depth"};

const gantry_kernel_def_t gantry__portable_gather_kernel = {.struct_size = sizeof(gantry_kernel_def_t),
                                                            .op = "Gather",
                                                            .types = gather_types,
                                                            .type_count = 2,
                                                            .host_args = gather_host,
                                                            .host_arg_count = 1,
                                                            .compute = compute_gather};

const gantry_kernel_def_t gantry__portable_one_hot_kernel = {.struct_size = sizeof(gantry_kernel_def_t),
                                                             .op = "OneHot",
                                                             .types = one_hot_types,
                                                             .type_count = 2,
                                                             .host_args = one_hot_host,
                                                             .host_arg_count = 1,
                                                             .compute = compute_one_hot};
