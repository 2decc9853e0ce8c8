/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning records of a machine's devices: a small text file of a user, on top of the records that a
 * backend brings along.
 *
 * A record is (device, what) and its values. The store interprets none of them and knows a device
 * only by its text. Several machines and processes may share a file: writers take turns by a lock
 * next to it and replace it whole, so that no record is lost, and a killed writer leaves the old
 * file. A bad line is skipped with a warning that names file, line and reason; it is never an error
 * of the program that reads. Owner: the set of backends. Thread-safe after init. */
#ifndef GANTRY_BASE_TUNING_STORE_H
#define GANTRY_BASE_TUNING_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/tuning_text.h"
#include "base/os/thread.h"

/* Texts belong to the store. */
typedef struct gantry__tuning_record_t {
    const char *device, *what, *values, *measured;
    uint32_t line;
    bool is_told; /* the user was informed that it is another device's */
} gantry__tuning_record_t;

/* The records of a file at one time. */
typedef struct gantry__tuning_table_t {
    char *bytes; /* the bytes of the file; records point into them */
    size_t size; /* bytes allocated from the heap */
    gantry__tuning_record_t *records;
    size_t count, capacity;
} gantry__tuning_table_t;

typedef struct gantry__tuning_store_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    char *path; /* NULL: there is no file, see no_path */
    const char *no_path;
    gantry__mutex_t lock; /* guards the rest */
    bool is_read;
    gantry__tuning_table_t table;
} gantry__tuning_store_t;

/* Finds the path: GANTRY_TUNING_FILE, empty for none, else gantry/tuning/records in the user's
 * cache folder. Reads nothing yet. ResourceExhausted. */
gantry_status_t gantry__tuning_store_init(gantry__tuning_store_t *store, const gantry__heap_t *heap,
                                          const gantry__log_t *log, gantry__settings_t *settings);
void gantry__tuning_store_deinit(gantry__tuning_store_t *store);

/* The file's last record for device and what; NULL if there is none. The first call reads the file,
 * later calls do not. If the file has records of `what` for other devices only, that is logged
 * once. */
const gantry__tuning_record_t *gantry__tuning_store_find(gantry__tuning_store_t *store,
                                                         const char *device, const char *what);

/* Visits a record of the present file. Returns false to end. */
typedef bool (*gantry__tuning_visit_fn)(void *user, const gantry__tuning_record_t *record);
/* Lists the records: OK also without a file; FailedPrecondition for a file that is no tuning file;
 * else the error of reading. */
gantry_status_t gantry__tuning_store_list(gantry__tuning_store_t *store,
                                          gantry__tuning_visit_fn visit, void *user);

/* Puts a record into the file, in place of an older one. FailedPrecondition without a path, or if
 * the file is no tuning file, or if others may write it or a folder on the way, where no folder is
 * made; InvalidArgument for texts that the file cannot hold; DeadlineExceeded
 * if another process keeps the lock; PermissionDenied... of the system. Bad lines of the file are
 * dropped, comments stay. Records that find returned stay valid. */
gantry_status_t gantry__tuning_store_put(gantry__tuning_store_t *store, const char *device,
                                         const char *what, const char *values);
/* Removes the records of device (NULL: any) whose key begins with `what` (NULL: any). */
gantry_status_t gantry__tuning_store_remove(gantry__tuning_store_t *store, const char *device,
                                            const char *what, size_t *out_removed);

#endif
