/* SPDX-License-Identifier: Apache-2.0 */
/* The newest trace of a function, with its plan, for tests that look inside. Header only. */
#ifndef TESTS_PLANNED_H
#define TESTS_PLANNED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "function/call/function.h"

/* The function keeps it. */
static inline gantry_status_t plan_newest(gantry_function_t *function,
                                          gantry__specialization_t **out_traced) {
    const gantry_status_t status = gantry__function_newest(function, out_traced);
    if (status == GANTRY_OK && *out_traced) gantry__function_leave(function, *out_traced);
    return status;
}

static inline gantry__specialization_t *planned(gantry_function_t *function) {
    gantry__specialization_t *traced = NULL;
    if (plan_newest(function, &traced) != GANTRY_OK || !traced)
        fail_msg("%s", gantry_last_message());
    return traced;
}

#endif
