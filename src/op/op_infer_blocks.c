/* Shapes of SpaceToDepth and DepthToSpace. */
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
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "Value for attr 'block_size' of %" PRId64 " must be at least minimum 2", block);
    }
    if (block > INT32_MAX) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "Attr block_size has value %" PRId64 " out of range for an int32",
                            block);
    }
    if (call->shapes[0]->rank != 4) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "Input rank should be 4 instead of %d",
                            (int)call->shapes[0]->rank);
    }
    *out = format == 0 ? (layout_t){1, 2, 3, block} : (layout_t){2, 3, 1, block};
    return GANTRY_OK;
}

static bool multiply(int64_t *size, int64_t by) {
    if (*size > INT64_MAX / by) return false;
    *size *= by;
    return true;
}

static gantry_status_t fail_large(const gantry_shape_t *input, int64_t block) {
    return gantry__fail(GANTRY_INVALID_ARGUMENT,
                        "shape %s with block_size %" PRId64 " would give a dimension of more than 2**63 - 1",
                        gantry__shape_text(input).text, block);
}

gantry_status_t gantry__infer_space_to_depth(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0];
    layout_t at;
    GANTRY__TRY(read_layout(call, &at));
    if (input->dims[at.width] % at.block != 0 || input->dims[at.height] % at.block != 0) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "Image width %" PRId64 " and height %" PRId64 " should be divisible by block_size: %" PRId64,
                            input->dims[at.width], input->dims[at.height], at.block);
    }
    *out = *input;
    out->dims[at.height] /= at.block;
    out->dims[at.width] /= at.block;
    if (!multiply(&out->dims[at.depth], at.block * at.block)) return fail_large(input, at.block);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_depth_to_space(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0];
    layout_t at;
    GANTRY__TRY(read_layout(call, &at));
    if (at.block > LARGEST_BLOCK) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "Block size should be > 1 and <= %d but was: %" PRId64,
                            LARGEST_BLOCK, at.block);
    }
    if (input->dims[at.depth] % (at.block * at.block) != 0) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "Input depth dimension %" PRId64 " should be divisible by: %" PRId64,
                            input->dims[at.depth], at.block * at.block);
    }
    *out = *input;
    out->dims[at.depth] /= at.block * at.block;
    if (!multiply(&out->dims[at.height], at.block) || !multiply(&out->dims[at.width], at.block)) {
        return fail_large(input, at.block);
    }
    return GANTRY_OK;
}
