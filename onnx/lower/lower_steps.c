/* SPDX-License-Identifier: Apache-2.0 */
/* Steps are unrolled as long as their course is known and they are few, or all of their values are
 * known (an eager scope). The rest becomes one gantry_while, whose variables are
 *
 *     [number] [condition] [carried values ...] [outputs, one row for each step ...]
 *
 * and whose outputs must have a size that is known: the number of steps, which a condition that the
 * body computes leaves open. What remains needs the values, and runs op by op. */
#include "onnx/lower/lower_steps.h"

#include <stdio.h>

#include "onnx/lower/run.h"

#include <gantry/control.h>
#include <gantry/ops.h>

#include <string.h>

#include "onnx/base/limits.h"

/* Unrolled at most; a loop whose values change their sizes may have as many nodes as this. */
#define MOST_UNROLLED_STEPS 32
#define MOST_UNROLLED_NODES 16384
/* Nodes of unrolled steps in a whole trace; loops in loops multiply them. */
#define MOST_STEP_NODES 65536
/* Nodes of steps whose values are all known, in a trace. */
#define MOST_KNOWN_NODES 1048576
/* Tensors that one Concat takes. */
#define MOST_JOINED 60

/* A step's results, and the slices of each output so far. */
typedef struct unrolled_t {
    const gantry_tensor_t **values;  /* What a step gets: [carried ...] [slices of inputs ...] */
    const gantry_tensor_t **results; /* [condition] [carried ...] [slices ...] */
    /* References to the condition and the carried values, in a run op by op; slices are references
     * there, too. */
    gantry_tensor_t **held;
    const gantry_tensor_t ***slices; /* For each output those of all steps. */
    size_t capacity;
    int64_t done;
    const gantry_tensor_t *condition;
    bool changes_shapes; /* The last step gave a value another shape. */
    bool all_known;
} unrolled_t;

/* What the bodies of the library's loop get. */
typedef struct loop_body_t {
    gantry__onnx_steps_t *steps;
    bool has_condition; /* The condition is a variable. */
    int64_t first;      /* Steps that are done. */
    bool sets_outputs;
    gantry_status_t status; /* Of the body. */
} loop_body_t;

/* ---- slices ---- */

/* Inputs of a concatenation in rounds, because one takes a bounded number. */
static const gantry_tensor_t *join_in_rounds(gantry_scope_t *scope, const gantry_tensor_t **parts,
                                             size_t count, int32_t axis) {
    while (count > 1) {
        size_t joined = 0;
        for (size_t i = 0; i < count; i += MOST_JOINED) {
            const size_t some = count - i < MOST_JOINED ? count - i : MOST_JOINED;
            parts[joined++] = some == 1 ? parts[i] : gantry_concat(scope, parts + i, some, axis);
        }
        count = joined;
    }
    return parts[0];
}

const gantry_tensor_t *gantry__onnx_stack(gantry__onnx_call_t *call,
                                          const gantry_tensor_t *const *slices, size_t count,
                                          int64_t axis, bool reversed) {
    const gantry_tensor_t **parts = gantry__onnx_scratch(call, count, sizeof *parts);
    if (!parts) return NULL;
    for (size_t i = 0; i < count; ++i)
        parts[i] =
            gantry_expand_dims(call->scope, slices[reversed ? count - 1 - i : i], (int32_t)axis);
    return join_in_rounds(call->scope, parts, count, (int32_t)axis);
}

/* The axis of output i, whose slices have this rank. */
static gantry_status_t output_axis(const gantry__onnx_steps_t *steps, size_t i, int32_t rank,
                                   int64_t *out_axis) {
    const int64_t axis = steps->output_axes ? steps->output_axes[i] : 0;
    if (rank >= GANTRY_MAX_RANK)
        return gantry__onnx_unsupported(steps->call, "an output of the loop of rank %d", rank + 1);
    return gantry__onnx_axis(steps->call, axis, (uint32_t)rank + 1, out_axis);
}

/* Slice `number`, a scalar of int64, of input i. */
static const gantry_tensor_t *take_slice(const gantry__onnx_steps_t *steps, gantry_scope_t *scope,
                                         size_t i, const gantry_tensor_t *number) {
    if (steps->input_reversed && steps->input_reversed[i])
        number = gantry_sub(scope, gantry_scalar_i64(scope, steps->count - 1), number);
    return gantry_gather(scope, steps->inputs[i], number, (int32_t)steps->input_axes[i]);
}

