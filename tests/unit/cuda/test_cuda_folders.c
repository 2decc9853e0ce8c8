/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CUDA backend searches the folders of versioned toolkits, newest first, of WSL and of
 * containers, on a tree that the test writes.
 * Promise: The CUDA backend finds pip's wheels outside an active environment: in the environment of
 * the python3 on PATH, and among the user's and the system's packages.
 * Promise: The CUDA backend finds NVIDIA's wheels in each Python of pyenv, asdf and mise if the
 * python3 on PATH is one of their shims.
 * Promise: A folder of libraries that the CUDA backend finds by HOME, PYTHONUSERBASE or PATH must
 * have an absolute path, and its writers are checked.
 *
 * A missing library and one that cannot be opened have their own message. */
#define _GNU_SOURCE
#include <ftw.h>
#include <sys/stat.h>

#include "cuda_fixture.h"
#include "test.h"

#include "cuda/cuda_folders.h"
#include "cuda/cuda_library.h"

static char root[64];

typedef struct visits_t {
    char folders[16][200];
    int count;
    int checked; /* of them */
    int stop_at; /* -1: never */
} visits_t;

static bool note(void *self, const char *folder, bool is_checked) {
    visits_t *visits = self;
    visits->checked += is_checked;
    assert_true(visits->count < 16);
    (void)snprintf(visits->folders[visits->count], sizeof visits->folders[0], "%s",
                   strncmp(folder, root, strlen(root)) == 0 ? folder + strlen(root) : folder);
    return visits->count++ == visits->stop_at;
}

static void make(const char *folder) {
    char path[300];
    (void)snprintf(path, sizeof path, "%s%s/", root, folder);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at) {
    (void)info, (void)type, (void)at;
    return remove(path);
}

