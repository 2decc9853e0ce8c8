/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of settings for several devices, and the texts made from parsed ones.
 *
 *   one value for all       512M
 *   a list                  GPU:0=2G,GPU:1=50%,*=1G          DEVICE=VALUE, * for the rest
 *   parts of devices        GPU:0=1024M,1024M;CPU:0=,        one part per logical device, maybe
 *                           with /key=value
 *
 * Pure functions on text: the caller checks whether a device exists. Every message names the
 * setting, its text, the column (bytes from 1), the text there and what is accepted.
 * Thread-safe. */
#ifndef GANTRY_DEVICE_CONFIG_TEXT_H
#define GANTRY_DEVICE_CONFIG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/device.h>
#include <gantry/runtime.h>

#include "base/failure.h"

/* The most logical devices of one card. */
#define GANTRY__MOST_PARTS 64
#define GANTRY__CONFIG_DEVICE_BYTES 128

typedef struct gantry__config_text_t {
    const char *by;   /* "GANTRY_MEMORY_LIMIT" or "option memory_limit_bytes" */
    const char *text; /* the whole */
} gantry__config_text_t;

/* One DEVICE=VALUE. */
typedef struct gantry__config_item_t {
    /* "": the value is for all devices; "*": for the rest */
    char device[GANTRY__CONFIG_DEVICE_BYTES];
    const char *at, *value; /* where the item and its value begin in the text */
    size_t length;          /* the length of the value */
} gantry__config_item_t;

/* Takes the next item off *cursor, which begins at the text; *out_has is false at its end. The
 * separator separates items; blanks around device and value are dropped. needs_device: a value
 * without a device is refused. */
gantry_status_t gantry__config_next(const gantry__config_text_t *text, char separator,
                                    bool needs_device, const char **cursor,
                                    gantry__config_item_t *out_item, bool *out_has);

/* InvalidArgument '<by> is "<text>": at column N, <message>'. */
gantry_status_t gantry__config_refuse(const gantry__config_text_t *text, const char *at,
                                      const char *format, ...) GANTRY__PRINTF(3, 4);

/* A limit: bytes, or a fraction of the device. Both 0: no limit. */
typedef struct gantry__limit_t {
    uint64_t bytes;
    double percent;
} gantry__limit_t;

gantry_status_t gantry__config_growth(const gantry__config_text_t *text,
                                      const gantry__config_item_t *item, gantry_choice_t *out);
/* "auto" to "adaptive", from GANTRY_WAIT_AUTO on. */
extern const char *const gantry__wait_words[GANTRY_WAIT_ADAPTIVE];
gantry_status_t gantry__config_wait(const gantry__config_text_t *text,
                                    const gantry__config_item_t *item, gantry_wait_policy_t *out);
gantry_status_t gantry__config_limit(const gantry__config_text_t *text,
                                     const gantry__config_item_t *item, gantry__limit_t *out);
gantry_status_t gantry__config_fraction(const gantry__config_text_t *text,
                                        const gantry__config_item_t *item, double *out);
/* The parts of one device; room for GANTRY__MOST_PARTS. */
gantry_status_t gantry__config_parts(const gantry__config_text_t *text,
                                     const gantry__config_item_t *item,
                                     gantry_logical_device_config_t *out_parts, size_t *out_count);

/* Writes a limit as the environment would spell it, cut to fit. */
void gantry__format_limit(const gantry__limit_t *limit, char *out, size_t out_bytes);
void gantry__format_parts(const gantry_logical_device_config_t *parts, size_t count, char *out,
                          size_t out_bytes);

#endif
