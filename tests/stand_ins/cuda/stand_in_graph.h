/* SPDX-License-Identifier: Apache-2.0 */
/* Captures: what a stream is asked for, kept instead of run, and submitted again in the same order
 * by each launch of the graph.
 *
 * One order serves branches too: in the order in which they were asked for, all pieces of work run
 * behind what they wait for. That a branch was joined is looked at all the same, since a driver
 * insists on it. Memory that a graph reaches is looked up at each launch.
 * Owner: a stream points to the capture it takes part in; the graph that it becomes is a live
 * object of its own. Threads: thread-safe. */
#ifndef GANTRY_TESTS_STAND_IN_GRAPH_H
#define GANTRY_TESTS_STAND_IN_GRAPH_H

#include "stand_in_pocl.h"

#define STAND_IN_BRANCHES 8 /* streams of one capture */

/* How much of each branch of a capture lies behind a place. */
typedef struct stand_in_place_t {
    uint64_t capture; /* its number, never used twice; 0: not in a capture */
    uint64_t behind[STAND_IN_BRANCHES];
} stand_in_place_t;

typedef struct stand_in_node_t {
    struct stand_in_node_t *next;
    int (*submit)(stand_in_stream_t *stream, const struct stand_in_node_t *node);
    void (*work)(void *arguments); /* for the one who submits */
    size_t bytes;
    _Alignas(16) uint8_t arguments[];
} stand_in_node_t;

typedef int (*stand_in_submit_fn)(stand_in_stream_t *stream, const stand_in_node_t *node);

int stand_in__is_captured(const stand_in_stream_t *stream);
/* Keeps a call of a captured stream. 0, or what the driver answers for a capture that was
 * spoilt. */
int stand_in__keep(stand_in_stream_t *stream, stand_in_submit_fn submit,
                   void (*work)(void *arguments), const void *arguments, size_t bytes);
/* Keeps that a launch needs this memory, of device or host (kind), to be there. */
int stand_in__keep_memory(stand_in_stream_t *stream, uint64_t address, uint64_t bytes, int kind);

/* Spoils the stream's capture and returns code; code alone where there is none. */
int stand_in__spoil(stand_in_stream_t *stream, int code);
/* For calls that no capture can keep: 900, and the capture is spoilt, when this thread may not
 * make them now. */
STAND_IN_API int stand_in__check_unsafe(void);

/* The place behind all that a captured stream was asked for. */
int stand_in__place_of(stand_in_stream_t *stream, stand_in_place_t *out_place);
/* A stream waits for a place: a stream outside becomes a branch of the place's capture. */
int stand_in__wait_for_place(stand_in_stream_t *stream, const stand_in_place_t *place);
/* An event of that place was asked about: 907. */
int stand_in__refuse_place(const stand_in_place_t *place);
/* The stream ends: its capture, if any, is spoilt, or ended when it began there. */
void stand_in__leave_capture(stand_in_stream_t *stream);

#endif
