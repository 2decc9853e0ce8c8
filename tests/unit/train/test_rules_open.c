/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: In a function whose sizes depend on data, gradients have the bits of the ops run one by
 * one, or the failure names the op that needs known sizes.
 * Promise: Every op that has a gradient has it in a function, too, where a size of any input
 * depends on data, with the bits of the ops one by one.
 * Promise: A diagonal of a size that depends on data in Einsum, and the gradient of
 * CropAndResizeGradBoxes with such a size, are refused.
 * Promise: A gradient that the program gives for a target is taken where sizes of either depend on
 * data, and a call in which they differ is refused.
 *
 * And gradients while memory runs out. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "gradient_case.h"
#include "op/op_def.h"
#include "test.h"
#include "train_fixture.h"

typedef gradient_tensor_t tensor;

/* ---- ops on rows, whose number depends on data: float32[-1,2] ---- */

static tensor *column(gantry_scope_t *s) {
    return gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(2), (float[]){1.5f, -0.5f}, 8);
}

static const int32_t rows_axis = 0, columns_axis = 1;
static const gantry_reduce_options_t over_rows = {.axes = &rows_axis, .axis_count = 1};
static const gantry_reduce_options_t over_columns = {
    .axes = &columns_axis, .axis_count = 1, .keep_dims = true};

static tensor *op_mul(gantry_scope_t *s, tensor *rows) { return gantry_mul(s, rows, column(s)); }
static tensor *op_mul_self(gantry_scope_t *s, tensor *rows) { return gantry_mul(s, rows, rows); }
static tensor *op_two(gantry_scope_t *s, tensor *rows) {
    return gantry_mul(s, gantry_sigmoid(s, rows), gantry_tanh(s, rows));
}
static tensor *op_relu(gantry_scope_t *s, tensor *rows) { return gantry_relu(s, rows); }
static tensor *op_sum(gantry_scope_t *s, tensor *rows) { return gantry_sum(s, rows, &over_rows); }
static tensor *op_mean(gantry_scope_t *s, tensor *rows) { return gantry_mean(s, rows, &over_rows); }
static tensor *op_mean_all(gantry_scope_t *s, tensor *rows) { return gantry_mean(s, rows, NULL); }
static tensor *op_max(gantry_scope_t *s, tensor *rows) {
    return gantry_max(s, rows, &over_columns);
}
static tensor *op_prod(gantry_scope_t *s, tensor *rows) { return gantry_prod(s, rows, &over_rows); }
static tensor *op_var(gantry_scope_t *s, tensor *rows) { return gantry_var(s, rows, &over_rows); }
static tensor *op_std(gantry_scope_t *s, tensor *rows) { return gantry_std(s, rows, &over_rows); }
static tensor *op_log_sum(gantry_scope_t *s, tensor *rows) {
    return gantry_log_sum_exp(s, rows, &over_rows);
}
static tensor *op_share(gantry_scope_t *s, tensor *rows) {
    tensor *exps = gantry_exp(s, rows);
    return gantry_div(s, exps, gantry_sum(s, exps, &over_columns));
}
static tensor *op_reshape(gantry_scope_t *s, tensor *rows) {
    return gantry_square(s, gantry_reshape(s, rows, GANTRY_SHAPE(-1)));
}
static tensor *op_expand(gantry_scope_t *s, tensor *rows) {
    return gantry_square(s, gantry_expand_dims(s, rows, 1));
}
static tensor *op_concat(gantry_scope_t *s, tensor *rows) {
    return gantry_concat(s, (tensor *[]){rows, gantry_square(s, rows), rows}, 3, 0);
}
static tensor *op_concat_columns(gantry_scope_t *s, tensor *rows) {
    return gantry_concat(s, (tensor *[]){gantry_exp(s, rows), rows}, 2, 1);
}
static tensor *op_pack(gantry_scope_t *s, tensor *rows) {
    return gantry_pack(s, (tensor *[]){rows, gantry_exp(s, rows)}, 2, 0);
}
static tensor *op_slice(gantry_scope_t *s, tensor *rows) {
    return gantry_slice(s, rows, (int64_t[]){1, 0}, (int64_t[]){-1, 1});
}
static tensor *op_strided(gantry_scope_t *s, tensor *rows) {
    return gantry_strided_slice(s, rows, (int64_t[]){1}, (int64_t[]){0}, (int64_t[]){2}, 1,
                                &(gantry_strided_slice_options_t){.end_mask = 1});
}
static tensor *op_pad(gantry_scope_t *s, tensor *rows) {
    return gantry_pad(s, rows, (int64_t[]){1, 2, 0, 1}, NULL);
}
static tensor *op_transpose(gantry_scope_t *s, tensor *rows) {
    return gantry_transpose(s, gantry_exp(s, rows), NULL);
}
static tensor *op_cumsum(gantry_scope_t *s, tensor *rows) {
    return gantry_cumsum(s, rows, 0, NULL);
}
static tensor *op_gather(gantry_scope_t *s, tensor *rows) {
    return gantry_gather(s, rows, I32(s, 1, 0, 1), 0);
}
static tensor *op_embedding(gantry_scope_t *s, tensor *rows) {
    return gantry_embedding_lookup(s, rows, I32(s, 1, 0, 1));
}
static tensor *op_matmul(gantry_scope_t *s, tensor *rows) {
    return gantry_matmul(s, rows, gantry_reshape(s, column(s), GANTRY_SHAPE(2, 1)), NULL);
}

