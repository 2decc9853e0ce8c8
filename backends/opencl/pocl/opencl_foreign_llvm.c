/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl/pocl/opencl_foreign_llvm.h"

#include <stdio.h>

#include "base/os/library.h"
#include "base/os/library_inside.h"

/* Functions that initialisers of every LLVM call, and of its C interface. */
static const char *const symbols[] = {"_ZN4llvm2cl6Option11addArgumentEv", "LLVMContextCreate"};

/* Finds the file that exports it, NULL when there is none. */
static const char *find_llvm(void) {
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; ++i) {
        const void *address = gantry__os_library_find(NULL, symbols[i]);
        if (!address || gantry__os_library_has_versions(address)) continue;
        const char *file = gantry__os_library_file_of(address);
        return file ? file : "";
    }
    return NULL;
}

bool gantry__foreign_llvm_evade(unsigned *out_flag, char *reason, size_t reason_bytes) {
    const char *llvm = find_llvm(), *why, *whose;
    *out_flag = 0;
    if (!llvm) return true;
    if (gantry__os_library_can_be_apart(&why, &whose)) {
        *out_flag = GANTRY__OS_LIBRARY_APART;
        return true;
    }
    (void)snprintf(
        reason, reason_bytes,
        "this process exports another LLVM (%.150s), with which a driver's own would be mixed up and end the process; a driver can be kept apart from it (RTLD_DEEPBIND), but not here: %s%.150s",
        llvm, why, whose);
    return false;
}
