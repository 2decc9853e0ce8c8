/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Packed device texts unpack to the text that was packed: stored, by fixed codes and by
 * codes of their own, with copies that overlap.
 *
 * Several are joined; a text that does not fit is left out. */
#include <stdlib.h>
#include <string.h>

#include "kernels/common/device_text.h"
#include "test.h"

#define TEXT "abcabcabcabc\n"

static const unsigned char stored[] = {1,   13,  0,   0,   1,   13,  0,   242, 255, 'a', 'b',
                                       'c', 'a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c', '\n'};
static const unsigned char fixed[] = {1, 13, 0, 0, 0x4b, 0x4c, 0x4a, 0x4e, 0x84, 0x21, 0x2e, 0};
/* a stored block of "abcabc", then a fixed one of "abcabc\n" whose copies reach into the first */
static const unsigned char mixed[] = {1,   13,  0,   0,   0,   6,    0,    249,  255, 'a',
                                      'b', 'c', 'a', 'b', 'c', 0x83, 0x20, 0x2e, 0x00};

static void assert_unpacks(const void *packed, const char *expected) {
    char text[64];
    memset(text, '?', sizeof text);
    assert_int_equal(gantry__k_text_length(packed), strlen(expected));
    gantry__k_text_unpack(packed, text);
    assert_string_equal(text, expected);
    assert_int_equal(text[strlen(expected) + 1], '?');
}

TEST(each_kind_of_block_unpacks) {
    assert_unpacks(stored, TEXT);
    assert_unpacks(fixed, TEXT);
    assert_unpacks(mixed, TEXT);
    assert_unpacks(TEXT, TEXT);
    assert_unpacks("", "");
}

TEST(texts_of_the_library_have_their_lengths) {
    static const void *const texts[] = {gantry__text_constants,   gantry__text_dialect,
                                        gantry__text_half,        gantry__text_scan,
                                        gantry__text_window_sum,  gantry__text_math_float32_gamma,
                                        gantry__text_math_integer};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        const size_t length = (size_t)gantry__k_text_length(texts[i]);
        char *text = malloc(length + 1); /* a sanitizer sees bytes behind it */
        assert_non_null(text);
        gantry__k_text_unpack(texts[i], text);
        assert_int_equal(strlen(text), length);
        assert_int_equal(text[length - 1], '\n');
        free(text);
    }
}

TEST(texts_are_joined_if_they_fit) {
    static const void *const texts[] = {stored, fixed, "abc"};
    const gantry__k_texts_t key = {texts, 3};
    char text[64] = "";
    assert_int_equal(gantry__k_texts_make(&key, NULL, 0), 29);
    assert_int_equal(gantry__k_texts_make(&key, text, 30), 29);
    assert_string_equal(text, TEXT TEXT "abc");
    memset(text, '?', sizeof text);
    assert_int_equal(gantry__k_texts_make(&key, text, 26), 29);
    assert_string_equal(strtok(text, "?"), TEXT);
}

int main(void) { return test_main(); }
