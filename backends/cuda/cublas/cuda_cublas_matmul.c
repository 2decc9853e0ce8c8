/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by cuBLASLt.
 *
 * The library counts by columns, while tensors are stored by rows. A row-major matrix is, in
 * memory, the column-major transpose, so
 *
 *     C = A B   by rows   is   C' = B' A'   by columns,
 *
 * and the operands change places: n x m from n x k and k x m. An operand that the op transposes is
 * transposed once more for the library. Batches with one stride are one call, or one for every
 * 64,512 of them; the rest is one call per index of the outer dimensions.
 *
 * float32 is computed in float32 unless GANTRY_CUDA_MATMUL_PRECISION lets the library round inputs
 * to a shorter type. A bias and a Relu after a product of floats are the library's epilogue.
 * float16 and bfloat16 are summed in float32 and rounded once, at the end. The workspace comes from
 * the core's scratch, as much as the chosen way of computing needs; where scratch is not available,
 * a way that needs none is taken. */
#include <stdio.h>
#include <string.h>

#include "cuda/cuda_backend.h"
#include "cuda/cublas/cuda_cublas.h"
#include "cuda/cublas/cuda_cublas_plan.h"
#include "kernels/matmul/matmul_epilogue.h"
#include "kernels/matmul/matmul_shape.h"

/* the most that the library wants on its largest cards */
#define WORKSPACE_BYTES (UINT64_C(32) << 20)
#define MOST_ALIGNMENT 256u
/* The library gives batches to a grid's z, which ends at 65,535. This is a multiple of 1024, so
 * that each run of batches begins as aligned as the first. */
#define MOST_BATCHES (INT64_C(63) * 1024)

/* One call of the library: out = left * right, where left must be the op's second input. */
typedef struct product_t {
    gantry_op_call_t *call;
    gantry__cublas_form_t form;
    gantry__cu_address_t left;
    gantry__cu_address_t right;
    gantry__cu_address_t out;
    gantry__cu_address_t bias; /* 0: none */
    bool has_workspace;        /* it was requested, though it may have 0 bytes */
    gantry_span_t workspace;
} product_t;

/* ---- failures ---- */

/* A lost card appears as a failed execution, which only the driver's own answer distinguishes from
 * other failures. */
static int32_t failure_code(const product_t *product, gantry__cublas_status_t native,
                            gantry__cu_result_t *out_driver) {
    const gantry_backend_device_t *device = product->call->device;
    *out_driver = GANTRY__CU_SUCCESS;
    switch (native) {
        case GANTRY__CUBLAS_ALLOC_FAILED: return GANTRY_RESOURCE_EXHAUSTED;
        case GANTRY__CUBLAS_NOT_SUPPORTED:
        case GANTRY__CUBLAS_ARCH_MISMATCH: return GANTRY_UNIMPLEMENTED;
        default: break;
    }
    size_t free_bytes;
    size_t total_bytes;
    *out_driver = device->cu->cuMemGetInfo_v2(&free_bytes, &total_bytes);
    return gantry__driver_error_code(*out_driver) == GANTRY_UNAVAILABLE ? GANTRY_UNAVAILABLE
                                                                        : GANTRY_INTERNAL;
}

static int32_t cuda_cublas_matmul_check(const product_t *product, gantry__cublas_status_t native) {
    const gantry_host_t *host = product->call->device->host;
    const gantry__cublas_form_t *form = &product->form;
    if (native == GANTRY__CUBLAS_SUCCESS || native == GANTRY__CUBLAS_NO_HOST_MEMORY)
        return native == GANTRY__CUBLAS_SUCCESS ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    gantry__cu_result_t driver;
    int32_t code = failure_code(product, native, &driver);
    char text[384];
    (void)snprintf(
        text, sizeof text, "%s of %llu x %llu by %llu x %llu (%d batches): %s (%u)%s%s",
        product->call->op, (unsigned long long)form->out.columns,
        (unsigned long long)(form->right.is_transposed ? form->right.columns : form->right.rows),
        (unsigned long long)(form->left.is_transposed ? form->left.rows : form->left.columns),
        (unsigned long long)form->out.rows, form->batch_count, gantry__cublas_status_name(native),
        native, driver != GANTRY__CU_SUCCESS ? ", driver: " : "",
        driver != GANTRY__CU_SUCCESS ? gantry__driver_error_name(driver) : "");
    return host->set_error(host->self, code, "cuBLAS", native, text);
}

