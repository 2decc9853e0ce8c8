/* SPDX-License-Identifier: Apache-2.0 */
#include "list.h"

#include <string.h>

/* Returns the item after this one, or NULL. */
static const char *next_item(const char *item) {
    const char *comma = strchr(item, ',');
    return comma ? comma + 1 : NULL;
}

static bool is_item(const char *item, const char *name) {
    size_t length = strcspn(item, ",");
    return strlen(name) == length && strncmp(item, name, length) == 0;
}

bool bench_list_has(const char *list, const char *name) {
    for (const char *item = list; item; item = next_item(item))
        if (is_item(item, name)) return true;
    return !list;
}

const char *bench_list_unknown(const char *list, const char *(*name_at)(size_t number),
                               size_t count) {
    for (const char *item = list; item; item = next_item(item)) {
        size_t i = 0;
        while (i < count && !is_item(item, name_at(i))) ++i;
        if (i == count) return item;
    }
    return NULL;
}
