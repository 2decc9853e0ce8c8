/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* getentropy */
#include "base/os/entropy.h"

#include <errno.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

int gantry__os_entropy(void *out, size_t bytes) { return getentropy(out, bytes) == 0 ? 0 : errno; }
