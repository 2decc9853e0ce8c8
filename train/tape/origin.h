/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that gradients made, and the functions whose gradients they are: a backward function
 * runs the body of its origin again, which may itself be a backward function. Owner: a function
 * keeps its origin; the caller of gantry__origin_hold must let go. Threads: thread-safe. */
#ifndef GANTRY_TRAIN_ORIGIN_H
#define GANTRY_TRAIN_ORIGIN_H

#include <gantry_train/tape.h>

struct gantry__gradient_block_t;

typedef struct gantry__origin_t gantry__origin_t;

/* Notes whose gradient a function is, and gives it the block of its body, which then ends with it.
 * After a failure the block is still the caller's. */
gantry_status_t gantry__origin_keep(gantry_function_t *made, gantry_function_t *function,
                                    struct gantry__gradient_block_t *block);
/* Takes references to a function, which may be NULL, and to its origins. It returns what
 * gantry__origin_let_go must get in order to end them. */
const gantry__origin_t *gantry__origin_hold(gantry_function_t *function);
void gantry__origin_let_go(gantry_function_t *function, const gantry__origin_t *origin);

#endif
