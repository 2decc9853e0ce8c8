/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul, BatchMatMul, _FusedMatMul and products of groups on devices, for every type; the source
 * is kernels/matmul/matmul.cl. It launches products of patches for conv_device.c, too. Kernels of a
 * backend's own have a higher priority. */

#include "kernels/matmul/matmul_patches.h"
#include "kernels/matmul/matmul_plan.h"
#include "host/try.h"

#define EACH_MOST 8

GANTRY_K_PROGRAM(matmul_source, "portable/matmul", gantry__text_half, gantry__text_matmul_plan,
                 gantry__text_matmul);
GANTRY_K_PROGRAM(patches_source, "portable/patches", gantry__text_half, gantry__text_matmul_plan,
                 gantry__text_matmul, gantry__text_matmul_patches);

/* The side of the square of C that a work-item computes, in elements, at most `most`. A larger
 * square reads local memory less often. But on small products it leaves a large device idle, and it
 * has to fit into registers and local memory. Devices whose local memory is global have few
 * registers, too (Mali). */
static int items_each(const gantry_op_call_t *call, const gantry__matmul_plan_t *plan,
                      int64_t batches, bool has_patches, int most) {
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
        const uint64_t line_bytes =
            (2 * (uint64_t)side + 1) * size + (has_patches ? GANTRY__PATCHES_TAP_BYTES : 0);
        const uint64_t tiles_bytes = GANTRY__MATMUL_TILE_DEPTH * line_bytes;
        if (each != 2 && groups >= enough && tiles_bytes <= call->device_info->local_memory_bytes)
            return each;
    }
    return 1;
}

/* A choice of one of the kernels of matmul.cl or matmul_patches.cl, and its launch. */
typedef struct {
    const char *name;
    uint32_t epilogue; /* the kernel's GANTRY_EPILOGUE */
    gantry__patches_kind_t kind;
    int each;
    uint64_t groups;
    uint32_t local;
} form_t;

/* Chooses a form for the same epilogue and patches. A group has at most `most` work-items, and a
 * work-item's square a side of at most `each`. */
static void matmul_device_choose_form(const gantry_op_call_t *call, gantry__matmul_plan_t *plan,
                                      int64_t batches, uint32_t most, int each, form_t *form) {
    const bool has_patches = form->kind != GANTRY__PATCHES_NONE;
    form->each = 1;
    if (gantry__k_is_serial(call)) {
        form->name = "matmul_rows";
        form->local = 1;
        form->groups =
            gantry__matmul_cut(plan, GANTRY__MATMUL_ROWS, GANTRY__MATMUL_COLUMNS, batches);
    } else if (most < GANTRY__MATMUL_TILE_ITEMS) {
        form->name = has_patches ? "patches_item" : "matmul_item";
        form->local = gantry__matmul_item_group(plan, most, &form->groups);
    } else {
        form->name = has_patches ? "patches_tile" : "matmul_tile";
        form->local = GANTRY__MATMUL_TILE_ITEMS;
        form->each = items_each(call, plan, batches, has_patches, each);
        form->groups = gantry__matmul_cut(plan, 16 * form->each, 16 * form->each, batches);
    }
}

static int32_t matmul_device_find_kernel(gantry_op_call_t *call, const form_t *form,
                                         gantry_backend_kernel_t **out_kernel) {
    gantry__k_options_t options = gantry__k_options_of_type(call, call->outputs[0]->dtype);
    const bool has_patches = form->kind != GANTRY__PATCHES_NONE;
    gantry__k_define(&options, "MATMUL_EACH", (uint32_t)form->each);
    gantry__k_define(&options, "EPILOGUE", form->epilogue);
    if (has_patches) gantry__k_define(&options, "PATCHES", (uint32_t)form->kind);
    return call->services->kernel(call, has_patches ? &patches_source : &matmul_source,
                                  options.text, form->name, out_kernel);
}

/* Finds a form whose kernel may have groups of its size: with fewer elements per work-item, which
 * need fewer registers, or without tiles. */
static int32_t matmul_device_find_form(gantry_op_call_t *call, gantry__matmul_plan_t *plan,
                                       int64_t batches, form_t *form,
                                       gantry_backend_kernel_t **out_kernel) {
    uint32_t most = call->device_info->max_work_group_size;
    /* two sums of each element take twice the registers */
    for (int each = form->kind == GANTRY__PATCHES_OF_RESULT ? EACH_MOST / 2 : EACH_MOST;;) {
        matmul_device_choose_form(call, plan, batches, most, each, form);
        GANTRY__TRY(matmul_device_find_kernel(call, form, out_kernel));
        const uint32_t limit = gantry__k_group_limit(call, *out_kernel);
        if (form->local <= limit || form->local <= GANTRY_K_LOCAL) return GANTRY_OK;
        most = form->each > 1 ? most : limit;
        each = form->each / 2;
    }
}

int32_t gantry__matmul_device_launch(gantry_op_call_t *call, const gantry__product_t *product) {
    const gantry__epilogue_t *epilogue = &product->epilogue;
    gantry__matmul_plan_t plan = gantry__matmul_plan_of(&product->shape);
    form_t form = {.epilogue = (epilogue->bias ? 1u : 0u) | (epilogue->has_relu ? 2u : 0u) |
                               (gantry__epilogue_is_first(call) ? 4u : 0u),
                   .kind = product->kind};
    gantry_backend_kernel_t *kernel = NULL;
    gantry_launch_arg_t args[6];
    uint32_t count = 0;
    GANTRY__TRY(matmul_device_find_form(call, &plan, product->shape.batches, &form, &kernel));
    args[count++] = gantry__k_span(product->a);
    args[count++] = gantry__k_span(product->b);
    args[count++] = gantry__k_span(call->outputs[0]);
    if (epilogue->bias) args[count++] = gantry__k_span(epilogue->bias);
    args[count++] = gantry__k_scalar(&plan, sizeof plan);
    if (product->kind != GANTRY__PATCHES_NONE)
        args[count++] = gantry__k_scalar(&product->patches, sizeof product->patches);
    return gantry__k_launch_groups(call, kernel, form.groups, form.local, args, count);
}

static int32_t launch_product(gantry_op_call_t *call, const gantry__matmul_shape_t *shape,
                              const gantry__epilogue_t *epilogue) {
    const gantry__product_t product = {
        .a = call->inputs[0], .b = call->inputs[1], .shape = *shape, .epilogue = *epilogue};
    return gantry__matmul_device_launch(call, &product);
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
