/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin on devices: pieces of rows, then the best of a row's pieces. The text is
 * kernels/reduce/argmax.cl. */

#include "kernels/common/device_kernel.h"
#include "kernels/reduce/reduce_device.h"

/* Must have the same fields as the struct of kernels/reduce/argmax.cl. */
typedef struct {
    int64_t length;
    int64_t columns;
    int64_t sequences;
    int64_t parts;
    int64_t piece;
    int64_t units;
    int64_t each;
    int64_t blocks;
    int64_t lanes;
    int64_t is_least;
    int64_t out_bytes;
} argmax_t;

/* With fewer sequences than this a device would idle, so a sequence is then cut into pieces of this
 * length. */
#define FEW_SEQUENCES 1024
#define PIECE (4 * GANTRY_REDUCE_CHUNK)
#define LANES 64
/* For GPUs: the work-items for each compute unit, and the shortest pieces into which a sequence
 * is cut to get them. The join reads each piece of a sequence. The result does not depend on the
 * cut. */
#define ITEMS_PER_UNIT 2048
#define SHORTEST_ITEM_PIECE 256
#define PARTS_MOST 64
/* Work-groups for each compute unit of a CPU. */
#define GROUPS_PER_UNIT 16

GANTRY_K_PROGRAM(argmax_source, "portable/argmax", gantry__text_half, gantry__text_argmax);

static int32_t argmax_device_submit(gantry_op_call_t *call, const argmax_t *plan, const char *name,
                                    uint64_t items, uint32_t local, gantry_span_t partial) {
    const gantry_arg_t *input = call->inputs[0];
    const gantry_arg_t *output = call->outputs[0];
    gantry_backend_kernel_t *kernel = NULL;
    const gantry__k_options_t options =
        gantry__k_options_of_type(call, input->dtype == GANTRY_BOOL ? GANTRY_UINT8 : input->dtype);
    GANTRY__TRY(call->services->kernel(call, &argmax_source, options.text, name, &kernel));
    gantry_launch_arg_t args[] = {gantry__k_span(input), gantry__k_span(output),
                                  gantry__k_raw_span(partial),
                                  gantry__k_scalar(plan, sizeof *plan)};
    return gantry__k_launch_1d(call, kernel, items, local, args, 4);
}

static int32_t submit_pieces_on_cpu(gantry_op_call_t *call, argmax_t *plan, int64_t outer,
                                    gantry_span_t partial) {
    int64_t wanted = (int64_t)call->device_info->compute_units * GROUPS_PER_UNIT;
    plan->lanes = LANES;
    plan->blocks = (plan->columns + LANES - 1) / LANES;
    plan->units = outer * plan->blocks * plan->parts;
    plan->each = plan->units > wanted && wanted > 0 ? (plan->units + wanted - 1) / wanted : 1;
    uint64_t groups = (uint64_t)((plan->units + plan->each - 1) / plan->each);
    return argmax_device_submit(call, plan, plan->columns == 1 ? "argmax_row" : "argmax_columns",
                                groups, 1, partial);
}

static int32_t submit_pieces(gantry_op_call_t *call, argmax_t *plan, int64_t outer,
                             gantry_span_t partial) {
    if (gantry__k_is_serial(call)) return submit_pieces_on_cpu(call, plan, outer, partial);
    plan->units = plan->sequences * plan->parts;
    plan->lanes = plan->columns == 1 ? LANES : 1;
    while (plan->lanes / 2 >= plan->piece) {
        plan->lanes /= 2;
    }
    uint64_t items = (uint64_t)(plan->units * plan->lanes);
    return argmax_device_submit(call, plan, plan->columns == 1 ? "argmax_group" : "argmax_item",
                                items, gantry__k_local_for(call, items), partial);
}

/* The length of the pieces into which a sequence is cut. */
static int64_t choose_piece(const gantry_op_call_t *call, const argmax_t *plan) {
    if (gantry__k_is_serial(call)) {
        return plan->sequences < FEW_SEQUENCES && plan->length > PIECE ? PIECE : plan->length;
    }
    const int64_t lanes = plan->columns == 1 ? LANES : 1;
    const int64_t shortest = SHORTEST_ITEM_PIECE * (lanes == 1 ? 1 : 16);
    int64_t parts =
        (int64_t)call->device_info->compute_units * ITEMS_PER_UNIT / (plan->sequences * lanes);
    parts = parts > PARTS_MOST ? PARTS_MOST : parts < 1 ? 1 : parts;
    const int64_t piece = (plan->length + parts - 1) / parts;
    return piece >= shortest ? piece : plan->length < shortest ? plan->length : shortest;
}

static int32_t device_compute_argmax(gantry_op_call_t *call) {
    const gantry__reduce_middle_t shape = gantry__reduce_middle_of(call);
    argmax_t plan = {.length = shape.length,
                     .columns = shape.columns,
                     .sequences = shape.outer * shape.columns,
                     .parts = 1,
                     .is_least = call->kernel == &gantry__portable_argmin_kernel,
                     .out_bytes = gantry__k_size(call->outputs[0]->dtype)};
    gantry_span_t partial = call->outputs[0]->span; /* unused if there is one piece */
    if (plan.length == 0) {
        return call->services->fail(call, GANTRY_INVALID_ARGUMENT,
                                    "the reduced dimension has no elements");
    }
    plan.piece = choose_piece(call, &plan);
    plan.parts = (plan.length + plan.piece - 1) / plan.piece;
    if (plan.parts > 1) {
        GANTRY__TRY(call->services->scratch(
            call, (uint64_t)(plan.sequences * plan.parts) * sizeof(int64_t), &partial));
    }
    GANTRY__TRY(submit_pieces(call, &plan, shape.outer, partial));
    if (plan.parts <= 1) return GANTRY_OK;
    return argmax_device_submit(call, &plan, "argmax_join", (uint64_t)plan.sequences,
                                GANTRY_K_LOCAL, partial);
}

GANTRY_ARGMAX_OPS(GANTRY_K_PORTABLE_KERNEL)
