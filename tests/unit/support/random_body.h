/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of random bodies (random_blocks.h) without branches and loops. Header only.
 *
 * A body keeps a pool of tensors and takes each step's operands from it: elementwise ops of four
 * types with broadcasting, comparisons, selects, casts, reductions, products, pieces, composed ops,
 * ops of several results, values of sizes that depend on data, constants, draws, calls of a
 * function, and reads and assignments of two variables.
 *
 * Ops whose last bits differ between devices (products, softmax) get operands for which they are
 * exact, or that the placer does not move. */
#ifndef TESTS_RANDOM_BODY_H
#define TESTS_RANDOM_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include <gantry/gantry.h>

enum {
    RANDOM_GRAPH_POOL = 128,
    RANDOM_GRAPH_INPUTS = 3,
    RANDOM_GRAPH_OUTPUTS = 4,
    RANDOM_GRAPH_VARIABLES = 2,
    RANDOM_GRAPH_RESULTS = RANDOM_GRAPH_OUTPUTS + RANDOM_GRAPH_VARIABLES,
    RANDOM_GRAPH_SCOPES = 4,
    RANDOM_GRAPH_DEPTH = 2,      /* of blocks in each other */
    RANDOM_GRAPH_ELEMENTS = 4096 /* the most of a tensor */
};

typedef const gantry_tensor_t *(*random_unary_fn)(gantry_scope_t *scope, const gantry_tensor_t *x);
typedef const gantry_tensor_t *(*random_binary_fn)(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                   const gantry_tensor_t *y);

typedef struct random_graph_t {
    uint64_t number, seed;
    uint32_t steps;
    bool any_nan;         /* one NaN is as good as another: compilers of devices swap operands */
    gantry_shape_t shape; /* of the variables, and of the inputs but for open ones */
    gantry_shape_t given; /* of this call's inputs */
    bool is_open;         /* the signature leaves all sizes of inputs open */
    gantry_variable_t *variables[RANDOM_GRAPH_VARIABLES];
    const gantry_tensor_t *captured;
    gantry_generator_t *generator;
    gantry_function_t *called;         /* of a vector of any size */
    bool varies[RANDOM_GRAPH_OUTPUTS]; /* of the outputs */
    /* where a function without passes leaves them; passes move no result that varies */
    const gantry_logical_device_t *devices[RANDOM_GRAPH_OUTPUTS];
    uint32_t fused;      /* nodes that are several, with all passes */
    uint32_t recomputed; /* nodes, in all budgets that were met */
} random_graph_t;

typedef struct random_body_t {
    const random_graph_t *graph;
    uint64_t state;
    gantry_scope_t *scope;                       /* owns the pool */
    gantry_scope_t *scopes[RANDOM_GRAPH_SCOPES]; /* of steps: the first is scope */
    gantry_scope_t *at;                          /* of this step */
    const gantry_tensor_t *pool[RANDOM_GRAPH_POOL];
    bool varies[RANDOM_GRAPH_POOL]; /* from call to call */
    uint32_t count, depth;
    /* the newest step of its kind, to be repeated */
    random_unary_fn unary;
    random_binary_fn binary;
    uint32_t unary_x, binary_x, binary_y;
} random_body_t;

/* ---- choices ---- */

static inline uint32_t random_below(uint64_t *state, uint32_t end) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * UINT64_C(2685821657736338717)) >> 33) % end;
}

static inline uint32_t random_choose(random_body_t *body, uint32_t end) {
    return random_below(&body->state, end);
}

static inline bool random_is_one_of(random_body_t *body, uint32_t end) {
    return random_choose(body, end) == 0;
}

/* Adds the step's result. */
static inline void random_add(random_body_t *body, const gantry_tensor_t *tensor, bool varies) {
    if (!tensor || body->count == RANDOM_GRAPH_POOL) return;
    if (body->at != body->scope) tensor = gantry_scope_keep(body->at, tensor);
    body->pool[body->count] = tensor;
    body->varies[body->count++] = varies;
}

