/* SPDX-License-Identifier: Apache-2.0 */
/* Opens NVIDIA's driver, and translates its error numbers (cuda_driver.h). */
#include "cuda/cuda_driver.h"

#include "base/os/library.h"
#include "cuda/cuda_library.h"
#include "cuda/cuda_names.h"

/* ---- errors ---- */

/* Unavailable of an open device says that it is lost, so only errors that a context does not
 * survive may have that code: the driver calls them sticky, returns them for every later call, and
 * nothing but the end of the process helps. Other errors with that code occur only while a driver
 * or device is opened. Errors that a correct backend cannot cause are Internal; UNKNOWN is left for
 * numbers without a meaning. */
static const gantry__native_error_t error_list[] = {
#define GANTRY__CUDA_ERROR(number, code, name) {number, code, #name},
#include "cuda/cuda_errors.def"
};

const gantry__native_errors_t gantry__cuda_errors = {"CUDA", "unknown CUDA error", error_list,
                                                     sizeof error_list / sizeof error_list[0]};

/* ---- functions ---- */

static const char *const candidates[] = {GANTRY__CUDA_DRIVER};

static const gantry__library_symbol_t symbols[] = {
#define SYMBOL(function, parameters) {#function, offsetof(gantry__cuda_symbols_t, function)},
    GANTRY__CUDA_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

/* Resolves functions that may be missing. */
static void cuda_symbols_resolve_newer(gantry__cuda_symbols_t *table) {
#define NEWER(function, parameters) \
    (void)gantry__os_library_function(table->library, #function, &table->function);
    GANTRY__CUDA_NEWER_FUNCTIONS(NEWER)
#undef NEWER
}

/* Must be called before cuInit, which an old driver may refuse for reasons of its own. */
static int32_t check_version(const gantry_host_t *host, gantry__cuda_symbols_t *table) {
    gantry__cu_result_t native = table->cuDriverGetVersion(&table->version);
    if (native != 0) {
        return gantry__driver_fail(host, GANTRY_UNAVAILABLE, native,
                                   "the driver %s does not report its version: %s (%u)",
                                   table->name, gantry__driver_error_name(native), native);
    }
    if (table->version < GANTRY__CU_OLDEST_DRIVER) {
        return gantry__driver_fail(
            host, GANTRY_UNAVAILABLE, 0,
            "the NVIDIA driver %s is too old: it supports CUDA %d.%d, and 12.0 or newer is needed (driver 525 or newer)",
            table->name, table->version / 1000, table->version % 1000 / 10);
    }
    return GANTRY_OK;
}

uint64_t gantry__cuda_driver_files(const gantry_host_t *host, char *text, uint64_t capacity) {
    const char *asked = gantry__host_option(host, "GANTRY_CUDA_LIBRARY");
    gantry__library_files_t files = {.text = text, .capacity = capacity};
    gantry__library_file_add(&files, asked ? asked : candidates[0]);
    return files.length;
}

int32_t gantry__cuda_symbols_open(const gantry_host_t *host, gantry__cuda_symbols_t *out_symbols) {
    const char *asked = gantry__host_option(host, "GANTRY_CUDA_LIBRARY");
    static const gantry__cuda_file_t wanted = {.name = "the NVIDIA driver",
                                               .least = " for CUDA 12.0 or newer",
                                               .option = "GANTRY_CUDA_LIBRARY",
                                               .candidates = candidates,
                                               .candidate_count = 1};
    char reasons[512];
    gantry__host_driver_enter(host, asked ? asked : candidates[0]);
    out_symbols->library =
        gantry__cuda_library_find(host, &wanted, out_symbols->name, reasons, sizeof reasons);
    if (!out_symbols->library) {
        return gantry__driver_fail(
            host, GANTRY_UNAVAILABLE, 0,
            asked
                ? "GANTRY_CUDA_LIBRARY cannot be opened: %s"
                : "no NVIDIA driver: %s; it comes with the driver of NVIDIA's cards, or is named with GANTRY_CUDA_LIBRARY",
            reasons);
    }
    const char *missing = gantry__library_resolve(out_symbols->library, symbols,
                                                  sizeof symbols / sizeof symbols[0], out_symbols);
    if (missing) {
        return gantry__driver_fail(
            host, GANTRY_UNAVAILABLE, 0,
            "%s is no NVIDIA driver for CUDA 12.0 or newer: it has no function %s",
            out_symbols->name, missing);
    }
    cuda_symbols_resolve_newer(out_symbols);
    return check_version(host, out_symbols);
}
