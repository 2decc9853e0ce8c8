/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "driver/library_open.h"
#include "cuda/cuda_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/host_call.h"

/* ---- finding ---- */

/* In a toolkit's folder; NULL when it is not there. */
static void *open_in(const gantry_host_t *host, const char *option, const char *folder,
                     const char *name, char *out_file) {
    char path[GANTRY__CUDA_FILE_BYTES];
    const char *only = path;
    int length = snprintf(path, sizeof path, "%s/lib64/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0) return NULL;
    char reasons[400];
    return gantry__library_open(host, option, &only, 1, out_file, GANTRY__CUDA_FILE_BYTES, reasons,
                                sizeof reasons);
}

static void *open_in_toolkits(const gantry_host_t *host, const char *option, const char *name,
                              char *out_file) {
    const char *folders[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && !library; ++i) {
        if (folders[i] && folders[i][0] != '\0')
            library = open_in(host, option, folders[i], name, out_file);
    }
    return library;
}

/* Each candidate everywhere before the next one: the first is the one that suits the driver. */
static void *open_first(const gantry_host_t *host, const gantry__cuda_file_t *wanted,
                        char *out_file, char *out_reasons, size_t reasons_bytes) {
    out_reasons[0] = '\0';
    if (gantry__host_option(host, wanted->option)) {
        return gantry__library_open(host, wanted->option, NULL, 0, out_file,
                                    GANTRY__CUDA_FILE_BYTES, out_reasons, reasons_bytes);
    }
    void *library = NULL;
    for (size_t i = 0; i < wanted->candidate_count && !library; ++i) {
        size_t length = strlen(out_reasons);
        char reason[200];
        library = gantry__library_open(host, wanted->option, &wanted->candidates[i], 1, out_file,
                                       GANTRY__CUDA_FILE_BYTES, reason, sizeof reason);
        if (!library) {
            library = open_in_toolkits(host, wanted->option, wanted->candidates[i], out_file);
            (void)snprintf(out_reasons + length, reasons_bytes - length, "%s%s",
                           length > 0 ? "; " : "", reason);
        }
    }
    return library;
}

bool gantry__cuda_library_open(const gantry_host_t *host, const gantry__cuda_file_t *wanted,
                               const gantry__library_symbol_t *symbols, size_t symbol_count,
                               void *table, char *out_file, char *reason, size_t reason_bytes) {
    char reasons[400];
    void *library = open_first(host, wanted, out_file, reasons, sizeof reasons);
    if (!library) {
        (void)snprintf(reason, reason_bytes, "%s cannot be opened: %s", wanted->name, reasons);
        return false;
    }
    const char *missing = gantry__library_resolve(library, symbols, symbol_count, table);
    if (missing) {
        (void)snprintf(reason, reason_bytes, "%.200s is no %s%s: it has no function %s", out_file,
                       wanted->name, wanted->least, missing);
        return false;
    }
    return true;
}

/* ---- places ---- */

/* cuDNN from 9 on and NCCL from 2.9 on count as wanted->oldest does; those before have 1000 *
 * major. */
static void write_version(unsigned version, char *text, size_t text_bytes) {
    unsigned step = version < 10000 ? 1000 : 10000;
    (void)snprintf(text, text_bytes, "%u.%u.%u", version / step, version % step / 100,
                   version % 100);
}

static void judge(gantry__cuda_library_t *library, const gantry__cuda_wanted_t *wanted, void *table,
                  const char *file) {
    unsigned version = 0;
    unsigned native = wanted->ask_version(table, &version);
    char own[40];
    write_version(version, own, sizeof own);
    char needed[40];
    write_version(wanted->oldest, needed, sizeof needed);
    library->is_usable = native == 0 && version >= wanted->oldest;
    if (library->is_usable) {
        (void)snprintf(library->name, sizeof library->name, "%.150s (%s)", file, own);
    } else if (native != 0) {
        (void)snprintf(library->reason, sizeof library->reason,
                       "%.200s does not tell its version (%u)", file, native);
    } else {
        (void)snprintf(library->reason, sizeof library->reason,
                       "%.200s is %s %s, too old: %s or newer is needed", file, wanted->name, own,
                       needed);
    }
}

void gantry__cuda_library_place(const gantry_host_t *host, const gantry__cuda_wanted_t *wanted,
                                void *table, gantry__cuda_library_t *library) {
    const gantry__cuda_file_t file = {.name = wanted->name,
                                      .least = "",
                                      .option = wanted->option,
                                      .candidates = &wanted->candidate,
                                      .candidate_count = 1};
    if (library->is_tried) return;
    library->is_tried = true;
    char name[GANTRY__CUDA_FILE_BYTES];
    if (gantry__cuda_library_open(host, &file, &wanted->version_symbol, 1, table, name,
                                  library->reason, sizeof library->reason)) {
        judge(library, wanted, table, name);
    }
}
