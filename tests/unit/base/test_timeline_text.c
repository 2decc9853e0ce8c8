/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The lines of a timeline have exact times, from the first nanosecond to the last, and
 * texts that JSON takes.
 * Promise: Lines of a timeline that are made of kept pieces are those made at once, and times of
 * events follow the clock and never go backwards. */
#define _XOPEN_SOURCE 700

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/event_clock.h"
#include "base/timeline.h"
#include "test.h"

static char path[] = "/tmp/gantry_timeline_XXXXXX";
static char text[1 << 18];

/* Writes the events to a file, and reads it. */
static void write_events(const gantry__timeline_event_t *events, size_t count) {
    const gantry__log_t log = {.write = NULL};
    gantry__timeline_t *timeline;
    assert_int_equal(gantry__timeline_create(&gantry__heap_default, &log, &timeline), GANTRY_OK);
    assert_int_equal(gantry__timeline_start(timeline, path, false), GANTRY_OK);
    for (size_t i = 0; i < count; ++i) gantry__timeline_write(timeline, &events[i]);
    assert_int_equal(gantry__timeline_stop(timeline), GANTRY_OK);
    gantry__timeline_destroy(timeline);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
}

static void expect_line(const char *line) {
    if (!strstr(text, line)) fail_msg("%s is not in\n%s", line, text);
}

/* The seconds of an event are copied from the event before it if they are the same. */
TEST(times_have_all_their_digits) {
    static const uint64_t moments[] = {0,
                                       1,
                                       999,
                                       1000,
                                       999999999,
                                       1000000000,
                                       1000000001,
                                       1999999999,
                                       2000012345,
                                       1500000000,
                                       9999999999,
                                       10000000000,
                                       10000000010,
                                       99,
                                       123456789012345678,
                                       123456789912345678,
                                       UINT64_MAX};
    enum { COUNT = sizeof moments / sizeof moments[0] };
    gantry__timeline_event_t events[COUNT];
    for (size_t i = 0; i < COUNT; ++i)
        events[i] = (gantry__timeline_event_t){.phase = 'X',
                                               .process = 1,
                                               .thread = 7,
                                               .name = "a",
                                               .begin_ns = moments[i],
                                               .end_ns = moments[i] + moments[COUNT - 1 - i] / 7};
    write_events(events, COUNT);
    const char *at = text;
    for (size_t i = 0; i < COUNT; ++i) {
        char line[256];
        const uint64_t begin = events[i].begin_ns, end = events[i].end_ns,
                       length = end > begin ? end - begin : 0;
        (void)snprintf(line, sizeof line,
                       ",\n{\"name\":\"a\",\"ph\":\"X\",\"pid\":1,\"tid\":7,\"ts\":%" PRIu64
                       ".%03u,\"dur\":%" PRIu64 ".%03u}",
                       begin / 1000, (unsigned)(begin % 1000), length / 1000,
                       (unsigned)(length % 1000));
        at = strstr(at, line);
        if (!at) fail_msg("event %zu is not %s in\n%s", i, line, text);
        ++at;
    }
}

TEST(numbers_and_texts_are_json) {
    const gantry__timeline_arg_t args[] = {
        {"nothing", "", 0},     {"zero", NULL, 0},           {"one", NULL, 9},
        {"two", NULL, 10},      {"three", NULL, 100},        {"most", NULL, UINT64_MAX},
        {"quote", "a\"b\\", 0}, {"line", "\n\x7f\x1f ~", 0}, {"utf8", "\xc3\xa4\xff", 0}};
    const gantry__timeline_event_t events[] = {
        {.phase = 'X',
         .process = 10,
         .thread = 123456,
         .category = "op",
         .name = "b",
         .args = args,
         .arg_count = 9},
        {.phase = 'C', .process = 2, .thread = 1, .name = "c", .args = &args[1], .arg_count = 1},
        {.phase = 'M', .process = 2, .thread = 1, .name = "d", .args = &args[2], .arg_count = 1}};
    write_events(events, 3);
    expect_line(
        "{\"name\":\"b\",\"cat\":\"op\",\"ph\":\"X\",\"pid\":10,\"tid\":123456,\"ts\":0.000,\"dur\":0.000,"
        "\"args\":{\"one\":9,\"two\":10,\"three\":100,\"most\":18446744073709551615,"
        "\"quote\":\"a\\u0022b\\u005c\",\"line\":\"\\u000a\\u007f\\u001f ~\",\"utf8\":\"\xc3\xa4\\ufffd\"}}");
    expect_line(
        "{\"name\":\"c\",\"ph\":\"C\",\"pid\":2,\"tid\":1,\"ts\":0.000,\"args\":{\"zero\":0}}");
    expect_line("{\"name\":\"d\",\"ph\":\"M\",\"pid\":2,\"tid\":1,\"args\":{\"one\":9}}\n]\n");
}

