/* SPDX-License-Identifier: Apache-2.0 */
/* A pickle is a program for a machine with a stack and a memo. NumPy's of a vector of lists, in the
 * protocols 2 to 5:
 *
 *     numpy._reconstruct (numpy.ndarray, (0,), b"b") call       the array
 *     1, (2,), numpy.dtype ("O8", False, True) call ... build   version, shape, type
 *     False, [[1, 5], [7]], tuple, build                        order, the rows
 *
 * The reader below runs only the instructions that such a pickle needs, over values of its own; of
 * the four names that it knows it makes these values, and it refuses every other name. So a file
 * can choose numbers, and nothing else.
 *
 * Every instruction has a byte or more, and makes one value of values that are on the stack. So
 * stack, memo, tuples and lists have at most as many items as the pickle has bytes. Rows that are
 * the same list are copied for each: their sum has the same limit. Sources: pickletools.py of
 * CPython; numpy/_core/src/multiarray/methods.c, array_reduce. */
#include "convert/lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind_t {
    MARK,
    NONE, /* None and the bools: no number of a list */
    NUMBER,
    TEXT,  /* number: its length; at: its bytes */
    TUPLE, /* first and count, in tuples */
    LIST,  /* first: its number */
    NAME,  /* number: name_t */
    DTYPE,
    ARRAY /* count 1: built, of the list `first` */
} kind_t;

typedef enum name_t { RECONSTRUCT, NDARRAY, DTYPE_NAME, ENCODE } name_t;

typedef struct value_t {
    kind_t kind;
    int64_t number;
    const unsigned char *at;
    size_t first, count;
} value_t;

typedef struct values_t {
    value_t *items;
    size_t count, capacity;
} values_t;

typedef struct list_t {
    int64_t *items; /* integers, or numbers of lists */
    size_t count, capacity;
    kind_t kind; /* NUMBER or LIST; NONE while it is empty */
} list_t;

typedef struct reader_t {
    const unsigned char *at, *end;
    uint64_t rows;
    values_t stack, memo, tuples;
    list_t *lists;
    size_t list_count, list_capacity;
    bool has_ended;
    char *why;
} reader_t;

/* ---- failures and memory ---- */

static bool lists_refuse(reader_t *r, const char *what) {
    (void)snprintf(
        r->why, CONVERT_LISTS_WHY_BYTES,
        "the .npy file holds Python objects, in a pickle %s; lists of integers are accepted", what);
    return false;
}

static bool refuse_damage(reader_t *r) { return lists_refuse(r, "that is damaged"); }

static bool lists_fail_memory(reader_t *r) {
    (void)snprintf(r->why, CONVERT_LISTS_WHY_BYTES, "there is no memory for its lists");
    return false;
}

/* Makes room for one more item. */
static bool lists_grow(reader_t *r, void *items_ptr, size_t count, size_t *capacity, size_t bytes) {
    void *items;
    if (count < *capacity) return true;
    const size_t wanted = *capacity ? *capacity * 2 : 8;
    memcpy(&items, items_ptr, sizeof items);
    items = wanted < SIZE_MAX / bytes ? realloc(items, wanted * bytes) : NULL;
    if (!items) return lists_fail_memory(r);
    memcpy(items_ptr, &items, sizeof items);
    *capacity = wanted;
    return true;
}

static bool values_add(reader_t *r, values_t *values, value_t value) {
    if (!lists_grow(r, (void *)&values->items, values->count, &values->capacity, sizeof value))
        return false;
    values->items[values->count++] = value;
    return true;
}

static bool lists_push(reader_t *r, value_t value) { return values_add(r, &r->stack, value); }

static bool list_add(reader_t *r, size_t number, const value_t *item) {
    list_t *list = &r->lists[number];
    if (item->kind != NUMBER && item->kind != LIST)
        return lists_refuse(r, "whose lists have other items than integers");
    if (list->count > 0 && list->kind != item->kind)
        return lists_refuse(r, "of lists in lists and numbers next to them");
    if (!lists_grow(r, (void *)&list->items, list->count, &list->capacity, sizeof *list->items))
        return false;
    list->kind = item->kind;
    list->items[list->count++] = item->kind == LIST ? (int64_t)item->first : item->number;
    return true;
}

static bool push_list(reader_t *r) {
    if (!lists_grow(r, (void *)&r->lists, r->list_count, &r->list_capacity, sizeof *r->lists))
        return false;
    r->lists[r->list_count] = (list_t){.kind = NONE};
    return lists_push(r, (value_t){.kind = LIST, .first = r->list_count++});
}

/* ---- the pickle's bytes ---- */

