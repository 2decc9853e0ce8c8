/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the input of `gantry convert`: first only its headers, so that a file of any size is listed
 * at once, then the elements of the tensors that are wanted, one after another.
 *
 * An entry that cannot be read is in the list with its problem, and hides no other one. What makes
 * the whole file untrue, such as entries that overlap, is a failure. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/pages.h"
#include "convert/convert.h"
#include "convert/lists.h"

#define MAPPED_FROM ((size_t)64 << 20)
#define FRONT_BYTES 512

static void *convert_read_allocate(size_t bytes) { return malloc(bytes > 0 ? bytes : 1); }

static bool fail_read(const char *path, int error) {
    (void)gantry_tool_fail("cannot read %s: %s", path, strerror(error));
    return false;
}

/* ---- the file ---- */

/* Opens a plain file; a pipe or a device is not opened, because that may wait. */
static bool convert_read_open_plain(convert_source_t *source) {
    gantry__os_info_t info;
    const int error = gantry__os_path_info(source->path, &info);
    if (error) return fail_read(source->path, error);
    if (info.kind != GANTRY__OS_PLAIN) {
        (void)gantry_tool_fail("cannot read %s: it is no plain file", source->path);
        return false;
    }
    source->file = gantry__os_open(source->path, GANTRY__OS_READ | GANTRY__OS_NO_WAIT, 0);
    if (source->file < 0) return fail_read(source->path, errno);
    source->size = info.size;
    return true;
}

bool convert_read_at(const convert_source_t *source, uint64_t offset, void *bytes, size_t size) {
    if (gantry_file_read_at(source->file, source->path, offset, bytes, size) == GANTRY_OK)
        return true;
    (void)gantry_tool_fail_last();
    return false;
}

/* ---- a part of the file in memory ---- */

typedef struct part_t {
    unsigned char *bytes; /* NULL: a failure, which was reported */
    void *block;          /* what holds them */
    gantry__os_map_t map; /* or this, if is_mapped */
    bool is_mapped;
} part_t;

/* A large part is mapped, so that it does not take memory in addition to its tensor. Who cuts the
 * file meanwhile ends this program by SIGBUS; no output is there yet. */
static part_t open_part(const convert_source_t *source, uint64_t offset, size_t size) {
    part_t part = {.is_mapped = size >= MAPPED_FROM};
    if (part.is_mapped) {
        const int error = gantry__os_map(source->file, offset, size, &part.map);
        if (error) (void)fail_read(source->path, error);
        part.bytes = part.map.data;
        return part;
    }
    part.block = convert_read_allocate(size);
    if (!part.block)
        (void)gantry_tool_fail("%s: there is no memory for %zu bytes of it", source->path, size);
    if (part.block && convert_read_at(source, offset, part.block, size)) part.bytes = part.block;
    if (!part.bytes) free(part.block);
    return part;
}

static void close_part(const part_t *part) {
    if (!part->bytes) return;
    if (part->is_mapped) {
        gantry__os_unmap(&part->map);
    } else {
        free(part->block);
    }
}

/* ---- .npy and .npz ---- */

static bool list_npy(const convert_source_t *source, convert_set_t *out) {
    const size_t bytes =
        source->size < CONVERT_NPY_FRONT ? (size_t)source->size : CONVERT_NPY_FRONT;
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    uint64_t offset;
    const part_t front = open_part(source, 0, bytes);
    if (!front.bytes) return false;
    const bool good = gantry_parse_npy_header(front.bytes, bytes, source->size, &dtype, &shape,
                                              &offset) == GANTRY_OK;
    if (!good) (void)gantry_tool_fail("%s: %s", source->path, gantry_last_message());
    close_part(&front);
    convert_tensor_t *tensor = good ? convert_set_add(out, source->path, "", dtype, &shape) : NULL;
    if (tensor) tensor->stored_bytes = tensor->npy_bytes = source->size;
    return tensor != NULL;
}

