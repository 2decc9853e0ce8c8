/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: their numbers, and the same elements in other shapes and orders. */
#include <string.h>

#include "onnx/lower/move.h"

typedef const gantry_tensor_t tensor;

/* ---- numbers of shapes ---- */

static int32_t bound_of_shape(int64_t given, int32_t rank) {
    const int64_t bound = given < 0 ? given + rank : given;
    return bound < 0 ? 0 : bound > rank ? rank : (int32_t)bound;
}

gantry_status_t gantry__onnx_lower_shape(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const int32_t begin = bound_of_shape(gantry__onnx_attr_int(call, "start", 0), shape->rank);
    int32_t end = bound_of_shape(gantry__onnx_attr_int(call, "end", shape->rank), shape->rank);
    if (end < begin) end = begin;
    if (gantry__onnx_product(shape, begin, end) >= 0)
        return gantry__onnx_give(call, gantry__onnx_ints_of(call, GANTRY_INT64, shape->dims + begin,
                                                            GANTRY_SHAPE(end - begin)));
    return gantry__onnx_give(call,
                             gantry_slice(call->scope, gantry_shape(call->scope, x, GANTRY_INT64),
                                          (int64_t[]){begin}, (int64_t[]){end - begin}));
}

gantry_status_t gantry__onnx_lower_size(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const int64_t count = gantry_tensor_elements(x);
    return gantry__onnx_give(call, count >= 0
                                       ? gantry__onnx_make_scalar(call, GANTRY_INT64, (double)count)
                                       : gantry_size(call->scope, x, GANTRY_INT64));
}

/* ---- Reshape ---- */

/* Sizes of a wanted shape: known ones, open ones that are copied, and the one that is the rest. */
typedef struct sizes_count_t {
    int64_t known;
    int32_t open, rest; /* rest: its dimension; -1: none */
} sizes_count_t;

static gantry_status_t count_sizes(gantry__onnx_call_t *call, const gantry_shape_t *from,
                                   const int64_t *sizes, gantry_shape_t *to, sizes_count_t *count) {
    const bool copies = gantry__onnx_attr_int(call, "allowzero", 0) == 0;
    *count = (sizes_count_t){.known = 1, .rest = -1};
    for (int32_t i = 0; i < to->rank; ++i) {
        const bool is_copy = sizes[i] == 0 && copies;
        if (sizes[i] < -1 || (is_copy && i >= from->rank) || (sizes[i] == -1 && count->rest >= 0))
            return gantry__onnx_invalid(call,
                                        "size %lld of the wanted shape at %d; accepted are sizes, "
                                        "one -1, and 0 where the input has %d dimensions",
                                        (long long)sizes[i], (int)i, (int)from->rank);
        to->dims[i] = is_copy ? from->dims[i] : sizes[i];
        if (to->dims[i] > 0 && count->known > INT64_MAX / to->dims[i])
            return gantry__onnx_invalid(call, "the wanted shape has too many elements");
        if (sizes[i] == -1)
            count->rest = i;
        else if (to->dims[i] < 0)
            ++count->open;
        else
            count->known *= to->dims[i];
    }
    return GANTRY_OK;
}

/* Replaces the rest, where the sizes around it say it. */
static gantry_status_t find_rest(gantry__onnx_call_t *call, tensor *x, const sizes_count_t *count,
                                 gantry_shape_t *to) {
    const gantry_shape_t *from = gantry_tensor_shape(x);
    int64_t known = 1;
    int32_t open = 0;
    for (int32_t i = 0; i < from->rank; ++i) {
        if (from->dims[i] < 0)
            ++open;
        else
            known *= from->dims[i];
    }
    if (count->rest >= 0 && open == count->open) {
        if (count->known == 0 || known % count->known != 0)
            return gantry__onnx_invalid(
                call, "-1 in the wanted shape stands for %lld / %lld elements, which is no size",
                (long long)known, (long long)count->known);
        to->dims[count->rest] = known / count->known;
        return count->open < 2 ? GANTRY_OK : gantry__onnx_need_shape(call, x);
    }
    return count->open + (count->rest >= 0) < 2 ? GANTRY_OK : gantry__onnx_need_shape(call, x);
}

