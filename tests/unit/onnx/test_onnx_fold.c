/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A BatchNormalization, and products and sums with constants, are folded into the filter
 * and the bias of a convolution whose only reader they are, and the explanation says so.
 * Promise: What another node or an output of the model reads, too, is not folded away. */
#define _GNU_SOURCE

#include "onnx_fixture.h"

/* y = 2 (norm(conv(x)) + 3) of two channels, x [1,1,1,3]. The norm's factors are 2 and 1. */
static onnx_wire_t conv_and_norm(const char *second_output) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Conv", "x w b", "c", NULL);
    onnx_put_node(&graph, "BatchNormalization", "c scale offset mean var", "n", NULL);
    onnx_put_node(&graph, "Add", "three n", "a", NULL);
    onnx_put_node(&graph, "Mul", "a two", "y", NULL);
    onnx_put_floats(&graph, "w", (const int64_t[]){2, 1, 1, 1}, 4, (const float[]){1, -1});
    onnx_put_floats(&graph, "b", (const int64_t[]){2}, 1, (const float[]){1, 2});
    onnx_put_floats(&graph, "scale", (const int64_t[]){2}, 1, (const float[]){4, 1});
    onnx_put_floats(&graph, "offset", (const int64_t[]){2}, 1, (const float[]){-1, 5});
    onnx_put_floats(&graph, "mean", (const int64_t[]){2}, 1, (const float[]){3, 1});
    onnx_put_floats(&graph, "var", (const int64_t[]){2}, 1, (const float[]){4, 1});
    onnx_put_floats(&graph, "three", (const int64_t[]){2, 1, 1}, 3, (const float[]){3, 3});
    onnx_put_floats(&graph, "two", NULL, 0, (const float[]){2});
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "1,1,1,3");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    if (second_output) onnx_put_value(&graph, ONNX_OUTPUT, second_output, ONNX_FLOAT, NULL);
    return onnx_model(&graph, 15);
}

static void expect_near(tensor *x, const float *wanted, size_t count) {
    float got[16];
    assert_int_equal(gantry_tensor_elements(x), count);
    assert_int_equal(gantry_tensor_read(x, got, count * sizeof *got), GANTRY_OK);
    for (size_t i = 0; i < count; ++i) {
        if (!(got[i] > wanted[i] - 1e-3f && got[i] < wanted[i] + 1e-3f))
            fail_msg("%zu: %g, wanted %g", i, (double)got[i], (double)wanted[i]);
    }
}

/* Runs the model twice, and returns how many nodes its explanation has as folded. */
static size_t run_and_count_folded(const char *second_output, const float *second) {
    static const float wanted[] = {2 * (2 * -1 + 2), 2 * (2 * 0 + 2), 2 * (2 * 3 + 2),
                                   2 * (0 + 8),      2 * (-1 + 8),    2 * (-4 + 8)};
    static char text[1 << 16];
    onnx_wire_t wire = conv_and_norm(second_output);
    gantry_onnx_model_t *model = NULL;
    size_t count = 0;
    if (gantry_onnx_model_load_bytes(onnx_runtime, "fold.onnx", wire.data, wire.size, NULL, &model))
        fail_msg("%s", gantry_last_message());
    for (int i = 0; i < 2; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(onnx_runtime, NULL);
        tensor *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 1, 1, 3),
                                    (const float[]){1, 2, 5}, 3 * sizeof(float));
        tensor *outputs[2] = {NULL};
        if (gantry_onnx_model_run(model, scope, &x, 1, outputs, second_output ? 2 : 1))
            fail_msg("%s", gantry_scope_message(scope));
        expect_near(outputs[0], wanted, 6);
        if (second_output) expect_near(outputs[1], second, 6);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    assert_int_equal(gantry_onnx_model_explain(model, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL),
                     GANTRY_OK);
    for (const char *at = text; (at = strstr(at, "  folded  ")) != NULL; ++at) ++count;
    gantry_onnx_model_release(model);
    free(wire.data);
    return count;
}

TEST(what_follows_a_convolution_is_folded_into_it) {
    assert_int_equal(run_and_count_folded(NULL, NULL), 3);
}

TEST(a_convolution_that_is_an_output_keeps_what_follows) {
    assert_int_equal(run_and_count_folded("c", (const float[]){2, 3, 6, 1, 0, -3}), 0);
}

TEST(a_norm_that_is_an_output_is_the_last_that_is_folded) {
    assert_int_equal(run_and_count_folded("n", (const float[]){-3, -1, 5, 5, 4, 1}), 1);
}

int main(void) { return test_main_with(onnx_open, onnx_close, NULL, NULL); }