/* The same for a number that is known. */
static const gantry_tensor_t *cut_slice(const gantry__onnx_steps_t *steps, size_t i,
                                        int64_t number) {
    const gantry_tensor_t *input = steps->inputs[i];
    const gantry_shape_t *shape = gantry_tensor_shape(input);
    const int32_t axis = (int32_t)steps->input_axes[i];
    int64_t begin[GANTRY_MAX_RANK] = {0}, size[GANTRY_MAX_RANK];
    for (int32_t k = 0; k < shape->rank; ++k) size[k] = shape->dims[k];
    begin[axis] =
        steps->input_reversed && steps->input_reversed[i] ? steps->count - 1 - number : number;
    size[axis] = 1;
    gantry_scope_t *scope = steps->call->scope;
    return gantry_squeeze(scope, gantry_slice(scope, input, begin, size), &axis, 1);
}

/* ---- a step ---- */

/* The size of a step's results: the condition of a Loop, carried values and slices. */
static size_t count_step_results(const gantry__onnx_steps_t *steps) {
    return steps->is_loop + steps->carried_count + steps->output_count;
}

/* Lowers the body. values begin with the carried ones; slices of inputs follow them. */
static gantry_status_t run_step_body(const gantry__onnx_steps_t *steps, gantry_scope_t *scope,
                                     const gantry_tensor_t *number,
                                     const gantry_tensor_t *condition,
                                     const gantry_tensor_t *const *values,
                                     const gantry_tensor_t **results) {
    gantry__onnx_run_t *run = steps->call->run;
    struct onnx_scratch_t *since = run->scratch;
    const size_t count = steps->body->input_count;
    const gantry_tensor_t **inputs = gantry__onnx_scratch(steps->call, count + 1, sizeof *inputs);
    if (!inputs) return GANTRY_RESOURCE_EXHAUSTED;
    size_t at = 0;
    if (steps->is_loop) {
        inputs[at++] = number;
        inputs[at++] = condition;
    }
    for (size_t i = 0; at < count; ++i) inputs[at++] = values[i];
    const gantry_status_t status =
        gantry__onnx_lower_subgraph(steps->call, scope, steps->body, inputs, results);
    gantry__onnx_scratch_free(run, since);
    return status;
}

/* ---- unrolled ---- */

static gantry_status_t begin_unrolled(const gantry__onnx_steps_t *steps, unrolled_t *unrolled) {
    gantry__onnx_call_t *call = steps->call;
    unrolled->values = gantry__onnx_scratch(call, steps->carried_count + steps->input_count + 1,
                                            sizeof *unrolled->values);
    unrolled->results =
        gantry__onnx_scratch(call, count_step_results(steps) + 1, sizeof *unrolled->results);
    unrolled->held = gantry__onnx_scratch(call, steps->carried_count + 1, sizeof *unrolled->held);
    unrolled->slices =
        gantry__onnx_scratch(call, steps->output_count + 1, sizeof *unrolled->slices);
    if (!unrolled->values || !unrolled->results || !unrolled->held || !unrolled->slices)
        return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i <= steps->carried_count; ++i) unrolled->held[i] = NULL;
    for (size_t i = 0; i < steps->output_count; ++i) unrolled->slices[i] = NULL;
    unrolled->condition = steps->condition;
    return GANTRY_OK;
}

