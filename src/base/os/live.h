/* SPDX-License-Identifier: Apache-2.0 */
/* A view on the terminal of standard input and output, which is drawn again and again: keys,
 * signals and sizes come as events, one after another. No event is lost between a check and a
 * wait. Owner: a process may have one at a time, and must close it. Threads: externally
 * synchronised. */
#ifndef GANTRY_BASE_OS_LIVE_H
#define GANTRY_BASE_OS_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GANTRY__OS_LIVE_KEYS 33

typedef enum gantry__os_live_event_t {
    GANTRY__OS_LIVE_TIME,      /* the deadline is over */
    GANTRY__OS_LIVE_NOTHING,   /* a wait that ended early */
    GANTRY__OS_LIVE_KEYS_CAME, /* keys has them */
    GANTRY__OS_LIVE_SIZE,      /* the terminal has another size */
    GANTRY__OS_LIVE_INTERRUPT, /* Control-C */
    GANTRY__OS_LIVE_STOP,      /* Control-Z; systems that stop no process never have it */
    GANTRY__OS_LIVE_CONTINUE,  /* the process was stopped, and goes on */
    GANTRY__OS_LIVE_KILLED,    /* a request to end: gantry__os_live_close ends the process by it */
    GANTRY__OS_LIVE_LOST       /* the terminal cannot be read any more */
} gantry__os_live_event_t;

typedef struct gantry__os_live_t gantry__os_live_t;

/* Takes the signals. Returns 0, or the errno value of the failure; then *out_live is NULL. */
int gantry__os_live_open(gantry__os_live_t **out_live);
/* Lets keys come at once, and without being shown. */
void gantry__os_live_begin(gantry__os_live_t *live);
/* Gives the terminal its former ways back. */
void gantry__os_live_end(gantry__os_live_t *live);
/* Waits for the next event, until deadline_ns on the clock of gantry__now_ns. */
gantry__os_live_event_t gantry__os_live_wait(gantry__os_live_t *live, uint64_t deadline_ns,
                                             char keys[GANTRY__OS_LIVE_KEYS]);
/* Writes all bytes to standard output; false: it cannot be written. */
bool gantry__os_live_write(const char *bytes, size_t count);
/* Stops the process, as Control-Z does, until it is continued. */
void gantry__os_live_stop(gantry__os_live_t *live);
/* Gives the signals their usual effects back; one that came as GANTRY__OS_LIVE_KILLED then ends the
 * process. NULL does no harm. */
void gantry__os_live_close(gantry__os_live_t *live);

#endif
