/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The summary of a model has the cells and the totals of Keras's, also with long names,
 * connections, blocks and open sizes. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include "function_fixture.h"
#include "test.h"
#include "train_fixture.h"

#include <gantry_train/train.h>

/* ---- the models of make_summary_cases.py ---- */

static const char long_name[] = "a_layer_with_a_name_that_is_longer_than_a_column_of_the_table";

static gantry_layer_t *dense(int64_t units, const char *name) {
    return gantry_dense(units, GANTRY_LINEAR, &(gantry_kernel_options_t){.name = name});
}

static int32_t apply(gantry_model_t *m, gantry_layer_t *layer, int32_t value) {
    return gantry_model_apply(m, layer, &value, 1);
}

static int32_t input(gantry_model_t *m, gantry_shape_t sample) {
    return gantry_model_input(m, GANTRY_FLOAT32, sample);
}

static gantry_model_t *make_sequential(void) {
    gantry_model_t *m = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(m, dense(16, long_name));
    (void)gantry_model_add(m, gantry_batch_normalization(NULL));
    (void)gantry_model_add(m, dense(2000, "a_name_of_thirty_one_characters"));
    (void)gantry_model_add(m, dense(3, "a_name_of_23_characters"));
    (void)gantry_model_add(m, dense(3, "a_name_of_24__characters"));
    (void)gantry_model_add(m, gantry_reshape_layer(GANTRY_SHAPE(3, 1, 1, 1, 1, 1), NULL));
    (void)gantry_model_add(m, gantry_flatten(NULL));
    return m;
}

static gantry_model_t *make_chain(void) {
    gantry_model_t *m = gantry_functional(fixture.runtime, NULL);
    int32_t x = input(m, GANTRY_SHAPE(4, 3));
    x = apply(m, gantry_lstm(8, &(gantry_recurrent_options_t){.return_sequences = true}), x);
    (void)apply(m, dense(5000, NULL), apply(m, gantry_flatten(NULL), x));
    return m;
}

static gantry_model_t *make_connections(void) {
    const gantry_recurrent_options_t all = {.return_sequences = true, .return_state = true};
    gantry_model_t *m = gantry_functional(fixture.runtime, NULL);
    const int32_t first = input(m, GANTRY_SHAPE(4, 3)), second = input(m, GANTRY_SHAPE(4, 3));
    gantry_layer_t *shared = dense(3, "shared_dense_layer_with_a_long_name");
    const int32_t a = apply(m, shared, first), b = apply(m, shared, second);
    const int32_t s = gantry_model_apply(m, gantry_add_layer(NULL), (int32_t[]){a, b, first}, 3);
    const int32_t y = apply(m, gantry_lstm(2, &all), s);
    int32_t t = gantry_model_apply(m, gantry_concatenate_layer(-1, NULL), (int32_t[]){y, s}, 2);
    t = apply(m, gantry_flatten(NULL), t);
    t = gantry_model_apply(m, gantry_concatenate_layer(-1, "joined"), (int32_t[]){t, y + 1, y + 2},
                           3);
    (void)apply(m, dense(1000, "x"), t);
    return m;
}

static gantry_model_t *make_branches(void) {
    gantry_model_t *m = gantry_functional(fixture.runtime, NULL);
    const int32_t first = input(m, GANTRY_SHAPE(4)), second = input(m, GANTRY_SHAPE(4));
    (void)input(m, GANTRY_SHAPE(2));
    const int32_t late = apply(m, dense(4, "late"), second);
    int32_t left = apply(m, dense(4, "left_1"), first);
    left = apply(m, dense(4, "left_2"), left);
    left = apply(m, dense(4, "left_3"), left);
    (void)gantry_model_apply(m, gantry_add_layer(NULL), (int32_t[]){late, left}, 2);
    return m;
}

static gantry_model_t *make_shared_at_two_depths(void) {
    gantry_model_t *m = gantry_functional(fixture.runtime, NULL);
    gantry_layer_t *shared = dense(4, "shared");
    const int32_t x = apply(m, shared, input(m, GANTRY_SHAPE(4)));
    const int32_t z = apply(m, shared, apply(m, dense(4, "between"), x));
    const int32_t s = apply(m, gantry_activation_layer(GANTRY_RELU, "short"), x);
    (void)gantry_model_apply(m, gantry_add_layer("sum"), (int32_t[]){s, z, x}, 3);
    return m;
}

