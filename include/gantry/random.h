/* SPDX-License-Identifier: Apache-2.0 */
/* The global seed, and generators: random numbers with a counter of one's own, as
 * tf.random.Generator.
 *
 * A generator's state is three numbers on the host, {counter, counter's upper half, key}; a draw
 * takes its part of the counter when it is submitted and waits for no device. The numbers are
 * TensorFlow's for the same state, on every device.
 * Owner: whoever created a generator releases it; it keeps the runtime. Thread-safe: draws of
 * several threads are disjoint. */
#ifndef GANTRY_RANDOM_H
#define GANTRY_RANDOM_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Seeds the ops with a state of this runtime (ops_random.h) and begins all their sequences anew.
 * Generators are not touched. */
GANTRY_API gantry_status_t gantry_set_seed(gantry_runtime_t *runtime, int64_t seed);

typedef struct gantry_generator_t gantry_generator_t;

/* TensorFlow's numbers. */
typedef enum gantry_random_algorithm_t {
    GANTRY_RANDOM_PHILOX = 1,
    GANTRY_RANDOM_AUTO = 3 /* Philox */
} gantry_random_algorithm_t;

#define GANTRY_RANDOM_STATE_WORDS 3

/* All write NULL to *out_generator after a failure; Unimplemented for ThreeFry (2),
 * InvalidArgument for another algorithm. */
GANTRY_API gantry_status_t gantry_generator_from_seed(gantry_runtime_t *runtime, int64_t seed,
                                                      gantry_random_algorithm_t algorithm,
                                                      gantry_generator_t **out_generator);
GANTRY_API gantry_status_t gantry_generator_from_state(
    gantry_runtime_t *runtime, const uint64_t state[GANTRY_RANDOM_STATE_WORDS],
    gantry_random_algorithm_t algorithm, gantry_generator_t **out_generator);
/* With a state of the operating system's generator. */
GANTRY_API gantry_status_t gantry_generator_from_entropy(gantry_runtime_t *runtime,
                                                         gantry_random_algorithm_t algorithm,
                                                         gantry_generator_t **out_generator);
GANTRY_API void gantry_generator_release(gantry_generator_t *generator); /* NULL is allowed */

/* ---- the state ---- */

GANTRY_API gantry_status_t gantry_generator_get_state(
    gantry_generator_t *generator, uint64_t out_state[GANTRY_RANDOM_STATE_WORDS]);
GANTRY_API gantry_status_t gantry_generator_set_state(
    gantry_generator_t *generator, const uint64_t state[GANTRY_RANDOM_STATE_WORDS]);
GANTRY_API gantry_status_t gantry_generator_reset_from_seed(gantry_generator_t *generator,
                                                            int64_t seed);
/* As a tensor, to be saved: int64[3] on the host; int64[3] or uint64[3] to be restored. */
GANTRY_API const gantry_tensor_t *gantry_generator_read_state(gantry_scope_t *scope,
                                                              gantry_generator_t *generator);
GANTRY_API gantry_status_t gantry_generator_assign_state(gantry_scope_t *scope,
                                                         gantry_generator_t *generator,
                                                         const gantry_tensor_t *state);
GANTRY_API gantry_status_t gantry_generator_key(gantry_generator_t *generator, uint64_t *out_key);
/* Goes on as a draw of count values does: by 256 * count, modulo 2^64 as in TensorFlow, added to
 * the counter's 128 bits. */
GANTRY_API gantry_status_t gantry_generator_skip(gantry_generator_t *generator, uint64_t count);
/* count generators, each with a key of its own drawn from this one. The caller releases each;
 * all NULL after a failure. */
GANTRY_API gantry_status_t gantry_generator_split(gantry_generator_t *generator, size_t count,
                                                  gantry_generator_t **out_generators);

/* ---- draws: as the functions of ops_random.h, from the generator's state ---- */

GANTRY_API const gantry_tensor_t *gantry_generator_uniform(gantry_scope_t *scope,
                                                           gantry_generator_t *generator,
                                                           gantry_shape_t shape,
                                                           gantry_dtype_t dtype);
GANTRY_API const gantry_tensor_t *gantry_generator_normal(gantry_scope_t *scope,
                                                          gantry_generator_t *generator,
                                                          gantry_shape_t shape,
                                                          gantry_dtype_t dtype);
GANTRY_API const gantry_tensor_t *gantry_generator_truncated_normal(gantry_scope_t *scope,
                                                                    gantry_generator_t *generator,
                                                                    gantry_shape_t shape,
                                                                    gantry_dtype_t dtype);
/* minval and maxval: scalars of int32, int64, uint32 or uint64. */
GANTRY_API const gantry_tensor_t *gantry_generator_uniform_int(gantry_scope_t *scope,
                                                               gantry_generator_t *generator,
                                                               gantry_shape_t shape,
                                                               const gantry_tensor_t *minval,
                                                               const gantry_tensor_t *maxval);
GANTRY_API const gantry_tensor_t *gantry_generator_uniform_full_int(gantry_scope_t *scope,
                                                                    gantry_generator_t *generator,
                                                                    gantry_shape_t shape,
                                                                    gantry_dtype_t dtype);
/* TensorFlow's generators have no such draws; these take the counter on as a draw of as many
 * integers as there are samples, or rows. */
GANTRY_API const gantry_tensor_t *gantry_generator_categorical(gantry_scope_t *scope,
                                                               gantry_generator_t *generator,
                                                               const gantry_tensor_t *logits,
                                                               int32_t num_samples,
                                                               gantry_dtype_t dtype);
GANTRY_API const gantry_tensor_t *gantry_generator_shuffle(gantry_scope_t *scope,
                                                           gantry_generator_t *generator,
                                                           const gantry_tensor_t *value);

#ifdef __cplusplus
}
#endif
#endif
