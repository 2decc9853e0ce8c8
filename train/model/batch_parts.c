/* SPDX-License-Identifier: Apache-2.0 */
#include "train/base/inner_scope.h"
#include "train/model/batch.h"

/* ---- components ---- */

/* Further components than weights of samples are ignored. */
size_t gantry__model_weight_count(const gantry_model_t *model, gantry__step_mode_t step,
                                  size_t count) {
    const size_t labels = model->program.label_count, plain = model->net.input_count + labels;
    if (step == GANTRY__STEP_PREDICT || count <= plain) return 0;
    return count - plain > labels ? labels : count - plain;
}

size_t gantry__model_weights_of(const gantry_model_t *model, size_t target, size_t weight_count) {
    if (weight_count == 0) return 0;
    const size_t first = model->net.input_count + model->program.label_count;
    return weight_count == 1 ? first : first + model->program.targets[target].label;
}

size_t gantry__model_output_of(const gantry_model_t *model, size_t component) {
    const size_t labels = model->program.label_count, after = component - model->net.input_count;
    const size_t place = after < labels ? after : after - labels;
    for (size_t t = 0; t < model->program.target_count; ++t) {
        const gantry__target_t *target = &model->program.targets[t];
        if (target->has_labels && target->label == place) return t;
    }
    return 0;
}

gantry_dtype_t gantry__model_component_type(const gantry_model_t *model, size_t component,
                                            gantry_dtype_t given) {
    if (component >= model->net.input_count) return given;
    const gantry_dtype_t wanted = model->net.values[component].dtype;
    const bool is_number = gantry__train_is_number(given) || given == GANTRY_BOOL;
    return is_number && gantry__train_is_float(wanted) ? wanted : given;
}

bool gantry__batch_fits_spec(const gantry_input_spec_t *spec, const gantry_shape_t *shape) {
    bool fits = shape->rank == spec->shape.rank;
    for (int32_t d = 0; fits && d < spec->shape.rank; ++d)
        fits = spec->shape.dims[d] < 0 || spec->shape.dims[d] == shape->dims[d];
    return fits;
}

const gantry_tensor_t *gantry__model_make_component(const gantry_model_t *model,
                                                    gantry_scope_t *scope,
                                                    const gantry_array_t *array, size_t component) {
    const gantry_tensor_t *x = gantry_tensor_from_array(scope, array);
    const gantry_dtype_t dtype = gantry__model_component_type(model, component, array->dtype);
    return dtype == array->dtype ? x : gantry_cast(scope, x, dtype);
}

/* ---- rows ---- */

/* Each replica must have at least one row. */
static int64_t weighted_row(const gantry__replicas_t *replicas, int64_t rows, size_t replica) {
    const double *weights = replicas->weights;
    const size_t parts = replicas->count;
    double all = 0, before = 0;
    int64_t row = 0;
    for (size_t r = 0; r < parts; ++r) all += weights[r];
    for (size_t r = 0; r < replica; ++r) {
        before += weights[r];
        const int64_t wanted = (int64_t)((double)rows * (before / all) + 0.5),
                      most = rows - (int64_t)(parts - r - 1);
        row = wanted > row + 1 ? wanted : row + 1;
        if (row > most) row = most;
    }
    return row;
}

/* The first of equal parts are one row longer. */
int64_t gantry__replica_first_row(const gantry__replicas_t *replicas, int64_t rows,
                                  size_t replica) {
    const int64_t parts = (int64_t)replicas->count, r = (int64_t)replica;
    if (replicas->weights && rows >= parts) return weighted_row(replicas, rows, replica);
    return r * (rows / parts) + (r < rows % parts ? r : rows % parts);
}
