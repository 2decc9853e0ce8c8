/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A tape gives slices as gradients where TensorFlow does; their rows are summed, and
 * optimizers refuse what they do not take.
 * Promise: Gradients that are slices of embeddings are joined with each other and with dense ones,
 * and may be of open number.
 *
 * Keras's numbers are in test_slice_trajectories.c. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>

#include "optimizer_case.h"
#include "test.h"

#include "train/optimizer/optimizer_slices.h"

#define TABLE GANTRY_SHAPE(4, 2)

/* ---- helpers ---- */

static tensor *table_of(gantry_scope_t *in) {
    static const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    return gantry_constant(in, GANTRY_FLOAT32, TABLE, values, sizeof values);
}

static tensor *wide_indices(gantry_scope_t *in, int64_t a, int64_t b) {
    const int64_t values[] = {a, b};
    return gantry_constant(in, GANTRY_INT64, GANTRY_SHAPE(2), values, sizeof values);
}

/* Slices (1, 2), (3, 4), (5, 6) of rows 3, 1, 3. */
static gantry_gradient_t three_slices(gantry_scope_t *in) {
    return (gantry_gradient_t){
        .values = gantry_reshape(in, F32(in, 1, 2, 3, 4, 5, 6), GANTRY_SHAPE(3, 2)),
        .indices = I32(in, 3, 1, 3),
        .shape = TABLE};
}

/* A tape over the uses of a table, as tensor and as variable. */
typedef struct recorded_t {
    gantry_tape_t *tape;
    gantry_variable_t *variable;
    tensor *w;
    gantry_source_t source;
    gantry_gradient_t gradient;
} recorded_t;

static void begin(recorded_t *r, bool is_variable) {
    *r = (recorded_t){.tape = gantry_tape_begin(scope, NULL)};
    if (is_variable) {
        r->variable = gantry_variable_create(scope, table_of(scope), "w");
        r->w = gantry_variable_read(scope, r->variable);
        r->source.variable = r->variable;
    } else {
        r->w = table_of(scope);
        (void)gantry_tape_watch(r->tape, r->w);
        r->source.tensor = r->w;
    }
}

