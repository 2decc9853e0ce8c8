/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of ops that give the same elements another shape: Reshape, ExpandDims, Squeeze, Bitcast,
 * Transpose, BroadcastTo. */
#include "op/op_infer.h"

#include <stdio.h>

#include "base/shape_limit.h"

/* ---- Reshape ---- */

typedef struct request_t {
    gantry_shape_t shape; /* with 1 for the unknown size */
    int32_t unknown;      /* the index of -1; -1: there is none */
    bool has_zero;
} request_t;

static gantry_status_t check_request(const gantry_shape_t *given) {
    if (given->rank > 1) {
        return gantry__refuse("shape input must be 1-D, not %s", gantry__shape_text(given).text);
    }
    return gantry__infer_rank_fits(gantry_shape_elements(given));
}

static gantry_status_t read_request(gantry__infer_t *call, request_t *out) {
    gantry__host_ints_t sizes;
    GANTRY__TRY(gantry__infer_ints(call, 1, &sizes));
    *out = (request_t){.shape.rank = (int32_t)sizes.count, .unknown = -1};
    for (int32_t i = 0; i < out->shape.rank; ++i) {
        int64_t size = gantry__host_int(&sizes, i);
        if (size < -1) {
            return gantry__refuse(
                "Size %d must be non-negative, not %lld (or -1, once, for what is left)", (int)i,
                (long long)size);
        }
        if (size == -1 && out->unknown >= 0) {
            return gantry__refuse("Only one input size may be -1, not both %d and %d",
                                  (int)out->unknown, (int)i);
        }
        if (size == -1) out->unknown = i;
        if (size == 0) out->has_zero = true;
        out->shape.dims[i] = size == -1 ? 1 : size;
    }
    return GANTRY_OK;
}

/* The number of elements without dimensions of 0; -1 when it overflows. */
static int64_t count_without_zeros(const gantry_shape_t *shape) {
    gantry_shape_t rest = {.rank = 0};
    for (int32_t i = 0; i < shape->rank; ++i) {
        if (shape->dims[i] != 0) rest.dims[rest.rank++] = shape->dims[i];
    }
    return gantry_shape_elements(&rest);
}

/* The size that replaces -1. With an empty input and a requested size of 0 it is not determined:
 * then, as in TensorFlow, the zeros match each other, and the other dimensions decide. */
static gantry_status_t solve_unknown(const gantry_shape_t *input, request_t *request) {
    int64_t have = request->has_zero ? count_without_zeros(input) : gantry_shape_elements(input);
    int64_t known = count_without_zeros(&request->shape);
    if (have % known != 0) {
        return gantry__refuse(
            "Input to reshape is a tensor with %lld values, but the requested shape requires a multiple of %lld",
            (long long)gantry_shape_elements(input), (long long)known);
    }
    request->shape.dims[request->unknown] = have / known;
    return GANTRY_OK;
}

/* The request is not known, or a part of it: one size that is not known takes what the others
 * leave. */
static gantry_status_t reshape_unknown(gantry__infer_t *call) {
    const int64_t rank = gantry_shape_elements(call->shapes[1]),
                  elements = gantry_shape_elements(call->shapes[0]);
    gantry_shape_t *out = &call->out_shapes[0], others;
    int32_t unknown = -1, count = 0;
    if (rank < 0) return gantry__fail_open_rank(call, 1);
    others = *out = gantry__shape_open((int32_t)rank);
    for (int32_t d = 0; d < out->rank; ++d) {
        int64_t size;
        if (gantry__infer_number(call, 1, NULL, d, &size) && size >= 0) {
            others.dims[d] = out->dims[d] = size;
        } else {
            others.dims[d] = 1;
            unknown = d;
            ++count;
        }
    }
    const int64_t known = gantry_shape_elements(&others);
    if (count == 1 && elements >= 0 && known > 0 && elements % known == 0)
        out->dims[unknown] = elements / known;
    return GANTRY_OK;
}

