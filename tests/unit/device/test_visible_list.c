/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: CUDA_VISIBLE_DEVICES and GANTRY_VISIBLE_DEVICES are parsed by their grammar, on a
 * machine with four devices.
 * Promise: GANTRY_VISIBLE_DEVICES takes every form of CUDA_VISIBLE_DEVICES. */
#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "device/visible_list.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Devices 0 and 1 share the start of their UUIDs. Device 2 has no PCI address, and device 3 no
 * UUID. */
static const gantry__visible_device_t machine[] = {
    {0, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "0000:65:00.0", "card A"},
    {1, "GPU-8932aaaa-0000-4106-c12f-20bd9faed9f6", "0000:b3:00.0", "card B"},
    {2, "MIG-77777777-0000-4106-c12f-20bd9faed9f6", NULL, "slice C"},
    {3, NULL, "00000000:AF:00.1", NULL},
};

/* A backend "opencl" that sees devices 1 and 3, in this order. */
static bool match_opencl(void *user, const char *entry, size_t position) {
    if (user) ++*(int *)user;
    if (strcmp(entry, "opencl") == 0) return position == 1 || position == 3;
    if (strcmp(entry, "opencl:0") == 0) return position == 1;
    return strcmp(entry, "opencl:1") == 0 && position == 3;
}

static const gantry__visible_rules_t cuda_rules = {.variable = "CUDA_VISIBLE_DEVICES",
                                                   .matches = match_opencl};
static const gantry__visible_rules_t gantry_rules = {
    .variable = "GANTRY_VISIBLE_DEVICES", .allow_extras = true, .matches = match_opencl};

typedef struct outcome_t {
    gantry_status_t status;
    char digits[16]; /* the positions, one digit each */
    char reason[GANTRY__VISIBLE_REASON_BYTES];
} outcome_t;

static outcome_t select_with(const gantry__visible_rules_t *rules, const char *text) {
    size_t positions[COUNT(machine) + 1];
    for (size_t i = 0; i < COUNT(positions); ++i) positions[i] = 99;
    gantry__visible_list_t list = {.positions = positions, .count = 77};
    outcome_t outcome = {
        .status = gantry__visible_list_select(text, rules, machine, COUNT(machine), &list)};
    assert_true(list.count <= COUNT(machine));
    assert_int_equal(positions[COUNT(machine)], 99); /* never writes beyond the devices */
    for (size_t i = 0; i < list.count; ++i) outcome.digits[i] = (char)('0' + positions[i]);
    memcpy(outcome.reason, list.reason, sizeof outcome.reason);
    return outcome;
}

typedef struct row_t {
    const char *text, *digits;
    const char *reason; /* a part of the remark; "": no remark */
} row_t;

static void assert_rows(const gantry__visible_rules_t *rules, const row_t *rows, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const char *text = rows[i].text ? rows[i].text : "(unset)";
        outcome_t got = select_with(rules, rows[i].text);
        if (got.status != GANTRY_OK) fail_msg("'%s': %s", text, gantry__message());
        if (strcmp(got.digits, rows[i].digits) != 0)
            fail_msg("'%s': got '%s', want '%s'", text, got.digits, rows[i].digits);
        if (rows[i].reason[0] ? !strstr(got.reason, rows[i].reason) : got.reason[0] != '\0')
            fail_msg("'%s': remark '%s', want '%s'", text, got.reason, rows[i].reason);
    }
}

