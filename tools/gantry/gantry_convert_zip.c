/* SPDX-License-Identifier: Apache-2.0 */
/* Reads .npz files: .zip archives of .npy files.
 *
 *     local head, name, extra, data   for each entry
 *     central directory               for each entry its head again, with sizes and its offset
 *     (64-bit end record, locator)    if a number needs more than 32 bits
 *     end record
 *
 * The central directory is believed only where the rest agrees: entries lie in front of it, do not
 * overlap (an overlap is how small archives become huge), have the same name in their local head,
 * and have the checksum that is stated. Names that would leave a folder are refused although
 * nothing is unpacked: whoever unpacks a copy is safe, too. */
#include <stdlib.h>
#include <string.h>

#include "gantry_convert.h"

#define END_BYTES 22u
#define END64_BYTES 56u
#define LOCATOR_BYTES 20u
#define CENTRAL_BYTES 46u
#define LOCAL_BYTES 30u
#define MOST_COMMENT_BYTES 65535u
#define MOST_RATIO 1032u /* the best that DEFLATE can do */

typedef struct zip_t {
    const char *path;
    const unsigned char *bytes;
    uint64_t size;
    uint64_t directory, directory_bytes, count;
} zip_t;

typedef struct entry_t {
    char *name; /* without ".npy"; owned */
    const unsigned char *data;
    uint64_t begin, end; /* in the archive, with the local head */
    uint64_t stored_bytes, bytes;
    uint32_t crc;
    unsigned method;
} entry_t;

typedef struct range_t {
    uint64_t begin, end;
    const char *name;
} range_t;

/* ---- numbers ---- */

static uint64_t number(const unsigned char *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i) value = value << 8 | at[i];
    return value;
}

static bool is_signature(const unsigned char *at, uint32_t signature) {
    return number(at, 4) == signature;
}

static bool refuse(const zip_t *zip, const char *name, const char *why) {
    if (*name) (void)gantry_tool_fail("%s: the entry \"%.200s\" %s", zip->path, name, why);
    if (!*name) (void)gantry_tool_fail("%s: it is no .npz file: %s", zip->path, why);
    return false;
}

/* ---- the end records ---- */

static bool find_end(const zip_t *zip, uint64_t *out_at) {
    if (zip->size < END_BYTES) return false;
    for (uint64_t comment = 0; comment <= MOST_COMMENT_BYTES && comment + END_BYTES <= zip->size;
         ++comment) {
        const unsigned char *at = zip->bytes + zip->size - END_BYTES - comment;
        if (!is_signature(at, 0x06054b50) || number(at + 20, 2) != comment) continue;
        *out_at = zip->size - END_BYTES - comment;
        return true;
    }
    return false;
}

static bool read_end64(zip_t *zip, uint64_t end, uint64_t *out_end) {
    if (end < LOCATOR_BYTES + END64_BYTES) return false;
    const unsigned char *locator = zip->bytes + end - LOCATOR_BYTES;
    if (!is_signature(locator, 0x07064b50)) return false;
    *out_end = number(locator + 8, 8);
    if (*out_end > end - LOCATOR_BYTES - END64_BYTES) return false;
    const unsigned char *at = zip->bytes + *out_end;
    if (!is_signature(at, 0x06064b50)) return false;
    zip->count = number(at + 32, 8);
    zip->directory_bytes = number(at + 40, 8);
    zip->directory = number(at + 48, 8);
    return true;
}

static bool read_end(zip_t *zip) {
    uint64_t end;
    if (!find_end(zip, &end)) return refuse(zip, "", "it has no end record, or is cut");
    const unsigned char *at = zip->bytes + end;
    zip->count = number(at + 10, 2);
    zip->directory_bytes = number(at + 12, 4);
    zip->directory = number(at + 16, 4);
    const bool is_long =
        zip->count == 0xffff || zip->directory_bytes == 0xffffffff || zip->directory == 0xffffffff;
    if (is_long && !read_end64(zip, end, &end))
        return refuse(zip, "", "its 64-bit end record is damaged");
    if (zip->directory > end || zip->directory_bytes > end - zip->directory ||
        zip->count > zip->directory_bytes / CENTRAL_BYTES)
        return refuse(zip, "", "its directory does not fit into the file");
    return true;
}

/* ---- names ---- */

/* The bytes of the UTF-8 character at text; 0: malformed. */
static size_t utf8_bytes(const unsigned char *at) {
    const size_t length = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    if (*at > 0xf4) return 0;
    for (size_t i = 1; i < length; ++i) {
        if ((at[i] & 0xc0) != 0x80) return 0;
    }
    return length;
}

static bool is_dots(const char *part, size_t length) {
    return length == 0 || (length == 1 && part[0] == '.') ||
           (length == 2 && part[0] == '.' && part[1] == '.');
}

