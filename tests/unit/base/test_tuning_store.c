/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The tuning file keeps records, skips bad lines with a reason, and takes several writers
 * at once.
 * Promise: A tuning file that is foreign or unreadable is neither used nor overwritten, with a
 * warning, and a writer that is killed leaves a whole file.
 * Promise: A tuning file that others may write, or that is no plain file, is not used, and a
 * warning names it; no folder is made for it where others may write.
 *
 * A killed process damages nothing. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/tuning_store.h"
#include "failing_heap.h"
#include "log_lines.h"
#include "test.h"

#define TIME "2026-11-22T01:02:03Z"
#define LINE(device, what, values) TIME "\t" device "\t" what "\t" values "\n"

static char folder[64];
static char path[96];

typedef struct fixture_t {
    failing_heap_t heap;
    log_lines_t log;
    gantry__settings_t settings;
    gantry__tuning_store_t store;
} fixture_t;

static void open_as(fixture_t *f, const char *file) {
    failing_heap_init(&f->heap, -1);
    log_lines_init(&f->log);
    assert_int_equal(gantry__settings_init(&f->settings, &f->heap.heap), GANTRY_OK);
    if (file)
        assert_int_equal(gantry__settings_put(&f->settings, "GANTRY_TUNING_FILE", file), GANTRY_OK);
    assert_int_equal(gantry__tuning_store_init(&f->store, &f->heap.heap, &f->log.log, &f->settings),
                     GANTRY_OK);
}

static void open_store(fixture_t *f) { open_as(f, path); }

static void close_store(fixture_t *f) {
    gantry__tuning_store_deinit(&f->store);
    gantry__settings_deinit(&f->settings);
    assert_int_equal(f->heap.live_blocks, 0);
    assert_false(f->heap.wrong_size);
}

