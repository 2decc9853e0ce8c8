/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each op has the bits of its calls of few dimensions when operands have eight, also where
 * they broadcast in turn, and an op of a fixed rank refuses them.
 * Promise: L2Loss and BiasAddGrad of eight dimensions are the sums of their calls of few.
 *
 * The golden cases of all ops, with more dimensions. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "deep_case.h"
#include "runtime_fixture.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

#define MOST_ELEMENTS 400 /* of an operand */

typedef struct sweep_t {
    runtime_fixture_t fixture;
    gantry_scope_t *scope;
    const golden_file_t *file;
    deep_call_t call;
    size_t compared, refused, of_row, wrong;
} sweep_t;

/* Goes on, so that one run names all calls that are wrong. */
static void complain(sweep_t *s, const char *format, ...) {
    char text[512];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    print_error("%s, %s%s: %s\n", s->call.item->op, s->call.item->name,
                s->call.alternates ? ", in turn" : "", text);
    ++s->wrong;
}

/* ---- calls ---- */

/* Runs the op on data; 0 outputs: it failed. */
static size_t run(sweep_t *s, const golden_tensor_t *inputs, void *const *data,
                  const gantry_attr_value_t *attrs, size_t attr_count, tensor **outputs) {
    tensor *given[DEEP_MOST];
    size_t count = DEEP_MOST;
    for (size_t i = 0; i < s->call.input_count; ++i)
        given[i] = gantry_constant(s->scope, inputs[i].dtype, inputs[i].shape,
                                   data ? data[i] : inputs[i].data,
                                   data ? s->call.item->inputs[i].bytes : inputs[i].bytes);
    return gantry_op_call(s->scope, s->call.item->op, given, s->call.input_count, attrs, attr_count,
                          outputs, &count) == GANTRY_OK
               ? count
               : 0;
}

static char *read_whole_tensor(tensor *t) {
    char *values = malloc(gantry_tensor_bytes(t) + 1);
    assert_non_null(values);
    assert_int_equal(gantry_tensor_read(t, values, gantry_tensor_bytes(t)), GANTRY_OK);
    return values;
}

/* The call of one copy. */
static size_t run_copy(sweep_t *s, int64_t copy, tensor **outputs) {
    gantry_attr_value_t attrs[GOLDEN_MOST_ATTRS];
    void *data[DEEP_MOST];
    const size_t attr_count = golden_attr_values(s->call.item, attrs);
    for (size_t i = 0; i < s->call.input_count; ++i)
        data[i] = deep_copy_values(&s->call.item->inputs[i], deep_input_letter(&s->call, i),
                                   deep_copy_of(&s->call, i, copy));
    const size_t count = run(s, s->call.item->inputs, data, attrs, attr_count, outputs);
    for (size_t i = 0; i < s->call.input_count; ++i) free(data[i]);
    return count;
}

/* ---- comparing ---- */

static bool is_same_element(gantry_dtype_t dtype, const char *a, const char *b) {
    if (memcmp(a, b, gantry_dtype_size(dtype)) == 0) return true;
    if (!golden_is_float(dtype)) return false;
    const double x = golden_number_at(dtype, a, 0), y = golden_number_at(dtype, b, 0);
    return x != x && y != y;
}

static void compare_copy(sweep_t *s, size_t k, const char *deep, int64_t copy, tensor *expected) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(expected);
    const size_t size = gantry_dtype_size(dtype), count = (size_t)gantry_tensor_elements(expected);
    const bool is_shared = deep_output_letter(&s->call, k) == '-';
    char *values = read_whole_tensor(expected);
    for (size_t e = 0; e < count; ++e) {
        const size_t at = is_shared ? e : deep_place(&s->call, e, copy, count, s->call.copies);
        if (is_same_element(dtype, deep + at * size, values + e * size)) continue;
        complain(s, "output %zu, copy %d, element %zu is another", k, (int)copy, e);
        break;
    }
    free(values);
}

/* Integers wrap around; others are within 2 % of the sum of their sizes, as float16 needs. */
static bool is_sum(const golden_tensor_t *got, size_t e, double sum, double size) {
    const double value = deep_number(got, e);
    if (golden_is_float(got->dtype))
        return fabs(value - sum) <= 0.02 * size || value == sum || (isnan(value) && isnan(sum));
    if (size > 0x1p53) return true; /* no double has it */
    const size_t bytes = gantry_dtype_size(got->dtype);
    const int64_t whole = (int64_t)sum;
    return memcmp(&whole, (const char *)got->data + e * bytes, bytes) == 0;
}

/* The sum of the outputs of all copies. */
static void compare_sum(sweep_t *s, size_t k, char *deep, tensor *expected) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(expected);
    const golden_tensor_t sum = {.dtype = dtype, .data = deep};
    const size_t count = (size_t)gantry_tensor_elements(expected);
    double *sums = calloc(count + 1, sizeof *sums), *sizes = calloc(count + 1, sizeof *sizes);
    assert_true(sums && sizes);
    for (int64_t copy = 0; copy < s->call.copies; ++copy) {
        tensor *outputs[DEEP_MOST];
        assert_true(run_copy(s, copy, outputs) > k);
        char *values = read_whole_tensor(outputs[k]);
        const golden_tensor_t all = {.dtype = dtype, .data = values};
        for (size_t e = 0; e < count; ++e) {
            const double value = deep_number(&all, e);
            sums[e] += value;
            sizes[e] += fabs(value);
        }
        free(values);
    }
    for (size_t e = 0; e < count; ++e) {
        if (!is_sum(&sum, e, sums[e], sizes[e]))
            complain(s, "output %zu, element %zu is %g, the copies' sum is %g", k, e,
                     deep_number(&sum, e), sums[e]);
    }
    free(sums);
    free(sizes);
}

