/* TensorFlow mixes a stateless seed so that its weak bits do not matter: one Philox block, with a fixed key and the
 * seed as counter, gives two words of key and the upper half of the counter; the lower half starts at 0. */
#include "portable/random_seed.h"

#include <stdio.h>

#include "portable/kernels/dialect.cl"
#include "portable/kernels/math_float32.cl"
#include "portable/kernels/math_float64.cl"
#include "portable/kernels/philox.cl"

static void scramble(uint64_t seed0, uint64_t seed1, gantry_k_stream_t *out)
{
    const gantry_words_t mix = gantry_philox(seed0, seed1, 0, 0x3ec8f720u, 0x02461e29u);

    *out = (gantry_k_stream_t){.low = 0, .high = (uint64_t)mix.d << 32 | mix.c, .key0 = mix.a, .key1 = mix.b};
}

int32_t gantry__portable_random_stream(gantry_op_call_t *call, gantry_k_stream_t *out_stream)
{
    const gantry_arg_t *const *in = call->inputs;
    uint64_t key;
    int64_t algorithm;
    char text[128];

    if (call->input_count == 2) {
        scramble((uint64_t)gantry_k_host_int(in[1], 0), (uint64_t)gantry_k_host_int(in[1], 1), out_stream);
        return GANTRY_K_OK;
    }
    algorithm = gantry_k_host_int(in[3], 0);
    if (algorithm != GANTRY_K_PHILOX && algorithm != GANTRY_K_AUTO_SELECT) {
        snprintf(text, sizeof text, "%.40s: alg is %lld; accepted are 1 (Philox) and 3 (chosen by the device: Philox)",
                 call->op, (long long)algorithm);
        return call->services->fail(call, GANTRY_K_INVALID_ARGUMENT, text);
    }
    key = (uint64_t)gantry_k_host_int(in[1], 0);
    *out_stream = (gantry_k_stream_t){.low = (uint64_t)gantry_k_host_int(in[2], 0),
                                      .high = (uint64_t)gantry_k_host_int(in[2], 1),
                                      .key0 = (uint32_t)key,
                                      .key1 = (uint32_t)(key >> 32)};
    return GANTRY_K_OK;
}
