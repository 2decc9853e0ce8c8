/* SPDX-License-Identifier: Apache-2.0 */
/* NormalizeChannels: one launch of items, by three numbers for each channel. */
#include "kernels/common/item_kernel.h"
#include "kernels/norm/normalize_channels.cl"
#include "kernels/norm/normalize_channels_items.h"

GANTRY_K_ITEM_TEXTS(normalize_channels, GANTRY_NORMALIZE_CHANNELS_ITEMS,
                    gantry__text_normalize_channels);

static int32_t compute_normalize(gantry_op_call_t *call) {
    const gantry_arg_t *const *in = call->inputs;
    const gantry_arg_t *out = call->outputs[0];
    const int64_t channels = out->dims[1], inner = out->dims[2];
    gantry__channels_t parameters = {.runs = gantry__k_runs(call, inner == 1 ? channels : inner),
                                     .channels = channels,
                                     .inner = inner};
    gantry__k_item_launch_t launch = {
        .item = ITEM_normalize_channels,
        .t = out->dtype,
        .parameters = &parameters,
        .parameter_bytes = sizeof parameters,
        .spans = {in[0]->span, in[1]->span, in[2]->span, in[3]->span, out->span},
        .span_count = 5};
    return gantry__k_run_runs(call, &launch, &parameters.runs);
}

static const gantry_type_constraint_t types[] = {{"T", GANTRY_DTYPES_FLOATS}};

GANTRY_K_ITEM_KERNEL(normalize, normalize_channels, "NormalizeChannels", types, compute_normalize);

#define OPS(OP) OP(normalize)
GANTRY_K_ITEM_PACK(normalize_channels, OPS);
