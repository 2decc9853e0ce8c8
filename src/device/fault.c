/* SPDX-License-Identifier: Apache-2.0 */
#include "device/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "device/buffer.h"
#include "device/loss.h"
#include "device/transfer.h"

#define MOST_NUMBERS 8 /* of a place, and so on: the interface's */

typedef struct gantry_logical_device_t logical_t;

gantry_status_t gantry__fault_table_init(gantry__fault_table_t *table) {
    table->is_ready = false;
    table->free_count = 0;
    if (gantry__mutex_init(&table->lock) != 0) return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    return GANTRY_OK;
}

void gantry__fault_table_deinit(logical_t *device) {
    gantry__fault_table_t *table = &device->faults;
    if (table->is_ready) gantry__buffer_release(table->buffer);
    table->is_ready = false;
    gantry__mutex_deinit(&table->lock);
}

/* The lock is held. */
static void adopt_slots(gantry__fault_table_t *table, gantry__buffer_t *buffer) {
    table->buffer = buffer;
    table->span = buffer->span;
    for (uint32_t i = 0; i < GANTRY__FAULT_SLOTS; ++i) table->free_slots[i] = GANTRY__FAULT_SLOTS - 1 - i;
    table->free_count = GANTRY__FAULT_SLOTS;
    table->is_ready = true;
}

/* Called and returns with the lock held, which is let go while memory is allocated; a second thread that did the same gives its own up. */
static gantry_status_t make_slots(logical_t *device) {
    gantry__fault_table_t *table = &device->faults;
    gantry__buffer_t *buffer;
    uint64_t bytes = (uint64_t)GANTRY__FAULT_SLOTS * GANTRY__FAULT_BYTES;
    gantry__mutex_unlock(&table->lock);
    gantry_status_t status = gantry__buffer_create(device, bytes, GANTRY_STREAM_COMPUTE, "error slots",
                                                   &buffer); /* behind former uses of the memory */
    gantry__mutex_lock(&table->lock);
    if (!table->is_ready) {
        if (status == GANTRY_OK) adopt_slots(table, buffer);
        return status;
    }
    if (status == GANTRY_OK) {
        gantry__mutex_unlock(&table->lock);
        gantry__buffer_release(buffer);
        gantry__mutex_lock(&table->lock);
    }
    return GANTRY_OK;
}

static gantry_status_t take_slot(logical_t *device, uint32_t *out_slot) {
    gantry__fault_table_t *table = &device->faults;
    gantry__mutex_lock(&table->lock);
    gantry_status_t status = table->is_ready ? GANTRY_OK : make_slots(device);
    if (status == GANTRY_OK && table->free_count == 0) {
        status = gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                              "%s: %d results that may carry an error of the device are unread; read or drop some",
                              device->name, GANTRY__FAULT_SLOTS);
    }
    if (status == GANTRY_OK) *out_slot = table->free_slots[--table->free_count];
    gantry__mutex_unlock(&table->lock);
    return status;
}

static void return_slot(logical_t *device, uint32_t slot) {
    gantry__mutex_lock(&device->faults.lock);
    device->faults.free_slots[device->faults.free_count++] = slot;
    gantry__mutex_unlock(&device->faults.lock);
}

static gantry_span_t slot_span(const logical_t *device, uint32_t slot) {
    gantry_span_t span = device->faults.span;
    span.offset_bytes += (uint64_t)slot * GANTRY__FAULT_BYTES;
    span.size_bytes = GANTRY__FAULT_BYTES;
    return span;
}

gantry_status_t gantry__fault_create(logical_t *device, const char *op, uint64_t sequence, gantry__fault_t **out_fault,
                                     gantry_span_t *out_span) {
    gantry__fault_t *fault = gantry__heap_zalloc(device->table->heap, sizeof *fault);
    if (!fault) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = take_slot(device, &fault->slot);
    if (status != GANTRY_OK) {
        gantry__heap_free(device->table->heap, fault, sizeof *fault);
        return status;
    }
    atomic_store(&fault->references, 1);
    fault->device = device;
    fault->op = op;
    fault->sequence = sequence;
    *out_span = slot_span(device, fault->slot);
    const uint32_t zero = 0;
    gantry__stream_t *compute = &device->streams[GANTRY_STREAM_COMPUTE];
    gantry__stream_begin(compute);
    status = (gantry_status_t)device->backend->transfer->fill(compute->handle, out_span, &zero, sizeof zero);
    (void)gantry__stream_end(compute);
    if (status != GANTRY_OK) {
        gantry__fault_release(fault);
        return gantry__loss_note(device, status);
    }
    *out_fault = fault;
    return GANTRY_OK;
}

