/* SPDX-License-Identifier: Apache-2.0 */
/* PoCL compiles in three steps, and each needs something of the machine:
 *
 *     clGetDeviceIDs        makes its cache folder and a thread for each core
 *     clBuildProgram        writes the text, the preprocessed text and its bitcode into the folder
 *     a kernel's launch     for sizes it has not seen: machine code, and the system's linker over
 *                           it; on a worker thread, so that nobody can receive a failure and PoCL
 *                           aborts
 *
 * The checks below must come before a program is built and a kernel is made. Where memory or disk
 * is scarce they must come before a launch, too (opencl_compile.h). */
#define _GNU_SOURCE
#include "opencl/opencl_pocl.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "opencl/opencl_status.h"
#include "driver/host_call.h"
#include "driver/process_limit.h"

#define PATH_BYTES GANTRY__POCL_PATH_BYTES
#define MIB (UINT64_C(1) << 20)
/* What compiling takes. A program with OpenCL's headers is up to 1 MiB of text, twice. Each thread
 * takes a stack and an arena of malloc's of address space. The first program that is not in the
 * folder took 130 MiB, and Clang and LLVM throw or abort where they do not get it. Later programs
 * use what is there, and took up to 10 MiB more. */
#define FOLDER_BYTES (4 * MIB)
#define TIGHT_FOLDER_BYTES (64 * MIB) /* less: one compilation at a time */
#define THREAD_BYTES (72 * MIB)
#define START_BYTES (144 * MIB)
#define COMPILER_BYTES (64 * MIB)
#define OPENING_BYTES (16 * MIB) /* a context registers LLVM's passes, which took 1 MiB */
#define MOST_THREADS 512

bool gantry__pocl_is(const char *platform_name) {
    return strcmp(platform_name, "Portable Computing Language") == 0;
}

/* ---- the folder ---- */

static const char *set_variable(const char *name) {
    const char *value = getenv(name); /* PoCL reads the environment, not options */

    return value && value[0] != '\0' ? value : NULL;
}

