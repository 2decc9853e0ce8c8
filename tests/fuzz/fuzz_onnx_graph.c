/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry for graphs of ONNX files: the input is 8 bytes of a random state, and a file. The
 * file is written again message by message, with some fields changed: numbers (versions, sizes,
 * types), names, which become others of the file, and messages, which are left out or come twice.
 * So most of what comes out has the form of an ONNX file, and the checks of graphs, functions and
 * versions see it. It is read, and loaded as a model. */
#include <stdlib.h>
#include <string.h>

#include <gantry_onnx/model.h>

#include "../onnx/read_all.h"
#include "fuzz_onnx.h"
#include "fuzz_random.h"
#include "onnx/wire/messages.h"

#define MOST_NAMES 256
#define MOST_FILE_BYTES ((size_t)1 << 18)

const bool fuzz_onnx_changes_bytes = false;

/* Bytes that grow. */
typedef struct pile_t {
    uint8_t *data;
    size_t size, room;
} pile_t;

/* A file that is written again. */
typedef struct writer_t {
    fuzz_random_t random;
    uint64_t rate; /* one field of so many is changed */
    gantry__onnx_bytes_t names[MOST_NAMES];
    size_t name_count;
} writer_t;

static void put(pile_t *pile, const void *data, size_t size) {
    if (pile->size + size > pile->room) {
        pile->room = 2 * (pile->size + size);
        pile->data = realloc(pile->data, pile->room);
        MUST_HOLD(pile->data);
    }
    if (size > 0) memcpy(pile->data + pile->size, data, size);
    pile->size += size;
}

