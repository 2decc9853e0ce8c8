/* SPDX-License-Identifier: Apache-2.0 */
#include "train/strategy/compare.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/c_locale.h"
#include "train/base/fp_mode.h"
#include "shared/memory.h"

/* ---- lines ---- */

void gantry__lines_fail(gantry__lines_t *lines, gantry_status_t status) {
    if (status == GANTRY_OK || lines->status != GANTRY_OK) return;
    lines->status = status;
    (void)snprintf(lines->message, sizeof lines->message, "%s", gantry_last_message());
}

void gantry__lines_add(gantry__lines_t *lines, const char *format, ...) {
    va_list arguments;
    while (lines->status == GANTRY_OK && lines->capacity < lines->used + GANTRY__LINE_BYTES) {
        if (!gantry__grow(&lines->text, lines->capacity, &lines->capacity, 1))
            gantry__lines_fail(lines, GANTRY_RESOURCE_EXHAUSTED);
    }
    if (lines->status != GANTRY_OK) return;
    char *line = lines->text + lines->used;
    va_start(arguments, format);
    (void)gantry__format(line, GANTRY__LINE_BYTES, format, arguments);
    va_end(arguments);
    lines->used += strlen(line) + 1;
}

void gantry__lines_deinit(gantry__lines_t *lines) {
    gantry__free(lines->text);
    *lines = (gantry__lines_t){.text = NULL};
}

gantry__number_text_t gantry__number_text(double number) {
    gantry__number_text_t out = {"nan"}; /* of either sign */
    if (isnan(number)) return out;
    const gantry__c_locale_t locale = gantry__c_locale_begin();
    for (int digits = 6; digits <= 17; ++digits) {
        (void)snprintf(out.text, sizeof out.text, "%.*g", digits, number);
        const double read = strtod(out.text, NULL);
        if (read <= number && read >= number) break;
    }
    gantry__c_locale_end(&locale);
    return out;
}

/* Copies the line at *at and moves *at after it; "" after the last one. */
static void compare_take_line(const gantry__lines_t *lines, size_t *at,
                              char out[GANTRY__LINE_BYTES]) {
    memset(out, 0, GANTRY__LINE_BYTES);
    if (*at >= lines->used) return;
    (void)snprintf(out, GANTRY__LINE_BYTES, "%s", lines->text + *at);
    *at += strlen(out) + 1;
}

/* ---- checksums ---- */

uint64_t gantry__bytes_checksum(uint64_t before, const void *data, size_t bytes) {
    const unsigned char *at = data;
    uint64_t sum = before ^ UINT64_C(14695981039346656037); /* FNV-1a, by words of 8 bytes */
    for (; bytes >= sizeof sum; bytes -= sizeof sum, at += sizeof sum) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        sum = (sum ^ word) * UINT64_C(1099511628211);
        sum ^= sum >> 32; /* high bits of a word count in low ones of the sum */
    }
    for (; bytes > 0; --bytes, ++at) sum = (sum ^ *at) * UINT64_C(1099511628211);
    return sum;
}

/* The bits of an infinity; a NaN has higher ones, but for its sign. 0: not a floating type. */
static uint64_t infinity_of(gantry_dtype_t dtype) {
    switch (dtype) {
        case GANTRY_FLOAT16: return 0x7c00;
        case GANTRY_BFLOAT16: return 0x7f80;
        case GANTRY_FLOAT32: return 0x7f800000;
        case GANTRY_FLOAT64: return UINT64_C(0x7ff0000000000000);
        default: return 0;
    }
}

#define JOIN_NANS(word_t)                                                               \
    for (word_t *at = data, *end = at + bytes / sizeof *at; at < end; ++at) {           \
        if ((*at & (word_t)((word_t)-1 >> 1)) > infinity) *at = (word_t)(infinity + 1); \
    }

static void join_nans(gantry_dtype_t dtype, void *data, size_t bytes) {
    const uint64_t infinity = infinity_of(dtype);
    const size_t size = infinity ? gantry_dtype_size(dtype) : 0;
    if (size == sizeof(uint16_t)) JOIN_NANS(uint16_t)
    if (size == sizeof(uint32_t)) JOIN_NANS(uint32_t)
    if (size == sizeof(uint64_t)) JOIN_NANS(uint64_t)
}

