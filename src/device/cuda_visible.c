/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA_VISIBLE_DEVICES, obeyed once.
 *
 * The CUDA driver obeys the variable itself: what its backend lists is filtered and in the list's
 * order already. A vendor's OpenCL may obey it or not. So the variable must never be applied to a
 * list that it has shaped before:
 *
 *   the variable      backend cuda      an NVIDIA card is shown when     order of /GPU:N
 *   not set           any               always                           physical
 *   set               usable            one of its views is CUDA's       CUDA's
 *   set               absent, unusable  the list, applied here, has it   the list's
 *
 * Applied here, UUIDs mean the same however often they are applied. Indices do not. k different
 * indices on a driver that has obeyed them leave k cards, or fewer when one that no card has ends
 * the list. So when there are as many cards as indices, or the next index is larger than all before
 * it, and one of those is too large for the cards found, the driver has obeyed: all cards are
 * shown, in its order. Otherwise either the indices name all cards, or there are more cards than
 * indices, so that nobody has obeyed yet, or the list has bad entries, which end it as in CUDA.
 * Indices count cards by PCI address; CUDA counts the fastest first unless CUDA_DEVICE_ORDER is
 * PCI_BUS_ID, which only its driver can tell: that is said in the log. */
#include "device/cuda_visible.h"

#include <stdlib.h>
#include <string.h>

#include "device/visible_list.h"

typedef struct gantry_physical_device_t physical_t;

#define VARIABLE "CUDA_VISIBLE_DEVICES"

static bool is_cuda(const physical_t *view) { return strcmp(view->backend->name, "cuda") == 0; }

static bool is_nvidia(const physical_t *card) {
    return is_cuda(card) || strstr(card->info.vendor, "NVIDIA") != NULL;
}

static bool is_cuda_usable(const gantry__device_table_t *table) {
    for (size_t i = 0; i < table->backends->count; ++i) {
        const gantry__backend_t *backend = &table->backends->items[i];
        if (strcmp(backend->name, "cuda") == 0 && backend->state == GANTRY_BACKEND_USABLE)
            return true;
    }
    return false;
}

/* ---- CUDA has obeyed ---- */

static const physical_t *find_cuda_view(const gantry__device_table_t *table,
                                        const physical_t *card) {
    for (size_t i = 0; i < table->physical_count; ++i) {
        const physical_t *view = table->physical[i];
        if (is_cuda(view) && (view == card || view->served_by == card)) return view;
    }
    return NULL;
}

static void follow_cuda(const gantry__device_table_t *table, physical_t *const *cards,
                        size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const physical_t *view = find_cuda_view(table, cards[i]);
        cards[i]->hidden_by_cuda = view == NULL;
        if (view) {
            cards[i]->cuda_place = view->backend_index;
        } else {
            gantry__log(table->log, GANTRY_LEVEL_INFO,
                        VARIABLE " hides %s (%s): no device that CUDA shows is this card",
                        cards[i]->name, cards[i]->alias);
        }
    }
}

/* ---- applied here ---- */

/* Reads a number and what ends it; false when there is none. */
static bool cuda_visible_read_index(const char **cursor, unsigned long *out_index) {
    const char *at = *cursor + strspn(*cursor, " \t\"'");
    if (*at < '0' || *at > '9') return false;
    char *end;
    *out_index = strtoul(at, &end, 10);
    end += strspn(end, " \t\"'");
    if (*end != '\0' && *end != ',') return false;
    *cursor = *end ? end + 1 : end;
    return true;
}

/* Whether a driver has made `count` cards of a list that begins with these indices: see above. */
static bool is_obeyed(const char *text, size_t count) {
    unsigned long index, most = 0;
    size_t indices = 0;
    for (; *text && cuda_visible_read_index(&text, &index); ++indices) {
        if (indices < count && index > most) most = index;
        if (indices == count && index <= most) return false; /* it would have shown this one, too */
    }
    return indices >= count && most >= count;
}

