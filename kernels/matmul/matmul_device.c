/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul, BatchMatMul, _FusedMatMul and products of groups on devices, for every type; the source
 * is kernels/matmul/matmul.cl. Kernels of a backend's own have a higher priority. */

#include "kernels/matmul/matmul_epilogue.h"
#include "kernels/matmul/matmul_plan.h"
#include "host/try.h"

#define EACH_MOST 8

GANTRY_K_PROGRAM(matmul_source, "portable/matmul", gantry__text_half, gantry__text_matmul_plan,
                 gantry__text_matmul);

/* The side of the square of C that a work-item computes, in elements, at most `most`. A larger
 * square reads local memory less often. But on small products it leaves a large device idle, and it
 * has to fit into registers and local memory. Devices whose local memory is global have few
 * registers, too (Mali). */
static int items_each(const gantry_op_call_t *call, const gantry__matmul_plan_t *plan,
                      int64_t batches, int most) {
    const int32_t dtype = call->outputs[0]->dtype;
    /* bytes of the type in which sums are made */
    const uint64_t size = gantry__k_is_half(dtype) ? sizeof(float) : gantry__k_size(dtype);
    const bool is_global = (call->device_info->flags & GANTRY_DEVICE_LOCAL_IS_GLOBAL) != 0;
    const int start = (size > 4 || is_global) && most > 4 ? 4 : most;
    const int64_t enough = 2 * (int64_t)call->device_info->compute_units;
    for (int each = start; each > 1; each /= 2) {
        const int64_t side = 16 * each;
        const int64_t groups =
            (plan->m + side - 1) / side * ((plan->n + side - 1) / side) * batches;
        const uint64_t tiles_bytes = GANTRY__MATMUL_TILE_DEPTH * (2 * (uint64_t)side + 1) * size;
        if (each != 2 && groups >= enough && tiles_bytes <= call->device_info->local_memory_bytes)
            return each;
    }
    return 1;
}

/* A choice of one of the three kernels of matmul.cl, and its launch. */
typedef struct {
    const char *name;
    uint32_t epilogue; /* the kernel's GANTRY_EPILOGUE */
    int each;
    uint64_t groups;
    uint32_t local;
} form_t;

/* Chooses a form. A group has at most `most` work-items, and a work-item's square a side of at most
 * `each`. */
static form_t matmul_device_choose_form(const gantry_op_call_t *call, gantry__matmul_plan_t *plan,
                                        int64_t batches, uint32_t most, int each) {
    form_t form = {.name = "matmul_tile", .each = 1, .local = GANTRY__MATMUL_TILE_ITEMS};
    if (gantry__k_is_serial(call)) {
        form = (form_t){.name = "matmul_rows",
                        .each = 1,
                        .local = 1,
                        .groups = gantry__matmul_cut(plan, GANTRY__MATMUL_ROWS,
                                                     GANTRY__MATMUL_COLUMNS, batches)};
    } else if (most < GANTRY__MATMUL_TILE_ITEMS) {
        form.name = "matmul_item";
        form.local = gantry__matmul_item_group(plan, most, &form.groups);
    } else {
        form.each = items_each(call, plan, batches, each);
        form.groups = gantry__matmul_cut(plan, 16 * form.each, 16 * form.each, batches);
    }
    return form;
}

static int32_t matmul_device_find_kernel(gantry_op_call_t *call, const form_t *form,
                                         gantry_backend_kernel_t **out_kernel) {
    gantry__k_options_t options = gantry__k_options_of_type(call, call->outputs[0]->dtype);
    if (gantry__epilogue_area(call) > 0) gantry__k_define(&options, "PLANES", 1);
    gantry__k_define(&options, "MATMUL_EACH", (uint32_t)form->each);
    gantry__k_define(&options, "EPILOGUE", form->epilogue);
    return call->services->kernel(call, &matmul_source, options.text, form->name, out_kernel);
}

/* Finds a form whose kernel may have groups of its size: with fewer elements per work-item, which
 * need fewer registers, or without tiles. */
static int32_t matmul_device_find_form(gantry_op_call_t *call, gantry__matmul_plan_t *plan,
                                       int64_t batches, form_t *out_form,
                                       gantry_backend_kernel_t **out_kernel) {
    uint32_t most = call->device_info->max_work_group_size;
    for (int each = EACH_MOST;;) {
        const uint32_t epilogue = out_form->epilogue;
        *out_form = matmul_device_choose_form(call, plan, batches, most, each);
        out_form->epilogue = epilogue;
        GANTRY__TRY(matmul_device_find_kernel(call, out_form, out_kernel));
        const uint32_t limit = gantry__k_group_limit(call, *out_kernel);
        if (out_form->local <= limit || out_form->local <= GANTRY_K_LOCAL) return GANTRY_OK;
        most = out_form->each > 1 ? most : limit;
        each = out_form->each / 2;
    }
}