static void write_file(const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect_file(const char *text) {
    char got[4096] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    got[fread(got, 1, sizeof got - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(got, text);
}

static bool count_record(void *user, const gantry__tuning_record_t *record) {
    (void)record;
    ++*(int *)user;
    return true;
}

static int records_in(fixture_t *f) {
    int count = 0;
    assert_int_equal(gantry__tuning_store_list(&f->store, count_record, &count), GANTRY_OK);
    return count;
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/gantry_tuning_XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/deeper/records", folder);
    char deeper[96];
    (void)snprintf(deeper, sizeof deeper, "%s/deeper", folder);
    return mkdir(deeper, 0700);
}

static int remove_folder(void **state) {
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "chmod -R u+w '%s' && rm -rf '%s'", folder, folder);
    return system(command) == 0 ? 0 : -1;
}

/* ---- storing and finding ---- */

TEST(what_is_put_is_found_by_the_next_store) {
    fixture_t f;
    open_store(&f);
    /* no file: no record and no warning */
    assert_null(gantry__tuning_store_find(&f.store, "A", "x.y"));
    assert_int_equal(f.log.count, 0);
    assert_int_equal(gantry__tuning_store_put(&f.store, "A", "x.y", "n=1 m=2"), GANTRY_OK);
    assert_int_equal(gantry__tuning_store_put(&f.store, "B", "x.y", "n=3"), GANTRY_OK);
    assert_int_equal(gantry__tuning_store_put(&f.store, "A", "x.z", "n=4"), GANTRY_OK);
    /* it replaces the first */
    assert_int_equal(gantry__tuning_store_put(&f.store, "A", "x.y", "n=5"), GANTRY_OK);
    /* the file was read before */
    assert_null(gantry__tuning_store_find(&f.store, "A", "x.y"));
    assert_int_equal(records_in(&f), 3);
    close_store(&f);
    open_store(&f);
    const gantry__tuning_record_t *record = gantry__tuning_store_find(&f.store, "A", "x.y");
    assert_non_null(record);
    assert_string_equal(record->values, "n=5");
    assert_int_equal(record->line, 4);
    assert_int_equal(strlen(record->measured), 20);
    assert_string_equal(gantry__tuning_store_find(&f.store, "B", "x.y")->values, "n=3");
    assert_string_equal(gantry__tuning_store_find(&f.store, "A", "x.z")->values, "n=4");
    assert_int_equal(f.log.count, 0);
    close_store(&f);
}

TEST(removing_takes_a_device_a_kind_or_all) {
    fixture_t f;
    size_t removed = 99;
    write_file(GANTRY__TUNING_HEAD "# kept\n" LINE("A", "x.y", "1") LINE("A", "x.z", "2")
                   LINE("B", "x.y", "3") LINE("B", "w", "4"));
    open_store(&f);
    assert_int_equal(gantry__tuning_store_remove(&f.store, "A", "x", &removed), GANTRY_OK);
    assert_int_equal(removed, 2);
    expect_file(GANTRY__TUNING_HEAD "# kept\n" LINE("B", "x.y", "3") LINE("B", "w", "4"));
    assert_int_equal(gantry__tuning_store_remove(&f.store, NULL, "w", &removed), GANTRY_OK);
    assert_int_equal(removed, 1);
    assert_int_equal(gantry__tuning_store_remove(&f.store, "A", NULL, &removed), GANTRY_OK);
    assert_int_equal(removed, 0);
    assert_int_equal(gantry__tuning_store_remove(&f.store, NULL, NULL, &removed), GANTRY_OK);
    assert_int_equal(removed, 1);
    expect_file(GANTRY__TUNING_HEAD "# kept\n");
    close_store(&f);
}

TEST(texts_that_cannot_be_kept_are_refused) {
    fixture_t f;
    open_store(&f);
    assert_int_equal(gantry__tuning_store_put(&f.store, "A", "x y", "1"), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry__message(), "the key is not"));
    assert_int_equal(gantry__tuning_store_put(&f.store, "A\n", "x", "1"), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__tuning_store_put(&f.store, "A", "x", "1\t2"), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__tuning_store_put(&f.store, "A", "x", ""), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(records_in(&f), 0);
    close_store(&f);
}

/* ---- wrong files ---- */

TEST(wrong_lines_are_passed_over_and_told_once) {
    fixture_t f;
    write_file(GANTRY__TUNING_HEAD "garbage\n" LINE("A", "x", "1") TIME
               "\tA\tBAD\t1\n" LINE("A", "y", "2") TIME "\tA\tx\tcut off");
    open_store(&f);
    assert_string_equal(gantry__tuning_store_find(&f.store, "A", "x")->values, "1");
    assert_string_equal(gantry__tuning_store_find(&f.store, "A", "y")->values, "2");
    assert_null(gantry__tuning_store_find(&f.store, "A", "z"));
    assert_int_equal(records_in(&f), 2);
    assert_int_equal(f.log.count, 3);
    assert_int_equal(log_lines_with(&f.log, path, "line 2 is ignored: a record is time, device"),
                     1);
    assert_int_equal(log_lines_with(&f.log, path, "line 4 is ignored: the key"), 1);
    assert_int_equal(
        log_lines_with(&f.log, path, "line 6 is ignored: the file ends inside the line"), 1);
    assert_int_equal(f.log.levels[0], GANTRY_LEVEL_WARNING);
    /* writing drops the bad lines */
    assert_int_equal(gantry__tuning_store_put(&f.store, "A", "z", "3"), GANTRY_OK);
    close_store(&f);
    open_store(&f);
    assert_string_equal(gantry__tuning_store_find(&f.store, "A", "z")->values, "3");
    assert_int_equal(records_in(&f), 3);
    assert_int_equal(f.log.count, 0);
    close_store(&f);
}

TEST(many_wrong_lines_are_counted) {
    fixture_t f;
    char text[4096] = GANTRY__TUNING_HEAD;
    for (int i = 0; i < 30; ++i) strcat(text, "?\n");
    write_file(text);
    open_store(&f);
    assert_null(gantry__tuning_store_find(&f.store, "A", "x"));
    assert_int_equal(f.log.count, 9);
    assert_int_equal(log_lines_with(&f.log, path, "22 more lines are ignored"), 1);
    close_store(&f);
}

TEST(foreign_files_are_not_read_and_not_written) {
    static const char *const texts[] = {"gantry tuning 2\nanything", "#!/bin/sh\nexit 0\n",
                                        "\177ELF"};
    static const char *const reasons[] = {"version 2; version 1 is accepted", "no tuning file",
                                          "no tuning file"};
    for (size_t i = 0; i < 3; ++i) {
        fixture_t f;
        size_t removed;
        write_file(texts[i]);
        open_store(&f);
        assert_null(gantry__tuning_store_find(&f.store, "A", "x"));
        assert_null(gantry__tuning_store_find(&f.store, "A", "y"));
        assert_int_equal(f.log.count, 1);
        assert_int_equal(log_lines_with(&f.log, path, reasons[i]), 1);
        assert_int_equal(gantry__tuning_store_put(&f.store, "A", "x", "1"),
                         GANTRY_FAILED_PRECONDITION);
        assert_non_null(strstr(gantry__message(), reasons[i]));
        assert_int_equal(gantry__tuning_store_remove(&f.store, NULL, NULL, &removed),
                         GANTRY_FAILED_PRECONDITION);
        expect_file(texts[i]);
        close_store(&f);
    }
}

TEST(another_devices_record_is_told_and_not_used) {
    fixture_t f;
    write_file(GANTRY__TUNING_HEAD LINE("another machine", "x", "1"));
    open_store(&f);
    assert_null(gantry__tuning_store_find(&f.store, "A", "x"));
    assert_null(gantry__tuning_store_find(&f.store, "A", "x"));
    assert_int_equal(f.log.count, 1);
    assert_int_equal(log_lines_with(&f.log, path, "line 2: x was measured on \"another machine\""),
                     1);
    assert_int_equal(f.log.levels[0], GANTRY_LEVEL_INFO);
    close_store(&f);
}

/* ---- unusable places ---- */

TEST(unreadable_file_is_told_and_not_used) {
    fixture_t f;
    assert_int_equal(mkdir(path, 0700), 0); /* a folder in place of the record file */
    open_store(&f);
    assert_null(gantry__tuning_store_find(&f.store, "A", "x"));
    assert_int_equal(f.log.count, 1);
    assert_int_equal(log_lines_with(&f.log, "Tuning records are not used", path), 1);
    assert_int_not_equal(gantry__tuning_store_put(&f.store, "A", "x", "1"), GANTRY_OK);
    close_store(&f);
}

TEST(read_only_folder_keeps_nothing_with_the_reason) {
    fixture_t f;
    char deeper[96];
    if (geteuid() == 0) { /* a mode does not stop the superuser; a path below a file does */
        write_file(GANTRY__TUNING_HEAD);
        (void)snprintf(deeper, sizeof deeper, "%s/below", path);
        open_as(&f, deeper);
        assert_int_not_equal(gantry__tuning_store_put(&f.store, "A", "x", "1"), GANTRY_OK);
        close_store(&f);
        return;
    }
    (void)snprintf(deeper, sizeof deeper, "%s/deeper", folder);
    assert_int_equal(chmod(deeper, 0500), 0);
    open_store(&f);
    assert_null(gantry__tuning_store_find(&f.store, "A", "x"));
    assert_int_equal(f.log.count, 0);
    assert_int_equal(gantry__tuning_store_put(&f.store, "A", "x", "1"), GANTRY_PERMISSION_DENIED);
    assert_non_null(strstr(gantry__message(), path));
    close_store(&f);
    assert_int_equal(chmod(deeper, 0700), 0);
}

TEST(without_a_home_there_is_no_file) {
    static const char *const names[] = {"HOME", "XDG_CACHE_HOME", "GANTRY_TUNING_FILE"};
    char *before[3];
    fixture_t f;
    for (int i = 0; i < 3; ++i) {
        before[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
        (void)unsetenv(names[i]);
    }
    open_as(&f, NULL);
    assert_null(gantry__tuning_store_find(&f.store, "A", "x"));
    assert_int_equal(f.log.count, 0);
    assert_int_equal(gantry__tuning_store_put(&f.store, "A", "x", "1"), GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry__message(), "neither XDG_CACHE_HOME nor HOME"));
    close_store(&f);
    open_as(&f, "");
    assert_int_equal(gantry__tuning_store_put(&f.store, "A", "x", "1"), GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry__message(), "GANTRY_TUNING_FILE is empty"));
    close_store(&f);
    (void)setenv("HOME", folder, 1);
    open_as(&f, NULL); /* creates the folders of a user who has none */
    assert_int_equal(gantry__tuning_store_put(&f.store, "A", "x", "1"), GANTRY_OK);
    assert_non_null(strstr(f.store.path, "/.cache/gantry/tuning/records"));
    close_store(&f);
    for (int i = 0; i < 3; ++i) {
        (void)unsetenv(names[i]);
        if (before[i]) (void)setenv(names[i], before[i], 1);
        free(before[i]);
    }
}

TEST(lack_of_memory_anywhere_leaves_file_and_store_sound) {
    static const char before[] = GANTRY__TUNING_HEAD LINE("A", "x", "1") LINE("B", "y", "2");
    for (long fail_at = 0, done = 0; !done; ++fail_at) {
        fixture_t f;
        write_file(before);
        open_store(&f);
        f.heap.calls = 0;
        f.heap.fail_at = fail_at;
        const gantry__tuning_record_t *record = gantry__tuning_store_find(&f.store, "A", "x");
        gantry_status_t status = gantry__tuning_store_put(&f.store, "A", "z", "3");
        done = f.heap.calls <= fail_at;
        f.heap.fail_at = -1;
        if (!record) assert_int_equal(log_lines_with(&f.log, "Tuning records are not used", ""), 1);
        assert_true(status == GANTRY_OK || status == GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(records_in(&f), status == GANTRY_OK ? 3 : 2);
        if (done) assert_true(record && status == GANTRY_OK);
        close_store(&f);
    }
}

/* ---- several processes ---- */

enum { WRITERS = 3, EACH = 10 }; /* a put waits for the disk, and at most 10 s for the others */

static void write_many(int who, int forever) {
    fixture_t f;
    char what[32], values[32];
    open_store(&f);
    for (int i = 0; forever || i < EACH; ++i) {
        (void)snprintf(what, sizeof what, "w%d.n%d", who, i % EACH);
        (void)snprintf(values, sizeof values, "v=%d", i);
        if (gantry__tuning_store_put(&f.store, "A", what, values) != GANTRY_OK) _exit(1);
    }
    _exit(0);
}

TEST(writers_at_once_lose_nothing) {
    fixture_t f;
    pid_t children[WRITERS];
    int ended;
    for (int i = 0; i < WRITERS; ++i) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) write_many(i, 0);
    }
    for (int i = 0; i < WRITERS; ++i) {
        assert_int_equal(waitpid(children[i], &ended, 0), children[i]);
        assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    }
    open_store(&f);
    assert_int_equal(records_in(&f), WRITERS * EACH);
    assert_null(gantry__tuning_store_find(&f.store, "A", "none"));
    assert_int_equal(f.log.count, 0);
    close_store(&f);
}