static tensor *op_tile(gantry_scope_t *s, tensor *rows) {
    return gantry_tile(s, rows, (int64_t[]){2, 1});
}
static tensor *op_sort(gantry_scope_t *s, tensor *rows) { return gantry_sort(s, rows, 0, false); }
static tensor *op_prod_all(gantry_scope_t *s, tensor *rows) { return gantry_prod(s, rows, NULL); }
/* The size of a head depends on data, and the mask has a gradient. */
static tensor *op_attention(gantry_scope_t *s, tensor *rows) {
    const gantry_matmul_options_t turned = {.transpose_a = true};
    tensor *x = gantry_expand_dims(s, gantry_transpose(s, rows, NULL), 0);
    tensor *inputs[] = {x, x, x, gantry_matmul(s, rows, rows, &turned)}, *outputs[4] = {NULL};
    size_t count = 4;
    (void)gantry_op_call(s, "ScaledDotProductAttention", inputs, 4, NULL, 0, outputs, &count);
    return outputs[0];
}

typedef struct open_op_t {
    const char *name;
    tensor *(*run)(gantry_scope_t *scope, tensor *rows);
} open_op_t;

static const open_op_t open_ops[] = {
    {"mul", op_mul},
    {"mul_self", op_mul_self},
    {"two", op_two},
    {"relu", op_relu},
    {"sum", op_sum},
    {"mean", op_mean},
    {"mean_all", op_mean_all},
    {"max", op_max},
    {"prod", op_prod},
    {"var", op_var},
    {"std", op_std},
    {"log_sum", op_log_sum},
    {"share", op_share},
    {"reshape", op_reshape},
    {"expand", op_expand},
    {"concat", op_concat},
    {"concat_columns", op_concat_columns},
    {"pack", op_pack},
    {"slice", op_slice},
    {"strided", op_strided},
    {"pad", op_pad},
    {"transpose", op_transpose},
    {"cumsum", op_cumsum},
    {"gather", op_gather},
    {"embedding", op_embedding},
    {"matmul", op_matmul},
    {"tile", op_tile},
    {"sort", op_sort},
    {"prod_all", op_prod_all},
    {"attention", op_attention},
};

/* The gradient of the sum of squares of what the op makes of the rows that a mask takes. */
static void body_of_rows(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    const open_op_t *op = user;
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    (void)gantry_tape_watch(tape, inputs[0]);
    tensor *rows = gantry_boolean_mask(s, inputs[0], inputs[1], 0);
    tensor *target = gantry_sum(s, gantry_square(s, op->run(s, rows)), NULL);
    const gantry_source_t source = {.tensor = inputs[0]};
    outputs[0] = NULL;
    (void)gantry_tape_gradient(tape, target, NULL, &source, 1, NULL, outputs);
    gantry_tape_end(tape);
}

