/* The ops of elementwise.def on every device that builds programs. Each op has a program of its own, its text made from
 * the op's line of the table; variants are op x type x style, and one program holds all shape classes (dense, a scalar
 * on either side, broadcast). */
#include <stdio.h>

#include "portable/portable_elementwise.h"
#include "portable/portable_text.h"

typedef struct portable_op_t {
    const gantry_program_source_t *source;
    int32_t can_fail; /* for integers */
    int32_t costly;   /* a function of floats: several dozen instructions */
} portable_op_t;

#define OPTIONS_BYTES 64

/* Elements of one vector for functions of floats on a processor; 1: leave it to the compiler. */
static uint32_t lanes_of(const gantry_op_call_t *call)
{
    uint32_t lanes = call->device_info->native_vector_width / (call->inputs[0]->dtype == GANTRY_K_FLOAT64 ? 2 : 1);

    return gantry_k_is_serial(call) && (lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16) ? lanes : 1;
}

static void write_options(const gantry_op_call_t *call, int in_lanes, char *options)
{
    const uint32_t lanes = in_lanes ? lanes_of(call) : 1;
    int length = snprintf(options, OPTIONS_BYTES, "-DGANTRY_T_ID=%d -DGANTRY_SERIAL=%d", call->inputs[0]->dtype,
                          gantry_k_is_serial(call));

    if (lanes > 1) {
        snprintf(options + length, OPTIONS_BYTES - (size_t)length, " -DGANTRY_MATH_LANES=%u", lanes);
    }
}

/* Adds the fault slot to args when the op can fail for this type. */
static int32_t add_fault(gantry_op_call_t *call, int can_fail, gantry_launch_arg_t *args, uint32_t *count)
{
    gantry_span_t slot;
    int32_t status = GANTRY_K_OK;

    if (can_fail && !gantry_k_is_float(call->inputs[0]->dtype)) {
        status = call->services->fault(call, &slot);
        if (status == GANTRY_K_OK) {
            args[(*count)++] = gantry_k_raw_span(slot);
        }
    }
    return status;
}

static int32_t launch_dense(gantry_op_call_t *call, const portable_op_t *op, const char *kernel_name)
{
    const gantry_arg_t *out = call->outputs[0];
    const gantry_k_work_t work = gantry_k_work(call, out->element_count, gantry_k_size(out->dtype), op->costly);
    const int64_t each = GANTRY_K_WIDE_BYTES / gantry_k_size(call->inputs[0]->dtype);
    gantry_backend_kernel_t *kernel;
    gantry_launch_arg_t args[5];
    char options[OPTIONS_BYTES];
    uint32_t count = 0;
    int32_t status;

    for (uint32_t i = 0; i < call->input_count; i++) {
        args[count++] = gantry_k_span(call->inputs[i]);
    }
    args[count++] = gantry_k_span(out);
    args[count++] = gantry_k_scalar(&work, sizeof work);
    write_options(call, op->costly, options);
    status = add_fault(call, op->can_fail, args, &count);
    if (status == GANTRY_K_OK) {
        status = call->services->kernel(call, op->source, options, kernel_name, &kernel);
    }
    return status == GANTRY_K_OK ? gantry_k_launch_wide(call, kernel, &work, each, args, count) : status;
}

int32_t gantry__portable_broadcast(gantry_op_call_t *call, const gantry_program_source_t *source,
                                   const gantry_k_plan_t *plan, int can_fail)
{
    const gantry_arg_t *out = call->outputs[0];
    const gantry_k_work_t work = gantry_k_work(call, out->element_count, gantry_k_size(out->dtype), 0);
    const gantry_k_device_plan_t device_plan = gantry_k_device_plan(plan, &work);
    gantry_launch_arg_t args[5] = {gantry_k_span(call->inputs[0]), gantry_k_span(call->inputs[1]), gantry_k_span(out),
                                   gantry_k_scalar(&device_plan, sizeof device_plan)};
    gantry_backend_kernel_t *kernel;
    char options[OPTIONS_BYTES];
    uint32_t count = 4;
    int32_t status = add_fault(call, can_fail, args, &count);

    write_options(call, 0, options);
    if (status == GANTRY_K_OK) {
        status = call->services->kernel(call, source, options, "broadcast", &kernel);
    }
    return status == GANTRY_K_OK ? gantry_k_launch_work(call, kernel, &work, args, count) : status;
}

static int32_t compute_unary(gantry_op_call_t *call)
{
    return launch_dense(call, call->kernel->data, "dense");
}

static int32_t compute_binary(gantry_op_call_t *call)
{
    const portable_op_t *op = call->kernel->data;
    const int64_t count = call->outputs[0]->element_count;
    const int64_t x_count = call->inputs[0]->element_count;
    const int64_t y_count = call->inputs[1]->element_count;
    gantry_k_plan_t plan;

    if (x_count == count && y_count == count) {
        return launch_dense(call, op, "dense");
    }
    if (x_count == count && y_count == 1) {
        return launch_dense(call, op, "y_scalar");
    }
    if (x_count == 1 && y_count == count) {
        return launch_dense(call, op, "x_scalar");
    }
    gantry_k_plan_broadcast(&plan, call->outputs[0], call->inputs, 2);
    return gantry__portable_broadcast(call, op->source, &plan, op->can_fail);
}

