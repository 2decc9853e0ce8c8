/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A file is written whole or not at all: a full device and the limit of sizes (ulimit -f)
 * are an error, end no process, keep the old file and leave nothing beside it.
 * Promise: What a killed writer left is removed by the next writer of the path, and a file that
 * another writer is writing is not.
 * Promise: What is appended is there whole or not at all. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/new_file.h"

static char root[64];

static const char *in_root(const char *name) {
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static int make_root(void **state) {
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/gantry_new_file_XXXXXX");
    return mkdtemp(root) ? 0 : 1;
}

static int remove_root(void **state) {
    gantry__directory_names_t found;
    (void)state;
    if (gantry__directory_list(&gantry__heap_default, root, &found) != GANTRY_OK) return 1;
    for (size_t i = 0; i < found.count; ++i) (void)unlink(in_root(found.names[i]));
    gantry__directory_names_deinit(&found);
    return rmdir(root);
}

static size_t names(void) {
    gantry__directory_names_t found;
    assert_int_equal(gantry__directory_list(&gantry__heap_default, root, &found), GANTRY_OK);
    const size_t count = found.count;
    gantry__directory_names_deinit(&found);
    return count;
}

static gantry_status_t write_text(const char *path, const char *text) {
    gantry_new_file_t file;
    gantry_status_t status = gantry_file_begin(path, &file);
    if (status == GANTRY_OK) status = gantry_file_write(&file, text, strlen(text));
    if (status == GANTRY_OK) status = gantry_file_end(&file);
    gantry_file_abandon(&file);
    return status;
}

static void expect_content(const char *path, const char *wanted) {
    void *bytes;
    size_t size;
    assert_int_equal(gantry__file_read(&gantry__heap_default, path, 1 << 16, &bytes, &size),
                     GANTRY_OK);
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(bytes, wanted, size);
    gantry__heap_free(&gantry__heap_default, bytes, size);
}

static void expect_message(const char *text) {
    if (!strstr(gantry__message(), text)) fail_msg("message: %s", gantry__message());
}

/* ---- limits ---- */

static void set_limit(rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void limit_of_sizes_is_an_error(void **state) {
    (void)state;
    assert_int_equal(write_text(in_root("file"), "old"), GANTRY_OK);
    assert_int_equal(gantry_file_append(in_root("log"), "one\n", 4), GANTRY_OK);
    set_limit(6);
    const gantry_status_t fits = write_text(in_root("file"), "new"),
                          refused = write_text(in_root("file"), "too long");
    expect_message("/file': File too large");
    const gantry_status_t appended = gantry_file_append(in_root("log"), "two\n", 4);
    expect_message("/log': File too large");
    set_limit(RLIM_INFINITY);
    assert_int_equal(fits, GANTRY_OK);
    assert_int_equal(refused, GANTRY_RESOURCE_EXHAUSTED);
    assert_int_equal(appended, GANTRY_RESOURCE_EXHAUSTED);
    expect_content(in_root("file"), "new");
    expect_content(in_root("log"), "one\n");
    assert_int_equal(names(), 2);
    assert_int_equal(gantry_file_append(in_root("log"), "two\n", 4), GANTRY_OK);
    expect_content(in_root("log"), "one\ntwo\n");
}

static void full_device_is_an_error(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0) {
        print_message("SKIP: no /dev/full, this is not Linux\n");
        skip();
    }
    assert_int_equal(write_text("/dev/full", "x"), GANTRY_RESOURCE_EXHAUSTED);
    expect_message("cannot write '/dev/full': No space");
    assert_int_equal(gantry_file_append("/dev/full", "x", 1), GANTRY_RESOURCE_EXHAUSTED);
    expect_message("cannot write '/dev/full': No space");
    assert_int_equal(write_text("/dev/null", "x"), GANTRY_OK);
}

/* ---- what is left ---- */

/* The child dies with the file begun. */
static void leave(const char *path) {
    const pid_t child = fork();
    if (child == 0) {
        gantry_new_file_t file;
        (void)gantry_file_begin(path, &file);
        (void)gantry_file_write(&file, "half", 4);
        (void)kill(getpid(), SIGKILL);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void left_file_is_removed_and_a_live_one_is_not(void **state) {
    (void)state;
    gantry_new_file_t live;
    leave(in_root("file"));
    assert_int_equal(names(), 1);
    assert_int_equal(write_text(in_root("file"), "whole"), GANTRY_OK);
    assert_int_equal(names(), 1);
    expect_content(in_root("file"), "whole");
    assert_int_equal(gantry_file_begin(in_root("file"), &live), GANTRY_OK);
    assert_int_equal(gantry_file_write(&live, "live", 4), GANTRY_OK);
    leave(in_root("file"));
    assert_int_equal(names(), 3);
    assert_int_equal(write_text(in_root("file"), "other"), GANTRY_OK);
    assert_int_equal(names(), 2);
    assert_int_equal(gantry_file_end(&live), GANTRY_OK);
    assert_int_equal(names(), 1);
    expect_content(in_root("file"), "live");
}

/* A link or a folder of that name is none of ours. */
static void what_is_no_left_file_stays(void **state) {
    (void)state;
    assert_int_equal(write_text(in_root("other"), "mine"), GANTRY_OK);
    assert_int_equal(symlink("other", in_root("file.00000000.tmp")), 0);
    assert_int_equal(mkdir(in_root("file.00000001.tmp"), 0700), 0);
    assert_int_equal(mkfifo(in_root("file.00000002.tmp"), 0600), 0);
    assert_int_equal(write_text(in_root("file"), "whole"), GANTRY_OK);
    assert_int_equal(names(), 5);
    expect_content(in_root("other"), "mine");
    assert_int_equal(rmdir(in_root("file.00000001.tmp")), 0);
}

enum { WRITERS = 8, WRITES = 60 };

static void *write_often(void *argument) {
    char text[16];
    intptr_t wrong = 0;
    (void)snprintf(text, sizeof text, "%d", (int)(intptr_t)argument);
    for (int i = 0; i < WRITES; ++i) {
        gantry_new_file_t file;
        char path[256];
        (void)snprintf(path, sizeof path, "%s/file", root);
        wrong += gantry_file_begin(path, &file) != GANTRY_OK;
        wrong += gantry_file_write(&file, text, strlen(text)) != GANTRY_OK;
        if (i % 3 == 1) {
            gantry_file_abandon(&file);
        } else {
            wrong += gantry_file_end(&file) != GANTRY_OK;
        }
    }
    return (void *)wrong;
}

static void writers_of_one_path_do_not_meet(void **state) {
    (void)state;
    pthread_t threads[WRITERS];
    for (intptr_t i = 0; i < WRITERS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, write_often, (void *)i), 0);
    for (int i = 0; i < WRITERS; ++i) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_int_equal(names(), 1);
}

/* ---- what must not be waited for ---- */

static void nobody_stops_an_append(void **state) {
    (void)state;
    assert_int_equal(gantry_file_append(in_root("shared"), "one\n", 4), GANTRY_OK);
    const int lock = open(in_root("shared"), O_RDONLY);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(gantry_file_append(in_root("shared"), "two\n", 4), GANTRY_OK);
    (void)close(lock);
    expect_content(in_root("shared"), "one\ntwo\n");
    assert_int_equal(mkfifo(in_root("pipe"), 0600), 0);
    assert_true(gantry_file_append(in_root("pipe"), "x", 1) != GANTRY_OK);
    gantry_new_file_t file;
    assert_true(gantry_file_begin(in_root("pipe"), &file) != GANTRY_OK);
    gantry_file_abandon(&file);
}

/* ---- links and wrong calls ---- */

static void link_is_followed_or_replaced(void **state) {
    (void)state;
    struct stat info;
    assert_int_equal(write_text(in_root("target"), "old"), GANTRY_OK);
    assert_int_equal(symlink("target", in_root("link")), 0);
    assert_int_equal(write_text(in_root("link"), "new"), GANTRY_OK);
    expect_content(in_root("target"), "new");
    const gantry__file_piece_t piece = {"mine", 4};
    assert_int_equal(gantry__file_write(in_root("link"), &piece, 1, GANTRY__FILE_OWN), GANTRY_OK);
    assert_int_equal(lstat(in_root("link"), &info), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_int_equal(info.st_mode & 077, 0);
    expect_content(in_root("target"), "new");
}

static void wrong_calls_are_refused(void **state) {
    (void)state;
    gantry_new_file_t file;
    assert_int_equal(gantry_file_begin(NULL, &file), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_file_begin("", &file), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_file_begin(root, &file), GANTRY_INVALID_ARGUMENT);
    expect_message("Is a directory");
    assert_int_equal(gantry_file_begin(in_root("no/file"), &file), GANTRY_NOT_FOUND);
    assert_int_equal(gantry_file_begin(in_root("file"), NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_file_begin(in_root("file"), &file), GANTRY_OK);
    assert_int_equal(gantry_file_write(&file, NULL, 1), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_file_write(&file, NULL, 0), GANTRY_OK);
    gantry_file_abandon(&file);
    gantry_file_abandon(&file);
    gantry_file_abandon(NULL);
    assert_int_equal(gantry_file_write(&file, "x", 1), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_file_end(&file), GANTRY_INVALID_ARGUMENT);
    expect_message("gantry_file_end: the file is closed");
    assert_int_equal(gantry_file_append(NULL, "x", 1), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_file_append(in_root("no/file"), "x", 1), GANTRY_NOT_FOUND);
    assert_int_equal(gantry_file_append(in_root("file"), NULL, 1), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(names(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(limit_of_sizes_is_an_error, make_root, remove_root),
        cmocka_unit_test_setup_teardown(full_device_is_an_error, make_root, remove_root),
        cmocka_unit_test_setup_teardown(left_file_is_removed_and_a_live_one_is_not, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(what_is_no_left_file_stays, make_root, remove_root),
        cmocka_unit_test_setup_teardown(writers_of_one_path_do_not_meet, make_root, remove_root),
        cmocka_unit_test_setup_teardown(nobody_stops_an_append, make_root, remove_root),
        cmocka_unit_test_setup_teardown(link_is_followed_or_replaced, make_root, remove_root),
        cmocka_unit_test_setup_teardown(wrong_calls_are_refused, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
