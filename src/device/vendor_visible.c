/* SPDX-License-Identifier: Apache-2.0 */
/* A vendor's variable of visible cards, applied once.
 *
 * The vendor's driver applies the variable itself: the cards of its backend are filtered, and in
 * the list's order. The vendor's OpenCL may apply it or not. So the variable must never be applied
 * to a list that it has shaped before:
 *
 *   the variable   the driver's backend   a card is shown when             order of /GPU:N
 *   not set        any                    always                           physical
 *   set            usable                 one of its views is the driver's the driver's
 *   set            absent, unusable       the list, applied here, has it   the list's
 *
 * UUIDs may be applied any number of times, but indices may not. k different indices on a driver
 * that has applied them leave k cards, or fewer if an index without a card ends the list. So if
 * there are as many cards as indices, or the next index is larger than all before it, and one of
 * those is too large for the cards found, then the driver has applied them: all cards are shown, in
 * its order. Otherwise either the indices name all cards, or there are more cards than indices, so
 * that no driver has applied them yet, or the list has bad entries, which end it as in the driver.
 * Indices count cards by PCI address. The driver counts the fastest first, unless its order is set
 * to PCI addresses; only the driver knows the fastest, so the log says so. */
#include "device/vendor_visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_table.h"
#include "device/physical_device.h"
#include "device/visible_list.h"

typedef struct gantry_physical_device_t physical_t;

static const gantry__vendor_t vendors[] = {
#define GANTRY__VENDOR_ROW(name, backend, driver, visible, order, by_address) \
    {name, backend, driver, visible, order, by_address},
#include "device/vendor.def"
#undef GANTRY__VENDOR_ROW
};

const gantry__vendor_t *gantry__vendor_find(const char *backend, const char *vendor) {
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; ++i) {
        if (strcmp(vendors[i].backend, backend) == 0 || strstr(vendor, vendors[i].name))
            return &vendors[i];
    }
    return NULL;
}

/* One vendor's cards. */
typedef struct cards_t {
    const gantry__device_table_t *table;
    const gantry__vendor_t *vendor;
    physical_t **list; /* by PCI address */
    size_t count;
} cards_t;

static bool is_drivers(const physical_t *view, const gantry__vendor_t *vendor) {
    return strcmp(view->backend->name, vendor->backend) == 0;
}

static bool is_driver_usable(const cards_t *cards) {
    const gantry__backend_set_t *backends = cards->table->backends;
    for (size_t i = 0; i < backends->count; ++i) {
        const gantry__backend_t *backend = &backends->items[i];
        if (strcmp(backend->name, cards->vendor->backend) == 0 &&
            backend->state == GANTRY_BACKEND_USABLE)
            return true;
    }
    return false;
}

/* ---- the driver has obeyed ---- */

static const physical_t *find_drivers_view(const cards_t *cards, const physical_t *card) {
    for (size_t i = 0; i < cards->table->physical_count; ++i) {
        const physical_t *view = cards->table->physical[i];
        if (is_drivers(view, cards->vendor) && (view == card || view->served_by == card))
            return view;
    }
    return NULL;
}

static void follow_driver(const cards_t *cards) {
    for (size_t i = 0; i < cards->count; ++i) {
        physical_t *card = cards->list[i];
        const physical_t *view = find_drivers_view(cards, card);
        card->hidden_by_vendor = !view;
        if (view) {
            card->vendor_place = view->backend_index;
        } else {
            gantry__log(cards->table->log, GANTRY_LEVEL_INFO,
                        "%s hides %s (%s): no device that %s shows is this card",
                        cards->vendor->visible, card->name, card->alias, cards->vendor->driver);
        }
    }
}

/* ---- applied here ---- */

/* Reads a number and the character after it; false if there is none. */
static bool vendor_visible_read_index(const char **cursor, unsigned long *out_index) {
    const char *at = *cursor + strspn(*cursor, " \t\"'");
    if (*at < '0' || *at > '9') return false;
    char *end;
    *out_index = strtoul(at, &end, 10);
    end += strspn(end, " \t\"'");
    if (*end != '\0' && *end != ',') return false;
    *cursor = *end ? end + 1 : end;
    return true;
}

