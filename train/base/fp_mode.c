/* SPDX-License-Identifier: Apache-2.0 */
#include "train/base/fp_mode.h"

static _Thread_local gantry__fp_program_t program;

gantry__fp_program_t *gantry__train_fp_slot(void) { return &program; }
