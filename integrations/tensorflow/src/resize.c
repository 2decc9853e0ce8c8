/* SPDX-License-Identifier: Apache-2.0 */
/* ResizeBilinear, ResizeNearestNeighbor and their gradients. Rows and columns are independent, so
 * each axis has a table, made on the host as TensorFlow makes it:
 *
 *     place     0    1    2    3      of the result
 *     low       0    0    1    1      the source's elements on both sides
 *     high      0    1    1    1
 *     part      0    .5   0    .5     how far the place is from low to high
 *
 * Forward, Gather takes the elements, and the bilinear result is (low + (high - low) * part) along
 * columns, then along rows. A gradient goes back by a product with the axis's matrix, which has
 * 1 - part at low and part at high. */
#include <math.h>
#include <stdlib.h>

#include "bridge.h"

/* The attributes of a node. */
typedef struct resize_kernel_t {
    bool aligns_corners;
    bool has_half_pixel_centers;
} resize_kernel_t;

/* An axis. high and part are NULL for the nearest neighbour. */
typedef struct resize_axis_t {
    int64_t source, result; /* sizes */
    int32_t *low, *high;
    float *part;
} resize_axis_t;

/* ---- axes ---- */

static float axis_scale(const resize_kernel_t *kernel, int64_t source, int64_t result) {
    return kernel->aligns_corners && result > 1 ? (float)(source - 1) / (float)(result - 1)
                                                : (float)source / (float)result;
}

static int32_t clamp_place(float place, int64_t size) {
    return place < 0 ? 0 : place > (float)(size - 1) ? (int32_t)(size - 1) : (int32_t)place;
}

static void fill_nearest(const resize_kernel_t *kernel, resize_axis_t *axis) {
    const float scale = axis_scale(kernel, axis->source, axis->result);
    for (int64_t i = 0; i < axis->result; ++i) {
        const float at = ((float)i + (kernel->has_half_pixel_centers ? 0.5f : 0.0f)) * scale;
        axis->low[i] = clamp_place(kernel->aligns_corners ? roundf(at) : floorf(at), axis->source);
    }
}

static void fill_bilinear(const resize_kernel_t *kernel, resize_axis_t *axis) {
    const float scale = axis_scale(kernel, axis->source, axis->result);
    for (int64_t i = 0; i < axis->result; ++i) {
        const float at =
            kernel->has_half_pixel_centers ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
        axis->low[i] = clamp_place(floorf(at), axis->source);
        axis->high[i] = clamp_place(ceilf(at), axis->source);
        axis->part[i] = at - floorf(at);
    }
}

static void close_axis(resize_axis_t *axis) {
    free(axis->low);
    free(axis->high);
    free(axis->part);
}

static bool open_axis(bridge_call_t *call, const resize_kernel_t *kernel, bool is_bilinear,
                      int64_t source, int64_t result, resize_axis_t *out) {
    const size_t count = (size_t)result + 1;
    *out = (resize_axis_t){.source = source, .result = result};
    out->low = calloc(count, sizeof *out->low);
    out->high = is_bilinear ? calloc(count, sizeof *out->high) : NULL;
    out->part = is_bilinear ? calloc(count, sizeof *out->part) : NULL;
    if (!out->low || (is_bilinear && (!out->high || !out->part))) {
        bridge_fail_memory(call);
        return false;
    }
    (is_bilinear ? fill_bilinear : fill_nearest)(kernel, out);
    return true;
}

/* ---- forward ---- */

static const gantry_tensor_t *resize_take(bridge_call_t *call, const gantry_tensor_t *x,
                                          const resize_axis_t *axis, const int32_t *places,
                                          int number) {
    const gantry_tensor_t *indices =
        gantry_constant(call->scope, GANTRY_INT32, GANTRY_SHAPE(axis->result), places,
                        (size_t)axis->result * sizeof *places);
    return gantry_gather(call->scope, x, indices, number);
}

static const gantry_tensor_t *resize_axis(bridge_call_t *call, const gantry_tensor_t *x,
                                          const resize_axis_t *axis, int number) {
    const gantry_tensor_t *low = resize_take(call, x, axis, axis->low, number);
    if (!axis->high) return low;
    const gantry_tensor_t *high = resize_take(call, x, axis, axis->high, number);
    const gantry_shape_t shape =
        number == 1 ? GANTRY_SHAPE(axis->result, 1, 1) : GANTRY_SHAPE(axis->result, 1);
    const gantry_tensor_t *part = gantry_constant(call->scope, GANTRY_FLOAT32, shape, axis->part,
                                                  (size_t)axis->result * sizeof *axis->part);
    const gantry_tensor_t *step = gantry_sub(call->scope, high, low);
    return gantry_add(call->scope, low, gantry_mul(call->scope, step, part));
}

