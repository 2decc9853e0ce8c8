/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of ops over batches of several sizes: a row of the result must have the bits that the op
 * gives for this row by itself. batch_cases.inc lists the calls. Header only.
 *
 * An input is a text such as "B,300", where B is the batch; its elements depend on its number, the
 * row and the place in the row, not on the batch. In front of it may stand "f:" for float32 in
 * place of the case's type, "+:" for positive elements, "i5:" for int32 below 5, and "s5:" for the
 * same in ascending order. "#B;2" is a vector of int32 on the host, "#1s" a scalar, "#0;0;1;2m" a
 * matrix of pairs. */
#ifndef TESTS_BATCH_CASE_H
#define TESTS_BATCH_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gantry/gantry.h>

#include "kernels/common/kernel_types.h"

enum { BATCH_F32 = 1, BATCH_F64 = 2, BATCH_HALVES = 4, BATCH_FLOATS = 3, BATCH_ALL = 7 };
enum { BATCH_MOST = 8 };

typedef struct batch_case_t {
    const char *op;
    int types;
    const char *inputs;           /* separated by blanks */
    const char *attrs;            /* "transpose_b=true strides=1;2;2;1 padding=SAME" */
    const char *axes;             /* the batch's dimension of each output, '-': it has none */
    gantry_function_body_fn body; /* of a function that is called in place of the op; NULL: none */
} batch_case_t;

/* ---- functions: what passes join ---- */

/* Images, a filter, a bias, weights, a bias, scale, offset. */
static inline void batch_image_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                    const gantry_tensor_t **outputs, void *user) {
    static const gantry_window_options_t halves = {.strides = {2, 2}};
    const int64_t batch = gantry_tensor_shape(inputs[0])->dims[0];
    const gantry_tensor_t *x = gantry_conv2d(scope, inputs[0], inputs[1], NULL);
    (void)user;
    x = gantry_relu(scope, gantry_bias_add(scope, x, inputs[2]));
    x = gantry_max_pool2d(scope, x, 2, 2, &halves);
    x = gantry_reshape(scope, x, GANTRY_SHAPE(batch, 144));
    x = gantry_bias_add(scope, gantry_matmul(scope, x, inputs[3], NULL), inputs[4]);
    x = gantry_gelu(scope, x, false);
    outputs[0] = gantry_layer_norm(scope, x, inputs[5], inputs[6], -1, 1e-3);
    outputs[1] = gantry_softmax(scope, x);
}

/* Sequences, and weights of queries, keys and values: attention, its mean and its sum. */
static inline void batch_attention_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                        const gantry_tensor_t **outputs, void *user) {
    static const int32_t axis = 1;
    const gantry_reduce_options_t over = {.axes = &axis, .axis_count = 1};
    const gantry_matmul_options_t turned = {.transpose_b = true};
    const gantry_tensor_t *q = gantry_matmul(scope, inputs[0], inputs[1], NULL),
                          *k = gantry_matmul(scope, inputs[0], inputs[2], NULL),
                          *v = gantry_matmul(scope, inputs[0], inputs[3], NULL),
                          *at = gantry_softmax(scope, gantry_matmul(scope, q, k, &turned));
    (void)user;
    at = gantry_add(scope, gantry_matmul(scope, at, v, NULL), inputs[0]);
    outputs[0] = gantry_mean(scope, at, &over);
    outputs[1] = gantry_sum(scope, gantry_tanh(scope, at), &over);
}

/* Calls an op of images whose sizes are numbers of int64. */
static inline void batch_call_resize(gantry_scope_t *scope, const char *op,
                                     const gantry_tensor_t *x, const gantry_tensor_t *of_shape,
                                     const char *mode, const gantry_tensor_t **outputs) {
    static const int64_t sizes[] = {10, 9}, axes[] = {1, 2};
    const gantry_attr_value_t attrs[] = {
        {.name = "mode", .kind = GANTRY_ATTR_STRING, .s = mode},
        {.name = "axes", .kind = GANTRY_ATTR_INTS, .i = 2, .list = axes}};
    const gantry_tensor_t *inputs[3] = {x}, *to;
    size_t count = 1, results = 1;
    if (of_shape) inputs[count++] = of_shape;
    to = gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(2), sizes, sizeof sizes);
    inputs[count++] = to;
    (void)gantry_op_call(scope, op, inputs, count, attrs, 2, outputs, &results);
}

