/* SPDX-License-Identifier: Apache-2.0 */
/* Describes convolutions to cuDNN (cuda_cudnn_graph.h):
 *
 *     image, filter -> convolution -> result
 *     image, filter -> convolution -> (float32) -> add bias -> (float32) -> max(x, 0) -> result
 *     filter, gradient of the result -> image          image, gradient of the result -> filter
 *
 * Results between two ops are virtual: they have no memory. */
#include "cuda/cudnn/cuda_cudnn_graph.h"

#include <gantry/backend_abi.h>
#include <stdio.h>

/* ---- parts ---- */

void gantry__cudnn_parts_begin(const gantry__cudnn_t *cudnn, gantry__cudnn_parts_t *parts) {
    parts->cudnn = cudnn;
    parts->count = 0;
    parts->status = GANTRY__CUDNN_SUCCESS;
    parts->reason[0] = '\0';
}

void gantry__cudnn_parts_end(gantry__cudnn_parts_t *parts) {
    while (parts->count > 0)
        parts->cudnn->cudnnBackendDestroyDescriptor(parts->list[--parts->count]);
}

/* The library's text has several lines, of which the first one says what is wrong. */
void gantry__cudnn_parts_note(gantry__cudnn_parts_t *parts, gantry__cudnn_status_t status) {
    if (status == GANTRY__CUDNN_SUCCESS || parts->status != GANTRY__CUDNN_SUCCESS) return;
    parts->status = status;
    parts->cudnn->cudnnGetLastErrorString(parts->reason, sizeof parts->reason);
    parts->reason[sizeof parts->reason - 1] = '\0';
    for (char *c = parts->reason; *c; ++c) {
        if (*c == '\n') *c = ' ';
    }
}

gantry__cudnn_desc_t gantry__cudnn_make(gantry__cudnn_parts_t *parts, unsigned int kind) {
    gantry__cudnn_desc_t desc = NULL;
    if (parts->status != GANTRY__CUDNN_SUCCESS) return NULL;
    if (parts->count == GANTRY__CUDNN_MOST_PARTS) {
        gantry__cudnn_parts_note(parts, GANTRY__CUDNN_INTERNAL_ERROR);
        return NULL;
    }
    gantry__cudnn_parts_note(parts, parts->cudnn->cudnnBackendCreateDescriptor(kind, &desc));
    if (parts->status != GANTRY__CUDNN_SUCCESS) return NULL;
    parts->list[parts->count++] = desc;
    return desc;
}

void gantry__cudnn_set(gantry__cudnn_parts_t *parts, gantry__cudnn_desc_t desc,
                       unsigned int attribute, unsigned int type, int64_t count,
                       const void *values) {
    if (parts->status != GANTRY__CUDNN_SUCCESS) return;
    gantry__cudnn_parts_note(
        parts, parts->cudnn->cudnnBackendSetAttribute(desc, attribute, type, count, values));
}

void gantry__cudnn_set_desc(gantry__cudnn_parts_t *parts, gantry__cudnn_desc_t desc,
                            unsigned int attribute, gantry__cudnn_desc_t value) {
    gantry__cudnn_set(parts, desc, attribute, GANTRY__CUDNN_TYPE_DESCRIPTOR, 1, &value);
}

static void cudnn_graph_set_number(gantry__cudnn_parts_t *parts, gantry__cudnn_desc_t desc,
                                   unsigned int attribute, unsigned int type, int value) {
    gantry__cudnn_set(parts, desc, attribute, type, 1, &value);
}

void gantry__cudnn_finalize(gantry__cudnn_parts_t *parts, gantry__cudnn_desc_t desc) {
    if (parts->status != GANTRY__CUDNN_SUCCESS) return;
    gantry__cudnn_parts_note(parts, parts->cudnn->cudnnBackendFinalize(desc));
}

/* ---- tensors ---- */

typedef struct cudnn_layout_t {
    int64_t dims[4], strides[4];
} cudnn_layout_t;