static bool refuse_entry(const convert_source_t *source, const convert_tensor_t *tensor,
                         const char *why) {
    (void)gantry_tool_fail("%s: the entry \"%.200s\" %s", source->path, tensor->name, why);
    return false;
}

/* What is done with the bytes of a .npy file. */
typedef bool (*npy_fn)(const convert_source_t *source, convert_tensor_t *tensor,
                       const unsigned char *npy, void *user);

/* Takes the array of a .npy file. */
static bool parse_npy(const convert_source_t *source, convert_tensor_t *tensor,
                      const unsigned char *npy, void *user) {
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    (void)user;
    if (gantry_parse_npy(npy, (size_t)tensor->npy_bytes, &dtype, &shape, tensor->data,
                         tensor->bytes) == GANTRY_OK)
        return true;
    (void)gantry_tool_fail("%s: %s", source->path, gantry_last_message());
    return false;
}

static bool parse_stored(const convert_source_t *source, convert_tensor_t *tensor,
                         const unsigned char *stored, npy_fn use, void *user) {
    const size_t bytes = (size_t)tensor->npy_bytes;
    unsigned char *plain = NULL;
    bool is_whole = true;
    if (tensor->is_deflated) {
        plain = convert_read_allocate(bytes);
        if (!plain) return refuse_entry(source, tensor, "needs more memory than there is");
        (void)convert_inflate(stored, (size_t)tensor->stored_bytes, plain, bytes, &is_whole);
    }
    const unsigned char *npy = plain ? plain : stored;
    if (source->format == CONVERT_NPZ)
        is_whole = is_whole && convert_crc32(0, npy, bytes) == tensor->crc;
    const bool good = is_whole ? use(source, tensor, npy, user)
                               : refuse_entry(source, tensor, "is damaged: its checksum is wrong");
    free(plain);
    return good;
}

static bool use_npy(const convert_source_t *source, convert_tensor_t *tensor, npy_fn use,
                    void *user) {
    const part_t part = open_part(source, tensor->at, (size_t)tensor->stored_bytes);
    const bool good = part.bytes && parse_stored(source, tensor, part.bytes, use, user);
    close_part(&part);
    return good;
}

/* ---- lists of .npz ---- */

static bool add_vector(const convert_source_t *source, convert_set_t *set, const char *name,
                       const char *part, const int64_t *numbers, size_t count, bool is_narrow) {
    char full[1024];
    const size_t bytes = count * (is_narrow ? sizeof(int32_t) : sizeof(int64_t));
    if ((size_t)snprintf(full, sizeof full, "%s/%s", name, part) >= sizeof full) {
        (void)gantry_tool_fail("%s: the name of the entry \"%.200s\" is too long for lists",
                               source->path, name);
        return false;
    }
    convert_tensor_t *tensor =
        convert_set_add(set, source->path, full, is_narrow ? GANTRY_INT32 : GANTRY_INT64,
                        &(gantry_shape_t){.rank = 1, .dims = {(int64_t)count}});
    if (!tensor) return false;
    tensor->data = convert_read_allocate(bytes);
    if (!tensor->data) return refuse_entry(source, tensor, "needs more memory than there is");
    if (!is_narrow) memcpy(tensor->data, numbers, bytes);
    for (size_t i = 0; is_narrow && i < count; ++i)
        ((int32_t *)tensor->data)[i] = (int32_t)numbers[i];
    return true;
}

static bool fit_int32(const int64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (numbers[i] < INT32_MIN || numbers[i] > INT32_MAX) return false;
    return true;
}