/* The input's elements are not counted: the size in place of -1 is open. */
static gantry_status_t reshape_open(gantry__infer_t *call, const request_t *request) {
    call->out_shapes[0] = request->shape;
    if (request->unknown >= 0) call->out_shapes[0].dims[request->unknown] = -1;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_reshape(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    int64_t have = gantry_shape_elements(input);
    request_t request;
    GANTRY__TRY(check_request(call->shapes[1]));
    if (gantry__infer_is_open(call, 1)) return reshape_unknown(call);
    GANTRY__TRY(read_request(call, &request));
    if (count_without_zeros(&request.shape) < 0) {
        /* as the user wrote it */
        if (request.unknown >= 0) request.shape.dims[request.unknown] = -1;
        return gantry__refuse(
            "Shape %s has too many elements: more than " GANTRY__MOST_ELEMENTS_TEXT,
            gantry__shape_text(&request.shape).text);
    }
    if (gantry__shape_is_open(input)) return reshape_open(call, &request);
    if (request.unknown >= 0) GANTRY__TRY(solve_unknown(input, &request));
    int64_t wanted = gantry_shape_elements(&request.shape);
    if (wanted != have) {
        return gantry__refuse(
            "Input to reshape is a tensor with %lld values, but the requested shape has %lld",
            (long long)have, (long long)wanted);
    }
    call->out_shapes[0] = request.shape;
    return GANTRY_OK;
}

/* ---- dimensions of 1 ---- */

gantry_status_t gantry__infer_expand_dims(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0];
    int64_t axis = 0;
    bool is_open;
    GANTRY__TRY(gantry__infer_int_or_open(call, 1, &axis, &is_open));
    if (axis < -input->rank - 1 || axis > input->rank) {
        return gantry__refuse(
            "Tried to expand dim index %lld for tensor with %d dimensions.  Accepted are %d to %d",
            (long long)axis, (int)input->rank, -(int)input->rank - 1, (int)input->rank);
    }
    GANTRY__TRY(gantry__infer_rank_fits((int64_t)input->rank + 1));
    if (is_open) {
        *out = gantry__shape_open(input->rank + 1);
        return GANTRY_OK;
    }
    axis += axis < 0 ? input->rank + 1 : 0;
    out->rank = input->rank + 1;
    for (int32_t i = 0; i < out->rank; ++i) {
        out->dims[i] = i < axis ? input->dims[i] : i == axis ? 1 : input->dims[i - 1];
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_squeeze(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    const gantry_attr_t *dims = gantry__infer_attr(call, "squeeze_dims");
    gantry_shape_t *out = &call->out_shapes[0];
    uint32_t mask = 0;
    for (int64_t k = 0; k < dims->i; ++k) {
        int64_t axis = dims->list[k];
        if (axis < -input->rank || axis >= input->rank) {
            return gantry__refuse("Tried to squeeze dim index %lld for tensor with %d dimensions.",
                                  (long long)axis, (int)input->rank);
        }
        axis += axis < 0 ? input->rank : 0;
        if (!gantry__sizes_fit(input->dims[axis], 1)) {
            return gantry__refuse("Can not squeeze dim[%lld], expected a dimension of 1, got %lld",
                                  (long long)axis, (long long)input->dims[axis]);
        }
        mask |= UINT32_C(1) << axis;
    }
    if (dims->i == 0 && gantry__shape_is_open(input)) return gantry__fail_open_rank(call, 0);
    out->rank = 0;
    for (int32_t i = 0; i < input->rank; ++i) {
        bool goes = dims->i == 0 ? input->dims[i] == 1 : (mask >> i & 1) != 0;
        if (!goes) out->dims[out->rank++] = input->dims[i];
    }
    return GANTRY_OK;
}

/* ---- Bitcast ---- */

static gantry_status_t fail_bitcast(const gantry__infer_t *call, const char *accepted) {
    return gantry__refuse(
        "Cannot bitcast a tensor of %s of shape %s to %s: %s", gantry_dtype_name(call->dtypes[0]),
        gantry__shape_text(call->shapes[0]).text, gantry_dtype_name(call->out_dtypes[0]), accepted);
}

/* Kernels rely on bools that are 0 or 1, so only a bool becomes one. */
gantry_status_t gantry__infer_bitcast(gantry__infer_t *call) {
    const int64_t from = (int64_t)gantry_dtype_size(call->dtypes[0]),
                  to = (int64_t)gantry_dtype_size(call->out_dtypes[0]);
    gantry_shape_t *out = &call->out_shapes[0];
    if (call->out_dtypes[0] == GANTRY_BOOL && call->dtypes[0] != GANTRY_BOOL)
        return fail_bitcast(call, "a bool must be 0 or 1; Cast makes bools of all values");
    *out = *call->shapes[0];
    if (from > to) {
        GANTRY__TRY(gantry__infer_rank_fits((int64_t)out->rank + 1));
        out->dims[out->rank++] = from / to;
    } else if (from < to) {
        if (out->rank == 0 || !gantry__sizes_fit(out->dims[out->rank - 1], to / from)) {
            char accepted[64];
            (void)snprintf(accepted, sizeof accepted, "the last dimension must be %d",
                           (int)(to / from));
            return fail_bitcast(call, accepted);
        }
        --out->rank;
    }
    return GANTRY_OK;
}

/* ---- Transpose ---- */

static gantry_status_t fail_missing(const gantry__host_ints_t *perm, uint32_t seen) {
    char text[GANTRY_MAX_RANK * 4 + 1] = "";
    size_t used = 0;
    int missing = 0;
    while (seen >> missing & 1) ++missing;
    for (int64_t i = 0; i < perm->count && used < sizeof text; ++i) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i ? "," : "",
                                 (int)gantry__host_int(perm, i));
    }
    return gantry__refuse("%d is missing from {%s}.", missing, text);
}

