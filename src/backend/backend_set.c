/* SPDX-License-Identifier: Apache-2.0 */
/* Backends, in this order: the services for a backend (gantry_host_t); the list of items, each with
 * a state and a reason; opening.
 *
 * Opening goes through built-in backends, modules on the paths, and the folder next to the library.
 * Names that are excluded or taken are refused; a backend that the build knows but the search did
 * not find gets an item with the reason. backend/module.c handles files and symbols of modules. */
#include "backend/backend_set.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend_check.h"
#include "backend/builtin.h"
#include "backend/module.h"
#include "backend/slot_failure.h"
#include "backend/tuning_key.h"
#include "base/nearest.h"
#include "base/os/paths.h"
#include "base/text.h"
#include "base/trust.h"

#define MOST_NAMES 32

/* ---- what a backend may call ---- */

static void host_log(void *self, int32_t level, const char *text) {
    const gantry__backend_set_t *set = self;
    bool is_known = level >= GANTRY_LEVEL_DEBUG && level <= GANTRY_LEVEL_ERROR;
    gantry__log(set->log, is_known ? (gantry_log_level_t)level : GANTRY_LEVEL_INFO, "%s", text);
}

static int32_t host_set_error(void *self, int32_t code, const char *domain, int64_t native_code,
                              const char *text) {
    (void)self;
    gantry_status_t status =
        code > 0 && code <= GANTRY_DATA_LOSS ? (gantry_status_t)code : GANTRY_UNKNOWN;
    if (domain && *domain && native_code != 0) {
        return (int32_t)gantry__fail(status, "%s (%s %lld)", text, domain, (long long)native_code);
    }
    return (int32_t)gantry__fail(status, "%s", text);
}

static void *host_reallocate(void *self, void *ptr, uint64_t old_bytes, uint64_t new_bytes) {
    const gantry__backend_set_t *set = self;
    if (new_bytes > SIZE_MAX) return NULL;
    return gantry__heap_reallocate(set->heap, ptr, (size_t)old_bytes, (size_t)new_bytes);
}

static const char *host_option(void *self, const char *name) {
    gantry__backend_set_t *set = self;
    return gantry__settings_get(set->settings, name, NULL);
}

static int32_t host_tuning(void *self, const gantry_device_info_t *device, const char *what,
                           gantry_tuning_t *out_tuning) {
    gantry__backend_set_t *set = self;
    char key[GANTRY__TUNING_DEVICE_BYTES];
    gantry__tuning_key(device, key);
    const gantry__tuning_record_t *record = gantry__tuning_store_find(&set->tuning, key, what);
    if (!record) return 0;
    gantry_tuning_t all = {.struct_size = out_tuning->struct_size,
                           .line = record->line,
                           .values = record->values,
                           .measured = record->measured,
                           .file = set->tuning.path};
    memcpy(out_tuning, &all,
           out_tuning->struct_size < sizeof all ? out_tuning->struct_size : sizeof all);
    return 1;
}

static void host_driver_enter(void *self, const char *driver) {
    const gantry__backend_set_t *set = self;
    if (set->trial) gantry__quarantine_enter(set->trial, driver);
}

static int32_t host_check_writers(void *self, const char *path, char *out_reason,
                                  uint64_t reason_bytes) {
    (void)self;
    const uint32_t before = gantry__failures();
    const gantry_status_t status = gantry__trust_check(path);
    if (reason_bytes > 0)
        gantry__text_copy(out_reason, (size_t)reason_bytes,
                          status == GANTRY_OK ? "" : gantry__message());
    gantry__forget_since(before);
    return (int32_t)status;
}

/* ---- the list ---- */

static void release_item(const gantry__heap_t *heap, gantry__backend_t *item) {
    if (item->instance) item->table->close(item->instance);
    gantry__heap_free_text(heap, item->name);
    gantry__heap_free_text(heap, item->path);
    gantry__heap_free_text(heap, item->reason);
}

