# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's ResourceApply ops, for golden cases and for the tests of the TensorFlow plug-in."""

# op: variables, other inputs, attribute with two forms
STEPS = {
    "Adadelta": ("var accum accum_update", "lr rho epsilon grad", None),
    "Adagrad": ("var accum", "lr grad", "update_slots"),
    "AdagradV2": ("var accum", "lr epsilon grad", "update_slots"),
    "AdaMax": ("var m v", "beta1_power lr beta1 beta2 epsilon grad", None),
    "AdamWithAmsgrad": ("var m v vhat", "beta1_power beta2_power lr beta1 beta2 epsilon grad", None),
    "AddSign": ("var m", "lr alpha sign_decay beta grad", None),
    "Adam": ("var m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad", "use_nesterov"),
    "CenteredRMSProp": ("var mg ms mom", "lr rho momentum epsilon grad", None),
    "Ftrl": ("var accum linear", "grad lr l1 l2 lr_power", "multiply_linear_by_lr"),
    "FtrlV2": ("var accum linear", "grad lr l1 l2 l2_shrinkage lr_power", "multiply_linear_by_lr"),
    "GradientDescent": ("var", "alpha delta", None),
    "KerasMomentum": ("var accum", "lr grad momentum", "use_nesterov"),
    "Momentum": ("var accum", "lr grad momentum", "use_nesterov"),
    "PowerSign": ("var m", "lr logbase sign_decay beta grad", None),
    "ProximalAdagrad": ("var accum", "lr l1 l2 grad", None),
    "ProximalGradientDescent": ("var", "alpha l1 l2 delta", None),
    "RMSProp": ("var ms mom", "lr rho momentum epsilon grad", None),
}
NUMBERS = {"lr": 0.01, "alpha": 0.25, "rho": 0.875, "epsilon": 0.001, "momentum": 0.75, "beta1": 0.875, "beta2": 0.96875,
           "beta1_power": 0.75, "beta2_power": 0.9375, "beta": 0.875, "sign_decay": 0.5, "logbase": 1, "l1": 0.125, "l2": 0.0625,
           "l2_shrinkage": 0.03125, "lr_power": -0.5}
