/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops_index.h. */
#include <gantry/ops.h>

#include "run/call_op.h"

const gantry_tensor_t *gantry_gather_nd(gantry_scope_t *scope, const gantry_tensor_t *params,
                                        const gantry_tensor_t *indices) {
    const gantry_tensor_t *inputs[] = {params, indices};
    return gantry__call_op(scope, GANTRY__OP_ID_GatherNd, inputs, 2, NULL, 0, NULL);
}

/* The shape has the type of the indices. */
static const gantry_tensor_t *add_shape_like(gantry__extras_t *extras, gantry_scope_t *scope,
                                             const gantry_tensor_t *indices,
                                             const gantry_shape_t *shape) {
    int32_t narrow[GANTRY_MAX_RANK];
    bool fits = shape->rank >= 0 && shape->rank <= GANTRY_MAX_RANK && indices &&
                indices->dtype == GANTRY_INT32;
    for (int32_t d = 0; fits && d < shape->rank; ++d) {
        fits = shape->dims[d] >= INT32_MIN && shape->dims[d] <= INT32_MAX;
        narrow[d] = fits ? (int32_t)shape->dims[d] : 0;
    }
    return fits ? gantry__add_host(extras, scope, GANTRY_INT32, GANTRY_SHAPE(shape->rank), narrow)
                : gantry__add_given_shape(extras, scope, GANTRY__OP_ID_ScatterNd, shape);
}

const gantry_tensor_t *gantry_scatter_nd(gantry_scope_t *scope, const gantry_tensor_t *indices,
                                         const gantry_tensor_t *updates, gantry_shape_t shape) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {indices, updates,
                                       add_shape_like(&extras, scope, indices, &shape)};
    return gantry__call_op(scope, GANTRY__OP_ID_ScatterNd, inputs, 3, NULL, 0, &extras);
}