/* NULL if fewer are left. */
static const unsigned char *take_bytes(reader_t *r, uint64_t bytes) {
    const unsigned char *at = r->at;
    if (bytes > (uint64_t)(r->end - at)) {
        (void)refuse_damage(r);
        return NULL;
    }
    r->at += bytes;
    return at;
}

/* Little-endian. */
static bool lists_take_number(reader_t *r, size_t bytes, bool is_signed, int64_t *out) {
    const unsigned char *at = take_bytes(r, bytes);
    if (!at) return false;
    uint64_t value = is_signed && bytes > 0 && at[bytes - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = bytes; i > 0; --i) value = value << 8 | at[i - 1];
    memcpy(out, &value, sizeof value);
    return true;
}

static bool push_number(reader_t *r, size_t bytes, bool is_signed) {
    value_t value = {.kind = NUMBER};
    return lists_take_number(r, bytes, is_signed, &value.number) && lists_push(r, value);
}

static bool push_long(reader_t *r) {
    int64_t bytes;
    if (!lists_take_number(r, 1, false, &bytes)) return false;
    if (bytes > 8) return lists_refuse(r, "with an integer of more than 64 bits");
    return push_number(r, (size_t)bytes, true);
}

static bool push_text(reader_t *r, size_t length_bytes) {
    value_t value = {.kind = TEXT};
    if (!lists_take_number(r, length_bytes, false, &value.number)) return false;
    value.at = take_bytes(r, (uint64_t)value.number);
    return value.at && lists_push(r, value);
}

static bool text_is(const value_t *value, const char *wanted) {
    return value->kind == TEXT && (uint64_t)value->number == strlen(wanted) &&
           memcmp(value->at, wanted, (size_t)value->number) == 0;
}

/* ---- the stack ---- */

/* The value that is `depth` below the top, or NULL: a mark is in front of it. */
static value_t *lists_top(reader_t *r, size_t depth) {
    for (size_t i = 0; i <= depth; ++i) {
        if (i < r->stack.count && r->stack.items[r->stack.count - 1 - i].kind != MARK) continue;
        (void)refuse_damage(r);
        return NULL;
    }
    return &r->stack.items[r->stack.count - 1 - depth];
}

/* The number of values over the last mark. */
static bool count_to_mark(reader_t *r, size_t *out_count) {
    for (size_t i = r->stack.count; i > 0; --i) {
        if (r->stack.items[i - 1].kind != MARK) continue;
        *out_count = r->stack.count - i;
        return true;
    }
    return refuse_damage(r);
}

/* Makes a tuple of the last values; the mark below them goes, too, if there is one. */
static bool make_tuple(reader_t *r, size_t count, bool is_marked) {
    const value_t tuple = {.kind = TUPLE, .first = r->tuples.count, .count = count};
    if (count > 0 && !lists_top(r, count - 1)) return false;
    for (size_t i = count; i > 0; --i)
        if (!values_add(r, &r->tuples, r->stack.items[r->stack.count - i])) return false;
    r->stack.count -= count + is_marked;
    return lists_push(r, tuple);
}

static bool make_marked_tuple(reader_t *r) {
    size_t count;
    return count_to_mark(r, &count) && make_tuple(r, count, true);
}

/* Appends the last values to the list below them. */
static bool append_to_list(reader_t *r, size_t count, bool is_marked) {
    const size_t taken = count + is_marked;
    if (r->stack.count <= taken || r->stack.items[r->stack.count - 1 - taken].kind != LIST)
        return refuse_damage(r);
    const size_t list = r->stack.items[r->stack.count - 1 - taken].first;
    for (size_t i = count; i > 0; --i)
        if (!list_add(r, list, &r->stack.items[r->stack.count - i])) return false;
    r->stack.count -= taken;
    return true;
}

static bool append_marked(reader_t *r) {
    size_t count;
    return count_to_mark(r, &count) && append_to_list(r, count, true);
}

/* ---- the memo ---- */

/* Python's picklers number their values in order; Python 2's begins with 1. */
static bool memo_put(reader_t *r, int64_t number) {
    const value_t *value = lists_top(r, 0);
    if (!value) return false;
    if (number == 1 && r->memo.count == 0 && !values_add(r, &r->memo, *value)) return false;
    if ((uint64_t)number != r->memo.count) return refuse_damage(r);
    return values_add(r, &r->memo, *value);
}

static bool memo_put_numbered(reader_t *r, size_t bytes) {
    int64_t number;
    return lists_take_number(r, bytes, false, &number) && memo_put(r, number);
}

static bool memo_get(reader_t *r, size_t bytes) {
    int64_t number;
    if (!lists_take_number(r, bytes, false, &number)) return false;
    if ((uint64_t)number >= r->memo.count) return refuse_damage(r);
    return lists_push(r, r->memo.items[number]);
}

