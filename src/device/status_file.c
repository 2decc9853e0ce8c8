/* SPDX-License-Identifier: Apache-2.0 */
/* The name is PID-RUNTIME.json, where RUNTIME is the runtime's address: a process may have several.
 * The folder /tmp/gantry-status has the mode of /tmp: every user's programs are shown to all, as
 * NVML shows them, and nobody can replace another's file. Whoever made that folder may put a link
 * in its place, so it is compared before each writing. Another folder is made, and used, where only
 * this user and root may write, or with the sticky bit. A link of the file's name is replaced, not
 * followed. */
#include "device/status_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/files.h"
#include "base/new_file.h"
#include "base/os/clock.h"
#include "base/os/paths.h"
#include "base/os/process.h"
#include "base/shared_folder.h"
#include "base/trust.h"
#include "device/device_table.h"
#include "device/logical_device.h"

#define COMMON_FOLDER "/tmp/gantry-status"
#define ENDING ".json"
#define PERIOD_NS UINT64_C(1000000000)
#define MOST_PATH 480

struct gantry__status_file_t {
    atomic_uint_fast64_t next_ns; /* the file is not written before */
    atomic_bool is_writing;
    char folder[MOST_PATH], path[MOST_PATH];
    int64_t process;        /* which made the file: a child of fork has none */
    bool is_common;         /* the folder of all users */
    gantry__os_info_t made; /* the folder, when it was taken */
    gantry_new_file_t next; /* while it is written */
    char before[GANTRY__MESSAGE_BYTES];
};

/* Milliseconds of the clock that the system dates processes with. It runs while the machine
 * sleeps. */
static uint64_t boot_ms(void) { return gantry__os_boot_ns() / 1000000; }

/* A piece of the text. */
static gantry_status_t status_file_put(gantry_new_file_t *file, const char *format, ...)
    GANTRY__PRINTF(2, 3);

static gantry_status_t status_file_put(gantry_new_file_t *file, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text)
        return gantry__fail(GANTRY_INTERNAL, "a line of the status file is too long");
    return gantry__new_file_write(file, text, (size_t)length);
}

static gantry_status_t write_device(gantry_new_file_t *file, gantry_logical_device_t *device,
                                    const char *separator) {
    gantry__bfc_stats_t stats;
    gantry__allocator_stats(&device->allocator, &stats);
    return status_file_put(file,
                           "%s{\"device\":\"%s\",\"uuid\":\"%s\",\"in_use_bytes\":%" PRIu64
                           ",\"pool_bytes\":%" PRIu64 ",\"peak_bytes\":%" PRIu64
                           ",\"limit_bytes\":%" PRIu64 ",\"foreign_bytes\":%" PRIu64 "}",
                           separator, device->name, device->physical->uuid, stats.bytes_in_use,
                           stats.pool_bytes, stats.peak_bytes_in_use, stats.bytes_limit,
                           (uint64_t)atomic_load(&device->allocator.foreign_bytes));
}

static gantry_status_t write_open_devices(const gantry__device_table_t *table,
                                          gantry_new_file_t *file) {
    const char *separator = "";
    GANTRY__TRY(status_file_put(file, "{\"pid\":%ld,\"boot_ms\":%" PRIu64 ",\"devices\":[",
                                (long)gantry__os_process(), boot_ms()));
    for (size_t i = 0; i < table->logical_count; ++i) {
        gantry_logical_device_t *device = table->logical[i];
        if (!atomic_load_explicit(&device->is_open, memory_order_acquire)) continue;
        GANTRY__TRY(write_device(file, device, separator));
        separator = ",";
    }
    return status_file_put(file, "]}\n");
}

/* Examines the folder. For the folder of all users, a link is no folder. */
static int examine_folder(const gantry__status_file_t *file, gantry__os_info_t *out_info) {
    return file->is_common ? gantry__os_link_info(file->folder, out_info)
                           : gantry__os_path_info(file->folder, out_info);
}

static bool has_folder(const gantry__status_file_t *file) {
    gantry__os_info_t info;
    return examine_folder(file, &info) == 0 && gantry__os_is_same(&info, &file->made);
}

/* Writes the file. A failure is not reported, because the next writing may succeed. The thread's
 * message stays. */
