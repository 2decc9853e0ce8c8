/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisers by kind. Keras on TensorFlow draws by stateless ops whose seed is [seed, draw], each
 * modulo 2^31 - 2 (tf.int32.max - 1), and then scales and shifts the numbers: two roundings. */
#include <gantry_train/initializer.h>

#include <float.h>
#include <math.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/initializer/orthogonal.h"

typedef const gantry_tensor_t tensor;

/* The standard deviation of a standard normal distribution cut at 2: what is left of it. */
#define TRUNCATED_STDDEV 0.87962566103423978

typedef tensor *(*init_fn)(gantry_scope_t *scope, const gantry_initializer_t *initializer,
                           gantry_dtype_t dtype, gantry_shape_t shape);

/* ---- draws ---- */

static int64_t init_seed_word(int64_t seed) {
    const int64_t modulus = INT32_MAX - 1, rest = seed % modulus;
    return rest < 0 ? rest + modulus : rest;
}

static tensor *init_shift(gantry_scope_t *scope, tensor *x, tensor *factor, tensor *to) {
    return gantry_add(scope, gantry_mul(scope, x, factor), to);
}

/* Keras rounds bounds, and the value of CONSTANT, to float32 whatever the type is, because tf.cast
 * makes a float32 tensor first. */
static tensor *init_uniform(gantry_scope_t *scope, const gantry_initializer_t *from,
                            gantry_dtype_t dtype, gantry_shape_t shape, double minval,
                            double maxval) {
    tensor *low = gantry__train_constant(scope, dtype, (double)(float)minval);
    tensor *high = gantry__train_constant(scope, dtype, (double)(float)maxval);
    tensor *drawn = gantry_stateless_random_uniform(scope, shape, dtype, init_seed_word(from->seed),
                                                    init_seed_word(from->draw));
    return init_shift(scope, drawn, gantry_sub(scope, high, low), low);
}

static tensor *init_normal(gantry_scope_t *scope, const gantry_initializer_t *from,
                           gantry_dtype_t dtype, gantry_shape_t shape, double mean, double stddev,
                           bool is_truncated) {
    const int64_t seed0 = init_seed_word(from->seed), seed1 = init_seed_word(from->draw);
    tensor *drawn = is_truncated
                        ? gantry_stateless_truncated_normal(scope, shape, dtype, seed0, seed1)
                        : gantry_stateless_random_normal(scope, shape, dtype, seed0, seed1);
    return init_shift(scope, drawn, gantry__train_constant(scope, dtype, stddev),
                      gantry__train_constant(scope, dtype, mean));
}

/* ---- variance scaling ---- */

typedef struct init_fans_t {
    double in, out;
} init_fans_t;

static init_fans_t init_fans_of(const gantry_shape_t *shape) {
    const int32_t rank = shape->rank;
    double field = 1;
    if (rank == 0) return (init_fans_t){1, 1};
    if (rank == 1) return (init_fans_t){(double)shape->dims[0], (double)shape->dims[0]};
    for (int32_t d = 0; d < rank - 2; ++d) field *= (double)shape->dims[d];
    return (init_fans_t){(double)shape->dims[rank - 2] * field,
                         (double)shape->dims[rank - 1] * field};
}

static tensor *init_scaled(gantry_scope_t *scope, const gantry_initializer_t *from,
                           gantry_dtype_t dtype, gantry_shape_t shape, double scale,
                           gantry_fan_t mode, gantry_distribution_t distribution) {
    const init_fans_t fans = init_fans_of(&shape);
    const double fan = mode == GANTRY_FAN_IN    ? fans.in
                       : mode == GANTRY_FAN_OUT ? fans.out
                                                : (fans.in + fans.out) / 2;
    const double variance = scale / fmax(1, fan);
    if (distribution == GANTRY_UNIFORM) {
        const double limit = sqrt(3 * variance);
        return init_uniform(scope, from, dtype, shape, -limit, limit);
    }
    const bool is_truncated = distribution == GANTRY_TRUNCATED_NORMAL;
    const double stddev = is_truncated ? sqrt(variance) / TRUNCATED_STDDEV : sqrt(variance);
    return init_normal(scope, from, dtype, shape, 0, stddev, is_truncated);
}

static tensor *make_variance_scaling(gantry_scope_t *scope, const gantry_initializer_t *from,
                                     gantry_dtype_t dtype, gantry_shape_t shape) {
    return init_scaled(scope, from, dtype, shape, from->scale, from->mode, from->distribution);
}

/* The named forms. */
#define INIT_SCALED(name, scale, mode, distribution)                                    \
    static tensor *make_##name(gantry_scope_t *scope, const gantry_initializer_t *from, \
                               gantry_dtype_t dtype, gantry_shape_t shape) {            \
        return init_scaled(scope, from, dtype, shape, scale, mode, distribution);       \
    }