/* Makes room for the slices of one more step. */
static gantry_status_t grow_slices(const gantry__onnx_steps_t *steps, unrolled_t *unrolled) {
    if ((size_t)unrolled->done < unrolled->capacity) return GANTRY_OK;
    const size_t capacity = unrolled->capacity ? 2 * unrolled->capacity : 16;
    for (size_t i = 0; i < steps->output_count; ++i) {
        const gantry_tensor_t **slices =
            gantry__onnx_scratch(steps->call, capacity, sizeof *slices);
        if (!slices) return GANTRY_RESOURCE_EXHAUSTED;
        if (unrolled->done)
            memcpy(slices, unrolled->slices[i], (size_t)unrolled->done * sizeof *slices);
        unrolled->slices[i] = slices;
    }
    unrolled->capacity = capacity;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_take_condition(gantry__onnx_call_t *call, const gantry_tensor_t *given,
                                            const gantry_tensor_t **out_condition) {
    gantry_scope_t *scope = gantry__onnx_is_known(call, given) ? call->host : call->scope;
    *out_condition = gantry_reshape(scope, given, GANTRY_SCALAR);
    return *out_condition ? GANTRY_OK : gantry_scope_status(scope);
}

/* Takes a step's results over. */
static gantry_status_t take_step_results(gantry__onnx_steps_t *steps, unrolled_t *unrolled) {
    gantry__onnx_call_t *call = steps->call;
    size_t at = 0;
    unrolled->all_known = true;
    if (steps->is_loop) {
        GANTRY__TRY(
            gantry__onnx_take_condition(call, unrolled->results[at++], &unrolled->condition));
        unrolled->all_known = gantry__onnx_is_known(call, unrolled->condition);
    }
    unrolled->changes_shapes = false;
    for (size_t i = 0; i < steps->carried_count; ++i) {
        const gantry_tensor_t *value = unrolled->results[at++];
        if (!gantry_shape_equal(gantry_tensor_shape(value), gantry_tensor_shape(steps->carried[i])))
            unrolled->changes_shapes = true;
        unrolled->all_known = unrolled->all_known && gantry__onnx_is_known(call, value);
        steps->carried[i] = value;
    }
    GANTRY__TRY(grow_slices(steps, unrolled));
    for (size_t i = 0; i < steps->output_count; ++i) {
        const gantry_tensor_t *value = unrolled->results[at++];
        unrolled->all_known = unrolled->all_known && gantry__onnx_is_known(call, value);
        unrolled->slices[i][unrolled->done] = value;
    }
    ++unrolled->done;
    return gantry_scope_status(call->scope);
}

/* One step whose number is known. */
static gantry_status_t unroll_step(gantry__onnx_steps_t *steps, unrolled_t *unrolled) {
    gantry__onnx_call_t *call = steps->call;
    const gantry_tensor_t **values = unrolled->values;
    for (size_t i = 0; i < steps->carried_count; ++i) values[i] = steps->carried[i];
    for (size_t i = 0; i < steps->input_count; ++i)
        values[steps->carried_count + i] = cut_slice(steps, i, unrolled->done);
    const gantry_tensor_t *number = gantry_scalar_i64(call->host, unrolled->done);
    const gantry_tensor_t *condition = unrolled->condition;
    if (!condition) condition = gantry__onnx_make_scalar(call, GANTRY_BOOL, 1);
    GANTRY__TRY(gantry_scope_status(call->scope));
    GANTRY__TRY(run_step_body(steps, call->scope, number, condition, values, unrolled->results));
    GANTRY__TRY(take_step_results(steps, unrolled));
    if (call->run->is_eager || unrolled->all_known) return GANTRY_OK;
    call->run->step_nodes += steps->body->node_count + 1;
    if (call->run->step_nodes <= MOST_STEP_NODES) return GANTRY_OK;
    return gantry__onnx_need_values(call, "the steps of loops in loops");
}

/* ---- op by op: a step's tensors end with it ---- */

/* The condition, or a carried value. */
static const gantry_tensor_t *handed_on(const gantry__onnx_steps_t *steps,
                                        const unrolled_t *unrolled, size_t i) {
    return i == 0 ? unrolled->condition : steps->carried[i - 1];
}

/* References to what a step hands on, in place of those of the step before. Those go last, because
 * a step may hand on what it got, at another place or as a slice. */
static void hold_step_results(const gantry__onnx_steps_t *steps, const unrolled_t *unrolled) {
    for (size_t i = 0; i < steps->output_count; ++i)
        (void)gantry_tensor_retain(unrolled->slices[i][unrolled->done - 1]);
    for (size_t i = 0; i <= steps->carried_count; ++i)
        if (handed_on(steps, unrolled, i))
            (void)gantry_tensor_retain(handed_on(steps, unrolled, i));
    for (size_t i = 0; i <= steps->carried_count; ++i) {
        gantry_tensor_release(unrolled->held[i]);
        unrolled->held[i] = (gantry_tensor_t *)handed_on(steps, unrolled, i);
    }
}

static void release_steps(const gantry__onnx_steps_t *steps, const unrolled_t *unrolled) {
    for (size_t i = 0; i <= steps->carried_count; ++i) gantry_tensor_release(unrolled->held[i]);
    for (size_t i = 0; i < steps->output_count; ++i)
        for (int64_t k = 0; k < unrolled->done; ++k)
            gantry_tensor_release((gantry_tensor_t *)unrolled->slices[i][k]);
}

/* Ends the scopes of a step, whose failure keeps its text. It must not be inlined, because loops in
 * loops would have many texts on the stack. */
static __attribute__((noinline)) gantry_status_t end_step(const gantry__onnx_call_t *own,
                                                          gantry_status_t status) {
    char text[GANTRY__MESSAGE_BYTES] = "";
    if (status != GANTRY_OK) (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    if (own->host) (void)gantry_scope_end(own->host);
    if (own->scope) (void)gantry_scope_end(own->scope);
    return status == GANTRY_OK ? GANTRY_OK : gantry_fail(status, text);
}

/* One step in scopes of its own. */
static gantry_status_t run_step_apart(gantry__onnx_steps_t *steps, unrolled_t *unrolled) {
    gantry__onnx_call_t *call = steps->call, own = *call;
    gantry__onnx_run_t *run = call->run;
    gantry_scope_t *host = run->host;
    const int64_t done = unrolled->done;
    own.scope = gantry_scope_begin_in(call->scope, NULL);
    own.host = gantry_scope_begin_in(call->host, NULL);
    gantry_status_t status = own.scope && own.host ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) {
        steps->call = &own;
        run->host = own.host;
        status = unroll_step(steps, unrolled);
        steps->call = call;
        run->host = host;
    }
    if (unrolled->done > done) hold_step_results(steps, unrolled);
    gantry__onnx_run_forget(run, steps->body);
    return end_step(&own, status);
}

/* Whether the condition is known. */
static bool knows_condition(const gantry__onnx_steps_t *steps, const unrolled_t *unrolled) {
    return !unrolled->condition || gantry__onnx_is_known(steps->call, unrolled->condition);
}

/* Whether all steps are done: no more are left, or the condition is known to be false. */
static gantry_status_t steps_have_ended(const gantry__onnx_steps_t *steps,
                                        const unrolled_t *unrolled, bool *out_ended) {
    bool goes_on = true;
    if (unrolled->condition && knows_condition(steps, unrolled))
        GANTRY__TRY(gantry_tensor_read(unrolled->condition, &goes_on, sizeof goes_on));
    *out_ended = !goes_on || (steps->count >= 0 && unrolled->done >= steps->count);
    return GANTRY_OK;
}

/* Whether one more step is unrolled. */
static bool unrolls_on(const gantry__onnx_steps_t *steps, const unrolled_t *unrolled) {
    const int64_t done = unrolled->done;
    if (!knows_condition(steps, unrolled)) return false;
    if (done == 0) return true;
    const size_t nodes = steps->body->node_count + 1;
    if (unrolled->all_known)
        return steps->call->run->is_eager || (uint64_t)done < MOST_KNOWN_NODES / nodes;
    /* A few steps, all of them; else the first one shows the shapes. */
    if (steps->count <= MOST_UNROLLED_STEPS) return true;
    if (!unrolled->changes_shapes && steps->count != INT64_MAX) return false;
    return (uint64_t)done < MOST_UNROLLED_NODES / nodes;
}

/* What sets the condition that a step hands on. */
typedef enum condition_source_t {
    CONDITION_OF_STEPS,   /* The steps, which may change it. */
    CONDITION_OF_OUTSIDE, /* A constant or a value from outside: the same after each step. */
    CONDITION_HANDED_ON   /* The condition that the step gets. */
} condition_source_t;

static condition_source_t find_condition_source(const gantry__onnx_steps_t *steps) {
    if (!steps->is_loop) return CONDITION_HANDED_ON;
    gantry__onnx_value_t value = steps->body->outputs[0];
    for (size_t i = steps->body->node_count; i-- > 0;) {
        const gantry__onnx_node_t *node = &steps->body->nodes[i];
        for (size_t k = 0; k < node->output_count; ++k) {
            if (node->outputs[k] != value) continue;
            if (strcmp(node->op, "Constant") == 0) return CONDITION_OF_OUTSIDE;
            if (strcmp(node->op, "Identity") != 0) return CONDITION_OF_STEPS;
            value = node->inputs[0];
        }
    }
    /* No node of the body makes it: an input, or a value from outside. */
    for (size_t i = 0; i < steps->body->input_count; ++i)
        if (steps->body->inputs[i] == value)
            return i == 1 ? CONDITION_HANDED_ON : CONDITION_OF_STEPS;
    return CONDITION_OF_OUTSIDE;
}

/* Whether the condition is known to stay as it is. One from outside shows after the first step. */
static bool condition_is_settled(const gantry__onnx_steps_t *steps, const unrolled_t *unrolled) {
    const condition_source_t source = find_condition_source(steps);
    return knows_condition(steps, unrolled) &&
           (source == CONDITION_HANDED_ON || (source == CONDITION_OF_OUTSIDE && unrolled->done));
}

/* Unrolls steps; *out_ended: all of them. */
static gantry_status_t unroll(gantry__onnx_steps_t *steps, unrolled_t *unrolled, bool *out_ended) {
    for (;;) {
        GANTRY__TRY(steps_have_ended(steps, unrolled, out_ended));
        if (!*out_ended && steps->count == INT64_MAX && unrolled->done > 0 &&
            condition_is_settled(steps, unrolled))
            return gantry__onnx_unsupported(steps->call, "a loop without an end");
        if (*out_ended || steps->count < 0 || !unrolls_on(steps, unrolled))
            return gantry_scope_status(steps->call->scope);
        GANTRY__TRY(steps->call->run->is_eager ? run_step_apart(steps, unrolled)
                                               : unroll_step(steps, unrolled));
    }
}

/* Slices for a body that never runs, which shows the shapes of outputs without rows. */
static gantry_status_t try_body(gantry__onnx_steps_t *steps, unrolled_t *unrolled) {
    gantry__onnx_call_t *call = steps->call;
    const size_t count = steps->carried_count + steps->input_count;
    const gantry_tensor_t **values = gantry__onnx_scratch(call, count + 1, sizeof *values);
    if (!values) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < steps->carried_count; ++i) values[i] = steps->carried[i];
    for (size_t i = 0; i < steps->input_count; ++i) {
        gantry_shape_t shape = *gantry_tensor_shape(steps->inputs[i]);
        shape.dims[steps->input_axes[i]] = 1;
        const int32_t axis = (int32_t)steps->input_axes[i];
        const gantry_tensor_t *row =
            gantry_zeros(call->scope, gantry_tensor_dtype(steps->inputs[i]), shape);
        values[steps->carried_count + i] = gantry_squeeze(call->scope, row, &axis, 1);
    }
    GANTRY__TRY(gantry_scope_status(call->scope));
    return run_step_body(steps, call->scope, gantry_scalar_i64(call->host, 0),
                         gantry__onnx_make_scalar(call, GANTRY_BOOL, 1), values, unrolled->results);
}

