/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of gathering, scattering, sorting and segments. */
#include "train/tape/rule.h"

const gantry__rule_t gantry__rules_index[] = {{NULL, NULL}};
