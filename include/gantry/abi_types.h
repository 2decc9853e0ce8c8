/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that programs, the core, backends and device programs agree on: element types, status
 * codes, kinds of attributes, log levels, faults. Each stands here and nowhere else: types.h,
 * status.h, op.h, runtime.h and backend_abi.h include this file, and the build makes from it the
 * first text of every device program (cmake/constants_text.cmake). No functions, no ownership;
 * thread-safe.
 *
 * The script takes the lines `GANTRY_NAME = number`: one constant is one line. */
#ifndef GANTRY_ABI_TYPES_H
#define GANTRY_ABI_TYPES_H

#include <stdint.h>

/* ---- element types ---- */

/* Numbered as TensorFlow's DataType, so that a file or a binding needs no table. */
typedef enum gantry_dtype_t {
    GANTRY_DTYPE_NONE = 0,
    GANTRY_FLOAT32 = 1,
    GANTRY_FLOAT64 = 2,
    GANTRY_INT32 = 3,
    GANTRY_UINT8 = 4,
    GANTRY_INT16 = 5,
    GANTRY_INT8 = 6,
    GANTRY_COMPLEX64 = 8,
    GANTRY_INT64 = 9,
    GANTRY_BOOL = 10,
    GANTRY_BFLOAT16 = 14,
    GANTRY_UINT16 = 17,
    GANTRY_FLOAT16 = 19,
    GANTRY_UINT32 = 22,
    GANTRY_UINT64 = 23
} gantry_dtype_t;

/* Sets of element types are masks of these bits. */
#define GANTRY_DTYPE_BIT(dtype) (UINT64_C(1) << (dtype))

#define GANTRY_DTYPES_FLOATS (GANTRY_DTYPE_BIT(GANTRY_FLOAT32) | GANTRY_DTYPE_BIT(GANTRY_FLOAT64))
/* Stored as 16 bits, computed with as float32. */
#define GANTRY_DTYPES_HALVES (GANTRY_DTYPE_BIT(GANTRY_FLOAT16) | GANTRY_DTYPE_BIT(GANTRY_BFLOAT16))
#define GANTRY_DTYPES_FLOATING (GANTRY_DTYPES_FLOATS | GANTRY_DTYPES_HALVES)
#define GANTRY_DTYPES_INTS (GANTRY_DTYPE_BIT(GANTRY_INT32) | GANTRY_DTYPE_BIT(GANTRY_INT64))
#define GANTRY_DTYPES_SIGNED \
    (GANTRY_DTYPES_INTS | GANTRY_DTYPE_BIT(GANTRY_INT8) | GANTRY_DTYPE_BIT(GANTRY_INT16))
#define GANTRY_DTYPES_UNSIGNED                                          \
    (GANTRY_DTYPE_BIT(GANTRY_UINT8) | GANTRY_DTYPE_BIT(GANTRY_UINT16) | \
     GANTRY_DTYPE_BIT(GANTRY_UINT32) | GANTRY_DTYPE_BIT(GANTRY_UINT64))
#define GANTRY_DTYPES_INTEGERS (GANTRY_DTYPES_SIGNED | GANTRY_DTYPES_UNSIGNED)
#define GANTRY_DTYPES_NUMBERS (GANTRY_DTYPES_FLOATS | GANTRY_DTYPES_INTS)
#define GANTRY_DTYPES_NUMERIC (GANTRY_DTYPES_FLOATING | GANTRY_DTYPES_INTEGERS)
#define GANTRY_DTYPES_SIGNED_NUMERIC (GANTRY_DTYPES_FLOATING | GANTRY_DTYPES_SIGNED)
#define GANTRY_DTYPES_BOOLS GANTRY_DTYPE_BIT(GANTRY_BOOL)
#define GANTRY_DTYPES_NUMERIC_BOOL (GANTRY_DTYPES_NUMERIC | GANTRY_DTYPES_BOOLS)
/* What ops take that move elements and never look at them. */
#define GANTRY_DTYPES_ANY (GANTRY_DTYPES_NUMERIC_BOOL | GANTRY_DTYPE_BIT(GANTRY_COMPLEX64))

