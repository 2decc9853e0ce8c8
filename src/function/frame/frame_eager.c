/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one op of a call by the eager path: its shapes depend on data, or its function reads
 * elements on the host. It is inferred, placed and allocated in each call, with the request that it
 * has in the body. */
#include "device/fault.h"
#include "function/frame/frame.h"
#include "run/eager.h"

typedef struct eager_run_t {
    gantry_tensor_t *inputs[GANTRY__MAX_INPUTS]; /* views of the call's own */
    const gantry_tensor_t *outputs[GANTRY__MAX_OUTPUTS];
    gantry_attr_value_t attrs[GANTRY__MAX_ATTRS];
    gantry_tensor_t *results[GANTRY__MAX_OUTPUTS];
} eager_run_t;

static void give_attrs(const gantry__node_t *node, eager_run_t *run) {
    for (uint32_t i = 0; i < node->op->attr_count; ++i) {
        const gantry_attr_t *attr = &node->attrs[i];
        run->attrs[i] = (gantry_attr_value_t){.name = attr->name,
                                              .kind = (gantry_attr_kind_t)attr->kind,
                                              .i = attr->i,
                                              .f = attr->f,
                                              .s = attr->s,
                                              .list = attr->list};
    }
}

/* Checks that results are what the rest of the function was planned for. */
static gantry_status_t frame_eager_check(const gantry__frame_t *frame, const gantry__node_t *node,
                                         uint32_t i, const gantry_tensor_t *result) {
    const gantry__value_t *value = &frame->schedule->graph->values[node->first_output + i];
    bool fits = result->shape.rank == value->shape.rank;
    for (int32_t d = 0; fits && d < value->shape.rank; ++d)
        fits = value->shape.dims[d] < 0 || value->shape.dims[d] == result->shape.dims[d];
    if (fits) return GANTRY_OK;
    char made[GANTRY_MAX_RANK * 21 + 3], planned[GANTRY_MAX_RANK * 21 + 3];
    (void)gantry_shape_format(&result->shape, made, sizeof made);
    (void)gantry_shape_format(&value->shape, planned, sizeof planned);
    return gantry__refuse("op %s makes output %u as %s; its function was traced with %s",
                          node->op->name, i, made, planned);
}

typedef struct eager_place_t {
    gantry__fault_place_t place;
    const gantry__frame_t *frame;
    const gantry__action_t *action;
} eager_place_t;

static void print_eager_place(const gantry__fault_place_t *place, char *out) {
    const eager_place_t *at = (const eager_place_t *)place;
    gantry__frame_print_place(at->frame, at->action, out, GANTRY__FAULT_PLACE_BYTES);
}

/* Runs the op in a scope of its own, whose error is not the caller's. The caller owns the
 * results. */
static gantry_status_t run_apart(gantry__frame_t *frame, const gantry__action_t *action,
                                 const gantry__node_t *node, eager_run_t *run) {
    gantry_scope_t scope;
    const eager_place_t place = {{print_eager_place, true}, frame, action};
    gantry__scope_begin_parts(&scope, frame->scope, node->op);
    scope.composed = NULL;
    scope.called = node->part_of;
    scope.wish = action->wish;
    scope.order.batch_invariant = frame->schedule->graph->is_batch_invariant;
    scope.order.any = node->marks.any_order;
    scope.chooser = NULL;
    scope.tag = node->tag;
    scope.place = &place.place;
    const gantry__op_request_t request = {
        .op = node->op,
        .inputs = (const gantry_tensor_t *const *)run->inputs,
        .input_count = node->input_count,
        .attrs = run->attrs,
        .attr_count = node->op->attr_count,
        .outputs = run->outputs,
        .room = node->output_count,
    };
    gantry_status_t status = gantry__run_op(&scope, &request, NULL);
    for (uint32_t i = 0; status == GANTRY_OK && i < node->output_count; ++i)
        run->results[i] = gantry__scope_take(&scope, run->outputs[i]);
    gantry__scope_end_parts(&scope);
    return status;
}

static gantry_status_t put_all(gantry__frame_t *frame, const gantry__action_t *action,
                               const gantry__node_t *node, gantry_tensor_t *const *results) {
    gantry_status_t status = GANTRY_OK;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (status == GANTRY_OK) status = frame_eager_check(frame, node, i, results[i]);
        if (status == GANTRY_OK) {
            status = gantry__frame_put_on(frame, action, i, results[i]);
        } else {
            gantry_tensor_release(results[i]);
        }
    }
    return status;
}

gantry_status_t gantry__frame_do_eager(gantry__frame_t *frame, const gantry__action_t *action) {
    const gantry__node_t *node = &frame->schedule->graph->nodes[action->node];
    eager_run_t run;
    gantry_status_t status = GANTRY_OK;
    uint32_t count = 0;
    give_attrs(node, &run);
    for (; count < node->input_count && status == GANTRY_OK; ++count) {
        run.inputs[count] = NULL;
        status = gantry__frame_view(frame, action->inputs[count], &run.inputs[count]);
    }
    if (status == GANTRY_OK) {
        gantry__mutex_lock(&frame->shared->scope);
        status = run_apart(frame, action, node, &run);
        gantry__mutex_unlock(&frame->shared->scope);
    }
    for (uint32_t i = 0; i < count; ++i) gantry_tensor_release(run.inputs[i]);
    return status == GANTRY_OK ? put_all(frame, action, node, run.results) : status;
}
