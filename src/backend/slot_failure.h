/* SPDX-License-Identifier: Apache-2.0 */
/* The failure of a backend's slot: the status and the text of a call that failed. A backend that
 * keeps no text must not show an earlier failure's. Owner: nothing; the text is the thread's.
 * Threads: thread-safe. */
#ifndef GANTRY_BACKEND_SLOT_FAILURE_H
#define GANTRY_BACKEND_SLOT_FAILURE_H

#include "base/failure.h"

/* The code of a slot that failed; before: gantry__failures() of the moment before its call. */
static inline gantry_status_t gantry__slot_failure(int32_t code, uint32_t before) {
    if (gantry__failures() == before)
        (void)gantry__fail((gantry_status_t)code, "the backend gave no reason");
    return (gantry_status_t)code;
}

/* Calls a slot: out becomes OK or the failure. */
#define GANTRY__CALL_SLOT(out, call)                                           \
    do {                                                                       \
        const uint32_t before_ = gantry__failures();                           \
        const int32_t code_ = (call);                                          \
        (out) = code_ == 0 ? GANTRY_OK : gantry__slot_failure(code_, before_); \
    } while (0)

#endif
