/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The gantry commands read back the sizes and durations that they write, write valid JSON,
 * break lines before the width, and find the nearest word.
 * Promise: Texts of other processes reach the terminal without control characters of C0 and C1 and
 * without controls of direction, as text and as JSON.
 *
 * Needs no library and no device. */
#define _XOPEN_SOURCE 700

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "command/command.h"
#include "common/tool.h"
#include "shared/printable.h"
#include "test.h"

TEST(sizes_are_read_with_their_units) {
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"4096", 4096},
                {"512 bytes", 512},
                {"4K", 4096},
                {"4k", 4096},
                {"4KiB", 4096},
                {"4kB", 4000},
                {"64M", 64 << 20},
                {"1.5GiB", UINT64_C(3) << 29},
                {"4 GiB", UINT64_C(4) << 30},
                {"4GB", UINT64_C(4000000000)},
                {"2T", UINT64_C(2) << 40},
                {"8000P", UINT64_C(8000) << 50}};
    static const char *const bad[] = {"",    "x",   "-1",   "+1",  "1e9",   "0x10", "inf",
                                      "nan", "4Gi", "4GBB", "GiB", "1.",    ".5G",  "1..5",
                                      " 1",  "1 ",  "4 X",  "9P9", "9000P", "4,5",  "4GiB "};
    uint64_t bytes;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        if (!gantry_tool_parse_size(good[i].text, &bytes) || bytes != good[i].bytes)
            fail_msg("\"%s\" is read as %" PRIu64, good[i].text, bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        bytes = 77;
        if (gantry_tool_parse_size(bad[i], &bytes)) fail_msg("\"%s\" is taken", bad[i]);
        assert_int_equal(bytes, 77);
    }
}

TEST(durations_are_read_with_their_units) {
    static const struct {
        const char *text;
        double seconds;
    } good[] = {{"0", 0},       {"90", 90},    {"1.5", 1.5}, {"90s", 90},
                {"250ms", .25}, {"10m", 600},  {"2h", 7200}, {"1h30m", 5400},
                {"1d", 86400},  {"3us", 3e-6}, {"1m30s", 90}};
    static const char *const bad[] = {"",     "x", "-1",  "1e3", "10 m", "10min",
                                      "1h30", "m", "1hh", "inf", "nan",  " 1"};
    double seconds;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        if (!gantry_tool_parse_duration(good[i].text, &seconds) ||
            fabs(seconds - good[i].seconds) > 1e-9)
            fail_msg("\"%s\" is read as %g", good[i].text, seconds);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        seconds = 77;
        if (gantry_tool_parse_duration(bad[i], &seconds)) fail_msg("\"%s\" is taken", bad[i]);
        assert_true(seconds > 76 && seconds < 78);
    }
}

TEST(sizes_and_durations_are_written_for_people) {
    char text[2 * GANTRY_TOOL_TEXT_BYTES];
    assert_string_equal(gantry_tool_size_text(0, text), "0 bytes");
    assert_string_equal(gantry_tool_size_text(1023, text), "1023 bytes");
    assert_string_equal(gantry_tool_size_text(1024, text), "1.0 KiB");
    assert_string_equal(gantry_tool_size_text((1 << 20) - 1, text), "1.0 MiB"); /* not 1024.0 KiB */
    assert_string_equal(gantry_tool_size_text(UINT64_C(3) << 29, text), "1.5 GiB");
    assert_string_equal(gantry_tool_size_text(UINT64_C(1) << 50, text), "1024.0 TiB");
    assert_string_equal(gantry_tool_exact_size_text(512, text), "512 bytes");
    assert_string_equal(gantry_tool_exact_size_text(16384, text), "16.0 KiB (16384 bytes)");
    assert_string_equal(gantry_tool_duration_text(0, text), "0 us");
    assert_string_equal(gantry_tool_duration_text(2.5e-4, text), "250 us");
    assert_string_equal(gantry_tool_duration_text(.0034, text), "3.4 ms");
    assert_string_equal(gantry_tool_duration_text(12, text), "12.0 s");
    assert_string_equal(gantry_tool_duration_text(59.99, text), "1 m 00 s");
    assert_string_equal(gantry_tool_duration_text(303, text), "5 m 03 s");
    assert_string_equal(gantry_tool_duration_text(7800, text), "2 h 10 m");
    assert_string_equal(gantry_tool_duration_text(3 * 86400 + 4 * 3600, text), "3 d 04 h");
    assert_string_equal(gantry_tool_duration_text(NAN, text), "unknown");
    assert_string_equal(gantry_tool_duration_text(-1, text), "unknown");
}

/* ---- JSON ---- */

/* Writes by `write`, and returns the text. The caller frees it. */
static char *written(void (*write)(gantry_json_t *json)) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    gantry_json_t json;
    gantry_json_init(&json, file);
    write(&json);
    (void)fclose(file);
    return text;
}

