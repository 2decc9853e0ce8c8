/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A part of a file is mapped from any byte on, and stays when the file is closed; pages
 * that were forgotten have the file's bytes again.
 * Promise: New pages are zero and begin at the multiple that was wanted. */
#include <stdlib.h>

#include "base/os/pages.h"
#include "own_folder.h"
#include "test.h"

#define BLOCK 1000

/* A file in which byte i is i modulo 251. */
static int make_numbers(size_t bytes) {
    unsigned char block[BLOCK];
    const int file = gantry__os_open(in_own_folder("numbers"),
                                     GANTRY__OS_READ | GANTRY__OS_WRITE | GANTRY__OS_CREATE, 0600);
    assert_true(file >= 0);
    for (size_t at = 0; at < bytes; at += BLOCK) {
        for (size_t i = 0; i < BLOCK; ++i) block[i] = (unsigned char)((at + i) % 251);
        assert_int_equal(gantry__os_write(file, block, BLOCK, (int64_t)at), BLOCK);
    }
    return file;
}

TEST(a_part_of_a_file_is_memory) {
    const size_t page = gantry__os_page_bytes(), offset = page + 123;
    const int file = make_numbers(100 * BLOCK > 4 * page ? 100 * BLOCK : 8 * page / BLOCK * BLOCK);
    gantry__os_map_t map;
    assert_true(page >= 4096 && (page & (page - 1)) == 0);
    assert_int_equal(gantry__os_map(file, offset, page, &map), 0);
    assert_int_equal(gantry__os_close(file), 0);
    for (size_t i = 0; i < page; ++i) assert_int_equal(map.data[i], (offset + i) % 251);
    gantry__os_pages_forget(map.pages, page);
    assert_int_equal(map.data[0], offset % 251);
    gantry__os_unmap(&map);
}

TEST(a_file_that_is_not_open_is_refused) {
    gantry__os_map_t map;
    assert_int_not_equal(gantry__os_map(-1, 0, 10, &map), 0);
    assert_null(map.pages);
}

TEST(new_pages_are_zero_and_aligned) {
    const size_t page = gantry__os_page_bytes(), alignment = 64 * page;
    unsigned char *pages = gantry__os_pages_new(2 * page, alignment);
    assert_non_null(pages);
    assert_int_equal((uintptr_t)pages % alignment, 0);
    for (size_t i = 0; i < 2 * page; ++i) assert_int_equal(pages[i], 0);
    pages[2 * page - 1] = 1;
    gantry__os_pages_wish_huge(pages, 2 * page);
    (void)gantry__os_pages_populate(pages, 2 * page);
    assert_int_equal(pages[2 * page - 1], 1);
    gantry__os_pages_free(pages, 2 * page);
    pages = gantry__os_pages_new(page, 0);
    assert_non_null(pages);
    gantry__os_pages_free(pages, page);
    assert_null(gantry__os_pages_new(SIZE_MAX / 2 / page * page, 0));
}

int main(void) { return test_main_with(make_own_folder, remove_own_folder, NULL, NULL); }
