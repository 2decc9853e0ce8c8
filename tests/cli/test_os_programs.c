/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A stream to a function hands on all bytes in their order, and closing it says whether
 * the function refused some.
 * Promise: A program is found by its path and in the folders of PATH, its exit code comes back, and
 * what cannot be run says why.
 * Promise: A process has a name, and began after its machine; no other user's process has its
 * number.
 * Promise: A file is removed by its name in an open folder, and the folder for temporary files
 * takes one.
 *
 * What only programs need of a system (base/os), without the command. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/arguments.h"
#include "base/os/clock.h"
#include "base/os/environment.h"
#include "base/os/foreground.h"
#include "base/os/load.h"
#include "base/os/output.h"
#include "base/os/paths.h"
#include "base/os/process.h"
#include "base/os/processes.h"
#include "base/os/program_files.h"
#include "base/os/terminal.h"
#include "base/os/user_places.h"
#include "base/os/users.h"
#include "test.h"

#define CHILD_CODE 7

static const char *own_path; /* this program's */

/* ---- streams to functions ---- */

typedef struct kept_t {
    unsigned char bytes[1 << 18];
    size_t count, most;
} kept_t;

static bool keep_bytes(void *user, const void *bytes, size_t size) {
    kept_t *kept = user;
    if (size > kept->most - kept->count) return false;
    memcpy(kept->bytes + kept->count, bytes, size);
    kept->count += size;
    return true;
}

static bool write_numbers(kept_t *kept, size_t most) {
    gantry__os_sink_t sink = {keep_bytes, kept};
    kept->count = 0;
    kept->most = most;
    FILE *stream = gantry__os_sink_open(&sink);
    assert_non_null(stream);
    for (unsigned i = 0; i < 40000; ++i) (void)fputc((int)(i * 7 % 256), stream);
    (void)fprintf(stream, "end\n");
    return gantry__os_sink_close(&sink, stream);
}

TEST(stream_to_a_function_hands_on_every_byte) {
    static kept_t kept;
    assert_true(write_numbers(&kept, sizeof kept.bytes));
    assert_int_equal(kept.count, 40004);
    for (unsigned i = 0; i < 40000; ++i) assert_int_equal(kept.bytes[i], i * 7 % 256);
    assert_memory_equal(kept.bytes + 40000, "end\n", 4);
}

TEST(stream_whose_function_refuses_bytes_fails) {
    static kept_t kept;
    assert_false(write_numbers(&kept, 100));
}

/* ---- programs ---- */

TEST(program_is_found_and_its_code_comes_back) {
    char path[GANTRY__OS_PATH_BYTES], child[] = "child", with_space[] = "a b\"c\\", empty[] = "";
    char *arguments[] = {path, child, with_space, empty, NULL};
    int code = -1;
    assert_int_equal(gantry__os_find_program(own_path, path), 0);
    assert_int_equal(gantry__os_run(path, arguments, &code), GANTRY__OS_RUN_ENDED);
    assert_int_equal(code, CHILD_CODE);
}

TEST(program_is_found_in_the_folders_of_path) {
    char path[GANTRY__OS_PATH_BYTES], list[2 * GANTRY__OS_PATH_BYTES], before[32768];
    const char *name = gantry__os_path_name(own_path);
    if (name == own_path) return; /* it was started by its name */
    assert_true(gantry__os_variable("PATH", before, sizeof before) <= sizeof before);
    (void)snprintf(list, sizeof list, "/nowhere%c%.*s", gantry__os_list_separator,
                   (int)(name - own_path - 1), own_path);
    assert_int_equal(gantry__os_set_variable("PATH", list), 0);
    const int found = gantry__os_find_program(name, path),
              missing = gantry__os_find_program("gantry_no_such_program", path);
    assert_int_equal(gantry__os_set_variable("PATH", before), 0);
    assert_int_equal(found, 0);
    assert_int_equal(missing, ENOENT);
}

