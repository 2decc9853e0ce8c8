/* SPDX-License-Identifier: Apache-2.0 */
#include "base/user_folder.h"

#include "base/text.h"

char *gantry__user_folder(const gantry__heap_t *heap, gantry__settings_t *settings,
                          const char *name) {
    const char *cache = gantry__settings_get(settings, "XDG_CACHE_HOME", NULL);
    const char *home = gantry__settings_get(settings, "HOME", NULL);
    gantry__text_t text;
    gantry__text_init(&text, heap);
    if (cache && *cache == '/') {
        gantry__text_append(&text, "%s/gantry/%s", cache, name);
    } else if (home && *home == '/') {
        gantry__text_append(&text, "%s/.cache/gantry/%s", home, name);
    }
    char *folder =
        text.length > 0 && !text.failed ? gantry__heap_strdup(heap, gantry__text_get(&text)) : NULL;
    gantry__text_deinit(&text);
    return folder;
}
