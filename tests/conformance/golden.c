/* SPDX-License-Identifier: Apache-2.0 */
/* Reading golden case files with cJSON. Every field is checked: a file that is cut, or names a type
 * or a size that does not fit its data, is refused with the case's name, so that a broken file
 * never passes as an empty one. */
#include "golden.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN_FORMAT 2
#define GOLDEN_LARGEST_FILE ((size_t)64 << 20)

typedef struct reader_t {
    const char *path;
    const char *case_name; /* NULL outside cases */
    const cJSON *tensors;  /* texts by name; NULL: the file has none */
    char *error;
    size_t error_bytes;
} reader_t;

static int refuse(const reader_t *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const reader_t *r, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (r->error && r->error_bytes) {
        snprintf(r->error, r->error_bytes, "%s%s%s: %s", r->path, r->case_name ? ": case " : "",
                 r->case_name ? r->case_name : "", text);
    }
    return -1;
}

static int read_text(const reader_t *r, char **out) {
    FILE *file = fopen(r->path, "rb");
    if (!file) return refuse(r, "cannot be opened");
    char *text = NULL;
    size_t used = 0, room = 0;
    for (;;) {
        if (room - used < 2) {
            room = room ? room * 2 : 65536;
            char *larger = room > GOLDEN_LARGEST_FILE ? NULL : realloc(text, room);
            if (!larger) goto fail;
            text = larger;
        }
        size_t got = fread(text + used, 1, room - used - 1, file);
        if (got == 0) break;
        used += got;
    }
    if (ferror(file)) goto fail;
    fclose(file);
    text[used] = 0;
    *out = text;
    return 0;
fail:
    fclose(file);
    free(text);
    return refuse(r, "cannot be read, or is larger than %zu bytes", GOLDEN_LARGEST_FILE);
}

static char *copy_text(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

/* A string member, or fallback when the member is absent (fallback NULL: the member is
 * required). */
static int read_string(const reader_t *r, const cJSON *object, const char *key,
                       const char *fallback, char **out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    const char *text = cJSON_IsString(item) ? item->valuestring : item ? NULL : fallback;
    if (!text) return refuse(r, "\"%s\" is missing or not a string", key);
    *out = copy_text(text);
    return *out ? 0 : refuse(r, "out of memory");
}

/* Integers are exact in JSON's doubles up to 2^53, and no case needs a larger one outside its
 * data. */
static int to_integer(const reader_t *r, const cJSON *item, int64_t *out) {
    double value = cJSON_IsNumber(item) ? item->valuedouble : 0.5;
    if (!(fabs(value) <= 9007199254740992.0) || value != floor(value))
        return refuse(r, "an integer was expected");
    *out = (int64_t)value;
    return 0;
}

static int read_shape(const reader_t *r, const cJSON *item, gantry_shape_t *out) {
    int rank = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : -1;
    if (rank < 0 || rank > GANTRY_MAX_RANK)
        return refuse(r, "a shape of at most %d sizes was expected", GANTRY_MAX_RANK);
    memset(out, 0, sizeof *out);
    const cJSON *dim;
    cJSON_ArrayForEach(dim, item) {
        if (to_integer(r, dim, &out->dims[out->rank++])) return -1;
    }
    return 0;
}

/* A text, "@" and the name of one in the file's "tensors", or null. */
static int read_tensor(const reader_t *r, const cJSON *item, golden_tensor_t *out) {
    char why[256];
    if (cJSON_IsNull(item)) return 0;
    const char *text = cJSON_IsString(item) ? item->valuestring : NULL;
    if (text && *text == '@') {
        text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(r->tensors, text + 1));
        if (!text) return refuse(r, "\"tensors\" has no text %s", item->valuestring);
    }
    if (!text) return refuse(r, "a tensor is not a text");
    return golden_read_tensor(text, out, why, sizeof why) ? refuse(r, "%s", why) : 0;
}

static int read_tensors(const reader_t *r, const cJSON *object, const char *key,
                        golden_tensor_t **out, size_t *count) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsArray(list)) return refuse(r, "\"%s\" is missing or not a list", key);
    size_t total = (size_t)cJSON_GetArraySize(list);
    *out = calloc(total ? total : 1, sizeof **out);
    if (!*out) return refuse(r, "out of memory");
    *count = total;
    size_t i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        if (read_tensor(r, item, &(*out)[i++])) return -1;
    }
    return 0;
}

static int read_ints(const reader_t *r, const cJSON *list, golden_attr_t *out) {
    size_t total = (size_t)cJSON_GetArraySize(list);
    if (total == 0) return 0;
    out->ints = calloc(total, sizeof *out->ints);
    if (!out->ints) return refuse(r, "out of memory");
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        if (to_integer(r, item, &out->ints[out->int_count++])) return -1;
    }
    return 0;
}