static void end(recorded_t *r, tensor *target) {
    if (gantry_tape_gradient_slices(r->tape, target, NULL, &r->source, 1, NULL, &r->gradient) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_tape_end(r->tape);
    gantry_variable_release(r->variable);
}

static void expect_dense(const gantry_gradient_t *gradient) {
    assert_non_null(gradient->dense);
    assert_null(gradient->values);
    assert_null(gradient->indices);
}

/* ---- what a tape gives ---- */

TEST_WITH(gathered_rows_have_slices, set_up, tear_down) {
    for (int is_variable = 0; is_variable < 2; ++is_variable) {
        recorded_t r;
        begin(&r, is_variable);
        tensor *rows = gantry_gather(scope, r.w, I32(scope, 3, 1, 3), 0);
        end(&r, gantry_mul(scope, rows, rows));
        assert_null(r.gradient.dense);
        assert_true(gantry_shape_equal(&r.gradient.shape, gantry_tensor_shape(table_of(scope))));
        expect_i32(r.gradient.indices, 3, (const int32_t[]){3, 1, 3});
        EXPECT_F32(r.gradient.values, 14, 16, 6, 8, 14, 16);
        assert_int_equal(gantry_tensor_shape(r.gradient.values)->rank, 2);
        EXPECT_F32(gantry_gradient_to_dense(scope, &r.gradient), 0, 0, 6, 8, 0, 0, 28, 32);
    }
}

TEST_WITH(indices_of_any_rank_are_one_list, set_up, tear_down) {
    recorded_t r;
    begin(&r, true);
    tensor *square = gantry_reshape(scope, I32(scope, 0, 1, 1, 2), GANTRY_SHAPE(2, 2));
    tensor *both = gantry_add(
        scope, gantry_sum(scope, gantry_gather(scope, r.w, square, 0), NULL),
        gantry_sum(scope, gantry_gather(scope, r.w, gantry_scalar_i32(scope, 3), 0), NULL));
    end(&r, both);
    EXPECT_F32(gantry_gradient_to_dense(scope, &r.gradient), 1, 1, 2, 2, 1, 1, 1, 1);
    assert_int_equal(gantry_tensor_elements(r.gradient.indices), 5);
}

/* The later use is first, as it is differentiated first. */
TEST_WITH(slices_of_several_uses_are_joined, set_up, tear_down) {
    recorded_t r;
    int64_t indices[4];
    begin(&r, true);
    tensor *first = gantry_gather(scope, r.w, I32(scope, 3, 1), 0),
           *again = gantry_variable_read(scope, r.variable);
    tensor *second = gantry_embedding_lookup(scope, again, wide_indices(scope, 0, 3));
    end(&r, gantry_add(scope, first, gantry_neg(scope, second)));
    assert_int_equal(gantry_tensor_dtype(r.gradient.indices), GANTRY_INT64);
    assert_int_equal(gantry_tensor_read(r.gradient.indices, indices, sizeof indices), GANTRY_OK);
    for (size_t i = 0; i < 4; ++i) assert_int_equal(indices[i], ((int[]){0, 3, 3, 1})[i]);
    EXPECT_F32(r.gradient.values, -1, -1, -1, -1, 1, 1, 1, 1);
}

TEST_WITH(slices_beside_a_dense_gradient_are_dense, set_up, tear_down) {
    recorded_t r;
    begin(&r, true);
    tensor *rows = gantry_sum(scope, gantry_gather(scope, r.w, I32(scope, 1, 1), 0), NULL);
    end(&r, gantry_add(scope, rows, gantry_sum(scope, r.w, NULL)));
    expect_dense(&r.gradient);
    EXPECT_F32(r.gradient.dense, 1, 1, 3, 3, 1, 1, 1, 1);
}

TEST_WITH(other_gradients_are_dense, set_up, tear_down) {
    recorded_t r;
    begin(&r, false);
    end(&r, gantry_gather(scope, r.w, I32(scope, 1, 1), 1));
    expect_dense(&r.gradient);
    EXPECT_F32(r.gradient.dense, 0, 2, 0, 2, 0, 2, 0, 2);
}

/* Slices would be made dense on the way from one source to the other. */
TEST_WITH(gradients_that_flow_on_are_dense, set_up, tear_down) {
    gantry_tape_t *tape = gantry_tape_begin(scope, &(gantry_tape_options_t){.persistent = true});
    tensor *w = table_of(scope);
    (void)gantry_tape_watch(tape, w);
    tensor *computed = gantry_neg(scope, w);
    tensor *y = gantry_gather(scope, computed, I32(scope, 0, 0), 0);
    const gantry_source_t sources[] = {{.tensor = computed}, {.tensor = w}};
    gantry_gradient_t gradients[2];
    assert_int_equal(gantry_tape_gradient_slices(tape, y, NULL, sources, 2, NULL, gradients),
                     GANTRY_OK);
    expect_dense(&gradients[0]);
    expect_dense(&gradients[1]);
    EXPECT_F32(gradients[0].dense, 2, 2, 0, 0, 0, 0, 0, 0);
    assert_int_equal(gantry_tape_gradient_slices(tape, y, NULL, sources, 1, NULL, gradients),
                     GANTRY_OK);
    EXPECT_F32(gradients[0].values, 1, 1, 1, 1);
    gantry_tape_end(tape);
}

TEST_WITH(unconnected_sources_have_none_or_zeros, set_up, tear_down) {
    gantry_tape_t *tape = gantry_tape_begin(scope, &(gantry_tape_options_t){.persistent = true});
    tensor *w = table_of(scope), *x = F32(scope, 1, 2);
    (void)gantry_tape_watch(tape, w);
    (void)gantry_tape_watch(tape, x);
    const gantry_source_t source = {.tensor = w};
    const gantry_gradient_options_t zeros = {.zeros_where_unconnected = true};
    gantry_gradient_t gradient;
    tensor *y = gantry_square(scope, x);
    assert_int_equal(gantry_tape_gradient_slices(tape, y, NULL, &source, 1, NULL, &gradient),
                     GANTRY_OK);
    assert_null(gradient.dense);
    assert_null(gradient.values);
    assert_null(gantry_gradient_to_dense(scope, &gradient));
    assert_int_equal(gantry_tape_gradient_slices(tape, y, NULL, &source, 1, &zeros, &gradient),
                     GANTRY_OK);
    EXPECT_F32(gradient.dense, 0, 0, 0, 0, 0, 0, 0, 0);
    gantry_tape_end(tape);
}

/* ---- sums of rows ---- */

TEST_WITH(rows_are_added, set_up, tear_down) {
    gantry_gradient_t gradient = three_slices(scope);
    assert_int_equal(gantry_gradient_sum_rows(scope, &gradient, &gradient), GANTRY_OK);
    expect_i32(gradient.indices, 3, (const int32_t[]){1, 3, 0});
    EXPECT_F32(gradient.values, 3, 4, 6, 8, 0, 0);
    EXPECT_F32(gantry_gradient_to_dense(scope, &gradient), 0, 0, 3, 4, 0, 0, 6, 8);
}

/* All rows alike, all unlike, one slice, and none. */
TEST_WITH(rows_of_any_kind_are_added, set_up, tear_down) {
    gantry_gradient_t gradient = three_slices(scope), sums;
    gradient.indices = I32(scope, 2, 2, 2);
    assert_int_equal(gantry_gradient_sum_rows(scope, &gradient, &sums), GANTRY_OK);
    EXPECT_F32(gantry_gradient_to_dense(scope, &sums), 0, 0, 0, 0, 9, 12, 0, 0);
    gradient.indices = I32(scope, 2, 0, 3);
    assert_int_equal(gantry_gradient_sum_rows(scope, &gradient, &sums), GANTRY_OK);
    EXPECT_F32(gantry_gradient_to_dense(scope, &sums), 3, 4, 0, 0, 1, 2, 5, 6);
    gradient =
        (gantry_gradient_t){.values = gantry_reshape(scope, F32(scope, 1, 2), GANTRY_SHAPE(1, 2)),
                            .indices = I32(scope, 3),
                            .shape = TABLE};
    assert_int_equal(gantry_gradient_sum_rows(scope, &gradient, &sums), GANTRY_OK);
    EXPECT_F32(gantry_gradient_to_dense(scope, &sums), 0, 0, 0, 0, 0, 0, 1, 2);
    gradient.values = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 2));
    gradient.indices = gantry_zeros(scope, GANTRY_INT32, GANTRY_SHAPE(0));
    assert_int_equal(gantry_gradient_sum_rows(scope, &gradient, &sums), GANTRY_OK);
    EXPECT_F32(gantry_gradient_to_dense(scope, &sums), 0, 0, 0, 0, 0, 0, 0, 0);
    gradient = (gantry_gradient_t){.dense = F32(scope, 5)};
    assert_int_equal(gantry_gradient_sum_rows(scope, &gradient, &sums), GANTRY_OK);
    assert_ptr_equal(sums.dense, gradient.dense);
    EXPECT_F32(gantry_gradient_to_dense(scope, &sums), 5);
}

