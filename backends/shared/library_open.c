/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "shared/library_open.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "shared/host_call.h"

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

void *gantry__library_open(const gantry_host_t *host, const char *option, const char *const *candidates, size_t count,
                           char *out_name, size_t name_bytes, char *out_reasons, size_t reasons_bytes) {
    const char *asked = gantry__host_option(host, option);

    if (asked != NULL) {
        candidates = &asked;
        count = 1;
    }
    out_reasons[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        void *library = dlopen(candidates[i], RTLD_NOW | RTLD_LOCAL);

        if (library != NULL) {
            snprintf(out_name, name_bytes, "%s", candidates[i]);
            return library;
        }
        add_reason(out_reasons, reasons_bytes, candidates[i]);
    }
    return NULL;
}

/* A function's address is copied byte by byte: ISO C has no conversion from an object's pointer. */
const char *gantry__library_resolve(void *library, const gantry__library_symbol_t *symbols, size_t count, void *table) {
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, symbols[i].name);

        if (address == NULL) {
            return symbols[i].name;
        }
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    return NULL;
}