static gantry_model_t *make_blocks(void) {
    gantry_model_t *m = gantry_functional(fixture.runtime, NULL);
    const int32_t first = input(m, GANTRY_SHAPE(4)), second = input(m, GANTRY_SHAPE(4));
    gantry_model_t *twice =
        gantry_sequential(fixture.runtime, &(gantry_model_options_t){.name = "twice"});
    (void)gantry_model_add(twice, dense(3, "one"));
    (void)gantry_model_add(twice, dense(2, "two"));
    gantry_model_t *both =
        gantry_functional(fixture.runtime, &(gantry_model_options_t){.name = "both"});
    const int32_t given = input(both, GANTRY_SHAPE(2));
    const int32_t outputs[] = {apply(both, dense(3, "p"), given),
                               apply(both, dense(2, "q"), given)};
    (void)gantry_model_set_outputs(both, outputs, 2);
    int32_t a, b, pair[2];
    (void)gantry_model_apply_model(m, twice, &first, 1, &a, 1);
    (void)gantry_model_apply_model(m, both, &a, 1, pair, 2);
    (void)gantry_model_apply_model(m, twice, &second, 1, &b, 1);
    (void)gantry_model_apply(m, gantry_concatenate_layer(-1, NULL),
                             (int32_t[]){pair[0], b, pair[1]}, 3);
    gantry_model_release(twice);
    gantry_model_release(both);
    return m;
}

static gantry_model_t *make_sequential_block(void) {
    gantry_model_t *m = gantry_sequential(fixture.runtime, NULL);
    gantry_model_t *block =
        gantry_sequential(fixture.runtime, &(gantry_model_options_t){.name = "block"});
    (void)gantry_model_add(block, dense(3, NULL));
    (void)gantry_model_add(block, gantry_batch_normalization(NULL));
    (void)gantry_model_add(m, dense(4, "first"));
    (void)gantry_model_add_model(m, block);
    gantry_model_release(block);
    (void)gantry_model_add(m, dense(5, "last"));
    return m;
}

static gantry_model_t *make_attention(void) {
    gantry_model_t *m = gantry_functional(fixture.runtime, NULL);
    const int32_t given = input(m, GANTRY_SHAPE(4, 8));
    const int32_t a = apply(m, gantry_multi_head_attention(2, 4, NULL), given);
    const int32_t s = gantry_model_apply(m, gantry_add_layer(NULL), (int32_t[]){given, a}, 2);
    (void)gantry_model_apply(m, gantry_add_layer(NULL), (int32_t[]){s, s}, 2);
    return m;
}

static gantry_model_t *make_open_sizes(void) {
    gantry_model_t *m = gantry_functional(fixture.runtime, NULL);
    const int32_t words = gantry_model_input(m, GANTRY_INT64, GANTRY_SHAPE(-1)),
                  image = input(m, GANTRY_SHAPE(-1, -1, 3));
    int32_t x = apply(m, gantry_embedding(100, 4, NULL, NULL), words);
    x = apply(m, gantry_conv1d_layer(8, 5, GANTRY_LINEAR, NULL), x);
    x = apply(m, gantry_max_pool1d_layer(2, NULL), x);
    x = apply(m, gantry_lstm(6, &(gantry_recurrent_options_t){.return_sequences = true}), x);
    x = apply(m, gantry_global_max_pool(NULL), x);
    int32_t y = apply(m, gantry_conv2d_layer(4, 3, GANTRY_LINEAR, NULL), image);
    y = apply(m, gantry_reshape_layer(GANTRY_SHAPE(-1, 1, 4), NULL), y);
    y = apply(m, gantry_global_avg_pool(NULL), y);
    (void)gantry_model_apply(m, gantry_concatenate_layer(-1, NULL), (int32_t[]){x, y}, 2);
    return m;
}

static const struct {
    const char *name;
    gantry_model_t *(*make)(void);
    const char *lines[64];
} cases[] = {
#include "train_summary_cases.inc"
};

/* ---- tests ---- */

/* Writes the lines of the text without the rules of the table, and with one blank between cells. */
static void squeeze(const char *text, char *out) {
    for (bool is_start = true; *text; ++text) {
        if (is_start && *text == '=') {
            text = strchr(text, '\n');
            continue;
        }
        const bool is_blank = *text == ' ' && (text[1] == ' ' || text[1] == '\n');
        is_start = *text == '\n';
        if (!is_blank) *out++ = *text;
    }
    *out = '\0';
}

