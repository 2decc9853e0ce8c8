/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the text of a tensor in a golden file: "type[sizes] data", as tests/golden/README.md
 * describes it. tests/golden/golden_form.py writes the same texts and reads them, too. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "golden_draw.h"

#define GOLDEN_LARGEST_TENSOR ((int64_t)1 << 28)

typedef struct text_t {
    const char *at;
    golden_tensor_t *out;
    size_t element, room; /* bytes of an element; how many elements the data have at most */
    char *why;
    size_t why_bytes;
} text_t;

static int refuse(const text_t *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const text_t *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(t->why, t->why_bytes, format, list);
    va_end(list);
    return -1;
}

/* ---- the type and the sizes ---- */

static gantry_dtype_t find_type(const char *name, size_t length) {
    static const struct {
        const char *name;
        gantry_dtype_t dtype;
    } types[] = {
#define GANTRY_ELEMENT_TYPE(name, constant, ...) {#name, GANTRY_##constant},
#define GANTRY_TYPE_SET(...)
#include "types.def"
#undef GANTRY_ELEMENT_TYPE
#undef GANTRY_TYPE_SET
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
            return types[i].dtype;
    }
    return GANTRY_DTYPE_NONE;
}

static int read_type(text_t *t) {
    size_t length = strcspn(t->at, "[");
    t->out->dtype = find_type(t->at, length);
    if (t->out->dtype == GANTRY_DTYPE_NONE || t->at[length] != '[')
        return refuse(t, "unknown type %.*s", (int)length, t->at);
    t->element = gantry_dtype_size(t->out->dtype);
    t->at += length + 1;
    return 0;
}

static int read_sizes(text_t *t) {
    gantry_shape_t *shape = &t->out->shape;
    *shape = (gantry_shape_t){.rank = 0};
    while (*t->at >= '0' && *t->at <= '9') {
        char *end;
        if (shape->rank == GANTRY_MAX_RANK)
            return refuse(t, "a shape of at most %d sizes was expected", GANTRY_MAX_RANK);
        shape->dims[shape->rank++] = strtoll(t->at, &end, 10);
        t->at = *end == ',' ? end + 1 : end;
    }
    if (*t->at++ != ']') return refuse(t, "a tensor's shape does not end with ]");
    int64_t elements = gantry_shape_elements(shape);
    if (elements < 0 || elements > GOLDEN_LARGEST_TENSOR)
        return refuse(t, "a tensor's shape is too large");
    t->out->bytes = (size_t)elements * t->element;
    return 0;
}

/* ---- elements as numbers and as bytes ---- */

static bool is_end(char c) { return c == 0 || c == '*' || c == '#'; }

/* Stores the number at t->at as element `index`; returns the text after it, or NULL. */
static char *store_number(const text_t *t, size_t index) {
    char *end;
    errno = 0;
    if (golden_is_float(t->out->dtype)) {
        golden_store_number(t->out->dtype, t->out->data, index, strtod(t->at, &end));
        return end == t->at ? NULL : end;
    }
    uint64_t bits = *t->at == '-' ? (uint64_t)strtoll(t->at, &end, 10) : strtoull(t->at, &end, 10);
    golden_store_bits(t->out->data, t->element, index, bits);
    return end == t->at || errno ? NULL : end;
}

/* "number" or "number:count", with a comma where another one follows. */
static int read_run(text_t *t, size_t *count) {
    if (*count == t->room) return refuse(t, "a tensor has more than %zu elements", t->room);
    char *end = store_number(t, *count);
    unsigned long long times = end && *end == ':' ? strtoull(end + 1, &end, 10) : 1;
    bool goes_on = end && *end == ',' && !is_end(end[1]);
    if (!end || times == 0 || times > t->room - *count || !(goes_on || is_end(*end)))
        return refuse(t, "element %zu of a tensor is not a number", *count);
    unsigned char *bytes = t->out->data;
    for (size_t i = 1; i < times; ++i)
        memcpy(bytes + (*count + i) * t->element, bytes + *count * t->element, t->element);
    *count += (size_t)times;
    t->at = goes_on ? end + 1 : end;
    return 0;
}

static int read_numbers(text_t *t, size_t *out_count) {
    while (!is_end(*t->at)) {
        if (read_run(t, out_count)) return -1;
    }
    return 0;
}

