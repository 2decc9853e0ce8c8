/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions: scopes in which a function of the program chooses the device of each op.
 *
 * From inside to outside, the requests of scopes and the answers of functions merge field by field:
 *
 *     scope -> [function -> scopes around it] -> [function -> scopes around it] -> ...
 *
 * TensorFlow lets an outer function replace what an inner scope requested; here the inner one wins,
 * as everywhere else. */
#include <gantry/scope.h>

#include <string.h>

#include "base/fp_mode.h"
#include "device/device_table.h"
#include "run/runtime_state.h"
#include "run/scope_state.h"

/* The fields of *wish win over those of outer. */
static gantry_status_t put_around(gantry_runtime_t *runtime, const gantry__wish_t *outer,
                                  const gantry__wish_t **wish) {
    if (!outer) return GANTRY_OK;
    if (!*wish) {
        *wish = outer;
        return GANTRY_OK;
    }
    gantry__device_reference_t merged;
    gantry__device_reference_merge_scope(&outer->reference, &(*wish)->reference, &merged);
    return gantry__runtime_wish(runtime, &merged, wish);
}

static gantry_status_t read_answer(gantry_runtime_t *runtime, const char *text, const char *op,
                                   const gantry__wish_t **out_wish) {
    gantry__device_reference_t reference;
    gantry_status_t status =
        gantry__device_reference_from_user(&runtime->devices, text, &reference);
    if (status != GANTRY_OK)
        return gantry__fail_prefix(status, "op %s: its device function returned a text: ", op);
    return gantry__runtime_wish(runtime, &reference, out_wish);
}

/* The caller has the scope as const, and the thread's calls own it. */
static const char *choose_lent(const gantry_scope_t *scope, const gantry__chooser_t *chooser,
                               const gantry_device_choice_t *choice) {
    GANTRY__PROGRAM_FP_MODE(program);
    gantry_scope_t *own;
    memcpy(&own, &scope, sizeof own);
    gantry__scope_hold(own);
    const char *text = chooser->choose(choice, chooser->user);
    gantry__scope_let_go(own);
    return text;
}

gantry_status_t gantry__scope_choose(const gantry_scope_t *scope,
                                     const gantry_device_choice_t *choice,
                                     const gantry__wish_t **out_wish) {
    *out_wish = scope->wish;
    for (const gantry__chooser_t *at = scope->chooser; at; at = at->outer) {
        const gantry__wish_t *answer = NULL;
        const char *text = choose_lent(scope, at, choice);
        if (text && strcmp(text, GANTRY_DEVICE_NONE) == 0) return GANTRY_OK;
        if (text) GANTRY__TRY(read_answer(scope->runtime, text, choice->op, &answer));
        GANTRY__TRY(put_around(scope->runtime, answer, out_wish));
        GANTRY__TRY(put_around(scope->runtime, at->outer_wish, out_wish));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__scope_choose_op(const gantry_scope_t *scope, const char *op,
                                        gantry_dtype_t dtype, size_t output_count,
                                        const gantry__wish_t **out_wish) {
    const gantry_device_choice_t choice = {
        .op = op, .node = "", .dtype = dtype, .output_count = output_count};
    return gantry__scope_choose(scope, &choice, out_wish);
}

gantry_scope_t *gantry_scope_begin_choosing(gantry_scope_t *parent, gantry_device_fn choose,
                                            void *user) {
    gantry_scope_t *scope = gantry_scope_begin_in(parent, NULL);
    if (!scope || scope->status != GANTRY_OK) return scope;
    if (!choose) {
        (void)gantry__scope_fail(
            scope,
            gantry__refuse("gantry_scope_begin_choosing: choose is NULL; a function is accepted"));
        return scope;
    }
    if (scope->blocks.are_ignored) return scope;
    scope->own_chooser = (gantry__chooser_t){
        .choose = choose, .user = user, .outer_wish = scope->wish, .outer = scope->chooser};
    scope->chooser = &scope->own_chooser;
    scope->wish = NULL;
    return scope;
}
