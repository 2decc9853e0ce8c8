/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A text that is kept as the thread's last message may be that message; one of more than
 * 2047 bytes is cut.
 * Promise: A failure by the public call counts as one of the library's, so code that goes on can
 * forget it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/failure.h"

static void message_that_is_kept_again_stays(void **state) {
    (void)state;
    assert_int_equal(gantry_fail(GANTRY_ABORTED, "the first text"), GANTRY_ABORTED);
    assert_int_equal(gantry_fail(GANTRY_INTERNAL, gantry_last_message()), GANTRY_INTERNAL);
    assert_string_equal(gantry_last_message(), "the first text");
    (void)gantry_fail(GANTRY_INTERNAL, gantry_last_message() + 4);
    assert_string_equal(gantry_last_message(), "first text");
    (void)gantry__fail(GANTRY_INTERNAL, "in %d calls: %s", 3, gantry_last_message());
    assert_string_equal(gantry_last_message(), "in 3 calls: first text");
    (void)gantry_fail(GANTRY_INTERNAL, NULL);
    assert_string_equal(gantry_last_message(), "");
}

static void long_text_is_cut(void **state) {
    (void)state;
    char text[2 * GANTRY__MESSAGE_BYTES];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)gantry_fail(GANTRY_INTERNAL, text);
    assert_int_equal(strlen(gantry_last_message()), GANTRY__MESSAGE_BYTES - 1);
    (void)gantry_fail(GANTRY_INTERNAL, "");
    (void)gantry__fail(GANTRY_INTERNAL, "%s", text);
    assert_int_equal(strlen(gantry_last_message()), GANTRY__MESSAGE_BYTES - 1);
}

static void public_failure_is_forgotten_like_any(void **state) {
    (void)state;
    (void)gantry_fail(GANTRY_INTERNAL, "before");
    const uint32_t before = gantry__failures();
    gantry__forget_since(before);
    assert_string_equal(gantry_last_message(), "before");
    (void)gantry_fail(GANTRY_INTERNAL, "in between");
    assert_int_equal(gantry__failures(), before + 1);
    gantry__forget_since(before);
    assert_string_equal(gantry_last_message(), "");
    (void)gantry__fail(GANTRY_INTERNAL, "in between");
    assert_int_equal(gantry__failures(), before + 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(message_that_is_kept_again_stays),
                                       cmocka_unit_test(long_text_is_cut),
                                       cmocka_unit_test(public_failure_is_forgotten_like_any)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
