/* SPDX-License-Identifier: Apache-2.0 */
/* The system's texts of errors. Owner: the caller's buffer. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_ERROR_H
#define GANTRY_BASE_OS_ERROR_H

#include <stddef.h>

/* Writes the text of an errno value, "errno 123" if there is none. */
void gantry__os_error_text(int error, char *out, size_t out_bytes);

#endif
