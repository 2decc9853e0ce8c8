/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of the training library: a status, with a text as the thread's last message or in a
 * scope. A text names the object, its value and what is accepted. Owner: a message belongs to its
 * thread or to its scope. Threads: thread-safe, as far as the scope that is given is not used by
 * two threads. */
#ifndef GANTRY_TRAIN_FAIL_H
#define GANTRY_TRAIN_FAIL_H

#include <gantry/gantry.h>

#if defined(__GNUC__)
#define GANTRY__TRAIN_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define GANTRY__TRAIN_PRINTF(text, first)
#endif

/* Longest text, terminator included; longer ones are cut. */
#define GANTRY__TRAIN_MESSAGE_BYTES 1024

/* Keeps the text as the thread's last message and returns status, so that a call can end with
 * `return gantry__train_fail(...)`. */
gantry_status_t gantry__train_fail(gantry_status_t status, const char *format, ...)
    GANTRY__TRAIN_PRINTF(2, 3);
/* "; the last failure of this thread: " and the thread's last message, for the end of a text about
 * an object that is NULL; "" without one. */
typedef struct gantry__train_before_t {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
} gantry__train_before_t;
gantry__train_before_t gantry__train_before(void);
/* Fails the scope with InvalidArgument and the text, and returns its status. Where scope is NULL it
 * does what gantry__train_fail does. */
gantry_status_t gantry__train_refuse(gantry_scope_t *scope, const char *format, ...)
    GANTRY__TRAIN_PRINTF(2, 3);
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
    GANTRY__TRAIN_PRINTF(2, 3);
/* Reads a struct of options, whose first member must be struct_size, into this library's struct, by
 * the rules for options of ops: NULL gives zeros, 0 means first_bytes, the struct's size in version
 * 0.1; a size beyond out_bytes is InvalidArgument. what: "gantry_adam: options". */
gantry_status_t gantry__train_options(const void *given, uint32_t first_bytes, void *out,
                                      uint32_t out_bytes, const char *what);

#define GANTRY__TRAIN_TRY(expression)                     \
    do {                                                  \
        gantry_status_t try_status_ = (expression);       \
        if (try_status_ != GANTRY_OK) return try_status_; \
    } while (0)

#endif
