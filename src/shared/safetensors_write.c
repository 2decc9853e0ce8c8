/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/safetensors.h"
#include "shared/safetensors_types.h"

#define HEADER_ALIGNMENT 8

/* ---- the order of tensors ---- */

static int compare_for_layout(const void *left, const void *right) {
    const gantry__safetensors_tensor_t *a = left, *b = right;
    const int first = gantry__safetensors_rank(a->dtype),
              second = gantry__safetensors_rank(b->dtype);
    return first != second ? (first < second ? 1 : -1) : strcmp(a->name, b->name);
}

void gantry__safetensors_lay_out(gantry__safetensors_tensor_t *tensors, size_t count) {
    uint64_t at = 0;
    if (count > 1) qsort(tensors, count, sizeof tensors[0], compare_for_layout);
    for (size_t i = 0; i < count; ++i) {
        tensors[i].begin = at;
        at += (uint64_t)gantry_shape_elements(&tensors[i].shape) *
              gantry_dtype_size(tensors[i].dtype);
        tensors[i].end = at;
    }
}

/* ---- a growing text ---- */

typedef struct header_text_t {
    char *bytes;
    size_t size, capacity;
    gantry_status_t status;
    const gantry__safetensors_memory_t *memory;
} header_text_t;

static void safetensors_write_put_bytes(header_text_t *text, const char *bytes, size_t size) {
    if (text->status != GANTRY_OK) return;
    if (size > text->capacity - text->size) {
        const size_t wanted = 2 * text->capacity + size + 256;
        char *grown =
            text->memory->reallocate(text->memory->user, text->bytes, text->capacity, wanted);
        if (!grown) {
            text->status = GANTRY_RESOURCE_EXHAUSTED;
            return;
        }
        text->bytes = grown;
        text->capacity = wanted;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

static void put_format(header_text_t *text, const char *format, ...) GANTRY__PRINTF(2, 3);

static void put_format(header_text_t *text, const char *format, ...) {
    char buffer[128];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    safetensors_write_put_bytes(text, buffer, (size_t)length);
}

static void put_string(header_text_t *text, const char *string) {
    static const char *const short_forms[] = {
        ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r",
        ['\t'] = "\\t", ['"'] = "\\\"", ['\\'] = "\\\\"};
    safetensors_write_put_bytes(text, "\"", 1);
    for (; *string; ++string) {
        const unsigned char byte = (unsigned char)*string;
        const bool is_short =
            byte < sizeof short_forms / sizeof short_forms[0] && short_forms[byte];
        if (is_short)
            safetensors_write_put_bytes(text, short_forms[byte], 2);
        else if (byte < ' ')
            put_format(text, "\\u%04x", byte);
        else
            safetensors_write_put_bytes(text, string, 1);
    }
    safetensors_write_put_bytes(text, "\"", 1);
}

/* ---- the header ---- */

static void put_texts(header_text_t *text, const gantry__safetensors_text_t *texts, size_t count) {
    if (count == 0) return;
    put_format(text, "\"__metadata__\":{");
    for (size_t i = 0; i < count; ++i) {
        if (i > 0) safetensors_write_put_bytes(text, ",", 1);
        put_string(text, texts[i].key);
        safetensors_write_put_bytes(text, ":", 1);
        put_string(text, texts[i].value);
    }
    safetensors_write_put_bytes(text, "}", 1);
}

static void put_tensor(header_text_t *text, const gantry__safetensors_tensor_t *tensor) {
    put_string(text, tensor->name);
    put_format(text, ":{\"dtype\":\"%s\",\"shape\":[",
               gantry__safetensors_type_name(tensor->dtype));
    for (int32_t i = 0; i < tensor->shape.rank; ++i)
        put_format(text, i > 0 ? ",%" PRId64 : "%" PRId64, tensor->shape.dims[i]);
    put_format(text, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", tensor->begin, tensor->end);
}

/* Writes the header's length, which is known only at the end, in front of the header. */
static gantry_status_t put_length(header_text_t *text) {
    while (text->status == GANTRY_OK && text->size % HEADER_ALIGNMENT != 0)
        safetensors_write_put_bytes(text, " ", 1);
    if (text->status != GANTRY_OK) return text->status;
    const uint64_t length = text->size - GANTRY__SAFETENSORS_LENGTH_BYTES;
    if (length > GANTRY__SAFETENSORS_HEADER_BYTES) {
        return gantry__refuse("the file's names and texts take %" PRIu64 " bytes; at most %" PRIu64
                              " are accepted",
                              length, GANTRY__SAFETENSORS_HEADER_BYTES);
    }
    for (int i = 0; i < GANTRY__SAFETENSORS_LENGTH_BYTES; ++i)
        text->bytes[i] = (char)(length >> (8 * i) & 0xff);
    return GANTRY_OK;
}

gantry_status_t gantry__safetensors_write(const gantry__safetensors_memory_t *memory,
                                          const gantry__safetensors_tensor_t *tensors, size_t count,
                                          const gantry__safetensors_text_t *texts,
                                          size_t text_count, char **out_bytes, size_t *out_size,
                                          size_t *out_capacity) {
    header_text_t text = {.status = GANTRY_OK, .memory = memory};
    safetensors_write_put_bytes(&text, "\0\0\0\0\0\0\0\0{", GANTRY__SAFETENSORS_LENGTH_BYTES + 1);
    put_texts(&text, texts, text_count);
    for (size_t i = 0; i < count; ++i) {
        if (i > 0 || text_count > 0) safetensors_write_put_bytes(&text, ",", 1);
        put_tensor(&text, &tensors[i]);
    }
    safetensors_write_put_bytes(&text, "}", 1);
    const gantry_status_t status = put_length(&text);
    *out_bytes = text.bytes;
    *out_size = text.size;
    *out_capacity = text.capacity;
    if (status == GANTRY_OK) return GANTRY_OK;
    if (text.bytes) (void)memory->reallocate(memory->user, text.bytes, text.capacity, 0);
    *out_bytes = NULL;
    return status;
}