/* Sets of single ops: matrix products, OneHot, ArgMax's results, random integers. */
#define GANTRY_DTYPES_MULTIPLIED (GANTRY_DTYPES_NUMBERS | GANTRY_DTYPES_HALVES)
#define GANTRY_DTYPES_BATCH_MULTIPLIED (GANTRY_DTYPES_MULTIPLIED | GANTRY_DTYPE_BIT(GANTRY_INT16))
#define GANTRY_DTYPES_ONE_HOT_INDICES \
    (GANTRY_DTYPES_INTS | GANTRY_DTYPE_BIT(GANTRY_UINT8) | GANTRY_DTYPE_BIT(GANTRY_INT8))
#define GANTRY_DTYPES_ARGMAX_OUTPUTS \
    (GANTRY_DTYPES_INTS | GANTRY_DTYPE_BIT(GANTRY_INT16) | GANTRY_DTYPE_BIT(GANTRY_UINT16))
#define GANTRY_DTYPES_DRAWN \
    (GANTRY_DTYPES_INTS | GANTRY_DTYPE_BIT(GANTRY_UINT32) | GANTRY_DTYPE_BIT(GANTRY_UINT64))

/* Dimensions of a tensor, at most. */
#define GANTRY_MAX_RANK 8

/* ---- status codes: TensorFlow's canonical ones ---- */

typedef enum gantry_status_t {
    GANTRY_OK = 0,
    GANTRY_CANCELLED = 1,
    GANTRY_UNKNOWN = 2,          /* a driver failed in a way it did not explain */
    GANTRY_INVALID_ARGUMENT = 3, /* wrong whatever the state of the machine */
    GANTRY_DEADLINE_EXCEEDED = 4,
    GANTRY_NOT_FOUND = 5, /* a named file, device, op or kernel does not exist */
    GANTRY_ALREADY_EXISTS = 6,
    GANTRY_PERMISSION_DENIED = 7,
    GANTRY_RESOURCE_EXHAUSTED = 8,  /* memory or a limit */
    GANTRY_FAILED_PRECONDITION = 9, /* wrong in this state: frozen setting, released runtime */
    GANTRY_ABORTED = 10,
    GANTRY_OUT_OF_RANGE = 11,
    GANTRY_UNIMPLEMENTED = 12,
    GANTRY_INTERNAL = 13,    /* an invariant of Gantry or of a driver is broken */
    GANTRY_UNAVAILABLE = 14, /* a library, driver or device is absent */
    GANTRY_DATA_LOSS = 15    /* a file or a device's content is damaged */
} gantry_status_t;

/* ---- kinds of an op's attributes ---- */

typedef enum gantry_attr_kind_t {
    GANTRY_ATTR_BOOL = 1,
    GANTRY_ATTR_INT = 2,
    GANTRY_ATTR_FLOAT = 3,
    GANTRY_ATTR_TYPE = 4,
    GANTRY_ATTR_SHAPE = 5,
    GANTRY_ATTR_INTS = 6,
    GANTRY_ATTR_STRING = 7
} gantry_attr_kind_t;

/* ---- log levels ---- */

typedef enum gantry_log_level_t {
    GANTRY_LEVEL_DEFAULT = 0, /* of a setting that is left alone; no line has it */
    GANTRY_LEVEL_DEBUG = 1,
    GANTRY_LEVEL_INFO = 2,
    GANTRY_LEVEL_WARNING = 3,
    GANTRY_LEVEL_ERROR = 4
} gantry_log_level_t;

/* ---- what a kernel tells of bad data that it met on its device ---- */

typedef enum gantry_fault_code_t {
    GANTRY_FAULT_NONE = 0,
    GANTRY_FAULT_INDEX_OUT_OF_RANGE = 1,
    GANTRY_FAULT_DIVISION_BY_ZERO = 2,
    GANTRY_FAULT_BAD_PERMUTATION = 3,   /* an element is no index, or is there twice */
    GANTRY_FAULT_NEGATIVE_EXPONENT = 4, /* of integers */
    GANTRY_FAULT_LABEL_OUT_OF_RANGE = 5 /* of a class */
} gantry_fault_code_t;

#endif
