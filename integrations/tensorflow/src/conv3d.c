/* SPDX-License-Identifier: Apache-2.0 */
/* Conv3D and its gradients, made of Gantry's convolutions of images. The depths that a window
 * covers become channels of one image:
 *
 *     x [batch, depth, rows, columns, channels]
 *       depth k * dilation + i * stride, for each k of the filter's depths
 *     images [batch * windows, rows, columns, groups * depths * channels of a group]
 *     filter [rows, columns, depths * channels of a group, outputs]
 *
 * Thus each sum is one sum of Conv2D, in the precision of Conv2D. The gradients take the same way
 * back: a depth that several windows cover gets the sum of its images' gradients. Channels that
 * come first are moved last before, and back after. Images of all windows exist at once: memory of
 * depths times the input. */
#include <stdlib.h>
#include <string.h>

#include "bridge.h"

typedef const gantry_tensor_t tensor;

typedef struct conv3d_t {
    int64_t strides[3], dilations[3]; /* depth, rows, columns */
    bool is_same, channels_first;
} conv3d_t;

/* ---- making kernels ---- */

/* Reads the numbers of depth, rows and columns; those of batch and channels must be 1, or the
 * kernel is refused. */
static void conv3d_read_numbers(TF_OpKernelConstruction *construction, const char *name,
                                const conv3d_t *k, int64_t *out, TF_Status *status) {
    int64_t list[5] = {1, 1, 1, 1, 1};
    if (TF_GetCode(status) != TF_OK) return;
    TF_OpKernelConstruction_GetAttrInt64List(construction, name, list, 5, status);
    memcpy(out, list + (k->channels_first ? 2 : 1), 3 * sizeof *out);
    bool is_good = list[0] == 1 && list[k->channels_first ? 1 : 4] == 1;
    for (int i = 0; i < 3; ++i) is_good = is_good && out[i] > 0 && out[i] <= INT32_MAX;
    if (TF_GetCode(status) == TF_OK && !is_good)
        TF_SetStatus(status, TF_INVALID_ARGUMENT,
                     "Conv3D: strides and dilations are 1 for batch and channels, and 1 to "
                     "2147483647 for depth, rows and columns");
}

static void *conv3d_create_kernel(TF_OpKernelConstruction *construction) {
    conv3d_t *kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        bridge_refuse_memory(construction);
        return NULL;
    }
    char padding[16] = "", format[16] = "";
    TF_Status *status = TF_NewStatus();
    TF_OpKernelConstruction_GetAttrString(construction, "padding", padding, sizeof padding - 1,
                                          status);
    if (TF_GetCode(status) == TF_OK)
        TF_OpKernelConstruction_GetAttrString(construction, "data_format", format,
                                              sizeof format - 1, status);
    kernel->is_same = strcmp(padding, "SAME") == 0;
    kernel->channels_first = strcmp(format, "NCDHW") == 0;
    conv3d_read_numbers(construction, "strides", kernel, kernel->strides, status);
    conv3d_read_numbers(construction, "dilations", kernel, kernel->dilations, status);
    if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(construction, status);
    TF_DeleteStatus(status);
    return kernel;
}

static void conv3d_destroy_kernel(void *kernel) { free(kernel); }

/* ---- the plan of a call ---- */

typedef struct conv3d_call_t {
    bridge_call_t bridge;
    const conv3d_t *kernel;
    int64_t batch, size[3], channels; /* the input's */
    int64_t depths;                   /* the filter's */
    int64_t group_channels, groups, outputs;
    int64_t windows[3];            /* the output's */
    int64_t before, padded;        /* zeros before the first depth; depths with all zeros */
    gantry_shape_t filter, output; /* the output has its channels last */
} conv3d_call_t;

static int64_t floor_zero(int64_t number) { return number > 0 ? number : 0; }

/* The number of windows along one axis, and the zeros before it. */
static int64_t count_windows(const conv3d_t *k, int axis, int64_t size, int64_t filter,
                             int64_t *out_before) {
    const int64_t stride = k->strides[axis], reach = (filter - 1) * k->dilations[axis] + 1;
    *out_before = 0;
    if (!k->is_same) return size < reach ? 0 : (size - reach) / stride + 1;
    const int64_t windows = (size + stride - 1) / stride;
    *out_before = floor_zero((windows - 1) * stride + reach - size) / 2;
    return windows;
}

