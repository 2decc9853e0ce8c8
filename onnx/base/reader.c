/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/base/reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onnx/base/limits.h"
#include "shared/memory.h"
#include "shared/c_locale.h"
#include "shared/printable.h"

void gantry__onnx_reader_init(gantry__onnx_reader_t *reader, const char *path, const void *bytes,
                              size_t size) {
    const uint64_t most = (uint64_t)size * GANTRY__ONNX_BYTES_EACH;
    *reader = (gantry__onnx_reader_t){.path = path, .bytes = {bytes, size}};
    reader->messages.limit = most + GANTRY__ONNX_MESSAGE_BYTES_MORE;
    reader->model.limit = reader->most_bytes = most + GANTRY__ONNX_BYTES_MORE;
}

void gantry__onnx_reader_deinit(gantry__onnx_reader_t *reader) {
    gantry__onnx_arena_deinit(&reader->messages);
    gantry__onnx_arena_deinit(&reader->model);
}

gantry_status_t gantry__onnx_work(gantry__onnx_reader_t *reader, uint64_t steps) {
    const uint64_t most =
        GANTRY__ONNX_WORK_MORE + (uint64_t)reader->bytes.size * GANTRY__ONNX_WORK_EACH;
    reader->work += steps;
    if (reader->work <= most) return GANTRY_OK;
    return gantry__onnx_fail(reader, GANTRY_RESOURCE_EXHAUSTED,
                             "reading it takes more than %" PRIu64
                             " steps; a file of %zu bytes may take so many",
                             most, reader->bytes.size);
}

static gantry_status_t too_much_memory(const gantry__onnx_reader_t *reader) {
    return gantry__onnx_fail(reader, GANTRY_RESOURCE_EXHAUSTED,
                             "reading it takes more than %" PRIu64
                             " bytes of memory; a file of %zu bytes may take so much",
                             reader->most_bytes, reader->bytes.size);
}

static void *reader_alloc(const gantry__onnx_reader_t *reader, gantry__onnx_arena_t *arena,
                          size_t count, size_t item_bytes) {
    bool bound = false;
    void *ptr = gantry__onnx_arena_alloc(arena, count, item_bytes, &bound);
    if (bound) (void)too_much_memory(reader);
    return ptr;
}

gantry_status_t gantry__onnx_charge(gantry__onnx_reader_t *reader, uint64_t bytes) {
    gantry__onnx_arena_t *arena = &reader->model;
    if (bytes > arena->limit || arena->total > arena->limit - bytes) return too_much_memory(reader);
    arena->limit -= bytes;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_grow_list(gantry__onnx_reader_t *reader, void *items_ptr, size_t count,
                                       size_t *capacity, size_t item_bytes) {
    const size_t before = *capacity;
    if (count < before) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_charge(reader, (uint64_t)(before ? before : 8) * item_bytes));
    return gantry__grow(items_ptr, count, capacity, item_bytes) ? GANTRY_OK
                                                                : GANTRY_RESOURCE_EXHAUSTED;
}

void *gantry__onnx_model_alloc(gantry__onnx_reader_t *reader, size_t count, size_t item_bytes) {
    return reader_alloc(reader, &reader->model, count, item_bytes);
}

void *gantry__onnx_message_alloc(gantry__onnx_reader_t *reader, size_t count, size_t item_bytes) {
    return reader_alloc(reader, &reader->messages, count, item_bytes);
}

gantry_status_t gantry__onnx_copy_text(gantry__onnx_reader_t *reader, gantry__onnx_bytes_t text,
                                       size_t most, const char *what, const char **out_text) {
    *out_text = "";
    if (text.size == 0) return GANTRY_OK;
    if (text.size > most)
        return gantry__onnx_bad(reader, "%s has %zu bytes, '%.*s'...; %zu are accepted", what,
                                text.size, 40, (const char *)text.data, most);
    if (memchr(text.data, 0, text.size))
        return gantry__onnx_bad(reader, "%s, '%.*s', has a zero byte in it; a text is accepted",
                                what, GANTRY__ONNX_SHOWN(text));
    GANTRY__TRY(gantry__onnx_work(reader, text.size / 8 + 1));
    char *copy = gantry__onnx_model_alloc(reader, text.size + 1, 1);
    if (!copy) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(copy, text.data, text.size);
    *out_text = copy;
    return GANTRY_OK;
}

/* "node 'Conv_12' (Conv, opset 12): ", after the function that has it. */
static void describe_place(const gantry__onnx_place_t *place, char *text, size_t size) {
    char name[240], version[48] = "", function[260] = "";
    text[0] = 0;
    if (place->in_function)
        (void)snprintf(function, sizeof function,
                       "function '%.*s': ", GANTRY__ONNX_SHOWN(place->function));
    (void)snprintf(text, size, "%s", function);
    if (!place->in_node) return;
    if (place->version > 0)
        (void)snprintf(version, sizeof version, ", opset %" PRId64, place->version);
    if (place->node.size > 0)
        (void)snprintf(name, sizeof name, "node '%.*s'", GANTRY__ONNX_SHOWN(place->node));
    else
        (void)snprintf(name, sizeof name, "node %" PRIu64 " of the graph", place->index);
    (void)snprintf(text, size, "%s%s (%.*s%s): ", function, name, GANTRY__ONNX_SHOWN(place->op),
                   version);
}

gantry_status_t gantry__onnx_fail(const gantry__onnx_reader_t *reader, gantry_status_t status,
                                  const char *format, ...) {
    char text[GANTRY__MESSAGE_BYTES / 2], place[800];
    va_list arguments;
    va_start(arguments, format);
    (void)gantry__format(text, sizeof text, format, arguments);
    va_end(arguments);
    describe_place(&reader->place, place, sizeof place);
    gantry__make_printable(text, 0);
    gantry__make_printable(place, 0);
    return gantry__fail(status, "%s: %s%s", reader->path, place, text);
}
