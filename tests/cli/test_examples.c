/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the examples that train as a user would, on made-up texts and on Debian's fortunes. Needs
 * two PoCL devices for the tests on GPUs, unless GANTRY_TEST_ALLOW_NO_OPENCL is set. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "cli_case.h"

static bool has_opencl;

/* ---- texts ---- */

/* Two topics of 60 texts each; no word is in both. */
static void write_topics(void) {
    static const char *const words[2][6] = {{"ship", "sea", "sail", "harbour", "anchor", "wave"},
                                            {"oven", "bread", "flour", "butter", "salt", "dough"}};
    char text[8192];
    for (unsigned topic = 0; topic < 2; ++topic) {
        size_t used = 0;
        for (unsigned i = 0; i < 60; ++i) {
            for (unsigned k = 0; k < 8; ++k)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%c",
                                         words[topic][(i * 5 + k * (i % 3 + 1)) % 6],
                                         k == 7 ? '\n' : ' ');
            used += (size_t)snprintf(text + used, sizeof text - used, "%%\n");
        }
        write_file(topic ? "kitchen" : "water", text);
    }
}

/* Reads the number behind a text of the output. */
static double number_behind(const char *text) {
    const char *at = strstr(output, text);
    if (!at) fail_msg("\"%s\" is not in\n%s", text, output);
    return strtod(at + strlen(text), NULL);
}

/* The loss on held-out texts after the last epoch. */
static double last_loss(void) {
    static const char text[] = " - val_loss: ";
    const char *at = NULL;
    for (const char *next = strstr(output, text); next; next = strstr(at, text))
        at = next + strlen(text);
    if (!at) fail_msg("there is no loss in\n%s", output);
    return strtod(at, NULL);
}

static const char classify[] =
    "printf 'flour, bread, salt, dough, oven, bread, flour, butter\\nship sea sail harbour anchor wave ship sea\\n' | $BIN/text_classifier --load model --classify";

static void classifier_learns_saves_and_classifies(void **state) {
    (void)state;
    write_topics();
    expect_run(
        0,
        "$BIN/text_classifier --device CPU:0 --epochs 6 --batch 8 --save model water=water kitchen=kitchen");
    expect_in_output("120 texts of 2 topics: 108 to learn from, 12 held out; 12 words");
    expect_in_output("embedding (Embedding)");
    expect_in_output("Epoch 6/6");
    expect_in_output("texts/s in the fastest epoch");
    expect_in_output("saved model/model.safetensors");
    assert_true(number_behind("held-out accuracy: ") >= 0.95);
    expect_run(0, classify);
    assert_int_equal(strncmp(output, "kitchen ", 8), 0);
    expect_in_output(" bread, flour, butter\nwater ");
    expect_in_output(": ship sea sail harbour anchor wave ship sea\n");
}

/* A shell starts background programs with SIGINT ignored; the handler is set all the same. */
static void classifier_saves_at_an_interrupt_and_goes_on(void **state) {
    (void)state;
    write_topics();
    expect_run(
        130,
        "$BIN/text_classifier --device CPU:0 --epochs 10000 --batch 8 --save halves water=water kitchen=kitchen >first & i=0; until grep -q 'Epoch 3/' first || ! kill -0 $! || test $i -gt 600; do sleep 0.1; i=$((i + 1)); done; kill -INT $!; wait $!");
    expect_run(0, "cat first && test -f halves/training.safetensors");
    expect_in_output("was stopped in epoch ");
    expect_in_output("; halves/training.safetensors has its state");
    expect_run(
        130,
        "$BIN/text_classifier --device CPU:0 --epochs 10000 --batch 8 --save halves water=water kitchen=kitchen >second & i=0; until grep -q Epoch second || ! kill -0 $! || test $i -gt 600; do sleep 0.1; i=$((i + 1)); done; kill -INT $!; wait $!");
    expect_run(1, "grep 'Epoch 1/' second"); /* it did not begin anew */
    expect_run(0, "! test -f halves/model.safetensors");
}

static void classifier_refuses_a_file_that_is_not_its_model(void **state) {
    (void)state;
    expect_run(1, "$BIN/text_classifier --load missing --classify </dev/null");
    expect_in_output("missing/model.safetensors");
    expect_run(0, "mkdir cut && head -c 1000 model/model.safetensors >cut/model.safetensors");
    expect_run(1, "$BIN/text_classifier --load cut --classify </dev/null");
    expect_in_output("cut/model.safetensors");
}

/* The batches are split, but the training is the same: losses agree but for rounding. */
static void classifier_trains_alike_on_two_virtual_devices(void **state) {
    (void)state;
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    write_topics();
    for (size_t i = 0; i < 2; ++i) {
        double loss[2] = {0, 0};
        if (i == 1 && !has_opencl) SKIP_BECAUSE("no OpenCL device here");
        for (int replicas = 1; replicas <= 2; ++replicas) {
            char line[256];
            (void)snprintf(
                line, sizeof line,
                "$BIN/text_classifier --device %s --replicas %d --epochs 4 --batch 7 water=water kitchen=kitchen",
                devices[i], replicas);
            expect_run(0, line);
            (void)snprintf(line, sizeof line,
                           "replica %d: /job:localhost/replica:0/task:0/device:%.3s:%d",
                           replicas - 1, devices[i], replicas - 1);
            expect_in_output(line);
            expect_in_output("Epoch 4/4");
            loss[replicas - 1] = last_loss();
        }
        if (!(fabs(loss[0] - loss[1]) <= 2e-4))
            fail_msg("%s: loss %.4f and %.4f", devices[i], loss[0], loss[1]);
    }
}

