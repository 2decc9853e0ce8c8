/* A library of NVIDIA's that has its place here before it has a use: opened at run time, judged by its version, named in
 * listings. cuDNN and NCCL.
 *
 * Owner: the table that holds it; the library stays loaded. Threads: the caller's lock guards the opening. */
#ifndef GANTRY_CUDA_LIBRARY_H
#define GANTRY_CUDA_LIBRARY_H

#include "shared/library_open.h"

typedef struct gantry__cuda_library_t {
    int is_tried;
    int is_usable;
    char name[200];   /* "libnccl.so.2 (2.28.9)" */
    char reason[512]; /* when not usable */
} gantry__cuda_library_t;

/* What is opened, and how messages name it. */
typedef struct gantry__cuda_wanted_t {
    const char *name;                     /* "NCCL" */
    const char *option;                   /* "GANTRY_CUDA_NCCL" */
    const char *candidate;                /* "libnccl.so.2" */
    gantry__library_symbol_t version_symbol; /* the function that tells the version, and its slot in the table */
    unsigned oldest;                      /* 10000 * major + 100 * minor + patch */
    /* 0, or the library's own number for what went wrong. */
    unsigned (*ask_version)(void *table, unsigned *out_version);
} gantry__cuda_wanted_t;

/* On the first call opens the file that the option names, else the candidate. Its absence is no failure: is_usable is 0
 * and reason says why. */
void gantry__cuda_library_place(const gantry_host_t *host, const gantry__cuda_wanted_t *wanted, void *table,
                                gantry__cuda_library_t *library);

#endif
