/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fp_mode.h"

#include <gantry/observe.h>

static _Thread_local gantry__fp_program_t program;

gantry__fp_program_t *gantry__fp_slot(void) { return &program; }

gantry__fp_program_t *gantry_program_fp_mode(void) { return &program; }
