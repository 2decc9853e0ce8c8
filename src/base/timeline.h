/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of a timeline: one file of trace events as Chrome and Perfetto read them, one event on
 * a line.
 *
 * Knows no device. docs/profile.md says which events there are. Memory is bounded: threads share
 * GANTRY__TIMELINE_SLOTS buffers of fixed size, each with a lock of its own, and a thread writes
 * full ones to the file. Owner: the runtime. Thread-safe; destroy is externally synchronised. */
#ifndef GANTRY_BASE_TIMELINE_H
#define GANTRY_BASE_TIMELINE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/timeline_event.h"
#include "base/os/thread.h"

#define GANTRY__TIMELINE_SLOTS 8
#define GANTRY__TIMELINE_SLOT_BYTES 131072
#define GANTRY__TIMELINE_LINES_BYTES 262144 /* fewer and larger writes cost the kernel less */
#define GANTRY__TIMELINE_PATH_BYTES 1024

typedef struct gantry__timeline_t gantry__timeline_t;

gantry_status_t gantry__timeline_create(const gantry__heap_t *heap, const gantry__log_t *log,
                                        gantry__timeline_t **out_timeline);
/* Ends the timeline; NULL does no harm. No thread may write to it any more. */
void gantry__timeline_destroy(gantry__timeline_t *timeline);

/* Takes events for this file from now on; "%p" in path is the process's number. The file is opened
 * now, or, if is_lazy, with the first events; it is then empty. FailedPrecondition: a timeline is
 * being written, or another runtime writes this file. */
gantry_status_t gantry__timeline_start(gantry__timeline_t *timeline, const char *path,
                                       bool is_lazy);
/* Writes all events and closes the file. The first failure since start, if any; FailedPrecondition
 * if there was no start, or timeline is NULL. */
gantry_status_t gantry__timeline_stop(gantry__timeline_t *timeline);

/* Drops the event if no file takes it: before start, after stop, or after a failure. */
void gantry__timeline_write(gantry__timeline_t *timeline, const gantry__timeline_event_t *event);
/* Warns of a failure, once. Hold no lock: the log's function may run ops. */
void gantry__timeline_tell(gantry__timeline_t *timeline);

#endif
