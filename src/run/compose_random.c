/* Random ops with a state, and permutations: a place in a stream, then the op that draws from there. */
#include <gantry/ops.h>

#include "run/call_op.h"
#include "run/compose.h"
#include "run/random_inputs.h"

/* ---- with a state ---- */

static bool take(const gantry__compose_t *c, uint64_t blocks, gantry__random_place_t *out_place) {
    gantry_status_t status = gantry__random_take(&c->scope->runtime->random, c->call, blocks, out_place);
    if (status != GANTRY_OK) (void)gantry__scope_fail(c->scope, status);
    return status == GANTRY_OK;
}

/* The call's first input, the place, the others. */
static void draw(const gantry__compose_t *c, gantry__op_id_t part, const char *type_attr) {
    const gantry_attr_value_t attr = {.name = type_attr, .kind = GANTRY_KIND_TYPE, .i = (int64_t)c->call->out_dtypes[0]};
    gantry__random_place_t place;
    if (!take(c, gantry__random_blocks(gantry_shape_elements(&c->call->out_shapes[0])), &place)) return;
    c->outputs[0] = gantry__draw_from(c->scope, part, &place, c->inputs, c->call->input_count, 1, &attr);
}

void gantry__compose_random_uniform(const gantry__compose_t *c) {
    draw(c, GANTRY__OP_ID_STATELESS_RANDOM_UNIFORM_V2, "dtype");
}

void gantry__compose_random_standard_normal(const gantry__compose_t *c) {
    draw(c, GANTRY__OP_ID_STATELESS_RANDOM_NORMAL_V2, "dtype");
}

void gantry__compose_truncated_normal(const gantry__compose_t *c) {
    draw(c, GANTRY__OP_ID_STATELESS_TRUNCATED_NORMAL_V2, "dtype");
}

void gantry__compose_random_uniform_int(const gantry__compose_t *c) {
    draw(c, GANTRY__OP_ID_STATELESS_RANDOM_UNIFORM_INT_V2, "dtype");
}

/* TensorFlow reserves two words for each sample, of a multiple of four samples per row. */
void gantry__compose_multinomial(const gantry__compose_t *c) {
    const gantry_attr_value_t attr = {
        .name = "output_dtype", .kind = GANTRY_KIND_TYPE, .i = (int64_t)c->call->out_dtypes[0]};
    const int64_t *dims = c->call->out_shapes[0].dims;
    gantry__random_place_t place;
    if (!take(c, gantry__random_blocks(dims[0] * ((dims[1] + 3) / 4 * 8)), &place)) return;
    c->outputs[0] =
        gantry__draw_from(c->scope, GANTRY__OP_ID_STATELESS_MULTINOMIAL_V2, &place, c->inputs, 2, 2, &attr);
}

/* True when there is but one order. */
static bool is_fixed(const gantry_tensor_t *value) {
    return value->elements <= 1 || value->shape.dims[0] <= 1;
}

/* A word for each row but the last. */
void gantry__compose_random_shuffle(const gantry__compose_t *c) {
    const gantry_tensor_t *value = c->inputs[0];
    gantry__random_place_t place;
    if (is_fixed(value)) {
        c->outputs[0] = value;
    } else if (take(c, ((uint64_t)value->shape.dims[0] + 2) / 4, &place)) {
        c->outputs[0] = gantry__draw_from(c->scope, GANTRY__OP_ID_STATELESS_SHUFFLE, &place, c->inputs, 1, 1, NULL);
    }
}

/* ---- permutations ----
 *
 * Fisher and Yates's, from the front: row i changes places with row i + (word i) % (rows left). One step waits for the
 * other, so the order is made on the host, of words that the CPU makes at once; the device gets it as indices of a
 * Gather and is not waited for. */

static void permute(int32_t *order, int32_t rows, const uint32_t *words) {
    for (int32_t i = 0; i < rows; ++i) order[i] = i;
    for (int32_t i = 0; i < rows - 1; ++i) {
        int32_t other = i + (int32_t)(words[i] % (uint32_t)(rows - i));
        int32_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* A word for each row but the last, on the host. */
static const gantry_tensor_t *make_words(const gantry__compose_t *c, int64_t rows) {
    const gantry_attr_value_t attr = {.name = "dtype", .kind = GANTRY_KIND_TYPE, .i = GANTRY_UINT32};
    const int64_t count = rows - 1;
    const gantry_tensor_t *shape = gantry__compose_host(c, GANTRY_INT64, GANTRY_SHAPE(1), &count);
    const gantry_tensor_t *inputs[] = {shape, c->inputs[1], c->inputs[2], c->inputs[3]};
    const gantry_tensor_t *words = NULL;
    if (shape) {
        (void)gantry__run_op(c->scope, gantry__op_get(GANTRY__OP_ID_STATELESS_RANDOM_UNIFORM_FULL_INT_V2), inputs, 4,
                             &attr, 1, c->scope->runtime->host, &words);
    }
    return words;
}

static gantry_status_t make_order(const gantry__compose_t *c, int64_t rows, const gantry_tensor_t **out_order) {
    const gantry__heap_t *heap = &c->scope->runtime->heap;
    const void *words;
    void *owned;
    const gantry_tensor_t *tensor = make_words(c, rows);
    if (!tensor) return c->scope->status;
    GANTRY__TRY(gantry__tensor_host_data(tensor, &words, &owned)); /* of the host: nothing is copied */
    int32_t *order = gantry__heap_alloc(heap, (size_t)rows * sizeof *order);
    if (order) {
        permute(order, (int32_t)rows, words);
        *out_order = gantry__compose_host(c, GANTRY_INT32, GANTRY_SHAPE(rows), order);
    }
    gantry__heap_free(heap, order, order ? (size_t)rows * sizeof *order : 0);
    gantry__heap_free(heap, owned, owned ? tensor->size_bytes : 0);
    return order ? c->scope->status : GANTRY_RESOURCE_EXHAUSTED;
}

void gantry__compose_stateless_shuffle(const gantry__compose_t *c) {
    const gantry_tensor_t *value = c->inputs[0], *order = NULL;
    gantry_status_t status = GANTRY_OK;
    if (is_fixed(value)) {
        c->outputs[0] = value;
        return;
    }
    if (value->shape.dims[0] > INT32_MAX) {
        status = gantry__fail(GANTRY_UNIMPLEMENTED, "%lld rows are to be shuffled; at most %d can be",
                              (long long)value->shape.dims[0], INT32_MAX);
    }
    if (status == GANTRY_OK) status = make_order(c, value->shape.dims[0], &order);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(c->scope, status);
        return;
    }
    c->outputs[0] = gantry_gather(c->scope, value, order, 0);
}
