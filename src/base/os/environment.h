/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of the environment, as UTF-8. Owner: the caller's buffers. Threads: thread-safe
 * while no other code changes the environment. */
#ifndef GANTRY_BASE_OS_ENVIRONMENT_H
#define GANTRY_BASE_OS_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Writes a variable's value. Returns the bytes that it needs with its end: 0 if the variable is not
 * set, more than out_bytes if nothing was written. */
size_t gantry__os_variable(const char *name, char *out, size_t out_bytes);
/* The same, but no variable is set in a program that runs with more rights than its caller (as a
 * set-user-ID program does), because the caller chose its value. */
size_t gantry__os_secure_variable(const char *name, char *out, size_t out_bytes);
/* Sets a variable of this process; NULL removes it. 0 or an errno value. No other thread may use
 * the environment meanwhile, so only programs may call it. */
int gantry__os_set_variable(const char *name, const char *value);

/* Visits "NAME=VALUE" of each variable; false ends the visits. */
void gantry__os_variables_visit(bool (*visit)(void *user, const char *assignment), void *user);

#endif