/* So that no product of two of them overflows, and Gantry's ops take them. */
static bool conv3d_check_sizes(conv3d_call_t *c, const gantry_shape_t *shape, const char *text) {
    bool fits = gantry_shape_elements(shape) >= 0;
    for (int32_t d = 0; d < shape->rank; ++d) fits = fits && shape->dims[d] <= INT32_MAX;
    if (!fits)
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "Conv3D: a shape is %s; sizes of at most 2147483647 are accepted, and a number "
                    "of elements of 64 bits",
                    text);
    return fits;
}

static bool check_shapes(conv3d_call_t *c, const gantry_shape_t *input,
                         const gantry_shape_t *filter) {
    char in[256], by[256];
    (void)gantry_shape_format(input, in, sizeof in);
    (void)gantry_shape_format(filter, by, sizeof by);
    const bool has_ranks = input->rank == 5 && filter->rank == 5;
    const int64_t channels = has_ranks ? input->dims[c->kernel->channels_first ? 1 : 4] : 0;
    const int64_t group = has_ranks ? filter->dims[3] : 0;
    if (!conv3d_check_sizes(c, input, in) || !conv3d_check_sizes(c, filter, by)) return false;
    bool is_good = has_ranks && group > 0 && filter->dims[0] > 0 && channels % group == 0 &&
                   channels > 0 && filter->dims[4] % (channels / group) == 0;
    if (!is_good)
        bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                    "Conv3D: the input is %s, and the filter %s; accepted are 5 dimensions each, "
                    "channels that are a multiple of the filter's, and as many groups of outputs",
                    in, by);
    if (is_good && filter->dims[0] > GANTRY_MAX_OP_INPUTS) {
        is_good = false;
        bridge_fail(&c->bridge, GANTRY_UNIMPLEMENTED,
                    "Conv3D: the filter is %s; a depth of at most %d is accepted", by,
                    GANTRY_MAX_OP_INPUTS);
    }
    return is_good;
}

static gantry_shape_t images_shape(const conv3d_call_t *c) {
    return GANTRY_SHAPE(c->batch * c->windows[0], c->size[1], c->size[2], c->depths * c->channels);
}

/* The images of all windows have a number of elements. */
static bool check_images(conv3d_call_t *c) {
    const gantry_shape_t images = images_shape(c);
    if (gantry_shape_elements(&images) >= 0 && gantry_shape_elements(&c->output) >= 0) return true;
    char text[256];
    (void)gantry_shape_format(&images, text, sizeof text);
    bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                "Conv3D: the images of all windows are %s; a number of elements of 64 bits is "
                "accepted",
                text);
    return false;
}

/* Plans a call from shapes as TensorFlow has them. Returns false if the call has failed. */
static bool conv3d_make_plan(conv3d_call_t *c, const gantry_shape_t *input,
                             const gantry_shape_t *filter) {
    const conv3d_t *k = c->kernel;
    int64_t before[3];
    if (bridge_has_failed(&c->bridge) || !check_shapes(c, input, filter)) return false;
    c->filter = *filter;
    c->batch = input->dims[0];
    memcpy(c->size, input->dims + (k->channels_first ? 2 : 1), sizeof c->size);
    c->channels = input->dims[k->channels_first ? 1 : 4];
    c->depths = filter->dims[0];
    c->group_channels = filter->dims[3];
    c->groups = c->channels / c->group_channels;
    c->outputs = filter->dims[4];
    for (int axis = 0; axis < 3; ++axis)
        c->windows[axis] = count_windows(k, axis, c->size[axis], filter->dims[axis], &before[axis]);
    c->before = before[0];
    c->padded = (c->depths - 1) * k->dilations[0] + c->windows[0] * k->strides[0];
    if (c->padded < c->before + c->size[0]) c->padded = c->before + c->size[0];
    c->output = GANTRY_SHAPE(c->batch, c->windows[0], c->windows[1], c->windows[2], c->outputs);
    return check_images(c);
}

