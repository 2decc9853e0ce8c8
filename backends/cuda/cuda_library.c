#include "cuda/cuda_library.h"

#include <stdio.h>

/* cuDNN from 9 on and NCCL from 2.9 on count as wanted->oldest does; those before have 1000 * major. */
static void write_version(unsigned version, char *text, size_t text_bytes) {
    unsigned step = version < 10000 ? 1000 : 10000;

    snprintf(text, text_bytes, "%u.%u.%u", version / step, version % step / 100, version % 100);
}

static void judge(gantry__cuda_library_t *library, const gantry__cuda_wanted_t *wanted, void *table, const char *file) {
    unsigned version = 0;
    unsigned native = wanted->ask_version(table, &version);
    char own[40];
    char needed[40];

    write_version(version, own, sizeof own);
    write_version(wanted->oldest, needed, sizeof needed);
    library->is_usable = native == 0 && version >= wanted->oldest;
    if (library->is_usable) {
        snprintf(library->name, sizeof library->name, "%.150s (%s)", file, own);
    } else if (native != 0) {
        snprintf(library->reason, sizeof library->reason, "%.200s does not tell its version (%u)", file, native);
    } else {
        snprintf(library->reason, sizeof library->reason, "%.200s is %s %s, too old: %s or newer is needed", file,
                 wanted->name, own, needed);
    }
}

void gantry__cuda_library_place(const gantry_host_t *host, const gantry__cuda_wanted_t *wanted, void *table,
                                gantry__cuda_library_t *library) {
    char file[256];
    char reasons[400];
    void *opened;

    if (library->is_tried) {
        return;
    }
    library->is_tried = 1;
    opened = gantry__library_open(host, wanted->option, &wanted->candidate, 1, file, sizeof file, reasons,
                                       sizeof reasons);
    if (opened == NULL) {
        snprintf(library->reason, sizeof library->reason, "%s cannot be opened: %s", wanted->name, reasons);
    } else if (gantry__library_resolve(opened, &wanted->version_symbol, 1, table) != NULL) {
        snprintf(library->reason, sizeof library->reason, "%.200s is no %s: it has no function %s", file, wanted->name,
                 wanted->version_symbol.name);
    } else {
        judge(library, wanted, table, file);
    }
}
