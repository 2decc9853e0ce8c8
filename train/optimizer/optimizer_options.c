/* SPDX-License-Identifier: Apache-2.0 */
/* The constructors: options are read, defaults put in, and numbers checked.
 *
 * The structs of options must begin with the same fields, which common_t must have, too. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include <gantry_train/optimizer.h>

#include "train/base/fail.h"
#include "train/base/keras.h"
#include "shared/memory.h"
#include "train/optimizer/optimizer_state.h"
#include "train/optimizer/options.h"

typedef struct common_t {
    uint32_t struct_size;
    double learning_rate;
    const gantry_schedule_t *schedule;
    double weight_decay, clipnorm, clipvalue, global_clipnorm;
} common_t;

#define EXPECT_COMMON(type)                                                                    \
    _Static_assert(offsetof(type, learning_rate) == offsetof(common_t, learning_rate) &&       \
                       offsetof(type, schedule) == offsetof(common_t, schedule) &&             \
                       offsetof(type, weight_decay) == offsetof(common_t, weight_decay) &&     \
                       offsetof(type, global_clipnorm) == offsetof(common_t, global_clipnorm), \
                   "options begin with the common fields")
EXPECT_COMMON(gantry_sgd_options_t);
EXPECT_COMMON(gantry_adam_options_t);
EXPECT_COMMON(gantry_adamw_options_t);
EXPECT_COMMON(gantry_nadam_options_t);
EXPECT_COMMON(gantry_rmsprop_options_t);
EXPECT_COMMON(gantry_adagrad_options_t);
EXPECT_COMMON(gantry_adamax_options_t);
EXPECT_COMMON(gantry_lion_options_t);
EXPECT_COMMON(gantry_adadelta_options_t);
EXPECT_COMMON(gantry_ftrl_options_t);

/* ---- checks ---- */

typedef enum range_t { FROM_ZERO, TO_ONE, BELOW_ONE, UP_TO_ZERO } range_t;

static const char *const accepted[] = {
    [FROM_ZERO] = "a number of 0 or more",
    [TO_ONE] = "a number from 0 to 1",
    [BELOW_ONE] = "a number from 0 to below 1",
    [UP_TO_ZERO] = "a number of 0 or less",
};

typedef struct checked_t {
    const char *name;
    size_t offset; /* of a double in the settings */
    range_t range;
} checked_t;