/* The values that name their kind: {"float":0.5} */
static int read_named_value(const reader_t *r, const cJSON *value, golden_attr_t *out) {
    const char *kind = value && value->string ? value->string : "(none)";
    if (strcmp(kind, "float") == 0) {
        out->kind = GOLDEN_ATTR_FLOAT;
        out->float_value = value->valuedouble;
        return cJSON_IsNumber(value) ? 0 : refuse(r, "attribute %s is not a number", out->name);
    }
    if (strcmp(kind, "type") == 0) {
        out->kind = GOLDEN_ATTR_TYPE;
        out->type_value =
            cJSON_IsString(value) ? gantry_dtype_from_name(value->valuestring) : GANTRY_DTYPE_NONE;
        return out->type_value ? 0 : refuse(r, "attribute %s is not a known type", out->name);
    }
    out->kind = GOLDEN_ATTR_SHAPE;
    if (strcmp(kind, "shape") == 0) return read_shape(r, value, &out->shape_value);
    return refuse(r, "attribute %s is of unknown kind %s", out->name, kind);
}

static int read_attr_value(const reader_t *r, const cJSON *value, golden_attr_t *out) {
    if (cJSON_IsObject(value)) return read_named_value(r, value->child, out);
    if (cJSON_IsBool(value)) {
        out->kind = GOLDEN_ATTR_BOOL;
        out->bool_value = cJSON_IsTrue(value);
        return 0;
    }
    if (cJSON_IsString(value)) {
        out->kind = GOLDEN_ATTR_STRING;
        out->string_value = copy_text(value->valuestring);
        return out->string_value ? 0 : refuse(r, "out of memory");
    }
    out->kind = cJSON_IsArray(value) ? GOLDEN_ATTR_INTS : GOLDEN_ATTR_INT;
    if (out->kind == GOLDEN_ATTR_INTS) return read_ints(r, value, out);
    return to_integer(r, value, &out->int_value);
}

static int read_attrs(const reader_t *r, const cJSON *object, golden_case_t *out) {
    const cJSON *attrs = cJSON_GetObjectItemCaseSensitive(object, "attrs");
    if (!attrs) return 0;
    if (!cJSON_IsObject(attrs)) return refuse(r, "\"attrs\" is not an object");
    size_t total = (size_t)cJSON_GetArraySize(attrs);
    out->attrs = calloc(total ? total : 1, sizeof *out->attrs);
    if (!out->attrs) return refuse(r, "out of memory");
    const cJSON *item;
    cJSON_ArrayForEach(item, attrs) {
        golden_attr_t *attr = &out->attrs[out->attr_count++];
        attr->name = copy_text(item->string);
        if (!attr->name) return refuse(r, "out of memory");
        if (read_attr_value(r, item, attr)) return -1;
    }
    return 0;
}

/* The comparison is exact by default. */
static int read_tolerance(const reader_t *r, const cJSON *object, golden_tolerance_t *out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, "tolerance");
    out->exact = item == NULL;
    if (!item) return 0;
    if (!cJSON_IsObject(item) || !item->child)
        return refuse(r, "\"tolerance\" is not an object, or is empty");
    const cJSON *bound;
    cJSON_ArrayForEach(bound, item) {
        if (strcmp(bound->string, "exact") == 0 && cJSON_IsTrue(bound)) {
            out->exact = true;
        } else if (strcmp(bound->string, "ulp") == 0) {
            if (to_integer(r, bound, &out->ulp)) return -1;
        } else if (strcmp(bound->string, "abs") == 0 && cJSON_IsNumber(bound)) {
            out->absolute = bound->valuedouble;
        } else if (strcmp(bound->string, "rel") == 0 && cJSON_IsNumber(bound)) {
            out->relative = bound->valuedouble;
        } else {
            return refuse(r, "unknown bound \"%s\" (exact, ulp, abs, rel)", bound->string);
        }
    }
    bool sound = out->ulp >= 0 && out->absolute >= 0 && out->relative >= 0;
    return sound ? 0 : refuse(r, "a bound of \"tolerance\" is negative");
}

static int read_error(const reader_t *r, const cJSON *object, golden_case_t *out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, "error");
    if (read_string(r, object, "message_contains", "", &out->message_contains)) return -1;
    if (!item) return 0;
    for (int code = GANTRY_CANCELLED; code <= GANTRY_DATA_LOSS && cJSON_IsString(item); ++code) {
        if (strcmp(gantry_status_name((gantry_status_t)code), item->valuestring) == 0) {
            out->error_status = (gantry_status_t)code;
            return 0;
        }
    }
    return refuse(r, "unknown status %s in \"error\"",
                  cJSON_IsString(item) ? item->valuestring : "(not a string)");
}

