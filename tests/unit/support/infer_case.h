/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of gantry__op_infer written as text, for tables.
 *
 *     {"Sum", "float32[2,3] int32{1}", "keep_dims=true", "float32[2,1]"}
 *
 * Inputs: type[dims] or type (a scalar) has no contents, and reading it fails; type{values} is a
 * vector of these values, type(value) a scalar, type[dims]{values} any shape. Attributes: true,
 * false, a number, 'string', a type, {ints}, [shape].
 * Expected: type and shape of each result, separated by a blank; or a part of the message, after
 * "!" for InvalidArgument, "~" for Unimplemented. Header only; externally synchronised; owns
 * nothing. */
#ifndef TESTS_INFER_CASE_H
#define TESTS_INFER_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/failure.h"
#include "op/op_def.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define INFER_CASE_NUMBERS 24
#define INFER_CASE_ATTRS GANTRY__MAX_ATTRS

typedef struct infer_case_t {
    const char *op, *inputs, *attrs, *expected;
} infer_case_t;

typedef union infer_contents_t {
    int32_t i32[INFER_CASE_NUMBERS];
    int64_t i64[INFER_CASE_NUMBERS];
    float f32[INFER_CASE_NUMBERS];
    double f64[INFER_CASE_NUMBERS];
} infer_contents_t;

/* A call and everything it points to. */
typedef struct infer_call_t {
    gantry__infer_t call;
    const gantry_shape_t *shapes_of_inputs[GANTRY__MAX_INPUTS];
    gantry_dtype_t dtypes[GANTRY__MAX_INPUTS], out_dtypes[GANTRY__MAX_OUTPUTS];
    gantry_shape_t shapes[GANTRY__MAX_INPUTS], out_shapes[GANTRY__MAX_OUTPUTS];
    infer_contents_t contents[GANTRY__MAX_INPUTS];
    bool has_contents[GANTRY__MAX_INPUTS];
    uint64_t read; /* bit i: host_value was called for input i */
    gantry_attr_value_t attrs[INFER_CASE_ATTRS];
    size_t attr_count;
    int64_t lists[INFER_CASE_ATTRS][INFER_CASE_NUMBERS];
    char words[INFER_CASE_ATTRS][64]; /* names and strings */
    char strings[INFER_CASE_ATTRS][64];
} infer_call_t;

static inline const void *infer_call_host_value(void *caller, uint32_t input) {
    infer_call_t *self = caller;
    self->read |= UINT64_C(1) << input;
    if (self->has_contents[input]) return &self->contents[input];
    (void)gantry__fail(GANTRY_INTERNAL, "no contents");
    return NULL;
}

/* Copies the word up to one of the stops; returns the text from there. */
static inline const char *infer_take_word(const char *text, const char *stops, char *out,
                                          size_t out_bytes) {
    size_t length = strcspn(text, stops);
    assert_true(length < out_bytes);
    memcpy(out, text, length);
    out[length] = '\0';
    return text + length;
}

/* Reads "{1,-2}" or "[1,2]"; returns the text after the closing bracket. */
static inline const char *infer_take_ints(const char *text, int64_t *out, size_t *out_count) {
    const char *at = text + 1;
    *out_count = 0;
    while (*at != '}' && *at != ']') {
        char *end = NULL;
        assert_true(*out_count < INFER_CASE_NUMBERS);
        out[(*out_count)++] = strtoll(at, &end, 10);
        assert_ptr_not_equal(end, at);
        at = *end == ',' ? end + 1 : end;
    }
    return at + 1;
}

