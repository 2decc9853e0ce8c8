/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The clocks do not go back, a sleep lasts as long as it should at least, and the dates of
 * seconds are those of the calendar.
 * Promise: The system's generator fills 256 bytes, each time with others, and refuses more.
 * Promise: Between begin and end, a thread's numbers have a point, whatever the program's
 * locale. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/entropy.h"
#include "base/os/locale.h"
#include "test.h"

TEST(clocks_go_forward) {
    const uint64_t now = gantry__now_ns(), boot = gantry__os_boot_ns();
    const uint64_t process = gantry__os_process_ns(), thread = gantry__os_thread_ns();
    gantry__os_sleep_ns(2000000);
    assert_true(gantry__now_ns() - now >= 2000000);
    assert_true(gantry__os_boot_ns() - boot >= 2000000);
    assert_true(gantry__os_process_ns() >= process);
    assert_true(gantry__os_thread_ns() >= thread);
    assert_true(gantry__now_seconds() >= 1e-9 * (double)now);
}

TEST(dates_are_those_of_the_calendar) {
    char text[GANTRY__OS_DATE_BYTES];
    gantry__os_utc_text(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00Z");
    gantry__os_utc_text(951782400 + 86399, text);
    assert_string_equal(text, "2000-02-29T23:59:59Z");
    gantry__os_utc_text(INT64_MAX, text);
    assert_string_equal(text, "");
    gantry__os_local_text(0, text);
    assert_int_equal(strlen(text), 8);
}

TEST(numbers_of_the_system_differ) {
    unsigned char one[256] = {0}, two[256] = {0}, more[257];
    assert_int_equal(gantry__os_entropy(one, sizeof one), 0);
    assert_int_equal(gantry__os_entropy(two, sizeof two), 0);
    assert_memory_not_equal(one, two, sizeof one);
    assert_int_not_equal(gantry__os_entropy(more, sizeof more), 0);
}

TEST(numbers_have_a_point_for_a_while) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "German_Germany"};
    char text[16];
    bool is_set = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_set; ++i)
        is_set = setlocale(LC_NUMERIC, names[i]) && localeconv()->decimal_point[0] == ',';
    if (!is_set) {
        (void)setlocale(LC_NUMERIC, "C");
        print_message("SKIP: this system has no locale whose numbers have a comma\n");
        skip();
    }
    const gantry__os_locale_t locale = gantry__os_locale_begin();
    (void)snprintf(text, sizeof text, "%.1f", 1.5);
    assert_string_equal(text, "1.5");
    assert_true(strtod("2.5", NULL) == 2.5);
    gantry__os_locale_end(&locale);
    (void)snprintf(text, sizeof text, "%.1f", 1.5);
    (void)setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "1,5");
}

int main(void) { return test_main(); }