TEST(open_sizes_give_the_eager_bits) {
    const float values[] = {0.5f, -1.25f, 2, 0.75f, -0.5f, 1.5f, 1, -2, 0.25f, 3};
    const uint8_t masks[][5] = {{1, 0, 1, 1, 0}, {0, 1, 1, 0, 0}, {1, 1, 1, 1, 1}};
    const gantry_input_spec_t specs[] = {{"x", GANTRY_FLOAT32, GANTRY_SHAPE(5, 2)},
                                         {"mask", GANTRY_BOOL, GANTRY_SHAPE(5)}};
    for (size_t i = 0; i < sizeof open_ops / sizeof *open_ops; ++i) {
        gantry_function_t *function;
        if (gantry_function_trace(fixture.runtime, open_ops[i].name, body_of_rows,
                                  (void *)&open_ops[i], specs, 2, 1, NULL, &function) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        for (size_t m = 0; m < sizeof masks / sizeof *masks; ++m) {
            float eager[10], traced[10];
            gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
            tensor *inputs[] = {
                gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(5, 2), values, sizeof values),
                gantry_constant(s, GANTRY_BOOL, GANTRY_SHAPE(5), masks[m], 5)};
            tensor *outputs[2];
            body_of_rows(s, inputs, &outputs[0], (void *)&open_ops[i]);
            if (gantry_function_call(s, function, inputs, 2, &outputs[1], 1) != GANTRY_OK ||
                gantry_tensor_read(outputs[0], eager, sizeof eager) != GANTRY_OK ||
                gantry_tensor_read(outputs[1], traced, sizeof traced) != GANTRY_OK)
                fail_msg("%s: %s", open_ops[i].name, gantry_last_message());
            for (size_t k = 0; k < 10; ++k) {
                if (memcmp(&eager[k], &traced[k], sizeof *eager) != 0)
                    fail_msg("%s: element %zu is %.9g; op by op it is %.9g", open_ops[i].name, k,
                             (double)traced[k], (double)eager[k]);
            }
            expect_ended_well(s);
        }
        gantry_function_release(function);
    }
}

/* ---- what needs known sizes ---- */

/* A diagonal of a square whose sides depend on data. */
static tensor *op_diagonal(gantry_scope_t *s, tensor *rows) {
    tensor *square = gantry_matmul(s, rows, rows, &(gantry_matmul_options_t){.transpose_b = true});
    return gantry_einsum(s, "ii->i", &square, 1);
}

TEST(ops_that_need_known_sizes_say_so) {
    const open_op_t op = {"Einsum", op_diagonal};
    const gantry_input_spec_t specs[] = {{"x", GANTRY_FLOAT32, GANTRY_SHAPE(5, 2)},
                                         {"mask", GANTRY_BOOL, GANTRY_SHAPE(5)}};
    gantry_function_t *function;
    assert_int_equal(gantry_function_trace(fixture.runtime, "f", body_of_rows, (void *)&op, specs,
                                           2, 1, NULL, &function),
                     GANTRY_UNIMPLEMENTED);
    const char *text = gantry_last_message();
    if (!strstr(text,
                "op Einsum: its parts need sizes that depend on data; known ones are accepted"))
        fail_msg("message: %s", text);
}

/* ---- the gradient that the program gives ---- */

/* Segments of rows, and a gradient for them: of a known size, or of rows that a mask takes. */
static void body_of_target(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    (void)gantry_tape_watch(tape, inputs[0]);
    tensor *target = gantry_segment_sum(s, inputs[0], inputs[1]), *given = inputs[2];
    if (*(const bool *)user) given = gantry_boolean_mask(s, given, inputs[3], 0);
    const gantry_source_t source = {.tensor = inputs[0]};
    outputs[0] = NULL;
    (void)gantry_tape_gradient(tape, target, given, &source, 1, NULL, outputs);
    gantry_tape_end(tape);
}

