/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of a saved function, loaded from its file. Owner: the caller has all. Threads:
 * externally synchronised. */
#ifndef GANTRY_FUNCTION_SAVED_WEIGHTS_H
#define GANTRY_FUNCTION_SAVED_WEIGHTS_H

#include "function/saved/saved_format.h"
#include "shared/safetensors.h"

/* An open file that is loaded. */
typedef struct gantry__saved_file_t {
    gantry_runtime_t *runtime;
    const char *path;
    int file;
    uint64_t size, data_offset;
    unsigned char *front; /* the file's first bytes */
    size_t front_bytes;
    gantry__safetensors_t header;
    bool maps;                    /* weights */
    gantry_scope_t *scope, *host; /* of weights, and of those in host memory; host may be NULL */
} gantry__saved_file_t;

/* A gantry__saved_weights_fn of a gantry__saved_file_t. */
gantry_status_t gantry__saved_load_weights(void *file, gantry__saved_weight_t *weights,
                                           uint32_t count);

#endif