/* ---- which variables a step changes ---- */

/* No slice at all: the variable and its slots stay as they are, and the step counts. */
TEST_WITH(a_step_without_slices_changes_no_row, set_up, tear_down) {
    gantry_variable_t *w = gantry_variable_create(
        scope, gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3000, 3)), "w");
    const gantry_gradient_t none = {
        .values = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 3)),
        .indices = gantry_zeros(scope, GANTRY_INT32, GANTRY_SHAPE(0)),
        .shape = GANTRY_SHAPE(3000, 3)};
    gantry_optimizer_t *const all[] = {gantry_sgd(NULL), gantry_adagrad(NULL), gantry_adam(NULL)};
    for (size_t k = 0; k < 3; ++k) {
        gantry_variable_t *own[8];
        size_t count;
        assert_int_equal(gantry_optimizer_apply_slices(all[k], scope, &w, &none, 1), GANTRY_OK);
        assert_float_equal(read_first(w), 1, 0);
        assert_int_equal(gantry_optimizer_get_variables(all[k], 8, own, &count), GANTRY_OK);
        assert_float_equal(read_first(own[0]), 1, 0);
        gantry_optimizer_release(all[k]);
    }
    gantry_variable_release(w);
}

/* Two slices of row 7: of a large variable, whose rows are updated, and of a small one. */
TEST_WITH(each_floating_type_is_updated, set_up, tear_down) {
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16, GANTRY_FLOAT32,
                                            GANTRY_FLOAT64};
    static const float after[] = {1, 0}; /* of row 0 and of row 7 */
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; ++k) {
        const gantry_shape_t shapes[] = {GANTRY_SHAPE(3000, 3), GANTRY_SHAPE(10, 3)};
        gantry_gradient_t gradients[2];
        gantry_variable_t *w[2];
        for (size_t i = 0; i < 2; ++i) {
            w[i] = gantry_variable_create(scope, gantry_ones(scope, dtypes[k], shapes[i]), "w");
            gradients[i] =
                (gantry_gradient_t){.values = gantry_ones(scope, dtypes[k], GANTRY_SHAPE(2, 3)),
                                    .indices = wide_indices(scope, 7, 7),
                                    .shape = shapes[i]};
        }
        gantry_optimizer_t *sgd = half_sgd();
        assert_int_equal(gantry_optimizer_apply_slices(sgd, scope, w, gradients, 2), GANTRY_OK);
        for (size_t i = 0; i < 2; ++i) {
            float values[9000];
            read_all(w[i], gantry_shape_elements(&shapes[i]), values);
            assert_float_equal(values[0], after[0], 0);
            assert_float_equal(values[7 * 3], after[1], 0);
            gantry_variable_release(w[i]);
        }
        gantry_optimizer_release(sgd);
    }
}