static void put_varint(pile_t *pile, uint64_t value) {
    for (; value >= 0x80; value >>= 7) put(pile, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
    put(pile, &(uint8_t){(uint8_t)value}, 1);
}

static bool take_varint(gantry__onnx_bytes_t *rest, uint64_t *out) {
    *out = 0;
    for (size_t i = 0; i < rest->size && i < 10; ++i) {
        *out |= (uint64_t)(rest->data[i] & 0x7f) << (7 * i);
        if (rest->data[i] & 0x80) continue;
        *rest = (gantry__onnx_bytes_t){rest->data + i + 1, rest->size - i - 1};
        return true;
    }
    return false;
}

static const gantry__onnx_field_t *field_of(const gantry__onnx_message_t *message,
                                            uint64_t number) {
    for (size_t i = 0; i < message->field_count; ++i) {
        if (message->fields[i].number == number) return &message->fields[i];
    }
    return NULL;
}

/* ---- changes ---- */

static bool is_changed(writer_t *writer) { return fuzz_below(&writer->random, writer->rate) == 0; }

static uint64_t other_number(writer_t *writer, uint64_t value) {
    static const int64_t numbers[] = {0,  1,   -1,        2,         7,         8,         9,
                                      16, 255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1 << 20};
    switch (fuzz_below(&writer->random, 4)) {
        case 0: return value + 1;
        case 1: return value - 1;
        case 2: return fuzz_below(&writer->random, 30);
        default:
            return (uint64_t)numbers[fuzz_below(&writer->random, sizeof numbers / sizeof *numbers)];
    }
}

static gantry__onnx_bytes_t other_name(writer_t *writer) {
    const uint64_t i = fuzz_below(&writer->random, writer->name_count + 1);
    return i < writer->name_count ? writer->names[i] : (gantry__onnx_bytes_t){NULL, 0};
}

/* ---- a file again ---- */

static void write_message(writer_t *writer, const gantry__onnx_message_t *message,
                          gantry__onnx_bytes_t bytes, pile_t *out);

static void write_span(writer_t *writer, const gantry__onnx_field_t *field, uint64_t tag,
                       gantry__onnx_bytes_t span, pile_t *out) {
    const bool is_message =
        field && (field->form == GANTRY__ONNX_WIRE_ONE || field->form == GANTRY__ONNX_WIRE_MANY);
    const bool is_name =
        field && (field->form == GANTRY__ONNX_WIRE_BYTES || field->form == GANTRY__ONNX_WIRE_TEXTS);
    const bool changes = field && is_changed(writer);
    const uint64_t times = is_message && changes ? fuzz_below(&writer->random, 3) : 1;
    for (uint64_t i = 0; i < times; ++i) {
        pile_t inner = {0};
        if (is_message)
            write_message(writer, field->message, span, &inner);
        else if (is_name && changes && span.size < 64)
            span = other_name(writer);
        put_varint(out, tag);
        put_varint(out, is_message ? inner.size : span.size);
        put(out, is_message ? inner.data : span.data, is_message ? inner.size : span.size);
        free(inner.data);
    }
}

static void write_message(writer_t *writer, const gantry__onnx_message_t *message,
                          gantry__onnx_bytes_t rest, pile_t *out) {
    uint64_t tag, value;
    while (rest.size > 0 && take_varint(&rest, &tag)) {
        const gantry__onnx_field_t *field = field_of(message, tag >> 3);
        const uint32_t type = tag & 7;
        if (type == 0) {
            if (!take_varint(&rest, &value)) return;
            put_varint(out, tag);
            put_varint(out, is_changed(writer) ? other_number(writer, value) : value);
            continue;
        }
        uint64_t size = type == 1 ? 8 : 4;
        if (type == 2 && !take_varint(&rest, &size)) return;
        if (size > rest.size) return;
        const gantry__onnx_bytes_t span = {rest.data, (size_t)size};
        rest = (gantry__onnx_bytes_t){rest.data + size, rest.size - (size_t)size};
        if (type == 2) {
            write_span(writer, field, tag, span, out);
        } else {
            put_varint(out, tag);
            put(out, span.data, span.size);
        }
    }
}

/* Keeps short texts of the file. */
static void find_names(writer_t *writer, const gantry__onnx_message_t *message,
                       gantry__onnx_bytes_t rest) {
    uint64_t tag, value;
    while (rest.size > 0 && take_varint(&rest, &tag)) {
        const gantry__onnx_field_t *field = field_of(message, tag >> 3);
        const uint32_t type = tag & 7;
        if (type != 1 && type != 5 && !take_varint(&rest, &value)) return;
        if (type == 0) continue;
        if (type == 1 || type == 5) value = type == 1 ? 8 : 4;
        if (value > rest.size) return;
        const gantry__onnx_bytes_t span = {rest.data, (size_t)value};
        rest = (gantry__onnx_bytes_t){rest.data + value, rest.size - (size_t)value};
        if (!field || type != 2) continue;
        if (field->form == GANTRY__ONNX_WIRE_ONE || field->form == GANTRY__ONNX_WIRE_MANY)
            find_names(writer, field->message, span);
        else if (span.size > 0 && span.size < 64 && writer->name_count < MOST_NAMES)
            writer->names[writer->name_count++] = span;
    }
}

/* ---- what is done with it ---- */

static gantry_runtime_t *fuzz_onnx_runtime(void) {
    static gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1, .kernel_cache = ""};
    if (!runtime) MUST_HOLD(gantry_runtime_create(&options, &runtime) == GANTRY_OK);
    return runtime;
}

static void look_at_bytes(const pile_t *pile) {
    gantry__onnx_file_t *file;
    gantry_onnx_model_t *model;
    if (gantry__onnx_read_bytes("fuzz", pile->data, pile->size, NULL, false, &file) != GANTRY_OK)
        return;
    read_all(file);
    gantry__onnx_file_release(file);
    if (gantry_onnx_model_load_bytes(fuzz_onnx_runtime(), "fuzz", pile->data, pile->size, NULL,
                                     &model) == GANTRY_OK)
        gantry_onnx_model_release(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const uint64_t rates[] = {5, 20, 100, 500};
    writer_t writer = {.name_count = 0};
    pile_t pile = {0};
    if (size < 8 || size > MOST_FILE_BYTES) return 0;
    memcpy(&writer.random.state, bytes, 8);
    writer.rate = rates[fuzz_below(&writer.random, 4)];
    const gantry__onnx_bytes_t file = {bytes + 8, size - 8};
    find_names(&writer, &gantry__onnx_model_message, file);
    write_message(&writer, &gantry__onnx_model_message, file, &pile);
    look_at_bytes(&pile);
    free(pile.data);
    return 0;
}
