/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/file/folder.h"

#include <errno.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/paths.h"
#include "onnx/base/limits.h"
#include "shared/memory.h"
#include "shared/fail.h"

/* What a message needs. */
typedef struct external_name_t {
    const char *model, *tensor, *location;
    bool follows_links;
} external_name_t;

gantry_status_t gantry__onnx_open_folder(const char *path, int *out_folder) {
    *out_folder = gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_IS_FOLDER, 0);
    if (*out_folder >= 0) return GANTRY_OK;
    return gantry__fail(errno == ENOENT ? GANTRY_NOT_FOUND : GANTRY_INVALID_ARGUMENT,
                        "the folder of external data, '%s', cannot be opened: %s", path,
                        strerror(errno));
}

gantry_status_t gantry__onnx_open_folder_of(const char *path, int *out_folder) {
    const size_t length = (size_t)(gantry__os_path_name(path) - path);
    char *folder;
    if (length == 0) return gantry__onnx_open_folder(".", out_folder);
    folder = gantry__strdup(path);
    if (!folder) return GANTRY_RESOURCE_EXHAUSTED;
    folder[length] = 0;
    const gantry_status_t status = gantry__onnx_open_folder(folder, out_folder);
    gantry__free(folder);
    return status;
}

static gantry_status_t refuse_external(const external_name_t *name, gantry_status_t status,
                                       const char *why) {
    return gantry__fail(status, "%s: the external data of the tensor '%s', '%s', %s", name->model,
                        name->tensor, name->location, why);
}

/* Says why a part of the path was not opened. */
static gantry_status_t fail_to_open(const external_name_t *name, int folder, const char *part,
                                    int error) {
    gantry__os_info_t info;
    if (!name->follows_links && gantry__os_info_in(folder, part, &info) == 0 &&
        info.kind == GANTRY__OS_LINK)
        return refuse_external(name, GANTRY_INVALID_ARGUMENT,
                               "are a symbolic link; a file is accepted, and a link with the "
                               "option follows_links");
    if (error == ENOENT)
        return refuse_external(name, GANTRY_NOT_FOUND,
                               "are missing; a file of the model's folder is accepted");
    return gantry__fail(GANTRY_INVALID_ARGUMENT,
                        "%s: the external data of the tensor '%s', '%s', cannot be opened: %s",
                        name->model, name->tensor, name->location, strerror(error));
}

/* Opens one part; takes and closes the folder. A pipe does not make it wait. */
static gantry_status_t folder_open_part(const external_name_t *name, int folder, bool closes,
                                        const char *part, bool is_last, int *out_file) {
    const unsigned links = name->follows_links ? 0 : GANTRY__OS_NO_LINK;
    const unsigned kind = is_last ? GANTRY__OS_NO_WAIT : GANTRY__OS_IS_FOLDER;
    const int file = gantry__os_open_in(folder, part, GANTRY__OS_READ | links | kind, 0);
    const int error = errno;
    const gantry_status_t status = file < 0 ? fail_to_open(name, folder, part, error) : GANTRY_OK;
    if (closes) (void)gantry__os_close(folder);
    *out_file = file;
    return status;
}

/* location has no part that is "" or "..", and "." is not the last one. */
static gantry_status_t folder_walk(const external_name_t *name, int folder, int *out_file) {
    char part[GANTRY__ONNX_MOST_NAME_BYTES + 1];
    const char *rest = name->location;
    int at = folder;
    for (;;) {
        const size_t size = strcspn(rest, "/");
        const bool is_last = rest[size] == 0;
        memcpy(part, rest, size);
        part[size] = 0;
        GANTRY__TRY(folder_open_part(name, at, at != folder, part, is_last, &at));
        if (is_last) break;
        rest += size + 1;
    }
    *out_file = at;
    return GANTRY_OK;
}

static gantry_status_t check_external(const external_name_t *name, int file, uint64_t *out_size) {
    gantry__os_info_t info;
    if (gantry__os_file_info(file, &info) != 0 || info.kind != GANTRY__OS_PLAIN)
        return refuse_external(name, GANTRY_INVALID_ARGUMENT,
                               "are no regular file; a file is accepted");
    if (!name->follows_links && info.names > 1)
        return refuse_external(name, GANTRY_INVALID_ARGUMENT,
                               "are a file with more than one name (hard links); one is accepted, "
                               "and more with the option follows_links");
    *out_size = info.size;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_open_external(int folder, const char *location, bool follows_links,
                                           const char *model, const char *tensor, int *out_file,
                                           uint64_t *out_size) {
    const external_name_t name = {model, tensor, location, follows_links};
    int file;
    GANTRY__TRY(folder_walk(&name, folder, &file));
    const gantry_status_t status = check_external(&name, file, out_size);
    if (status != GANTRY_OK) (void)gantry__os_close(file);
    *out_file = status == GANTRY_OK ? file : -1;
    return status;
}
