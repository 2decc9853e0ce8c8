/* SPDX-License-Identifier: Apache-2.0 */
/* Lists .npz files: .zip archives of .npy files.
 *
 *     local head, name, extra, data   for each entry
 *     central directory               for each entry its head again, with sizes and its offset
 *     (64-bit end record, locator)    if a number needs more than 32 bits
 *     end record
 *
 * Only the directory, the local heads and the headers of the .npy files are read. The central
 * directory is believed only where the rest agrees: entries must be in front of it, must not
 * overlap (an overlap is how small archives become huge) and must have the same name in their local
 * head; loading compares the checksum. Where an entry cannot be read and its two heads state other
 * numbers, this is the damage that is named. Names that would leave a folder are refused although
 * nothing is unpacked, because whoever unpacks a copy must be safe, too. */
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "convert/lists.h"
#include "shared/printable.h"

#define END_BYTES 22u
#define END64_BYTES 56u
#define LOCATOR_BYTES 20u
#define CENTRAL_BYTES 46u
#define LOCAL_BYTES 30u
#define MOST_COMMENT_BYTES 65535u
#define MOST_NAME_BYTES 65535u
#define MOST_EXTRA_BYTES 65535u
#define MOST_CENTRAL_BYTES (CENTRAL_BYTES + 3u * 65535u) /* with name, extra and comment */
#define HEADS_DIFFER "is damaged: its head and the directory differ"
#define MOST_RATIO 1032u                   /* the best that DEFLATE can do */
#define DEFLATED_FRONT ((size_t)512 << 10) /* holds more than a header */

typedef struct zip_t {
    const convert_source_t *source;
    uint64_t directory, directory_bytes, count;
    unsigned char *heads; /* the directory */
} zip_t;

typedef struct entry_t {
    char *name;          /* owned; without ".npy" */
    const char *problem; /* constant text, or NULL */
    uint64_t begin, end; /* in the archive, with the local head */
    uint64_t at;         /* of the data */
    uint64_t stored_bytes, bytes;
    uint32_t crc;
    unsigned method, flags;
    bool is_npy, is_folder;
    bool differs; /* its local head states other numbers than the directory */
} entry_t;

typedef struct range_t {
    uint64_t begin, end;
    const char *name;
    bool is_npy;
} range_t;

/* ---- numbers ---- */

static uint64_t convert_zip_number(const unsigned char *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i) value = value << 8 | at[i];
    return value;
}

static bool is_signature(const unsigned char *at, uint32_t signature) {
    return convert_zip_number(at, 4) == signature;
}

static bool convert_zip_refuse(const zip_t *zip, const char *name, const char *why) {
    const char *path = zip->source->path;
    if (*name) (void)gantry_tool_fail("%s: the entry \"%.200s\" %s", path, name, why);
    if (!*name) (void)gantry_tool_fail("%s: it is no .npz file, or is damaged: %s", path, why);
    return false;
}

static bool convert_zip_no_memory(const zip_t *zip) {
    (void)gantry_tool_fail("%s: there is no memory for its directory", zip->source->path);
    return false;
}

/* ---- the end records ---- */

/* Searches the last bytes of the file, of which tail_bytes are at tail. */
static bool find_end(const unsigned char *tail, size_t tail_bytes, size_t *out_at) {
    if (tail_bytes < END_BYTES) return false;
    for (size_t comment = 0; comment <= MOST_COMMENT_BYTES && comment + END_BYTES <= tail_bytes;
         ++comment) {
        const unsigned char *at = tail + tail_bytes - END_BYTES - comment;
        if (!is_signature(at, 0x06054b50) || convert_zip_number(at + 20, 2) != comment) continue;
        *out_at = tail_bytes - END_BYTES - comment;
        return true;
    }
    return false;
}

static bool read_end64(zip_t *zip, uint64_t end, uint64_t *out_end) {
    unsigned char locator[LOCATOR_BYTES], record[END64_BYTES];
    if (end < LOCATOR_BYTES + END64_BYTES ||
        !convert_read_at(zip->source, end - LOCATOR_BYTES, locator, sizeof locator) ||
        !is_signature(locator, 0x07064b50))
        return false;
    *out_end = convert_zip_number(locator + 8, 8);
    if (*out_end > end - LOCATOR_BYTES - END64_BYTES ||
        !convert_read_at(zip->source, *out_end, record, sizeof record) ||
        !is_signature(record, 0x06064b50))
        return false;
    zip->count = convert_zip_number(record + 32, 8);
    zip->directory_bytes = convert_zip_number(record + 40, 8);
    zip->directory = convert_zip_number(record + 48, 8);
    return true;
}

