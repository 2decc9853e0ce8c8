/* SPDX-License-Identifier: Apache-2.0 */
/* Faults, in this order: slots, which are device memory of one chunk, taken on first use; a fault's
 * life; settling one fault; settling all submitted ones.
 *
 *   create   takes a slot, zeroes it on the compute stream
 *   submit   puts the fault in the table's list, oldest first
 *   settle   fetches the slot once, makes the text of a bad one, gives the slot back
 *
 * When many faults are kept, or slots run short, the older half is settled. The lock is not held
 * while a driver works; if two threads settle a fault, the first one's result counts. Texts are in
 * device/fault_text.c. */
#include "device/fault.h"

#include <string.h>

#include "device/buffer.h"
#include "device/device_table.h"
#include "device/loss.h"
#include "device/transfer.h"

typedef struct gantry_logical_device_t logical_t;

/* The layout that a kernel writes. */
typedef struct slot_t {
    uint32_t code, input;
    int64_t position;
    /* the positions from the first bad one to the block's end; 0: none */
    uint32_t left[GANTRY__FAULT_BLOCKS];
} slot_t;

_Static_assert(sizeof(slot_t) == GANTRY__FAULT_BYTES, "the device's layout");

#define BLOCK_POSITIONS (INT64_C(1) << 31)

gantry_status_t gantry__fault_table_init(logical_t *device) {
    gantry__fault_table_t *table = gantry__heap_zalloc(device->table->heap, sizeof *table);
    if (!table) return GANTRY_RESOURCE_EXHAUSTED;
    if (gantry__mutex_init(&table->lock) != 0) {
        gantry__heap_free(device->table->heap, table, sizeof *table);
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    }
    device->faults = table;
    return GANTRY_OK;
}

void gantry__fault_table_deinit(logical_t *device) {
    gantry__fault_table_t *table = device->faults;
    while (table->oldest) {
        gantry__fault_t *fault = table->oldest;
        table->oldest = fault->next;
        gantry__fault_release(fault);
    }
    gantry__fault_release(table->first_bad);
    if (table->is_ready) gantry__buffer_release(table->buffer);
    gantry__mutex_deinit(&table->lock);
    gantry__heap_free(device->table->heap, table, sizeof *table);
    device->faults = NULL;
}

/* The caller must hold the lock. */
static void adopt_slots(gantry__fault_table_t *table, gantry__buffer_t *buffer) {
    table->buffer = buffer;
    table->span = buffer->span;
    for (uint32_t i = 0; i < GANTRY__FAULT_SLOTS; ++i)
        table->free_slots[i] = GANTRY__FAULT_SLOTS - 1 - i;
    table->free_count = GANTRY__FAULT_SLOTS;
    table->is_ready = true;
}

/* Makes the slots. The caller must hold the lock, which is released while memory is allocated and
 * held again on return; a second thread that does the same frees its own slots. */
