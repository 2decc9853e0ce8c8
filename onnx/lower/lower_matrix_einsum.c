/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum. Gantry's op takes one or two operands, and no spaces. More operands are joined one by
 * one, from the first on; a join keeps the labels that later operands or the output have. */
#include <string.h>

#include "onnx/lower/move.h"

typedef const gantry_tensor_t tensor;

#define ELLIPSIS '.'
#define MOST_LABELS (GANTRY_MAX_RANK + 1)

/* Labels of an operand, an ellipsis as one of them. */
typedef struct einsum_term_t {
    char labels[2 * MOST_LABELS + 1]; /* Of the two operands of a join. */
} einsum_term_t;

static bool is_label(int letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

static bool term_has(const einsum_term_t *term, char label) {
    return strchr(term->labels, label) != NULL;
}

/* Reads a term up to a comma, an arrow or the end; NULL: it is none. */
static const char *read_term(const char *text, einsum_term_t *term) {
    size_t count = 0;
    *term = (einsum_term_t){{0}};
    for (; *text && *text != ',' && *text != '-'; ++text) {
        char label = *text;
        if (label == ' ') continue;
        if (label == '.') {
            if (strncmp(text, "...", 3) != 0 || term_has(term, ELLIPSIS)) return NULL;
            text += 2;
        } else if (!is_label(label)) {
            return NULL;
        }
        if (count == MOST_LABELS) return NULL;
        term->labels[count++] = label;
    }
    return text;
}

/* The output that an equation without an arrow has: labels that occur once, in order. */
static void imply_output(const einsum_term_t *terms, size_t count, einsum_term_t *output) {
    size_t found = 0;
    *output = (einsum_term_t){{0}};
    for (int label = ELLIPSIS; label <= 'z'; ++label) {
        size_t uses = 0;
        if (label != ELLIPSIS && !is_label(label)) continue;
        for (size_t i = 0; i < count; ++i) {
            for (const char *at = terms[i].labels; *at; ++at) uses += *at == label;
        }
        if ((uses == 1 || (uses > 0 && label == ELLIPSIS)) && found < 2 * MOST_LABELS)
            output->labels[found++] = (char)label;
    }
}

/* Reads the terms of all operands, and that of the output after them. */
static gantry_status_t read_equation(gantry__onnx_call_t *call, const char *equation,
                                     einsum_term_t *terms) {
    const size_t count = call->input_count;
    const char *at = equation;
    for (size_t i = 0; i < count && at; ++i) {
        at = read_term(at, &terms[i]);
        if (at && i + 1 < count) at = *at == ',' ? at + 1 : NULL;
    }
    if (at && !*at)
        imply_output(terms, count, &terms[count]);
    else if (at && strncmp(at, "->", 2) == 0)
        at = read_term(at + 2, &terms[count]);
    else
        at = NULL;
    if (at && !*at) return GANTRY_OK;
    return gantry__onnx_invalid(
        call,
        "equation '%s'; it has a term of letters, with one ... at most, for each of the %zu "
        "operands, and an arrow with a term",
        equation, count);
}

static size_t write_term(char *text, const einsum_term_t *term) {
    size_t count = 0;
    for (const char *at = term->labels; *at; ++at) {
        const size_t size = *at == ELLIPSIS ? 3 : 1;
        memset(text + count, *at, size);
        count += size;
    }
    text[count] = 0;
    return count;
}

/* Joins x, and y if it is not NULL, to the labels of `to`. */
static tensor *join_terms(gantry__onnx_call_t *call, tensor *x, const einsum_term_t *of_x,
                          tensor *y, const einsum_term_t *of_y, const einsum_term_t *to) {
    char text[3 * (2 * MOST_LABELS + 3) + 4];
    tensor *const inputs[] = {x, y};
    size_t at = write_term(text, of_x);
    if (y) {
        text[at++] = ',';
        at += write_term(text + at, of_y);
    }
    memcpy(text + at, "->", 2);
    (void)write_term(text + at + 2, to);
    return gantry_einsum(call->scope, text, inputs, y ? 2 : 1);
}

/* The labels of two terms that a later one has. */
static einsum_term_t labels_to_keep(const einsum_term_t *x, const einsum_term_t *y,
                                    const einsum_term_t *later, size_t later_count) {
    const einsum_term_t *const both[] = {x, y};
    einsum_term_t kept = {{0}};
    size_t count = 0;
    for (size_t i = 0; i < 2; ++i) {
        for (const char *at = both[i]->labels; *at; ++at) {
            bool is_needed = false;
            for (size_t k = 0; k < later_count; ++k)
                is_needed = is_needed || term_has(&later[k], *at);
            if (is_needed && !term_has(&kept, *at) && count < 2 * MOST_LABELS)
                kept.labels[count++] = *at;
        }
    }
    return kept;
}

gantry_status_t gantry__onnx_lower_einsum(gantry__onnx_call_t *call) {
    const char *equation = gantry__onnx_attr_text(call, "equation", "");
    const size_t count = call->input_count;
    einsum_term_t *terms = gantry__onnx_scratch(call, count + 1, sizeof *terms);
    if (!terms) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(read_equation(call, equation, terms));
    const einsum_term_t *output = &terms[count];
    tensor *x = gantry__onnx_input(call, 0);
    einsum_term_t of_x = terms[0];
    if (count == 1) return gantry__onnx_give(call, join_terms(call, x, &of_x, NULL, NULL, output));
    for (size_t i = 1; i < count; ++i) {
        const einsum_term_t to =
            i + 1 < count ? labels_to_keep(&of_x, &terms[i], &terms[i + 1], count - i) : *output;
        if (strlen(to.labels) > MOST_LABELS)
            return gantry__onnx_unsupported(call, "equation '%s' with %zu labels at once", equation,
                                            strlen(to.labels));
        x = join_terms(call, x, &of_x, gantry__onnx_input(call, i), &terms[i], &to);
        of_x = to;
    }
    return gantry__onnx_give(call, x);
}
