/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a backend in the folder "drivers", beside the compiled kernels:
 *
 *   opencl.<number>.try       a note: the version of the drivers that a process opens now. The
 *                             process locks the file before it has this name, and removes it. The
 *                             name of the driver whose code runs follows.
 *   opencl.crashed            the version, the number of crashes in a row, and how the last one
 *                             ended: a line each
 *
 * A version is a hash of the names, sizes and times of the drivers' files and of the module. */
#define _XOPEN_SOURCE 700

#include "backend/quarantine.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/probe_child.h"
#include "base/entropy.h"
#include "base/files.h"
#include "base/new_file.h"
#include "base/hash.h"
#include "base/user_folder.h"

#define MOST_CRASHES 2
#define VERSION_DIGITS 32
#define WHY_BYTES 384
#define DRIVER_BYTES 256
#define FILES_BYTES 2048
#define NOTE_END ".try"
#define OLD_SECONDS 60
#define NEW_END ".new" /* a note that is not locked yet */

typedef struct driver_version_t {
    char text[VERSION_DIGITS + 1];
    char files[FILES_BYTES]; /* of the drivers: "a, b" */
} driver_version_t;

gantry_status_t gantry__quarantine_init(gantry__quarantine_t *quarantine,
                                        const gantry__heap_t *heap, const gantry__log_t *log,
                                        gantry__settings_t *settings) {
    *quarantine = (gantry__quarantine_t){.heap = heap, .log = log};
    bool is_on = true;
    GANTRY__TRY(gantry__settings_get_bool(settings, "GANTRY_DRIVER_QUARANTINE", &is_on));
    const char *kernels = gantry__settings_get(settings, "GANTRY_KERNEL_CACHE", NULL);
    if (!is_on || (kernels && !*kernels)) return GANTRY_OK;
    if (!kernels) {
        quarantine->folder = gantry__user_folder(heap, settings, "drivers");
        return GANTRY_OK;
    }
    char folder[sizeof((gantry__driver_trial_t *)0)->note];
    int length = snprintf(folder, sizeof folder, "%s/drivers", kernels);
    if (length < 0 || (size_t)length >= sizeof folder) return GANTRY_OK;
    quarantine->folder = gantry__heap_strdup(heap, folder);
    return quarantine->folder ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

void gantry__quarantine_deinit(gantry__quarantine_t *quarantine) {
    gantry__heap_free_text(quarantine->heap, quarantine->folder);
    quarantine->folder = NULL;
}

/* ---- the version of a backend's drivers ---- */

/* Where a loader finds a name without a folder, unless it is told another place. */
static bool find_file(const char *name, struct stat *out_info) {
    static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib/aarch64-linux-gnu",
                                          "/usr/lib64",
                                          "/usr/lib",
                                          "/usr/local/lib",
                                          "/usr/lib/wsl/lib"};
    char path[512];
    if (strchr(name, '/')) return stat(name, out_info) == 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i) {
        (void)snprintf(path, sizeof path, "%s/%.400s", folders[i], name);
        if (stat(path, out_info) == 0) return true;
    }
    return false;
}

/* Files may be listed in any order. */
static void add_file(gantry__hash128_t *version, const char *name) {
    gantry__hasher_t hasher;
    struct stat info;
    int64_t facts[3] = {0};
    if (find_file(name, &info)) {
        facts[0] = (int64_t)info.st_size;
        facts[1] = (int64_t)info.st_mtim.tv_sec;
        facts[2] = (int64_t)info.st_mtim.tv_nsec;
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

/* ---- the record of crashes ---- */

/* A line of a file, which anybody may have written, for a message. */
static void quarantine_copy_line(char *out, size_t out_bytes, const char *line) {
    (void)snprintf(out, out_bytes, "%.*s", (int)strcspn(line, "\n"), line);
    for (char *c = out; *c; ++c) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    }
}

/* The number of crashes of this version, and how the last one ended. */
static uint32_t read_record(const gantry__quarantine_t *quarantine, const char *path,
                            const char *version, char why[WHY_BYTES]) {
    char line[VERSION_DIGITS + 16 + WHY_BYTES] = "";
    void *bytes;
    size_t size;
    if (gantry__file_read(quarantine->heap, path, sizeof line - 1, &bytes, &size) != GANTRY_OK)
        return 0;
    memcpy(line, bytes, size);
    gantry__heap_free(quarantine->heap, bytes, size);
    char *number = strchr(line, '\n'), *end;
    if (!number || strncmp(line, version, VERSION_DIGITS) != 0) return 0;
    unsigned long count = strtoul(number + 1, &end, 10);
    quarantine_copy_line(why, WHY_BYTES, *end ? end + 1 : end);
    return count > MOST_CRASHES ? MOST_CRASHES : (uint32_t)count;
}

static void write_record(const char *path, const char *version, uint32_t crashes, const char *why) {
    char text[VERSION_DIGITS + 16 + WHY_BYTES];
    int length = snprintf(text, sizeof text, "%s\n%u\n%s\n", version, crashes, why);
    const gantry__file_piece_t piece = {text, (size_t)length};
    (void)gantry__file_write(path, &piece, 1, 0);
}

/* ---- notes ---- */

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), of_end = strlen(end);
    return length >= of_end && strcmp(name + length - of_end, end) == 0;
}