/* ---- computing ---- */

/* The alignment of every batch's address: what all are a multiple of. */
static uint32_t alignment_of(const product_t *product, gantry__cu_address_t address,
                             int64_t batch_stride) {
    uint64_t bits = address | (uint64_t)batch_stride * gantry__k_size(product->form.dtype);
    uint32_t alignment = MOST_ALIGNMENT;
    while (alignment > 1 && (bits & (alignment - 1)) != 0) alignment /= 2;
    return alignment;
}

static int32_t take_plan(product_t *product, uint64_t most_workspace_bytes,
                         gantry__cublas_plan_t **out_plan) {
    gantry__cublas_form_t *form = &product->form;
    form->left.alignment = alignment_of(product, product->left, form->left.batch_stride);
    form->right.alignment = alignment_of(product, product->right, form->right.batch_stride);
    /* the library takes the bias to be as aligned as the result */
    form->out.alignment =
        alignment_of(product, product->out | product->bias, form->out.batch_stride);
    form->most_workspace_bytes = most_workspace_bytes;
    return cuda_cublas_matmul_check(
        product, gantry__cublas_plan_take(product->call->device, form, out_plan));
}

/* Takes the way to compute, and its workspace. Both are taken for the first run of a call, because
 * a call may take scratch only a few times; they are enough for the other runs, which follow on the
 * stream. */
static int32_t take_plan_and_workspace(product_t *product, gantry__cublas_plan_t **out_plan) {
    gantry_op_call_t *call = product->call;
    gantry_span_t *workspace = &product->workspace;
    bool is_first = !product->has_workspace;
    int32_t status =
        take_plan(product, is_first ? WORKSPACE_BYTES : workspace->size_bytes, out_plan);
    product->has_workspace = true;
    if (status != GANTRY_OK || !is_first || (*out_plan)->choice.workspace_bytes == 0) return status;
    status = call->services->scratch(call, (*out_plan)->choice.workspace_bytes, workspace);
    if (status != GANTRY_OK) {
        gantry__cublas_plan_give(call->device, *out_plan);
        *workspace = (gantry_span_t){0, 0, 0};
    }
    return status == GANTRY_RESOURCE_EXHAUSTED ? take_plan(product, 0, out_plan) : status;
}

static gantry__cublas_status_t submit_as(const product_t *product,
                                         const gantry__cublas_plan_t *plan,
                                         gantry__cublas_desc_t desc) {
    static const float one32 = 1.0f;
    static const float zero32 = 0.0f;
    static const double one64 = 1.0;
    static const double zero64 = 0.0;
    const gantry_op_call_t *call = product->call;
    bool is_double = product->form.dtype == GANTRY_FLOAT64;
    void *out = (void *)(uintptr_t)product->out;
    return call->device->instance->cublas.cublasLtMatmul(
        call->device->cublas, desc, is_double ? (const void *)&one64 : &one32,
        (const void *)(uintptr_t)product->left, plan->left, (const void *)(uintptr_t)product->right,
        plan->right, is_double ? (const void *)&zero64 : &zero32, out, plan->out, out, plan->out,
        &plan->choice.algo, (void *)(uintptr_t)gantry__cuda_address(&product->workspace),
        plan->choice.workspace_bytes, call->stream->handle);
}

/* Submits a product with a bias. The bias is part of a description, and threads share the
 * description of a plan, so this call makes its own. */
static gantry__cublas_status_t submit_with_bias(const product_t *product,
                                                const gantry__cublas_plan_t *plan) {
    const gantry_backend_device_t *device = product->call->device;
    const gantry__cublas_t *lt = &device->instance->cublas;
    const void *bias = (const void *)(uintptr_t)product->bias;
    gantry__cublas_desc_t desc = NULL;
    gantry__cublas_status_t native = gantry__cublas_plan_describe(device, &product->form, &desc);
    if (native == GANTRY__CUBLAS_SUCCESS)
        native = lt->cublasLtMatmulDescSetAttribute(desc, GANTRY__CUBLAS_DESC_BIAS_POINTER, &bias,
                                                    sizeof bias);
    if (native == GANTRY__CUBLAS_SUCCESS) native = submit_as(product, plan, desc);
    if (desc) lt->cublasLtMatmulDescDestroy(desc);
    return native;
}

