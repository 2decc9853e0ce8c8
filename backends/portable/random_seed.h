/* The key and counter of TensorFlow's stateless random ops, made on the host from a call's inputs.
 *
 * Not here: the generator on devices (kernels/philox.cl). Owner: plain values. Threads: thread-safe. */
#ifndef GANTRY_RANDOM_SEED_H
#define GANTRY_RANDOM_SEED_H

#include "portable/kernel_types.h"

typedef struct gantry_k_stream_t {
    uint64_t low; /* of the 128-bit counter */
    uint64_t high;
    uint32_t key0; /* low half of the key */
    uint32_t key1;
} gantry_k_stream_t;

enum { GANTRY_K_PHILOX = 1, GANTRY_K_AUTO_SELECT = 3 };

/* Of seed[2] (one Philox block turns it into key and counter) or of key, counter and alg, by the call's number of
 * inputs. InvalidArgument for an algorithm that is not Philox. */
int32_t gantry__portable_random_stream(gantry_op_call_t *call, gantry_k_stream_t *out_stream);

#endif
