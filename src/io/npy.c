/* SPDX-License-Identifier: Apache-2.0 */
/* An .npy file:
 *
 *     bytes  0..5    0x93 "NUMPY"
 *            6, 7    format version, major and minor
 *            8..     header length H, little-endian: 2 bytes in version 1, 4 in versions 2 and 3
 *            then    H bytes: a Python dict literal, blanks, a newline
 *            then    the elements, nothing after them
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * NumPy reads the dict with Python's literal parser, so blanks, either kind of quote, any order of
 * the three keys and a comma after the last entry are all in use. The reader below is a cursor over
 * the header that never passes its end; it reports the first failure. It keeps no copy and takes no
 * memory: cost is the header's length, which is limited. A file is checked from its front: its
 * kind, the first bytes, the header, its length. Only then are elements read, directly to their
 * final place, or mapped. Format:
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#include "io/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/new_file.h"
#include "io/file_kind.h"

#include "ops/type_rows.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES ((size_t)6)
#define FRONT_BYTES 12       /* the most bytes before the header */
#define LONGEST_HEADER 65535 /* of format 1; one of plain numbers has some hundred bytes */
#define TURNED_BYTES ((size_t)1 << 20)
#define QUOTED_CHARS 32 /* of a foreign text in a message */

/* The unit whose bytes are swapped to change the byte order: a part of a complex number. */
static uint32_t swapped_bytes(gantry_dtype_t dtype) {
    const uint32_t bytes = gantry__type_bytes((int32_t)dtype);
    return GANTRY__TYPE_IS(dtype, COMPLEXES) ? bytes / 2 : bytes;
}

static bool machine_is_little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* ---- the cursor ---- */

typedef struct cursor_t {
    const char *at;
    const char *end;
} cursor_t;

typedef struct slice_t {
    const char *bytes;
    size_t length;
} slice_t;

static void skip_blanks(cursor_t *cursor) {
    while (cursor->at < cursor->end && strchr(" \t\r\n\f", *cursor->at) && *cursor->at != '\0')
        ++cursor->at;
}

/* The next character that is not blank; 0 at the end. */
static char npy_peek(cursor_t *cursor) {
    skip_blanks(cursor);
    return cursor->at < cursor->end ? *cursor->at : '\0';
}

static bool npy_take(cursor_t *cursor, char wanted) {
    if (npy_peek(cursor) != wanted) return false;
    ++cursor->at;
    return true;
}

/* Makes foreign bytes printable for a message. */
static const char *printable(const char *bytes, size_t length, char out[QUOTED_CHARS + 4]) {
    size_t used = length < QUOTED_CHARS ? length : QUOTED_CHARS;
    for (size_t i = 0; i < used; ++i) out[i] = bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '?';
    memcpy(out + used, used < length ? "..." : "", used < length ? 4 : 1);
    return out;
}

static gantry_status_t fail_here(cursor_t *cursor, const char *wanted) {
    char text[QUOTED_CHARS + 4];
    skip_blanks(cursor);
    if (cursor->at == cursor->end) {
        return gantry__refuse("the .npy header ends where %s is expected", wanted);
    }
    return gantry__refuse("the .npy header has '%s' where %s is expected",
                          printable(cursor->at, (size_t)(cursor->end - cursor->at), text), wanted);
}

static gantry_status_t take_text(cursor_t *cursor, const char *wanted, slice_t *out) {
    char quote = npy_peek(cursor);
    if (quote != '\'' && quote != '"') return fail_here(cursor, wanted);
    const char *begin = cursor->at + 1;
    for (const char *at = begin; at < cursor->end && *at != '\\' && *at != '\n'; ++at) {
        if (*at != quote) continue;
        *out = (slice_t){begin, (size_t)(at - begin)};
        cursor->at = at + 1;
        return GANTRY_OK;
    }
    return fail_here(cursor, wanted);
}