static gantry__cublas_status_t cuda_cublas_matmul_submit(const product_t *product,
                                                         const gantry__cublas_plan_t *plan) {
    return product->bias != 0 ? submit_with_bias(product, plan)
                              : submit_as(product, plan, plan->desc);
}

static int32_t cuda_cublas_matmul_run(product_t *product) {
    gantry__cublas_plan_t *plan = NULL;
    int32_t status = take_plan_and_workspace(product, &plan);
    if (status == GANTRY_OK) {
        status = cuda_cublas_matmul_check(product, cuda_cublas_matmul_submit(product, plan));
        gantry__cublas_plan_give(product->call->device, plan);
    }
    return status;
}

/* The context must be current meanwhile, for the library and for scratch. */
static int32_t cuda_cublas_matmul_compute_product(product_t *product) {
    GANTRY__TRY(gantry__cuda_stream_check(product->call->stream));
    gantry_backend_device_t *device = product->call->device;
    const bool is_inside = gantry__cuda_is_inside(device);
    gantry__cu_result_t native = is_inside ? GANTRY__CU_SUCCESS : gantry__cuda_enter(device);
    if (native != GANTRY__CU_SUCCESS) {
        return gantry__driver_check(device->host, native, "%s on \"%.200s\"", product->call->op,
                                    device->record->hardware_name);
    }
    int32_t status = cuda_cublas_matmul_run(product);
    const uint64_t took = gantry__library_memory_took(device, &device->cublas_memory);
    if (!is_inside) gantry__cuda_leave(device);
    gantry__library_memory_report(product->call, took);
    return status;
}

/* ---- batches ---- */

/* Joins batch dimensions through which both operands run evenly, and leaves out those of size 1, so
 * that few remain. */
static void join_batches(gantry__matmul_shape_t *shape) {
    int32_t rank = 0;
    for (int32_t d = 0; d < shape->batch_rank; ++d) {
        int64_t dim = shape->batch_dims[d];
        int64_t a = shape->a_batch[d];
        int64_t b = shape->b_batch[d];
        if (dim == 1) continue;
        if (rank > 0 && shape->a_batch[rank - 1] == dim * a &&
            shape->b_batch[rank - 1] == dim * b) {
            --rank;
            dim *= shape->batch_dims[rank];
        }
        shape->batch_dims[rank] = dim;
        shape->a_batch[rank] = a;
        shape->b_batch[rank] = b;
        ++rank;
    }
    shape->batch_rank = rank;
}

/* Makes one taller product of a whole run of a's with one b. */
static void cuda_cublas_matmul_fold_batches(gantry__matmul_shape_t *shape) {
    if (shape->batch_rank == 1 && shape->a_column == 1 && shape->b_batch[0] == 0 &&
        shape->a_batch[0] == shape->m * shape->k) {
        shape->m *= shape->batch_dims[0];
        shape->batch_rank = 0;
    }
}

/* The batches from `begin` on, of the innermost batch dimension. */
static int32_t batches_from(const gantry__matmul_shape_t *shape, int64_t begin) {
    int64_t left = shape->batch_rank > 0 ? shape->batch_dims[shape->batch_rank - 1] - begin : 1;
    return (int32_t)(left < MOST_BATCHES ? left : MOST_BATCHES);
}

/* Reads the form of the product itself. Alignments and workspace do not follow from the shape, so
 * they stay 0. */
static void read_form(const gantry__matmul_shape_t *shape, int32_t dtype,
                      gantry__cublas_form_t *out) {
    int32_t last = shape->batch_rank - 1;
    bool is_a_plain = shape->a_column == 1; /* a matrix of one row or column is both */
    bool is_b_plain = shape->b_column == 1;
    *out = (gantry__cublas_form_t){
        .dtype = dtype,
        .epilogue = GANTRY__CUBLAS_EPILOGUE_NONE,
        .batch_count = batches_from(shape, 0),
        .left = {.rows = (uint64_t)(is_b_plain ? shape->n : shape->k),
                 .columns = (uint64_t)(is_b_plain ? shape->k : shape->n),
                 .is_transposed = !is_b_plain,
                 .batch_stride = last >= 0 ? shape->b_batch[last] : 0},
        .right = {.rows = (uint64_t)(is_a_plain ? shape->k : shape->m),
                  .columns = (uint64_t)(is_a_plain ? shape->m : shape->k),
                  .is_transposed = !is_a_plain,
                  .batch_stride = last >= 0 ? shape->a_batch[last] : 0},
        .out = {.rows = (uint64_t)shape->n,
                .columns = (uint64_t)shape->m,
                .batch_stride = last >= 0 ? shape->m * shape->n : 0},
    };
}

