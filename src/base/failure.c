/* SPDX-License-Identifier: Apache-2.0 */
#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/c_locale.h"

static _Thread_local char last_message[GANTRY__MESSAGE_BYTES];
static _Thread_local uint32_t failures;

gantry_status_t gantry__fail_prefix(gantry_status_t code, const char *format, ...) {
    char text[GANTRY__MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    int length = gantry__format(text, sizeof text, format, args);
    va_end(args);
    size_t used = length < 0 ? 0 : (size_t)length;
    if (used < sizeof text) (void)snprintf(text + used, sizeof text - used, "%s", last_message);
    memcpy(last_message, text, strlen(text) + 1);
    return code;
}

const char *gantry__message(void) { return last_message; }

uint32_t gantry__failures(void) { return failures; }

const uint32_t *gantry__failure_count(void) { return &failures; }

void gantry__forget_since(uint32_t before) {
    if (failures != before) last_message[0] = '\0';
}

void gantry__failure_restore(uint32_t before, const char *text) {
    (void)snprintf(last_message, sizeof last_message, "%s", text);
    failures = before;
}

const char *gantry_last_message(void) { return last_message; }

gantry_status_t gantry_fail(gantry_status_t status, const char *text) {
    size_t length = 0; /* the text may be the old message */
    while (text && text[length] && length + 1 < sizeof last_message) ++length;
    if (length > 0) memmove(last_message, text, length);
    last_message[length] = '\0';
    ++failures;
    return status;
}

const char *gantry_status_name(gantry_status_t status) {
    static const char *const names[] = {
        "OK",       "Cancelled",     "Unknown",          "InvalidArgument",   "DeadlineExceeded",
        "NotFound", "AlreadyExists", "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
        "Aborted",  "OutOfRange",    "Unimplemented",    "Internal",          "Unavailable",
        "DataLoss"};
    size_t index = (size_t)status;
    return index < sizeof names / sizeof names[0] ? names[index] : "invalid status";
}
