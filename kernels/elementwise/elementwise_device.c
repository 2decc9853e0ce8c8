/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of ops/elementwise.def on every device that builds programs. Each op has a program of its
 * own, whose text is made from its row. A program is built for a type and a style. It holds all
 * forms: dense, broadcast, and a scalar on either side; on GPUs also an operand that is repeated in
 * rows, or element by element, as a scalar is. */

#include "kernels/elementwise/number_bits.h"
#include "kernels/elementwise/elementwise_device.h"
#include "host/repeat.h"
#include "kernels/common/device_kernel.h"

typedef struct portable_op_t {
    const gantry_program_source_t *source;
    int32_t fault_code; /* the code for bad integers, or 0 */
    bool costly;        /* a function of floats: several dozen instructions */
} portable_op_t;

/* Must have the same fields as gantry__dense_t of elementwise.cl. */
typedef struct dense_t {
    gantry__k_work_t work;
    uint64_t offsets[3];
    uint64_t y;
} dense_t;

static gantry__k_options_t elementwise_device_options_of(const gantry_op_call_t *call,
                                                         bool in_lanes) {
    const uint32_t lanes = in_lanes ? gantry__k_math_lanes(call) : 1;
    gantry__k_options_t options = gantry__k_options_of_type(call, call->inputs[0]->dtype);

    if (lanes > 1) {
        gantry__k_define(&options, "MATH_LANES", lanes);
    }
    return options;
}

/* Adds the fault slot to args if the op can fail for this type. */
static int32_t add_fault(gantry_op_call_t *call, bool can_fail, gantry_launch_arg_t *args,
                         uint32_t *count) {
    gantry_span_t slot;
    if (!can_fail || !GANTRY__TYPE_IS(call->inputs[0]->dtype, INTEGERS)) return GANTRY_OK;
    GANTRY__TRY(call->services->fault(call, &slot));
    args[(*count)++] = gantry__k_raw_span(slot);
    return GANTRY_OK;
}

/* States that the next launch repeats. */
static void state_repeat(gantry_op_call_t *call, size_t offsets_at) {
    if (call->flags & GANTRY__CALL_KEEPS_LAUNCH) call->reserved = (uint32_t)offsets_at + 1;
}

/* y must be the bits of a value that is not a tensor, or 0. */
static int32_t elementwise_device_launch(gantry_op_call_t *call, const portable_op_t *op,
                                         const char *kernel_name,
                                         const gantry__k_options_t *options, uint64_t y) {
    const gantry_arg_t *out = call->outputs[0];
    const int64_t each = GANTRY_K_WIDE_BYTES / gantry__k_size(call->inputs[0]->dtype);
    dense_t dense = {
        .work = gantry__k_work(call, out->element_count, gantry__k_size(out->dtype), op->costly),
        .y = y};
    gantry_backend_kernel_t *kernel;
    gantry_launch_arg_t args[5];
    uint32_t count = 0;
    for (uint32_t i = 0; i <= call->input_count; ++i) {
        const gantry_arg_t *tensor = i < call->input_count ? call->inputs[i] : out;

        dense.offsets[count] = tensor->span.offset_bytes;
        args[count++] = gantry__k_base(tensor);
    }
    args[count++] = gantry__k_scalar(&dense, sizeof dense);
    GANTRY__TRY(add_fault(call, op->fault_code != 0, args, &count));
    GANTRY__TRY(call->services->kernel(call, op->source, options->text, kernel_name, &kernel));
    state_repeat(call, offsetof(dense_t, offsets));
    return gantry__k_launch_items(
        call, kernel, &dense.work, each,
        op->costly ? GANTRY_K_ITEMS_PER_UNIT : GANTRY_K_CHEAP_ITEMS_PER_UNIT, args, count);
}

static int32_t launch_dense(gantry_op_call_t *call, const portable_op_t *op,
                            const char *kernel_name) {
    const int32_t dtype = call->inputs[0]->dtype;
    /* math_float64_library.cl says why */
    const bool in_lanes = call->input_count == 1 || dtype == GANTRY_FLOAT32;
    const gantry__k_options_t options = elementwise_device_options_of(call, op->costly && in_lanes);

    return elementwise_device_launch(call, op, kernel_name, &options, 0);
}

/* Must have the same fields as gantry__repeat_t of elementwise.cl. */
typedef struct repeat_t {
    dense_t dense;
    int64_t inner, size, is_y;
} repeat_t;

/* Whether operand `all` has the shape of the result, and the other one is repeated in one dimension
 * before or after its elements, or both. */
static bool find_repeat(const gantry__k_plan_t *plan, int all, repeat_t *repeat) {
    const int64_t *few_strides = plan->strides[1 - all];
    int64_t step = 1;

    *repeat = (repeat_t){.inner = 1, .is_y = all == 0};
    for (int32_t d = plan->rank - 1; d >= 0; --d) {
        if (plan->strides[all][d] != step) return false;
        if (few_strides[d] != 0) {
            if (repeat->size != 0) return false;
            repeat->size = plan->dims[d];
            repeat->inner = step;
        }
        step *= plan->dims[d];
    }
    return repeat->size != 0;
}

