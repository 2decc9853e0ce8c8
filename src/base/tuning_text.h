/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a tuning file: reads or writes one line at a time. No files, no memory.
 *
 *     gantry tuning 1
 *     # a comment
 *     2026-11-22T01:02:03Z <tab> device <tab> what <tab> values
 *
 * Any user may have written the bytes: a line is a record, empty, or wrong with a reason.
 * Thread-safe. */
#ifndef GANTRY_BASE_TUNING_TEXT_H
#define GANTRY_BASE_TUNING_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define GANTRY__TUNING_HEAD "gantry tuning 1\n"
#define GANTRY__TUNING_DEVICE_BYTES 256 /* these four with the terminator */
#define GANTRY__TUNING_WHAT_BYTES 64
#define GANTRY__TUNING_VALUES_BYTES 512
#define GANTRY__TUNING_TIME_BYTES 21
#define GANTRY__TUNING_REASON_BYTES 160

/* A part of a text, not terminated. */
typedef struct gantry__part_t {
    const char *bytes;
    size_t length;
} gantry__part_t;

typedef struct gantry__tuning_line_t {
    gantry__part_t measured, device, what, values;
} gantry__tuning_line_t;

typedef enum gantry__tuning_kind_t {
    GANTRY__TUNING_RECORD = 0,
    GANTRY__TUNING_NOTHING = 1, /* blank, or a comment */
    GANTRY__TUNING_WRONG = 2
} gantry__tuning_kind_t;

/* Whether the file begins as a tuning file of this version; *out_first is the offset of its second
 * line. An empty file is valid and has no records. Otherwise *out_reason says why not. */
bool gantry__tuning_head_read(const char *text, size_t size, size_t *out_first,
                              char reason[GANTRY__TUNING_REASON_BYTES]);

/* Reads the line at *at and moves *at to after it. *out points into text. A bad line gets a
 * reason. */
gantry__tuning_kind_t gantry__tuning_line_read(const char *text, size_t size, size_t *at,
                                               gantry__tuning_line_t *out,
                                               char reason[GANTRY__TUNING_REASON_BYTES]);

/* The reason why these texts cannot be a record, or NULL. */
const char *gantry__tuning_fault(gantry__part_t device, gantry__part_t what, gantry__part_t values);

bool gantry__part_is(gantry__part_t part, const char *text);

#endif
