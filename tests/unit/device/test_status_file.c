/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A status file (GANTRY_STATUS) is whole, and a failed write leaves the old file, no
 * temporary file and the thread's message.
 * Promise: A temporary file of a status file that a killed writer left is removed by the next
 * runtime that uses the folder.
 * Promise: No status file is made where others may replace it, and no folder on the way there; the
 * reason is logged.
 * Promise: A link in the place of a status file or of its folder is not followed.
 * Promise: A child of fork neither writes nor removes its parent's status file. */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gantry/gantry.h>

#include "test.h"

static char root[64], warning[2048];

static void keep_warning(void *user, gantry_log_level_t level, const char *text) {
    (void)user;
    if (level == GANTRY_LEVEL_WARNING && strstr(text, "GANTRY_STATUS"))
        (void)snprintf(warning, sizeof warning, "%s", text);
}

static gantry_runtime_t *open_runtime(const char *folder) {
    char setting[256];
    const char *const extra[] = {setting, NULL};
    gantry_runtime_t *runtime;
    (void)snprintf(setting, sizeof setting, "GANTRY_STATUS=%s", folder);
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backends = "cpu",
                                              .kernel_cache = "",
                                              .log = keep_warning,
                                              .extra = extra};
    warning[0] = '\0';
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    return runtime;
}

/* Changes the memory; the file is written if its second has passed. */
static void take_memory(gantry_runtime_t *runtime) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    assert_non_null(gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1 << 16)));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static void let_its_time_come(void) {
    const struct timespec pause = {1, 50000000};
    (void)nanosleep(&pause, NULL);
}

/* The names in the folder with this in them; out_path is the last one's. */
static unsigned count_names(const char *folder, const char *part, char out_path[512]) {
    unsigned count = 0;
    DIR *directory = opendir(folder);
    if (!directory) return 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.' || !strstr(entry->d_name, part)) continue;
        if (out_path) (void)snprintf(out_path, 512, "%s/%.255s", folder, entry->d_name);
        ++count;
    }
    (void)closedir(directory);
    return count;
}

static const char *in_root(const char *name) {
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

static void make_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static int make_root(void **state) {
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/gantry_status_XXXXXX");
    return mkdtemp(root) ? 0 : 1;
}

static int remove_root(void **state) {
    char line[128];
    (void)state;
    (void)snprintf(line, sizeof line, "rm -rf %s", root);
    return system(line);
}

TEST(file_is_whole_and_goes_with_the_runtime) {
    char path[512], text[1024] = "";
    struct stat info;
    const mode_t mask = umask(022);
    gantry_runtime_t *runtime = open_runtime(in_root("a/b"));
    take_memory(runtime);
    assert_string_equal(warning, "");
    assert_int_equal(count_names(in_root("a/b"), "", path), 1);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0644);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    (void)fclose(file);
    assert_non_null(strstr(text, "]}\n"));
    gantry_runtime_release(runtime);
    assert_int_equal(count_names(in_root("a/b"), "", NULL), 0);
    (void)umask(mask);
}

TEST(failed_write_leaves_the_old_file) {
    char path[512];
    struct stat before, after;
    struct rlimit limit;
    gantry_runtime_t *runtime = open_runtime(in_root("short"));
    take_memory(runtime);
    assert_int_equal(count_names(in_root("short"), ".json", path), 1);
    assert_int_equal(stat(path, &before), 0);
    let_its_time_come();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){10, limit.rlim_max}), 0);
    (void)gantry_fail(GANTRY_INTERNAL, "the message before");
    take_memory(runtime);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_string_equal(gantry_last_message(), "the message before");
    assert_int_equal(count_names(in_root("short"), "", NULL), 1);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    let_its_time_come();
    take_memory(runtime);
    assert_string_equal(gantry_last_message(), "the message before");
    gantry_runtime_release(runtime);
}

TEST(files_of_killed_writers_are_removed) {
    assert_int_equal(mkdir(in_root("left"), 0700), 0);
    make_file(in_root("left/12-ab.json.00000000.tmp"), "{");
    make_file(in_root("left/mine.npy.00000000.tmp"), "{");
    gantry_runtime_release(open_runtime(in_root("left")));
    assert_int_equal(count_names(in_root("left"), ".json", NULL), 0);
    assert_int_equal(count_names(in_root("left"), ".npy", NULL), 1);
}

static void expect_refused(const char *folder, const char *why) {
    gantry_runtime_t *runtime = open_runtime(folder);
    take_memory(runtime);
    assert_int_equal(count_names(folder, "", NULL), 0);
    if (!strstr(warning, why)) fail_msg("\"%s\" is not in \"%s\"", why, warning);
    gantry_runtime_release(runtime);
}

TEST(folder_that_others_may_replace_is_refused) {
    assert_int_equal(mkdir(in_root("open"), 0700), 0);
    assert_int_equal(chmod(in_root("open"), 0777), 0);
    expect_refused(in_root("open"), "no status file is written: others may write '/tmp/");
    expect_refused(in_root("open/below"), "has mode 0777");
    assert_int_equal(access(in_root("open/below"), F_OK), -1);
    assert_int_equal(chmod(in_root("open"), 01777), 0);
    gantry_runtime_t *runtime = open_runtime(in_root("open"));
    take_memory(runtime);
    assert_int_equal(count_names(in_root("open"), ".json", NULL), 1);
    gantry_runtime_release(runtime);
    make_file(in_root("file"), "");
    expect_refused(in_root("file"), "Not a directory");
    if (geteuid() != 0) return;
    assert_int_equal(mkdir(in_root("his"), 0755), 0);
    assert_int_equal(chown(in_root("his"), 65534, 65534), 0);
    expect_refused(in_root("his"), "belongs to user 65534");
    expect_refused(in_root("his/below"), "belongs to user 65534");
}

TEST(links_are_not_followed) {
    char path[512];
    struct stat info;
    gantry_runtime_t *runtime = open_runtime(in_root("links"));
    take_memory(runtime);
    assert_int_equal(count_names(in_root("links"), ".json", path), 1);
    make_file(in_root("victim"), "as it was");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(in_root("victim"), path), 0);
    let_its_time_come();
    take_memory(runtime);
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_int_equal(stat(in_root("victim"), &info), 0);
    assert_int_equal(info.st_size, strlen("as it was"));
    /* another folder in its place */
    assert_int_equal(rename(in_root("links"), in_root("moved")), 0);
    assert_int_equal(mkdir(in_root("elsewhere"), 0700), 0);
    assert_int_equal(symlink("elsewhere", in_root("links")), 0);
    let_its_time_come();
    take_memory(runtime);
    assert_int_equal(count_names(in_root("elsewhere"), "", NULL), 0);
    gantry_runtime_release(runtime);
}

TEST(child_of_fork_leaves_the_file) {
    int end = 0;
    gantry_runtime_t *runtime = open_runtime(in_root("fork"));
    take_memory(runtime);
    let_its_time_come();
    const pid_t child = fork();
    if (child == 0) {
        gantry_runtime_release(runtime);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_int_equal(count_names(in_root("fork"), ".json", NULL), 1);
    gantry_runtime_release(runtime);
    assert_int_equal(count_names(in_root("fork"), "", NULL), 0);
}

int main(void) { return test_main_with(make_root, remove_root, NULL, NULL); }
