/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of TensorFlow's ops that resize images [batch, height, width, channels], and of their
 * gradients. */
#include <inttypes.h>
#include <math.h>

#include "op/op_infer.h"

static gantry_status_t check_image_shape(const gantry_shape_t *images, const char *name) {
    if (images->rank != 4)
        return gantry__refuse("%s must be 4-dimensional, got shape %s", name,
                              gantry__shape_text(images).text);
    for (int d = 1; d < 3; ++d) {
        if (images->dims[d] == 0 || images->dims[d] > INT32_MAX)
            return gantry__refuse("%s must be of non-zero size and less than 2^31, got shape %s",
                                  name, gantry__shape_text(images).text);
    }
    return GANTRY_OK;
}

static gantry_status_t check_pixels(const gantry__infer_t *call) {
    const gantry_attr_t *centers = gantry__infer_attr(call, "half_pixel_centers");
    if (!centers || !centers->i || !gantry__infer_attr(call, "align_corners")->i) return GANTRY_OK;
    return gantry__refuse(
        "If half_pixel_centers is True, align_corners must be False; both are True");
}

/* Puts the two numbers of a host input in the place of height and width. */
static gantry_status_t read_image_size(gantry__infer_t *call, uint32_t input, const char *name,
                                       gantry_shape_t *out) {
    const gantry_shape_t *shape = call->shapes[input];
    gantry__host_ints_t ints;
    if (shape->rank != 1 || !gantry__sizes_fit(shape->dims[0], 2))
        return gantry__refuse("%s must be a vector of two elements, got shape %s", name,
                              gantry__shape_text(shape).text);
    out->dims[1] = out->dims[2] = -1;
    if (gantry__infer_is_open(call, input)) return GANTRY_OK;
    GANTRY__TRY(gantry__infer_ints(call, input, &ints));
    for (int d = 0; d < 2; ++d) {
        out->dims[d + 1] = gantry__host_int(&ints, d);
        if (out->dims[d + 1] <= 0)
            return gantry__refuse("output dimensions must be positive: %s is [%" PRId64 ", %" PRId64
                                  "]",
                                  name, gantry__host_int(&ints, 0), gantry__host_int(&ints, 1));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_resize_nearest_grad(gantry__infer_t *call) {
    GANTRY__TRY(check_image_shape(call->shapes[0], "images"));
    GANTRY__TRY(check_pixels(call));
    call->out_shapes[0] = *call->shapes[0];
    return read_image_size(call, 1, "size", &call->out_shapes[0]);
}

gantry_status_t gantry__infer_resize_images(gantry__infer_t *call) {
    if (call->shapes[0]->rank == 4 && call->shapes[0]->dims[3] == 0)
        return gantry__refuse("image must have at least one channel, got shape %s",
                              gantry__shape_text(call->shapes[0]).text);
    return gantry__infer_resize_nearest_grad(call);
}

gantry_status_t gantry__infer_resize_images_grad(gantry__infer_t *call) {
    const gantry_shape_t *grads = call->shapes[0], *images = call->shapes[1];
    GANTRY__TRY(check_image_shape(grads, "input_grad"));
    GANTRY__TRY(check_image_shape(images, "original_image"));
    GANTRY__TRY(check_pixels(call));
    gantry_shape_t *out = &call->out_shapes[0];
    *out = *images;
    out->dims[0] = grads->dims[0];
    out->dims[3] = grads->dims[3];
    return GANTRY_OK;
}

/* ---- ScaleAndTranslate ---- */

/* Whether a host input has two finite numbers, which must be positive if it is the scale. */
static gantry_status_t check_two(gantry__infer_t *call, uint32_t input, const char *name,
                                 bool is_scale) {
    const gantry_shape_t *shape = call->shapes[input];
    const void *data;
    float two[2];
    if (shape->rank != 1 || !gantry__sizes_fit(shape->dims[0], 2))
        return gantry__refuse("%s must be a vector of two elements, got shape %s", name,
                              gantry__shape_text(shape).text);
    if (gantry__infer_is_open(call, input)) return GANTRY_OK;
    GANTRY__TRY(gantry__infer_host_data(call, input, &data));
    memcpy(two, data, sizeof two);
    for (int i = 0; i < 2; ++i) {
        if (isfinite(two[i]) && (!is_scale || two[i] > 0)) continue;
        return gantry__refuse("%s is [%g, %g]; finite numbers%s are accepted", name, (double)two[0],
                              (double)two[1], is_scale ? " greater than zero" : "");
    }
    return GANTRY_OK;
}

static gantry_status_t check_spans(gantry__infer_t *call) {
    static const char *const types[] = {"lanczos1", "lanczos3", "lanczos5",  "gaussian",
                                        "box",      "triangle", "keyscubic", "mitchellcubic"};
    size_t type;
    GANTRY__TRY(gantry__infer_choice(call, "kernel_type", types, 8, &type));
    GANTRY__TRY(check_two(call, 2, "scale", true));
    return check_two(call, 3, "translation", false);
}

gantry_status_t gantry__infer_scale_and_translate(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_resize_images(call));
    return check_spans(call);
}

gantry_status_t gantry__infer_scale_and_translate_grad(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_resize_images_grad(call));
    return check_spans(call);
}