/* Opens both axes of images [batch, rows, columns, channels]. */
static bool open_axes(bridge_call_t *call, const resize_kernel_t *kernel, bool is_bilinear,
                      const gantry_shape_t *source, int64_t rows, int64_t columns,
                      resize_axis_t axes[2]) {
    if (source->rank != 4 || rows < 1 || columns < 1 || source->dims[1] < 1 ||
        source->dims[2] < 1) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "input must be 4-dimensional, with rows and columns, and output dimensions "
                    "must be positive; got rank %d and size [%lld,%lld]",
                    (int)source->rank, (long long)rows, (long long)columns);
        return false;
    }
    return open_axis(call, kernel, is_bilinear, source->dims[1], rows, &axes[0]) &&
           open_axis(call, kernel, is_bilinear, source->dims[2], columns, &axes[1]);
}

static void resize_forward(const resize_kernel_t *kernel, TF_OpKernelContext *context,
                           bool is_bilinear) {
    bridge_call_t call;
    resize_axis_t axes[2] = {{.low = NULL}};
    TF_Tensor *tensor = NULL;
    if (!bridge_begin(&call, context)) return;
    const gantry_tensor_t *images = bridge_input(&call, 0);
    const int32_t *size = bridge_host_input(&call, 1, &tensor);
    if (images && tensor && TF_TensorElementCount(tensor) != 2)
        bridge_fail(&call, GANTRY_INVALID_ARGUMENT, "shape_t must have two elements");
    if (!bridge_has_failed(&call) &&
        open_axes(&call, kernel, is_bilinear, gantry_tensor_shape(images), size[0], size[1],
                  axes)) {
        if (is_bilinear && gantry_tensor_dtype(images) != GANTRY_FLOAT32)
            images = gantry_cast(call.scope, images, GANTRY_FLOAT32);
        const gantry_tensor_t *wide = resize_axis(&call, images, &axes[1], 2);
        bridge_output(&call, 0, resize_axis(&call, wide, &axes[0], 1));
    }
    for (int i = 0; i < 2; ++i) close_axis(&axes[i]);
    bridge_end(&call);
}

static void bilinear_compute(void *kernel, TF_OpKernelContext *context) {
    resize_forward(kernel, context, true);
}

static void nearest_compute(void *kernel, TF_OpKernelContext *context) {
    resize_forward(kernel, context, false);
}

/* ---- gradients ---- */

/* Makes the matrix [result, source] of an axis. */
static const gantry_tensor_t *axis_matrix(bridge_call_t *call, const resize_axis_t *axis) {
    const size_t count = (size_t)(axis->result * axis->source);
    float *matrix = calloc(count, sizeof *matrix);
    if (!matrix) {
        bridge_fail_memory(call);
        return NULL;
    }
    for (int64_t i = 0; i < axis->result; ++i) {
        float *row = matrix + i * axis->source;
        row[axis->low[i]] += axis->part ? 1.0f - axis->part[i] : 1.0f;
        if (axis->part) row[axis->high[i]] += axis->part[i];
    }
    const gantry_tensor_t *result =
        gantry_constant(call->scope, GANTRY_FLOAT32, GANTRY_SHAPE(axis->result, axis->source),
                        matrix, count * sizeof *matrix);
    free(matrix);
    return result;
}

/* Computes the gradient of images of this size, in float32. */
static const gantry_tensor_t *resize_back(bridge_call_t *call, const resize_kernel_t *kernel,
                                          bool is_bilinear, const gantry_tensor_t *gradient,
                                          int64_t rows, int64_t columns) {
    resize_axis_t axes[2] = {{.low = NULL}};
    const gantry_tensor_t *result = NULL;
    gantry_shape_t source = *gantry_tensor_shape(gradient);
    const int64_t result_rows = source.dims[1], result_columns = source.dims[2];
    source.dims[1] = rows;
    source.dims[2] = columns;
    if (open_axes(call, kernel, is_bilinear, &source, result_rows, result_columns, axes)) {
        const gantry_tensor_t *tall[] = {gradient, axis_matrix(call, &axes[0])};
        const gantry_tensor_t *wide[] = {gantry_einsum(call->scope, "brqc,rs->bsqc", tall, 2),
                                         axis_matrix(call, &axes[1])};
        result = gantry_einsum(call->scope, "bsqc,qt->bstc", wide, 2);
    }
    for (int i = 0; i < 2; ++i) close_axis(&axes[i]);
    return result;
}

