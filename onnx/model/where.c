/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/model/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/memory.h"

#define NAME_BYTES 63 /* the most that gantry_scope_name_next takes */
#define RECORD "{\"name\":\""
#define KIND "\"kind\":\""
#define DEVICE "\"device\":\""
#define REASON "\"reason\":\""
#define FUSED "\"fused\":["

/* The text after a key of a record; NULL: it has none. */
static const char *where_find_key(const char *record, const char *key) {
    const char *at = strstr(record, key);
    return at ? at + strlen(key) : NULL;
}

/* Copies the text after a key, up to its quotation mark. */
static bool where_copy_text(const char *record, const char *key, char *out, size_t bytes) {
    const char *from = where_find_key(record, key), *to = from ? strchr(from, '"') : NULL;
    if (!to) return false;
    (void)snprintf(out, bytes, "%.*s", (int)(to - from), from);
    return true;
}

/* "CPU:0" of a device's full name. */
static bool copy_device(const char *record, char device[64]) {
    char full[256];
    if (!where_copy_text(record, DEVICE, full, sizeof full) || !*full) return false;
    const char *from = strstr(full, "/device:");
    (void)snprintf(device, 64, "%.63s", from ? from + strlen("/device:") : full);
    return true;
}

static bool where_is_constant(const char *record) {
    const char *kind = where_find_key(record, KIND);
    return kind && strncmp(kind, "constant\"", strlen("constant\"")) == 0;
}

/* ---- names ---- */

static int where_compare_names(const void *a, const void *b) {
    const onnx_where_name_t *x = a, *y = b;
    const int order = memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);
    if (order != 0) return order;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

static bool add_where_name(onnx_where_t *self, onnx_where_name_t name, size_t size) {
    if (size == 0 || size > NAME_BYTES) return true;
    if (!gantry__grow(&self->names, self->name_count, &self->name_capacity, sizeof *self->names))
        return false;
    name.size = size;
    self->names[self->name_count++] = name;
    return true;
}

/* Adds the record's name, the nodes that it is a part of ("a" and "a/b" of "a/b/c"), and those that
 * have joined it. */
static bool add_record_names(onnx_where_t *self, const char *record) {
    onnx_where_name_t name = {record + strlen(RECORD) - 1, 0, record};
    const size_t own = strcspn(name.text, "\"");
    for (size_t size = 1; size < own; ++size) {
        if (name.text[size] == '/' && !add_where_name(self, name, size)) return false;
    }
    if (!add_where_name(self, name, own)) return false;
    for (name.text = where_find_key(record, FUSED); name.text && *name.text == '"';) {
        const size_t size = strcspn(++name.text, "\"");
        if (!add_where_name(self, name, size)) return false;
        name.text += size + (name.text[size] == '"');
        name.text += *name.text == ',';
    }
    return true;
}

/* Reads all records, and makes a text of each: the brackets that they begin with become zeros.
 * False: no memory. */
static bool where_read_records(onnx_where_t *self) {
    bool has_one = true;
    char *record = strstr(self->json, RECORD);
    for (char *next; record; record = next) {
        char device[64];
        next = strstr(record + 1, RECORD);
        char *end = next ? next : record + strlen(record);
        *end = *record++ = '\0';
        if (where_is_constant(record) || !copy_device(record, device)) continue;
        if (!add_record_names(self, record)) return false;
        has_one = has_one && (!*self->device || strcmp(device, self->device) == 0);
        if (!*self->device) (void)snprintf(self->device, sizeof self->device, "%s", device);
    }
    if (!has_one) self->device[0] = '\0';
    if (self->name_count > 0)
        qsort(self->names, self->name_count, sizeof *self->names, where_compare_names);
    return true;
}

/* ---- the explanation ---- */

void gantry__onnx_where_init(onnx_where_t *self, gantry_function_t *function) {
    size_t needed = 0;
    *self = (onnx_where_t){0};
    if (!function ||
        gantry_function_explain(function, GANTRY_EXPLAIN_JSON, NULL, 0, &needed) != GANTRY_OK)
        return;
    self->json = gantry__alloc(needed + 1, 1);
    if (self->json &&
        gantry_function_explain(function, GANTRY_EXPLAIN_JSON, self->json, needed + 1, &needed) ==
            GANTRY_OK &&
        where_read_records(self))
        return;
    gantry__onnx_where_deinit(self);
}

void gantry__onnx_where_deinit(onnx_where_t *self) {
    gantry__free(self->names);
    gantry__free(self->json);
    *self = (onnx_where_t){0};
}

/* The place of the first name that is not less than this one. */
static size_t first_not_less(const onnx_where_t *self, const onnx_where_name_t *name) {
    size_t least = 0, end = self->name_count;
    while (least < end) {
        const size_t middle = least + (end - least) / 2;
        if (where_compare_names(&self->names[middle], name) < 0) {
            least = middle + 1;
        } else {
            end = middle;
        }
    }
    return least;
}

bool gantry__onnx_where_find(const onnx_where_t *self, const char *name, char device[64],
                             char reason[256]) {
    const size_t bytes = strlen(name);
    /* NULL is before all records. */
    const onnx_where_name_t wanted = {name, bytes < NAME_BYTES ? bytes : NAME_BYTES, NULL};
    const size_t place = first_not_less(self, &wanted);
    const onnx_where_name_t *found = place < self->name_count ? &self->names[place] : NULL;
    if (found && found->size == wanted.size && memcmp(found->text, name, wanted.size) == 0)
        return copy_device(found->record, device) &&
               where_copy_text(found->record, REASON, reason, 256);
    (void)snprintf(device, 64, "%s", self->device);
    (void)snprintf(reason, 256, "as all nodes of the function");
    return *self->device != '\0';
}