/* ---- names, and what they make ---- */

static bool push_name(reader_t *r, const value_t *module, const value_t *name) {
    static const struct {
        const char *module, *name;
        name_t what;
    } known[] = {{"numpy.core.multiarray", "_reconstruct", RECONSTRUCT},
                 {"numpy._core.multiarray", "_reconstruct", RECONSTRUCT},
                 {"numpy", "ndarray", NDARRAY},
                 {"numpy", "dtype", DTYPE_NAME},
                 {"_codecs", "encode", ENCODE}};
    char what[CONVERT_LISTS_WHY_BYTES];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
        if (text_is(module, known[i].module) && text_is(name, known[i].name))
            return lists_push(r, (value_t){.kind = NAME, .number = known[i].what});
    if (module->kind != TEXT || name->kind != TEXT) return refuse_damage(r);
    (void)snprintf(what, sizeof what, "that names %.*s.%.*s",
                   (int)(module->number < 40 ? module->number : 40), (const char *)module->at,
                   (int)(name->number < 40 ? name->number : 40), (const char *)name->at);
    return lists_refuse(r, what);
}

static bool lists_take_line(reader_t *r, value_t *out) {
    const unsigned char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (!end) return refuse_damage(r);
    *out = (value_t){.kind = TEXT, .number = end - r->at, .at = r->at};
    r->at = end + 1;
    return true;
}

static bool push_lines_name(reader_t *r) {
    value_t module, name;
    return lists_take_line(r, &module) && lists_take_line(r, &name) && push_name(r, &module, &name);
}

static bool push_stacked_name(reader_t *r) {
    if (!lists_top(r, 1)) return false;
    r->stack.count -= 2;
    const value_t *items = r->stack.items + r->stack.count;
    const value_t module = items[0], name = items[1];
    return push_name(r, &module, &name);
}

/* Calls one of the known names with a tuple of arguments. */
static bool call_name(reader_t *r) {
    if (!lists_top(r, 1)) return false;
    r->stack.count -= 2;
    const value_t name = r->stack.items[r->stack.count],
                  arguments = r->stack.items[r->stack.count + 1];
    if (name.kind != NAME || arguments.kind != TUPLE || arguments.count == 0)
        return refuse_damage(r);
    const value_t *first = &r->tuples.items[arguments.first];
    switch (name.number) {
        case RECONSTRUCT: return lists_push(r, (value_t){.kind = ARRAY});
        case ENCODE: return lists_push(r, *first);
        case DTYPE_NAME:
            if (!text_is(first, "O8") && !text_is(first, "O4") && !text_is(first, "O"))
                return lists_refuse(r, "of NumPy's arrays or numbers");
            return lists_push(r, (value_t){.kind = DTYPE});
        default: return refuse_damage(r);
    }
}

static bool is_shape(const reader_t *r, const value_t *tuple) {
    return tuple->kind == TUPLE && tuple->count == 1 &&
           r->tuples.items[tuple->first].kind == NUMBER &&
           (uint64_t)r->tuples.items[tuple->first].number == r->rows;
}

/* Gives an array its state: version, shape, type, order, rows. The state of a type says nothing. */
static bool build_object(reader_t *r) {
    value_t *object = lists_top(r, 1);
    if (!object) return false;
    const value_t state = r->stack.items[--r->stack.count];
    if (state.kind == TUPLE && object->kind == DTYPE) return true;
    if (object->kind != ARRAY || state.kind != TUPLE || state.count != 5) return refuse_damage(r);
    const value_t *items = &r->tuples.items[state.first];
    if (!is_shape(r, &items[1]) || items[2].kind != DTYPE || items[4].kind != LIST)
        return lists_refuse(r, "of another array than the header states");
    object->first = items[4].first;
    object->count = 1;
    return true;
}

/* ---- the program ---- */

static bool lists_skip(reader_t *r, size_t bytes) { return take_bytes(r, bytes) != NULL; }

static bool step_value(reader_t *r, unsigned op) {
    switch (op) {
        case 'K': return push_number(r, 1, false);
        case 'M': return push_number(r, 2, false);
        case 'J': return push_number(r, 4, true);
        case 0x8a: return push_long(r);
        case 'N':  /* None */
        case 0x88: /* True */
        case 0x89: /* False */ return lists_push(r, (value_t){.kind = NONE});
        case 'C':
        case 'U':
        case 0x8c: return push_text(r, 1);
        case 'B':
        case 'T':
        case 'X': return push_text(r, 4);
        case ']': return push_list(r);
        case '(': return lists_push(r, (value_t){.kind = MARK});
        case 'c': return push_lines_name(r);
        case 0x93: return push_stacked_name(r);
        default: return lists_refuse(r, "of other things");
    }
}

