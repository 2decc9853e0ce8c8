/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of opencl_cpu_rows.cl: which products it takes, and their launch. */
#include "opencl/opencl_backend.h"
#include "opencl/matmul/opencl_matmul.h"
#include "opencl/opencl_text.h"

#define MOST_ROWS 4       /* must equal the device text's */
#define LEAST_COLUMNS 256 /* shorter pieces of rows are read no faster than by tiles */
/* elements of the wide side; another program is not built for little work */
#define LEAST_ELEMENTS (1 << 16)

/* Must have the same fields as problem_t of the device text. */
typedef struct problem_t {
    int64_t rows, columns, k;
    int64_t narrow_row, narrow_along;
    int64_t wide_row;
    int64_t c_row, c_col;
} problem_t;

static bool opencl_cpu_rows_is_b_wide(const gantry__opencl_matmul_t *matmul) {
    return !matmul->is_b_transposed && matmul->m <= MOST_ROWS && matmul->n >= LEAST_COLUMNS;
}

static bool opencl_cpu_rows_is_a_wide(const gantry__opencl_matmul_t *matmul) {
    return matmul->is_a_transposed && matmul->n <= MOST_ROWS && matmul->m >= LEAST_COLUMNS;
}

bool gantry__opencl_rows_fit(const gantry__opencl_matmul_t *matmul) {
    const int64_t columns = opencl_cpu_rows_is_b_wide(matmul) ? matmul->n : matmul->m;
    return matmul->batch_rank == 0 &&
           (opencl_cpu_rows_is_b_wide(matmul) || opencl_cpu_rows_is_a_wide(matmul)) &&
           columns * matmul->k >= LEAST_ELEMENTS;
}

bool gantry__opencl_rows_fit_epilogue(const gantry__opencl_matmul_t *matmul) {
    return gantry__opencl_rows_fit(matmul) && opencl_cpu_rows_is_b_wide(matmul);
}

static problem_t opencl_cpu_rows_make_problem(const gantry__opencl_matmul_t *matmul) {
    if (opencl_cpu_rows_is_b_wide(matmul)) {
        return (problem_t){.rows = matmul->m,
                           .columns = matmul->n,
                           .k = matmul->k,
                           .narrow_row = matmul->is_a_transposed ? 1 : matmul->k,
                           .narrow_along = matmul->is_a_transposed ? matmul->m : 1,
                           .wide_row = matmul->n,
                           .c_row = matmul->n,
                           .c_col = 1};
    }
    return (problem_t){.rows = matmul->n,
                       .columns = matmul->m,
                       .k = matmul->k,
                       .narrow_row = matmul->is_b_transposed ? matmul->k : 1,
                       .narrow_along = matmul->is_b_transposed ? 1 : matmul->n,
                       .wide_row = matmul->m,
                       .c_row = 1,
                       .c_col = matmul->n};
}

GANTRY__OPENCL_PROGRAM(source, "opencl/cpu_rows", gantry__text_opencl_cpu_types,
                       gantry__text_opencl_cpu_tile, gantry__text_opencl_cpu_rows);

int32_t gantry__opencl_rows_compute(gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul,
                                    const gantry__epilogue_t *epilogue) {
    const gantry__opencl_tile_t tile = gantry__opencl_tile(call->device_info, matmul->dtype);
    const problem_t q = opencl_cpu_rows_make_problem(matmul);
    const bool is_swapped = !opencl_cpu_rows_is_b_wide(matmul);
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->inputs[is_swapped ? 1 : 0]->span},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->inputs[is_swapped ? 0 : 1]->span},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->outputs[0]->span},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof q, .as.value = &q},
        {.kind = GANTRY_LAUNCH_SPAN,
         .as.span = epilogue->bias ? epilogue->bias->span : call->inputs[0]->span},
    };
    char options[GANTRY__OPENCL_EPILOGUE_OPTION_BYTES];
    gantry__opencl_epilogue_options(&tile, matmul->dtype, epilogue, options);
    gantry_backend_kernel_t *kernel = NULL;
    GANTRY__TRY(call->services->kernel(call, &source, options, "opencl_cpu_rows", &kernel));
    return gantry__opencl_launch_items(
        call, kernel,
        gantry__opencl_tile_items(call->device_info, (double)(q.columns * q.k * MOST_ROWS)), args,
        sizeof args / sizeof args[0] - !epilogue->bias);
}