TEST(what_is_no_program_says_why) {
    char path[GANTRY__OS_PATH_BYTES];
    assert_int_equal(gantry__os_find_program("", path), ENOENT);
    assert_int_equal(gantry__os_find_program("./gantry_no_such_program", path), ENOENT);
    assert_int_equal(gantry__os_find_program("./.", path), EISDIR);
}

/* ---- processes and users ---- */

TEST(own_process_has_a_name_and_a_start) {
    char name[64], user[64];
    const int64_t own = gantry__os_process();
    gantry__os_process_describe(own, name, sizeof name, user, sizeof user);
    assert_non_null(strstr(name, "os_prog"));
    const int64_t effective = gantry__os_acting_user();
    const uint64_t number = effective >= 0 ? (uint64_t)effective : 0;
    const double start = gantry__os_process_start(own, number),
                 now = 1e-9 * (double)gantry__os_boot_ns();
    assert_true(start >= 0.0 && start <= now + 0.01);
    if (effective >= 0) assert_true(gantry__os_process_start(own, number + 1) < 0.0);
    gantry__os_process_describe(1999999999, name, sizeof name, user, sizeof user);
    assert_string_equal(name, "");
}

TEST(user_without_a_name_has_none) {
    char name[64] = "x";
    assert_false(gantry__os_user_name(4000000123u, name, sizeof name));
    assert_string_equal(name, "");
    assert_false(gantry__os_group_name(4000000123u, name, sizeof name));
    for (size_t i = 0; i < GANTRY__OS_USER_PLACES; ++i)
        assert_non_null(gantry__os_user_places[i].variable);
}

TEST(cores_have_not_worked_longer_than_there_was_time) {
    double busy = -1, all = -1;
    if (!gantry__os_load(&busy, &all)) return; /* a system that does not count it */
    assert_true(busy >= 0 && busy <= all);
}

/* ---- files ---- */

TEST(file_is_removed_by_its_name_in_an_open_folder) {
    char folder[GANTRY__OS_PATH_BYTES], path[GANTRY__OS_PATH_BYTES + 16];
    gantry__os_info_t info;
    assert_true(gantry__os_temporary_folder(folder, sizeof folder - 32));
    (void)strcat(folder, "/gantry_test_XXXXXX");
    assert_int_equal(gantry__os_make_own_folder(folder), 0);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    const int file = gantry__os_open(path, GANTRY__OS_WRITE | GANTRY__OS_NEW, 0600);
    assert_true(file >= 0);
    assert_int_equal(gantry__os_close(file), 0);
    const int opened = gantry__os_open(folder, GANTRY__OS_READ | GANTRY__OS_IS_FOLDER, 0);
    assert_true(opened >= 0);
    assert_int_equal(gantry__os_remove_in(opened, "other"), ENOENT);
    assert_int_equal(gantry__os_remove_in(opened, "file"), 0);
    assert_int_equal(gantry__os_path_info(path, &info), ENOENT);
    assert_int_equal(gantry__os_close(opened), 0);
    assert_int_equal(gantry__os_remove_folder(folder), 0);
}

TEST(plain_file_is_no_terminal) {
    size_t columns = 1, lines = 1;
    char path[GANTRY__OS_PATH_BYTES];
    assert_int_equal(gantry__os_find_program(own_path, path), 0);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_false(gantry__os_is_terminal(file));
    gantry__os_terminal_size(file, &columns, &lines);
    assert_int_equal(columns, 0);
    assert_int_equal(lines, 0);
    (void)fclose(file);
}

int main(int argc, char **argv) {
    argv = gantry__os_arguments(&argc, argv);
    own_path = argv[0];
    if (argc == 1) return test_main();
    return argc == 4 && strcmp(argv[1], "child") == 0 && strcmp(argv[2], "a b\"c\\") == 0 &&
                   argv[3][0] == '\0'
               ? CHILD_CODE
               : 1;
}
