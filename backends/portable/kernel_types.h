/* What every kernel, of the CPU backend and of the portable pack, needs to know of the ABI's element types and
 * attributes.
 *
 * Nothing here allocates or keeps state; no kernel logic. Include path: backends/.
 * Owner: none, all functions are static inline over structs of the caller. Threads: thread-safe. */
#ifndef GANTRY_KERNEL_TYPES_H
#define GANTRY_KERNEL_TYPES_H

#include <gantry/backend_abi.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Element types kernels know: the numbers of gantry_dtype_t, which the ABI carries as int32_t. */
enum { GANTRY_K_FLOAT32 = 1, GANTRY_K_FLOAT64 = 2, GANTRY_K_INT32 = 3, GANTRY_K_INT64 = 9, GANTRY_K_BOOL = 10 };

#define GANTRY_K_BIT(t) (UINT64_C(1) << (t))
#define GANTRY_K_FLOATS (GANTRY_K_BIT(GANTRY_K_FLOAT32) | GANTRY_K_BIT(GANTRY_K_FLOAT64))
#define GANTRY_K_INTS (GANTRY_K_BIT(GANTRY_K_INT32) | GANTRY_K_BIT(GANTRY_K_INT64))
#define GANTRY_K_NUMBERS (GANTRY_K_FLOATS | GANTRY_K_INTS)
#define GANTRY_K_BOOLS GANTRY_K_BIT(GANTRY_K_BOOL)
#define GANTRY_K_ALL (GANTRY_K_NUMBERS | GANTRY_K_BOOLS)

/* Status codes a kernel may return, the numbers of status.h. */
enum {
    GANTRY_K_OK = 0,
    GANTRY_K_INVALID_ARGUMENT = 3,
    GANTRY_K_RESOURCE_EXHAUSTED = 8,
    GANTRY_K_FAILED_PRECONDITION = 9,
    GANTRY_K_OUT_OF_RANGE = 11,
    GANTRY_K_UNIMPLEMENTED = 12,
    GANTRY_K_INTERNAL = 13,
    GANTRY_K_UNAVAILABLE = 14
};

#define GANTRY_K_MAX_RANK 8

/* Bytes of one element; 1 for a type that no kernel takes: callers divide by it. */
static inline uint32_t gantry_k_size(int32_t dtype)
{
    switch (dtype) {
    case GANTRY_K_FLOAT32:
    case GANTRY_K_INT32: return 4;
    case GANTRY_K_FLOAT64:
    case GANTRY_K_INT64: return 8;
    case GANTRY_K_BOOL:
    default: return 1;
    }
}

static inline int gantry_k_is_float(int32_t dtype)
{
    return dtype == GANTRY_K_FLOAT32 || dtype == GANTRY_K_FLOAT64;
}

/* The attribute `name` of the call, NULL when the op has none of that name. */
static inline const gantry_attr_t *gantry_k_attr(const gantry_op_call_t *call, const char *name)
{
    for (uint32_t i = 0; i < call->attr_count; i++) {
        if (strcmp(call->attrs[i]->name, name) == 0) {
            return call->attrs[i];
        }
    }
    return NULL;
}

/* The integer value (BOOL, INT, TYPE) of the attribute, or fallback when the op has no such attribute. */
static inline int64_t gantry_k_attr_int(const gantry_op_call_t *call, const char *name, int64_t fallback)
{
    const gantry_attr_t *attr = gantry_k_attr(call, name);
    return attr != NULL ? attr->i : fallback;
}

/* Element `index` of a host-memory int32 or int64 tensor. */
static inline int64_t gantry_k_host_int(const gantry_arg_t *arg, int64_t index)
{
    if (arg->dtype == GANTRY_K_INT32) {
        return ((const int32_t *)arg->data)[index];
    }
    return ((const int64_t *)arg->data)[index];
}

#endif
