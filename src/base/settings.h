/* SPDX-License-Identifier: Apache-2.0 */
/* Named text settings of one runtime: options given in code first, then the environment, which is
 * read only here.
 *
 * A setting has one name, that of its environment variable. The text of each source is kept, so
 * that a query can show which one won and which ones lost; a text that lost is checked all the
 * same. Owns copies of every value it returned. Thread-safe after init. */
#ifndef GANTRY_BASE_SETTINGS_H
#define GANTRY_BASE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "base/heap.h"
#include "base/os/thread.h"

typedef enum gantry__setting_source_t {
    GANTRY__SOURCE_DEFAULT = 0,
    GANTRY__SOURCE_ENVIRONMENT = 1,
    GANTRY__SOURCE_OPTION = 2,
    GANTRY__SOURCE_CALL = 3
} gantry__setting_source_t;

typedef struct gantry__setting_t {
    char *name;
    char *value;       /* the value from option or environment; NULL: known to be unset */
    char *by;          /* "option memory_limit_bytes"; NULL: not an option */
    char *environment; /* the value that an option overrules; NULL: none */
    gantry__setting_source_t source; /* the source of value */
    /* the call that changed it since, static text; NULL: no call */
    const char *call;
    bool is_read; /* the setting was read */
    /* the values that calls put in place of value, newest first; NULL: none */
    struct gantry__setting_text_t *called;
} gantry__setting_t;

/* A text stays until deinit, because a caller may hold it. */
typedef struct gantry__setting_text_t {
    struct gantry__setting_text_t *next;
    size_t length;
    char text[];
} gantry__setting_text_t;

typedef struct gantry__settings_t {
    const gantry__heap_t *heap;
    gantry__mutex_t lock;
    gantry__setting_t **entries; /* pointers, because callers hold values while the table grows */
    size_t count, capacity;
} gantry__settings_t;

gantry_status_t gantry__settings_init(gantry__settings_t *settings, const gantry__heap_t *heap);
void gantry__settings_deinit(gantry__settings_t *settings);

/* Puts a value in front of the environment's, before the name is first read. by: "option
 * memory_limit_bytes". InvalidArgument, naming both, if another option gave another value; values
 * with one meaning (1 and on, 1G and 1024M) are equal. */
gantry_status_t gantry__settings_put_by(gantry__settings_t *settings, const char *name,
                                        const char *value, const char *by);
/* Does the same; by is "option <name>". */
gantry_status_t gantry__settings_put(gantry__settings_t *settings, const char *name,
                                     const char *value);
/* Puts "NAME=VALUE" texts, NULL-terminated; InvalidArgument for one without '='. */
gantry_status_t gantry__settings_put_all(gantry__settings_t *settings,
                                         const char *const *assignments);

/* The entry of a name, read now if it was not yet; NULL when memory is out. Valid until deinit;
 * only call and called change. */
const gantry__setting_t *gantry__settings_find(gantry__settings_t *settings, const char *name);
/* The value, or NULL when unset; a value put by a call comes first. Valid until deinit. source may
 * be NULL. */
const char *gantry__settings_get(gantry__settings_t *settings, const char *name,
                                 gantry__setting_source_t *out_source);
/* The giver of the value: "option memory_limit_bytes", else the name itself. */
const char *gantry__setting_by(const gantry__setting_t *setting);

/* Visits the settings that were given but never read: options, then the environment's variables
 * that begin with prefix. by: as above. */
typedef void (*gantry__setting_visit_fn)(void *user, const char *name, const char *by);
void gantry__settings_visit_unread(gantry__settings_t *settings, const char *prefix,
                                   gantry__setting_visit_fn visit, void *user);

/* Notes that a call (static text) changed the setting. The caller keeps the value itself. */
void gantry__settings_note_call(gantry__settings_t *settings, const char *name, const char *call);
/* Does the same, and puts a value in front of option and environment, for later readers of the
 * setting. */
gantry_status_t gantry__settings_put_call(gantry__settings_t *settings, const char *name,
                                          const char *value, const char *call);
/* The noted call; NULL: none. */
const char *gantry__settings_call(gantry__settings_t *settings, const char *name);

/* Typed readers. *out stays as it is if the setting is unset or empty. InvalidArgument names
 * variable, value and what is accepted. */
gantry_status_t gantry__settings_get_bool(gantry__settings_t *settings, const char *name,
                                          bool *out);
/* Reads one of words[0..count); *out is its place. Where off or on is a word, 0, false and no, or
 * 1, true and yes, mean it, too. */
gantry_status_t gantry__settings_get_word(gantry__settings_t *settings, const char *name,
                                          const char *const *words, int count, int *out);
/* Reads bytes: digits with an optional K, M, G or T (powers of 1024). */
gantry_status_t gantry__settings_get_bytes(gantry__settings_t *settings, const char *name,
                                           uint64_t *out);
/* Reads digits, 0 to most. what: its meaning, for the message ("milliseconds"). */
gantry_status_t gantry__settings_get_number(gantry__settings_t *settings, const char *name,
                                            uint64_t most, const char *what, uint64_t *out);
/* The same, with a minus in front for any negative number of 32 bits. */
gantry_status_t gantry__settings_get_signed(gantry__settings_t *settings, const char *name,
                                            uint64_t most, const char *what, int32_t *out);

#endif
