/* SPDX-License-Identifier: Apache-2.0 */
/* What every kernel, of the CPU backend and of the portable pack, needs to know of the ABI's
 * element types and attributes.
 *
 * Nothing here allocates or keeps state; no kernel logic. Include path: backends/.
 * Owner: none, all functions are static inline over structs of the caller. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_KERNEL_TYPES_H
#define GANTRY_KERNELS_KERNEL_TYPES_H

#include <gantry/backend_abi.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Element types kernels know: the numbers of gantry_dtype_t, which the ABI carries as int32_t. */
enum {
    GANTRY_K_FLOAT32 = 1,
    GANTRY_K_FLOAT64 = 2,
    GANTRY_K_INT32 = 3,
    GANTRY_K_UINT8 = 4,
    GANTRY_K_INT16 = 5,
    GANTRY_K_INT8 = 6,
    GANTRY_K_COMPLEX64 = 8,
    GANTRY_K_INT64 = 9,
    GANTRY_K_BOOL = 10,
    GANTRY_K_BFLOAT16 = 14,
    GANTRY_K_UINT16 = 17,
    GANTRY_K_FLOAT16 = 19,
    GANTRY_K_UINT32 = 22,
    GANTRY_K_UINT64 = 23
};

#define GANTRY_K_BIT(t) (UINT64_C(1) << (t))
#define GANTRY_K_FLOATS (GANTRY_K_BIT(GANTRY_K_FLOAT32) | GANTRY_K_BIT(GANTRY_K_FLOAT64))
#define GANTRY_K_INTS (GANTRY_K_BIT(GANTRY_K_INT32) | GANTRY_K_BIT(GANTRY_K_INT64))
#define GANTRY_K_NUMBERS (GANTRY_K_FLOATS | GANTRY_K_INTS)
#define GANTRY_K_BOOLS GANTRY_K_BIT(GANTRY_K_BOOL)
/* Stored as 16 bits, computed with as float32: in matrix products and Cast. */
#define GANTRY_K_HALVES (GANTRY_K_BIT(GANTRY_K_FLOAT16) | GANTRY_K_BIT(GANTRY_K_BFLOAT16))
/* What families with all types take. */
#define GANTRY_K_FLOATING (GANTRY_K_FLOATS | GANTRY_K_HALVES)
#define GANTRY_K_SIGNED (GANTRY_K_INTS | GANTRY_K_BIT(GANTRY_K_INT8) | GANTRY_K_BIT(GANTRY_K_INT16))
#define GANTRY_K_UNSIGNED                                           \
    (GANTRY_K_BIT(GANTRY_K_UINT8) | GANTRY_K_BIT(GANTRY_K_UINT16) | \
     GANTRY_K_BIT(GANTRY_K_UINT32) | GANTRY_K_BIT(GANTRY_K_UINT64))
#define GANTRY_K_INTEGERS (GANTRY_K_SIGNED | GANTRY_K_UNSIGNED)
#define GANTRY_K_NUMERIC (GANTRY_K_FLOATING | GANTRY_K_INTEGERS)
#define GANTRY_K_SIGNED_NUMERIC (GANTRY_K_FLOATING | GANTRY_K_SIGNED)
#define GANTRY_K_NUMERIC_BOOL (GANTRY_K_NUMERIC | GANTRY_K_BOOLS)
/* What ops take that move elements and never look at them. */
#define GANTRY_K_ANY (GANTRY_K_NUMERIC_BOOL | GANTRY_K_BIT(GANTRY_K_COMPLEX64))

/* Status codes a kernel may return, the numbers of status.h. */
enum {
    GANTRY_K_OK = 0,
    GANTRY_K_UNKNOWN = 2,
    GANTRY_K_INVALID_ARGUMENT = 3,
    GANTRY_K_NOT_FOUND = 5,
    GANTRY_K_RESOURCE_EXHAUSTED = 8,
    GANTRY_K_FAILED_PRECONDITION = 9,
    GANTRY_K_OUT_OF_RANGE = 11,
    GANTRY_K_UNIMPLEMENTED = 12,
    GANTRY_K_INTERNAL = 13,
    GANTRY_K_UNAVAILABLE = 14
};

#define GANTRY_K_MAX_RANK 8

