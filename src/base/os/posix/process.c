/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* syscall, the program's name */
#include "base/os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

int64_t gantry__os_process(void) { return getpid(); }

int64_t gantry__os_user(void) { return getuid(); }

uint64_t gantry__os_thread(void) {
#if defined(__linux__)
    return (uint64_t)syscall(SYS_gettid);
#else
    static _Thread_local char own;
    return ((uint64_t)(uintptr_t)&own >> 4) & UINT32_MAX;
#endif
}

void gantry__os_host_name(char *out, size_t out_bytes) {
    out[0] = '\0';
    (void)gethostname(out, out_bytes - 1);
    out[out_bytes - 1] = '\0';
}

void gantry__os_command_line(char *out, size_t out_bytes) {
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, out, out_bytes - 1) : 0;
    if (file >= 0) (void)close(file);
    if (length < 0) length = 0;
    while (length > 0 && out[length - 1] == '\0') --length;
    for (ssize_t i = 0; i < length; ++i) {
        if (out[i] == '\0') out[i] = ' ';
    }
    out[length] = '\0';
}

const char *gantry__os_program_name(void) {
#if defined(__GLIBC__)
    return program_invocation_short_name;
#elif defined(__APPLE__)
    return getprogname();
#else
    return "";
#endif
}
