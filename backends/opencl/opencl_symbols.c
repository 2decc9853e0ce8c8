#define _POSIX_C_SOURCE 200809L
#include "opencl/opencl_symbols.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "opencl/opencl_status.h"

/* Versioned name first: the bare one belongs to development packages. */
static const char *const candidates[] = {"libOpenCL.so.1", "libOpenCL.so"};

typedef struct symbol_t {
    const char *name;
    size_t offset;
} symbol_t;

static const symbol_t symbols[] = {
#define SYMBOL(function) {#function, offsetof(gantry__opencl_symbols_t, function)},
    GANTRY__OPENCL_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

/* Appends "name: reason"; the reason usually begins with the name itself. */
static void add_reason(char *reasons, size_t reasons_bytes, const char *name) {
    const char *reason = dlerror();
    size_t length = strlen(reasons);

    if (reason == NULL) {
        reason = "cannot be opened";
    }
    snprintf(reasons + length, reasons_bytes - length, "%s%s%s%s", length > 0 ? "; " : "",
             strncmp(reason, name, strlen(name)) == 0 ? "" : name, strncmp(reason, name, strlen(name)) == 0 ? "" : ": ",
             reason);
}

static void *open_first(const char *asked, const char **out_name, char *reasons, size_t reasons_bytes) {
    const char *const *names = asked != NULL ? &asked : candidates;
    size_t count = asked != NULL ? 1 : sizeof candidates / sizeof candidates[0];

    for (size_t i = 0; i < count; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

        if (library != NULL) {
            *out_name = names[i];
            return library;
        }
        add_reason(reasons, reasons_bytes, names[i]);
    }
    return NULL;
}

/* May be missing. */
static void resolve_newer(gantry__opencl_symbols_t *table) {
    void *address = dlsym(table->library, "clCreateCommandQueueWithProperties");

    memcpy(&table->create_queue_with_properties, &address, sizeof address);
}

/* A function's address is copied byte by byte: ISO C has no conversion from an object's pointer. */
static int32_t resolve(const gantry_host_t *host, gantry__opencl_symbols_t *table) {
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(table->library, symbols[i].name);

        if (address == NULL) {
            return gantry__opencl_fail(host, GANTRY_K_UNAVAILABLE, 0,
                                       "%s is no OpenCL 1.2 library: it has no function %s", table->name,
                                       symbols[i].name);
        }
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    resolve_newer(table);
    return GANTRY_K_OK;
}

int32_t gantry__opencl_symbols_open(const gantry_host_t *host, gantry__opencl_symbols_t *out_symbols) {
    const char *asked = gantry__opencl_option(host, "GANTRY_OPENCL_LIBRARY");
    char reasons[768] = "";
    const char *name = NULL;
    void *library = open_first(asked, &name, reasons, sizeof reasons);

    if (library == NULL) {
        return gantry__opencl_fail(
            host, GANTRY_K_UNAVAILABLE, 0,
            asked != NULL
                ? "GANTRY_OPENCL_LIBRARY cannot be opened: %s"
                : "no OpenCL loader: %s; install ocl-icd-libopencl1 or the vendor's driver, or name a library with "
                  "GANTRY_OPENCL_LIBRARY",
            reasons);
    }
    out_symbols->library = library;
    snprintf(out_symbols->name, sizeof out_symbols->name, "%s", name);
    return resolve(host, out_symbols);
}