bool convert_zip_name_is_safe(const char *name, const char **out_why) {
    *out_why = "is empty";
    if (!*name) return false;
    *out_why = "is not valid UTF-8, or has control characters or backslashes";
    for (const unsigned char *at = (const unsigned char *)name; *at;) {
        const size_t length = utf8_bytes(at);
        if (length == 0 || *at < ' ' || *at == 0x7f || *at == '\\') return false;
        at += length;
    }
    *out_why = "is a path that leaves its folder";
    if (name[1] == ':') return false;
    for (const char *part = name;; part += strcspn(part, "/") + 1) {
        const size_t length = strcspn(part, "/");
        if (is_dots(part, length)) return false;
        if (!part[length]) return true;
    }
}

static bool take_name(const zip_t *zip, const unsigned char *bytes, size_t length, entry_t *out) {
    const char *why;
    if (memchr(bytes, '\0', length)) return refuse(zip, "", "the name of an entry has a zero byte");
    out->name = malloc(length + 1);
    if (!out->name) return refuse(zip, "", "there is no memory for the name of an entry");
    memcpy(out->name, bytes, length);
    out->name[length] = '\0';
    if (length < 4 || strcmp(out->name + length - 4, ".npy") != 0)
        return refuse(zip, out->name, "is no .npy file");
    out->name[length - 4] = '\0';
    if (convert_zip_name_is_safe(out->name, &why)) return true;
    (void)gantry_tool_fail("%s: the name of the entry \"%.200s\" %s", zip->path, out->name, why);
    return false;
}

/* ---- entries ---- */

/* Sizes of more than 32 bits stand in an extra field, in this order, where they are needed. */
static bool take_long_sizes(const unsigned char *extra, size_t length, entry_t *out) {
    uint64_t *const wanted[] = {out->bytes == 0xffffffff ? &out->bytes : NULL,
                                out->stored_bytes == 0xffffffff ? &out->stored_bytes : NULL,
                                out->begin == 0xffffffff ? &out->begin : NULL};
    if (!wanted[0] && !wanted[1] && !wanted[2]) return true;
    for (size_t at = 0; length - at >= 4;) {
        const size_t size = (size_t)number(extra + at + 2, 2);
        if (size > length - at - 4) return false;
        if (number(extra + at, 2) == 1) {
            size_t used = 0;
            for (int i = 0; i < 3; ++i) {
                if (!wanted[i]) continue;
                if (used + 8 > size) return false;
                *wanted[i] = number(extra + at + 4 + used, 8);
                used += 8;
            }
            return true;
        }
        at += 4 + size;
    }
    return false;
}

/* The data lies behind the local head, whose extra field has a length of its own. */
static bool find_data(const zip_t *zip, const unsigned char *name, size_t name_bytes,
                      entry_t *entry) {
    if (zip->directory < LOCAL_BYTES || entry->begin > zip->directory - LOCAL_BYTES)
        return refuse(zip, entry->name, "does not lie in front of the directory");
    const unsigned char *local = zip->bytes + entry->begin;
    const uint64_t head = LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
    if (!is_signature(local, 0x04034b50) || head > zip->directory - entry->begin ||
        number(local + 26, 2) != name_bytes || memcmp(local + LOCAL_BYTES, name, name_bytes) != 0)
        return refuse(zip, entry->name, "has a damaged head, or one of another name");
    if (entry->stored_bytes > zip->directory - entry->begin - head)
        return refuse(zip, entry->name, "reaches beyond the directory");
    entry->data = local + head;
    entry->end = entry->begin + head + entry->stored_bytes;
    return true;
}

static bool check_method(const zip_t *zip, const entry_t *entry, unsigned flags) {
    if (flags & 1) return refuse(zip, entry->name, "is encrypted");
    if (entry->method != 0 && entry->method != 8)
        return refuse(zip, entry->name,
                      "is compressed by another method than DEFLATE, which alone is accepted");
    const bool is_right = entry->method == 0 ? entry->bytes == entry->stored_bytes
                                             : entry->bytes / MOST_RATIO <= entry->stored_bytes;
    return is_right || refuse(zip, entry->name, "states an impossible size");
}

