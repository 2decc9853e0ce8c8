/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: standard output kept from libraries that print, and streams whose bytes go to a
 * function. Only programs may call it. Owner: the caller must end what it began. Threads:
 * init-only for standard output; else thread-safe for different streams. */
#ifndef GANTRY_BASE_OS_OUTPUT_H
#define GANTRY_BASE_OS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- standard output ---- */

/* From here on, what is written to standard output goes to standard error. Returns what
 * gantry__os_output_return gives back; -1 after a failure, which changes nothing. */
int gantry__os_output_divert(void);
void gantry__os_output_return(int kept);
/* The same for ever: the result is the one stream that still writes to standard output's file. NULL
 * with errno after a failure. */
FILE *gantry__os_output_take(void);

/* ---- streams to functions ---- */

/* Takes all the bytes; false: it cannot. */
typedef bool (*gantry__os_sink_fn)(void *user, const void *bytes, size_t size);

typedef struct gantry__os_sink_t {
    gantry__os_sink_fn write;
    void *user;
} gantry__os_sink_t;

/* Opens a stream whose bytes sink->write gets in their order, at the latest when the stream is
 * closed. sink must stay where it is until then. NULL: there is no memory. */
FILE *gantry__os_sink_open(gantry__os_sink_t *sink);
/* Closes it; false if a byte was not written. */
bool gantry__os_sink_close(gantry__os_sink_t *sink, FILE *stream);

#endif
