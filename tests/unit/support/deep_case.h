/* SPDX-License-Identifier: Apache-2.0 */
/* A golden call with more dimensions, until an operand or a result has eight. The new dimensions
 * hold copies: each is the call itself, with the elements of its operands in another order, so that
 * the calls of few dimensions say what the call of eight must give.
 *
 *     Sum(f32[2,3], 1)  ->  Sum(f32[2,1,1,1,1,2, 2,3], 7): four copies
 *
 * deep_rows.h says for each op which operands get the dimensions, and where. Header only. Owner:
 * deep_close frees what deep_open made. Threads: externally synchronised. */
#ifndef TESTS_DEEP_CASE_H
#define TESTS_DEEP_CASE_H

#include <stdlib.h>

#include "deep_rows.h"
#include "golden_cases.h"

#define DEEP_MOST 16 /* operands or outputs */

typedef struct deep_call_t {
    const golden_case_t *item;
    const deep_row_t *row;
    size_t input_count, output_count; /* the case may have more operands than the op has inputs */
    gantry_shape_t out_shapes[DEEP_MOST]; /* of a call without more dimensions */
    int32_t more;                         /* dimensions */
    int64_t sizes[GANTRY_MAX_RANK];       /* of them */
    int64_t copies;
    bool alternates; /* operands have every second of the new dimensions, in turn */
    golden_tensor_t inputs[DEEP_MOST];
    gantry_attr_value_t attrs[GOLDEN_MOST_ATTRS];
    size_t attr_count;
    int64_t lists[GOLDEN_MOST_ATTRS][2 * GANTRY_MAX_RANK];
    char equation[128];
} deep_call_t;

/* ---- letters ---- */

/* The letter of operand i of count: "d*a" repeats the d for all that the others leave. */
static inline char deep_letter(const char *letters, size_t i, size_t count) {
    const char *star = strchr(letters, '*');
    if (!star) {
        const size_t length = strlen(letters);
        return letters[i < length ? i : length - 1];
    }
    const size_t before = (size_t)(star - letters) - 1, after = strlen(star + 1);
    if (i < before) return letters[i];
    return i + after < count ? star[-1] : star[1 + i + after - count];
}

static inline bool deep_is_data(char letter) { return strchr("dbD", letter) != NULL; }

/* Operands after the inputs are weights of the outputs: gradient_case.h. */
static inline char deep_input_letter(const deep_call_t *c, size_t i) {
    if (i >= c->input_count) return c->row->outputs[0] == 'd' ? 'd' : '-';
    const char letter = deep_letter(c->row->inputs, i, c->input_count);
    if (letter != 'B') return letter;
    return c->item->inputs[i].shape.rank < 2 ? '-' : 'b';
}

static inline char deep_output_letter(const deep_call_t *c, size_t i) {
    return deep_letter(c->row->outputs, i, c->output_count);
}

/* Whether operand i has the new dimension k; where it has not, its size is 1. */
static inline bool deep_has(const deep_call_t *c, size_t i, int32_t k) {
    if (!deep_is_data(deep_input_letter(c, i))) return false;
    return !c->alternates || i >= c->input_count || (size_t)k % 2 == i % 2;
}

/* ---- copies ---- */

/* Which of its own copies operand i has in copy `copy` of the call. */
static inline int64_t deep_copy_of(const deep_call_t *c, size_t i, int64_t copy) {
    int64_t own = 0, step = 1;
    for (int32_t k = c->more; k-- > 0; copy /= c->sizes[k]) {
        if (!deep_has(c, i, k)) continue;
        own += copy % c->sizes[k] * step;
        step *= c->sizes[k];
    }
    return own;
}

static inline int64_t deep_copies_of(const deep_call_t *c, size_t i) {
    return deep_copy_of(c, i, c->copies - 1) + 1;
}

/* Where element e of a copy is among those of all copies. */
static inline size_t deep_place(const deep_call_t *c, size_t e, int64_t copy, size_t count,
                                int64_t copies) {
    return c->row->side == DEEP_AFTER ? e * (size_t)copies + (size_t)copy
                                      : (size_t)copy * count + e;
}

/* The elements of a copy: those of the case, moved on by some. The caller frees them. */
static inline void *deep_copy_values(const golden_tensor_t *given, char letter, int64_t copy) {
    const size_t size = gantry_dtype_size(given->dtype), count = given->bytes / size;
    char *values = malloc(given->bytes + 1);
    assert_non_null(values);
    for (size_t e = 0; e < count; ++e) {
        const size_t from = letter == 'D' ? e : (e + (size_t)copy) % count;
        memcpy(values + e * size, (const char *)given->data + from * size, size);
    }
    return values;
}

