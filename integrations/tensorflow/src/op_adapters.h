/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a call's arguments, for ops of TensorFlow that take as an input what is an attribute
 * for Gantry, or the reverse. op_rules.py names the ops. Owner: the call owns what an adapter adds.
 * Threads: thread-safe; an adapter changes only its own call's arguments. */
#ifndef GANTRY_TENSORFLOW_OP_ADAPTERS_H
#define GANTRY_TENSORFLOW_OP_ADAPTERS_H

#include "bridge.h"
#include "op_args.h"

/* FusedBatchNormGrad, V2: drops the third reserve space. */
void adapt_batch_norm_grad(bridge_call_t *call, op_args_t *args);
/* Concat: its axis is the first input. */
void adapt_concat(bridge_call_t *call, op_args_t *args);
/* Gather: gathers along axis 0. validate_indices has no effect in TensorFlow either. */
void adapt_gather(bridge_call_t *call, op_args_t *args);
/* InTopK: makes k an attribute. */
void adapt_k(bridge_call_t *call, op_args_t *args);
/* Select: a vector chooses rows. */
void adapt_select(bridge_call_t *call, op_args_t *args);
/* MaxPoolV2, MaxPoolGradV2, MaxPoolGradGradV2: ksize and strides are the last inputs. */
void adapt_window(bridge_call_t *call, op_args_t *args);

#endif
