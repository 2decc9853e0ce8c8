/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes: what every Gantry function that does not make a tensor returns.
 *
 * The codes are TensorFlow's canonical ones (gantry_status_t, abi_types.h). The text that belongs
 * to the last failure is kept per thread (gantry_last_message) and in the scope in which it
 * happened (gantry_scope_message).
 * Thread-safe. */
#ifndef GANTRY_STATUS_H
#define GANTRY_STATUS_H

#include <gantry/abi_types.h>
#include <gantry/export.h>

#ifdef __cplusplus
extern "C" {
#endif

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
