/* SPDX-License-Identifier: Apache-2.0 */
/* An event of a timeline, as its maker hands it over. Owner: the event's maker, whose texts must
 * live until the call that takes the event returns. Threads: a plain value. */
#ifndef GANTRY_BASE_TIMELINE_EVENT_H
#define GANTRY_BASE_TIMELINE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#define GANTRY__TIMELINE_ARGS 16 /* of an event, at most */

/* The process of events that name none of a device: the threads of this one. Devices have
 * GANTRY__TIMELINE_DEVICE + their position. */
#define GANTRY__TIMELINE_HOST 1u
#define GANTRY__TIMELINE_DEVICE 2u

/* An argument of an event. It is left out if the text is "" or, without a text, the number is 0 and
 * the event is no counter. */
typedef struct gantry__timeline_arg_t {
    const char *name; /* constant, with only plain characters */
    const char *text; /* NULL: the number */
    uint64_t number;
} gantry__timeline_arg_t;

typedef struct gantry__timeline_event_t {
    char phase; /* 'X': complete, 'C': counter, 'M': names a process or thread, without a time */
    uint32_t process;
    uint64_t thread;      /* 0: the calling one */
    const char *category; /* likewise; NULL: none */
    const char *name;     /* any text */
    uint64_t begin_ns, end_ns;
    const gantry__timeline_arg_t *args;
    uint32_t arg_count;
    /* All texts must stay where they are, unchanged, until the timeline is destroyed; args with
     * texts must come first. The line is then made of pieces of earlier lines. */
    bool has_constant_texts;
} gantry__timeline_event_t;

#endif
