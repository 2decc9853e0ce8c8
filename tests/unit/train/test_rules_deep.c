/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The gradient of each op is that of its calls of few dimensions when operands have eight,
 * also where they broadcast in turn, and has the same bits in a function.
 *
 * The cases of test_rules, with more dimensions. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "deep_case.h"
#include "gradient_case.h"
#include "test.h"
#include "train_heap.h"

typedef struct sweep_t {
    runtime_fixture_t fixture;
    gradient_case_t given;
    deep_call_t call;
    size_t compared, wrong;
    char ops[8192]; /* " Add Mul ": of which a gradient was compared */
} sweep_t;

/* Goes on, so that one run names all gradients that are wrong. */
static void complain(sweep_t *s, const char *text) {
    print_error("%s%s: %s\n", s->given.golden->name, s->call.alternates ? ", in turn" : "", text);
    ++s->wrong;
}

/* ---- the case of eight dimensions, and those of few ---- */

static golden_attr_t attr_as_golden(const gantry_attr_value_t *attr) {
    static const golden_attr_kind_t kinds[] = {
        [GANTRY_ATTR_BOOL] = GOLDEN_ATTR_BOOL,   [GANTRY_ATTR_INT] = GOLDEN_ATTR_INT,
        [GANTRY_ATTR_FLOAT] = GOLDEN_ATTR_FLOAT, [GANTRY_ATTR_TYPE] = GOLDEN_ATTR_TYPE,
        [GANTRY_ATTR_INTS] = GOLDEN_ATTR_INTS,   [GANTRY_ATTR_STRING] = GOLDEN_ATTR_STRING};
    return (golden_attr_t){.name = (char *)(uintptr_t)attr->name,
                           .kind = kinds[attr->kind],
                           .bool_value = attr->i != 0,
                           .int_value = attr->i,
                           .float_value = attr->f,
                           .type_value = (gantry_dtype_t)attr->i,
                           .ints = (int64_t *)(uintptr_t)attr->list,
                           .int_count = (size_t)attr->i,
                           .string_value = (char *)(uintptr_t)attr->s};
}

/* One case, over inputs that the caller owns. */
typedef struct turned_case_t {
    golden_case_t golden;
    golden_attr_t attrs[GOLDEN_MOST_ATTRS];
    golden_tensor_t inputs[GRADIENT_MOST_VALUES];
    gradient_case_t gradient;
} turned_case_t;

static void turn(const sweep_t *s, turned_case_t *out) {
    out->golden = *s->given.golden;
    out->golden.inputs = out->inputs;
    out->gradient = s->given;
    out->gradient.golden = &out->golden;
}

static void turn_deep(const sweep_t *s, turned_case_t *out) {
    turn(s, out);
    for (size_t i = 0; i < s->call.attr_count; ++i)
        out->attrs[i] = attr_as_golden(&s->call.attrs[i]);
    out->golden.attrs = out->attrs;
    out->golden.attr_count = s->call.attr_count;
    memcpy(out->inputs, s->call.inputs, sizeof out->inputs);
}

static void turn_copy(const sweep_t *s, int64_t copy, turned_case_t *out) {
    turn(s, out);
    for (size_t i = 0; i < out->golden.input_count; ++i) {
        out->inputs[i] = s->given.golden->inputs[i];
        out->inputs[i].data =
            deep_copy_values(&s->given.golden->inputs[i], deep_input_letter(&s->call, i),
                             deep_copy_of(&s->call, i, copy));
    }
}

/* ---- sums of the copies' gradients ---- */

typedef struct sums_t {
    size_t count; /* of a copy's elements */
    double *value, *size;
    bool is_none;
} sums_t;

static void sums_open(const sweep_t *s, sums_t *sums) {
    for (size_t k = 0; k < s->given.of_count; ++k) {
        const size_t i = (size_t)s->given.of[k];
        const size_t copies = (size_t)deep_copies_of(&s->call, i);
        sums[k].count = gradient_count(&s->given.golden->inputs[i]);
        sums[k].value = calloc(sums[k].count * copies + 1, sizeof(double));
        sums[k].size = calloc(sums[k].count * copies + 1, sizeof(double));
        assert_true(sums[k].value && sums[k].size);
    }
}

static void sums_close(const sweep_t *s, sums_t *sums) {
    for (size_t k = 0; k < s->given.of_count; ++k) {
        free(sums[k].value);
        free(sums[k].size);
    }
}

static void sums_add(const sweep_t *s, sums_t *sums, int64_t copy) {
    gradient_tensor_t *inputs[GRADIENT_MOST_VALUES], *gradients[GRADIENT_MOST_VALUES];
    static turned_case_t turned;
    gantry_scope_t *scope = gantry_scope_begin(s->fixture.runtime, NULL);
    turn_copy(s, copy, &turned);
    gradient_case_inputs(scope, &turned.gradient, NULL, inputs);
    gradient_case_gradients(scope, &turned.gradient, inputs, gradients);
    for (size_t k = 0; k < s->given.of_count; ++k) {
        const size_t i = (size_t)s->given.of[k];
        const int64_t own = deep_copy_of(&s->call, i, copy);
        if (!gradients[i]) fail_msg("%s: no gradient", s->given.golden->name);
        golden_tensor_t got = gradient_read(gradients[i]);
        for (size_t e = 0; e < sums[k].count; ++e) {
            const double value = golden_number_at(got.dtype, got.data, e);
            const size_t at =
                deep_place(&s->call, e, own, sums[k].count, deep_copies_of(&s->call, i));
            sums[k].value[at] += value;
            sums[k].size[at] += fabs(value);
        }
        free(got.data);
    }
    for (size_t i = 0; i < turned.golden.input_count; ++i) free(turned.inputs[i].data);
    expect_ended_well(scope);
}

