/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an equation in steps: subscripts between commas, labels spread over the shapes, sizes
 * merged by broadcasting, the output's labels. At the end, the shape function of Einsum. */
#include "op/einsum.h"

#include "op/op_infer.h"

/* The text between commas: labels, and the place of its ellipsis. */
typedef struct subscript_t {
    const char *text;
    size_t length;
    int32_t label_count;
    bool has_ellipsis;
} subscript_t;

static gantry_status_t read_subscript(const char *text, size_t length, subscript_t *out) {
    *out = (subscript_t){.text = text, .length = length};
    for (size_t i = 0; i < length; ++i) {
        if ((unsigned char)text[i] >= GANTRY__EINSUM_ELLIPSIS) {
            return gantry__refuse(
                "labels must be ASCII characters; the equation has another character");
        }
        if (text[i] != '.') {
            ++out->label_count;
        } else if (!out->has_ellipsis && length - i >= 3 && strncmp(text + i, "...", 3) == 0) {
            out->has_ellipsis = true;
            i += 2;
        } else {
            return gantry__refuse(
                "subscripts '%.*s' hold a period outside of an ellipsis (...), or two ellipses",
                (int)length, text);
        }
    }
    return GANTRY_OK;
}

/* Labels of a shape of this rank; the ellipsis takes the remaining dimensions. */
static void spread(const subscript_t *subscript, int32_t rank, gantry__labels_t *out) {
    const int32_t hidden = rank - subscript->label_count;
    out->count = 0;
    for (size_t i = 0; i < subscript->length; ++i) {
        if (subscript->text[i] != '.') {
            out->at[out->count++] = (uint8_t)subscript->text[i];
            continue;
        }
        for (int32_t k = hidden - 1; k >= 0; --k)
            out->at[out->count++] = (uint8_t)(GANTRY__EINSUM_ELLIPSIS + k);
        i += 2;
    }
}

static gantry_status_t take_size(gantry__einsum_t *e, const gantry_shape_t *const *shapes,
                                 uint32_t input, int32_t axis) {
    const uint8_t label = e->inputs[input].at[axis];
    const int64_t dim = shapes[input]->dims[axis];
    int64_t *size = &e->sizes[label];
    const bool is_hidden = label >= GANTRY__EINSUM_ELLIPSIS;
    const bool is_unused = *size == GANTRY__EINSUM_UNUSED;
    if (is_unused || (is_hidden && *size == 1)) {
        *size = dim;
        return GANTRY_OK;
    }
    if ((is_hidden && dim == 1) || gantry__merge_sizes(size, dim)) return GANTRY_OK;
    if (is_hidden) {
        return gantry__refuse("Invalid broadcasting dimensions: %s vs. %s",
                              gantry__shape_text(shapes[0]).text,
                              gantry__shape_text(shapes[1]).text);
    }
    return gantry__refuse(
        "Expected dimension %lld at axis %d of the input shaped %s but got dimension %lld",
        (long long)*size, (int)axis, gantry__shape_text(shapes[input]).text, (long long)dim);
}

static gantry_status_t einsum_read_input(gantry__einsum_t *e, const subscript_t *subscript,
                                         const gantry_shape_t *const *shapes, uint32_t input) {
    const int32_t rank = shapes[input]->rank;
    if (subscript->has_ellipsis ? rank < subscript->label_count : rank != subscript->label_count) {
        return gantry__refuse("Expected input %u to have rank %s%d but got: %d", (unsigned)input,
                              subscript->has_ellipsis ? "at least " : "",
                              (int)subscript->label_count, (int)rank);
    }
    spread(subscript, rank, &e->inputs[input]);
    for (int32_t axis = 0; axis < rank; ++axis) GANTRY__TRY(take_size(e, shapes, input, axis));
    return GANTRY_OK;
}

static gantry_status_t read_output(gantry__einsum_t *e, const subscript_t *subscript) {
    int32_t hidden = 0;
    while (hidden < GANTRY_MAX_RANK &&
           e->sizes[GANTRY__EINSUM_ELLIPSIS + hidden] != GANTRY__EINSUM_UNUSED)
        ++hidden;
    if (hidden > 0 && !subscript->has_ellipsis) {
        return gantry__refuse(
            "Output contains %d broadcasting dimension(s) but no ellipsis (...) was found in the output subscripts.",
            (int)hidden);
    }
    GANTRY__TRY(gantry__infer_rank_fits((int64_t)subscript->label_count + hidden));
    spread(subscript, subscript->label_count + hidden, &e->output);
    e->distinct.count = 0;
    for (int32_t i = 0; i < e->output.count; ++i) {
        const uint8_t label = e->output.at[i];
        if (e->sizes[label] == GANTRY__EINSUM_UNUSED) {
            return gantry__refuse("label '%c' of the output is in no input", label);
        }
        if (!gantry__has_label(&e->distinct, label)) e->distinct.at[e->distinct.count++] = label;
    }
    return GANTRY_OK;
}

static gantry_status_t read_inputs(gantry__einsum_t *e, const char *equation, const char *arrow,
                                   const gantry_shape_t *const *shapes, uint32_t shape_count) {
    uint32_t count = 1;
    for (const char *at = equation; at < arrow; ++at) count += *at == ',';
    if (count > 2) {
        return gantry__refuse("Expecting 1 or 2 input subscripts in equation '%s' but got: %u",
                              equation, (unsigned)count);
    }
    if (count != shape_count) {
        return gantry__refuse("Expected %u inputs but got: %u", (unsigned)count,
                              (unsigned)shape_count);
    }
    e->input_count = count;
    const char *begin = equation;
    for (uint32_t i = 0; i < count; ++i) {
        subscript_t subscript;
        const char *end = begin;
        while (end < arrow && *end != ',') ++end;
        GANTRY__TRY(read_subscript(begin, (size_t)(end - begin), &subscript));
        GANTRY__TRY(einsum_read_input(e, &subscript, shapes, i));
        begin = end + 1;
    }
    return GANTRY_OK;
}

gantry_status_t gantry__einsum_read(const char *equation, const gantry_shape_t *const *shapes,
                                    uint32_t shape_count, gantry__einsum_t *out_einsum) {
    const char *arrow = strstr(equation, "->");
    if (!arrow || strstr(arrow + 2, "->")) {
        return gantry__refuse("Expecting exactly one '->' in einsum equation: %s", equation);
    }
    subscript_t output;
    for (size_t i = 0; i < sizeof out_einsum->sizes / sizeof out_einsum->sizes[0]; ++i)
        out_einsum->sizes[i] = GANTRY__EINSUM_UNUSED;
    GANTRY__TRY(read_inputs(out_einsum, equation, arrow, shapes, shape_count));
    GANTRY__TRY(read_subscript(arrow + 2, strlen(arrow + 2), &output));
    return read_output(out_einsum, &output);
}

gantry_status_t gantry__infer_einsum(gantry__infer_t *call) {
    gantry__einsum_t e;
    gantry_shape_t *out = &call->out_shapes[0];
    GANTRY__TRY(gantry__einsum_read(gantry__infer_attr(call, "equation")->s, call->shapes,
                                    call->input_count, &e));
    out->rank = e.output.count;
    for (int32_t i = 0; i < out->rank; ++i) out->dims[i] = e.sizes[e.output.at[i]];
    return GANTRY_OK;
}
