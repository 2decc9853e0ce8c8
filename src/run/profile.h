/* SPDX-License-Identifier: Apache-2.0 */
/* The recorded profile: rows of (op, called op, device), to which closed frames are added.
 *
 * Owner: the runtime. Rows are added on first use, and only a start removes them. Thread-safe: one
 * lock, taken once per recorded call, never while work runs. */
#ifndef GANTRY_RUN_PROFILE_H
#define GANTRY_RUN_PROFILE_H

#include <gantry/profile.h>

#include "base/text.h"
#include "device/device_table.h"
#include "op/op_def.h"
#include "place/placer.h"
#include "base/os/thread.h"

/* The subject of a row: an op, or one of the calls that are no ops. */
enum {
    GANTRY__PROFILE_READ = GANTRY__OP_COUNT,
    GANTRY__PROFILE_WAITED,
    GANTRY__PROFILE_SYNCHRONIZE,
    GANTRY__PROFILE_SCOPE,
    GANTRY__PROFILE_OTHERS, /* rows that could not be allocated */
    GANTRY__PROFILE_SUBJECTS,
    GANTRY__PROFILE_NONE = GANTRY__PROFILE_SUBJECTS
};

typedef struct gantry__profile_key_t {
    uint32_t subject;
    uint32_t part_of;                      /* an op, or GANTRY__PROFILE_NONE */
    const gantry_logical_device_t *device; /* or NULL */
    /* these fields are for a timeline; zero or NULL: unknown */
    const gantry__plan_t *plan;
    gantry_placement_reason_t reason;
    const char *node; /* the node of a function */
} gantry__profile_key_t;

typedef struct gantry__profile_row_t {
    gantry__profile_key_t key;
    gantry__profile_numbers_t numbers;
    struct gantry__profile_row_t *next; /* the next row in the order of first use */
    struct gantry__profile_row_t *next_of_subject;
} gantry__profile_row_t;

typedef struct gantry__profile_t {
    const gantry__heap_t *heap;
    const gantry__device_table_t *devices;
    gantry__mutex_t lock;
    /* under lock */
    /* the mode of the last start; GANTRY_PROFILE_DEFAULT: there was none */
    gantry_profile_mode_t mode;
    uint64_t started_ns, stopped_ns; /* stopped_ns 0: it runs */
    size_t count;
    gantry__profile_row_t *first, *last;
    gantry__profile_row_t *of_subject[GANTRY__PROFILE_SUBJECTS];
    gantry__profile_row_t others; /* it is in the list once it is used */
} gantry__profile_t;

gantry_status_t gantry__profile_init(gantry__profile_t *profile, const gantry__heap_t *heap,
                                     const gantry__device_table_t *devices);
void gantry__profile_deinit(gantry__profile_t *profile);

/* Clears the profile. */
void gantry__profile_restart(gantry__profile_t *profile, gantry_profile_mode_t mode);
void gantry__profile_end(gantry__profile_t *profile);

/* Closes the frame, adds it to its row, and writes it to the timeline. */
void gantry__profile_keep(gantry__profile_t *profile, gantry__profile_frame_t *frame,
                          const gantry__profile_key_t *key);

/* The name of a subject; "" for GANTRY__PROFILE_NONE. */
const char *gantry__profile_subject_name(uint32_t subject);

/* ---- reading; FailedPrecondition when nothing was ever started ---- */

size_t gantry__profile_count(gantry__profile_t *profile);
/* index: GANTRY_PROFILE_TOTAL for the sum. OutOfRange names the count. */
gantry_status_t gantry__profile_row(gantry__profile_t *profile, size_t index,
                                    gantry_profile_row_t *out_row);

typedef struct gantry__profile_snapshot_t {
    const gantry__heap_t *heap;
    gantry_profile_mode_t mode;
    size_t count;
    gantry_profile_row_t *rows; /* count of them, and after these the sum */
} gantry__profile_snapshot_t;

/* The snapshot's rows are its own until deinit. */
gantry_status_t gantry__profile_snapshot(gantry__profile_t *profile,
                                         gantry__profile_snapshot_t *out_snapshot);
void gantry__profile_snapshot_deinit(gantry__profile_snapshot_t *snapshot);

void gantry__profile_write_text(const gantry__profile_snapshot_t *snapshot, gantry__text_t *out);
void gantry__profile_write_json(const gantry__profile_snapshot_t *snapshot, gantry__text_t *out);

/* ---- the timeline: run/timeline_host.c ---- */

/* Writes the closed frame. */
void gantry__host_times_write(gantry__timeline_t *timeline, const gantry__device_table_t *devices,
                              const gantry__profile_frame_t *frame,
                              const gantry__profile_key_t *key);
/* Writes a call of a function that began then. name is any text. */
GANTRY__RECORDING void gantry__host_times_function(const gantry__device_table_t *devices,
                                                   const char *name, uint64_t begun_ns);
/* Writes work of the program's own. name and detail are any texts; detail may be NULL. */
void gantry__host_times_program(const gantry__device_table_t *devices, const char *name,
                                const char *detail, uint64_t begin_ns, uint64_t end_ns);

/* ---- for the calls ---- */

static inline bool gantry__profile_is_on(const gantry__device_table_t *devices) {
    return atomic_load_explicit(&devices->profiling, memory_order_relaxed) != 0;
}

/* Opens a frame in the caller's memory if a profile is recorded; else returns NULL, for one
 * branch. */
static inline gantry__profile_frame_t *gantry__profile_begin_call(
    const gantry__device_table_t *devices, gantry__profile_frame_t *room) {
    if (!gantry__profile_is_on(devices)) return NULL;
    gantry__profile_open(room, gantry__device_profile_mode(devices) != GANTRY_PROFILE_DEFAULT);
    return room;
}

/* A call of a row of its own, from GANTRY__RECORD to the end of its block. */
typedef struct gantry__recorded_t {
    gantry__profile_frame_t *frame; /* NULL: nothing is recorded, and the rest is not set */
    /* the row's device; the call may set it before it ends */
    const gantry_logical_device_t *device;
    gantry__profile_t *profile;
    uint32_t subject;
    gantry__profile_frame_t room;
} gantry__recorded_t;

/* Returns the frame. */
gantry__profile_frame_t *gantry__recorded_begin(
    gantry__recorded_t *recorded, gantry__profile_t *profile, uint32_t subject,
    const gantry_logical_device_t *device) GANTRY__RECORDING;
void gantry__recorded_keep(gantry__recorded_t *recorded) GANTRY__RECORDING;
static inline void gantry__recorded_end(gantry__recorded_t *recorded) {
    if (recorded->frame) gantry__recorded_keep(recorded);
}

/* GANTRY__RECORD(recorded, runtime, GANTRY__PROFILE_READ, device); at the top of a call charges its
 * time to that row, until the block ends in any way. While nothing is recorded it costs one check
 * of the flag. The runtime must outlive the block. */
#define GANTRY__RECORD(recorded, runtime, subject, device)                                         \
    __attribute__((cleanup(gantry__recorded_end))) gantry__recorded_t recorded;                    \
    recorded.frame = gantry__profile_is_on(&(runtime)->devices)                                    \
                         ? gantry__recorded_begin(&recorded, &(runtime)->profile, subject, device) \
                         : NULL

#endif
