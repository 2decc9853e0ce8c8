/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/wire/wire.h"

#include <string.h>

#include "onnx/base/limits.h"

#define VARINT_BYTES 10

/* Types of the wire. */
enum { TYPE_VARINT = 0, TYPE_8_BYTES = 1, TYPE_LENGTH = 2, TYPE_4_BYTES = 5 };

/* A field of the bytes. */
typedef struct wire_item_t {
    uint64_t number;
    uint32_t type;
    uint64_t value;            /* of a varint */
    gantry__onnx_bytes_t span; /* of the others */
} wire_item_t;

/* A list of a struct: the members that MEMBER_LIST declares. */
typedef struct wire_list_t {
    void *items;
    size_t count;
} wire_list_t;

/* A message that is being read. counts and pieces: of the first pass. */
typedef struct wire_frame_t {
    gantry__onnx_reader_t *reader;
    const gantry__onnx_message_t *message;
    uint8_t *out;
    uint32_t depth;
    size_t counts[GANTRY__ONNX_MOST_FIELDS], pieces[GANTRY__ONNX_MOST_FIELDS];
    gantry__onnx_part_t *first[GANTRY__ONNX_MOST_FIELDS], *last[GANTRY__ONNX_MOST_FIELDS];
} wire_frame_t;

static gantry_status_t read_nested(gantry__onnx_reader_t *reader,
                                   const gantry__onnx_message_t *message,
                                   const gantry__onnx_part_t *parts, void *out, uint32_t depth);

static size_t byte_of(const wire_frame_t *frame, const uint8_t *at) {
    return (size_t)(at - frame->reader->bytes.data);
}

static gantry_status_t read_varint(const wire_frame_t *frame, gantry__onnx_bytes_t *rest,
                                   uint64_t *out_value) {
    uint64_t value = 0;
    for (size_t i = 0; i < rest->size && i < VARINT_BYTES; ++i) {
        const uint64_t bits = rest->data[i] & 0x7fu;
        if (i == VARINT_BYTES - 1 && bits > 1) break;
        value |= bits << (7 * i);
        if (rest->data[i] & 0x80u) continue;
        *out_value = value;
        *rest = (gantry__onnx_bytes_t){rest->data + i + 1, rest->size - i - 1};
        return GANTRY_OK;
    }
    return gantry__onnx_bad(
        frame->reader,
        "at byte %zu, in %s: %s; a number of 64 bits in at most %d bytes is "
        "accepted",
        byte_of(frame, rest->data), frame->message->name,
        rest->size < VARINT_BYTES ? "the file ends within a number" : "a number is too long",
        VARINT_BYTES);
}

static gantry_status_t wire_take_bytes(const wire_frame_t *frame, gantry__onnx_bytes_t *rest,
                                       const wire_item_t *item, uint64_t size,
                                       gantry__onnx_bytes_t *out) {
    if (size > rest->size)
        return gantry__onnx_bad(
            frame->reader, "at byte %zu, in %s: field %llu has %llu bytes; %zu are left",
            byte_of(frame, rest->data), frame->message->name, (unsigned long long)item->number,
            (unsigned long long)size, rest->size);
    *out = (gantry__onnx_bytes_t){rest->data, (size_t)size};
    *rest = (gantry__onnx_bytes_t){rest->data + size, rest->size - (size_t)size};
    return GANTRY_OK;
}

