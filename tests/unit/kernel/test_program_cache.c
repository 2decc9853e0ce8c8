/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A second process with a warm cache of program binaries builds nothing.
 * Promise: Program binaries of a driver that keeps them itself, such as PoCL, are cached only in a
 * folder that the user names.
 * Promise: A kernel cache that others may write is not used, and a warning names it.
 * Promise: A pipe, a link or a file that others may write is not opened as an entry of the cache;
 * its program is built again.
 *
 * No damaged entry and no unusable folder is an error. The tests run on PoCL, which has a cache of
 * its own, and on Oclgrind, which has none. */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gantry/gantry.h>

#include "base/hash.h"
#include "log_lines.h"
#include "need_opencl.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"
#define HEADER_BYTES 48

static char self_path[4096];
static log_lines_t lines;

/* ---- the work of one process ---- */

static gantry_status_t compute(gantry_runtime_t *runtime) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, "opencl:0");
    if (!scope) return GANTRY_RESOURCE_EXHAUSTED;
    const float values[] = {1, 2, 3, 4, 5, 6};
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), values, sizeof values);
    const gantry_tensor_t *sum =
        gantry_sum(scope, gantry_mul(scope, gantry_add(scope, x, x), x), NULL);
    float got = 0;
    gantry_status_t status =
        sum ? gantry_tensor_read(sum, &got, sizeof got) : gantry_scope_status(scope);
    if (status == GANTRY_OK && (int)got != 182) status = GANTRY_DATA_LOSS;
    if (status != GANTRY_OK)
        (void)fprintf(stderr, "%s: %s\n", gantry_status_name(status), gantry_last_message());
    (void)gantry_scope_end(scope);
    return status;
}

/* cache NULL: the default folder. Several backends in one process are independent, so this also
 * runs in the test itself. */
static gantry_status_t run(const char *cache, gantry_program_stats_t *out_stats) {
    *out_stats = (gantry_program_stats_t){.struct_size = sizeof *out_stats};
    log_lines_init(&lines);
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .log = log_lines_write,
                                        .log_user = &lines,
                                        .backend_path = MODULES,
                                        .backends = "cpu,opencl",
                                        .soft_placement = GANTRY_OFF,
                                        .kernel_cache = cache};
    gantry_runtime_t *runtime;
    gantry_status_t status = gantry_runtime_create(&options, &runtime);
    if (status != GANTRY_OK) return status;
    status = compute(runtime);
    if (status == GANTRY_OK) status = gantry_get_program_stats(runtime, out_stats);
    gantry_runtime_release(runtime);
    return status;
}

static gantry_program_stats_t run_here(const char *cache) {
    gantry_program_stats_t stats;
    if (run(cache, &stats) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    return stats;
}

/* The same in another process, which prints its numbers. */
static int run_as_child(const char *cache) {
    gantry_program_stats_t stats;
    if (run(cache, &stats) != GANTRY_OK) return 1;
    printf("%d %d %d\n", (int)stats.built, (int)stats.loaded, (int)stats.bad_entries);
    return 0;
}

static void run_elsewhere(const char *cache, int *out_built, int *out_loaded, int *out_bad) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], 1);
        (void)close(ends[0]);
        (void)execl(self_path, self_path, "--child", cache, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    FILE *answer = fdopen(ends[0], "r");
    assert_non_null(answer);
    int fields = fscanf(answer, "%d %d %d", out_built, out_loaded, out_bad);
    (void)fclose(answer);
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    assert_int_equal(fields, 3);
}

/* ---- folders of tests ---- */

typedef struct folder_t {
    char path[64];  /* the test makes it */
    char cache[96]; /* inside path, not created yet */
} folder_t;

