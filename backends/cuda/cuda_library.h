/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's libraries other than the driver: found, opened at run time, their functions in a table.
 * cuDNN and NCCL are also judged by their version.
 *
 * For each name the loader's own search comes first, then the folders of cuda_folders.h, which are
 * often in no search path.
 *
 * Owner: the table that holds it; the library stays loaded. Threads: externally synchronised; the
 * caller's lock must guard the opening. */
#ifndef GANTRY_CUDA_LIBRARY_H
#define GANTRY_CUDA_LIBRARY_H

#include <stdbool.h>

#include "driver/library_open.h"

#define GANTRY__CUDA_FILE_BYTES 512

/* The library, and how messages name it. */
typedef struct gantry__cuda_file_t {
    const char *name;              /* "NVRTC" */
    const char *least;             /* " of CUDA 11.2 or newer", "" */
    const char *option;            /* such as "GANTRY_CUDA_NVRTC", which names the file */
    const char *const *candidates; /* the first that can be opened is taken */
    size_t candidate_count;
} gantry__cuda_file_t;

/* Opens the file that the option names, else the first candidate that can be opened. Returns NULL,
 * with why in out_reasons, if none can. out_file must have GANTRY__CUDA_FILE_BYTES. */
void *gantry__cuda_library_find(const gantry_host_t *host, const gantry__cuda_file_t *wanted,
                                char *out_file, char *out_reasons, size_t reasons_bytes);

/* Whether a driver takes a library of CUDA `version`: it may be of an older major version, or of
 * the same. driver_version must be what the driver supports; both are 1000 * major + 10 * minor. If
 * it does not, reason says why. */
bool gantry__cuda_library_suits(const gantry__cuda_file_t *wanted, const char *file, int version,
                                const char *driver, int driver_version, char *reason,
                                size_t reason_bytes);

/* Opens the library, fills the table and writes the file's name to out_file, which must have
 * GANTRY__CUDA_FILE_BYTES. Returns false, with why in reason, if that fails. */
bool gantry__cuda_library_open(const gantry_host_t *host, const gantry__cuda_file_t *wanted,
                               const gantry__library_symbol_t *symbols, size_t symbol_count,
                               void *table, char *out_file, char *reason, size_t reason_bytes);

typedef struct gantry__cuda_library_t {
    bool is_tried;
    bool is_usable;
    char name[200];   /* "libnccl.so.2 (2.28.9)" */
    char reason[512]; /* why it is not usable */
} gantry__cuda_library_t;

/* The library to open, and how messages name it. */
typedef struct gantry__cuda_wanted_t {
    const char *name;      /* "NCCL" */
    const char *option;    /* "GANTRY_CUDA_NCCL" */
    const char *candidate; /* "libnccl.so.2" */
    /* functions and their slots in the table; the first one must return the version */
    const gantry__library_symbol_t *symbols;
    size_t symbol_count;
    unsigned oldest; /* 10000 * major + 100 * minor + patch */
    unsigned beyond; /* the first version that is too new; 0: none is */
    /* Writes the version. Returns 0, or the library's own number for what went wrong. */
    unsigned (*ask_version)(void *table, unsigned *out_version);
} gantry__cuda_wanted_t;

/* On the first call opens the file that the option names, else the candidate. A missing library is
 * no failure: is_usable is 0 and reason says why. */
void gantry__cuda_library_place(const gantry_host_t *host, const gantry__cuda_wanted_t *wanted,
                                void *table, gantry__cuda_library_t *library);

#endif
