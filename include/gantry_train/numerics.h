/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Looks for the op that made the first NaN or infinity, as tf.debugging.enable_check_numerics does.
 *
 *     gantry_numerics_t *numerics = gantry_check_numerics_begin(scope);
 *     ... ops ...
 *     gantry_check_numerics_end(numerics);
 *
 * A model does so in its steps with the option check_numerics of gantry_model_compile. The caller
 * that began a check must end it. A check belongs to the thread of its scope. */
#ifndef GANTRY_TRAIN_NUMERICS_H
#define GANTRY_TRAIN_NUMERICS_H

#include <gantry/gantry.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A check of a scope. The caller that began it must end it. */
typedef struct gantry_numerics_t gantry_numerics_t;

/** Checks the results of each op of the scope, and of scopes begun in it, from now on. The first
 * op that made a NaN or an infinity fails its scope with InvalidArgument; the text has the op, how
 * many there are, the shape, and the range of each input. A variable that has some when it is read
 * is named.
 *
 * It must begin before a tape of the scope. It reads every result, and waits for it. Ops that a
 * function records, or that a traced function runs, make no numbers yet: of such a function the
 * outputs are checked. NULL after a failure, which the scope keeps. */
GANTRY_API gantry_numerics_t *gantry_check_numerics_begin(gantry_scope_t *scope);
/** Ends a check, before or after the end of its scope; NULL does no harm. */
GANTRY_API void gantry_check_numerics_end(gantry_numerics_t *numerics);

#ifdef __cplusplus
}
#endif
#endif