static bool take_word(cursor_t *cursor, const char *word) {
    skip_blanks(cursor);
    size_t length = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

/* ---- the three values ---- */

#define NPY_TYPE(short) GANTRY_ID_##short,

static const int32_t npy_types[] = {GANTRY_ELEMENT_TYPES(NPY_TYPE)};

static gantry_status_t fail_descr(slice_t text) {
    char shown[QUOTED_CHARS + 4], accepted[sizeof npy_types / sizeof npy_types[0] * 4] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof npy_types / sizeof npy_types[0]; ++i) {
        const char *descr = gantry__type_npy(npy_types[i]);
        if (descr)
            used += (size_t)snprintf(accepted + used, sizeof accepted - used, used ? ", %s" : "%s",
                                     descr + 1);
    }
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "the .npy file's elements are '%s'; accepted are %s in either byte order",
                        printable(text.bytes, text.length, shown), accepted);
}

static gantry_status_t read_descr(cursor_t *cursor, gantry__npy_view_t *out) {
    slice_t text = {NULL, 0};
    char next = npy_peek(cursor);
    if (next == '[' || next == '(') {
        return gantry__fail(
            GANTRY_UNIMPLEMENTED,
            "the .npy file's elements are records (a structured 'descr'); accepted are plain numbers");
    }
    GANTRY__TRY(take_text(cursor, "the element type ('descr')", &text));
    const char *at = text.bytes;
    size_t left = text.length;
    char order = '=';
    if (left > 0 && strchr("<>=|", *at) && *at != '\0') {
        order = *at++;
        --left;
    }
    if (left > 0 && *at == 'O') {
        return gantry__fail(
            GANTRY_UNIMPLEMENTED,
            "the .npy file holds Python objects, which are never loaded; accepted are plain numbers");
    }
    for (size_t i = 0; i < sizeof npy_types / sizeof npy_types[0]; ++i) {
        const char *descr = gantry__type_npy(npy_types[i]);
        if (!descr || left != strlen(descr + 1) || memcmp(at, descr + 1, left) != 0) continue;
        /* "no byte order" is only valid for single bytes */
        if (order == '|' && *descr == '=') break;
        out->dtype = (gantry_dtype_t)npy_types[i];
        out->swapped = *descr == '=' && order == (machine_is_little_endian() ? '>' : '<');
        return GANTRY_OK;
    }
    return fail_descr(text);
}

static gantry_status_t read_fortran_order(cursor_t *cursor, gantry__npy_view_t *out) {
    out->fortran_order = take_word(cursor, "True");
    if (out->fortran_order || take_word(cursor, "False")) return GANTRY_OK;
    return fail_here(cursor, "True or False ('fortran_order')");
}

static gantry_status_t read_dim(cursor_t *cursor, int64_t *out) {
    if (npy_peek(cursor) == '-') return fail_here(cursor, "a dimension, which is never negative,");
    const char *begin = cursor->at;
    int64_t value = 0;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; ++cursor->at) {
        int digit = *cursor->at - '0';
        if (value > (INT64_MAX - digit) / 10) {
            cursor->at = begin;
            return fail_here(cursor, "a dimension below 2^63");
        }
        value = value * 10 + digit;
    }
    if (cursor->at == begin) return fail_here(cursor, "a dimension");
    /* files written under Python 2 */
    (void)(cursor->at < cursor->end && *cursor->at == 'L' && ++cursor->at);
    *out = value;
    return GANTRY_OK;
}

static gantry_status_t npy_read_shape(cursor_t *cursor, gantry__npy_view_t *out) {
    uint32_t count = 0;
    out->shape = (gantry_shape_t){.rank = 0};
    if (!npy_take(cursor, '(')) return fail_here(cursor, "a tuple of dimensions ('shape')");
    while (!npy_take(cursor, ')')) {
        int64_t dim = 0;
        GANTRY__TRY(read_dim(cursor, &dim));
        if (count < GANTRY_MAX_RANK) out->shape.dims[out->shape.rank++] = dim;
        ++count;
        bool comma = npy_take(cursor, ',');
        bool last = npy_peek(cursor) == ')';
        /* In Python, (3) is a number in brackets, not a tuple. */
        if (!comma && (!last || count == 1))
            return fail_here(cursor, "',' between dimensions ('shape')");
    }
    if (count <= GANTRY_MAX_RANK) return GANTRY_OK;
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "the .npy file's array has %" PRIu32
                        " dimensions, more than the %d dimensions accepted",
                        count, GANTRY_MAX_RANK);
}

