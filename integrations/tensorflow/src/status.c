/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes and texts, in which a C function's name becomes that of the Python package
 * (status.h). */
#include "status.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)GANTRY_CANCELLED == (int)TF_CANCELLED, "one number");
_Static_assert((int)GANTRY_INVALID_ARGUMENT == (int)TF_INVALID_ARGUMENT, "one number");
_Static_assert((int)GANTRY_RESOURCE_EXHAUSTED == (int)TF_RESOURCE_EXHAUSTED, "one number");
_Static_assert((int)GANTRY_FAILED_PRECONDITION == (int)TF_FAILED_PRECONDITION, "one number");
_Static_assert((int)GANTRY_DATA_LOSS == (int)TF_DATA_LOSS, "one number");

void status_set(TF_Status *out, gantry_status_t status, const char *text) {
    static const char of_c[] = "gantry_get_oom_report shows";
    const char *found = status ? strstr(text, of_c) : NULL;
    char own[2048];
    if (found) {
        (void)snprintf(own, sizeof own, "%.*sgantry_tensorflow.oom_report() shows%s",
                       (int)(found - text), text, found + sizeof of_c - 1);
        text = own;
    }
    TF_SetStatus(out, (TF_Code)status, status ? text : "");
}

void status_set_memory(TF_Status *out) {
    status_set(out, GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
}

void status_set_last(TF_Status *out, gantry_status_t status) {
    status_set(out, status, gantry_last_message());
}