static void compare_outputs(sweep_t *s, tensor *const *deep) {
    char *values[DEEP_MOST];
    const size_t count = s->call.output_count;
    for (size_t k = 0; k < count; ++k) {
        const gantry_shape_t wanted = deep_out_shape(&s->call, k);
        if (!gantry_shape_equal(gantry_tensor_shape(deep[k]), &wanted))
            complain(s, "output %zu has another shape", k);
        values[k] = read_whole_tensor(deep[k]);
        if (deep_output_letter(&s->call, k) == '+') compare_sum(s, k, values[k], deep[k]);
    }
    for (int64_t copy = 0; copy < s->call.copies; ++copy) {
        tensor *outputs[DEEP_MOST];
        if (run_copy(s, copy, outputs) != count)
            complain(s, "copy %d: %s", (int)copy, gantry_scope_message(s->scope));
        for (size_t k = 0; k < count; ++k) {
            if (deep_output_letter(&s->call, k) != '+')
                compare_copy(s, k, values[k], copy, outputs[k]);
        }
    }
    for (size_t k = 0; k < count; ++k) free(values[k]);
}

/* ---- the sweep ---- */

/* Runs the case itself, for its results' shapes. */
static bool run_given(sweep_t *s) {
    tensor *outputs[DEEP_MOST];
    s->call.output_count = run_copy(s, 0, outputs);
    for (size_t k = 0; k < s->call.output_count; ++k)
        s->call.out_shapes[k] = *gantry_tensor_shape(outputs[k]);
    if (s->call.output_count == 0) gantry_scope_clear(s->scope);
    return s->call.output_count > 0;
}

/* An op of a fixed rank names itself. */
static void expect_fixed(sweep_t *s) {
    if (gantry_scope_status(s->scope) != GANTRY_INVALID_ARGUMENT ||
        !strstr(gantry_scope_message(s->scope), s->call.item->op))
        complain(s, "%s", gantry_scope_message(s->scope));
    gantry_scope_clear(s->scope);
    ++s->refused;
}

static void try_case(sweep_t *s, const deep_row_t *row, bool alternates) {
    tensor *deep[DEEP_MOST];
    s->call.row = row;
    if (!run_given(s) || !deep_open(&s->call, alternates)) return;
    const size_t count = run(s, s->call.inputs, NULL, s->call.attrs, s->call.attr_count, deep);
    if (row->side == DEEP_FIXED && count == 0) {
        expect_fixed(s);
    } else if (count != s->call.output_count) {
        complain(s, "%s", gantry_scope_message(s->scope));
    } else {
        compare_outputs(s, deep);
        ++s->compared;
    }
    ++s->of_row;
    deep_close(&s->call);
}

static bool is_small(const golden_case_t *item) {
    for (size_t i = 0; i < item->input_count; ++i) {
        const golden_tensor_t *given = &item->inputs[i];
        if (given->sample_count || gantry_shape_elements(&given->shape) > MOST_ELEMENTS)
            return false;
    }
    return item->error_status == GANTRY_OK && !item->text[0];
}

static void try_row(sweep_t *s, const deep_row_t *row) {
    s->of_row = 0;
    for (size_t n = 0; n < s->file->case_count; ++n) {
        const golden_case_t *item = &s->file->cases[n];
        if (!is_small(item) || !deep_fits(row, item)) continue;
        for (int alternates = 0; alternates < 1 + (row->inputs[0] == 'b'); ++alternates) {
            s->call = (deep_call_t){.item = item, .input_count = item->input_count};
            try_case(s, row, alternates != 0);
        }
    }
    if (s->of_row > 0) return;
    print_error("%s: no case is small and fits\n", row->op);
    ++s->wrong;
}

/* The ops of variables take variables; their parts are swept. */
static void try_file(const golden_file_t *file, void *user) {
    sweep_t *s = user;
    deep_row_t elementwise = {0};
    if (strncmp(file->op, "Resource", 8) == 0) return;
    s->file = file;
    s->scope = runtime_fixture_scope(&s->fixture, "CPU:0");
    for (const deep_row_t *row = NULL; (row = deep_next(file->op, row, &elementwise)) != NULL;)
        if (row->side != DEEP_OTHER) try_row(s, row);
    expect_ended_well(s->scope);
}

TEST(eight_dimensions_have_the_bits_of_few) {
    static sweep_t s; /* large */
    runtime_fixture_open(&s.fixture, 0);
    assert_true(golden_each_file(try_file, &s) > 200);
    runtime_fixture_close(&s.fixture);
    print_message("%zu calls compared, %zu refused\n", s.compared, s.refused);
    assert_int_equal(s.wrong, 0);
    assert_true(s.compared > 3000 && s.refused > 100);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
