/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The parser of tuning files distinguishes records, empty lines and wrong lines, gives a
 * reason for each wrong line, and survives random bytes. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tuning_text.h"
#include "test.h"

#define TIME "2026-11-22T01:02:03Z"
#define RECORD TIME "\tA device; 2 units\tcpu.matmul\tuse=own own=1.5"

static gantry__tuning_kind_t read_one(const char *text, gantry__tuning_line_t *out, char *reason) {
    size_t at = 0;
    gantry__tuning_kind_t kind = gantry__tuning_line_read(text, strlen(text), &at, out, reason);
    assert_true(at > 0 && at <= strlen(text));
    return kind;
}

TEST(record_is_read_in_its_parts) {
    gantry__tuning_line_t line;
    char reason[GANTRY__TUNING_REASON_BYTES];
    assert_int_equal(read_one(RECORD "\n", &line, reason), GANTRY__TUNING_RECORD);
    assert_true(gantry__part_is(line.measured, TIME));
    assert_true(gantry__part_is(line.device, "A device; 2 units"));
    assert_true(gantry__part_is(line.what, "cpu.matmul"));
    assert_true(gantry__part_is(line.values, "use=own own=1.5"));
    assert_false(gantry__part_is(line.what, "cpu.matmu"));
    assert_int_equal(read_one("# " RECORD "\n", &line, reason), GANTRY__TUNING_NOTHING);
    assert_int_equal(read_one("\n", &line, reason), GANTRY__TUNING_NOTHING);
}

TEST(wrong_line_has_its_reason) {
    static const struct {
        const char *line, *reason;
    } cases[] = {
        {RECORD, "ends inside the line"},
        {"nonsense\n", "with a tab between two"},
        {RECORD "\tmore\n", "with a tab between two"},
        {TIME "\tdevice\tcpu.matmul\n", "with a tab between two"},
        {"2026-11-22 01:02:03Z\td\tw\tv\n", "the time is not like"},
        {"2026-1a-22T01:02:03Z\td\tw\tv\n", "the time is not like"},
        {"\td\tw\tv\n", "the time is not like"},
        {TIME "\t\tw\tv\n", "the device is not"},
        {TIME "\ta\x01 b\tw\tv\n", "the device is not"},
        {TIME "\td\t\tv\n", "the key is not"},
        {TIME "\td\tUpper\tv\n", "the key is not"},
        {TIME "\td\tw\t\n", "the values are not"},
        {TIME "\td\tw\tv\r\n", "the values are not"},
        {TIME "\td\tw\tv\x7f\n", "the values are not"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry__tuning_line_t line;
        char reason[GANTRY__TUNING_REASON_BYTES] = "";
        if (read_one(cases[i].line, &line, reason) != GANTRY__TUNING_WRONG ||
            !strstr(reason, cases[i].reason))
            fail_msg("case %zu: %s", i, reason);
    }
}

TEST(too_long_fields_are_wrong) {
    char name[GANTRY__TUNING_VALUES_BYTES + 1];
    memset(name, 'a', sizeof name);
    const gantry__part_t fine = {name, 20};
    const gantry__part_t device = {name, GANTRY__TUNING_DEVICE_BYTES},
                         what = {name, GANTRY__TUNING_WHAT_BYTES},
                         values = {name, GANTRY__TUNING_VALUES_BYTES};
    assert_null(gantry__tuning_fault(fine, fine, fine));
    assert_null(gantry__tuning_fault((gantry__part_t){name, device.length - 1},
                                     (gantry__part_t){name, what.length - 1},
                                     (gantry__part_t){name, values.length - 1}));
    assert_non_null(gantry__tuning_fault(device, fine, fine));
    assert_non_null(gantry__tuning_fault(fine, what, fine));
    assert_non_null(gantry__tuning_fault(fine, fine, values));
}

TEST(head_tells_our_files_from_others) {
    static const struct {
        const char *text, *reason; /* NULL: the line is good */
    } cases[] = {{"", NULL},
                 {GANTRY__TUNING_HEAD, NULL},
                 {GANTRY__TUNING_HEAD "x", NULL},
                 {"gantry tuning 2\n", "version 2; version 1 is accepted"},
                 {"gantry tuning 12345678\nx", "version 12345678"},
                 {"gantry tuning 1", "no tuning file"},
                 {"gantry tuning 1x\n", "no tuning file"},
                 {"gantry tuning \n", "no tuning file"},
                 {"gantry tuning", "no tuning file"},
                 {"#!/bin/sh\n", "no tuning file"},
                 {"\x7f"
                  "ELF",
                  "no tuning file"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        size_t first = 99;
        char reason[GANTRY__TUNING_REASON_BYTES] = "";
        bool is_good =
            gantry__tuning_head_read(cases[i].text, strlen(cases[i].text), &first, reason);
        if (is_good != !cases[i].reason || (cases[i].reason && !strstr(reason, cases[i].reason)))
            fail_msg("case %zu: %s", i, reason);
        assert_int_equal(first, is_good && *cases[i].text ? sizeof GANTRY__TUNING_HEAD - 1 : 0);
    }
}

/* The bytes of a good file are changed, cut and doubled: the parser reads every line to its end,
 * and stays within the text. */
TEST(any_bytes_are_read_within_their_bounds) {
    static const char good[] = GANTRY__TUNING_HEAD RECORD "\n# c\n\n" RECORD "\n";
    static const char bytes[] = "\t\n#\0\x7f\xff =9Z";
    uint64_t seed = 7;
    for (int turn = 0; turn < 200000; ++turn) {
        size_t size = sizeof good - 1;
        /* an exact size, so that the sanitizer sees a read past the end */
        char *text = malloc(size);
        assert_non_null(text);
        memcpy(text, good, size);
        for (int change = 0; change < 1 + turn % 5; ++change) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            text[(seed >> 33) % size] = bytes[(seed >> 20) % (sizeof bytes - 1)];
            if (seed >> 60 == 0) size = (seed >> 40) % size + 1;
        }
        size_t at = 0;
        char reason[GANTRY__TUNING_REASON_BYTES];
        gantry__tuning_line_t line;
        (void)gantry__tuning_head_read(text, size, &at, reason);
        while (at < size) {
            size_t begin = at;
            gantry__tuning_kind_t kind = gantry__tuning_line_read(text, size, &at, &line, reason);
            assert_true(at > begin && at <= size);
            if (kind != GANTRY__TUNING_RECORD) continue;
            assert_ptr_equal(line.measured.bytes, text + begin);
            assert_ptr_equal(line.values.bytes + line.values.length, text + at - 1);
        }
        free(text);
    }
}

int main(void) { return test_main(); }
