/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A library that is not there is no handle and a reason; symbols are found in the process,
 * and what is none is not.
 * Promise: The file of an address is known, and a library's file that lost its end is found out
 * before a loader maps it. */
#include <stdlib.h>

#include "base/os/library.h"
#include "base/os/paths.h"
#include "own_folder.h"
#include "test.h"

TEST(a_missing_library_has_a_reason) {
    assert_null(gantry__os_library_open(in_own_folder("none.so"), 0));
    assert_true(*gantry__os_library_error() != '\0');
    assert_null(gantry__os_library_open("libgantry_none.so", GANTRY__OS_LIBRARY_LOADED));
}

TEST(symbols_are_those_of_the_process) {
    int (*function)(int) = NULL;
    assert_true(gantry__os_library_function(NULL, "abs", &function));
    assert_int_equal(function(-3), 3);
    assert_false(gantry__os_library_function(NULL, "gantry_no_such_function", &function));
    assert_true(function == NULL);
    assert_null(gantry__os_library_find(NULL, "gantry_no_such_function"));
}

TEST(an_address_has_a_file) {
    static const char here = 0;
    gantry__os_info_t info;
    assert_non_null(gantry__os_library_file_of(&here));
    assert_int_equal(gantry__os_path_info(gantry__os_library_own_file(&here), &info), 0);
    assert_int_equal(info.kind, GANTRY__OS_PLAIN);
    assert_null(gantry__os_library_file_of(NULL));
}

/* Copies the first bytes of this program. */
static void copy_begin(const char *name, uint64_t bytes) {
    static const char here = 0;
    static char block[1 << 16];
    const int from = gantry__os_open(gantry__os_library_own_file(&here), GANTRY__OS_READ, 0);
    const int to = gantry__os_open(in_own_folder(name), GANTRY__OS_WRITE | GANTRY__OS_CREATE, 0600);
    assert_true(from >= 0 && to >= 0);
    while (bytes > 0) {
        const size_t want = bytes < sizeof block ? (size_t)bytes : sizeof block;
        const int64_t got = gantry__os_read(from, block, want);
        assert_true(got > 0);
        assert_int_equal(gantry__os_write(to, block, (size_t)got, GANTRY__OS_NEXT), got);
        bytes -= (uint64_t)got;
    }
    assert_int_equal(gantry__os_close(from), 0);
    assert_int_equal(gantry__os_close(to), 0);
}

TEST(a_file_without_its_end_is_found_out) {
    static const char here = 0;
    gantry__os_info_t info;
    const char *own = gantry__os_library_own_file(&here);
    if (strcmp(gantry__os_library_ending, ".dll") == 0) {
        print_message("skipped: the loader of Windows finds out by itself\n");
        skip();
    }
    assert_int_equal(gantry__os_path_info(own, &info), 0);
    copy_begin("half.so", info.size / 4);
    copy_begin("whole.so", info.size);
    assert_true(gantry__os_library_is_cut(in_own_folder("half.so")));
    assert_false(gantry__os_library_is_cut(in_own_folder("whole.so")));
    assert_false(gantry__os_library_is_cut("half.so"));
    assert_false(gantry__os_library_is_cut(in_own_folder("none.so")));
}

int main(void) { return test_main_with(make_own_folder, remove_own_folder, NULL, NULL); }
