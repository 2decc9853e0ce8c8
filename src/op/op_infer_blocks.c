/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of SpaceToDepth, DepthToSpace, SpaceToBatchND and BatchToSpaceND. */
#include <inttypes.h>

#include "op/op_infer.h"

/* The dimensions of an image by data_format. */
typedef struct layout_t {
    int32_t height, width, depth;
    int64_t block;
} layout_t;

#define LARGEST_BLOCK 46340 /* its square is an int32 */

static gantry_status_t read_layout(gantry__infer_t *call, layout_t *out) {
    static const char *const formats[] = {"NHWC", "NCHW"};
    const int64_t block = gantry__infer_attr(call, "block_size")->i;
    size_t format;
    GANTRY__TRY(gantry__infer_choice(call, "data_format", formats, 2, &format));
    if (block < 2) {
        return gantry__refuse(
            "Value for attr 'block_size' of %" PRId64 " must be at least minimum 2", block);
    }
    if (block > INT32_MAX) {
        return gantry__refuse("Attr block_size has value %" PRId64 " out of range for an int32",
                              block);
    }
    if (call->shapes[0]->rank != 4) {
        return gantry__refuse("Input rank should be 4 instead of %d", (int)call->shapes[0]->rank);
    }
    *out = format == 0 ? (layout_t){1, 2, 3, block} : (layout_t){2, 3, 1, block};
    return GANTRY_OK;
}

static bool is_divisible(int64_t size, int64_t by) { return size < 0 || size % by == 0; }

static bool infer_blocks_multiply(int64_t *size, int64_t by) {
    if (*size < 0) return true;
    if (*size > INT64_MAX / by) return false;
    *size *= by;
    return true;
}

static gantry_status_t fail_large(const gantry_shape_t *input, int64_t block) {
    return gantry__refuse("shape %s with block_size %" PRId64
                          " would give a dimension of more than 2**63 - 1",
                          gantry__shape_text(input).text, block);
}

gantry_status_t gantry__infer_space_to_depth(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0];
    layout_t at = {0};
    GANTRY__TRY(read_layout(call, &at));
    if (!is_divisible(input->dims[at.width], at.block) ||
        !is_divisible(input->dims[at.height], at.block)) {
        return gantry__refuse("Image width %" PRId64 " and height %" PRId64
                              " should be divisible by block_size: %" PRId64,
                              input->dims[at.width], input->dims[at.height], at.block);
    }
    *out = *input;
    out->dims[at.height] = gantry__size_divide(input->dims[at.height], at.block);
    out->dims[at.width] = gantry__size_divide(input->dims[at.width], at.block);
    if (!infer_blocks_multiply(&out->dims[at.depth], at.block * at.block))
        return fail_large(input, at.block);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_depth_to_space(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0];
    layout_t at = {0};
    GANTRY__TRY(read_layout(call, &at));
    if (at.block > LARGEST_BLOCK) {
        return gantry__refuse("Block size should be > 1 and <= %d but was: %" PRId64, LARGEST_BLOCK,
                              at.block);
    }
    if (!is_divisible(input->dims[at.depth], at.block * at.block)) {
        return gantry__refuse("Input depth dimension %" PRId64 " should be divisible by: %" PRId64,
                              input->dims[at.depth], at.block * at.block);
    }
    *out = *input;
    out->dims[at.depth] = gantry__size_divide(input->dims[at.depth], at.block * at.block);
    if (!infer_blocks_multiply(&out->dims[at.height], at.block) ||
        !infer_blocks_multiply(&out->dims[at.width], at.block)) {
        return fail_large(input, at.block);
    }
    return GANTRY_OK;
}

/* ---- blocks in the batch ---- */

/* The blocks of dimensions 1, 2, ... and the elements added to or removed from both of their
 * ends. */
typedef struct batch_blocks_t {
    gantry__host_ints_t blocks, ends;
    int32_t rank;
    bool is_open; /* numbers are not known; the result is set */
} batch_blocks_t;

static gantry_status_t check_ends(const batch_blocks_t *at, const char *what) {
    for (int64_t i = 0; i < at->ends.count; ++i) {
        if (gantry__host_int(&at->ends, i) >= 0) continue;
        return gantry__refuse("%s must be non-negative, got %" PRId64, what,
                              gantry__host_int(&at->ends, i));
    }
    return GANTRY_OK;
}

/* Infers the shape without the numbers: the batch and the dimensions that have blocks are open. */
static gantry_status_t infer_unknown_blocks(gantry__infer_t *call, int64_t blocks) {
    gantry_shape_t *out = &call->out_shapes[0];
    *out = *call->shapes[0];
    for (int32_t d = 0; d < out->rank && (blocks < 0 || d <= blocks); ++d) out->dims[d] = -1;
    return GANTRY_OK;
}

