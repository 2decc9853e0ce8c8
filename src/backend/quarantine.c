/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a backend in the folder "drivers", next to the compiled kernels:
 *
 *   opencl.<number>.try       a note: the version of the drivers that a process opens now. The
 *                             process locks the file before it has this name, and removes it. The
 *                             name of the driver whose code runs follows.
 *   opencl.crashed            the version, the second (UTC) in which a process of its own crashed,
 *                             and how it ended: a line each
 *
 * A version is a hash of the names, sizes and times of the drivers' files and of the module. */
#include "backend/quarantine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/probe_child.h"
#include "base/entropy.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/new_file.h"
#include "base/os/clock.h"
#include "base/os/locks.h"
#include "base/os/paths.h"
#include "base/trust.h"
#include "base/user_folder.h"
#include "shared/printable.h"

#define RECORD_SECONDS (24 * 60 * 60)
#define VERSION_DIGITS 32
#define WHY_BYTES 384
#define DRIVER_BYTES 256
#define FILES_BYTES 2048
#define NOTE_END ".try"
#define OLD_SECONDS 60
#define NEW_END ".new" /* a note that is not locked yet */

typedef struct driver_version_t {
    char text[VERSION_DIGITS + 1];
    char files[FILES_BYTES]; /* the files of the drivers: "a, b" */
} driver_version_t;

static gantry_status_t say_untried(gantry__quarantine_t *quarantine, const char *why) {
    (void)snprintf(quarantine->untried, sizeof quarantine->untried, "%s", why);
    return GANTRY_OK;
}

gantry_status_t gantry__quarantine_init(gantry__quarantine_t *quarantine,
                                        const gantry__heap_t *heap, const gantry__log_t *log,
                                        gantry__settings_t *settings) {
    *quarantine = (gantry__quarantine_t){.heap = heap, .log = log};
    bool is_on = true;
    GANTRY__TRY(gantry__settings_get_bool(settings, "GANTRY_DRIVER_QUARANTINE", &is_on));
    const char *kernels = gantry__settings_get(settings, "GANTRY_KERNEL_CACHE", NULL);
    if (!is_on) return say_untried(quarantine, "GANTRY_DRIVER_QUARANTINE is off");
    if (kernels && !*kernels)
        return say_untried(quarantine, "GANTRY_KERNEL_CACHE is empty: no crash can be noted");
    if (!kernels) {
        quarantine->folder = gantry__user_folder(heap, settings, "drivers");
        if (quarantine->folder) return GANTRY_OK;
        return say_untried(
            quarantine,
            "no crash can be noted: XDG_CACHE_HOME, HOME and GANTRY_KERNEL_CACHE name no folder");
    }
    char folder[sizeof((gantry__driver_trial_t *)0)->note];
    int length = snprintf(folder, sizeof folder, "%s/drivers", kernels);
    if (length < 0 || (size_t)length >= sizeof folder)
        return say_untried(quarantine, "the name of the folder of compiled kernels is too long");
    quarantine->folder = gantry__heap_strdup(heap, folder);
    return quarantine->folder ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

void gantry__quarantine_deinit(gantry__quarantine_t *quarantine) {
    gantry__heap_free_text(quarantine->heap, quarantine->folder);
    quarantine->folder = NULL;
}

/* ---- the version of a backend's drivers ---- */

/* Finds a file in the places where a loader finds a name without a folder, unless it is given
 * another place. */
static bool find_file(const char *name, gantry__os_info_t *out_info) {
    static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib/aarch64-linux-gnu",
                                          "/usr/lib64",
                                          "/usr/lib",
                                          "/usr/local/lib",
                                          "/usr/lib/wsl/lib"};
    char path[512];
    if (gantry__os_path_has_folder(name)) return gantry__os_path_info(name, out_info) == 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i) {
        (void)snprintf(path, sizeof path, "%s/%.400s", folders[i], name);
        if (gantry__os_path_info(path, out_info) == 0) return true;
    }
    return false;
}

