/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: In a function, a product or a convolution computes the bias and the activation after it,
 * with the bits of the ops run one by one.
 *
 * What must stay apart does. */
#define _XOPEN_SOURCE 700

#include "epilogue_case.h"
#include "runtime_fixture.h"
#include "test.h"

static const gantry_tensor_t *leaky(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_leaky_relu(scope, x, 0.25F);
}

static const gantry_tensor_t *gelu(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_gelu(scope, x, false);
}

static const gantry_tensor_t *gelu_tanh(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_gelu(scope, x, true);
}

/* One at least for each algorithm of the CPU's products, and for parts of rows. */
static const int64_t shapes[][3] = {{2, 3, 4},      {1, 40, 30},     {1, 784, 512}, {4, 100, 700},
                                    {700, 100, 3},  {20, 33, 17},    {64, 64, 64},  {50, 300, 10},
                                    {20, 90, 1300}, {130, 600, 650}, {7, 0, 9},     {5, 1, 1},
                                    {300, 20, 1}};

static void check_each(gantry_runtime_t *runtime, epilogue_case_t c) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        for (uint32_t form = 0; form < 4; ++form) {
            c.m = shapes[i][0];
            c.k = shapes[i][1];
            c.n = shapes[i][2];
            c.transpose_a = form & 1;
            c.transpose_b = form >> 1;
            c.adds_from_left = form == 1;
            assert_true(epilogue_check(runtime, "CPU:0", &c, 0).is_joined);
        }
    }
}

TEST(products_of_each_shape_have_the_bits_of_ops) {
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16,
                                            GANTRY_BFLOAT16, GANTRY_INT32};
    for (uint32_t own = 0; own < 2; ++own) {
        runtime_fixture_t f;
        if (own) assert_int_equal(setenv("GANTRY_CPU_MATMUL", "own", 1), 0);
        runtime_fixture_open(&f, 0);
        for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; ++t) {
            check_each(
                f.runtime,
                (epilogue_case_t){.dtype = dtypes[t], .has_bias = true, .activation = gantry_relu});
        }
        runtime_fixture_close(&f);
    }
}

TEST(each_activation_is_taken) {
    static const epilogue_fn activations[] = {gantry_relu, gantry_relu6,   gantry_elu, leaky,
                                              gantry_tanh, gantry_sigmoid, gelu,       gelu_tanh};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; ++i) {
        for (uint32_t has_bias = 0; has_bias < 2; ++has_bias)
            check_each(f.runtime, (epilogue_case_t){.dtype = GANTRY_FLOAT32,
                                                    .has_bias = has_bias,
                                                    .activation = activations[i]});
    }
    check_each(f.runtime, (epilogue_case_t){.dtype = GANTRY_FLOAT32, .has_bias = true});
    runtime_fixture_close(&f);
}

/* ---- what a node becomes ---- */

TEST(a_node_names_its_members_and_keeps_the_last_name) {
    epilogue_case_t c = {.m = 8,
                         .k = 8,
                         .n = 8,
                         .dtype = GANTRY_FLOAT32,
                         .has_bias = true,
                         .activation = gantry_relu};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = epilogue_trace(f.runtime, &c, epilogue_body, 0);
    const gantry__node_t *node = epilogue_find(function, "_FusedMatMul");
    assert_non_null(node);
    assert_string_equal(node->name, "Relu");
    assert_int_equal(node->fused_count, 3);
    assert_string_equal(node->fused[0], "MatMul");
    assert_string_equal(node->fused[1], "BiasAdd");
    assert_string_equal(node->fused[2], "Relu");
    char text[4096];
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
    assert_non_null(strstr(text, "one pass over MatMul, BiasAdd, Relu\n"));
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

/* ---- what stays apart ---- */

typedef enum apart_t {
    APART_USED,   /* another node uses the product */
    APART_RESULT, /* the product is a result */
    APART_COLUMN, /* an operand with one element for each row */
    APART_GROWS,  /* an operand that makes the result larger */
    APART_WAITED, /* a node runs after the product by request */
    APART_WITH,   /* a node shares the product's device by request */
    APART_OTHER,  /* the activation is on another device */
    APART_CAST,   /* the result has another type */
    APART_COUNT
} apart_t;

static apart_t apart;

static void apart_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *product = gantry_matmul(scope, inputs[0], inputs[1], NULL), *more;
    gantry_scope_t *inner = NULL;
    (void)user;
    switch (apart) {
        case APART_USED:
            more = gantry_sum(scope, product, NULL);
            outputs[0] = gantry_mul(scope, gantry_relu(scope, product), more);
            break;
        case APART_RESULT: {
            const gantry_tensor_t *both[] = {gantry_relu(scope, product), product};
            outputs[0] = gantry_concat(scope, both, 2, 0);
            break;
        }
        case APART_COLUMN:
            more = gantry_reshape(scope, inputs[2], GANTRY_SHAPE(8, 1));
            outputs[0] = gantry_relu(scope, gantry_add(scope, product, more));
            break;
        case APART_GROWS:
            more = gantry_reshape(scope, inputs[2], GANTRY_SHAPE(8, 1, 1));
            outputs[0] = gantry_add(scope, product, more);
            break;
        case APART_WAITED:
            inner = gantry_scope_begin_after(scope, &product, 1);
            more = gantry_scope_keep(inner, gantry_sum(inner, inputs[0], NULL));
            outputs[0] = gantry_add(scope, gantry_relu(scope, product), more);
            break;
        case APART_WITH:
            inner = gantry_scope_begin_with(scope, product);
            more = gantry_scope_keep(inner, gantry_sum(inner, inputs[0], NULL));
            outputs[0] = gantry_add(scope, gantry_relu(scope, product), more);
            break;
        case APART_OTHER:
            inner = gantry_scope_begin_in(scope, "GPU:0");
            outputs[0] = gantry_scope_keep(inner, gantry_add(inner, product, product));
            break;
        default:
            outputs[0] = gantry_cast(scope, gantry_relu(scope, product), GANTRY_FLOAT64);
            break;
    }
    if (inner) (void)gantry_scope_end(inner);
}

