/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl/opencl_symbols.h"

#include "base/os/library.h"
#include "opencl/opencl_names.h"
#include "opencl/opencl_status.h"
#include "driver/library_open.h"

static const char *const candidates[] = {GANTRY__OPENCL_LOADERS};

static const gantry__library_symbol_t symbols[] = {
#define SYMBOL(function) {#function, offsetof(gantry__opencl_symbols_t, function)},
    GANTRY__OPENCL_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

/* Resolves functions that may be missing. */
static void opencl_symbols_resolve_newer(gantry__opencl_symbols_t *table) {
    (void)gantry__os_library_function(table->library, "clCreateCommandQueueWithProperties",
                                      &table->create_queue_with_properties);
}

int32_t gantry__opencl_symbols_open(const gantry_host_t *host,
                                    gantry__opencl_symbols_t *out_symbols) {
    const char *asked = gantry__host_option(host, "GANTRY_OPENCL_LIBRARY");
    char reasons[768];
    out_symbols->library = gantry__library_open(
        host, "GANTRY_OPENCL_LIBRARY", candidates, sizeof candidates / sizeof candidates[0],
        out_symbols->name, sizeof out_symbols->name, reasons, sizeof reasons);
    if (!out_symbols->library) {
        return gantry__driver_fail(host, GANTRY_UNAVAILABLE, 0,
                                   asked ? "GANTRY_OPENCL_LIBRARY cannot be opened: %s"
                                         : "no OpenCL loader: %s; " GANTRY__OPENCL_SOURCE
                                           ", or name a loader with GANTRY_OPENCL_LIBRARY",
                                   reasons);
    }
    const char *missing = gantry__library_resolve(out_symbols->library, symbols,
                                                  sizeof symbols / sizeof symbols[0], out_symbols);
    if (missing) {
        return gantry__driver_fail(
            host, GANTRY_UNAVAILABLE, 0, "%s is no OpenCL 1.2 library: it has no function %s%s",
            out_symbols->name, missing,
            gantry__os_library_find(out_symbols->library, "clGetExtensionFunctionAddress")
                ? "; it is a driver that a loader opens: leave GANTRY_OPENCL_LIBRARY to a loader, and name the driver with OCL_ICD_VENDORS"
                : "");
    }
    opencl_symbols_resolve_newer(out_symbols);
    return GANTRY_OK;
}
