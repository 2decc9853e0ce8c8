/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trust.h"

#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/os/library.h"

static gantry_status_t trust_status(int error, const char *path,
                                    const gantry__os_refusal_t *refusal) {
    switch (error) {
        case 0: return GANTRY_OK;
        case GANTRY__OS_OTHERS_MAY_WRITE:
            return gantry__fail(GANTRY_FAILED_PRECONDITION, "%s", refusal->text);
        case GANTRY__OS_NO_PLAIN_FILE: return gantry__file_check_kind(path, refusal->kind);
        default: return gantry__file_fail(refusal->doing, refusal->text, error);
    }
}

static gantry_status_t trust_open(const char *path, unsigned flags,
                                  const gantry__os_writers_t *others, char *out_path,
                                  int *out_file) {
    gantry__os_refusal_t refusal;
    if (out_file) *out_file = -1;
    if (!path || !*path) return gantry__refuse("the path is empty");
    const int error = gantry__os_trust_open(path, flags, others, out_path, out_file, &refusal);
    return trust_status(error, path, &refusal);
}

gantry_status_t gantry__trust_open_folder(const char *path, const gantry__os_writers_t *others,
                                          int *out_folder) {
    return trust_open(path, GANTRY__OS_TRUST_FOLDER, others, NULL, out_folder);
}

gantry_status_t gantry__trust_make_folder(const char *path, int *out_folder) {
    return trust_open(path, GANTRY__OS_TRUST_FOLDER | GANTRY__OS_TRUST_MAKE, NULL, NULL,
                      out_folder);
}

gantry_status_t gantry__trust_open_file(const char *path, const gantry__os_writers_t *others,
                                        char out_path[GANTRY__OS_PATH_BYTES], int *out_file) {
    return trust_open(path, 0, others, out_path, out_file);
}

gantry_status_t gantry__trust_open_entry(int folder, const char *path, const char *name,
                                         int *out_file) {
    gantry__os_refusal_t refusal;
    char whole[GANTRY__OS_PATH_BYTES];
    (void)snprintf(whole, sizeof whole, "%s/%s", path, name);
    const int error = gantry__os_trust_open_in(folder, whole, name, out_file, &refusal);
    return trust_status(error, whole, &refusal);
}

gantry_status_t gantry__trust_check(const char *path) {
    const uint32_t before = gantry__failures();
    gantry__os_info_t info;
    int file;
    const bool is_file =
        path && gantry__os_path_info(path, &info) == 0 && info.kind != GANTRY__OS_FOLDER;
    const gantry_status_t status =
        trust_open(path, is_file ? 0 : GANTRY__OS_TRUST_FOLDER, NULL, NULL, &file);
    gantry__file_close(file);
    if (status != GANTRY_OK && status != GANTRY_NOT_FOUND) return status;
    gantry__forget_since(before);
    return GANTRY_OK;
}

bool gantry__trust_of_library(gantry__os_writers_t *out_others,
                              char out_path[GANTRY__OS_PATH_BYTES]) {
    static const char here = 0;
    const char *path = gantry__os_library_own_file(&here);
    return path && gantry__os_real_path(path, out_path) == 0 &&
           gantry__os_writers_of(out_path, out_others);
}
