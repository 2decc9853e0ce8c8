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
 * Two passes over the shown elements find one style for all of them (number_style.h), a third
 * writes. The trailing blanks of a row's words are held back until the line continues, because a
 * wrapped line never ends in blanks. Cost: linear in the elements shown, at most max(threshold, (2
 * edge_items)^rank). */
#include "io/tensor_format.h"

#include <stdbool.h>
#include <string.h>

#include "io/number_style.h"

typedef struct layout_t {
    const gantry_shape_t *shape;
    const char *data;
    size_t item;
    int64_t stride[GANTRY_MAX_RANK]; /* elements */
    bool summary;
    gantry__format_options_t options;
    gantry__number_style_t style;
    gantry__text_t *out;
} layout_t;

static gantry__format_options_t filled_in(const gantry__format_options_t *options) {
    gantry__format_options_t full = {
        .precision = 8, .threshold = 1000, .edge_items = 3, .line_width = 75};
    if (!options) return full;
    if (options->precision > 0) full.precision = options->precision < 32 ? options->precision : 32;
    if (options->threshold > 0) full.threshold = options->threshold;
    if (options->edge_items > 0) full.edge_items = options->edge_items;
    if (options->line_width > 0) full.line_width = options->line_width;
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
        size_t length = gantry__number_style_write(
            &layout->style, layout->data + (size_t)(offset + i) * layout->item, word);
        append_word(&row, word, length);
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

static void append_array(layout_t *layout, gantry_dtype_t dtype) {
    int64_t stride = 1;
    for (int32_t i = layout->shape->rank - 1; i >= 0; --i) {
        layout->stride[i] = stride;
        stride *= layout->shape->dims[i];
    }
    layout->summary = stride > layout->options.threshold;
    gantry__number_style_init(&layout->style, dtype, layout->options.precision);
    visit_shown(layout, 0, 0, gantry__number_style_look);
    gantry__number_style_fit(&layout->style);
    visit_shown(layout, 0, 0, gantry__number_style_measure);
    gantry__number_style_finish(&layout->style);
    append_axis(layout, 0, 0);
}

size_t gantry__format_array(gantry_dtype_t dtype, const gantry_shape_t *shape, const void *data,
                            const gantry__format_options_t *options, gantry__text_t *out) {
    size_t before = out->length;
    size_t item = gantry_dtype_size(dtype);
    int64_t count = gantry_shape_elements(shape);
    if (item == 0 || count < 0) {
        gantry__text_append(out, "<invalid>");
    } else if (count == 0) {
        gantry__text_append(out, "[]");
    } else if (shape->rank == 0) {
        char word[GANTRY__NUMBER_CHARS];
        gantry__text_append_bytes(out, word, gantry__number_write_scalar(dtype, data, word));
    } else {
        layout_t layout = {
            .shape = shape, .data = data, .item = item, .options = filled_in(options), .out = out};
        append_array(&layout, dtype);
    }
    return out->length - before;
}