/* The slices of outputs without rows as the file declares them, because the body does not run on
 * the values that the loop begins with. Otherwise the body's failure stays. */
static gantry_status_t declare_slices(const gantry__onnx_steps_t *steps, unrolled_t *unrolled,
                                      gantry_status_t status) {
    gantry__onnx_call_t *call = steps->call;
    const size_t first = steps->is_loop + steps->carried_count;
    const gantry__onnx_value_info_t *values = call->run->constants->plan.model->values;
    if (status == GANTRY_RESOURCE_EXHAUSTED || call->run->needs_node) return status;
    for (size_t i = 0; i < steps->output_count; ++i) {
        const gantry__onnx_type_t *type = &values[steps->body->outputs[first + i]].type;
        if (type->kind != GANTRY__ONNX_TENSOR || type->rank < 0 || type->rank > GANTRY_MAX_RANK ||
            gantry__onnx_stored_dtype(type->element) == GANTRY_DTYPE_NONE)
            return status;
    }
    gantry_scope_clear(call->host);
    gantry_scope_clear(call->scope);
    call->run->is_reported = false;
    for (size_t i = 0; i < steps->output_count; ++i) {
        const gantry__onnx_type_t *type = &values[steps->body->outputs[first + i]].type;
        gantry_shape_t shape = {.rank = type->rank};
        for (int32_t k = 0; k < shape.rank; ++k)
            shape.dims[k] = type->dims[k].size < 0 ? 0 : type->dims[k].size;
        unrolled->results[first + i] =
            gantry_zeros(call->scope, gantry__onnx_stored_dtype(type->element), shape);
    }
    return gantry_scope_status(call->scope);
}