static gantry_status_t backend_set_append(gantry__backend_set_t *set, gantry__backend_t item,
                                          const char *name, const char *path, const char *reason) {
    item.name = gantry__heap_strdup(set->heap, name);
    item.path = gantry__heap_strdup(set->heap, path);
    item.reason = gantry__heap_strdup(set->heap, reason);
    if (!item.name || !item.path || !item.reason ||
        !gantry__heap_grow(set->heap, &set->items, set->count, &set->capacity,
                           sizeof *set->items)) {
        release_item(set->heap, &item);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    set->items[set->count++] = item;
    if (item.state != GANTRY_BACKEND_USABLE) {
        gantry__log(set->log, GANTRY_LEVEL_INFO, "Backend %s (%s) is not used: %s", name, path,
                    reason);
    }
    return GANTRY_OK;
}

static gantry_status_t backend_set_refuse(gantry__backend_set_t *set, const char *name,
                                          const char *path, gantry_backend_state_t state,
                                          const gantry_backend_t *table) {
    char reason[GANTRY__MESSAGE_BYTES];
    (void)snprintf(reason, sizeof reason, "%s", gantry__message());
    gantry__backend_t item = {.state = state, .table = table};
    return backend_set_append(set, item, name, path, reason);
}

static bool is_name_taken(const gantry__backend_set_t *set, const char *name) {
    for (size_t i = 0; i < set->count; ++i) {
        if (set->items[i].table && strcmp(set->items[i].name, name) == 0) return true;
    }
    return false;
}

/* Whether name is in the comma list `only`. An empty or missing list names all. */
static bool is_wanted(const char *only, const char *name) {
    if (!only || !*only) return true;
    size_t length = strlen(name);
    for (const char *p = only; p; p = strchr(p, ',')) {
        if (*p == ',') ++p;
        while (*p == ' ') ++p;
        size_t word = strcspn(p, ", ");
        if (word == length && memcmp(p, name, length) == 0) return true;
    }
    return false;
}

static bool is_one_of(const char *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(names[i], name) == 0) return true;
    }
    return false;
}

/* Lists Gantry's own backends, present or not, and the others that were found. */
static size_t list_names(const gantry__backend_set_t *set, const char *names[MOST_NAMES]) {
    size_t count = 0;
    for (const char *const *own = gantry__own_backends; *own && count < MOST_NAMES; ++own)
        names[count++] = *own;
    for (size_t i = 0; i < set->count && count < MOST_NAMES; ++i) {
        const gantry__backend_t *item = &set->items[i];
        if (item->table && !is_one_of(item->name, names, count)) names[count++] = item->name;
    }
    return count;
}

/* A list may name a backend that is missing here, but an unknown name is a typing error. list may
 * be NULL. */