/* A variable without a gradient among some with slices. */
TEST_WITH(variables_without_slices_stay, set_up, tear_down) {
    gantry_variable_t *w[] = {make(GANTRY_FLOAT32, 8, 1),
                              gantry_variable_create(scope, table_of(scope), "table")};
    const gantry_gradient_t gradients[] = {{.dense = NULL}, three_slices(scope)};
    gantry_optimizer_t *adam = gantry_adam(NULL);
    assert_int_equal(gantry_optimizer_apply_slices(adam, scope, w, gradients, 2), GANTRY_OK);
    assert_float_equal(read_first(w[0]), 1, 0);
    assert_float_equal(read_first(w[1]), 1, 0);
    gantry_optimizer_release(adam);
    gantry_variable_release(w[0]);
    gantry_variable_release(w[1]);
}

/* ---- what a model does with slices ---- */

static gantry__slice_use_t use_of(gantry_optimizer_t *optimizer, int64_t rows, int64_t slices) {
    gantry_variable_t *w = gantry_variable_create(
        scope, gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(rows, 64)), "w");
    assert_int_equal(gantry_optimizer_build(optimizer, scope, &w, 1), GANTRY_OK);
    const gantry__slice_use_t use = gantry__train_use_of_slices(optimizer, w, slices);
    gantry_optimizer_release(optimizer);
    gantry_variable_release(w);
    return use;
}

