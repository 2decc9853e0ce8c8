/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Random ops, one C function each; ops.h says what holds for all ops, for owners and for threads,
 * and random.h has generators.
 *
 * The numbers are TensorFlow's, from Philox 4x32-10, on every device: uniform values and integers
 * to the last bit, normal values within 4 units in the last place. "Floats" here are float16,
 * bfloat16, float32 and float64. */
#ifndef GANTRY_OPS_RANDOM_H
#define GANTRY_OPS_RANDOM_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- without a state: two seeds decide the numbers ---- */

/** Draws floats uniformly from [0, 1). */
GANTRY_API const gantry_tensor_t *gantry_stateless_random_uniform(gantry_scope_t *scope,
                                                                  gantry_shape_t shape,
                                                                  gantry_dtype_t dtype,
                                                                  int64_t seed0, int64_t seed1);
/** Draws floats from the standard normal distribution. */
GANTRY_API const gantry_tensor_t *gantry_stateless_random_normal(gantry_scope_t *scope,
                                                                 gantry_shape_t shape,
                                                                 gantry_dtype_t dtype,
                                                                 int64_t seed0, int64_t seed1);
/** Draws floats from the standard normal distribution, without values 2 or more away from 0. */
GANTRY_API const gantry_tensor_t *gantry_stateless_truncated_normal(gantry_scope_t *scope,
                                                                    gantry_shape_t shape,
                                                                    gantry_dtype_t dtype,
                                                                    int64_t seed0, int64_t seed1);
/** Draws integers from [minval, maxval), scalars of int32 or int64, the result's type. If maxval
 * - minval is not a power of two, the result has a very small bias towards small values, as in
 * TensorFlow. */
GANTRY_API const gantry_tensor_t *gantry_stateless_random_uniform_int(gantry_scope_t *scope,
                                                                      gantry_shape_t shape,
                                                                      const gantry_tensor_t *minval,
                                                                      const gantry_tensor_t *maxval,
                                                                      int64_t seed0, int64_t seed1);
/** Draws floats uniformly from [minval, maxval), as tf.random.stateless_uniform does: u (maxval -
 * minval) + minval, each step rounded to the type, where u is what gantry_stateless_random_uniform
 * draws. minval and maxval are floats of one type, which is the result's, and their shapes
 * broadcast to `shape`; otherwise InvalidArgument. A tape follows both. Where maxval - minval
 * rounds up, a value may round to maxval, as in TensorFlow. */
GANTRY_API const gantry_tensor_t *gantry_stateless_random_uniform_range(
    gantry_scope_t *scope, gantry_shape_t shape, const gantry_tensor_t *minval,
    const gantry_tensor_t *maxval, int64_t seed0, int64_t seed1);
/** Draws integers from the whole range of int32, int64, uint32 or uint64. */
GANTRY_API const gantry_tensor_t *gantry_stateless_random_uniform_full_int(gantry_scope_t *scope,
                                                                           gantry_shape_t shape,
                                                                           gantry_dtype_t dtype,
                                                                           int64_t seed0,
                                                                           int64_t seed1);
/** Draws num_samples classes, int32 or int64, for each row of logits [rows, classes]: [rows,
 * num_samples]. The weight of a class is exp(logit). */
GANTRY_API const gantry_tensor_t *gantry_stateless_multinomial(gantry_scope_t *scope,
                                                               const gantry_tensor_t *logits,
                                                               int32_t num_samples,
                                                               gantry_dtype_t dtype, int64_t seed0,
                                                               int64_t seed1);
/** value with the slices of its first dimension in another order. */
GANTRY_API const gantry_tensor_t *gantry_stateless_shuffle(gantry_scope_t *scope,
                                                           const gantry_tensor_t *value,
                                                           int64_t seed0, int64_t seed1);
/** The key (uint64[1]) and counter (uint64[2]) that the ops above make from a seed, for the ops
 * that take them, such as StatelessRandomUniformV2. Either result may be NULL. */
GANTRY_API gantry_status_t gantry_stateless_random_get_key_counter(
    gantry_scope_t *scope, int64_t seed0, int64_t seed1, const gantry_tensor_t **out_key,
    const gantry_tensor_t **out_counter);

/* ---- with a state ----
 * seed is the op's own seed; NULL: none. After gantry_set_seed a program draws the same numbers in
 * every run: TensorFlow's after tf.random.set_seed. An op without a seed then gets the next one of
 * a sequence; an op with a seed continues its own sequence. Without both, the operating system
 * seeds the draw. */

/** Draws floats uniformly from [0, 1). */
GANTRY_API const gantry_tensor_t *gantry_random_uniform(gantry_scope_t *scope, gantry_shape_t shape,
                                                        gantry_dtype_t dtype, const int64_t *seed);
/** Draws floats from the standard normal distribution. */
GANTRY_API const gantry_tensor_t *gantry_random_standard_normal(gantry_scope_t *scope,
                                                                gantry_shape_t shape,
                                                                gantry_dtype_t dtype,
                                                                const int64_t *seed);
/** Draws floats from the standard normal distribution, without values 2 or more away from 0. */
GANTRY_API const gantry_tensor_t *gantry_truncated_normal(gantry_scope_t *scope,
                                                          gantry_shape_t shape,
                                                          gantry_dtype_t dtype,
                                                          const int64_t *seed);
/** Draws floats uniformly from [minval, maxval), as gantry_stateless_random_uniform_range, from
 * what gantry_random_uniform would draw: both continue one sequence. */
GANTRY_API const gantry_tensor_t *gantry_random_uniform_range(gantry_scope_t *scope,
                                                              gantry_shape_t shape,
                                                              const gantry_tensor_t *minval,
                                                              const gantry_tensor_t *maxval,
                                                              const int64_t *seed);
/** Draws integers from [minval, maxval), as gantry_stateless_random_uniform_int. */
GANTRY_API const gantry_tensor_t *gantry_random_uniform_int(gantry_scope_t *scope,
                                                            gantry_shape_t shape,
                                                            const gantry_tensor_t *minval,
                                                            const gantry_tensor_t *maxval,
                                                            const int64_t *seed);
/** Draws num_samples classes for each row of logits, as gantry_stateless_multinomial. */
GANTRY_API const gantry_tensor_t *gantry_multinomial(gantry_scope_t *scope,
                                                     const gantry_tensor_t *logits,
                                                     int32_t num_samples, gantry_dtype_t dtype,
                                                     const int64_t *seed);
/** value with the slices of its first dimension in another order. */
GANTRY_API const gantry_tensor_t *gantry_random_shuffle(gantry_scope_t *scope,
                                                        const gantry_tensor_t *value,
                                                        const int64_t *seed);

#ifdef __cplusplus
}
#endif
#endif