/* ---- operands ---- */

static inline void deep_raise_shape(const deep_call_t *c, size_t i, char letter, int32_t largest,
                                    gantry_shape_t *shape) {
    gantry_shape_t made = {0};
    const int32_t at = c->row->side == DEEP_AFTER    ? shape->rank
                       : c->row->side == DEEP_SECOND ? 1
                                                     : 0;
    for (int32_t d = 0; d < at; ++d) made.dims[made.rank++] = shape->dims[d];
    for (int32_t k = 0; k < c->more; ++k)
        made.dims[made.rank++] = deep_has(c, i, k) ? c->sizes[k] : 1;
    for (int32_t d = shape->rank; letter == 'b' && d < largest; ++d) made.dims[made.rank++] = 1;
    for (int32_t d = at; d < shape->rank; ++d) made.dims[made.rank++] = shape->dims[d];
    *shape = made;
}

static inline void deep_raise_data(deep_call_t *c, size_t i, char letter, int32_t largest) {
    const golden_tensor_t *given = &c->item->inputs[i];
    golden_tensor_t *out = &c->inputs[i];
    const size_t size = gantry_dtype_size(given->dtype), count = given->bytes / size;
    const int64_t copies = deep_copies_of(c, i);
    *out = (golden_tensor_t){
        .dtype = given->dtype, .shape = given->shape, .bytes = given->bytes * (size_t)copies};
    deep_raise_shape(c, i, letter, largest, &out->shape);
    out->data = malloc(out->bytes + 1);
    assert_non_null(out->data);
    for (int64_t copy = 0; copy < copies; ++copy) {
        char *values = deep_copy_values(given, letter, copy);
        for (size_t e = 0; e < count; ++e)
            memcpy((char *)out->data + deep_place(c, e, copy, count, copies) * size,
                   values + e * size, size);
        free(values);
    }
}

static inline double deep_number(const golden_tensor_t *t, size_t e) {
    if (golden_is_float(t->dtype)) return golden_number_at(t->dtype, t->data, e);
    switch (gantry_dtype_size(t->dtype)) {
        case 1: return ((const int8_t *)t->data)[e];
        case 2: return ((const int16_t *)t->data)[e];
        case 4: return ((const int32_t *)t->data)[e];
        default: return (double)((const int64_t *)t->data)[e];
    }
}

static inline void deep_put_number(golden_tensor_t *t, size_t e, double value) {
    if (golden_is_float(t->dtype)) {
        golden_store_number(t->dtype, t->data, e, value);
        return;
    }
    switch (gantry_dtype_size(t->dtype)) {
        case 1: ((int8_t *)t->data)[e] = (int8_t)value; break;
        case 2: ((int16_t *)t->data)[e] = (int16_t)value; break;
        case 4: ((int32_t *)t->data)[e] = (int32_t)value; break;
        default: ((int64_t *)t->data)[e] = (int64_t)value; break;
    }
}

/* An axis in the call of more dimensions. */
static inline int64_t deep_axis(const deep_call_t *c, int64_t axis) {
    const bool is_after = c->row->side == DEEP_AFTER;
    return axis >= 0 && !is_after ? axis + c->more : axis < 0 && is_after ? axis - c->more : axis;
}

static inline void deep_move_axes(const deep_call_t *c, golden_tensor_t *axes) {
    for (size_t e = 0; e < axes->bytes / gantry_dtype_size(axes->dtype); ++e)
        deep_put_number(axes, e, (double)deep_axis(c, (int64_t)deep_number(axes, e)));
}

/* What a vector of a number for each dimension, or of two, has for a new one. */
static inline double deep_new_number(const deep_call_t *c, char letter, size_t e) {
    switch (letter) {
        case 's':
        case 'S': return (double)c->sizes[e];
        case '1': return 1;
        case 'E': return 1;
        case 'z': return -1;
        case 'm': return (double)(c->row->side == DEEP_AFTER ? c->more : 0) + (double)e;
        default: return 0;
    }
}

/* Numbers of each dimension; 'r' and 'R': all begins, then all ends. An empty vector stays so for
 * a capital letter. */