static int32_t launch_repeat(gantry_op_call_t *call, const gantry_program_source_t *source,
                             repeat_t *repeat, bool can_fail) {
    const gantry_arg_t *out = call->outputs[0];
    const int64_t each = GANTRY_K_WIDE_BYTES / gantry__k_size(call->inputs[0]->dtype);
    const gantry__k_options_t options = elementwise_device_options_of(call, 0);
    gantry_backend_kernel_t *kernel;
    uint32_t count = 4;
    repeat->dense =
        (dense_t){.work = gantry__k_work(call, out->element_count, gantry__k_size(out->dtype), 0),
                  .offsets = {call->inputs[0]->span.offset_bytes,
                              call->inputs[1]->span.offset_bytes, out->span.offset_bytes}};
    gantry_launch_arg_t args[5] = {gantry__k_base(call->inputs[0]), gantry__k_base(call->inputs[1]),
                                   gantry__k_base(out), gantry__k_scalar(repeat, sizeof *repeat)};
    GANTRY__TRY(add_fault(call, can_fail, args, &count));
    GANTRY__TRY(call->services->kernel(call, source, options.text,
                                       repeat->inner == 1 ? "repeat_rows"
                                       : repeat->is_y     ? "repeat_y"
                                                          : "repeat_x",
                                       &kernel));
    state_repeat(call, offsetof(repeat_t, dense.offsets));
    return gantry__k_launch_wide(call, kernel, &repeat->dense.work, each, args, count);
}

int32_t gantry__portable_broadcast(gantry_op_call_t *call, const gantry_program_source_t *source,
                                   const gantry__k_plan_t *plan, bool can_fail) {
    const gantry_arg_t *out = call->outputs[0];
    repeat_t repeat;
    if (!gantry__k_is_serial(call) &&
        (find_repeat(plan, 0, &repeat) || find_repeat(plan, 1, &repeat)))
        return launch_repeat(call, source, &repeat, can_fail);
    const gantry__k_work_t work =
        gantry__k_work(call, out->element_count, gantry__k_size(out->dtype), 0);
    const gantry__k_device_plan_t device_plan = gantry__k_device_plan(plan, &work);
    gantry_launch_arg_t args[5] = {gantry__k_span(call->inputs[0]), gantry__k_span(call->inputs[1]),
                                   gantry__k_span(out),
                                   gantry__k_scalar(&device_plan, sizeof device_plan)};
    gantry_backend_kernel_t *kernel;
    const gantry__k_options_t options = elementwise_device_options_of(call, 0);
    uint32_t count = 4;
    GANTRY__TRY(add_fault(call, can_fail, args, &count));
    GANTRY__TRY(call->services->kernel(call, source, options.text, "broadcast", &kernel));
    return gantry__k_launch_work(call, kernel, &work, args, count);
}

static int32_t device_compute_unary(gantry_op_call_t *call) {
    return launch_dense(call, call->kernel->data, "dense");
}

static int32_t device_run_binary(gantry_op_call_t *call, const portable_op_t *op) {
    const int64_t count = call->outputs[0]->element_count;
    const int64_t x_count = call->inputs[0]->element_count;
    const int64_t y_count = call->inputs[1]->element_count;
    gantry__k_plan_t plan;

    if (x_count == count && y_count == count) return launch_dense(call, op, "dense");
    const bool is_y_scalar = x_count == count && y_count == 1;
    const bool is_x_scalar = x_count == 1 && y_count == count;
    if ((is_y_scalar || is_x_scalar) && !gantry__k_is_serial(call)) {
        repeat_t repeat = {.inner = count, .size = 1, .is_y = is_y_scalar};
        return launch_repeat(call, op->source, &repeat, op->fault_code != 0);
    }
    if (is_y_scalar) return launch_dense(call, op, "y_scalar");
    if (is_x_scalar) return launch_dense(call, op, "x_scalar");
    gantry__k_plan_broadcast(&plan, call->outputs[0], call->inputs, 2);
    return gantry__portable_broadcast(call, op->source, &plan, op->fault_code != 0);
}

static int32_t device_compute_binary(gantry_op_call_t *call) {
    return device_run_binary(call, call->kernel->data);
}

static int32_t device_compute_binary_choice(gantry_op_call_t *call) {
    const portable_op_t *op = call->kernel->data;

    return device_run_binary(call, op + gantry__k_variant(call));
}

static int32_t device_compute_choice(gantry_op_call_t *call) {
    const portable_op_t *op = call->kernel->data;

    return launch_dense(call, op + gantry__k_variant(call), "dense");
}

/* Computes an op whose y is made from attributes: a program of one kernel, which gets the value's
 * bits. */
static int32_t device_compute_value(gantry_op_call_t *call) {
    const gantry__k_options_t options = elementwise_device_options_of(call, 0);

    return elementwise_device_launch(call, call->kernel->data, "value", &options,
                                     gantry__k_value_bits(call));
}

