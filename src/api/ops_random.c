/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops_random.h, and the global seed. */
#include <gantry/ops_random.h>
#include <gantry/random.h>

#include "run/call_op.h"
#include "run/random_inputs.h"

typedef const gantry_tensor_t tensor;

/* ---- fixed by a seed ---- */

static tensor *add_seed(gantry__extras_t *extras, gantry_scope_t *scope, int64_t seed0,
                        int64_t seed1) {
    const int64_t seed[] = {seed0, seed1};
    return gantry__add_host(extras, scope, GANTRY_INT64, GANTRY_SHAPE(2), seed);
}

static tensor *by_seed(gantry_scope_t *scope, gantry__op_id_t id, const gantry_shape_t *shape,
                       gantry_dtype_t dtype, int64_t seed0, int64_t seed1) {
    gantry__extras_t extras = {.count = 0};
    const gantry_attr_value_t attr = gantry__attr_type("dtype", dtype);
    tensor *inputs[] = {gantry__add_host_shape(&extras, scope, shape), NULL};
    if (inputs[0]) inputs[1] = add_seed(&extras, scope, seed0, seed1);
    return gantry__call_op(scope, id, inputs, 2, &attr, 1, &extras);
}

#define DEFINE_BY_SEED(name, op)                                                             \
    tensor *gantry_##name(gantry_scope_t *scope, gantry_shape_t shape, gantry_dtype_t dtype, \
                          int64_t seed0, int64_t seed1) {                                    \
        return by_seed(scope, GANTRY__OP_ID_##op, &shape, dtype, seed0, seed1);              \
    }
DEFINE_BY_SEED(stateless_random_uniform, StatelessRandomUniform)
DEFINE_BY_SEED(stateless_random_normal, StatelessRandomNormal)
DEFINE_BY_SEED(stateless_truncated_normal, StatelessTruncatedNormal)
DEFINE_BY_SEED(stateless_random_uniform_full_int, StatelessRandomUniformFullInt)

tensor *gantry_stateless_random_uniform_int(gantry_scope_t *scope, gantry_shape_t shape,
                                            tensor *minval, tensor *maxval, int64_t seed0,
                                            int64_t seed1) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {gantry__add_host_shape(&extras, scope, &shape), NULL, minval, maxval};
    if (inputs[0]) inputs[1] = add_seed(&extras, scope, seed0, seed1);
    return gantry__call_op(scope, GANTRY__OP_ID_StatelessRandomUniformInt, inputs, 4, NULL, 0,
                           &extras);
}

tensor *gantry_stateless_multinomial(gantry_scope_t *scope, tensor *logits, int32_t num_samples,
                                     gantry_dtype_t dtype, int64_t seed0, int64_t seed1) {
    gantry__extras_t extras = {.count = 0};
    const gantry_attr_value_t attr = gantry__attr_type("output_dtype", dtype);
    tensor *inputs[] = {logits, gantry__add_host_i32(&extras, scope, num_samples), NULL};
    if (inputs[1]) inputs[2] = add_seed(&extras, scope, seed0, seed1);
    return gantry__call_op(scope, GANTRY__OP_ID_StatelessMultinomial, inputs, 3, &attr, 1, &extras);
}

gantry_status_t gantry_stateless_random_get_key_counter(gantry_scope_t *scope, int64_t seed0,
                                                        int64_t seed1, tensor **out_key,
                                                        tensor **out_counter) {
    gantry__extras_t extras = {.count = 0};
    tensor *outputs[2] = {NULL, NULL};
    size_t count = 2;
    tensor *seed = add_seed(&extras, scope, seed0, seed1);
    gantry_status_t status = gantry__call_op_into(scope, GANTRY__OP_ID_StatelessRandomGetKeyCounter,
                                                  &seed, 1, NULL, 0, &extras, outputs, &count);
    if (out_key) *out_key = outputs[0];
    if (out_counter) *out_counter = outputs[1];
    return status;
}

