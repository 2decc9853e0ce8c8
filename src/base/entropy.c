/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include "base/entropy.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

gantry_status_t gantry__entropy(void *out, size_t bytes) {
    if (getentropy(out, bytes) == 0) return GANTRY_OK;
    return gantry__fail(GANTRY_UNAVAILABLE, "the operating system gives no random numbers: %s",
                        strerror(errno));
}
