/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A line of gantry_model_fit that is drawn again is narrower than the terminal, whatever
 * its width: that of the option columns, of the terminal at standard output, or 80. The line at an
 * epoch's end has all values, on lines that are narrower, too.
 * Promise: Where the output of gantry_model_fit is no terminal, each epoch has one whole line. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE /* TIOCSWINSZ */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <gantry_train/train.h>

#include "test.h"
#include "train/progress/progress.h"

enum { METRICS = 6, MOST_WIDTH = 400 };

/* ---- a terminal that draws ---- */

typedef struct screen_t {
    char row[MOST_WIDTH * 4]; /* the present one, in columns */
    size_t at, widest, texts;
    char whole[16384]; /* rows that have ended, one behind another, then the present one */
} screen_t;

static size_t skip_style(const char *text) {
    size_t length = 2;
    while (text[length] && text[length] != 'm') ++length;
    return length + 1;
}

static void put_char(screen_t *screen, char c) {
    if (((unsigned char)c & 0xc0) == 0x80) return; /* goes on with a letter of several bytes */
    assert_true(screen->at < sizeof screen->row - 1);
    screen->row[screen->at++] = ((unsigned char)c & 0x80) ? '#' : c;
    if (screen->at > screen->widest) screen->widest = screen->at;
}

static void end_row(screen_t *screen) {
    const size_t used = strlen(screen->whole), length = strlen(screen->row);
    assert_true(used + length + 2 < sizeof screen->whole);
    memcpy(screen->whole + used, screen->row, length);
    screen->whole[used + length] = '\n';
    memset(screen->row, 0, sizeof screen->row);
    screen->at = 0;
}

static void write_screen(const char *text, void *user) {
    screen_t *screen = user;
    ++screen->texts;
    while (*text) {
        if (*text == '\x1b') {
            text += skip_style(text);
            continue;
        }
        if (*text == '\r')
            screen->at = 0;
        else if (*text == '\n')
            end_row(screen);
        else
            put_char(screen, *text);
        ++text;
    }
}

/* ---- the bar ---- */

static const gantry__progress_value_t values[] = {
    {"accuracy", 0.5},      {"loss", 1.25},           {"precision", 0.75},
    {"val_accuracy", 0.25}, {"val_loss", 123456.789}, {"val_a_metric_with_a_long_name", 1e-9}};

static void draw(size_t width, int64_t target, screen_t *screen) {
    gantry__progress_t bar;
    char text[2048];
    *screen = (screen_t){.at = 0};
    gantry__progress_begin(&bar, target, true, 0);
    bar.width = width;
    for (int64_t step = 1; step <= 938; step += 67) {
        const bool is_last = step + 67 > 938;
        const size_t count = is_last ? METRICS : step % 2 ? METRICS / 2 : 2;
        if (gantry__progress_update(&bar, step, (double)step / 3, values, count, is_last, text,
                                    sizeof text) > 0)
            write_screen(text, screen);
    }
}

TEST(every_width_has_lines_that_fit) {
    static screen_t screen;
    for (size_t width = 48; width < MOST_WIDTH; ++width) {
        for (int64_t target = 0; target <= 938; target += 938) {
            draw(width, target, &screen);
            if (screen.widest >= width)
                fail_msg("%zu columns of a terminal with %zu", screen.widest, width);
            for (size_t i = 0; i < METRICS; ++i)
                assert_non_null(strstr(screen.whole, values[i].name));
        }
    }
    draw(200, 938, &screen);
    assert_non_null(strstr(screen.whole, "####")); /* the bar */
}

/* What fits is on one line, as Keras has it; nothing of a line that was longer is left. */
TEST(wide_terminal_has_one_line) {
    static screen_t screen;
    draw(MOST_WIDTH, 938, &screen);
    assert_ptr_equal(strchr(screen.whole, '\n'), screen.whole + strlen(screen.whole) - 1);
    draw(60, 938, &screen);
    for (const char *row = screen.whole; *row; row = strchr(row, '\n') + 1)
        assert_true(strncmp(row, " - ", 3) == 0 || strncmp(row, "872/938 ", 8) == 0);
}

