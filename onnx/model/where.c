/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/model/where.h"

#include <stdio.h>
#include <string.h>

#include "onnx/base/memory.h"

#define NAME_BYTES 63 /* the most that gantry_scope_name_next takes */
#define RECORD "{\"name\":\""
#define DEVICE "\"device\":\""
#define REASON "\"reason\":\""
#define FUSED "\"fused\":["

void gantry__onnx_where_init(onnx_where_t *self, gantry_function_t *function) {
    size_t needed = 0;
    self->json = NULL;
    if (!function ||
        gantry_function_explain(function, GANTRY_EXPLAIN_JSON, NULL, 0, &needed) != GANTRY_OK)
        return;
    self->json = gantry__onnx_alloc(needed + 1, 1);
    if (self->json && gantry_function_explain(function, GANTRY_EXPLAIN_JSON, self->json, needed + 1,
                                              &needed) == GANTRY_OK)
        return;
    gantry__onnx_where_deinit(self);
}

void gantry__onnx_where_deinit(onnx_where_t *self) {
    gantry__onnx_free(self->json);
    self->json = NULL;
}

/* Copies the text after a key in front of `end`, up to its quotation mark. */
static bool copy_behind(const char *at, const char *end, const char *key, char *out, size_t bytes) {
    const char *from = strstr(at, key), *to = from ? strchr(from + strlen(key), '"') : NULL;
    if (!to || to >= end) return false;
    from += strlen(key);
    (void)snprintf(out, bytes, "%.*s", (int)(to - from), from);
    return true;
}

/* "CPU:0" of a device's full name. */
static bool copy_device(const char *at, const char *end, char device[64]) {
    char full[256];
    if (!copy_behind(at, end, DEVICE, full, sizeof full) || !*full) return false;
    const char *from = strstr(full, "/device:");
    (void)snprintf(device, 64, "%.63s", from ? from + strlen("/device:") : full);
    return true;
}

/* Whether the record has the name, is a part of the node, or has joined it. `quoted` begins and
 * ends with a quotation mark. */
static bool where_has_name(const char *record, const char *end, const char *quoted) {
    const char *own = record + strlen(RECORD) - 1;
    const size_t bytes = strlen(quoted) - 1;
    if (strncmp(own, quoted, bytes) == 0 && (own[bytes] == '"' || own[bytes] == '/')) return true;
    const char *fused = strstr(record, FUSED), *stop = fused ? strchr(fused + 1, ']') : NULL;
    const char *part = fused ? strstr(fused, quoted) : NULL;
    return part && stop && stop < end && part < stop;
}

static bool where_is_constant(const char *record, const char *end) {
    const char *kind = strstr(record, "\"kind\":\"constant\"");
    return kind && kind < end;
}

bool gantry__onnx_where_find(const onnx_where_t *self, const char *name, char device[64],
                             char reason[256]) {
    char quoted[NAME_BYTES + 3], other[64];
    bool has_device = false, has_one = true;
    (void)snprintf(quoted, sizeof quoted, "\"%.*s\"", NAME_BYTES, name);
    const char *record = self->json ? strstr(self->json, RECORD) : NULL;
    for (const char *next; record; record = next) {
        next = strstr(record + 1, RECORD);
        const char *end = next ? next : record + strlen(record);
        if (where_is_constant(record, end) || !copy_device(record, end, other)) continue;
        if (*name && where_has_name(record, end, quoted)) {
            (void)snprintf(device, 64, "%s", other);
            return copy_behind(record, end, REASON, reason, 256);
        }
        has_one = has_one && (!has_device || strcmp(device, other) == 0);
        if (!has_device) (void)snprintf(device, 64, "%s", other);
        has_device = true;
    }
    (void)snprintf(reason, 256, "as all nodes of the function");
    return has_device && has_one;
}
