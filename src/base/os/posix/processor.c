/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/processor.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

bool gantry__os_processor_has_dots(void) { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
#else
bool gantry__os_processor_has_dots(void) { return false; }
#endif
