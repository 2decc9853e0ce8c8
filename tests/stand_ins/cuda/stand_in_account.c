/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the used memory of each card, for this process alone, or with shared=FILE for all
 * processes that name the same file. The file is a table in shared memory with a row per process;
 * its lock guards the table.
 *
 *     file    pid 4711  cards 0..15: bytes
 *             pid 4712  cards 0..15: bytes
 *
 * Rows of dead processes no longer count and are reused; the lock ends with the process that held
 * it. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stand_in_core.h"

#define PROCESSES 64

typedef struct row_t {
    int64_t pid; /* 0: nobody's */
    uint64_t used[STAND_IN_DEVICES];
} row_t;

static row_t *rows; /* NULL: not shared */
static row_t *own;
static int file = -1;

static void lock_file(short type) {
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};

    while (fcntl(file, F_SETLKW, &whole) != 0 && errno == EINTR) {
    }
}

static int is_alive(const row_t *row) {
    return row->pid != 0 && (kill((pid_t)row->pid, 0) == 0 || errno == EPERM);
}

static void claim_row(void) {
    for (int i = 0; i < PROCESSES && own == NULL; ++i) {
        if (!is_alive(&rows[i])) {
            own = &rows[i];
        }
    }
    if (own != NULL) {
        memset(own, 0, sizeof *own);
        own->pid = getpid();
    }
}

static void open_file(const char *path) {
    void *mapped = MAP_FAILED;

    file = open(path, O_RDWR | O_CREAT, 0600);
    if (file >= 0 && ftruncate(file, PROCESSES * sizeof(row_t)) == 0) {
        mapped = mmap(NULL, PROCESSES * sizeof(row_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (mapped == MAP_FAILED) {
        fprintf(stderr, "stand-in for CUDA: shared=%s: %s\n", path, strerror(errno));
        return;
    }
    rows = mapped;
    lock_file(F_WRLCK);
    claim_row();
    lock_file(F_UNLCK);
}

/* Locks the account until end() against all threads of this process and all other processes. */
static void begin(void) {
    const char *path = stand_in__machine()->shared;

    stand_in__lock();
    if (path[0] != '\0' && file < 0) {
        open_file(path);
    }
    if (own != NULL) {
        lock_file(F_WRLCK);
    }
}

static void end(const stand_in_device_t *device) {
    if (own != NULL) {
        own->used[device->number] = device->used;
        lock_file(F_UNLCK);
    }
    stand_in__unlock();
}

static uint64_t free_bytes(const stand_in_device_t *device) {
    uint64_t taken = device->used + device->other;

    for (int i = 0; own != NULL && i < PROCESSES; ++i) {
        if (&rows[i] != own && is_alive(&rows[i])) {
            taken += rows[i].used[device->number];
        }
    }
    return taken < device->memory ? device->memory - taken : 0;
}

int stand_in__take_bytes(stand_in_device_t *device, uint64_t bytes) {
    int fits;

    begin();
    fits = bytes <= free_bytes(device);
    if (fits) {
        device->used += bytes;
    }
    end(device);
    return fits;
}

void stand_in__give_bytes(stand_in_device_t *device, uint64_t bytes) {
    begin();
    device->used -= bytes;
    end(device);
}

uint64_t stand_in__free_bytes(const stand_in_device_t *device) {
    uint64_t bytes;

    begin();
    bytes = free_bytes(device);
    end(device);
    return bytes;
}