#define CHECKED(field, range) \
    { #field, offsetof(gantry__train_settings_t, field), range }
static const checked_t checked[] = {
    CHECKED(learning_rate, FROM_ZERO),
    CHECKED(weight_decay, FROM_ZERO),
    CHECKED(clipnorm, FROM_ZERO),
    CHECKED(clipvalue, FROM_ZERO),
    CHECKED(global_clipnorm, FROM_ZERO),
    CHECKED(momentum, TO_ONE),
    CHECKED(beta_1, BELOW_ONE),
    CHECKED(beta_2, BELOW_ONE),
    CHECKED(rho, BELOW_ONE),
    CHECKED(epsilon, FROM_ZERO),
    CHECKED(initial_accumulator_value, FROM_ZERO),
    CHECKED(learning_rate_power, UP_TO_ZERO),
    CHECKED(l1_regularization_strength, FROM_ZERO),
    CHECKED(l2_regularization_strength, FROM_ZERO),
    CHECKED(l2_shrinkage_regularization_strength, FROM_ZERO),
    CHECKED(beta, FROM_ZERO),
};

const char *gantry__train_setting(const gantry__train_settings_t *settings, size_t index,
                                  double *out_value) {
    if (index >= sizeof checked / sizeof checked[0]) return NULL;
    memcpy(out_value, (const char *)settings + checked[index].offset, sizeof *out_value);
    return checked[index].name;
}

static bool is_in(double value, range_t range) {
    if (range == UP_TO_ZERO) value = -value;
    if (!isfinite(value) || value < 0) return false;
    return range == FROM_ZERO || range == UP_TO_ZERO || value < 1 ||
           (range == TO_ONE && value <= 1);
}

static gantry_status_t check_accumulation(const char *function,
                                          const gantry__train_settings_t *settings) {
    if (settings->accumulation_steps != 0 && settings->accumulation_steps < 2)
        return gantry__train_refuse(
            NULL,
            "%s: gradient_accumulation_steps is %d; 0, for none, or an integer of 2 or more is accepted",
            function, (int)settings->accumulation_steps);
    if (!settings->use_ema) return GANTRY_OK;
    if (!is_in(settings->ema_momentum, TO_ONE))
        return gantry__train_refuse(NULL, "%s: ema_momentum is %g; %s is accepted", function,
                                    settings->ema_momentum, accepted[TO_ONE]);
    if (settings->ema_overwrite_frequency < 0)
        return gantry__train_refuse(
            NULL,
            "%s: ema_overwrite_frequency is %d; 0, for never, or an integer of 1 or more is accepted",
            function, (int)settings->ema_overwrite_frequency);
    return GANTRY_OK;
}

static gantry_status_t check_settings(const char *function,
                                      const gantry__train_settings_t *settings) {
    const char *name;
    double value;
    for (size_t i = 0; (name = gantry__train_setting(settings, i, &value)); ++i) {
        if (!is_in(value, checked[i].range))
            return gantry__train_refuse(NULL, "%s: %s is %g; %s is accepted", function, name, value,
                                        accepted[checked[i].range]);
    }
    if ((settings->clipnorm > 0) + (settings->clipvalue > 0) + (settings->global_clipnorm > 0) > 1)
        return gantry__train_refuse(
            NULL,
            "%s: Only one of clipnorm, clipvalue and global_clipnorm can be set. Received: clipnorm=%g, clipvalue=%g, global_clipnorm=%g",
            function, settings->clipnorm, settings->clipvalue, settings->global_clipnorm);
    return check_accumulation(function, settings);
}

/* ---- making one ---- */

static gantry_optimizer_t *make_optimizer(const char *function, const gantry__train_rule_t *rule,
                                          const common_t *common,
                                          const gantry__train_settings_t *settings) {
    if (common->schedule && gantry__train_or_default(common->learning_rate, 0) != 0)
        return gantry__train_refuse_pointer(
            NULL, "%s: both a schedule and learning_rate %g are given; one of them is accepted",
            function, common->learning_rate);
    if (check_settings(function, settings) != GANTRY_OK) return NULL;
    gantry_optimizer_t *optimizer = gantry__alloc(1, sizeof *optimizer);
    if (!optimizer) return NULL;
    optimizer->rule = rule;
    optimizer->settings = *settings;
    optimizer->schedule = gantry_schedule_retain(common->schedule);
    gantry__train_add_slots(optimizer);
    return optimizer;
}

/* The common fields of options that were read. */
static common_t read_common(const void *options, double learning_rate,
                            gantry__train_settings_t *settings) {
    common_t common;
    memcpy(&common, options, sizeof common);
    settings->learning_rate = gantry__train_or_default(common.learning_rate, learning_rate);
    settings->weight_decay = common.weight_decay;
    settings->clipnorm = common.clipnorm;
    settings->clipvalue = common.clipvalue;
    settings->global_clipnorm = common.global_clipnorm;
    return common;
}

/* Declares `settings` and `common`, with the fields that all optimizers have. */
#define TAKE_COMMON(read, learning_rate)                                     \
    gantry__train_settings_t settings = {                                    \
        .accumulation_steps = (read).gradient_accumulation_steps,            \
        .use_ema = (read).use_ema,                                           \
        .ema_momentum = gantry__train_or_default((read).ema_momentum, 0.99), \
        .ema_overwrite_frequency = (read).ema_overwrite_frequency};          \
    const common_t common = read_common(&(read), learning_rate, &settings)

/* The numbers of Adam and its kin, 0 for those that were not given. */
static void set_betas(gantry__train_settings_t *settings, double beta_1, double beta_2,
                      double epsilon) {
    settings->beta_1 = gantry__train_or_default(beta_1, 0.9);
    settings->beta_2 = gantry__train_or_default(beta_2, 0.999);
    settings->epsilon = gantry__train_or_default(epsilon, GANTRY__KERAS_EPSILON);
}

gantry_optimizer_t *gantry_sgd(const gantry_sgd_options_t *options) {
    gantry_sgd_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_sgd")) return NULL;
    TAKE_COMMON(read, 0.01);
    settings.momentum = read.momentum;
    settings.nesterov = read.nesterov;
    return make_optimizer("gantry_sgd", &gantry__train_sgd, &common, &settings);
}

gantry_optimizer_t *gantry_adam(const gantry_adam_options_t *options) {
    gantry_adam_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_adam")) return NULL;
    TAKE_COMMON(read, 0.001);
    set_betas(&settings, read.beta_1, read.beta_2, read.epsilon);
    settings.amsgrad = read.amsgrad;
    return make_optimizer("gantry_adam", &gantry__train_adam, &common, &settings);
}

gantry_optimizer_t *gantry_adamw(const gantry_adamw_options_t *options) {
    gantry_adamw_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_adamw")) return NULL;
    TAKE_COMMON(read, 0.001);
    settings.weight_decay = gantry__train_or_default(read.weight_decay, 0.004);
    set_betas(&settings, read.beta_1, read.beta_2, read.epsilon);
    settings.amsgrad = read.amsgrad;
    return make_optimizer("gantry_adamw", &gantry__train_adamw, &common, &settings);
}

gantry_optimizer_t *gantry_nadam(const gantry_nadam_options_t *options) {
    gantry_nadam_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_nadam")) return NULL;
    TAKE_COMMON(read, 0.001);
    set_betas(&settings, read.beta_1, read.beta_2, read.epsilon);
    return make_optimizer("gantry_nadam", &gantry__train_nadam, &common, &settings);
}

gantry_optimizer_t *gantry_rmsprop(const gantry_rmsprop_options_t *options) {
    gantry_rmsprop_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_rmsprop")) return NULL;
    TAKE_COMMON(read, 0.001);
    settings.rho = gantry__train_or_default(read.rho, 0.9);
    settings.momentum = read.momentum;
    settings.epsilon = gantry__train_or_default(read.epsilon, GANTRY__KERAS_EPSILON);
    settings.centered = read.centered;
    return make_optimizer("gantry_rmsprop", &gantry__train_rmsprop, &common, &settings);
}

gantry_optimizer_t *gantry_adagrad(const gantry_adagrad_options_t *options) {
    gantry_adagrad_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_adagrad")) return NULL;
    TAKE_COMMON(read, 0.001);
    settings.initial_accumulator_value =
        gantry__train_or_default(read.initial_accumulator_value, 0.1);
    settings.epsilon = gantry__train_or_default(read.epsilon, GANTRY__KERAS_EPSILON);
    return make_optimizer("gantry_adagrad", &gantry__train_adagrad, &common, &settings);
}

gantry_optimizer_t *gantry_adamax(const gantry_adamax_options_t *options) {
    gantry_adamax_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_adamax")) return NULL;
    TAKE_COMMON(read, 0.001);
    set_betas(&settings, read.beta_1, read.beta_2, read.epsilon);
    return make_optimizer("gantry_adamax", &gantry__train_adamax, &common, &settings);
}

gantry_optimizer_t *gantry_lion(const gantry_lion_options_t *options) {
    gantry_lion_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_lion")) return NULL;
    TAKE_COMMON(read, 0.001);
    settings.beta_1 = gantry__train_or_default(read.beta_1, 0.9);
    settings.beta_2 = gantry__train_or_default(read.beta_2, 0.99);
    return make_optimizer("gantry_lion", &gantry__train_lion, &common, &settings);
}

gantry_optimizer_t *gantry_adadelta(const gantry_adadelta_options_t *options) {
    gantry_adadelta_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_adadelta")) return NULL;
    TAKE_COMMON(read, 0.001);
    settings.rho = gantry__train_or_default(read.rho, 0.95);
    settings.epsilon = gantry__train_or_default(read.epsilon, GANTRY__KERAS_EPSILON);
    return make_optimizer("gantry_adadelta", &gantry__train_adadelta, &common, &settings);
}

gantry_optimizer_t *gantry_ftrl(const gantry_ftrl_options_t *options) {
    gantry_ftrl_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_ftrl")) return NULL;
    TAKE_COMMON(read, 0.001);
    settings.learning_rate_power = gantry__train_or_default(read.learning_rate_power, -0.5);
    settings.initial_accumulator_value =
        gantry__train_or_default(read.initial_accumulator_value, 0.1);
    settings.l1_regularization_strength = read.l1_regularization_strength;
    settings.l2_regularization_strength = read.l2_regularization_strength;
    settings.l2_shrinkage_regularization_strength = read.l2_shrinkage_regularization_strength;
    settings.beta = read.beta;
    return make_optimizer("gantry_ftrl", &gantry__train_ftrl, &common, &settings);
}