/* A hash promises all bits, or all values; samples stand for outputs only. */
static int check_samples(const reader_t *r, const golden_case_t *item) {
    const golden_tolerance_t *bound = &item->tolerance;
    bool has_bound = bound->ulp > 0 || bound->absolute > 0 || bound->relative > 0;
    for (size_t i = 0; i < item->input_count; ++i) {
        if (item->inputs[i].sample_count) return refuse(r, "input %zu is given by samples", i);
    }
    for (size_t i = 0; i < item->output_count; ++i) {
        const golden_tensor_t *output = &item->outputs[i];
        if (has_bound && output->is_hashed && golden_is_float(output->dtype))
            return refuse(r, "output %zu has both a hash and a bound", i);
        if (output->is_summed && !(has_bound && golden_is_float(output->dtype)))
            return refuse(r, "output %zu has a sum without a bound", i);
    }
    return 0;
}

static int read_case(reader_t *r, const cJSON *item, const char *file_op, golden_case_t *out) {
    if (!cJSON_IsObject(item)) return refuse(r, "a case is not an object");
    if (read_string(r, item, "name", NULL, &out->name)) return -1;
    r->case_name = out->name;
    if (read_string(r, item, "op", file_op, &out->op)) return -1;
    if (read_string(r, item, "source", "tensorflow", &out->source)) return -1;
    if (read_string(r, item, "text", "", &out->text)) return -1;
    if (read_error(r, item, out)) return -1;
    if (read_attrs(r, item, out)) return -1;
    if (read_tensors(r, item, "inputs", &out->inputs, &out->input_count)) return -1;
    if (out->error_status != GANTRY_OK) {
        bool has_outputs = cJSON_GetObjectItemCaseSensitive(item, "outputs") != NULL;
        return has_outputs ? refuse(r, "an error case has outputs") : 0;
    }
    if (*out->text) return 0;
    if (read_tensors(r, item, "outputs", &out->outputs, &out->output_count)) return -1;
    if (out->output_count == 0) return refuse(r, "there is neither an output nor an error");
    if (read_tolerance(r, item, &out->tolerance)) return -1;
    return check_samples(r, out);
}

static int read_root(reader_t *r, const cJSON *root, golden_file_t *out) {
    int64_t format = 0;
    if (!root) return refuse(r, "not JSON, or cut short");
    if (to_integer(r, cJSON_GetObjectItemCaseSensitive(root, "format"), &format) ||
        format != GOLDEN_FORMAT) {
        return refuse(r, "\"format\" is not %d", GOLDEN_FORMAT);
    }
    if (read_string(r, root, "op", NULL, &out->op)) return -1;
    if (read_string(r, root, "tensorflow_op", "", &out->tensorflow_op)) return -1;
    r->tensors = cJSON_GetObjectItemCaseSensitive(root, "tensors");
    const cJSON *cases = cJSON_GetObjectItemCaseSensitive(root, "cases");
    if (!cJSON_IsArray(cases) || cJSON_GetArraySize(cases) == 0)
        return refuse(r, "\"cases\" is missing or empty");
    size_t total = (size_t)cJSON_GetArraySize(cases);
    out->cases = calloc(total, sizeof *out->cases);
    if (!out->cases) return refuse(r, "out of memory");
    out->case_count = total;
    size_t i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, cases) {
        r->case_name = NULL;
        if (read_case(r, item, out->op, &out->cases[i++])) return -1;
    }
    return 0;
}

int golden_load(const char *path, golden_file_t *out, char *error, size_t error_bytes) {
    reader_t r = {.path = path, .error = error, .error_bytes = error_bytes};
    memset(out, 0, sizeof *out);
    char *text = NULL;
    if (read_text(&r, &text)) return -1;
    cJSON *root = cJSON_ParseWithOpts(text, NULL, true);
    int failed = read_root(&r, root, out);
    if (failed) golden_free(out);
    cJSON_Delete(root);
    free(text);
    return failed;
}

static void free_tensors(golden_tensor_t *tensors, size_t count) {
    for (size_t i = 0; i < count; ++i) free(tensors[i].data);
    free(tensors);
}

static void free_case(golden_case_t *item) {
    for (size_t i = 0; i < item->attr_count; ++i) {
        free(item->attrs[i].name);
        free(item->attrs[i].ints);
        free(item->attrs[i].string_value);
    }
    free(item->attrs);
    free_tensors(item->inputs, item->input_count);
    free_tensors(item->outputs, item->output_count);
    free(item->name);
    free(item->op);
    free(item->message_contains);
    free(item->source);
    free(item->text);
}

void golden_free(golden_file_t *file) {
    for (size_t i = 0; i < file->case_count; ++i) free_case(&file->cases[i]);
    free(file->cases);
    free(file->op);
    free(file->tensorflow_op);
    memset(file, 0, sizeof *file);
}

const golden_attr_t *golden_find_attr(const golden_case_t *item, const char *name) {
    for (size_t i = 0; i < item->attr_count; ++i) {
        if (strcmp(item->attrs[i].name, name) == 0) return &item->attrs[i];
    }
    return NULL;
}
