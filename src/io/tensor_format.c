/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of an array's text.
 *
 *     [[ 1.   2.5]
 *      [10.   0. ]]
 *
 * Each axis except the last puts its parts on lines of their own, with one more blank line between
 * them for each further axis inside; the last axis is a row, wrapped at line_width. Parts are
 * indented by one column more than the array around them. Of a large array only the edges of each
 * axis are shown, with ... between.
 *
 * TensorFlow puts the same text into a frame with shape and type, on lines of its own if it has
 * several.
 *
 * Two passes over the shown elements find one style for all of them (number_style.h), a third
 * writes. The trailing blanks of a row's words are held back until the line continues, because a
 * wrapped line never ends in blanks. Cost: linear in the elements shown, at most max(threshold, (2
 * edge_items)^rank). */
#include "io/tensor_format.h"

#include <inttypes.h>
#include <string.h>

#include "io/number_style.h"

#include "ops/type_rows.h"

typedef struct layout_t {
    const gantry_shape_t *shape;
    const char *data;
    gantry_dtype_t dtype;
    size_t item;
    bool general;                    /* each number by itself */
    int64_t stride[GANTRY_MAX_RANK]; /* elements */
    bool summary;
    gantry__format_options_t options;
    gantry__number_style_t style;
    gantry__text_t *out;
} layout_t;

static gantry__format_options_t filled_in(const gantry__format_options_t *options) {
    gantry__format_options_t full = options ? *options : (gantry__format_options_t){0};
    full.precision = full.precision <= 0 ? 8 : full.precision < 32 ? full.precision : 32;
    if (full.threshold <= 0) full.threshold = 1000;
    if (full.edge_items <= 0) full.edge_items = 3;
    if (full.line_width <= 0) full.line_width = 75;
    return full;
}

static bool leaves_out(const layout_t *layout, int32_t axis) {
    return layout->summary && layout->shape->dims[axis] > 2 * (int64_t)layout->options.edge_items;
}

/* The index shown after i: the next one, or the first of the trailing edge. */
static int64_t next_shown(const layout_t *layout, int32_t axis, int64_t i) {
    bool at_gap = leaves_out(layout, axis) && i + 1 == layout->options.edge_items;
    return at_gap ? layout->shape->dims[axis] - layout->options.edge_items : i + 1;
}

typedef void (*visit_fn)(gantry__number_style_t *style, const void *element);

static void visit_shown(layout_t *layout, int32_t axis, int64_t offset, visit_fn visit) {
    if (axis == layout->shape->rank) {
        visit(&layout->style, layout->data + (size_t)offset * layout->item);
        return;
    }
    for (int64_t i = 0; i < layout->shape->dims[axis]; i = next_shown(layout, axis, i)) {
        visit_shown(layout, axis + 1, offset + i * layout->stride[axis], visit);
    }
}

static size_t write_word(const layout_t *layout, int64_t offset, char word[GANTRY__NUMBER_CHARS]) {
    const void *element = layout->data + (size_t)offset * layout->item;
    if (layout->general) return gantry__number_write_general(layout->dtype, element, word);
    return layout->shape->rank > 0 ? gantry__number_style_write(&layout->style, element, word)
                                   : gantry__number_write_scalar(layout->dtype, element, word);
}

/* ---- one row ---- */

typedef struct row_t {
    gantry__text_t *out;
    int32_t column;
    int32_t indent;
    int32_t limit;
    int32_t blanks; /* held back; counted in column */
} row_t;

static void append_blanks(gantry__text_t *out, int32_t count) {
    gantry__text_append(out, "%*s", (int)count, "");
}

static void flush_blanks(row_t *row) {
    append_blanks(row->out, row->blanks);
    row->blanks = 0;
}

static void append_word(row_t *row, const char *word, size_t length) {
    bool wrap = row->column + (int32_t)length > row->limit && row->column > row->indent;
    if (wrap) {
        row->blanks = 0;
        gantry__text_append_bytes(row->out, "\n", 1);
        append_blanks(row->out, row->indent);
        row->column = row->indent;
    }
    flush_blanks(row);
    row->column += (int32_t)length;
    while (length > 0 && word[length - 1] == ' ') {
        --length;
        ++row->blanks;
    }
    gantry__text_append_bytes(row->out, word, length);
}

static void append_separator(row_t *row) {
    ++row->blanks;
    ++row->column;
}