/* ---- the header ---- */

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static bool slice_is(slice_t slice, const char *text) {
    return slice.length == strlen(text) && memcmp(slice.bytes, text, slice.length) == 0;
}

static gantry_status_t read_entry(cursor_t *cursor, unsigned *seen, gantry__npy_view_t *out) {
    slice_t key = {NULL, 0};
    char shown[QUOTED_CHARS + 4];
    GANTRY__TRY(take_text(cursor, "a key", &key));
    unsigned bit = slice_is(key, "descr")           ? HAS_DESCR
                   : slice_is(key, "fortran_order") ? HAS_ORDER
                   : slice_is(key, "shape")         ? HAS_SHAPE
                                                    : 0;
    if (bit == 0 || (*seen & bit)) {
        return gantry__refuse(
            "the .npy header has %s key '%s'; accepted are 'descr', 'fortran_order' and 'shape', once each",
            bit ? "a second" : "an unknown", printable(key.bytes, key.length, shown));
    }
    *seen |= bit;
    if (!npy_take(cursor, ':')) return fail_here(cursor, "':' after a key");
    if (bit == HAS_DESCR) return read_descr(cursor, out);
    if (bit == HAS_ORDER) return read_fortran_order(cursor, out);
    return npy_read_shape(cursor, out);
}

static gantry_status_t read_header(cursor_t *cursor, gantry__npy_view_t *out) {
    unsigned seen = 0;
    if (!npy_take(cursor, '{')) return fail_here(cursor, "'{'");
    while (!npy_take(cursor, '}')) {
        GANTRY__TRY(read_entry(cursor, &seen, out));
        bool comma = npy_take(cursor, ',');
        if (!comma && npy_peek(cursor) != '}') return fail_here(cursor, "',' or '}'");
    }
    if (npy_peek(cursor) != '\0' || cursor->at != cursor->end)
        return fail_here(cursor, "nothing more");
    if (seen == HAS_ALL) return GANTRY_OK;
    return gantry__refuse("the .npy header lacks the key '%s'", !(seen & HAS_DESCR) ? "descr"
                                                                : !(seen & HAS_ORDER)
                                                                    ? "fortran_order"
                                                                    : "shape");
}

static bool has_magic(const void *bytes, size_t known) {
    return known >= MAGIC_BYTES && memcmp(bytes, MAGIC, MAGIC_BYTES) == 0;
}

static gantry_status_t fail_kind(const void *bytes, size_t known) {
    const char *kind = gantry__file_kind(bytes, known);
    return gantry__refuse("not an .npy file: %s",
                          kind ? kind : "it does not begin with \\x93NUMPY");
}

/* Reads the bytes in front of the header, `known` of which are present: how many they are, and the
 * header's length. */
static gantry_status_t read_front(const unsigned char *bytes, size_t known, size_t *out_fixed,
                                  size_t *out_length) {
    if (!has_magic(bytes, known)) return fail_kind(bytes, known);
    size_t fixed = MAGIC_BYTES + 4;
    if (known < fixed)
        return gantry__fail(GANTRY_DATA_LOSS, "the .npy file ends within its first %zu bytes",
                            fixed);
    unsigned major = bytes[6], minor = bytes[7];
    if (major < 1 || major > 3 || minor != 0) {
        return gantry__fail(GANTRY_UNIMPLEMENTED,
                            "the .npy file has format version %u.%u; accepted are 1.0, 2.0 and 3.0",
                            major, minor);
    }
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (major > 1) {
        fixed += 2;
        if (known < fixed)
            return gantry__fail(GANTRY_DATA_LOSS, "the .npy file ends within its first %zu bytes",
                                fixed);
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    }
    *out_fixed = fixed;
    *out_length = length;
    return GANTRY_OK;
}

