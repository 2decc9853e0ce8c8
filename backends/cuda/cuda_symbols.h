/* The driver's library as a table of functions, opened at run time; and the opening that all of NVIDIA's libraries
 * share.
 *
 * Nothing links CUDA. Not here: NVRTC, cuBLAS, NVML, cuDNN and NCCL have tables of their own.
 * Owner: the instance holds the table; a library stays loaded to the end of the process. Threads: opening is
 * init-only, a table is constant afterwards. */
#ifndef GANTRY_CUDA_SYMBOLS_H
#define GANTRY_CUDA_SYMBOLS_H

#include <gantry/backend_abi.h>

#include "cuda/cuda_api.h"

#define GANTRY__CUDA_FILE_BYTES 256

typedef struct gantry__cuda_symbols_t {
    void *library;
    char name[GANTRY__CUDA_FILE_BYTES]; /* the file that was found, for messages */
    int version;                        /* what the driver can: 1000 * major + 10 * minor */
#define GANTRY__CUDA_SLOT(function, parameters) gantry__cu_result_t(*function) parameters;
    GANTRY__CUDA_FUNCTIONS(GANTRY__CUDA_SLOT)
    GANTRY__CUDA_NEWER_FUNCTIONS(GANTRY__CUDA_SLOT)
#undef GANTRY__CUDA_SLOT
} gantry__cuda_symbols_t;

/* Opens option GANTRY_CUDA_LIBRARY when set, else libcuda.so.1. Unavailable, with the reason in the text, when it
 * cannot be opened, lacks a function, or is older than 12.0. */
int32_t gantry__cuda_symbols_open(const gantry_host_t *host, gantry__cuda_symbols_t *out_symbols);

/* ---- for every library ---- */

typedef struct gantry__cuda_symbol_t {
    const char *name;
    size_t offset; /* of the slot in its table */
} gantry__cuda_symbol_t;

/* What is opened, and how messages name it. */
typedef struct gantry__cuda_wanted_t {
    const char *name;   /* "cuBLASLt" */
    const char *kind;   /* "cuBLASLt of CUDA 12 or newer": what a library without all functions is not */
    const char *option; /* "GANTRY_CUDA_CUBLAS" */
    const char *const *candidates;
    size_t candidate_count;
    const gantry__cuda_symbol_t *symbols;
    size_t symbol_count;
} gantry__cuda_wanted_t;

/* Opens the file that the option names, else the first candidate that can be opened, and fills the table's slots. 1
 * with the file's name, or 0 with the reason. */
int gantry__cuda_library_load(const gantry_host_t *host, const gantry__cuda_wanted_t *wanted, void *table,
                              char out_file[GANTRY__CUDA_FILE_BYTES], char *out_reason, size_t reason_bytes);

/* What became of a library that has nothing but a version yet. */
typedef struct gantry__cuda_library_t {
    int is_tried;
    int is_usable;
    char name[200];   /* "libnccl.so.2 (2.28.9)" */
    char reason[512]; /* when not usable */
} gantry__cuda_library_t;

/* Settles it by a version as cuDNN and NCCL count: 10000 * major + 100 * minor + patch, and below 10000, in older ones,
 * 1000 * major + 100 * minor + patch. oldest is of the new form. */
void gantry__cuda_library_judge(gantry__cuda_library_t *library, const char *name, const char *file, unsigned version,
                                unsigned oldest);

#endif
