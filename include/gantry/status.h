/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes: what every Gantry function that does not make a tensor returns.
 *
 * The codes are TensorFlow's canonical ones. The text that belongs to the last failure is kept per
 * thread (gantry_last_message) and in the scope in which it happened (gantry_scope_message).
 * Thread-safe. */
#ifndef GANTRY_STATUS_H
#define GANTRY_STATUS_H

#include <gantry/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gantry_status_t {
    GANTRY_OK = 0,
    GANTRY_CANCELLED = 1,
    GANTRY_UNKNOWN = 2,          /* a driver failed in a way it did not explain */
    GANTRY_INVALID_ARGUMENT = 3, /* wrong whatever the state of the machine */
    GANTRY_DEADLINE_EXCEEDED = 4,
    GANTRY_NOT_FOUND = 5, /* a named file, device, op or kernel does not exist */
    GANTRY_ALREADY_EXISTS = 6,
    GANTRY_PERMISSION_DENIED = 7,
    GANTRY_RESOURCE_EXHAUSTED = 8,  /* memory or a limit */
    GANTRY_FAILED_PRECONDITION = 9, /* wrong in this state: frozen setting, released runtime */
    GANTRY_ABORTED = 10,
    GANTRY_OUT_OF_RANGE = 11,
    GANTRY_UNIMPLEMENTED = 12,
    GANTRY_INTERNAL = 13,    /* an invariant of Gantry or of a driver is broken */
    GANTRY_UNAVAILABLE = 14, /* a library, driver or device is absent */
    GANTRY_DATA_LOSS = 15    /* a file or a device's content is damaged */
} gantry_status_t;

/* The code's name as TensorFlow writes it, e.g. "InvalidArgument"; never NULL. */
GANTRY_API const char *gantry_status_name(gantry_status_t status);

/* Text of the last call on the calling thread that failed: "" as long as none has. A call that
 * succeeds leaves it as it is or empties it, and never puts there what it met and got round.
 * Valid until the thread's next call. */
GANTRY_API const char *gantry_last_message(void);

#ifdef __cplusplus
}
#endif
#endif