static bool parse_end(zip_t *zip, const unsigned char *tail, size_t tail_bytes) {
    size_t place;
    if (!find_end(tail, tail_bytes, &place))
        return convert_zip_refuse(zip, "", "it has no whole end record");
    const unsigned char *at = tail + place;
    uint64_t end = zip->source->size - tail_bytes + place;
    zip->count = convert_zip_number(at + 10, 2);
    zip->directory_bytes = convert_zip_number(at + 12, 4);
    zip->directory = convert_zip_number(at + 16, 4);
    const bool is_long =
        zip->count == 0xffff || zip->directory_bytes == 0xffffffff || zip->directory == 0xffffffff;
    if (is_long && !read_end64(zip, end, &end))
        return convert_zip_refuse(zip, "", "its 64-bit end record is damaged");
    if (zip->directory > end || zip->directory_bytes > end - zip->directory ||
        zip->count > zip->directory_bytes / CENTRAL_BYTES ||
        zip->directory_bytes / MOST_CENTRAL_BYTES > zip->count)
        return convert_zip_refuse(zip, "", "its directory does not fit into the file");
    return true;
}

static bool read_directory(zip_t *zip) {
    const uint64_t size = zip->source->size, most = END_BYTES + MOST_COMMENT_BYTES;
    const size_t tail_bytes = (size_t)(size < most ? size : most);
    unsigned char *tail = malloc(tail_bytes + 1);
    bool good = tail && convert_read_at(zip->source, size - tail_bytes, tail, tail_bytes) &&
                parse_end(zip, tail, tail_bytes);
    free(tail);
    zip->heads = good ? malloc((size_t)zip->directory_bytes + 1) : NULL;
    if (good && !zip->heads) return convert_zip_no_memory(zip);
    return good &&
           convert_read_at(zip->source, zip->directory, zip->heads, (size_t)zip->directory_bytes);
}

/* ---- names ---- */

static bool is_dots(const char *part, size_t length) {
    return length == 0 || (length == 1 && part[0] == '.') ||
           (length == 2 && part[0] == '.' && part[1] == '.');
}

