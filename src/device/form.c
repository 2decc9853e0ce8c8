/* SPDX-License-Identifier: Apache-2.0 */
#include "device/form.h"

#include <string.h>

#include "device/device_table.h"
#include "device/logical_device.h"

enum { FORM_EMPTY, FORM_BEGUN, FORM_MADE };

static bool has_room(gantry_logical_device_t *device, uint64_t bytes) {
    const uint64_t most = device->limit_bytes / 2;
    return bytes <= most && gantry__allocator_bytes_in_use(&device->allocator) <= most - bytes;
}

/* Looks for the form, with a reference. If there is none, the list takes `made`; NULL: none. */
static gantry__form_t *find_or_add(gantry__forms_t *forms, const gantry__form_key_t *key,
                                   gantry__form_t *made) {
    gantry__mutex_lock(&forms->lock);
    gantry__form_t *form = forms->first;
    while (form && memcmp(&form->key, key, sizeof *key) != 0) form = form->next;
    if (!form && made) {
        made->next = forms->first;
        forms->first = form = made;
    }
    if (form) ++form->references;
    gantry__mutex_unlock(&forms->lock);
    return form;
}

static void form_free(gantry__form_t *form, const gantry__heap_t *heap) {
    gantry__buffer_release(form->buffer);
    gantry__heap_free(heap, form, sizeof *form);
}

static gantry__form_t *form_make(gantry_logical_device_t *device, const gantry__form_key_t *key,
                                 const char *owner) {
    const gantry__heap_t *heap = device->table->heap;
    gantry__form_t *form = gantry__heap_zalloc(heap, sizeof *form);
    if (!form) return NULL;
    form->key = *key;
    if (gantry__buffer_create(device, key->bytes, GANTRY_STREAM_COMPUTE, owner, &form->buffer) ==
        GANTRY_OK)
        return form;
    gantry__heap_free(heap, form, sizeof *form);
    return NULL;
}

gantry__form_t *gantry__form_find(gantry_logical_device_t *device, const gantry__form_key_t *key,
                                  const char *owner) {
    gantry__forms_t *forms = &device->table->keepers.forms;
    gantry__form_t *form = find_or_add(forms, key, NULL);
    if (form || !has_room(device, key->bytes)) return form;
    const uint32_t before = gantry__failures();
    gantry__form_t *made = form_make(device, key, owner);
    gantry__forget_since(before);
    if (!made) return NULL;
    form = find_or_add(forms, key, made);
    if (form != made) form_free(made, device->table->heap);
    return form;
}

bool gantry__form_begin(gantry__form_t *form, bool *out_makes) {
    int state = atomic_load_explicit(&form->state, memory_order_acquire);
    *out_makes =
        state == FORM_EMPTY && atomic_compare_exchange_strong(&form->state, &state, FORM_BEGUN);
    return *out_makes || state == FORM_MADE;
}

void gantry__form_end(gantry__form_t *form, bool is_made) {
    if (is_made) atomic_fetch_add(&form->buffer->device->table->keepers.forms.made, 1);
    atomic_store_explicit(&form->state, is_made ? FORM_MADE : FORM_EMPTY, memory_order_release);
}

uint64_t gantry__form_release(gantry__form_t *form) {
    if (!form) return 0;
    const gantry__device_table_t *table = form->buffer->device->table;
    gantry__forms_t *forms = &form->buffer->device->table->keepers.forms;
    const uint64_t bytes = form->key.bytes;
    gantry__mutex_lock(&forms->lock);
    const bool was_last = --form->references == 0;
    gantry__form_t **at = &forms->first;
    while (was_last && *at != form) at = &(*at)->next;
    if (was_last) *at = form->next;
    gantry__mutex_unlock(&forms->lock);
    if (!was_last) return 0;
    form_free(form, table->heap);
    return bytes;
}