static void write_all(gantry_json_t *json) {
    gantry_json_object(json, NULL);
    gantry_json_array(json, "empty");
    gantry_json_end(json);
    gantry_json_array(json, "numbers");
    gantry_json_number(json, NULL, 0.1);
    gantry_json_number(json, NULL, 1.0 / 3);
    gantry_json_number(json, NULL, INFINITY);
    gantry_json_unsigned(json, NULL, UINT64_MAX);
    gantry_json_integer(json, NULL, INT64_MIN);
    gantry_json_end(json);
    gantry_json_text(json, "a \"key\"", "line\n\ttab \\ \x01 \x7f");
    gantry_json_text(json, "none", NULL);
    gantry_json_bool(json, "yes", true);
    gantry_json_object(json, "inner");
    gantry_json_object(json, "innermost");
    gantry_json_end(json);
    gantry_json_end(json);
    gantry_json_end(json);
}

TEST(json_parses_to_the_values_that_were_written) {
    char *text = written(write_all);
    cJSON *root = cJSON_Parse(text);
    if (!root) fail_msg("%s", text);
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "empty")), 0);
    const cJSON *numbers = cJSON_GetObjectItem(root, "numbers");
    assert_true(cJSON_GetArrayItem(numbers, 1)->valuedouble == 1.0 / 3);
    assert_true(cJSON_IsNull(cJSON_GetArrayItem(numbers, 2)));
    assert_non_null(strstr(text, "\n    0.1,"));
    assert_non_null(strstr(text, "18446744073709551615"));
    assert_non_null(strstr(text, "-9223372036854775808"));
    assert_string_equal(cJSON_GetObjectItem(root, "a \"key\"")->valuestring,
                        "line\n\ttab \\ \x01 \x7f");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(root, "none")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(root, "yes")));
    assert_non_null(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "inner"), "innermost"));
    cJSON_Delete(root);
    free(text);
}

static void write_bytes(gantry_json_t *json) {
    gantry_json_array(json, NULL);
    gantry_json_text(json, NULL, "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"); /* kept */
    gantry_json_text(json, NULL, "\xff|\xc3|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82");
    gantry_json_end(json);
}

TEST(json_has_no_byte_that_is_no_utf8) {
    char *text = written(write_bytes);
    assert_non_null(strstr(text, "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\""));
    assert_non_null(strstr(text,
                           "\"\\ufffd|\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|"
                           "\\ufffd\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd\""));
    free(text);
}

/* ---- texts of others ---- */

#define HOSTILE              \
    "a\033[2J\n\x7f\xc2\x9b" \
    "31m\xe2\x80\xae"        \
    "txt\xe2\x81\xa6\xd8\x9c\x9b gr\xc3\xbc\xc3\x9f"

static void write_hostile(gantry_json_t *json) {
    gantry_json_array(json, NULL);
    gantry_json_text(json, NULL, HOSTILE);
    gantry_json_end(json);
}

TEST(texts_of_others_do_not_command_the_terminal) {
    char text[] = HOSTILE;
    gantry__make_printable(text, '\n');
    assert_string_equal(text, "a?[2J\n??31m?txt??? gr\xc3\xbc\xc3\x9f");
    char *json = written(write_hostile);
    assert_non_null(strstr(json,
                           "\"a\\u001b[2J\\n\\u007f\\u009b31m\\u202etxt\\u2066\\u061c\\ufffd "
                           "gr\xc3\xbc\xc3\x9f\""));
    free(json);
}

/* ---- words ---- */

TEST(lines_break_before_the_width) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    gantry_tool_print_wrapped(file, "one two  three\nfour averyverylongword five", 4, 2, 14);
    (void)fclose(file);
    assert_string_equal(text, "one two\n  three four\n  averyverylongword\n  five\n");
    free(text);
}

static const char *nearest_of(const char *word) {
    static const char *const words[] = {"devices", "doctor", "run", "tune", "settings", "version"};
    static gantry_command_nearest_t nearest;
    nearest = (gantry_command_nearest_t){.word = word};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        gantry_command_nearest_offer(&nearest, words[i]);
    const char *best = gantry_command_nearest_best(&nearest);
    return best ? best : "none";
}

TEST(nearest_word_has_the_fewest_errors) {
    assert_string_equal(nearest_of("devcies"), "devices"); /* exchanged */
    assert_string_equal(nearest_of("devics"), "devices");
    assert_string_equal(nearest_of("DOCTOR"), "doctor");
    assert_string_equal(nearest_of("rum"), "run");
    assert_string_equal(nearest_of("set"), "settings"); /* cut short */
    assert_string_equal(nearest_of("versoin"), "version");
    assert_string_equal(nearest_of("xyz"), "none");
    assert_string_equal(nearest_of(""), "none");
    assert_string_equal(
        nearest_of("a word that is longer than every table of this program has room for"), "none");
}

int main(void) { return test_main(); }
