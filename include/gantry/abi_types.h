/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The numbers that programs, the core, backends and device programs share: element types, status
 * codes, kinds of attributes, flags of kernels, log levels and fault codes.
 *
 * Each number is written only here. types.h, status.h, op.h, runtime.h and backend_abi.h include
 * this file, and the build generates the first text of every device program from it
 * (cmake/constants_text.cmake). That script reads lines of the form GANTRY_NAME = number, without
 * flags (1 << n), so each constant must have a line of its own.
 *
 * No functions, no ownership; thread-safe. */
#ifndef GANTRY_ABI_TYPES_H
#define GANTRY_ABI_TYPES_H

#include <stdint.h>

/* ---- element types ---- */

/** Element types, numbered as TensorFlow's DataType, so that files and bindings need no table. */
typedef enum gantry_dtype_t {
    GANTRY_DTYPE_NONE = 0,  /**< No type. */
    GANTRY_FLOAT32 = 1,     /**< IEEE binary32. */
    GANTRY_FLOAT64 = 2,     /**< IEEE binary64. */
    GANTRY_INT32 = 3,       /**< Signed, 32 bits. */
    GANTRY_UINT8 = 4,       /**< Unsigned, 8 bits. */
    GANTRY_INT16 = 5,       /**< Signed, 16 bits. */
    GANTRY_INT8 = 6,        /**< Signed, 8 bits. */
    GANTRY_COMPLEX64 = 8,   /**< Two float32. Ops move it, and none computes with it. */
    GANTRY_INT64 = 9,       /**< Signed, 64 bits. */
    GANTRY_BOOL = 10,       /**< One byte, 0 or 1. */
    GANTRY_BFLOAT16 = 14,   /**< The upper half of a float32; computed with as float32. */
    GANTRY_UINT16 = 17,     /**< Unsigned, 16 bits. */
    GANTRY_COMPLEX128 = 18, /**< Two float64. Ops move it, and none computes with it. */
    GANTRY_FLOAT16 = 19,    /**< IEEE binary16; computed with as float32. */
    GANTRY_UINT32 = 22,     /**< Unsigned, 32 bits. */
    GANTRY_UINT64 = 23,     /**< Unsigned, 64 bits. */
    /** 5 bits of exponent, 2 of fraction, infinities. Ops move and convert it; none computes. */
    GANTRY_FLOAT8_E5M2 = 24,
    /** 4 bits of exponent, 3 of fraction, one NaN, no infinity; else as GANTRY_FLOAT8_E5M2. */
    GANTRY_FLOAT8_E4M3FN = 25
} gantry_dtype_t;

/* ---- sets of element types ---- */

/** The bit of an element type in a 64-bit set of types. */
#define GANTRY_DTYPE_BIT(dtype) (UINT64_C(1) << (dtype))

/** float32 and float64. */
#define GANTRY_DTYPES_FLOATS (GANTRY_DTYPE_BIT(GANTRY_FLOAT32) | GANTRY_DTYPE_BIT(GANTRY_FLOAT64))
/** float16 and bfloat16: stored in 16 bits, computed with as float32. */
#define GANTRY_DTYPES_HALVES (GANTRY_DTYPE_BIT(GANTRY_FLOAT16) | GANTRY_DTYPE_BIT(GANTRY_BFLOAT16))
/** All floating-point types. */
#define GANTRY_DTYPES_FLOATING (GANTRY_DTYPES_FLOATS | GANTRY_DTYPES_HALVES)
/** int32 and int64, the types of indices. */
#define GANTRY_DTYPES_INTS (GANTRY_DTYPE_BIT(GANTRY_INT32) | GANTRY_DTYPE_BIT(GANTRY_INT64))
/** Signed integers of 8 to 64 bits. */
#define GANTRY_DTYPES_SIGNED \
    (GANTRY_DTYPES_INTS | GANTRY_DTYPE_BIT(GANTRY_INT8) | GANTRY_DTYPE_BIT(GANTRY_INT16))
/** Unsigned integers of 8 to 64 bits. */
#define GANTRY_DTYPES_UNSIGNED                                          \
    (GANTRY_DTYPE_BIT(GANTRY_UINT8) | GANTRY_DTYPE_BIT(GANTRY_UINT16) | \
     GANTRY_DTYPE_BIT(GANTRY_UINT32) | GANTRY_DTYPE_BIT(GANTRY_UINT64))
