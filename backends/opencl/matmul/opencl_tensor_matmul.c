/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of opencl_tensor_matmul.cl: which devices take it, tiles, launch. */
#include <stdio.h>
#include <stdlib.h>

#include "opencl/opencl_backend.h"
#include "opencl/matmul/opencl_matmul.h"
#include "opencl/opencl_text.h"
#include "kernels/common/device_text.h"
#include "kernels/matmul/matmul_shape.h"

#define LARGE_SIDE 128
#define SMALL_SIDE 64 /* for products with too few large tiles for the card */
#define GROUP_ITEMS 256
/* a little more than the kernel takes, and what every such card has */
#define LOCAL_BYTES (48 << 10)
#define LEAST_MAJOR 8 /* compute capability of the first tensor cores that know TF32 */

/* Must have the same fields as problem_t of the device text. */
typedef struct problem_t {
    int64_t m, n, k;
    int64_t tiles_down, tiles_across;
    int64_t batch_rank;
    int64_t batch_dims[GANTRY__OPENCL_BATCH_RANK];
    int64_t a_batch[GANTRY__OPENCL_BATCH_RANK];
    int64_t b_batch[GANTRY__OPENCL_BATCH_RANK];
} problem_t;

GANTRY_K_TEXTS(source, gantry__text_dialect, gantry__text_launch,
               gantry__text_opencl_tensor_matmul);

/* In a test NVRTC compiles the same text, because no compiler is nearer to the card's on a machine
 * without a card. */
const gantry_program_source_t gantry__opencl_tensor_source = {
    .struct_size = sizeof gantry__opencl_tensor_source,
    .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
    .label = "opencl/tensor_matmul",
    GANTRY_K_TEXTS_SOURCE(source)};

bool gantry__opencl_tensor_fits(const gantry_device_info_t *info, int32_t choice, char *reason,
                                size_t reason_bytes) {
    const char *capability = info->compute_capability;
    if (choice == GANTRY__OPENCL_MATMUL_TENSOR && strtol(capability, NULL, 10) < LEAST_MAJOR) {
        (void)snprintf(
            reason, reason_bytes,
            "tensor cores by PTX need an NVIDIA card of compute capability %d.0 or newer; %s%s",
            LEAST_MAJOR, capability[0] != '\0' ? "this one has " : "this is none", capability);
    } else if (choice == GANTRY__OPENCL_MATMUL_EMULATED &&
               (info->dtype_mask >> GANTRY_FLOAT64 & 1) == 0) {
        (void)snprintf(reason, reason_bytes,
                       "emulated tensor cores need float64, which the device does not have");
    } else {
        return true;
    }
    return false;
}

static int64_t tiles_of(int64_t size, int64_t side) { return (size + side - 1) / side; }

static int64_t count_tiles(const gantry__opencl_matmul_t *matmul, int64_t side) {
    return matmul->batch_count * tiles_of(matmul->m, side) * tiles_of(matmul->n, side);
}

static problem_t opencl_tensor_matmul_make_problem(const gantry__opencl_matmul_t *matmul,
                                                   int64_t side) {
    problem_t q = {.m = matmul->m,
                   .n = matmul->n,
                   .k = matmul->k,
                   .tiles_down = tiles_of(matmul->m, side),
                   .tiles_across = tiles_of(matmul->n, side),
                   .batch_rank = matmul->batch_rank};
    for (int32_t d = 0; d < matmul->batch_rank; ++d) {
        q.batch_dims[d] = matmul->batch_dims[d];
        q.a_batch[d] = matmul->a_batch[d];
        q.b_batch[d] = matmul->b_batch[d];
    }
    return q;
}

/* Whether rows of both operands are whole float4 at aligned addresses. */
static bool has_quads(const gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul) {
    int64_t a_line = matmul->is_a_transposed ? matmul->m : matmul->k;
    int64_t b_line = matmul->is_b_transposed ? matmul->k : matmul->n;
    return a_line % 4 == 0 && b_line % 4 == 0 && call->inputs[0]->span.offset_bytes % 16 == 0 &&
           call->inputs[1]->span.offset_bytes % 16 == 0;
}

static int32_t opencl_tensor_matmul_launch(gantry_op_call_t *call, const problem_t *q,
                                           int64_t tiles, gantry_backend_kernel_t *kernel) {
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->inputs[0]->span},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->inputs[1]->span},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->outputs[0]->span},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof *q, .as.value = q},
    };
    gantry_launch_t what = {
        .struct_size = sizeof what,
        .dimensions = 1,
        .global_size = {(uint64_t)tiles * GROUP_ITEMS, 1, 1},
        .local_size = {GROUP_ITEMS, 1, 1},
        .args = args,
        .arg_count = sizeof args / sizeof args[0],
    };
    return call->services->launch(call, kernel, &what);
}

/* ---- the kernels ---- */

static int32_t opencl_tensor_matmul_supports(const gantry_op_call_t *call) {
    int32_t choice = call->device ? call->device->matmul : GANTRY__OPENCL_MATMUL_PORTABLE;
    return (choice == GANTRY__OPENCL_MATMUL_TENSOR || choice == GANTRY__OPENCL_MATMUL_EMULATED) &&
           call->device_info->max_work_group_size >= GROUP_ITEMS &&
           call->device_info->local_memory_bytes >= LOCAL_BYTES;
}

static int32_t opencl_tensor_matmul_compute(gantry_op_call_t *call) {
    gantry__opencl_matmul_t matmul;
    gantry__opencl_matmul_read(call, &matmul);
    if (matmul.k == 0) return gantry__opencl_matmul_clear(call);
    int64_t side = count_tiles(&matmul, LARGE_SIDE) < call->device_info->compute_units ? SMALL_SIDE
                                                                                       : LARGE_SIDE;
    problem_t problem = opencl_tensor_matmul_make_problem(&matmul, side);
    char options[160];
    (void)snprintf(options, sizeof options, GANTRY__OPENCL_TENSOR_OPTIONS, (int)side,
                   !matmul.is_a_transposed, (int)matmul.is_b_transposed, has_quads(call, &matmul),
                   call->device->matmul == GANTRY__OPENCL_MATMUL_EMULATED);
    gantry_backend_kernel_t *kernel = NULL;
    int32_t status = call->services->kernel(call, &gantry__opencl_tensor_source, options,
                                            "opencl_tensor_matmul", &kernel);
    return status == GANTRY_OK
               ? opencl_tensor_matmul_launch(call, &problem, count_tiles(&matmul, side), kernel)
               : status;
}

static const gantry_type_constraint_t float32_only[] = {{"T", GANTRY_DTYPE_BIT(GANTRY_FLOAT32)}};

const gantry_kernel_def_t gantry__opencl_tensor_kernels[GANTRY__OPENCL_MATMUL_OPS] =
    GANTRY__MATMUL_KERNELS(GANTRY__MATMUL_ABOVE_PACK, float32_only, 0, NULL,
                           opencl_tensor_matmul_supports, opencl_tensor_matmul_compute);