TEST(killed_writer_leaves_a_whole_file_and_no_lock) {
    for (int turn = 0; turn < 12; ++turn) {
        fixture_t f;
        int ended;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) write_many(7, 1);
        (void)nanosleep(&(struct timespec){.tv_nsec = 3000000L + turn * 1700000L}, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &ended, 0), child);
        open_store(&f);
        assert_null(gantry__tuning_store_find(&f.store, "A", "none"));
        assert_int_equal(f.log.count, 0); /* no record is cut or damaged */
        assert_int_equal(gantry__tuning_store_put(&f.store, "A", "after", "1"), GANTRY_OK);
        close_store(&f);
    }
}

TEST(lock_that_is_held_is_waited_for_in_time) {
    char name[112];
    int lock, other;
    (void)snprintf(name, sizeof name, "%s.lock", path);
    assert_int_equal(gantry__file_lock(name, 0, &lock), GANTRY_OK);
    assert_int_equal(gantry__file_lock(name, 20000000, &other), GANTRY_DEADLINE_EXCEEDED);
    assert_int_equal(other, -1);
    assert_non_null(strstr(gantry__message(), name));
    gantry__file_unlock(other);
    gantry__file_unlock(lock);
    assert_int_equal(gantry__file_lock(name, 0, &lock), GANTRY_OK);
    gantry__file_unlock(lock);
    assert_int_equal(gantry__file_lock("", 0, &lock), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__file_lock("/proc/none/lock", 0, &lock), GANTRY_NOT_FOUND);
}

