/* SPDX-License-Identifier: Apache-2.0 */
/* The file of tuning records: init, reading, writing, in this order.
 *
 * The first look-up reads the file and warns of bad lines. Writing takes the lock next to the file,
 * reads the file again, drops the replaced and the bad lines, appends the new record and replaces
 * the file. base/tuning_text.c parses lines. */
#include "base/tuning_store.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/files.h"
#include "base/new_file.h"
#include "base/os/clock.h"
#include "base/os/paths.h"
#include "base/text.h"
#include "base/trust.h"
#include "base/user_folder.h"

#define LARGEST_FILE ((size_t)4 << 20)
#define LOCK_TIMEOUT_NS UINT64_C(10000000000)
#define MOST_WARNINGS 8 /* warnings of lines; further ones are only counted */

/* ---- init ---- */

static gantry_status_t choose_path(gantry__tuning_store_t *store, gantry__settings_t *settings) {
    const char *wanted = gantry__settings_get(settings, "GANTRY_TUNING_FILE", NULL);
    store->no_path = wanted ? "GANTRY_TUNING_FILE is empty"
                            : "neither XDG_CACHE_HOME nor HOME is an absolute path";
    if (!wanted) store->path = gantry__user_folder(store->heap, settings, "tuning/records");
    if (!wanted || !*wanted) return GANTRY_OK;
    store->path = gantry__heap_strdup(store->heap, wanted);
    return store->path ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

gantry_status_t gantry__tuning_store_init(gantry__tuning_store_t *store, const gantry__heap_t *heap,
                                          const gantry__log_t *log, gantry__settings_t *settings) {
    *store = (gantry__tuning_store_t){.heap = heap, .log = log};
    if (gantry__mutex_init(&store->lock) != 0)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    gantry_status_t status = choose_path(store, settings);
    if (status != GANTRY_OK) gantry__mutex_deinit(&store->lock);
    return status;
}

static void table_deinit(const gantry__tuning_store_t *store, gantry__tuning_table_t *table) {
    gantry__heap_free(store->heap, table->records, table->capacity * sizeof *table->records);
    gantry__heap_free(store->heap, table->bytes, table->size);
    *table = (gantry__tuning_table_t){0};
}

void gantry__tuning_store_deinit(gantry__tuning_store_t *store) {
    table_deinit(store, &store->table);
    gantry__heap_free_text(store->heap, store->path);
    store->path = NULL;
    gantry__mutex_deinit(&store->lock);
}

/* ---- reading ---- */

/* Reads all of the file, unless others may write it. */
static gantry_status_t read_file(const gantry__tuning_store_t *store, void **out_bytes,
                                 size_t *out_size) {
    int file;
    *out_bytes = NULL;
    *out_size = 0;
    GANTRY__TRY(gantry__trust_open_file(store->path, NULL, NULL, &file));
    const gantry_status_t status =
        gantry__file_read_open(store->heap, file, store->path, LARGEST_FILE, out_bytes, out_size);
    gantry__file_close(file);
    return status;
}

/* Terminates the part in place: a tab or the line's end follows it. */
static const char *terminate(char *bytes, gantry__part_t part) {
    char *text = bytes + (part.bytes - bytes);
    text[part.length] = '\0';
    return text;
}

static gantry_status_t add_record(const gantry__tuning_store_t *store,
                                  gantry__tuning_table_t *table, const gantry__tuning_line_t *line,
                                  uint32_t number) {
    if (!gantry__heap_grow(store->heap, &table->records, table->count, &table->capacity,
                           sizeof *table->records))
        return GANTRY_RESOURCE_EXHAUSTED;
    table->records[table->count++] =
        (gantry__tuning_record_t){.device = terminate(table->bytes, line->device),
                                  .what = terminate(table->bytes, line->what),
                                  .values = terminate(table->bytes, line->values),
                                  .measured = terminate(table->bytes, line->measured),
                                  .line = number};
    return GANTRY_OK;
}

/* Reads the lines; log NULL: the warnings were given already. */
static gantry_status_t read_lines(const gantry__tuning_store_t *store, const gantry__log_t *log,
                                  size_t at, gantry__tuning_table_t *table) {
    char reason[GANTRY__TUNING_REASON_BYTES];
    gantry__tuning_line_t line;
    size_t wrong = 0;
    for (uint32_t number = 2; at < table->size; ++number) {
        gantry__tuning_kind_t kind =
            gantry__tuning_line_read(table->bytes, table->size, &at, &line, reason);
        if (kind == GANTRY__TUNING_RECORD) GANTRY__TRY(add_record(store, table, &line, number));
        if (kind == GANTRY__TUNING_WRONG && log && wrong++ < MOST_WARNINGS)
            gantry__log(log, GANTRY_LEVEL_WARNING, "Tuning file %s, line %u is ignored: %s",
                        store->path, number, reason);
    }
    if (wrong > MOST_WARNINGS)
        gantry__log(log, GANTRY_LEVEL_WARNING, "Tuning file %s: %zu more lines are ignored",
                    store->path, wrong - MOST_WARNINGS);
    return GANTRY_OK;
}

/* Reads the table; *out_table is empty after a failure, and if there is no file. */
static gantry_status_t read_table(const gantry__tuning_store_t *store, const gantry__log_t *log,
                                  gantry__tuning_table_t *out_table) {
    char reason[GANTRY__TUNING_REASON_BYTES];
    size_t at = 0;
    void *bytes = NULL;
    *out_table = (gantry__tuning_table_t){0};
    if (!store->path) return GANTRY_OK;
    gantry_status_t status = read_file(store, &bytes, &out_table->size);
    out_table->bytes = bytes;
    if (status == GANTRY_NOT_FOUND) return GANTRY_OK;
    if (status == GANTRY_OK &&
        !gantry__tuning_head_read(out_table->bytes, out_table->size, &at, reason))
        status =
            gantry__fail(GANTRY_FAILED_PRECONDITION, "tuning file %s: %s", store->path, reason);
    if (status == GANTRY_OK) status = read_lines(store, log, at, out_table);
    if (status != GANTRY_OK) table_deinit(store, out_table);
    return status;
}

/* The caller must hold the lock. */
static void read_once(gantry__tuning_store_t *store) {
    if (store->is_read) return;
    const uint32_t before = gantry__failures();
    store->is_read = true;
    if (read_table(store, store->log, &store->table) != GANTRY_OK)
        gantry__log(store->log, GANTRY_LEVEL_WARNING, "Tuning records are not used: %s",
                    gantry__message());
    gantry__forget_since(before);
}

const gantry__tuning_record_t *gantry__tuning_store_find(gantry__tuning_store_t *store,
                                                         const char *device, const char *what) {
    const gantry__tuning_record_t *found = NULL;
    gantry__tuning_record_t *other = NULL;
    gantry__mutex_lock(&store->lock);
    read_once(store);
    for (size_t i = store->table.count; i > 0 && !found; --i) {
        gantry__tuning_record_t *record = &store->table.records[i - 1];
        if (strcmp(record->what, what) != 0) continue;
        if (strcmp(record->device, device) == 0) found = record;
        if (!found) other = record;
    }
    bool is_news = !found && other && !other->is_told;
    if (is_news) other->is_told = true;
    gantry__mutex_unlock(&store->lock);
    if (is_news)
        gantry__log(store->log, GANTRY_LEVEL_INFO,
                    "Tuning file %s, line %u: %s was measured on \"%s\" and is not used on \"%s\"",
                    store->path, other->line, what, other->device, device);
    return found;
}

gantry_status_t gantry__tuning_store_list(gantry__tuning_store_t *store,
                                          gantry__tuning_visit_fn visit, void *user) {
    gantry__tuning_table_t table;
    GANTRY__TRY(read_table(store, NULL, &table));
    for (size_t i = 0; i < table.count && visit(user, &table.records[i]); ++i) {
    }
    table_deinit(store, &table);
    return GANTRY_OK;
}

/* ---- writing ---- */

/* The records that leave the file, and the one that is added. */
typedef struct change_t {
    const char *device; /* NULL: any */
    const char *what;   /* NULL: any */
    bool by_beginning;  /* of what */
    const char *values; /* NULL: no record is added */
    size_t removed;
} change_t;

static bool leaves(const change_t *change, const gantry__tuning_line_t *line) {
    if (change->device && !gantry__part_is(line->device, change->device)) return false;
    if (!change->what) return true;
    size_t length = strlen(change->what);
    if (!change->by_beginning) return gantry__part_is(line->what, change->what);
    return line->what.length >= length && memcmp(line->what.bytes, change->what, length) == 0;
}

static void append_new(const change_t *change, gantry__text_t *text) {
    char now[GANTRY__OS_DATE_BYTES];
    gantry__os_utc_text(time(NULL), now);
    gantry__text_append(text, "%s\t%s\t%s\t%s\n", now, change->device, change->what,
                        change->values);
}

/* The new content of the file. */
static gantry_status_t compose(const gantry__tuning_store_t *store, const char *old, size_t size,
                               change_t *change, gantry__text_t *text) {
    char reason[GANTRY__TUNING_REASON_BYTES];
    gantry__tuning_line_t line;
    size_t at;
    if (!gantry__tuning_head_read(old, size, &at, reason))
        return gantry__fail(GANTRY_FAILED_PRECONDITION, "tuning file %s is not written: %s",
                            store->path, reason);
    gantry__text_append(text, "%s", GANTRY__TUNING_HEAD);
    while (at < size) {
        size_t begin = at;
        gantry__tuning_kind_t kind = gantry__tuning_line_read(old, size, &at, &line, reason);
        bool goes = kind == GANTRY__TUNING_RECORD && leaves(change, &line);
        change->removed += goes;
        bool is_whole = old[at - 1] == '\n';
        if (!goes && kind != GANTRY__TUNING_WRONG && is_whole)
            gantry__text_append_bytes(text, old + begin, at - begin);
    }
    if (change->values) append_new(change, text);
    return gantry__text_status(text);
}

/* The caller must hold the lock. */
static gantry_status_t rewrite_locked(const gantry__tuning_store_t *store, change_t *change) {
    void *old = NULL;
    size_t size = 0;
    gantry_status_t status = read_file(store, &old, &size);
    if (status == GANTRY_NOT_FOUND) status = GANTRY_OK;
    GANTRY__TRY(status);
    gantry__text_t text;
    gantry__text_init(&text, store->heap);
    status = compose(store, old, size, change, &text);
    const gantry__file_piece_t piece = {gantry__text_get(&text), text.length};
    if (status == GANTRY_OK && (change->values || change->removed > 0))
        status = gantry__file_write(store->path, &piece, 1, GANTRY__FILE_DURABLE);
    gantry__text_deinit(&text);
    gantry__heap_free(store->heap, old, size);
    return status;
}

static gantry_status_t tuning_store_make_folder(const gantry__tuning_store_t *store) {
    const size_t length = (size_t)(gantry__os_path_name(store->path) - store->path);
    if (length <= 1) return GANTRY_OK;
    gantry__text_t folder;
    gantry__text_init(&folder, store->heap);
    gantry__text_append_bytes(&folder, store->path, length - 1);
    gantry_status_t status = gantry__text_status(&folder);
    if (status == GANTRY_OK) status = gantry__trust_make_folder(gantry__text_get(&folder), NULL);
    gantry__text_deinit(&folder);
    return status;
}

static gantry_status_t rewrite(const gantry__tuning_store_t *store, change_t *change) {
    if (!store->path)
        return gantry__fail(GANTRY_FAILED_PRECONDITION, "there is no tuning file: %s",
                            store->no_path);
    GANTRY__TRY(tuning_store_make_folder(store));
    gantry__text_t name;
    int lock = -1;
    gantry__text_init(&name, store->heap);
    gantry__text_append(&name, "%s.lock", store->path);
    gantry_status_t status = gantry__text_status(&name);
    if (status == GANTRY_OK)
        status = gantry__file_lock(gantry__text_get(&name), LOCK_TIMEOUT_NS, &lock);
    gantry__text_deinit(&name);
    GANTRY__TRY(status);
    status = rewrite_locked(store, change);
    gantry__file_unlock(lock);
    return status;
}

static gantry__part_t tuning_store_part_of(const char *text) {
    return (gantry__part_t){text, strlen(text)};
}

gantry_status_t gantry__tuning_store_put(gantry__tuning_store_t *store, const char *device,
                                         const char *what, const char *values) {
    const char *fault = gantry__tuning_fault(
        tuning_store_part_of(device), tuning_store_part_of(what), tuning_store_part_of(values));
    if (fault)
        return gantry__refuse("a record \"%.80s\" for \"%.80s\" is not kept: %s", what, device,
                              fault);
    change_t change = {.device = device, .what = what, .values = values};
    return rewrite(store, &change);
}

gantry_status_t gantry__tuning_store_remove(gantry__tuning_store_t *store, const char *device,
                                            const char *what, size_t *out_removed) {
    change_t change = {.device = device, .what = what, .by_beginning = true};
    gantry_status_t status = rewrite(store, &change);
    *out_removed = status == GANTRY_OK ? change.removed : 0;
    return status;
}
