/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Files are read up to a cap and written through links; special files and full devices are
 * refused, and a failed write keeps the old file.
 * Promise: Parts are read one after another from one place, and a file that ends before them is
 * refused with its end. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/new_file.h"
#include "failing_heap.h"
#include "read_whole.h"
#include "test.h"

static char root[PATH_MAX - 256]; /* this test's own directory */

static const char *in_root(const char *name) {
    static char paths[4][PATH_MAX];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, PATH_MAX, "%s/%s", root, name);
    return path;
}

static void make_in_root(const char *name) { assert_int_equal(mkdir(in_root(name), 0700), 0); }

static gantry_status_t write_text(const char *path, const char *text) {
    gantry__file_piece_t piece = {text, strlen(text)};
    return gantry__file_write(path, &piece, 1, 0);
}

static void expect_content(const char *path, const char *text) {
    void *bytes;
    size_t size;
    assert_int_equal(read_whole(&gantry__heap_default, path, SIZE_MAX, &bytes, &size), GANTRY_OK);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    gantry__heap_free(&gantry__heap_default, bytes, size);
}

static void expect_message(const char *a, const char *b) {
    if (!strstr(gantry__message(), a) || !strstr(gantry__message(), b))
        fail_msg("message: %s", gantry__message());
}

static size_t names_in_root(void) {
    gantry__directory_names_t names;
    assert_int_equal(gantry__directory_list(&gantry__heap_default, root, &names), GANTRY_OK);
    size_t count = names.count;
    gantry__directory_names_deinit(&names);
    return count;
}

static int make_root(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    (void)snprintf(root, sizeof root, "%s/gantry_test_files.XXXXXX",
                   base && base[0] ? base : "/tmp");
    return mkdtemp(root) ? 0 : -1;
}

static void remove_tree(const char *path) {
    gantry__directory_names_t names;
    if (gantry__directory_list(&gantry__heap_default, path, &names) == GANTRY_OK) {
        for (size_t i = 0; i < names.count; ++i) {
            char child[PATH_MAX];
            (void)snprintf(child, sizeof child, "%s/%s", path, names.names[i]);
            if (unlink(child) != 0) remove_tree(child);
        }
        gantry__directory_names_deinit(&names);
    }
    (void)rmdir(path);
}

static int clean_root(void **state) {
    (void)state;
    remove_tree(root);
    return 0;
}

TEST(write_then_read_gives_same_bytes) {
    const char *path = in_root("pieces");
    gantry__file_piece_t pieces[] = {{"one", 3}, {NULL, 0}, {"two", 3}};
    assert_int_equal(gantry__file_write(path, pieces, 3, GANTRY__FILE_DURABLE), GANTRY_OK);
    expect_content(path, "onetwo");
    assert_int_equal(write_text(path, "shorter"), GANTRY_OK);
    expect_content(path, "shorter");
    assert_int_equal(gantry__file_write(path, NULL, 0, 0), GANTRY_OK);
    expect_content(path, "");
    assert_int_equal(names_in_root(), 1); /* no temporary file is left */
}

TEST(write_large_then_read_gives_same_bytes) {
    size_t size = (size_t)3 << 20;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; ++i) bytes[i] = (char)(i * 31 + (i >> 9));
    gantry__file_piece_t piece = {bytes, size};
    assert_int_equal(gantry__file_write(in_root("large"), &piece, 1, 0), GANTRY_OK);
    failing_heap_t heap;
    failing_heap_init(&heap, -1);
    void *back;
    size_t back_size;
    assert_int_equal(read_whole(&heap.heap, in_root("large"), size, &back, &back_size), GANTRY_OK);
    assert_int_equal(back_size, size);
    assert_memory_equal(back, bytes, size);
    gantry__heap_free(&heap.heap, back, back_size);
    assert_int_equal(heap.live_bytes, 0);
    assert_false(heap.wrong_size);
    free(bytes);
}

TEST(read_above_the_cap_is_refused) {
    void *bytes;
    size_t size;
    assert_int_equal(write_text(in_root("ten"), "0123456789"), GANTRY_OK);
    assert_int_equal(read_whole(&gantry__heap_default, in_root("ten"), 9, &bytes, &size),
                     GANTRY_OUT_OF_RANGE);
    expect_message("/ten", "more than the 9 bytes");
    assert_null(bytes);
    assert_int_equal(read_whole(&gantry__heap_default, in_root("ten"), 10, &bytes, &size),
                     GANTRY_OK);
    gantry__heap_free(&gantry__heap_default, bytes, size);
}