static cudnn_layout_t cudnn_graph_images(const int64_t dims[4], bool is_planar) {
    const int64_t channels = dims[1], height = dims[2], width = dims[3],
                  size = channels * height * width;
    const cudnn_layout_t planar = {{dims[0], channels, height, width},
                                   {size, height * width, width, 1}},
                         last = {{dims[0], channels, height, width},
                                 {size, 1, width * channels, channels}};
    return is_planar ? planar : last;
}

/* The filter as it is stored: [rows, columns, channels, outputs]. */
static cudnn_layout_t cudnn_graph_filter(const int64_t dims[4]) {
    const int64_t outputs = dims[0], channels = dims[1];
    return (cudnn_layout_t){{outputs, channels, dims[2], dims[3]},
                            {1, outputs, dims[3] * channels * outputs, channels * outputs}};
}

static int cudnn_graph_type(int32_t dtype) {
    return dtype == GANTRY_FLOAT16    ? GANTRY__CUDNN_HALF
           : dtype == GANTRY_BFLOAT16 ? GANTRY__CUDNN_BFLOAT16
                                      : GANTRY__CUDNN_FLOAT;
}

static gantry__cudnn_desc_t cudnn_graph_tensor(gantry__cudnn_parts_t *parts,
                                               const cudnn_layout_t *layout, int type, int64_t id,
                                               bool is_virtual) {
    const int64_t alignment = GANTRY__CUDNN_ALIGNMENT;
    gantry__cudnn_desc_t desc = gantry__cudnn_make(parts, GANTRY__CUDNN_TENSOR);
    cudnn_graph_set_number(parts, desc, GANTRY__CUDNN_TENSOR_TYPE, GANTRY__CUDNN_TYPE_DATA_TYPE,
                           type);
    gantry__cudnn_set(parts, desc, GANTRY__CUDNN_TENSOR_DIMS, GANTRY__CUDNN_TYPE_INT64, 4,
                      layout->dims);
    gantry__cudnn_set(parts, desc, GANTRY__CUDNN_TENSOR_STRIDES, GANTRY__CUDNN_TYPE_INT64, 4,
                      layout->strides);
    gantry__cudnn_set(parts, desc, GANTRY__CUDNN_TENSOR_ID, GANTRY__CUDNN_TYPE_INT64, 1, &id);
    gantry__cudnn_set(parts, desc, GANTRY__CUDNN_TENSOR_ALIGNMENT, GANTRY__CUDNN_TYPE_INT64, 1,
                      &alignment);
    if (is_virtual) {
        const bool yes = true;
        gantry__cudnn_set(parts, desc, GANTRY__CUDNN_TENSOR_IS_VIRTUAL, GANTRY__CUDNN_TYPE_BOOLEAN,
                          1, &yes);
    }
    gantry__cudnn_finalize(parts, desc);
    return desc;
}

/* ---- ops ---- */

static gantry__cudnn_desc_t cudnn_graph_window(gantry__cudnn_parts_t *parts,
                                               const gantry__cudnn_form_t *form) {
    const int64_t rank = 2;
    const struct {
        unsigned int attribute;
        const int64_t *values;
    } lists[] = {{GANTRY__CUDNN_CONVOLUTION_DILATIONS, form->spreads},
                 {GANTRY__CUDNN_CONVOLUTION_STRIDES, form->steps},
                 {GANTRY__CUDNN_CONVOLUTION_AFTER, form->after},
                 {GANTRY__CUDNN_CONVOLUTION_BEFORE, form->before}};
    gantry__cudnn_desc_t desc = gantry__cudnn_make(parts, GANTRY__CUDNN_CONVOLUTION);
    cudnn_graph_set_number(parts, desc, GANTRY__CUDNN_CONVOLUTION_TYPE,
                           GANTRY__CUDNN_TYPE_DATA_TYPE, GANTRY__CUDNN_FLOAT);
    cudnn_graph_set_number(parts, desc, GANTRY__CUDNN_CONVOLUTION_MODE,
                           GANTRY__CUDNN_TYPE_CONVOLUTION_MODE, GANTRY__CUDNN_CROSS_CORRELATION);
    gantry__cudnn_set(parts, desc, GANTRY__CUDNN_CONVOLUTION_RANK, GANTRY__CUDNN_TYPE_INT64, 1,
                      &rank);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i)
        gantry__cudnn_set(parts, desc, lists[i].attribute, GANTRY__CUDNN_TYPE_INT64, rank,
                          lists[i].values);
    gantry__cudnn_finalize(parts, desc);
    return desc;
}