static bool parse_lists(const convert_source_t *source, convert_tensor_t *entry,
                        const unsigned char *npy, void *user) {
    convert_set_t *set = user;
    char why[CONVERT_LISTS_WHY_BYTES] = "it is damaged";
    uint64_t rows;
    size_t at;
    convert_lists_t lists;
    if (!convert_lists_find(npy, (size_t)entry->npy_bytes, &rows, &at) ||
        !convert_lists_read(npy + at, (size_t)entry->npy_bytes - at, rows, &lists, why))
        return convert_set_add_problem(set, source->path, entry->name, why) != NULL;
    const bool good =
        add_vector(source, set, entry->name, "values", lists.values, lists.count,
                   fit_int32(lists.values, lists.count)) &&
        add_vector(source, set, entry->name, "row_splits", lists.splits, lists.rows + 1, false);
    convert_lists_deinit(&lists);
    return good;
}

bool convert_add_lists(const convert_source_t *source, const convert_tensor_t *entry,
                       convert_set_t *out) {
    convert_tensor_t copy = *entry;
    return use_npy(source, &copy, parse_lists, out);
}

/* ---- safetensors ---- */

#ifdef GANTRY_TOOL_HAS_TRAIN
static bool list_texts(const convert_source_t *source, convert_set_t *out) {
    const gantry_checkpoint_t *checkpoint = source->checkpoint;
    const char *key;
    size_t count = 0;
    while (gantry_checkpoint_key(checkpoint, count)) ++count;
    out->texts = calloc(count + 1, sizeof *out->texts);
    for (size_t i = 0; out->texts && (key = gantry_checkpoint_key(checkpoint, i)); ++i) {
        convert_text_t *text = &out->texts[out->text_count++];
        text->key = gantry_tool_copy(key);
        text->value = gantry_tool_copy(gantry_checkpoint_text(checkpoint, key));
        if (text->key && text->value) continue;
        (void)gantry_tool_fail("%s: there is no memory for its texts", source->path);
        return false;
    }
    return out->texts != NULL;
}

/* The reason without the path, which the list's head names. */
static const char *reason_of(const char *message) {
    const char *end = strstr(message, "': ");
    return end ? end + strlen("': ") : message;
}

static bool list_checkpoint(const convert_source_t *source, convert_set_t *out) {
    const gantry_checkpoint_t *checkpoint = source->checkpoint;
    for (size_t i = 0; i < gantry_checkpoint_count(checkpoint); ++i) {
        const char *name = gantry_checkpoint_name(checkpoint, i);
        gantry_dtype_t dtype;
        gantry_shape_t shape;
        const bool is_known = gantry_checkpoint_find(checkpoint, name, &dtype, &shape) == GANTRY_OK;
        if (!(is_known ? convert_set_add(out, source->path, name, dtype, &shape)
                       : convert_set_add_problem(out, source->path, name,
                                                 reason_of(gantry_last_message()))))
            return false;
    }
    return list_texts(source, out);
}

static bool list_safetensors(convert_source_t *source, convert_set_t *out) {
    gantry_checkpoint_t *checkpoint;
    if (gantry_checkpoint_open(source->path, &checkpoint) != GANTRY_OK) {
        (void)gantry_tool_fail_last();
        return false;
    }
    source->checkpoint = checkpoint;
    return list_checkpoint(source, out);
}

static bool load_safetensors(const convert_source_t *source, convert_tensor_t *tensor) {
    if (gantry_checkpoint_read(source->checkpoint, tensor->name, tensor->dtype, &tensor->shape,
                               tensor->data, tensor->bytes) == GANTRY_OK)
        return true;
    (void)gantry_tool_fail_last();
    return false;
}

static void close_safetensors(convert_source_t *source) {
    gantry_checkpoint_release(source->checkpoint);
}
#else
bool convert_refuse_safetensors(const char *path) {
    (void)gantry_tool_fail(
        "%s: this gantry command was built without libgantry_train, which reads and writes safetensors; build with GANTRY_TRAIN=ON",
        path);
    return false;
}

static bool list_safetensors(convert_source_t *source, convert_set_t *out) {
    (void)out;
    return convert_refuse_safetensors(source->path);
}

static bool load_safetensors(const convert_source_t *source, convert_tensor_t *tensor) {
    (void)source, (void)tensor;
    return false;
}

