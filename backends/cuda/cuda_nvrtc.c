/* SPDX-License-Identifier: Apache-2.0 */
/* Opens NVRTC and reads the architectures that it knows (cuda_nvrtc.h). */
#include "cuda/cuda_nvrtc.h"

#include <stdio.h>

#include "cuda/cuda_driver.h"
#include "cuda/cuda_library.h"
#include "cuda/cuda_names.h"
#include "driver/library_open.h"

static const gantry__library_symbol_t symbols[] = {
    {"nvrtcGetErrorString", offsetof(gantry__nvrtc_t, nvrtcGetErrorString)},
#define SYMBOL(function, parameters) {#function, offsetof(gantry__nvrtc_t, function)},
    GANTRY__NVRTC_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

const char *gantry__nvrtc_error_name(const gantry__nvrtc_t *nvrtc, gantry__nvrtc_result_t native) {
    const char *name = nvrtc->nvrtcGetErrorString(native);
    return name ? name : "unknown NVRTC error";
}

int32_t gantry__nvrtc_error_code(gantry__nvrtc_result_t native) {
    switch (native) {
        case GANTRY__NVRTC_SUCCESS: return GANTRY_OK;
        case GANTRY__NVRTC_OUT_OF_MEMORY: return GANTRY_RESOURCE_EXHAUSTED;
        case GANTRY__NVRTC_INVALID_OPTION:
        case GANTRY__NVRTC_COMPILATION: return GANTRY_INVALID_ARGUMENT;
        default: return GANTRY_INTERNAL;
    }
}

/* Reads the list of architectures, which is that of this version; of a list that is too long the
 * first part is kept. */
static gantry__nvrtc_result_t ask_archs(gantry__nvrtc_t *nvrtc) {
    int count = 0;
    gantry__nvrtc_result_t native = nvrtc->nvrtcGetNumSupportedArchs(&count);
    if (native == GANTRY__NVRTC_SUCCESS && count > 0 && count <= GANTRY__NVRTC_MOST_ARCHS) {
        native = nvrtc->nvrtcGetSupportedArchs(nvrtc->archs);
        nvrtc->arch_count = native == GANTRY__NVRTC_SUCCESS ? count : 0;
    }
    return native;
}

static void cuda_nvrtc_ask_version(gantry__nvrtc_t *nvrtc, const char *file) {
    int major = 0;
    int minor = 0;
    gantry__nvrtc_result_t native = nvrtc->nvrtcVersion(&major, &minor);
    if (native == GANTRY__NVRTC_SUCCESS) native = ask_archs(nvrtc);
    if (native != GANTRY__NVRTC_SUCCESS || nvrtc->arch_count == 0) {
        (void)snprintf(nvrtc->reason, sizeof nvrtc->reason,
                       "%.200s does not say what it compiles for: %s (%u)", file,
                       gantry__nvrtc_error_name(nvrtc, native), native);
        return;
    }
    nvrtc->version = 1000 * major + 10 * minor;
    (void)snprintf(nvrtc->name, sizeof nvrtc->name, "%.300s (%d.%d)", file, major, minor);
    nvrtc->is_usable = true;
}

/* With a driver of CUDA 12 a library of CUDA 13 comes last; it only serves to say that it is too
 * new. */
void gantry__nvrtc_open(const gantry_host_t *host, const gantry__cuda_symbols_t *cu, bool wants_12,
                        gantry__nvrtc_t *out_nvrtc) {
    static const char *const newest_first[] = {GANTRY__CUDA_NVRTC_13, GANTRY__CUDA_NVRTC_12,
                                               GANTRY__CUDA_NVRTC_11};
    static const char *const for_12[] = {GANTRY__CUDA_NVRTC_12, GANTRY__CUDA_NVRTC_13,
                                         GANTRY__CUDA_NVRTC_11};
    static const char *const below_13[] = {GANTRY__CUDA_NVRTC_12, GANTRY__CUDA_NVRTC_11,
                                           GANTRY__CUDA_NVRTC_13};
    const gantry__cuda_file_t wanted = {.name = "NVRTC",
                                        .least = " of CUDA 11.2 or newer",
                                        .option = "GANTRY_CUDA_NVRTC",
                                        .candidates = cu->version < 13000 ? below_13
                                                      : wants_12          ? for_12
                                                                          : newest_first,
                                        .candidate_count = 3};
    char file[GANTRY__CUDA_FILE_BYTES];

    if (!gantry__cuda_library_open(host, &wanted, symbols, sizeof symbols / sizeof symbols[0],
                                   out_nvrtc, file, out_nvrtc->reason, sizeof out_nvrtc->reason)) {
        return;
    }
    cuda_nvrtc_ask_version(out_nvrtc, file);
    if (!gantry__cuda_library_suits(&wanted, file, out_nvrtc->version, cu->name, cu->version,
                                    out_nvrtc->reason, sizeof out_nvrtc->reason))
        out_nvrtc->is_usable = false;
}
