/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/model/where.h"

#include <stdio.h>
#include <string.h>

#include "onnx/base/memory.h"

#define NAME_BYTES 63 /* the most that gantry_scope_name_next takes */
#define RECORD "{\"name\":\""
#define NAME "\"name\":\""
#define DEVICE "\"device\":\""
#define REASON "\"reason\":\""
#define FUSED "\"fused\":["

/* Makes a text of each record: the brackets that they begin with become zeros. */
static void cut_records(onnx_where_t *self, size_t bytes) {
    for (char *at = self->json; (at = strstr(at, RECORD)) != NULL;) *at++ = '\0';
    self->end = self->json + bytes;
}

void gantry__onnx_where_init(onnx_where_t *self, gantry_function_t *function) {
    size_t needed = 0;
    self->json = self->end = NULL;
    if (!function ||
        gantry_function_explain(function, GANTRY_EXPLAIN_JSON, NULL, 0, &needed) != GANTRY_OK)
        return;
    const size_t bytes = needed + 1;
    self->json = gantry__onnx_alloc(bytes, 1);
    if (self->json && gantry_function_explain(function, GANTRY_EXPLAIN_JSON, self->json, bytes,
                                              &needed) == GANTRY_OK)
        cut_records(self, bytes);
    else
        gantry__onnx_where_deinit(self);
}

void gantry__onnx_where_deinit(onnx_where_t *self) {
    gantry__onnx_free(self->json);
    self->json = self->end = NULL;
}

/* Copies the text after a key of the record, up to its quotation mark. */
static bool copy_after(const char *record, const char *key, char *out, size_t bytes) {
    const char *from = strstr(record, key), *to = from ? strchr(from + strlen(key), '"') : NULL;
    if (!to) return false;
    from += strlen(key);
    (void)snprintf(out, bytes, "%.*s", (int)(to - from), from);
    return true;
}

/* "CPU:0" of a device's full name. */
static bool copy_device(const char *record, char device[64]) {
    char full[256];
    if (!copy_after(record, DEVICE, full, sizeof full) || !*full) return false;
    const char *from = strstr(full, "/device:");
    (void)snprintf(device, 64, "%.63s", from ? from + strlen("/device:") : full);
    return true;
}

/* Whether the record has the name, is a part of the node, or has joined it. `quoted` begins and
 * ends with a quotation mark. */
static bool where_has_name(const char *record, const char *quoted) {
    const char *own = record + strlen(NAME) - 1;
    const size_t bytes = strlen(quoted) - 1;
    if (strncmp(own, quoted, bytes) == 0 && (own[bytes] == '"' || own[bytes] == '/')) return true;
    const char *fused = strstr(record, FUSED), *stop = fused ? strchr(fused, ']') : NULL;
    const char *part = fused ? strstr(fused, quoted) : NULL;
    return part && stop && part < stop;
}

static bool where_is_constant(const char *record) {
    return strstr(record, "\"kind\":\"constant\"") != NULL;
}

bool gantry__onnx_where_find(const onnx_where_t *self, const char *name, char device[64],
                             char reason[256]) {
    char quoted[NAME_BYTES + 3], other[64];
    bool has_device = false, has_one = true;
    (void)snprintf(quoted, sizeof quoted, "\"%.*s\"", NAME_BYTES, name);
    /* what comes before the first record is none */
    const char *record = self->json ? self->json + strlen(self->json) + 1 : self->end;
    for (; record < self->end; record += strlen(record) + 1) {
        if (where_is_constant(record) || !copy_device(record, other)) continue;
        if (*name && where_has_name(record, quoted)) {
            (void)snprintf(device, 64, "%s", other);
            return copy_after(record, REASON, reason, 256);
        }
        has_one = has_one && (!has_device || strcmp(device, other) == 0);
        if (!has_device) (void)snprintf(device, 64, "%s", other);
        has_device = true;
    }
    (void)snprintf(reason, 256, "as all nodes of the function");
    return has_device && has_one;
}