/* ---- comparing ---- */

static void compare_gradient(sweep_t *s, size_t k, const sums_t *sums,
                             gradient_tensor_t *gradient) {
    const size_t i = (size_t)s->given.of[k];
    const golden_tolerance_t *bound = &s->given.golden->tolerance;
    const double copies = (double)s->call.copies;
    golden_tensor_t got = gradient_read(gradient);
    if (!gantry_shape_equal(&got.shape, &s->call.inputs[i].shape)) complain(s, "another shape");
    for (size_t e = 0; e < gradient_count(&got); ++e) {
        const double value = golden_number_at(got.dtype, got.data, e), expected = sums->value[e];
        const double off = copies * bound->absolute + (bound->relative + 1e-15) * sums->size[e];
        if (value == expected || (isnan(value) && isnan(expected)) || fabs(value - expected) <= off)
            continue;
        char text[200];
        (void)snprintf(text, sizeof text, "element %zu of the gradient of input %zu is %g, not %g",
                       e, i, value, expected);
        complain(s, text);
        break;
    }
    free(got.data);
}

static void compare_case(sweep_t *s, const turned_case_t *deep) {
    gradient_tensor_t *inputs[GRADIENT_MOST_VALUES], *gradients[GRADIENT_MOST_VALUES];
    sums_t sums[GRADIENT_MOST_VALUES];
    gantry_scope_t *scope = gantry_scope_begin(s->fixture.runtime, NULL);
    gradient_case_inputs(scope, &deep->gradient, NULL, inputs);
    if (gradient_case_try(scope, &deep->gradient, inputs, gradients) != GANTRY_OK) {
        complain(s, gantry_scope_message(scope));
        gantry_scope_clear(scope);
        expect_ended_well(scope);
        return;
    }
    sums_open(s, sums);
    for (int64_t copy = 0; copy < s->call.copies; ++copy) sums_add(s, sums, copy);
    for (size_t k = 0; k < s->given.of_count; ++k) {
        gradient_tensor_t *gradient = gradients[s->given.of[k]];
        if (gradient)
            compare_gradient(s, k, &sums[k], gradient);
        else
            complain(s, "there is no gradient");
    }
    sums_close(s, sums);
    expect_ended_well(scope);
    if (s->wrong == 0) gradient_expect_traced(s->fixture.runtime, NULL, &deep->gradient);
    ++s->compared;
    char name[64];
    (void)snprintf(name, sizeof name, " %s ", s->call.item->op);
    if (!strstr(s->ops, name)) (void)strncat(s->ops, name, sizeof s->ops - strlen(s->ops) - 1);
}

/* ---- the sweep ---- */

static void find_out_shapes(sweep_t *s) {
    gradient_tensor_t *inputs[GRADIENT_MOST_VALUES], *outputs[GANTRY_MAX_OP_OUTPUTS];
    gantry_scope_t *scope = gantry_scope_begin(s->fixture.runtime, NULL);
    gradient_case_inputs(scope, &s->given, NULL, inputs);
    s->call.output_count = gradient_case_call(scope, &s->given, inputs, outputs);
    for (size_t k = 0; k < s->call.output_count; ++k)
        s->call.out_shapes[k] = *gantry_tensor_shape(outputs[k]);
    expect_ended_well(scope);
}

static void try_case(sweep_t *s, const deep_row_t *row, bool alternates) {
    static turned_case_t deep;
    s->call =
        (deep_call_t){.item = s->given.golden, .row = row, .input_count = s->given.input_count};
    find_out_shapes(s);
    if (!deep_open(&s->call, alternates)) return;
    turn_deep(s, &deep);
    compare_case(s, &deep);
    deep_close(&s->call);
}

/* Whether the gradient of the op was compared, or can have no eight dimensions. */
static bool is_swept(const sweep_t *s, const char *op) {
    char name[64];
    deep_row_t elementwise = {0};
    const deep_row_t *row = deep_next(op, NULL, &elementwise);
    (void)snprintf(name, sizeof name, " %s ", op);
    return row->side == DEEP_FIXED || row->side == DEEP_OTHER || strstr(s->ops, name) != NULL;
}

static void expect_all_swept(const sweep_t *s) {
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        if (gantry_op_is_differentiable(info.name) && !is_swept(s, info.name))
            fail_msg("%s: no gradient of eight dimensions was compared", info.name);
    }
}

static void try_item(sweep_t *s, const golden_case_t *item) {
    deep_row_t elementwise = {0};
    s->given = gradient_case_read(item);
    for (const deep_row_t *row = NULL; (row = deep_next(item->op, row, &elementwise)) != NULL;) {
        if (row->side == DEEP_FIXED || row->side == DEEP_OTHER || !deep_fits(row, item)) continue;
        try_case(s, row, false);
        if (row->inputs[0] == 'b') try_case(s, row, true);
    }
}

TEST(gradients_of_eight_dimensions_are_those_of_few) {
    static sweep_t s; /* large */
    golden_file_t file;
    train_heap_reset(-1);
    runtime_fixture_open(&s.fixture, 0);
    gradient_file_load(&file);
    for (size_t n = 0; n < file.case_count; ++n) try_item(&s, &file.cases[n]);
    golden_free(&file);
    runtime_fixture_close(&s.fixture);
    assert_int_equal(train_heap_live(), 0);
    print_message("%zu gradients compared\n", s.compared);
    assert_int_equal(s.wrong, 0);
    expect_all_swept(&s);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