gantry_status_t gantry__onnx_lower_reshape(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const int64_t *sizes;
    size_t rank;
    sizes_count_t count;
    gantry_shape_t to;
    GANTRY__TRY(gantry__onnx_get_ints(call, 1, "shape", &sizes, &rank));
    if (rank > GANTRY_MAX_RANK)
        return gantry__onnx_unsupported(call, "%zu dimensions; Gantry has at most %d", rank,
                                        GANTRY_MAX_RANK);
    to.rank = (int32_t)rank;
    GANTRY__TRY(count_sizes(call, gantry_tensor_shape(x), sizes, &to, &count));
    GANTRY__TRY(find_rest(call, x, &count, &to));
    return gantry__onnx_give(call, gantry__onnx_reshape(call, x, to));
}

gantry_status_t gantry__onnx_lower_flatten(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const int64_t given = gantry__onnx_attr_int(call, "axis", 1);
    const int64_t axis = given < 0 ? given + shape->rank : given;
    if (axis < 0 || axis > shape->rank)
        return gantry__onnx_invalid(call, "axis %lld; the input has %d dimensions",
                                    (long long)given, (int)shape->rank);
    const gantry_shape_t flat =
        GANTRY_SHAPE(gantry__onnx_product(shape, 0, (int32_t)axis),
                     gantry__onnx_product(shape, (int32_t)axis, shape->rank));
    if (flat.dims[0] < 0 && flat.dims[1] < 0) GANTRY__TRY(gantry__onnx_need_shape(call, x));
    return gantry__onnx_give(call, gantry__onnx_reshape(call, x, flat));
}

/* ---- dimensions of size 1 ---- */

static gantry_status_t squeeze_all(gantry__onnx_call_t *call, tensor *x) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    gantry_shape_t left = {.rank = 0};
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    for (int32_t i = 0; i < shape->rank; ++i) {
        if (shape->dims[i] != 1) left.dims[left.rank++] = shape->dims[i];
    }
    return gantry__onnx_give(call, gantry__onnx_reshape(call, x, left));
}

gantry_status_t gantry__onnx_lower_squeeze(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const int64_t *axes;
    size_t count;
    bool is_given;
    int32_t squeezed[GANTRY_MAX_RANK];
    GANTRY__TRY(gantry__onnx_axes(call, 13, 1, (uint32_t)gantry_tensor_shape(x)->rank, &axes,
                                  &count, &is_given));
    if (!is_given) return squeeze_all(call, x);
    if (count == 0) return gantry__onnx_give(call, x);
    for (size_t i = 0; i < count; ++i) squeezed[i] = (int32_t)axes[i];
    return gantry__onnx_give(call, gantry_squeeze(call->scope, x, squeezed, count));
}