static bool find_folder(gantry__pocl_folder_t *out_folder, char *reason, size_t reason_bytes) {
    const char *cached = getenv("POCL_KERNEL_CACHE");
    const char *below = cached && strcmp(cached, "0") == 0 ? "pocl/uncached" : "pocl/kcache";
    const char *asked = getenv("POCL_CACHE_DIR");
    const char *cache = set_variable("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length;
    if (asked) {
        out_folder->chosen_by = "POCL_CACHE_DIR";
        length = snprintf(out_folder->path, PATH_BYTES, "%s", asked);
    } else if (cache) {
        out_folder->chosen_by = "XDG_CACHE_HOME";
        length = snprintf(out_folder->path, PATH_BYTES, "%s/%s", cache, below);
    } else if (home) {
        out_folder->chosen_by = "HOME";
        length = snprintf(out_folder->path, PATH_BYTES, "%s/.cache/%s", home, below);
    } else {
        out_folder->chosen_by = "default, as HOME is not set";
        length = snprintf(out_folder->path, PATH_BYTES, "/tmp/%s", below);
    }
    if (length > 0 && length < PATH_BYTES) return true;
    (void)snprintf(
        reason, reason_bytes,
        "%s %s; it must name a folder where PoCL can keep what it compiles, in less than %d bytes",
        out_folder->chosen_by, length <= 0 ? "is empty" : "is too long", PATH_BYTES);
    return false;
}

/* Makes the folder with those above it, each only where others may not write; where they may,
 * returns EPERM with others (else "") set. Returns 0 or what is wrong, with the length of the wrong
 * part. */
static int opencl_pocl_make_folder(const gantry_host_t *host, const char *path, size_t *out_length,
                                   char *others, size_t others_bytes) {
    char part[PATH_BYTES];
    others[0] = '\0';
    struct stat found;
    for (const char *at = path + 1;; ++at) {
        if (*at != '/' && *at != '\0') continue;
        *out_length = (size_t)(at - path);
        memcpy(part, path, *out_length);
        part[*out_length] = '\0';
        if (stat(part, &found) != 0 && errno == ENOENT &&
            gantry__host_others_may_write(host, part, others, others_bytes))
            return EPERM;
        if (mkdir(part, 0700) != 0) {
            int code = errno; /* not always EEXIST where it exists and nothing may be made */
            if (stat(part, &found) != 0) return code;
            if (!S_ISDIR(found.st_mode)) return ENOTDIR;
        }
        if (*at == '\0') return 0;
    }
}

/* Writes a page, because a quota fails only then. Returns 0 or what is wrong; *out_runs says
 * whether a file there may be run. */
static int try_file(const char *path, uint64_t *out_free_bytes, bool *out_runs) {
    int code = 0;
    char name[PATH_BYTES + 16];
    (void)snprintf(name, sizeof name, "%s/gantry_XXXXXX", path);
    int file = mkostemp(name, O_CLOEXEC);
    if (file < 0) return errno;
    errno = ENOSPC; /* a short write sets nothing */
    static const char page[4096];
    if (write(file, page, sizeof page) != (ssize_t)sizeof page) code = errno;
    *out_free_bytes = UINT64_MAX;
    *out_runs = true;
    struct statvfs room;
    if (fstatvfs(file, &room) == 0) {
        *out_free_bytes = (uint64_t)room.f_bavail * room.f_frsize;
        *out_runs = (room.f_flag & ST_NOEXEC) == 0;
    }
    close(file);
    unlink(name);
    return code;
}

static bool check_folder(const gantry_host_t *host, const gantry__pocl_folder_t *folder,
                         char *reason, size_t reason_bytes) {
    char problem[512], others[440];
    const char *cure = "name a folder that can be written with POCL_CACHE_DIR";
    char limit[160];
    uint64_t free_bytes = 0;
    bool runs = false;
    size_t length = 0;
    int code;
    if (!gantry__process_may_write(FOLDER_BYTES, limit, sizeof limit)) {
        cure = "raise this limit";
        (void)snprintf(problem, sizeof problem, "where %s", limit);
    } else if ((code = opencl_pocl_make_folder(host, folder->path, &length, others,
                                               sizeof others)) != 0 &&
               !*others) {
        (void)snprintf(problem, sizeof problem, "and %.*s cannot be made: %s",
                       (int)(length < 300 ? length : 300), folder->path, strerror(code));
    } else if (*others ||
               gantry__host_others_may_write(host, folder->path, others, sizeof others)) {
        cure = "name a folder of your own with POCL_CACHE_DIR";
        (void)snprintf(problem, sizeof problem, "and runs what it finds there: %s", others);
    } else if ((code = try_file(folder->path, &free_bytes, &runs)) != 0) {
        (void)snprintf(problem, sizeof problem, "where no file can be written: %s", strerror(code));
    } else if (!runs) {
        cure = "mount it with exec, or name another folder with POCL_CACHE_DIR";
        (void)snprintf(problem, sizeof problem,
                       "whose file system is mounted noexec, so that nothing runs from it");
    } else if (free_bytes < FOLDER_BYTES) {
        cure = "make room there, or name another folder with POCL_CACHE_DIR";
        (void)snprintf(
            problem, sizeof problem, "where %llu KiB are free and one program may take %llu KiB",
            (unsigned long long)(free_bytes / 1024), (unsigned long long)(FOLDER_BYTES / 1024));
    } else {
        return true;
    }
    (void)snprintf(reason, reason_bytes, "PoCL keeps what it compiles in %.300s (by %s), %s; %s",
                   folder->path, folder->chosen_by, problem, cure);
    return false;
}

/* ---- threads ---- */

static void *wait_for_gate(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* The number of PoCL's threads: one for each core. */
static uint32_t count_threads(void) {
    const char *most = set_variable("POCL_MAX_PTHREAD_COUNT");
    uint32_t count = most ? (uint32_t)strtoul(most, NULL, 10) : 0;
    cpu_set_t cores;
    if (count == 0)
        count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? (uint32_t)CPU_COUNT(&cores) : 1;
    return count < MOST_THREADS ? count : MOST_THREADS;
}

/* Whether the process can still make so many threads. No query gives that, so they are made; they
 * end at once. PoCL aborts where one of its own threads cannot be made. */
static bool can_make_threads(uint32_t needed, char *reason, size_t reason_bytes) {
    sigset_t all;
    sigfillset(&all);
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&gate);
    int code = 0;
    uint32_t made = 0;
    pthread_t threads[MOST_THREADS + 1];
    while (made < needed &&
           (code = pthread_create(&threads[made], NULL, wait_for_gate, &gate)) == 0) {
        ++made;
    }
    pthread_mutex_unlock(&gate);
    for (uint32_t i = 0; i < made; ++i) pthread_join(threads[i], NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_destroy(&gate);
    if (made == needed) return true;
    (void)snprintf(
        reason, reason_bytes,
        "PoCL needs a thread for each core and a process to link, %u in all, of which %u can be made: %s; "
        "raise the number of processes (ulimit -u, or pids.max of the cgroup), or lower POCL_MAX_PTHREAD_COUNT",
        needed, made, strerror(code));
    return false;
}

/* ---- before it is asked ---- */

static bool has_memory_and_threads(char *reason, size_t reason_bytes) {
    const uint32_t threads = count_threads();
    char room[256];
    if (!gantry__process_has_room(START_BYTES + threads * THREAD_BYTES, room, sizeof room)) {
        (void)snprintf(reason, reason_bytes, "PoCL cannot compile: %s", room);
        return false;
    }
    return can_make_threads(threads + 1, reason, reason_bytes);
}

/* Whether PoCL may be queried. PoCL asserts that its folder has a name; a folder that cannot be
 * made is an error that it returns. */
bool gantry__pocl_can_be_asked(char *reason, size_t reason_bytes) {
    gantry__pocl_folder_t folder;
    return find_folder(&folder, reason, reason_bytes) &&
           has_memory_and_threads(reason, reason_bytes);
}

bool gantry__pocl_can_start(const gantry_host_t *host, gantry__pocl_folder_t *out_folder,
                            char *reason, size_t reason_bytes) {
    return find_folder(out_folder, reason, reason_bytes) &&
           check_folder(host, out_folder, reason, reason_bytes) &&
           has_memory_and_threads(reason, reason_bytes);
}

bool gantry__pocl_is_tight(const gantry__pocl_folder_t *folder) {
    struct statvfs room;
    return gantry__process_is_limited() || statvfs(folder->path, &room) != 0 ||
           (uint64_t)room.f_bavail * room.f_frsize < TIGHT_FOLDER_BYTES;
}

static int32_t check_memory(const gantry_host_t *host, uint64_t needed_bytes, const char *what) {
    char reason[GANTRY__POCL_REASON_BYTES];
    if (gantry__process_has_room(needed_bytes, reason, sizeof reason)) return GANTRY_OK;
    return gantry__driver_fail(host, GANTRY_RESOURCE_EXHAUSTED, 0,
                               "%sPoCL's compiler has no memory: %s", what, reason);
}

int32_t gantry__pocl_check_opening(const gantry_host_t *host) {
    return check_memory(host, OPENING_BYTES, "");
}

int32_t gantry__pocl_check_compiling(const gantry_host_t *host, const gantry__pocl_folder_t *folder,
                                     uint64_t grown_bytes, const char *what) {
    const uint64_t needed_bytes =
        grown_bytes < START_BYTES - COMPILER_BYTES ? START_BYTES - grown_bytes : COMPILER_BYTES;
    char reason[GANTRY__POCL_REASON_BYTES];
    if (!check_folder(host, folder, reason, sizeof reason))
        return gantry__driver_fail(host, GANTRY_FAILED_PRECONDITION, 0, "%s%s", what, reason);
    return check_memory(host, needed_bytes, what);
}

/* ---- the linker ---- */

static bool is_program(const char *path) {
    struct stat info;
    return access(path, R_OK | X_OK) == 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool matches(const char *pattern) {
    glob_t found;
    bool is_found = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    if (is_found) globfree(&found);
    return is_found;
}

/* Whether a folder of the list (with ':' between them) has the file; out_path is the first
 * one's. */
static bool find_in_list(const char *list, const char *name, bool (*is_it)(const char *path),
                         char *out_path, size_t path_bytes) {
    while (list && *list != '\0') {
        int length = (int)strcspn(list, ":");
        (void)snprintf(out_path, path_bytes, "%.*s/%s", length, list, name);
        if (length > 0 && is_it(out_path)) return true;
        list += length + (list[length] == ':');
    }
    return false;
}

/* Whether the file is in one of the folders, which are patterns, or in one of LIBRARY_PATH. */
static bool is_in_folders(const char *name, const char *const *folders, size_t count) {
    char path[PATH_BYTES];
    for (size_t i = 0; i < count; ++i) {
        (void)snprintf(path, sizeof path, "%s/%s", folders[i], name);
        if (matches(path)) return true;
    }
    return find_in_list(getenv("LIBRARY_PATH"), name, matches, path, sizeof path);
}

/* Finds the linker as Clang does. Clang looks for ld in the folder of the GCC that it uses,
 * /usr/<triple>/bin of /usr/lib/gcc/<triple>, then in PATH. Other folders of that form belong to
 * cross compilers: MinGW's ld makes programs for Windows, and PoCL ends the process when a link
 * fails. */
static bool find_linker_of_gcc(const char *machine, char *out_path, size_t path_bytes) {
    char pattern[sizeof((struct utsname *)0)->machine + 32];
    glob_t found;
    bool is_found = false;
    (void)snprintf(pattern, sizeof pattern, "/usr/lib*/gcc/%s-*linux*", machine);
    if (glob(pattern, GLOB_ONLYDIR, NULL, &found) != 0) return false;
    for (size_t i = 0; i < found.gl_pathc && !is_found; ++i) {
        (void)snprintf(out_path, path_bytes, "/usr/%s/bin/ld", strrchr(found.gl_pathv[i], '/') + 1);
        is_found = is_program(out_path);
    }
    globfree(&found);
    return is_found;
}

static bool find_linker(const char *machine, char *out_path, size_t path_bytes) {
    if (find_linker_of_gcc(machine, out_path, path_bytes) ||
        find_in_list(getenv("PATH"), "ld", is_program, out_path, path_bytes))
        return true;
    out_path[0] = '\0';
    return false;
}

/* Whether the linker links programs of this machine. A linker has the names of all its formats in
 * it; a script, which some systems have around their linker, has none. */
static bool links_here(const char *machine, const char *path) {
    static const char *const formats[][2] = {{"x86_64", "elf_x86_64"}, {"aarch64", "aarch64linux"}};
    const char *format = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; ++i) {
        if (strcmp(machine, formats[i][0]) == 0) format = formats[i][1];
    }
    int file = format ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat info;
    if (file < 0) return true;
    void *bytes = fstat(file, &info) == 0 && info.st_size > 4
                      ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0)
                      : MAP_FAILED;
    (void)close(file);
    if (bytes == MAP_FAILED) return true;
    const bool links = memcmp(bytes, "\177ELF", 4) != 0 ||
                       memmem(bytes, (size_t)info.st_size, format, strlen(format)) != NULL;
    (void)munmap(bytes, (size_t)info.st_size);
    return links;
}

/* Finds a library that is missing. Every link has -lm, -lc and -lgcc. A linker of the system itself
 * looks for them where systems have them; another one (Nix, Conda) knows its own places. Systems
 * without GCC may have a Clang that links its own library instead. */
static const char *find_missing_library(void) {
    static const char *const systems[] = {"/usr/lib/*-linux-*", "/usr/lib*", "/lib/*-linux-*",
                                          "/lib*", "/usr/local/lib*"};
    static const char *const gccs[] = {"/usr/lib*/gcc/*/*", "/usr/local/lib*/gcc/*/*",
                                       "/opt/*/*/root/usr/lib*/gcc/*/*", "/usr/lib*"};
    const size_t system_count = sizeof systems / sizeof systems[0];

    if (!is_in_folders("libm.so", systems, system_count) &&
        !is_in_folders("libm.a", systems, system_count)) {
        return "the C library's libm.so for linking is not found: install libc6-dev (glibc-devel)";
    }
    if (is_in_folders("libgcc.a", gccs, sizeof gccs / sizeof gccs[0]) ||
        (!matches("/usr/lib*/gcc") && matches("/usr/lib*/clang/*/lib/*/libclang_rt.builtins*"))) {
        return NULL;
    }
    return "GCC's libgcc.a is not found: install gcc";
}

bool gantry__pocl_can_link(char *reason, size_t reason_bytes) {
    const char *path = getenv("PATH");
    struct utsname system = {.machine = ""};
    char linker[PATH_BYTES];
    (void)uname(&system);
    if (!find_linker(system.machine, linker, sizeof linker)) {
        (void)snprintf(
            reason, reason_bytes,
            "PoCL links each kernel with the program ld, which is in no folder of PATH (%s%.300s%s): install binutils, or mend PATH",
            path ? "\"" : "", path ? path : "not set", path ? "\"" : "");
        return false;
    }
    if (!links_here(system.machine, linker)) {
        (void)snprintf(
            reason, reason_bytes,
            "PoCL links each kernel with the first program ld that is found, %.300s, which makes no programs for %s: mend PATH, so that the system's ld comes first",
            linker, system.machine);
        return false;
    }
    const char *missing = strncmp(linker, "/usr/bin/", 9) == 0 || strncmp(linker, "/bin/", 5) == 0
                              ? find_missing_library()
                              : NULL;
    if (missing) {
        (void)snprintf(reason, reason_bytes, "PoCL links each kernel with %.100s, and %s", linker,
                       missing);
        return false;
    }
    return true;
}