TEST_WITH(slices_are_used_where_they_pay, set_up, tear_down) {
    assert_int_equal(use_of(half_sgd(), 20000, 320), GANTRY__SLICES_APART);
    assert_int_equal(use_of(gantry_adagrad(NULL), 20000, 5000), GANTRY__SLICES_ADDED);
    assert_int_equal(use_of(gantry_adagrad(NULL), 20000, 5001), GANTRY__SLICES_DENSE);
    assert_int_equal(use_of(half_sgd(), 20000, 0), GANTRY__SLICES_DENSE);
    assert_int_equal(use_of(half_sgd(), 16000, 320), GANTRY__SLICES_DENSE);
    assert_int_equal(use_of(gantry_adam(NULL), 20000, 320), GANTRY__SLICES_DENSE);
    assert_int_equal(use_of(gantry_sgd(&(gantry_sgd_options_t){.momentum = 0.5}), 20000, 320),
                     GANTRY__SLICES_DENSE);
    assert_int_equal(
        use_of(gantry_adagrad(&(gantry_adagrad_options_t){.weight_decay = 0.5}), 20000, 320),
        GANTRY__SLICES_DENSE);
}

/* ---- refused ---- */

static void expect_refused(gantry_optimizer_t *sgd, gantry_variable_t *w,
                           const gantry_gradient_t *gradient, const char *text) {
    assert_int_not_equal(gantry_optimizer_apply_slices(sgd, scope, &w, gradient, 1), GANTRY_OK);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, text);
    assert_float_equal(read_first(w), 1, 0);
}

TEST_WITH(slices_that_do_not_fit_are_refused, set_up, tear_down) {
    gantry_variable_t *w = gantry_variable_create(scope, table_of(scope), "table");
    gantry_optimizer_t *sgd = half_sgd();
    const gantry_gradient_t good = three_slices(scope);
    gantry_gradient_t bad = good;
    bad.indices = NULL;
    expect_refused(sgd, w, &bad,
                   "gantry_optimizer_apply_slices: the gradient of variable table has slices whose "
                   "indices are NULL; values and indices are accepted");
    bad = (gantry_gradient_t){.indices = good.indices, .shape = TABLE};
    expect_refused(sgd, w, &bad, "has slices whose values are NULL");
    bad = good;
    bad.dense = table_of(scope);
    expect_refused(sgd, w, &bad, "has both a dense tensor and slices; one of both is accepted");
    bad = good;
    bad.indices = F32(scope, 1, 2, 3);
    expect_refused(sgd, w, &bad, "has indices of type float32; int32 and int64 are accepted");
    bad.indices = I32(scope, 1, 2);
    expect_refused(sgd, w, &bad, "has values[3,2] and indices[2] for the shape [4,2]");
    bad = good;
    bad.values = F32(scope, 1, 2, 3);
    expect_refused(sgd, w, &bad, "has values[3] and indices[3] for the shape [4,2]");
    bad = good;
    bad.shape = GANTRY_SHAPE(5, 2);
    expect_refused(sgd, w, &bad,
                   "the gradient of variable table is float32[5,2]; the variable's type and shape "
                   "are accepted: float32[4,2]");
    bad = good;
    bad.values = gantry_cast(scope, good.values, GANTRY_FLOAT64);
    expect_refused(sgd, w, &bad, "the gradient of variable table is float64[4,2]");
    bad = (gantry_gradient_t){.dense = NULL};
    expect_refused(sgd, w, &bad,
                   "gantry_optimizer_apply_slices: No gradients provided for any variable.");
    gantry_optimizer_release(sgd);
    gantry_variable_release(w);
}

/* By the update of rows, and by the dense sum. */
TEST_WITH(indices_outside_are_refused, set_up, tear_down) {
    static const int32_t outside[] = {-1, 3000};
    const gantry_shape_t shape = GANTRY_SHAPE(3000, 3);
    gantry_optimizer_t *const all[] = {half_sgd(), gantry_adagrad(NULL), gantry_adam(NULL)};
    for (size_t k = 0; k < 3; ++k) {
        gantry_variable_t *w = gantry_variable_create(
                              scope, gantry_ones(scope, GANTRY_FLOAT32, shape), "w"),
                          *own[8];
        size_t count;
        assert_int_equal(gantry_optimizer_build(all[k], scope, &w, 1), GANTRY_OK);
        for (size_t i = 0; i < 2; ++i) {
            const gantry_gradient_t bad = {
                .values = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3)),
                .indices = I32(scope, 0, outside[i]),
                .shape = shape};
            expect_refused(all[k], w, &bad, "does not index into shape [3000,3]");
            assert_int_equal(gantry_optimizer_get_variables(all[k], 8, own, &count), GANTRY_OK);
            assert_float_equal(read_first(own[0]), 0, 0);
        }
        gantry_optimizer_release(all[k]);
        gantry_variable_release(w);
    }
}