static void make_folder(folder_t *folder) {
    (void)snprintf(folder->path, sizeof folder->path, "/tmp/gantry_cache_XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    (void)snprintf(folder->cache, sizeof folder->cache, "%s/a/kernels", folder->path);
}

static void for_each_entry(const char *folder, void (*visit)(const char *file, int i),
                           int *out_count) {
    DIR *opened = opendir(folder);
    int count = 0;
    for (struct dirent *entry = opened ? readdir(opened) : NULL; entry; entry = readdir(opened)) {
        if (entry->d_name[0] == '.') continue;
        char file[512];
        (void)snprintf(file, sizeof file, "%s/%s", folder, entry->d_name);
        if (visit) visit(file, count);
        ++count;
    }
    if (opened) (void)closedir(opened);
    *out_count = count;
}

static int count_entries(const char *folder) {
    int count;
    for_each_entry(folder, NULL, &count);
    return count;
}

static void remove_file(const char *file, int i) {
    (void)i;
    (void)unlink(file);
}

static void remove_folder(const folder_t *folder) {
    int count;
    for_each_entry(folder->cache, remove_file, &count);
    static const char *const inner[] = {"a/kernels", "a", "gantry/kernels", "gantry", "file", "."};
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; ++i) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/%s", folder->path, inner[i]);
        if (i < 5) (void)unlink(path);
        for_each_entry(path, i == 2 ? remove_file : NULL, &count);
        (void)rmdir(i < 5 ? path : folder->path);
    }
}

/* ---- tests ---- */

TEST(second_process_with_a_warm_cache_builds_nothing) {
    folder_t folder;
    make_folder(&folder);
    int built, loaded, bad;
    run_elsewhere(folder.cache, &built, &loaded, &bad);
    assert_true(built > 0);
    assert_int_equal(loaded, 0);
    assert_int_equal(bad, 0);
    assert_int_equal(count_entries(folder.cache), built);
    int first = built;
    run_elsewhere(folder.cache, &built, &loaded, &bad);
    assert_int_equal(built, 0);
    assert_int_equal(loaded, first);
    assert_int_equal(bad, 0);
    remove_folder(&folder);
}

TEST(cache_is_for_its_owner_only) {
    folder_t folder;
    make_folder(&folder);
    mode_t mask = umask(0);
    (void)run_here(folder.cache);
    (void)umask(mask);
    struct stat info;
    assert_int_equal(stat(folder.cache, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    remove_folder(&folder);
}

/* ---- damage: each kind to each entry, then one run that repairs it and one that finds it whole
 * ---- */

static void write_over(const char *file, long offset, const void *bytes, size_t size) {
    int opened = open(file, O_WRONLY);
    assert_true(opened >= 0);
    assert_int_equal(pwrite(opened, bytes, size, offset), size);
    (void)close(opened);
}

static void flip_in_payload(const char *file, int i) {
    write_over(file, HEADER_BYTES + 8 * (i + 1), "\xa5\x5a", 2);
}

static void flip_in_header(const char *file, int i) {
    write_over(file, i % HEADER_BYTES, "\x7f", 1);
}

static void cut(const char *file, int i) {
    struct stat info;
    assert_int_equal(stat(file, &info), 0);
    const off_t lengths[] = {0, HEADER_BYTES - 1, HEADER_BYTES, info.st_size / 2, info.st_size - 1};
    assert_int_equal(truncate(file, lengths[i % 5]), 0);
}

static void lengthen(const char *file, int i) {
    (void)i;
    struct stat info;
    assert_int_equal(stat(file, &info), 0);
    write_over(file, info.st_size, "more", 4);
}

/* A whole entry under the name of another program. */
static void put_in_anothers_name(const char *file, int i) {
    (void)i;
    unsigned char key[16];
    memset(key, 0x11, sizeof key);
    write_over(file, 24, key, sizeof key);
}

/* The cache accepts the entry, and the driver refuses it. */
static void fill_with_nonsense(const char *file, int i) {
    (void)i;
    static const char nonsense[] =
        "this is no program binary of any driver, but its checksum is right";
    const uint64_t size = sizeof nonsense, label_size = 0;
    const uint64_t seed = gantry__hash64("", 0, 0);
    const uint64_t checksum = gantry__hash64(nonsense, sizeof nonsense, seed);
    write_over(file, 8, &size, sizeof size);
    write_over(file, 16, &checksum, sizeof checksum);
    write_over(file, 40, &label_size, sizeof label_size);
    write_over(file, HEADER_BYTES, nonsense, sizeof nonsense);
    assert_int_equal(truncate(file, HEADER_BYTES + (off_t)sizeof nonsense), 0);
}

/* Nothing that is no plain file is opened: a pipe would be waited for. */
static void make_pipe(const char *file, int i) {
    (void)i;
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0);
}

static void make_link(const char *file, int i) {
    (void)i;
    char moved[600];
    (void)snprintf(moved, sizeof moved, "%s.moved", file);
    assert_int_equal(rename(file, moved), 0);
    assert_int_equal(symlink(moved, file), 0);
}

static void let_others_write(const char *file, int i) {
    assert_int_equal(chmod(file, i % 2 ? 0606 : 0666), 0);
}

TEST(bad_entries_are_built_again_and_counted) {
    folder_t folder;
    make_folder(&folder);
    int first = (int)run_here(folder.cache).built;
    static void (*const ways[])(const char *, int) = {
        flip_in_payload,      flip_in_header,     cut,       lengthen,
        put_in_anothers_name, fill_with_nonsense, make_pipe, let_others_write};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
        int count;
        for_each_entry(folder.cache, ways[i], &count);
        assert_int_equal(count, first);
        gantry_program_stats_t stats = run_here(folder.cache);
        if ((int)stats.bad_entries != first || (int)stats.built != first || stats.loaded != 0) {
            fail_msg("way %zu: %d bad, %d built, %d loaded of %d", i, (int)stats.bad_entries,
                     (int)stats.built, (int)stats.loaded, first);
        }
        assert_true(log_lines_with(&lines, "it is built again", "") > 0);
        stats = run_here(folder.cache);
        assert_int_equal(stats.bad_entries, 0);
        assert_int_equal(stats.built, 0);
        assert_int_equal(stats.loaded, first);
    }
    remove_folder(&folder);
}

