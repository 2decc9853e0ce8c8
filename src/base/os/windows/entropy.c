/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/entropy.h"

#include <errno.h>
#include <windows.h>

/* The system's generator, which advapi32 has under this name since Windows XP. */
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG bytes);

int gantry__os_entropy(void *out, size_t bytes) {
    return bytes <= 256 && SystemFunction036(out, (ULONG)bytes) ? 0 : EIO;
}
