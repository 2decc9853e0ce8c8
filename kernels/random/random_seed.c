/* SPDX-License-Identifier: Apache-2.0 */
/* TensorFlow mixes a stateless seed, so that seeds with few random bits are good enough. One Philox
 * block, with a fixed key and the seed as counter, gives the two words of the key and the upper
 * half of the counter. The lower half starts at 0. */
#include "kernels/random/random_seed.h"

#include <stdio.h>

#include "kernels/common/dialect.cl"
#include "kernels/common/half.cl"
#include "kernels/math/math_float32.cl"
#include "kernels/math/math_float64.cl"
#include "kernels/random/philox.cl"

/* Element `index` of a host tensor of 32- or 64-bit integers, converted to uint64. */
static uint64_t integer_of(const gantry_arg_t *arg, int64_t index) {
    return arg->dtype == GANTRY_UINT32 ? ((const uint32_t *)arg->data)[index]
                                       : (uint64_t)gantry__k_host_int(arg, index);
}

gantry__k_stream_t gantry__portable_stream_of_seed(const gantry_arg_t *seed) {
    const gantry__words_t mix =
        gantry__philox(integer_of(seed, 0), integer_of(seed, 1), 0, 0x3ec8f720u, 0x02461e29u);
    return (gantry__k_stream_t){
        .low = 0, .high = (uint64_t)mix.d << 32 | mix.c, .key0 = mix.a, .key1 = mix.b};
}

int32_t gantry__portable_stream_of_key(gantry_op_call_t *call, uint32_t first,
                                       gantry__k_stream_t *out_stream) {
    const gantry_arg_t *const *in = call->inputs + first;
    const int64_t algorithm = gantry__k_host_int(in[2], 0);
    if (algorithm != GANTRY_K_PHILOX && algorithm != GANTRY_K_AUTO_SELECT) {
        char text[128];
        snprintf(text, sizeof text,
                 "%.40s: alg is %lld; accepted are 1 (Philox) and 3 (chosen by the device: Philox)",
                 call->op, (long long)algorithm);
        return call->services->fail(call, GANTRY_INVALID_ARGUMENT, text);
    }
    const uint64_t key = integer_of(in[0], 0);
    *out_stream = (gantry__k_stream_t){.low = integer_of(in[1], 0),
                                       .high = integer_of(in[1], 1),
                                       .key0 = (uint32_t)key,
                                       .key1 = (uint32_t)(key >> 32)};
    return GANTRY_OK;
}

int32_t gantry__portable_random_draw(gantry_op_call_t *call, gantry__k_draw_t *out_draw) {
    const gantry__k_random_op_t *op = call->kernel->data;
    *out_draw = (gantry__k_draw_t){.range = 0};
    if (op->bounds != 0) {
        out_draw->lowest = integer_of(call->inputs[op->bounds], 0);
        out_draw->range = integer_of(call->inputs[op->bounds + 1], 0) - out_draw->lowest;
    }
    if (op->is_by_key) return gantry__portable_stream_of_key(call, 1, &out_draw->stream);
    out_draw->stream = gantry__portable_stream_of_seed(call->inputs[1]);
    return GANTRY_OK;
}
