/* SPDX-License-Identifier: Apache-2.0 */
/* The list of visible devices.
 *
 * Two walks over the text, so that only the result is stored: the first takes the entries that show
 * devices and finds the end of the list, the second removes the devices that the ^entries before
 * that end match.
 *
 *     ^0 , 2 , 1 , -1 , 3        first walk:   2 1 |end
 *     ------------ ^             second walk:  all stay, 0 was not shown anyway
 *
 * The first invalid entry ends the list, as in the CUDA driver: a mistake hides devices and never
 * shows more. For the same reason an ambiguous ^entry hides every device that it matches, and a
 * list whose only other entry is invalid shows nothing instead of all devices but the ^entries.
 * Quadratic in the number of devices, of which there are few. */
#include "device/visible_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "device/device_name.h"

typedef enum entry_kind_t {
    BY_INDEX,
    BY_UUID,
    BY_PCI,
    BY_NAME,
    EVERY, /* "all" */
    AUTO,
    EMPTY,
    UNKNOWN
} entry_kind_t;

typedef struct entry_t {
    int number; /* from 1 */
    bool is_negation;
    entry_kind_t kind;
    int32_t index;                       /* for AUTO, how many */
    char shown[GANTRY__DEVICE_ID_BYTES]; /* as written, for messages; cut if too long */
    /* without ^; normalised for a PCI address, bare for a UUID */
    char text[GANTRY__DEVICE_ID_BYTES];
} entry_t;

typedef struct walk_t {
    const char *at; /* NULL after the last entry */
    const char *end;
    int number;
} walk_t;

typedef struct select_t {
    const gantry__visible_rules_t *rules;
    const gantry__visible_device_t *devices;
    size_t device_count;
    gantry__visible_list_t *list;
} select_t;

/* ---- Entries. */

static bool visible_list_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void visible_list_trim(const char **begin, const char **end) {
    while (*begin < *end && visible_list_is_blank(**begin)) ++*begin;
    while (*begin < *end && visible_list_is_blank((*end)[-1])) --*end;
}

/* The index if text consists of digits only, and fits. */
static bool visible_list_read_index(const char *text, int32_t *out_index) {
    int64_t value = 0;
    if (*text == '\0') return false;
    for (; *text >= '0' && *text <= '9'; ++text) {
        value = value * 10 + (*text - '0');
        if (value > INT32_MAX) return false;
    }
    *out_index = (int32_t)value;
    return *text == '\0';
}

/* Reads "auto" or "auto:N", N from 1. */
static bool visible_list_read_auto(const char *text, int32_t *out_count) {
    *out_count = 1;
    if (strncmp(text, "auto", 4) != 0) return false;
    return !text[4] ||
           (text[4] == ':' && visible_list_read_index(text + 5, out_count) && *out_count > 0);
}

static entry_kind_t visible_list_classify(const select_t *select, entry_t *entry) {
    bool extras = select->rules->allow_extras;
    gantry__device_reference_t reference;
    if (entry->text[0] == '\0') return EMPTY;
    if (visible_list_read_index(entry->text, &entry->index)) return BY_INDEX;
    if (gantry__device_reference_try(entry->text, NULL, 0, &reference)) {
        bool is_bare_uuid = reference.kind == GANTRY__DEVICE_UUID_PREFIX &&
                            strcmp(reference.text, entry->text) == 0;
        if (reference.kind == GANTRY__DEVICE_PCI_ADDRESS || is_bare_uuid ||
            (reference.kind == GANTRY__DEVICE_UUID_PREFIX && extras)) {
            memcpy(entry->text, reference.text, sizeof entry->text);
            return reference.kind == GANTRY__DEVICE_PCI_ADDRESS ? BY_PCI : BY_UUID;
        }
    }
    if (!extras || entry->text[0] == '^' || entry->text[0] == '-') return UNKNOWN;
    if (strcmp(entry->text, "all") == 0) return EVERY;
    if (visible_list_read_auto(entry->text, &entry->index)) return AUTO;
    return select->rules->matches ? BY_NAME : UNKNOWN;
}

/* Copies the text between, as much as fits; false if it was cut. */
static bool visible_list_copy_part(char out_text[GANTRY__DEVICE_ID_BYTES], const char *begin,
                                   const char *end) {
    size_t length = (size_t)(end - begin);
    bool fits = length < GANTRY__DEVICE_ID_BYTES;
    if (!fits) length = GANTRY__DEVICE_ID_BYTES - 1;
    memcpy(out_text, begin, length);
    out_text[length] = '\0';
    return fits;
}

static bool next_entry(const select_t *select, walk_t *walk, entry_t *out_entry) {
    if (!walk->at) return false;
    const char *begin = walk->at;
    const char *end = memchr(begin, ',', (size_t)(walk->end - begin));
    walk->at = end ? end + 1 : NULL;
    if (!end) end = walk->end;
    visible_list_trim(&begin, &end);
    *out_entry = (entry_t){.number = ++walk->number};
    bool fits = visible_list_copy_part(out_entry->shown, begin, end);
    if (select->rules->allow_extras && begin < end && *begin == '^') {
        out_entry->is_negation = true;
        begin++;
        visible_list_trim(&begin, &end);
    }
    (void)visible_list_copy_part(out_entry->text, begin, end);
    out_entry->kind = fits ? visible_list_classify(select, out_entry) : UNKNOWN;
    return true;
}

static bool is_match(const select_t *select, const entry_t *entry, size_t position) {
    const gantry__visible_device_t *device = &select->devices[position];
    char pci[GANTRY__PCI_BYTES];
    switch (entry->kind) {
        case BY_INDEX: return device->index == entry->index;
        case BY_UUID: return gantry__uuid_has_prefix(device->uuid, entry->text);
        case BY_PCI:
            return gantry__pci_normalise(device->pci, pci) && strcmp(pci, entry->text) == 0;
        case BY_NAME: return select->rules->matches(select->rules->user, entry->text, position);
        case EVERY:
        case AUTO: return true;
        default: return false;
    }
}

