/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/library_inside.h"

#include <stdint.h>
#include <string.h>
#include <windows.h>

#include "base/os/library.h"

static bool section_has(const char *begin, size_t bytes, const char *text) {
    const size_t length = strlen(text) + 1;
    const char *at = begin, *end = begin + bytes;
    while ((size_t)(end - at) >= length) {
        at = memchr(at, text[0], (size_t)(end - at) - length + 1);
        if (!at) return false;
        if (memcmp(at, text, length) == 0) return true;
        ++at;
    }
    return false;
}

bool gantry__os_library_has_text(const void *address, const char *text) {
    HMODULE library = NULL;
    if (!address || !GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                            GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                                        (LPCWSTR)address, &library))
        return false;
    const char *base = (const char *)library;
    const IMAGE_DOS_HEADER *first = (const IMAGE_DOS_HEADER *)(const void *)base;
    const IMAGE_NT_HEADERS *head = (const IMAGE_NT_HEADERS *)(const void *)(base + first->e_lfanew);
    const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION(head);
    for (unsigned i = 0; i < head->FileHeader.NumberOfSections; ++i, ++section) {
        const DWORD access = section->Characteristics & (IMAGE_SCN_MEM_READ | IMAGE_SCN_MEM_WRITE);
        if (access == IMAGE_SCN_MEM_READ &&
            section_has(base + section->VirtualAddress, section->Misc.VirtualSize, text))
            return true;
    }
    return false;
}

/* A reference names its library here, so no symbol needs a version. */
bool gantry__os_library_has_versions(const void *address) {
    (void)address;
    return true;
}

bool gantry__os_library_can_be_apart(const char **out_why, const char **out_whose) {
    *out_why = "on Windows, each library already prefers its own symbols";
    *out_whose = "";
    return false;
}

bool gantry__os_library_path(void *library, char *out_path, size_t path_bytes) {
    const char *path = gantry__os_library_file_of(library);
    if (!path || strlen(path) >= path_bytes) return false;
    memcpy(out_path, path, strlen(path) + 1);
    return true;
}
