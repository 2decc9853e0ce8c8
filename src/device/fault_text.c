/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of faults, in this order: the words of a kernel and their limits, fetching the values at
 * a place, the texts for codes without words, and the whole sentence with op and number. */
#include "device/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "device/buffer.h"
#include "device/logical_device.h"
#include "device/transfer.h"

/* ---- words ---- */

static bool is_count(int32_t count) { return count >= 0 && count <= GANTRY__FAULT_NUMBERS; }

void gantry__fault_set_words(gantry__fault_t *fault, const gantry_fault_words_t *words) {
    if (!GANTRY_ABI_HAS(words, accepted) || !is_count(words->place_rank) ||
        !is_count(words->accepted_count))
        return;
    bool has_values = GANTRY_ABI_HAS(words, value_count) && is_count(words->value_count);
    fault->words = (gantry_fault_words_t){0};
    memcpy(&fault->words, words,
           has_values ? sizeof *words : offsetof(gantry_fault_words_t, value_text));
}

void gantry__fault_keep_values(gantry__fault_t *fault, gantry__buffer_t *buffer,
                               uint64_t offset_bytes, int32_t dtype) {
    fault->values = gantry__buffer_retain(buffer);
    fault->values_offset = offset_bytes;
    fault->values_dtype = dtype;
}

/* ---- what is at a place ---- */

gantry__fault_values_t gantry__fault_fetch_values(const gantry__fault_t *fault, int64_t position) {
    unsigned char bytes[GANTRY__FAULT_NUMBERS * sizeof(int64_t)];
    const size_t size = gantry_dtype_size(fault->values_dtype);
    const int32_t count = fault->words.value_count > 0 ? fault->words.value_count : 1;
    gantry__fault_values_t values = {.count = 0};
    if (!fault->values || size == 0 || size > sizeof(int64_t) || position < 0 ||
        (uint64_t)position >= fault->values->span.size_bytes)
        return values;
    const uint64_t first = fault->values_offset + (uint64_t)position * (uint64_t)count * size;
    if (first + (uint64_t)count * size > fault->values->span.size_bytes) return values;
    gantry_status_t status =
        gantry__copy_to_host(bytes, fault->values, first, (size_t)count * size, fault->point);
    if (status != GANTRY_OK) {
        (void)snprintf(values.cause, sizeof values.cause, "; the value cannot be read: %s: %s",
                       gantry_status_name(status), gantry__message());
        return values;
    }
    for (; values.count < count; ++values.count)
        values.numbers[values.count] = gantry__integer_read((gantry_dtype_t)fault->values_dtype,
                                                            bytes + (size_t)values.count * size);
    return values;
}

/* ---- texts ---- */

/* Prints "1,0", to be put between brackets. */
static size_t print_numbers(const int64_t *numbers, int32_t count, const char *separator,
                            bool in_brackets, char *out, size_t out_bytes) {
    size_t used = 0;
    for (int32_t d = 0; d < count && used < out_bytes; ++d) {
        const char *before = d > 0 ? separator : in_brackets ? "[" : "";
        used += (size_t)snprintf(out + used, out_bytes - used, "%s%" PRId64, before, numbers[d]);
    }
    if (in_brackets && count > 0 && used < out_bytes)
        used += (size_t)snprintf(out + used, out_bytes - used, "]");
    return used < out_bytes ? used : out_bytes - 1;
}

static const char *choose_text(const gantry_fault_words_t *words,
                               const gantry__fault_values_t *values) {
    if (values->count == 0 || !words->value_text) return words->text;
    bool is_inside = values->numbers[0] >= 0 && values->numbers[0] < words->value_end;
    return is_inside && words->inside_text ? words->inside_text : words->value_text;
}

static void print_words(const gantry_fault_words_t *words, int64_t position,
                        const gantry__fault_values_t *values, char *out, size_t out_bytes) {
    int64_t place[GANTRY__FAULT_NUMBERS];
    size_t used = 0;
    for (int32_t d = words->place_rank - 1; d >= 0; --d) {
        int64_t size = words->place_dims[d] > 0 ? words->place_dims[d] : 1;
        place[d] = d > 0 ? position % size : position;
        position /= size;
    }
    for (const char *at = choose_text(words, values); *at && used + 1 < out_bytes; ++at) {
        char *end = out + used;
        size_t left = out_bytes - used;
        switch (*at) {
            case '@': used += print_numbers(place, words->place_rank, ",", true, end, left); break;
            case '#':
                used +=
                    print_numbers(words->accepted, words->accepted_count, ",", false, end, left);
                break;
            case '$':
                used += print_numbers(values->numbers, values->count, ", ", words->value_count > 0,
                                      end, left);
                break;
            default: out[used++] = *at;
        }
    }
    out[used] = '\0';
}

/* The text for kernels that give no words. */
static void print_code(uint32_t code, char *out, size_t out_bytes) {
    static const char *const texts[] = {
        [GANTRY_FAULT_INDEX_OUT_OF_RANGE] = "an index is out of range",
        [GANTRY_FAULT_DIVISION_BY_ZERO] = "Integer division by zero",
        [GANTRY_FAULT_BAD_PERMUTATION] =
            "an index is not between 0 and the count, or duplicated in the input",
        [GANTRY_FAULT_NEGATIVE_EXPONENT] = "Integers to negative integer powers are not allowed",
        [GANTRY_FAULT_LABEL_OUT_OF_RANGE] =
            "Received a label value which is outside the valid range",
    };
    bool is_known = code < sizeof texts / sizeof texts[0];
    if (is_known) (void)snprintf(out, out_bytes, "%s", texts[code]);
    if (!is_known) (void)snprintf(out, out_bytes, "error %" PRIu32, code);
}

void gantry__fault_describe(gantry__fault_t *fault, uint32_t code, uint32_t input, int64_t position,
                            const gantry__fault_values_t *values) {
    char what[320], element[64] = "";
    const size_t used = strlen(fault->text);
    if (fault->words.text) {
        print_words(&fault->words, position, values, what, sizeof what);
    } else {
        print_code(code, what, sizeof what);
        (void)snprintf(element, sizeof element, ", element %" PRId64, position);
    }
    if (used > 0) { /* op and device are in front, and the kernel's words name the input */
        char numbers[96] = "";
        if (!fault->words.text)
            (void)snprintf(numbers, sizeof numbers, ": input %" PRIu32 "%s", input, element);
        (void)snprintf(fault->text + used, sizeof fault->text - used, "%s%s%s", what, numbers,
                       values->cause);
        return;
    }
    size_t length = strlen(what);
    if (length > 0 && what[length - 1] == '.') --length; /* the sentence goes on */
    (void)snprintf(fault->text, sizeof fault->text,
                   "%.*s: op %s%s%s (number %" PRIu64 ") on %s, input %" PRIu32 "%s%s", (int)length,
                   what, fault->op, fault->part_of ? " of " : "",
                   fault->part_of ? fault->part_of : "", fault->sequence, fault->device->full_name,
                   input, element, values->cause);
}
