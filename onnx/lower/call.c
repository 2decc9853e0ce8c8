/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, outputs and ops of a call, its memory, prepared constants. */
#include <stdio.h>
#include <string.h>

#include <gantry/gantry.h>

#include "shared/memory.h"
#include "onnx/lower/run.h"

typedef const gantry_tensor_t tensor;

/* ---- inputs and outputs ---- */

tensor *gantry__onnx_input(const gantry__onnx_call_t *call, size_t i) {
    return i < call->input_count ? call->inputs[i] : NULL;
}

bool gantry__onnx_has_input(const gantry__onnx_call_t *call, size_t i) {
    return i < call->node->input_count && call->node->inputs[i] != GANTRY__ONNX_NO_VALUE;
}

bool gantry__onnx_wants(const gantry__onnx_call_t *call, size_t i) {
    return i < call->output_count && call->node->outputs[i] != GANTRY__ONNX_NO_VALUE &&
           call->run->constants->plan.is_needed[call->node->outputs[i]];
}

/* Of both scopes; a number that the host could not make is the cause of what an op says of it. */
static gantry_status_t call_status_of(const gantry__onnx_call_t *call) {
    const gantry_scope_t *failed =
        gantry_scope_status(call->host) != GANTRY_OK ? call->host : call->scope;
    const gantry_status_t status = gantry_scope_status(failed);
    if (status == GANTRY_OK) return GANTRY_OK;
    return gantry_fail(status, gantry_scope_message(failed));
}

gantry_status_t gantry__onnx_set(gantry__onnx_call_t *call, size_t i, tensor *x) {
    GANTRY__TRY(call_status_of(call));
    if (!x) return gantry__fail(GANTRY_INTERNAL, "output %zu was not made", i);
    if (i < call->output_count) call->outputs[i] = x;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_give(gantry__onnx_call_t *call, tensor *x) {
    return gantry__onnx_set(call, 0, x);
}

/* ---- ops ---- */

tensor *gantry__onnx_op(gantry__onnx_call_t *call, const char *op, tensor *const *inputs,
                        size_t input_count, const gantry_attr_value_t *attrs, size_t attr_count) {
    tensor *outputs[GANTRY_MAX_OP_OUTPUTS] = {NULL};
    size_t count = GANTRY_MAX_OP_OUTPUTS;
    if (gantry_op_call(call->scope, op, inputs, input_count, attrs, attr_count, outputs, &count) !=
        GANTRY_OK)
        return NULL;
    return outputs[0];
}

tensor *gantry__onnx_op1(gantry__onnx_call_t *call, const char *op, tensor *x) {
    return x ? gantry__onnx_op(call, op, &x, 1, NULL, 0) : NULL;
}

tensor *gantry__onnx_op2(gantry__onnx_call_t *call, const char *op, tensor *x, tensor *y) {
    tensor *const inputs[] = {x, y};
    return x && y ? gantry__onnx_op(call, op, inputs, 2, NULL, 0) : NULL;
}

gantry_status_t gantry__onnx_lower_plain(gantry__onnx_call_t *call) {
    return gantry__onnx_give(
        call, gantry__onnx_op(call, call->row->text, call->inputs, call->input_count, NULL, 0));
}

/* ---- memory ---- */

struct onnx_scratch_t {
    struct onnx_scratch_t *next;
};

void *gantry__onnx_scratch(gantry__onnx_call_t *call, size_t count, size_t item_bytes) {
    /* rounded up, so that any type may follow */
    const size_t head = (sizeof(struct onnx_scratch_t) + 15) / 16 * 16;
    const bool fits = item_bytes == 0 || count <= (SIZE_MAX - head) / item_bytes;
    struct onnx_scratch_t *block = gantry__alloc(fits ? head + count * item_bytes : SIZE_MAX, 1);
    if (!block) {
        call->run->is_out_of_memory = true;
        return NULL;
    }
    block->next = call->run->scratch;
    call->run->scratch = block;
    return (char *)block + head;
}

void gantry__onnx_scratch_free(gantry__onnx_run_t *run, struct onnx_scratch_t *since) {
    while (run->scratch != since) {
        struct onnx_scratch_t *next = run->scratch->next;
        gantry__free(run->scratch);
        run->scratch = next;
    }
}

/* ---- prepared constants ---- */

/* Makes it in a scope of its own on the host, so that what it took on the way goes at once. */
static gantry_status_t make_prepared(gantry__onnx_call_t *call, tensor *input,
                                     gantry__onnx_make_fn make, gantry_tensor_t **out_made) {
    char text[GANTRY__MESSAGE_BYTES];
    gantry_scope_t *scope = gantry_scope_begin(gantry_scope_runtime(call->host), "/CPU:0");
    if (!scope) return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "out of host memory: a scope");
    tensor *made = make(call, scope, input);
    gantry_status_t status = gantry_scope_status(scope);
    if (status == GANTRY_OK && !made)
        status = gantry__fail(GANTRY_INTERNAL, "a constant was not prepared");
    if (status == GANTRY_OK)
        status = gantry__onnx_constants_settle(call->run->constants, scope, made, out_made);
    (void)snprintf(
        text, sizeof text, "%s",
        gantry_scope_status(scope) ? gantry_scope_message(scope) : gantry_last_message());
    (void)gantry_scope_end(scope);
    if (status != GANTRY_OK) return gantry_fail(status, text);
    gantry__onnx_constants_trim(call->run->constants->runtime, gantry_tensor_bytes(*out_made));
    return GANTRY_OK;
}

tensor *gantry__onnx_prepared(gantry__onnx_call_t *call, size_t i, uint32_t key,
                              gantry__onnx_make_fn make) {
    gantry__onnx_constants_t *constants = call->run->constants;
    if (!gantry__onnx_constants_has(constants, call->node->inputs[i]) ||
        call->run->is_constant_node)
        return make(call, call->scope, call->inputs[i]);
    gantry_tensor_t *made = gantry__onnx_constants_find(constants, call->node, (uint32_t)i, key);
    gantry_status_t status = GANTRY_OK;
    if (!made) {
        status = make_prepared(call, call->inputs[i], make, &made);
        if (status == GANTRY_OK)
            status = gantry__onnx_constants_add(constants, call->node, (uint32_t)i, key, &made);
    }
    /* The constants have a reference, too, and outlive the run. */
    gantry_tensor_release(made);
    if (i < 64) call->prepared |= UINT64_C(1) << i;
    if (status == GANTRY_OK) return made;
    (void)gantry_scope_fail(call->scope, status, gantry_last_message());
    return NULL;
}
