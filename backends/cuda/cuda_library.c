/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for NVIDIA's libraries and opens them (cuda_library.h). */
#include "cuda/cuda_library.h"

#include <stdio.h>
#include <string.h>

#include "base/os/files.h"
#include "cuda/cuda_folders.h"
#include "driver/host_call.h"
#include "driver/library_open.h"

/* ---- finding ---- */

/* The search for one name in the folders. */
typedef struct search_t {
    const gantry_host_t *host;
    const char *option;
    const char *name;
    void *library;
    char *out_file;
    char *reasons; /* about files that exist and are not opened */
    size_t reasons_bytes;
} search_t;

static void cuda_library_add_reason(char *reasons, size_t reasons_bytes, const char *reason) {
    size_t length = strlen(reasons);
    (void)snprintf(reasons + length, reasons_bytes - length, "%s%s", length > 0 ? "; " : "",
                   reason);
}

/* Whether a file may be opened. The folder counts, too, because the library loads others from
 * it. */
static bool may_open(const search_t *search, const char *folder, const char *path) {
    char others[512], reason[600];
    if (!gantry__host_others_may_write(search->host, folder, others, sizeof others) &&
        !gantry__host_others_may_write(search->host, path, others, sizeof others))
        return true;
    (void)snprintf(reason, sizeof reason, "%.60s is not opened: %s", search->name, others);
    gantry__host_log(search->host, GANTRY_LEVEL_WARNING, "%s", reason);
    cuda_library_add_reason(search->reasons, search->reasons_bytes, reason);
    return false;
}

static bool open_in(void *self, const char *folder, bool is_checked) {
    search_t *search = self;
    char path[GANTRY__CUDA_FILE_BYTES];
    const char *only = path;
    int length = snprintf(path, sizeof path, "%s/%s", folder, search->name);
    if (length < 0 || (size_t)length >= sizeof path ||
        gantry__os_may(path, GANTRY__OS_MAY_READ) != 0)
        return false;
    if (is_checked && !may_open(search, folder, path)) return false;
    char reason[400];
    search->library = gantry__library_open(search->host, search->option, &only, 1, search->out_file,
                                           GANTRY__CUDA_FILE_BYTES, reason, sizeof reason);
    if (!search->library) cuda_library_add_reason(search->reasons, search->reasons_bytes, reason);
    return search->library != NULL;
}

/* Opens a file of this name. If a file in a folder cannot be opened, that is the reason that
 * counts, rather than the loader's, which found none. */
static void *open_name(const gantry_host_t *host, const char *option, const char *name,
                       char *out_file, char *reasons, size_t reasons_bytes) {
    char loaders[300];
    void *library = gantry__library_open(host, option, &name, 1, out_file, GANTRY__CUDA_FILE_BYTES,
                                         loaders, sizeof loaders);
    if (library) return library;
    char of_folders[500] = "";
    search_t search = {host, option, name, NULL, out_file, of_folders, sizeof of_folders};
    if (gantry__cuda_folders_visit("", open_in, &search)) return search.library;
    cuda_library_add_reason(reasons, reasons_bytes, of_folders[0] ? of_folders : loaders);
    return NULL;
}

/* Searches for each candidate everywhere before the next one, because the first is the one that
 * suits the driver. */
void *gantry__cuda_library_find(const gantry_host_t *host, const gantry__cuda_file_t *wanted,
                                char *out_file, char *out_reasons, size_t reasons_bytes) {
    out_reasons[0] = '\0';
    if (gantry__host_option(host, wanted->option)) {
        return gantry__library_open(host, wanted->option, NULL, 0, out_file,
                                    GANTRY__CUDA_FILE_BYTES, out_reasons, reasons_bytes);
    }
    void *library = NULL;
    for (size_t i = 0; i < wanted->candidate_count && !library; ++i) {
        library = open_name(host, wanted->option, wanted->candidates[i], out_file, out_reasons,
                            reasons_bytes);
    }
    return library;
}

bool gantry__cuda_library_open(const gantry_host_t *host, const gantry__cuda_file_t *wanted,
                               const gantry__library_symbol_t *symbols, size_t symbol_count,
                               void *table, char *out_file, char *reason, size_t reason_bytes) {
    char reasons[600];
    void *library = gantry__cuda_library_find(host, wanted, out_file, reasons, sizeof reasons);
    if (!library) {
        bool is_named = gantry__host_option(host, wanted->option) != NULL;
        (void)snprintf(reason, reason_bytes, "%s cannot be opened: %s%s", wanted->name, reasons,
                       is_named ? "" : "; nor in " GANTRY__CUDA_FOLDERS_TEXT);
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

bool gantry__cuda_library_suits(const gantry__cuda_file_t *wanted, const char *file, int version,
                                const char *driver, int driver_version, char *reason,
                                size_t reason_bytes) {
    int major = driver_version / 1000;
    if (version / 1000 <= major) return true;
    (void)snprintf(
        reason, reason_bytes,
        "%.200s is %s of CUDA %d.%d, and the driver %.100s supports CUDA %d.%d: %s of CUDA %d is needed, or a newer driver",
        file, wanted->name, version / 1000, version % 1000 / 10, driver, major,
        driver_version % 1000 / 10, wanted->name, major);
    return false;
}

/* ---- places ---- */

/* Writes a version. cuDNN from 9 on and NCCL from 2.9 on count as wanted->oldest does; earlier ones
 * have 1000 * major. */
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
    const bool is_new = wanted->beyond != 0 && version >= wanted->beyond;
    write_version(is_new ? wanted->beyond : wanted->oldest, needed, sizeof needed);
    library->is_usable = native == 0 && version >= wanted->oldest && !is_new;
    if (library->is_usable) {
        (void)snprintf(library->name, sizeof library->name, "%.150s (%s)", file, own);
    } else if (native != 0) {
        (void)snprintf(library->reason, sizeof library->reason,
                       "%.200s does not report its version (%u)", file, native);
    } else {
        (void)snprintf(library->reason, sizeof library->reason,
                       is_new ? "%.200s is %s %s, too new: a version before %s is needed"
                              : "%.200s is %s %s, too old: %s or newer is needed",
                       file, wanted->name, own, needed);
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
    if (gantry__cuda_library_open(host, &file, wanted->symbols, wanted->symbol_count, table, name,
                                  library->reason, sizeof library->reason)) {
        judge(library, wanted, table, name);
    }
}