/* The op of the form, over tensors by their id. */
static gantry__cudnn_desc_t cudnn_graph_convolution(gantry__cudnn_parts_t *parts,
                                                    const gantry__cudnn_form_t *form,
                                                    const gantry__cudnn_desc_t *tensors) {
    static const unsigned int kinds[] = {GANTRY__CUDNN_FORWARD, GANTRY__CUDNN_BACKWARD_DATA,
                                         GANTRY__CUDNN_BACKWARD_FILTER},
                              firsts[] = {GANTRY__CUDNN_FORWARD_ALPHA, GANTRY__CUDNN_DATA_ALPHA,
                                          GANTRY__CUDNN_FILTER_ALPHA};
    const float alpha = 1, beta = 0;
    const unsigned int first = firsts[form->what];
    gantry__cudnn_desc_t window = cudnn_graph_window(parts, form),
                         op = gantry__cudnn_make(parts, kinds[form->what]);
    gantry__cudnn_set(parts, op, first, GANTRY__CUDNN_TYPE_FLOAT, 1, &alpha);
    gantry__cudnn_set(parts, op, first + 1, GANTRY__CUDNN_TYPE_FLOAT, 1, &beta);
    gantry__cudnn_set_desc(parts, op, first + 2, window);
    gantry__cudnn_set_desc(parts, op, first + 3, tensors[GANTRY__CUDNN_FILTER]);
    gantry__cudnn_set_desc(parts, op, first + 4, tensors[GANTRY__CUDNN_IMAGE]);
    gantry__cudnn_set_desc(parts, op, first + 5, tensors[GANTRY__CUDNN_RESULT]);
    gantry__cudnn_finalize(parts, op);
    return op;
}

/* y = x + b, or with b NULL y = max(x, 0). */
static gantry__cudnn_desc_t cudnn_graph_pointwise(gantry__cudnn_parts_t *parts,
                                                  gantry__cudnn_desc_t x, gantry__cudnn_desc_t b,
                                                  gantry__cudnn_desc_t y) {
    gantry__cudnn_desc_t mode = gantry__cudnn_make(parts, GANTRY__CUDNN_POINTWISE);
    cudnn_graph_set_number(parts, mode, GANTRY__CUDNN_POINTWISE_MODE,
                           GANTRY__CUDNN_TYPE_POINTWISE_MODE,
                           b ? GANTRY__CUDNN_ADD : GANTRY__CUDNN_RELU);
    cudnn_graph_set_number(parts, mode, GANTRY__CUDNN_POINTWISE_TYPE, GANTRY__CUDNN_TYPE_DATA_TYPE,
                           GANTRY__CUDNN_FLOAT);
    gantry__cudnn_finalize(parts, mode);
    gantry__cudnn_desc_t op = gantry__cudnn_make(parts, GANTRY__CUDNN_POINTWISE_OP);
    gantry__cudnn_set_desc(parts, op, GANTRY__CUDNN_POINTWISE_OP_DESC, mode);
    gantry__cudnn_set_desc(parts, op, GANTRY__CUDNN_POINTWISE_OP_X, x);
    if (b) gantry__cudnn_set_desc(parts, op, GANTRY__CUDNN_POINTWISE_OP_B, b);
    gantry__cudnn_set_desc(parts, op, GANTRY__CUDNN_POINTWISE_OP_Y, y);
    gantry__cudnn_finalize(parts, op);
    return op;
}