/* Reads the head at *at of the central directory, and moves *at behind it. */
static bool read_entry(const zip_t *zip, uint64_t *at, entry_t *out) {
    const unsigned char *head = zip->bytes + *at;
    const uint64_t left = zip->directory + zip->directory_bytes - *at;
    if (left < CENTRAL_BYTES || !is_signature(head, 0x02014b50))
        return refuse(zip, "", "its directory is damaged");
    const size_t name_bytes = (size_t)number(head + 28, 2), extra = (size_t)number(head + 30, 2);
    const uint64_t bytes = CENTRAL_BYTES + name_bytes + extra + number(head + 32, 2);
    if (bytes > left) return refuse(zip, "", "its directory is damaged");
    *at += bytes;
    out->method = (unsigned)number(head + 10, 2);
    out->crc = (uint32_t)number(head + 16, 4);
    out->stored_bytes = number(head + 20, 4);
    out->bytes = number(head + 24, 4);
    out->begin = number(head + 42, 4);
    if (!take_name(zip, head + CENTRAL_BYTES, name_bytes, out)) return false;
    if (!take_long_sizes(head + CENTRAL_BYTES + name_bytes, extra, out))
        return refuse(zip, out->name, "has no size");
    return check_method(zip, out, (unsigned)number(head + 8, 2)) &&
           find_data(zip, head + CENTRAL_BYTES, name_bytes, out);
}

/* ---- arrays ---- */

static bool add_array(const zip_t *zip, const char *name, const unsigned char *bytes, size_t size,
                      convert_set_t *out) {
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    if (gantry_parse_npy(bytes, size, &dtype, &shape, NULL, 0) != GANTRY_OK) {
        (void)gantry_tool_fail("%s: the entry \"%.200s\": %s", zip->path, name,
                               gantry_last_message());
        return false;
    }
    convert_tensor_t *tensor = convert_set_add(out, zip->path, name, dtype, &shape);
    if (!tensor) return false;
    if (gantry_parse_npy(bytes, size, &dtype, &shape, tensor->data, tensor->bytes) == GANTRY_OK)
        return true;
    (void)gantry_tool_fail_last();
    return false;
}

static bool unpack(const zip_t *zip, const entry_t *entry, convert_set_t *out) {
    const unsigned char *bytes = entry->data;
    unsigned char *unpacked = NULL;
    bool is_whole = true;
    if (entry->method == 8) {
        unpacked = malloc(entry->bytes > 0 ? (size_t)entry->bytes : 1);
        if (!unpacked) return refuse(zip, entry->name, "needs more memory than there is");
        is_whole = convert_inflate(entry->data, (size_t)entry->stored_bytes, unpacked,
                                   (size_t)entry->bytes);
        bytes = unpacked;
    }
    is_whole = is_whole && convert_crc32(0, bytes, (size_t)entry->bytes) == entry->crc;
    const bool good = is_whole ? add_array(zip, entry->name, bytes, (size_t)entry->bytes, out)
                               : refuse(zip, entry->name, "is damaged: its checksum is wrong");
    free(unpacked);
    return good;
}

static int by_begin(const void *left, const void *right) {
    const range_t *a = left, *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int by_name(const void *left, const void *right) {
    return strcmp(((const range_t *)left)->name, ((const range_t *)right)->name);
}

/* The names belong to the set. */
static bool check_ranges(const zip_t *zip, range_t *ranges, size_t count) {
    if (count > 1) qsort(ranges, count, sizeof *ranges, by_begin);
    for (size_t i = 1; i < count; ++i) {
        if (ranges[i].begin < ranges[i - 1].end)
            return refuse(zip, ranges[i].name, "overlaps another one");
    }
    if (count > 1) qsort(ranges, count, sizeof *ranges, by_name);
    for (size_t i = 1; i < count; ++i) {
        if (strcmp(ranges[i].name, ranges[i - 1].name) == 0)
            return refuse(zip, ranges[i].name, "is there twice");
    }
    return true;
}

/* All heads are checked before the first entry is unpacked. */
static bool read_entries(const zip_t *zip, entry_t *entries, range_t *ranges) {
    uint64_t at = zip->directory;
    for (size_t i = 0; i < zip->count; ++i) {
        if (!read_entry(zip, &at, &entries[i])) return false;
        ranges[i] = (range_t){entries[i].begin, entries[i].end, entries[i].name};
    }
    return check_ranges(zip, ranges, (size_t)zip->count);
}

bool convert_zip_read(const char *path, const unsigned char *bytes, size_t size,
                      convert_set_t *out) {
    zip_t zip = {.path = path, .bytes = bytes, .size = size};
    if (!read_end(&zip)) return false;
    entry_t *entries = calloc((size_t)zip.count + 1, sizeof *entries);
    range_t *ranges = calloc((size_t)zip.count + 1, sizeof *ranges);
    bool good = entries && ranges;
    if (!good) (void)gantry_tool_fail("%s: there is no memory for its directory", path);
    good = good && read_entries(&zip, entries, ranges);
    for (size_t i = 0; good && i < zip.count; ++i) good = unpack(&zip, &entries[i], out);
    for (size_t i = 0; entries && i < zip.count; ++i) free(entries[i].name);
    free(entries);
    free(ranges);
    return good;
}