/* The axes, which are places in the result, as a mark for each of its dimensions. */
static gantry_status_t mark_new_axes(gantry__onnx_call_t *call, int32_t rank, const int64_t *axes,
                                     size_t count, bool *is_new) {
    for (size_t i = 0; i < count; ++i) {
        int64_t axis;
        GANTRY__TRY(gantry__onnx_axis(call, axes[i], (uint32_t)rank, &axis));
        if (is_new[axis])
            return gantry__onnx_invalid(call, "axis %lld occurs twice", (long long)axes[i]);
        is_new[axis] = true;
    }
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_unsqueeze(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    size_t count;
    bool is_new[GANTRY_MAX_RANK] = {false};
    const int64_t *axes = gantry__onnx_attr_ints(call, "axes", &count);
    if (gantry__onnx_version(call) >= 13)
        GANTRY__TRY(gantry__onnx_get_ints(call, 1, "axes", &axes, &count));
    gantry_shape_t to = {.rank = shape->rank + (int32_t)count};
    if (count > GANTRY_MAX_RANK || to.rank > GANTRY_MAX_RANK)
        return gantry__onnx_unsupported(call, "%zu dimensions; Gantry has at most %d",
                                        (size_t)shape->rank + count, GANTRY_MAX_RANK);
    GANTRY__TRY(mark_new_axes(call, to.rank, axes, count, is_new));
    int32_t open_count = 0;
    for (int32_t i = 0, from = 0; i < to.rank; ++i) {
        to.dims[i] = is_new[i] ? 1 : shape->dims[from++];
        open_count += to.dims[i] < 0;
    }
    if (open_count < 2) return gantry__onnx_give(call, gantry__onnx_reshape(call, x, to));
    for (int32_t i = 0; i < to.rank; ++i) {
        if (is_new[i]) x = gantry_expand_dims(call->scope, x, i);
    }
    return gantry__onnx_give(call, x);
}

/* ---- order and repetition ---- */

gantry_status_t gantry__onnx_lower_transpose(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const int32_t rank = gantry_tensor_shape(x)->rank;
    int32_t perm[GANTRY_MAX_RANK];
    bool is_taken[GANTRY_MAX_RANK] = {false};
    size_t count;
    const int64_t *given = gantry__onnx_attr_ints(call, "perm", &count);
    if (given && count != (size_t)rank)
        return gantry__onnx_invalid(call, "perm has %zu entries for %d dimensions", count,
                                    (int)rank);
    for (int32_t i = 0; i < rank; ++i) {
        int64_t axis = rank - 1 - i;
        if (given) GANTRY__TRY(gantry__onnx_axis(call, given[i], (uint32_t)rank, &axis));
        if (is_taken[axis])
            return gantry__onnx_invalid(call, "perm has axis %lld twice", (long long)axis);
        is_taken[axis] = true;
        perm[i] = (int32_t)axis;
    }
    return gantry__onnx_give(call, gantry__onnx_transpose(call, x, perm));
}

gantry_status_t gantry__onnx_lower_expand(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const int64_t *sizes;
    size_t count;
    GANTRY__TRY(gantry__onnx_get_ints(call, 1, "shape", &sizes, &count));
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    if (count > GANTRY_MAX_RANK)
        return gantry__onnx_unsupported(call, "%zu dimensions; Gantry has at most %d", count,
                                        GANTRY_MAX_RANK);
    gantry_shape_t to = {.rank = shape->rank > (int32_t)count ? shape->rank : (int32_t)count};
    for (int32_t i = 1; i <= to.rank; ++i) {
        const int64_t own = i <= shape->rank ? shape->dims[shape->rank - i] : 1;
        const int64_t wanted = i <= (int32_t)count ? sizes[count - (size_t)i] : 1;
        if (own != wanted && own != 1 && wanted != 1)
            return gantry__onnx_invalid(call, "a size of %lld does not broadcast to %lld",
                                        (long long)own, (long long)wanted);
        to.dims[to.rank - i] = own == 1 ? wanted : own;
    }
    return gantry__onnx_give(call, gantry__onnx_broadcast(call, x, to));
}

gantry_status_t gantry__onnx_lower_tile(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const int64_t *repeats;
    size_t count;
    bool is_same = true;
    GANTRY__TRY(gantry__onnx_get_ints(call, 1, "repeats", &repeats, &count));
    if (count != (size_t)gantry_tensor_shape(x)->rank)
        return gantry__onnx_invalid(call, "repeats has %zu numbers for %d dimensions", count,
                                    (int)gantry_tensor_shape(x)->rank);
    for (size_t i = 0; i < count; ++i) is_same = is_same && repeats[i] == 1;
    return gantry__onnx_give(call, is_same ? x : gantry_tile(call->scope, x, repeats));
}
