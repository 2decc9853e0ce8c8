/* SPDX-License-Identifier: Apache-2.0 */
/* Replay: kernels of a schedule that follow each other on one device become a graph of that device,
 * which later calls launch in place of the single kernels.
 *
 *     actions   argument  Add  Mul  read  Add  Mul  copy  Add
 *     run              [----------------------]         too short
 *
 * A run begins and ends with a kernel. Arguments and reads of variables inside it bind tensors, so
 * they come before its launch. All else ends a run, and so does a kernel that does more than
 * launch: one that reads values of the call on the host, may report an error in its data, or waits
 * for its device. The last two show when the kernel runs, so notes keep what calls found. Notes
 * belong to the schedule and are thread-safe; graphs belong to a frame (frame_replay.c). */
#ifndef GANTRY_FUNCTION_REPLAY_H
#define GANTRY_FUNCTION_REPLAY_H

#include <stdatomic.h>

#include "function/schedule/schedule.h"

/* A graph's launch costs about as much as that of a few kernels. */
#define GANTRY__LEAST_REPLAYED 4u

typedef enum gantry__replay_why_t {
    GANTRY__REPLAYS = 0,          /* nothing prevents it */
    GANTRY__REPLAY_OFF = 1,       /* the option device_graphs */
    GANTRY__REPLAY_NO_GRAPHS = 2, /* the backend makes none */
    GANTRY__REPLAY_LANES = 3,     /* threads run parts of the call */
    GANTRY__REPLAY_NO_LAUNCH = 4, /* the action is more, or less, than launches of kernels */
    GANTRY__REPLAY_HOST = 5,      /* the kernel reads values of the call on the host */
    GANTRY__REPLAY_FAULT = 6,     /* the kernel may report an error of its data */
    GANTRY__REPLAY_READS = 7,     /* the kernel waits for its device, or for others */
    GANTRY__REPLAY_FEW = 8,       /* fewer kernels than GANTRY__LEAST_REPLAYED */
    GANTRY__REPLAY_REFUSED = 9,   /* the device refused: the notes have its text */
    GANTRY__REPLAY_MOVES = 10     /* arguments or results have other addresses in each call */
} gantry__replay_why_t;

/* What calls found out about an action; the last three also about the run that begins with it. */
typedef struct gantry__replay_note_t {
    atomic_uint why; /* FAULT, READS; of the run: REFUSED, MOVES */
    atomic_uint_fast32_t captures;
    atomic_uint_fast64_t replays;
} gantry__replay_note_t;

typedef struct gantry__replay_notes_t {
    atomic_uint found; /* how often an action turned out to end a run */
    atomic_uint refusal_state;
    char refusal[200]; /* the reason of the first refused capture */
    gantry__replay_note_t actions[];
} gantry__replay_notes_t;

/* Actions that follow each other. */
typedef struct gantry__run_t {
    uint32_t first, end; /* from, and up to but not with */
    uint32_t kernels;
    gantry_logical_device_t *device;
    gantry__replay_why_t why; /* not replayed */
} gantry__run_t;

/* Finds the run that begins at the first kernel at or after action `from`; a kernel that cannot be
 * replayed is a run by itself. False: there is none. */
bool gantry__replay_next_run(const gantry__schedule_t *schedule, uint32_t from,
                             gantry__run_t *out_run);
/* The reason why nothing at all is replayed on the device; GANTRY__REPLAYS: something may be. */
gantry__replay_why_t gantry__replay_ask_device(const gantry__schedule_t *schedule,
                                               const gantry_logical_device_t *device);

/* Notes, once and for all, that the action ends runs. Without notes, does nothing. */
void gantry__replay_note_action(const gantry__schedule_t *schedule, const gantry__action_t *action,
                                gantry__replay_why_t why);
/* Notes that the run is refused, with the thread's last message. */
void gantry__replay_note_refusal(const gantry__schedule_t *schedule, const gantry__run_t *run);
/* The text of the first refusal; "": there is none yet. */
const char *gantry__replay_refusal(const gantry__schedule_t *schedule);

/* A word for programs: "replayed", "fault". */
const char *gantry__replay_word(gantry__replay_why_t why);
/* A sentence's end for people: "its kernels may report errors of their data". */
const char *gantry__replay_text(gantry__replay_why_t why);

#endif