static gantry_shape_t input_shape(const conv3d_call_t *c) {
    return GANTRY_SHAPE(c->batch, c->size[0], c->size[1], c->size[2], c->channels);
}

/* Whether no sum of the call has a term. */
static bool conv3d_is_empty(const conv3d_call_t *c) {
    const gantry_shape_t input = input_shape(c);
    return gantry_shape_elements(&input) == 0 || gantry_shape_elements(&c->filter) == 0 ||
           gantry_shape_elements(&c->output) == 0;
}

/* ---- layouts ---- */

static tensor *channels_last(conv3d_call_t *c, tensor *x) {
    static const int32_t order[] = {0, 2, 3, 4, 1};
    return c->kernel->channels_first ? gantry_transpose(c->bridge.scope, x, order) : x;
}

static tensor *channels_back(conv3d_call_t *c, tensor *x) {
    static const int32_t order[] = {0, 4, 1, 2, 3};
    return c->kernel->channels_first ? gantry_transpose(c->bridge.scope, x, order) : x;
}

/* The number of elements of one depth. */
static int64_t plane(const conv3d_call_t *c) { return c->size[1] * c->size[2] * c->channels; }

/* The shape of the pixels of all images: pixels, groups, channels of a group. */
static gantry_shape_t pixels_shape(const conv3d_call_t *c) {
    return GANTRY_SHAPE(c->batch * c->windows[0] * c->size[1] * c->size[2], c->groups,
                        c->group_channels);
}

/* Makes images of the input, whose channels become last. */
static tensor *make_images(conv3d_call_t *c, tensor *x) {
    gantry_scope_t *s = c->bridge.scope;
    tensor *parts[GANTRY_MAX_OP_INPUTS];
    const int64_t stride = c->kernel->strides[0], windows = c->windows[0];
    const int64_t zeros[] = {0, 0, c->before, c->padded - c->before - c->size[0], 0, 0};
    tensor *depths = gantry_pad(
        s, gantry_reshape(s, x, GANTRY_SHAPE(c->batch, c->size[0], plane(c))), zeros, NULL);
    for (int64_t k = 0; k < c->depths; ++k) {
        const int64_t begin[] = {0, k * c->kernel->dilations[0], 0};
        const int64_t size[] = {c->batch, windows * stride, plane(c)};
        const int64_t first[] = {0, 0, 0, 0}, one[] = {c->batch, windows, 1, plane(c)};
        tensor *part = gantry_slice(s, depths, begin, size);
        if (stride > 1) {
            part = gantry_reshape(s, part, GANTRY_SHAPE(c->batch, windows, stride, plane(c)));
            part = gantry_slice(s, part, first, one);
        }
        parts[k] = gantry_reshape(s, part, pixels_shape(c));
    }
    return gantry_reshape(s, gantry_pack(s, parts, (size_t)c->depths, 2), images_shape(c));
}

/* The way back: adds up all images' elements that came from one element of the input. */
static tensor *sum_images(conv3d_call_t *c, tensor *images) {
    gantry_scope_t *s = c->bridge.scope;
    tensor *parts[GANTRY_MAX_OP_INPUTS];
    const gantry_shape_t pixels = pixels_shape(c);
    const int64_t stride = c->kernel->strides[0], windows = c->windows[0];
    const int64_t begin[] = {0, c->before, 0}, size[] = {c->batch, c->size[0], plane(c)};
    tensor *flat = gantry_reshape(
        s, images, GANTRY_SHAPE(pixels.dims[0], c->groups, c->depths, c->group_channels));
    if (gantry_unpack(s, flat, 2, parts, (size_t)c->depths)) return NULL;
    for (int64_t k = 0; k < c->depths; ++k) {
        const int64_t before = k * c->kernel->dilations[0];
        const int64_t between[] = {0, 0, 0, 0, 0, stride - 1, 0, 0};
        const int64_t around[] = {0, 0, before, c->padded - before - windows * stride, 0, 0};
        tensor *part = gantry_reshape(s, parts[k], GANTRY_SHAPE(c->batch, windows, 1, plane(c)));
        if (stride > 1) part = gantry_pad(s, part, between, NULL);
        part = gantry_reshape(s, part, GANTRY_SHAPE(c->batch, windows * stride, plane(c)));
        parts[k] = gantry_pad(s, part, around, NULL);
    }
    tensor *sum = gantry_add_n(s, parts, (size_t)c->depths);
    return gantry_reshape(s, gantry_slice(s, sum, begin, size), input_shape(c));
}

