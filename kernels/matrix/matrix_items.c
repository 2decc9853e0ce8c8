/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on the matrices in a tensor's last two dimensions: MatrixBandPart, MatrixDiag,
 * MatrixDiagPart, MatrixSetDiag. */
#include "kernels/common/item_kernel.h"
#include "kernels/matrix/matrix.cl"
#include "kernels/matrix/matrix_items.h"

GANTRY_K_ITEM_TEXTS(matrix, GANTRY_MATRIX_ITEMS, gantry__text_matrix);

static int32_t compute_band(gantry_op_call_t *call) {
    const gantry_arg_t *x = call->inputs[0], *out = call->outputs[0];
    gantry__band_t band = {.runs = gantry__k_runs(call, x->dims[x->rank - 1]),
                           .rows = x->dims[x->rank - 2],
                           .columns = x->dims[x->rank - 1],
                           .lower = gantry__k_host_int(call->inputs[1], 0),
                           .upper = gantry__k_host_int(call->inputs[2], 0)};
    gantry__k_item_launch_t launch = {.item = ITEM_band,
                                      .t = gantry__k_twin(x->dtype),
                                      .parameters = &band,
                                      .parameter_bytes = sizeof band,
                                      .spans = {x->span, out->span},
                                      .span_count = 2};
    return gantry__k_run_runs(call, &launch, &band.runs);
}

/* matrices and band must be the arguments that hold whole matrices and stored diagonals. k and
 * padding must be the numbers of the inputs with these names; a number beyond the inputs means a
 * default. */
static gantry__diagonals_t matrix_begin(const gantry_op_call_t *call, const gantry_arg_t *matrices,
                                        const gantry_arg_t *band, uint32_t k, uint32_t padding) {
    const char *align = gantry__k_attr_text(call, "align", "RIGHT_LEFT");
    gantry__diagonals_t diagonals = {.rows = matrices->dims[matrices->rank - 2],
                                     .columns = matrices->dims[matrices->rank - 1],
                                     .length = band->dims[band->rank - 1],
                                     .right_above = strncmp(align, "RIGHT", 5) == 0,
                                     .right_below = strstr(align, "_RIGHT") ? 1 : 0};
    if (k < call->input_count) {
        diagonals.lower = gantry__k_host_int(call->inputs[k], 0);
        diagonals.upper = gantry__k_host_int(call->inputs[k], call->inputs[k]->element_count - 1);
    }
    if (padding < call->input_count) gantry__k_host_two(call->inputs[padding], diagonals.padding);
    return diagonals;
}

static int32_t matrix_run(gantry_op_call_t *call, uint32_t item, gantry__diagonals_t *diagonals,
                          uint32_t input_count) {
    const gantry_arg_t *out = call->outputs[0];
    gantry__k_item_launch_t launch = {.item = item,
                                      .t = gantry__k_twin(out->dtype),
                                      .parameters = diagonals,
                                      .parameter_bytes = sizeof *diagonals,
                                      .span_count = input_count + 1};
    /* an empty input may have no memory; the kernel does not read it */
    for (uint32_t k = 0; k < input_count; ++k)
        launch.spans[k] = call->inputs[k]->element_count > 0 ? call->inputs[k]->span : out->span;
    launch.spans[input_count] = out->span;
    diagonals->runs = gantry__k_runs(call, out->dims[out->rank - 1]);
    return gantry__k_run_runs(call, &launch, &diagonals->runs);
}

static int32_t compute_diag(gantry_op_call_t *call) {
    gantry__diagonals_t diagonals = matrix_begin(call, call->outputs[0], call->inputs[0], 1, 4);
    return matrix_run(call, ITEM_diagonals, &diagonals, 1);
}

static int32_t compute_diag_part(gantry_op_call_t *call) {
    gantry__diagonals_t diagonals = matrix_begin(call, call->inputs[0], call->outputs[0], 1, 2);
    return matrix_run(call, ITEM_diagonal_part, &diagonals, 1);
}

static int32_t compute_set_diag(gantry_op_call_t *call) {
    gantry__diagonals_t diagonals = matrix_begin(call, call->inputs[0], call->inputs[1], 2, 3);
    return matrix_run(call, ITEM_set_diagonals, &diagonals, 2);
}

static const char *const band_hosts[] = {"num_lower", "num_upper"};
static const char *const diag_hosts[] = {"k", "num_rows", "num_cols", "padding_value"};
static const char *const part_hosts[] = {"k", "padding_value"};
static const char *const set_hosts[] = {"k"};

GANTRY_K_ITEM_KERNEL_HOST(band, matrix, "MatrixBandPart", gantry__k_any_type, band_hosts,
                          compute_band);
GANTRY_K_ITEM_KERNEL_HOST(diag, matrix, "MatrixDiag", gantry__k_any_type, diag_hosts, compute_diag);
GANTRY_K_ITEM_KERNEL_HOST(diag_part, matrix, "MatrixDiagPart", gantry__k_any_type, part_hosts,
                          compute_diag_part);
GANTRY_K_ITEM_KERNEL_HOST(set_diag, matrix, "MatrixSetDiag", gantry__k_any_type, set_hosts,
                          compute_set_diag);

#define OPS(OP)   \
    OP(band)      \
    OP(diag)      \
    OP(diag_part) \
    OP(set_diag)
GANTRY_K_ITEM_PACK(matrix, OPS);
