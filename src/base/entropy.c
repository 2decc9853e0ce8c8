/* SPDX-License-Identifier: Apache-2.0 */
#include "base/entropy.h"

#include <string.h>

#include "base/os/entropy.h"

gantry_status_t gantry__entropy(void *out, size_t bytes) {
    const int error = gantry__os_entropy(out, bytes);
    if (error == 0) return GANTRY_OK;
    return gantry__fail(GANTRY_UNAVAILABLE, "the operating system gives no random numbers: %s",
                        strerror(error));
}