/* Checks, before memory is allocated, that a file of `size` bytes can contain this header. */
static gantry_status_t check_length(size_t fixed, size_t length, uint64_t size) {
    const uint64_t rest = size > fixed ? size - fixed : 0;
    if (length > rest) {
        return gantry__fail(GANTRY_DATA_LOSS,
                            "the .npy file says its header has %zu bytes, but only %" PRIu64
                            " follow",
                            length, rest);
    }
    if (length <= LONGEST_HEADER) return GANTRY_OK;
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "the .npy file's header has %zu bytes; at most %d are accepted", length,
                        LONGEST_HEADER);
}

static gantry_status_t measure(const gantry_shape_t *shape, gantry_dtype_t dtype,
                               size_t *out_bytes) {
    char text[GANTRY_MAX_RANK * 24];
    int64_t count = gantry_shape_elements(shape);
    size_t item = gantry_dtype_size(dtype);
    if (count < 0 || (uint64_t)count > SIZE_MAX / 2 / item) {
        (void)gantry_shape_format(shape, text, sizeof text);
        return gantry__refuse(
            "a %s array of shape %s is too large for this machine's addresses, or no shape",
            gantry_dtype_name(dtype), text);
    }
    *out_bytes = (size_t)count * item;
    return GANTRY_OK;
}

/* Parses the header's text, of a file of `size` bytes whose elements begin at `offset`. */
static gantry_status_t parse_header(cursor_t cursor, size_t offset, uint64_t size,
                                    gantry__npy_view_t *out) {
    *out = (gantry__npy_view_t){.dtype = GANTRY_DTYPE_NONE};
    GANTRY__TRY(read_header(&cursor, out));
    GANTRY__TRY(measure(&out->shape, out->dtype, &out->data_bytes));
    out->data_offset = offset;
    const uint64_t left = size - offset;
    if (left == out->data_bytes) return GANTRY_OK;
    return gantry__fail(
        GANTRY_DATA_LOSS,
        "the .npy file should have %zu bytes of elements and has %" PRIu64 ": it is %s",
        out->data_bytes, left, left < out->data_bytes ? "truncated" : "followed by something else");
}

gantry_status_t gantry__npy_parse_front(const void *front, size_t front_bytes, uint64_t size,
                                        gantry__npy_view_t *out) {
    size_t fixed, length;
    *out = (gantry__npy_view_t){.dtype = GANTRY_DTYPE_NONE};
    GANTRY__TRY(read_front(front, front_bytes, &fixed, &length));
    GANTRY__TRY(check_length(fixed, length, size));
    if (length > front_bytes - fixed) {
        return gantry__refuse("%zu bytes of the .npy file are given; its header ends after %zu",
                              front_bytes, fixed + length);
    }
    const char *text = (const char *)front + fixed;
    return parse_header((cursor_t){text, text + length}, fixed + length, size, out);
}

gantry_status_t gantry__npy_parse(const void *bytes, size_t size, gantry__npy_view_t *out) {
    GANTRY__TRY(gantry__npy_parse_front(bytes, size, size, out));
    out->data = (const char *)bytes + out->data_offset;
    return GANTRY_OK;
}

/* ---- elements ---- */

/* Transposes elements from Fortran order, whose first index is fastest, to row-major order, where
 * that index has the largest stride: an odometer of indices walks the source, and `to` is the
 * element's place in the target. */
typedef struct turn_t {
    const gantry_shape_t *shape;
    size_t item, to;
    int64_t index[GANTRY_MAX_RANK];
    size_t stride[GANTRY_MAX_RANK];
} turn_t;

static turn_t begin_turn(const gantry__npy_view_t *view) {
    turn_t turn = {.shape = &view->shape, .item = gantry_dtype_size(view->dtype)};
    size_t step = turn.item;
    for (int32_t i = view->shape.rank - 1; i >= 0; --i) {
        turn.stride[i] = step;
        step *= (size_t)view->shape.dims[i];
    }
    return turn;
}

static void turn_elements(turn_t *turn, const char *source, size_t bytes, char *target) {
    for (size_t from = 0; from < bytes; from += turn->item) {
        memcpy(target + turn->to, source + from, turn->item);
        for (int32_t i = 0; i < turn->shape->rank; ++i) {
            turn->to += turn->stride[i];
            if (++turn->index[i] < turn->shape->dims[i]) break;
            turn->to -= turn->stride[i] * (size_t)turn->shape->dims[i];
            turn->index[i] = 0;
        }
    }
}

