/* SPDX-License-Identifier: Apache-2.0 */
/* The name is PID-RUNTIME.json, where RUNTIME is the runtime's address: a process may have several.
 * The folder /tmp/gantry-status has the mode of /tmp: every user's programs are shown to all, as
 * NVML shows them, and nobody can replace another's file. The new file is opened exclusively, so
 * that a symbolic link of another user's is not followed. */
#define _GNU_SOURCE /* CLOCK_BOOTTIME */
#include "device/status_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/files.h"
#include "device/logical_device.h"
#include "device/device_table.h"

#define COMMON_FOLDER "/tmp/gantry-status"
#define PERIOD_NS UINT64_C(1000000000)
#define MOST_PATH 480

struct gantry__status_file_t {
    atomic_uint_fast64_t next_ns; /* the file is not written before */
    atomic_bool is_writing;
    char path[MOST_PATH], temporary[MOST_PATH + 4];
};

/* Milliseconds of the clock that the system dates processes with. It runs while the machine
 * sleeps. */
static uint64_t boot_ms(void) {
#ifdef CLOCK_BOOTTIME
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
#else
    return gantry__now_ns() / 1000000;
#endif
}

/* A piece of the text; false after a failure, which nobody is told. */
static bool status_file_put(int fd, const char *format, ...) GANTRY__PRINTF(2, 3);

static bool status_file_put(int fd, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return length >= 0 && (size_t)length < sizeof text &&
           gantry__file_put(fd, text, (size_t)length, GANTRY__FILE_NEXT) == length;
}

static bool write_device(int fd, gantry_logical_device_t *device, const char *separator) {
    gantry__bfc_stats_t stats;
    gantry__allocator_stats(&device->allocator, &stats);
    return status_file_put(fd,
                           "%s{\"device\":\"%s\",\"uuid\":\"%s\",\"in_use_bytes\":%" PRIu64
                           ",\"pool_bytes\":%" PRIu64 ",\"peak_bytes\":%" PRIu64
                           ",\"limit_bytes\":%" PRIu64 "}",
                           separator, device->name, device->physical->uuid, stats.bytes_in_use,
                           stats.pool_bytes, stats.peak_bytes_in_use, stats.bytes_limit);
}

static void status_file_write(gantry__device_table_t *table, const gantry__status_file_t *file) {
    int fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return;
    const char *separator = "";
    bool is_whole = status_file_put(fd, "{\"pid\":%ld,\"boot_ms\":%" PRIu64 ",\"devices\":[",
                                    (long)getpid(), boot_ms());
    for (size_t i = 0; i < table->logical_count && is_whole; ++i) {
        gantry_logical_device_t *device = table->logical[i];
        if (!atomic_load_explicit(&device->is_open, memory_order_acquire)) continue;
        is_whole = write_device(fd, device, separator);
        separator = ",";
    }
    is_whole = is_whole && status_file_put(fd, "]}\n");
    if (close(fd) != 0 || !is_whole || rename(file->temporary, file->path) != 0)
        (void)unlink(file->temporary);
}

void gantry__status_file_note(gantry__device_table_t *table, gantry__status_file_t *file) {
    const uint64_t now = gantry__now_ns();
    if (now < atomic_load_explicit(&file->next_ns, memory_order_relaxed)) return;
    if (atomic_exchange_explicit(&file->is_writing, true, memory_order_acquire)) return;
    atomic_store_explicit(&file->next_ns, now + PERIOD_NS, memory_order_relaxed);
    status_file_write(table, file);
    atomic_store_explicit(&file->is_writing, false, memory_order_release);
}

/* ---- open and close ---- */

static gantry_status_t make_folder(const char *folder) {
    const bool is_common = strcmp(folder, COMMON_FOLDER) == 0;
    if (is_common && mkdir(folder, 0700) == 0)
        return chmod(folder, 01777) == 0 ? GANTRY_OK : GANTRY_UNKNOWN;
    return gantry__directory_make(folder);
}

gantry_status_t gantry__status_file_open(gantry__device_table_t *table,
                                         gantry__status_file_t **out_file) {
    *out_file = NULL;
    const char *folder = gantry__settings_get(table->settings, "GANTRY_STATUS", NULL);
    bool is_on = true;
    const bool is_switch = folder && gantry__parse_bool(folder, strlen(folder), &is_on);
    if (!folder || !*folder || !is_on) return GANTRY_OK;
    if (is_switch) folder = COMMON_FOLDER;
    if (*folder != '/' || strlen(folder) > MOST_PATH - 40) {
        return gantry__fail(
            GANTRY_INVALID_ARGUMENT,
            "GANTRY_STATUS is \"%.500s\"; 0, 1 and the absolute path of a folder are accepted",
            folder);
    }
    const uint32_t before = gantry__failures();
    if (make_folder(folder) != GANTRY_OK || access(folder, W_OK | X_OK) != 0) {
        gantry__log(table->log, GANTRY_LEVEL_WARNING,
                    "GANTRY_STATUS: no status file is written, because no file can be made in %s",
                    folder);
        gantry__forget_since(before);
        return GANTRY_OK;
    }
    gantry__status_file_t *file = gantry__heap_zalloc(table->heap, sizeof *file);
    if (!file) return GANTRY_RESOURCE_EXHAUSTED;
    (void)snprintf(file->path, sizeof file->path, "%s/%ld-%" PRIxPTR ".json", folder,
                   (long)getpid(), (uintptr_t)table);
    (void)snprintf(file->temporary, sizeof file->temporary, "%s.tmp", file->path);
    (void)unlink(file->temporary);
    *out_file = file;
    return GANTRY_OK;
}

void gantry__status_file_close(gantry__device_table_t *table, gantry__status_file_t *file) {
    if (!file) return;
    (void)unlink(file->path);
    gantry__heap_free(table->heap, file, sizeof *file);
}
