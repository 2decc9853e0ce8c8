/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of ops that take an element of the input for each place of the result, dimension by
 * dimension: Pad, MirrorPad and its gradient, Tile, Reverse, Roll; and of InvertPermutation. */
#include <inttypes.h>

#include "op/op_infer.h"

/* ---- Pad, MirrorPad ---- */

static gantry_status_t fail_size(int64_t size, const char *what, int64_t by, int32_t axis) {
    return gantry__refuse("dimension %d of size %" PRId64 " %s %" PRId64
                          " would have more than 2**63 - 1 elements",
                          (int)axis, size, what, by);
}

/* *out_is_open: the paddings are not known. The result then is open. */
static gantry_status_t read_paddings(gantry__infer_t *call, gantry__host_ints_t *out,
                                     bool *out_is_open) {
    const gantry_shape_t *input = call->shapes[0], *paddings = call->shapes[1];
    if (paddings->rank != 2 || !gantry__sizes_fit(paddings->dims[1], 2)) {
        return gantry__refuse("paddings must be a matrix with 2 columns: %s",
                              gantry__shape_text(paddings).text);
    }
    if (!gantry__sizes_fit(paddings->dims[0], input->rank)) {
        return gantry__refuse("The first dimension of paddings must be the rank of inputs%s %s",
                              gantry__shape_text(paddings).text, gantry__shape_text(input).text);
    }
    *out_is_open = gantry__infer_is_open(call, 1);
    call->out_shapes[0] = *out_is_open ? gantry__shape_open(input->rank) : *input;
    return *out_is_open ? GANTRY_OK : gantry__infer_ints(call, 1, out);
}

static gantry_status_t pad(int64_t *size, int64_t more, int32_t axis) {
    if (*size < 0) return GANTRY_OK;
    if (more > INT64_MAX - *size) return fail_size(*size, "and a padding of", more, axis);
    *size += more;
    return GANTRY_OK;
}

/* Pad's attributes, which TensorFlow does not have. */
typedef struct pad_attrs_t {
    size_t mode;                   /* 0: CONSTANT */
    const gantry_attr_t *interior; /* NULL: none given */
    bool crops;
} pad_attrs_t;

static gantry_status_t read_pad(const gantry__infer_t *call, pad_attrs_t *out) {
    static const char *const modes[] = {"CONSTANT", "EDGE", "WRAP", "REFLECT", "SYMMETRIC"};
    const int32_t rank = call->shapes[0]->rank;
    *out = (pad_attrs_t){.mode = 0};
    if (call->given == 0) return GANTRY_OK;
    GANTRY__TRY(gantry__infer_choice(call, "mode", modes, 5, &out->mode));
    out->interior = gantry__infer_attr(call, "interior");
    out->crops = gantry__infer_attr(call, "crop")->i != 0;
    if (out->interior->i == 0) return GANTRY_OK;
    if (out->mode != 0 || out->interior->i != rank) {
        return gantry__refuse("interior has %" PRId64
                              " numbers in mode %s of an input of rank %d; none is accepted, or in "
                              "mode CONSTANT one per dimension",
                              out->interior->i, modes[out->mode], (int)rank);
    }
    for (int32_t d = 0; d < rank; ++d) {
        if (out->interior->list[d] >= 0) continue;
        return gantry__refuse("interior[%d] must not be negative: %" PRId64, (int)d,
                              out->interior->list[d]);
    }
    return GANTRY_OK;
}

/* How many of so many elements negative paddings leave; below 0: they remove more. */
static int64_t left_by(int64_t size, int64_t before, int64_t after) {
    const int64_t left = before < 0 ? size + before : size;
    return left > 0 && after < 0 ? left + after : left;
}

/* The size of dimension d with elements in between, cut and extended; *size must not be
 * negative. */