static bool is_turned(const gantry__npy_view_t *view) {
    return view->fortran_order && view->shape.rank > 1;
}

static void swap_bytes(unsigned char *bytes, size_t size, size_t unit) {
    for (size_t at = 0; at < size; at += unit) {
        for (size_t low = at, high = at + unit - 1; low < high; ++low, --high) {
            unsigned char kept = bytes[low];
            bytes[low] = bytes[high];
            bytes[high] = kept;
        }
    }
}

/* Converts elements in place to this machine's byte order, and bools to 0 or 1. */
static void convert(const gantry__npy_view_t *view, unsigned char *bytes, size_t size) {
    if (view->swapped) swap_bytes(bytes, size, swapped_bytes(view->dtype));
    if (view->dtype != GANTRY_BOOL) return;
    for (size_t i = 0; i < size; ++i) bytes[i] = bytes[i] != 0;
}

void gantry__npy_copy(const gantry__npy_view_t *view, void *target) {
    if (view->data_bytes == 0) return;
    if (is_turned(view)) {
        turn_t turn = begin_turn(view);
        turn_elements(&turn, view->data, view->data_bytes, target);
    } else {
        memmove(target, view->data, view->data_bytes);
    }
    convert(view, target, view->data_bytes);
}

/* ---- files ---- */

static gantry_status_t read_whole_header(const gantry__heap_t *heap, gantry__npy_file_t *file,
                                         uint64_t size) {
    unsigned char front[GANTRY__FILE_KIND_BYTES] = {0};
    size_t known, fixed, length, got;
    GANTRY__TRY(gantry__file_read_next(file->file, file->path, front, FRONT_BYTES, &known));
    if (known == FRONT_BYTES && !has_magic(front, known)) {
        GANTRY__TRY(gantry__file_read_next(file->file, file->path, front + known,
                                           sizeof front - known, &got));
        return fail_kind(front, known + got);
    }
    GANTRY__TRY(read_front(front, known, &fixed, &length));
    GANTRY__TRY(check_length(fixed, length, size));
    char *text = gantry__heap_alloc(heap, FRONT_BYTES + length);
    if (!text) return GANTRY_RESOURCE_EXHAUSTED;
    /* format 1 has two fixed bytes fewer */
    size_t ahead = known - fixed < length ? known - fixed : length;
    memcpy(text, front + fixed, ahead);
    gantry_status_t status =
        gantry__file_read_next(file->file, file->path, text + ahead, length - ahead, &got);
    if (status == GANTRY_OK && got < length - ahead)
        status = gantry__fail(GANTRY_DATA_LOSS, "the .npy file ends within its header of %zu bytes",
                              length);
    if (status == GANTRY_OK)
        status = parse_header((cursor_t){text, text + length}, fixed + length, size, &file->array);
    gantry__heap_free(heap, text, FRONT_BYTES + length);
    return status;
}

gantry_status_t gantry__npy_open(const gantry__heap_t *heap, const char *path, size_t max_bytes,
                                 gantry__npy_file_t *out) {
    uint64_t size;
    *out = (gantry__npy_file_t){.path = path, .file = -1};
    GANTRY__TRY(gantry__file_open(path, max_bytes, &out->file, &size));
    gantry_status_t status = read_whole_header(heap, out, size);
    out->left = out->array.data_bytes;
    return status == GANTRY_OK ? GANTRY_OK
                               : gantry__fail_prefix(status, "cannot load '%s': ", path);
}