/** All integers. */
#define GANTRY_DTYPES_INTEGERS (GANTRY_DTYPES_SIGNED | GANTRY_DTYPES_UNSIGNED)
/** float32, float64, int32 and int64. */
#define GANTRY_DTYPES_NUMBERS (GANTRY_DTYPES_FLOATS | GANTRY_DTYPES_INTS)
/** All numbers that ops compute with. */
#define GANTRY_DTYPES_NUMERIC (GANTRY_DTYPES_FLOATING | GANTRY_DTYPES_INTEGERS)
/** All numbers that can be negative. */
#define GANTRY_DTYPES_SIGNED_NUMERIC (GANTRY_DTYPES_FLOATING | GANTRY_DTYPES_SIGNED)
/** bool. */
#define GANTRY_DTYPES_BOOLS GANTRY_DTYPE_BIT(GANTRY_BOOL)
/** All numbers, and bool. */
#define GANTRY_DTYPES_NUMERIC_BOOL (GANTRY_DTYPES_NUMERIC | GANTRY_DTYPES_BOOLS)
/** float8_e5m2 and float8_e4m3fn: stored in 8 bits, only moved and converted. */
#define GANTRY_DTYPES_QUARTERS \
    (GANTRY_DTYPE_BIT(GANTRY_FLOAT8_E5M2) | GANTRY_DTYPE_BIT(GANTRY_FLOAT8_E4M3FN))
/** complex64 and complex128: only moved. */
#define GANTRY_DTYPES_COMPLEXES \
    (GANTRY_DTYPE_BIT(GANTRY_COMPLEX64) | GANTRY_DTYPE_BIT(GANTRY_COMPLEX128))
/** All types. Ops take them that move elements and never compute with them. */
#define GANTRY_DTYPES_ANY \
    (GANTRY_DTYPES_NUMERIC_BOOL | GANTRY_DTYPES_QUARTERS | GANTRY_DTYPES_COMPLEXES)

/** Types of MatMul. */
#define GANTRY_DTYPES_MULTIPLIED (GANTRY_DTYPES_NUMBERS | GANTRY_DTYPES_HALVES)
/** Types of BatchMatMul. */
#define GANTRY_DTYPES_BATCH_MULTIPLIED (GANTRY_DTYPES_MULTIPLIED | GANTRY_DTYPE_BIT(GANTRY_INT16))
/** Types of OneHot's indices. */
#define GANTRY_DTYPES_ONE_HOT_INDICES \
    (GANTRY_DTYPES_INTS | GANTRY_DTYPE_BIT(GANTRY_UINT8) | GANTRY_DTYPE_BIT(GANTRY_INT8))
/** Types of the results of ArgMax and ArgMin. */
#define GANTRY_DTYPES_ARGMAX_OUTPUTS \
    (GANTRY_DTYPES_INTS | GANTRY_DTYPE_BIT(GANTRY_INT16) | GANTRY_DTYPE_BIT(GANTRY_UINT16))
/** Types of random integers. */
#define GANTRY_DTYPES_DRAWN \
    (GANTRY_DTYPES_INTS | GANTRY_DTYPE_BIT(GANTRY_UINT32) | GANTRY_DTYPE_BIT(GANTRY_UINT64))

/** The most dimensions that a tensor can have. */
#define GANTRY_MAX_RANK 8

/* ---- status codes ---- */

/** Status codes, TensorFlow's canonical ones. */
typedef enum gantry_status_t {
    GANTRY_OK = 0,                 /**< Success. */
    GANTRY_CANCELLED = 1,          /**< The work was cancelled. */
    GANTRY_UNKNOWN = 2,            /**< A driver failed without an explanation. */
    GANTRY_INVALID_ARGUMENT = 3,   /**< An argument is wrong, whatever the state of the machine. */
    GANTRY_DEADLINE_EXCEEDED = 4,  /**< The time for the work ran out. */
    GANTRY_NOT_FOUND = 5,          /**< The named file, device, op or kernel does not exist. */
    GANTRY_ALREADY_EXISTS = 6,     /**< The named object exists already. */
    GANTRY_PERMISSION_DENIED = 7,  /**< The operating system refused access. */
    GANTRY_RESOURCE_EXHAUSTED = 8, /**< Memory ran out, or a limit was reached. */
    /** The call is wrong in this state: a frozen setting, a released runtime. */
    GANTRY_FAILED_PRECONDITION = 9,
    GANTRY_ABORTED = 10,       /**< The work was given up. */
    GANTRY_OUT_OF_RANGE = 11,  /**< An index is beyond the end. */
    GANTRY_UNIMPLEMENTED = 12, /**< No device has a kernel for it, or the backend lacks it. */
    GANTRY_INTERNAL = 13,      /**< An invariant of Gantry or of a driver is broken. */
    GANTRY_UNAVAILABLE = 14,   /**< A library, a driver or a device is absent or lost. */
    GANTRY_DATA_LOSS = 15      /**< A file or the content of a device is damaged. */
} gantry_status_t;