TEST(linked_entries_are_not_followed) {
    folder_t folder;
    int count;
    make_folder(&folder);
    const int first = (int)run_here(folder.cache).built;
    for_each_entry(folder.cache, make_link, &count);
    const gantry_program_stats_t stats = run_here(folder.cache);
    assert_int_equal(stats.bad_entries, first);
    assert_true(log_lines_with(&lines, "it is a symbolic link", "it is built again") > 0);
    remove_folder(&folder);
}

/* Its programs are good, but another user could have put others there. */
TEST(folder_that_others_may_write_is_not_used) {
    static const mode_t modes[] = {01777, 0777, 0702};
    folder_t folder;
    make_folder(&folder);
    const int first = (int)run_here(folder.cache).built;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; ++i) {
        assert_int_equal(chmod(folder.cache, modes[i]), 0);
        const gantry_program_stats_t stats = run_here(folder.cache);
        assert_int_equal(stats.built, first);
        assert_int_equal(stats.loaded, 0);
        assert_int_equal(log_lines_with(&lines, "Program binaries are not kept: others may write '",
                                        "may write (chmod go-w '"),
                         1);
    }
    assert_int_equal(chmod(folder.cache, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(folder.cache, 65534, 65534), 0);
        assert_int_equal(run_here(folder.cache).loaded, 0);
        assert_int_equal(
            log_lines_with(&lines, "Program binaries are not kept: others", "belongs to user"), 1);
        assert_int_equal(chown(folder.cache, 0, 0), 0);
    }
    assert_int_equal(run_here(folder.cache).loaded, first);
    remove_folder(&folder);
}

static void add_on_cpu_alone(const char *cache) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backends = "cpu",
                                              .log = log_lines_write,
                                              .log_user = &lines,
                                              .kernel_cache = cache};
    gantry_runtime_t *runtime;
    log_lines_init(&lines);
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    assert_non_null(gantry_add(scope, gantry_scalar_f32(scope, 1), gantry_scalar_f32(scope, 2)));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_runtime_release(runtime);
    assert_int_equal(log_lines_with(&lines, "not kept", ""), 0);
}