static bool has_index(const char *text) {
    unsigned long index;
    for (const char *at = text; *at;) {
        if (cuda_visible_read_index(&at, &index)) return true;
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return false;
}

static gantry_status_t select_cards(const char *text, physical_t *const *cards, size_t count,
                                    gantry__visible_device_t *identities,
                                    gantry__visible_list_t *list) {
    for (size_t i = 0; i < count; ++i) {
        const physical_t *card = cards[i];
        identities[i] = (gantry__visible_device_t){(int32_t)i, card->uuid,
                                                   *card->pci ? card->pci : NULL, card->name};
    }
    const gantry__visible_rules_t rules = {.variable = VARIABLE};
    return gantry__visible_list_select(text, &rules, identities, count, list);
}

static void tell_what_was_done(const gantry__device_table_t *table,
                               const gantry__visible_list_t *list, size_t count, const char *text) {
    if (*list->reason) gantry__log(table->log, GANTRY_LEVEL_WARNING, "%s", list->reason);
    gantry__log(
        table->log, GANTRY_LEVEL_INFO,
        VARIABLE
        " was applied without CUDA, which cannot be asked: %zu of %zu NVIDIA cards are visible",
        list->count, count);
    const char *order = gantry__settings_get(table->settings, "CUDA_DEVICE_ORDER", NULL);
    if (!has_index(text) || count < 2 || (order && strcmp(order, "PCI_BUS_ID") == 0)) return;
    gantry__log(
        table->log, GANTRY_LEVEL_WARNING,
        VARIABLE
        ": its indices were counted by PCI address; CUDA counts the fastest card first unless CUDA_DEVICE_ORDER is PCI_BUS_ID (it is %s). UUIDs mean the same everywhere",
        order ? order : "not set");
}

static gantry_status_t apply_list(const gantry__device_table_t *table, const char *text,
                                  physical_t *const *cards, size_t count) {
    if (is_obeyed(text, count)) {
        gantry__log(
            table->log, GANTRY_LEVEL_INFO,
            VARIABLE
            " has an index beyond the %zu NVIDIA cards that were found: their driver is taken to have obeyed it already, and all of them are visible",
            count);
        for (size_t i = 0; i < count; ++i) cards[i]->cuda_place = cards[i]->backend_index;
        return GANTRY_OK;
    }
    size_t *positions = gantry__heap_zalloc(table->heap, count * sizeof *positions);
    gantry__visible_device_t *identities =
        gantry__heap_zalloc(table->heap, count * sizeof *identities);
    gantry_status_t status = positions && identities ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) {
        gantry__visible_list_t list = {.positions = positions};
        if (select_cards(text, cards, count, identities, &list) != GANTRY_OK)
            gantry__log(table->log, GANTRY_LEVEL_WARNING, "%s; no NVIDIA card is visible",
                        gantry__message());
        for (size_t i = 0; i < count; ++i) cards[i]->hidden_by_cuda = true;
        for (size_t i = 0; i < list.count; ++i) {
            cards[positions[i]]->hidden_by_cuda = false;
            cards[positions[i]]->cuda_place = (uint32_t)i;
        }
        tell_what_was_done(table, &list, count, text);
    }
    gantry__heap_free(table->heap, positions, count * sizeof *positions);
    gantry__heap_free(table->heap, identities, count * sizeof *identities);
    return status;
}

/* ---- both ---- */

static int compare_addresses(const void *left, const void *right) {
    const physical_t *a = *(physical_t *const *)left, *b = *(physical_t *const *)right;
    if (!*a->pci != !*b->pci) return *a->pci ? -1 : 1;
    int order = strcmp(a->pci, b->pci);
    return order != 0 ? order : a->position < b->position ? -1 : 1;
}

gantry_status_t gantry__cuda_visible_find(gantry__device_table_t *table) {
    for (size_t i = 0; i < table->physical_count; ++i) table->physical[i]->cuda_place = UINT32_MAX;
    const char *text = gantry__settings_get(table->settings, VARIABLE, NULL);
    if (!text || table->physical_count == 0) return GANTRY_OK;
    physical_t **cards =
        gantry__heap_zalloc(table->heap, table->physical_count * sizeof(physical_t *));
    if (!cards) return GANTRY_RESOURCE_EXHAUSTED;
    size_t count = 0;
    for (size_t i = 0; i < table->physical_count; ++i) {
        physical_t *card = table->physical[i];
        if (card->listed && strcmp(card->type, "GPU") == 0 && is_nvidia(card))
            cards[count++] = card;
    }
    gantry_status_t status = GANTRY_OK;
    if (count > 1) qsort(cards, count, sizeof *cards, compare_addresses);
    if (count > 0 && is_cuda_usable(table)) {
        follow_cuda(table, cards, count);
    } else if (count > 0) {
        status = apply_list(table, text, cards, count);
    }
    gantry__heap_free(table->heap, cards, table->physical_count * sizeof(physical_t *));
    return status;
}
