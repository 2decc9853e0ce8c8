#define _POSIX_C_SOURCE 200809L
#include "cuda/cuda_symbols.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cuda/cuda_status.h"

/* The driver's one name; libcuda.so belongs to toolkits, whose copy is a stub. */
static const char *const candidates[] = {"libcuda.so.1"};

static const gantry__cuda_symbol_t symbols[] = {
#define SYMBOL(function, parameters) {#function, offsetof(gantry__cuda_symbols_t, function)},
    GANTRY__CUDA_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

/* ---- for every library ---- */

/* Appends "name: reason"; the reason usually begins with the name itself. */
static void add_reason(char *reasons, size_t reasons_bytes, const char *name) {
    const char *reason = dlerror();
    size_t length = strlen(reasons);
    int has_name;

    if (reason == NULL) {
        reason = "cannot be opened";
    }
    has_name = strncmp(reason, name, strlen(name)) == 0;
    snprintf(reasons + length, reasons_bytes - length, "%s%s%s%s", length > 0 ? "; " : "", has_name ? "" : name,
             has_name ? "" : ": ", reason);
}

void *gantry__cuda_library_open(const gantry_host_t *host, const char *option, const char *const *names, size_t count,
                                char *out_name, size_t name_bytes, char *out_reasons, size_t reasons_bytes) {
    const char *asked = gantry__cuda_option(host, option);

    if (asked != NULL) {
        names = &asked;
        count = 1;
    }
    out_reasons[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

        if (library != NULL) {
            snprintf(out_name, name_bytes, "%s", names[i]);
            return library;
        }
        add_reason(out_reasons, reasons_bytes, names[i]);
    }
    return NULL;
}

/* A function's address is copied byte by byte: ISO C has no conversion from an object's pointer. */
const char *gantry__cuda_library_resolve(void *library, const gantry__cuda_symbol_t *wanted, size_t count,
                                         void *table) {
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, wanted[i].name);

        if (address == NULL) {
            return wanted[i].name;
        }
        memcpy((char *)table + wanted[i].offset, &address, sizeof address);
    }
    return NULL;
}

/* ---- the driver ---- */

/* May be missing. */
static void resolve_newer(gantry__cuda_symbols_t *table) {
#define NEWER(function, parameters)                         \
    do {                                                    \
        void *address = dlsym(table->library, #function);   \
        memcpy(&table->function, &address, sizeof address); \
    } while (0);
    GANTRY__CUDA_NEWER_FUNCTIONS(NEWER)
#undef NEWER
}

/* Asked before cuInit, which an old driver may refuse for reasons of its own. */
static int32_t check_version(const gantry_host_t *host, gantry__cuda_symbols_t *table) {
    gantry__cu_result_t native = table->cuDriverGetVersion(&table->version);

    if (native != 0) {
        return gantry__cuda_fail(host, GANTRY_K_UNAVAILABLE, native, "the driver %s does not tell its version: %s (%u)",
                                 table->name, gantry__cuda_error_name(native), native);
    }
    if (table->version < GANTRY__CU_OLDEST_DRIVER) {
        return gantry__cuda_fail(host, GANTRY_K_UNAVAILABLE, 0,
                                 "the NVIDIA driver %s is too old: it supports CUDA %d.%d, and 12.0 or newer is needed "
                                 "(driver 525 or newer)",
                                 table->name, table->version / 1000, table->version % 1000 / 10);
    }
    return GANTRY_K_OK;
}

int32_t gantry__cuda_symbols_open(const gantry_host_t *host, gantry__cuda_symbols_t *out_symbols) {
    const char *asked = gantry__cuda_option(host, "GANTRY_CUDA_LIBRARY");
    char reasons[512];
    const char *missing;

    out_symbols->library =
        gantry__cuda_library_open(host, "GANTRY_CUDA_LIBRARY", candidates, sizeof candidates / sizeof candidates[0],
                                  out_symbols->name, sizeof out_symbols->name, reasons, sizeof reasons);
    if (out_symbols->library == NULL) {
        return gantry__cuda_fail(host, GANTRY_K_UNAVAILABLE, 0,
                                 asked != NULL
                                     ? "GANTRY_CUDA_LIBRARY cannot be opened: %s"
                                     : "no NVIDIA driver: %s; it comes with the driver of NVIDIA's cards, or is "
                                       "named with GANTRY_CUDA_LIBRARY",
                                 reasons);
    }
    missing =
        gantry__cuda_library_resolve(out_symbols->library, symbols, sizeof symbols / sizeof symbols[0], out_symbols);
    if (missing != NULL) {
        return gantry__cuda_fail(host, GANTRY_K_UNAVAILABLE, 0,
                                 "%s is no NVIDIA driver for CUDA 12.0 or newer: it has no function %s",
                                 out_symbols->name, missing);
    }
    resolve_newer(out_symbols);
    return check_version(host, out_symbols);
}