TEST(cpu_alone_makes_no_folder_and_misses_none) {
    folder_t folder;
    make_folder(&folder);
    add_on_cpu_alone(folder.cache);
    assert_int_equal(rmdir(folder.path), 0); /* which must be empty */
    add_on_cpu_alone("/proc/gantry/kernels");
}

/* One warning for all programs, with the remedy. */
TEST(folder_that_takes_no_file_is_told_once) {
    gantry_program_stats_t stats = run_here("/proc/self");
    assert_true(stats.built > 1);
    assert_int_equal(log_lines_with(&lines, "not kept", ""), 1);
    assert_int_equal(
        log_lines_with(&lines, "Program binaries are not kept: cannot write '/proc/self/",
                       "; GANTRY_KERNEL_CACHE names another folder, or \"\" none"),
        1);
}

TEST(unusable_folder_is_no_error) {
    folder_t folder;
    make_folder(&folder);
    char file[96], below[128];
    (void)snprintf(file, sizeof file, "%s/file", folder.path);
    (void)snprintf(below, sizeof below, "%s/kernels", file);
    FILE *opened = fopen(file, "w");
    assert_non_null(opened);
    (void)fclose(opened);
    const char *const unusable[] = {below, file, "/proc/gantry/kernels"};
    for (size_t i = 0; i < 3; ++i) {
        gantry_program_stats_t stats = run_here(unusable[i]);
        assert_true(stats.built > 0);
        assert_int_equal(stats.loaded, 0);
        assert_int_equal(stats.bad_entries, 0);
        assert_true(log_lines_with(&lines, " not kept: ", "") > 0);
    }
    remove_folder(&folder);
}

/* PoCL's binaries are cached only in a folder that the user named. */
static bool driver_keeps_programs(void) {
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .backend_path = MODULES,
                                        .backends = "cpu,opencl",
                                        .kernel_cache = ""};
    gantry_runtime_t *runtime;
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    const gantry_physical_device_t *views[8];
    size_t count = 0;
    assert_int_equal(gantry_list_device_views(runtime, 8, views, &count), GANTRY_OK);
    bool keeps = false;
    for (size_t i = 0; i < count && i < 8; ++i) {
        gantry_device_details_t details = {.struct_size = sizeof details};
        assert_int_equal(gantry_get_device_details(runtime, views[i], &details), GANTRY_OK);
        if (strcmp(details.alias, "opencl:0") == 0)
            keeps = strstr(details.platform, "Portable Computing") != NULL;
    }
    gantry_runtime_release(runtime);
    return keeps;
}

TEST(folder_comes_from_option_or_environment_or_home) {
    folder_t folder;
    make_folder(&folder);
    (void)setenv("GANTRY_KERNEL_CACHE", folder.cache, 1);
    assert_true(run_here("").built > 0); /* the option wins: no cache */
    assert_int_equal(count_entries(folder.cache), 0);
    assert_true(run_here(NULL).built > 0);
    assert_true(count_entries(folder.cache) > 0);
    (void)unsetenv("GANTRY_KERNEL_CACHE");
    char users[128];
    (void)snprintf(users, sizeof users, "%s/gantry/kernels", folder.path);
    (void)setenv("XDG_CACHE_HOME", folder.path, 1);
    uint64_t built = run_here(NULL).built;
    assert_true(built > 0);
    if (driver_keeps_programs()) {
        assert_int_equal(count_entries(users), 0);
        assert_int_equal(run_here(NULL).built, built);
    } else {
        assert_true(count_entries(users) > 0);
        assert_int_equal(run_here(NULL).built, 0);
    }
    (void)unsetenv("XDG_CACHE_HOME");
    remove_folder(&folder);
}

/* ---- */

int main(int argc, char **argv) {
    (void)setenv("POCL_DEVICES", "pthread", 1);
    (void)unsetenv("GANTRY_KERNEL_CACHE");
    /* its program and its note would be further entries */
    (void)setenv("GANTRY_DEVICE_PROBE", "off", 1);
    if (argc == 3 && strcmp(argv[1], "--child") == 0) return run_as_child(argv[2]);
    ssize_t length = readlink("/proc/self/exe", self_path, sizeof self_path - 1);
    if (length <= 0) return 1;
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main();
}
