/* SPDX-License-Identifier: Apache-2.0 */
/* Random ops, one C function each; included by ops.h, whose words on results and errors hold.
 * Generators: random.h.
 *
 * Numbers are TensorFlow's, from Philox 4x32-10, the same on every device: uniform values and
 * integers to the last bit, normal values within 4 units in the last place. Floats here are
 * float16, bfloat16, float32 and float64. */
#ifndef GANTRY_OPS_RANDOM_H
#define GANTRY_OPS_RANDOM_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- fixed by a seed of two numbers ---- */

/* Uniform in [0, 1); standard normal; standard normal without what is 2 or more away from 0. */
GANTRY_API const gantry_tensor_t *gantry_stateless_random_uniform(gantry_scope_t *scope,
                                                                  gantry_shape_t shape,
                                                                  gantry_dtype_t dtype,
                                                                  int64_t seed0, int64_t seed1);
GANTRY_API const gantry_tensor_t *gantry_stateless_random_normal(gantry_scope_t *scope,
                                                                 gantry_shape_t shape,
                                                                 gantry_dtype_t dtype,
                                                                 int64_t seed0, int64_t seed1);
GANTRY_API const gantry_tensor_t *gantry_stateless_truncated_normal(gantry_scope_t *scope,
                                                                    gantry_shape_t shape,
                                                                    gantry_dtype_t dtype,
                                                                    int64_t seed0, int64_t seed1);
/* Integers from minval up to but not maxval, scalars of int32 or int64, the result's type. Where
 * their distance is no power of two, small ones are likelier by the smallest part. */
GANTRY_API const gantry_tensor_t *gantry_stateless_random_uniform_int(gantry_scope_t *scope,
                                                                      gantry_shape_t shape,
                                                                      const gantry_tensor_t *minval,
                                                                      const gantry_tensor_t *maxval,
                                                                      int64_t seed0, int64_t seed1);
/* Any integers of int32, int64, uint32 or uint64. */
GANTRY_API const gantry_tensor_t *gantry_stateless_random_uniform_full_int(gantry_scope_t *scope,
                                                                           gantry_shape_t shape,
                                                                           gantry_dtype_t dtype,
                                                                           int64_t seed0,
                                                                           int64_t seed1);
/* [rows, num_samples] classes of int32 or int64, each drawn by its row of logits [rows,
 * classes]: exp(logit) is a class's weight. */
GANTRY_API const gantry_tensor_t *gantry_stateless_multinomial(gantry_scope_t *scope,
                                                               const gantry_tensor_t *logits,
                                                               int32_t num_samples,
                                                               gantry_dtype_t dtype, int64_t seed0,
                                                               int64_t seed1);
/* The first dimension in another order. */
GANTRY_API const gantry_tensor_t *gantry_stateless_shuffle(gantry_scope_t *scope,
                                                           const gantry_tensor_t *value,
                                                           int64_t seed0, int64_t seed1);
/* What the ops above make of a seed, for the ops by key and counter (StatelessRandomUniformV2):
 * uint64[1] and uint64[2]. Either result may be NULL. */
GANTRY_API gantry_status_t gantry_stateless_random_get_key_counter(
    gantry_scope_t *scope, int64_t seed0, int64_t seed1, const gantry_tensor_t **out_key,
    const gantry_tensor_t **out_counter);

/* ---- with a state ----
 * seed is the op's own, NULL for none. With gantry_set_seed a program's draws are the same in every
 * run, and TensorFlow's after tf.random.set_seed: an op without a seed gets the next one of a
 * sequence, an op with a seed goes on where its last draw ended. Without both, numbers are the
 * operating system's. */

GANTRY_API const gantry_tensor_t *gantry_random_uniform(gantry_scope_t *scope, gantry_shape_t shape,
                                                        gantry_dtype_t dtype, const int64_t *seed);
GANTRY_API const gantry_tensor_t *gantry_random_standard_normal(gantry_scope_t *scope,
                                                                gantry_shape_t shape,
                                                                gantry_dtype_t dtype,
                                                                const int64_t *seed);
GANTRY_API const gantry_tensor_t *gantry_truncated_normal(gantry_scope_t *scope,
                                                          gantry_shape_t shape,
                                                          gantry_dtype_t dtype,
                                                          const int64_t *seed);
GANTRY_API const gantry_tensor_t *gantry_random_uniform_int(gantry_scope_t *scope,
                                                            gantry_shape_t shape,
                                                            const gantry_tensor_t *minval,
                                                            const gantry_tensor_t *maxval,
                                                            const int64_t *seed);
GANTRY_API const gantry_tensor_t *gantry_multinomial(gantry_scope_t *scope,
                                                     const gantry_tensor_t *logits,
                                                     int32_t num_samples, gantry_dtype_t dtype,
                                                     const int64_t *seed);
GANTRY_API const gantry_tensor_t *gantry_random_shuffle(gantry_scope_t *scope,
                                                        const gantry_tensor_t *value,
                                                        const int64_t *seed);

#ifdef __cplusplus
}
#endif
#endif