static inline void deep_raise_numbers(deep_call_t *c, size_t i, char letter) {
    const golden_tensor_t *given = &c->item->inputs[i];
    golden_tensor_t *out = &c->inputs[i];
    const size_t size = gantry_dtype_size(given->dtype), parts = letter == 'R' ? 2 : 1,
                 count = given->bytes / size / parts, each = letter == 'p' ? 2 : 1,
                 more = (size_t)c->more * each, at = c->row->side == DEEP_AFTER ? count : 0;
    *out = (golden_tensor_t){
        .dtype = given->dtype, .shape = given->shape, .bytes = (count + more) * parts * size};
    out->shape.dims[0] += (int64_t)(more / each * parts);
    out->data = malloc(out->bytes + 1);
    assert_non_null(out->data);
    for (size_t part = 0; part < parts; ++part) {
        for (size_t e = 0; e < count + more; ++e) {
            const bool is_new = e >= at && e < at + more;
            const size_t from = part * count + (e < at ? e : e - more),
                         to = part * (count + more) + e;
            if (is_new && letter == 'R')
                deep_put_number(out, to, (double)part);
            else if (is_new)
                deep_put_number(out, to, deep_new_number(c, letter, (e - at) / each));
            else if (letter == 'm')
                deep_put_number(out, to, (double)deep_axis(c, (int64_t)deep_number(given, from)));
            else /* any bits */
                memcpy((char *)out->data + to * size, (const char *)given->data + from * size,
                       size);
        }
    }
}

static inline void deep_raise_input(deep_call_t *c, size_t i, int32_t largest) {
    const golden_tensor_t *given = &c->item->inputs[i];
    const golden_attr_t *axes = golden_find_attr(c->item, "axes");
    const char letter = deep_input_letter(c, i);
    const bool stays = letter == '-' || letter == 'a' ||
                       (strchr("SER", letter) && (given->bytes == 0 || (axes && axes->int_count)));
    if (deep_is_data(letter)) {
        deep_raise_data(c, i, letter, largest);
    } else if (!stays) {
        deep_raise_numbers(c, i, letter);
    } else {
        c->inputs[i] = *given;
        c->inputs[i].data = deep_copy_values(given, 'D', 0);
        if (letter == 'a') deep_move_axes(c, &c->inputs[i]);
    }
}

/* ---- attributes ---- */

static inline void deep_raise_list(deep_call_t *c, gantry_attr_value_t *attr, bool are_axes) {
    const bool are_sizes = strcmp(attr->name, "batch_shape") == 0;
    const int64_t before = are_axes ? 0 : c->more;
    const size_t at = c->attr_count;
    for (int64_t k = 0; k < before; ++k) c->lists[at][k] = are_sizes ? c->sizes[k] : 0;
    for (int64_t k = 0; k < attr->i; ++k)
        c->lists[at][before + k] = are_axes ? deep_axis(c, attr->list[k]) : attr->list[k];
    attr->list = c->lists[at];
    attr->i += before;
}

/* "ij,jk->ik" becomes "...ij,...jk->...ik". */
static inline void deep_raise_equation(deep_call_t *c, gantry_attr_value_t *attr) {
    size_t length = (size_t)snprintf(c->equation, sizeof c->equation, "...");
    for (const char *at = attr->s; *at && length + 5 < sizeof c->equation; ++at) {
        if (*at == ' ') continue;
        c->equation[length++] = *at;
        const bool ends = *at == ',' || *at == '>';
        for (int k = 0; k < 3 && ends; ++k) c->equation[length++] = '.';
        c->equation[length] = 0;
    }
    attr->s = c->equation;
}

static inline void deep_raise_attr(deep_call_t *c, const golden_attr_t *given) {
    gantry_attr_value_t attr = golden_attr_value(given);
    const bool are_axes =
        strcmp(given->name, "axes") == 0 || strcmp(given->name, "squeeze_dims") == 0;
    const bool is_list = are_axes || strcmp(given->name, "batch_shape") == 0 ||
                         (strcmp(given->name, "interior") == 0 && attr.i > 0);
    if (strncmp(given->name, "test_", 5) == 0) return;
    if (strcmp(given->name, "axis") == 0) attr.i = deep_axis(c, attr.i);
    if (strcmp(given->name, "batch_dims") == 0 && c->row->side == DEEP_BEFORE) attr.i += c->more;
    if (is_list) deep_raise_list(c, &attr, are_axes);
    if (strcmp(given->name, "equation") == 0) deep_raise_equation(c, &attr);
    c->attrs[c->attr_count++] = attr;
}