gantry__fault_t *gantry__fault_retain(gantry__fault_t *fault) {
    atomic_fetch_add_explicit(&fault->references, 1, memory_order_relaxed);
    return fault;
}

void gantry__fault_release(gantry__fault_t *fault) {
    if (!fault || atomic_fetch_sub(&fault->references, 1) != 1) return;
    gantry__buffer_release(fault->values);
    /* A slot is used again only by the compute stream, behind the launch that may still write it. */
    return_slot(fault->device, fault->slot);
    gantry__heap_free(fault->device->table->heap, fault, sizeof *fault);
}

static gantry_status_t fetch_slot(const gantry__fault_t *fault, void *out) {
    logical_t *device = fault->device;
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_TO_HOST];
    gantry_span_t span = slot_span(device, fault->slot);
    GANTRY__TRY(gantry__loss_check(device));
    GANTRY__TRY(gantry__stream_wait_for(stream, &fault->point, 1));
    gantry__stream_begin(stream);
    gantry_status_t status = (gantry_status_t)device->backend->transfer->to_host(stream->handle, out, &span);
    uint64_t count = gantry__stream_end(stream);
    status = gantry__loss_note(device, status);
    gantry_status_t waited =
        gantry__point_wait((gantry__point_t){stream, count}); /* also after a failure: out may be written yet */
    if (status == GANTRY_OK && waited == GANTRY_OK) gantry__point_passed(fault->point);
    return status != GANTRY_OK ? status : waited;
}

static bool is_count(int32_t count) { return count >= 0 && count <= MOST_NUMBERS; }

void gantry__fault_set_words(gantry__fault_t *fault, const gantry_fault_words_t *words) {
    if (!GANTRY_ABI_HAS(words, accepted) || !is_count(words->place_rank) || !is_count(words->accepted_count)) return;
    bool has_values = GANTRY_ABI_HAS(words, value_count) && is_count(words->value_count);
    fault->words = (gantry_fault_words_t){0};
    memcpy(&fault->words, words, has_values ? sizeof *words : offsetof(gantry_fault_words_t, value_text));
}

void gantry__fault_keep_values(gantry__fault_t *fault, gantry__buffer_t *buffer, uint64_t offset_bytes, int32_t dtype) {
    fault->values = gantry__buffer_retain(buffer);
    fault->values_offset = offset_bytes;
    fault->values_dtype = dtype;
}

/* ---- words ---- */

typedef struct values_t {
    int64_t numbers[MOST_NUMBERS];
    int32_t count; /* 0: not known */
} values_t;

static int64_t read_number(const unsigned char *at, int32_t dtype) {
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint16_t u16;
        uint32_t u32;
    } number = {0};
    memcpy(&number, at, gantry_dtype_size(dtype));
    switch (dtype) {
        case GANTRY_INT8: return number.i8;
        case GANTRY_INT16: return number.i16;
        case GANTRY_INT32: return number.i32;
        case GANTRY_UINT8: return *at;
        case GANTRY_UINT16: return number.u16;
        case GANTRY_UINT32: return number.u32;
        default: return number.i64;
    }
}

/* What stands at the place; nothing when it cannot be fetched. */
static values_t fetch_values(const gantry__fault_t *fault, int64_t position) {
    unsigned char bytes[MOST_NUMBERS * sizeof(int64_t)];
    const size_t size = gantry_dtype_size(fault->values_dtype);
    const int32_t count = fault->words.value_count > 0 ? fault->words.value_count : 1;
    const uint64_t first = fault->values_offset + (uint64_t)position * (uint64_t)count * size;
    values_t values = {.count = 0};
    if (!fault->values || position < 0 || size == 0 || size > sizeof(int64_t) ||
        first + (uint64_t)count * size > fault->values->span.size_bytes ||
        gantry__copy_to_host(bytes, fault->values, first, (size_t)count * size, fault->point) != GANTRY_OK)
        return values;
    for (; values.count < count; ++values.count)
        values.numbers[values.count] = read_number(bytes + (size_t)values.count * size, fault->values_dtype);
    return values;
}

