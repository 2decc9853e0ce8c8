/* SPDX-License-Identifier: Apache-2.0 */
/* MatMulInteger on devices; the source is kernels/matmul/matmul_integer.cl. */

#include "host/try.h"
#include "kernels/common/device_kernel.h"
#include "kernels/matmul/matmul_integer_shape.h"

/* Must have the same fields as the struct of kernels/matmul/matmul_integer.cl. */
typedef struct {
    int64_t m;
    int64_t n;
    int64_t k;
    int64_t a_row;
    int64_t a_column;
    int64_t b_row;
    int64_t b_column;
    int64_t a_line;
    int64_t b_line;
    int64_t blocks_down;
    int64_t blocks_across;
    int64_t elements;
    int64_t batch_rank;
    int64_t batch_dims[GANTRY_MATMUL_BATCH_RANK];
    int64_t a_batch[GANTRY_MATMUL_BATCH_RANK];
    int64_t b_batch[GANTRY_MATMUL_BATCH_RANK];
    int64_t a_zero_batch[GANTRY_MATMUL_BATCH_RANK];
    int64_t b_zero_batch[GANTRY_MATMUL_BATCH_RANK];
} matmul_integer_t;

#define TILE_ITEMS 256u
#define TILE_DEPTH 16u
#define EACH_MOST 4
#define ROWS 4
#define COLUMNS 64

GANTRY_K_PROGRAM(matmul_integer_source, "portable/matmul_integer", gantry__text_matmul_integer);

static matmul_integer_t plan_integer_product(const gantry__integer_product_t *product) {
    const gantry__matmul_shape_t *shape = &product->shape;
    matmul_integer_t plan = {.m = shape->m,
                             .n = shape->n,
                             .k = shape->k,
                             .a_row = shape->a_row,
                             .a_column = shape->a_column,
                             .b_row = shape->b_row,
                             .b_column = shape->b_column,
                             .a_line = product->zero[0].line,
                             .b_line = product->zero[1].line,
                             .elements = shape->m * shape->n * shape->batches,
                             .batch_rank = shape->batch_rank};
    for (int32_t i = 0; i < shape->batch_rank; ++i) {
        plan.batch_dims[i] = shape->batch_dims[i];
        plan.a_batch[i] = shape->a_batch[i];
        plan.b_batch[i] = shape->b_batch[i];
        plan.a_zero_batch[i] = product->zero[0].batch[i];
        plan.b_zero_batch[i] = product->zero[1].batch[i];
    }
    return plan;
}

/* One of the three kernels, and its launch. */
typedef struct {
    const char *name;
    int each;
    uint64_t groups;
    uint32_t local;
} integer_form_t;

/* Cuts C into blocks of this many rows and columns; returns their number in the batch. */
static uint64_t cut_integer(matmul_integer_t *plan, int64_t rows, int64_t columns,
                            int64_t batches) {
    plan->blocks_down = (plan->m + rows - 1) / rows;
    plan->blocks_across = (plan->n + columns - 1) / columns;
    return (uint64_t)(plan->blocks_down * plan->blocks_across * batches);
}

/* The form whose work-items compute `each` x `each` elements; 0: those without groups. */
static integer_form_t integer_form(const gantry_op_call_t *call, matmul_integer_t *plan,
                                   int64_t batches, int each) {
    const uint32_t most = call->device_info->max_work_group_size;
    integer_form_t form = {.each = each > 0 ? each : 1, .local = 1};
    if (gantry__k_is_serial(call)) {
        form.name = "matmul_integer_rows";
        form.groups = cut_integer(plan, ROWS, COLUMNS, batches);
    } else if (each == 0 || most < TILE_ITEMS) {
        form.name = "matmul_integer_item";
        for (form.local = GANTRY_K_LOCAL; form.local > most && form.local > 1;) form.local /= 2;
        form.groups = ((uint64_t)plan->elements + form.local - 1) / form.local;
    } else {
        form.name = "matmul_integer_tile";
        form.local = TILE_ITEMS;
        form.groups = cut_integer(plan, 16 * each, 16 * each, batches);
    }
    return form;
}

/* A larger square reads local memory less often. But on small products it leaves a large device
 * idle, and it has to fit into local memory. */
static int integer_each(const gantry_op_call_t *call, const matmul_integer_t *plan,
                        int64_t batches) {
    matmul_integer_t large = *plan;
    const int64_t enough = 2 * (int64_t)call->device_info->compute_units;
    const uint64_t bytes = TILE_DEPTH * (2 * 16 * EACH_MOST + 1) * sizeof(uint32_t);
    const uint64_t groups = cut_integer(&large, 16 * EACH_MOST, 16 * EACH_MOST, batches);
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
    matmul_integer_t plan = plan_integer_product(product);
    const int64_t batches = product->shape.batches;
    integer_form_t form;
    gantry_backend_kernel_t *kernel = NULL;
    gantry_launch_arg_t args[6];
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