TEST(file_that_others_may_write_is_not_used) {
    fixture_t f;
    (void)unlink(path);
    open_store(&f);
    assert_int_equal(gantry__tuning_store_put(&f.store, "card", "a", "x=1"), GANTRY_OK);
    assert_int_equal(chmod(path, 0666), 0);
    assert_null(gantry__tuning_store_find(&f.store, "card", "a"));
    assert_int_equal(
        log_lines_with(&f.log, "Tuning records are not used: others may write '", "has mode 0666"),
        1);
    assert_int_equal(gantry__tuning_store_put(&f.store, "card", "b", "x=1"),
                     GANTRY_FAILED_PRECONDITION);
    close_store(&f);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    open_store(&f);
    assert_null(gantry__tuning_store_find(&f.store, "card", "a"));
    assert_int_equal(log_lines_with(&f.log, "Tuning records are not used: ", "it is a pipe"), 1);
    close_store(&f);
    assert_int_equal(unlink(path), 0);
}

TEST(no_folder_is_made_where_others_may_write) {
    fixture_t f;
    char file[128];
    (void)snprintf(file, sizeof file, "%s/new/records", folder);
    assert_int_equal(chmod(folder, 0777), 0);
    open_as(&f, file);
    assert_int_equal(gantry__tuning_store_put(&f.store, "card", "a", "x=1"),
                     GANTRY_FAILED_PRECONDITION);
    *strrchr(file, '/') = '\0';
    assert_int_not_equal(access(file, F_OK), 0);
    close_store(&f);
}

int main(void) { return test_main_each(make_folder, remove_folder); }
