/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Status codes: the result of every Gantry function that makes no tensor.
 *
 * The codes are TensorFlow's canonical ones (gantry_status_t, abi_types.h). The text of the
 * last failure is kept per thread (gantry_last_message), and in the scope in which it happened
 * (gantry_scope_message). Thread-safe. */
#ifndef GANTRY_STATUS_H
#define GANTRY_STATUS_H

#include <gantry/abi_types.h>
#include <gantry/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The code's name as TensorFlow writes it, such as "InvalidArgument"; never NULL. */
GANTRY_API const char *gantry_status_name(gantry_status_t status);

/** The text of the calling thread's last call that failed; "" before the first. A call that
 * succeeds leaves the text or empties it; it never stores a problem that it solved. Valid until
 * the thread's next call. */
GANTRY_API const char *gantry_last_message(void);

/** Keeps a text as the calling thread's last message and returns status: for libraries on top of
 * this one, whose calls fail as Gantry's do. text NULL: "". */
GANTRY_API gantry_status_t gantry_fail(gantry_status_t status, const char *text);

#ifdef __cplusplus
}
#endif
#endif
