/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: a list with one entry for each name that was given or read. It is short, so that a
 * linear search suffices.
 *
 *   put    options in code, each with the words by which messages name it; twice is refused unless
 *          both mean the same
 *   find   the entry; the environment is read here, once for each name. In a program that runs
 *          with more rights than its caller (set-user-ID), it has no value: a caller could choose
 *          files that the program loads or writes
 *   call   values that a call changes later; former texts are kept, because threads may read them
 *
 * At the end, typed readers: a bad text is InvalidArgument with setting, text and what is accepted.
 * base/setting_rows.h lists the settings. */
#include "base/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/os/environment.h"

gantry_status_t gantry__settings_init(gantry__settings_t *settings, const gantry__heap_t *heap) {
    *settings = (gantry__settings_t){.heap = heap};
    if (gantry__mutex_init(&settings->lock) != 0)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    return GANTRY_OK;
}

static void release_entry(const gantry__heap_t *heap, gantry__setting_t *entry) {
    gantry__heap_free_text(heap, entry->name);
    gantry__heap_free_text(heap, entry->value);
    gantry__heap_free_text(heap, entry->by);
    gantry__heap_free_text(heap, entry->environment);
    while (entry->called) {
        gantry__setting_text_t *text = entry->called;
        entry->called = text->next;
        gantry__heap_free(heap, text, sizeof *text + text->length + 1);
    }
    gantry__heap_free(heap, entry, sizeof *entry);
}

void gantry__settings_deinit(gantry__settings_t *settings) {
    for (size_t i = 0; i < settings->count; ++i)
        release_entry(settings->heap, settings->entries[i]);
    gantry__heap_free(settings->heap, settings->entries,
                      settings->capacity * sizeof *settings->entries);
    gantry__mutex_deinit(&settings->lock);
}

static gantry__setting_t *settings_find(const gantry__settings_t *settings, const char *name) {
    for (size_t i = 0; i < settings->count; ++i) {
        if (strcmp(settings->entries[i]->name, name) == 0) return settings->entries[i];
    }
    return NULL;
}

/* Copies a text, which may be NULL; false when memory is out. */
static bool settings_copy(const gantry__heap_t *heap, const char *text, char **out) {
    *out = text ? gantry__heap_strdup(heap, text) : NULL;
    return *out || !text;
}

/* Copies a variable's value; *out is NULL if it is not set. False when memory is out. */
static bool settings_copy_variable(const gantry__heap_t *heap, const char *name, char **out) {
    size_t bytes = gantry__os_secure_variable(name, NULL, 0);
    *out = bytes > 0 ? gantry__heap_alloc(heap, bytes) : NULL;
    if (!*out) return bytes == 0;
    (*out)[0] = '\0';
    (void)gantry__os_secure_variable(name, *out, bytes);
    return true;
}

/* Adds a setting; option and by are NULL for a name that no option sets. */
static gantry__setting_t *settings_add(gantry__settings_t *settings, const char *name,
                                       const char *option, const char *by) {
    const gantry__heap_t *heap = settings->heap;
    if (!gantry__heap_grow(heap, &settings->entries, settings->count, &settings->capacity,
                           sizeof *settings->entries))
        return NULL;
    gantry__setting_t *entry = gantry__heap_zalloc(heap, sizeof *entry);
    if (!entry) return NULL;
    char **variable = option ? &entry->environment : &entry->value;
    if (!settings_copy(heap, name, &entry->name) || !settings_copy_variable(heap, name, variable) ||
        (option && !settings_copy(heap, option, &entry->value)) ||
        !settings_copy(heap, by, &entry->by)) {
        release_entry(heap, entry);
        return NULL;
    }
    entry->source = option         ? GANTRY__SOURCE_OPTION
                    : entry->value ? GANTRY__SOURCE_ENVIRONMENT
                                   : GANTRY__SOURCE_DEFAULT;
    settings->entries[settings->count++] = entry;
    return entry;
}

static bool means_the_same(const char *a, const char *b) {
    if (strcmp(a, b) == 0) return true;
    uint64_t a_bytes, b_bytes;
    bool a_bool, b_bool;
    if (gantry__parse_bytes(a, strlen(a), &a_bytes) && gantry__parse_bytes(b, strlen(b), &b_bytes))
        return a_bytes == b_bytes;
    return gantry__parse_bool(a, strlen(a), &a_bool) && gantry__parse_bool(b, strlen(b), &b_bool) &&
           a_bool == b_bool;
}

gantry_status_t gantry__settings_put_by(gantry__settings_t *settings, const char *name,
                                        const char *value, const char *by) {
    const gantry__setting_t *present = settings_find(settings, name);
    if (!present)
        return settings_add(settings, name, value, by) ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    if (means_the_same(present->value ? present->value : "", value)) return GANTRY_OK;
    return gantry__refuse(
        "%s is given twice: \"%.200s\" by %s and \"%.200s\" by %s; one of them is accepted", name,
        present->value ? present->value : "", gantry__setting_by(present), value, by);
}

