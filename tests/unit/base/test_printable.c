/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A text of another process that is shown has no control characters (C0, DEL, C1), no
 * controls of direction and no malformed UTF-8; letters of every script stay.
 * Promise: The end of a text begins with a whole character. */
#include <stdio.h>

#include "shared/printable.h"
#include "test.h"

TEST(commands_become_question_marks) {
    static const struct {
        const char *given, *shown;
    } texts[] = {
        {"", ""},
        {"train.py --rate 0.1", "train.py --rate 0.1"},
        {"a\033[2Jb\nc\x7f", "a?[2Jb?c?"},
        {"\xc2\x9b"
         "31m \xc2\x80\xc2\x9f\xc2\xa0",
         "?31m ??\xc2\xa0"}, /* CSI of C1 */
        {"\x9b"
         "31m",
         "?31m"}, /* of Latin-1 */
        {"a\xe2\x80\xae"
         "txt.exe\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c",
         "a?txt.exe???"}, /* bidi */
        {"\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xa8\xe2\x80\xa9", "????"},
        {"gr\xc3\xbc\xc3\x9f \xe6\x95\xb0 \xf0\x9f\x98\x80 \xe2\x80\x93",
         "gr\xc3\xbc\xc3\x9f \xe6\x95\xb0 \xf0\x9f\x98\x80 \xe2\x80\x93"},
        {"\xc3", "?"},
        {"\xe2\x80", "??"},
        {"\xed\xa0\x80\xff", "????"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s", texts[i].given);
        gantry__make_printable(text, '\0');
        assert_string_equal(text, texts[i].shown);
    }
}

TEST(kept_character_stays) {
    char text[] = "a\nb\tc\xc2\x9b";
    gantry__make_printable(text, '\n');
    assert_string_equal(text, "a\nb?c?");
}

TEST(end_begins_with_a_character) {
    assert_string_equal(gantry__utf8_end("abc", 3), "abc");
    assert_string_equal(gantry__utf8_end("abcd", 3), "bcd");
    assert_string_equal(gantry__utf8_end("a\xf0\x9f\x98\x80z", 5), "\xf0\x9f\x98\x80z");
    assert_string_equal(gantry__utf8_end("a\xf0\x9f\x98\x80z", 4), "z");
    assert_string_equal(gantry__utf8_end("abc", 0), "");
}

int main(void) { return test_main(); }
