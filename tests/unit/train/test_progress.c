/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The progress bar's texts are Keras's, and they are cut to their buffer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "train/progress/progress.h"

typedef struct bar_case_t {
    bool begins;
    int64_t target;
    bool is_terminal;
    int64_t steps;
    double seconds; /* since the bar's beginning */
    gantry__progress_value_t values[4];
    size_t count;
    bool is_last;
    const char *text;
} bar_case_t;

#include "bar_cases.inc"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define START 1e6

TEST(texts_are_those_of_keras) {
    gantry__progress_t progress;
    char text[512];
    int drawn = 0;
    for (size_t i = 0; i < COUNT(bar_cases); ++i) {
        const bar_case_t *c = &bar_cases[i];
        if (c->begins) gantry__progress_begin(&progress, c->target, c->is_terminal, START);
        const size_t length =
            gantry__progress_update(&progress, c->steps, START + c->seconds, c->values, c->count,
                                    c->is_last, text, sizeof text);
        assert_string_equal(text, c->text);
        assert_int_equal(length, strlen(c->text));
        drawn += length > 0;
    }
    assert_true(drawn >= 20 && drawn < (int)COUNT(bar_cases));
}

TEST(text_is_cut_to_its_buffer) {
    gantry__progress_t progress;
    const gantry__progress_value_t loss = {"loss", 1.5};
    char whole[512], cut[512];
    gantry__progress_begin(&progress, 938, true, START);
    const size_t length =
        gantry__progress_update(&progress, 1, START + 1, &loss, 1, true, whole, sizeof whole);
    assert_true(length > 0 && length < sizeof whole);
    for (size_t bytes = 0; bytes <= length + 1; ++bytes) {
        memset(cut, 'x', sizeof cut);
        gantry__progress_begin(&progress, 938, true, START);
        assert_int_equal(gantry__progress_update(&progress, 1, START + 1, &loss, 1, true,
                                                 bytes ? cut : NULL, bytes),
                         length);
        if (bytes == 0) continue;
        assert_int_equal(strlen(cut), bytes - 1);
        assert_memory_equal(cut, whole, bytes - 1);
        assert_int_equal(cut[bytes], 'x');
    }
}

/* Steps beyond the target, times that go backwards, and targets below zero. */
TEST(odd_numbers_do_no_harm) {
    gantry__progress_t progress;
    char text[512];
    gantry__progress_begin(&progress, 3, true, START);
    assert_true(
        gantry__progress_update(&progress, 7, START - 5, NULL, 0, false, text, sizeof text) > 0);
    assert_non_null(strstr(text, "7/3"));
    gantry__progress_begin(&progress, -4, true, START);
    assert_true(gantry__progress_update(&progress, -2, START, NULL, 0, false, text, sizeof text) >
                0);
    assert_non_null(strstr(text, "-2/Unknown"));
    gantry__progress_begin(&progress, INT64_MAX, true, START);
    assert_true(
        gantry__progress_update(&progress, 1, START + 1, NULL, 0, false, text, sizeof text) > 0);
    assert_non_null(strstr(text, "1/9223372036854775807"));
    gantry__progress_begin(&progress, 0, false, START);
    assert_true(gantry__progress_update(&progress, 0, START, NULL, 0, true, text, sizeof text) > 0);
}

int main(void) { return test_main(); }