TEST(given_gradients_may_have_open_sizes) {
    const float x[] = {1, 2, 3, 4, 5, 6, 7, 8}, u[] = {1, 2, 3, 4, 5, 6},
                expected[] = {1, 2, 1, 2, 3, 4, 5, 6};
    const bool all[] = {true, true, true};
    const gantry_input_spec_t specs[] = {{"x", GANTRY_FLOAT32, GANTRY_SHAPE(4, 2)},
                                         {"ids", GANTRY_INT32, GANTRY_SHAPE(4)},
                                         {"u", GANTRY_FLOAT32, GANTRY_SHAPE(3, 2)},
                                         {"mask", GANTRY_BOOL, GANTRY_SHAPE(3)}};
    for (int i = 0; i < 2; ++i) {
        bool is_open = i == 1;
        gantry_function_t *function;
        if (gantry_function_trace(fixture.runtime, "f", body_of_target, &is_open, specs, 4, 1, NULL,
                                  &function) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
        tensor *inputs[] = {gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(4, 2), x, sizeof x),
                            I32(s, 0, 0, 1, 2),
                            gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2), u, sizeof u),
                            gantry_constant(s, GANTRY_BOOL, GANTRY_SHAPE(3), all, sizeof all)};
        tensor *got;
        assert_int_equal(gantry_function_call(s, function, inputs, 4, &got, 1), GANTRY_OK);
        expect_f32(got, 8, expected);
        /* two segments, which broadcasting would hide in one row */
        inputs[1] = I32(s, 0, 0, 0, 0);
        (void)gantry_function_call(s, function, inputs, 4, &got, 1);
        expect_scope_failure(s, GANTRY_INVALID_ARGUMENT, "must have the same size and shape");
        expect_ended_well(s);
        gantry_function_release(function);
    }
}

/* ---- images of a filtered batch: float32[-1,6,6,1] ---- */

static tensor *call_image_op(gantry_scope_t *s, const char *op, tensor *x, tensor *w,
                             bool is_pool) {
    static const int64_t ones[] = {1, 1, 1, 1}, twos[] = {1, 2, 2, 1};
    const gantry_attr_value_t attrs[] = {
        {.name = "strides", .kind = GANTRY_ATTR_INTS, .list = is_pool ? twos : ones, .i = 4},
        {.name = "padding", .kind = GANTRY_ATTR_STRING, .s = "SAME"},
        {.name = "ksize", .kind = GANTRY_ATTR_INTS, .list = twos, .i = 4}};
    tensor *inputs[] = {x, w}, *made = NULL;
    size_t count = 1;
    (void)gantry_op_call(s, op, inputs, is_pool ? 1 : 2, attrs, is_pool ? 3 : 2, &made, &count);
    return made;
}

static tensor *image_conv(gantry_scope_t *s, tensor *x, tensor *w) {
    tensor *once = call_image_op(s, "Conv2D", x, w, false);
    return call_image_op(s, "Conv2D", gantry_relu(s, once), w, false);
}
static tensor *image_depthwise(gantry_scope_t *s, tensor *x, tensor *w) {
    tensor *scaled = gantry_mul(s, x, gantry_sum(s, w, NULL));
    return call_image_op(s, "DepthwiseConv2dNative", scaled, w, false);
}
static tensor *image_max_pool(gantry_scope_t *s, tensor *x, tensor *w) {
    return call_image_op(s, "MaxPool", call_image_op(s, "Conv2D", x, w, false), NULL, true);
}
static tensor *image_avg_pool(gantry_scope_t *s, tensor *x, tensor *w) {
    return call_image_op(s, "AvgPool", call_image_op(s, "Conv2D", x, w, false), NULL, true);
}
static tensor *image_einsum(gantry_scope_t *s, tensor *x, tensor *w) {
    tensor *both[] = {gantry_reshape(s, x, GANTRY_SHAPE(-1, 12, 3)),
                      gantry_reshape(s, w, GANTRY_SHAPE(3, 3))};
    return gantry_einsum(s, "abc,cd->abd", both, 2);
}
static tensor *image_conv_1d(gantry_scope_t *s, tensor *x, tensor *w) {
    const gantry_attr_value_t padding = {
        .name = "padding", .kind = GANTRY_ATTR_STRING, .s = "VALID"};
    tensor *both[] = {gantry_reshape(s, x, GANTRY_SHAPE(-1, 12, 3)),
                      gantry_reshape(s, w, GANTRY_SHAPE(1, 3, 3))};
    tensor *made = NULL;
    size_t count = 1;
    (void)gantry_op_call(s, "Conv1D", both, 2, &padding, 1, &made, &count);
    return made;
}
static tensor *image_batch_norm(gantry_scope_t *s, tensor *x, tensor *w) {
    tensor *rows = gantry_reshape(s, x, GANTRY_SHAPE(-1, 9)),
           *scale = gantry_reshape(s, w, GANTRY_SHAPE(9));
    tensor *inputs[] = {rows, gantry_mean(s, rows, &over_rows), gantry_var(s, rows, &over_rows),
                        gantry_neg(s, scale), scale};
    tensor *made = NULL;
    size_t count = 1;
    (void)gantry_op_call(s, "BatchNorm", inputs, 5, NULL, 0, &made, &count);
    return made;
}

