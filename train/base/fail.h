/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of the training library: a status, with a text as the thread's last message or in a
 * scope. A text names the object, its value and what is accepted. Owner: a message belongs to its
 * thread or to its scope. Threads: thread-safe, as far as the scope that is given is not used by
 * two threads. */
#ifndef GANTRY_TRAIN_FAIL_H
#define GANTRY_TRAIN_FAIL_H

#include <gantry/gantry.h>

#include "shared/struct_size.h"

/* Longest text, terminator included; longer ones are cut. */
#define GANTRY__TRAIN_MESSAGE_BYTES 1024

/* Keeps the text as the thread's last message and returns status, so that a call can end with
 * `return gantry__train_fail(...)`. */
gantry_status_t gantry__train_fail(gantry_status_t status, const char *format, ...)
    GANTRY__PRINTF(2, 3);
/* "; the last failure of this thread: " and the thread's last message, for the end of a text about
 * an object that is NULL; "" without one. */
typedef struct gantry__train_before_t {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
} gantry__train_before_t;
gantry__train_before_t gantry__train_before(void);
/* Fails the scope with InvalidArgument and the text, and returns its status. Where scope is NULL it
 * does what gantry__train_fail does. */
gantry_status_t gantry__train_refuse(gantry_scope_t *scope, const char *format, ...)
    GANTRY__PRINTF(2, 3);
/* The same in functions that return a pointer, or whether they succeeded. */
#define gantry__train_refuse_pointer(...) ((void)gantry__train_refuse(__VA_ARGS__), NULL)
#define gantry__train_refuse_bool(...) ((void)gantry__train_refuse(__VA_ARGS__), false)
/* The same for an object that is NULL, most often because its constructor failed: "CALL: the WHAT
 * is NULL; ACCEPTED is accepted", with gantry__train_before. */
gantry_status_t gantry__train_fail_null(gantry_scope_t *scope, const char *call, const char *what,
                                        const char *accepted);
/* Fails the scope with the thread's last message and this status; returns the scope's status. */
gantry_status_t gantry__train_hand_on(gantry_scope_t *scope, gantry_status_t status);
/* Empties the last message. It must be called before a function of the program, so that a text
 * after that call is the function's own. */
void gantry__train_expect_text(void);
/* Returns the status of such a function. A failure without a text gets one that names the function:
 * "layer mine: build". */
gantry_status_t gantry__train_told(gantry_status_t status, const char *format, ...)
    GANTRY__PRINTF(2, 3);

#endif