#define DEFINE_TENSOR_SCATTER(name, op)                                                        \
    const gantry_tensor_t *gantry_##name(gantry_scope_t *scope, const gantry_tensor_t *tensor, \
                                         const gantry_tensor_t *indices,                       \
                                         const gantry_tensor_t *updates) {                     \
        const gantry_tensor_t *inputs[] = {tensor, indices, updates};                          \
        return gantry__call_op(scope, GANTRY__OP_ID_##op, inputs, 3, NULL, 0, NULL);           \
    }
DEFINE_TENSOR_SCATTER(tensor_scatter_update, TensorScatterUpdate)
DEFINE_TENSOR_SCATTER(tensor_scatter_add, TensorScatterAdd)
DEFINE_TENSOR_SCATTER(tensor_scatter_sub, TensorScatterSub)
DEFINE_TENSOR_SCATTER(tensor_scatter_mul, TensorScatterMul)
DEFINE_TENSOR_SCATTER(tensor_scatter_max, TensorScatterMax)
DEFINE_TENSOR_SCATTER(tensor_scatter_min, TensorScatterMin)

const gantry_tensor_t *gantry_gather_elements(gantry_scope_t *scope, const gantry_tensor_t *data,
                                              const gantry_tensor_t *indices, int32_t axis) {
    const gantry_tensor_t *inputs[] = {data, indices};
    const gantry_attr_value_t attr = gantry__attr_int("axis", axis);
    return gantry__call_op(scope, GANTRY__OP_ID_GatherElements, inputs, 2, &attr, 1, NULL);
}

const gantry_tensor_t *gantry_scatter_elements(gantry_scope_t *scope, const gantry_tensor_t *data,
                                               const gantry_tensor_t *indices,
                                               const gantry_tensor_t *updates, int32_t axis,
                                               const char *reduction) {
    const gantry_tensor_t *inputs[] = {data, indices, updates};
    const gantry_attr_value_t attrs[] = {
        gantry__attr_int("axis", axis),
        gantry__attr_text("reduction", reduction ? reduction : "NONE")};
    return gantry__call_op(scope, GANTRY__OP_ID_ScatterElements, inputs, 3, attrs, 2, NULL);
}

#define DEFINE_SEGMENT(name, op)                                                             \
    const gantry_tensor_t *gantry_##name(gantry_scope_t *scope, const gantry_tensor_t *data, \
                                         const gantry_tensor_t *segment_ids) {               \
        const gantry_tensor_t *inputs[] = {data, segment_ids};                               \
        return gantry__call_op(scope, GANTRY__OP_ID_##op, inputs, 2, NULL, 0, NULL);         \
    }
DEFINE_SEGMENT(segment_sum, SegmentSum)
DEFINE_SEGMENT(segment_mean, SegmentMean)
DEFINE_SEGMENT(segment_max, SegmentMax)
DEFINE_SEGMENT(segment_min, SegmentMin)
DEFINE_SEGMENT(segment_prod, SegmentProd)

#define DEFINE_UNSORTED_SEGMENT(name, op)                                                       \
    const gantry_tensor_t *gantry_##name(gantry_scope_t *scope, const gantry_tensor_t *data,    \
                                         const gantry_tensor_t *segment_ids,                    \
                                         int64_t num_segments) {                                \
        gantry__extras_t extras = {.count = 0};                                                 \
        const gantry_tensor_t *inputs[] = {data, segment_ids,                                   \
                                           gantry__add_host_i64(&extras, scope, num_segments)}; \
        return gantry__call_op(scope, GANTRY__OP_ID_##op, inputs, 3, NULL, 0, &extras);         \
    }
DEFINE_UNSORTED_SEGMENT(unsorted_segment_sum, UnsortedSegmentSum)
DEFINE_UNSORTED_SEGMENT(unsorted_segment_mean, UnsortedSegmentMean)
DEFINE_UNSORTED_SEGMENT(unsorted_segment_max, UnsortedSegmentMax)
DEFINE_UNSORTED_SEGMENT(unsorted_segment_min, UnsortedSegmentMin)
DEFINE_UNSORTED_SEGMENT(unsorted_segment_prod, UnsortedSegmentProd)

const gantry_tensor_t *gantry_bincount(gantry_scope_t *scope, const gantry_tensor_t *arr,
                                       int32_t size, const gantry_tensor_t *weights) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {arr, gantry__add_host_i32(&extras, scope, size), weights};
    return gantry__call_op(scope, GANTRY__OP_ID_Bincount, inputs, 3, NULL, 0, &extras);
}

const gantry_tensor_t *gantry_dense_bincount(gantry_scope_t *scope, const gantry_tensor_t *input,
                                             int32_t size, const gantry_tensor_t *weights,
                                             bool binary) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {
        input, gantry__add_host_int_like(&extras, scope, input, size), weights};
    const gantry_attr_value_t attr = gantry__attr_bool("binary_output", binary);
    return gantry__call_op(scope, GANTRY__OP_ID_DenseBincount, inputs, 3, &attr, 1, &extras);
}

const gantry_tensor_t *gantry_where(gantry_scope_t *scope, const gantry_tensor_t *condition) {
    return gantry__call_op(scope, GANTRY__OP_ID_Where, &condition, 1, NULL, 0, NULL);
}

const gantry_tensor_t *gantry_unique(gantry_scope_t *scope, const gantry_tensor_t *x,
                                     const gantry_tensor_t **out_idx,
                                     const gantry_tensor_t **out_count) {
    const gantry_tensor_t *outputs[3] = {NULL, NULL, NULL};
    size_t output_count = out_count ? 3 : 2;
    (void)gantry__call_op_into(scope,
                               out_count ? GANTRY__OP_ID_UniqueWithCounts : GANTRY__OP_ID_Unique,
                               &x, 1, NULL, 0, NULL, outputs, &output_count);
    if (out_idx) *out_idx = outputs[1];
    if (out_count) *out_count = outputs[2];
    return outputs[0];
}