/* Whether a driver has made `count` cards from a list that begins with these indices: see above. */
static bool is_obeyed(const char *text, size_t count) {
    unsigned long index, most = 0;
    size_t indices = 0;
    for (; *text && vendor_visible_read_index(&text, &index); ++indices) {
        if (indices < count && index > most) most = index;
        /* the driver would have shown this one, too */
        if (indices == count && index <= most) return false;
    }
    return indices >= count && most >= count;
}

static bool has_index(const char *text) {
    unsigned long index;
    for (const char *at = text; *at;) {
        if (vendor_visible_read_index(&at, &index)) return true;
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return false;
}

static gantry_status_t select_cards(const char *text, const cards_t *cards,
                                    gantry__visible_device_t *identities,
                                    gantry__visible_list_t *list) {
    for (size_t i = 0; i < cards->count; ++i) {
        const physical_t *card = cards->list[i];
        identities[i] = (gantry__visible_device_t){(int32_t)i, card->uuid,
                                                   *card->pci ? card->pci : NULL, card->name};
    }
    const gantry__visible_rules_t rules = {.variable = cards->vendor->visible};
    return gantry__visible_list_select(text, &rules, identities, cards->count, list);
}

static void tell_what_was_done(const cards_t *cards, const gantry__visible_list_t *list,
                               const char *text) {
    const gantry__log_t *log = cards->table->log;
    const gantry__vendor_t *vendor = cards->vendor;
    if (*list->reason) gantry__log(log, GANTRY_LEVEL_WARNING, "%s", list->reason);
    gantry__log(
        log, GANTRY_LEVEL_INFO,
        "%s was applied without %s, which cannot be queried: %zu of %zu %s cards are visible",
        vendor->visible, vendor->driver, list->count, cards->count, vendor->name);
    const char *order = gantry__settings_get(cards->table->settings, vendor->order, NULL);
    if (!has_index(text) || cards->count < 2 || (order && strcmp(order, vendor->by_address) == 0))
        return;
    gantry__log(
        log, GANTRY_LEVEL_WARNING,
        "%s: its indices were counted by PCI address; %s counts the fastest card first unless %s is %s (it is %s). UUIDs mean the same everywhere",
        vendor->visible, vendor->driver, vendor->order, vendor->by_address,
        order ? order : "not set");
}

static void take_as_obeyed(const cards_t *cards) {
    gantry__log(
        cards->table->log, GANTRY_LEVEL_INFO,
        "%s has an index beyond the %zu %s cards that were found: their driver has probably applied it already, and all of them are visible",
        cards->vendor->visible, cards->count, cards->vendor->name);
    for (size_t i = 0; i < cards->count; ++i)
        cards->list[i]->vendor_place = cards->list[i]->backend_index;
}

static void show_selected(const cards_t *cards, const gantry__visible_list_t *list) {
    for (size_t i = 0; i < cards->count; ++i) cards->list[i]->hidden_by_vendor = true;
    for (size_t i = 0; i < list->count; ++i) {
        physical_t *card = cards->list[list->positions[i]];
        card->hidden_by_vendor = false;
        card->vendor_place = (uint32_t)i;
    }
}

static gantry_status_t apply_list(const cards_t *cards, const char *text) {
    if (is_obeyed(text, cards->count)) {
        take_as_obeyed(cards);
        return GANTRY_OK;
    }
    const gantry__heap_t *heap = cards->table->heap;
    size_t *positions = gantry__heap_zalloc(heap, cards->count * sizeof *positions);
    gantry__visible_device_t *identities =
        gantry__heap_zalloc(heap, cards->count * sizeof *identities);
    gantry_status_t status = positions && identities ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) {
        gantry__visible_list_t list = {.positions = positions};
        if (select_cards(text, cards, identities, &list) != GANTRY_OK)
            gantry__log(cards->table->log, GANTRY_LEVEL_WARNING, "%s; no %s card is visible",
                        gantry__message(), cards->vendor->name);
        show_selected(cards, &list);
        tell_what_was_done(cards, &list, text);
    }
    gantry__heap_free(heap, positions, cards->count * sizeof *positions);
    gantry__heap_free(heap, identities, cards->count * sizeof *identities);
    return status;
}