gantry_status_t gantry__settings_put(gantry__settings_t *settings, const char *name,
                                     const char *value) {
    char by[128];
    (void)snprintf(by, sizeof by, "option %s", name);
    return gantry__settings_put_by(settings, name, value, by);
}

gantry_status_t gantry__settings_put_all(gantry__settings_t *settings,
                                         const char *const *assignments) {
    for (; assignments && *assignments; ++assignments) {
        const char *equals = strchr(*assignments, '=');
        if (!equals || equals == *assignments) {
            return gantry__refuse("extra option \"%s\" is not of the form NAME=VALUE",
                                  *assignments);
        }
        char *name = gantry__heap_strdup(settings->heap, *assignments);
        if (!name) return GANTRY_RESOURCE_EXHAUSTED;
        name[equals - *assignments] = '\0';
        gantry_status_t status = gantry__settings_put(settings, name, equals + 1);
        gantry__heap_free(settings->heap, name, strlen(*assignments) + 1);
        GANTRY__TRY(status);
    }
    return GANTRY_OK;
}

const gantry__setting_t *gantry__settings_find(gantry__settings_t *settings, const char *name) {
    gantry__mutex_lock(&settings->lock);
    gantry__setting_t *entry = settings_find(settings, name);
    if (!entry) entry = settings_add(settings, name, NULL, NULL);
    if (entry) entry->is_read = true;
    gantry__mutex_unlock(&settings->lock);
    return entry;
}

const char *gantry__settings_get(gantry__settings_t *settings, const char *name,
                                 gantry__setting_source_t *out_source) {
    const gantry__setting_t *entry = gantry__settings_find(settings, name);
    if (out_source) *out_source = entry ? entry->source : GANTRY__SOURCE_DEFAULT;
    if (!entry) return NULL;
    gantry__mutex_lock(&settings->lock);
    const gantry__setting_text_t *called = entry->called;
    gantry__mutex_unlock(&settings->lock);
    if (called && out_source) *out_source = GANTRY__SOURCE_CALL;
    return called ? called->text : entry->value;
}

const char *gantry__setting_by(const gantry__setting_t *setting) {
    return setting->by ? setting->by : setting->name;
}

static const gantry__setting_t *entry_at(gantry__settings_t *settings, size_t index) {
    gantry__mutex_lock(&settings->lock);
    const gantry__setting_t *entry = index < settings->count ? settings->entries[index] : NULL;
    gantry__mutex_unlock(&settings->lock);
    return entry;
}

static bool is_entry(gantry__settings_t *settings, const char *name) {
    gantry__mutex_lock(&settings->lock);
    bool is = settings_find(settings, name) != NULL;
    gantry__mutex_unlock(&settings->lock);
    return is;
}

/* The variables that begin with a prefix and that no entry has. */
typedef struct unread_visit_t {
    gantry__settings_t *settings;
    const char *prefix;
    gantry__setting_visit_fn visit;
    void *user;
} unread_visit_t;

static bool visit_variable(void *user, const char *assignment) {
    const unread_visit_t *unread = user;
    char name[256];
    const size_t length = strcspn(assignment, "=");
    if (length >= sizeof name || strncmp(assignment, unread->prefix, strlen(unread->prefix)) != 0)
        return true;
    memcpy(name, assignment, length);
    name[length] = '\0';
    if (!is_entry(unread->settings, name)) unread->visit(unread->user, name, name);
    return true;
}

void gantry__settings_visit_unread(gantry__settings_t *settings, const char *prefix,
                                   gantry__setting_visit_fn visit, void *user) {
    unread_visit_t unread = {settings, prefix, visit, user};
    const gantry__setting_t *entry;
    for (size_t i = 0; (entry = entry_at(settings, i)) != NULL; ++i) {
        if (!entry->is_read) visit(user, entry->name, gantry__setting_by(entry));
    }
    gantry__os_variables_visit(visit_variable, &unread);
}

void gantry__settings_note_call(gantry__settings_t *settings, const char *name, const char *call) {
    gantry__mutex_lock(&settings->lock);
    gantry__setting_t *entry = settings_find(settings, name);
    if (entry) entry->call = call;
    gantry__mutex_unlock(&settings->lock);
}

gantry_status_t gantry__settings_put_call(gantry__settings_t *settings, const char *name,
                                          const char *value, const char *call) {
    const size_t length = strlen(value);
    if (!gantry__settings_find(settings, name)) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__setting_text_t *text = gantry__heap_alloc(settings->heap, sizeof *text + length + 1);
    if (!text) return GANTRY_RESOURCE_EXHAUSTED;
    text->length = length;
    memcpy(text->text, value, length + 1);
    gantry__mutex_lock(&settings->lock);
    gantry__setting_t *entry = settings_find(settings, name);
    text->next = entry->called;
    entry->called = text;
    entry->call = call;
    gantry__mutex_unlock(&settings->lock);
    return GANTRY_OK;
}

const char *gantry__settings_call(gantry__settings_t *settings, const char *name) {
    gantry__mutex_lock(&settings->lock);
    const gantry__setting_t *entry = settings_find(settings, name);
    const char *call = entry ? entry->call : NULL;
    gantry__mutex_unlock(&settings->lock);
    return call;
}

