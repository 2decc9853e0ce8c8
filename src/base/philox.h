/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 on the host, for the few numbers that the core itself draws: orders of rows, keys
 * of generators. Ops draw by the kernels' own implementation (kernels/random/philox.cl). A test
 * compares both with the authors' known answers. Thread-safe. */
#ifndef GANTRY_BASE_PHILOX_H
#define GANTRY_BASE_PHILOX_H

#include <stdint.h>

/* A key and a 128-bit counter, low half first: a place in a stream. TensorFlow's generators have a
 * state of this layout. */
typedef struct gantry__philox_t {
    uint64_t counter[2];
    uint64_t key;
} gantry__philox_t;

/* The position `blocks` counter steps further; the counter wraps. */
gantry__philox_t gantry__philox_skip(gantry__philox_t place, uint64_t blocks);

/* The four words at the position. */
void gantry__philox_words(gantry__philox_t place, uint32_t out_words[4]);

/* The position that TensorFlow's stateless ops make from a seed. */
gantry__philox_t gantry__philox_of_seed(int64_t seed0, int64_t seed1);

#endif