/* A tensor of this type, newer ones more often; -1: none. */
static inline int random_pick(random_body_t *body, gantry_dtype_t dtype) {
    const uint32_t few = body->count < 6 ? body->count : 6,
                   start = random_is_one_of(body, 2) ? random_choose(body, body->count)
                                                     : body->count - 1 - random_choose(body, few);
    for (uint32_t i = 0; i < body->count; ++i) {
        const uint32_t at = (start + body->count - i) % body->count;
        if (gantry_tensor_dtype(body->pool[at]) == dtype) return (int)at;
    }
    return -1;
}

static inline bool random_broadcasts(const gantry_shape_t *a, const gantry_shape_t *b) {
    int64_t elements = 1;
    for (int32_t k = 1; k <= a->rank || k <= b->rank; ++k) {
        const int64_t x = k <= a->rank ? a->dims[a->rank - k] : 1,
                      y = k <= b->rank ? b->dims[b->rank - k] : 1;
        if (x != y && x != 1 && y != 1) return false;
        elements *= x > y ? x : y;
    }
    return elements <= RANDOM_GRAPH_ELEMENTS;
}

/* A tensor of x's type that broadcasts with it; x itself at the end. */
static inline uint32_t random_partner(random_body_t *body, uint32_t x) {
    const uint32_t start = random_choose(body, body->count);
    for (uint32_t i = 0; i < body->count; ++i) {
        const uint32_t at = (start + i) % body->count;
        if (gantry_tensor_dtype(body->pool[at]) == gantry_tensor_dtype(body->pool[x]) &&
            random_broadcasts(gantry_tensor_shape(body->pool[at]),
                              gantry_tensor_shape(body->pool[x])))
            return at;
    }
    return x;
}

/* ---- elementwise steps ---- */

static inline const gantry_tensor_t *random_gelu(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_gelu(scope, x, false);
}

static inline const gantry_tensor_t *random_gelu_tanh(gantry_scope_t *scope,
                                                      const gantry_tensor_t *x) {
    return gantry_gelu(scope, x, true);
}

static inline const gantry_tensor_t *random_leaky(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_leaky_relu(scope, x, 0.25F);
}

static inline const gantry_tensor_t *random_clip(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_clip_by_value(scope, x, gantry_scalar_f32(scope, -1.5F),
                                gantry_scalar_f32(scope, 2));
}

static inline void random_unary(random_body_t *body) {
    static const random_unary_fn functions[] = {
        gantry_neg,   gantry_abs,  gantry_sign,     gantry_square,   gantry_reciprocal,
        gantry_floor, gantry_ceil, gantry_round,    gantry_relu,     gantry_relu6,
        gantry_sqrt,  gantry_exp,  gantry_log,      gantry_tanh,     gantry_sigmoid,
        gantry_sin,   gantry_cos,  gantry_erf,      gantry_rsqrt,    gantry_softplus,
        gantry_elu,   gantry_silu, gantry_softsign, gantry_selu,     gantry_expm1,
        gantry_log1p, random_gelu, random_leaky,    random_clip,     random_gelu_tanh,
        gantry_neg,   gantry_relu, gantry_tanh,     gantry_identity, gantry_abs};
    const int x = random_pick(body, GANTRY_FLOAT32);
    const uint32_t f = random_choose(body, sizeof functions / sizeof functions[0]);
    body->unary = functions[f];
    body->unary_x = (uint32_t)x;
    random_add(body, functions[f](body->at, body->pool[x]), body->varies[x]);
}

static inline void random_binary(random_body_t *body) {
    static const random_binary_fn functions[] = {gantry_add,        gantry_sub,
                                                 gantry_mul,        gantry_div,
                                                 gantry_maximum,    gantry_minimum,
                                                 gantry_div_no_nan, gantry_mul_no_nan,
                                                 gantry_xdivy,      gantry_squared_difference,
                                                 gantry_add,        gantry_mul,
                                                 gantry_sub,        gantry_pow,
                                                 gantry_atan2};
    const uint32_t x = (uint32_t)random_pick(body, GANTRY_FLOAT32), y = random_partner(body, x),
                   f = random_choose(body, sizeof functions / sizeof functions[0]);
    body->binary = functions[f];
    body->binary_x = x;
    body->binary_y = y;
    random_add(body, functions[f](body->at, body->pool[x], body->pool[y]),
               body->varies[x] || body->varies[y]);
}

