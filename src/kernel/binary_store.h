/* SPDX-License-Identifier: Apache-2.0 */
/* Program binaries on disk: one file per key, checksummed, written whole or not at all.
 *
 * An unusable store (no folder, read-only home, a folder that others may write: base/trust.h) is
 * simply empty; a damaged or foreign entry is a miss. Neither is an error of the op that needs the
 * program. Several processes of one user may share a folder.
 * Owner: the runtime. Thread-safe after init. */
#ifndef GANTRY_KERNEL_BINARY_STORE_H
#define GANTRY_KERNEL_BINARY_STORE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/settings.h"

typedef struct gantry__binary_store_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    char *folder;         /* NULL: no store */
    bool is_named;        /* the option or the environment named it: it is not the default folder */
    atomic_int directory; /* the open folder; -1: not opened yet, -2: not to be used */
    atomic_bool has_warned; /* it warned that a binary is not kept */
} gantry__binary_store_t;

/* option: the runtime option's folder, "" none, NULL: GANTRY_KERNEL_CACHE, then $XDG_CACHE_HOME
 * or ~/.cache, gantry/kernels. */
gantry_status_t gantry__binary_store_init(gantry__binary_store_t *store, const gantry__heap_t *heap,
                                          const gantry__log_t *log, gantry__settings_t *settings,
                                          const char *option);
void gantry__binary_store_deinit(gantry__binary_store_t *store);

/* Makes the folder; returns whether binaries can be kept. If not, logs why: it cannot be made, or
 * others may write it. Only code that builds programs calls it, so that a program that uses only
 * the CPU makes no folder. It is cheap after the first call, and must be called before get and put,
 * which do nothing until then. */
bool gantry__binary_store_open(gantry__binary_store_t *store);

typedef enum gantry__store_answer_t {
    GANTRY__STORE_MISS = 0,
    GANTRY__STORE_HIT = 1,
    GANTRY__STORE_BAD = 2
} gantry__store_answer_t;

/* Reads an entry. On a hit *out_bytes (heap memory of *out_size) belongs to the caller, which must
 * free it. */
gantry__store_answer_t gantry__binary_store_get(const gantry__binary_store_t *store,
                                                gantry__hash128_t key, void **out_bytes,
                                                size_t *out_size);

/* The description of an entry, in words, for the people who look after the folder. */
typedef struct gantry__store_label_t {
    const char *backend;  /* "opencl" */
    const char *hardware; /* "NVIDIA H100 80GB HBM3" */
    const char *driver;   /* "550.54" */
    const char *program;  /* "elementwise/binary" */
} gantry__store_label_t;

/* Logs the first failure, and ignores all. */
void gantry__binary_store_put(gantry__binary_store_t *store, gantry__hash128_t key,
                              const gantry__store_label_t *label, const void *bytes, size_t size);

#endif