/* ---- CropAndResize ---- */

/* Checks method, images, and boxes and their images' numbers at two inputs; *count becomes the
 * number of boxes. */
static gantry_status_t check_crops(const gantry__infer_t *call, const gantry_shape_t *images,
                                   uint32_t input, int64_t *count) {
    static const char *const methods[] = {"bilinear", "nearest"};
    const gantry_shape_t *boxes = call->shapes[input], *which = call->shapes[input + 1];
    size_t method;
    GANTRY__TRY(gantry__infer_choice(call, "method", methods, 2, &method));
    GANTRY__TRY(check_image_shape(images, "image"));
    if (boxes->rank != 2 || !gantry__sizes_fit(boxes->dims[1], 4))
        return gantry__refuse("boxes must be [boxes, 4], got shape %s",
                              gantry__shape_text(boxes).text);
    if (which->rank != 1 || !gantry__merge_sizes(count, which->dims[0]) ||
        !gantry__merge_sizes(count, boxes->dims[0]))
        return gantry__refuse("boxes have shape %s, box_ind %s and crops %" PRId64
                              " in their first dimension; the same number is accepted",
                              gantry__shape_text(boxes).text, gantry__shape_text(which).text,
                              *count);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_crop_and_resize(gantry__infer_t *call) {
    gantry_shape_t *out = &call->out_shapes[0];
    int64_t count = -1;
    GANTRY__TRY(check_crops(call, call->shapes[0], 1, &count));
    *out = *call->shapes[0];
    out->dims[0] = count;
    return read_image_size(call, 3, "crop_size", out);
}

/* Whether gradients are of crops with as many channels as the images. */
static gantry_status_t check_crop_grads(const gantry_shape_t *grads, const gantry_shape_t *images) {
    GANTRY__TRY(check_image_shape(grads, "grads"));
    if (gantry__sizes_fit(grads->dims[3], images->dims[3])) return GANTRY_OK;
    return gantry__refuse("image of shape %s and grads of shape %s differ in their depth",
                          gantry__shape_text(images).text, gantry__shape_text(grads).text);
}

gantry_status_t gantry__infer_crop_and_resize_grad_image(gantry__infer_t *call) {
    gantry_shape_t *out = &call->out_shapes[0];
    GANTRY__TRY(gantry__infer_dims(call, 3, false, out));
    if (out->rank != 4)
        return gantry__refuse("image_size must have 4 elements, got %d", (int)out->rank);
    GANTRY__TRY(check_image_shape(call->shapes[0], "grads"));
    int64_t count = call->shapes[0]->dims[0];
    GANTRY__TRY(check_crops(call, out, 1, &count));
    GANTRY__TRY(check_crop_grads(call->shapes[0], out));
    (void)gantry__merge_sizes(&out->dims[3], call->shapes[0]->dims[3]);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_crop_and_resize_grad_boxes(gantry__infer_t *call) {
    const gantry_shape_t *grads = call->shapes[0];
    GANTRY__TRY(check_image_shape(grads, "grads"));
    int64_t count = grads->dims[0];
    GANTRY__TRY(check_crops(call, call->shapes[1], 2, &count));
    GANTRY__TRY(check_crop_grads(grads, call->shapes[1]));
    if (strcmp(gantry__infer_attr(call, "method")->s, "bilinear") != 0)
        return gantry__refuse("method must be 'bilinear': it is '%s'",
                              gantry__infer_attr(call, "method")->s);
    call->out_shapes[0] = GANTRY_SHAPE(count, 4);
    return GANTRY_OK;
}
