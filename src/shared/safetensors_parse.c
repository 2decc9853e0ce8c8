/* SPDX-License-Identifier: Apache-2.0 */
/* A cursor over the header that never passes its end; the first failure ends the parse. Decoded
 * strings go to one block, of the header's length: a string without its quotes and with a
 * terminator is shorter than with them. Sorting finds duplicates and gaps, so that the time is O(n
 * log n) for n tensors. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/safetensors.h"
#include "shared/safetensors_types.h"

#define QUOTED_BYTES 24 /* of the header in a message */
#define NAME_FORMAT "%.200s"
#define SAFE_DIGITS 18 /* of any number below 2^63 */

typedef struct json_t {
    const char *begin, *at, *end;
    char *strings; /* the next free byte */
    gantry__safetensors_t *out;
} json_t;

/* ---- memory ---- */

static void safetensors_parse_free(const gantry__safetensors_t *header, void *ptr, size_t bytes) {
    if (ptr) (void)header->memory.reallocate(header->memory.user, ptr, bytes, 0);
}

/* Makes room for one more item in a growing array, by doubling. */
static bool safetensors_parse_grow(const gantry__safetensors_t *header, void *items_ptr,
                                   size_t count, size_t *capacity, size_t item_bytes) {
    const gantry__safetensors_memory_t *memory = &header->memory;
    const size_t wanted = *capacity ? 2 * *capacity : 8;
    void *items;
    if (count < *capacity) return true;
    memcpy(&items, items_ptr, sizeof items);
    void *grown =
        memory->reallocate(memory->user, items, *capacity * item_bytes, wanted * item_bytes);
    if (!grown) return false;
    memcpy(items_ptr, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

/* ---- tokens ---- */

static void json_skip_blanks(json_t *json) {
    while (json->at < json->end &&
           (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r'))
        ++json->at;
}

static bool json_peek(json_t *json, char wanted) {
    json_skip_blanks(json);
    return json->at < json->end && *json->at == wanted;
}

static bool json_take(json_t *json, char wanted) {
    if (!json_peek(json, wanted)) return false;
    ++json->at;
    return true;
}

static gantry_status_t json_fail(json_t *json, const char *wanted) {
    char found[QUOTED_BYTES + 1];
    size_t length = 0;
    json_skip_blanks(json);
    const size_t place = (size_t)(json->at - json->begin);
    for (; length < QUOTED_BYTES && json->at + length < json->end; ++length) {
        const char byte = json->at[length];
        found[length] = byte >= ' ' && byte <= '~' ? byte : '?';
    }
    found[length] = '\0';
    if (length == 0)
        return gantry__fail(GANTRY_DATA_LOSS, "the header ends at byte %zu; %s is expected", place,
                            wanted);
    return gantry__fail(GANTRY_DATA_LOSS, "the header has '%s' at byte %zu; %s is expected", found,
                        place, wanted);
}

static gantry_status_t json_expect(json_t *json, char wanted, const char *name) {
    return json_take(json, wanted) ? GANTRY_OK : json_fail(json, name);
}

/* Whether a list or an object has one more entry; the first one needs no comma. */
static gantry_status_t json_more(json_t *json, char close, bool is_first, bool *out_more) {
    *out_more = false;
    if (json_take(json, close)) return GANTRY_OK;
    if (!is_first && !json_take(json, ','))
        return json_fail(json, close == '}' ? "',' or '}'" : "',' or ']'");
    *out_more = true;
    return GANTRY_OK;
}

static inline bool json_is_digit(char c) { return c >= '0' && c <= '9'; }

static gantry_status_t json_number(json_t *json, uint64_t *out) {
    static const char wanted[] = "a whole number below 2^63";
    json_skip_blanks(json);
    const char *begin = json->at, *at = begin;
    uint64_t number = 0;
    for (; at < json->end && json_is_digit(*at); ++at) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (at - begin >= SAFE_DIGITS && number > ((uint64_t)INT64_MAX - digit) / 10) break;
        number = number * 10 + digit;
    }
    const bool leads_with_zero = at - begin > 1 && *begin == '0';
    const bool goes_on =
        at < json->end && (json_is_digit(*at) || *at == '.' || *at == 'e' || *at == 'E');
    if (at == begin || leads_with_zero || goes_on) return json_fail(json, wanted);
    *out = number;
    json->at = at;
    return GANTRY_OK;
}

/* ---- strings ---- */

size_t gantry__safetensors_utf8(const char *text, size_t left) {
    const unsigned char *at = (const unsigned char *)text;
    if (left == 0) return 0;
    if (at[0] < 0x80) return 1;
    const size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || length > left) return 0;
    for (size_t i = 1; i < length; ++i) {
        if ((at[i] & 0xc0) != 0x80) return 0;
    }
    const bool is_long_form = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    const bool is_surrogate = at[0] == 0xed && at[1] > 0x9f;
    const bool is_beyond = at[0] == 0xf4 && at[1] > 0x8f;
    return is_long_form || is_surrogate || is_beyond ? 0 : length;
}

static void safetensors_parse_put_character(json_t *json, uint32_t code) {
    char *out = json->strings;
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    json->strings = out;
}

static bool take_hex(json_t *json, uint32_t *out) {
    *out = 0;
    if (json->end - json->at < 4) return false;
    for (int i = 0; i < 4; ++i) {
        const char c = *json->at++;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

/* \uXXXX, or two of them that make one character. */
static bool take_unicode(json_t *json) {
    uint32_t code, low;
    if (!take_hex(json, &code) || code == 0) return false;
    if (code >= 0xdc00 && code <= 0xdfff) return false;
    if (code >= 0xd800 && code <= 0xdbff) {
        if (json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u') return false;
        json->at += 2;
        if (!take_hex(json, &low) || low < 0xdc00 || low > 0xdfff) return false;
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    }
    safetensors_parse_put_character(json, code);
    return true;
}

static bool take_escape(json_t *json) {
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    ++json->at;
    if (json->at == json->end) return false;
    const char name = *json->at++;
    if (name == 'u') return take_unicode(json);
    const char *found = name ? strchr(names, name) : NULL;
    if (!found) return false;
    *json->strings++ = meanings[found - names];
    return true;
}

static bool take_character(json_t *json) {
    if (*json->at == '\\') return take_escape(json);
    const size_t length = gantry__safetensors_utf8(json->at, (size_t)(json->end - json->at));
    if (length == 0 || (unsigned char)*json->at < ' ') return false;
    memcpy(json->strings, json->at, length);
    json->strings += length;
    json->at += length;
    return true;
}

/* Nearly all characters are plain. */
static void take_plain_characters(json_t *json) {
    const char *at = json->at, *const end = json->end;
    char *to = json->strings;
    while (at < end && *at >= ' ' && *at <= '~' && *at != '\\' && *at != '"') *to++ = *at++;
    json->at = at;
    json->strings = to;
}

static gantry_status_t json_string(json_t *json, const char *wanted, const char **out) {
    if (!json_take(json, '"')) return json_fail(json, wanted);
    *out = json->strings;
    for (take_plain_characters(json); json->at < json->end && *json->at != '"';
         take_plain_characters(json)) {
        const char *before = json->at;
        if (take_character(json)) continue;
        json->at = before;
        return json_fail(json, "a character of a string, in UTF-8 and not zero,");
    }
    if (!json_take(json, '"')) return json_fail(json, "'\"'");
    *json->strings++ = '\0';
    return GANTRY_OK;
}

/* ---- a tensor ---- */

enum { DTYPE_FIELD, SHAPE_FIELD, OFFSETS_FIELD, FIELD_COUNT };
static const char *const field_names[] = {"dtype", "shape", "data_offsets"};

static gantry_status_t parse_dtype(json_t *json, gantry__safetensors_tensor_t *tensor) {
    const gantry__safetensors_t *out = json->out;
    GANTRY__TRY(json_string(json, "the name of a type", &tensor->type_name));
    const gantry__safetensors_tensor_t *before =
        out->count > 0 ? &out->tensors[out->count - 1] : NULL;
    const bool is_alike = before && strcmp(before->type_name, tensor->type_name) == 0;
    tensor->dtype = is_alike ? before->dtype : gantry__safetensors_type(tensor->type_name);
    return GANTRY_OK;
}

gantry_status_t gantry__safetensors_check_readable(const gantry__safetensors_tensor_t *tensor) {
    if (tensor->dtype == GANTRY_DTYPE_NONE) {
        return gantry__fail(
            GANTRY_UNIMPLEMENTED,
            "the dtype of tensor '" NAME_FORMAT
            "' is %.20s; BOOL, U8 to U64, I8 to I64, F16, BF16, F32, F64 and C64 are accepted",
            tensor->name, tensor->type_name);
    }
    if (tensor->dim_count <= GANTRY_MAX_RANK) return GANTRY_OK;
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "tensor '" NAME_FORMAT "' has %" PRIu64
                        " dimensions, more than the %d dimensions accepted",
                        tensor->name, tensor->dim_count, GANTRY_MAX_RANK);
}

static gantry_status_t parse_shape(json_t *json, gantry__safetensors_tensor_t *tensor) {
    bool more;
    uint64_t dim;
    GANTRY__TRY(json_expect(json, '[', "'['"));
    tensor->dim_count = 0;
    for (tensor->shape.rank = 0;; ++tensor->dim_count) {
        GANTRY__TRY(json_more(json, ']', tensor->shape.rank == 0, &more));
        if (!more) return GANTRY_OK;
        GANTRY__TRY(json_number(json, &dim));
        if (tensor->dim_count < GANTRY_MAX_RANK)
            tensor->shape.dims[tensor->shape.rank++] = (int64_t)dim;
    }
}

static gantry_status_t parse_offsets(json_t *json, gantry__safetensors_tensor_t *tensor) {
    GANTRY__TRY(json_expect(json, '[', "'['"));
    GANTRY__TRY(json_number(json, &tensor->begin));
    GANTRY__TRY(json_expect(json, ',', "','"));
    GANTRY__TRY(json_number(json, &tensor->end));
    return json_expect(json, ']', "']'");
}

static inline bool take_literal(json_t *json, const char *literal, size_t length) {
    if ((size_t)(json->end - json->at) < length || memcmp(json->at, literal, length) != 0)
        return false;
    json->at += length;
    return true;
}

/* Takes a key that is written plainly, as nearly all are; FIELD_COUNT: it is none. */
static unsigned take_plain_field(json_t *json) {
#define TAKE(key) take_literal(json, "\"" key "\"", sizeof key + 1)
    json_skip_blanks(json);
    return TAKE("dtype")
    ? DTYPE_FIELD : TAKE("shape")
    ? SHAPE_FIELD : TAKE("data_offsets")
    ? OFFSETS_FIELD: FIELD_COUNT;
#undef TAKE
}

static gantry_status_t parse_field_key(json_t *json, const char **out_key, unsigned *out_field) {
    unsigned field = take_plain_field(json);
    if (field < FIELD_COUNT) {
        *out_key = field_names[field];
    } else {
        GANTRY__TRY(json_string(json, "a key", out_key));
        for (field = 0; field < FIELD_COUNT && strcmp(*out_key, field_names[field]) != 0;) ++field;
    }
    *out_field = field;
    return GANTRY_OK;
}

/* seen: a bit for each field. */
static gantry_status_t parse_field(json_t *json, gantry__safetensors_tensor_t *tensor,
                                   unsigned *seen) {
    const char *key = NULL;
    unsigned field = FIELD_COUNT;
    GANTRY__TRY(parse_field_key(json, &key, &field));
    if (field == FIELD_COUNT || (*seen >> field & 1)) {
        return gantry__fail(
            GANTRY_DATA_LOSS,
            "tensor '" NAME_FORMAT
            "' has %s key '%.20s'; dtype, shape and data_offsets are accepted, once each",
            tensor->name, field < FIELD_COUNT ? "a second" : "an unknown", key);
    }
    *seen |= 1u << field;
    GANTRY__TRY(json_expect(json, ':', "':'"));
    if (field == DTYPE_FIELD) return parse_dtype(json, tensor);
    return field == SHAPE_FIELD ? parse_shape(json, tensor) : parse_offsets(json, tensor);
}

static gantry_status_t safetensors_parse_check_tensor(const gantry__safetensors_tensor_t *tensor,
                                                      unsigned seen) {
    for (unsigned field = 0; field < FIELD_COUNT; ++field) {
        if (!(seen >> field & 1))
            return gantry__fail(GANTRY_DATA_LOSS, "tensor '" NAME_FORMAT "' has no %s",
                                tensor->name, field_names[field]);
    }
    /* a size that Gantry does not know */
    const bool is_foreign =
        tensor->dtype == GANTRY_DTYPE_NONE || tensor->dim_count > GANTRY_MAX_RANK;
    const int64_t elements = gantry_shape_elements(&tensor->shape);
    const size_t item = gantry_dtype_size(tensor->dtype);
    const bool has_size = !is_foreign && elements >= 0 && (uint64_t)elements <= SIZE_MAX / 2 / item;
    if (tensor->end >= tensor->begin &&
        (is_foreign || (has_size && tensor->end - tensor->begin == (uint64_t)elements * item)))
        return GANTRY_OK;
    char shape[GANTRY_MAX_RANK * 24];
    (void)gantry_shape_format(&tensor->shape, shape, sizeof shape);
    return gantry__fail(GANTRY_DATA_LOSS,
                        "the data_offsets of tensor '" NAME_FORMAT "' are %" PRIu64 " and %" PRIu64
                        "; offsets that differ by the size of %s %s are accepted",
                        tensor->name, tensor->begin, tensor->end, tensor->type_name, shape);
}

static gantry_status_t parse_tensor(json_t *json, const char *name) {
    gantry__safetensors_t *out = json->out;
    if (!safetensors_parse_grow(out, &out->tensors, out->count, &out->capacity,
                                sizeof out->tensors[0]))
        return GANTRY_RESOURCE_EXHAUSTED;
    gantry__safetensors_tensor_t *tensor = &out->tensors[out->count];
    *tensor = (gantry__safetensors_tensor_t){.name = name};
    unsigned seen = 0;
    bool more;
    GANTRY__TRY(json_expect(json, '{', "'{'"));
    for (bool is_first = true;; is_first = false) {
        GANTRY__TRY(json_more(json, '}', is_first, &more));
        if (!more) break;
        GANTRY__TRY(parse_field(json, tensor, &seen));
    }
    GANTRY__TRY(safetensors_parse_check_tensor(tensor, seen));
    ++out->count;
    return GANTRY_OK;
}

/* ---- the object ---- */

static gantry_status_t parse_texts(json_t *json) {
    gantry__safetensors_t *out = json->out;
    bool more;
    GANTRY__TRY(json_expect(json, '{', "'{'"));
    for (;; ++out->text_count) {
        GANTRY__TRY(json_more(json, '}', out->text_count == 0, &more));
        if (!more) return GANTRY_OK;
        if (!safetensors_parse_grow(out, &out->texts, out->text_count, &out->text_capacity,
                                    sizeof out->texts[0]))
            return GANTRY_RESOURCE_EXHAUSTED;
        gantry__safetensors_text_t *text = &out->texts[out->text_count];
        GANTRY__TRY(json_string(json, "a key", &text->key));
        GANTRY__TRY(json_expect(json, ':', "':'"));
        GANTRY__TRY(json_string(json, "a text", &text->value));
    }
}

static gantry_status_t parse_object(json_t *json) {
    bool more, has_texts = false;
    GANTRY__TRY(json_expect(json, '{', "'{'"));
    for (bool is_first = true;; is_first = false) {
        const char *name = NULL;
        GANTRY__TRY(json_more(json, '}', is_first, &more));
        if (!more) break;
        GANTRY__TRY(json_string(json, "the name of a tensor", &name));
        GANTRY__TRY(json_expect(json, ':', "':'"));
        if (strcmp(name, "__metadata__") != 0) {
            GANTRY__TRY(parse_tensor(json, name));
        } else if (has_texts) {
            return gantry__fail(GANTRY_DATA_LOSS, "the header has two keys '__metadata__'");
        } else {
            has_texts = true;
            GANTRY__TRY(parse_texts(json));
        }
    }
    json_skip_blanks(json);
    return json->at == json->end ? GANTRY_OK : json_fail(json, "nothing more");
}

/* ---- the whole ---- */

static int compare_offsets(const void *left, const void *right) {
    const gantry__safetensors_tensor_t *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return a->end == b->end ? 0 : a->end < b->end ? -1 : 1;
}

static int safetensors_parse_compare_names(const void *left, const void *right) {
    const gantry__safetensors_tensor_t *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int safetensors_parse_compare_keys(const void *left, const void *right) {
    const gantry__safetensors_text_t *a = left, *b = right;
    return strcmp(a->key, b->key);
}

/* Sorts what is not in order already: writers put tensors in the order of their offsets. */
static void safetensors_parse_sort(void *items, size_t count, size_t item_bytes,
                                   int (*compare)(const void *, const void *)) {
    const char *item = items;
    for (size_t i = 1; i < count; ++i, item += item_bytes) {
        if (compare(item, item + item_bytes) <= 0) continue;
        qsort(items, count, item_bytes, compare);
        return;
    }
}

/* The tensors, in the order of their offsets, fill the data without gaps. */
static gantry_status_t check_offsets(gantry__safetensors_t *header, uint64_t data_bytes) {
    uint64_t at = 0;
    safetensors_parse_sort(header->tensors, header->count, sizeof header->tensors[0],
                           compare_offsets);
    for (size_t i = 0; i < header->count; ++i) {
        const gantry__safetensors_tensor_t *tensor = &header->tensors[i];
        if (tensor->end > data_bytes) {
            return gantry__fail(GANTRY_DATA_LOSS,
                                "tensor '" NAME_FORMAT "' ends at byte %" PRIu64
                                " of the data, which has %" PRIu64 " bytes: the file is truncated",
                                tensor->name, tensor->end, data_bytes);
        }
        if (tensor->begin != at) {
            return gantry__fail(GANTRY_DATA_LOSS,
                                tensor->begin < at
                                    ? "tensor '" NAME_FORMAT "' begins at byte %" PRIu64
                                      " of the data, inside of another one, which ends at %" PRIu64
                                    : "tensor '" NAME_FORMAT "' begins at byte %" PRIu64
                                      " of the data, and no tensor has the bytes from %" PRIu64
                                      " on",
                                tensor->name, tensor->begin, at);
        }
        at = tensor->end;
    }
    if (at == data_bytes) return GANTRY_OK;
    return gantry__fail(GANTRY_DATA_LOSS,
                        "%" PRIu64 " bytes follow the last tensor, and belong to none",
                        data_bytes - at);
}

static gantry_status_t safetensors_parse_check_names(gantry__safetensors_t *header) {
    safetensors_parse_sort(header->tensors, header->count, sizeof header->tensors[0],
                           safetensors_parse_compare_names);
    safetensors_parse_sort(header->texts, header->text_count, sizeof header->texts[0],
                           safetensors_parse_compare_keys);
    for (size_t i = 1; i < header->count; ++i) {
        if (safetensors_parse_compare_names(&header->tensors[i - 1], &header->tensors[i]) != 0)
            continue;
        return gantry__fail(GANTRY_DATA_LOSS, "two tensors have the name '" NAME_FORMAT "'",
                            header->tensors[i].name);
    }
    for (size_t i = 1; i < header->text_count; ++i) {
        if (safetensors_parse_compare_keys(&header->texts[i - 1], &header->texts[i]) != 0) continue;
        return gantry__fail(GANTRY_DATA_LOSS, "two texts have the key '" NAME_FORMAT "'",
                            header->texts[i].key);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__safetensors_length(const unsigned char bytes[8], uint64_t file_bytes,
                                           uint64_t *out_header_bytes) {
    uint64_t length = 0;
    for (int i = 0; i < GANTRY__SAFETENSORS_LENGTH_BYTES; ++i)
        length |= (uint64_t)bytes[i] << (8 * i);
    *out_header_bytes = length;
    if (length > GANTRY__SAFETENSORS_HEADER_BYTES) {
        return gantry__refuse("it is no safetensors file: it begins with a length of %" PRIu64
                              " bytes; a header of at most %" PRIu64 " bytes is accepted",
                              length, GANTRY__SAFETENSORS_HEADER_BYTES);
    }
    if (length <= file_bytes - GANTRY__SAFETENSORS_LENGTH_BYTES) return GANTRY_OK;
    return gantry__fail(GANTRY_DATA_LOSS,
                        "the header has %" PRIu64 " bytes, but only %" PRIu64
                        " follow: the file is truncated",
                        length, file_bytes - GANTRY__SAFETENSORS_LENGTH_BYTES);
}

gantry_status_t gantry__safetensors_parse(const gantry__safetensors_memory_t *memory,
                                          const char *header, size_t header_bytes,
                                          uint64_t data_bytes, gantry__safetensors_t *out) {
    *out = (gantry__safetensors_t){.memory = *memory, .string_bytes = header_bytes};
    if (header_bytes == 0 || header[0] != '{')
        return gantry__refuse("it is no safetensors file: its header does not begin with '{'");
    out->strings = memory->reallocate(memory->user, NULL, 0, header_bytes);
    if (!out->strings) return GANTRY_RESOURCE_EXHAUSTED;
    json_t json = {header, header, header + header_bytes, out->strings, out};
    GANTRY__TRY(parse_object(&json));
    GANTRY__TRY(check_offsets(out, data_bytes));
    return safetensors_parse_check_names(out);
}

void gantry__safetensors_deinit(gantry__safetensors_t *header) {
    safetensors_parse_free(header, header->tensors, header->capacity * sizeof *header->tensors);
    safetensors_parse_free(header, header->texts, header->text_capacity * sizeof *header->texts);
    safetensors_parse_free(header, header->strings, header->string_bytes);
    *header = (gantry__safetensors_t){.count = 0};
}

const gantry__safetensors_tensor_t *gantry__safetensors_find(const gantry__safetensors_t *header,
                                                             const char *name) {
    const gantry__safetensors_tensor_t wanted = {.name = name};
    return header->count == 0 ? NULL
                              : bsearch(&wanted, header->tensors, header->count, sizeof wanted,
                                        safetensors_parse_compare_names);
}