/* ---- one program and one kernel per line of elementwise.def ---- */

#define PARTS_OF(...)                                                                                        \
    {                                                                                                        \
        gantry__text_dialect, gantry__text_launch, gantry__text_types, __VA_ARGS__, gantry__text_elementwise \
    }
#define PARTS_PLAIN(name) PARTS_OF(gantry__text_element, gantry__text_work, text_##name)
#define PARTS_NUMBERS(name) PARTS_PLAIN(name)
#define PARTS_ALL(name) PARTS_PLAIN(name)
#define PARTS_BOOLS(name) PARTS_PLAIN(name)
#define PARTS_FLOATS(name) \
    PARTS_OF(gantry__text_math_float32, gantry__text_math_float64, gantry__text_element, gantry__text_work, text_##name)

#define GANTRY_ELEMENTWISE(name, arity, types, result, check, expression)                                           \
    static const char text_##name[] = "#define GANTRY_ARITY " #arity "\n"                                           \
                                      "#define GANTRY_EXPRESSION " #expression "\n"                                 \
                                      "#define GANTRY_CHECK(y) GANTRY_CHECK_" #check "(y)\n"                        \
                                      "#define GANTRY_CHECKED_" #check "\n"                                         \
                                      "typedef GANTRY_RESULT_" #result " R;\n";                                     \
    static const char *const parts_##name[] = PARTS_##types(name);                                                  \
    static const gantry_program_source_t source_##name = {.struct_size = sizeof(gantry_program_source_t),           \
                                                          .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C, \
                                                          .label = "portable/elementwise/" #name,                   \
                                                          .parts = parts_##name,                                    \
                                                          .part_count = sizeof parts_##name / sizeof parts_##name[0]};
#include "portable/elementwise.def"
#undef GANTRY_ELEMENTWISE

/* The same content as source_Add; its own object because another file needs it by name. */
const gantry_program_source_t gantry__portable_add_source = {.struct_size = sizeof(gantry_program_source_t),
                                                             .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
                                                             .label = "portable/elementwise/Add",
                                                             .parts = parts_Add,
                                                             .part_count = sizeof parts_Add / sizeof parts_Add[0]};

static const gantry_type_constraint_t types_NUMBERS[] = {{"T", GANTRY_K_NUMBERS}};
static const gantry_type_constraint_t types_FLOATS[] = {{"T", GANTRY_K_FLOATS}};
static const gantry_type_constraint_t types_ALL[] = {{"T", GANTRY_K_ALL}};

#define CONSTRAINTS_NUMBERS .types = types_NUMBERS, .type_count = 1
#define CONSTRAINTS_FLOATS .types = types_FLOATS, .type_count = 1
#define CONSTRAINTS_ALL .types = types_ALL, .type_count = 1
#define CONSTRAINTS_BOOLS .types = NULL, .type_count = 0 /* the op itself takes bool alone */
#define COSTLY_NUMBERS 0
#define COSTLY_FLOATS 1
#define COSTLY_ALL 0
#define COSTLY_BOOLS 0
#define CAN_FAIL_NEVER 0
#define CAN_FAIL_ZERO_DIVISOR 1
#define COMPUTE_1 compute_unary
#define COMPUTE_2 compute_binary

#define GANTRY_ELEMENTWISE(name, arity, types_, result, check, expression)                      \
    static const portable_op_t op_##name = {&source_##name, CAN_FAIL_##check, COSTLY_##types_}; \
    static const gantry_kernel_def_t kernel_##name = {                                          \
        .struct_size = sizeof(gantry_kernel_def_t),                                             \
        .op = #name,                                                                            \
        CONSTRAINTS_##types_,                                                                   \
        .compute = COMPUTE_##arity,                                                             \
        .data = &op_##name,                                                                     \
    };
#include "portable/elementwise.def"
#undef GANTRY_ELEMENTWISE

static const gantry_kernel_def_t *const kernels[] = {
#define GANTRY_ELEMENTWISE(name, arity, types, result, check, expression) &kernel_##name,
#include "portable/elementwise.def"
#undef GANTRY_ELEMENTWISE
    &gantry__portable_cast_kernel,       &gantry__portable_select_kernel,    &gantry__portable_fill_kernel,
    &gantry__portable_zeros_like_kernel, &gantry__portable_ones_like_kernel, &gantry__portable_range_kernel,
    &gantry__portable_add_n_kernel,      &gantry__portable_bias_add_kernel,
};

static const gantry_kernel_pack_t pack = {.struct_size = sizeof pack,
                                          .abi_version = 1,
                                          .name = "elementwise",
                                          .program_kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
                                          .kernel_count = sizeof kernels / sizeof kernels[0],
                                          .kernels = kernels};

int32_t gantry_pack_query_elementwise(uint32_t max_abi, const gantry_kernel_pack_t **out_pack)
{
    *out_pack = max_abi >= pack.abi_version ? &pack : NULL;
    return *out_pack != NULL ? GANTRY_K_OK : GANTRY_K_FAILED_PRECONDITION;
}
