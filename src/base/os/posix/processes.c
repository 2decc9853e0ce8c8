/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include "base/os/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/users.h"

/* Reads the beginning of a process's file in /proc, and gets its owner. False: there is none. */
static bool read_process_file(int64_t process, const char *name, char *out, size_t out_bytes,
                              uid_t *out_user) {
    char path[64];
    struct stat info;
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/%s", process, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file >= 0 && fstat(file, &info) == 0 ? read(file, out, out_bytes - 1) : -1;
    if (file >= 0) (void)close(file);
    out[got > 0 ? got : 0] = '\0';
    if (got > 0) *out_user = info.st_uid;
    return got > 0;
}

void gantry__os_process_describe(int64_t process, char *out_name, size_t name_bytes, char *out_user,
                                 size_t user_bytes) {
    char text[64];
    uid_t user;
    out_name[0] = out_user[0] = '\0';
    if (!read_process_file(process, "comm", text, sizeof text, &user)) return;
    text[strcspn(text, "\n")] = '\0';
    (void)snprintf(out_name, name_bytes, "%s", text);
    if (!gantry__os_user_name(user, out_user, user_bytes))
        (void)snprintf(out_user, user_bytes, "%ld", (long)user);
}

/* Field 22 of stat; the name before it, in parentheses, may hold anything. */
double gantry__os_process_start(int64_t process, uint64_t user) {
    char text[1024];
    uid_t owner;
    if (!read_process_file(process, "stat", text, sizeof text, &owner) || owner != (uid_t)user)
        return -1.0;
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; ++field) at = strchr(at + 1, ' ');
    return at ? (double)strtoull(at + 1, NULL, 10) / (double)sysconf(_SC_CLK_TCK) : -1.0;
}

/* Whether a descriptor of the process is a file whose path ends so. */
static bool process_has_open(const char *process, const char *path_end) {
    char path[600], target[4096];
    bool has = false;
    (void)snprintf(path, sizeof path, "/proc/%.20s/fd", process);
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && !has && (entry = readdir(folder));) {
        (void)snprintf(path, sizeof path, "/proc/%.20s/fd/%s", process, entry->d_name);
        const ssize_t length = readlink(path, target, sizeof target - 1);
        const size_t end = strlen(path_end);
        if (length <= 0) continue;
        target[length] = '\0';
        has = (size_t)length > end && strcmp(target + (size_t)length - end, path_end) == 0;
    }
    if (folder) (void)closedir(folder);
    return has;
}

bool gantry__os_processes_with(const char *path_end, int64_t *out_processes, size_t most,
                               size_t *out_count) {
    DIR *processes = opendir("/proc");
    *out_count = 0;
    for (const struct dirent *entry; processes && (entry = readdir(processes));) {
        const char first = entry->d_name[0];
        if (first < '0' || first > '9' || *out_count == most) continue;
        if (process_has_open(entry->d_name, path_end))
            out_processes[(*out_count)++] = strtol(entry->d_name, NULL, 10);
    }
    if (processes) (void)closedir(processes);
    return processes != NULL;
}