static void close_safetensors(convert_source_t *source) { (void)source; }
#endif

/* ---- all ---- */

static bool convert_read_ends_with(const char *path, const char *suffix) {
    const size_t length = strlen(path), bytes = strlen(suffix);
    return length >= bytes && strcmp(path + length - bytes, suffix) == 0;
}

/* As characters, or as numbers those that are none. */
static void show_front(const unsigned char *front, size_t bytes, char out[64]) {
    size_t used = 0;
    for (size_t i = 0; i < bytes && i < 8; ++i)
        used += (size_t)snprintf(out + used, 64 - used,
                                 front[i] > ' ' && front[i] <= '~' ? "%c" : "\\x%02x", front[i]);
}

/* Downloads leave other files in place of these, and names may promise what the content is not. */
static bool refuse_kind(const convert_source_t *source, const unsigned char *front, size_t bytes) {
    static const char *const magics[] = {"\\x93NUMPY", "PK"};
    const char *kind = gantry_recognize_file(front, bytes);
    char shown[64] = "";
    show_front(front, bytes, shown);
    if (bytes == 0) kind = "it is empty";
    if (kind) {
        (void)gantry_tool_fail("%s cannot be read: %s" CONVERT_ACCEPTED, source->path, kind);
        return false;
    }
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; ++i) {
        const char *suffix = convert_format_suffix((convert_format_t)i);
        if (!convert_read_ends_with(source->path, suffix)) continue;
        (void)gantry_tool_fail(
            "%s is no %s file, or is damaged: it begins with %s, and not with %s" CONVERT_ACCEPTED,
            source->path, suffix, shown, magics[i]);
        return false;
    }
    if (convert_read_ends_with(source->path, ".safetensors") || (bytes > 8 && front[8] == '{'))
        return true;
    (void)gantry_tool_fail(
        "%s begins with %s, as none of the files does that are accepted: .npy, .npz and .safetensors",
        source->path, shown);
    return false;
}

static bool detect(convert_source_t *source) {
    unsigned char front[FRONT_BYTES] = {0};
    const size_t bytes = source->size < sizeof front ? (size_t)source->size : sizeof front;
    if (!convert_read_at(source, 0, front, bytes)) return false;
    const bool is_zip = memcmp(front, "PK\3\4", 4) == 0 || memcmp(front, "PK\5\6", 4) == 0;
    source->format = memcmp(front, "\x93NUMPY", 6) == 0 ? CONVERT_NPY
                     : is_zip                           ? CONVERT_NPZ
                                                        : CONVERT_SAFETENSORS;
    return source->format != CONVERT_SAFETENSORS || refuse_kind(source, front, bytes);
}

bool convert_open(const char *path, convert_source_t *out, convert_set_t *out_set) {
    *out = (convert_source_t){.path = path, .file = -1};
    *out_set = (convert_set_t){.count = 0};
    if (!convert_read_open_plain(out) || !detect(out)) return false;
    return out->format == CONVERT_NPY   ? list_npy(out, out_set)
           : out->format == CONVERT_NPZ ? convert_zip_list(out, out_set)
                                        : list_safetensors(out, out_set);
}

void convert_close(convert_source_t *source) {
    close_safetensors(source);
    if (source->file >= 0) (void)gantry__os_close(source->file);
    *source = (convert_source_t){.file = -1};
}

bool convert_load(const convert_source_t *source, convert_tensor_t *tensor) {
    if (tensor->data) return true;
    tensor->data = convert_read_allocate(tensor->bytes);
    if (!tensor->data) {
        (void)gantry_tool_fail("%s: there is no memory for the %zu bytes of \"%.200s\"",
                               source->path, tensor->bytes, tensor->name);
        return false;
    }
    return source->format == CONVERT_SAFETENSORS ? load_safetensors(source, tensor)
                                                 : use_npy(source, tensor, parse_npy, NULL);
}
