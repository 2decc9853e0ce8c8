/* SPDX-License-Identifier: Apache-2.0 */
/* Ops through which no gradient flows: positions, comparisons, shapes, draws. */
#include "train/tape/rule.h"

const gantry__rule_t gantry__rules_flat[] = {{"ArgMax", NULL},    {"ArgMin", NULL},
                                             {"OnesLike", NULL},  {"Shape", NULL},
                                             {"ZerosLike", NULL}, {NULL, NULL}};