static size_t count_matches(const select_t *select, const entry_t *entry) {
    size_t count = 0;
    for (size_t i = 0; i < select->device_count; ++i) count += is_match(select, entry, i);
    return count;
}

/* ---- Remarks. */

static void remark(const select_t *select, const char *format, ...) GANTRY__PRINTF(2, 3);
static void remark(const select_t *select, const char *format, ...) {
    char *reason = select->list->reason;
    size_t used = strlen(reason);
    if (used > 0 && used + 2 < GANTRY__VISIBLE_REASON_BYTES) {
        memcpy(reason + used, "; ", 3);
        used += 2;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason + used, GANTRY__VISIBLE_REASON_BYTES - used, format, args);
    va_end(args);
}

/* The reason why an entry that should show devices does not; NULL if it does. */
static const char *why_invalid(const select_t *select, const entry_t *entry, size_t matches) {
    bool may_be_many = entry->kind == BY_NAME || entry->kind == EVERY || entry->kind == AUTO;
    if (entry->kind == EMPTY) return "it is empty";
    if (entry->kind == UNKNOWN) {
        if (strcmp(entry->text, "-1") == 0) return "-1 stands for no device";
        return select->rules->allow_extras
                   ? "it is no index, UUID prefix, PCI address, device name, all, auto, auto:N or ^entry"
                   : "it is no index, UUID prefix or PCI address";
    }
    if (matches == 0 && entry->kind != EVERY && entry->kind != AUTO) return "no device matches it";
    return matches > 1 && !may_be_many ? "more than one device matches it" : NULL;
}

/* ---- Selecting. */

static bool is_selected(const gantry__visible_list_t *list, size_t position) {
    for (size_t i = 0; i < list->count; ++i)
        if (list->positions[i] == position) return true;
    return false;
}

static gantry_status_t visible_list_take(const select_t *select, const entry_t *entry) {
    gantry__visible_list_t *list = select->list;
    if (entry->kind == AUTO) list->auto_count = (uint32_t)entry->index;
    for (size_t i = 0; i < select->device_count; ++i) {
        if (!is_match(select, entry, i)) continue;
        if (is_selected(list, i)) {
            const char *name = select->devices[i].name;
            return gantry__refuse(
                "%s names device %d (%s) again in entry %d '%s'; accepted: each device once",
                select->rules->variable, (int)select->devices[i].index, name ? name : "unnamed",
                entry->number, entry->shown);
        }
        list->positions[list->count++] = i;
    }
    return GANTRY_OK;
}

static void visible_list_take_all(const select_t *select) {
    for (size_t i = 0; i < select->device_count; ++i) select->list->positions[i] = i;
    select->list->count = select->device_count;
}

/* Does the first walk. *out_entries is the number of valid entries. */
static gantry_status_t show(const select_t *select, walk_t walk, int *out_entries) {
    bool saw_negation = false, saw_other = false;
    entry_t entry;
    *out_entries = 0;
    while (next_entry(select, &walk, &entry)) {
        saw_negation = saw_negation || entry.is_negation;
        saw_other = saw_other || (!entry.is_negation && entry.kind != EMPTY);
        if (!entry.is_negation) {
            const char *why = why_invalid(select, &entry, count_matches(select, &entry));
            if (why) {
                remark(select, "%s: entry %d '%s' ends the list: %s", select->rules->variable,
                       entry.number, entry.shown, why);
                break;
            }
            GANTRY__TRY(visible_list_take(select, &entry));
        }
        *out_entries = entry.number;
    }
    if (saw_negation && !saw_other) visible_list_take_all(select);
    return GANTRY_OK;
}

static void visible_list_leave_out(const select_t *select, const entry_t *entry) {
    gantry__visible_list_t *list = select->list;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; ++i)
        if (!is_match(select, entry, list->positions[i]))
            list->positions[kept++] = list->positions[i];
    list->count = kept;
    if (count_matches(select, entry) == 0)
        remark(select, "%s: entry %d '%s' hides nothing: no device matches it",
               select->rules->variable, entry->number, entry->shown);
}

/* Does the second walk. */
static void hide(const select_t *select, walk_t walk, int entries) {
    entry_t entry;
    while (walk.number < entries && next_entry(select, &walk, &entry))
        if (entry.is_negation) visible_list_leave_out(select, &entry);
}

gantry_status_t gantry__visible_list_select(const char *text, const gantry__visible_rules_t *rules,
                                            const gantry__visible_device_t *devices,
                                            size_t device_count, gantry__visible_list_t *list) {
    select_t select = {
        .rules = rules, .devices = devices, .device_count = device_count, .list = list};
    list->count = 0;
    list->auto_count = 0;
    list->reason[0] = '\0';
    if (!text) {
        visible_list_take_all(&select);
        return GANTRY_OK;
    }
    walk_t walk = {.at = text, .end = text + strlen(text)};
    visible_list_trim(&walk.at, &walk.end);
    if (walk.end - walk.at >= 2 && (*walk.at == '"' || *walk.at == '\'') &&
        walk.end[-1] == *walk.at) {
        walk.at++;
        walk.end--;
        visible_list_trim(&walk.at, &walk.end);
    }
    if (walk.at == walk.end) {
        remark(&select, "%s is empty: no device is visible", rules->variable);
        return GANTRY_OK;
    }
    int entries = 0;
    gantry_status_t status = show(&select, walk, &entries);
    if (status == GANTRY_OK)
        hide(&select, walk, entries);
    else
        list->count = 0;
    return status;
}
