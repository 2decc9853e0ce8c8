/* SPDX-License-Identifier: Apache-2.0 */
/* A command line of Windows, which is one text. Owner: the caller must free it. Threads:
 * thread-safe. */
#ifndef GANTRY_BASE_OS_WINDOWS_COMMAND_LINE_H
#define GANTRY_BASE_OS_WINDOWS_COMMAND_LINE_H

#include <wchar.h>

/* Joins arguments, which NULL ends, so that the C runtime reads the same again; NULL without
 * memory. */
wchar_t *gantry__os_command(char *const *arguments);

#endif
