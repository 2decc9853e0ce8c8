/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses how cuDNN computes a graph: the first engine of its own order of preference that keeps
 * the promises of docs/numerics.md, or the engine of a recipe.
 *
 * Owner: the parts keep all descriptors. Threads: externally synchronised; the handle is one
 * thread's at a time. */
#ifndef GANTRY_CUDA_CUDNN_CHOOSE_H
#define GANTRY_CUDA_CUDNN_CHOOSE_H

#include "cuda/cudnn/cuda_cudnn_graph.h"

#define GANTRY__CUDNN_KNOBS 16
/* A configuration of an engine in the library's own numbers: from these, a plan is made without a
 * question. */
typedef struct gantry__cudnn_recipe_t {
    int64_t engine; /* below 0: none */
    int32_t knob_count;
    int32_t kinds[GANTRY__CUDNN_KNOBS];
    int64_t values[GANTRY__CUDNN_KNOBS];
} gantry__cudnn_recipe_t;

typedef struct gantry__cudnn_choice_t {
    gantry__cudnn_desc_t plan; /* NULL: no engine may compute it; the parts have the reason */
    uint64_t workspace_bytes;
    int64_t engine;                /* the library's number for it */
    int32_t offered, allowed;      /* engines, up to the chosen one */
    gantry__cudnn_recipe_t recipe; /* of the plan; it has no engine if it could not be read */
} gantry__cudnn_choice_t;

/* Whether an engine of this note may compute the form. */
bool gantry__cudnn_note_is_allowed(const gantry__cudnn_form_t *form, int note);

/* What a plan is made of and for. */
typedef struct gantry__cudnn_wanted_t {
    gantry__cudnn_handle_t handle;
    const gantry__cudnn_form_t *form;
    gantry__cudnn_desc_t graph;  /* finalised */
    gantry__cudnn_desc_t device; /* the description of the card; NULL: the handle's */
    /* how many engines that would do are passed over; the first one, if there are not as many */
    int32_t passed_over;
} gantry__cudnn_wanted_t;

/* Makes the plan. */
void gantry__cudnn_choose(gantry__cudnn_parts_t *parts, const gantry__cudnn_wanted_t *wanted,
                          gantry__cudnn_choice_t *out_choice);
/* Makes the plan of a recipe, if its engine is allowed and its workspace small enough. Otherwise
 * false, and reason says why; parts are as before. */
bool gantry__cudnn_restore(gantry__cudnn_parts_t *parts, const gantry__cudnn_wanted_t *wanted,
                           const gantry__cudnn_recipe_t *recipe, gantry__cudnn_choice_t *out_choice,
                           char reason[200]);

#endif
