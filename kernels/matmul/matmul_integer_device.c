/* SPDX-License-Identifier: Apache-2.0 */
/* MatMulInteger on devices; the source is kernels/matmul/matmul_integer.cl. */

#include <string.h>

#include "host/try.h"
#include "kernels/matmul/matmul_integer_shape.h"
#include "kernels/matmul/matmul_plan.h"

/* Must have the same fields as zeros_t of matmul_integer.cl. */
typedef struct {
    int64_t a_line;
    int64_t b_line;
    int64_t a_batch[GANTRY_MATMUL_BATCH_RANK];
    int64_t b_batch[GANTRY_MATMUL_BATCH_RANK];
} integer_zeros_t;

#define EACH_MOST 4

GANTRY_K_PROGRAM(matmul_integer_source, "portable/matmul_integer", gantry__text_matmul_plan,
                 gantry__text_matmul_integer);

static integer_zeros_t integer_zeros_of(const gantry__integer_product_t *product) {
    const gantry__zero_points_t *zero = product->zero;
    integer_zeros_t zeros = {.a_line = zero[0].line, .b_line = zero[1].line};
    memcpy(zeros.a_batch, zero[0].batch, sizeof zeros.a_batch);
    memcpy(zeros.b_batch, zero[1].batch, sizeof zeros.b_batch);
    return zeros;
}

/* One of the three kernels, and its launch. */
typedef struct {
    const char *name;
    int each;
    uint64_t groups;
    uint32_t local;
} integer_form_t;

/* The form whose work-items compute `each` x `each` elements; 0: those without groups. */
static integer_form_t integer_form(const gantry_op_call_t *call, gantry__matmul_plan_t *plan,
                                   int64_t batches, int each) {
    const uint32_t most = call->device_info->max_work_group_size;
    integer_form_t form = {.each = each > 0 ? each : 1, .local = 1};
    if (gantry__k_is_serial(call)) {
        form.name = "matmul_integer_rows";
        form.groups =
            gantry__matmul_cut(plan, GANTRY__MATMUL_ROWS, GANTRY__MATMUL_COLUMNS, batches);
    } else if (each == 0 || most < GANTRY__MATMUL_TILE_ITEMS) {
        form.name = "matmul_integer_item";
        form.local = gantry__matmul_item_group(plan, most, &form.groups);
    } else {
        form.name = "matmul_integer_tile";
        form.local = GANTRY__MATMUL_TILE_ITEMS;
        form.groups = gantry__matmul_cut(plan, 16 * each, 16 * each, batches);
    }
    return form;
}

/* A larger square reads local memory less often. But on small products it leaves a large device
 * idle, and it has to fit into local memory. */
static int integer_each(const gantry_op_call_t *call, const gantry__matmul_plan_t *plan,
                        int64_t batches) {
    gantry__matmul_plan_t large = *plan;
    const int64_t enough = 2 * (int64_t)call->device_info->compute_units;
    const uint64_t bytes = GANTRY__MATMUL_TILE_DEPTH * (2 * 16 * EACH_MOST + 1) * sizeof(uint32_t);
    const uint64_t groups = gantry__matmul_cut(&large, 16 * EACH_MOST, 16 * EACH_MOST, batches);
    return groups >= (uint64_t)enough && bytes <= call->device_info->local_memory_bytes ? EACH_MOST
                                                                                        : 1;
}

static int32_t find_integer_kernel(gantry_op_call_t *call, const integer_form_t *form,
                                   gantry_backend_kernel_t **out_kernel) {
    const bool is_bool = call->outputs[0]->dtype == GANTRY_BOOL;
    gantry__k_options_t options = gantry__k_options_of_type(call, call->inputs[0]->dtype);
    gantry__k_define_type(&options, "S", call->inputs[1]->dtype);
    gantry__k_define(&options, "EACH", (uint32_t)form->each);
    gantry__k_define(&options, "FLAGS",
                     (call->input_count > 2 ? 1u : 0u) | (call->input_count > 3 ? 2u : 0u) |
                         (is_bool ? 4u : 0u));
    gantry__k_define(&options, "DOTS", gantry__k_size(call->inputs[0]->dtype) == 1);
    return call->services->kernel(call, &matmul_integer_source, options.text, form->name,
                                  out_kernel);
}

static int32_t launch_integer(gantry_op_call_t *call, const gantry__integer_product_t *product) {
    gantry__matmul_plan_t plan = gantry__matmul_plan_of(&product->shape);
    const integer_zeros_t zeros = integer_zeros_of(product);
    const int64_t batches = product->shape.batches;
    integer_form_t form;
    gantry_backend_kernel_t *kernel = NULL;
    gantry_launch_arg_t args[7];
    uint32_t count = 0;
    for (int each = integer_each(call, &plan, batches);; each = each > 1 ? 1 : 0) {
        form = integer_form(call, &plan, batches, each);
        GANTRY__TRY(find_integer_kernel(call, &form, &kernel));
        if (form.local <= GANTRY_K_LOCAL || form.local <= gantry__k_group_limit(call, kernel))
            break;
    }
    args[count++] = gantry__k_span(call->inputs[0]);
    args[count++] = gantry__k_span(call->inputs[1]);
    args[count++] = gantry__k_span(call->outputs[0]);
    for (uint32_t i = 2; i < call->input_count; ++i)
        args[count++] = gantry__k_span(call->inputs[i]);
    args[count++] = gantry__k_scalar(&plan, sizeof plan);
    args[count++] = gantry__k_scalar(&zeros, sizeof zeros);
    return gantry__k_launch_groups(call, kernel, form.groups, form.local, args, count);
}

static int32_t matmul_integer_device_compute(gantry_op_call_t *call) {
    const gantry_arg_t *output = call->outputs[0];
    gantry__integer_product_t product;
    if (call->inputs[0]->element_count == 0) { /* sums of no terms */
        const unsigned char zero[4] = {0};
        return call->services->fill(call, &output->span, zero, gantry__k_size(output->dtype));
    }
    gantry__integer_product_of(call, &product);
    return launch_integer(call, &product);
}

static const gantry_kernel_def_t matmul_integer = GANTRY_K_DEFINITION(
    "MatMulInteger", gantry__matmul_integer_types, GANTRY_K_COUNT_OF(gantry__matmul_integer_types),
    NULL, 0, .compute = matmul_integer_device_compute);
static const gantry_kernel_def_t *const kernels[] = {&matmul_integer};
GANTRY_K_PACK(matmul_integer, "portable/matmul_integer", kernels);