/* Output i of a loop without steps. */
static gantry_status_t give_no_rows(gantry__onnx_steps_t *steps, const unrolled_t *unrolled,
                                    size_t i) {
    const gantry_tensor_t *slice = unrolled->results[steps->is_loop + steps->carried_count + i];
    gantry_shape_t shape = *gantry_tensor_shape(slice);
    int64_t axis = 0;
    GANTRY__TRY(output_axis(steps, i, shape.rank, &axis));
    for (int32_t k = shape.rank; k > axis; --k) shape.dims[k] = shape.dims[k - 1];
    shape.dims[axis] = 0;
    ++shape.rank;
    steps->outputs[i] = gantry_zeros(steps->call->scope, gantry_tensor_dtype(slice), shape);
    return GANTRY_OK;
}

/* Outputs of a loop without steps. */
static gantry_status_t finish_without_steps(gantry__onnx_steps_t *steps, unrolled_t *unrolled) {
    gantry__onnx_run_t *run = steps->call->run;
    const size_t first_node = run->first_node;
    const gantry_status_t status = try_body(steps, unrolled);
    run->first_node = first_node;
    if (status != GANTRY_OK) GANTRY__TRY(declare_slices(steps, unrolled, status));
    for (size_t i = 0; i < steps->output_count; ++i) GANTRY__TRY(give_no_rows(steps, unrolled, i));
    return gantry_scope_status(steps->call->scope);
}

