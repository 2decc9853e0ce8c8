/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which process has ended. Every process holds a TCP connection to rank 0, which the system
 * closes when either process ends, whatever its end; rank 0 tells the others.
 *
 *     rank 1 ──┐
 *     rank 2 ──┼── rank 0      rank 2 is killed: rank 0 reads the end of its connection, and writes
 *     rank 3 ──┘               "2 is lost" to ranks 1 and 3
 *
 * A thread of its own reads, so that a process that computes for long tells, too; others read two
 * atomic numbers. A machine without power is noticed by keep-alive packets after 10 seconds. */
#ifndef GANTRY_TRAIN_WATCH_H
#define GANTRY_TRAIN_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/gantry.h>

enum { GANTRY__WATCH_ADDRESSES = 8, GANTRY__WATCH_ADDRESS_BYTES = 48 };

/* Where rank 0 waits; sent to all. */
typedef struct gantry__watch_place_t {
    uint64_t secret[2]; /* what each connection begins with */
    uint32_t port, count;
    char addresses[GANTRY__WATCH_ADDRESSES][GANTRY__WATCH_ADDRESS_BYTES];
} gantry__watch_place_t;

typedef struct gantry__watch_t {
    size_t rank, size;
    int listener;   /* of rank 0, until all have come; -1 */
    int wakes[2];   /* a pipe that ends the thread */
    int *sockets;   /* of rank 0: by rank; else one, to rank 0. -1: none */
    bool *has_left; /* by socket: it has said that it leaves */
    bool has_thread;
    pthread_t thread;
    atomic_size_t gone;  /* 1 + the first rank that ended, or left; 0: none */
    atomic_bool is_lost; /* it has not said that it leaves */
} gantry__watch_t;

/* Rank 0 opens its place; local: all processes are on its machine. gantry__watch_deinit follows,
 * also after a failure. */
gantry_status_t gantry__watch_init(gantry__watch_t *watch, size_t rank, size_t size);
gantry_status_t gantry__watch_open(gantry__watch_t *watch, bool local,
                                   gantry__watch_place_t *out_place);
/* Others connect; rank 0 waits for all of them, and ignores strangers. Starts the thread. */
gantry_status_t gantry__watch_connect(gantry__watch_t *watch, const gantry__watch_place_t *place);
/* Leaves: tells the others, and ends the thread. */
void gantry__watch_deinit(gantry__watch_t *watch);

#endif