/* Reads the field at the beginning of rest. */
static gantry_status_t next_item(const wire_frame_t *frame, gantry__onnx_bytes_t *rest,
                                 wire_item_t *out) {
    const uint8_t *start = rest->data;
    uint64_t tag, size = 0;
    GANTRY__TRY(read_varint(frame, rest, &tag));
    *out = (wire_item_t){.number = tag >> 3, .type = tag & 7u};
    if (out->number == 0 || out->number > 0x1fffffff)
        return gantry__onnx_bad(frame->reader,
                                "at byte %zu, in %s: a field has the number %llu; 1 to 536870911 "
                                "are accepted (is it an ONNX file?)",
                                byte_of(frame, start), frame->message->name,
                                (unsigned long long)out->number);
    switch (out->type) {
        case TYPE_VARINT: return read_varint(frame, rest, &out->value);
        case TYPE_8_BYTES: return wire_take_bytes(frame, rest, out, 8, &out->span);
        case TYPE_4_BYTES: return wire_take_bytes(frame, rest, out, 4, &out->span);
        case TYPE_LENGTH:
            GANTRY__TRY(read_varint(frame, rest, &size));
            return wire_take_bytes(frame, rest, out, size, &out->span);
        default:
            return gantry__onnx_bad(frame->reader,
                                    "at byte %zu, in %s: field %llu has the wire type %u; 0, 1, 2 "
                                    "and 5 are accepted (is it an ONNX file?)",
                                    byte_of(frame, start), frame->message->name,
                                    (unsigned long long)out->number, out->type);
    }
}

static gantry_status_t wrong_type(const wire_frame_t *frame, const gantry__onnx_field_t *field,
                                  const wire_item_t *item) {
    return gantry__onnx_bad(frame->reader,
                            "the field %s of %s has the wire type %u, or a length "
                            "that is no multiple of its numbers'",
                            field->name, frame->message->name, item->type);
}

/* Whether a field's bytes have its form. */
static bool form_fits(const gantry__onnx_field_t *field, const wire_item_t *item) {
    const bool has_length = item->type == TYPE_LENGTH;
    switch (field->form) {
        case GANTRY__ONNX_WIRE_INT: return item->type == TYPE_VARINT;
        case GANTRY__ONNX_WIRE_FLOAT: return item->type == TYPE_4_BYTES;
        case GANTRY__ONNX_WIRE_INTS: return item->type == TYPE_VARINT || has_length;
        case GANTRY__ONNX_WIRE_FLOATS:
            return item->type == TYPE_4_BYTES || (has_length && item->span.size % 4 == 0);
        case GANTRY__ONNX_WIRE_DOUBLES:
            return item->type == TYPE_8_BYTES || (has_length && item->span.size % 8 == 0);
        default: return has_length;
    }
}

/* ---- the first pass ---- */

/* Numbers end at bytes without the upper bit. */
static size_t count_varints(gantry__onnx_bytes_t span) {
    size_t count = 0;
    for (size_t i = 0; i < span.size; ++i) count += !(span.data[i] & 0x80u);
    return count;
}

static size_t count_items(const gantry__onnx_field_t *field, const wire_item_t *item) {
    switch (field->form) {
        case GANTRY__ONNX_WIRE_INTS:
            return item->type == TYPE_VARINT ? 1 : count_varints(item->span);
        case GANTRY__ONNX_WIRE_FLOATS: return item->span.size / 4;
        case GANTRY__ONNX_WIRE_DOUBLES: return item->span.size / 8;
        default: return 1;
    }
}

static gantry_status_t count_field(wire_frame_t *frame, size_t i, const wire_item_t *item) {
    const gantry__onnx_field_t *field = &frame->message->fields[i];
    if (!form_fits(field, item)) return wrong_type(frame, field, item);
    frame->counts[i] += count_items(field, item);
    frame->pieces[i]++;
    return GANTRY_OK;
}

static size_t item_bytes(const gantry__onnx_field_t *field) {
    switch (field->form) {
        case GANTRY__ONNX_WIRE_INTS: return sizeof(int64_t);
        case GANTRY__ONNX_WIRE_FLOATS: return 4;
        case GANTRY__ONNX_WIRE_DOUBLES: return 8;
        case GANTRY__ONNX_WIRE_TEXTS: return sizeof(gantry__onnx_bytes_t);
        case GANTRY__ONNX_WIRE_MANY: return field->message->struct_bytes;
        default: return 0;
    }
}

static void *member_of(const wire_frame_t *frame, const gantry__onnx_field_t *field) {
    return frame->out + field->offset;
}

