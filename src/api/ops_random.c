/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops_random.h, and the global seed. */
#include <gantry/ops_random.h>
#include <gantry/random.h>

#include "api/api.h"
#include "op/op_infer.h"
#include "run/call_op.h"
#include "run/random_inputs.h"

typedef const gantry_tensor_t tensor;

/* ---- from [0, 1) to [minval, maxval) ---- */

static gantry_status_t check_bound(const char *what, const char *name, const gantry_shape_t *shape,
                                   tensor *bound, gantry_dtype_t dtype) {
    gantry_shape_t both;
    if (!bound) return gantry__refuse("%s: %s is NULL; a tensor is accepted", what, name);
    if (!(GANTRY_DTYPE_BIT(bound->dtype) & GANTRY_DTYPES_FLOATING))
        return gantry__refuse(
            "%s: %s is %s; float16, bfloat16, float32 and float64 are accepted; integers are drawn by gantry_random_uniform_int",
            what, name, gantry_dtype_name(bound->dtype));
    if (bound->dtype != dtype)
        return gantry__refuse("%s: %s is %s and minval %s; one type is accepted", what, name,
                              gantry_dtype_name(bound->dtype), gantry_dtype_name(dtype));
    if (shape->rank < 0 || shape->rank > GANTRY_MAX_RANK)
        return GANTRY_OK; /* the draw refuses it */
    if (gantry__broadcast_shapes(shape, &bound->shape, &both) && gantry_shape_equal(&both, shape))
        return GANTRY_OK;
    return gantry__refuse("%s: %s has shape %s; one that broadcasts to %s is accepted", what, name,
                          gantry__shape_text(&bound->shape).text, gantry__shape_text(shape).text);
}

bool gantry__range_fits(gantry_scope_t *scope, const char *what, const gantry_shape_t *shape,
                        tensor *minval, tensor *maxval) {
    if (gantry__scope_check(scope) != GANTRY_OK) return false;
    const gantry_dtype_t dtype = minval ? minval->dtype : GANTRY_DTYPE_NONE;
    gantry_status_t status = check_bound(what, "minval", shape, minval, dtype);
    if (status == GANTRY_OK) status = check_bound(what, "maxval", shape, maxval, dtype);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return status == GANTRY_OK;
}

/* The draw and the product end with the ops that take them, which may reuse their memory. */
tensor *gantry__range_of(gantry_scope_t *scope, tensor *drawn, tensor *minval, tensor *maxval) {
    tensor *range = gantry_sub(scope, maxval, minval);
    tensor *parts = gantry_mul(scope, gantry_tensor_donate(scope, drawn), range);
    gantry_tensor_drop(scope, range);
    return gantry_add(scope, gantry_tensor_donate(scope, parts), minval);
}

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
    tensor *inputs[] = {gantry__add_given_shape(&extras, scope, id, shape), NULL};
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

tensor *gantry_stateless_random_uniform_range(gantry_scope_t *scope, gantry_shape_t shape,
                                              tensor *minval, tensor *maxval, int64_t seed0,
                                              int64_t seed1) {
    if (!gantry__range_fits(scope, "gantry_stateless_random_uniform_range", &shape, minval, maxval))
        return NULL;
    return gantry__range_of(
        scope, gantry_stateless_random_uniform(scope, shape, minval->dtype, seed0, seed1), minval,
        maxval);
}

tensor *gantry_stateless_random_uniform_int(gantry_scope_t *scope, gantry_shape_t shape,
                                            tensor *minval, tensor *maxval, int64_t seed0,
                                            int64_t seed1) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {
        gantry__add_given_shape(&extras, scope, GANTRY__OP_ID_StatelessRandomUniformInt, &shape),
        NULL, minval, maxval};
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
    tensor *input = gantry__add_given_shape(&extras, scope, id, shape);
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

tensor *gantry_random_uniform_range(gantry_scope_t *scope, gantry_shape_t shape, tensor *minval,
                                    tensor *maxval, const int64_t *seed) {
    if (!gantry__range_fits(scope, "gantry_random_uniform_range", &shape, minval, maxval))
        return NULL;
    return gantry__range_of(scope, gantry_random_uniform(scope, shape, minval->dtype, seed), minval,
                            maxval);
}

tensor *gantry_random_uniform_int(gantry_scope_t *scope, gantry_shape_t shape, tensor *minval,
                                  tensor *maxval, const int64_t *seed) {
    gantry__extras_t extras = {.count = 0};
    const attrs_t attrs = make_attrs(scope, NULL, GANTRY_DTYPE_NONE, seed);
    tensor *inputs[] = {
        gantry__add_given_shape(&extras, scope, GANTRY__OP_ID_RandomUniformInt, &shape), minval,
        maxval};
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