static inline void batch_resize_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    batch_call_resize(scope, "Resize", inputs[0], NULL, "LINEAR", &outputs[0]);
    batch_call_resize(scope, "Resize", inputs[0], NULL, "CUBIC", &outputs[1]);
}

static inline void batch_resize_grad_body(gantry_scope_t *scope,
                                          const gantry_tensor_t *const *inputs,
                                          const gantry_tensor_t **outputs, void *user) {
    const int64_t shape[] = {gantry_tensor_shape(inputs[0])->dims[0], 7, 6, 5};
    const gantry_tensor_t *of_shape =
        gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(4), shape, sizeof shape);
    (void)user;
    batch_call_resize(scope, "ResizeGrad", inputs[0], of_shape, "CUBIC", &outputs[0]);
}

#define BATCH_TAKES(types) (GANTRY_MASK_##types & GANTRY_DTYPE_BIT(GANTRY_FLOAT32) ? BATCH_ALL : 0)
#define BATCH_ONE(name, types) {#name, BATCH_TAKES(types), "+:B,37", "", "0", NULL},
#define BATCH_TWO(name, types) {#name, BATCH_TAKES(types), "+:B,37 +:B,37", "", "0", NULL},
#define BATCH_UNARY BATCH_ONE
#define BATCH_ACTIVATION BATCH_ONE
#define BATCH_VALUE BATCH_ONE
#define BATCH_CHOICE BATCH_ONE
#define BATCH_PRECISION(name, types) \
    {#name, BATCH_TAKES(types), "+:B,37", "exponent_bits=5 mantissa_bits=10", "0", NULL},
#define BATCH_UNARY_CHOICE BATCH_ONE
#define BATCH_BINARY_CHOICE BATCH_TWO
#define BATCH_VARIANT(name, types)
#define BATCH_BINARY_VARIANT(name, types)
#define BATCH_BINARY BATCH_TWO
#define BATCH_ANGLE BATCH_TWO
#define BATCH_EQUALITY BATCH_TWO
#define BATCH_WHOLE(name, types) /* its result has no rows */
#define BATCH_AXES(name, types)                                                 \
    {#name, BATCH_TAKES(types), "B,10 #1", "", "0", NULL},                      \
        {#name, BATCH_TAKES(types), "B,300 #1", "", "0", NULL},                 \
        {#name, BATCH_TAKES(types), "B,7,33 #1;2", "", "0", NULL},              \
        {#name, BATCH_TAKES(types), "B,33,7 #1", "", "0", NULL},                \
        {#name, BATCH_TAKES(types) & BATCH_F32, "3,B,170 #0;2", "", "0", NULL}, \
        {#name, BATCH_TAKES(types) & BATCH_F32, "B,5000 #1", "", "0", NULL},    \
        {#name, BATCH_TAKES(types) & BATCH_F32, "20000,B #0", "", "0", NULL},

/* An op that computes with no floating type has a case without types. */
static const batch_case_t batch_cases[] = {
#define BATCH_CASE(op, types, inputs, attrs, axes) {op, types, inputs, attrs, axes, NULL},
#include "batch_cases.inc"
#undef BATCH_CASE
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, ...) BATCH_##form(name, types)
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
#define GANTRY_REDUCTION(name, function, summary, form, types, ...) BATCH_##form(name, types)
#include "ops/reduce.def"
#undef GANTRY_REDUCTION
    {"image", BATCH_FLOATS, "B,6,6,8 3,3,8,16 16 144,33 33 33 33", "", "00", batch_image_body},
    {"image", BATCH_F32, "B,6,6,80 3,3,80,16 16 144,33 33 33 33", "", "00", batch_image_body},
    {"Resize", BATCH_ALL, "B,7,6,5", "", "00", batch_resize_body},
    {"ResizeGrad", BATCH_FLOATS, "B,10,9,5", "", "0", batch_resize_grad_body},
    {"attention", BATCH_FLOATS, "B,12,40 40,40 40,40 40,40", "", "00", batch_attention_body},
};
#define BATCH_CASES (sizeof batch_cases / sizeof batch_cases[0])

/* ---- inputs ---- */

typedef struct batch_input_t {
    char kind;    /* 'x', 'f', '+', 'i', 's', '#' */
    int64_t most; /* of 'i' and 's' */
    gantry_shape_t shape;
    int32_t axis; /* -1: the input has no batch */
} batch_input_t;

static inline uint32_t batch_hash(uint32_t input, int64_t row, int64_t place) {
    uint64_t x = (uint64_t)place * UINT64_C(0x9e3779b97f4a7c15) +
                 (uint64_t)row * UINT64_C(0xc2b2ae3d27d4eb4f) +
                 input * UINT64_C(0x165667b19e3779f9);
    x ^= x >> 31;
    x *= UINT64_C(0x7fb5d329728ea185);
    return (uint32_t)(x >> 32);
}

static inline const char *batch_read_shape(const char *text, int64_t batch, batch_input_t *input) {
    input->axis = -1;
    input->shape.rank = 0;
    while (*text && *text != ' ') {
        if (*text == 'B') {
            input->axis = input->shape.rank;
            input->shape.dims[input->shape.rank++] = batch;
            ++text;
        } else {
            char *end;
            input->shape.dims[input->shape.rank++] = strtoll(text, &end, 10);
            text = end;
        }
        if (*text == ',') ++text;
    }
    return text;
}

static inline const gantry_tensor_t *batch_numbers(gantry_scope_t *scope, const char **text,
                                                   int64_t batch) {
    int32_t numbers[16];
    size_t count = 0;
    while (**text && !strchr(" sm", **text)) {
        char *end = (char *)*text + 1;
        numbers[count++] = **text == 'B' ? (int32_t)batch : (int32_t)strtol(*text, &end, 10);
        *text = *end == ';' ? end + 1 : end;
    }
    const char form = **text;
    *text += form == 's' || form == 'm';
    const gantry_shape_t shape = form == 's'   ? GANTRY_SCALAR
                                 : form == 'm' ? GANTRY_SHAPE((int64_t)count / 2, 2)
                                               : GANTRY_SHAPE((int64_t)count);
    return gantry_constant(scope, GANTRY_INT32, shape, numbers, count * sizeof *numbers);
}

static inline const gantry_tensor_t *batch_elements(gantry_scope_t *scope, gantry_dtype_t dtype,
                                                    const batch_input_t *input, uint32_t number,
                                                    int64_t first_row) {
    const int64_t count = gantry_shape_elements(&input->shape);
    int64_t inner = 1;
    for (int32_t d = input->axis + 1; input->axis >= 0 && d < input->shape.rank; ++d)
        inner *= input->shape.dims[d];
    const int64_t rows = input->axis >= 0 ? input->shape.dims[input->axis] : 1;
    double *values = malloc((size_t)(count + 1) * sizeof *values);
    int32_t *integers = (int32_t *)(void *)values;
    assert_non_null(values);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t row = input->axis >= 0 ? i / inner % rows + first_row : 0,
                      place = input->axis >= 0 ? i / (inner * rows) * inner + i % inner : i;
        const uint32_t hash = batch_hash(number, row, place);
        if (input->kind == 'i') {
            integers[i] = (int32_t)(hash % (uint32_t)input->most);
        } else if (input->kind == 's') {
            integers[i] = (int32_t)(place * input->most / (count / rows));
        } else {
            const double x = (double)hash / 4294967296.0 + (double)hash / 9e15;
            values[i] = input->kind == '+' ? x + 0.0625 : 2 * x - 1;
        }
    }
    const bool is_integer = input->kind == 'i' || input->kind == 's';
    const gantry_dtype_t made_as = is_integer ? GANTRY_INT32 : GANTRY_FLOAT64,
                         wanted = is_integer           ? GANTRY_INT32
                                  : input->kind == 'f' ? GANTRY_FLOAT32
                                                       : dtype;
    const gantry_tensor_t *made = gantry_constant(scope, made_as, input->shape, values,
                                                  (size_t)count * gantry_dtype_size(made_as));
    free(values);
    return made_as == wanted ? made : gantry_cast(scope, made, wanted);
}

static inline size_t batch_inputs(gantry_scope_t *scope, const batch_case_t *c,
                                  gantry_dtype_t dtype, int64_t batch, int64_t first_row,
                                  const gantry_tensor_t **out) {
    size_t count = 0;
    for (const char *text = c->inputs; *text; text += *text == ' ') {
        batch_input_t input = {.kind = 'x'};
        if (*text == '#') {
            ++text;
            out[count++] = batch_numbers(scope, &text, batch);
            continue;
        }
        if (strchr("f+is", *text)) {
            input.kind = *text++;
            if (*text != ':') input.most = strtoll(text, (char **)&text, 10);
            ++text;
        }
        text = batch_read_shape(text, batch, &input);
        out[count] = batch_elements(scope, dtype, &input, (uint32_t)count, first_row);
        ++count;
    }
    return count;
}

/* ---- attributes ---- */

typedef struct batch_attrs_t {
    char text[256];
    int64_t numbers[BATCH_MOST][8];
    gantry_attr_value_t values[BATCH_MOST];
    size_t count;
} batch_attrs_t;

static inline void batch_read_value(char *text, int64_t numbers[8], gantry_attr_value_t *out) {
    char *end;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        out->kind = GANTRY_ATTR_BOOL;
        out->i = *text == 't';
    } else if (strncmp(text, "t:", 2) == 0) {
        out->kind = GANTRY_ATTR_TYPE;
        out->i = strtoll(text + 2, NULL, 10);
    } else if (strchr(text, ';')) {
        out->kind = GANTRY_ATTR_INTS;
        for (out->list = numbers; *text; text = *end ? end + 1 : end)
            numbers[out->i++] = strtoll(text, &end, 10);
    } else if (strchr(text, '.') && strtod(text, &end) != 0 && !*end) {
        out->kind = GANTRY_ATTR_FLOAT;
        out->f = strtod(text, NULL);
    } else {
        out->i = strtoll(text, &end, 10);
        out->kind = *end ? GANTRY_ATTR_STRING : GANTRY_ATTR_INT;
        out->s = text;
    }
}

static inline void batch_read_attrs(const batch_case_t *c, batch_attrs_t *out) {
    char *at = out->text;
    memset(out, 0, sizeof *out);
    (void)snprintf(out->text, sizeof out->text, "%s", c->attrs);
    while (*at) {
        char *value = strchr(at, '='), *end = strchr(at, ' ');
        *value++ = '\0';
        if (end) *end++ = '\0';
        out->values[out->count].name = at;
        batch_read_value(value, out->numbers[out->count], &out->values[out->count]);
        ++out->count;
        at = end ? end : value + strlen(value);
    }
}

/* ---- results ---- */

typedef struct batch_result_t {
    size_t count;
    gantry_shape_t shapes[BATCH_MOST];
    size_t sizes[BATCH_MOST]; /* of an element */
    unsigned char *data[BATCH_MOST];
} batch_result_t;

static inline void batch_free(batch_result_t *result) {
    for (size_t i = 0; i < result->count; ++i) free(result->data[i]);
}

/* Where ops run, and whether their scope chooses batch_invariant. */
typedef struct batch_caller_t {
    gantry_runtime_t *runtime;
    const char *device;
    gantry_choice_t invariant;
} batch_caller_t;

static inline gantry_scope_t *batch_scope(const batch_caller_t *caller) {
    gantry_scope_t *scope = gantry_scope_begin(caller->runtime, caller->device);
    assert_non_null(scope);
    assert_int_equal(gantry_scope_set_batch_invariant(scope, caller->invariant), GANTRY_OK);
    return scope;
}

static inline void batch_call_body(gantry_scope_t *scope, const batch_case_t *c,
                                   const gantry_tensor_t *const *inputs, size_t count,
                                   const gantry_tensor_t **outputs) {
    gantry_input_spec_t specs[16];
    gantry_function_t *function;
    for (size_t i = 0; i < count; ++i)
        specs[i] = (gantry_input_spec_t){NULL, gantry_tensor_dtype(inputs[i]),
                                         *gantry_tensor_shape(inputs[i])};
    if (gantry_function_trace(gantry_scope_runtime(scope), c->op, c->body, NULL, specs, count,
                              strlen(c->axes), NULL, &function) != GANTRY_OK ||
        gantry_function_call(scope, function, inputs, count, outputs, strlen(c->axes)) != GANTRY_OK)
        fail_msg("%s: %s", c->op, gantry_last_message());
    gantry_function_release(function);
}

static inline void batch_run(const batch_caller_t *caller, const batch_case_t *c,
                             gantry_dtype_t dtype, int64_t batch, int64_t first_row,
                             batch_result_t *out) {
    const gantry_tensor_t *inputs[16], *outputs[BATCH_MOST];
    batch_attrs_t attrs;
    gantry_scope_t *scope = batch_scope(caller);
    batch_read_attrs(c, &attrs);
    const size_t count = batch_inputs(scope, c, dtype, batch, first_row, inputs);
    out->count = c->body ? strlen(c->axes) : BATCH_MOST;
    if (c->body)
        batch_call_body(scope, c, inputs, count, outputs);
    else if (gantry_op_call(scope, c->op, inputs, count, attrs.values, attrs.count, outputs,
                            &out->count) != GANTRY_OK)
        fail_msg("%s(%s) %s: %s", c->op, c->inputs, c->attrs, gantry_scope_message(scope));
    for (size_t i = 0; i < out->count; ++i) {
        const size_t size = gantry_dtype_size(gantry_tensor_dtype(outputs[i])),
                     bytes = size * (size_t)gantry_tensor_elements(outputs[i]);
        out->sizes[i] = size;
        out->shapes[i] = *gantry_tensor_shape(outputs[i]);
        out->data[i] = malloc(bytes + 1);
        assert_non_null(out->data[i]);
        if (gantry_tensor_read(outputs[i], out->data[i], bytes) != GANTRY_OK)
            fail_msg("%s(%s): %s", c->op, c->inputs, gantry_last_message());
    }
    if (gantry_scope_end(scope) != GANTRY_OK) fail_msg("%s: %s", c->op, gantry_last_message());
}

/* Whether row `row` of the batch's output i has the bits of the one row of `alone`. */
static inline bool batch_is_row(const batch_case_t *c, const batch_result_t *all,
                                const batch_result_t *alone, size_t i, int64_t row) {
    if (c->axes[i] == '-') return true;
    const int32_t axis = c->axes[i] - '0';
    const gantry_shape_t *shape = &all->shapes[i];
    size_t inner = all->sizes[i], outer = 1;
    for (int32_t d = 0; d < shape->rank; ++d) {
        outer *= d < axis ? (size_t)shape->dims[d] : 1;
        inner *= d > axis ? (size_t)shape->dims[d] : 1;
    }
    for (size_t o = 0; o < outer; ++o) {
        const unsigned char *from =
            all->data[i] + (o * (size_t)shape->dims[axis] + (size_t)row) * inner;
        if (memcmp(from, alone->data[i] + o * inner, inner) != 0) return false;
    }
    return true;
}

/* The number of batches in which a row differs from the row by itself. */
static inline int batch_check(const batch_caller_t *caller, const batch_case_t *c,
                              gantry_dtype_t dtype, const int64_t *batches, size_t count) {
    int different = 0;
    for (size_t b = 0; b < count; ++b) {
        const int64_t rows[] = {0, batches[b] / 2, batches[b] - 1};
        batch_result_t all, alone;
        bool is_equal = true;
        batch_run(caller, c, dtype, batches[b], 0, &all);
        for (size_t r = 0; r < 3; ++r) {
            if (r > 0 && rows[r] == rows[r - 1]) continue;
            batch_run(caller, c, dtype, 1, rows[r], &alone);
            for (size_t i = 0; i < all.count; ++i)
                is_equal = is_equal && batch_is_row(c, &all, &alone, i, rows[r]);
            batch_free(&alone);
        }
        batch_free(&all);
        different += !is_equal;
    }
    return different;
}

enum { BATCH_EACH_TYPE = 1, BATCH_PRODUCTS = 2 };

static inline bool batch_is_product(const batch_case_t *c) {
    return c->body || strstr(c->op, "MatMul") || strstr(c->op, "Einsum") || strstr(c->op, "Conv");
}

/* Checks all cases, or only products; in each type, or in float32. */
static inline void batch_check_all(const batch_caller_t *caller, const int64_t *batches,
                                   size_t count, int what) {
    static const struct {
        int bit;
        gantry_dtype_t dtype;
    } types[] = {{BATCH_F32, GANTRY_FLOAT32},
                 {BATCH_F64, GANTRY_FLOAT64},
                 {BATCH_HALVES, GANTRY_FLOAT16},
                 {BATCH_HALVES, GANTRY_BFLOAT16}};
    int different = 0;
    for (size_t i = 0; i < BATCH_CASES; ++i) {
        const batch_case_t *c = &batch_cases[i];
        if (what & BATCH_PRODUCTS && !batch_is_product(c)) continue;
        for (size_t t = 0; t < (what & BATCH_EACH_TYPE ? 4 : 1); ++t) {
            if (!(c->types & types[t].bit)) continue;
            const int bad = batch_check(caller, c, types[t].dtype, batches, count);
            if (bad > 0)
                (void)fprintf(stderr, "%s of %s(%s) %s: a row differs in %d of %zu batches\n",
                              caller->device, c->op, c->inputs, c->attrs, bad, count);
            different += bad > 0;
        }
    }
    assert_int_equal(different, 0);
}

#endif
