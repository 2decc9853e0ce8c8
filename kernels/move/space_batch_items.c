/* SPDX-License-Identifier: Apache-2.0 */
/* SpaceToBatchND and BatchToSpaceND: one launch of items for each. */
#include "kernels/common/item_kernel.h"
#include "kernels/move/space_batch.cl"
#include "kernels/move/space_batch_items.h"

GANTRY_K_ITEM_TEXTS(space_batch, GANTRY_SPACE_BATCH_ITEMS, gantry__text_space_batch);

/* space and cells must be input and output, or output and input. */
static int32_t space_batch_run(gantry_op_call_t *call, uint32_t item, const gantry_arg_t *space,
                               const gantry_arg_t *cells) {
    const gantry_arg_t *x = call->inputs[0], *out = call->outputs[0];
    const int64_t rank = call->inputs[1]->element_count;
    /* if no dimension is cut: one dimension of size 1, with one block of 1 */
    gantry__space_batch_t p = {.rank = rank > 0 ? rank : 1,
                               .batch = space->dims[0],
                               .inner = 1,
                               .lines = 1,
                               .space = {1},
                               .counts = {1},
                               .blocks = {1}};
    for (int64_t d = 0; d < rank; ++d) {
        p.space[d] = space->dims[d + 1];
        p.counts[d] = cells->dims[d + 1];
        p.blocks[d] = gantry__k_host_int(call->inputs[1], d);
        p.starts[d] = gantry__k_host_int(call->inputs[2], 2 * d);
        p.lines *= d + 1 < rank ? p.counts[d] : 1;
    }
    for (int32_t d = (int32_t)rank + 1; d < out->rank; ++d) p.inner *= out->dims[d];
    p.runs = gantry__k_runs(call, p.inner * (rank > 0 ? out->dims[rank] : 1));
    gantry__k_item_launch_t launch = {
        .item = item,
        .t = gantry__k_twin(out->dtype),
        .parameters = &p,
        .parameter_bytes = sizeof p,
        /* an empty input may have no memory; the kernel does not read it */
        .spans = {x->element_count > 0 ? x->span : out->span, out->span},
        .span_count = 2};
    return gantry__k_run_runs(call, &launch, &p.runs);
}

static int32_t compute_space_to_batch(gantry_op_call_t *call) {
    return space_batch_run(call, ITEM_space_to_batch, call->inputs[0], call->outputs[0]);
}

static int32_t compute_batch_to_space(gantry_op_call_t *call) {
    return space_batch_run(call, ITEM_batch_to_space, call->outputs[0], call->inputs[0]);
}

static const char *const space_hosts[] = {"block_shape", "paddings"};
static const char *const batch_hosts[] = {"block_shape", "crops"};

GANTRY_K_ITEM_KERNEL_HOST(space_to_batch, space_batch, "SpaceToBatchND", gantry__k_any_type,
                          space_hosts, compute_space_to_batch);
GANTRY_K_ITEM_KERNEL_HOST(batch_to_space, space_batch, "BatchToSpaceND", gantry__k_any_type,
                          batch_hosts, compute_batch_to_space);

#define OPS(OP)        \
    OP(space_to_batch) \
    OP(batch_to_space)
GANTRY_K_ITEM_PACK(space_batch, OPS);
