/* Ops on the matrices in a tensor's last two dimensions: MatrixBandPart. */
#include "portable/item_kernel.h"
#include "portable/kernels/matrix.cl"
#include "portable/portable_matrix.h"

enum {
#define ITEM(name) ITEM_##name,
    GANTRY_MATRIX_ITEMS(ITEM)
#undef ITEM
};

GANTRY_K_ITEM_TEXTS(matrix, GANTRY_MATRIX_ITEMS, gantry__text_matrix);

static int32_t compute_band(gantry_op_call_t *call) {
    const gantry_arg_t *x = call->inputs[0], *out = call->outputs[0];
    gantry_band_t band = {.rows = x->dims[x->rank - 2],
                          .columns = x->dims[x->rank - 1],
                          .lower = gantry_k_host_int(call->inputs[1], 0),
                          .upper = gantry_k_host_int(call->inputs[2], 0)};
    gantry_k_item_launch_t launch = {.item = ITEM_band,
                                     .t = gantry_k_twin(x->dtype),
                                     .count = out->element_count,
                                     .parameters = &band,
                                     .parameter_bytes = sizeof band,
                                     .spans = {x->span, out->span},
                                     .span_count = 2};

    return gantry_k_run_items(call, &launch);
}

static const gantry_type_constraint_t band_types[] = {{"T", GANTRY_K_ANY}};
static const char *const band_hosts[] = {"num_lower", "num_upper"};

GANTRY_K_ITEM_KERNEL_HOST(band, matrix, "MatrixBandPart", band_types, band_hosts, compute_band);

#define OPS(OP) OP(band)
GANTRY_K_ITEM_PACK(matrix, OPS);