gantry_status_t gantry__variable_checksum(gantry_scope_t *scope, gantry_variable_t *variable,
                                          uint64_t *out_sum) {
    *out_sum = 0;
    const gantry_tensor_t *value = gantry_variable_read(scope, variable);
    if (!value) return gantry_scope_status(scope);
    const size_t bytes = gantry_tensor_bytes(value);
    void *data = gantry__alloc(bytes, 1);
    if (!data) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry_status_t status = gantry_tensor_read(value, data, bytes);
    if (status == GANTRY_OK) {
        join_nans(gantry_variable_dtype(variable), data, bytes);
        *out_sum = gantry__bytes_checksum(0, data, bytes);
    }
    gantry__free(data);
    gantry_tensor_drop(scope, value);
    return status;
}

/* ---- comparison ---- */

gantry__rank_name_t gantry__name_rank(const gantry_communicator_t *c, size_t rank) {
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    const char *where = c->describe ? c->describe(c->user, rank) : NULL;
    gantry__rank_name_t name;
    (void)snprintf(name.text, sizeof name.text, where ? "rank %zu (%s)" : "rank %zu", rank, where);
    return name;
}

/* Finds the first rank that says so, in every process. It must not allocate, because a process that
 * fails would let the others wait. */
static gantry_status_t find_first(const gantry_communicator_t *c, bool is_one, const char *what,
                                  size_t *out_rank) {
    unsigned char mark = 0;
    *out_rank = 0;
    for (size_t r = 0; r < c->size && !mark; ++r) {
        mark = c->rank == r && is_one;
        *out_rank = r;
        GANTRY__TRY(c->broadcast(c->user, &mark, sizeof mark, r, what));
    }
    return GANTRY_OK;
}

static gantry_status_t compare_tell_failure(const gantry_communicator_t *c,
                                            const gantry__lines_t *lines, const char *what) {
    size_t first;
    uint64_t code = (uint64_t)lines->status;
    char text[GANTRY__TRAIN_MESSAGE_BYTES] = "";
    if (lines->status != GANTRY_OK) memcpy(text, lines->message, sizeof text);
    gantry_status_t status = find_first(c, lines->status != GANTRY_OK, what, &first);
    if (status == GANTRY_OK) status = c->broadcast(c->user, &code, sizeof code, first, what);
    if (status == GANTRY_OK) status = c->broadcast(c->user, text, sizeof text, first, what);
    if (lines->status != GANTRY_OK) return gantry_fail(lines->status, lines->message);
    GANTRY__TRY(status);
    return gantry__train_fail((gantry_status_t)code, "%s failed: %s",
                              gantry__name_rank(c, first).text, text);
}

static gantry_status_t fail_at_line(const gantry_communicator_t *c, size_t rank, const char *line,
                                    const char *root) {
    return gantry__train_refuse(NULL, "%s has %s; %s has %s; all processes train alike",
                                gantry__name_rank(c, rank).text, *line ? line : "nothing more",
                                gantry__name_rank(c, 0).text, *root ? root : "nothing more");
}

static gantry_status_t compare_tell_difference(const gantry_communicator_t *c,
                                               const gantry__lines_t *lines, bool differs,
                                               const char *what) {
    size_t rank, at = 0;
    char own[GANTRY__LINE_BYTES], line[GANTRY__LINE_BYTES], root[GANTRY__LINE_BYTES];
    GANTRY__TRY(find_first(c, differs, what, &rank));
    do {
        compare_take_line(lines, &at, own);
        memcpy(root, own, sizeof root);
        memcpy(line, own, sizeof line);
        GANTRY__TRY(c->broadcast(c->user, root, sizeof root, 0, what));
        GANTRY__TRY(c->broadcast(c->user, line, sizeof line, rank, what));
        if (strcmp(line, root) != 0) return fail_at_line(c, rank, line, root);
    } while (*root);
    return gantry__train_fail(
        GANTRY_INTERNAL,
        "the processes differ in the checksum of their settings, but in no line of them");
}

gantry_status_t gantry__compare(const gantry_communicator_t *c, gantry__lines_t *lines,
                                const char *what) {
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    const uint64_t own = gantry__bytes_checksum(0, lines->text, lines->used);
    uint64_t root = own, counts[2];
    GANTRY__TRY(c->broadcast(c->user, &root, sizeof root, 0, what));
    counts[0] = lines->status != GANTRY_OK;
    counts[1] = own != root;
    GANTRY__TRY(c->all_reduce(c->user, counts, 2, GANTRY_UINT64, what));
    if (counts[0] > 0) return compare_tell_failure(c, lines, what);
    return counts[1] > 0 ? compare_tell_difference(c, lines, own != root, what) : GANTRY_OK;
}
