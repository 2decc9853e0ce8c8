/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured on a machine's devices and is to be used from now on: a small text file of a
 * user's, below it what a backend brings along.
 *
 * A record is (device, what) and its values; the store understands none of them, and knows no
 * device but by a text. Several machines and processes may share a file: writers take turns by a
 * lock beside it and replace it whole, so that two of them lose nothing and one that is killed
 * leaves the file as it was. What is wrong in the file is passed over with a warning that names
 * file, line and reason; nothing of it is ever an error of the program that reads. Owner: the
 * set of backends. Thread-safe after init. */
#ifndef GANTRY_BASE_TUNING_STORE_H
#define GANTRY_BASE_TUNING_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "base/tuning_text.h"

/* Texts belong to the store. */
typedef struct gantry__tuning_record_t {
    const char *device, *what, *values, *measured;
    uint32_t line;
    bool is_told; /* that it is another device's */
} gantry__tuning_record_t;

/* The records of a file, read at one time. */
typedef struct gantry__tuning_table_t {
    char *bytes; /* of the file; records point into them */
    size_t size; /* what was asked of the heap */
    gantry__tuning_record_t *records;
    size_t count, capacity;
} gantry__tuning_table_t;

typedef struct gantry__tuning_store_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    char *path; /* NULL: there is none, see no_path */
    const char *no_path;
    gantry__mutex_t lock; /* guards the rest */
    bool is_read;
    gantry__tuning_table_t table;
} gantry__tuning_store_t;

/* GANTRY_TUNING_FILE, empty for none, else gantry/tuning/records in the user's cache folder.
 * Reads nothing yet. ResourceExhausted. */
gantry_status_t gantry__tuning_store_init(gantry__tuning_store_t *store, const gantry__heap_t *heap,
                                          const gantry__log_t *log, gantry__settings_t *settings);
void gantry__tuning_store_deinit(gantry__tuning_store_t *store);

/* The last record of the file for them, NULL when there is none. The file is read by the first call
 * and not again. Where it has records of `what` for other devices only, that is logged once. */
const gantry__tuning_record_t *gantry__tuning_store_find(gantry__tuning_store_t *store,
                                                         const char *device, const char *what);

/* What the file says now. Returns false to end. */
typedef bool (*gantry__tuning_visit_fn)(void *user, const gantry__tuning_record_t *record);
/* OK also when there is no file; else as the file's reading fails, FailedPrecondition for one
 * that is no tuning file. */
gantry_status_t gantry__tuning_store_list(gantry__tuning_store_t *store,
                                          gantry__tuning_visit_fn visit, void *user);

/* Puts a record into the file, in place of an older one. FailedPrecondition when there is no path
 * or the file is not ours; InvalidArgument for texts that cannot be kept; DeadlineExceeded when the
 * lock is not to be had; PermissionDenied... of the system. What was wrong in the file before is
 * dropped, comments stay. What find returns stays as it is. */
gantry_status_t gantry__tuning_store_put(gantry__tuning_store_t *store, const char *device,
                                         const char *what, const char *values);
/* Takes out the records of device (NULL: any) whose `what` begins so (NULL: any). */
gantry_status_t gantry__tuning_store_remove(gantry__tuning_store_t *store, const char *device,
                                            const char *what, size_t *out_removed);

#endif