/* The sum of several tensors of one shape, or of a tensor and a vector. */
static inline void random_sum(random_body_t *body) {
    const uint32_t x = (uint32_t)random_pick(body, GANTRY_FLOAT32), y = random_partner(body, x);
    const gantry_tensor_t *const terms[] = {body->pool[x], body->pool[y], body->pool[x]};
    const gantry_shape_t *shape = gantry_tensor_shape(body->pool[x]),
                         *other = gantry_tensor_shape(body->pool[y]);
    if (gantry_shape_equal(shape, other)) {
        random_add(body, gantry_add_n(body->at, terms, 2 + random_choose(body, 2)),
                   body->varies[x] || body->varies[y]);
    } else if (shape->rank >= 2 && other->rank == 1 &&
               other->dims[0] == shape->dims[shape->rank - 1]) {
        random_add(body, gantry_bias_add(body->at, body->pool[x], body->pool[y]),
                   body->varies[x] || body->varies[y]);
    }
}

/* The newest unary or binary step once more: the same result. */
static inline void random_repeat(random_body_t *body) {
    if (body->binary && random_is_one_of(body, 2)) {
        random_add(body,
                   body->binary(body->at, body->pool[body->binary_x], body->pool[body->binary_y]),
                   body->varies[body->binary_x] || body->varies[body->binary_y]);
    } else if (body->unary) {
        random_add(body, body->unary(body->at, body->pool[body->unary_x]),
                   body->varies[body->unary_x]);
    }
}

static inline void random_integer(random_body_t *body) {
    static const random_binary_fn functions[] = {
        gantry_add,         gantry_sub,        gantry_mul,         gantry_maximum,   gantry_minimum,
        gantry_bitwise_and, gantry_bitwise_or, gantry_bitwise_xor, gantry_left_shift};
    const int x = random_pick(body, GANTRY_INT32);
    if (x < 0) return;
    const uint32_t y = random_partner(body, (uint32_t)x),
                   f = random_choose(body, sizeof functions / sizeof functions[0]);
    random_add(body, functions[f](body->at, body->pool[x], body->pool[y]),
               body->varies[x] || body->varies[y]);
}

static inline void random_compare(random_body_t *body) {
    static const random_binary_fn functions[] = {gantry_less, gantry_less_equal, gantry_greater,
                                                 gantry_greater_equal};
    const uint32_t x = (uint32_t)random_pick(body, GANTRY_FLOAT32), y = random_partner(body, x),
                   f = random_choose(body, sizeof functions / sizeof functions[0]);
    random_add(body, functions[f](body->at, body->pool[x], body->pool[y]),
               body->varies[x] || body->varies[y]);
}

/* Of a bool and two floats that broadcast. */
static inline void random_select(random_body_t *body) {
    const int c = random_pick(body, GANTRY_BOOL);
    const uint32_t x = (uint32_t)random_pick(body, GANTRY_FLOAT32), y = random_partner(body, x);
    if (c < 0 ||
        !random_broadcasts(gantry_tensor_shape(body->pool[c]),
                           gantry_tensor_shape(body->pool[x])) ||
        !random_broadcasts(gantry_tensor_shape(body->pool[c]), gantry_tensor_shape(body->pool[y])))
        return;
    random_add(body, gantry_select(body->at, body->pool[c], body->pool[x], body->pool[y]),
               body->varies[c] || body->varies[x] || body->varies[y]);
}

/* There, an op, and back, so that chains cross types. */
static inline void random_cast(random_body_t *body) {
    static const gantry_dtype_t types[] = {GANTRY_INT32, GANTRY_FLOAT16, GANTRY_BFLOAT16,
                                           GANTRY_BOOL,  GANTRY_FLOAT64, GANTRY_INT32};
    const int x = random_pick(body, GANTRY_FLOAT32);
    const gantry_dtype_t type = types[random_choose(body, sizeof types / sizeof types[0])];
    const gantry_tensor_t *there = gantry_cast(body->at, body->pool[x], type);
    if (type == GANTRY_INT32 || type == GANTRY_BOOL) {
        random_add(body, there, body->varies[x]);
        return;
    }
    there =
        random_is_one_of(body, 2) ? gantry_square(body->at, there) : gantry_neg(body->at, there);
    random_add(body, gantry_cast(body->at, there, GANTRY_FLOAT32), body->varies[x]);
}