static gantry_status_t pad_dimension(const pad_attrs_t *attrs, int32_t d, int64_t before,
                                     int64_t after, int64_t *size) {
    const int64_t interior =
        attrs->interior && attrs->interior->i > 0 ? attrs->interior->list[d] : 0;
    int64_t own = *size, between = 0, padded;
    if (interior > 0 && own > 1 &&
        (__builtin_mul_overflow(own - 1, interior, &between) ||
         __builtin_add_overflow(own, between, &own)))
        return fail_size(*size, "and an interior of", interior, d);
    if (__builtin_add_overflow(own, before, &padded) ||
        __builtin_add_overflow(padded, after, &padded))
        return fail_size(own, "and a padding of", before > after ? before : after, d);
    const int64_t left = attrs->mode != 0 ? left_by(own, before, after) : 0;
    if (padded < 0 || left < 0) {
        return gantry__refuse("paddings %" PRId64 " and %" PRId64 " remove more than the %" PRId64
                              " elements of dimension %d",
                              before, after, own, (int)d);
    }
    if (attrs->mode != 0 && left == 0 && padded > 0) {
        return gantry__refuse("paddings %" PRId64 " and %" PRId64
                              " need an element of dimension %d to repeat, and none of %" PRId64
                              " is left; mode CONSTANT accepts that",
                              before, after, (int)d, own);
    }
    *size = padded;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_pad(gantry__infer_t *call) {
    gantry__host_ints_t paddings = {.data = NULL};
    pad_attrs_t attrs;
    bool is_open;
    GANTRY__TRY(read_pad(call, &attrs));
    GANTRY__TRY(read_paddings(call, &paddings, &is_open));
    if (call->input_count > 2 && call->shapes[2]->rank != 0) {
        return gantry__refuse("constant_values must be a scalar. Found: %s",
                              gantry__shape_text(call->shapes[2]).text);
    }
    for (int32_t d = 0; d < call->shapes[0]->rank; ++d) {
        int64_t before, after;
        if (!gantry__infer_number(call, 1, &paddings, 2 * (int64_t)d, &before) ||
            !gantry__infer_number(call, 1, &paddings, 2 * (int64_t)d + 1, &after))
            continue;
        call->out_shapes[0].dims[d] = call->shapes[0]->dims[d];
        if (!attrs.crops && (before < 0 || after < 0)) {
            return gantry__refuse("Paddings must be non-negative: %" PRId64 " %" PRId64, before,
                                  after);
        }
        if (call->shapes[0]->dims[d] >= 0)
            GANTRY__TRY(pad_dimension(&attrs, d, before, after, &call->out_shapes[0].dims[d]));
    }
    return GANTRY_OK;
}

typedef struct mirror_t {
    gantry__host_ints_t paddings;
    size_t mode; /* 0: REFLECT */
    bool is_open;
} mirror_t;

static gantry_status_t read_mirror(gantry__infer_t *call, mirror_t *out) {
    static const char *const modes[] = {"REFLECT", "SYMMETRIC"};
    GANTRY__TRY(gantry__infer_choice(call, "mode", modes, 2, &out->mode));
    return read_paddings(call, &out->paddings, &out->is_open);
}

/* The paddings of dimension d, which are not negative. */
static gantry_status_t mirror_of(const mirror_t *mirror, int32_t d, int64_t *out_before,
                                 int64_t *out_after) {
    *out_before = gantry__host_int(&mirror->paddings, 2 * d);
    *out_after = gantry__host_int(&mirror->paddings, 2 * d + 1);
    if (*out_before >= 0 && *out_after >= 0) return GANTRY_OK;
    return gantry__refuse("paddings must be non-negative: %" PRId64 " %" PRId64, *out_before,
                          *out_after);
}

/* A dimension of `size` has enough elements to mirror. */
static gantry_status_t check_mirrored(const mirror_t *mirror, int64_t size, int64_t before,
                                      int64_t after) {
    const bool reflects = mirror->mode == 0;
    const int64_t most = reflects ? size - 1 : size;
    if (size < 0) return GANTRY_OK;
    if (before <= most && after <= most) return GANTRY_OK;
    return gantry__refuse("paddings must be %s the dimension size: %" PRId64 ", %" PRId64
                          " %s %" PRId64,
                          reflects ? "less than" : "no greater than", before, after,
                          reflects ? "not less than" : "greater than", size);
}

gantry_status_t gantry__infer_mirror_pad(gantry__infer_t *call) {
    mirror_t mirror;
    GANTRY__TRY(read_mirror(call, &mirror));
    for (int32_t d = 0; d < call->shapes[0]->rank && !mirror.is_open; ++d) {
        int64_t before, after;
        GANTRY__TRY(mirror_of(&mirror, d, &before, &after));
        GANTRY__TRY(check_mirrored(&mirror, call->shapes[0]->dims[d], before, after));
        GANTRY__TRY(pad(&call->out_shapes[0].dims[d], before, d));
        GANTRY__TRY(pad(&call->out_shapes[0].dims[d], after, d));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_mirror_pad_grad(gantry__infer_t *call) {
    mirror_t mirror;
    GANTRY__TRY(read_mirror(call, &mirror));
    for (int32_t d = 0; d < call->shapes[0]->rank && !mirror.is_open; ++d) {
        const int64_t size = call->shapes[0]->dims[d];
        int64_t before, after;
        GANTRY__TRY(mirror_of(&mirror, d, &before, &after));
        if (size < 0) continue;
        if (before >= size || after >= size - before) {
            return gantry__refuse(
                "Total paddings must be less than the input dimension size: %" PRId64 " + %" PRId64
                " is not less than %" PRId64,
                before, after, size);
        }
        call->out_shapes[0].dims[d] = size - before - after;
        GANTRY__TRY(check_mirrored(&mirror, size - before - after, before, after));
    }
    return GANTRY_OK;
}

/* ---- Tile ---- */

gantry_status_t gantry__infer_tile(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0], *given = call->shapes[1];
    gantry_shape_t *out = &call->out_shapes[0];
    gantry__host_ints_t multiples = {.data = NULL};
    if (given->rank != 1) {
        return gantry__refuse("Expected multiples to be 1-D, but got shape %s",
                              gantry__shape_text(given).text);
    }
    if (!gantry__sizes_fit(given->dims[0], input->rank)) {
        return gantry__refuse(
            "Expected multiples argument to be a vector of length %d but got length %" PRId64,
            (int)input->rank, given->dims[0]);
    }
    *out = gantry__shape_open(input->rank);
    if (!gantry__infer_is_open(call, 1)) GANTRY__TRY(gantry__infer_ints(call, 1, &multiples));
    for (int32_t d = 0; d < input->rank; ++d) {
        const int64_t size = input->dims[d];
        int64_t multiple;
        if (!gantry__infer_number(call, 1, &multiples, d, &multiple)) continue;
        if (multiple < 0) {
            return gantry__refuse("Expected multiples[%d] >= 0, but got %" PRId64, (int)d,
                                  multiple);
        }
        if (size > 0 && multiple > INT64_MAX / size) return fail_size(size, "times", multiple, d);
        out->dims[d] = size >= 0 ? size * multiple : multiple == 0 ? 0 : -1;
    }
    return GANTRY_OK;
}

/* ---- Reverse, Roll ---- */

gantry_status_t gantry__infer_reverse(gantry__infer_t *call) {
    const gantry_shape_t *tensor = call->shapes[0];
    gantry__host_ints_t axes;
    uint32_t seen = 0;
    if (call->shapes[1]->rank != 1) {
        return gantry__refuse("'dims' must be 1-dimension, not %d", (int)call->shapes[1]->rank);
    }
    call->out_shapes[0] = *tensor;
    if (gantry__infer_is_open(call, 1)) return GANTRY_OK;
    GANTRY__TRY(gantry__infer_ints(call, 1, &axes));
    for (int64_t i = 0; tensor->rank > 0 && i < axes.count; ++i) {
        const int64_t given = gantry__host_int(&axes, i),
                      axis = given < 0 ? given + tensor->rank : given;
        if (axis < 0 || axis >= tensor->rank) {
            return gantry__refuse("'axis'[%" PRId64 "] = %" PRId64
                                  " is out of valid range [%d, %d]",
                                  i, given, -(int)tensor->rank, (int)tensor->rank - 1);
        }
        if (seen >> axis & 1) {
            return gantry__refuse("axis %" PRId64 " specified more than once.", axis);
        }
        seen |= UINT32_C(1) << axis;
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_roll(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry__host_ints_t axes;
    if (input->rank == 0) return gantry__refuse("input must be 1-D or higher");
    for (uint32_t i = 1; i < 3; ++i) {
        if (call->shapes[i]->rank <= 1) continue;
        return gantry__refuse("%s must be a scalar or a 1-D vector. Found: %s",
                              call->op->inputs[i].name, gantry__shape_text(call->shapes[i]).text);
    }
    if (!gantry__shapes_fit(call->shapes[1], call->shapes[2])) {
        return gantry__refuse("shift and axis must have the same size");
    }
    call->out_shapes[0] = *input;
    if (gantry__infer_is_open(call, 2)) return GANTRY_OK;
    GANTRY__TRY(gantry__infer_ints(call, 2, &axes));
    for (int64_t i = 0; i < axes.count; ++i) {
        const int64_t given = gantry__host_int(&axes, i),
                      axis = given < 0 ? given + input->rank : given;
        if (axis < 0 || axis >= input->rank) {
            return gantry__refuse("axis %" PRId64 " is out of range", axis);
        }
    }
    return GANTRY_OK;
}

/* ---- InvertPermutation ---- */

gantry_status_t gantry__infer_invert_permutation(gantry__infer_t *call) {
    const gantry_shape_t *x = call->shapes[0];
    if (x->rank != 1) {
        return gantry__refuse("invert_permutation expects a 1D vector. Got shape %s",
                              gantry__shape_text(x).text);
    }
    if (x->dims[0] > INT32_MAX) {
        return gantry__refuse(
            "permutation of nonnegative int32s must have <= int32 max elements, not %" PRId64,
            x->dims[0]);
    }
    call->out_shapes[0] = *x;
    return GANTRY_OK;
}