/* Outputs of steps that are all unrolled. */
static gantry_status_t finish_unrolled(gantry__onnx_steps_t *steps, unrolled_t *unrolled) {
    gantry__onnx_call_t *call = steps->call;
    if (unrolled->done == 0 && steps->output_count) return finish_without_steps(steps, unrolled);
    for (size_t i = 0; i < steps->output_count; ++i) {
        const gantry_tensor_t *const *slices = unrolled->slices[i];
        const bool reversed = steps->output_reversed && steps->output_reversed[i];
        int64_t axis = 0;
        GANTRY__TRY(output_axis(steps, i, gantry_tensor_shape(slices[0])->rank, &axis));
        steps->outputs[i] =
            gantry__onnx_stack(call, slices, (size_t)unrolled->done, axis, reversed);
    }
    return gantry_scope_status(call->scope);
}

/* ---- a loop of the library ---- */

/* The loop goes on while steps are left and the condition holds. */
static void loop_condition(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    const loop_body_t *loop = user;
    const gantry__onnx_steps_t *steps = loop->steps;
    const gantry_tensor_t *most = steps->most;
    if (steps->count >= 0 && steps->count != INT64_MAX)
        most = gantry_scalar_i64(scope, steps->count);
    const gantry_tensor_t *goes_on = most ? gantry_less(scope, inputs[0], most) : NULL;
    if (loop->has_condition)
        goes_on = goes_on ? gantry_logical_and(scope, goes_on, inputs[1])
                          : gantry_identity(scope, inputs[1]);
    outputs[0] = goes_on;
}

/* Writes the step's slice of output i into its row. */
static const gantry_tensor_t *write_row(const loop_body_t *loop, gantry_scope_t *scope,
                                        const gantry_tensor_t *rows, const gantry_tensor_t *slice,
                                        const gantry_tensor_t *number) {
    const gantry_tensor_t *row = gantry_sub(scope, number, gantry_scalar_i64(scope, loop->first));
    const int32_t rank = gantry_tensor_shape(rows)->rank;
    const gantry_tensor_t *starts = gantry_reshape(scope, row, GANTRY_SHAPE(1));
    if (rank > 1) {
        const gantry_tensor_t *parts[2] = {
            starts, gantry_zeros(scope, GANTRY_INT64, GANTRY_SHAPE(rank - 1))};
        starts = gantry_concat(scope, parts, 2, 0);
    }
    return gantry_dynamic_update_slice(scope, rows, gantry_expand_dims(scope, slice, 0), starts);
}

