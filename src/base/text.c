/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdarg.h>
#include <string.h>

#include "shared/c_locale.h"

void gantry__text_init(gantry__text_t *text, const gantry__heap_t *heap) {
    *text = (gantry__text_t){.heap = heap};
}

void gantry__text_deinit(gantry__text_t *text) {
    gantry__heap_free(text->heap, text->bytes, text->capacity);
    *text = (gantry__text_t){.heap = text->heap};
}

static bool text_reserve(gantry__text_t *text, size_t extra) {
    if (text->failed) return false;
    size_t needed = text->length + extra + 1;
    if (needed <= text->capacity) return true;
    size_t wanted = text->capacity ? text->capacity : 128;
    while (wanted < needed) wanted *= 2;
    char *grown = gantry__heap_resize(text->heap, text->bytes, text->capacity, wanted, 1);
    if (!grown) {
        text->failed = true;
        return false;
    }
    text->bytes = grown;
    text->capacity = wanted;
    return true;
}

void gantry__text_append_bytes(gantry__text_t *text, const char *bytes, size_t length) {
    if (!text_reserve(text, length)) return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void gantry__text_append(gantry__text_t *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int length = gantry__format(NULL, 0, format, args);
    va_end(args);
    if (length >= 0 && text_reserve(text, (size_t)length)) {
        (void)gantry__format(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

const char *gantry__text_get(const gantry__text_t *text) {
    return text->failed || !text->bytes ? "" : text->bytes;
}

gantry_status_t gantry__text_status(const gantry__text_t *text) {
    if (text->failed)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "out of host memory while composing a text");
    return GANTRY_OK;
}

void gantry__text_copy(char *out, size_t out_bytes, const char *text) {
    size_t length = strlen(text);
    if (length >= out_bytes) length = out_bytes - 1;
    memcpy(out, text, length);
    out[length] = '\0';
}