static void read_product(gantry_op_call_t *call, const gantry__matmul_shape_t *shape,
                         product_t *out) {
    *out = (product_t){
        .call = call,
        .left = gantry__cuda_address(&call->inputs[1]->span),
        .right = gantry__cuda_address(&call->inputs[0]->span),
        .out = gantry__cuda_address(&call->outputs[0]->span),
    };
    read_form(shape, call->outputs[0]->dtype, &out->form);
}

static uint64_t epilogue_number(const gantry__epilogue_t *epilogue) {
    if (!epilogue->bias && !epilogue->has_relu) return GANTRY__CUBLAS_EPILOGUE_NONE;
    return (epilogue->bias ? GANTRY__CUBLAS_EPILOGUE_BIAS : 0u) |
           (epilogue->has_relu ? GANTRY__CUBLAS_EPILOGUE_RELU : 0u);
}

/* Moves to the product of the outer batch dimensions' index `number`, from batch `begin` of the
 * innermost one on. */
static void move_to_run(const gantry__matmul_shape_t *shape, int64_t number, int64_t begin,
                        product_t *product) {
    uint64_t item = gantry__k_size(product->form.dtype);
    int32_t last = shape->batch_rank - 1;
    int64_t batch = number * shape->batch_dims[last] + begin;
    product->form.batch_count = batches_from(shape, begin);
    product->out += (uint64_t)(batch * shape->m * shape->n) * item;
    product->right += (uint64_t)(begin * shape->a_batch[last]) * item;
    product->left += (uint64_t)(begin * shape->b_batch[last]) * item;
    for (int32_t d = last - 1; d >= 0; --d) {
        int64_t index = number % shape->batch_dims[d];
        product->right += (uint64_t)(index * shape->a_batch[d]) * item;
        product->left += (uint64_t)(index * shape->b_batch[d]) * item;
        number /= shape->batch_dims[d];
    }
}

static int32_t cuda_cublas_matmul_all_batches(const gantry__matmul_shape_t *shape,
                                              product_t *first) {
    int64_t parts = 1, runs = 1;
    if (shape->batch_rank > 0)
        parts = (shape->batch_dims[shape->batch_rank - 1] + MOST_BATCHES - 1) / MOST_BATCHES;
    for (int32_t d = 0; d < shape->batch_rank - 1; ++d) runs *= shape->batch_dims[d];
    for (int64_t number = 0; number < runs * parts; ++number) {
        product_t product = *first;
        if (shape->batch_rank > 0)
            move_to_run(shape, number / parts, number % parts * MOST_BATCHES, &product);
        int32_t status = cuda_cublas_matmul_compute_product(&product);
        first->has_workspace = product.has_workspace;
        first->workspace = product.workspace;
        if (status != GANTRY_OK) return status;
    }
    return GANTRY_OK;
}

/* ---- the kernels ---- */

static void cuda_cublas_matmul_read_shape(const gantry_op_call_t *call,
                                          gantry__matmul_shape_t *out_shape) {
    gantry__matmul_shape_of(call, out_shape);
    join_batches(out_shape);
    cuda_cublas_matmul_fold_batches(out_shape);
}

/* bfloat16 needs compute capability 8.0. */
static bool card_has_type(const gantry_op_call_t *call) {
    return call->outputs[0]->dtype != GANTRY_BFLOAT16 || call->device->record->capability >= 80;
}

/* Whether the library has a way for the form at any address and without a workspace: then it has
 * one for the actual call, too. If a call of the library fails otherwise, compute reports that. */
