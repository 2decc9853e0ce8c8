/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of ops that resize, by the ops for them, which take the attributes of the op itself.
 * Each is linear, so that the gradient of a gradient is the op. */
#include <string.h>

#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

static tensor *resize_call(gantry__rule_call_t *c, const char *op, tensor *const *inputs,
                           size_t count) {
    return gantry__rule_op(c, op, inputs, count, c->record->attrs, c->record->attr_count);
}

/* Height and width of images, int32 [2] in host memory. */
static tensor *resize_size_of(gantry__rule_call_t *c, tensor *images) {
    if (gantry__rule_open_sizes(images) == 0)
        return gantry__rule_host_ints(c, gantry_tensor_shape(images)->dims + 1, 2);
    return gantry_slice(c->scope, gantry_shape(c->scope, images, GANTRY_INT32),
                        (const int64_t[]){1}, (const int64_t[]){2});
}

/* ---- Resize ---- */

static void rule_resize(gantry__rule_call_t *c) {
    tensor *inputs[5] = {c->dy[0], gantry_shape(c->scope, c->x[0], GANTRY_INT64)};
    const size_t count = c->record->input_count;
    for (size_t i = 1; i < count; ++i) inputs[i + 1] = c->x[i];
    c->dx[0] = resize_call(c, "ResizeGrad", inputs, count + 1);
}

static void rule_resize_grad(gantry__rule_call_t *c) {
    tensor *inputs[4] = {c->dy[0]};
    const size_t count = c->record->input_count;
    for (size_t i = 2; i < count; ++i) inputs[i - 1] = c->x[i];
    c->dx[0] = resize_call(c, "Resize", inputs, count - 1);
}

/* ---- TensorFlow's images ---- */

static void rule_resize_nearest(gantry__rule_call_t *c) {
    c->dx[0] = resize_call(c, "ResizeNearestNeighborGrad",
                           (tensor *[]){c->dy[0], resize_size_of(c, c->x[0])}, 2);
}

static void rule_resize_nearest_grad(gantry__rule_call_t *c) {
    c->dx[0] = resize_call(c, "ResizeNearestNeighbor",
                           (tensor *[]){c->dy[0], resize_size_of(c, c->x[0])}, 2);
}

static void rule_resize_bilinear(gantry__rule_call_t *c) {
    c->dx[0] = resize_call(c, "ResizeBilinearGrad", (tensor *[]){c->dy[0], c->x[0]}, 2);
}

/* Images as float32, unless they are float64: the types of the ops below. */
static tensor *resize_floats(gantry__rule_call_t *c) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(c->x[0]);
    return dtype == GANTRY_FLOAT64 ? c->x[0] : gantry_cast(c->scope, c->x[0], GANTRY_FLOAT32);
}

static void rule_resize_bicubic(gantry__rule_call_t *c) {
    tensor *dx = resize_call(c, "ResizeBicubicGrad", (tensor *[]){c->dy[0], resize_floats(c)}, 2);
    c->dx[0] = gantry_cast(c->scope, dx, gantry_tensor_dtype(c->x[0]));
}

/* The gradient of grads is the op itself. original_image only gives a size and a type. */
static void resize_forward_again(gantry__rule_call_t *c, const char *op) {
    if (c->wants[0])
        c->dx[0] = resize_call(c, op, (tensor *[]){c->dy[0], resize_size_of(c, c->x[0])}, 2);
}

static void rule_resize_bilinear_grad(gantry__rule_call_t *c) {
    resize_forward_again(c, "ResizeBilinear");
}

static void rule_resize_bicubic_grad(gantry__rule_call_t *c) {
    resize_forward_again(c, "ResizeBicubic");
}

static void rule_scale_and_translate(gantry__rule_call_t *c) {
    tensor *images = resize_floats(c);
    tensor *dy = images ? gantry_cast(c->scope, c->dy[0], gantry_tensor_dtype(images)) : NULL;
    tensor *dx =
        resize_call(c, "ScaleAndTranslateGrad", (tensor *[]){dy, images, c->x[2], c->x[3]}, 4);
    c->dx[0] = gantry_cast(c->scope, dx, gantry_tensor_dtype(c->x[0]));
}

static void rule_scale_and_translate_grad(gantry__rule_call_t *c) {
    if (!c->wants[0]) return;
    tensor *dx =
        resize_call(c, "ScaleAndTranslate",
                    (tensor *[]){c->dy[0], resize_size_of(c, c->x[0]), c->x[2], c->x[3]}, 4);
    c->dx[0] = gantry_cast(c->scope, dx, gantry_tensor_dtype(c->x[0]));
}

/* ---- CropAndResize ---- */

/* Linear in grads: the crops of the gradient, with 0 outside. */
static void rule_crop_grad_image(gantry__rule_call_t *c) {
    tensor *inputs[] = {c->dy[0], c->x[1], c->x[2], resize_size_of(c, c->x[0])};
    if (c->wants[0])
        c->dx[0] =
            gantry__rule_op(c, "CropAndResize", inputs, 4, gantry__rule_attr(c, "method"), 1);
    /* the product with dy is that of grads with the crops of dy */
    tensor *of_boxes[] = {c->x[0], c->dy[0], c->x[1], c->x[2]};
    if (c->wants[1] && strcmp(gantry__rule_attr(c, "method")->s, "bilinear") == 0)
        c->dx[1] = gantry__rule_op(c, "CropAndResizeGradBoxes", of_boxes, 4,
                                   gantry__rule_attr(c, "method"), 1);
}

/* Of the nearest pixel the boxes get no gradient. */
static void rule_crop_and_resize(gantry__rule_call_t *c) {
    const gantry_attr_value_t *method = gantry__rule_attr(c, "method");
    const gantry_attr_value_t attrs[] = {
        {.name = "T", .kind = GANTRY_ATTR_TYPE, .i = (int64_t)gantry_tensor_dtype(c->x[0])},
        *method};
    tensor *size = gantry_shape(c->scope, c->x[0], GANTRY_INT32);
    if (c->wants[0])
        c->dx[0] = gantry__rule_op(c, "CropAndResizeGradImage",
                                   (tensor *[]){c->dy[0], c->x[1], c->x[2], size}, 4, attrs, 2);
    if (c->wants[1] && strcmp(method->s, "bilinear") == 0)
        c->dx[1] = gantry__rule_op(c, "CropAndResizeGradBoxes",
                                   (tensor *[]){c->dy[0], c->x[0], c->x[1], c->x[2]}, 4, method, 1);
}

const gantry__rule_t gantry__rules_resize[] = {
    {"CropAndResize", rule_crop_and_resize},
    {"CropAndResizeGradImage", rule_crop_grad_image},
    {"Resize", rule_resize},
    {"ResizeBicubic", rule_resize_bicubic},
    {"ResizeBicubicGrad", rule_resize_bicubic_grad},
    {"ResizeBilinear", rule_resize_bilinear},
    {"ResizeBilinearGrad", rule_resize_bilinear_grad},
    {"ResizeGrad", rule_resize_grad},
    {"ResizeNearestNeighbor", rule_resize_nearest},
    {"ResizeNearestNeighborGrad", rule_resize_nearest_grad},
    {"ScaleAndTranslate", rule_scale_and_translate},
    {"ScaleAndTranslateGrad", rule_scale_and_translate_grad},
    {NULL, NULL}};