/* ---- kinds of an op's attributes ---- */

/** Kinds of an op's attributes. */
typedef enum gantry_attr_kind_t {
    GANTRY_ATTR_BOOL = 1,  /**< A truth value. */
    GANTRY_ATTR_INT = 2,   /**< A 64-bit integer. */
    GANTRY_ATTR_FLOAT = 3, /**< A floating-point number. */
    GANTRY_ATTR_TYPE = 4,  /**< An element type, a gantry_dtype_t. */
    GANTRY_ATTR_SHAPE = 5, /**< A list of dimensions. */
    GANTRY_ATTR_INTS = 6,  /**< A list of 64-bit integers. */
    GANTRY_ATTR_STRING = 7 /**< A text. */
} gantry_attr_kind_t;

/* ---- kernels and their calls ---- */

/** Flags of kernels. */
enum {
    /** Output 0 may share the memory of any input of its size: a worker writes an element after
     * its last read of the input's element at that position, and no other worker reads that
     * one. */
    GANTRY_KERNEL_IN_PLACE = 1 << 0,
    /** Output 0 may share the memory of input 0, and of no other one: the kernel changes a part of
     * that tensor. A copy of it onto itself, by the service copy, does nothing. */
    GANTRY_KERNEL_IN_PLACE_FIRST = 1 << 1
};

/** Flags of calls. */
enum {
    /** A row of the result must have the same bits, however many rows there are: the kernel makes
     * no choice by their number that changes the order of a sum, and calls no library that does. */
    GANTRY_CALL_BATCH_INVARIANT = 1 << 0,
    /** Sums of floats may be made in any order, which may change from call to call. */
    GANTRY_CALL_ANY_ORDER = 1 << 1
};

/** What a kernel promises. */
enum {
    /** It keeps GANTRY_CALL_BATCH_INVARIANT. A kernel without this promise is not chosen for such
     * a call. */
    GANTRY_KERNEL_BATCH_INVARIANT = 1 << 0,
    /** A call of float32 with GANTRY_CALL_ANY_ORDER is faster on a device with
     * GANTRY_DEVICE_FLOAT_ATOMICS. */
    GANTRY_KERNEL_ANY_ORDER = 1 << 1
};

/* ---- log levels ---- */

/** Levels of log lines, and of the setting that filters them. */
typedef enum gantry_log_level_t {
    GANTRY_LEVEL_DEFAULT = 0, /**< Leaves the setting as it is; no line has this level. */
    GANTRY_LEVEL_DEBUG = 1,   /**< Details for debugging. */
    GANTRY_LEVEL_INFO = 2,    /**< Normal events; the default. */
    GANTRY_LEVEL_WARNING = 3, /**< Something unexpected that Gantry handled. */
    GANTRY_LEVEL_ERROR = 4    /**< A failure. */
} gantry_log_level_t;

/* ---- faults ---- */

/** Codes by which a kernel reports bad data that it met on its device. */
typedef enum gantry_fault_code_t {
    GANTRY_FAULT_NONE = 0,               /**< Nothing was met. */
    GANTRY_FAULT_INDEX_OUT_OF_RANGE = 1, /**< An index is outside its dimension. */
    GANTRY_FAULT_DIVISION_BY_ZERO = 2,   /**< An integer was divided by zero. */
    /** An element is no index of the permutation, or it occurs twice. */
    GANTRY_FAULT_BAD_PERMUTATION = 3,
    GANTRY_FAULT_NEGATIVE_EXPONENT = 4, /**< An integer was raised to a negative power. */
    GANTRY_FAULT_LABEL_OUT_OF_RANGE = 5 /**< A label names no class. */
} gantry_fault_code_t;

#endif