typedef tensor *(*image_fn)(gantry_scope_t *scope, tensor *x, tensor *w);

static void body_of_images(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    const gantry_source_t sources[] = {{.tensor = inputs[0]}, {.tensor = inputs[1]}};
    for (int i = 0; i < 2; ++i) (void)gantry_tape_watch(tape, inputs[i]);
    tensor *chosen = gantry_boolean_mask(s, inputs[0], inputs[2], 0);
    tensor *made = (*(const image_fn *)user)(s, chosen, inputs[1]);
    outputs[0] = outputs[1] = NULL;
    (void)gantry_tape_gradient(tape, gantry_sum(s, gantry_square(s, made), NULL), NULL, sources, 2,
                               NULL, outputs);
    gantry_tape_end(tape);
}

TEST(filtered_batches_give_the_eager_bits) {
    static const image_fn ops[] = {image_conv,   image_depthwise, image_max_pool,  image_avg_pool,
                                   image_einsum, image_conv_1d,   image_batch_norm};
    const uint8_t masks[][4] = {{1, 0, 1, 1}, {0, 1, 0, 0}, {1, 1, 1, 1}};
    const gantry_input_spec_t specs[] = {{"x", GANTRY_FLOAT32, GANTRY_SHAPE(4, 6, 6, 1)},
                                         {"w", GANTRY_FLOAT32, GANTRY_SHAPE(3, 3, 1, 1)},
                                         {"mask", GANTRY_BOOL, GANTRY_SHAPE(4)}};
    float x[144], w[9], eager[2][144], traced[2][144];
    for (int i = 0; i < 144; ++i) x[i] = (float)(i % 7) - 2.5f;
    for (int i = 0; i < 9; ++i) w[i] = (float)(i - 3) / 9;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
        gantry_function_t *function;
        if (gantry_function_trace(fixture.runtime, "f", body_of_images, (void *)&ops[i], specs, 3,
                                  2, NULL, &function) != GANTRY_OK)
            fail_msg("op %zu: %s", i, gantry_last_message());
        for (size_t m = 0; m < sizeof masks / sizeof *masks; ++m) {
            gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
            tensor *inputs[] = {gantry_constant(s, GANTRY_FLOAT32, specs[0].shape, x, sizeof x),
                                gantry_constant(s, GANTRY_FLOAT32, specs[1].shape, w, sizeof w),
                                gantry_constant(s, GANTRY_BOOL, specs[2].shape, masks[m], 4)};
            tensor *once[2], *called[2];
            body_of_images(s, inputs, once, (void *)&ops[i]);
            if (gantry_function_call(s, function, inputs, 3, called, 2) != GANTRY_OK)
                fail_msg("op %zu: %s", i, gantry_scope_message(s));
            for (int k = 0; k < 2; ++k) {
                const size_t bytes = k == 0 ? sizeof x : sizeof w;
                assert_int_equal(gantry_tensor_read(once[k], eager[k], bytes), GANTRY_OK);
                assert_int_equal(gantry_tensor_read(called[k], traced[k], bytes), GANTRY_OK);
                if (memcmp(eager[k], traced[k], bytes) != 0)
                    fail_msg("op %zu, mask %zu: gradient %d", i, m, k);
            }
            expect_ended_well(s);
        }
        gantry_function_release(function);
    }
}