static void warn_of_unknown(const gantry__backend_set_t *set, const char *list, const char *by) {
    const char *names[MOST_NAMES];
    char name[64], all[256] = "";
    size_t count = list_names(set, names), used = 0;
    for (size_t i = 0; i < count && used < sizeof all; ++i)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
    for (const char *at = list ? list : ""; *(at += strspn(at, ", ")); at += strcspn(at, ", ")) {
        size_t length = strcspn(at, ", ");
        (void)snprintf(name, sizeof name, "%.*s",
                       length < sizeof name ? (int)length : (int)sizeof name - 1, at);
        if (is_one_of(name, names, count)) continue;
        const char *nearest = gantry__nearest(name, names, count);
        gantry__log(set->log, GANTRY_LEVEL_WARNING,
                    "%s names the unknown backend \"%s\"; known are %s%s%s%s", by, name, all,
                    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    }
}

static bool has_drivers(const gantry_backend_t *table) {
    return table && strcmp(table->name, "cpu") != 0;
}

const char *gantry__backend_untried(const gantry__backend_set_t *set,
                                    const gantry__backend_t *item) {
    return has_drivers(item->table) ? set->quarantine.untried : "";
}

static int32_t open_drivers(gantry__backend_set_t *set, gantry__backend_t *item, const char *path) {
    const gantry_backend_t *table = item->table;
    const bool is_tried = has_drivers(table);
    gantry__driver_trial_t trial;
    if (is_tried)
        GANTRY__TRY(gantry__quarantine_begin(&set->quarantine, &set->host, table, path, &trial));
    set->trial = is_tried ? &trial : NULL;
    const uint32_t before = gantry__failures();
    int32_t code = table->open(&set->host, &item->instance);
    if (code != 0) (void)gantry__slot_failure(code, before);
    if (code == 0) item->device_count = table->device_count(item->instance);
    set->trial = NULL;
    if (is_tried) gantry__quarantine_end(&set->quarantine, &trial);
    return code;
}

static gantry_status_t leave_out(gantry__backend_set_t *set, const char *name, const char *path,
                                 const char *only, const gantry_backend_t *table) {
    (void)gantry__fail(GANTRY_FAILED_PRECONDITION,
                       "left out: the list of wanted backends is \"%s\"", only);
    return backend_set_refuse(set, name, path, GANTRY_BACKEND_REFUSED, table);
}

static gantry_status_t open_backend(gantry__backend_set_t *set, const gantry_backend_t *table,
                                    const char *path, const char *only) {
    if (is_name_taken(set, table->name)) {
        (void)gantry__fail(GANTRY_ALREADY_EXISTS, "a backend named %s was found earlier",
                           table->name);
        return backend_set_refuse(set, table->name, path, GANTRY_BACKEND_REFUSED, NULL);
    }
    if (strcmp(table->name, "cpu") != 0 && !is_wanted(only, table->name))
        return leave_out(set, table->name, path, only, table);
    gantry__backend_t item = {.state = GANTRY_BACKEND_USABLE, .table = table};
    int32_t code = open_drivers(set, &item, path);
    if (code == GANTRY_RESOURCE_EXHAUSTED) return GANTRY_RESOURCE_EXHAUSTED;
    if (code != 0) {
        return backend_set_refuse(
            set, table->name, path,
            code == GANTRY_UNAVAILABLE ? GANTRY_BACKEND_UNAVAILABLE : GANTRY_BACKEND_REFUSED,
            table);
    }
    return backend_set_append(set, item, table->name, path, "");
}

/* A folder may be named twice, by a setting and as the library's own: its files are loaded once,
 * and so have one table. */
static bool backend_set_has(const gantry__backend_set_t *set, const gantry_backend_t *table) {
    for (size_t i = 0; i < set->count; ++i) {
        if (set->items[i].table == table) return true;
    }
    return false;
}

typedef struct search_t {
    gantry__backend_set_t *set;
    const char *only;
    const char *own_folder;                           /* while it is searched */
    enum { UNCHECKED, TRUSTED, UNTRUSTED } own_state; /* whether its modules may be opened */
} search_t;

static gantry_status_t visit_module(void *user, const char *file) {
    search_t *search = user;
    const gantry_backend_t *table;
    if (gantry__module_query(file, &table) != GANTRY_OK) {
        return backend_set_refuse(search->set, gantry__os_path_name(file), file,
                                  GANTRY_BACKEND_REFUSED, NULL);
    }
    if (backend_set_has(search->set, table)) return GANTRY_OK;
    return open_backend(search->set, table, file, search->only);
}

/* The name of Gantry's own backend that this file of the own folder is; NULL for other files. */
static const char *own_backend_of(const char *file) {
    for (const char *const *own = gantry__own_backends; *own; ++own) {
        if (gantry__module_is_of(file, *own)) return *own;
    }
    return NULL;
}

static bool may_open_own(search_t *search) {
    if (search->own_state != UNCHECKED) return search->own_state == TRUSTED;
    const uint32_t before = gantry__failures();
    const bool is_trusted = gantry__module_check_own_folder(search->own_folder) == GANTRY_OK;
    search->own_state = is_trusted ? TRUSTED : UNTRUSTED;
    if (is_trusted) return true;
    gantry__log(search->set->log, GANTRY_LEVEL_WARNING,
                "The modules in the library's own folder are not opened: %s; "
                "GANTRY_BACKEND_PATH=%s opens them all the same",
                gantry__message(), search->own_folder);
    gantry__forget_since(before);
    return false;
}

/* A backend that is not wanted is left out by its file's name, because the check of the folder and
 * the loader take a tenth of the time in which a runtime of the CPU backend is created. */
static gantry_status_t visit_own_module(void *user, const char *file) {
    search_t *search = user;
    const char *name = own_backend_of(file);
    if (name && !is_wanted(search->only, name) && !is_name_taken(search->set, name))
        return leave_out(search->set, name, file, search->only, NULL);
    return may_open_own(search) ? visit_module(search, file) : GANTRY_OK;
}

static gantry_status_t search_own_folder(search_t *search) {
    const gantry__heap_t *heap = search->set->heap;
    char *own;
    GANTRY__TRY(gantry__module_own_folder(heap, &own));
    search->own_folder = own;
    gantry_status_t status = gantry__module_search_folder(heap, own, visit_own_module, search);
    search->own_folder = NULL;
    gantry__heap_free_text(heap, own);
    return status;
}

static gantry_status_t open_builtins(gantry__backend_set_t *set, const char *only) {
    for (size_t i = 0; i < gantry__builtin_backend_count; ++i) {
        const gantry_backend_t *table = NULL;
        if (gantry__builtin_backends[i].query(GANTRY_ABI_VERSION, &table) != 0) continue;
        GANTRY__TRY(gantry__backend_table_check(table));
        GANTRY__TRY(open_backend(set, table, "built in", only));
    }
    return GANTRY_OK;
}

/* Whether a backend of this name was found, usable or not. One that could not be queried has its
 * file's name. */
static bool was_found(const gantry__backend_set_t *set, const char *name) {
    char file[64];
    (void)snprintf(file, sizeof file, "libgantry_backend_%s.", name);
    for (size_t i = 0; i < set->count; ++i) {
        if (strcmp(set->items[i].name, name) == 0 ||
            strncmp(set->items[i].name, file, strlen(file)) == 0)
            return true;
    }
    return false;
}

/* Gives each missing backend an item with its reason. */
static gantry_status_t state_absent(gantry__backend_set_t *set) {
    for (const gantry__absent_backend_t *absent = gantry__absent_backends; absent->name; ++absent) {
        if (was_found(set, absent->name)) continue;
        const gantry__backend_t item = {.state = GANTRY_BACKEND_UNAVAILABLE};
        GANTRY__TRY(backend_set_append(set, item, absent->name, "none", absent->reason));
    }
    return GANTRY_OK;
}

static gantry_status_t backend_set_open_all(gantry__backend_set_t *set, const char *path,
                                            const char *only) {
    const gantry__setting_t *wanted = gantry__settings_find(set->settings, "GANTRY_BACKENDS");
    if (!wanted) return GANTRY_RESOURCE_EXHAUSTED;
    search_t search = {.set = set, .only = only ? only : wanted->value};
    GANTRY__TRY(open_builtins(set, search.only));
    GANTRY__TRY(gantry__module_search(set->heap, path, visit_module, &search));
    const gantry__setting_t *setting = gantry__settings_find(set->settings, "GANTRY_BACKEND_PATH");
    if (!setting) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(gantry__module_search(set->heap, setting->value, visit_module, &search));
    /* an option goes in front of the environment's path and does not replace it */
    GANTRY__TRY(gantry__module_search(set->heap, setting->environment, visit_module, &search));
    gantry_status_t status = search_own_folder(&search);
    if (status == GANTRY_OK) status = state_absent(set);
    if (status != GANTRY_OK) return status;
    warn_of_unknown(set, wanted->value, gantry__setting_by(wanted));
    warn_of_unknown(set, wanted->environment, wanted->name); /* the text that an option overrules */
    return GANTRY_OK;
}

gantry_status_t gantry__backend_set_init(gantry__backend_set_t *set, const gantry__heap_t *heap,
                                         const gantry__log_t *log, gantry__settings_t *settings,
                                         const char *path, const char *only) {
    *set = (gantry__backend_set_t){.heap = heap, .log = log, .settings = settings};
    set->host = (gantry_host_t){.struct_size = sizeof set->host,
                                .abi_version = GANTRY_ABI_VERSION,
                                .self = set,
                                .log = host_log,
                                .set_error = host_set_error,
                                .reallocate = host_reallocate,
                                .option = host_option,
                                .tuning = host_tuning,
                                .driver_enter = host_driver_enter,
                                .check_writers = host_check_writers};
    GANTRY__TRY(gantry__tuning_store_init(&set->tuning, heap, log, settings));
    gantry_status_t status = gantry__quarantine_init(&set->quarantine, heap, log, settings);
    if (status == GANTRY_OK) status = backend_set_open_all(set, path, only);
    if (status != GANTRY_OK) gantry__backend_set_deinit(set);
    return status;
}

void gantry__backend_set_deinit(gantry__backend_set_t *set) {
    while (set->count > 0) release_item(set->heap, &set->items[--set->count]);
    gantry__heap_free(set->heap, set->items, set->capacity * sizeof *set->items);
    set->items = NULL;
    set->capacity = 0;
    gantry__quarantine_deinit(&set->quarantine);
    gantry__tuning_store_deinit(&set->tuning);
}
