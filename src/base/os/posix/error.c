/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* POSIX's strerror_r */
#include "base/os/error.h"

#include <stdio.h>
#include <string.h>

void gantry__os_error_text(int error, char *out, size_t out_bytes) {
    if (strerror_r(error, out, out_bytes) != 0) (void)snprintf(out, out_bytes, "errno %d", error);
}
