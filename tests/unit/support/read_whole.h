/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a file, reads all of it and closes it. Header only. */
#ifndef TESTS_READ_WHOLE_H
#define TESTS_READ_WHOLE_H

#include "base/files.h"

static inline gantry_status_t read_whole(const gantry__heap_t *heap, const char *path,
                                         size_t max_bytes, void **out_bytes, size_t *out_size) {
    int file;
    uint64_t told;
    *out_bytes = NULL;
    *out_size = 0;
    gantry_status_t status = gantry__file_open(path, max_bytes, &file, &told);
    if (status == GANTRY_OK)
        status = gantry__file_read_open(heap, file, path, max_bytes, out_bytes, out_size);
    gantry__file_close(file);
    return status;
}

#endif