static int sextet(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* Base64 without the signs that fill the last group. */
static int read_bytes(text_t *t, size_t *out_count) {
    unsigned char *bytes = t->out->data;
    size_t count = 0, limit = t->room * t->element;
    uint32_t bits = 0;
    int held = 0;
    for (; !is_end(*t->at); ++t->at) {
        int value = sextet(*t->at);
        if (value < 0) return refuse(t, "a tensor's data are not base64 at '%c'", *t->at);
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held < 8) continue;
        if (count == limit) return refuse(t, "a tensor has data of more than %zu bytes", limit);
        held -= 8;
        bytes[count++] = (unsigned char)(bits >> held);
    }
    if (count % t->element)
        return refuse(t, "a tensor has data of %zu bytes, and elements of %zu", count, t->element);
    golden_to_host_order(bytes, count, t->out->dtype);
    *out_count = count / t->element;
    return 0;
}

static int read_plain(text_t *t, size_t *out_count) {
    if (*t->at != '=' && (GANTRY_DTYPE_BIT(t->out->dtype) & GANTRY_DTYPES_COMPLEXES))
        return refuse(t, "a tensor of complex numbers has no numbers but bytes");
    if (*t->at != '=') return read_numbers(t, out_count);
    t->at++;
    return read_bytes(t, out_count);
}

/* ---- the data ---- */

/* "~seed" or "~seed*count" */
static int read_drawn(text_t *t, size_t *out_count) {
    char *end;
    uint64_t seed = strtoull(t->at + 1, &end, 10);
    uint64_t count = *end == '*' ? strtoull(end + 1, NULL, 10) : t->room;
    if (end == t->at + 1 || seed > UINT32_MAX || count == 0 || count > t->room)
        return refuse(t, "a tensor's data are not drawn as %s", t->at);
    t->at = *end == '*' ? end : end + strlen(end);
    if (golden_draw((uint32_t)seed, t->out->dtype, t->out->data, (size_t)count))
        return refuse(t, "a tensor of complex numbers is drawn");
    *out_count = (size_t)count;
    return 0;
}

static int read_sum(text_t *t) {
    char *end;
    t->out->sum = strtod(t->at + 2, &end);
    t->out->is_summed = true;
    bool is_sum = end != t->at + 2 && !*end && isfinite(t->out->sum);
    return is_sum ? 0 : refuse(t, "a sum is a number, not %s", t->at + 2);
}

/* "#" and a hash, or "#=" and a sum */
static int read_check(text_t *t) {
    char *end;
    if (*t->at != '#')
        return refuse(t, "samples end with \"%s\" in place of a hash or a sum", t->at);
    if (t->at[1] == '=') return read_sum(t);
    t->out->hash = strtoull(t->at + 1, &end, 16);
    t->out->is_hashed = true;
    return end == t->at + 17 && !*end ? 0 : refuse(t, "a hash has 16 digits, not %s", t->at + 1);
}

static int read_samples(text_t *t) {
    const char *check = strchr(t->at, '#');
    size_t wanted = check && check[1] != '=' ? GOLDEN_HASHED_SAMPLES : GOLDEN_SAMPLES;
    t->room = wanted;
    t->at++;
    if (read_plain(t, &t->out->sample_count)) return -1;
    if (t->out->sample_count != wanted)
        return refuse(t, "there are %zu samples instead of %zu", t->out->sample_count, wanted);
    return read_check(t);
}

static int read_all(text_t *t) {
    size_t count = 0;
    if (*t->at == '~' ? read_drawn(t, &count) : read_plain(t, &count)) return -1;
    bool is_cycled = *t->at == '*';
    if (count == 0 || (count != t->room && !is_cycled) || *t->at == '#') {
        return refuse(t, "a tensor of %zu elements has data of %zu", t->room, count);
    }
    unsigned char *bytes = t->out->data;
    size_t given = count * t->element;
    for (size_t i = given; i < t->out->bytes; ++i) bytes[i] = bytes[i - given];
    return 0;
}

static int read_data(text_t *t) {
    size_t least = GOLDEN_SAMPLES * t->element;
    t->room = t->out->bytes / t->element;
    t->out->data = malloc(t->out->bytes > least ? t->out->bytes : least);
    if (!t->out->data) return refuse(t, "out of memory");
    if (t->room == 0) return *t->at ? refuse(t, "a tensor without elements has data") : 0;
    if (*t->at++ != ' ') return refuse(t, "a tensor has no data");
    return *t->at == '?' ? read_samples(t) : read_all(t);
}

int golden_read_tensor(const char *text, golden_tensor_t *out, char *why, size_t why_bytes) {
    text_t t = {.at = text, .out = out, .why = why, .why_bytes = why_bytes};
    *out = (golden_tensor_t){.data = NULL};
    if (read_type(&t) || read_sizes(&t)) return -1;
    return read_data(&t);
}

size_t golden_sample_place(size_t count, size_t sample) {
    if (sample < 2) return sample == 0 ? 0 : count - 1;
    uint32_t part = (uint32_t)(sample - 1) * UINT32_C(0x9e3779b1);
    return (size_t)((uint64_t)part * count >> 32);
}
