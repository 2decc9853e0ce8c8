/* SPDX-License-Identifier: Apache-2.0 */
/* Backend modules, in this order: candidate files of folders and paths; the library's own
 * folder; opening a file and querying its table.
 */
#include "backend/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend_check.h"
#include "base/files.h"
#include "base/os/library.h"
#include "base/os/paths.h"
#include "base/text.h"
#include "base/trust.h"

#define MODULE_PREFIX "libgantry_backend_"

static bool is_module_name(const char *name) {
    static const char *const endings[] = {".so", ".dylib", ".dll"};
    size_t length = strlen(name);
    if (strncmp(name, MODULE_PREFIX, strlen(MODULE_PREFIX)) != 0) return false;
    for (size_t i = 0; i < 3; ++i) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0) return true;
    }
    return false;
}

bool gantry__module_is_of(const char *file, const char *backend) {
    const char *name = gantry__os_path_name(file);
    const size_t prefix = strlen(MODULE_PREFIX), length = strlen(backend);
    return is_module_name(name) && strncmp(name + prefix, backend, length) == 0 &&
           strchr(name + prefix, '.') == name + prefix + length;
}

gantry_status_t gantry__module_search_folder(const gantry__heap_t *heap, const char *folder,
                                             gantry__module_visit_fn visit, void *user) {
    if (!folder) return GANTRY_OK;
    gantry__directory_names_t names;
    gantry_status_t status = gantry__directory_list(heap, folder, &names);
    if (status == GANTRY_RESOURCE_EXHAUSTED) return status;
    if (status != GANTRY_OK) return GANTRY_OK; /* an unreadable folder has no modules */
    for (size_t i = 0; i < names.count && status == GANTRY_OK; ++i) {
        if (!is_module_name(names.names[i])) continue;
        gantry__text_t file;
        gantry__text_init(&file, heap);
        gantry__text_append(&file, "%s/%s", folder, names.names[i]);
        status = gantry__text_status(&file);
        if (status == GANTRY_OK) status = visit(user, gantry__text_get(&file));
        gantry__text_deinit(&file);
    }
    gantry__directory_names_deinit(&names);
    return status;
}

static gantry_status_t visit_entry(const gantry__heap_t *heap, const char *entry,
                                   gantry__module_visit_fn visit, void *user) {
    gantry__os_info_t info;
    if (gantry__os_path_info(entry, &info) == 0 && info.kind == GANTRY__OS_FOLDER)
        return gantry__module_search_folder(heap, entry, visit, user);
    return visit(user, entry);
}

gantry_status_t gantry__module_search(const gantry__heap_t *heap, const char *path,
                                      gantry__module_visit_fn visit, void *user) {
    if (!path || !*path) return GANTRY_OK;
    size_t bytes = strlen(path) + 1;
    char *copy = gantry__heap_strdup(heap, path);
    if (!copy) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = GANTRY_OK;
    for (char *entry = copy; entry && status == GANTRY_OK;) {
        char *end = strchr(entry, gantry__os_list_separator);
        if (end) *end = '\0';
        if (*entry) status = visit_entry(heap, entry, visit, user);
        entry = end ? end + 1 : NULL;
    }
    gantry__heap_free(heap, copy, bytes);
    return status;
}

gantry_status_t gantry__module_own_folder(const gantry__heap_t *heap, char **out_folder) {
    *out_folder = NULL;
    /* Any object of this library identifies its file; ISO C does not allow to cast a function's
     * address to void *. */
    static const char anchor = 0;
    const char *file = gantry__os_library_file_of(&anchor);
    if (!file) return GANTRY_OK;
    const char *name = gantry__os_path_name(file);
    gantry__text_t folder;
    gantry__text_init(&folder, heap);
    if (name > file) {
        gantry__text_append_bytes(&folder, file, (size_t)(name - file));
    } else {
        gantry__text_append(&folder, "./");
    }
    gantry__text_append(&folder, "gantry");
    gantry_status_t status = gantry__text_status(&folder);
    if (status == GANTRY_OK) {
        *out_folder = gantry__heap_strdup(heap, gantry__text_get(&folder));
        status = *out_folder ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    }
    gantry__text_deinit(&folder);
    return status;
}

gantry_status_t gantry__module_check_own_folder(const char *folder) {
    gantry__os_writers_t writers;
    char library[GANTRY__OS_PATH_BYTES], why[GANTRY__MESSAGE_BYTES];
    int file;
    const uint32_t before = gantry__failures();
    if (!gantry__trust_of_library(&writers, library)) return GANTRY_OK;
    gantry_status_t status = gantry__trust_open_folder(folder, &writers, &file);
    gantry__file_close(file);
    if (status == GANTRY_FAILED_PRECONDITION) {
        (void)snprintf(why, sizeof why, "%s", gantry__message());
        status = gantry__trust_open_file(library, &writers, NULL, &file);
        gantry__file_close(file);
        if (status == GANTRY_OK) return gantry__fail(GANTRY_FAILED_PRECONDITION, "%s", why);
    }
    gantry__forget_since(before);
    return GANTRY_OK;
}

gantry_status_t gantry__module_query(const char *file, const gantry_backend_t **out_table) {
    *out_table = NULL;
    GANTRY__TRY(gantry__file_check_plain(file)); /* the loader would wait for a pipe */
    if (gantry__os_library_is_cut(file)) {
        return gantry__fail(GANTRY_DATA_LOSS,
                            "backend module %s cannot be opened: the file is truncated", file);
    }
    void *module = gantry__os_library_open(file, 0);
    if (!module) {
        return gantry__fail(GANTRY_UNAVAILABLE, "backend module %s cannot be opened: %s", file,
                            gantry__os_library_error());
    }
    gantry_backend_query_fn query;
    if (!gantry__os_library_function(module, GANTRY_BACKEND_QUERY_SYMBOL, &query)) {
        return gantry__refuse("backend module %s does not export %s", file,
                              GANTRY_BACKEND_QUERY_SYMBOL);
    }
    int32_t code = query(GANTRY_ABI_VERSION, out_table);
    if (code != 0) {
        *out_table = NULL;
        return gantry__fail(GANTRY_FAILED_PRECONDITION,
                            "backend module %s refuses ABI version %u of this library (%s)", file,
                            GANTRY_ABI_VERSION, gantry_status_name((gantry_status_t)code));
    }
    gantry_status_t status = gantry__backend_table_check(*out_table);
    if (status != GANTRY_OK) return gantry__fail_prefix(status, "backend module %s: ", file);
    return GANTRY_OK;
}