static inline void random_cast_back(random_body_t *body) {
    const int x = random_pick(body, random_is_one_of(body, 2) ? GANTRY_INT32 : GANTRY_BOOL);
    if (x >= 0)
        random_add(body, gantry_cast(body->at, body->pool[x], GANTRY_FLOAT32), body->varies[x]);
}

/* ---- other steps ---- */

static inline void random_reduce(random_body_t *body) {
    typedef const gantry_tensor_t *(*reduce_fn)(gantry_scope_t *, const gantry_tensor_t *,
                                                const gantry_reduce_options_t *);
    static const reduce_fn functions[] = {gantry_sum, gantry_mean, gantry_max, gantry_min};
    const int x = random_pick(body, GANTRY_FLOAT32);
    const int32_t rank = gantry_tensor_shape(body->pool[x])->rank;
    const int32_t axis = rank > 0 ? (int32_t)random_choose(body, (uint32_t)rank) : 0;
    const gantry_reduce_options_t options = {.struct_size = sizeof options,
                                             .axes = &axis,
                                             .axis_count = rank > 0,
                                             .keep_dims = random_is_one_of(body, 2)};
    /* the fake GPU sums in another order; the placer moves sums of constants */
    const uint32_t f = body->varies[x] ? random_choose(body, 4) : 2 + random_choose(body, 2);
    random_add(body, functions[f](body->at, body->pool[x], &options), body->varies[x]);
}

/* One element for each row, broadcast back: parts of softmax and of norms. */
static inline void random_rows(random_body_t *body) {
    static const int32_t last = -1;
    static const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &last, .axis_count = 1, .keep_dims = true};
    const int x = random_pick(body, GANTRY_FLOAT32);
    const gantry_tensor_t *from = body->pool[x], *one, *all;
    if (gantry_tensor_shape(from)->rank == 0) return;
    switch (body->varies[x] ? random_choose(body, 4) : 2 + random_choose(body, 2)) {
        case 0: one = gantry_sum(body->at, from, &options); break;
        case 1: one = gantry_mean(body->at, from, &options); break;
        case 2: one = gantry_max(body->at, from, &options); break;
        default: one = gantry_min(body->at, from, &options); break;
    }
    if (random_is_one_of(body, 2)) one = gantry_abs(body->at, one);
    all = random_is_one_of(body, 2) ? gantry_sub(body->at, from, one)
                                    : gantry_maximum(body->at, one, from);
    if (random_is_one_of(body, 4)) random_add(body, one, body->varies[x]);
    random_add(body, all, body->varies[x]);
}

/* Whole numbers from -8 to 8, whose products and short sums are exact in any order. */
static inline const gantry_tensor_t *random_whole(gantry_scope_t *scope, const gantry_tensor_t *x) {
    const gantry_tensor_t *clipped =
        gantry_clip_by_value(scope, x, gantry_scalar_f32(scope, -8), gantry_scalar_f32(scope, 8));
    return gantry_cast(scope, gantry_cast(scope, clipped, GANTRY_INT32), GANTRY_FLOAT32);
}

/* A bias, and a function over it; at times the steps between are in the pool, too. */
static inline const gantry_tensor_t *random_epilogue(random_body_t *body,
                                                     const gantry_tensor_t *product,
                                                     const gantry_tensor_t *bias, bool varies) {
    static const random_unary_fn functions[] = {
        gantry_relu,    gantry_relu6, gantry_elu,  random_leaky,     gantry_tanh,
        gantry_sigmoid, random_gelu,  gantry_relu, random_gelu_tanh, gantry_identity};
    const bool shows = random_is_one_of(body, 4);
    if (shows) random_add(body, product, varies);
    if (!random_is_one_of(body, 4)) {
        product = random_is_one_of(body, 2) ? gantry_bias_add(body->at, product, bias)
                                            : gantry_add(body->at, bias, product);
        if (shows) random_add(body, product, varies);
    }
    return functions[random_choose(body, sizeof functions / sizeof functions[0])](body->at,
                                                                                  product);
}

