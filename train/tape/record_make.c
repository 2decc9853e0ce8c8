/* SPDX-License-Identifier: Apache-2.0 */
#include "train/tape/record_make.h"

#include <string.h>

#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/tape/block.h"
#include "train/tape/origin.h"

static gantry_status_t copy_list(gantry_attr_value_t *out, const gantry_attr_value_t *given) {
    int64_t *list = gantry__alloc((size_t)given->i, sizeof *list);
    if (list) memcpy(list, given->list, (size_t)given->i * sizeof *list);
    out->list = list;
    return list ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

static gantry_status_t copy_attr(gantry_attr_value_t *out, const gantry_attr_value_t *given) {
    *out = *given;
    out->s = NULL;
    out->list = NULL;
    if (given->s && !(out->s = gantry__strdup(given->s))) return GANTRY_RESOURCE_EXHAUSTED;
    return given->list && given->i > 0 ? copy_list(out, given) : GANTRY_OK;
}

static gantry_status_t record_copy_attrs(gantry__record_t *record,
                                         const gantry_observation_t *given) {
    record->attrs = gantry__alloc(given->attr_count, sizeof *record->attrs);
    if (!record->attrs) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < given->attr_count; ++i) {
        record->attr_count = i + 1;
        GANTRY__TRY(copy_attr(&record->attrs[i], &given->attrs[i]));
    }
    return GANTRY_OK;
}

static gantry_status_t copy_tensors(gantry__record_t *record, const gantry_observation_t *given) {
    const size_t count = given->input_count + given->output_count;
    record->tensors = gantry__alloc(count, sizeof *record->tensors);
    record->numbers = gantry__alloc(count, sizeof *record->numbers);
    if (!record->tensors || !record->numbers) return GANTRY_RESOURCE_EXHAUSTED;
    record->input_count = record->given_count = given->input_count;
    record->output_count = given->output_count;
    for (size_t i = 0; i < given->input_count; ++i)
        record->tensors[i] = gantry_tensor_retain(given->inputs[i]);
    for (size_t i = 0; i < given->output_count; ++i)
        record->tensors[given->input_count + i] = gantry_tensor_retain(given->outputs[i]);
    return GANTRY_OK;
}

static gantry_status_t copy_bodies(gantry__record_t *record, const gantry_observation_t *given) {
    if (given->body_count == 0) return GANTRY_OK;
    record->bodies = gantry__alloc(given->body_count, sizeof *record->bodies);
    if (!record->bodies) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(record->bodies, given->bodies, given->body_count * sizeof *record->bodies);
    record->body_count = given->body_count;
    record->block = gantry__block_retain(gantry__block_of(given->bodies, given->user));
    return GANTRY_OK;
}

static gantry_status_t copy_shapes(gantry__record_t *record, const gantry_observation_t *given) {
    if (!given->input_shapes || !given->output_shapes) return GANTRY_OK;
    record->shapes =
        gantry__alloc(given->input_count + given->output_count, sizeof *record->shapes);
    if (!record->shapes) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < given->input_count; ++i) record->shapes[i] = given->input_shapes[i];
    for (size_t i = 0; i < given->output_count; ++i)
        record->shapes[given->input_count + i] = given->output_shapes[i];
    return GANTRY_OK;
}

gantry_status_t gantry__record_init(gantry__record_t *record,
                                    const gantry_observation_t *observation) {
    *record = (gantry__record_t){.op = observation->op,
                                 .user = observation->user,
                                 .function = observation->function,
                                 .most_steps = observation->most_steps};
    record->origin = gantry__origin_hold(record->function);
    gantry_status_t status = GANTRY_OK;
    if (observation->effect && !(record->effect = gantry__strdup(observation->effect)))
        status = GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) status = copy_tensors(record, observation);
    if (status == GANTRY_OK) status = copy_shapes(record, observation);
    if (status == GANTRY_OK) status = copy_bodies(record, observation);
    if (status == GANTRY_OK) status = record_copy_attrs(record, observation);
    if (status != GANTRY_OK) gantry__record_deinit(record);
    return status;
}

gantry_status_t gantry__record_add_uses(gantry__record_t *record, const gantry__use_t *uses,
                                        size_t count) {
    const size_t given = record->input_count, all = given + count + record->output_count;
    if (count == 0) return GANTRY_OK;
    const gantry_tensor_t **tensors = gantry__alloc(all, sizeof *tensors);
    uint32_t *numbers = gantry__alloc(all, sizeof *numbers);
    record->variables = gantry__alloc(count, sizeof *record->variables);
    record->assignments = gantry__alloc(count, sizeof *record->assignments);
    if (!tensors || !numbers || !record->variables || !record->assignments) {
        gantry__free((void *)tensors);
        gantry__free(numbers);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; i < given + record->output_count; ++i) {
        const size_t at = i < given ? i : i + count;
        tensors[at] = record->tensors[i];
        numbers[at] = record->numbers[i];
    }
    for (size_t i = 0; i < count; ++i) {
        if (uses[i].tensor) tensors[given + i] = gantry_tensor_retain(uses[i].tensor);
        numbers[given + i] = uses[i].number;
        record->variables[i] = uses[i].variable;
        record->assignments[i] = uses[i].assignments;
    }
    gantry__free((void *)record->tensors);
    gantry__free(record->numbers);
    record->tensors = tensors;
    record->numbers = numbers;
    record->input_count = given + count;
    return GANTRY_OK;
}

void gantry__record_deinit(gantry__record_t *record) {
    for (size_t i = 0; i < record->input_count + record->output_count; ++i)
        gantry_tensor_release((gantry_tensor_t *)record->tensors[i]);
    for (size_t i = 0; i < record->attr_count; ++i) {
        gantry__free((void *)record->attrs[i].s);
        gantry__free((void *)record->attrs[i].list);
    }
    gantry__free((void *)record->tensors);
    gantry__free(record->numbers);
    gantry__free(record->attrs);
    gantry__free((void *)record->bodies);
    gantry__free((void *)record->variables);
    gantry__free(record->assignments);
    gantry__free(record->effect);
    gantry__free(record->shapes);
    gantry__block_release(record->block);
    gantry__origin_let_go(record->function, record->origin);
    *record = (gantry__record_t){.op = NULL};
}
