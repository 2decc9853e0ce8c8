/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/pages.h"

#include <errno.h>
#include <io.h>
#include <windows.h>

#include "base/os/windows/wide.h"

size_t gantry__os_page_bytes(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

/* ---- of files ---- */

/* A view begins at a multiple of this, which is more than a page. */
static size_t view_bytes(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwAllocationGranularity;
}

int gantry__os_map(int file, uint64_t offset, size_t size, gantry__os_map_t *out_map) {
    const size_t before = (size_t)(offset % view_bytes());
    const uint64_t begin = offset - before;
    *out_map = (gantry__os_map_t){0};
    const HANDLE handle = (HANDLE)_get_osfhandle(file);
    if (handle == INVALID_HANDLE_VALUE) return EBADF;
    const HANDLE mapping = CreateFileMappingW(handle, NULL, PAGE_READONLY, 0, 0, NULL);
    if (!mapping) return gantry__os_errno();
    void *pages =
        MapViewOfFile(mapping, FILE_MAP_READ, (DWORD)(begin >> 32), (DWORD)begin, before + size);
    const int error = pages ? 0 : gantry__os_errno();
    (void)CloseHandle(mapping); /* the view keeps it */
    if (pages) *out_map = (gantry__os_map_t){(unsigned char *)pages + before, pages, before + size};
    return error;
}

void gantry__os_unmap(const gantry__os_map_t *map) { (void)UnmapViewOfFile(map->pages); }

/* To unlock pages that are not locked takes them out of the working set. */
void gantry__os_pages_forget(void *at, size_t bytes) { (void)VirtualUnlock(at, bytes); }

/* ---- without a file ---- */

/* An address with a wanted alignment is found by reserving more, and then reserved again; another
 * thread may take it meanwhile. */
void *gantry__os_pages_new(size_t bytes, size_t alignment) {
    enum { ATTEMPTS = 16 };
    if (alignment <= view_bytes()) {
        void *pages = VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        if (!pages) errno = ENOMEM;
        return pages;
    }
    for (int i = 0; i < ATTEMPTS; ++i) {
        char *all = VirtualAlloc(NULL, bytes + alignment, MEM_RESERVE, PAGE_NOACCESS);
        if (!all) break;
        char *wanted = all + (alignment - (size_t)(uintptr_t)all % alignment) % alignment;
        (void)VirtualFree(all, 0, MEM_RELEASE);
        void *pages = VirtualAlloc(wanted, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        if (pages) return pages;
    }
    errno = ENOMEM;
    return NULL;
}

void gantry__os_pages_free(void *pages, size_t bytes) {
    (void)bytes;
    (void)VirtualFree(pages, 0, MEM_RELEASE);
}

/* Large pages need a right that programs seldom have. */
void gantry__os_pages_wish_huge(void *at, size_t bytes) {
    (void)at;
    (void)bytes;
}

bool gantry__os_pages_populate(void *at, size_t bytes) {
    (void)at;
    (void)bytes;
    return false;
}

/* There is no fork. */
bool gantry__os_pages_wipe_in_child(void *at, size_t bytes) {
    (void)at;
    (void)bytes;
    return false;
}
