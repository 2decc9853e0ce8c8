/* SPDX-License-Identifier: Apache-2.0 */
/* Random ops with a state, and permutations: a position in a stream, then the op that draws from
 * there. */
#include <gantry/ops.h>

#include <inttypes.h>
#include <string.h>

#include "run/call_op.h"
#include "compose/compose.h"
#include "run/random_inputs.h"
#include "run/trace_hooks.h"

typedef const gantry_tensor_t tensor;

/* ---- with a state ---- */

/* Takes counter steps of a stream. In a trace the op is a node that draws in each call. */
static bool compose_random_take(const gantry__compose_t *c, uint64_t blocks,
                                gantry__draw_t *out_draw) {
    gantry_runtime_t *runtime = c->scope->runtime;
    *out_draw = (gantry__draw_t){.blocks = blocks};
    gantry__random_state_t *state = &runtime->random;
    gantry__draws_t **own = c->scope->own_draws;
    gantry_status_t status =
        c->scope->trace ? gantry__trace_draws(c->scope, c->call, own, &out_draw->draws)
                        : gantry__random_take(state, c->call, own, blocks, &out_draw->place);
    if (status != GANTRY_OK) (void)gantry__scope_fail(c->scope, status);
    return status == GANTRY_OK;
}

static tensor *draw_and_end(const gantry__compose_t *c, gantry__op_id_t part,
                            const gantry__draw_t *draw, uint32_t input_count, uint32_t before,
                            const gantry_attr_value_t *attr) {
    tensor *drawn = gantry__draw_from(c->scope, part, draw, c->inputs, input_count, before, attr);
    gantry__draws_release(draw->draws);
    return drawn;
}

/* Inputs are the call's first one, the position, the others. */
static void compose_random_draw(const gantry__compose_t *c, gantry__op_id_t part,
                                const char *type_attr) {
    const gantry_attr_value_t attr = gantry__attr_type(type_attr, c->call->out_dtypes[0]);
    gantry__draw_t draw;
    if (!compose_random_take(
            c, gantry__random_blocks(gantry_shape_elements(&c->call->out_shapes[0])), &draw))
        return;
    c->outputs[0] = draw_and_end(c, part, &draw, c->call->input_count, 1, &attr);
}

void gantry__compose_random_uniform(const gantry__compose_t *c) {
    compose_random_draw(c, GANTRY__OP_ID_StatelessRandomUniformV2, "dtype");
}

void gantry__compose_random_standard_normal(const gantry__compose_t *c) {
    compose_random_draw(c, GANTRY__OP_ID_StatelessRandomNormalV2, "dtype");
}

void gantry__compose_truncated_normal(const gantry__compose_t *c) {
    compose_random_draw(c, GANTRY__OP_ID_StatelessTruncatedNormalV2, "dtype");
}

void gantry__compose_random_uniform_int(const gantry__compose_t *c) {
    compose_random_draw(c, GANTRY__OP_ID_StatelessRandomUniformIntV2, "dtype");
}

/* TensorFlow reserves two words for each sample, of a multiple of four samples per row. */
void gantry__compose_multinomial(const gantry__compose_t *c) {
    const gantry_attr_value_t attr = gantry__attr_type("output_dtype", c->call->out_dtypes[0]);
    const int64_t *dims = c->call->out_shapes[0].dims;
    gantry__draw_t draw;
    if (!compose_random_take(c, gantry__random_blocks(dims[0] * ((dims[1] + 3) / 4 * 8)), &draw))
        return;
    c->outputs[0] = draw_and_end(c, GANTRY__OP_ID_StatelessMultinomialV2, &draw, 2, 2, &attr);
}

/* Whether there is only one order. */
static bool is_fixed(tensor *value) { return value->elements <= 1 || value->shape.dims[0] <= 1; }

/* A word for each row but the last. */
void gantry__compose_random_shuffle(const gantry__compose_t *c) {
    tensor *value = c->inputs[0];
    gantry__draw_t draw;
    if (is_fixed(value)) {
        c->outputs[0] = value;
    } else if (compose_random_take(c, ((uint64_t)value->shape.dims[0] + 2) / 4, &draw)) {
        c->outputs[0] = draw_and_end(c, GANTRY__OP_ID_StatelessShuffle, &draw, 1, 1, NULL);
    }
}

/* ---- permutations ----
 *
 * The shuffle of Fisher and Yates, from the front: row i is exchanged with row i + (word i) % (rows
 * left). Each step depends on the one before, so the host makes the order. The device gets it as
 * indices of a Gather and is not waited for. */

static void permute(int32_t *order, int32_t rows, gantry__philox_t place) {
    uint32_t words[4] = {0};
    for (int32_t i = 0; i < rows; ++i) order[i] = i;
    for (int32_t i = 0; i < rows - 1; ++i) {
        if (i % 4 == 0) gantry__philox_words(gantry__philox_skip(place, (uint64_t)(i / 4)), words);
        int32_t other = i + (int32_t)(words[i % 4] % (uint32_t)(rows - i));
        int32_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

static gantry_status_t compose_random_read_input(const gantry__compose_t *c, uint32_t input,
                                                 void *out, size_t bytes) {
    const void *data;
    void *owned;
    GANTRY__TRY(gantry__tensor_host_data(c->inputs[input], &data, &owned));
    memcpy(out, data, bytes);
    gantry__heap_free(&c->scope->runtime->heap, owned, owned ? c->inputs[input]->size_bytes : 0);
    return GANTRY_OK;
}

static gantry_status_t make_order(const gantry__compose_t *c, int64_t rows, tensor **out_order) {
    const gantry__heap_t *heap = &c->scope->runtime->heap;
    gantry__philox_t place;
    if (rows > INT32_MAX) {
        return gantry__fail(GANTRY_UNIMPLEMENTED,
                            "%" PRId64 " rows are to be shuffled; at most %" PRId32 " can be", rows,
                            INT32_MAX);
    }
    GANTRY__TRY(compose_random_read_input(c, 1, &place.key, sizeof place.key));
    GANTRY__TRY(compose_random_read_input(c, 2, place.counter, sizeof place.counter));
    int32_t *order = gantry__heap_alloc(heap, (size_t)rows * sizeof *order);
    if (!order) return GANTRY_RESOURCE_EXHAUSTED;
    permute(order, (int32_t)rows, place);
    *out_order = gantry__compose_host(c, GANTRY_INT32, &GANTRY_SHAPE(rows), order);
    gantry__heap_free(heap, order, (size_t)rows * sizeof *order);
    return c->scope->status;
}

void gantry__compose_stateless_shuffle(const gantry__compose_t *c) {
    tensor *value = c->inputs[0], *order = NULL;
    if (is_fixed(value)) {
        c->outputs[0] = value;
        return;
    }
    gantry_status_t status = make_order(c, value->shape.dims[0], &order);
    if (status == GANTRY_OK) {
        c->outputs[0] = gantry_gather(c->scope, value, order, 0);
    } else {
        (void)gantry__scope_fail(c->scope, status);
    }
}
