/* SPDX-License-Identifier: Apache-2.0 */
#include "train/base/fail.h"

#include <stdarg.h>
#include <stdio.h>

#include "shared/c_locale.h"

/* Control characters are replaced, because a name from a file must not drive a terminal. */
static void replace_controls(char *text) {
    for (; *text; ++text) {
        if (((unsigned char)*text < 0x20 && *text != '\n') || *text == 0x7f) *text = '?';
    }
}

/* Formats a text whose numbers have a point, whatever the program's locale is. */
GANTRY__PRINTF(2, 0)
static void write_text(char text[GANTRY__TRAIN_MESSAGE_BYTES], const char *format,
                       va_list arguments) {
    (void)gantry__format(text, GANTRY__TRAIN_MESSAGE_BYTES, format, arguments);
    replace_controls(text);
}

gantry_status_t gantry__train_fail(gantry_status_t status, const char *format, ...) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    write_text(text, format, arguments);
    va_end(arguments);
    return gantry_fail(status, text);
}

gantry__train_before_t gantry__train_before(void) {
    gantry__train_before_t before;
    const char *message = gantry_last_message();
    (void)snprintf(before.text, sizeof before.text, "%s%s",
                   *message ? "; the last failure of this thread: " : "", message);
    return before;
}

gantry_status_t gantry__train_refuse(gantry_scope_t *scope, const char *format, ...) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    write_text(text, format, arguments);
    va_end(arguments);
    if (!scope) return gantry_fail(GANTRY_INVALID_ARGUMENT, text);
    return gantry_scope_fail(scope, GANTRY_INVALID_ARGUMENT, text);
}

gantry_status_t gantry__train_fail_null(gantry_scope_t *scope, const char *call, const char *what,
                                        const char *accepted) {
    return gantry__train_refuse(scope, "%s: the %s is NULL; %s is accepted%s", call, what, accepted,
                                gantry__train_before().text);
}

gantry_status_t gantry__train_hand_on(gantry_scope_t *scope, gantry_status_t status) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    if (status == GANTRY_OK) return gantry_scope_status(scope);
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    return gantry_scope_fail(scope, status, text);
}

void gantry__train_expect_text(void) { (void)gantry_fail(GANTRY_OK, ""); }

gantry_status_t gantry__train_told(gantry_status_t status, const char *format, ...) {
    char name[256];
    if (status == GANTRY_OK || gantry_last_message()[0]) return status;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    return gantry__train_fail(status, "%s failed with %s: it left no text by gantry_fail", name,
                              gantry_status_name(status));
}