TEST(what_has_another_use_shape_or_place_stays_apart) {
    for (apart = 0; apart < APART_COUNT; ++apart) {
        epilogue_case_t c = {.m = 8, .k = 8, .n = 8, .dtype = GANTRY_FLOAT32};
        runtime_fixture_t f;
        size_t bytes;
        runtime_fixture_open(&f, apart == APART_OTHER);
        gantry_scope_t *scope = runtime_fixture_scope(&f, apart == APART_OTHER ? NULL : "CPU:0");
        gantry_function_t *function = epilogue_trace(f.runtime, &c, apart_body, 0);
        if (epilogue_find(function, "_FusedMatMul")) fail_msg("case %d is one node", (int)apart);
        free(epilogue_call(scope, &c, function, &bytes));
        gantry_function_release(function);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

/* ---- two products ---- */

/* relu(a @ b + (a @ a) + bias) */
static void two_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *first = gantry_matmul(scope, inputs[0], inputs[1], NULL),
                          *second = gantry_matmul(scope, inputs[0], inputs[0], NULL);
    outputs[0] =
        gantry_relu(scope, gantry_bias_add(scope, gantry_add(scope, first, second), inputs[2]));
}

TEST(the_later_of_two_products_takes_the_sum) {
    epilogue_case_t c = {.m = 8, .k = 8, .n = 8, .dtype = GANTRY_FLOAT32};
    runtime_fixture_t f;
    size_t bytes;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *joined = epilogue_trace(f.runtime, &c, two_body, 0),
                      *none = epilogue_trace(f.runtime, &c, two_body, GANTRY_PASS_ALL);
    const gantry__node_t *node = epilogue_find(joined, "_FusedMatMul");
    assert_non_null(node);
    assert_int_equal(node->fused_count, 4);
    assert_string_equal(node->fused[0], "MatMul_1");
    void *got = epilogue_call(scope, &c, joined, &bytes),
         *expected = epilogue_call(scope, &c, none, &bytes);
    assert_memory_equal(got, expected, bytes);
    free(got);
    free(expected);
    gantry_function_release(joined);
    gantry_function_release(none);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- programs that are no chain ---- */

/* x * sigmoid(x + bias), and a chain of five. */
static void gated_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *x = gantry_matmul(scope, inputs[0], inputs[1], NULL);
    outputs[0] = gantry_mul(scope, x, gantry_sigmoid(scope, gantry_add(scope, x, inputs[2])));
}

static void long_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *x = gantry_matmul(scope, inputs[0], inputs[1], NULL);
    for (uint32_t i = 0; i < 5; ++i)
        x = i % 2 ? gantry_mul(scope, x, inputs[2]) : gantry_sub(scope, inputs[2], x);
    outputs[0] = x;
}

static void check_body(runtime_fixture_t *f, epilogue_case_t *c, gantry_function_body_fn body,
                       uint32_t members) {
    size_t bytes;
    gantry_scope_t *scope = runtime_fixture_scope(f, NULL);
    gantry_function_t *joined = epilogue_trace(f->runtime, c, body, 0),
                      *none = epilogue_trace(f->runtime, c, body, GANTRY_PASS_ALL);
    const gantry__node_t *node = epilogue_find(joined, "_FusedMatMul");
    assert_non_null(node);
    assert_int_equal(node->fused_count, members);
    void *got = epilogue_call(scope, c, joined, &bytes),
         *expected = epilogue_call(scope, c, none, &bytes);
    assert_memory_equal(got, expected, bytes);
    free(got);
    free(expected);
    gantry_function_release(joined);
    gantry_function_release(none);
    expect_ended_well(scope);
}