/* Files may be listed in any order. */
static void add_file(gantry__hash128_t *version, const char *name) {
    gantry__hasher_t hasher;
    gantry__os_info_t info;
    int64_t facts[3] = {0};
    if (find_file(name, &info)) {
        facts[0] = (int64_t)info.size;
        facts[1] = info.modified_s;
        facts[2] = info.modified_ns;
    }
    gantry__hasher_init(&hasher);
    gantry__hasher_add_text(&hasher, name);
    gantry__hasher_add(&hasher, facts, sizeof facts);
    version->low += hasher.state.low;
    version->high += hasher.state.high;
}

static void read_version(const gantry_host_t *host, const gantry_backend_t *table,
                         const char *module, driver_version_t *out) {
    gantry__hash128_t version = {0, 0};
    add_file(&version, module);
    char listed[FILES_BYTES] = "";
    size_t used = 0;
    if (GANTRY_ABI_HAS(table, driver_files) && table->driver_files)
        (void)table->driver_files(host, listed, sizeof listed);
    out->files[0] = '\0';
    for (char *file = listed, *next; *file; file = next) {
        next = file + strcspn(file, "\n");
        if (*next) *next++ = '\0';
        add_file(&version, file);
        if (used < sizeof out->files)
            used += (size_t)snprintf(out->files + used, sizeof out->files - used, "%s%s",
                                     used > 0 ? ", " : "", file);
    }
    (void)snprintf(out->text, sizeof out->text, "%016" PRIx64 "%016" PRIx64, version.high,
                   version.low);
}

/* ---- the record of a crash ---- */

typedef struct record_t {
    time_t when; /* 0: there is none of this version */
    bool is_in_force;
    char why[WHY_BYTES];
} record_t;

/* A line of a file, for a message. */
static void quarantine_copy_line(char *out, size_t out_bytes, const char *line) {
    (void)snprintf(out, out_bytes, "%.*s", (int)strcspn(line, "\n"), line);
    gantry__make_printable(out, '\0');
}

static void read_record(const gantry__quarantine_t *quarantine, const char *path,
                        const char *version, record_t *out) {
    char text[VERSION_DIGITS + 32 + WHY_BYTES] = "", *end;
    void *bytes;
    size_t size;
    int file;
    *out = (record_t){0};
    if (gantry__trust_open_file(path, NULL, NULL, &file) != GANTRY_OK) return;
    if (gantry__file_read_open(quarantine->heap, file, path, sizeof text - 1, &bytes, &size) ==
        GANTRY_OK) {
        memcpy(text, bytes, size);
        gantry__heap_free(quarantine->heap, bytes, size);
    }
    gantry__file_close(file);
    if (strncmp(text, version, VERSION_DIGITS) != 0 || text[VERSION_DIGITS] != '\n') return;
    const time_t now = time(NULL);
    out->when = (time_t)strtoll(text + VERSION_DIGITS + 1, &end, 10);
    out->is_in_force = *end == '\n' && out->when <= now && now - out->when < RECORD_SECONDS;
    quarantine_copy_line(out->why, sizeof out->why, *end ? end + 1 : end);
}

static void write_record(const char *path, const char *version, const record_t *record) {
    char text[VERSION_DIGITS + 32 + WHY_BYTES];
    int length = snprintf(text, sizeof text, "%s\n%lld\n%s\n", version, (long long)record->when,
                          record->why);
    const gantry__file_piece_t piece = {text, (size_t)length};
    (void)gantry__file_write(path, &piece, 1, GANTRY__FILE_OWN);
}

/* ---- notes ---- */

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), of_end = strlen(end);
    return length >= of_end && strcmp(name + length - of_end, end) == 0;
}

/* Removes a note that no process holds. True if it is of this version; then with the driver. */
static bool take_note(const char *path, const char *version, char driver[DRIVER_BYTES]) {
    char text[VERSION_DIGITS + DRIVER_BYTES];
    const int file =
        gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_NO_LINK | GANTRY__OS_NO_WAIT, 0);
    if (file < 0) return false;
    /* another process that finds the same note removes it first, or does not */
    const bool is_taken = gantry__os_lock(file, false) == 0 && gantry__os_remove(path) == 0;
    const int64_t size = is_taken ? gantry__os_read(file, text, sizeof text - 1) : 0;
    gantry__file_close(file);
    if (size < VERSION_DIGITS || memcmp(text, version, VERSION_DIGITS) != 0) return false;
    text[size] = '\0';
    quarantine_copy_line(driver, DRIVER_BYTES, text + VERSION_DIGITS);
    return true;
}