static int make_root(void **state) {
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/gantry_folders_XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void expect_folders(const char *const *wanted, int count) {
    visits_t visits = {.stop_at = -1};
    assert_false(gantry__cuda_folders_visit(root, note, &visits));
    for (int i = 0; i < count && i < visits.count; ++i)
        assert_string_equal(visits.folders[i], wanted[i]);
    assert_int_equal(visits.count, count);
}

TEST(system_without_any_has_no_folder) { expect_folders(NULL, 0); }

TEST(versioned_toolkits_come_newest_first) {
    static const char *const wanted[] = {"/usr/local/cuda/lib64", "/usr/local/cuda-13.0/lib64",
                                         "/usr/local/cuda-12.4/lib64",
                                         "/usr/local/cuda-12.9/targets/sbsa-linux/lib"};
    make("/usr/local/cuda-12.4/lib64");
    make("/usr/local/cuda-13.0/lib64");
    make("/usr/local/cuda-11.8/lib64"); /* too old */
    make("/usr/local/cuda/lib64");
    make("/usr/local/cuda-12.9/targets/sbsa-linux/lib");
    expect_folders(wanted, 4);
}

TEST(containers_and_wsl_come_last) {
    static const char *const wanted[] = {"/usr/local/cuda-12.4/lib64", "/usr/local/nvidia/lib64",
                                         "/usr/lib/wsl/lib"};
    make("/usr/lib/wsl/lib");
    make("/usr/local/nvidia/lib64");
    make("/usr/local/cuda-12.4/lib64");
    expect_folders(wanted, 3);
}

/* The owner of an environment chooses its folder's name. */
TEST(signs_of_patterns_in_a_name_stand_for_themselves) {
    static const char *const wanted[] = {
        "/my [env]*/lib/python3.12/site-packages/nvidia/cublas/lib"};
    char path[200];
    make(wanted[0]);
    make("/my e/lib/python3.12/site-packages/nvidia/cublas/lib");
    (void)snprintf(path, sizeof path, "%s/my [env]*", root);
    (void)setenv("VIRTUAL_ENV", path, 1);
    expect_folders(wanted, 1);
    (void)setenv("VIRTUAL_ENV", "", 1);
    expect_folders(NULL, 0);
    (void)unsetenv("VIRTUAL_ENV");
}

TEST(packages_of_python_outside_an_environment_are_found) {
    static const char *const wanted[] = {
        "/base/lib/python3.11/site-packages/nvidia/cublas/lib",
        "/home/me/.local/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib",
        "/usr/local/lib/python3.11/dist-packages/nvidia/cuda_nvrtc/lib",
        "/usr/local/lib/python3.13/site-packages/nvidia/cu13/lib",
        "/usr/lib/python3/dist-packages/nvidia/cuda_nvrtc/lib"};
    char home[200], base[200];
    for (int i = 0; i < 5; ++i) make(wanted[i]);
    (void)snprintf(home, sizeof home, "%s/home/me", root);
    (void)snprintf(base, sizeof base, "%s/base", root);
    (void)setenv("HOME", home, 1);
    (void)setenv("PYTHONUSERBASE", base, 1);
    expect_folders(wanted, 5);
    (void)unsetenv("HOME");
    (void)unsetenv("PYTHONUSERBASE");
}

/* The shim is a script, which the library does not start. */
TEST(pythons_that_a_shim_stands_for_are_searched) {
    static const char *const wanted[] = {
        "/me/.pyenv/versions/3.13.1/lib/python3.13/site-packages/nvidia/cuda_nvrtc/lib",
        "/me/.pyenv/versions/3.12.4/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib",
        "/me/.asdf/installs/python/3.12.4/lib/python3.12/site-packages/nvidia/cu13/lib"};
    static const char *const shims[] = {"/me/.pyenv/shims", "/me/.asdf/shims"};
    char path[300], file[300];
    for (int i = 0; i < 3; ++i) make(wanted[i]);
    for (int i = 0; i < 2; ++i) {
        make(shims[i]);
        (void)snprintf(file, sizeof file, "%s%s/python3", root, shims[i]);
        assert_int_equal(symlink("/bin/sh", file), 0);
        (void)snprintf(path, sizeof path, "%s%s", root, shims[i]);
        (void)setenv("PATH", path, 1);
        expect_folders(wanted + 2 * i, 2 - i);
    }
    (void)unsetenv("PATH");
}

/* Relative folders and folders without python3 are left out. */
TEST(the_first_python_of_the_path_names_its_environment) {
    static const char *const wanted[] = {"/env/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib"};
    char path[500], file[300];
    make(wanted[0]);
    make("/env/bin");
    make("/other/bin");
    make("/other/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib");
    (void)snprintf(path, sizeof path, "bin::%s/none:%s/env/bin/:%s/other/bin", root, root, root);
    (void)setenv("PATH", path, 1);
    expect_folders(NULL, 0);
    for (int i = 0; i < 2; ++i) {
        (void)snprintf(file, sizeof file, "%s/%s/bin/python3", root, i ? "other" : "env");
        assert_int_equal(symlink("/bin/sh", file), 0);
    }
    expect_folders(wanted, 1);
    (void)unsetenv("PATH");
}

TEST(relative_home_and_base_have_no_folder) {
    make("/.local/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib");
    make("/base/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib");
    assert_int_equal(chdir(root), 0);
    (void)setenv("HOME", ".", 1);
    (void)setenv("PYTHONUSERBASE", "base", 1);
    expect_folders(NULL, 0);
    (void)unsetenv("HOME");
    (void)unsetenv("PYTHONUSERBASE");
    assert_int_equal(chdir("/"), 0);
}

/* CUDA_HOME was set for CUDA; the others are set in every process. */
TEST(writers_are_checked_of_home_base_and_python) {
    static const char *const variables[] = {"HOME", "PYTHONUSERBASE", "PATH", "CUDA_HOME"};
    char bin[100], file[200];
    make("/.local/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib");
    make("/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib");
    make("/lib64");
    make("/bin");
    (void)snprintf(bin, sizeof bin, "%s/bin", root);
    (void)snprintf(file, sizeof file, "%s/python3", bin);
    assert_int_equal(symlink("/bin/sh", file), 0);
    for (int i = 0; i < 4; ++i) {
        visits_t visits = {.stop_at = 0};
        (void)setenv(variables[i], i == 2 ? bin : root, 1);
        assert_true(gantry__cuda_folders_visit("", note, &visits));
        assert_int_equal(visits.checked, i < 3);
        (void)unsetenv(variables[i]);
    }
}

TEST(visit_ends_where_it_is_told) {
    visits_t visits = {.stop_at = 0};
    make("/usr/local/cuda-12.4/lib64");
    make("/usr/lib/wsl/lib");
    assert_true(gantry__cuda_folders_visit(root, note, &visits));
    assert_int_equal(visits.count, 1);
}

/* ---- reasons ---- */

static const char *const nowhere[] = {"libgantry_test_nowhere.so.9"};
static const gantry__cuda_file_t wanted_file = {.name = "A library",
                                                .least = "",
                                                .option = "GANTRY_CUDA_CUDNN",
                                                .candidates = nowhere,
                                                .candidate_count = 1};

static const char *refused; /* the end of a path that others may write; NULL: none */

static int32_t check_writers(void *self, const char *path, char *out_reason,
                             uint64_t reason_bytes) {
    (void)self;
    const size_t length = strlen(path), end = refused ? strlen(refused) : 0;
    if (!refused || length < end || strcmp(path + length - end, refused) != 0) return GANTRY_OK;
    (void)snprintf(out_reason, (size_t)reason_bytes, "others may write '%s'", path);
    return GANTRY_FAILED_PRECONDITION;
}

static void open_and_fail(char *out_reason) {
    fixture_t fixture;
    char file[GANTRY__CUDA_FILE_BYTES];
    fixture_init_host(&fixture, gantry_backend_query_cuda);
    fixture.host.check_writers = check_writers;
    assert_false(gantry__cuda_library_open(&fixture.host, &wanted_file, NULL, 0, NULL, file,
                                           out_reason, 1024));
}

TEST(library_that_is_nowhere_is_told_with_where_it_could_be) {
    char reason[1024];
    open_and_fail(reason);
    assert_string_equal(
        reason,
        "A library cannot be opened: libgantry_test_nowhere.so.9: cannot open shared object file: No such file or directory; nor in CUDA_HOME, CUDA_PATH, VIRTUAL_ENV, CONDA_PREFIX, the packages of python3 or /usr/local/cuda*");
}

/* The loader's "no such file" would mislead: the file is there. */
TEST(library_that_cannot_be_opened_is_told_with_its_own_reason) {
    char reason[1024], path[300];
    make("/lib64");
    (void)snprintf(path, sizeof path, "%s/lib64/libgantry_test_nowhere.so.9", root);
    FILE *file = fopen(path, "w");
    assert_true(file && fputs("no library at all", file) >= 0 && fclose(file) == 0);
    (void)setenv("CUDA_HOME", root, 1);
    open_and_fail(reason);
    (void)unsetenv("CUDA_HOME");
    assert_non_null(strstr(reason, path));
    assert_non_null(strstr(reason, "file too short"));
    assert_null(strstr(reason, "No such file"));
}

/* The folder counts as the file does: the library loads others from it. */
TEST(library_that_others_may_write_is_told_and_not_opened) {
    static const char *const ends[] = {"/cudnn/lib", "/libgantry_test_nowhere.so.9", NULL};
    char reason[1024], path[300];
    make("/.local/lib/python3.11/site-packages/nvidia/cudnn/lib");
    (void)snprintf(
        path, sizeof path,
        "%s/.local/lib/python3.11/site-packages/nvidia/cudnn/lib/libgantry_test_nowhere.so.9",
        root);
    FILE *file = fopen(path, "w");
    assert_true(file && fputs("no library at all", file) >= 0 && fclose(file) == 0);
    (void)setenv("HOME", root, 1);
    for (int i = 0; i < 3; ++i) {
        refused = ends[i];
        open_and_fail(reason);
        assert_true(!refused == !strstr(reason, "so.9 is not opened: others may write '"));
        assert_true(!refused == !!strstr(reason, "file too short"));
    }
    (void)unsetenv("HOME");
}

int main(void) {
    static const char *const variables[] = {
        "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PATH", "HOME", "PYTHONUSERBASE"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; ++i)
        (void)unsetenv(variables[i]);
    return test_main_each(make_root, remove_root);
}