/* Each line is there once, and no other one. */
static void expect_lines(const char *name, const char *text, const char *const *lines) {
    static char plain[16384];
    size_t length = 0;
    squeeze(text, plain);
    for (; *lines; ++lines) {
        const char *at = strstr(plain, *lines);
        length += strlen(*lines);
        if (!at || strstr(at + 1, *lines))
            fail_msg("%s:\n%s\nKeras has once the line\n%s", name, text, *lines);
    }
    if (length != strlen(plain)) fail_msg("%s:\n%s\nKeras has fewer lines", name, text);
}

/* A long cell is not cut, and makes its column wider. */
TEST(columns_are_as_wide_as_their_cells) {
    static const char expected[] =
        "Model: \"sequential\"\n"
        " Layer (type)                              Output Shape  Param #\n"
        "=================================================================\n"
        " a_name_that_is_wider_than_a_head (Dense)  (None, 1000)    3,000\n"
        " x (Dense)                                 (None, 1)       1,001\n"
        "=================================================================\n"
        " Total params: 4,001 (15.63 KB)\n"
        " Trainable params: 4,001 (15.63 KB)\n"
        " Non-trainable params: 0 (0.00 B)\n";
    char text[2048];
    gantry_model_t *m = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(m, dense(1000, "a_name_that_is_wider_than_a_head"));
    (void)gantry_model_add(m, dense(1, "x"));
    assert_int_equal(gantry_model_build(m, GANTRY_FLOAT32, GANTRY_SHAPE(2)), GANTRY_OK);
    assert_int_equal(gantry_model_summary(m, text, sizeof text, NULL), GANTRY_OK);
    assert_string_equal(text, expected);
    gantry_model_release(m);
}

static gantry_model_t *make_built(size_t index) {
    gantry_model_t *model = cases[index].make();
    if (gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2)) != GANTRY_OK)
        fail_msg("%s: %s", cases[index].name, gantry_last_message());
    return model;
}

TEST(summaries_have_the_rows_of_keras) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[16384];
        size_t needed;
        gantry_model_t *model = make_built(i);
        assert_int_equal(gantry_model_summary(model, text, sizeof text, &needed), GANTRY_OK);
        assert_int_equal(strlen(text), needed);
        expect_lines(cases[i].name, text, cases[i].lines);
        gantry_model_release(model);
    }
}

/* Keras has no such layer in its model; here it is one, and has weights. */
TEST(layers_that_are_not_needed_have_rows) {
    char text[8192];
    gantry_model_t *m = gantry_functional(fixture.runtime, NULL);
    const int32_t x = input(m, GANTRY_SHAPE(2)), y = apply(m, dense(3, NULL), x);
    (void)apply(m, dense(1, "not_needed"), x);
    (void)gantry_model_set_output(m, y);
    assert_int_equal(gantry_model_build(m, GANTRY_DTYPE_NONE, GANTRY_SCALAR), GANTRY_OK);
    assert_int_equal(gantry_model_summary(m, text, sizeof text, NULL), GANTRY_OK);
    if (!strstr(text, " not_needed (Dense)        (None, 1)           3  input_layer[0][0]\n") ||
        !strstr(text, "Total params: 12 (48.00 B)"))
        fail_msg("%s", text);
    gantry_model_release(m);
}

TEST(short_rooms_get_the_beginning) {
    char text[20];
    size_t needed, whole;
    gantry_model_t *model = make_built(1);
    assert_int_equal(gantry_model_summary(model, NULL, 0, &whole), GANTRY_OK);
    assert_int_equal(gantry_model_summary(model, text, sizeof text, &needed), GANTRY_OK);
    assert_int_equal(needed, whole);
    assert_string_equal(text, "Model: \"functional\"");
    gantry_model_release(model);
}

static gantry_status_t summarise(void *user) {
    char text[16384];
    return gantry_model_summary(user, text, sizeof text, NULL);
}

TEST(summaries_without_memory_leak_nothing) {
    gantry_model_t *model = make_built(2);
    const long before = train_heap_live();
    assert_true(train_heap_fail_each("summary", summarise, model) > 10);
    gantry_model_release(model);
    assert_int_equal(train_heap_live(), -before);
    train_heap_reset(-1);
}

int main(void) { return test_main_each(set_up, tear_down); }