static bool step(reader_t *r) {
    const unsigned char *op = take_bytes(r, 1);
    if (!op) return false;
    switch (*op) {
        case 0x80: return lists_skip(r, 1); /* the protocol */
        case 0x95: return lists_skip(r, 8); /* the length of a frame */
        case '.': return r->has_ended = true;
        case 'a': return append_to_list(r, 1, false);
        case 'e': return append_marked(r);
        case ')': return make_tuple(r, 0, false);
        case 0x85: return make_tuple(r, 1, false);
        case 0x86: return make_tuple(r, 2, false);
        case 0x87: return make_tuple(r, 3, false);
        case 't': return make_marked_tuple(r);
        case 'q': return memo_put_numbered(r, 1);
        case 'r': return memo_put_numbered(r, 4);
        case 0x94: return memo_put(r, (int64_t)r->memo.count);
        case 'h': return memo_get(r, 1);
        case 'j': return memo_get(r, 4);
        case 'R': return call_name(r);
        case 'b': return build_object(r);
        default: return step_value(r, *op);
    }
}

/* ---- the rows ---- */

static bool measure_rows(reader_t *r, const list_t *outer, size_t limit, size_t *out_count) {
    *out_count = 0;
    if (outer->count != r->rows) return lists_refuse(r, "of another array than the header states");
    if (outer->kind == NUMBER) return lists_refuse(r, "of numbers that are in no list");
    for (size_t i = 0; i < outer->count; ++i) {
        const list_t *row = &r->lists[outer->items[i]];
        if (row->kind == LIST) return lists_refuse(r, "of lists in lists");
        if (row->count > limit - *out_count)
            return lists_refuse(r, "that repeats lists, so that it has more numbers than bytes");
        *out_count += row->count;
    }
    return true;
}

static bool take_rows(reader_t *r, size_t limit, convert_lists_t *out) {
    const value_t *array = lists_top(r, 0);
    if (!array) return false;
    if (r->at != r->end || r->stack.count != 1 || array->kind != ARRAY || array->count != 1)
        return refuse_damage(r);
    const list_t *outer = &r->lists[array->first];
    if (!measure_rows(r, outer, limit, &out->count)) return false;
    out->rows = outer->count;
    out->values = malloc((out->count + 1) * sizeof *out->values);
    out->splits = malloc((out->rows + 1) * sizeof *out->splits);
    if (!out->values || !out->splits) return lists_fail_memory(r);
    size_t used = 0;
    for (size_t i = 0; i < out->rows; ++i) {
        const list_t *row = &r->lists[outer->items[i]];
        out->splits[i] = (int64_t)used;
        if (row->count > 0) memcpy(out->values + used, row->items, row->count * sizeof *row->items);
        used += row->count;
    }
    out->splits[out->rows] = (int64_t)used;
    return true;
}

static void reader_deinit(reader_t *r) {
    for (size_t i = 0; i < r->list_count; ++i) free(r->lists[i].items);
    free(r->lists);
    free(r->stack.items);
    free(r->memo.items);
    free(r->tuples.items);
}

bool convert_lists_read(const unsigned char *pickle, size_t bytes, uint64_t rows,
                        convert_lists_t *out, char why[CONVERT_LISTS_WHY_BYTES]) {
    reader_t reader = {.at = pickle, .end = pickle + bytes, .rows = rows, .why = why};
    *out = (convert_lists_t){.rows = 0};
    bool good = true;
    while (good && !reader.has_ended) good = step(&reader);
    good = good && take_rows(&reader, bytes, out);
    reader_deinit(&reader);
    if (!good) convert_lists_deinit(out);
    return good;
}

void convert_lists_deinit(convert_lists_t *self) {
    free(self->values);
    free(self->splits);
    *self = (convert_lists_t){.rows = 0};
}

/* ---- the .npy file ---- */

bool convert_lists_find(const unsigned char *front, size_t front_bytes, uint64_t *out_rows,
                        size_t *out_at) {
    char head[128] = "";
    const size_t fixed = 10; /* of format 1, as NumPy writes it */
    if (front_bytes < fixed || memcmp(front, "\x93NUMPY\x01", 7) != 0) return false;
    const size_t length = front[8] | (size_t)front[9] << 8;
    if (length > front_bytes - fixed) return false;
    memcpy(head, front + fixed, length < sizeof head - 1 ? length : sizeof head - 1);
    int used = 0;
    *out_at = fixed + length;
    return sscanf(head, "{'descr': '|O', 'fortran_order': %*[FalseTru], 'shape': (%" SCNu64 ",)%n",
                  out_rows, &used) == 1 &&
           used > 0;
}
