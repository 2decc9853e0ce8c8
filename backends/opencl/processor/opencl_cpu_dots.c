/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of opencl_cpu_dots.cl: which products it takes, and their launch. */
#include <stdio.h>

#include "opencl/opencl_backend.h"
#include "opencl/matmul/opencl_matmul.h"
#include "opencl/opencl_text.h"

#define MOST_COLUMNS 12 /* columns of the narrow side; above, the general kernel is faster */
#define LEAST_DEPTH 64  /* below, adding up lanes costs more than it saves */
/* elements of the wide side; another program is not built for little work */
#define LEAST_ELEMENTS (1 << 16)
#define LEAST_ELEMENTS_PER_ITEM (1 << 18)
#define BLOCK_DEPTH 2048 /* kc: with 4 columns 32 KiB of float32 */
#define LINE_BYTES 128

/* Must have the same fields as problem_t of the device text. */
typedef struct problem_t {
    int64_t rows, columns, k;
    int64_t wide_row;
    int64_t narrow_along, narrow_across;
    int64_t c_row, c_col;
    int64_t kc;
    int64_t slot;
} problem_t;

static int64_t opencl_cpu_dots_least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t opencl_cpu_dots_round_up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

/* Whether a is wide and plain; else b is, and is stored by columns. */
static bool opencl_cpu_dots_is_a_wide(const gantry__opencl_matmul_t *matmul) {
    return !matmul->is_a_transposed && matmul->n <= MOST_COLUMNS && matmul->m >= matmul->n;
}

static bool opencl_cpu_dots_is_b_wide(const gantry__opencl_matmul_t *matmul) {
    return matmul->is_b_transposed && matmul->m <= MOST_COLUMNS && matmul->n >= matmul->m;
}

bool gantry__opencl_dots_fit(const gantry__opencl_matmul_t *matmul) {
    int64_t rows = opencl_cpu_dots_is_a_wide(matmul) ? matmul->m : matmul->n;
    return matmul->batch_rank == 0 &&
           (opencl_cpu_dots_is_a_wide(matmul) || opencl_cpu_dots_is_b_wide(matmul)) &&
           matmul->k >= LEAST_DEPTH && rows * matmul->k >= LEAST_ELEMENTS;
}

static problem_t opencl_cpu_dots_make_problem(const gantry__opencl_matmul_t *matmul, int32_t lanes,
                                              int64_t item_bytes) {
    problem_t q = {.k = matmul->k, .wide_row = matmul->k};
    if (opencl_cpu_dots_is_a_wide(matmul)) {
        q.rows = matmul->m;
        q.columns = matmul->n;
        q.narrow_along = matmul->is_b_transposed ? 1 : matmul->n;
        q.narrow_across = matmul->is_b_transposed ? matmul->k : 1;
        q.c_row = matmul->n;
        q.c_col = 1;
    } else {
        q.rows = matmul->n;
        q.columns = matmul->m;
        q.narrow_along = matmul->is_a_transposed ? matmul->m : 1;
        q.narrow_across = matmul->is_a_transposed ? 1 : matmul->k;
        q.c_row = 1;
        q.c_col = matmul->n;
    }
    q.kc = opencl_cpu_dots_least(q.k, BLOCK_DEPTH);
    q.slot = opencl_cpu_dots_round_up(
        opencl_cpu_dots_round_up(q.kc, lanes) * opencl_cpu_dots_round_up(q.columns, 4),
        LINE_BYTES / item_bytes);
    return q;
}

GANTRY__OPENCL_PROGRAM(source, "opencl/cpu_dots", gantry__text_opencl_cpu_types,
                       gantry__text_opencl_cpu_dots);

static int32_t opencl_cpu_dots_launch(gantry_op_call_t *call, const problem_t *q, bool is_swapped,
                                      int64_t items, int64_t item_bytes,
                                      gantry_backend_kernel_t *kernel) {
    gantry_span_t scratch;
    GANTRY__TRY(call->services->scratch(call, (uint64_t)(items * q->slot * item_bytes), &scratch));
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->inputs[is_swapped ? 1 : 0]->span},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->inputs[is_swapped ? 0 : 1]->span},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->outputs[0]->span},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = scratch},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof *q, .as.value = q},
    };
    return gantry__opencl_launch_items(call, kernel, items, args, sizeof args / sizeof args[0]);
}

int32_t gantry__opencl_dots_compute(gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul) {
    int64_t item_bytes = gantry__k_size(matmul->dtype);
    int32_t lanes = gantry__opencl_lanes(call->device_info);
    int32_t mr = lanes == 16 ? 4 : 2; /* for 32 registers, or 16 */
    gantry_backend_kernel_t *kernel = NULL;
    if (matmul->dtype == GANTRY_FLOAT64) lanes /= 2;
    problem_t q = opencl_cpu_dots_make_problem(matmul, lanes, item_bytes);
    int64_t items = q.rows * q.k / LEAST_ELEMENTS_PER_ITEM;
    items = items < 1 ? 1
                      : opencl_cpu_dots_least(
                            opencl_cpu_dots_least(items, call->device_info->compute_units),
                            (q.rows + mr - 1) / mr);
    char options[96];
    (void)snprintf(options, sizeof options, "-DGANTRY_T=%s -DGANTRY_LANES=%d -DGANTRY_MR=%d",
                   gantry__k_short_name(matmul->dtype), (int)lanes, (int)mr);
    int32_t status = call->services->kernel(call, &source, options, "opencl_cpu_dots", &kernel);
    return status == GANTRY_OK
               ? opencl_cpu_dots_launch(call, &q, !opencl_cpu_dots_is_a_wide(matmul), items,
                                        item_bytes, kernel)
               : status;
}
