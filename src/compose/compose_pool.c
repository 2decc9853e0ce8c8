/* SPDX-License-Identifier: Apache-2.0 */
/* AvgPoolGrad: each window's gradient, by the number of its elements, spread over them. */
#include <gantry/op.h>
#include <gantry/ops.h>

#include <string.h>

#include "op/op_infer.h"
#include "run/tensor_state.h"
#include "compose/compose_conv.h"

typedef const gantry_tensor_t tensor;
typedef gantry__conv_t conv_t;

/* The number of elements that each window has inside the image: a scalar, or [1, y, x, 1]. */
static tensor *count_elements(const conv_t *conv, gantry_dtype_t dtype) {
    bool is_whole = true;
    for (int d = 1; d <= 2; ++d) {
        is_whole &= gantry__conv_windows_end(conv, d) <= conv->image.dims[d] &&
                    (!conv->has_pads || conv->pads[2 * d] == 0);
    }
    if (is_whole)
        return gantry__compose_scalar(conv->c, dtype, (double)(conv->rows * conv->columns));
    return gantry__conv_channels(
        conv,
        gantry_ones(conv->scope, dtype,
                    GANTRY_SHAPE(1, conv->image.dims[1], conv->image.dims[2], 1)),
        gantry_ones(conv->scope, dtype, GANTRY_SHAPE(conv->rows, conv->columns, 1, 1)));
}

/* The same where the padding counts, but not what ceil_mode adds: it is a part of the image. */
static tensor *count_padded(const conv_t *conv, gantry_dtype_t dtype) {
    const bool is_same = strcmp(conv->padding, "SAME") == 0;
    conv_t padded = *conv;
    int64_t sizes[4];
    gantry__conv_set_pads(&padded);
    for (int d = 1; d <= 2; ++d) {
        const int64_t after = is_same ? padded.pads[2 * d + 1] : conv->pads[2 * d + 1];
        sizes[d] = padded.pads[2 * d] + padded.image.dims[d] + after;
    }
    for (int d = 1; d <= 2; ++d) {
        const int64_t beyond = gantry__conv_windows_end(conv, d) - sizes[d];
        padded.image.dims[d] = sizes[d];
        padded.pads[2 * d] = 0;
        padded.pads[2 * d + 1] = beyond > 0 ? beyond : 0;
    }
    return count_elements(&padded, dtype);
}

/* Whether the windows are adjacent and fill the image. */
static bool windows_tile_image(const conv_t *conv) {
    bool tile = true;
    for (int d = 1; d <= 2; ++d) {
        const int64_t size = d == 1 ? conv->rows : conv->columns;
        tile = tile && conv->strides[d] == size && (size == 1 || conv->rates[d] == 1) &&
               conv->places.dims[d] * size == conv->image.dims[d] &&
               (!conv->has_pads || conv->pads[2 * d] == 0);
    }
    return tile;
}

static tensor *spread_tiles(const conv_t *conv, tensor *grad) {
    const int64_t *p = conv->places.dims;
    tensor *one = gantry_reshape(conv->scope, grad, GANTRY_SHAPE(p[0] * p[1], 1, p[2], 1, p[3]));
    tensor *all = gantry_broadcast_to(
        conv->scope, one, GANTRY_SHAPE(p[0] * p[1], conv->rows, p[2], conv->columns, p[3]));
    return gantry_reshape(conv->scope, all, conv->image);
}

void gantry__compose_avg_pool_grad(const gantry__compose_t *c) {
    tensor *grad = c->inputs[1];
    const gantry_shape_t *image = &c->call->out_shapes[0];
    const gantry_attr_t *size = gantry__infer_attr(c->call, "ksize");
    const bool first = gantry__infer_attr(c->call, "data_format")->s[1] == 'C';
    const gantry_shape_t filter = GANTRY_SHAPE(size->list[first ? 2 : 1], size->list[first ? 3 : 2],
                                               image->dims[first ? 1 : 3], 1);
    conv_t conv = gantry__conv_read(c, image, &filter, &grad->shape);
    if (gantry__conv_is_void(c, image, &grad->shape)) return;
    tensor *wide = gantry__compose_widen(c, gantry__conv_to_last(&conv, grad));
    const gantry_dtype_t dtype = grad->dtype == GANTRY_FLOAT64 ? GANTRY_FLOAT64 : GANTRY_FLOAT32;
    tensor *padded =
        gantry__infer_attr(c->call, "count_include_pad")->i ? count_padded(&conv, dtype) : NULL;
    if (gantry__infer_attr(c->call, "ceil_mode")->i || conv.has_pads) gantry__conv_set_pads(&conv);
    tensor *shares = gantry_div(c->scope, wide, padded ? padded : count_elements(&conv, dtype));
    tensor *images =
        windows_tile_image(&conv)
            ? spread_tiles(&conv, shares)
            : gantry__conv_spread_channels(&conv, gantry_ones(c->scope, dtype, filter), shares);
    c->outputs[0] = gantry__conv_to_first(&conv, gantry__compose_narrow(c, images, grad->dtype));
}
