/* SPDX-License-Identifier: Apache-2.0 */
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

static tensor *elu(gantry_scope_t *scope, tensor *x) { return gantry_elu(scope, x); }
static tensor *gelu(gantry_scope_t *scope, tensor *x) { return gantry_gelu(scope, x, false); }
static tensor *leaky_relu(gantry_scope_t *scope, tensor *x) {
    return gantry_leaky_relu(scope, x, 0.2f);
}

static tensor *hard_sigmoid(gantry_scope_t *scope, tensor *x) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    tensor *y = gantry_add(scope, gantry_div(scope, x, gantry__train_constant(scope, dtype, 6)),
                           gantry__train_constant(scope, dtype, 0.5));
    return gantry_clip_by_value(scope, y, gantry__train_constant(scope, dtype, 0),
                                gantry__train_constant(scope, dtype, 1));
}
static tensor *hard_silu(gantry_scope_t *scope, tensor *x) {
    return gantry_mul(scope, x, hard_sigmoid(scope, x));
}
static tensor *mish(gantry_scope_t *scope, tensor *x) {
    return gantry_mul(scope, x, gantry_tanh(scope, gantry_softplus(scope, x)));
}
static tensor *log_sigmoid(gantry_scope_t *scope, tensor *x) {
    return gantry_neg(scope, gantry_softplus(scope, gantry_neg(scope, x)));
}

static const struct {
    const char *name;
    tensor *(*apply)(gantry_scope_t *scope, tensor *x); /* NULL: linear */
} activations[] = {
    [GANTRY_LINEAR] = {"linear", NULL},
    [GANTRY_RELU] = {"relu", gantry_relu},
    [GANTRY_SIGMOID] = {"sigmoid", gantry_sigmoid},
    [GANTRY_TANH] = {"tanh", gantry_tanh},
    [GANTRY_SOFTMAX] = {"softmax", gantry_softmax},
    [GANTRY_ELU] = {"elu", elu},
    [GANTRY_SELU] = {"selu", gantry_selu},
    [GANTRY_GELU] = {"gelu", gelu},
    [GANTRY_SILU] = {"silu", gantry_silu},
    [GANTRY_SOFTPLUS] = {"softplus", gantry_softplus},
    [GANTRY_SOFTSIGN] = {"softsign", gantry_softsign},
    [GANTRY_RELU6] = {"relu6", gantry_relu6},
    [GANTRY_LEAKY_RELU] = {"leaky_relu", leaky_relu},
    [GANTRY_LOG_SOFTMAX] = {"log_softmax", gantry_log_softmax},
    [GANTRY_EXPONENTIAL] = {"exponential", gantry_exp},
    [GANTRY_HARD_SIGMOID] = {"hard_sigmoid", hard_sigmoid},
    [GANTRY_HARD_SILU] = {"hard_silu", hard_silu},
    [GANTRY_MISH] = {"mish", mish},
    [GANTRY_LOG_SIGMOID] = {"log_sigmoid", log_sigmoid},
};

static bool activation_is_known(gantry_activation_t activation) {
    return (size_t)activation < sizeof activations / sizeof activations[0];
}

const char *gantry_activation_name(gantry_activation_t activation) {
    return activation_is_known(activation) ? activations[activation].name : "";
}

const gantry_tensor_t *gantry_activate(gantry_scope_t *scope, gantry_activation_t activation,
                                       const gantry_tensor_t *x) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    if (!scope) {
        (void)gantry__train_fail_null(NULL, "gantry_activate", "scope",
                                      "one from gantry_scope_begin");
        return NULL;
    }
    if (!activation_is_known(activation))
        return gantry__train_refuse_pointer(
            scope, "gantry_activate: the activation is %d; 0 to %zu are accepted", (int)activation,
            sizeof activations / sizeof activations[0] - 1);
    return activations[activation].apply ? activations[activation].apply(scope, x) : x;
}