/* ---- every op that has a gradient: sizes of its golden cases are open ---- */

/* Which inputs go through a mask that takes all rows: their first size is then open. */
typedef struct opened_t {
    gradient_case_t c;
    uint32_t inputs;
} opened_t;

static bool may_open(const opened_t *o, size_t i) {
    const golden_tensor_t *given = &o->c.golden->inputs[i];
    const gantry__op_def_t *op = gantry__op_find(o->c.golden->op);
    const gantry__op_arg_t *arg = gantry__op_input_arg(op, (uint32_t)o->c.input_count, (uint32_t)i);
    return given->shape.rank > 0 && !(arg->flags & GANTRY__ARG_HOST);
}

/* The gradients of the case, with the inputs that are opened. */
static void body_of_opened(gantry_scope_t *s, tensor *const *given, tensor **outputs, void *user) {
    const opened_t *o = user;
    tensor *inputs[GRADIENT_MOST_VALUES], *gradients[GRADIENT_MOST_VALUES];
    gradient_case_inputs(s, &o->c, NULL, inputs);
    for (size_t i = 0; i < o->c.input_count; ++i) {
        if (!may_open(o, i)) continue;
        inputs[i] = given[2 * i];
        if (o->inputs >> i & 1) inputs[i] = gantry_boolean_mask(s, inputs[i], given[2 * i + 1], 0);
    }
    (void)gradient_case_try(s, &o->c, inputs, gradients);
    for (size_t k = 0; k < o->c.of_count; ++k) outputs[k] = gradients[o->c.of[k]];
}

/* Each input, and a mask of all its rows. */
static void opened_arguments(gantry_scope_t *s, const opened_t *o, gantry_input_spec_t *specs,
                             tensor **out) {
    gradient_case_inputs(s, &o->c, NULL, out);
    for (size_t i = o->c.input_count; i-- > 0;) {
        const golden_tensor_t *x = &o->c.golden->inputs[i];
        const gantry_shape_t rows = GANTRY_SHAPE(x->shape.rank > 0 ? x->shape.dims[0] : 1);
        specs[2 * i] = (gantry_input_spec_t){"x", x->dtype, x->shape};
        specs[2 * i + 1] = (gantry_input_spec_t){"rows", GANTRY_BOOL, rows};
        out[2 * i] = out[i];
        out[2 * i + 1] = gantry_ones(s, GANTRY_BOOL, rows);
    }
}

/* A diagonal of open sizes: its Einsum's parts need the size. */
static bool is_diagonal(const opened_t *o, const char *text) {
    const golden_attr_t *equation = golden_find_attr(o->c.golden, "equation");
    return equation && strstr(text, "its parts need sizes that depend on data") &&
           strstr(equation->string_value, "ii");
}

/* It is composed, and has no rule of its own. */
static bool is_of_boxes(const opened_t *o, const char *text) {
    return strcmp(o->c.golden->op, "CropAndResizeGradBoxes") == 0 &&
           strstr(text, "CropAndResizeGradBoxes has no gradient where its sizes depend on data");
}

static void compare_opened(const opened_t *o, tensor *const *eager, tensor *const *traced) {
    const golden_tolerance_t exact = {.exact = true};
    for (size_t k = 0; k < o->c.of_count; ++k) {
        golden_tensor_t expected = gradient_read(eager[k]);
        gradient_expect_equal(&o->c, (size_t)o->c.of[k], &expected, &exact, traced[k]);
        free(expected.data);
    }
}