static void classifier_names_what_is_wrong(void **state) {
    (void)state;
    static const char *const lines[] = {
        "$BIN/text_classifier --nonsense 1", "$BIN/text_classifier --epochs many",
        "$BIN/text_classifier --epochs", "$BIN/text_classifier --load model",
        "$BIN/text_classifier no_equals_sign"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        expect_run(2, lines[i]);
        expect_in_output("is not understood");
        expect_in_output("usage: ");
    }
    write_topics();
    expect_run(1, "$BIN/text_classifier water=water xx=no/such/file");
    expect_in_output("no/such/file");
    expect_run(1, "$BIN/text_classifier water=water");
    expect_in_output("fewer than two topics");
    write_file("short", "one\n%\ntwo\n");
    expect_run(1, "$BIN/text_classifier a=short b=short");
    expect_in_output("longer files are needed");
    expect_run(1, "$BIN/text_classifier --device GPU:x water=water kitchen=kitchen");
    expect_in_output("Malformed device specification");
}

/* ctest and other callers take 77 for a skip. */
static void classifier_without_texts_says_what_to_install(void **state) {
    (void)state;
    expect_run(77, "$BIN/text_classifier --texts no/such/folder");
    expect_in_output("apt-get install fortunes fortunes-min");
}

static void classifier_learns_debians_fortunes(void **state) {
    (void)state;
    if (run("$BIN/text_classifier --device CPU:0 --limit 6000 --epochs 3") == 77)
        SKIP_BECAUSE("Debian's packages fortunes and fortunes-min are not installed");
    expect_in_output("6000 texts of 39 topics: 5400 to learn from, 600 held out; 9999 words");
    /* the largest topics, named always, are right for 0.08, and for 0.35 among five */
    assert_true(number_behind("held-out accuracy: ") > 0.14);
    assert_true(number_behind("among the first five: ") > 0.44);
}

/* ---- the guide's model, and a loop of one's own ---- */

static void expect_line_learnt(void) {
    assert_true(fabs(number_behind("\ny = ") - 3.0) < 0.02);
    assert_true(fabs(number_behind(" x + ") - 1.0) < 0.02);
}

static void keras_linear_logs_its_devices_and_learns(void **state) {
    (void)state;
    expect_run(0, "GANTRY_OPENCL_LIBRARY=/nonexistent/libOpenCL.so $BIN/keras_linear --split 3");
    expect_in_output("device:CPU:2')");
    expect_line_learnt();
    expect_run(2, "$BIN/keras_linear --split none");
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, "$BIN/keras_linear");
    expect_in_output("2 Physical GPU, 3 Logical GPUs"); /* the first GPU is split */
    expect_in_output(
        "Using MirroredStrategy with devices ('/job:localhost/replica:0/task:0/device:GPU:0', '/job:localhost/replica:0/task:0/device:GPU:1', ");
    expect_in_output(
        "Executing op VarHandleOp in device "
        "/job:localhost/replica:0/task:0/device:GPU:1");
    expect_line_learnt();
}

static void custom_loop_trains_both_ways_alike(void **state) {
    (void)state;
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (size_t i = 0; i < 2; ++i) {
        char line[128];
        if (i == 1 && !has_opencl) SKIP_BECAUSE("no OpenCL device here");
        (void)snprintf(line, sizeof line, "$BIN/custom_loop --epochs 20 --device %s", devices[i]);
        expect_run(0, line);
        expect_in_output("accuracies: equal");
        assert_true(number_behind("epoch 20: accuracy ") > 0.9);
    }
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    (void)setenv("GANTRY_OPENCL_CPU", "gpu", 1);
    if (open_folder() != 0) return 1;
    has_opencl = run("$BIN/gantry devices") == 0 && strstr(output, "opencl:1");
    if (!has_opencl && !getenv("GANTRY_TEST_ALLOW_NO_OPENCL")) {
        (void)fprintf(
            stderr,
            "two PoCL devices are needed; set GANTRY_TEST_ALLOW_NO_OPENCL to skip the tests that need them\n%s",
            output);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classifier_learns_saves_and_classifies),
        cmocka_unit_test(classifier_saves_at_an_interrupt_and_goes_on),
        cmocka_unit_test(classifier_refuses_a_file_that_is_not_its_model),
        cmocka_unit_test(classifier_trains_alike_on_two_virtual_devices),
        cmocka_unit_test(classifier_names_what_is_wrong),
        cmocka_unit_test(classifier_without_texts_says_what_to_install),
        cmocka_unit_test(classifier_learns_debians_fortunes),
        cmocka_unit_test(keras_linear_logs_its_devices_and_learns),
        cmocka_unit_test(custom_loop_trains_both_ways_alike),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
