/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Initialisers have Keras's numbers for a seed, at once and inside functions; orthogonal
 * matrices are orthogonal; and what a kind does not take is refused with a text that says so. */
#define _XOPEN_SOURCE 700

#include <math.h>
#include <string.h>

#include "test.h"
#include "train_initializer_case.h"
#include "train_fixture.h"

/* ---- values ---- */

TEST_WITH(initializers_are_those_of_keras, set_up, tear_down) {
    train_initializer_check(fixture.runtime, NULL, 1, train_initializer_eager);
}

TEST_WITH(initializers_in_functions_are_those_of_keras, set_up, tear_down) {
    train_initializer_check(fixture.runtime, NULL, 1, train_initializer_captured);
}

TEST_WITH(seeds_repeat, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    float values[3][12];
    for (int64_t i = 0; i < 3; ++i) {
        const gantry_initializer_t from = {.kind = GANTRY_INIT_HE_NORMAL, .seed = 5, .draw = i / 2};
        const gantry_tensor_t *x =
            gantry_initialize(scope, &from, GANTRY_FLOAT32, GANTRY_SHAPE(3, 4));
        assert_int_equal(gantry_tensor_read(x, values[i], sizeof values[i]), GANTRY_OK);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    assert_memory_not_equal(values[0], values[2], sizeof values[0]);
    expect_ended_well(scope);
}

TEST_WITH(halves_are_drawn_too, set_up, tear_down) {
    static const gantry_dtype_t halves[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (size_t i = 0; i < 2; ++i) {
        for (gantry_init_t kind = GANTRY_INIT_ZEROS; kind <= GANTRY_INIT_IDENTITY; ++kind) {
            if (kind == GANTRY_INIT_ORTHOGONAL) continue;
            const gantry_initializer_t from = {.kind = kind, .value = 0.5, .seed = 3};
            const gantry_tensor_t *x =
                gantry_initialize(scope, &from, halves[i], GANTRY_SHAPE(3, 4));
            float values[12];
            assert_non_null(x);
            assert_int_equal(gantry_tensor_dtype(x), halves[i]);
            x = gantry_cast(scope, x, GANTRY_FLOAT32);
            assert_int_equal(gantry_tensor_read(x, values, sizeof values), GANTRY_OK);
            for (size_t k = 0; k < 12; ++k) assert_true(fabsf(values[k]) < 2);
        }
    }
    expect_ended_well(scope);
}

TEST_WITH(no_elements_are_made_as_well, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (gantry_init_t kind = GANTRY_INIT_ZEROS; kind <= GANTRY_INIT_IDENTITY; ++kind) {
        const gantry_initializer_t from = {.kind = kind};
        const gantry_tensor_t *x =
            gantry_initialize(scope, &from, GANTRY_FLOAT32, GANTRY_SHAPE(0, 4));
        assert_int_equal(gantry_tensor_elements(x), 0);
    }
    expect_ended_well(scope);
}

/* The columns of a tall matrix, or the rows of a wide one, have length 1 and right angles. */
static void expect_orthonormal(const double *q, size_t rows, size_t columns) {
    const size_t count = rows < columns ? rows : columns, length = rows < columns ? columns : rows;
    const size_t next = rows < columns ? columns : 1, step = rows < columns ? 1 : columns;
    for (size_t i = 0; i < count; ++i) {
        for (size_t j = 0; j <= i; ++j) {
            double dot = 0;
            for (size_t k = 0; k < length; ++k)
                dot += q[i * next + k * step] * q[j * next + k * step];
            assert_true(fabs(dot - (i == j)) <= 1e-13);
        }
    }
}

TEST_WITH(orthogonal_matrices_are_orthogonal, set_up, tear_down) {
    static const int64_t sizes[][2] = {{1, 1}, {2, 1}, {1, 2}, {17, 17}, {40, 7}, {7, 40}};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    static double values[17 * 40];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        const gantry_initializer_t from = {.kind = GANTRY_INIT_ORTHOGONAL, .seed = (int64_t)i};
        const gantry_tensor_t *x =
            gantry_initialize(scope, &from, GANTRY_FLOAT64, GANTRY_SHAPE(sizes[i][0], sizes[i][1]));
        assert_int_equal(gantry_tensor_read(x, values, gantry_tensor_bytes(x)), GANTRY_OK);
        expect_orthonormal(values, (size_t)sizes[i][0], (size_t)sizes[i][1]);
    }
    expect_ended_well(scope);
}

TEST_WITH(default_seeds_are_those_of_keras, set_up, tear_down) {
    golden_file_t file;
    golden_file_open("keras/seeds.json", &file);
    for (size_t i = 0; i < file.case_count; ++i) {
        const int64_t *seed = file.cases[i].inputs[0].data, *drawn = file.cases[i].outputs[0].data;
        for (size_t k = 0; k < 8; ++k) assert_int_equal(gantry_default_seed(*seed, k), drawn[k]);
    }
    golden_free(&file);
    /* Python's random.seed takes the magnitude, of any length; the 1000th needs a new block. */
    assert_int_equal(gantry_default_seed(-7, 0), 347712783);
    assert_int_equal(gantry_default_seed(7, 0), 347712783);
    assert_int_equal(gantry_default_seed((INT64_C(1) << 40) + 5, 7), 814370087);
    assert_int_equal(gantry_default_seed(1, 999), 265892164);
}

/* ---- bad input ---- */

static void expect_refused(gantry_scope_t *scope, const gantry_initializer_t *from,
                           gantry_dtype_t dtype, gantry_shape_t shape, const char *text) {
    assert_null(gantry_initialize(scope, from, dtype, shape));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, text);
}