/* Lines whose pieces are kept are those that are written anew. */
TEST(kept_pieces_give_the_same_lines) {
    enum { NAMES = 300, ROUNDS = 2, COUNT = NAMES * ROUNDS * 2 };
    static char names[NAMES][8], longest[200], first[sizeof text];
    static gantry__timeline_event_t events[COUNT];
    static gantry__timeline_arg_t args[COUNT][4];
    memset(longest, 'x', sizeof longest - 1);
    for (int i = 0; i < NAMES; ++i) (void)snprintf(names[i], sizeof names[i], "n\"%d", i);
    for (int i = 0; i < COUNT; ++i) {
        /* few names return at once, and many after all others */
        const int name = i < COUNT / 2 ? i % 7 : i % NAMES;
        args[i][0] = (gantry__timeline_arg_t){"device", names[name % 3], 0};
        args[i][1] = (gantry__timeline_arg_t){i % 5 ? "reason" : "why", i % 2 ? "" : "r", 0};
        args[i][2] = (gantry__timeline_arg_t){"bytes", NULL, (uint64_t)(i % 4)};
        args[i][3] = (gantry__timeline_arg_t){"launches", NULL, (uint64_t)i};
        events[i] = (gantry__timeline_event_t){.phase = i % 11 ? 'X' : 'C',
                                               .process = 1 + (uint32_t)i % 2,
                                               .thread = (uint64_t)i % 3,
                                               .category = i % 4 ? "op" : NULL,
                                               .name = i % 50 ? names[name] : longest,
                                               .begin_ns = (uint64_t)i * 1000,
                                               .end_ns = (uint64_t)i * 1234,
                                               .args = i % 6 ? args[i] : NULL,
                                               .arg_count = i % 6 ? 1 + (uint32_t)i % 4 : 0};
    }
    write_events(events, COUNT);
    memcpy(first, text, sizeof text);
    for (int i = 0; i < COUNT; ++i) events[i].has_constant_texts = true;
    write_events(events, COUNT);
    assert_string_equal(text, first);
    assert_non_null(strstr(text, "launches"));
}

/* The times of events lie on the clock, a little late, and go forward. */
TEST(clock_of_events_follows_the_clock) {
    enum { READINGS = 300000, LATEST_NS = 20000 };
    uint64_t last_ns = 0, late = 0;
    for (int i = 0; i < READINGS; ++i) {
        const uint64_t before_ns = gantry__now_ns(), event_ns = gantry__event_ns(),
                       after_ns = gantry__now_ns();
        if (event_ns > after_ns || event_ns + LATEST_NS < before_ns)
            fail_msg("%" PRIu64 " is not from %" PRIu64 " to %" PRIu64, event_ns, before_ns,
                     after_ns);
        if (event_ns < last_ns) fail_msg("%" PRIu64 " is behind %" PRIu64, event_ns, last_ns);
        last_ns = event_ns;
        late += event_ns < before_ns;
    }
    print_message("%" PRIu64 " of %d readings are late\n", late, READINGS);
}

TEST(long_texts_are_cut) {
    static char name[2000];
    memset(name, 'x', sizeof name - 1);
    write_events(&(gantry__timeline_event_t){.phase = 'X', .process = 1, .thread = 1, .name = name},
                 1);
    const char *at = strstr(text, "\"xxx");
    assert_non_null(at);
    assert_int_equal(strspn(at + 1, "x"), 255);
}

int main(void) {
    const int file = mkstemp(path);
    if (file < 0) return 1;
    (void)close(file);
    const int result = test_main();
    (void)unlink(path);
    return result;
}
