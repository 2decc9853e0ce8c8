/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of memory: those of files, and those without a file.
 *
 * Functions that return an int return 0, or the errno value of the failure. Owner: the caller has
 * the pages, and must give them back with the size with which it got them. Threads: thread-safe
 * for different pages. */
#ifndef GANTRY_BASE_OS_PAGES_H
#define GANTRY_BASE_OS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a file as memory. */
typedef struct gantry__os_map_t {
    unsigned char *data; /* the part's first byte */
    void *pages;
    size_t page_bytes; /* of all pages */
} gantry__os_map_t;

/* The size of a page. */
size_t gantry__os_page_bytes(void);

/* Maps size > 0 bytes of an open file from offset on, which the file must have, to be read only.
 * The file may be closed meanwhile, and must not become shorter: a page that it lacks ends the
 * process. */
int gantry__os_map(int file, uint64_t offset, size_t size, gantry__os_map_t *out_map);
void gantry__os_unmap(const gantry__os_map_t *map);
/* Forgets what was read of the pages, so that their next use reads the file again. `at` must be the
 * address of a page of a map. */
void gantry__os_pages_forget(void *at, size_t bytes);

/* Returns zeroed pages of this process, which begin at a multiple of `alignment`: a power of two,
 * or 0 for that of a page. With an alignment, bytes must be whole pages, and both together no more
 * than SIZE_MAX. NULL with errno when there are none. */
void *gantry__os_pages_new(size_t bytes, size_t alignment);
void gantry__os_pages_free(void *pages, size_t bytes);
/* Asks for huge pages; a failure costs only speed. `at` must be the address of a page. */
void gantry__os_pages_wish_huge(void *at, size_t bytes);
/* Gives memory to all of the pages at once. False: the system has no such call. */
bool gantry__os_pages_populate(void *at, size_t bytes);
/* Makes the pages of a child of fork zero. False: the system cannot. */
bool gantry__os_pages_wipe_in_child(void *at, size_t bytes);

#endif