/* A device may never end, and a read must not wait for a pipe's writer. */
TEST(what_is_no_plain_file_is_refused_by_name) {
    void *bytes;
    size_t size;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.100s", in_root("socket"));
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(mkfifo(in_root("pipe"), 0600), 0);
    const struct {
        const char *path, *kind;
    } cases[] = {{"/dev/zero", "it is a device"},
                 {in_root("pipe"), "it is a pipe"},
                 {in_root("socket"), "it is a socket"},
                 {root, "it is a directory"}};
    (void)alarm(60); /* SIGALRM ends a test that waits for a pipe */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_status_t status =
            read_whole(&gantry__heap_default, cases[i].path, 300000, &bytes, &size);
        assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
        expect_message(cases[i].path, cases[i].kind);
        assert_null(bytes);
        assert_int_equal(gantry__file_check_plain(cases[i].path), GANTRY_INVALID_ARGUMENT);
    }
    (void)alarm(0);
    (void)close(listener);
    /* a missing file passes; opening it reports the error */
    assert_int_equal(gantry__file_check_plain(in_root("no")), GANTRY_OK);
}

/* Files in /proc report a size of 0 bytes. */
TEST(read_without_known_size_gives_all) {
    FILE *name = fopen("/proc/self/comm", "w");
    if (!name) {
        print_message("SKIP: there is no /proc/self/comm\n");
        skip();
    }
    assert_true(fputs("by size 0", name) >= 0);
    (void)fclose(name);
    expect_content("/proc/self/comm", "by size 0\n");
}

TEST(missing_file_is_not_found_by_name) {
    void *bytes;
    size_t size;
    assert_int_equal(read_whole(&gantry__heap_default, in_root("no"), 9, &bytes, &size),
                     GANTRY_NOT_FOUND);
    expect_message("/no'", "No such file");
    assert_int_equal(write_text(in_root("no/such/place"), "x"), GANTRY_NOT_FOUND);
    expect_message("/no/such/place'", "No such file");
}

TEST(directory_in_place_of_file_is_refused) {
    void *bytes;
    size_t size;
    assert_int_equal(read_whole(&gantry__heap_default, root, 9, &bytes, &size),
                     GANTRY_INVALID_ARGUMENT);
    expect_message(root, "directory");
    assert_int_equal(write_text(root, "x"), GANTRY_INVALID_ARGUMENT);
}