gantry_status_t gantry__infer_transpose(gantry__infer_t *call) {
    const gantry_shape_t *x = call->shapes[0], *given = call->shapes[1];
    gantry_shape_t *out = &call->out_shapes[0];
    gantry__host_ints_t perm;
    if (given->rank != 1) {
        return gantry__refuse("perm must be rank 1, got shape %s", gantry__shape_text(given).text);
    }
    if (!gantry__sizes_fit(given->dims[0], x->rank)) {
        return gantry__refuse(
            "transpose expects a vector of size %d. But input(1) is a vector of size %lld",
            (int)x->rank, (long long)given->dims[0]);
    }
    *out = gantry__shape_open(x->rank);
    if (gantry__infer_is_open(call, 1)) return GANTRY_OK;
    GANTRY__TRY(gantry__infer_ints(call, 1, &perm));
    uint32_t seen = 0;
    for (int32_t i = 0; i < x->rank; ++i) {
        int64_t from = gantry__host_int(&perm, i);
        if (from < -x->rank || from >= x->rank) {
            return gantry__refuse("%lld is out of range [%d .. %d)", (long long)from, -(int)x->rank,
                                  (int)x->rank);
        }
        from += from < 0 ? x->rank : 0;
        seen |= UINT32_C(1) << from;
        out->dims[i] = x->dims[from];
    }
    return seen == (UINT32_C(1) << x->rank) - 1 ? GANTRY_OK : fail_missing(&perm, seen);
}

/* ---- BroadcastTo ---- */

gantry_status_t gantry__infer_broadcast_to(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry_shape_t target, both;
    GANTRY__TRY(gantry__infer_dims(call, 1, false, &target));
    if (input->rank > target.rank) {
        return gantry__refuse(
            "Rank of input (%d) must be no greater than rank of output shape (%d).",
            (int)input->rank, (int)target.rank);
    }
    if (!gantry__broadcast_shapes(input, &target, &both)) {
        return gantry__refuse("Incompatible shapes: %s vs. %s", gantry__shape_text(input).text,
                              gantry__shape_text(&target).text);
    }
    call->out_shapes[0] = target;
    if (!gantry__merge_shapes(&call->out_shapes[0], &both)) {
        return gantry__refuse("Unable to broadcast tensor of shape %s to tensor of shape %s",
                              gantry__shape_text(input).text, gantry__shape_text(&target).text);
    }
    return GANTRY_OK;
}