static inline const char *infer_take_contents(infer_call_t *self, uint32_t i, const char *text,
                                              size_t *out_count) {
    gantry_dtype_t dtype = self->call.dtypes[i];
    const char *at = text + 1;
    *out_count = 0;
    self->has_contents[i] = true;
    while (*at != '}' && *at != ')') {
        size_t k = (*out_count)++;
        char *end = NULL;
        assert_true(k < INFER_CASE_NUMBERS);
        double number = strtod(at, &end);
        assert_ptr_not_equal(end, at);
        if (dtype == GANTRY_FLOAT32) self->contents[i].f32[k] = (float)number;
        if (dtype == GANTRY_FLOAT64) self->contents[i].f64[k] = number;
        if (dtype == GANTRY_INT32) self->contents[i].i32[k] = (int32_t)strtol(at, &end, 10);
        if (dtype == GANTRY_INT64) self->contents[i].i64[k] = strtoll(at, &end, 10);
        if (dtype == GANTRY_UINT64) self->contents[i].i64[k] = (int64_t)strtoull(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    return at + 1;
}

static inline void infer_take_inputs(infer_call_t *self, const char *text) {
    while (*text) {
        uint32_t i = self->call.input_count++;
        char word[32];
        size_t count = 0;
        assert_true(i < GANTRY__MAX_INPUTS);
        text = infer_take_word(text, " [{(", word, sizeof word);
        self->call.dtypes[i] = gantry_dtype_from_name(word);
        assert_int_not_equal(self->call.dtypes[i], GANTRY_DTYPE_NONE);
        gantry_shape_t *shape = &self->shapes[i];
        bool has_shape = *text == '[';
        if (has_shape) {
            text = infer_take_ints(text, shape->dims, &count);
        }
        shape->rank = (int32_t)count;
        if (*text == '{' || *text == '(') {
            bool scalar = *text == '(';
            text = infer_take_contents(self, i, text, &count);
            if (!has_shape && !scalar) {
                shape->rank = 1;
                shape->dims[0] = (int64_t)count;
            }
        }
        self->call.shapes[i] = shape;
        if (*text == ' ') ++text;
    }
}

static inline void infer_take_attrs(infer_call_t *self, const char *text) {
    while (*text) {
        size_t i = self->attr_count++;
        assert_true(i < INFER_CASE_ATTRS);
        gantry_attr_value_t *attr = &self->attrs[i];
        text = infer_take_word(text, "=", self->words[i], sizeof self->words[i]) + 1;
        *attr = (gantry_attr_value_t){
            .name = self->words[i], .list = self->lists[i], .s = self->strings[i]};
        if (*text == '{' || *text == '[') {
            size_t count = 0;
            attr->kind = *text == '{' ? GANTRY_ATTR_INTS : GANTRY_ATTR_SHAPE;
            text = infer_take_ints(text, self->lists[i], &count);
            attr->i = (int64_t)count;
        } else if (*text == '\'') {
            attr->kind = GANTRY_ATTR_STRING;
            text = infer_take_word(text + 1, "'", self->strings[i], sizeof self->strings[i]) + 1;
        } else {
            char word[32];
            text = infer_take_word(text, " ", word, sizeof word);
            bool truth = strcmp(word, "true") == 0;
            attr->kind = truth || strcmp(word, "false") == 0                 ? GANTRY_ATTR_BOOL
                         : gantry_dtype_from_name(word) != GANTRY_DTYPE_NONE ? GANTRY_ATTR_TYPE
                                                                             : GANTRY_ATTR_INT;
            attr->i = attr->kind == GANTRY_ATTR_BOOL   ? truth
                      : attr->kind == GANTRY_ATTR_TYPE ? (int64_t)gantry_dtype_from_name(word)
                                                       : strtoll(word, NULL, 10);
        }
        if (*text == ' ') ++text;
    }
}

/* The outputs' structs are empty. */
static inline void infer_call_give_arrays(infer_call_t *self) {
    memset(self->out_shapes, 0x5a, sizeof self->out_shapes);
    self->call.shapes = self->shapes_of_inputs;
    self->call.dtypes = self->dtypes;
    self->call.out_shapes = self->out_shapes;
    self->call.out_dtypes = self->out_dtypes;
}

static inline void infer_call_init(infer_call_t *self, const char *op, const char *inputs,
                                   const char *attrs) {
    memset(self, 0, sizeof *self);
    memset(self->call.attrs, 0x5a, sizeof self->call.attrs); /* a caller need not clear them */
    for (int i = 0; i < GANTRY__MAX_INPUTS; ++i)
        memset(&self->shapes[i], i + 1, sizeof self->shapes[i]);
    infer_call_give_arrays(self);
    self->call.op = gantry__op_find(op);
    assert_non_null(self->call.op);
    self->call.host_value = infer_call_host_value;
    self->call.caller = self;
    infer_take_inputs(self, inputs);
    infer_take_attrs(self, attrs);
}

static inline gantry_status_t infer_call_run(infer_call_t *self) {
    return gantry__op_infer(&self->call, self->attr_count ? self->attrs : NULL, self->attr_count);
}

static inline void infer_case_fail(const infer_case_t *item, const char *got) {
    fail_msg("%s(%s; %s) gave %s; expected %s", item->op, item->inputs, item->attrs, got,
             item->expected);
}

static inline void infer_case_assert(const infer_case_t *item) {
    static infer_call_t self; /* large */
    infer_call_init(&self, item->op, item->inputs, item->attrs);
    gantry_status_t status = infer_call_run(&self);
    char got[GANTRY__MESSAGE_BYTES];
    if (item->expected[0] == '!' || item->expected[0] == '~') {
        gantry_status_t wanted =
            item->expected[0] == '!' ? GANTRY_INVALID_ARGUMENT : GANTRY_UNIMPLEMENTED;
        const char *message = status == GANTRY_OK ? "no failure" : gantry__message();
        if (status != wanted || !strstr(message, item->expected + 1))
            infer_case_fail(item, message);
        if (!strstr(message, self.call.op->name))
            infer_case_fail(item, "a message without the op's name");
        return;
    }
    if (status != GANTRY_OK) infer_case_fail(item, gantry__message());
    size_t used = 0;
    got[0] = '\0';
    for (uint32_t k = 0; k < self.call.output_count; ++k) {
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%s", k ? " " : "",
                                 gantry_dtype_name(self.call.out_dtypes[k]));
        used += gantry_shape_format(&self.call.out_shapes[k], got + used, sizeof got - used);
        assert_true(used < sizeof got);
    }
    if (strcmp(got, item->expected) != 0) infer_case_fail(item, got);
}

static inline void infer_cases_assert(const infer_case_t *items, size_t count) {
    for (size_t i = 0; i < count; ++i) infer_case_assert(&items[i]);
}

#endif
