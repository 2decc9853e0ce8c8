/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which process has ended. Every process holds a TCP connection to rank 0, which the
 * system closes when either process ends, whatever its end; rank 0 reports it to the others.
 *
 *     rank 1 ──┐
 *     rank 2 ──┼── rank 0      rank 2 is killed: rank 0 reads the end of its connection, and writes
 *     rank 3 ──┘               "2 is lost" to ranks 1 and 3
 *
 * A thread of its own reads the connections, because a process that computes for long must report,
 * too; other threads read two atomic numbers. A machine without power is noticed by keep-alive
 * packets after 10 seconds.
 *
 * A process may also stop without an end: by SIGSTOP, or in work of its own that never ends. So
 * each process reports to rank 0, at regular times, how many calls it has begun and how long it
 * waits in one. When a process waits for longer than the timeout, rank 0 names the process that is
 * late: one that sends no reports any more, else the one with the fewest calls. A process that
 * waits for longer without such a word knows that rank 0 itself is late. Owner: the caller has the
 * gantry__watch_t, and must call gantry__watch_deinit. Threads: externally synchronised, except for
 * the thread that the watch starts itself. */
#ifndef GANTRY_TRAIN_WATCH_H
#define GANTRY_TRAIN_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/gantry.h>

#include "base/os/sockets.h"
#include "base/os/thread.h"

enum { GANTRY__WATCH_ADDRESSES = 8 };

/* Where rank 0 waits for connections; all processes get it. */
typedef struct gantry__watch_place_t {
    uint64_t secret[2]; /* what each connection begins with */
    uint32_t port, count;
    char addresses[GANTRY__WATCH_ADDRESSES][GANTRY__OS_ADDRESS_BYTES];
} gantry__watch_place_t;

/* Why a process counts as gone. */
typedef enum gantry__watch_reason_t {
    GANTRY__WATCH_LEAVES = 0, /* it has said so */
    GANTRY__WATCH_LOST,       /* it ended */
    GANTRY__WATCH_SILENT,     /* it is late, and sends no reports */
    GANTRY__WATCH_LATE        /* it is late */
} gantry__watch_reason_t;

/* What rank 0 knows about a process. */
typedef struct gantry__watch_peer_t {
    uint64_t calls;
    double waits, heard; /* seconds; when it sent a report */
} gantry__watch_peer_t;

typedef struct gantry__watch_t {
    size_t rank, size;
    double timeout;                        /* seconds; 0: none */
    int listener;                          /* of rank 0, until all have come; -1 */
    int *sockets;                          /* of rank 0: by rank; else one, to rank 0. -1: none */
    bool *has_left;                        /* by socket: it has said that it leaves */
    gantry__watch_peer_t *peers;           /* of rank 0: by rank */
    double reported;                       /* when the last report was sent */
    atomic_uint_least64_t calls, waits_ms; /* of this process: begun; in the present one */
    gantry__mutex_t lock;
    gantry__condition_t changed; /* the thread must end */
    bool ends;                   /* under lock */
    bool has_thread;
    gantry__thread_t thread;
    atomic_size_t gone; /* 1 + the first rank that ended, left or is late; 0: none */
    atomic_uint reason; /* a gantry__watch_reason_t */
} gantry__watch_t;

/* init prepares the watch, with a timeout in seconds, or none if it is 0. The caller must call
 * gantry__watch_deinit after a failure, too. Rank 0 must then open its place; `local` says that all
 * processes are on its machine. */
gantry_status_t gantry__watch_init(gantry__watch_t *watch, size_t rank, size_t size,
                                   double timeout);
gantry_status_t gantry__watch_open(gantry__watch_t *watch, bool local,
                                   gantry__watch_place_t *out_place);
/* Connects to rank 0; rank 0 waits for all others, and ignores strangers. It starts the thread. */
gantry_status_t gantry__watch_connect(gantry__watch_t *watch, const gantry__watch_place_t *place);
/* begin_call notes that this process begins a call that waits for others, and wait that it has
 * waited for so long in it. */
void gantry__watch_begin_call(gantry__watch_t *watch);
void gantry__watch_wait(gantry__watch_t *watch, double seconds);
/* Names rank 0 as the one that is late, if rank 0 should have named another one by now. */
void gantry__watch_doubt_root(gantry__watch_t *watch, double waited);
/* Leaves: reports this to the others, and ends the thread. */
void gantry__watch_deinit(gantry__watch_t *watch);

#endif
