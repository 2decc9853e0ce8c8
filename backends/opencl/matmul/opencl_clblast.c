/* SPDX-License-Identifier: Apache-2.0 */
/* Opens CLBlast and finds its version (opencl_clblast.h). */
#include "opencl/matmul/opencl_clblast.h"

#include <stdio.h>
#include <string.h>

#include "base/os/library.h"
#include "base/os/library_inside.h"
#include "driver/library_open.h"
#include "opencl/opencl_names.h"

static const char *const candidates[] = {GANTRY__OPENCL_CLBLAST};

static const gantry__library_symbol_t symbols[] = {
    {"CLBlastClearCache", offsetof(gantry__opencl_clblast_t, clear_cache)},
    {"CLBlastOverrideParameters", offsetof(gantry__opencl_clblast_t, override_parameters)},
    {"CLBlastSgemmWithTempBuffer", offsetof(gantry__opencl_clblast_t, sgemm)},
    {"CLBlastDgemmWithTempBuffer", offsetof(gantry__opencl_clblast_t, dgemm)},
    {"CLBlastSGemmTempBufferSize", offsetof(gantry__opencl_clblast_t, sgemm_temp_size)},
    {"CLBlastDGemmTempBufferSize", offsetof(gantry__opencl_clblast_t, dgemm_temp_size)},
    {"CLBlastSgemmStridedBatched", offsetof(gantry__opencl_clblast_t, sgemm_batched)},
    {"CLBlastDgemmStridedBatched", offsetof(gantry__opencl_clblast_t, dgemm_batched)},
};

/* Finds the library's name. No call of it returns its version, but the name of the real file has
 * it: libclblast.so.1.5.3. */
static void opencl_clblast_find_name(void *library, gantry__opencl_clblast_t *clblast) {
    const char *version = NULL;
    char path[4096];
    if (gantry__os_library_path(library, path, sizeof path)) version = strstr(path, ".so.");
    (void)snprintf(clblast->name, sizeof clblast->name, "CLBlast%s%.16s", version ? " " : "",
                   version ? version + 4 : "");
}

/* Whether CLBlast calls the same OpenCL library as this backend. CLBlast calls the one with which
 * it is linked; if a user chose another one, our objects are foreign to it. */
static bool shares_opencl(void *library, const gantry__opencl_symbols_t *cl) {
    void *theirs = gantry__os_library_find(library, "clGetPlatformIDs");
    return theirs && memcmp(&theirs, &cl->clGetPlatformIDs, sizeof theirs) == 0;
}

static bool resolve(void *library, gantry__opencl_clblast_t *clblast) {
    const char *missing =
        gantry__library_resolve(library, symbols, sizeof symbols / sizeof symbols[0], clblast);
    if (missing) {
        (void)snprintf(clblast->reason, sizeof clblast->reason,
                       "%s is too old: it has no function %s", clblast->name, missing);
    }
    return !missing;
}

static void opencl_clblast_load(gantry__opencl_clblast_t *clblast,
                                const gantry__opencl_symbols_t *cl) {
    const char *reason = NULL;
    void *library = NULL;
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0] && !library; ++i) {
        library = gantry__os_library_open(candidates[i], 0);
        if (!library && !reason) {
            reason = gantry__os_library_error();
            (void)snprintf(clblast->reason, sizeof clblast->reason, "CLBlast cannot be opened: %s",
                           reason);
        }
    }
    if (!library) return;
    opencl_clblast_find_name(library, clblast);
    if (!shares_opencl(library, cl)) {
        (void)snprintf(clblast->reason, sizeof clblast->reason,
                       "%s is linked with another OpenCL library than %.100s", clblast->name,
                       cl->name);
        return;
    }
    clblast->is_usable = resolve(library, clblast);
}

bool gantry__opencl_clblast_load(gantry__opencl_clblast_t *clblast,
                                 const gantry__opencl_symbols_t *cl) {
    if (!clblast->is_tried) {
        opencl_clblast_load(clblast, cl);
        clblast->is_tried = true;
    }
    return clblast->is_usable;
}

void gantry__opencl_clblast_forget(const gantry__opencl_clblast_t *clblast) {
    if (clblast->is_usable) clblast->clear_cache();
}
