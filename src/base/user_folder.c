/* SPDX-License-Identifier: Apache-2.0 */
#include "base/user_folder.h"

#include "base/os/paths.h"
#include "base/os/user_places.h"
#include "base/text.h"

char *gantry__user_folder(const gantry__heap_t *heap, gantry__settings_t *settings,
                          const char *name) {
    gantry__text_t text;
    gantry__text_init(&text, heap);
    for (size_t i = 0; i < GANTRY__OS_USER_PLACES && text.length == 0; ++i) {
        const char *folder =
            gantry__settings_get(settings, gantry__os_user_places[i].variable, NULL);
        if (folder && gantry__os_path_is_absolute(folder))
            gantry__text_append(&text, "%s%s/gantry/%s", folder, gantry__os_user_places[i].below,
                                name);
    }
    char *folder =
        text.length > 0 && !text.failed ? gantry__heap_strdup(heap, gantry__text_get(&text)) : NULL;
    gantry__text_deinit(&text);
    return folder;
}