static void check_opened(opened_t *o) {
    tensor *given[2 * GRADIENT_MOST_VALUES], *eager[GRADIENT_MOST_VALUES];
    tensor *traced[GRADIENT_MOST_VALUES];
    gantry_input_spec_t specs[2 * GRADIENT_MOST_VALUES];
    gantry_function_t *function = NULL;
    gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
    const size_t count = 2 * o->c.input_count;
    opened_arguments(s, o, specs, given);
    body_of_opened(s, given, eager, o);
    const gantry_status_t status = gantry_function_trace(
        fixture.runtime, "f", body_of_opened, o, specs, count, o->c.of_count, NULL, &function);
    if (status == GANTRY_OK) {
        if (gantry_function_call(s, function, given, count, traced, o->c.of_count) != GANTRY_OK)
            fail_msg("%s, inputs %u: %s", o->c.golden->name, o->inputs, gantry_scope_message(s));
        compare_opened(o, eager, traced);
    } else if (!is_diagonal(o, gantry_last_message()) && !is_of_boxes(o, gantry_last_message())) {
        fail_msg("%s, inputs %u: %s", o->c.golden->name, o->inputs, gantry_last_message());
    }
    gantry_function_release(function);
    expect_ended_well(s);
}

/* Each input by itself, and all. */
TEST(opened_cases_give_the_eager_bits) {
    golden_file_t file;
    gradient_file_load(&file);
    for (size_t i = 0; i < file.case_count; ++i) {
        opened_t o = {.c = gradient_case_read(&file.cases[i])};
        uint32_t all = 0;
        for (size_t k = 0; k < o.c.input_count; ++k) all |= (uint32_t)may_open(&o, k) << k;
        for (size_t k = 0; k < o.c.input_count; ++k) {
            o.inputs = all & UINT32_C(1) << k;
            if (o.inputs) check_opened(&o);
        }
        o.inputs = all;
        if (all & (all - 1)) check_opened(&o);
    }
    golden_free(&file);
}

/* ---- memory runs out within a rule ---- */

TEST(rules_survive_a_lack_of_memory) {
    static const char *const names[] = {"Gather_5_float32", "Prod_1_float32",
                                        "Pow_1_float32",    "Split_1_float32",
                                        "Sort_2_float32",   "UnsortedSegmentProd_1_float32"};
    golden_file_t file;
    gradient_file_load(&file);
    size_t found = 0;
    for (size_t i = 0; i < file.case_count; ++i) {
        const gradient_case_t c = gradient_case_read(&file.cases[i]);
        bool is_named = false;
        for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
            is_named |= strcmp(names[k], c.golden->name) == 0;
        if (!is_named) continue;
        ++found;
        bool has_failed = true;
        for (long n = 0; has_failed; n += 3) {
            tensor *inputs[GRADIENT_MOST_VALUES], *target, *gradients[GRADIENT_MOST_VALUES];
            gantry_source_t sources[GRADIENT_MOST_VALUES];
            size_t count = 0;
            gantry_scope_t *s = runtime_fixture_scope(&fixture, NULL);
            gradient_case_inputs(s, &c, NULL, inputs);
            gantry_tape_t *tape = gantry_tape_begin(s, NULL);
            for (size_t k = 0; k < c.input_count; ++k) {
                if (!gradient_is_floating(inputs[k])) continue;
                (void)gantry_tape_watch(tape, inputs[k]);
                sources[count++] = (gantry_source_t){.tensor = inputs[k]};
            }
            target = gradient_case_target(s, &c, inputs);
            runtime_fixture_starve(&fixture, n);
            const gantry_status_t status =
                gantry_tape_gradient(tape, target, NULL, sources, count, NULL, gradients);
            has_failed = runtime_fixture_feed(&fixture);
            if (status != GANTRY_OK && status != GANTRY_RESOURCE_EXHAUSTED)
                fail_msg("%s: %s", c.golden->name, gantry_scope_message(s));
            assert_true(has_failed || status == GANTRY_OK);
            gantry_tape_end(tape);
            (void)gantry_scope_end(s);
        }
    }
    golden_free(&file);
    assert_int_equal(found, sizeof names / sizeof *names);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(set_up, tear_down);
}