static void status_file_write(const gantry__device_table_t *table, gantry__status_file_t *file) {
    const uint32_t before = gantry__failures();
    if (file->process != gantry__os_process() || !has_folder(file)) return;
    (void)snprintf(file->before, sizeof file->before, "%s", gantry__message());
    gantry_status_t status =
        gantry__new_file_begin(file->path, GANTRY__FILE_OWN | GANTRY__FILE_SHOWN, &file->next);
    if (status == GANTRY_OK) status = write_open_devices(table, &file->next);
    if (status == GANTRY_OK) status = gantry__new_file_end(&file->next);
    gantry__new_file_abandon(&file->next);
    if (gantry__failures() != before) gantry__failure_restore(before, file->before);
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

static gantry_status_t examine_common(const char *folder) {
    gantry__os_info_t info;
    const int directory = gantry__shared_folder_open(folder, true, true);
    const int error = directory < 0 ? errno : gantry__os_file_info(directory, &info);
    gantry__file_close(directory);
    if (error) return gantry__file_fail("open", folder, error);
    if (!gantry__shared_folder_is_open_to_all(&info)) return GANTRY_OK;
    return gantry__fail(GANTRY_FAILED_PRECONDITION,
                        "every user may replace a file in '%s', which has mode %04o", folder,
                        info.mode);
}

/* Makes the folder if it is missing. */
static gantry_status_t take_folder(gantry__status_file_t *file, const char *folder) {
    file->is_common = strcmp(folder, COMMON_FOLDER) == 0;
    (void)snprintf(file->folder, sizeof file->folder, "%s", folder);
    GANTRY__TRY(file->is_common ? examine_common(folder) : gantry__trust_make_folder(folder, NULL));
    int error = examine_folder(file, &file->made);
    if (error) return gantry__file_fail("open", folder, error);
    error = gantry__os_may(folder, GANTRY__OS_MAY_WRITE | GANTRY__OS_MAY_RUN);
    return error ? gantry__file_fail("write in", folder, error) : GANTRY_OK;
}

/* Reads the setting; *out_folder is NULL if there is to be no file. */
static gantry_status_t read_status_setting(gantry__settings_t *settings, const char **out_folder) {
    const char *folder = gantry__settings_get(settings, "GANTRY_STATUS", NULL);
    bool is_on = true;
    const bool is_switch = folder && gantry__parse_bool(folder, strlen(folder), &is_on);
    *out_folder = NULL;
    if (!folder || !*folder || !is_on) return GANTRY_OK;
    if (is_switch) folder = COMMON_FOLDER;
    *out_folder = folder;
    if ((is_switch || gantry__os_path_is_absolute(folder)) && strlen(folder) <= MOST_PATH - 40)
        return GANTRY_OK;
    return gantry__refuse(
        "GANTRY_STATUS is \"%.500s\"; 0, 1 and the absolute path of a folder are accepted", folder);
}

gantry_status_t gantry__status_file_open(gantry__device_table_t *table,
                                         gantry__status_file_t **out_file) {
    const char *folder;
    *out_file = NULL;
    GANTRY__TRY(read_status_setting(table->settings, &folder));
    if (!folder) return GANTRY_OK;
    gantry__status_file_t *file = gantry__heap_zalloc(table->heap, sizeof *file);
    if (!file) return GANTRY_RESOURCE_EXHAUSTED;
    const uint32_t before = gantry__failures();
    if (take_folder(file, folder) != GANTRY_OK) {
        gantry__log(table->log, GANTRY_LEVEL_WARNING,
                    "GANTRY_STATUS: no status file is written: %s", gantry__message());
        gantry__forget_since(before);
        gantry__heap_free(table->heap, file, sizeof *file);
        return GANTRY_OK;
    }
    file->process = gantry__os_process();
    (void)snprintf(file->path, sizeof file->path, "%s/%ld-%" PRIxPTR ENDING, folder,
                   (long)file->process, (uintptr_t)table);
    gantry__new_file_sweep(table->heap, folder, ENDING);
    *out_file = file;
    return GANTRY_OK;
}

void gantry__status_file_close(gantry__device_table_t *table, gantry__status_file_t *file) {
    if (!file) return;
    if (file->process == gantry__os_process()) (void)gantry__os_remove(file->path);
    gantry__heap_free(table->heap, file, sizeof *file);
}
