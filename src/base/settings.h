/* SPDX-License-Identifier: Apache-2.0 */
/* Named text settings of one runtime: options given in code first, then the environment, read in
 * this one place.
 *
 * A setting has one name, that of its environment variable. Each source's text is kept, so that it
 * can be told what won and what lost; a text that lost is checked all the same. Owns copies of
 * every value it returned. Thread-safe after init. */
#ifndef GANTRY_BASE_SETTINGS_H
#define GANTRY_BASE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "base/heap.h"
#include "base/thread.h"

typedef enum gantry__setting_source_t {
    GANTRY__SOURCE_DEFAULT = 0,
    GANTRY__SOURCE_ENVIRONMENT = 1,
    GANTRY__SOURCE_OPTION = 2,
    GANTRY__SOURCE_CALL = 3
} gantry__setting_source_t;

typedef struct gantry__setting_t {
    char *name;
    char *value;                     /* of option or environment; NULL: known to be unset */
    char *by;                        /* "option memory_limit_bytes"; NULL: not an option */
    char *environment;               /* what an option overrules; NULL: nothing */
    gantry__setting_source_t source; /* of value */
    const char *call;                /* the call that changed it since, static text; NULL: none */
    bool is_read;                    /* somebody asked for it */
    /* what a call put in place of value, newest first; NULL: nothing */
    struct gantry__setting_text_t *called;
} gantry__setting_t;

/* A text stays until deinit: somebody may hold it. */
typedef struct gantry__setting_text_t {
    struct gantry__setting_text_t *next;
    size_t length;
    char text[];
} gantry__setting_text_t;

typedef struct gantry__settings_t {
    const gantry__heap_t *heap;
    gantry__mutex_t lock;
    gantry__setting_t **entries; /* pointers, since callers hold values while the table grows */
    size_t count, capacity;
} gantry__settings_t;

gantry_status_t gantry__settings_init(gantry__settings_t *settings, const gantry__heap_t *heap);
void gantry__settings_deinit(gantry__settings_t *settings);

/* Puts a value in front of the environment's. Before the first get of that name. by: "option
 * memory_limit_bytes". InvalidArgument, naming both, when another option gave another value;
 * values that mean the same (1 and on, 1G and 1024M) are one. */
gantry_status_t gantry__settings_put_by(gantry__settings_t *settings, const char *name,
                                        const char *value, const char *by);
/* The same by "option <name>". */
gantry_status_t gantry__settings_put(gantry__settings_t *settings, const char *name,
                                     const char *value);
/* "NAME=VALUE" texts, NULL-terminated; InvalidArgument for one without '='. */
gantry_status_t gantry__settings_put_all(gantry__settings_t *settings,
                                         const char *const *assignments);

/* What is known of a name, read now when it was not yet; NULL when memory is out. Valid until
 * deinit; all but call and called is constant. */
const gantry__setting_t *gantry__settings_find(gantry__settings_t *settings, const char *name);
/* NULL when unset; what a call put in its place comes first. Valid until deinit. source may be
 * NULL. */
const char *gantry__settings_get(gantry__settings_t *settings, const char *name,
                                 gantry__setting_source_t *out_source);
/* Who gave the value: "option memory_limit_bytes", else the name itself. */
const char *gantry__setting_by(const gantry__setting_t *setting);

/* Visits what was given and nobody has asked for: options, then the environment's variables that
 * begin with prefix. by: as above. */
typedef void (*gantry__setting_visit_fn)(void *user, const char *name, const char *by);
void gantry__settings_visit_unread(gantry__settings_t *settings, const char *prefix,
                                   gantry__setting_visit_fn visit, void *user);

/* Keeps that a call (static text) changed the setting. The value itself is the caller's. */
void gantry__settings_note_call(gantry__settings_t *settings, const char *name, const char *call);
/* The same, and puts a value in place of what option and environment say: for whoever reads the
 * setting later. */
gantry_status_t gantry__settings_put_call(gantry__settings_t *settings, const char *name,
                                          const char *value, const char *call);
/* The call kept; NULL: none. */
const char *gantry__settings_call(gantry__settings_t *settings, const char *name);

/* Typed readers: *out is untouched when unset or empty; InvalidArgument names variable, value
 * and what is accepted. */
gantry_status_t gantry__settings_get_bool(gantry__settings_t *settings, const char *name,
                                          bool *out);
/* One of words[0..count); *out is its place. */
gantry_status_t gantry__settings_get_word(gantry__settings_t *settings, const char *name,
                                          const char *const *words, int count, int *out);
/* Bytes: digits with an optional K, M, G or T (powers of 1024). */
gantry_status_t gantry__settings_get_bytes(gantry__settings_t *settings, const char *name,
                                           uint64_t *out);
/* Digits, 0 to most. what: its meaning, for the message ("milliseconds"). */
gantry_status_t gantry__settings_get_number(gantry__settings_t *settings, const char *name,
                                            uint64_t most, const char *what, uint64_t *out);

#endif