static int32_t launch_product(gantry_op_call_t *call, const gantry__matmul_shape_t *shape,
                              const gantry__epilogue_t *epilogue) {
    gantry__matmul_plan_t plan = gantry__matmul_plan_of(shape);
    form_t form = {.epilogue = (epilogue->bias ? 1u : 0u) | (epilogue->has_relu ? 2u : 0u)};
    gantry_backend_kernel_t *kernel = NULL;
    gantry_launch_arg_t args[5];
    uint32_t count = 0;
    GANTRY__TRY(matmul_device_find_form(call, &plan, shape->batches, &form, &kernel));
    args[count++] = gantry__k_span(call->inputs[0]);
    args[count++] = gantry__k_span(call->inputs[1]);
    args[count++] = gantry__k_span(call->outputs[0]);
    if (epilogue->bias) args[count++] = gantry__k_span(epilogue->bias);
    args[count++] = gantry__k_scalar(&plan, sizeof plan);
    return gantry__k_launch_groups(call, kernel, form.groups, form.local, args, count);
}

static int32_t launch_without_program(gantry_op_call_t *call, const gantry__matmul_shape_t *shape) {
    const gantry__epilogue_t none = {.bias = NULL};
    const gantry_arg_t *output = call->outputs[0];
    if (shape->k == 0) {
        const unsigned char zero[8] = {0};
        return call->services->fill(call, &output->span, zero, gantry__k_size(output->dtype));
    }
    return launch_product(call, shape, &none);
}

static int32_t matmul_device_compute(gantry_op_call_t *call) {
    gantry__matmul_shape_t shape;
    gantry__matmul_shape_of(call, &shape);
    return launch_without_program(call, &shape);
}

/* The product's shape; with planes, c_column is what an image has of places, and c_batch of
 * elements. */
static void read_fused_shape(const gantry_op_call_t *call, gantry__matmul_shape_t *out_shape) {
    const int64_t area = gantry__epilogue_area(call);
    gantry__matmul_shape_of(call, out_shape);
    if (area == 0) return;
    out_shape->c_column = area;
    out_shape->c_batch = out_shape->n * area;
    out_shape->batches = 1;
    out_shape->batch_rank = 0;
}

static int32_t matmul_device_takes_fused(const gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    gantry__matmul_shape_t shape;
    read_fused_shape(call, &shape);
    return shape.k > 0 && call->inputs[0]->rank == 2 && gantry__epilogue_read_any(call, &epilogue);
}

static int32_t matmul_device_compute_fused(gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    gantry__matmul_shape_t shape;
    (void)gantry__epilogue_read_any(call, &epilogue);
    read_fused_shape(call, &shape);
    return launch_product(call, &shape, &epilogue);
}

static int32_t grouped_device_compute(gantry_op_call_t *call) {
    gantry__matmul_shape_t shape;
    gantry__matmul_grouped_shape_of(call, &shape);
    return launch_without_program(call, &shape);
}

static int32_t grouped_device_takes_fused(const gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    return call->inputs[0]->dims[2] > 0 && gantry__epilogue_read(call, &epilogue);
}

static int32_t grouped_device_compute_fused(gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    gantry__matmul_shape_t shape;
    (void)gantry__epilogue_read(call, &epilogue);
    gantry__matmul_grouped_shape_of(call, &shape);
    return launch_product(call, &shape, &epilogue);
}

static const gantry_kernel_def_t products[] = GANTRY__MATMUL_KERNELS(
    0, gantry__matmul_types, GANTRY_KERNEL_BATCH_INVARIANT, NULL, NULL, matmul_device_compute);
static const gantry_kernel_def_t fused_product = GANTRY__MATMUL_FUSED_KERNEL(
    &products[0], 0, gantry__matmul_types, GANTRY_KERNEL_BATCH_INVARIANT, NULL,
    matmul_device_takes_fused, matmul_device_compute_fused);
static const gantry_type_constraint_t grouped_types[] = {
    {"T", GANTRY_DTYPES_FLOATS | GANTRY_DTYPES_HALVES}};
static const gantry_kernel_def_t grouped_product = GANTRY__MATMUL_GROUPED_KERNEL(
    0, grouped_types, GANTRY_KERNEL_BATCH_INVARIANT, NULL, NULL, grouped_device_compute);
static const gantry_kernel_def_t fused_grouped_product = GANTRY__MATMUL_FUSED_GROUPED_KERNEL(
    &grouped_product, 0, grouped_types, GANTRY_KERNEL_BATCH_INVARIANT, NULL,
    grouped_device_takes_fused, grouped_device_compute_fused);
static const gantry_kernel_def_t *const kernels[] = {&products[0], &products[1], &fused_product,
                                                     &grouped_product, &fused_grouped_product};
GANTRY_K_PACK(matmul, "portable/matmul", kernels);
