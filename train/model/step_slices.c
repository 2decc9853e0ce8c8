/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of a step that are slices, for variables whose update then touches few rows. The
 * numbers are those of dense gradients: slices of one row are added where an optimizer squares
 * them.
 *
 * How many slices there are depends on the batch. A step is traced for batches of any size, so the
 * rows of the batch for which it is traced decide. An embedding gives a slice for each element of
 * its input. */
#include "shared/memory.h"
#include "train/model/step.h"
#include "train/optimizer/optimizer_slices.h"

typedef const gantry_tensor_t tensor;

/* ---- where slices pay ---- */

/* Of a value; open sizes of an input are those of its tensor, others are not known yet. */
static int64_t elements_per_row(const gantry__step_call_t *c, int32_t value) {
    const bool is_input = value < (int32_t)c->model->net.input_count;
    const gantry_shape_t *shape =
        is_input ? gantry_tensor_shape(c->batch[value]) : &c->model->net.values[value].shape;
    int64_t elements = 1;
    for (int32_t d = 1; d < shape->rank; ++d) {
        if (shape->dims[d] < 0) return INT32_MAX; /* many: gradients are dense */
        elements *= shape->dims[d];
    }
    return elements;
}

/* The slices of a variable's gradient for each row of the batch, by the inputs of its layer. */
static int64_t slices_per_row(const gantry__step_call_t *c, size_t variable) {
    const gantry_model_t *model = c->model;
    int64_t slices = 0;
    for (size_t v = 0; v < model->net.value_count; ++v) {
        const gantry__model_value_t *value = &model->net.values[v];
        const gantry__member_t *member = value->member;
        if (!member || value->input_count == 0 || variable < member->first_variable ||
            variable >= member->first_variable + member->layer->weight_count)
            continue;
        slices += elements_per_row(c, value->inputs[0]);
    }
    return slices;
}

void gantry__step_choose_slices(gantry__step_call_t *c, int64_t rows) {
    const gantry_model_t *model = c->model;
    size_t trained = 0;
    /* those of several replicas, or processes, are added as dense gradients */
    if (c->step != GANTRY__STEP_TRAIN || model->replicas.count > 1 || model->replicas.worker ||
        rows <= 0)
        return;
    for (size_t i = 0; i < model->net.variable_count; ++i) {
        if (!model->net.variables[i].is_trained) continue;
        c->slice_use[trained] =
            gantry__train_use_of_slices(model->program.optimizer, model->net.variables[i].copies[0],
                                        rows * slices_per_row(c, i));
        c->uses_slices |= c->slice_use[trained++] != GANTRY__SLICES_DENSE;
    }
}

/* ---- the backward pass ---- */

static void step_slices_settle(gantry_scope_t *scope, gantry_gradient_t *gradient,
                               gantry__slice_use_t use) {
    if (!gradient->values || use == GANTRY__SLICES_APART) return;
    if (use == GANTRY__SLICES_ADDED)
        (void)gantry_gradient_sum_rows(scope, gradient, gradient);
    else
        *gradient = (gantry_gradient_t){.dense = gantry_gradient_to_dense(scope, gradient)};
}

void gantry__step_differentiate_slices(gantry__step_call_t *c, gantry__replica_t *replica) {
    if (gantry_tape_gradient_slices(replica->tape, replica->loss, NULL, replica->sources,
                                    c->trained_count, NULL, replica->slices) != GANTRY_OK)
        return;
    for (size_t i = 0; i < c->trained_count; ++i) {
        gantry_gradient_t *gradient = &replica->slices[i];
        step_slices_settle(replica->scope, gradient, c->slice_use[i]);
        gantry__step_keep(replica->scope, &gradient->dense);
        gantry__step_keep(replica->scope, &gradient->values);
        gantry__step_keep(replica->scope, &gradient->indices);
    }
}