bool convert_zip_name_is_safe(const char *name, const char **out_why) {
    *out_why = "is empty";
    if (!*name) return false;
    *out_why = "is not valid UTF-8, or has control characters or backslashes";
    for (const char *at = name; *at;) {
        const size_t length = gantry__utf8_bytes(at);
        if (length == 0 || (unsigned char)*at < ' ' || *at == 0x7f || *at == '\\') return false;
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

/* A folder's entry ends with a slash. */
static bool take_name(const zip_t *zip, const unsigned char *bytes, size_t length, entry_t *out) {
    const char *why;
    if (memchr(bytes, '\0', length))
        return convert_zip_refuse(zip, "", "the name of an entry has a zero byte");
    out->name = malloc(length + 1);
    if (!out->name) return convert_zip_no_memory(zip);
    memcpy(out->name, bytes, length);
    out->name[length] = '\0';
    out->is_npy = length >= 4 && strcmp(out->name + length - 4, ".npy") == 0;
    if (out->is_npy) out->name[length - 4] = '\0';
    if (!out->is_npy) out->problem = "it is no .npy file";
    out->is_folder = !out->is_npy && length > 1 && out->name[length - 1] == '/';
    if (out->is_folder) out->name[length - 1] = '\0';
    if (convert_zip_name_is_safe(out->name, &why)) return true;
    (void)gantry_tool_fail("%s: the name of the entry \"%.200s\" %s", zip->source->path, out->name,
                           why);
    return false;
}

/* ---- entries ---- */

/* Sizes of more than 32 bits are in an extra field, in this order, where they are needed. */
static bool take_long_sizes(const unsigned char *extra, size_t length, entry_t *out) {
    uint64_t *const wanted[] = {out->bytes == 0xffffffff ? &out->bytes : NULL,
                                out->stored_bytes == 0xffffffff ? &out->stored_bytes : NULL,
                                out->begin == 0xffffffff ? &out->begin : NULL};
    if (!wanted[0] && !wanted[1] && !wanted[2]) return true;
    for (size_t at = 0; length - at >= 4;) {
        const size_t size = (size_t)convert_zip_number(extra + at + 2, 2);
        if (size > length - at - 4) return false;
        if (convert_zip_number(extra + at, 2) == 1) {
            size_t used = 0;
            for (int i = 0; i < 3; ++i) {
                if (!wanted[i]) continue;
                if (used + 8 > size) return false;
                *wanted[i] = convert_zip_number(extra + at + 4 + used, 8);
                used += 8;
            }
            return true;
        }
        at += 4 + size;
    }
    return false;
}

/* Whether an extra field has fields of an identity, a size and that many bytes, and zeros. */
static bool is_extra(const unsigned char *extra, size_t length) {
    size_t at = 0;
    while (length - at >= 4) {
        const size_t size = (size_t)convert_zip_number(extra + at + 2, 2);
        if (size > length - at - 4) return false;
        at += 4 + size;
    }
    return convert_zip_number(extra + at, (int)(length - at)) == 0;
}

/* Compares the numbers of the local head, after which its name and extra field are, with the
 * directory's. The head of a stream that was not measured yet (bit 3) has no checksum or sizes. */
static bool compare_heads(const unsigned char *local, size_t name_bytes, size_t extra,
                          entry_t *entry) {
    entry_t own = {.stored_bytes = convert_zip_number(local + 18, 4),
                   .bytes = convert_zip_number(local + 22, 4)};
    const unsigned char *field = local + LOCAL_BYTES + name_bytes;
    const unsigned flags = (unsigned)convert_zip_number(local + 6, 2);
    if (!is_extra(field, extra) || !take_long_sizes(field, extra, &own)) return false;
    entry->differs =
        ((flags ^ entry->flags) & 1) != 0 || convert_zip_number(local + 8, 2) != entry->method ||
        (!(flags & 8) && (convert_zip_number(local + 14, 4) != entry->crc ||
                          own.stored_bytes != entry->stored_bytes || own.bytes != entry->bytes));
    return true;
}

/* What is wrong with an entry; where its heads differ, that is the damage and the rest follows. */
static const char *damage_of(const entry_t *entry, const char *otherwise) {
    return entry->differs ? HEADS_DIFFER : otherwise;
}

/* The data follows the local head, whose extra field has a length of its own. */
static bool find_data(const zip_t *zip, const unsigned char *name, size_t name_bytes,
                      entry_t *entry) {
    unsigned char local[LOCAL_BYTES + MOST_NAME_BYTES + MOST_EXTRA_BYTES];
    if (zip->directory < LOCAL_BYTES || entry->begin > zip->directory - LOCAL_BYTES)
        return convert_zip_refuse(zip, entry->name, "is not in front of the directory");
    if (!convert_read_at(zip->source, entry->begin, local, LOCAL_BYTES)) return false;
    const size_t extra = (size_t)convert_zip_number(local + 28, 2),
                 head = LOCAL_BYTES + (size_t)convert_zip_number(local + 26, 2) + extra;
    const bool has_name = is_signature(local, 0x04034b50) &&
                          head <= zip->directory - entry->begin &&
                          convert_zip_number(local + 26, 2) == name_bytes;
    if (has_name && !convert_read_at(zip->source, entry->begin, local, head)) return false;
    if (!has_name || memcmp(local + LOCAL_BYTES, name, name_bytes) != 0 ||
        !compare_heads(local, name_bytes, extra, entry))
        return convert_zip_refuse(zip, entry->name, "has a damaged head, or one of another name");
    if (entry->stored_bytes > zip->directory - entry->begin - head)
        return convert_zip_refuse(zip, entry->name,
                                  damage_of(entry, "reaches beyond the directory"));
    entry->at = entry->begin + head;
    entry->end = entry->at + entry->stored_bytes;
    return true;
}

static bool check_method(const zip_t *zip, entry_t *entry) {
    const bool is_known = entry->method == 0 || entry->method == 8;
    if (entry->flags & 1)
        entry->problem = "it is encrypted";
    else if (!is_known)
        entry->problem =
            "it is compressed by another method than DEFLATE; DEFLATE and stored entries are accepted";
    else if (entry->method == 8 && !convert_can_inflate())
        entry->problem =
            "it is compressed, and this gantry command was built without zlib; a build with zlib1g-dev reads it";
    if (entry->problem) return true;
    const bool is_right = entry->method == 0 ? entry->bytes == entry->stored_bytes
                                             : entry->bytes / MOST_RATIO <= entry->stored_bytes;
    return is_right ||
           convert_zip_refuse(zip, entry->name, damage_of(entry, "states an impossible size"));
}

/* Reads the head at *at of the directory, and moves *at to the next one. */
static bool convert_zip_read_entry(const zip_t *zip, uint64_t *at, entry_t *out) {
    const unsigned char *head = zip->heads + *at;
    const uint64_t left = zip->directory_bytes - *at;
    if (left < CENTRAL_BYTES || !is_signature(head, 0x02014b50))
        return convert_zip_refuse(zip, "", "its directory is damaged");
    const size_t name_bytes = (size_t)convert_zip_number(head + 28, 2),
                 extra = (size_t)convert_zip_number(head + 30, 2);
    const uint64_t bytes = CENTRAL_BYTES + name_bytes + extra + convert_zip_number(head + 32, 2);
    if (bytes > left) return convert_zip_refuse(zip, "", "its directory is damaged");
    *at += bytes;
    out->flags = (unsigned)convert_zip_number(head + 8, 2);
    out->method = (unsigned)convert_zip_number(head + 10, 2);
    out->crc = (uint32_t)convert_zip_number(head + 16, 4);
    out->stored_bytes = convert_zip_number(head + 20, 4);
    out->bytes = convert_zip_number(head + 24, 4);
    out->begin = convert_zip_number(head + 42, 4);
    if (!take_name(zip, head + CENTRAL_BYTES, name_bytes, out)) return false;
    if (!take_long_sizes(head + CENTRAL_BYTES + name_bytes, extra, out))
        return convert_zip_refuse(zip, out->name, "has no size");
    out->is_folder = out->is_folder && out->bytes == 0;
    return find_data(zip, head + CENTRAL_BYTES, name_bytes, out) && check_method(zip, out);
}

/* ---- arrays ---- */

/* The first bytes of the entry's .npy file, at most CONVERT_NPY_FRONT of them. NULL after a
 * failure, which was reported. */
static unsigned char *convert_zip_read_front(const zip_t *zip, const entry_t *entry,
                                             size_t *out_bytes) {
    const bool is_deflated = entry->method == 8;
    const size_t most = is_deflated ? DEFLATED_FRONT : CONVERT_NPY_FRONT;
    const size_t stored = (size_t)(entry->stored_bytes < most ? entry->stored_bytes : most);
    unsigned char *bytes = malloc(stored + 1), *plain = NULL;
    bool good = bytes && convert_read_at(zip->source, entry->at, bytes, stored);
    *out_bytes = stored;
    if (good && is_deflated) {
        bool is_whole;
        plain = malloc(CONVERT_NPY_FRONT);
        good = plain != NULL;
        if (good) *out_bytes = convert_inflate(bytes, stored, plain, CONVERT_NPY_FRONT, &is_whole);
        if (good && *out_bytes > entry->bytes) *out_bytes = (size_t)entry->bytes;
    }
    if (good && !is_deflated) return bytes;
    free(bytes);
    if (good) return plain;
    free(plain);
    (void)convert_zip_refuse(zip, entry->name, "cannot be read");
    return NULL;
}

/* Says where the entry's .npy file is, and how. */
static void set_place(const entry_t *entry, convert_tensor_t *out) {
    out->at = entry->at;
    out->stored_bytes = entry->stored_bytes;
    out->npy_bytes = entry->bytes;
    out->crc = entry->crc;
    out->is_deflated = entry->method == 8;
}

static bool list_lists(const zip_t *zip, const entry_t *entry, convert_set_t *out) {
    convert_tensor_t tensor = {.name = entry->name};
    set_place(entry, &tensor);
    return convert_add_lists(zip->source, &tensor, out);
}

/* Lists an entry. A folder is left out, because it has no content that a list could miss. */
static bool list_entry(const zip_t *zip, const entry_t *entry, convert_set_t *out) {
    if (entry->is_folder) return true;
    const char *path = zip->source->path, *problem = entry->problem;
    size_t bytes = 0, lists_at;
    gantry_dtype_t dtype = GANTRY_DTYPE_NONE;
    gantry_shape_t shape = GANTRY_SCALAR;
    uint64_t offset, rows;
    unsigned char *front = problem ? NULL : convert_zip_read_front(zip, entry, &bytes);
    if (!front && !problem) return false;
    if (front && bytes < CONVERT_NPY_FRONT && bytes < entry->bytes)
        problem = "it is damaged: it has fewer bytes than it states";
    const bool has_lists = front && !problem && convert_lists_find(front, bytes, &rows, &lists_at);
    if (front && !problem && !has_lists &&
        gantry_parse_npy_header(front, bytes, entry->bytes, &dtype, &shape, &offset) != GANTRY_OK)
        problem = gantry_last_message();
    free(front);
    if (has_lists) return list_lists(zip, entry, out);
    if (problem && entry->is_npy && entry->differs) problem = "it " HEADS_DIFFER;
    if (problem) return convert_set_add_problem(out, path, entry->name, problem) != NULL;
    convert_tensor_t *tensor = convert_set_add(out, path, entry->name, dtype, &shape);
    if (tensor) set_place(entry, tensor);
    return tensor != NULL;
}

static int by_begin(const void *left, const void *right) {
    const range_t *a = left, *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* An "a" and an "a.npy" are two entries. */
static int by_name(const void *left, const void *right) {
    const range_t *a = left, *b = right;
    return a->is_npy != b->is_npy ? a->is_npy - b->is_npy : strcmp(a->name, b->name);
}

/* The names belong to the set. */
static bool check_ranges(const zip_t *zip, range_t *ranges, size_t count) {
    if (count > 1) qsort(ranges, count, sizeof *ranges, by_begin);
    for (size_t i = 1; i < count; ++i) {
        if (ranges[i].begin < ranges[i - 1].end)
            return convert_zip_refuse(zip, ranges[i].name, "overlaps another one");
    }
    if (count > 1) qsort(ranges, count, sizeof *ranges, by_name);
    for (size_t i = 1; i < count; ++i) {
        if (by_name(&ranges[i], &ranges[i - 1]) == 0)
            return convert_zip_refuse(zip, ranges[i].name, "is there twice");
    }
    return true;
}

/* All heads are checked before the first entry is read. */
static bool read_entries(const zip_t *zip, entry_t *entries, range_t *ranges) {
    uint64_t at = 0;
    for (size_t i = 0; i < zip->count; ++i) {
        if (!convert_zip_read_entry(zip, &at, &entries[i])) return false;
        ranges[i] = (range_t){entries[i].begin, entries[i].end, entries[i].name, entries[i].is_npy};
    }
    if (at != zip->directory_bytes)
        return convert_zip_refuse(zip, "",
                                  "its directory has more entries than its end record counts");
    return check_ranges(zip, ranges, (size_t)zip->count);
}

/* The two tensors of lists have names that another entry may have. */
static bool check_list_names(const zip_t *zip, const convert_set_t *set) {
    for (size_t i = 0; i < set->count; ++i) {
        for (size_t k = 0; set->tensors[i].data && k < set->count; ++k) {
            if (k != i && strcmp(set->tensors[i].name, set->tensors[k].name) == 0)
                return convert_zip_refuse(zip, set->tensors[i].name, "is there twice");
        }
    }
    return true;
}

/* Archives of others, by the name of an entry. */
static const char *archive_kind(const entry_t *entries, size_t count) {
    static const struct {
        const char *end, *kind;
    } kinds[] = {
        {"/data.pkl",
         "it is a PyTorch checkpoint (.pt), a .zip of a Python pickle and raw bytes; safetensors.torch.save_file writes its tensors as .safetensors"},
        {"model.weights.h5",
         "it is a Keras model (.keras), whose weights are an HDF5 file; numpy.savez writes its arrays as .npz"},
    };
    for (size_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
            const size_t length = strlen(entries[i].name), end = strlen(kinds[k].end);
            if (length >= end && strcmp(entries[i].name + length - end, kinds[k].end) == 0)
                return kinds[k].kind;
        }
    }
    return "it is a .zip archive without an .npy file";
}

/* An archive without entries is what numpy.savez writes of no arrays. */
static bool check_arrays(const zip_t *zip, const entry_t *entries) {
    for (size_t i = 0; i < zip->count; ++i)
        if (entries[i].is_npy) return true;
    if (zip->count == 0) return true;
    (void)gantry_tool_fail("%s cannot be read: %s" CONVERT_ACCEPTED, zip->source->path,
                           archive_kind(entries, (size_t)zip->count));
    return false;
}

static bool list_entries(const zip_t *zip, convert_set_t *out) {
    entry_t *entries = calloc((size_t)zip->count + 1, sizeof *entries);
    range_t *ranges = calloc((size_t)zip->count + 1, sizeof *ranges);
    bool good = (entries && ranges) || convert_zip_no_memory(zip);
    good = good && read_entries(zip, entries, ranges) && check_arrays(zip, entries);
    for (size_t i = 0; good && i < zip->count; ++i) good = list_entry(zip, &entries[i], out);
    good = good && check_list_names(zip, out);
    for (size_t i = 0; entries && i < zip->count; ++i) free(entries[i].name);
    free(entries);
    free(ranges);
    return good;
}

bool convert_zip_list(const convert_source_t *source, convert_set_t *out) {
    zip_t zip = {.source = source};
    const bool good = read_directory(&zip) && list_entries(&zip, out);
    free(zip.heads);
    return good;
}
