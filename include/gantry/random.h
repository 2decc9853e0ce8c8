/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The global seed, and generators: random numbers from a counter that the program owns, as
 * tf.random.Generator.
 *
 * A generator's state is three numbers on the host: the counter, the counter's upper half, and the
 * key. A draw takes its part of the counter when it is submitted, and waits for no device. For the
 * same state, every device draws TensorFlow's numbers.
 *
 * Owner: the caller that created a generator releases it; it keeps the runtime. Thread-safe:
 * draws of several threads are disjoint. */
#ifndef GANTRY_RANDOM_H
#define GANTRY_RANDOM_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Seeds the ops with a state of this runtime (ops_random.h), and restarts all their sequences,
 * also in functions that were traced before, whose ops keep the seeds that they had then.
 * Generators keep their state. */
GANTRY_API gantry_status_t gantry_set_seed(gantry_runtime_t *runtime, int64_t seed);

/** A generator. The caller that created it releases it. */
typedef struct gantry_generator_t gantry_generator_t;

/** Algorithms of generators, with TensorFlow's numbers. */
typedef enum gantry_random_algorithm_t {
    GANTRY_RANDOM_PHILOX = 1, /**< Philox 4x32-10. */
    GANTRY_RANDOM_AUTO = 3    /**< The default algorithm: Philox. */
} gantry_random_algorithm_t;

/** 64-bit words of a generator's state: counter, its upper half, key. */
#define GANTRY_RANDOM_STATE_WORDS 3

/** Creates a generator whose state is made from a seed, as TensorFlow's from_seed.
 *
 * This and the next two calls set *out_generator to NULL after a failure: Unimplemented for
 * ThreeFry (2), InvalidArgument for any other algorithm. */
GANTRY_API gantry_status_t gantry_generator_from_seed(gantry_runtime_t *runtime, int64_t seed,
                                                      gantry_random_algorithm_t algorithm,
                                                      gantry_generator_t **out_generator);
/** Creates a generator with a given state. */
GANTRY_API gantry_status_t gantry_generator_from_state(
    gantry_runtime_t *runtime, const uint64_t state[GANTRY_RANDOM_STATE_WORDS],
    gantry_random_algorithm_t algorithm, gantry_generator_t **out_generator);
/** Creates a generator whose state comes from the operating system. */
GANTRY_API gantry_status_t gantry_generator_from_entropy(gantry_runtime_t *runtime,
                                                         gantry_random_algorithm_t algorithm,
                                                         gantry_generator_t **out_generator);
/** Releases a generator; NULL does no harm. */
GANTRY_API void gantry_generator_release(gantry_generator_t *generator);

/* ---- the state ---- */

/** Reads the state. */
GANTRY_API gantry_status_t gantry_generator_get_state(
    gantry_generator_t *generator, uint64_t out_state[GANTRY_RANDOM_STATE_WORDS]);
/** Replaces the state. */
GANTRY_API gantry_status_t gantry_generator_set_state(
    gantry_generator_t *generator, const uint64_t state[GANTRY_RANDOM_STATE_WORDS]);
/** Replaces the state by the one that gantry_generator_from_seed makes. */
GANTRY_API gantry_status_t gantry_generator_reset_from_seed(gantry_generator_t *generator,
                                                            int64_t seed);
/** Returns the state as an int64[3] tensor on the host, to be saved. */
GANTRY_API const gantry_tensor_t *gantry_generator_read_state(gantry_scope_t *scope,
                                                              gantry_generator_t *generator);
/** Replaces the state by an int64[3] or uint64[3] tensor. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_generator_assign_state(gantry_scope_t *scope,
                                                         gantry_generator_t *generator,
                                                         const gantry_tensor_t *state);
/** Reads the key, the state's last word. */
GANTRY_API gantry_status_t gantry_generator_key(gantry_generator_t *generator, uint64_t *out_key);
/** Advances the counter as a draw of count values does: adds 256 * count, modulo 2^64 as in
 * TensorFlow, to its 128 bits. */
GANTRY_API gantry_status_t gantry_generator_skip(gantry_generator_t *generator, uint64_t count);
/** Creates count generators, each with its own key, which this generator draws. The caller
 * releases each. All are NULL after a failure. */
GANTRY_API gantry_status_t gantry_generator_split(gantry_generator_t *generator, size_t count,
                                                  gantry_generator_t **out_generators);

/* ---- draws from the generator's state ---- */

/** Draws floats uniformly from [0, 1), as gantry_stateless_random_uniform. */
GANTRY_API const gantry_tensor_t *gantry_generator_uniform(gantry_scope_t *scope,
                                                           gantry_generator_t *generator,
                                                           gantry_shape_t shape,
                                                           gantry_dtype_t dtype);
/** Draws floats uniformly from [minval, maxval), as gantry_stateless_random_uniform_range. */
GANTRY_API const gantry_tensor_t *gantry_generator_uniform_range(gantry_scope_t *scope,
                                                                 gantry_generator_t *generator,
                                                                 gantry_shape_t shape,
                                                                 const gantry_tensor_t *minval,
                                                                 const gantry_tensor_t *maxval);
/** Draws floats from the standard normal distribution, as gantry_stateless_random_normal. */
GANTRY_API const gantry_tensor_t *gantry_generator_normal(gantry_scope_t *scope,
                                                          gantry_generator_t *generator,
                                                          gantry_shape_t shape,
                                                          gantry_dtype_t dtype);
/** Draws floats from the standard normal distribution within 2 of 0, as
 * gantry_stateless_truncated_normal. */
GANTRY_API const gantry_tensor_t *gantry_generator_truncated_normal(gantry_scope_t *scope,
                                                                    gantry_generator_t *generator,
                                                                    gantry_shape_t shape,
                                                                    gantry_dtype_t dtype);
/** Draws integers from [minval, maxval). minval and maxval are scalars of int32, int64, uint32
 * or uint64, and give the result's type. */
GANTRY_API const gantry_tensor_t *gantry_generator_uniform_int(gantry_scope_t *scope,
                                                               gantry_generator_t *generator,
                                                               gantry_shape_t shape,
                                                               const gantry_tensor_t *minval,
                                                               const gantry_tensor_t *maxval);
/** Draws integers from the whole range of int32, int64, uint32 or uint64. */
GANTRY_API const gantry_tensor_t *gantry_generator_uniform_full_int(gantry_scope_t *scope,
                                                                    gantry_generator_t *generator,
                                                                    gantry_shape_t shape,
                                                                    gantry_dtype_t dtype);
/** Draws num_samples classes for each row of logits, as gantry_stateless_multinomial.
 * TensorFlow's generators have no such draw. The counter advances as for as many integers as
 * there are samples. */
GANTRY_API const gantry_tensor_t *gantry_generator_categorical(gantry_scope_t *scope,
                                                               gantry_generator_t *generator,
                                                               const gantry_tensor_t *logits,
                                                               int32_t num_samples,
                                                               gantry_dtype_t dtype);
/** Shuffles the first dimension of value. TensorFlow's generators have no such draw. The counter
 * advances as for as many integers as there are rows. */
GANTRY_API const gantry_tensor_t *gantry_generator_shuffle(gantry_scope_t *scope,
                                                           gantry_generator_t *generator,
                                                           const gantry_tensor_t *value);

#ifdef __cplusplus
}
#endif
#endif
