/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* O_CLOEXEC */
#include "base/os/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os/entropy.h"
#include "base/os/process.h"

/* Takes the descriptor. */
static int map_shared(int file, size_t bytes, void **out_memory, const char **out_call) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int error = memory == MAP_FAILED ? errno : 0;
    (void)close(file);
    *out_call = "mmap";
    *out_memory = error ? NULL : memory;
    return error;
}

/* Gives memory to all of it, because a page that is missing later would end the process. Beyond the
 * limit of files (ulimit -f), the process would end by SIGXFSZ. */
static int fill_shared(int file, size_t bytes) {
    uint64_t most;
    if (gantry__os_limit(GANTRY__OS_LIMIT_FILE, &most) && bytes > most) return EFBIG;
#if defined(__APPLE__)
    return ftruncate(file, (off_t)bytes) == 0 ? 0 : errno;
#else
    return posix_fallocate(file, 0, (off_t)bytes);
#endif
}

int gantry__os_shared_make(size_t bytes, char out_name[GANTRY__OS_SHARED_NAME_BYTES],
                           void **out_memory, const char **out_call) {
    uint64_t number;
    *out_call = "getentropy";
    *out_memory = NULL;
    out_name[0] = '\0';
    const int refused = gantry__os_entropy(&number, sizeof number);
    if (refused) return refused;
    (void)snprintf(out_name, GANTRY__OS_SHARED_NAME_BYTES, "/gantry_%ld_%016llx", (long)getpid(),
                   (unsigned long long)number);
    *out_call = "shm_open";
    const int file = shm_open(out_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return errno;
    *out_call = "posix_fallocate";
    int error = fill_shared(file, bytes);
    if (error == 0) return map_shared(file, bytes, out_memory, out_call);
    (void)close(file);
    (void)shm_unlink(out_name);
    return error;
}

int gantry__os_shared_open(const char *name, size_t bytes, void **out_memory,
                           const char **out_call) {
    *out_call = "shm_open";
    *out_memory = NULL;
    const int file = shm_open(name, O_RDWR | O_CLOEXEC, 0);
    return file < 0 ? errno : map_shared(file, bytes, out_memory, out_call);
}

void gantry__os_shared_forget(const char *name) { (void)shm_unlink(name); }

void gantry__os_shared_close(void *memory, size_t bytes) { (void)munmap(memory, bytes); }