TEST(other_programs_have_the_bits_of_ops) {
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_BFLOAT16};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        epilogue_case_t c = {
            .m = shapes[i][0], .k = shapes[i][1], .n = shapes[i][2], .dtype = dtypes[i % 3]};
        check_body(&f, &c, gated_body, 4);
        check_body(&f, &c, long_body, 6);
    }
    runtime_fixture_close(&f);
}

/* ---- convolutions ---- */

/* Convolutions in one kernel, by patches or a window of one element (a view of a product), and of
 * sequences (a view of a convolution). */
TEST(convolutions_have_the_bits_of_ops) {
    epilogue_conv_t cases[] = {{.images = GANTRY_SHAPE(2, 19, 17, 8),
                                .filter = GANTRY_SHAPE(3, 3, 8, 32),
                                .dtype = GANTRY_FLOAT32},
                               {.images = GANTRY_SHAPE(2, 9, 70, 3),
                                .filter = GANTRY_SHAPE(3, 5, 3, 3),
                                .dtype = GANTRY_FLOAT32},
                               {.images = GANTRY_SHAPE(1, 16, 16, 4),
                                .filter = GANTRY_SHAPE(3, 3, 4, 70),
                                .options = {.padding = GANTRY_PADDING_VALID, .strides = {2, 2}},
                                .dtype = GANTRY_FLOAT64},
                               {.images = GANTRY_SHAPE(2, 9, 7, 40),
                                .filter = GANTRY_SHAPE(1, 1, 40, 33),
                                .dtype = GANTRY_FLOAT32},
                               {.images = GANTRY_SHAPE(2, 9, 7, 5),
                                .filter = GANTRY_SHAPE(3, 3, 5, 9),
                                .dtype = GANTRY_FLOAT16},
                               {.images = GANTRY_SHAPE(3, 50, 6),
                                .filter = GANTRY_SHAPE(3, 6, 20),
                                .is_sequence = true,
                                .dtype = GANTRY_FLOAT32}};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        if (!epilogue_check_convolution(f.runtime, "CPU:0", &cases[i], 0))
            fail_msg("convolution %zu has no epilogue", i);
    }
    runtime_fixture_close(&f);
}

/* Few outputs: several places are computed as one, whose sums must be cut as those of the op. */
TEST(transposed_convolutions_have_the_bits_of_ops) {
    static const int64_t columns[] = {2, 3, 5};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (int64_t outputs = 1; outputs <= 5; ++outputs) {
        for (size_t i = 0; i < sizeof columns / sizeof columns[0]; ++i) {
            for (int64_t channels = 8; channels <= 40; channels += 16) {
                epilogue_conv_t c = {.images = GANTRY_SHAPE(1, 14, 13, channels),
                                     .filter = GANTRY_SHAPE(3, columns[i], outputs, channels),
                                     .options = {.padding = GANTRY_PADDING_VALID},
                                     .dtype = i == 0 ? GANTRY_FLOAT64 : GANTRY_FLOAT32};
                c.transposed = GANTRY_SHAPE(1, 16, 12 + columns[i], outputs);
                if (!epilogue_check_convolution(f.runtime, "CPU:0", &c, 0))
                    fail_msg("%lld outputs have no epilogue", (long long)outputs);
            }
        }
    }
    runtime_fixture_close(&f);
}

/* A vector is added along the width of planes, though they are as wide as there are channels. */
TEST(planes_have_the_bits_of_ops) {
    epilogue_conv_t c = {.images = GANTRY_SHAPE(2, 8, 8, 8),
                         .filter = GANTRY_SHAPE(3, 3, 8, 8),
                         .dtype = GANTRY_FLOAT32,
                         .is_planar = true};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_false(epilogue_check_convolution(f.runtime, "CPU:0", &c, 0));
    runtime_fixture_close(&f);
}

/* ---- memory that runs out ---- */

static gantry_status_t trace_layer(gantry_scope_t *scope) {
    static epilogue_case_t c = {
        .m = 8, .k = 8, .n = 8, .dtype = GANTRY_FLOAT32, .has_bias = true, .activation = leaky};
    const gantry_input_spec_t inputs[] = {{"a", GANTRY_FLOAT32, GANTRY_SHAPE(8, 8)},
                                          {"b", GANTRY_FLOAT32, GANTRY_SHAPE(8, 8)},
                                          {"bias", GANTRY_FLOAT32, GANTRY_SHAPE(8)}};
    gantry_function_t *function;
    GANTRY__TRY(gantry_function_trace(scope->runtime, "f", epilogue_body, &c, inputs, 3, 1, NULL,
                                      &function));
    gantry_function_release(function);
    return GANTRY_OK;
}

TEST(nothing_leaks_when_memory_runs_out_in_the_pass) {
    runtime_fixture_starve_each(0, NULL, trace_layer);
}

int main(int argc, char **argv) {
    /* an argument runs one test */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