/* Bytes of one element; 1 for a type that no kernel takes: callers divide by it. */
static inline uint32_t gantry__k_size(int32_t dtype) {
    switch (dtype) {
        case GANTRY_K_FLOAT32:
        case GANTRY_K_INT32:
        case GANTRY_K_UINT32: return 4;
        case GANTRY_K_FLOAT64:
        case GANTRY_K_INT64:
        case GANTRY_K_UINT64:
        case GANTRY_K_COMPLEX64: return 8;
        case GANTRY_K_FLOAT16:
        case GANTRY_K_BFLOAT16:
        case GANTRY_K_INT16:
        case GANTRY_K_UINT16: return 2;
        case GANTRY_K_BOOL:
        case GANTRY_K_INT8:
        case GANTRY_K_UINT8:
        default: return 1;
    }
}

/* Where loops made for elements of 1, 2, 4 and 8 bytes have their place in a table: 0 to 3. */
static inline uint32_t gantry__k_size_row(uint32_t bytes) { return bytes == 8 ? 3 : bytes / 2; }

/* The type that stands for all of this size in programs that move bits and never compute with
 * them. */
static inline int32_t gantry__k_twin_of(uint32_t bytes) {
    static const int32_t twins[] = {GANTRY_K_BOOL, GANTRY_K_UINT16, GANTRY_K_INT32, GANTRY_K_INT64};

    return twins[gantry__k_size_row(bytes)];
}

/* The one of dtype's size. */
static inline int32_t gantry__k_twin(int32_t dtype) {
    return gantry__k_twin_of(gantry__k_size(dtype));
}

/* The bits of 1 in dtype, lowest byte first. */
static inline uint64_t gantry__k_one(int32_t dtype) {
    switch (dtype) {
        case GANTRY_K_FLOAT32:
        case GANTRY_K_COMPLEX64: return 0x3f800000; /* the imaginary part comes second */
        case GANTRY_K_FLOAT64: return UINT64_C(0x3ff0000000000000);
        case GANTRY_K_FLOAT16: return 0x3c00;
        case GANTRY_K_BFLOAT16: return 0x3f80;
        default: return 1;
    }
}

static inline int gantry__k_is_half(int32_t dtype) {
    return dtype == GANTRY_K_FLOAT16 || dtype == GANTRY_K_BFLOAT16;
}

static inline int gantry__k_is_float(int32_t dtype) {
    return dtype == GANTRY_K_FLOAT32 || dtype == GANTRY_K_FLOAT64;
}

/* The attribute `name` of the call, NULL when the op has none of that name. */
static inline const gantry_attr_t *gantry__k_attr(const gantry_op_call_t *call, const char *name) {
    for (uint32_t i = 0; i < call->attr_count; ++i) {
        const char *own = call->attrs[i]->name;
        if (own[0] == name[0] && strcmp(own, name) == 0) {
            return call->attrs[i];
        }
    }
    return NULL;
}

/* The integer value (BOOL, INT, TYPE) of the attribute, or fallback when the op has no such
 * attribute. */
static inline int64_t gantry__k_attr_int(const gantry_op_call_t *call, const char *name,
                                         int64_t fallback) {
    const gantry_attr_t *attr = gantry__k_attr(call, name);
    return attr != NULL ? attr->i : fallback;
}

/* The text of the attribute, or fallback when the op has no such attribute. */
static inline const char *gantry__k_attr_text(const gantry_op_call_t *call, const char *name,
                                              const char *fallback) {
    const gantry_attr_t *attr = gantry__k_attr(call, name);

    return attr != NULL && attr->s != NULL ? attr->s : fallback;
}

/* The bits of a host-memory scalar. */
static inline uint64_t gantry__k_host_bits(const gantry_arg_t *arg) {
    uint64_t bits = 0;

    /* little-endian, as every machine that Gantry runs on */
    memcpy(&bits, arg->data, gantry__k_size(arg->dtype));
    return bits;
}

/* Element `index` of a host-memory tensor of integers of 8, 32 or 64 bits; of uint64 the same
 * bits. */
static inline int64_t gantry__k_host_int(const gantry_arg_t *arg, int64_t index) {
    switch (arg->dtype) {
        case GANTRY_K_INT8: return ((const int8_t *)arg->data)[index];
        case GANTRY_K_UINT8: return ((const uint8_t *)arg->data)[index];
        case GANTRY_K_INT32: return ((const int32_t *)arg->data)[index];
        default: return ((const int64_t *)arg->data)[index];
    }
}

#endif
