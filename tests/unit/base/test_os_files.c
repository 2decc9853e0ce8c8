/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A file has what was written to its places, an end that is read as such, and the size to
 * which it was cut; several parts are read one after another.
 * Promise: A file is opened only as the flags allow: a new one only where no name is, an existing
 * one without its making, a folder as nothing else.
 * Promise: A name can be replaced in one step, be found in its folder, and be removed; a folder's
 * names come without "." and "..".
 * Promise: What is known of a file is the same by its name and by its number.
 * Promise: A pipe without a reader is an error and no signal.
 * Promise: The paths that match a pattern come the last first, and a sign after "\" means itself. */
#include <errno.h>

#include "base/os/files.h"
#include "base/os/paths.h"
#include "base/os/process.h"
#include "own_folder.h"
#include "test.h"

static int open_own(const char *name, unsigned flags) {
    return gantry__os_open(in_own_folder(name), flags, 0600);
}

TEST(content_is_at_its_place) {
    char got[16] = "";
    const int file = open_own("a", GANTRY__OS_READ | GANTRY__OS_WRITE | GANTRY__OS_NEW);
    assert_true(file >= 0);
    assert_int_equal(gantry__os_write(file, "hello", 5, GANTRY__OS_NEXT), 5);
    assert_int_equal(gantry__os_position(file), 5);
    assert_int_equal(gantry__os_write(file, "J", 1, 0), 1);
    assert_int_equal(gantry__os_read_at(file, got, 5, 0), 5);
    assert_memory_equal(got, "Jello", 5);
    assert_int_equal(gantry__os_read_at(file, got, 5, 3), 2);
    assert_int_equal(gantry__os_read_at(file, got, 5, 5), 0);
    assert_int_equal(gantry__os_truncate(file, 2), 0);
    assert_int_equal(gantry__os_flush(file), 0);
    assert_int_equal(gantry__os_read_at(file, got, 5, 0), 2);
    assert_int_equal(gantry__os_settle(file), 0);
    assert_int_equal(gantry__os_close(file), 0);
}

TEST(parts_are_filled_in_order) {
    char one[3], two[2];
    const gantry__os_part_t parts[] = {{one, 3}, {two, 2}};
    write_own_file("b", "0123456");
    const int file = open_own("b", GANTRY__OS_READ);
    assert_int_equal(gantry__os_read_parts(file, parts, 2, 1), 5);
    assert_memory_equal(one, "123", 3);
    assert_memory_equal(two, "45", 2);
    assert_int_equal(gantry__os_close(file), 0);
}

TEST(appended_bytes_go_to_the_end) {
    char got[8];
    write_own_file("c", "ab");
    const int file = open_own("c", GANTRY__OS_APPEND | GANTRY__OS_READ);
    assert_int_equal(gantry__os_write(file, "cd", 2, GANTRY__OS_NEXT), 2);
    assert_int_equal(gantry__os_read_at(file, got, sizeof got, 0), 4);
    assert_memory_equal(got, "abcd", 4);
    assert_int_equal(gantry__os_close(file), 0);
}