/* Removes the note of a process that ended before it locked it. Younger ones may still be
 * locked. */
static void remove_old(const char *path) {
    gantry__os_info_t info;
    if (gantry__os_path_info(path, &info) == 0 && time(NULL) - info.modified_s > OLD_SECONDS)
        (void)gantry__os_remove(path);
}

void gantry__quarantine_enter(const gantry__driver_trial_t *trial, const char *driver) {
    char text[DRIVER_BYTES];
    if (trial->lock < 0) return;
    (void)snprintf(text, sizeof text, "%s\n", driver);
    (void)gantry__os_write(trial->lock, text, strlen(text), VERSION_DIGITS);
}

static gantry_status_t count_notes(const gantry__quarantine_t *quarantine, const char *backend,
                                   const char *version, uint32_t *out_count,
                                   char driver[DRIVER_BYTES]) {
    gantry__directory_names_t names;
    *out_count = 0;
    gantry_status_t status = gantry__directory_list(quarantine->heap, quarantine->folder, &names);
    if (status != GANTRY_OK) return status == GANTRY_RESOURCE_EXHAUSTED ? status : GANTRY_OK;
    const size_t length = strlen(backend);
    for (size_t i = 0; i < names.count; ++i) {
        const char *name = names.names[i];
        char path[1280];
        bool is_note = ends_with(name, NOTE_END);
        if (strncmp(name, backend, length) != 0 || name[length] != '.' ||
            (!is_note && !ends_with(name, NEW_END)))
            continue;
        (void)snprintf(path, sizeof path, "%.1000s/%.255s", quarantine->folder, name);
        if (is_note) {
            *out_count += take_note(path, version, driver);
        } else {
            remove_old(path);
        }
    }
    gantry__directory_names_deinit(&names);
    return GANTRY_OK;
}

/* Leaves no note if there can be none. */
static void write_note(const gantry__quarantine_t *quarantine, const char *backend,
                       const char *version, gantry__driver_trial_t *trial) {
    uint64_t number;
    char path[sizeof trial->note + sizeof NEW_END];
    if (gantry__entropy(&number, sizeof number) != GANTRY_OK) return;
    int length = snprintf(trial->note, sizeof trial->note, "%s/%s.%016" PRIx64 NOTE_END,
                          quarantine->folder, backend, number);
    if (length < 0 || (size_t)length >= sizeof trial->note) return;
    (void)snprintf(path, sizeof path, "%s" NEW_END, trial->note);
    const int file = gantry__os_open(path, GANTRY__OS_WRITE | GANTRY__OS_NEW, 0600);
    if (file < 0) return;
    if (gantry__os_lock(file, false) == 0 &&
        gantry__os_write(file, version, VERSION_DIGITS, GANTRY__OS_NEXT) == VERSION_DIGITS &&
        gantry__os_rename(path, trial->note) == 0) {
        trial->lock = file;
        return;
    }
    (void)gantry__os_remove(path);
    gantry__file_close(file);
}

/* ---- one opening ---- */

static void remove_note(const gantry__driver_trial_t *trial) {
    if (trial->lock < 0) return;
    (void)gantry__os_remove(trial->note);
    gantry__file_close(trial->lock);
}

/* The child opens no quarantine of its own. Whether it crashed; the record then says how. */
static bool crashes_in_child(const gantry__quarantine_t *quarantine, const gantry_backend_t *table,
                             const char *module, const char *driver, record_t *record) {
    const gantry__child_call_t call = {.heap = quarantine->heap,
                                       .log = quarantine->log,
                                       .alias = table->name,
                                       .module = module,
                                       .cache = ""};
    char end[WHY_BYTES / 4];
    const bool is_tried = !*quarantine->untried;
    gantry__log(
        quarantine->log, is_tried ? GANTRY_LEVEL_INFO : GANTRY_LEVEL_WARNING,
        "The last process that opened the drivers of backend %s ended meanwhile%s%s%s: %s%s",
        table->name, *driver ? " (the code of " : "", driver, *driver ? " ran last)" : "",
        is_tried ? "a process of its own tries them first"
                 : "they are opened without a trial, because ",
        quarantine->untried);
    if (!is_tried) return false;
    if (gantry__probe_child_run(&call, end, sizeof end) != GANTRY__CHILD_CRASHED) return false;
    (void)snprintf(record->why, sizeof record->why, "%s%s%.200s%s", end,
                   *driver ? "; the code of " : "", driver, *driver ? " ran last" : "");
    record->when = time(NULL);
    return true;
}