/* Reads as many bytes as the file had when it was opened. */
static gantry_status_t read_promised(gantry__npy_file_t *file, void *target, size_t bytes) {
    size_t got, more;
    char beyond;
    GANTRY__TRY(gantry__file_read_next(file->file, file->path, target, bytes, &got));
    file->left -= got;
    if (got < bytes) {
        return gantry__fail(
            GANTRY_DATA_LOSS,
            "the .npy file should have %zu bytes of elements and has %zu: it is truncated",
            file->array.data_bytes, file->array.data_bytes - file->left);
    }
    if (file->left > 0) return GANTRY_OK;
    GANTRY__TRY(gantry__file_read_next(file->file, file->path, &beyond, 1, &more));
    if (more == 0) return GANTRY_OK;
    return gantry__fail(
        GANTRY_DATA_LOSS,
        "the .npy file has more than %zu bytes of elements: it is followed by something else",
        file->array.data_bytes);
}

static gantry_status_t read_turned(const gantry__heap_t *heap, gantry__npy_file_t *file,
                                   char *target) {
    const size_t most = file->left < TURNED_BYTES ? file->left : TURNED_BYTES;
    char *block = gantry__heap_alloc(heap, most);
    if (!block) return GANTRY_RESOURCE_EXHAUSTED;
    turn_t turn = begin_turn(&file->array);
    gantry_status_t status = GANTRY_OK;
    while (status == GANTRY_OK && file->left > 0) {
        const size_t bytes = file->left < most ? file->left : most;
        status = read_promised(file, block, bytes);
        if (status == GANTRY_OK) turn_elements(&turn, block, bytes, target);
    }
    gantry__heap_free(heap, block, most);
    return status;
}

gantry_status_t gantry__npy_read(const gantry__heap_t *heap, gantry__npy_file_t *file, void *target,
                                 size_t bytes) {
    if (bytes == 0) return GANTRY_OK;
    gantry_status_t status = is_turned(&file->array) ? read_turned(heap, file, target)
                                                     : read_promised(file, target, bytes);
    if (status != GANTRY_OK) return gantry__fail_prefix(status, "cannot load '%s': ", file->path);
    convert(&file->array, target, bytes);
    return GANTRY_OK;
}

void gantry__npy_close(gantry__npy_file_t *file) {
    gantry__file_close(file->file);
    file->file = -1;
}

/* ---- writing ---- */

/* The width that NumPy reserves for a first dimension that may grow in place. */
#define GROWTH_CHARS 21

static int write_dict(const char *descr, const gantry_shape_t *shape, char *out, size_t out_bytes) {
    char dims[GANTRY_MAX_RANK * 22 + 4];
    size_t used = 0;
    int growth = 0;
    for (int32_t i = 0; i < shape->rank; ++i) {
        int length = snprintf(dims + used, sizeof dims - used, i ? ", %" PRId64 : "%" PRId64,
                              shape->dims[i]);
        if (i == 0) growth = GROWTH_CHARS - length;
        used += (size_t)length;
    }
    dims[used] = '\0';
    const char order = *descr != '=' ? *descr : machine_is_little_endian() ? '<' : '>';
    return snprintf(out, out_bytes,
                    "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s%s), }%*s", order,
                    descr + 1, dims, shape->rank == 1 ? "," : "", growth, "");
}

gantry_status_t gantry__npy_header(gantry_dtype_t dtype, const gantry_shape_t *shape,
                                   char out[GANTRY__NPY_HEADER_BYTES], size_t *out_bytes) {
    const char *descr = gantry__type_npy((int32_t)dtype);
    size_t data_bytes = 0;
    *out_bytes = 0;
    if (!descr) {
        return gantry__fail(GANTRY_UNIMPLEMENTED, "an .npy file cannot hold elements of type %s",
                            gantry_dtype_name(dtype));
    }
    GANTRY__TRY(measure(shape, dtype, &data_bytes));
    const size_t fixed = MAGIC_BYTES + 4;
    size_t length = (size_t)write_dict(descr, shape, out + fixed, GANTRY__NPY_HEADER_BYTES - fixed);
    size_t total = (fixed + length + 1 + 63) / 64 * 64; /* one for the newline */
    memset(out + fixed + length, ' ', total - fixed - length - 1);
    out[total - 1] = '\n';
    memcpy(out, MAGIC "\x01\x00", MAGIC_BYTES + 2);
    out[8] = (char)((total - fixed) & 0xff);
    out[9] = (char)((total - fixed) >> 8);
    *out_bytes = total;
    return GANTRY_OK;
}
