/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of random ops. */
#include "op/op_infer.h"

#include "host/bits.h"

#include <inttypes.h>

static gantry_status_t check_seed(const gantry__infer_t *call, uint32_t input) {
    const gantry_shape_t *seed = call->shapes[input];
    if (seed->rank == 1 && gantry__sizes_fit(seed->dims[0], 2)) return GANTRY_OK;
    return gantry__refuse("seed must have shape [2], not %s", gantry__shape_text(seed).text);
}

gantry_status_t gantry__infer_random(gantry__infer_t *call) {
    GANTRY__TRY(check_seed(call, 1));
    return gantry__infer_dims(call, 0, false, &call->out_shapes[0]);
}

/* ---- by key and counter ---- */

/* TensorFlow's numbers of generators. */
enum { ALGORITHM_PHILOX = 1, ALGORITHM_THREEFRY = 2, ALGORITHM_AUTO = 3 };

static gantry_status_t check_algorithm(gantry__infer_t *call, uint32_t input) {
    int64_t algorithm = 0;
    bool is_open;
    if (call->shapes[input]->rank != 0) {
        return gantry__refuse("alg must have shape [], not %s",
                              gantry__shape_text(call->shapes[input]).text);
    }
    GANTRY__TRY(gantry__infer_int_or_open(call, input, &algorithm, &is_open));
    if (is_open || algorithm == ALGORITHM_PHILOX || algorithm == ALGORITHM_AUTO) return GANTRY_OK;
    if (algorithm == ALGORITHM_THREEFRY) {
        return gantry__fail(
            GANTRY_UNIMPLEMENTED,
            "algorithm 2 (ThreeFry) is not available; use 1 (Philox) or 3 (automatic)");
    }
    return gantry__refuse("Unsupported algorithm id: %" PRId64
                          "; accepted are 1 (Philox) and 3 (automatic)",
                          algorithm);
}

/* Inputs key, counter and alg. Philox 4x32 has a key of one 64-bit number and a counter of two. */
static gantry_status_t check_key(gantry__infer_t *call, uint32_t input) {
    const gantry_shape_t *key = call->shapes[input], *counter = call->shapes[input + 1];
    GANTRY__TRY(check_algorithm(call, input + 2));
    if (key->rank != 1 || !gantry__sizes_fit(key->dims[0], 1)) {
        return gantry__refuse("key must have shape [1], not %s", gantry__shape_text(key).text);
    }
    if (counter->rank == 1 && (counter->dims[0] < 0 || counter->dims[0] >= 2)) return GANTRY_OK;
    return gantry__refuse("counter must be a vector with length at least 2; got shape: %s",
                          gantry__shape_text(counter).text);
}

gantry_status_t gantry__infer_random_v2(gantry__infer_t *call) {
    GANTRY__TRY(check_key(call, 1));
    return gantry__infer_dims(call, 0, false, &call->out_shapes[0]);
}

/* ---- integers between bounds ---- */

static gantry_status_t check_bounds_unsigned(const void *const data[2], size_t size) {
    uint64_t bounds[2];
    for (int i = 0; i < 2; ++i) bounds[i] = gantry__bits_read(data[i], size);
    if (bounds[0] < bounds[1]) return GANTRY_OK;
    return gantry__refuse("Need minval < maxval, got %" PRIu64 " >= %" PRIu64, bounds[0],
                          bounds[1]);
}

/* Checks inputs minval and maxval; if no number is drawn, any value is accepted. */
static gantry_status_t check_bounds(gantry__infer_t *call, uint32_t input) {
    const void *data[2];
    int64_t low, high;
    for (uint32_t i = 0; i < 2; ++i) {
        if (call->shapes[input + i]->rank == 0) continue;
        return gantry__refuse("%s must be 0-D, got shape %s", call->op->inputs[input + i].name,
                              gantry__shape_text(call->shapes[input + i]).text);
    }
    if (gantry_shape_elements(&call->out_shapes[0]) <= 0) return GANTRY_OK; /* or not known */
    if (gantry__infer_is_open(call, input) || gantry__infer_is_open(call, input + 1))
        return GANTRY_OK;
    if (call->dtypes[input] == GANTRY_UINT32 || call->dtypes[input] == GANTRY_UINT64) {
        for (uint32_t i = 0; i < 2; ++i)
            GANTRY__TRY(gantry__infer_host_data(call, input + i, &data[i]));
        return check_bounds_unsigned(data, gantry_dtype_size(call->dtypes[input]));
    }
    GANTRY__TRY(gantry__infer_int(call, input, &low));
    GANTRY__TRY(gantry__infer_int(call, input + 1, &high));
    if (low < high) return GANTRY_OK;
    return gantry__refuse("Need minval < maxval, got %" PRId64 " >= %" PRId64, low, high);
}

gantry_status_t gantry__infer_random_int(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_random(call));
    return check_bounds(call, 2);
}

gantry_status_t gantry__infer_random_int_v2(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_random_v2(call));
    return check_bounds(call, 4);
}

/* ---- with a state ---- */

gantry_status_t gantry__infer_random_shape(gantry__infer_t *call) {
    return gantry__infer_dims(call, 0, false, &call->out_shapes[0]);
}

gantry_status_t gantry__infer_random_shape_int(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_random_shape(call));
    return check_bounds(call, 1);
}

/* ---- permutations and classes ---- */

gantry_status_t gantry__infer_stateless_shuffle(gantry__infer_t *call) {
    GANTRY__TRY(check_key(call, 1));
    return gantry__infer_same(call);
}

gantry_status_t gantry__infer_multinomial(gantry__infer_t *call) {
    const gantry_shape_t *logits = call->shapes[0];
    int64_t samples;
    bool is_open;
    if (logits->rank != 2) {
        return gantry__refuse("logits should be a matrix, got shape %s",
                              gantry__shape_text(logits).text);
    }
    if (call->shapes[1]->rank != 0) {
        return gantry__refuse("num_samples should be a scalar, got shape %s",
                              gantry__shape_text(call->shapes[1]).text);
    }
    if (call->input_count == 3) GANTRY__TRY(check_seed(call, 2));
    if (call->input_count == 5) GANTRY__TRY(check_key(call, 2));
    GANTRY__TRY(gantry__infer_int_or_open(call, 1, &samples, &is_open));
    if (samples < 0) {
        return gantry__refuse("num_samples should be non-negative, got %" PRId64, samples);
    }
    if (logits->dims[1] == 0) {
        return gantry__refuse("num_classes should be positive, got %" PRId64, logits->dims[1]);
    }
    GANTRY__TRY(gantry__infer_reach(call, "output_dtype", logits->dims[1] - 1));
    call->out_shapes[0] = GANTRY_SHAPE(logits->dims[0], is_open ? -1 : samples);
    return GANTRY_OK;
}

/* ---- keys ---- */

gantry_status_t gantry__infer_key_counter(gantry__infer_t *call) {
    call->out_shapes[call->op->output_count - 1] = GANTRY_SCALAR; /* alg, if the op returns it */
    if (call->input_count == 0) return GANTRY_OK;
    GANTRY__TRY(check_seed(call, 0));
    call->out_shapes[0] = GANTRY_SHAPE(1);
    call->out_shapes[1] = GANTRY_SHAPE(2);
    return GANTRY_OK;
}