static gantry_shape_t flat_filter_shape(const conv3d_call_t *c) {
    return GANTRY_SHAPE(c->filter.dims[1], c->filter.dims[2], c->depths * c->group_channels,
                        c->outputs);
}

static tensor *flat_filter(conv3d_call_t *c, tensor *filter) {
    static const int32_t order[] = {1, 2, 0, 3, 4};
    gantry_scope_t *s = c->bridge.scope;
    return gantry_reshape(s, gantry_transpose(s, filter, order), flat_filter_shape(c));
}

static tensor *deep_filter(conv3d_call_t *c, tensor *flat) {
    static const int32_t order[] = {2, 0, 1, 3, 4};
    gantry_scope_t *s = c->bridge.scope;
    return gantry_transpose(s,
                            gantry_reshape(s, flat,
                                           GANTRY_SHAPE(c->filter.dims[1], c->filter.dims[2],
                                                        c->depths, c->group_channels, c->outputs)),
                            order);
}

/* ---- the three ops ---- */

static tensor *call_images(conv3d_call_t *c, const char *op, tensor *const *inputs, size_t count) {
    const conv3d_t *k = c->kernel;
    const int64_t strides[] = {1, k->strides[1], k->strides[2], 1};
    const int64_t dilations[] = {1, k->dilations[1], k->dilations[2], 1};
    const gantry_attr_value_t attrs[] = {
        {.name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = strides},
        {.name = "dilations", .kind = GANTRY_ATTR_INTS, .i = 4, .list = dilations},
        {.name = "padding", .kind = GANTRY_ATTR_STRING, .s = k->is_same ? "SAME" : "VALID"}};
    tensor *result = NULL;
    size_t results = 1;
    (void)gantry_op_call(c->bridge.scope, op, inputs, count, attrs, 3, &result, &results);
    return result;
}

/* NULL: the call has failed. */
static tensor *sizes_of(conv3d_call_t *c, const gantry_shape_t *shape) {
    int32_t sizes[4];
    char text[256];
    (void)gantry_shape_format(shape, text, sizeof text);
    if (!conv3d_check_sizes(c, shape, text)) return NULL;
    for (int i = 0; i < 4; ++i) sizes[i] = (int32_t)shape->dims[i];
    return gantry_constant(c->bridge.scope, GANTRY_INT32, GANTRY_SHAPE(4), sizes, sizeof sizes);
}

/* Makes images of the output's gradient. Returns NULL if the call has failed. */
static tensor *take_gradient(conv3d_call_t *c, tensor *gradient) {
    gradient = channels_last(c, gradient);
    if (!gradient) return NULL;
    char given[256], wanted[256];
    if (gantry_shape_equal(gantry_tensor_shape(gradient), &c->output))
        return gantry_reshape(
            c->bridge.scope, gradient,
            GANTRY_SHAPE(c->batch * c->windows[0], c->windows[1], c->windows[2], c->outputs));
    (void)gantry_shape_format(gantry_tensor_shape(gradient), given, sizeof given);
    (void)gantry_shape_format(&c->output, wanted, sizeof wanted);
    bridge_fail(&c->bridge, GANTRY_INVALID_ARGUMENT,
                "Conv3D: out_backprop is %s, with its channels last; accepted is %s", given,
                wanted);
    return NULL;
}

static tensor *convolve(conv3d_call_t *c, tensor *x, tensor *filter) {
    gantry_scope_t *s = c->bridge.scope;
    if (conv3d_is_empty(c)) return gantry_zeros(s, gantry_tensor_dtype(x), c->output);
    tensor *const inputs[] = {make_images(c, channels_last(c, x)), flat_filter(c, filter)};
    return gantry_reshape(s, call_images(c, "Conv2D", inputs, 2), c->output);
}

