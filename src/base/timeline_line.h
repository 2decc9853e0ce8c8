/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a timeline's event: one line of JSON. It knows no file.
 *
 * Owner: the buffers are the caller's. Threads: externally synchronised. */
#ifndef GANTRY_BASE_TIMELINE_LINE_H
#define GANTRY_BASE_TIMELINE_LINE_H

#include <stddef.h>

#include "base/timeline_event.h"

#define GANTRY__TIMELINE_TEXT_BYTES 256 /* longest text of an event; the rest is cut */
/* the longest line: its texts and numbers with their punctuation */
#define GANTRY__TIMELINE_LINE_BYTES \
    ((GANTRY__TIMELINE_ARGS + 3) * 2 * (GANTRY__TIMELINE_TEXT_BYTES + 16))

/* The pieces that are kept of earlier lines. All zero: nothing. */
typedef struct gantry__timeline_kept_t gantry__timeline_kept_t;
extern const size_t gantry__timeline_kept_bytes;

/* Writes ",\n" and the event's line; returns its end. at must have room for
 * GANTRY__TIMELINE_LINE_BYTES. event->thread is not 0. */
char *gantry__timeline_put_line(char *at, const gantry__timeline_event_t *event,
                                gantry__timeline_kept_t *kept);

/* The same for a text in quotation marks. */
char *gantry__timeline_put_text(char *at, const char *text);

#endif
