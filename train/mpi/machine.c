/* SPDX-License-Identifier: Apache-2.0 */
#include "train/mpi/machine.h"

#include <errno.h>
#include <string.h>

#include "base/os/pages.h"
#include "train/base/fail.h"

/* The count of arrivals is in front of the slots. */
enum { HEAD_BYTES = 4096 };

static size_t memory_bytes(size_t size) { return HEAD_BYTES + (size + 1) * GANTRY__MACHINE_CHUNK; }

static gantry_status_t machine_fail_with(const char *call, size_t size, int error) {
    return gantry__train_fail(
        GANTRY_UNAVAILABLE,
        "gantry_mpi_communicator: %s: %s; %zu processes of a machine share %zu MiB of memory", call,
        strerror(error), size, memory_bytes(size) >> 20);
}

static gantry_status_t machine_begin(gantry__machine_t *machine, size_t rank, size_t size,
                                     void *memory, const char *call, int error) {
    if (error) return machine_fail_with(call, size, error);
    *machine = (gantry__machine_t){.rank = rank, .size = size, .memory = memory};
    return GANTRY_OK;
}

/* ---- begin and end ---- */

gantry_status_t gantry__machine_make(gantry__machine_t *machine, size_t size,
                                     char out_name[GANTRY__OS_SHARED_NAME_BYTES]) {
    const char *call = "mmap";
    void *memory;
    int error = 0;
    out_name[0] = '\0';
    if (size == 1) {
        memory = gantry__os_pages_new(memory_bytes(1), 0);
        if (!memory) error = errno;
    } else {
        error = gantry__os_shared_make(memory_bytes(size), out_name, &memory, &call);
    }
    return machine_begin(machine, 0, size, memory, call, error);
}

gantry_status_t gantry__machine_open(gantry__machine_t *machine, size_t rank, size_t size,
                                     const char *name) {
    const char *call;
    void *memory;
    const int error = gantry__os_shared_open(name, memory_bytes(size), &memory, &call);
    return machine_begin(machine, rank, size, memory, call, error);
}

void gantry__machine_unlink(const char *name) {
    if (*name) gantry__os_shared_forget(name);
}

void gantry__machine_close(gantry__machine_t *machine) {
    const size_t bytes = memory_bytes(machine->size);
    if (machine->memory && machine->size == 1) gantry__os_pages_free(machine->memory, bytes);
    if (machine->memory && machine->size > 1) gantry__os_shared_close(machine->memory, bytes);
    machine->memory = NULL;
}

/* ---- sums ---- */

static void *machine_slot_of(const gantry__machine_t *machine, size_t rank) {
    return machine->memory + HEAD_BYTES + rank * GANTRY__MACHINE_CHUNK;
}

void *gantry__machine_slot(const gantry__machine_t *machine) {
    return machine_slot_of(machine, machine->rank);
}

void *gantry__machine_sum(const gantry__machine_t *machine) {
    return machine_slot_of(machine, machine->size);
}

static void add_floats(float *sum, const float *x, size_t count) {
    for (size_t i = 0; i < count; ++i) sum[i] += x[i];
}

static void add_doubles(double *sum, const double *x, size_t count) {
    for (size_t i = 0; i < count; ++i) sum[i] += x[i];
}

static void add_integers(uint64_t *sum, const uint64_t *x, size_t count) {
    for (size_t i = 0; i < count; ++i) sum[i] += x[i];
}

static void add_to(void *sum, const void *x, size_t count, gantry_dtype_t dtype) {
    if (dtype == GANTRY_FLOAT32)
        add_floats(sum, x, count);
    else if (dtype == GANTRY_FLOAT64)
        add_doubles(sum, x, count);
    else
        add_integers(sum, x, count);
}

/* Parts begin at cache lines. */
static size_t part_begin(size_t count, size_t part, size_t parts) {
    return part == parts ? count : count / parts * part / 16 * 16;
}

void gantry__machine_add(const gantry__machine_t *machine, size_t count, gantry_dtype_t dtype) {
    const size_t begin = part_begin(count, machine->rank, machine->size),
                 end = part_begin(count, machine->rank + 1, machine->size),
                 each = gantry_dtype_size(dtype), at = begin * each, bytes = (end - begin) * each;
    unsigned char *sum = gantry__machine_sum(machine);
    memcpy(sum + at, (const unsigned char *)machine_slot_of(machine, 0) + at, bytes);
    for (size_t r = 1; r < machine->size; ++r)
        add_to(sum + at, (const unsigned char *)machine_slot_of(machine, r) + at, end - begin,
               dtype);
}

/* ---- barriers ---- */

static _Atomic uint64_t *arrivals(const gantry__machine_t *machine) {
    return (_Atomic uint64_t *)(void *)machine->memory;
}

void gantry__machine_arrive(gantry__machine_t *machine) {
    ++machine->barriers;
    (void)atomic_fetch_add_explicit(arrivals(machine), 1, memory_order_acq_rel);
}

bool gantry__machine_is_complete(const gantry__machine_t *machine) {
    return atomic_load_explicit(arrivals(machine), memory_order_acquire) >=
           machine->barriers * machine->size;
}
