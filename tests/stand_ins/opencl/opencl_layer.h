/* SPDX-License-Identifier: Apache-2.0 */
/* The common parts of every OpenCL layer: the table below it, its own table, answers to queries,
 * and the two functions that the loader calls.
 *
 * One file of a layer includes this header, defines layer_NAME for each function that the layer
 * replaces, and ends with LAYER("its name", TAKE(NAME) ...). The loader loads the layer through
 * OPENCL_LAYERS and calls clInitLayer once, before any other function. */
#ifndef TESTS_OPENCL_LAYER_H
#define TESTS_OPENCL_LAYER_H

#include <CL/cl_layer.h>
#include <string.h>

#if !defined(CL_LAYER_NAME) /* headers of 2022 */
#define CL_LAYER_NAME 0x4241
#endif
#define EXPORT __attribute__((visibility("default")))

static struct _cl_icd_dispatch table;
static const struct _cl_icd_dispatch *target;

/* Writes the answer to a clGet...Info. */
static cl_int give(const void *answer, size_t bytes, size_t size, void *value, size_t *needed) {
    if (value != NULL && size < bytes) {
        return CL_INVALID_VALUE;
    }
    if (value != NULL) {
        memcpy(value, answer, bytes);
    }
    if (needed != NULL) {
        *needed = bytes;
    }
    return CL_SUCCESS;
}

#define TAKE(name) table.name = layer_##name;

#define LAYER(own_name, takes)                                                                     \
    EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size,         \
                                                          void *value, size_t *needed) {           \
        static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;                      \
        switch (name) {                                                                            \
            case CL_LAYER_API_VERSION: return give(&version, sizeof version, size, value, needed); \
            case CL_LAYER_NAME: return give(own_name, sizeof own_name, size, value, needed);       \
            default: return CL_INVALID_VALUE;                                                      \
        }                                                                                          \
    }                                                                                              \
    EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(                                            \
        cl_uint entries, const cl_icd_dispatch *below, cl_uint *entries_made,                      \
        const cl_icd_dispatch **made) {                                                            \
        if (!below || !entries_made || !made || entries < sizeof table / sizeof(void *))           \
            return CL_INVALID_VALUE;                                                               \
        target = below;                                                                            \
        table = *below;                                                                            \
        takes *entries_made = (cl_uint)(sizeof table / sizeof(void *));                            \
        *made = &table;                                                                            \
        return CL_SUCCESS;                                                                         \
    }

#endif
