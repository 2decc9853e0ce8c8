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
#include "opencl/pocl/opencl_pocl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/thread.h"
#include "opencl/pocl/opencl_linker.h"
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
    gantry__os_info_t found;
    for (const char *at = path + 1;; ++at) {
        if (*at != '/' && *at != '\0') continue;
        *out_length = (size_t)(at - path);
        memcpy(part, path, *out_length);
        part[*out_length] = '\0';
        if (gantry__os_path_info(part, &found) == ENOENT &&
            gantry__host_others_may_write(host, part, others, others_bytes))
            return EPERM;
        const int code = gantry__os_make_folder(part, 0700);
        /* not always EEXIST where it exists and nothing may be made */
        if (code != 0 && gantry__os_path_info(part, &found) != 0) return code;
        if (code != 0 && found.kind != GANTRY__OS_FOLDER) return ENOTDIR;
        if (*at == '\0') return 0;
    }
}

/* Writes a page, because a quota fails only then. Returns 0 or what is wrong; *out_runs says
 * whether a file there may be run. */
static int try_file(const char *path, uint64_t *out_free_bytes, bool *out_runs) {
    int code = 0;
    char name[PATH_BYTES + 16];
    (void)snprintf(name, sizeof name, "%s/gantry_XXXXXX", path);
    const int file = gantry__os_make_own_file(name);
    if (file < 0) return errno;
    (void)gantry__os_remove(name); /* at once: a process that is killed leaves nothing */
    errno = ENOSPC;                /* a short write sets nothing */
    static const char page[4096];
    if (gantry__os_write(file, page, sizeof page, GANTRY__OS_NEXT) != (int64_t)sizeof page)
        code = errno;
    *out_free_bytes = UINT64_MAX;
    *out_runs = true;
    (void)gantry__os_room(file, out_free_bytes, out_runs);
    (void)gantry__os_close(file);
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
    gantry__mutex_lock(gate);
    gantry__mutex_unlock(gate);
    return NULL;
}

/* The number of PoCL's threads: one for each core. */
static uint32_t count_threads(void) {
    const char *most = set_variable("POCL_MAX_PTHREAD_COUNT");
    uint32_t count = most ? (uint32_t)strtoul(most, NULL, 10) : 0;
    if (count == 0) count = gantry__os_usable_cores();
    return count < MOST_THREADS ? count : MOST_THREADS;
}

/* Whether the process can still make so many threads. No query gives that, so they are made; they
 * end at once. PoCL aborts where one of its own threads cannot be made. */
static bool can_make_threads(uint32_t needed, char *reason, size_t reason_bytes) {
    gantry__mutex_t gate;
    gantry__thread_t threads[MOST_THREADS + 1];
    uint32_t made = 0;
    int code = gantry__mutex_init(&gate);
    if (code == 0) {
        gantry__mutex_lock(&gate);
        while (made < needed &&
               (code = gantry__thread_start(&threads[made], 0, wait_for_gate, &gate)) == 0)
            ++made;
        gantry__mutex_unlock(&gate);
        for (uint32_t i = 0; i < made; ++i) gantry__thread_join(threads[i]);
        gantry__mutex_deinit(&gate);
    }
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
    uint64_t free_bytes = 0;
    bool runs;
    if (gantry__process_is_limited()) return true;
    const int file = gantry__os_open(folder->path, GANTRY__OS_READ | GANTRY__OS_IS_FOLDER, 0);
    if (file >= 0 && gantry__os_room(file, &free_bytes, &runs) != 0) free_bytes = 0;
    if (file >= 0) (void)gantry__os_close(file);
    return free_bytes < TIGHT_FOLDER_BYTES;
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
    if (!check_folder(host, folder, reason, sizeof reason) ||
        !gantry__linker_can_wait(reason, sizeof reason))
        return gantry__driver_fail(host, GANTRY_FAILED_PRECONDITION, 0, "%s%s", what, reason);
    return check_memory(host, needed_bytes, what);
}