/* The results of a step as the variables of the next one. */
static void set_variables(const loop_body_t *loop, gantry_scope_t *scope,
                          const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t *const *results, const gantry_tensor_t **outputs) {
    const gantry__onnx_steps_t *steps = loop->steps;
    size_t at = 0;
    outputs[at++] = gantry_add(scope, inputs[0], gantry_scalar_i64(scope, 1));
    if (loop->has_condition)
        outputs[at++] = gantry_identity(scope, gantry_reshape(scope, results[0], GANTRY_SCALAR));
    results += steps->is_loop;
    for (size_t i = 0; i < steps->carried_count; ++i)
        outputs[at++] = gantry_identity(scope, *results++);
    for (size_t i = 0; loop->sets_outputs && i < steps->output_count; ++i, ++at)
        outputs[at] = write_row(loop, scope, inputs[at], results[i], inputs[0]);
}

static void loop_step(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    loop_body_t *loop = user;
    const gantry__onnx_steps_t *steps = loop->steps;
    gantry__onnx_call_t *call = steps->call;
    const size_t count = steps->carried_count + steps->input_count;
    const gantry_tensor_t **values = gantry__onnx_scratch(call, count + 1, sizeof *values);
    const gantry_tensor_t **results =
        gantry__onnx_scratch(call, count_step_results(steps) + 1, sizeof *results);
    loop->status = GANTRY_RESOURCE_EXHAUSTED;
    if (values && results) {
        const gantry_tensor_t *const *carried = inputs + 1 + loop->has_condition;
        for (size_t i = 0; i < steps->carried_count; ++i) values[i] = carried[i];
        for (size_t i = 0; i < steps->input_count; ++i)
            values[steps->carried_count + i] = take_slice(steps, scope, i, inputs[0]);
        const gantry_tensor_t *condition = loop->has_condition ? inputs[1] : steps->condition;
        if (!condition) condition = gantry__onnx_make_scalar(call, GANTRY_BOOL, 1);
        loop->status = run_step_body(steps, scope, inputs[0], condition, values, results);
    }
    if (loop->status == GANTRY_OK)
        set_variables(loop, scope, inputs, results, outputs);
    else
        gantry_scope_fail(scope, loop->status, gantry_last_message());
}

/* Rows for the steps that are left, of the shapes that the first step showed. */
static gantry_status_t reserve_rows(const loop_body_t *loop, const unrolled_t *unrolled,
                                    const gantry_tensor_t **variables) {
    const gantry__onnx_steps_t *steps = loop->steps;
    for (size_t i = 0; i < steps->output_count; ++i) {
        gantry_shape_t shape = *gantry_tensor_shape(unrolled->slices[i][0]);
        GANTRY__TRY(gantry__onnx_need_shape(steps->call, unrolled->slices[i][0]));
        if (shape.rank == GANTRY_MAX_RANK)
            return gantry__onnx_unsupported(steps->call, "an output of the loop of rank %d",
                                            shape.rank + 1);
        memmove(shape.dims + 1, shape.dims, (size_t)shape.rank * sizeof *shape.dims);
        shape.dims[0] = steps->count - loop->first;
        ++shape.rank;
        variables[i] =
            gantry_zeros(steps->call->scope, gantry_tensor_dtype(unrolled->slices[i][0]), shape);
    }
    return gantry_scope_status(steps->call->scope);
}

/* Output i: the unrolled rows, then those of the loop, with the axis at its place. */
static gantry_status_t join_step_rows(gantry__onnx_steps_t *steps, const unrolled_t *unrolled,
                                      size_t i, const gantry_tensor_t *rows) {
    gantry__onnx_call_t *call = steps->call;
    const gantry_tensor_t *parts[2] = {
        gantry__onnx_stack(call, unrolled->slices[i], (size_t)unrolled->done, 0, false), rows};
    const gantry_tensor_t *all = gantry_concat(call->scope, parts, 2, 0);
    const int32_t first = 0, rank = gantry_tensor_shape(all)->rank;
    if (steps->output_reversed && steps->output_reversed[i])
        all = gantry_reverse(call->scope, all, &first, 1);
    int64_t axis = 0;
    GANTRY__TRY(output_axis(steps, i, rank - 1, &axis));
    int32_t order[GANTRY_MAX_RANK];
    for (int32_t k = 0; k < rank; ++k) order[k] = k < axis ? k + 1 : k == axis ? 0 : k;
    steps->outputs[i] = axis ? gantry_transpose(call->scope, all, order) : all;
    return gantry_scope_status(call->scope);
}