tensor *gantry_stateless_shuffle(gantry_scope_t *scope, tensor *value, int64_t seed0,
                                 int64_t seed1) {
    const gantry__draw_t draw = {.place = gantry__philox_of_seed(seed0, seed1)};
    return gantry__draw_from(scope, GANTRY__OP_ID_StatelessShuffle, &draw, &value, 1, 1, NULL);
}

/* ---- with a state ---- */

gantry_status_t gantry_set_seed(gantry_runtime_t *runtime, int64_t seed) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    gantry__random_set_seed(&runtime->random, seed);
    return GANTRY_OK;
}

/* The attributes of a call: a type, if the op has one, and the seeds. */
typedef struct attrs_t {
    gantry_attr_value_t list[3];
    size_t count;
} attrs_t;

static attrs_t make_attrs(const gantry_scope_t *scope, const char *type, gantry_dtype_t dtype,
                          const int64_t *seed) {
    attrs_t attrs = {.count = 0};
    int64_t seeds[2];
    if (type) attrs.list[attrs.count++] = gantry__attr_type(type, dtype);
    if (!seed || !scope) return attrs;
    gantry__random_op_seeds(&scope->runtime->random, *seed, seeds);
    attrs.list[attrs.count++] = gantry__attr_int("seed", seeds[0]);
    attrs.list[attrs.count++] = gantry__attr_int("seed2", seeds[1]);
    return attrs;
}

static tensor *with_state(gantry_scope_t *scope, gantry__op_id_t id, const gantry_shape_t *shape,
                          gantry_dtype_t dtype, const int64_t *seed) {
    gantry__extras_t extras = {.count = 0};
    const attrs_t attrs = make_attrs(scope, "dtype", dtype, seed);
    tensor *input = gantry__add_host_shape(&extras, scope, shape);
    return gantry__call_op(scope, id, &input, 1, attrs.list, attrs.count, &extras);
}

#define DEFINE_WITH_STATE(name, op)                                                          \
    tensor *gantry_##name(gantry_scope_t *scope, gantry_shape_t shape, gantry_dtype_t dtype, \
                          const int64_t *seed) {                                             \
        return with_state(scope, GANTRY__OP_ID_##op, &shape, dtype, seed);                   \
    }
DEFINE_WITH_STATE(random_uniform, RandomUniform)
DEFINE_WITH_STATE(random_standard_normal, RandomStandardNormal)
DEFINE_WITH_STATE(truncated_normal, TruncatedNormal)

tensor *gantry_random_uniform_int(gantry_scope_t *scope, gantry_shape_t shape, tensor *minval,
                                  tensor *maxval, const int64_t *seed) {
    gantry__extras_t extras = {.count = 0};
    const attrs_t attrs = make_attrs(scope, NULL, GANTRY_DTYPE_NONE, seed);
    tensor *inputs[] = {gantry__add_host_shape(&extras, scope, &shape), minval, maxval};
    return gantry__call_op(scope, GANTRY__OP_ID_RandomUniformInt, inputs, 3, attrs.list,
                           attrs.count, &extras);
}

tensor *gantry_multinomial(gantry_scope_t *scope, tensor *logits, int32_t num_samples,
                           gantry_dtype_t dtype, const int64_t *seed) {
    gantry__extras_t extras = {.count = 0};
    const attrs_t attrs = make_attrs(scope, "output_dtype", dtype, seed);
    tensor *inputs[] = {logits, gantry__add_host_i32(&extras, scope, num_samples)};
    return gantry__call_op(scope, GANTRY__OP_ID_Multinomial, inputs, 2, attrs.list, attrs.count,
                           &extras);
}

tensor *gantry_random_shuffle(gantry_scope_t *scope, tensor *value, const int64_t *seed) {
    const attrs_t attrs = make_attrs(scope, NULL, GANTRY_DTYPE_NONE, seed);
    return gantry__call_op(scope, GANTRY__OP_ID_RandomShuffle, &value, 1, attrs.list, attrs.count,
                           NULL);
}