static const row_t common_rows[] = {
    {NULL, "0123", ""},
    {"", "", "is empty"},
    {"  ", "", "is empty"},
    {"\"\"", "", "is empty"},
    {"' '", "", "is empty"},
    {"0", "0", ""},
    {"0,1", "01", ""},
    {"2,1", "21", ""}, /* the list's order is kept */
    {"3,2,1,0", "3210", ""},
    {"\"0,1\"", "01", ""},
    {"'0,1'", "01", ""},
    {" \" 0 , 1 \" ", "01", ""},
    {" 0 ,\t1 ", "01", ""},
    {"007", "", "entry 1 '007' ends the list: no device matches it"},
    {"01", "1", ""},
    /* the first invalid entry ends the list */
    {"0,2,-1,1", "02", "entry 3 '-1' ends the list: -1 stands for no device"},
    {"-1", "", "entry 1 '-1' ends the list: -1 stands for no device"},
    {"-1,0", "", "entry 1 '-1'"},
    {"0,4,1", "0", "entry 2 '4' ends the list: no device matches it"},
    {"4294967296", "", "entry 1 '4294967296' ends the list"}, /* not cut to 0 */
    {"0,99999999999999999999", "0", "entry 2 '99999999999999999999' ends the list"},
    {"1,abc,0", "1", "entry 2 'abc' ends the list"},
    {"1,+0", "1", "entry 2 '+0' ends the list"},
    {"1,0x0", "1", "entry 2 '0x0' ends the list"},
    {"0 1", "", "entry 1 '0 1' ends the list"},
    {"0,,1", "0", "entry 2 '' ends the list: it is empty"},
    {",0", "", "entry 1 '' ends the list: it is empty"},
    {"0,1,", "01", "entry 3 '' ends the list: it is empty"},
    {"\"0,1", "", "entry 1 '\"0' ends the list"}, /* an unpaired quote is an ordinary character */
    {"\"0,1'", "", "entry 1 '\"0' ends the list"},
    {"\"", "", "entry 1 '\"' ends the list"},
    {"0,abc,0", "0", "entry 2 'abc'"}, /* nothing behind the end is read, not even a repetition */
    /* UUIDs and their prefixes */
    {"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "0", ""},
    {"GPU-8932a,GPU-8932f", "10", ""},
    {"gpu-8932A", "1", ""},
    {"0,GPU-8932,2", "0", "entry 2 'GPU-8932' ends the list: more than one device matches it"},
    {"GPU-", "", "entry 1 'GPU-' ends the list"},
    {"GPU-8932f937-d72c-4106-c12f-20bd9faed9f60", "", "no device matches it"},
    {"GPU-99", "", "entry 1 'GPU-99' ends the list: no device matches it"},
    {"MIG-7777", "2", ""},
    {"0,MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0,1", "0",
     "ends the list: no device matches it"},
    /* PCI addresses */
    {"0000:b3:00.0,65:00.0", "10", ""},
    {"PCI:0000:AF:00.1", "3", ""},
    {"0000:b3:00.1", "", "no device matches it"},
    {"2,GPU-8932f,0000:b3:00.0", "201", ""},
};

TEST(visible_list_cuda_grammar_table) {
    assert_rows(&cuda_rules, common_rows, COUNT(common_rows));
    static const row_t rows[] = {
        /* Gantry's own entries have no meaning here */
        {"0,^1", "0", "entry 2 '^1' ends the list: it is no index, UUID prefix or PCI address"},
        {"^1", "", "entry 1 '^1' ends the list"},
        {"auto", "", "entry 1 'auto' ends the list"},
        {"0,opencl:1", "0", "entry 2 'opencl:1' ends the list"},
        {"UUID:8932f", "", "entry 1 'UUID:8932f' ends the list"},
        {"GPU:0", "", "entry 1 'GPU:0' ends the list"},
    };
    assert_rows(&cuda_rules, rows, COUNT(rows));
    assert_non_null(strstr(select_with(&cuda_rules, "7").reason, "CUDA_VISIBLE_DEVICES: "));
}

TEST(visible_list_gantry_grammar_table) {
    assert_rows(&gantry_rules, common_rows, COUNT(common_rows));
    static const row_t rows[] = {
        {"UUID:8932f", "0", ""},
        {"UUID:MIG-777", "2", ""},
        /* names */
        {"opencl:1", "3", ""},
        {"opencl:1,0", "30", ""},
        {"opencl", "13", ""},
        {"0,opencl:7,1", "0", "entry 2 'opencl:7' ends the list: no device matches it"},
        {"all", "0123", ""},
        {"all,^2", "013", ""},
        {"auto", "0123", ""},
        {"auto:2", "0123", ""},
        {"auto:0", "", "entry 1 'auto:0' ends the list"},
        {"auto:x", "", "entry 1 'auto:x' ends the list"},
        {"\"auto\"", "0123", ""},
        {"AUTO", "", "entry 1 'AUTO' ends the list"},
        /* exclusion */
        {"^1", "023", ""},
        {"^1,^3", "02", ""},
        {"^3 , ^ 1", "02", ""},
        {"^opencl", "02", ""},
        {"^GPU-8932f", "123", ""},
        {"^0000:65:00.0", "123", ""},
        {"auto,^0", "123", ""},
        {"^0,auto", "123", ""},
        {"opencl,^opencl:0", "3", ""},
        {"3,1,0,^1", "30", ""},
        {"1,^1", "", ""},
        {"0,^1", "0", ""},
        {"^0,^1,^2,^3", "", ""},
        {"^auto", "", ""},
        /* a ^entry never ends the list; an ambiguous one hides every match */
        {"^GPU-8932", "23", ""},
        {"^7", "0123", "entry 1 '^7' hides nothing: no device matches it"},
        {"^7,0,1", "01", "entry 1 '^7' hides nothing"},
        {"^nonsense,^0", "123", "entry 1 '^nonsense' hides nothing"},
        {"^", "0123", "entry 1 '^' hides nothing"},
        {"^^1", "0123", "entry 1 '^^1' hides nothing"},
        {"^-1", "0123", "entry 1 '^-1' hides nothing"},
        {"^0,", "123", "entry 2 '' ends the list: it is empty"},
        {"^0,-1", "", "entry 2 '-1' ends the list"},
        {"^0,nonsense", "", "entry 2 'nonsense' ends the list"},
        {"2,9,^2", "2", "entry 2 '9' ends the list"}, /* nothing behind the end is read */
        {"^8,9", "",
         "ends the list: no device matches it; GANTRY_VISIBLE_DEVICES: entry 1 '^8' hides nothing"},
    };
    assert_rows(&gantry_rules, rows, COUNT(rows));
}

TEST(visible_list_device_named_twice_is_refused) {
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"1,1",
         "GANTRY_VISIBLE_DEVICES names device 1 (card B) again in entry 2 '1'; accepted: each device once"},
        {"0,1,00", "names device 0 (card A) again in entry 3 '00'"},
        {"0,GPU-8932f", "names device 0 (card A) again in entry 2 'GPU-8932f'"},
        {"0000:65:00.0,65:0.0", "again in entry 2 '65:0.0'"},
        {"3,opencl", "names device 3 (unnamed) again in entry 2 'opencl'"},
        {"auto,2", "names device 2 (slice C) again in entry 2 '2'"},
        {"2,auto", "names device 2 (slice C) again in entry 2 'auto'"},
        {"1,1,^1", "names device 1"},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        outcome_t got = select_with(&gantry_rules, rows[i].text);
        assert_int_equal(got.status, GANTRY_INVALID_ARGUMENT);
        assert_string_equal(got.digits, "");
        if (!strstr(gantry__message(), rows[i].part))
            fail_msg("'%s': '%s'", rows[i].text, gantry__message());
    }
    assert_int_equal(select_with(&cuda_rules, "0,0").status, GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry__message(), "CUDA_VISIBLE_DEVICES names device 0"));
}

