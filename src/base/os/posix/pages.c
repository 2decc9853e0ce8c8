/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */
#include "base/os/pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* All of Linux has the same value. Older headers lack it, and older kernels refuse it. */
#if defined(__linux__) && !defined(MADV_WIPEONFORK)
#define MADV_WIPEONFORK 18
#endif

size_t gantry__os_page_bytes(void) {
    const long bytes = sysconf(_SC_PAGESIZE);
    return bytes > 0 ? (size_t)bytes : 4096;
}

/* ---- of files ---- */

int gantry__os_map(int file, uint64_t offset, size_t size, gantry__os_map_t *out_map) {
    const size_t before = (size_t)(offset % gantry__os_page_bytes());
    void *pages = mmap(NULL, before + size, PROT_READ, MAP_PRIVATE, file, (off_t)(offset - before));
    *out_map = (gantry__os_map_t){0};
    if (pages == MAP_FAILED) return errno;
    *out_map = (gantry__os_map_t){(unsigned char *)pages + before, pages, before + size};
    return 0;
}

void gantry__os_unmap(const gantry__os_map_t *map) { (void)munmap(map->pages, map->page_bytes); }

void gantry__os_pages_forget(void *at, size_t bytes) { (void)madvise(at, bytes, MADV_DONTNEED); }

/* ---- without a file ---- */

/*     mapping:  |....|=========== pages ===========|...|      the dotted ends are unmapped at once
 *               ^any  ^multiple of the alignment */
void *gantry__os_pages_new(size_t bytes, size_t alignment) {
    char *pages =
        mmap(NULL, bytes + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    if (alignment == 0) return pages;
    const size_t before = (alignment - (size_t)(uintptr_t)pages % alignment) % alignment;
    const size_t after = alignment - before;
    if (before > 0) (void)munmap(pages, before);
    if (after > 0) (void)munmap(pages + before + bytes, after);
    return pages + before;
}

void gantry__os_pages_free(void *pages, size_t bytes) { (void)munmap(pages, bytes); }

void gantry__os_pages_wish_huge(void *at, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    (void)madvise(at, bytes, MADV_HUGEPAGE);
#else
    (void)at;
    (void)bytes;
#endif
}

bool gantry__os_pages_populate(void *at, size_t bytes) {
#if defined(MADV_POPULATE_WRITE)
    return madvise(at, bytes, MADV_POPULATE_WRITE) == 0;
#else
    (void)at;
    (void)bytes;
    return false;
#endif
}

bool gantry__os_pages_wipe_in_child(void *at, size_t bytes) {
#if defined(MADV_WIPEONFORK)
    return madvise(at, bytes, MADV_WIPEONFORK) == 0;
#else
    (void)at;
    (void)bytes;
    return false;
#endif
}
