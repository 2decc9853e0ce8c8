/* SPDX-License-Identifier: Apache-2.0 */
/* A table as rich draws it for Keras. A cell breaks between words; a word that is wider than the
 * column is cut, with an ellipsis. A code point is one column wide. */
#include <string.h>

#include "train/base/memory.h"
#include "train/model/summary.h"

#define ELLIPSIS "\xE2\x80\xA6"

/* ---- text ---- */

void gantry__page_put(gantry__page_t *page, const char *text) {
    for (const char *at = text; *at; ++at, ++page->length) {
        if (page->length + 1 < page->room) page->out[page->length] = *at;
    }
}

static void summary_table_put_times(gantry__page_t *page, const char *text, size_t count) {
    for (size_t i = 0; i < count; ++i) gantry__page_put(page, text);
}

static bool text_put(gantry__summary_text_t *text, char c) {
    if (!gantry__train_grow(&text->bytes, text->length, &text->capacity, 1)) return false;
    text->bytes[text->length] = c;
    return true;
}

void gantry__summary_text_add(gantry__summary_text_t *text, const char *more) {
    for (; *more && !text->has_failed; ++more) {
        text->has_failed = !text_put(text, *more);
        if (!text->has_failed) ++text->length;
    }
    if (!text->has_failed) text->has_failed = !text_put(text, '\0');
}

/* ---- words and lines ---- */

static bool is_inside(char c) { return ((unsigned char)c & 0xC0) == 0x80; } /* a code point */

/* The columns of the bytes before `end`. */
static size_t columns_of(const char *from, const char *end) {
    size_t columns = 0;
    for (; from < end; ++from) columns += !is_inside(*from);
    return columns;
}

static const char *word_end(const char *at) {
    while (*at && *at != ' ') ++at;
    return at;
}

static const char *skip_spaces(const char *at) {
    while (*at == ' ') ++at;
    return at;
}

/* Takes a line from the text. Its end is that of its last word. */
static const char *summary_table_take_line(const char **text, size_t width) {
    const char *const from = *text;
    const char *end = word_end(from), *next = skip_spaces(end);
    while (*next && columns_of(from, word_end(next)) <= width) {
        end = word_end(next);
        next = skip_spaces(end);
    }
    *text = next;
    return end;
}

/* The bytes of at most `columns`, not beyond end. */
static const char *summary_table_cut(const char *from, const char *end, size_t columns) {
    for (; from < end; ++from) {
        if (!is_inside(*from) && columns-- == 0) break;
    }
    return from;
}

static void summary_table_put_bytes(gantry__page_t *page, const char *from, const char *end) {
    char one[2] = "";
    for (; from < end; ++from) {
        one[0] = *from;
        gantry__page_put(page, one);
    }
}

static void put_cell(gantry__page_t *page, const char **text, size_t width, bool is_right) {
    const char *from = *text, *end = summary_table_take_line(text, width);
    const size_t columns = columns_of(from, end);
    const size_t gap = columns < width ? width - columns : 0;
    gantry__page_put(page, " ");
    if (is_right) summary_table_put_times(page, " ", gap);
    summary_table_put_bytes(page, from,
                            columns > width ? summary_table_cut(from, end, width - 1) : end);
    if (columns > width) gantry__page_put(page, ELLIPSIS);
    if (!is_right) summary_table_put_times(page, " ", gap);
    gantry__page_put(page, " ");
}

/* ---- the table ---- */

void gantry__table_put_rule(const gantry__table_t *table, gantry__summary_line_t rule) {
    static const struct {
        const char *left, *line, *middle, *right;
    } signs[] = {[GANTRY__RULE_TOP] = {"┏", "━", "┳", "┓\n"},
                 [GANTRY__RULE_HEAD] = {"┡", "━", "╇", "┩\n"},
                 [GANTRY__RULE_ROW] = {"├", "─", "┼", "┤\n"},
                 [GANTRY__RULE_BOTTOM] = {"└", "─", "┴", "┘\n"}};
    for (size_t i = 0; i < table->columns; ++i) {
        gantry__page_put(table->page, i == 0 ? signs[rule].left : signs[rule].middle);
        summary_table_put_times(table->page, signs[rule].line, table->widths[i] + 2);
    }
    gantry__page_put(table->page, signs[rule].right);
}

void gantry__table_put_row(const gantry__table_t *table, const char *const *cells, bool is_head) {
    const char *left[GANTRY__SUMMARY_COLUMNS], *bar = is_head ? "┃" : "│";
    bool is_done = false;
    for (size_t i = 0; i < table->columns; ++i) left[i] = skip_spaces(cells[i]);
    while (!is_done) {
        is_done = true;
        for (size_t i = 0; i < table->columns; ++i) {
            gantry__page_put(table->page, bar);
            put_cell(table->page, &left[i], table->widths[i], i == table->right);
            is_done = is_done && !*left[i];
        }
        gantry__page_put(table->page, bar);
        gantry__page_put(table->page, "\n");
    }
}
