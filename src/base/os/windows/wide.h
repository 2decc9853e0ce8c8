/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of Windows: UTF-16 inside of the system, UTF-8 in Gantry. A path may be longer than the
 * 260 characters that the system takes without a prefix. Owner: the caller's buffers. Threads:
 * thread-safe. */
#ifndef GANTRY_BASE_OS_WINDOWS_WIDE_H
#define GANTRY_BASE_OS_WINDOWS_WIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

/* Units of the longest path. */
#define GANTRY__OS_WIDE 4096

/* Writes a text as UTF-16; false with errno if it is no UTF-8 or too long. */
bool gantry__os_wide(const char *text, wchar_t out_wide[GANTRY__OS_WIDE]);
/* The same for a path, which gets the prefix of long paths where it needs one. */
bool gantry__os_wide_path(const char *path, wchar_t out_wide[GANTRY__OS_WIDE]);
/* Writes UTF-16 as UTF-8; false with errno if it is too long. */
bool gantry__os_narrow(const wchar_t *wide, char *out_text, size_t text_bytes);
/* The same for a path: without the prefix, and with `/` for each backslash. */
bool gantry__os_narrow_path(const wchar_t *wide, char *out_path, size_t path_bytes);

/* Writes the system's text of an error, in one line without a point at its end. */
void gantry__os_windows_text(unsigned long error, char *out_text, size_t text_bytes);
/* Returns the errno value of the system's last error. */
int gantry__os_errno(void);

#endif