/* Removes a note that no process holds. True if it is of this version; then with the driver. */
static bool take_note(const char *path, const char *version, char driver[DRIVER_BYTES]) {
    char text[VERSION_DIGITS + DRIVER_BYTES];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return false;
    /* another process that finds the same note removes it first, or does not */
    bool is_taken = flock(file, LOCK_EX | LOCK_NB) == 0 && unlink(path) == 0;
    ssize_t size = is_taken ? read(file, text, sizeof text - 1) : 0;
    (void)close(file);
    if (size < VERSION_DIGITS || memcmp(text, version, VERSION_DIGITS) != 0) return false;
    text[size] = '\0';
    quarantine_copy_line(driver, DRIVER_BYTES, text + VERSION_DIGITS);
    return true;
}

/* Of a process that ended before it locked its note. Younger ones may still be locked. */
static void remove_old(const char *path) {
    struct stat info;
    if (stat(path, &info) == 0 && time(NULL) - info.st_mtime > OLD_SECONDS) (void)unlink(path);
}

void gantry__quarantine_enter(const gantry__driver_trial_t *trial, const char *driver) {
    char text[DRIVER_BYTES];
    if (trial->lock < 0) return;
    (void)snprintf(text, sizeof text, "%s\n", driver);
    (void)gantry__file_put(trial->lock, text, strlen(text), VERSION_DIGITS);
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
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (flock(file, LOCK_EX | LOCK_NB) == 0 &&
        gantry__file_put(file, version, VERSION_DIGITS, GANTRY__FILE_NEXT) == VERSION_DIGITS &&
        rename(path, trial->note) == 0) {
        trial->lock = file;
        return;
    }
    (void)unlink(path);
    (void)close(file);
}

/* ---- one opening ---- */

/* After one crash. The child opens no quarantine of its own. */
static void try_drivers_in_child(const gantry__quarantine_t *quarantine,
                                 const gantry_backend_t *table, const char *module,
                                 const char *version, gantry__driver_trial_t *trial,
                                 char why[WHY_BYTES]) {
    const gantry__child_call_t call = {
        .heap = quarantine->heap, .alias = table->name, .module = module, .cache = ""};
    char end[WHY_BYTES / 4], before[WHY_BYTES];
    gantry__log(
        quarantine->log, GANTRY_LEVEL_WARNING,
        "The last process that opened the drivers of backend %s did not survive it (%s): a process of its own tries them first",
        table->name, why);
    if (gantry__probe_child_run(&call, end, sizeof end) != GANTRY__CHILD_CRASHED) return;
    (void)snprintf(before, sizeof before, "%s", why);
    (void)snprintf(why, WHY_BYTES, "%s; %.280s", end, before);
    write_record(trial->record, version, ++trial->crashes, why);
}

static gantry_status_t fail_left_out(const gantry_backend_t *table, const driver_version_t *version,
                                     const char *record, const char *why) {
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "left out: %s%s%.600s%s ended the process twice in a row while backend %s opened them (%s); install them again, set GANTRY_DRIVER_QUARANTINE=0, or remove %s to try them again",
        *version->files ? "its drivers" : "it", *version->files ? " (" : "", version->files,
        *version->files ? ")" : "", table->name, why, record);
}

static gantry_status_t quarantine_begin(const gantry__quarantine_t *quarantine,
                                        const gantry_backend_t *table, const char *module,
                                        const driver_version_t *version,
                                        gantry__driver_trial_t *trial) {
    char why[WHY_BYTES] = "", driver[DRIVER_BYTES] = "";
    uint32_t found;
    (void)snprintf(trial->record, sizeof trial->record, "%.1000s/%s.crashed", quarantine->folder,
                   table->name);
    GANTRY__TRY(count_notes(quarantine, table->name, version->text, &found, driver));
    trial->crashes = read_record(quarantine, trial->record, version->text, why);
    if (found > 0) { /* several are of processes that started at the same time: one crash */
        (void)snprintf(why, sizeof why,
                       *driver ? "the code of %s ran last" : "nothing is known of it", driver);
        write_record(trial->record, version->text, ++trial->crashes, why);
    }
    if (trial->crashes == 1)
        try_drivers_in_child(quarantine, table, module, version->text, trial, why);
    if (trial->crashes >= MOST_CRASHES) return fail_left_out(table, version, trial->record, why);
    write_note(quarantine, table->name, version->text, trial);
    return GANTRY_OK;
}

gantry_status_t gantry__quarantine_begin(const gantry__quarantine_t *quarantine,
                                         const gantry_host_t *host, const gantry_backend_t *table,
                                         const char *module, gantry__driver_trial_t *out_trial) {
    const uint32_t before = gantry__failures();
    driver_version_t version;
    out_trial->lock = -1;
    out_trial->record[0] = '\0';
    out_trial->crashes = 0;
    if (!quarantine->folder) return GANTRY_OK;
    if (gantry__directory_make(quarantine->folder) == GANTRY_OK) {
        read_version(host, table, module, &version);
        GANTRY__TRY(quarantine_begin(quarantine, table, module, &version, out_trial));
    }
    gantry__forget_since(before);
    return GANTRY_OK;
}

void gantry__quarantine_end(const gantry__quarantine_t *quarantine,
                            const gantry__driver_trial_t *trial) {
    if (!quarantine->folder) return;
    if (trial->lock >= 0) {
        (void)unlink(trial->note);
        (void)close(trial->lock);
    }
    if (trial->record[0]) (void)unlink(trial->record);
    (void)rmdir(quarantine->folder); /* unless another note lies there */
}