static void resize_gradient(const resize_kernel_t *kernel, bridge_call_t *call, bool is_bilinear,
                            int64_t rows, int64_t columns) {
    const gantry_tensor_t *gradient = bridge_input(call, 0);
    const gantry_dtype_t dtype = (gantry_dtype_t)TF_ExpectedOutputDataType(call->context, 0);
    if (!gradient) return;
    if (gantry_tensor_shape(gradient)->rank != 4) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT, "input_grad must be 4-dimensional");
        return;
    }
    if (gantry_tensor_dtype(gradient) != GANTRY_FLOAT32)
        gradient = gantry_cast(call->scope, gradient, GANTRY_FLOAT32);
    const gantry_tensor_t *result = resize_back(call, kernel, is_bilinear, gradient, rows, columns);
    if (result && dtype != GANTRY_FLOAT32) result = gantry_cast(call->scope, result, dtype);
    bridge_output(call, 0, result);
}

static void bilinear_gradient_compute(void *kernel, TF_OpKernelContext *context) {
    bridge_call_t call;
    if (!bridge_begin(&call, context)) return;
    const gantry_tensor_t *images = bridge_input(&call, 1);
    const gantry_shape_t *shape = images ? gantry_tensor_shape(images) : NULL;
    if (shape && shape->rank == 4) {
        resize_gradient(kernel, &call, true, shape->dims[1], shape->dims[2]);
    } else if (shape) {
        bridge_fail(&call, GANTRY_INVALID_ARGUMENT, "original_image must be 4-dimensional");
    }
    bridge_end(&call);
}

static void nearest_gradient_compute(void *kernel, TF_OpKernelContext *context) {
    bridge_call_t call;
    TF_Tensor *tensor = NULL;
    if (!bridge_begin(&call, context)) return;
    const int32_t *size = bridge_host_input(&call, 1, &tensor);
    if (tensor && TF_TensorElementCount(tensor) != 2) {
        bridge_fail(&call, GANTRY_INVALID_ARGUMENT, "shape_t must have two elements");
    } else if (size) {
        resize_gradient(kernel, &call, false, size[0], size[1]);
    }
    bridge_end(&call);
}

/* ---- making kernels ---- */

static void *resize_create(TF_OpKernelConstruction *construction) {
    resize_kernel_t *kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        bridge_refuse_memory(construction);
        return NULL;
    }
    TF_Bool aligns = 0, has_centers = 0;
    TF_Status *status = TF_NewStatus();
    TF_OpKernelConstruction_GetAttrBool(construction, "align_corners", &aligns, status);
    TF_OpKernelConstruction_GetAttrBool(construction, "half_pixel_centers", &has_centers, status);
    if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(construction, status);
    TF_DeleteStatus(status);
    kernel->aligns_corners = aligns;
    kernel->has_half_pixel_centers = has_centers;
    return kernel;
}

static void resize_destroy(void *kernel) { free(kernel); }

static void register_resize(const char *op, uint64_t types, const char *host_arg,
                            void (*compute)(void *kernel, TF_OpKernelContext *context)) {
    register_kernel(&(register_kernel_t){.op = op,
                                         .types = {{"T", types}},
                                         .host_args = {host_arg},
                                         .create = resize_create,
                                         .compute = compute,
                                         .destroy = resize_destroy});
}

/* Registers the kernels. Gradients of float64 would lose precision in float32, so TensorFlow's CPU
 * computes them. */
void resize_register(void) {
    const uint64_t all = GANTRY_DTYPES_SIGNED_NUMERIC | GANTRY_DTYPE_BIT(GANTRY_UINT8) |
                         GANTRY_DTYPE_BIT(GANTRY_UINT16);
    const uint64_t floats = GANTRY_DTYPES_HALVES | GANTRY_DTYPE_BIT(GANTRY_FLOAT32);
    register_resize("ResizeBilinear", all, "size", bilinear_compute);
    register_resize("ResizeNearestNeighbor", all, "size", nearest_compute);
    register_resize("ResizeBilinearGrad", floats, NULL, bilinear_gradient_compute);
    register_resize("ResizeNearestNeighborGrad", floats, "size", nearest_gradient_compute);
}