INIT_SCALED(glorot_uniform, 1, GANTRY_FAN_AVG, GANTRY_UNIFORM)
INIT_SCALED(glorot_normal, 1, GANTRY_FAN_AVG, GANTRY_TRUNCATED_NORMAL)
INIT_SCALED(he_uniform, 2, GANTRY_FAN_IN, GANTRY_UNIFORM)
INIT_SCALED(he_normal, 2, GANTRY_FAN_IN, GANTRY_TRUNCATED_NORMAL)
INIT_SCALED(lecun_uniform, 1, GANTRY_FAN_IN, GANTRY_UNIFORM)
INIT_SCALED(lecun_normal, 1, GANTRY_FAN_IN, GANTRY_TRUNCATED_NORMAL)

/* ---- the other kinds ---- */

static tensor *make_zeros(gantry_scope_t *scope, const gantry_initializer_t *from,
                          gantry_dtype_t dtype, gantry_shape_t shape) {
    (void)from;
    return gantry_zeros(scope, dtype, shape);
}

static tensor *make_ones(gantry_scope_t *scope, const gantry_initializer_t *from,
                         gantry_dtype_t dtype, gantry_shape_t shape) {
    (void)from;
    return gantry_ones(scope, dtype, shape);
}

static tensor *initializer_make_constant(gantry_scope_t *scope, const gantry_initializer_t *from,
                                         gantry_dtype_t dtype, gantry_shape_t shape) {
    const bool is_whole = nearbyint(from->value) == from->value;
    const double value = is_whole ? from->value : (double)(float)from->value;
    return gantry_fill(scope, shape, gantry__train_constant(scope, dtype, value));
}

static tensor *make_random_uniform(gantry_scope_t *scope, const gantry_initializer_t *from,
                                   gantry_dtype_t dtype, gantry_shape_t shape) {
    return init_uniform(scope, from, dtype, shape, from->minval, from->maxval);
}

static tensor *make_random_normal(gantry_scope_t *scope, const gantry_initializer_t *from,
                                  gantry_dtype_t dtype, gantry_shape_t shape) {
    return init_normal(scope, from, dtype, shape, from->mean, from->stddev, false);
}

static tensor *make_truncated_normal(gantry_scope_t *scope, const gantry_initializer_t *from,
                                     gantry_dtype_t dtype, gantry_shape_t shape) {
    return init_normal(scope, from, dtype, shape, from->mean, from->stddev, true);
}

static tensor *make_orthogonal(gantry_scope_t *scope, const gantry_initializer_t *from,
                               gantry_dtype_t dtype, gantry_shape_t shape) {
    return gantry__train_orthogonal(scope, init_seed_word(from->seed), init_seed_word(from->draw),
                                    from->gain, dtype, shape);
}

static tensor *make_identity(gantry_scope_t *scope, const gantry_initializer_t *from,
                             gantry_dtype_t dtype, gantry_shape_t shape) {
    tensor *eye = gantry_eye(scope, shape.dims[0], shape.dims[1], dtype);
    return gantry_mul(scope, eye, gantry__train_constant(scope, dtype, from->gain));
}

static const struct {
    const char *name;
    init_fn make;
    bool needs_float;
    int32_t least_rank, most_rank;
} init_rows[] = {
    [GANTRY_INIT_ZEROS] = {"zeros", make_zeros, false, 0, GANTRY_MAX_RANK},
    [GANTRY_INIT_ONES] = {"ones", make_ones, false, 0, GANTRY_MAX_RANK},
    [GANTRY_INIT_CONSTANT] = {"constant", initializer_make_constant, false, 0, GANTRY_MAX_RANK},
    [GANTRY_INIT_RANDOM_UNIFORM] = {"random_uniform", make_random_uniform, true, 0,
                                    GANTRY_MAX_RANK},
    [GANTRY_INIT_RANDOM_NORMAL] = {"random_normal", make_random_normal, true, 0, GANTRY_MAX_RANK},
    [GANTRY_INIT_TRUNCATED_NORMAL] = {"truncated_normal", make_truncated_normal, true, 0,
                                      GANTRY_MAX_RANK},
    [GANTRY_INIT_VARIANCE_SCALING] = {"variance_scaling", make_variance_scaling, true, 0,
                                      GANTRY_MAX_RANK},
    [GANTRY_INIT_GLOROT_UNIFORM] = {"glorot_uniform", make_glorot_uniform, true, 0,
                                    GANTRY_MAX_RANK},
    [GANTRY_INIT_GLOROT_NORMAL] = {"glorot_normal", make_glorot_normal, true, 0, GANTRY_MAX_RANK},
    [GANTRY_INIT_HE_UNIFORM] = {"he_uniform", make_he_uniform, true, 0, GANTRY_MAX_RANK},
    [GANTRY_INIT_HE_NORMAL] = {"he_normal", make_he_normal, true, 0, GANTRY_MAX_RANK},
    [GANTRY_INIT_LECUN_UNIFORM] = {"lecun_uniform", make_lecun_uniform, true, 0, GANTRY_MAX_RANK},
    [GANTRY_INIT_LECUN_NORMAL] = {"lecun_normal", make_lecun_normal, true, 0, GANTRY_MAX_RANK},
    [GANTRY_INIT_ORTHOGONAL] = {"orthogonal", make_orthogonal, true, 2, GANTRY_MAX_RANK},
    [GANTRY_INIT_IDENTITY] = {"identity", make_identity, true, 2, 2},
};

