/* SPDX-License-Identifier: Apache-2.0 */
/* RngReadAndSkip: the state of a tf.random.Generator, which then moves on. The state is an int64
 * variable: 128 bits of a counter, the low half first, and the key of Philox.
 *
 * The addition is TensorFlow's, in words of 32 bits. It loses a carry where the second word of the
 * increment overflows, so it is done word by word here as well. */
#include <string.h>

#include "variable_access.h"

/* TensorFlow reserves so many numbers for each one that a program asks for. */
#define NUMBERS_EACH 256
/* The words of the state that an algorithm uses. */
#define PHILOX 1
#define THREEFRY 2
#define PHILOX_WORDS 3

static void skip(int64_t state[2], uint64_t count) {
    uint32_t words[4];
    memcpy(words, state, sizeof words);
    const uint32_t low = (uint32_t)count;
    uint32_t high = (uint32_t)(count >> 32);
    words[0] += low;
    if (words[0] < low) ++high;
    words[1] += high;
    if (words[1] < high && ++words[2] == 0) ++words[3];
    memcpy(state, words, sizeof words);
}

/* Whether the state has a shape that TensorFlow accepts, and fits into an array of this size. */
static bool variable_rng_check_shape(bridge_call_t *call, const gantry_shape_t *shape,
                                     int64_t most) {
    if (shape->rank != 1) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "RNG state must have one and only one dimension, not %d", (int)shape->rank);
    } else if (shape->dims[0] < PHILOX_WORDS || shape->dims[0] > most) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "For the Philox algorithm, the size of state must be at least %d; got %lld",
                    PHILOX_WORDS, (long long)shape->dims[0]);
    }
    return !bridge_has_failed(call);
}

/* Moves the state on by so many numbers. Returns its former words, on the call's device. */
static const gantry_tensor_t *move_on(bridge_call_t *call, gantry_tensor_t **value,
                                      uint64_t delta) {
    int64_t state[16];
    const gantry_shape_t shape = *gantry_tensor_shape(*value);
    const size_t bytes = gantry_tensor_bytes(*value);
    if (!variable_rng_check_shape(call, &shape, sizeof state / sizeof *state)) return NULL;
    const gantry_status_t status = gantry_tensor_read(*value, state, bytes);
    if (status) {
        bridge_fail(call, status, "%s", gantry_last_message());
        return NULL;
    }
    const gantry_tensor_t *former = gantry_constant(
        call->scope, GANTRY_INT64, GANTRY_SHAPE(PHILOX_WORDS), state, PHILOX_WORDS * sizeof *state);
    skip(state, delta * NUMBERS_EACH);
    const gantry_tensor_t *next = gantry_constant(call->scope, GANTRY_INT64, shape, state, bytes);
    if (!next) return NULL;
    gantry_tensor_release(*value);
    *value = gantry_tensor_retain(next);
    return former;
}

static void rng_compute(void *kernel, TF_OpKernelContext *context) {
    (void)kernel;
    bridge_call_t call;
    variables_t variables;
    const gantry_tensor_t *former = NULL;
    if (!bridge_begin(&call, context)) return;
    const int32_t *algorithm = bridge_host_input(&call, 1, NULL);
    const uint64_t *delta = bridge_host_input(&call, 2, NULL);
    if (algorithm && *algorithm == THREEFRY)
        bridge_fail(&call, GANTRY_UNIMPLEMENTED,
                    "Non-XLA devices don't support the ThreeFry algorithm.");
    else if (algorithm && *algorithm != PHILOX)
        bridge_fail(&call, GANTRY_INVALID_ARGUMENT, "Unsupported algorithm id: %d; accepted is %d",
                    (int)*algorithm, PHILOX);
    variables_begin(&variables, &call, 1, true);
    if (!bridge_has_failed(&call)) former = move_on(&call, &variables.values[0], *delta);
    variables_end(&variables);
    bridge_output(&call, 0, former);
    bridge_end(&call);
}

void variable_rng_register(void) {
    register_kernel(&(register_kernel_t){.op = "RngReadAndSkip",
                                         .host_args = {"resource", "alg", "delta"},
                                         .create = bridge_create_nothing,
                                         .compute = rng_compute,
                                         .destroy = bridge_destroy_nothing});
}