TEST_WITH(null_is_refused, set_up, tear_down) {
    gantry_variable_t *w = gantry_variable_create(scope, table_of(scope), "table");
    gantry_optimizer_t *sgd = half_sgd();
    gantry_gradient_t gradient = three_slices(scope);
    assert_int_equal(gantry_optimizer_apply_slices(NULL, scope, &w, &gradient, 1),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "gantry_optimizer_apply_slices: the optimizer is NULL");
    assert_int_equal(gantry_optimizer_apply_slices(sgd, NULL, &w, &gradient, 1),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_optimizer_apply_slices(sgd, scope, NULL, &gradient, 1),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "a list is NULL and count is 1");
    assert_int_equal(gantry_optimizer_apply_slices(sgd, scope, &w, NULL, 1),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "a list is NULL and count is 1");
    assert_int_equal(gantry_optimizer_apply_slices(sgd, scope, NULL, NULL, 0), GANTRY_OK);
    assert_null(gantry_gradient_to_dense(NULL, &gradient));
    assert_null(gantry_gradient_to_dense(scope, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "gantry_gradient_to_dense: the gradient is NULL");
    assert_int_equal(gantry_gradient_sum_rows(NULL, &gradient, &gradient), GANTRY_INVALID_ARGUMENT);
    (void)gantry_gradient_sum_rows(scope, NULL, &gradient);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "gantry_gradient_sum_rows: the gradient is NULL");
    (void)gantry_gradient_sum_rows(scope, &gradient, NULL);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "out_gradient is NULL");
    gantry_optimizer_release(sgd);
    gantry_variable_release(w);
}

TEST_WITH(null_is_refused_by_the_tape, set_up, tear_down) {
    tensor *x = F32(scope, 1, 2);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    tensor *y = gantry_square(scope, x);
    gantry_gradient_t gradient;
    gantry_source_t source = {.tensor = x};
    assert_int_equal(gantry_tape_gradient_slices(NULL, y, NULL, &source, 1, NULL, &gradient),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("gantry_tape_gradient_slices: the tape is NULL");
    (void)gantry_tape_gradient_slices(tape, NULL, NULL, &source, 1, NULL, &gradient);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the target is NULL");
    (void)gantry_tape_gradient_slices(tape, y, NULL, NULL, 1, NULL, &gradient);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "sources is NULL");
    (void)gantry_tape_gradient_slices(tape, y, NULL, &source, 1, NULL, NULL);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "out_gradients is NULL");
    source.tensor = NULL;
    (void)gantry_tape_gradient_slices(tape, y, NULL, &source, 1, NULL, &gradient);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "neither tensor nor variable");
    assert_int_equal(gantry_tape_gradient_slices(tape, y, NULL, NULL, 0, NULL, NULL), GANTRY_OK);
    gantry_tape_end(tape);
}

/* ---- without memory ---- */

static gantry_optimizer_t *optimizer_of(int kind) {
    if (kind == 0) return half_sgd();
    if (kind == 1) return gantry_adagrad(&(gantry_adagrad_options_t){.global_clipnorm = 1});
    return gantry_adam(NULL);
}

