/* SPDX-License-Identifier: Apache-2.0 */
/* Conv1D, MaxPool1D, AvgPool1D: sequences as images of one row. */
#include <gantry/op.h>
#include <gantry/ops.h>

#include "op/op_infer.h"
#include "run/call_op.h"
#include "compose/compose.h"

typedef const gantry_tensor_t tensor;

static bool compose_line_is_channels_first(const gantry__compose_t *c) {
    return gantry__infer_attr(c->call, "data_format")->s[1] == 'C';
}

/* [batch, length, channels] becomes [batch, 1, length, channels]; NCW [batch, channels, 1,
 * length]. */
static int32_t row_axis(const gantry__compose_t *c) {
    return compose_line_is_channels_first(c) ? 2 : 1;
}

static gantry_attr_value_t four(const gantry__compose_t *c, const char *name, int64_t value,
                                int64_t list[4]) {
    for (int d = 0; d < 4; ++d) list[d] = 1;
    list[row_axis(c) + 1] = value;
    return gantry__attr_ints(name, list, 4);
}

static void run_on_image(const gantry__compose_t *c, gantry__op_id_t id, tensor *filter,
                         const gantry_attr_value_t *attrs, size_t attr_count) {
    const int32_t axis = (int32_t)row_axis(c);
    tensor *inputs[] = {gantry_expand_dims(c->scope, c->inputs[0], axis), filter};
    tensor *image = gantry__call_op(c->scope, id, inputs, filter ? 2 : 1, attrs, attr_count, NULL);
    c->outputs[0] = gantry_squeeze(c->scope, image, &axis, 1);
}

/* explicit_paddings of a sequence, [before, after] of each dimension, as those of the image. */
static gantry_attr_value_t image_pads(const gantry__compose_t *c, int64_t list[8]) {
    const gantry_attr_t *own = gantry__infer_attr(c->call, "explicit_paddings");
    const int32_t at = 2 * (row_axis(c) + 1);
    for (int d = 0; d < 8; ++d) list[d] = 0;
    for (int d = 0; own->i > 0 && d < 2; ++d) list[at + d] = own->list[at - 2 + d];
    return gantry__attr_ints("explicit_paddings", list, own->i > 0 ? 8 : 0);
}

/* count_include_pad, which MaxPool1D does not have, is last. */
static void pool(const gantry__compose_t *c, gantry__op_id_t id) {
    const gantry_attr_t *counts = gantry__infer_attr(c->call, "count_include_pad");
    int64_t sizes[4], steps[4], spreads[4], pads[8];
    const gantry_attr_value_t attrs[] = {
        four(c, "ksize", gantry__infer_attr(c->call, "ksize")->i, sizes),
        four(c, "strides", gantry__infer_attr(c->call, "strides")->i, steps),
        gantry__attr_text("padding", gantry__infer_attr(c->call, "padding")->s),
        gantry__attr_text("data_format", compose_line_is_channels_first(c) ? "NCHW" : "NHWC"),
        four(c, "dilations", gantry__infer_attr(c->call, "dilations")->i, spreads),
        gantry__attr_bool("ceil_mode", gantry__infer_attr(c->call, "ceil_mode")->i != 0),
        image_pads(c, pads),
        gantry__attr_bool("count_include_pad", counts && counts->i != 0)};
    run_on_image(c, id, NULL, attrs, counts ? 8 : 7);
}

void gantry__compose_max_pool_1d(const gantry__compose_t *c) { pool(c, GANTRY__OP_ID_MaxPool); }

void gantry__compose_avg_pool_1d(const gantry__compose_t *c) { pool(c, GANTRY__OP_ID_AvgPool); }

void gantry__compose_conv_1d(const gantry__compose_t *c) {
    int64_t steps[4], spreads[4];
    const gantry_attr_value_t attrs[] = {
        four(c, "strides", gantry__infer_attr(c->call, "stride")->i, steps),
        four(c, "dilations", gantry__infer_attr(c->call, "dilations")->i, spreads),
        gantry__attr_text("padding", gantry__infer_attr(c->call, "padding")->s),
        gantry__attr_text("data_format", compose_line_is_channels_first(c) ? "NCHW" : "NHWC")};
    run_on_image(c, GANTRY__OP_ID_Conv2D, gantry_expand_dims(c->scope, c->inputs[1], 0), attrs, 4);
}
