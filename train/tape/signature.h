/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes with which a function is traced: those of tensors, and of an earlier trace. A
 * size that is open in that trace is open here, too: GANTRY_OPEN_SIZE. Owner: the caller, who must
 * free the inputs. Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_SIGNATURE_H
#define GANTRY_TRAIN_SIGNATURE_H

#include "train/tape/block.h"

typedef struct gantry__signature_t {
    gantry_input_spec_t *inputs; /* the caller must free them by gantry__free; NULL after a
                                  * failure */
    size_t count;
} gantry__signature_t;

/* Makes the signature of a function's inputs. */
gantry_status_t gantry__signature_of_call(gantry__signature_t *signature,
                                          const gantry__callee_t *callee);
/* Makes the signature of a backward function's inputs, which must be as gantry__branch_inputs lists
 * them. */
gantry_status_t gantry__signature_of_backward(gantry__signature_t *signature,
                                              const gantry__gradient_block_t *block,
                                              const gantry__record_t *record,
                                              const gantry_tensor_t *const *inputs, size_t count);
bool gantry__signature_equal(const gantry__signature_t *a, const gantry__signature_t *b);

#endif