static bool has_algorithm(const gantry_op_call_t *call, const gantry__matmul_shape_t *shape,
                          uint64_t epilogue) {
    gantry_backend_device_t *device = call->device;
    gantry__cublas_form_t form;
    read_form(shape, call->outputs[0]->dtype, &form);
    form.epilogue = epilogue;
    form.left.alignment = form.right.alignment = form.out.alignment = gantry__k_size(form.dtype);
    gantry__cublas_status_t native;
    if (!gantry__cublas_plan_knows(device, &form, &native)) {
        if (gantry__cuda_enter(device) != GANTRY__CU_SUCCESS) {
            return true; /* compute() finds the failure, too, and reports it */
        }
        native = gantry__cublas_plan_ask(device, &form);
        gantry__cuda_leave(device);
    }
    return native != GANTRY__CUBLAS_NOT_SUPPORTED && native != GANTRY__CUBLAS_ARCH_MISMATCH;
}

/* Whether the library takes the product. Counts beyond 32 bits, and forms for which it has no way,
 * are left to the portable kernels. */
static bool takes_product(const gantry_op_call_t *call, uint64_t epilogue) {
    if (!call->device || !gantry__matmul_has_whole_card(call, &call->device->record->info) ||
        !card_has_type(call) || !gantry__cublas_handle(call->device)) {
        return false;
    }
    gantry__matmul_shape_t shape;
    cuda_cublas_matmul_read_shape(call, &shape);
    const bool is_alone = epilogue == GANTRY__CUBLAS_EPILOGUE_NONE;
    return shape.m <= INT32_MAX && shape.n <= INT32_MAX && shape.k <= INT32_MAX &&
           (shape.k == 0 ? is_alone : has_algorithm(call, &shape, epilogue));
}

static int32_t cuda_cublas_matmul_supports(const gantry_op_call_t *call) {
    return takes_product(call, GANTRY__CUBLAS_EPILOGUE_NONE);
}

/* Accepts a program for which the library has an epilogue. */
static int32_t cuda_cublas_matmul_supports_fused(const gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    return gantry__epilogue_read(call, &epilogue) &&
           takes_product(call, epilogue_number(&epilogue));
}

/* A product over no elements is all zeros. */
static int32_t cuda_cublas_matmul_clear(gantry_op_call_t *call) {
    const uint16_t zero = 0;
    return call->services->fill(call, &call->outputs[0]->span, &zero, sizeof zero);
}

static int32_t cuda_cublas_matmul_compute(gantry_op_call_t *call) {
    gantry__matmul_shape_t shape;
    cuda_cublas_matmul_read_shape(call, &shape);
    if (shape.k == 0) return cuda_cublas_matmul_clear(call);
    product_t product;
    read_product(call, &shape, &product);
    return cuda_cublas_matmul_all_batches(&shape, &product);
}

static int32_t cuda_cublas_matmul_compute_fused(gantry_op_call_t *call) {
    gantry__matmul_shape_t shape;
    gantry__epilogue_t epilogue;
    product_t product;
    (void)gantry__epilogue_read(call, &epilogue);
    cuda_cublas_matmul_read_shape(call, &shape);
    read_product(call, &shape, &product);
    product.form.epilogue = epilogue_number(&epilogue);
    if (epilogue.bias) product.bias = gantry__cuda_address(&epilogue.bias->span);
    return cuda_cublas_matmul_compute_product(&product);
}

static const gantry_type_constraint_t float_types[] = {
    {"T", GANTRY_DTYPES_FLOATS | GANTRY_DTYPES_HALVES}};

const gantry_kernel_def_t gantry__cublas_kernels[GANTRY__CUBLAS_OPS] =
    GANTRY__MATMUL_KERNELS(GANTRY__MATMUL_ABOVE_PACK, float_types, 0, "cuBLASLt",
                           cuda_cublas_matmul_supports, cuda_cublas_matmul_compute);

/* The library rounds a half once, after the epilogue; the single ops round it after each op. */
static const gantry_type_constraint_t fused_types[] = {{"T", GANTRY_DTYPES_FLOATS}};

const gantry_kernel_def_t gantry__cublas_fused_kernel = GANTRY__MATMUL_FUSED_KERNEL(
    &gantry__cublas_kernels[0], GANTRY__MATMUL_ABOVE_PACK, fused_types, 0, "cuBLASLt",
    cuda_cublas_matmul_supports_fused, cuda_cublas_matmul_compute_fused);
