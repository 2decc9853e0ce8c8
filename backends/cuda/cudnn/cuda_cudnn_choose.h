/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses how cuDNN computes a graph: the first engine of its own order of preference that keeps
 * the promises of docs/numerics.md.
 *
 * Owner: the parts keep all descriptors. Threads: externally synchronised; the handle is one
 * thread's at a time. */
#ifndef GANTRY_CUDA_CUDNN_CHOOSE_H
#define GANTRY_CUDA_CUDNN_CHOOSE_H

#include "cuda/cudnn/cuda_cudnn_graph.h"

typedef struct gantry__cudnn_choice_t {
    gantry__cudnn_desc_t plan; /* NULL: no engine may compute it; the parts have the reason */
    uint64_t workspace_bytes;
    int64_t engine;           /* the library's number for it */
    int32_t offered, allowed; /* engines, up to the chosen one */
} gantry__cudnn_choice_t;

/* Whether an engine of this note may compute the form. */
bool gantry__cudnn_note_is_allowed(const gantry__cudnn_form_t *form, int note);

/* Makes the plan of the finalised graph. device: the description of the card for which it is made;
 * NULL: the handle's. */
void gantry__cudnn_choose(gantry__cudnn_parts_t *parts, gantry__cudnn_handle_t handle,
                          const gantry__cudnn_form_t *form, gantry__cudnn_desc_t graph,
                          gantry__cudnn_desc_t device, gantry__cudnn_choice_t *out_choice);

#endif
