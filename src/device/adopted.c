/* SPDX-License-Identifier: Apache-2.0 */
/* A context belongs to a view: one backend's device. The card of that view keeps its number and is
 * opened over the context. If another backend would serve the card, the view of the context serves
 * it instead (device/fail_over.h), because the program's memory is there.
 *
 * A queue is tried at once, so that a wrong one is refused by gantry_runtime_create and not by the
 * first op. */
#include "device/adopted.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend_check.h"
#include "backend/slot_failure.h"
#include "device/card.h"
#include "device/physical_device.h"
#include "shared/struct_size.h"

typedef struct gantry_physical_device_t physical_t;

/* Writes "cpu, fake": the backends that share. */
static void print_sharing(const gantry__device_table_t *table, char *out, size_t out_bytes) {
    size_t used = 0;
    (void)snprintf(out, out_bytes, "none");
    for (size_t i = 0; i < table->backends->count && used < out_bytes; ++i) {
        const gantry__backend_t *backend = &table->backends->items[i];
        if (backend->state == GANTRY_BACKEND_USABLE && gantry__backend_interop(backend->table))
            used += (size_t)snprintf(out + used, out_bytes - used, "%s%s", used ? ", " : "",
                                     backend->name);
    }
}

static gantry_status_t refuse_backend(const gantry__device_table_t *table, const char *name,
                                      const char *why) {
    char accepted[128];
    print_sharing(table, accepted, sizeof accepted);
    return gantry__refuse("backend %.60s %s; of those in use, these share contexts: %s", name, why,
                          accepted);
}

static gantry_status_t adopted_find_backend(const gantry__device_table_t *table, const char *name,
                                            const gantry__backend_t **out_backend) {
    if (!name) return refuse_backend(table, "NULL", "is no name");
    for (size_t i = 0; i < table->backends->count; ++i) {
        const gantry__backend_t *backend = &table->backends->items[i];
        if (strcmp(backend->name, name) != 0) continue;
        *out_backend = backend;
        if (backend->state != GANTRY_BACKEND_USABLE)
            return gantry__refuse("backend %s is not used: %s", name, backend->reason);
        if (!gantry__backend_interop(backend->table))
            return refuse_backend(table, name, "shares none");
        return GANTRY_OK;
    }
    return refuse_backend(table, name, "is unknown");
}

static physical_t *view_of(const gantry__device_table_t *table, const gantry__backend_t *backend,
                           uint32_t index) {
    for (size_t i = 0; i < table->physical_count; ++i) {
        physical_t *view = table->physical[i];
        if (view->backend == backend && view->backend_index == index) return view;
    }
    return NULL;
}

/* Makes a stream over the queue and gives it back. */
static gantry_status_t try_queue(const physical_t *view, const gantry_adopted_context_t *adopted) {
    const gantry_backend_t *table = view->backend->table;
    const gantry_interop_ops_t *ops = gantry__backend_interop(table);
    gantry_backend_device_t *device = NULL;
    gantry_backend_stream_t *stream = NULL;
    gantry_status_t status;
    if (!adopted->queue) return GANTRY_OK;
    GANTRY__CALL_SLOT(status, ops->device_adopt(view->backend->instance, view->backend_index,
                                                adopted->context, &device));
    if (status != GANTRY_OK) return status;
    GANTRY__CALL_SLOT(status, ops->stream_adopt(device, adopted->queue, &stream));
    if (status == GANTRY_OK) table->stream->destroy(stream);
    table->device_close(device);
    return status;
}

/* The view of the context serves the card from the beginning. */
static void serve_by(const physical_t *listed, const physical_t *view) {
    listed->card->is_proven = true;
    if (listed == view) return;
    (void)snprintf(listed->card->later_note, sizeof listed->card->later_note,
                   "%s serves this card in place of %s: the program's context is of it",
                   view->alias, listed->alias);
    (void)snprintf(view->card->later_note, sizeof view->card->later_note,
                   "serves its card in place of %s: the program's context is of it", listed->alias);
    atomic_store_explicit(&view->card->stands_in_for, listed, memory_order_release);
    atomic_store_explicit(&listed->card->instead, view, memory_order_release);
}

static gantry_status_t check_card(const gantry__device_table_t *table, const physical_t *listed) {
    if (listed->card->adopted_context)
        return gantry__refuse("%s has a context of the program already; one a device is accepted",
                              listed->name);
    if (listed->listed && !gantry__device_is_visible(table, listed))
        return gantry__refuse("the context's device, %s (%s), is not visible", listed->name,
                              listed->alias);
    return GANTRY_OK;
}

static gantry_status_t adopt_one(gantry__device_table_t *table,
                                 const gantry_adopted_context_t *given) {
    gantry_adopted_context_t adopted;
    const gantry__backend_t *backend = NULL;
    uint32_t index = 0;
    gantry_status_t status;
    if (!given) return gantry__refuse("it is NULL; a gantry_adopted_context_t is accepted");
    GANTRY__TRY(gantry__struct_read(given, 0, &adopted, sizeof adopted, "the struct"));
    GANTRY__TRY(adopted_find_backend(table, adopted.backend, &backend));
    GANTRY__CALL_SLOT(
        status, gantry__backend_interop(backend->table)
                    ->context_find(backend->instance, adopted.context, adopted.device, &index));
    if (status != GANTRY_OK) return status;
    const physical_t *view = view_of(table, backend, index);
    if (!view)
        return gantry__fail(GANTRY_INTERNAL, "backend %s found device %u, which is not listed",
                            backend->name, index);
    const physical_t *listed = view->served_by ? view->served_by : view;
    GANTRY__TRY(check_card(table, listed));
    GANTRY__TRY(try_queue(view, &adopted));
    listed->card->adopted_context = adopted.context;
    listed->card->adopted_queue = adopted.queue;
    serve_by(listed, view);
    return GANTRY_OK;
}

gantry_status_t gantry__adopted_find(gantry__device_table_t *table,
                                     const gantry_adopted_context_t *const *contexts,
                                     size_t count) {
    if (count > 0 && !contexts)
        return gantry__refuse("runtime options: adopted is NULL, but adopted_count is %zu", count);
    for (size_t i = 0; i < count; ++i) {
        gantry_status_t status = adopt_one(table, contexts[i]);
        if (status != GANTRY_OK)
            return gantry__fail_prefix(status, "runtime options: adopted[%zu]: ", i);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__adopted_check_visible(const gantry__device_table_t *table) {
    for (size_t i = 0; i < table->physical_count; ++i) {
        const physical_t *device = table->physical[i];
        if (device->card->adopted_context && device->listed &&
            !gantry__device_is_visible(table, device))
            return gantry__refuse(
                "%s (%s) has a context of the program and is not visible; a visible device is accepted",
                device->name, device->alias);
    }
    return GANTRY_OK;
}