TEST(visible_list_numbers_are_indices_not_positions) {
    /* the driver's own order differs from the array's */
    static const gantry__visible_device_t reversed[] = {{1, NULL, NULL, NULL},
                                                        {0, NULL, NULL, NULL}};
    size_t positions[2];
    gantry__visible_list_t list = {.positions = positions};
    assert_int_equal(gantry__visible_list_select("0", &cuda_rules, reversed, 2, &list), GANTRY_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(positions[0], 1);
}

TEST(visible_list_of_no_devices_is_empty) {
    static const char *const texts[] = {NULL, "", "0", "-1", "auto", "^0", "GPU-8932"};
    for (size_t i = 0; i < COUNT(texts); ++i) {
        gantry__visible_list_t list = {.positions = NULL, .count = 5};
        assert_int_equal(gantry__visible_list_select(texts[i], &gantry_rules, NULL, 0, &list),
                         GANTRY_OK);
        assert_int_equal(list.count, 0);
    }
}

TEST(visible_list_without_callback_knows_no_names) {
    gantry__visible_rules_t rules = {.variable = "GANTRY_VISIBLE_DEVICES", .allow_extras = true};
    outcome_t got = select_with(&rules, "0,opencl:1");
    assert_string_equal(got.digits, "0");
    assert_non_null(strstr(
        got.reason,
        "it is no index, UUID prefix, PCI address, device name, all, auto, auto:N or ^entry"));
}

TEST(visible_list_asks_the_callback_for_names_only) {
    int calls = 0;
    gantry__visible_rules_t rules = gantry_rules;
    rules.user = &calls;
    (void)select_with(&rules, "0,GPU-8932a,^-1,^^,auto");
    (void)select_with(&rules, "MIG-1,opencl:1");
    (void)select_with(&rules, "-1");
    assert_int_equal(calls, 0);
    (void)select_with(&rules, "opencl:1");
    assert_true(calls > 0);
    rules.allow_extras = false;
    calls = 0;
    (void)select_with(&rules, "opencl:1");
    assert_int_equal(calls, 0);
}

TEST(visible_list_overlong_text_is_cut_in_the_remark) {
    static char text[5000];
    memset(text, '1', sizeof text - 1);
    outcome_t got = select_with(&gantry_rules, text);
    assert_string_equal(got.digits, "");
    assert_non_null(strstr(got.reason, "111' ends the list"));
    memset(text, '0', sizeof text - 1); /* the rest after the cut would be device 0 */
    assert_string_equal(select_with(&gantry_rules, text).digits, "");
    memset(text, 'a', 95 - 1); /* an entry of exactly the longest length, then many remarks */
    text[94] = '\0';
    assert_non_null(strstr(select_with(&gantry_rules, text).reason, "no device matches it"));
    for (size_t i = 0; i + 4 < sizeof text; i += 4) memcpy(text + i, "^99,", 5);
    got = select_with(&gantry_rules, text);
    assert_string_equal(got.digits, "0123");
    assert_int_equal(strlen(got.reason), GANTRY__VISIBLE_REASON_BYTES - 1);
}

TEST(visible_list_random_texts_give_distinct_devices) {
    static const char *const pieces[] = {
        "0",    "1",      "2",  "3",    ",",    ",", ",",    " ",       "^",    "-1", "\"",  "'",
        "auto", "opencl", ":1", "GPU-", "8932", "f", "MIG-", "65:00.0", "PCI:", "9",  "\xff"};
    uint32_t seed = 1;
    unsigned shown = 0, refused = 0;
    for (int i = 0; i < 100000; ++i) {
        char text[128] = "";
        size_t length = 0;
        seed = seed * 1664525u + 1013904223u;
        for (uint32_t n = (seed >> 8) % 9; n > 0; --n) {
            seed = seed * 1664525u + 1013904223u;
            const char *piece = pieces[(seed >> 8) % COUNT(pieces)];
            memcpy(text + length, piece, strlen(piece) + 1);
            length += strlen(piece);
        }
        outcome_t got = select_with(i % 2 ? &gantry_rules : &cuda_rules, text);
        shown += got.digits[0] != '\0';
        refused += got.status != GANTRY_OK;
        for (const char *c = got.digits; *c; ++c)
            if (strchr(c + 1, *c)) fail_msg("'%s' gives '%s'", text, got.digits);
    }
    assert_true(shown > 1000);
    if (refused <= 10) fail_msg("only %u refused, %u shown", refused, shown);
}

int main(void) { return test_main(); }