static gantry_status_t make_slots(logical_t *device) {
    gantry__fault_table_t *table = device->faults;
    gantry__buffer_t *buffer;
    uint64_t bytes = (uint64_t)GANTRY__FAULT_SLOTS * GANTRY__FAULT_BYTES;
    gantry__mutex_unlock(&table->lock);
    gantry_status_t status =
        gantry__buffer_create(device, bytes, GANTRY_STREAM_COMPUTE, "error slots",
                              &buffer); /* after former uses of the memory */
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

static gantry_status_t settle_kept(logical_t *device, uint32_t most);

/* A failure shows again where the results are read. */
static void settle_older_half(logical_t *device) {
    const uint32_t before = gantry__failures();
    (void)settle_kept(device, GANTRY__FAULT_MOST_KEPT / 2);
    gantry__forget_since(before);
}

static gantry_status_t take_slot(logical_t *device, uint32_t *out_slot) {
    gantry__fault_table_t *table = device->faults;
    gantry__mutex_lock(&table->lock);
    if (table->kept_count >= GANTRY__FAULT_MOST_KEPT) {
        gantry__mutex_unlock(&table->lock);
        settle_older_half(device);
        gantry__mutex_lock(&table->lock);
    }
    gantry_status_t status = table->is_ready ? GANTRY_OK : make_slots(device);
    if (status == GANTRY_OK && table->free_count == 0) {
        gantry__mutex_unlock(&table->lock);
        /* the older ones, which have most likely ended */
        status = settle_kept(device, GANTRY__FAULT_SLOTS / 2);
        gantry__mutex_lock(&table->lock);
    }
    if (status == GANTRY_OK && table->free_count == 0) {
        status = gantry__fail(
            GANTRY_RESOURCE_EXHAUSTED,
            "%s: %d ops that may find an error on the device are being submitted at once",
            device->name, GANTRY__FAULT_SLOTS);
    }
    if (status == GANTRY_OK) *out_slot = table->free_slots[--table->free_count];
    gantry__mutex_unlock(&table->lock);
    return status;
}

/* Only the compute stream uses a slot again, after the launch that may still write it. The caller
 * must hold the lock. */
static void return_slot(gantry__fault_t *fault) {
    gantry__fault_table_t *table = fault->device->faults;
    if (fault->slot == GANTRY__FAULT_SLOTS) return;
    table->free_slots[table->free_count++] = fault->slot;
    fault->slot = GANTRY__FAULT_SLOTS;
}

static gantry_span_t slot_span(const logical_t *device, uint32_t slot) {
    gantry_span_t span = device->faults->span;
    span.offset_bytes += (uint64_t)slot * GANTRY__FAULT_BYTES;
    span.size_bytes = GANTRY__FAULT_BYTES;
    return span;
}

gantry_status_t gantry__fault_create(logical_t *device, const char *op, uint64_t sequence,
                                     gantry__fault_t **out_fault, gantry_span_t *out_span) {
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
    fault->order = atomic_fetch_add_explicit(&device->table->faults_made, 1, memory_order_relaxed);
    *out_span = slot_span(device, fault->slot);
    const uint32_t zero = 0;
    gantry__stream_t *compute = &device->streams[GANTRY_STREAM_COMPUTE];
    gantry__stream_begin(compute);
    status = (gantry_status_t)device->backend->transfer->fill(compute->handle, out_span, &zero,
                                                              sizeof zero);
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

/* Takes the values of a fault that only the table still waits for, and on which no tensor depends:
 * the values for a text are not worth their memory. */
static gantry__buffer_t *take_values(gantry__fault_t *fault) {
    gantry__buffer_t *values = NULL;
    gantry__mutex_lock(&fault->device->faults->lock);
    if (fault->is_kept && atomic_load(&fault->references) == 2) {
        values = fault->values;
        fault->values = NULL;
    }
    gantry__mutex_unlock(&fault->device->faults->lock);
    return values;
}

void gantry__fault_release(gantry__fault_t *fault) {
    if (!fault) return;
    gantry__buffer_t *unneeded = atomic_load(&fault->references) == 2 ? take_values(fault) : NULL;
    bool is_last = atomic_fetch_sub(&fault->references, 1) == 1;
    gantry__buffer_release(unneeded);
    if (!is_last) return;
    gantry__buffer_release(fault->values);
    gantry__mutex_lock(&fault->device->faults->lock);
    return_slot(fault);
    gantry__mutex_unlock(&fault->device->faults->lock);
    gantry__heap_free(fault->device->table->heap, fault, sizeof *fault);
}

void gantry__fault_submit(gantry__fault_t *fault, gantry__point_t point) {
    gantry__fault_table_t *table = fault->device->faults;
    fault->point = point;
    gantry__mutex_lock(&table->lock);
    (void)gantry__fault_retain(fault);
    fault->is_kept = true;
    fault->previous = table->newest;
    *(table->newest ? &table->newest->next : &table->oldest) = fault;
    table->newest = fault;
    ++table->kept_count;
    gantry__mutex_unlock(&table->lock);
}

/* Reads the slots after the points that the stream for reads waits for. */
static gantry_status_t fetch_slots(logical_t *device, uint32_t first, uint32_t count, slot_t *out) {
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_TO_HOST];
    gantry_span_t span = slot_span(device, first);
    span.size_bytes *= count;
    gantry__stream_begin(stream);
    gantry_status_t status =
        (gantry_status_t)device->backend->transfer->to_host(stream->handle, out, &span);
    uint64_t counted = gantry__stream_end(stream);
    status = gantry__loss_note(device, status);
    gantry_status_t waited =
        /* also after a failure: out may still be written */
        gantry__point_wait((gantry__point_t){stream, counted});
    return status != GANTRY_OK ? status : waited;
}

/* Reads a slot. The launch must have ended well. */
static gantry_status_t fetch_slot(const gantry__fault_t *fault, uint32_t place, slot_t *out) {
    logical_t *device = fault->device;
    GANTRY__TRY(gantry__loss_check(device));
    GANTRY__TRY(gantry__reads_wait_for(device, fault->point));
    GANTRY__TRY(fetch_slots(device, place, 1, out));
    gantry__point_passed(fault->point);
    return GANTRY_OK;
}

static int64_t first_position(const slot_t *slot) {
    for (int64_t block = 0; block < GANTRY__FAULT_BLOCKS; ++block) {
        if (slot->left[block] > 0) return (block + 1) * BLOCK_POSITIONS - slot->left[block];
    }
    return slot->position;
}

/* Takes the fault out of the list; the table's reference goes to the caller, which must hold the
 * lock. */
static void unlink_kept(gantry__fault_table_t *table, gantry__fault_t *fault) {
    *(fault->previous ? &fault->previous->next : &table->oldest) = fault->next;
    *(fault->next ? &fault->next->previous : &table->newest) = fault->previous;
    fault->next = fault->previous = NULL;
    fault->is_kept = false;
    --table->kept_count;
}

/* Settles the fault by its slot, unless another thread was first. Returns whether the table's
 * reference goes to the caller. */
static bool settle_by(gantry__fault_t *fault, const slot_t *slot) {
    gantry__fault_table_t *table = fault->device->faults;
    gantry__fault_values_t values = {.count = 0};
    gantry__buffer_t *unneeded = NULL;
    if (slot->code != GANTRY_FAULT_NONE)
        values = gantry__fault_fetch_values(fault, first_position(slot));
    gantry__mutex_lock(&table->lock);
    if (atomic_load(&fault->settled) == 0) {
        const int settled = slot->code == GANTRY_FAULT_NONE ? 1 : 2;
        if (settled == 2)
            gantry__fault_describe(fault, slot->code, slot->input, first_position(slot), &values);
        if (settled == 1) { /* another thread may be fetching the values of bad data */
            unneeded = fault->values;
            fault->values = NULL;
        }
        atomic_store_explicit(&fault->settled, settled, memory_order_release);
        return_slot(fault);
    }
    const bool was_kept = fault->is_kept;
    if (was_kept) unlink_kept(table, fault);
    gantry__mutex_unlock(&table->lock);
    gantry__buffer_release(unneeded);
    return was_kept;
}

gantry_status_t gantry__fault_settle(gantry__fault_t *fault) {
    if (atomic_load_explicit(&fault->settled, memory_order_acquire) == 0) {
        slot_t slot = {0};
        gantry__mutex_lock(&fault->device->faults->lock);
        const uint32_t place = fault->slot;
        gantry__mutex_unlock(&fault->device->faults->lock);
        if (place < GANTRY__FAULT_SLOTS) GANTRY__TRY(fetch_slot(fault, place, &slot));
        if (settle_by(fault, &slot)) gantry__fault_release(fault);
    }
    if (atomic_load_explicit(&fault->settled, memory_order_acquire) == 1) return GANTRY_OK;
    atomic_store_explicit(&fault->told, true, memory_order_relaxed);
    return gantry__refuse("%s", fault->text);
}

/* ---- all that are submitted ---- */

typedef struct kept_t {
    gantry__fault_t *fault;
    uint32_t slot;
} kept_t;

/* Lists the oldest `most` faults, with a reference to each, and returns their number. *out_first to
 * *out_last: their slots. */
static uint32_t list_kept(gantry__fault_table_t *table, uint32_t most, kept_t *out,
                          uint32_t *out_first, uint32_t *out_last) {
    uint32_t count = 0;
    *out_first = GANTRY__FAULT_SLOTS;
    *out_last = 0;
    gantry__mutex_lock(&table->lock);
    for (gantry__fault_t *fault = table->oldest; fault && count < most; fault = fault->next) {
        out[count++] = (kept_t){gantry__fault_retain(fault), fault->slot};
        if (fault->slot < *out_first) *out_first = fault->slot;
        if (fault->slot > *out_last) *out_last = fault->slot;
    }
    gantry__mutex_unlock(&table->lock);
    return count;
}

/* Keeps the earlier op's of two faults that no call reported. */
static void keep_first_bad(gantry__fault_table_t *table, gantry__fault_t *fault) {
    gantry__fault_t *other = fault;
    gantry__mutex_lock(&table->lock);
    if (!table->first_bad || fault->order < table->first_bad->order) {
        other = table->first_bad;
        table->first_bad = gantry__fault_retain(fault);
    }
    gantry__mutex_unlock(&table->lock);
    if (other != fault) gantry__fault_release(other);
}

/* Forgets a fault whose launch failed: its point reports the failure, and the slot has no
 * meaning. */
static bool forget(gantry__fault_t *fault) {
    gantry__fault_table_t *table = fault->device->faults;
    gantry__mutex_lock(&table->lock);
    const bool was_kept = fault->is_kept;
    if (was_kept) unlink_kept(table, fault);
    gantry__mutex_unlock(&table->lock);
    return was_kept;
}

static void settle_listed(gantry__fault_table_t *table, gantry__fault_t *fault,
                          const slot_t *slot) {
    const bool ended_well =
        gantry__point_is_past(fault->point) || gantry__point_wait(fault->point) == GANTRY_OK;
    const bool is_released = ended_well ? settle_by(fault, slot) : forget(fault);
    if (is_released && atomic_load(&fault->settled) == 2 && !atomic_load(&fault->told))
        keep_first_bad(table, fault);
    if (is_released) gantry__fault_release(fault);
}

/* Waits for the launches and reads all their slots at once. */
static gantry_status_t fetch_listed(logical_t *device, const kept_t *kept, uint32_t count,
                                    uint32_t first, uint32_t slot_count, slot_t *out) {
    gantry__point_t last = kept[0].fault->point;
    for (uint32_t i = 1; i < count; ++i) {
        if (kept[i].fault->point.count > last.count) last = kept[i].fault->point;
    }
    GANTRY__TRY(gantry__loss_check(device));
    GANTRY__TRY(gantry__reads_follow(device, last));
    return fetch_slots(device, first, slot_count, out);
}

/* kept must have room for `most`. */
static gantry_status_t settle_in(logical_t *device, uint32_t most, kept_t *kept) {
    const gantry__heap_t *heap = device->table->heap;
    gantry__fault_table_t *table = device->faults;
    uint32_t first, last;
    const uint32_t count = list_kept(table, most, kept, &first, &last);
    if (count == 0) return GANTRY_OK;
    const uint32_t slot_count = last - first + 1;
    slot_t *slots = gantry__heap_alloc(heap, slot_count * sizeof *slots);
    gantry_status_t status = slots ? fetch_listed(device, kept, count, first, slot_count, slots)
                                   : GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < count; ++i) {
        if (status == GANTRY_OK) settle_listed(table, kept[i].fault, &slots[kept[i].slot - first]);
        gantry__fault_release(kept[i].fault);
    }
    gantry__heap_free(heap, slots, slot_count * sizeof *slots);
    return status;
}

static gantry_status_t settle_kept(logical_t *device, uint32_t most) {
    gantry__fault_table_t *table = device->faults;
    gantry__mutex_lock(&table->lock);
    const uint32_t room = table->kept_count < most ? table->kept_count : most;
    gantry__mutex_unlock(&table->lock);
    if (room == 0) return GANTRY_OK;
    kept_t *kept = gantry__heap_alloc(device->table->heap, room * sizeof *kept);
    if (!kept) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = settle_in(device, room, kept);
    gantry__heap_free(device->table->heap, kept, room * sizeof *kept);
    return status;
}

gantry_status_t gantry__fault_settle_all(logical_t *device, gantry__fault_t **out_first) {
    gantry__fault_table_t *table = device->faults;
    *out_first = NULL;
    GANTRY__TRY(settle_kept(device, GANTRY__FAULT_SLOTS));
    gantry__mutex_lock(&table->lock);
    gantry__fault_t *first = table->first_bad;
    table->first_bad = NULL;
    gantry__mutex_unlock(&table->lock);
    if (first && !atomic_load(&first->told)) {
        *out_first = first;
    } else {
        gantry__fault_release(first);
    }
    return GANTRY_OK;
}