/* An axis that is left out is the first one. */
static inline void deep_raise_attrs(deep_call_t *c) {
    for (size_t i = 0; i < c->item->attr_count; ++i) deep_raise_attr(c, &c->item->attrs[i]);
    if (c->row->attr && strcmp(c->row->attr, "axis") == 0 && !golden_find_attr(c->item, "axis"))
        c->attrs[c->attr_count++] =
            (gantry_attr_value_t){.kind = GANTRY_ATTR_INT, .name = "axis", .i = deep_axis(c, 0)};
}

/* ---- calls ---- */

/* Whether a case is of the row's kind: it has what the row needs. */
static inline bool deep_fits(const deep_row_t *row, const golden_case_t *item) {
    const golden_attr_t *format = golden_find_attr(item, "data_format"),
                        *equation = golden_find_attr(item, "equation"),
                        *dims = golden_find_attr(item, "squeeze_dims"),
                        *policy = golden_find_attr(item, "keep_aspect_ratio_policy"),
                        *ellipsis = golden_find_attr(item, "ellipsis_mask"),
                        *batch = golden_find_attr(item, "batch_dims"),
                        *shapes = golden_find_attr(item, "incompatible_shape_error");
    const bool channels_second = format && strncmp(format->string_value, "NC", 2) == 0;
    if (format && channels_second != (row->side == DEEP_AFTER)) return false;
    if (equation && (strchr(equation->string_value, '.') || !strchr(equation->string_value, '>')))
        return false;
    if (strcmp(row->op, "Squeeze") == 0 && (!dims || dims->int_count == 0)) return false;
    if (policy && strcmp(policy->string_value, "STRETCH") != 0) return false;
    if (shapes && !shapes->bool_value) return false;
    if ((strcmp(row->inputs, "da") == 0 || strchr(row->inputs, 'S')) &&
        item->inputs[0].shape.rank == 0)
        return false; /* a scalar has axes that are no axes of eight dimensions */
    if (ellipsis && ellipsis->int_value != 0) return false;
    if (strcmp(row->inputs, "-D") == 0 && batch && batch->int_value > 0) return false;
    if (row->attr && strcmp(row->attr, "batch_dims") == 0) return batch && batch->int_value > 0;
    if (row->attr && strcmp(row->attr, "axis") != 0 && !golden_find_attr(item, row->attr))
        return false;
    return item->input_count <= DEEP_MOST;
}

/* The largest rank of what gets more dimensions. */
static inline int32_t deep_largest(const deep_call_t *c) {
    int32_t largest = 0;
    for (size_t i = 0; i < c->input_count; ++i) {
        const int32_t rank = c->item->inputs[i].shape.rank;
        if (deep_is_data(deep_input_letter(c, i)) && rank > largest) largest = rank;
    }
    for (size_t k = 0; k < c->output_count; ++k) {
        if (deep_output_letter(c, k) == 'd' && c->out_shapes[k].rank > largest)
            largest = c->out_shapes[k].rank;
    }
    return largest;
}

/* Makes the call of eight dimensions; c has item, row, input_count and the results' shapes. False:
 * there are eight already, or new dimensions would have no copies. */
static inline bool deep_open(deep_call_t *c, bool alternates) {
    const int32_t largest = deep_largest(c);
    c->more = GANTRY_MAX_RANK - largest;
    c->alternates = alternates;
    c->copies = 1;
    if (c->more == 0 || (alternates && c->more < 2)) return false;
    for (int32_t k = 0; k < c->more; ++k) {
        const bool is_many =
            c->row->side != DEEP_SECOND && (alternates ? k < 4 : k == 0 || k == c->more - 1);
        c->sizes[k] = is_many ? 2 : 1;
        c->copies *= c->sizes[k];
    }
    for (size_t i = 0; i < c->item->input_count; ++i) deep_raise_input(c, i, largest);
    deep_raise_attrs(c);
    return true;
}

static inline void deep_close(deep_call_t *c) {
    for (size_t i = 0; i < DEEP_MOST; ++i) free(c->inputs[i].data);
    memset(c->inputs, 0, sizeof c->inputs);
}

/* The shape that result k must have. */
static inline gantry_shape_t deep_out_shape(const deep_call_t *c, size_t k) {
    gantry_shape_t shape = c->out_shapes[k];
    if (deep_output_letter(c, k) == 'd') deep_raise_shape(c, DEEP_MOST, 'd', 0, &shape);
    return shape;
}

#endif
