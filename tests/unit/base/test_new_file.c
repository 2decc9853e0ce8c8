/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A file is written whole or not at all: a full device and the limit of sizes (ulimit -f)
 * are an error, end no process, keep the old file and leave no temporary file.
 * Promise: A temporary file that a killed writer left is removed by the next writer of the path,
 * and one that a living process is writing is not.
 * Promise: A symbolic link in the place of a file that is written stays, whether it names a file,
 * none yet, or another link; the file that it names is written.
 * Promise: Temporary files that no later writer would remove are removed by a sweep of their
 * folder, unless a process is writing them.
 * Promise: What is appended to a file is there whole or not at all.
 * Promise: A part of an open file is read whole or not at all, and the file's position stays. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/new_file.h"
#include "read_whole.h"
#include "test.h"

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
    assert_int_equal(read_whole(&gantry__heap_default, path, 1 << 16, &bytes, &size), GANTRY_OK);
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

TEST(limit_of_sizes_is_an_error) {
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

TEST(full_device_is_an_error) {
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

TEST(left_file_is_removed_and_a_live_one_is_not) {
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
TEST(what_is_no_left_file_stays) {
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

TEST(writers_of_one_path_do_not_meet) {
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

TEST(nobody_stops_an_append) {
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

TEST(link_is_followed_or_replaced) {
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

TEST(wrong_calls_are_refused) {
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

TEST(parts_of_a_file_are_read_whole_or_not_at_all) {
    char bytes[8] = "";
    assert_int_equal(gantry_file_append(in_root("part"), "0123456789", 10), GANTRY_OK);
    const int file = open(in_root("part"), O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(gantry_file_read_at(file, "part", 6, bytes, 4), GANTRY_OK);
    assert_string_equal(bytes, "6789");
    assert_int_equal(gantry_file_read_at(file, "part", 6, bytes, 5), GANTRY_DATA_LOSS);
    expect_message("cannot read 'part': it ends at byte 10, 1 bytes too early");
    assert_int_equal(gantry_file_read_at(file, "part", 10, NULL, 0), GANTRY_OK);
    assert_int_equal(gantry_file_read_at(file, "part", 0, NULL, 1), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_file_read_at(file, NULL, 0, bytes, 1), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_file_read_at(-1, "part", 0, bytes, 1), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_file_read_at(file, "part", UINT64_MAX, bytes, 1),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(lseek(file, 0, SEEK_CUR), 0);
    (void)close(file);
    assert_int_equal(unlink(in_root("part")), 0);
}

TEST(link_without_a_file_stays) {
    char link[128], target[128], folder[128];
    (void)snprintf(link, sizeof link, "%s/link", root);
    (void)snprintf(folder, sizeof folder, "%s/folder", root);
    (void)snprintf(target, sizeof target, "%s/folder/target", root);
    assert_int_equal(mkdir(folder, 0700), 0);
    const char *const names_of_target[] = {"folder/target", target, "folder/../folder/target",
                                           "second"};
    assert_int_equal(symlink(target, in_root("second")), 0);
    for (size_t i = 0; i < sizeof names_of_target / sizeof names_of_target[0]; ++i) {
        struct stat info;
        assert_int_equal(symlink(names_of_target[i], link), 0);
        for (int times = 0; times < 2; ++times) { /* dangling, then not */
            assert_int_equal(write_text(link, times == 0 ? "first" : "second"), GANTRY_OK);
            expect_content(target, times == 0 ? "first" : "second");
            assert_int_equal(lstat(link, &info), 0);
            assert_true(S_ISLNK(info.st_mode));
        }
        assert_int_equal(unlink(link), 0);
        assert_int_equal(unlink(target), 0);
    }
    assert_int_equal(symlink("link", link), 0); /* to itself */
    assert_int_equal(write_text(link, "x"), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("nowhere/target", link), 0);
    assert_int_equal(write_text(link, "x"), GANTRY_NOT_FOUND);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(in_root("second")), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(names(), 0);
}

TEST(own_file_that_is_shown_has_its_mode) {
    static const gantry__file_piece_t piece = {"x", 1};
    struct stat info;
    const mode_t mask = umask(022);
    assert_int_equal(symlink("none", in_root("own")), 0);
    assert_int_equal(
        gantry__file_write(in_root("own"), &piece, 1, GANTRY__FILE_OWN | GANTRY__FILE_SHOWN),
        GANTRY_OK);
    assert_int_equal(lstat(in_root("own"), &info), 0);
    assert_int_equal(info.st_mode, S_IFREG | 0644); /* the link is replaced */
    (void)umask(mask);
    assert_int_equal(unlink(in_root("own")), 0);
    assert_int_equal(names(), 0);
}

TEST(sweep_removes_what_nobody_writes) {
    static const char *const stay[] = {"a.json", "a.json.1.tmp", "a.json.0000000g.tmp", "b.tmp",
                                       "a.npy.00000000.tmp"};
    gantry_new_file_t file;
    for (size_t i = 0; i < sizeof stay / sizeof stay[0]; ++i)
        assert_int_equal(write_text(in_root(stay[i]), "x"), GANTRY_OK);
    assert_int_equal(write_text(in_root("1-ab.json.00000000.tmp"), "x"), GANTRY_OK);
    assert_int_equal(write_text(in_root("1-ab.json.0000000f.tmp"), "x"), GANTRY_OK);
    assert_int_equal(symlink("a.json", in_root("2.json.00000000.tmp")), 0);
    assert_int_equal(mkfifo(in_root("3.json.00000000.tmp"), 0600), 0);
    assert_int_equal(gantry_file_begin(in_root("4.json"), &file), GANTRY_OK);
    gantry__new_file_sweep(&gantry__heap_default, root, ".json");
    assert_int_equal(names(),
                     sizeof stay / sizeof stay[0] + 3); /* link, pipe, and what is written */
    assert_int_equal(gantry_file_end(&file), GANTRY_OK);
    gantry__new_file_sweep(&gantry__heap_default, in_root("none"), ".json");
    assert_string_equal(gantry__message(), "");
}

int main(void) { return test_main_each(make_root, remove_root); }
