/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/host_processor.h"

bool gantry__host_reads_ahead(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") != 0;
#else
    return false;
#endif
}
