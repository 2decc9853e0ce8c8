/* SPDX-License-Identifier: Apache-2.0 */
/* Random ops whose values take a fixed number of Philox words, for the CPU backend and the portable
 * pack: the list of these ops, and key, counter and bounds, which the host makes from a call's
 * inputs.
 *
 * Not here: the generator on devices (kernels/random/philox.cl). Owner: plain values of the caller.
 * Threads: thread-safe. */
#ifndef GANTRY_KERNELS_RANDOM_SEED_H
#define GANTRY_KERNELS_RANDOM_SEED_H

#include <stdbool.h>

#include "kernels/common/kernel_definition.h"

typedef struct gantry__k_stream_t {
    uint64_t low; /* the low half of the 128-bit counter */
    uint64_t high;
    uint32_t key0; /* the low half of the key */
    uint32_t key1;
} gantry__k_stream_t;

/* An integer is lowest + a number below range, in the type's own arithmetic. With range 0 it may
 * have any value of the type. */
typedef struct gantry__k_draw_t {
    gantry__k_stream_t stream;
    uint64_t lowest;
    uint64_t range;
} gantry__k_draw_t;

enum { GANTRY_K_PHILOX = 1, GANTRY_K_AUTO_SELECT = 3 };

/* The inputs are shape and seed, or shape, key, counter and alg. minval and maxval may follow
 * them. */
typedef struct gantry__k_random_op_t {
    enum { GANTRY_K_DRAWS_UNIFORM, GANTRY_K_DRAWS_NORMAL, GANTRY_K_DRAWS_INTEGERS } values;
    uint32_t bounds; /* the number of the input minval; 0: none */
    bool is_by_key;
} gantry__k_random_op_t;

/* A list of OP(name, op, types, values, number of minval, is by key, host inputs...). */
#define GANTRY_K_RANDOM_OPS(OP)                                                                    \
    OP(uniform, "StatelessRandomUniform", GANTRY_DTYPES_FLOATING, GANTRY_K_DRAWS_UNIFORM, 0, 0,    \
       "shape", "seed")                                                                            \
    OP(normal, "StatelessRandomNormal", GANTRY_DTYPES_FLOATING, GANTRY_K_DRAWS_NORMAL, 0, 0,       \
       "shape", "seed")                                                                            \
    OP(integers, "StatelessRandomUniformInt", GANTRY_DTYPES_INTS, GANTRY_K_DRAWS_INTEGERS, 2, 0,   \
       "shape", "seed", "minval", "maxval")                                                        \
    OP(full, "StatelessRandomUniformFullInt", GANTRY_DTYPES_DRAWN, GANTRY_K_DRAWS_INTEGERS, 0, 0,  \
       "shape", "seed")                                                                            \
    OP(uniform_by_key, "StatelessRandomUniformV2", GANTRY_DTYPES_FLOATING, GANTRY_K_DRAWS_UNIFORM, \
       0, 1, "shape", "key", "counter", "alg")                                                     \
    OP(normal_by_key, "StatelessRandomNormalV2", GANTRY_DTYPES_FLOATING, GANTRY_K_DRAWS_NORMAL, 0, \
       1, "shape", "key", "counter", "alg")                                                        \
    OP(integers_by_key, "StatelessRandomUniformIntV2", GANTRY_DTYPES_DRAWN,                        \
       GANTRY_K_DRAWS_INTEGERS, 4, 1, "shape", "key", "counter", "alg", "minval", "maxval")        \
    OP(full_by_key, "StatelessRandomUniformFullIntV2", GANTRY_DTYPES_DRAWN,                        \
       GANTRY_K_DRAWS_INTEGERS, 0, 1, "shape", "key", "counter", "alg")

/* Defines the kernel <name>_kernel of an op, over compute_random, and the pointer to it. */
#define GANTRY_K_RANDOM_KERNEL(name, op_name, type_mask, values_, bounds_, is_by_key_, ...) \
    static const gantry__k_random_op_t name##_op = {values_, bounds_, is_by_key_};          \
    static const gantry_type_constraint_t name##_type = {"dtype", type_mask};               \
    static const char *const name##_hosts[] = {__VA_ARGS__};                                \
    static const gantry_kernel_def_t name##_kernel = GANTRY_K_DEFINITION(                   \
        op_name, &name##_type, 1, name##_hosts, GANTRY_K_COUNT_OF(name##_hosts),            \
        .compute = GANTRY_K_SIDE(compute_random), .data = &name##_op);
#define GANTRY_K_RANDOM_KERNEL_POINTER(name, ...) &name##_kernel,

/* The stream of seed[2]: one Philox block makes key and counter of it. */
gantry__k_stream_t gantry__portable_stream_of_seed(const gantry_arg_t *seed);

/* Makes the stream of key, counter and alg, which must be inputs[first] and the next two. Returns
 * InvalidArgument for an algorithm that is not Philox. */
int32_t gantry__portable_stream_of_key(gantry_op_call_t *call, uint32_t first,
                                       gantry__k_stream_t *out_stream);

/* Makes the stream and the bounds of a call, which must be of an op in the list above. */
int32_t gantry__portable_random_draw(gantry_op_call_t *call, gantry__k_draw_t *out_draw);

/* The number of values that one counter step gives. */
static inline int64_t gantry__k_group_of(int32_t dtype) {
    return gantry__k_size(dtype) == 8 ? 2 : 4;
}

#endif