TEST(empty_or_null_path_is_refused) {
    void *bytes;
    size_t size;
    gantry__directory_names_t names;
    assert_int_equal(read_whole(&gantry__heap_default, NULL, 9, &bytes, &size),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("path", "NULL");
    assert_int_equal(gantry__file_write("", NULL, 0, 0), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__directory_list(&gantry__heap_default, "", &names),
                     GANTRY_INVALID_ARGUMENT);
}

TEST(write_to_full_device_reports_and_leaves_it) {
    if (access("/dev/full", W_OK) != 0) {
        print_message("skipped: no /dev/full, this is not Linux\n");
        skip();
    }
    assert_int_equal(write_text("/dev/full", "x"), GANTRY_RESOURCE_EXHAUSTED);
    expect_message("/dev/full", "No space");
    struct stat info;
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(write_text("/dev/null", "x"), GANTRY_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

/* The system sends SIGXFSZ, which ends a process that does not expect it. */
TEST(write_beyond_the_limit_is_reported_and_ends_no_process) {
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(write_text(in_root("short"), "four"), GANTRY_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4, before.rlim_max}), 0);
    gantry_status_t fits = write_text(in_root("short"), "fits"),
                    refused = write_text(in_root("short"), "longer");
    sigset_t pending, blocked;
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(fits, GANTRY_OK);
    assert_int_equal(refused, GANTRY_RESOURCE_EXHAUSTED);
    expect_message("/short'", "File too large");
    expect_content(in_root("short"), "fits");
    assert_false(sigismember(&pending, SIGXFSZ));
    assert_false(sigismember(&blocked, SIGXFSZ));
}

TEST(write_through_link_keeps_the_link) {
    char target[PATH_MAX], link[PATH_MAX];
    (void)snprintf(target, sizeof target, "%s", in_root("target"));
    (void)snprintf(link, sizeof link, "%s", in_root("link"));
    assert_int_equal(write_text(target, "old"), GANTRY_OK);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(write_text(link, "new"), GANTRY_OK);
    expect_content(target, "new");
    struct stat info;
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

/* The temporary file's name is shortened. */
TEST(the_longest_name_is_written) {
    char name[257];
    memset(name, 'n', sizeof name - 1);
    name[256] = '\0';
    assert_int_equal(write_text(in_root(name), "new"), GANTRY_INVALID_ARGUMENT);
    expect_message("nnn", "too long");
    name[255] = '\0';
    assert_int_equal(write_text(in_root(name), "new"), GANTRY_OK);
    expect_content(in_root(name), "new");
}

TEST(failed_write_keeps_the_old_file) {
    if (geteuid() == 0) {
        print_message(
            "SKIP: the superuser may write anywhere; the limit of a file's size, above, "
            "makes a write fail for all users\n");
        skip();
    }
    make_in_root("closed");
    assert_int_equal(write_text(in_root("closed/file"), "old"), GANTRY_OK);
    assert_int_equal(chmod(in_root("closed"), 0500), 0);
    assert_int_equal(write_text(in_root("closed/file"), "new"), GANTRY_PERMISSION_DENIED);
    expect_content(in_root("closed/file"), "old");
    assert_int_equal(chmod(in_root("closed"), 0700), 0);
}

TEST(listing_is_sorted_and_complete) {
    gantry__directory_names_t names;
    make_in_root("list");
    make_in_root("list/z");
    assert_int_equal(gantry__directory_list(&gantry__heap_default, in_root("list/z"), &names),
                     GANTRY_OK);
    assert_int_equal(names.count, 0);
    gantry__directory_names_deinit(&names);
    for (int i = 29; i >= 0; --i) {
        char name[32];
        (void)snprintf(name, sizeof name, "list/n%02d", i);
        assert_int_equal(write_text(in_root(name), "x"), GANTRY_OK);
    }
    assert_int_equal(gantry__directory_list(&gantry__heap_default, in_root("list"), &names),
                     GANTRY_OK);
    assert_int_equal(names.count, 31);
    assert_string_equal(names.names[0], "n00");
    assert_string_equal(names.names[29], "n29");
    assert_string_equal(names.names[30], "z");
    gantry__directory_names_deinit(&names);
    assert_int_equal(gantry__directory_list(&gantry__heap_default, in_root("none"), &names),
                     GANTRY_NOT_FOUND);
    expect_message("/none'", "No such file");
    gantry__directory_names_deinit(&names); /* harmless after a failure */
}

TEST(parts_are_read_one_after_another) {
    const char *path = in_root("parts");
    char one[4] = "", two[4] = "";
    int file;
    uint64_t size;
    assert_int_equal(write_text(path, "0123456789"), GANTRY_OK);
    assert_int_equal(gantry__file_open(path, 100, &file, &size), GANTRY_OK);
    gantry__os_part_t parts[] = {{NULL, 0}, {one, 3}, {NULL, 0}, {two, 2}, {NULL, 0}};
    assert_int_equal(gantry__file_read_parts(file, path, 5, parts, 5), GANTRY_OK);
    assert_string_equal(one, "567");
    assert_string_equal(two, "89");
    gantry__os_part_t more[] = {{one, 3}, {two, 3}};
    assert_int_equal(gantry__file_read_parts(file, path, 5, more, 2), GANTRY_DATA_LOSS);
    expect_message("/parts'", "it ends at byte 10, 1 bytes too early");
    assert_int_equal(gantry__file_read_parts(file, path, 50, NULL, 0), GANTRY_OK);
    gantry__file_close(file);
}

TEST(memory_running_out_leaks_nothing) {
    make_in_root("few");
    assert_int_equal(write_text(in_root("few/a"), "x"), GANTRY_OK);
    assert_int_equal(write_text(in_root("few/b"), "x"), GANTRY_OK);
    failing_heap_t heap;
    for (long at = 0; at < 3; ++at) {
        gantry__directory_names_t names;
        failing_heap_init(&heap, at);
        assert_int_equal(gantry__directory_list(&heap.heap, in_root("few"), &names),
                         GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(heap.live_blocks, 0);
        assert_false(heap.wrong_size);
    }
    for (long at = 0; at < 2; ++at) {
        void *bytes;
        size_t size;
        failing_heap_init(&heap, at);
        assert_int_equal(read_whole(&heap.heap, in_root("few/a"), 9, &bytes, &size),
                         GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(heap.live_blocks, 0);
        assert_false(heap.wrong_size);
    }
}

int main(void) { return test_main_each(make_root, clean_root); }