TEST_WITH(types_and_shapes_are_checked, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_initializer_t orthogonal = {.kind = GANTRY_INIT_ORTHOGONAL},
                               identity = {.kind = GANTRY_INIT_IDENTITY}, zeros = {0};
    for (gantry_init_t kind = GANTRY_INIT_RANDOM_UNIFORM; kind <= GANTRY_INIT_IDENTITY; ++kind) {
        char text[160];
        const gantry_initializer_t from = {.kind = kind};
        (void)snprintf(text, sizeof text, "initializer %s: the type is int32; float",
                       gantry_initializer_name(kind));
        expect_refused(scope, &from, GANTRY_INT32, GANTRY_SHAPE(2, 2), text);
        expect_refused(scope, &from, GANTRY_FLOAT32, GANTRY_SHAPE(2, -1), "the shape [2,-1] is");
    }
    expect_refused(scope, &orthogonal, GANTRY_FLOAT16, GANTRY_SHAPE(2, 2),
                   "initializer orthogonal: the type is float16; float32 and float64 are accepted");
    expect_refused(scope, &orthogonal, GANTRY_FLOAT32, GANTRY_SHAPE(3),
                   "initializer orthogonal: the shape is [3]; one of two dimensions or more");
    expect_refused(scope, &identity, GANTRY_FLOAT32, GANTRY_SHAPE(3, 3, 3),
                   "initializer identity: the shape is [3,3,3]; a matrix is accepted");
    expect_refused(scope, &identity, GANTRY_FLOAT32, GANTRY_SCALAR, "the shape is []; a matrix");
    expect_refused(scope, &zeros, GANTRY_FLOAT32, (gantry_shape_t){.rank = 99},
                   "initializer zeros: the shape");
    assert_null(gantry_initialize(scope, &zeros, GANTRY_DTYPE_NONE, GANTRY_SHAPE(2)));
    assert_int_equal(gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(scope);
    expect_ended_well(scope);
}

TEST_WITH(members_are_checked, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const double nan_ = (double)NAN, infinity = (double)INFINITY;
    const struct {
        gantry_initializer_t from;
        const char *text;
    } bad[] = {
        {{.kind = 15}, "gantry_initialize: 15 is no kind"},
        {{.kind = (gantry_init_t)-1}, "-1 is no kind"},
        {{.struct_size = 2}, "gantry_initialize: initializer: struct_size is 2"},
        {{.struct_size = 4096}, "struct_size is 4096"},
        {{.kind = GANTRY_INIT_VARIANCE_SCALING, .scale = -1},
         "initializer variance_scaling: scale is -1; a number above 0 is accepted"},
        {{.kind = GANTRY_INIT_VARIANCE_SCALING, .scale = nan_}, "scale is"},
        {{.kind = GANTRY_INIT_VARIANCE_SCALING, .mode = 3}, "mode is 3"},
        {{.kind = GANTRY_INIT_VARIANCE_SCALING, .distribution = 3}, "distribution is 3"},
        {{.kind = GANTRY_INIT_RANDOM_NORMAL, .stddev = -0.5}, "stddev is -0.5"},
        {{.kind = GANTRY_INIT_RANDOM_NORMAL, .mean = infinity}, "mean is inf"},
        {{.kind = GANTRY_INIT_RANDOM_UNIFORM, .minval = 2, .maxval = 1}, "minval is 2"},
        {{.kind = GANTRY_INIT_RANDOM_UNIFORM, .maxval = infinity}, "maxval is inf"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
        expect_refused(scope, &bad[i].from, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), bad[i].text);
    expect_refused(scope, NULL, GANTRY_FLOAT32, GANTRY_SHAPE(2),
                   "gantry_initialize: the initializer is NULL");
    assert_null(gantry_initialize(NULL, &bad[0].from, GANTRY_FLOAT32, GANTRY_SHAPE(2)));
    assert_non_null(strstr(gantry_last_message(), "gantry_initialize: the scope is NULL"));
    expect_ended_well(scope);
}

TEST_WITH(kinds_have_names, set_up, tear_down) {
    assert_string_equal(gantry_initializer_name(GANTRY_INIT_GLOROT_UNIFORM), "glorot_uniform");
    assert_string_equal(gantry_initializer_name((gantry_init_t)15), "");
    assert_string_equal(gantry_initializer_name((gantry_init_t)-1), "");
}

/* ---- memory runs out ---- */

static gantry_status_t all_kinds(gantry_scope_t *scope) {
    for (gantry_init_t kind = GANTRY_INIT_ZEROS; kind <= GANTRY_INIT_IDENTITY; ++kind) {
        const gantry_initializer_t from = {.kind = kind, .seed = 1};
        (void)gantry_initialize(scope, &from, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2));
    }
    return gantry_scope_status(scope);
}

TEST_WITH(initializers_without_memory_leak_nothing, runtime_fixture_set_up, NULL) {
    runtime_fixture_starve_each(0, NULL, all_kinds);
}

TEST_WITH(orthogonal_without_host_memory_is_refused, set_up, tear_down) {
    const gantry_initializer_t from = {.kind = GANTRY_INIT_ORTHOGONAL};
    for (long n = 0; n < 2; ++n) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
        train_heap_reset(n);
        assert_null(gantry_initialize(scope, &from, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2)));
        expect_scope_failure(scope, GANTRY_RESOURCE_EXHAUSTED, "out of host memory");
        assert_int_equal(train_heap_live(), 0);
        train_heap_reset(-1);
        expect_ended_well(scope);
    }
}

int main(void) { return test_main(); }
