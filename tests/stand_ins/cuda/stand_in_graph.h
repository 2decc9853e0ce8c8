/* SPDX-License-Identifier: Apache-2.0 */
/* Captures keep a stream's work instead of running it; each launch of the graph submits the work in
 * the same order.
 *
 * One order serves branches too, because in submission order each piece of work follows the work
 * that it waits for. The stand-in still checks that a branch was joined, because a driver requires
 * it. Each launch looks up the memory that the graph uses.
 * Owner: a stream points to the capture it takes part in; the graph that it becomes is a live
 * object of its own. Threads: thread-safe. */
#ifndef GANTRY_TESTS_STAND_IN_GRAPH_H
#define GANTRY_TESTS_STAND_IN_GRAPH_H

#include "stand_in_pocl.h"

#define STAND_IN_BRANCHES 8 /* streams of one capture */

/* How much of each branch of a capture precedes a place. */
typedef struct stand_in_place_t {
    uint64_t capture; /* the capture's number, never used twice; 0: not in a capture */
    uint64_t behind[STAND_IN_BRANCHES];
} stand_in_place_t;

typedef struct stand_in_node_t {
    struct stand_in_node_t *next;
    int (*submit)(stand_in_stream_t *stream, const struct stand_in_node_t *node);
    void (*work)(void *arguments); /* for the submitter */
    size_t bytes;
    _Alignas(16) uint8_t arguments[];
} stand_in_node_t;

typedef int (*stand_in_submit_fn)(stand_in_stream_t *stream, const stand_in_node_t *node);

int stand_in__is_captured(const stand_in_stream_t *stream);
/* Keeps a call of a captured stream. 0, or the driver's code for an invalidated capture. */
int stand_in__keep(stand_in_stream_t *stream, stand_in_submit_fn submit,
                   void (*work)(void *arguments), const void *arguments, size_t bytes);
/* Records that a launch needs this memory of device or host (kind). */
int stand_in__keep_memory(stand_in_stream_t *stream, uint64_t address, uint64_t bytes, int kind);

/* Invalidates the stream's capture, if any, and returns code. */
int stand_in__spoil(stand_in_stream_t *stream, int code);
/* For calls that no capture can keep: returns 900 and invalidates the capture when this thread may
 * not make such calls now. */
STAND_IN_API int stand_in__check_unsafe(void);

/* The place after all work of a captured stream. */
int stand_in__place_of(stand_in_stream_t *stream, stand_in_place_t *out_place);
/* A stream waits for a place: a stream outside becomes a branch of the place's capture. */
int stand_in__wait_for_place(stand_in_stream_t *stream, const stand_in_place_t *place);
/* Handles a query of an event at that place: 907. */
int stand_in__refuse_place(const stand_in_place_t *place);
/* The stream ends: its capture, if any, is invalidated, or ends when it began in this stream. */
void stand_in__leave_capture(stand_in_stream_t *stream);

#endif