/* "1,0", between brackets if any. */
static size_t print_numbers(const int64_t *numbers, int32_t count, const char *separator, bool in_brackets, char *out,
                            size_t out_bytes) {
    size_t used = 0;
    for (int32_t d = 0; d < count && used < out_bytes; ++d) {
        const char *before = d > 0 ? separator : in_brackets ? "[" : "";
        used += (size_t)snprintf(out + used, out_bytes - used, "%s%" PRId64, before, numbers[d]);
    }
    if (in_brackets && count > 0 && used < out_bytes) used += (size_t)snprintf(out + used, out_bytes - used, "]");
    return used < out_bytes ? used : out_bytes - 1;
}

static const char *choose_text(const gantry_fault_words_t *words, const values_t *values) {
    if (values->count == 0 || !words->value_text) return words->text;
    bool is_inside = values->numbers[0] >= 0 && values->numbers[0] < words->value_end;
    return is_inside && words->inside_text ? words->inside_text : words->value_text;
}

static void print_words(const gantry_fault_words_t *words, int64_t position, const values_t *values, char *out,
                        size_t out_bytes) {
    int64_t place[MOST_NUMBERS];
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
            case '#': used += print_numbers(words->accepted, words->accepted_count, ",", false, end, left); break;
            case '$': used += print_numbers(values->numbers, values->count, ", ", words->value_count > 0, end, left); break;
            default: out[used++] = *at;
        }
    }
    out[used] = '\0';
}

/* For kernels that give no words. */
static void print_code(uint32_t code, char *out, size_t out_bytes) {
    static const char *const texts[] = {
        [GANTRY_FAULT_INDEX_OUT_OF_RANGE] = "an index is out of range",
        [GANTRY_FAULT_DIVISION_BY_ZERO] = "Integer division by zero",
        [GANTRY_FAULT_BAD_PERMUTATION] = "an index is not between 0 and the count, or duplicated in the input",
        [GANTRY_FAULT_NEGATIVE_EXPONENT] = "Integers to negative integer powers are not allowed",
        [GANTRY_FAULT_LABEL_OUT_OF_RANGE] = "Received a label value which is outside the valid range",
    };
    bool is_known = code < sizeof texts / sizeof texts[0];
    if (is_known) (void)snprintf(out, out_bytes, "%s", texts[code]);
    if (!is_known) (void)snprintf(out, out_bytes, "error %" PRIu32, code);
}

/* First the words that the CPU backend has at the call, then which op it was, since the reader comes later. */
static void describe(gantry__fault_t *fault, uint32_t code, uint32_t input, int64_t position, const values_t *values) {
    char what[320], place[64] = "";
    if (fault->words.text) {
        print_words(&fault->words, position, values, what, sizeof what);
    } else {
        print_code(code, what, sizeof what);
        (void)snprintf(place, sizeof place, ", element %" PRId64, position);
    }
    (void)snprintf(fault->text, sizeof fault->text, "%s: op %s%s%s (number %" PRIu64 ") on %s, input %" PRIu32 "%s",
                   what, fault->op, fault->part_of ? " of " : "", fault->part_of ? fault->part_of : "", fault->sequence,
                   fault->device->full_name, input, place);
}

gantry_status_t gantry__fault_settle(gantry__fault_t *fault) {
    int settled = atomic_load_explicit(&fault->settled, memory_order_acquire);
    if (settled == 0) {
        struct {
            uint32_t code, input;
            int64_t position;
        } slot = {0, 0, 0};
        GANTRY__TRY(fetch_slot(fault, &slot));
        values_t values = {.count = 0};
        gantry__buffer_t *unneeded = NULL;
        if (slot.code != GANTRY_FAULT_NONE) values = fetch_values(fault, slot.position);
        gantry__mutex_lock(&fault->device->faults.lock);
        settled = atomic_load(&fault->settled);
        if (settled == 0) {
            settled = slot.code == GANTRY_FAULT_NONE ? 1 : 2;
            if (settled == 2) describe(fault, slot.code, slot.input, slot.position, &values);
            if (settled == 1) { /* nobody looks at it any more; of bad data another thread may be fetching it */
                unneeded = fault->values;
                fault->values = NULL;
            }
            atomic_store_explicit(&fault->settled, settled, memory_order_release);
        }
        gantry__mutex_unlock(&fault->device->faults.lock);
        gantry__buffer_release(unneeded);
    }
    return settled == 1 ? GANTRY_OK : gantry__fail(GANTRY_INVALID_ARGUMENT, "%s", fault->text);
}