/* Numbers of fixed size that came in one piece stay where they are. */
static bool stays_in_place(const wire_frame_t *frame, size_t i) {
    const uint8_t form = frame->message->fields[i].form;
    return frame->pieces[i] == 1 &&
           (form == GANTRY__ONNX_WIRE_FLOATS || form == GANTRY__ONNX_WIRE_DOUBLES);
}

/* Gives each list its memory. */
static gantry_status_t wire_make_lists(wire_frame_t *frame) {
    for (size_t i = 0; i < frame->message->field_count; ++i) {
        const gantry__onnx_field_t *field = &frame->message->fields[i];
        wire_list_t list = {0};
        if (item_bytes(field) == 0 || frame->counts[i] == 0 || stays_in_place(frame, i)) continue;
        if (field->form == GANTRY__ONNX_WIRE_MANY && frame->counts[i] > GANTRY__ONNX_MOST_LISTED)
            return gantry__onnx_bad(
                frame->reader, "the field %s of %s comes %zu times; %d are accepted", field->name,
                frame->message->name, frame->counts[i], GANTRY__ONNX_MOST_LISTED);
        GANTRY__TRY(gantry__onnx_work(frame->reader, frame->counts[i]));
        list.items = gantry__onnx_message_alloc(frame->reader, frame->counts[i], item_bytes(field));
        if (!list.items) return GANTRY_RESOURCE_EXHAUSTED;
        memcpy(member_of(frame, field), &list, sizeof list);
    }
    return GANTRY_OK;
}

/* ---- the second pass ---- */

static gantry_status_t store_ints(wire_frame_t *frame, const wire_item_t *item, wire_list_t *list) {
    gantry__onnx_bytes_t rest = item->span;
    int64_t *ints = list->items;
    if (item->type == TYPE_VARINT) {
        ints[list->count++] = (int64_t)item->value;
        return GANTRY_OK;
    }
    while (rest.size > 0) {
        uint64_t value;
        GANTRY__TRY(read_varint(frame, &rest, &value));
        ints[list->count++] = (int64_t)value;
    }
    return GANTRY_OK;
}

static gantry_status_t store_in_list(wire_frame_t *frame, size_t i, const wire_item_t *item) {
    const gantry__onnx_field_t *field = &frame->message->fields[i];
    const gantry__onnx_part_t part = {item->span, NULL};
    const size_t bytes = item_bytes(field);
    wire_list_t list;
    memcpy(&list, member_of(frame, field), sizeof list);
    if (field->form == GANTRY__ONNX_WIRE_INTS) {
        GANTRY__TRY(store_ints(frame, item, &list));
    } else if (stays_in_place(frame, i)) {
        list = (wire_list_t){(void *)(uintptr_t)item->span.data, frame->counts[i]};
    } else if (field->form == GANTRY__ONNX_WIRE_MANY) {
        GANTRY__TRY(read_nested(frame->reader, field->message, &part,
                                (uint8_t *)list.items + list.count++ * bytes, frame->depth + 1));
    } else if (field->form == GANTRY__ONNX_WIRE_TEXTS) {
        ((gantry__onnx_bytes_t *)list.items)[list.count++] = item->span;
    } else if (item->span.size > 0) {
        memcpy((uint8_t *)list.items + list.count * bytes, item->span.data, item->span.size);
        list.count += item->span.size / bytes;
    }
    memcpy(member_of(frame, field), &list, sizeof list);
    return GANTRY_OK;
}

/* Keeps a part of a message, which is read when all its parts are known. */
static gantry_status_t store_part(wire_frame_t *frame, size_t i, const wire_item_t *item) {
    gantry__onnx_part_t *part = gantry__onnx_message_alloc(frame->reader, 1, sizeof *part);
    if (!part) return GANTRY_RESOURCE_EXHAUSTED;
    part->bytes = item->span;
    if (frame->first[i])
        frame->last[i]->next = part;
    else
        frame->first[i] = part;
    frame->last[i] = part;
    return GANTRY_OK;
}