/* x [a, b] by its own transpose: [a, a]. */
static inline void random_product(random_body_t *body) {
    const int x = random_pick(body, GANTRY_FLOAT32);
    const gantry_shape_t *shape = gantry_tensor_shape(body->pool[x]);
    const gantry_matmul_options_t options = {.struct_size = sizeof options, .transpose_b = true};
    if (shape->rank != 2) return;
    const gantry_tensor_t *whole = random_whole(body->at, body->pool[x]);
    const gantry_tensor_t *product = gantry_matmul(body->at, whole, whole, &options);
    if (!random_is_one_of(body, 3)) {
        const int32_t axis = 1;
        const gantry_reduce_options_t rows = {
            .struct_size = sizeof rows, .axes = &axis, .axis_count = 1};
        product =
            random_epilogue(body, product, gantry_max(body->at, whole, &rows), body->varies[x]);
    }
    random_add(body, product, body->varies[x]);
}

static inline void random_shape_step(random_body_t *body) {
    const int x = random_pick(body, random_is_one_of(body, 8) ? GANTRY_INT32 : GANTRY_FLOAT32);
    if (x < 0) return;
    const gantry_tensor_t *tensor = body->pool[x], *made = NULL;
    const gantry_shape_t *shape = gantry_tensor_shape(tensor);
    const int64_t begin[GANTRY_MAX_RANK] = {shape->rank > 0 && shape->dims[0] > 1 ? 1 : 0};
    int64_t size[GANTRY_MAX_RANK];
    for (int32_t k = 0; k < GANTRY_MAX_RANK; ++k) size[k] = -1;
    const gantry_tensor_t *const twice[] = {tensor, tensor};
    switch (random_choose(body, 6)) {
        case 0: made = gantry_reshape(body->at, tensor, GANTRY_SHAPE(-1)); break;
        case 1: made = gantry_transpose(body->at, tensor, NULL); break;
        case 2: made = gantry_slice(body->at, tensor, begin, size); break;
        case 3:
            if (shape->rank > 0 && gantry_tensor_elements(tensor) <= RANDOM_GRAPH_ELEMENTS / 2)
                made = gantry_concat(body->at, twice, 2, 0);
            break;
        case 4: made = gantry_expand_dims(body->at, tensor, 0); break;
        default: made = gantry_squeeze(body->at, tensor, NULL, 0); break;
    }
    if (made && gantry_tensor_shape(made)->rank < 5) random_add(body, made, body->varies[x]);
}

static inline void random_composed(random_body_t *body) {
    const int x = random_pick(body, GANTRY_FLOAT32);
    const gantry_shape_t *shape = gantry_tensor_shape(body->pool[x]);
    const gantry_tensor_t *tensor = body->pool[x], *made, *mean, *variance;
    if (shape->rank == 0 || !body->varies[x]) return;
    const int64_t columns = shape->dims[shape->rank - 1];
    const int32_t axis = shape->rank - 1;
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &axis, .axis_count = 1, .keep_dims = true};
    switch (random_choose(body, 4)) {
        case 0: made = gantry_softmax(body->at, tensor); break;
        case 1:
            made = gantry_layer_norm(
                body->at, tensor, gantry_ones(body->at, GANTRY_FLOAT32, GANTRY_SHAPE(columns)),
                gantry_zeros(body->at, GANTRY_FLOAT32, GANTRY_SHAPE(columns)), axis, 1e-3);
            break;
        case 2:
            if (gantry_moments(body->at, tensor, &options, &mean, &variance) != GANTRY_OK) return;
            made = gantry_sub(body->at, tensor, mean);
            break;
        default: made = gantry_log_sum_exp(body->at, tensor, NULL); break;
    }
    random_add(body, made, true);
}

/* Of the elements above 0, as many as there are, the largest; added to all. */
static inline void random_open(random_body_t *body) {
    const int x = random_pick(body, GANTRY_FLOAT32);
    const gantry_tensor_t *zero = gantry_scalar_f32(body->at, 0),
                          *flat = gantry_reshape(body->at, body->pool[x], GANTRY_SHAPE(-1)),
                          *mask = gantry_greater(body->at, flat, zero), *chosen = NULL;
    if (random_is_one_of(body, 2)) {
        chosen = gantry_boolean_mask(body->at, flat, mask, 0);
    } else {
        const gantry_tensor_t *where = gantry_where(body->at, mask);
        chosen =
            gantry_gather(body->at, flat, gantry_reshape(body->at, where, GANTRY_SHAPE(-1)), 0);
    }
    const gantry_tensor_t *bent = gantry_sub(body->at, gantry_square(body->at, chosen), chosen),
                          *largest = gantry_max(body->at, bent, NULL),
                          *clipped = gantry_maximum(body->at, largest, zero);
    random_add(body, gantry_add(body->at, body->pool[x], clipped), body->varies[x]);
}

