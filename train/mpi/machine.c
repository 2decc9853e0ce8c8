/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "train/mpi/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/os/entropy.h"
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

static gantry_status_t map(gantry__machine_t *machine, size_t rank, size_t size, int file) {
    void *memory = mmap(NULL, memory_bytes(size), PROT_READ | PROT_WRITE,
                        file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, 0);
    const int error = errno;
    if (file >= 0) (void)close(file);
    if (memory == MAP_FAILED) return machine_fail_with("mmap", size, error);
    *machine = (gantry__machine_t){.rank = rank, .size = size, .memory = memory};
    return GANTRY_OK;
}

/* ---- begin and end ---- */

/* Refuses memory beyond the limit of files (ulimit -f), which would end the process by SIGXFSZ. */
static bool fits_limit(size_t bytes) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

gantry_status_t gantry__machine_make(gantry__machine_t *machine, size_t size,
                                     char out_name[GANTRY__MACHINE_NAME_BYTES]) {
    uint64_t number;
    out_name[0] = '\0';
    if (size == 1) return map(machine, 0, 1, -1);
    const int refused = gantry__os_entropy(&number, sizeof number);
    if (refused) return machine_fail_with("getentropy", size, refused);
    (void)snprintf(out_name, GANTRY__MACHINE_NAME_BYTES, "/gantry_%ld_%016llx", (long)getpid(),
                   (unsigned long long)number);
    const int file = shm_open(out_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return machine_fail_with("shm_open", size, errno);
    /* all of it: a page that is missing later would end the process */
    const int error = fits_limit(memory_bytes(size))
                          ? posix_fallocate(file, 0, (off_t)memory_bytes(size))
                          : EFBIG;
    if (error == 0) return map(machine, 0, size, file);
    (void)close(file);
    (void)shm_unlink(out_name);
    return machine_fail_with("posix_fallocate", size, error);
}

gantry_status_t gantry__machine_open(gantry__machine_t *machine, size_t rank, size_t size,
                                     const char *name) {
    const int file = shm_open(name, O_RDWR | O_CLOEXEC, 0);
    if (file < 0) return machine_fail_with("shm_open", size, errno);
    return map(machine, rank, size, file);
}

void gantry__machine_unlink(const char *name) {
    if (*name) (void)shm_unlink(name);
}

void gantry__machine_close(gantry__machine_t *machine) {
    if (machine->memory) (void)munmap(machine->memory, memory_bytes(machine->size));
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