/* ---- what it does not reach ---- */

/* Whether the vendor's driver is there, and sees no card since the variable hides them. */
static bool has_hidden_all(const cards_t *cards) {
    const gantry__backend_set_t *backends = cards->table->backends;
    for (size_t i = 0; i < backends->count; ++i) {
        const gantry__backend_t *backend = &backends->items[i];
        if (strcmp(backend->name, cards->vendor->backend) == 0 &&
            strstr(backend->reason, cards->vendor->visible))
            return true;
    }
    return false;
}

/* Logs which devices the variable cannot hide: GPUs of others and, where it has no card to hide,
 * processors, too. */
static void tell_what_is_not_reached(const cards_t *cards, const char *text) {
    const gantry__vendor_t *vendor = cards->vendor;
    const bool has_cards = cards->count > 0 || has_hidden_all(cards);
    char names[96] = "";
    size_t used = 0;
    for (size_t i = 0; i < cards->table->physical_count; ++i) {
        const physical_t *device = cards->table->physical[i];
        if (!device->listed || device->vendor == vendor ||
            (has_cards && strcmp(device->type, "GPU") != 0))
            continue;
        if (used + sizeof device->alias + sizeof ", ..." > sizeof names) {
            (void)snprintf(names + used, sizeof names - used, ", ...");
            break;
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                                 device->alias);
    }
    if (used == 0) return;
    gantry__log(
        cards->table->log, GANTRY_LEVEL_INFO,
        "%s=\"%.100s\" has no effect on %s: it selects %s cards; GANTRY_VISIBLE_DEVICES selects GPUs of every backend",
        vendor->visible, text, names, vendor->name);
}

/* ---- both ---- */

static int compare_addresses(const void *left, const void *right) {
    const physical_t *a = *(physical_t *const *)left, *b = *(physical_t *const *)right;
    if (!*a->pci != !*b->pci) return *a->pci ? -1 : 1;
    int order = strcmp(a->pci, b->pci);
    return order != 0 ? order : a->position < b->position ? -1 : 1;
}

static gantry_status_t obey(const gantry__device_table_t *table, const gantry__vendor_t *vendor,
                            physical_t **list) {
    const char *text = gantry__settings_get(table->settings, vendor->visible, NULL);
    if (!text) return GANTRY_OK;
    cards_t cards = {.table = table, .vendor = vendor, .list = list};
    for (size_t i = 0; i < table->physical_count; ++i) {
        physical_t *card = table->physical[i];
        if (card->listed && card->vendor == vendor && strcmp(card->type, "GPU") == 0)
            list[cards.count++] = card;
    }
    tell_what_is_not_reached(&cards, text);
    if (cards.count == 0) return GANTRY_OK;
    qsort(list, cards.count, sizeof(physical_t *), compare_addresses);
    if (!is_driver_usable(&cards)) return apply_list(&cards, text);
    follow_driver(&cards);
    return GANTRY_OK;
}

gantry_status_t gantry__vendor_visible_find(gantry__device_table_t *table) {
    if (table->physical_count == 0) return GANTRY_OK;
    for (size_t i = 0; i < table->physical_count; ++i)
        table->physical[i]->vendor_place = UINT32_MAX;
    physical_t **list =
        gantry__heap_zalloc(table->heap, table->physical_count * sizeof(physical_t *));
    if (!list) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = GANTRY_OK;
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0] && status == GANTRY_OK; ++i)
        status = obey(table, &vendors[i], list);
    gantry__heap_free(table->heap, list, table->physical_count * sizeof(physical_t *));
    return status;
}