static gantry_status_t read_batch_blocks(gantry__infer_t *call, const char *what,
                                         batch_blocks_t *out) {
    const gantry_shape_t *input = call->shapes[0], *blocks = call->shapes[1],
                         *ends = call->shapes[2];
    if (blocks->rank != 1) {
        return gantry__refuse("block_shape rank should be 1 instead of %d", (int)blocks->rank);
    }
    if (input->rank <= blocks->dims[0]) {
        return gantry__refuse("input rank should be >= %" PRIu64 " instead of %d",
                              (uint64_t)blocks->dims[0] + 1, (int)input->rank);
    }
    if (ends->rank != 2 || !gantry__sizes_fit(ends->dims[0], blocks->dims[0]) ||
        !gantry__sizes_fit(ends->dims[1], 2)) {
        return gantry__refuse("%s should have shape [%" PRId64 ", 2] instead of %s",
                              call->op->inputs[2].name, blocks->dims[0],
                              gantry__shape_text(ends).text);
    }
    const bool are_ends_open = gantry__infer_is_open(call, 2);
    out->is_open = gantry__infer_is_open(call, 1) || are_ends_open;
    if (out->is_open) return infer_unknown_blocks(call, blocks->dims[0]);
    GANTRY__TRY(gantry__infer_ints(call, 1, &out->blocks));
    GANTRY__TRY(gantry__infer_ints(call, 2, &out->ends));
    out->rank = (int32_t)blocks->dims[0];
    for (int32_t d = 0; d < out->rank; ++d) {
        if (gantry__host_int(&out->blocks, d) >= 1) continue;
        return gantry__refuse("All values in block_shape must be positive, got value, %" PRId64
                              " at index %d.",
                              gantry__host_int(&out->blocks, d), (int)d);
    }
    return check_ends(out, what);
}

static gantry_status_t fail_batch(const gantry_shape_t *input) {
    return gantry__refuse("these blocks of shape %s would give a dimension of more than 2**63 - 1",
                          gantry__shape_text(input).text);
}

gantry_status_t gantry__infer_space_to_batch(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0];
    batch_blocks_t at;
    GANTRY__TRY(read_batch_blocks(call, "Paddings", &at));
    if (at.is_open) return GANTRY_OK;
    *out = *input;
    for (int32_t d = 0; d < at.rank; ++d) {
        const int64_t block = gantry__host_int(&at.blocks, d), size = input->dims[d + 1];
        const int64_t before = gantry__host_int(&at.ends, 2 * d),
                      after = gantry__host_int(&at.ends, 2 * d + 1);
        if (!infer_blocks_multiply(&out->dims[0], block)) return fail_batch(input);
        out->dims[d + 1] = -1;
        if (size < 0) continue;
        if (before > INT64_MAX - size || after > INT64_MAX - size - before)
            return fail_batch(input);
        if ((size + before + after) % block != 0) {
            return gantry__refuse("padded_shape[%d]=%" PRId64
                                  " is not divisible by block_shape[%d]=%" PRId64,
                                  (int)d, size + before + after, (int)d, block);
        }
        out->dims[d + 1] = (size + before + after) / block;
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_batch_to_space(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0];
    int64_t places = 1;
    batch_blocks_t at;
    GANTRY__TRY(read_batch_blocks(call, "Crops", &at));
    if (at.is_open) return GANTRY_OK;
    *out = *input;
    for (int32_t d = 0; d < at.rank; ++d) {
        const int64_t block = gantry__host_int(&at.blocks, d);
        const int64_t before = gantry__host_int(&at.ends, 2 * d),
                      after = gantry__host_int(&at.ends, 2 * d + 1);
        int64_t *size = &out->dims[d + 1];
        if (!infer_blocks_multiply(&places, block) || !infer_blocks_multiply(size, block))
            return fail_batch(input);
        if (*size < 0) continue;
        if (before > *size || after > *size - before) {
            return gantry__refuse("cropped_shape[%d] must be non-negative: %" PRId64
                                  " less %" PRId64 " and %" PRId64,
                                  (int)d, *size, before, after);
        }
        *size -= before + after;
    }
    if (!is_divisible(input->dims[0], places)) {
        return gantry__refuse("Input batch dimension (%" PRId64
                              ") is not divisible by product of block sizes (%" PRId64 ")",
                              input->dims[0], places);
    }
    out->dims[0] = gantry__size_divide(input->dims[0], places);
    return GANTRY_OK;
}