static bool init_exists(gantry_init_t kind) {
    return (size_t)kind < sizeof init_rows / sizeof init_rows[0];
}

const char *gantry_initializer_name(gantry_init_t kind) {
    return init_exists(kind) ? init_rows[kind].name : "";
}

/* ---- the call ---- */

static gantry_status_t init_refuse_member(const gantry_initializer_t *from, const char *member,
                                          double value, const char *accepted) {
    return gantry__train_refuse(NULL, "initializer %s: %s is %g; %s is accepted",
                                init_rows[from->kind].name, member, value, accepted);
}

static gantry_status_t init_check_members(const gantry_initializer_t *from) {
    if (!(from->scale > 0 && isfinite(from->scale)))
        return init_refuse_member(from, "scale", from->scale, "a number above 0");
    if (!(from->stddev >= 0 && isfinite(from->stddev)))
        return init_refuse_member(from, "stddev", from->stddev, "a number of at least 0");
    if (!isfinite(from->mean)) return init_refuse_member(from, "mean", from->mean, "a number");
    if (!(fabs(from->maxval) <= FLT_MAX))
        return init_refuse_member(from, "maxval", from->maxval, "a float32");
    if (!(from->minval >= -FLT_MAX && from->minval <= from->maxval))
        return init_refuse_member(from, "minval", from->minval, "a float32 up to maxval");
    if ((unsigned)from->mode > GANTRY_FAN_AVG)
        return init_refuse_member(from, "mode", from->mode,
                                  "GANTRY_FAN_IN, GANTRY_FAN_OUT or GANTRY_FAN_AVG");
    if ((unsigned)from->distribution > GANTRY_UNIFORM)
        return init_refuse_member(
            from, "distribution", from->distribution,
            "GANTRY_TRUNCATED_NORMAL, GANTRY_UNTRUNCATED_NORMAL or GANTRY_UNIFORM");
    return GANTRY_OK;
}

static void init_fill_defaults(gantry_initializer_t *from) {
    if (from->stddev == 0) from->stddev = 0.05;
    if (from->scale == 0) from->scale = 1;
    if (from->gain == 0) from->gain = 1;
    if (from->minval != 0 || from->maxval != 0) return;
    from->minval = -0.05;
    from->maxval = 0.05;
}

static gantry_status_t init_check_tensor(const gantry_initializer_t *from, gantry_dtype_t dtype,
                                         const gantry_shape_t *shape) {
    const char *name = init_rows[from->kind].name;
    char text[GANTRY_MAX_RANK * 21 + 3];
    (void)gantry_shape_format(shape, text, sizeof text);
    if (gantry_shape_elements(shape) < 0)
        return gantry__train_refuse(NULL,
                                    "initializer %s: the shape %s is none; sizes of at least 0, in "
                                    "up to %d dimensions, are accepted",
                                    name, text, GANTRY_MAX_RANK);
    if (shape->rank < init_rows[from->kind].least_rank ||
        shape->rank > init_rows[from->kind].most_rank)
        return gantry__train_refuse(
            NULL, "initializer %s: the shape is %s; %s is accepted", name, text,
            init_rows[from->kind].most_rank == 2 ? "a matrix" : "one of two dimensions or more");
    if (init_rows[from->kind].needs_float && !gantry__train_is_float(dtype))
        return gantry__train_refuse(
            NULL,
            "initializer %s: the type is %s; float16, bfloat16, float32 and float64 are accepted",
            name, gantry_dtype_name(dtype));
    return GANTRY_OK;
}

static gantry_status_t init_read(const gantry_initializer_t *given, gantry_dtype_t dtype,
                                 const gantry_shape_t *shape, gantry_initializer_t *out) {
    if (!given) return gantry__train_refuse(NULL, "gantry_initialize: the initializer is NULL");
    GANTRY__TRAIN_TRY(gantry__struct_read(given, sizeof *out, out, sizeof *out,
                                          "gantry_initialize: initializer"));
    if (!init_exists(out->kind))
        return gantry__train_refuse(
            NULL,
            "gantry_initialize: %d is no kind; GANTRY_INIT_ZEROS to GANTRY_INIT_IDENTITY are accepted",
            (int)out->kind);
    init_fill_defaults(out);
    GANTRY__TRAIN_TRY(init_check_members(out));
    return init_check_tensor(out, dtype, shape);
}

tensor *gantry_initialize(gantry_scope_t *scope, const gantry_initializer_t *initializer,
                          gantry_dtype_t dtype, gantry_shape_t shape) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry_initializer_t read = {0};
    gantry_scope_t *inner = gantry__train_begin(scope, "gantry_initialize");
    if (!inner) return NULL;
    gantry_status_t status = init_read(initializer, dtype, &shape, &read);
    if (status != GANTRY_OK) {
        (void)gantry__train_hand_on(inner, status);
        return gantry__train_end(scope, inner, NULL);
    }
    return gantry__train_end(scope, inner, init_rows[read.kind].make(inner, &read, dtype, shape));
}