/* Small constants, which occur again. */
static inline void random_constant(random_body_t *body) {
    static const float values[] = {0, 1, -1, 0.5F, 2, 3};
    const gantry_shape_t *shape = &body->graph->shape;
    const int64_t columns = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;
    const float value = values[random_choose(body, 6)];
    const gantry_tensor_t *scalar = gantry_scalar_f32(body->at, value), *made = scalar;
    switch (random_choose(body, 4)) {
        case 0: made = gantry_fill(body->at, GANTRY_SHAPE(columns), scalar); break;
        case 1: made = gantry_add(body->at, scalar, gantry_scalar_f32(body->at, 0.25F)); break;
        case 2: random_add(body, gantry_scalar_i32(body->at, (int32_t)value), false); return;
        default: break;
    }
    random_add(body, made, false);
}

static inline void random_variable(random_body_t *body) {
    gantry_variable_t *variable = body->graph->variables[random_choose(body, 2)];
    const int x = random_pick(body, GANTRY_FLOAT32);
    const bool fits = gantry_shape_equal(gantry_tensor_shape(body->pool[x]), &body->graph->shape);
    switch (fits ? random_choose(body, 5) : 0) {
        case 0:
        case 1: random_add(body, gantry_variable_read(body->at, variable), true); break;
        case 2: (void)gantry_variable_assign(body->at, variable, body->pool[x]); break;
        case 3: (void)gantry_variable_assign_add(body->at, variable, body->pool[x]); break;
        default: (void)gantry_variable_assign_sub(body->at, variable, body->pool[x]); break;
    }
}

/* ---- several results, draws, calls ---- */

static inline void random_results(random_body_t *body) {
    const int x = random_pick(body, GANTRY_FLOAT32);
    const gantry_tensor_t *tensor = body->pool[x], *parts[8], *indices;
    const gantry_shape_t *shape = gantry_tensor_shape(tensor);
    if (shape->rank == 0) return;
    const int32_t axis = (int32_t)random_choose(body, (uint32_t)shape->rank);
    const int64_t size = shape->dims[axis], last = shape->dims[shape->rank - 1];
    uint32_t count = 0;
    switch (random_choose(body, 3)) {
        case 0:
            if (size % 2 == 0 && gantry_split(body->at, tensor, axis, parts, 2) == GANTRY_OK)
                count = 2;
            break;
        case 1:
            if (size <= 8 &&
                gantry_unpack(body->at, tensor, axis, parts, (size_t)size) == GANTRY_OK)
                count = (uint32_t)size;
            break;
        default:
            parts[0] = gantry_top_k(body->at, tensor, last < 3 ? (int32_t)last : 3, &indices);
            parts[1] = indices;
            count = 2;
    }
    for (uint32_t i = 0; i < count; ++i) random_add(body, parts[i], body->varies[x]);
}

static inline void random_draw(random_body_t *body) {
    random_add(body,
               gantry_generator_uniform(body->at, body->graph->generator, body->graph->shape,
                                        GANTRY_FLOAT32),
               true);
}

static inline void random_called(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                 const gantry_tensor_t **outputs, void *user) {
    static const int32_t axis = 0;
    (void)user;
    outputs[0] =
        gantry_sub(scope, gantry_tanh(scope, inputs[0]), gantry_max(scope, inputs[0], NULL));
    outputs[1] = gantry_reverse(scope, inputs[0], &axis, 1);
}

static inline void random_call_function(random_body_t *body) {
    const int x = random_pick(body, GANTRY_FLOAT32);
    const gantry_tensor_t *flat = gantry_reshape(body->at, body->pool[x], GANTRY_SHAPE(-1)),
                          *made[2];
    if (gantry_function_call(body->at, body->graph->called, &flat, 1, made, 2) != GANTRY_OK) return;
    random_add(body, gantry_reshape(body->at, made[0], *gantry_tensor_shape(body->pool[x])), false);
    random_add(body, made[1], false);
}

#endif