/* Forgets the other fields of a group. */
static void leave_group(wire_frame_t *frame, size_t kept, uint32_t *has) {
    const gantry__onnx_field_t *fields = frame->message->fields;
    for (size_t i = 0; i < frame->message->field_count; ++i) {
        if (i == kept || fields[i].group != fields[kept].group) continue;
        *has &= ~(1u << i);
        frame->first[i] = frame->last[i] = NULL;
    }
}

static gantry_status_t store_field(wire_frame_t *frame, size_t i, const wire_item_t *item) {
    const gantry__onnx_field_t *field = &frame->message->fields[i];
    const int64_t number = (int64_t)item->value;
    uint32_t has;
    memcpy(&has, frame->out, sizeof has);
    if (field->group) leave_group(frame, i, &has);
    has |= 1u << i;
    memcpy(frame->out, &has, sizeof has);
    switch (field->form) {
        case GANTRY__ONNX_WIRE_INT:
            memcpy(member_of(frame, field), &number, sizeof number);
            return GANTRY_OK;
        case GANTRY__ONNX_WIRE_FLOAT:
            memcpy(member_of(frame, field), item->span.data, sizeof(float));
            return GANTRY_OK;
        case GANTRY__ONNX_WIRE_BYTES:
            memcpy(member_of(frame, field), &item->span, sizeof item->span);
            return GANTRY_OK;
        case GANTRY__ONNX_WIRE_ONE: return store_part(frame, i, item);
        default: return store_in_list(frame, i, item);
    }
}

/* ---- both ---- */

static gantry_status_t each_field(wire_frame_t *frame, const gantry__onnx_part_t *parts,
                                  gantry_status_t (*visit)(wire_frame_t *frame, size_t i,
                                                           const wire_item_t *item)) {
    for (; parts; parts = parts->next) {
        gantry__onnx_bytes_t rest = parts->bytes;
        while (rest.size > 0) {
            wire_item_t item;
            GANTRY__TRY(gantry__onnx_work(frame->reader, 1));
            GANTRY__TRY(next_item(frame, &rest, &item));
            for (size_t i = 0; i < frame->message->field_count; ++i) {
                if (frame->message->fields[i].number != item.number) continue;
                GANTRY__TRY(visit(frame, i, &item));
                break;
            }
        }
    }
    return GANTRY_OK;
}

static gantry_status_t wire_read_parts(wire_frame_t *frame) {
    for (size_t i = 0; i < frame->message->field_count; ++i) {
        const gantry__onnx_field_t *field = &frame->message->fields[i];
        if (!frame->first[i]) continue;
        void *inner = gantry__onnx_message_alloc(frame->reader, 1, field->message->struct_bytes);
        if (!inner) return GANTRY_RESOURCE_EXHAUSTED;
        memcpy(member_of(frame, field), &inner, sizeof inner);
        GANTRY__TRY(
            read_nested(frame->reader, field->message, frame->first[i], inner, frame->depth + 1));
    }
    return GANTRY_OK;
}

static gantry_status_t read_nested(gantry__onnx_reader_t *reader,
                                   const gantry__onnx_message_t *message,
                                   const gantry__onnx_part_t *parts, void *out, uint32_t depth) {
    wire_frame_t frame = {.reader = reader, .message = message, .out = out, .depth = depth};
    if (depth > GANTRY__ONNX_MOST_NESTED_MESSAGES)
        return gantry__onnx_bad(reader,
                                "messages within messages are nested %u deep, the last a "
                                "%s; %d are accepted",
                                depth, message->name, GANTRY__ONNX_MOST_NESTED_MESSAGES);
    GANTRY__TRY(each_field(&frame, parts, count_field));
    GANTRY__TRY(wire_make_lists(&frame));
    GANTRY__TRY(each_field(&frame, parts, store_field));
    return wire_read_parts(&frame);
}

gantry_status_t gantry__onnx_read_message(gantry__onnx_reader_t *reader,
                                          const gantry__onnx_message_t *message,
                                          const gantry__onnx_part_t *parts, void *out_struct) {
    return read_nested(reader, message, parts, out_struct, 1);
}
