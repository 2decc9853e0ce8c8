/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_case.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../conformance/golden_attr.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool fuzz_case_init(fuzz_case_t *c) {
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < FUZZ_MOST_INPUTS; ++i) {
        c->inputs[i].data = malloc(FUZZ_INPUT_BYTES);
        if (!c->inputs[i].data) return false;
    }
    return true;
}

void fuzz_case_deinit(fuzz_case_t *c) {
    for (size_t i = 0; i < FUZZ_MOST_INPUTS; ++i) free(c->inputs[i].data);
}

static void note(fuzz_case_t *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(fuzz_case_t *c, const char *format, ...) {
    size_t used = strlen(c->changes);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(c->changes + used, sizeof c->changes - used, format, list);
    va_end(list);
}

/* ---- from a golden case ---- */

static bool load_input(fuzz_input_t *input, const golden_tensor_t *from) {
    if (from->bytes > FUZZ_INPUT_BYTES) return false;
    input->is_null = false;
    input->dtype = from->dtype;
    input->shape = from->shape;
    input->bytes = from->bytes;
    memcpy(input->data, from->data, from->bytes);
    return true;
}

/* The list is the case's own, which changes may write. */
static bool load_attr(gantry_attr_value_t *attr, int64_t *ints, const golden_attr_t *from) {
    *attr = golden_attr_value(from);
    const size_t count = attr->list ? (size_t)attr->i : 0;
    if (count > FUZZ_MOST_INTS) return false;
    if (count > 0) memcpy(ints, attr->list, count * sizeof *ints);
    attr->list = ints;
    return true;
}

bool fuzz_case_load(fuzz_case_t *c, const golden_case_t *item) {
    c->changes[0] = '\0';
    if (item->input_count > FUZZ_MOST_INPUTS || item->attr_count > FUZZ_MOST_ATTRS) return false;
    (void)snprintf(c->op, sizeof c->op, "%s", item->op);
    c->input_count = item->input_count;
    c->attr_count = item->attr_count;
    for (size_t i = 0; i < item->input_count; ++i) {
        if (!load_input(&c->inputs[i], &item->inputs[i])) return false;
    }
    for (size_t i = 0; i < item->attr_count; ++i) {
        if (!load_attr(&c->attrs[i], c->ints[i], &item->attrs[i])) return false;
    }
    return true;
}

/* ---- extreme numbers ---- */

static int64_t odd_int(fuzz_random_t *random) {
    static const int64_t odd[] = {-1,
                                  0,
                                  1,
                                  2,
                                  3,
                                  4,
                                  7,
                                  8,
                                  9,
                                  -2,
                                  -3,
                                  100,
                                  65536,
                                  INT32_MAX,
                                  INT32_MIN,
                                  INT64_C(1) << 32,
                                  INT64_C(1) << 40,
                                  INT64_MAX,
                                  INT64_MIN,
                                  INT64_MAX - 1,
                                  -(INT64_C(1) << 62),
                                  INT64_C(1) << 62};
    return odd[fuzz_below(random, fuzz_below(random, 3) ? 11 : COUNT(odd))];
}

static double odd_float(fuzz_random_t *random) {
    static const double odd[] = {0.0,    -0.0,   1.0,   -1.0,   0.5,  1e-45,
                                 1e-310, 3.5e38, 1e300, -1e300, 88.9, 2.5};
    uint64_t pick = fuzz_below(random, COUNT(odd) + 3);
    return pick < COUNT(odd)        ? odd[pick]
           : pick == COUNT(odd)     ? (double)__builtin_nan("")
           : pick == COUNT(odd) + 1 ? __builtin_inf()
                                    : -__builtin_inf();
}

static bool is_complex(gantry_dtype_t dtype) {
    return (GANTRY_DTYPE_BIT(dtype) & GANTRY_DTYPES_COMPLEXES) != 0;
}

static gantry_dtype_t odd_type(fuzz_random_t *random) {
    static const gantry_dtype_t types[] = {
        GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_INT32,  GANTRY_UINT8,     GANTRY_INT16,
        GANTRY_INT8,    GANTRY_INT64,   GANTRY_BOOL,   GANTRY_BFLOAT16,  GANTRY_UINT16,
        GANTRY_FLOAT16, GANTRY_UINT32,  GANTRY_UINT64, GANTRY_COMPLEX64, GANTRY_COMPLEX128};
    return types[fuzz_below(random, COUNT(types))];
}

static void store(fuzz_input_t *input, size_t index, double number, int64_t integer) {
    unsigned char *at = input->data + index * gantry_dtype_size(input->dtype);
    if (input->dtype == GANTRY_BOOL) {
        *at = integer & 1;
    } else if (golden_is_float(input->dtype)) {
        golden_store_number(input->dtype, input->data, index, number);
    } else {
        /* the low bytes: little-endian, as golden files are; complex128 has two words */
        const int64_t words[2] = {integer, ~integer};
        memcpy(at, words, gantry_dtype_size(input->dtype));
    }
}

/* ---- changes of an input ---- */

/* Gives the input another shape; its bytes are repeated or cut. An input whose new shape would be
 * too large keeps its shape. */
static void reshape(fuzz_input_t *input, const gantry_shape_t *shape) {
    int64_t elements = gantry_shape_elements(shape);
    size_t size = gantry_dtype_size(input->dtype), old = input->bytes;
    if (elements < 0 || (uint64_t)elements > 4096 || (size_t)elements * size > FUZZ_INPUT_BYTES)
        return;
    input->shape = *shape;
    input->bytes = (size_t)elements * size;
    if (old == 0) memset(input->data, 0, input->bytes);
    for (size_t i = old; old > 0 && i < input->bytes; ++i) input->data[i] = input->data[i - old];
}

static void change_type(fuzz_input_t *input, fuzz_random_t *random) {
    int64_t elements = gantry_shape_elements(&input->shape);
    input->dtype = odd_type(random);
    input->bytes = (size_t)elements * gantry_dtype_size(input->dtype);
    if (input->bytes > FUZZ_INPUT_BYTES) {
        input->shape = (gantry_shape_t){.rank = 1, .dims = {5}};
        elements = 5;
        input->bytes = 5 * gantry_dtype_size(input->dtype);
    }
    for (int64_t i = 0; i < elements; ++i) {
        int64_t value = (int64_t)fuzz_below(random, 9) - 3;
        store(input, (size_t)i, (double)value * 0.75, value);
    }
}

static void change_dim(fuzz_input_t *input, fuzz_random_t *random) {
    gantry_shape_t shape = input->shape;
    if (shape.rank == 0) return;
    int64_t *dim = &shape.dims[fuzz_below(random, (uint64_t)shape.rank)];
    const int64_t sizes[] = {0, 1, 2, 3, 5, *dim > 0 ? *dim - 1 : 0, *dim + 1, *dim * 2};
    *dim = sizes[fuzz_below(random, COUNT(sizes))];
    reshape(input, &shape);
}

static void change_rank(fuzz_input_t *input, fuzz_random_t *random) {
    gantry_shape_t shape = input->shape;
    switch (fuzz_below(random, 4)) {
        case 0:
            if (shape.rank == GANTRY_MAX_RANK) return;
            memmove(&shape.dims[1], &shape.dims[0], (size_t)shape.rank * sizeof shape.dims[0]);
            shape.dims[0] = (int64_t)fuzz_below(random, 3);
            ++shape.rank;
            break;
        case 1:
            if (shape.rank == 0) return;
            --shape.rank;
            memmove(&shape.dims[0], &shape.dims[1], (size_t)shape.rank * sizeof shape.dims[0]);
            break;
        case 2: shape.rank = 0; break;
        default:
            shape.rank = (int32_t)fuzz_below(random, GANTRY_MAX_RANK + 1);
            for (int32_t d = 0; d < shape.rank; ++d)
                shape.dims[d] = 1 + (int64_t)fuzz_below(random, 3);
            break;
    }
    reshape(input, &shape);
}

static void change_values(fuzz_input_t *input, fuzz_random_t *random) {
    int64_t elements = gantry_shape_elements(&input->shape);
    if (elements <= 0 || is_complex(input->dtype)) return;
    for (uint64_t n = 1 + fuzz_below(random, 3); n > 0; --n)
        store(input, fuzz_below(random, (uint64_t)elements), odd_float(random), odd_int(random));
}

static void change_input(fuzz_case_t *c, const golden_case_t *other, fuzz_random_t *random) {
    if (c->input_count == 0) return;
    size_t i = fuzz_below(random, c->input_count);
    fuzz_input_t *input = &c->inputs[i];
    if (input->is_null) return;
    switch (fuzz_below(random, 10)) {
        case 0: note(c, " type of %zu;", i), change_type(input, random); break;
        case 1:
        case 2: note(c, " size of %zu;", i), change_dim(input, random); break;
        case 3:
        case 4: note(c, " rank of %zu;", i), change_rank(input, random); break;
        case 5:
            if (other->input_count == 0) break;
            note(c, " %zu from another;", i);
            if (!load_input(input, &other->inputs[fuzz_below(random, other->input_count)]))
                input->is_null = true;
            break;
        default: note(c, " values of %zu;", i), change_values(input, random); break;
    }
}

/* ---- changes of the call ---- */

static void swap_inputs(fuzz_case_t *c, fuzz_random_t *random) {
    if (c->input_count < 2) return;
    size_t a = fuzz_below(random, c->input_count), b = fuzz_below(random, c->input_count);
    fuzz_input_t kept = c->inputs[a];
    c->inputs[a] = c->inputs[b];
    c->inputs[b] = kept;
    note(c, " %zu for %zu;", a, b);
}

static void change_count(fuzz_case_t *c, fuzz_random_t *random) {
    if (c->input_count > 0 && fuzz_below(random, 2)) {
        --c->input_count;
        note(c, " one input less;");
    } else if (c->input_count > 0 && c->input_count < FUZZ_MOST_INPUTS) {
        fuzz_input_t *added = &c->inputs[c->input_count], *last = &c->inputs[c->input_count - 1];
        unsigned char *data = added->data;
        *added = *last;
        added->data = data;
        memcpy(data, last->data, last->bytes);
        ++c->input_count;
        note(c, " one input more;");
    }
}

static void change_attr_value(gantry_attr_value_t *attr, int64_t *ints, fuzz_random_t *random) {
    static const char *const texts[] = {"NHWC",      "NCHW", "SAME",      "VALID", "REFLECT",
                                        "SYMMETRIC", "",     "ij,jk->ik", "?"};
    switch (attr->kind) {
        case GANTRY_ATTR_BOOL: attr->i = !attr->i; break;
        case GANTRY_ATTR_INT: attr->i = odd_int(random); break;
        case GANTRY_ATTR_FLOAT: attr->f = odd_float(random); break;
        case GANTRY_ATTR_TYPE:
            attr->i = fuzz_below(random, 8) ? (int64_t)odd_type(random) : odd_int(random);
            break;
        case GANTRY_ATTR_STRING: attr->s = texts[fuzz_below(random, COUNT(texts))]; break;
        case GANTRY_ATTR_SHAPE:
        case GANTRY_ATTR_INTS:
            attr->list = ints;
            if (attr->i > 0 && fuzz_below(random, 2))
                ints[fuzz_below(random, (uint64_t)attr->i)] = odd_int(random);
            else
                attr->i = (int64_t)fuzz_below(random, FUZZ_MOST_INTS);
            break;
    }
}

static void change_attr(fuzz_case_t *c, fuzz_random_t *random) {
    if (c->attr_count == 0) return;
    size_t i = fuzz_below(random, c->attr_count);
    gantry_attr_value_t *attr = &c->attrs[i];
    note(c, " attribute %s;", attr->name);
    switch (fuzz_below(random, 8)) {
        case 0: *attr = c->attrs[--c->attr_count]; break;
        case 1: attr->name = "nonsense"; break;
        case 2:
            attr->kind = (gantry_attr_kind_t)(1 + fuzz_below(random, 7)), attr->list = c->ints[i],
            attr->s = "x";
            break;
        default: change_attr_value(attr, c->ints[i], random); break;
    }
    if (attr->kind == GANTRY_ATTR_SHAPE || attr->kind == GANTRY_ATTR_INTS) {
        /* list must hold this */
        if (attr->i < 0 || attr->i > FUZZ_MOST_INTS) attr->i = FUZZ_MOST_INTS;
    }
}

void fuzz_case_change(fuzz_case_t *c, const golden_case_t *other, fuzz_random_t *random) {
    switch (fuzz_below(random, 16)) {
        case 0: swap_inputs(c, random); break;
        case 1: change_count(c, random); break;
        case 2:
            note(c, " was %s;", c->op), (void)snprintf(c->op, sizeof c->op, "%s", other->op);
            break;
        case 3:
            if (c->input_count > 0 && fuzz_below(random, 4) == 0)
                c->inputs[fuzz_below(random, c->input_count)].is_null = true;
            break;
        case 4:
        case 5:
        case 6: change_attr(c, random); break;
        default: change_input(c, other, random); break;
    }
}

/* ---- a line of text ---- */

static void put(char *out, size_t bytes, size_t *used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void put(char *out, size_t bytes, size_t *used, const char *format, ...) {
    va_list list;
    if (*used >= bytes) return;
    va_start(list, format);
    *used += (size_t)vsnprintf(out + *used, bytes - *used, format, list);
    va_end(list);
}

static void put_attr(const gantry_attr_value_t *attr, char *out, size_t bytes, size_t *used) {
    put(out, bytes, used, " %s=", attr->name);
    switch (attr->kind) {
        case GANTRY_ATTR_FLOAT: put(out, bytes, used, "%g", attr->f); break;
        case GANTRY_ATTR_STRING: put(out, bytes, used, "\"%s\"", attr->s); break;
        case GANTRY_ATTR_TYPE:
            put(out, bytes, used, "%s", gantry_dtype_name((gantry_dtype_t)attr->i));
            break;
        case GANTRY_ATTR_SHAPE:
        case GANTRY_ATTR_INTS:
            for (int64_t k = 0; k < attr->i; ++k)
                put(out, bytes, used, "%s%" PRId64, k ? "," : "[", attr->list[k]);
            put(out, bytes, used, attr->i ? "]" : "[]");
            break;
        default: put(out, bytes, used, "%" PRId64, attr->i); break;
    }
}

static void put_values(const fuzz_input_t *input, char *out, size_t bytes, size_t *used) {
    size_t size = gantry_dtype_size(input->dtype), count = size ? input->bytes / size : 0;
    if (count == 0 || count > 6 || is_complex(input->dtype)) return;
    for (size_t i = 0; i < count; ++i) {
        int64_t value = 0;
        memcpy(&value, input->data + i * size, size);
        if (golden_is_float(input->dtype))
            put(out, bytes, used, "%s%.9g", i ? " " : "{",
                golden_number_at(input->dtype, input->data, i));
        else
            put(out, bytes, used, "%s%" PRId64, i ? " " : "{",
                (int64_t)((uint64_t)value << (64 - 8 * size)) >> (64 - 8 * size));
    }
    put(out, bytes, used, "}");
}

void fuzz_case_print(const fuzz_case_t *c, char *out, size_t out_bytes) {
    size_t used = 0;
    put(out, out_bytes, &used, "%s(", c->op);
    for (size_t i = 0; i < c->input_count; ++i) {
        const fuzz_input_t *input = &c->inputs[i];
        char shape[256] = "NULL";
        if (!input->is_null) (void)gantry_shape_format(&input->shape, shape, sizeof shape);
        put(out, out_bytes, &used, "%s%s%s", i ? ", " : "",
            input->is_null ? "" : gantry_dtype_name(input->dtype), shape);
        if (!input->is_null) put_values(input, out, out_bytes, &used);
    }
    put(out, out_bytes, &used, ")");
    for (size_t i = 0; i < c->attr_count; ++i) put_attr(&c->attrs[i], out, out_bytes, &used);
    if (c->changes[0]) put(out, out_bytes, &used, "   changed:%s", c->changes);
}