/* A tape, slices of two uses, sums of rows, and a step. */
static gantry_status_t train_slices(gantry_scope_t *in, int kind) {
    gantry_variable_t *w =
        gantry_variable_create(in, gantry_ones(in, GANTRY_FLOAT32, GANTRY_SHAPE(3000, 3)), "w");
    gantry_optimizer_t *optimizer = optimizer_of(kind);
    gantry_tape_t *tape = optimizer ? gantry_tape_begin(in, NULL) : NULL;
    const gantry_source_t source = {.variable = w};
    gantry_gradient_t gradient = {.dense = NULL};
    gantry_status_t status = tape ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    if (tape) {
        tensor *read = gantry_variable_read(in, w);
        tensor *y = gantry_add(in, gantry_gather(in, read, I32(in, 3, 3), 0),
                               gantry_gather(in, read, I32(in, 5, 3), 0));
        if (gantry_scope_status(in) == GANTRY_OK &&
            gantry_tape_gradient_slices(tape, y, NULL, &source, 1, NULL, &gradient) == GANTRY_OK &&
            gantry_gradient_sum_rows(in, &gradient, &gradient) == GANTRY_OK)
            (void)gantry_optimizer_apply_slices(optimizer, in, &w, &gradient, 1);
        status = gantry_scope_status(in);
    }
    gantry_tape_end(tape);
    gantry_optimizer_release(optimizer);
    gantry_variable_release(w);
    return status;
}

static gantry_status_t train_sgd(gantry_scope_t *in) { return train_slices(in, 0); }
static gantry_status_t train_adagrad(gantry_scope_t *in) { return train_slices(in, 1); }
static gantry_status_t train_adam(gantry_scope_t *in) { return train_slices(in, 2); }

TEST_WITH(without_memory_nothing_leaks, runtime_fixture_set_up, NULL) {
    train_heap_reset(-1);
    runtime_fixture_starve_each(1, "GPU:0", train_sgd);
    runtime_fixture_starve_each(1, "GPU:0", train_adagrad);
    runtime_fixture_starve_each(1, "GPU:0", train_adam);
    assert_int_equal(train_heap_live(), 0);
}

static gantry_status_t train_in_scope(void *user) {
    gantry_scope_t *in = runtime_fixture_scope(&fixture, "CPU:0");
    const gantry_status_t status = train_adagrad(in);
    (void)user;
    (void)gantry_scope_end(in);
    return status;
}

TEST_WITH(without_memory_of_its_own_nothing_leaks, set_up, tear_down) {
    assert_true(train_heap_fail_each("slices", train_in_scope, NULL) > 9);
}

/* One variable's rows and a dense update: all are old, or all are new. */
TEST_WITH(a_step_without_memory_changes_nothing, set_up, tear_down) {
    const gantry_shape_t shape = GANTRY_SHAPE(3000, 3);
    gantry_variable_t *w[] = {
        gantry_variable_create(scope, gantry_ones(scope, GANTRY_FLOAT32, shape), "table"),
        make(GANTRY_FLOAT32, 3, 1)};
    const gantry_gradient_t g[] = {
        {.values = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3)),
         .indices = I32(scope, 0, 0),
         .shape = shape},
        {.dense = numbers(scope, GANTRY_FLOAT32, 3, 1)}};
    gantry_optimizer_t *sgd = half_sgd();
    size_t failures = 0;
    assert_int_equal(gantry_optimizer_build(sgd, scope, w, 2), GANTRY_OK);
    for (long n = 0;; ++n) {
        runtime_fixture_starve(&fixture, n);
        gantry_status_t status = gantry_optimizer_apply_slices(sgd, scope, w, g, 2);
        (void)runtime_fixture_feed(&fixture);
        if (status == GANTRY_OK) break;
        ++failures;
        gantry_scope_clear(scope);
        assert_float_equal(read_first(w[1]), 1, 0);
        assert_float_equal(read_first(w[0]), 1, 0);
    }
    assert_true(failures > 5);
    assert_float_equal(read_first(w[0]), 0, 0);
    assert_float_equal(read_first(w[1]), 0.5, 0);
    gantry_variable_release(w[0]);
    gantry_variable_release(w[1]);
    gantry_optimizer_release(sgd);
}

int main(void) { return test_main(); }