/* ---- the graph ---- */

/* Adds the bias and the Relu after the convolution, whose result is virtual. Returns how many ops
 * there are. */
static int64_t cudnn_graph_epilogue(gantry__cudnn_parts_t *parts, const gantry__cudnn_form_t *form,
                                    gantry__cudnn_desc_t sum, gantry__cudnn_desc_t result,
                                    gantry__cudnn_desc_t ops[3]) {
    const int64_t one[] = {1, form->result[1], 1, 1};
    int64_t count = 1;
    if (form->has_bias) {
        const cudnn_layout_t layout = cudnn_graph_images(form->result, form->result_is_planar),
                             vector = cudnn_graph_images(one, form->result_is_planar);
        gantry__cudnn_desc_t bias = cudnn_graph_tensor(
            parts, &vector, cudnn_graph_type(form->dtype), GANTRY__CUDNN_BIAS, false);
        gantry__cudnn_desc_t out = form->has_relu
                                       ? cudnn_graph_tensor(parts, &layout, GANTRY__CUDNN_FLOAT,
                                                            GANTRY__CUDNN_OPERANDS + 2, true)
                                       : result;
        ops[count++] = cudnn_graph_pointwise(parts, sum, bias, out);
        sum = out;
    }
    if (form->has_relu) ops[count++] = cudnn_graph_pointwise(parts, sum, NULL, result);
    return count;
}

gantry__cudnn_desc_t gantry__cudnn_graph(gantry__cudnn_parts_t *parts,
                                         gantry__cudnn_handle_t handle,
                                         const gantry__cudnn_form_t *form) {
    const cudnn_layout_t image = cudnn_graph_images(form->image, form->image_is_planar),
                         filter = cudnn_graph_filter(form->filter),
                         places = cudnn_graph_images(form->result, form->result_is_planar);
    const int type = cudnn_graph_type(form->dtype);
    const bool has_epilogue = form->has_bias || form->has_relu;
    gantry__cudnn_desc_t tensors[GANTRY__CUDNN_OPERANDS] = {NULL}, ops[3];
    tensors[GANTRY__CUDNN_IMAGE] =
        cudnn_graph_tensor(parts, &image, type, GANTRY__CUDNN_IMAGE, false);
    tensors[GANTRY__CUDNN_FILTER] =
        cudnn_graph_tensor(parts, &filter, type, GANTRY__CUDNN_FILTER, false);
    gantry__cudnn_desc_t result =
        cudnn_graph_tensor(parts, &places, type, GANTRY__CUDNN_RESULT, false);
    tensors[GANTRY__CUDNN_RESULT] = has_epilogue
                                        ? cudnn_graph_tensor(parts, &places, GANTRY__CUDNN_FLOAT,
                                                             GANTRY__CUDNN_OPERANDS + 1, true)
                                        : result;
    ops[0] = cudnn_graph_convolution(parts, form, tensors);
    const int64_t count =
        cudnn_graph_epilogue(parts, form, tensors[GANTRY__CUDNN_RESULT], result, ops);
    gantry__cudnn_desc_t graph = gantry__cudnn_make(parts, GANTRY__CUDNN_GRAPH);
    if (handle)
        gantry__cudnn_set(parts, graph, GANTRY__CUDNN_GRAPH_HANDLE, GANTRY__CUDNN_TYPE_HANDLE, 1,
                          &handle);
    gantry__cudnn_set(parts, graph, GANTRY__CUDNN_GRAPH_OPS, GANTRY__CUDNN_TYPE_DESCRIPTOR, count,
                      ops);
    gantry__cudnn_finalize(parts, graph);
    return parts->status == GANTRY__CUDNN_SUCCESS ? graph : NULL;
}