/* ---- one program and one kernel per line of ops/elementwise.def ---- */

/* A program holds only the functions of its own type. */
#define IF_FLOAT64 "#if GANTRY_T_IS(f64)\n"
#define IF_FLOAT32 "#elif GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF\n"
#define IF_INTEGER "#else\n"
#define END_IF "#endif\n"
#define LIBRARY_FLOAT64 IF_FLOAT64, gantry__text_math_float64, gantry__text_math_float64_library
#define PAIRS_FLOAT32 IF_FLOAT32, gantry__text_math_float32, gantry__text_math_float32_pair

/* The parts of a program between the common ones and the op's text. */
#define PARTS_NONE
#define PARTS_ROUNDING gantry__text_math_rounding,
#define PARTS_BITS gantry__text_math_bits,
#define PARTS_ROOT gantry__text_math_root,
#define PARTS_MODULO \
    IF_FLOAT64, gantry__text_math_float64_library, END_IF, gantry__text_math_modulo,
#define PARTS_FUNCTIONS \
    IF_FLOAT64, gantry__text_math_float64, IF_FLOAT32, gantry__text_math_float32, END_IF,
#define PARTS_TRIGONOMETRY                                                                  \
    LIBRARY_FLOAT64, gantry__text_math_float64_trig, IF_FLOAT32, gantry__text_math_float32, \
        gantry__text_math_float32_trig, END_IF,
#define PARTS_HYPERBOLIC                                                                          \
    LIBRARY_FLOAT64, IF_FLOAT32, gantry__text_math_float32, gantry__text_math_float32_hyperbolic, \
        END_IF,
#define PARTS_ERROR PARTS_FUNCTIONS gantry__text_math_erf,
#define PARTS_SPECIAL LIBRARY_FLOAT64, PAIRS_FLOAT32, gantry__text_math_float32_special, END_IF,
#define PARTS_ACTIVATION                                               \
    LIBRARY_FLOAT64, gantry__text_math_float64_special, PAIRS_FLOAT32, \
        gantry__text_math_float32_special, gantry__text_math_float32_activation, END_IF,
#define PARTS_GAMMA                                                    \
    LIBRARY_FLOAT64, gantry__text_math_float64_special, PAIRS_FLOAT32, \
        gantry__text_math_float32_gamma, END_IF,
#define PARTS_POWER                                                    \
    LIBRARY_FLOAT64, PAIRS_FLOAT32, gantry__text_math_float32_special, \
        gantry__text_math_float32_pow, IF_INTEGER, gantry__text_math_integer, END_IF,

#define FAULT_NEVER GANTRY_FAULT_NONE
#define FAULT_ZERO_DIVISOR GANTRY_FAULT_DIVISION_BY_ZERO
#define FAULT_NEGATIVE_EXPONENT GANTRY_FAULT_NEGATIVE_EXPONENT
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define FORM_UNARY "UNARY"
#define FORM_ACTIVATION "UNARY"
#define FORM_CHOICE "UNARY"
#define FORM_VARIANT "UNARY"
#define FORM_BINARY "BINARY"
#define FORM_ANGLE "BINARY"
#define FORM_EQUALITY "BINARY"
#define FORM_VALUE "VALUE"
#define FORM_PRECISION "VALUE"
#define FORM_UNARY_CHOICE "UNARY"
#define FORM_BINARY_CHOICE "BINARY"
#define FORM_BINARY_VARIANT "BINARY"

#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    static const char text_##name[] = "#define GANTRY_FORM_" FORM_##form                          \
        " 1\n"                                                                                    \
        "#define GANTRY_RESULT_IS_" #result                                                       \
        " 1\n"                                                                                    \
        "#define GANTRY_EXPRESSION " #expression                                                  \
        "\n"                                                                                      \
        "#define GANTRY_CHECK(y) GANTRY_CHECK_" #check                                            \
        "(y)\n"                                                                                   \
        "#define GANTRY_FAULT_CODE " TEXT(FAULT_##check) "\n";                                    \
    GANTRY_K_PROGRAM(source_##name, "portable/elementwise/" #name, gantry__text_half,             \
                     gantry__text_work, PARTS_##math gantry__text_element, text_##name,           \
                     gantry__text_elementwise);
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE

const gantry_program_source_t *const gantry__portable_add_source = &source_Add;

/* Must be in the order of ops/elementwise.def. */
static const portable_op_t ops[] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    {&source_##name, FAULT_##check, GANTRY_K_COSTLY_##math},
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
};

#define GANTRY_ELEMENTWISE GANTRY_K_ELEMENTWISE_KERNEL
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE

static const gantry_kernel_def_t *const kernels[] = {
#define GANTRY_ELEMENTWISE GANTRY_K_ELEMENTWISE_POINTER
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
    GANTRY_K_ELEMENTWISE_OTHERS(GANTRY_K_PORTABLE_KERNEL_POINTER)};
GANTRY_K_PACK(elementwise, "elementwise", kernels);
