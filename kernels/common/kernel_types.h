/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and attributes of the ABI, for every kernel of the CPU backend and of devices.
 *
 * Nothing here allocates, keeps state or computes. Owner: none, all functions are static inline
 * over structs of the caller. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_KERNEL_TYPES_H
#define GANTRY_KERNELS_KERNEL_TYPES_H

#include <gantry/backend_abi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "host/bits.h"
#include "host/try.h"

/* Short names of element types, by which the preprocessor makes code per type (types.cl); their
 * numbers, GANTRY_ID_name; and sets of types as lists: GANTRY_SET(ROW) is ROW(short name) for each
 * member. gantry__type_<column> and GANTRY__TYPE_IS serve types that are known at run time. */
#include "ops/type_rows.h"
#define GANTRY_ID_none 0
#define GANTRY_NO_TYPES(ROW)
#define GANTRY_TYPE_F32(ROW) ROW(f32)
/* One type of each size, which represents all types of that size where bits are moved
 * (gantry__k_twin). */
#define GANTRY_BY_SIZE(ROW) GANTRY_NUMBERS_BY_SIZE(ROW) ROW(c128)
/* The same where elements are numbers, which have 8 bytes at most. */
#define GANTRY_NUMBERS_BY_SIZE(ROW) ROW(b8) ROW(u16) ROW(i32) ROW(i64)
/* Floating types, and one integer type of each size, because sums of signed and unsigned integers
 * wrap alike. */
#define GANTRY_WRAPPING(ROW) GANTRY_FLOATING(ROW) ROW(u8) ROW(u16) ROW(i32) ROW(i64)

/* The type's short name; "none" for a type that kernels move as another one. */
static inline const char *gantry__k_short_name(int32_t dtype) {
    switch (dtype) {
#define GANTRY_NAME_CASE(name) \
    case GANTRY_ID_##name: return #name;
        GANTRY_STORED(GANTRY_NAME_CASE)
#undef GANTRY_NAME_CASE
        default: return "none";
    }
}

/* The bytes of one element; 1 for a type that no kernel takes, because callers divide by the
 * result. */
static inline uint32_t gantry__k_size(int32_t dtype) {
    const uint32_t bytes = gantry__type_bytes(dtype);

    return bytes > 0 ? bytes : 1;
}

/* The row of a table of loops for elements of 1, 2, 4, 8 and 16 bytes: 0 to 4. */
static inline uint32_t gantry__k_size_row(uint32_t bytes) {
    return bytes >= 8 ? 2 + bytes / 8 : bytes / 2;
}

/* An element of 16 bytes, in loops that only move bits. */
typedef struct gantry__k_pair_t {
    uint64_t low, high;
} gantry__k_pair_t;

/* The type that represents all types of this size in programs that only move bits. */
static inline int32_t gantry__k_twin_of(uint32_t bytes) {
    static const int32_t twins[] = {GANTRY_BOOL, GANTRY_UINT16, GANTRY_INT32, GANTRY_INT64,
                                    GANTRY_COMPLEX128};

    return twins[gantry__k_size_row(bytes)];
}

/* The type that represents all types of dtype's size. */
static inline int32_t gantry__k_twin(int32_t dtype) {
    return gantry__k_twin_of(gantry__k_size(dtype));
}

static inline bool gantry__k_is_half(int32_t dtype) { return GANTRY__TYPE_IS(dtype, HALVES); }

/* Whether the order in which an element's terms are summed must not depend on the number of rows. A
 * core of an older version has no such calls. */
static inline bool gantry__k_keeps_rows(const gantry_op_call_t *call) {
    return GANTRY_ABI_HAS(call, flags) && (call->flags & GANTRY_CALL_BATCH_INVARIANT) != 0;
}

/* Whether sums of floats may be made in any order. */
static inline bool gantry__k_takes_any_order(const gantry_op_call_t *call) {
    const uint32_t mask = GANTRY_CALL_ANY_ORDER | GANTRY_CALL_BATCH_INVARIANT;

    return GANTRY_ABI_HAS(call, flags) && (call->flags & mask) == GANTRY_CALL_ANY_ORDER;
}

/* The attribute `name` of the call, NULL when the op has none of that name. */
static inline const gantry_attr_t *gantry__k_attr(const gantry_op_call_t *call, const char *name) {
    for (uint32_t i = 0; i < call->attr_count; ++i) {
        const char *own = call->attrs[i]->name;
        if (own[0] == name[0] && own[1] == name[1] && strcmp(own, name) == 0) return call->attrs[i];
    }
    return NULL;
}

/* The integer value (BOOL, INT, TYPE) of the attribute, or fallback when the op has no such
 * attribute. */
static inline int64_t gantry__k_attr_int(const gantry_op_call_t *call, const char *name,
                                         int64_t fallback) {
    const gantry_attr_t *attr = gantry__k_attr(call, name);
    return attr ? attr->i : fallback;
}

/* The same, where the attribute is at this place of the list in most calls; NULL: there is none. */
static inline const gantry_attr_t *gantry__k_attr_at(const gantry_op_call_t *call, uint32_t place,
                                                     const char *name) {
    if (place < call->attr_count && strcmp(call->attrs[place]->name, name) == 0)
        return call->attrs[place];
    return gantry__k_attr(call, name);
}

/* The text of the attribute, or fallback when the op has no such attribute. */
static inline const char *gantry__k_attr_text(const gantry_op_call_t *call, const char *name,
                                              const char *fallback) {
    const gantry_attr_t *attr = gantry__k_attr(call, name);

    return attr && attr->s ? attr->s : fallback;
}

/* The bits of an attribute's number in the type in which dtype is computed: float64 for itself,
 * float32 for the other floating types. */
static inline uint64_t gantry__k_wide_bits(int32_t dtype, double value) {
    const float single = (float)value;
    uint64_t bits = 0;

    if (dtype == GANTRY_FLOAT64)
        memcpy(&bits, &value, sizeof value);
    else
        bits = gantry__bits_read(&single, sizeof single);
    return bits;
}

/* The bits of a scalar of 8 bytes at most in host memory. */
static inline uint64_t gantry__k_host_bits(const gantry_arg_t *arg) {
    return gantry__bits_read(arg->data, gantry__k_size(arg->dtype));
}

/* The bits of a scalar of any type in host memory. */
static inline void gantry__k_host_two(const gantry_arg_t *arg, uint64_t out[2]) {
    const uint32_t size = gantry__k_size(arg->dtype);

    out[0] = gantry__bits_read(arg->data, size < 8 ? size : 8);
    out[1] = size > 8 ? gantry__bits_read((const char *)arg->data + 8, size - 8) : 0;
}

/* Element `index` of a tensor of integers of 8, 32 or 64 bits in host memory; a uint64 gives the
 * same bits. */
static inline int64_t gantry__k_host_int(const gantry_arg_t *arg, int64_t index) {
    switch (arg->dtype) {
        case GANTRY_INT8: return ((const int8_t *)arg->data)[index];
        case GANTRY_UINT8: return ((const uint8_t *)arg->data)[index];
        case GANTRY_INT32: return ((const int32_t *)arg->data)[index];
        default: return ((const int64_t *)arg->data)[index];
    }
}

#endif
