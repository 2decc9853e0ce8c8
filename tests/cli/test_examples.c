/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The examples text_classifier, digits, transformer, keras_linear and custom_loop learn on
 * each kind of device, and name what is wrong with their arguments and files.
 * Promise: Ctrl-C makes the example text_classifier save its state and end with exit code 130, and
 * the same command line continues the training.
 * Promise: The example transformer reaches a lower loss than a model that counts pairs of letters.
 * Promise: On Debian's fortunes the example text_classifier is right more often than always naming
 * the largest topics would be, and a saved model classifies new texts.
 * Promise: The example text_classifier has the losses of one device on two virtual ones, and the
 * example digits reaches the same accuracy on both.
 *
 * Needs two PoCL devices for the tests on GPUs, unless GANTRY_TEST_ALLOW_NO_OPENCL is set. */
#define _XOPEN_SOURCE 700

#include <math.h>

#include "cli_case.h"
#include "test.h"

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

/* Under sanitizers trainings are too short to learn. */
static void expect_accuracy(const char *text, double least) {
    const double accuracy = number_behind(text);
    if (!IS_SANITIZED && !(accuracy >= least)) fail_msg("%s%g, not %g", text, accuracy, least);
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

#define CLASSIFIER_EPOCHS FEWER_FOR_SANITIZERS("6", "2")

static const char classify[] =
    "printf 'flour, bread, salt, dough, oven, bread, flour, butter\\nship sea sail harbour anchor wave ship sea\\n' | $BIN/text_classifier --load model --classify";

TEST(classifier_learns_saves_and_classifies) {
    write_topics();
    expect_run(0, "$BIN/text_classifier --device CPU:0 --epochs " CLASSIFIER_EPOCHS
                  " --batch 8 --save model water=water kitchen=kitchen");
    expect_in_output("120 texts of 2 topics: 108 to learn from, 12 held out; 12 words");
    expect_in_output("embedding (Embedding)");
    expect_in_output("Epoch " CLASSIFIER_EPOCHS "/" CLASSIFIER_EPOCHS);
    expect_in_output("texts/s in the fastest epoch");
    expect_in_output("saved model/model.safetensors");
    expect_accuracy("held-out accuracy: ", 0.95);
    expect_run(0, classify);
    if (!IS_SANITIZED) {
        assert_int_equal(strncmp(output, "kitchen ", 8), 0);
        expect_in_output(" bread, flour, butter\nwater ");
    }
    expect_in_output(" bread, flour, butter\n");
    expect_in_output(": ship sea sail harbour anchor wave ship sea\n");
}

/* A shell starts background programs with SIGINT ignored; the handler is set all the same. */
TEST(classifier_saves_at_an_interrupt_and_goes_on) {
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

TEST(classifier_refuses_a_file_that_is_not_its_model) {
    expect_run(1, "$BIN/text_classifier --load missing --classify </dev/null");
    expect_in_output("missing/model.safetensors");
    expect_run(0, "mkdir cut && head -c 1000 model/model.safetensors >cut/model.safetensors");
    expect_run(1, "$BIN/text_classifier --load cut --classify </dev/null");
    expect_in_output("cut/model.safetensors");
}

/* The batches are split, but the training is the same: losses agree but for rounding. */
TEST(classifier_trains_alike_on_two_virtual_devices) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
#define REPLICA_EPOCHS FEWER_FOR_SANITIZERS("4", "1")
    write_topics();
    for (size_t i = 0; i < 2; ++i) {
        double loss[2] = {0, 0};
        if (i == 1 && !has_opencl) SKIP_BECAUSE("no OpenCL device here");
        for (int replicas = 1; replicas <= 2; ++replicas) {
            char line[256];
            (void)snprintf(line, sizeof line,
                           "$BIN/text_classifier --device %s --replicas %d --epochs " REPLICA_EPOCHS
                           " --batch 7 water=water kitchen=kitchen",
                           devices[i], replicas);
            expect_run(0, line);
            (void)snprintf(line, sizeof line,
                           "replica %d: /job:localhost/replica:0/task:0/device:%.3s:%d",
                           replicas - 1, devices[i], replicas - 1);
            expect_in_output(line);
            expect_in_output("Epoch " REPLICA_EPOCHS "/" REPLICA_EPOCHS);
            loss[replicas - 1] = last_loss();
        }
        if (!(fabs(loss[0] - loss[1]) <= 2e-4))
            fail_msg("%s: loss %.4f and %.4f", devices[i], loss[0], loss[1]);
    }
}

TEST(classifier_names_what_is_wrong) {
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
TEST(classifier_without_texts_says_what_to_install) {
    expect_run(77, "$BIN/text_classifier --texts no/such/folder");
    expect_in_output("apt-get install fortunes fortunes-min");
    write_topics(); /* 60 texts each */
    expect_run(0, "mkdir -p topics && cp water kitchen topics");
    expect_run(77, "$BIN/text_classifier --texts topics --least 61");
    expect_in_output("fewer than two topics of 61 texts or more in topics");
    expect_run(0, "$BIN/text_classifier --device CPU:0 --texts topics --least 60 --epochs 1");
    expect_in_output("120 texts of 2 topics");
}

TEST(classifier_learns_debians_fortunes) {
    if (run("$BIN/text_classifier --device CPU:0 --limit " FEWER_FOR_SANITIZERS(
            "6000 --epochs 3", "200 --epochs 1")) == 77)
        SKIP_BECAUSE("Debian's packages fortunes and fortunes-min are not installed");
    expect_in_output(FEWER_FOR_SANITIZERS(
        "6000 texts of 39 topics: 5400 to learn from, 600 held out; 9999 words",
        "200 texts of 39 topics: 180 to learn from, 20 held out; "));
    /* the largest topics, named always, are right for 0.08, and for 0.35 among five */
    expect_accuracy("held-out accuracy: ", 0.14);
    expect_accuracy("among the first five: ", 0.44);
}

/* ---- digits ---- */

/* Draws digit `digit` with bars whose place it chooses, and with noise. */
static void draw_digit(unsigned digit, unsigned noise, unsigned pixels[64]) {
    for (unsigned i = 0; i < 64; ++i) {
        const bool is_dark = i % 8 == digit % 8 || (digit >= 8 && i / 8 == digit - 7);
        noise = noise * 1664525u + 1013904223u;
        pixels[i] = (is_dark ? 12 : 0) + (noise >> 24) % 5;
    }
}

/* Writes 200 images, and behind them a line. */
static void write_digits(const char *name, const char *last_line) {
    static char text[64 << 10];
    unsigned pixels[64];
    size_t used = 0;
    for (unsigned i = 0; i < 200; ++i) {
        draw_digit(i % 10, i, pixels);
        for (unsigned k = 0; k < 64; ++k)
            used += (size_t)snprintf(text + used, sizeof text - used, "%u,", pixels[k]);
        used += (size_t)snprintf(text + used, sizeof text - used, "%u\n", i % 10);
    }
    (void)snprintf(text + used, sizeof text - used, "%s", last_line);
    write_file(name, text);
}

/* Writes the same images as a .npy array of bytes, `columns` numbers each. */
static void write_digits_npy(const char *name, unsigned columns) {
    char path[256], text[119];
    unsigned pixels[65];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    (void)snprintf(text, sizeof text,
                   "{'descr': '|u1', 'fortran_order': False, 'shape': (200, %u)}", columns);
    (void)fprintf(file, "%cNUMPY%c%c%c%c%-117s\n", 0x93, 1, 0, 118, 0, text);
    for (unsigned i = 0; i < 200; ++i) {
        draw_digit(i % 10, i, pixels);
        pixels[64] = i % 10;
        for (unsigned k = 0; k < columns; ++k) (void)fputc((int)pixels[k], file);
    }
    assert_int_equal(fclose(file), 0);
}

#define DIGITS_EPOCHS FEWER_FOR_SANITIZERS("8", "1")

TEST(digits_are_learnt_saved_and_read_again) {
    write_digits("digits", "");
    write_digits_npy("digits.npy", 65);
    expect_run(0,
               "$BIN/digits --device CPU:0 --batch 16 --save digits.model --epochs " DIGITS_EPOCHS
               " digits");
    expect_in_output("200 images: 160 to learn from, 40 held out");
    expect_in_output("images/s in the fastest epoch");
    expect_in_output("saved digits.model");
    expect_accuracy("seed 1: held-out accuracy: ", 0.9);
    const double accuracy = number_behind("seed 1: held-out accuracy: ");
    expect_run(0, "$BIN/digits --device CPU:0 --load digits.model digits.npy");
    assert_true(number_behind("seed 1: held-out accuracy: ") == accuracy);
    expect_run(0, "$BIN/digits --device CPU:0 --epochs 1 digits");
    expect_in_output(", taken for "); /* pictures of the mistakes */
    expect_run(0, "$BIN/digits --device CPU:0 --epochs 1 --seeds 3 digits");
    expect_in_output("seed 3: held-out accuracy: ");
    expect_in_output("3 seeds: mean ");
}

TEST(digits_train_on_one_and_two_devices) {
    static const char *const lines[] = {
        "$BIN/digits --device CPU:0 --replicas 2 --batch 15 --epochs " DIGITS_EPOCHS " digits",
        "$BIN/digits --device GPU:0 --batch 16 --epochs " DIGITS_EPOCHS " digits",
        "$BIN/digits --device GPU:0 --replicas 2 --batch 15 --epochs " DIGITS_EPOCHS " digits"};
    write_digits("digits", "");
    for (size_t i = 0; i < 3; ++i) {
        if (i > 0 && !has_opencl) SKIP_BECAUSE("no OpenCL device here");
        expect_run(0, lines[i]);
        expect_accuracy("seed 1: held-out accuracy: ", 0.9);
    }
}

TEST(digits_names_what_is_wrong) {
    static const char *const rows[][2] = {
        {"1,2,3\n", "wrong:201: 3 numbers; 65 are accepted"},
        {"1,x,3\n", "wrong:201: \"x\" is no number"},
        {"99,2\n", "wrong:201: 2 numbers"},
        {"0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,17,1\n",
         "wrong:201: pixel 64 is 17; 0 to 16 is accepted"},
        {"0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,10\n",
         "wrong:201: the digit is 10; 0 to 9 is accepted"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        write_digits("wrong", rows[i][0]);
        expect_run(1, "$BIN/digits wrong");
        expect_in_output(rows[i][1]);
    }
    expect_run(1, "$BIN/digits no/such/file");
    expect_in_output("no/such/file cannot be read: No such file or directory");
    write_file("few", "");
    expect_run(1, "$BIN/digits few");
    expect_in_output("few has 0 images; 50 or more are needed");
    write_digits_npy("narrow.npy", 64);
    expect_run(1, "$BIN/digits narrow.npy");
    expect_in_output("narrow.npy has shape [200,64]; [images, 65] is accepted");
    write_digits("digits", "");
    expect_run(1, "$BIN/digits --load no/such/model digits");
    expect_in_output("no/such/model");
    expect_run(2, "$BIN/digits --epochs 0 digits");
    expect_in_output("--epochs \"0\" is not understood; 1 to 10000 is accepted");
    expect_run(2, "$BIN/digits digits digits");
    expect_in_output("usage: ");
    expect_run(77, "$BIN/digits"); /* in a folder without the real ones */
    expect_in_output("scripts/fetch-digits");
}

/* Sanitizers read a part of the file. */
TEST(digits_are_right_for_0_97_with_each_of_five_seeds) {
    if (access(GANTRY_DIGITS, R_OK) != 0)
        SKIP_BECAUSE("there is no " GANTRY_DIGITS ", which scripts/fetch-digits gets");
    if (IS_SANITIZED) {
        expect_run(0, "head -n 200 '" GANTRY_DIGITS
                      "' >some && $BIN/digits --device CPU:0 --epochs 1 some");
        expect_in_output("200 images: 160 to learn from, 40 held out");
    } else {
        expect_run(0, "$BIN/digits --device CPU:0 --seeds 5 '" GANTRY_DIGITS "'");
        expect_in_output("1797 images: 1438 to learn from, 359 held out");
        assert_true(number_behind(", least ") >= 0.97);
    }
}

/* ---- the transformer of characters ---- */

/* Sentences of few words in random order: letters in a word follow from more than one before. */
static void write_sentences(void) {
    static const char *const words[] = {"the ", "there ", "then ", "other ", "mother ", "here "};
    static char text[6000];
    unsigned random = 1;
    text[0] = '\0';
    for (size_t used = 0; used + 10 < sizeof text;) {
        random = random * 1664525u + 1013904223u;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", words[(random >> 16) % 6]);
    }
    write_file("sentences", text);
}

static double held_out_loss(void) { return number_behind("held-out loss: "); }

/* Under sanitizers trainings are too short to learn. */
static void expect_less_than(const char *text) {
    const double loss = held_out_loss(), other = number_behind(text);
    if (!IS_SANITIZED && !(loss < other)) fail_msg("loss %g; %s%g", loss, text, other);
}

TEST(transformer_learns_more_than_counts_and_writes_on) {
    static char first[4096];
    write_sentences();
    expect_run(
        0,
        "$BIN/char_transformer --device CPU:0 --batch 8 --rate 0.01 --save letters --length 0 --steps " FEWER_FOR_SANITIZERS(
            "60", "4") " sentences");
    expect_in_output("characters/s in the fastest epoch");
    expect_in_output("saved letters");
    expect_less_than("by counts of characters: ");
    expect_less_than(", of pairs: ");
    for (int i = 0; i < 2; ++i) { /* the same text for a seed */
        expect_run(0, "$BIN/char_transformer --load letters --prompt 'the oth' --length 100");
        expect_in_output("\nthe oth");
        assert_int_equal(strlen(strstr(output, "\nthe oth")), 1 + 7 + 100 + 1);
        if (i == 0) (void)snprintf(first, sizeof first, "%s", output);
    }
    assert_string_equal(first, output);
    expect_run(0,
               "$BIN/char_transformer --load letters --prompt 'mothe' --length 2 --temperature 0");
    expect_in_output(FEWER_FOR_SANITIZERS("\nmother \n", "\nmothe"));
}

TEST(transformer_trains_alike_on_every_device) {
    static const char *const devices[] = {"CPU:0", "CPU:0 --replicas 2", "GPU:0",
                                          "GPU:0 --replicas 2"};
    double losses[4];
    write_sentences();
    for (size_t i = 0; i < 4; ++i) {
        char line[256];
        if (i > 1 && !has_opencl) SKIP_BECAUSE("no OpenCL device here");
        (void)snprintf(line, sizeof line,
                       "$BIN/char_transformer --device %s --steps " FEWER_FOR_SANITIZERS(
                           "10", "4") " --batch 7 --length 5 sentences",
                       devices[i]);
        expect_run(0, line);
        losses[i] = held_out_loss();
        if (!(fabs(losses[i] - losses[0]) <= 5e-4))
            fail_msg("%s: loss %.4f, not %.4f", devices[i], losses[i], losses[0]);
    }
}

TEST(transformer_names_what_is_wrong) {
    write_file("short", "a short text\n");
    expect_run(1, "$BIN/char_transformer short");
    expect_in_output("short has 13 characters; 1000 or more are needed");
    expect_run(1, "$BIN/char_transformer no/such/file");
    expect_in_output("no/such/file cannot be read: No such file or directory");
    expect_run(1, "$BIN/char_transformer --load no/such/model");
    expect_in_output("no/such/model");
    write_digits("digits", "");
    expect_run(0, "$BIN/digits --device CPU:0 --epochs 1 --save digits.model digits");
    expect_run(1, "$BIN/char_transformer --load digits.model");
    expect_in_output("digits.model has no alphabet: another program wrote it");
    expect_run(2, "$BIN/char_transformer --temperature -1");
    expect_in_output("--temperature \"-1\" is not understood; 0 to 100 is accepted");
    expect_run(2, "$BIN/char_transformer --load letters sentences");
    expect_in_output("usage: ");
}

TEST(transformer_learns_debians_fortunes) {
    if (run("$BIN/char_transformer --device CPU:0 --length 40 --steps " FEWER_FOR_SANITIZERS(
            "30", "2")) == 77)
        SKIP_BECAUSE("Debian's package fortunes is not installed");
    expect_less_than("by counts of characters: ");
}

/* ---- the guide's model, and a loop of one's own ---- */

static void expect_line_learnt(void) {
    assert_true(fabs(number_behind("\ny = ") - 3.0) < 0.02);
    assert_true(fabs(number_behind(" x + ") - 1.0) < 0.02);
}

TEST(keras_linear_logs_its_devices_and_learns) {
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

#define LOOP_EPOCHS FEWER_FOR_SANITIZERS("20", "3")

TEST(custom_loop_trains_both_ways_alike) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (size_t i = 0; i < 2; ++i) {
        char line[128];
        if (i == 1 && !has_opencl) SKIP_BECAUSE("no OpenCL device here");
        (void)snprintf(line, sizeof line, "$BIN/custom_loop --epochs " LOOP_EPOCHS " --device %s",
                       devices[i]);
        expect_run(0, line);
        expect_in_output("accuracies: equal");
        expect_accuracy("epoch " LOOP_EPOCHS ": accuracy ", 0.9);
    }
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    (void)setenv("GANTRY_OPENCL_CPU", "gpu", 1);
    if (open_folder() != 0) return 1;
    if (!find_opencl(2, &has_opencl)) return 1;
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