static tensor *input_gradient(conv3d_call_t *c, tensor *filter, tensor *gradient) {
    const gantry_shape_t images = images_shape(c);
    gradient = take_gradient(c, gradient);
    if (!gradient) return NULL;
    if (conv3d_is_empty(c))
        return gantry_zeros(c->bridge.scope, gantry_tensor_dtype(filter), input_shape(c));
    tensor *const inputs[] = {sizes_of(c, &images), flat_filter(c, filter), gradient};
    if (!inputs[0]) return NULL;
    return sum_images(c, call_images(c, "Conv2DBackpropInput", inputs, 3));
}

static tensor *filter_gradient(conv3d_call_t *c, tensor *x, tensor *gradient) {
    const gantry_shape_t flat = flat_filter_shape(c);
    gradient = take_gradient(c, gradient);
    if (!gradient) return NULL;
    if (conv3d_is_empty(c)) return gantry_zeros(c->bridge.scope, gantry_tensor_dtype(x), c->filter);
    tensor *const inputs[] = {make_images(c, channels_last(c, x)), sizes_of(c, &flat), gradient};
    if (!inputs[1]) return NULL;
    return deep_filter(c, call_images(c, "Conv2DBackpropFilter", inputs, 3));
}

/* ---- kernels ---- */

/* The shape that input i gives as numbers on the host; its rank is 0 if the call has failed. */
static gantry_shape_t host_shape(conv3d_call_t *c, int i) {
    gantry_shape_t shape = {.rank = 0};
    TF_Tensor *sizes = NULL;
    if (!bridge_host_input(&c->bridge, i, &sizes) || TF_TensorElementCount(sizes) != 5)
        return shape;
    shape.rank = 5;
    for (int64_t k = 0; k < 5; ++k) shape.dims[k] = floor_zero(bridge_host_int(sizes, k));
    return shape;
}

static void convolve_compute(void *kernel, TF_OpKernelContext *context) {
    conv3d_call_t c = {.kernel = kernel};
    if (!bridge_begin(&c.bridge, context)) return;
    tensor *x = bridge_input(&c.bridge, 0), *filter = bridge_input(&c.bridge, 1);
    if (x && filter && conv3d_make_plan(&c, gantry_tensor_shape(x), gantry_tensor_shape(filter)))
        bridge_output(&c.bridge, 0, channels_back(&c, convolve(&c, x, filter)));
    bridge_end(&c.bridge);
}

static void input_compute(void *kernel, TF_OpKernelContext *context) {
    conv3d_call_t c = {.kernel = kernel};
    if (!bridge_begin(&c.bridge, context)) return;
    const gantry_shape_t shape = host_shape(&c, 0);
    tensor *filter = bridge_input(&c.bridge, 1), *gradient = bridge_input(&c.bridge, 2);
    if (filter && gradient && conv3d_make_plan(&c, &shape, gantry_tensor_shape(filter)))
        bridge_output(&c.bridge, 0, channels_back(&c, input_gradient(&c, filter, gradient)));
    bridge_end(&c.bridge);
}

static void filter_compute(void *kernel, TF_OpKernelContext *context) {
    conv3d_call_t c = {.kernel = kernel};
    if (!bridge_begin(&c.bridge, context)) return;
    const gantry_shape_t shape = host_shape(&c, 1);
    tensor *x = bridge_input(&c.bridge, 0), *gradient = bridge_input(&c.bridge, 2);
    if (x && gradient && conv3d_make_plan(&c, gantry_tensor_shape(x), &shape))
        bridge_output(&c.bridge, 0, filter_gradient(&c, x, gradient));
    bridge_end(&c.bridge);
}

void conv3d_register(void) {
    const register_kernel_t kernels[] = {
        {.op = "Conv3D", .compute = convolve_compute},
        {.op = "Conv3DBackpropInputV2", .host_args = {"input_sizes"}, .compute = input_compute},
        {.op = "Conv3DBackpropFilterV2", .host_args = {"filter_sizes"}, .compute = filter_compute}};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; ++i) {
        register_kernel_t kernel = kernels[i];
        kernel.types[0] = (register_types_t){"T", GANTRY_DTYPES_FLOATING};
        kernel.create = conv3d_create_kernel;
        kernel.destroy = conv3d_destroy_kernel;
        register_kernel(&kernel);
    }
}