static void append_row(layout_t *layout, int32_t axis, int64_t offset) {
    int32_t closing = axis + 1; /* brackets that may follow: one for each axis */
    row_t row = {.out = layout->out,
                 .column = axis + 1,
                 .indent = axis + 1,
                 .limit = layout->options.line_width - closing};
    char word[GANTRY__NUMBER_CHARS];
    int64_t next;
    for (int64_t i = 0; i < layout->shape->dims[axis]; i = next) {
        if (i > 0) append_separator(&row);
        append_word(&row, word, write_word(layout, offset + i, word));
        next = next_shown(layout, axis, i);
        if (next > i + 1) {
            append_separator(&row);
            append_word(&row, "...", 3);
        }
    }
    flush_blanks(&row);
}

/* ---- all axes ---- */

static void append_new_lines(layout_t *layout, int32_t axis) {
    for (int32_t i = layout->shape->rank - 1; i > axis; --i)
        gantry__text_append_bytes(layout->out, "\n", 1);
    append_blanks(layout->out, axis + 1);
}

static void append_axis(layout_t *layout, int32_t axis, int64_t offset) {
    gantry__text_append_bytes(layout->out, "[", 1);
    if (axis == layout->shape->rank - 1) {
        append_row(layout, axis, offset);
        gantry__text_append_bytes(layout->out, "]", 1);
        return;
    }
    int64_t next;
    for (int64_t i = 0; i < layout->shape->dims[axis]; i = next) {
        if (i > 0) append_new_lines(layout, axis);
        append_axis(layout, axis + 1, offset + i * layout->stride[axis]);
        next = next_shown(layout, axis, i);
        if (next > i + 1) {
            append_new_lines(layout, axis);
            gantry__text_append_bytes(layout->out, "...", 3);
        }
    }
    gantry__text_append_bytes(layout->out, "]", 1);
}

static void append_array(layout_t *layout) {
    int64_t stride = 1;
    for (int32_t i = layout->shape->rank - 1; i >= 0; --i) {
        layout->stride[i] = stride;
        stride *= layout->shape->dims[i];
    }
    layout->summary = stride > layout->options.threshold;
    gantry__number_style_init(&layout->style, layout->dtype, layout->options.precision,
                              layout->options.suppress);
    visit_shown(layout, 0, 0, gantry__number_style_look);
    gantry__number_style_fit(&layout->style);
    visit_shown(layout, 0, 0, gantry__number_style_measure);
    gantry__number_style_finish(&layout->style);
    append_axis(layout, 0, 0);
}

static void append_values(layout_t *layout, int64_t count) {
    char word[GANTRY__NUMBER_CHARS];
    if (count == 0) {
        gantry__text_append(layout->out, "[]");
    } else if (layout->shape->rank == 0) {
        gantry__text_append_bytes(layout->out, word, write_word(layout, 0, word));
    } else {
        append_array(layout);
    }
}

/* ---- TensorFlow's frame ---- */

/* Takes away the byte in front of what begins at `begin`, unless that has several lines. */
static void join_one_line(gantry__text_t *text, size_t begin) {
    if (text->failed || memchr(text->bytes + begin, '\n', text->length - begin)) return;
    memmove(text->bytes + begin - 1, text->bytes + begin, text->length - begin + 1);
    --text->length;
}

static void append_framed(layout_t *layout, int64_t count) {
    gantry__text_t *out = layout->out;
    const gantry_shape_t *shape = layout->shape;
    gantry__text_append(out, "tf.Tensor(\n");
    const size_t begin = out->length;
    append_values(layout, count);
    join_one_line(out, begin);
    gantry__text_append(out, ", shape=(");
    for (int32_t i = 0; i < shape->rank; ++i)
        gantry__text_append(out, i > 0 ? ", %" PRId64 : "%" PRId64, shape->dims[i]);
    gantry__text_append(out, shape->rank == 1 ? ",), dtype=%s)" : "), dtype=%s)",
                        gantry_dtype_name(layout->dtype));
}

size_t gantry__format_array(gantry_dtype_t dtype, const gantry_shape_t *shape, const void *data,
                            const gantry__format_options_t *options, gantry__text_t *out) {
    const size_t before = out->length;
    const int64_t count = gantry_shape_elements(shape);
    layout_t layout = {.shape = shape,
                       .data = data,
                       .dtype = dtype,
                       .item = gantry_dtype_size(dtype),
                       .options = filled_in(options),
                       .out = out};
    const bool is_of_ml_dtypes = dtype == GANTRY_BFLOAT16 || GANTRY__TYPE_IS(dtype, QUARTERS);
    layout.general = layout.options.as_tensorflow && is_of_ml_dtypes;
    if (layout.item == 0 || count < 0) {
        gantry__text_append(out, "<invalid>");
    } else if (layout.options.as_tensorflow) {
        append_framed(&layout, count);
    } else {
        append_values(&layout, count);
    }
    return out->length - before;
}