/* ---- typed readers ---- */

typedef struct kind_t {
    const char *const *words; /* of a word */
    int word_count;
    bool is_bytes;
    uint64_t most; /* of a number */
    bool is_signed;
    const char *what;
} kind_t;

static bool parse(const kind_t *kind, const char *text, uint64_t *out) {
    size_t length = strlen(text);
    if (kind->is_bytes) return gantry__parse_bytes(text, length, out);
    if (kind->is_signed && *text == '-') {
        const uint64_t most = (uint64_t)INT32_MAX + 1;
        const bool is_number = gantry__parse_number(text + 1, length - 1, most, out);
        if (is_number) *out = -*out;
        return is_number;
    }
    if (!kind->words) return gantry__parse_number(text, length, kind->most, out);
    int word = 0;
    bool is_on = false;
    bool ok = gantry__parse_word(text, length, kind->words, kind->word_count, &word);
    if (!ok && gantry__parse_bool(text, length, &is_on)) {
        const char *switched = is_on ? "on" : "off";
        ok = gantry__parse_word(switched, strlen(switched), kind->words, kind->word_count, &word);
    }
    if (ok) *out = (uint64_t)word;
    return ok;
}

/* The other words that count as the word off or on, unless the list has it. */
static const char *other_words_of(const kind_t *kind, const char *word) {
    if (strcmp(kind->words[0], "0") == 0) return "";
    if (strcmp(word, "off") == 0) return " (0, false, no)";
    return strcmp(word, "on") == 0 ? " (1, true, yes)" : "";
}

static gantry_status_t settings_refuse(const kind_t *kind, const char *by, const char *text) {
    if (kind->is_bytes) {
        return gantry__refuse(
            "%s is \"%.200s\"; accepted is a number of bytes such as 1048576, 512M or 2G", by,
            text);
    }
    if (!kind->words) {
        return gantry__refuse(
            "%s is \"%.200s\"; a number of %s from 0 to %" PRIu64 "%s is accepted", by, text,
            kind->what, kind->most, kind->is_signed ? ", or -2147483648 to -1," : "");
    }
    char accepted[256] = "";
    for (int i = 0; i < kind->word_count; ++i) {
        const size_t used = strlen(accepted);
        (void)snprintf(accepted + used, sizeof accepted - used, "%s%s%s", i ? ", " : "",
                       kind->words[i], other_words_of(kind, kind->words[i]));
    }
    return gantry__refuse("%s is \"%.200s\"; accepted are %s", by, text, accepted);
}

/* Checks a text even if an option overrules it: otherwise the mistake would appear when the option
 * is removed. */
static gantry_status_t read(gantry__settings_t *settings, const char *name, const kind_t *kind,
                            uint64_t *out) {
    const gantry__setting_t *entry = gantry__settings_find(settings, name);
    if (!entry) return GANTRY_RESOURCE_EXHAUSTED;
    uint64_t overruled = 0;
    if (entry->environment && *entry->environment && !parse(kind, entry->environment, &overruled))
        return settings_refuse(kind, name, entry->environment);
    if (entry->value && *entry->value && !parse(kind, entry->value, out))
        return settings_refuse(kind, gantry__setting_by(entry), entry->value);
    return GANTRY_OK;
}

gantry_status_t gantry__settings_get_bool(gantry__settings_t *settings, const char *name,
                                          bool *out) {
    static const char *const words[] = {"0", "off", "false", "no", "1", "on", "true", "yes"};
    const kind_t kind = {.words = words, .word_count = 8};
    uint64_t word = *out ? 4 : 0;
    GANTRY__TRY(read(settings, name, &kind, &word));
    *out = word >= 4;
    return GANTRY_OK;
}

gantry_status_t gantry__settings_get_word(gantry__settings_t *settings, const char *name,
                                          const char *const *words, int count, int *out) {
    const kind_t kind = {.words = words, .word_count = count};
    uint64_t word = (uint64_t)*out;
    GANTRY__TRY(read(settings, name, &kind, &word));
    *out = (int)word;
    return GANTRY_OK;
}

gantry_status_t gantry__settings_get_bytes(gantry__settings_t *settings, const char *name,
                                           uint64_t *out) {
    const kind_t kind = {.is_bytes = true};
    return read(settings, name, &kind, out);
}

gantry_status_t gantry__settings_get_number(gantry__settings_t *settings, const char *name,
                                            uint64_t most, const char *what, uint64_t *out) {
    const kind_t kind = {.most = most, .what = what};
    return read(settings, name, &kind, out);
}

gantry_status_t gantry__settings_get_signed(gantry__settings_t *settings, const char *name,
                                            uint64_t most, const char *what, int32_t *out) {
    const kind_t kind = {.most = most, .is_signed = true, .what = what};
    uint64_t number = (uint64_t)*out;
    GANTRY__TRY(read(settings, name, &kind, &number));
    *out = (int32_t)number;
    return GANTRY_OK;
}
