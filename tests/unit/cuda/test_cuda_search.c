/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CUDA backend finds NVRTC and cuBLASLt in pip's wheels, conda, toolkits and
 * containers without NVML.
 * Promise: An NVIDIA library of a later CUDA than the driver's is refused with both versions.
 * Promise: An NVIDIA library in Python packages found by HOME, PYTHONUSERBASE or PATH is not opened
 * if others may write it, and a warning names who may.
 *
 * Each place is a folder of links to the stand-in's libraries. The message about an unusable
 * library has the true reason. */
#define _GNU_SOURCE
#include <ftw.h>
#include <sys/stat.h>

#include "cuda_machine.h"
#include "test.h"

#define ROOM 512

/* ---- places ---- */

static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

/* Makes folder/place as a link to one of the stand-in's libraries. */
static void put(const machine_t *m, const char *place, const char *library) {
    char path[ROOM];
    (void)snprintf(path, sizeof path, "%s/%s", m->folder, place);
    make_folders(path);
    EXPECT(symlink(library, path) == 0, "%s", path);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at) {
    (void)info, (void)type, (void)at;
    return remove(path);
}

static void remove_places(const machine_t *m) {
    (void)nftw(m->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Only the driver is named; the variable must lead to the other libraries. */
static void from(machine_t *m, const char *variable, const char *below) {
    char path[ROOM];
    (void)snprintf(m->folder, sizeof m->folder, "/tmp/gantry_search_XXXXXX");
    if (!mkdtemp(m->folder)) _exit(1);
    (void)snprintf(path, sizeof path, "%s%s", m->folder, below);
    (void)setenv(variable, path, 1);
    m->extra[1] = m->extra[3];
    m->extra[2] = NULL;
}

static void expect_found(machine_t *m, const char *nvrtc, const char *cublas) {
    char path[ROOM];
    machine_open(m);
    (void)snprintf(path, sizeof path, "%s/%s (", m->folder, nvrtc);
    EXPECT_TEXT(m->cuda.libraries, path);
    (void)snprintf(path, sizeof path, "%s/%s (", m->folder, cublas);
    EXPECT_TEXT(m->cuda.libraries, path);
    expect_computes(m, "GPU:0");
    remove_places(m);
}

#define WHEELS "lib/python3.11/site-packages/nvidia/"

static void has_wheels_of_12(machine_t *m) {
    from(m, "VIRTUAL_ENV", "");
    put(m, WHEELS "cuda_nvrtc/lib/libnvrtc.so.12", STAND_IN("libnvrtc"));
    put(m, WHEELS "cublas/lib/libcublasLt.so.12", STAND_IN("libcublas"));
    expect_found(m, WHEELS "cuda_nvrtc/lib/libnvrtc.so.12", WHEELS "cublas/lib/libcublasLt.so.12");
}

static void has_wheels_of_13(machine_t *m) {
    from(m, "VIRTUAL_ENV", "");
    put(m, WHEELS "cu13/lib/libnvrtc.so.13", STAND_IN("libnvrtc"));
    put(m, WHEELS "cu13/lib/libcublasLt.so.13", STAND_IN("libcublas"));
    expect_found(m, WHEELS "cu13/lib/libnvrtc.so.13", WHEELS "cu13/lib/libcublasLt.so.13");
}

static void has_conda(machine_t *m) {
    from(m, "CONDA_PREFIX", "/env");
    put(m, "env/lib/libnvrtc.so.12", STAND_IN("libnvrtc"));
    put(m, "env/lib/libcublasLt.so.12", STAND_IN("libcublas"));
    expect_found(m, "env/lib/libnvrtc.so.12", "env/lib/libcublasLt.so.12");
}

static void has_wheels_in_conda(machine_t *m) {
    from(m, "CONDA_PREFIX", "/env");
    put(m, "env/" WHEELS "cuda_nvrtc/lib/libnvrtc.so.12", STAND_IN("libnvrtc"));
    put(m, "env/" WHEELS "cublas/lib/libcublasLt.so.12", STAND_IN("libcublas"));
    expect_found(m, "env/" WHEELS "cuda_nvrtc/lib/libnvrtc.so.12",
                 "env/" WHEELS "cublas/lib/libcublasLt.so.12");
}

static void has_toolkit_by_target(machine_t *m) {
    from(m, "CUDA_HOME", "/cuda-12.9");
    put(m, "cuda-12.9/targets/sbsa-linux/lib/libnvrtc.so.12", STAND_IN("libnvrtc"));
    put(m, "cuda-12.9/lib64/libcublasLt.so.12", STAND_IN("libcublas"));
    expect_found(m, "cuda-12.9/targets/sbsa-linux/lib/libnvrtc.so.12",
                 "cuda-12.9/lib64/libcublasLt.so.12");
}

/* A version that suits the driver wins over a newer one, in any folder. */
static void has_both_versions(machine_t *m) {
    from(m, "CUDA_HOME", "/cuda-13.0");
    put(m, "cuda-13.0/lib64/libnvrtc.so.13", STAND_IN("libnvrtc"));
    put(m, "venv/" WHEELS "cuda_nvrtc/lib/libnvrtc.so.12", STAND_IN("libnvrtc"));
    put(m, "venv/" WHEELS "cublas/lib/libcublasLt.so.12", STAND_IN("libcublas"));
    char venv[ROOM];
    (void)snprintf(venv, sizeof venv, "%s/venv", m->folder);
    (void)setenv("VIRTUAL_ENV", venv, 1);
    expect_found(m, "venv/" WHEELS "cuda_nvrtc/lib/libnvrtc.so.12",
                 "venv/" WHEELS "cublas/lib/libcublasLt.so.12");
}

/* The loader's own folders come first, so this test shows less on a machine that has the file
 * there. */
static bool loader_finds(const char *first, const char *second) {
    const char *found = dlopen(first, RTLD_LAZY | RTLD_LOCAL)    ? first
                        : dlopen(second, RTLD_LAZY | RTLD_LOCAL) ? second
                                                                 : NULL;
    if (found) printf("not shown here: the loader itself finds %s\n", found);
    return found != NULL;
}

static bool loader_finds_12(void) { return loader_finds("libnvrtc.so.12", "libcublasLt.so.12"); }
static bool loader_finds_13(void) { return loader_finds("libnvrtc.so.13", "libcublasLt.so.13"); }

TEST(libraries_of_pip_conda_and_toolkits_are_found) {
    if (!loader_finds_13())
        on_machine("devices=1;driver=13000;nvrtc=13000;cublas=130000", has_wheels_of_13);
    if (loader_finds_12()) return;
    on_machine("devices=1", has_wheels_of_12);
    on_machine("devices=1", has_conda);
    on_machine("devices=1", has_wheels_in_conda);
    on_machine("devices=1", has_toolkit_by_target);
    on_machine("devices=1", has_both_versions);
}

/* ---- reasons ---- */

static void expect_missing(machine_t *m, const char *first, const char *second) {
    machine_open(m);
    EXPECT_TEXT(m->cuda.libraries, first);
    EXPECT_TEXT(m->cuda.libraries, second);
    expect_computes(m, "CPU:0");
    remove_places(m);
}

/* NVRTC of CUDA 13 beside a driver of CUDA 12. */
static void has_later_libraries(machine_t *m) {
    from(m, "VIRTUAL_ENV", "");
    put(m, WHEELS "cu13/lib/libnvrtc.so.13", STAND_IN("libnvrtc"));
    put(m, WHEELS "cu13/lib/libcublasLt.so.13", STAND_IN("libcublas"));
    expect_missing(m, WHEELS "cu13/lib/libnvrtc.so.13 is NVRTC of CUDA 13.0, and the driver",
                   "libcublasLt.so.13 is cuBLASLt of CUDA 13.0, and the driver");
    EXPECT_TEXT(m->cuda.libraries, "supports CUDA 12.4: NVRTC of CUDA 12 is needed");
    EXPECT_TEXT(m->cuda.libraries, "supports CUDA 12.4: cuBLASLt of CUDA 12 is needed");
}

static void has_later_libraries_by_name(machine_t *m) {
    machine_open(m);
    EXPECT_TEXT(m->cuda.libraries, "is NVRTC of CUDA 13.0, and the driver");
    EXPECT_TEXT(m->cuda.libraries, "is cuBLASLt of CUDA 13.1, and the driver");
    expect_computes(m, "CPU:0");
}

TEST(library_of_later_cuda_is_refused_with_both_versions) {
    if (!loader_finds_13() && !loader_finds_12())
        on_machine("devices=1;driver=12040;nvrtc=13000;cublas=130000", has_later_libraries);
    on_machine("devices=1;driver=12090;nvrtc=13000;cublas=130100", has_later_libraries_by_name);
}

/* ---- what others may write ---- */

#define OTHERS_WHEEL "cuda_nvrtc/lib/libnvrtc.so.12"

/* Gives the folder to another user, or lets all write it. */
static const char *give_away(const char *folder) {
    const bool is_root = geteuid() == 0;
    const int code = is_root ? chown(folder, 65534, 65534) : chmod(folder, 0777);
    EXPECT(code == 0, "%s", folder);
    return is_root ? "' belongs to user 65534; accepted" : "' has mode 0777; accepted";
}

static void has_packages_of_others(machine_t *m, const char *variable, const char *below,
                                   const char *packages) {
    char place[ROOM], others[ROOM];
    from(m, variable, below);
    (void)snprintf(place, sizeof place, "%s" OTHERS_WHEEL, packages);
    put(m, place, STAND_IN("libnvrtc"));
    put(m, "his/bin/python3", "/bin/sh");
    (void)snprintf(others, sizeof others, "%s/his", m->folder);
    const char *reason = give_away(others);
    machine_open(m);
    EXPECT(!strstr(m->cuda.libraries, "libnvrtc.so.12 ("), "%s", m->cuda.libraries);
    EXPECT(log_lines_with(&lines, "libnvrtc.so.12 is not opened", reason) > 0, "no warning");
    expect_computes(m, "CPU:0");
    remove_places(m);
}

static void has_home_of_others(machine_t *m) {
    has_packages_of_others(m, "HOME", "/his", "his/.local/" WHEELS);
}

static void has_base_of_others(machine_t *m) {
    has_packages_of_others(m, "PYTHONUSERBASE", "/his", "his/" WHEELS);
}

static void has_python_of_others(machine_t *m) {
    has_packages_of_others(m, "PATH", "/his/bin", "his/" WHEELS);
}

static void has_home_of_its_own(machine_t *m) {
    from(m, "HOME", "");
    put(m, ".local/" WHEELS OTHERS_WHEEL, STAND_IN("libnvrtc"));
    put(m, ".local/" WHEELS "cublas/lib/libcublasLt.so.12", STAND_IN("libcublas"));
    expect_found(m, ".local/" WHEELS OTHERS_WHEEL, ".local/" WHEELS "cublas/lib/libcublasLt.so.12");
}

TEST(packages_that_others_may_write_are_not_opened) {
    if (loader_finds_12()) return;
    on_machine("devices=1", has_home_of_others);
    on_machine("devices=1", has_base_of_others);
    on_machine("devices=1", has_python_of_others);
    if (gantry_check_writers(STAND_IN("libnvrtc")) == GANTRY_OK)
        on_machine("devices=1", has_home_of_its_own);
}

int main(void) {
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX",
                                            "CUDA_VISIBLE_DEVICES"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; ++i)
        (void)unsetenv(variables[i]);
    (void)setenv("POCL_DEVICES", "pthread", 1);
    return test_main_with(set_up, NULL, NULL, NULL);
}
