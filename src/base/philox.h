/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 on the host, for the few numbers that the core itself draws: orders of rows, keys
 * of generators. What ops draw comes from the kernels' own (kernels/random/philox.cl); a
 * test holds both to its authors' known answers. Thread-safe. */
#ifndef GANTRY_BASE_PHILOX_H
#define GANTRY_BASE_PHILOX_H

#include <stdint.h>

/* A key and a 128-bit counter, low half first: a place in a stream. TensorFlow's generators have a
 * state of this layout. */
typedef struct gantry__philox_t {
    uint64_t counter[2];
    uint64_t key;
} gantry__philox_t;

/* The place `blocks` counter steps on; the counter wraps. */
gantry__philox_t gantry__philox_skip(gantry__philox_t place, uint64_t blocks);

/* The four words at the place. */
void gantry__philox_words(gantry__philox_t place, uint32_t out_words[4]);

/* The place that TensorFlow's stateless ops make of a seed. */
gantry__philox_t gantry__philox_of_seed(int64_t seed0, int64_t seed1);

#endif