/* ---- trainings ---- */

static gantry_runtime_t *runtime;

static int open_runtime(void **state) {
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    (void)state;
    return gantry_runtime_create(&options, &runtime) == GANTRY_OK ? 0 : -1;
}

static int close_runtime(void **state) {
    (void)state;
    gantry_runtime_release(runtime);
    return 0;
}

static void train(int32_t columns, bool is_terminal, screen_t *screen) {
    static const float inputs[24] = {1, 2, 3}, labels[12] = {1};
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(12, 2), inputs},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(12, 1), labels}};
    gantry_dataset_t *data =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 2, false);
    gantry_metric_t *metrics[METRICS];
    gantry_model_t *model = gantry_sequential(runtime, NULL);
    for (int i = 0; i < METRICS; ++i) metrics[i] = gantry_root_mean_squared_error(NULL);
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    (void)gantry_model_compile(model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                                  .loss = GANTRY_MEAN_SQUARED_ERROR,
                                                                  .metrics = metrics,
                                                                  .metric_count = METRICS});
    *screen = (screen_t){.at = 0};
    if (gantry_model_fit(model, data,
                         &(gantry_fit_options_t){.write = write_screen,
                                                 .write_user = screen,
                                                 .is_terminal = is_terminal,
                                                 .columns = columns}) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_non_null(strstr(screen->whole, "root_mean_squared_error_5"));
    gantry_model_release(model);
    gantry_dataset_release(data);
}

/* Runs a training with another standard output and standard error. */
static void train_at(int file, screen_t *screen) {
    const int output = dup(STDOUT_FILENO), error = dup(STDERR_FILENO);
    (void)fflush(NULL);
    (void)dup2(file, STDOUT_FILENO);
    (void)dup2(file, STDERR_FILENO);
    train(0, true, screen);
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(error, STDERR_FILENO);
    (void)close(output);
    (void)close(error);
}

TEST_WITH(given_columns_are_not_exceeded, open_runtime, close_runtime) {
    static screen_t screen;
    for (int32_t columns = 50; columns < 200; columns += 29) {
        train(columns, true, &screen);
        assert_in_range(screen.widest, 30, columns - 1);
    }
}

TEST_WITH(width_is_that_of_the_terminal, open_runtime, close_runtime) {
    static screen_t screen;
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        print_message("SKIP: this machine has no pseudo-terminal\n");
        skip();
    }
    const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    for (unsigned short columns = 60; columns < 200; columns = (unsigned short)(columns + 40)) {
        const struct winsize size = {.ws_row = 24, .ws_col = columns};
        assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
        train_at(terminal, &screen);
        assert_in_range(screen.widest, columns - 32, columns - 1);
    }
    (void)close(terminal);
    (void)close(master);
}

TEST_WITH(width_is_80_without_a_terminal, open_runtime, close_runtime) {
    static screen_t screen;
    const int file = open("/dev/null", O_WRONLY);
    train_at(file, &screen);
    assert_in_range(screen.widest, 48, 79);
    (void)close(file);
}

TEST_WITH(output_elsewhere_has_whole_lines, open_runtime, close_runtime) {
    static screen_t screen;
    train(50, false, &screen);
    assert_true(screen.widest > 100);
    assert_int_equal(screen.texts, 2); /* the epoch's title, and its line */
}

TEST_WITH(columns_below_0_are_refused, open_runtime, close_runtime) {
    gantry_dataset_t *data = NULL;
    gantry_model_t *model = gantry_sequential(runtime, NULL);
    const float zero = 0;
    const gantry_array_t array = {GANTRY_FLOAT32, GANTRY_SHAPE(1), &zero};
    data = gantry_dataset_from_arrays(&array, 1, true);
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL), .loss = GANTRY_HUBER});
    assert_int_equal(gantry_model_fit(model, data, &(gantry_fit_options_t){.columns = -1}),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "columns is -1"));
    gantry_model_release(model);
    gantry_dataset_release(data);
}

int main(void) { return test_main(); }