/* The loop has no sizes that are known: needs the values, op by op. */
static gantry_status_t need_steps(gantry__onnx_steps_t *steps) {
    gantry_scope_clear(steps->call->scope);
    int64_t ignored = 0;
    if (steps->count < 0) return gantry__onnx_get_int(steps->call, 0, "M", 0, &ignored);
    return gantry__onnx_need_values(steps->call, "the steps of the loop");
}

/* Runs the steps that are left as a loop of the library. */
static gantry_status_t run_step_loop(gantry__onnx_steps_t *steps, unrolled_t *unrolled) {
    gantry__onnx_call_t *call = steps->call;
    loop_body_t loop = {.steps = steps, .first = unrolled->done};
    loop.has_condition = !condition_is_settled(steps, unrolled);
    loop.sets_outputs = steps->output_count > 0;
    const bool has_end = steps->count >= 0 && steps->count != INT64_MAX;
    if (!has_end && !steps->most && !loop.has_condition)
        return gantry__onnx_unsupported(call, "a loop without an end");
    if (unrolled->changes_shapes ||
        (loop.sets_outputs && (loop.has_condition || !has_end || unrolled->done == 0)))
        return need_steps(steps);
    const size_t count = 1 + loop.has_condition + steps->carried_count + steps->output_count;
    const gantry_tensor_t **variables = gantry__onnx_scratch(call, count, sizeof *variables);
    if (!variables) return GANTRY_RESOURCE_EXHAUSTED;
    size_t at = 0;
    variables[at++] = gantry_scalar_i64(call->scope, loop.first);
    if (loop.has_condition)
        variables[at++] = unrolled->condition ? unrolled->condition
                                              : gantry__onnx_make_scalar(call, GANTRY_BOOL, 1);
    for (size_t i = 0; i < steps->carried_count; ++i) variables[at++] = steps->carried[i];
    if (loop.sets_outputs) GANTRY__TRY(reserve_rows(&loop, unrolled, variables + at));
    const gantry_while_options_t options = {.struct_size = sizeof options,
                                            .most_steps = GANTRY__ONNX_MOST_STEPS};
    const gantry_status_t status = gantry_while(call->scope, loop_condition, loop_step, &loop,
                                                variables, count, &options, variables);
    if (status != GANTRY_OK && loop.status == GANTRY_OK && unrolled->done == 0)
        return need_steps(steps);
    GANTRY__TRY(status);
    at -= steps->carried_count;
    for (size_t i = 0; i < steps->carried_count; ++i) steps->carried[i] = variables[at++];
    for (size_t i = 0; i < steps->output_count; ++i)
        GANTRY__TRY(join_step_rows(steps, unrolled, i, variables[at++]));
    return GANTRY_OK;
}

/* Steps that run op by op; what they hand on becomes the scope's. */
static gantry_status_t run_steps_apart(gantry__onnx_steps_t *steps, unrolled_t *unrolled) {
    bool ended = false;
    gantry_status_t status = unroll(steps, unrolled, &ended);
    if (status == GANTRY_OK)
        status = ended ? finish_unrolled(steps, unrolled) : run_step_loop(steps, unrolled);
    for (size_t i = 0; status == GANTRY_OK && unrolled->done > 0 && i < steps->carried_count; ++i)
        steps->carried[i] = gantry_identity(steps->call->scope, steps->carried[i]);
    release_steps(steps, unrolled);
    return status == GANTRY_OK ? gantry_scope_status(steps->call->scope) : status;
}

gantry_status_t gantry__onnx_run_steps(gantry__onnx_steps_t *steps) {
    unrolled_t unrolled = {.done = 0};
    bool ended = false;
    GANTRY__TRY(begin_unrolled(steps, &unrolled));
    if (steps->call->run->is_eager) return run_steps_apart(steps, &unrolled);
    GANTRY__TRY(unroll(steps, &unrolled, &ended));
    if (ended) return finish_unrolled(steps, &unrolled);
    return run_step_loop(steps, &unrolled);
}