static gantry_status_t fail_left_out(const gantry__quarantine_t *quarantine,
                                     const gantry_backend_t *table, const driver_version_t *version,
                                     const char *path, const record_t *record) {
    char again[GANTRY__OS_DATE_BYTES];
    gantry__os_utc_text(record->when + RECORD_SECONDS, again);
    (void)gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "left out: %s%s%.600s%s ended the process that tried to open backend %s first (%s); the next try is after %s, or when the record is removed: rm '%s'; GANTRY_DRIVER_QUARANTINE=0 tries it in this process",
        *version->files ? "its drivers" : "it", *version->files ? " (" : "", version->files,
        *version->files ? ")" : "", table->name, record->why, again, path);
    gantry__log(quarantine->log, GANTRY_LEVEL_WARNING, "Backend %s is %s", table->name,
                gantry__message());
    return GANTRY_FAILED_PRECONDITION;
}

static gantry_status_t quarantine_begin(const gantry__quarantine_t *quarantine,
                                        const gantry_backend_t *table, const char *module,
                                        const driver_version_t *version,
                                        gantry__driver_trial_t *trial) {
    char driver[DRIVER_BYTES] = "";
    uint32_t found;
    record_t record;
    (void)snprintf(trial->record, sizeof trial->record, "%.1000s/%s.crashed", quarantine->folder,
                   table->name);
    GANTRY__TRY(count_notes(quarantine, table->name, version->text, &found, driver));
    read_record(quarantine, trial->record, version->text, &record);
    /* before the child, so that a suspicion survives this process */
    write_note(quarantine, table->name, version->text, trial);
    const bool is_suspected = found > 0 || record.when > 0;
    if (!record.is_in_force) {
        if (!is_suspected || !crashes_in_child(quarantine, table, module, driver, &record))
            return GANTRY_OK;
        write_record(trial->record, version->text, &record);
    }
    remove_note(trial);
    trial->lock = -1;
    return fail_left_out(quarantine, table, version, trial->record, &record);
}

/* Whether the folder is there and nobody else may write it. If others may, there is no quarantine
 * from now on. */
static bool quarantine_open_folder(gantry__quarantine_t *quarantine) {
    int folder;
    const gantry_status_t status = gantry__trust_make_folder(quarantine->folder, &folder);
    gantry__file_close(folder);
    if (status == GANTRY_OK) {
        (void)gantry__probe_child_is_there(quarantine->heap, quarantine->untried,
                                           sizeof quarantine->untried);
        return true;
    }
    (void)say_untried(quarantine, gantry__message());
    if (status != GANTRY_FAILED_PRECONDITION) return false;
    gantry__log(quarantine->log, GANTRY_LEVEL_WARNING, "Crashes of drivers are not kept: %s",
                gantry__message());
    gantry__quarantine_deinit(quarantine);
    return false;
}

gantry_status_t gantry__quarantine_begin(gantry__quarantine_t *quarantine,
                                         const gantry_host_t *host, const gantry_backend_t *table,
                                         const char *module, gantry__driver_trial_t *out_trial) {
    const uint32_t before = gantry__failures();
    driver_version_t version;
    out_trial->lock = -1;
    out_trial->record[0] = '\0';
    if (!quarantine->folder) return GANTRY_OK;
    if (quarantine_open_folder(quarantine)) {
        read_version(host, table, module, &version);
        GANTRY__TRY(quarantine_begin(quarantine, table, module, &version, out_trial));
    }
    gantry__forget_since(before);
    return GANTRY_OK;
}

void gantry__quarantine_end(const gantry__quarantine_t *quarantine,
                            const gantry__driver_trial_t *trial) {
    if (!quarantine->folder) return;
    remove_note(trial);
    if (trial->record[0]) (void)gantry__os_remove(trial->record);
    (void)gantry__os_remove_folder(quarantine->folder); /* unless it has another note */
}