TEST(flags_say_what_is_opened) {
    write_own_file("d", "x");
    assert_int_equal(open_own("d", GANTRY__OS_WRITE | GANTRY__OS_NEW), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(open_own("missing", GANTRY__OS_READ), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(open_own("d", GANTRY__OS_READ | GANTRY__OS_IS_FOLDER), -1);
    assert_int_equal(errno, ENOTDIR);
    const int file = open_own("d", GANTRY__OS_READ);
    assert_true(gantry__os_write(file, "y", 1, GANTRY__OS_NEXT) < 0);
    assert_int_equal(gantry__os_close(file), 0);
    const int folder = open_own(".", GANTRY__OS_READ | GANTRY__OS_IS_FOLDER);
    assert_true(folder >= 0);
    const int inside = gantry__os_open_in(folder, "d", GANTRY__OS_READ | GANTRY__OS_NO_LINK, 0);
    assert_true(inside >= 0);
    assert_int_equal(gantry__os_close(inside), 0);
    assert_int_equal(gantry__os_close(folder), 0);
}

TEST(a_copy_is_closed_separately) {
    char got;
    write_own_file("e", "x");
    const int file = open_own("e", GANTRY__OS_READ), copy = gantry__os_copy(file, 50);
    assert_true(copy >= 50);
    assert_int_equal(gantry__os_close(file), 0);
    assert_int_equal(gantry__os_read(copy, &got, 1), 1);
    assert_int_equal(got, 'x');
    assert_int_equal(gantry__os_close(copy), 0);
}

TEST(names_are_replaced_and_removed) {
    gantry__os_info_t info;
    write_own_file("f", "new");
    write_own_file("g", "older");
    assert_int_equal(gantry__os_rename(in_own_folder("f"), in_own_folder("g")), 0);
    assert_int_equal(gantry__os_path_info(in_own_folder("f"), &info), ENOENT);
    assert_int_equal(gantry__os_path_info(in_own_folder("g"), &info), 0);
    assert_int_equal(info.size, 3);
    assert_int_equal(gantry__os_remove(in_own_folder("g")), 0);
    assert_int_equal(gantry__os_remove(in_own_folder("g")), ENOENT);
}

TEST(facts_are_those_of_one_file) {
    gantry__os_info_t open_one, named, other;
    write_own_file("h", "1234");
    write_own_file("i", "");
    const int file = open_own("h", GANTRY__OS_READ);
    const int folder = open_own(".", GANTRY__OS_READ | GANTRY__OS_IS_FOLDER);
    assert_int_equal(gantry__os_file_info(file, &open_one), 0);
    assert_int_equal(gantry__os_info_in(folder, "h", &named), 0);
    assert_int_equal(gantry__os_link_info(in_own_folder("i"), &other), 0);
    assert_true(gantry__os_is_same(&open_one, &named));
    assert_false(gantry__os_is_same(&open_one, &other));
    assert_true(gantry__os_is_mine(&open_one));
    assert_int_equal(open_one.kind, GANTRY__OS_PLAIN);
    assert_int_equal(open_one.size, 4);
    assert_int_equal(open_one.names, 1);
    assert_int_equal(gantry__os_path_info(own_folder, &other), 0);
    assert_int_equal(other.kind, GANTRY__OS_FOLDER);
    assert_int_equal(gantry__os_close(file), 0);
    assert_int_equal(gantry__os_close(folder), 0);
}

TEST(rights_are_checked) {
    write_own_file("j", "");
    assert_int_equal(gantry__os_may(in_own_folder("j"), GANTRY__OS_MAY_READ | GANTRY__OS_MAY_WRITE),
                     0);
    assert_int_equal(gantry__os_may(in_own_folder("missing"), GANTRY__OS_MAY_READ), ENOENT);
}

typedef struct seen_names_t {
    char all[256];
    size_t count, most;
} seen_names_t;

static bool see_name(void *user, const char *path) {
    seen_names_t *seen = user;
    strcat(strcat(seen->all, gantry__os_path_name(path)), " ");
    return ++seen->count < seen->most;
}

TEST(a_folder_has_its_names) {
    seen_names_t seen = {.most = 99}, first = {.most = 1};
    assert_int_equal(gantry__os_make_folder(in_own_folder("k"), 0700), 0);
    assert_int_equal(gantry__os_make_folder(in_own_folder("k"), 0700), EEXIST);
    assert_int_equal(gantry__os_list(in_own_folder("k"), see_name, &seen), 0);
    assert_int_equal(seen.count, 0);
    write_own_file("k/x", "");
    write_own_file("k/y", "");
    assert_int_equal(gantry__os_list(in_own_folder("k"), see_name, &seen), 0);
    assert_int_equal(seen.count, 2);
    assert_non_null(strstr(seen.all, "x "));
    assert_int_equal(gantry__os_list(in_own_folder("k"), see_name, &first), 0);
    assert_int_equal(first.count, 1);
    assert_int_equal(gantry__os_list(in_own_folder("missing"), see_name, &seen), ENOENT);
    assert_int_equal(gantry__os_remove(in_own_folder("k/x")), 0);
    assert_int_equal(gantry__os_remove(in_own_folder("k/y")), 0);
    assert_int_equal(gantry__os_remove_folder(in_own_folder("k")), 0);
}

TEST(matches_come_the_last_first) {
    seen_names_t seen = {.most = 99};
    write_own_file("v1.so", "");
    write_own_file("v2.so", "");
    write_own_file("v[].so", "");
    gantry__os_match(in_own_folder("v[12].s?"), see_name, &seen);
    assert_string_equal(seen.all, "v2.so v1.so ");
    seen = (seen_names_t){.most = 99};
    gantry__os_match(in_own_folder("v\\[*.so"), see_name, &seen);
    assert_string_equal(seen.all, "v[].so ");
    seen = (seen_names_t){.most = 99};
    gantry__os_match(in_own_folder("w*"), see_name, &seen);
    assert_int_equal(seen.count, 0);
}

TEST(real_paths_have_no_dots) {
    char whole[GANTRY__OS_PATH_BYTES], dotted[GANTRY__OS_PATH_BYTES];
    write_own_file("l", "");
    assert_int_equal(gantry__os_real_path(in_own_folder("l"), whole), 0);
    assert_int_equal(gantry__os_real_path(in_own_folder("./l"), dotted), 0);
    assert_string_equal(whole, dotted);
    assert_true(gantry__os_path_is_absolute(whole));
    assert_int_equal(gantry__os_real_path(in_own_folder("missing"), whole), ENOENT);
}

TEST(a_file_of_its_own_has_a_new_name) {
    char one[GANTRY__OS_PATH_BYTES], two[GANTRY__OS_PATH_BYTES];
    (void)snprintf(one, sizeof one, "%s", in_own_folder("m_XXXXXX"));
    (void)snprintf(two, sizeof two, "%s", one);
    const int first = gantry__os_make_own_file(one), second = gantry__os_make_own_file(two);
    assert_true(first >= 0 && second >= 0);
    assert_string_not_equal(one, two);
    assert_int_equal(gantry__os_write(first, "x", 1, GANTRY__OS_NEXT), 1);
    assert_int_equal(gantry__os_close(first), 0);
    assert_int_equal(gantry__os_close(second), 0);
}

TEST(a_stream_reads_the_file) {
    char line[8] = "";
    write_own_file("n", "text\n");
    FILE *stream = gantry__os_stream(open_own("n", GANTRY__OS_READ));
    assert_non_null(stream);
    assert_non_null(fgets(line, sizeof line, stream));
    assert_string_equal(line, "text\n");
    assert_int_equal(fclose(stream), 0);
}

TEST(a_pipe_without_a_reader_is_an_error) {
    int reading, writing;
    char got;
    assert_int_equal(gantry__os_pipe(&reading, &writing), 0);
    assert_true(gantry__os_read(reading, &got, 1) < 0);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(gantry__os_write(writing, "x", 1, GANTRY__OS_NEXT), 1);
    assert_int_equal(gantry__os_read(reading, &got, 1), 1);
    assert_int_equal(gantry__os_close(reading), 0);
    assert_true(gantry__os_write(writing, "x", 1, GANTRY__OS_NEXT) < 0);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(gantry__os_close(writing), 0);
}

TEST(the_room_of_a_file_system_is_known) {
    uint64_t bytes = 0;
    bool runs;
    const int folder = open_own(".", GANTRY__OS_READ | GANTRY__OS_IS_FOLDER);
    assert_int_equal(gantry__os_room(folder, &bytes, &runs), 0);
    assert_true(bytes > 0);
    assert_int_equal(gantry__os_close(folder), 0);
}

int main(void) { return test_main_with(make_own_folder, remove_own_folder, NULL, NULL); }
