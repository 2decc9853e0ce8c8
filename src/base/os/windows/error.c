/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/error.h"

#include <stdio.h>
#include <string.h>

void gantry__os_error_text(int error, char *out, size_t out_bytes) {
    if (strerror_s(out, out_bytes, error) != 0) (void)snprintf(out, out_bytes, "errno %d", error);
}
