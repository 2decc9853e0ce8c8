/* SPDX-License-Identifier: Apache-2.0 */
/* Attention for one type of sums. attention_cpu_simd.c includes this file once for each type, so it
 * has no guard. The includer must define these, which the file undefines at its end:
 *
 *     AT_NAME(x), AT_T           the name x with the type pasted on, and the type
 *     AT_HAS_HALVES              whether tensors may have halves, which are widened block by block
 *     AT_EXP(x), AT_LOG(x), AT_TANH(x)   the functions of the type
 *
 * Forward, for each block of keys (online softmax):
 *
 *     scores' = key query'                   [keys, queries]: a query is a column, so that the
 *     m' = max(m, scores)                    largest score and the sum run along whole vectors
 *     p = exp(scores - m'), a = exp(m - m')
 *     l = a l + sum(p), out = a out + p value
 *
 * At the end out / l, and m + log(l). A query that sees no key has l = 0: its output is 0, and its
 * logarithm -infinity.
 *
 * Backward, for each head of keys, each block of keys, and each block of queries of the heads that
 * share it, with p = exp(scores - log_sum_exp) and d = sum(slope out):
 *
 *     scores = query key', ds = p (slope value' - d)      [queries, keys]
 *     value_slope += p' slope, key_slope += ds' query, query_slope += ds key
 *
 * Source: Dao, FlashAttention-2, 2023. Owner: the call's memory. Threads: thread-safe. */

/* A block of a head's tensor: `count` rows of `width` elements, as AT_T. */
typedef struct AT_NAME(rows_t) {
    const AT_T *at;
    int64_t count, width;
} AT_NAME(rows_t);

static AT_T *AT_NAME(part)(const gantry__cpu_attention_t *plan, int64_t unit, int place) {
    return (AT_T *)(void *)plan->scratch + unit * plan->unit_elements + plan->places[place];
}

/* Converts `count` elements from position `first` of a tensor, times `scale`. */
static void AT_NAME(widen)(const gantry__cpu_attention_t *plan, const char *from, int64_t first,
                           int64_t count, AT_T scale, AT_T *restrict to) {
#if AT_HAS_HALVES
    const uint16_t *half = (const uint16_t *)(const void *)from + first;
    if (plan->dtype == GANTRY_FLOAT16) {
        for (int64_t i = 0; i < count; ++i) to[i] = gantry__f16_to_f32(half[i]) * scale;
        return;
    }
    if (plan->dtype == GANTRY_BFLOAT16) {
        for (int64_t i = 0; i < count; ++i) to[i] = gantry__bf16_to_f32(half[i]) * scale;
        return;
    }
#endif
    (void)plan;
    const AT_T *source = (const AT_T *)(const void *)from + first;
    for (int64_t i = 0; i < count; ++i) to[i] = source[i] * scale;
}

static void AT_NAME(narrow)(const gantry__cpu_attention_t *plan, const AT_T *from, char *to,
                            int64_t first, int64_t count) {
#if AT_HAS_HALVES
    uint16_t *half = (uint16_t *)(void *)to + first;
    if (plan->dtype == GANTRY_FLOAT16) {
        for (int64_t i = 0; i < count; ++i) half[i] = gantry__f32_to_f16(from[i]);
        return;
    }
    if (plan->dtype == GANTRY_BFLOAT16) {
        for (int64_t i = 0; i < count; ++i) half[i] = gantry__f32_to_bf16(from[i]);
        return;
    }
#endif
    (void)plan;
    memcpy((AT_T *)(void *)to + first, from, (size_t)count * sizeof *from);
}

/* Rows of a tensor from element `first` on: where they are, or widened at `room`. */
static AT_NAME(rows_t) AT_NAME(rows_of)(const gantry__cpu_attention_t *plan, const char *tensor,
                                        int64_t first, int64_t count, int64_t width, AT_T *room) {
    AT_NAME(rows_t) rows = {(const AT_T *)(const void *)tensor + first, count, width};
    if (!AT_HAS_HALVES || plan->dtype == GANTRY_FLOAT32) return rows;
    AT_NAME(widen)(plan, tensor, first, count * width, 1, room);
    rows.at = room;
    return rows;
}

/* ---- products ---- */

/* Packs x as a left operand: rows x depth, whose strides are in elements. */
static void AT_NAME(pack_left)(const gantry__cpu_attention_t *plan, const AT_T *x, int64_t rows,
                               int64_t depth, int64_t row, int64_t column, AT_T *to) {
    const gantry__cpu_gemm_t gemm = {.a = x, .a_row = row, .a_column = column};
    plan->loops->pack_a(&gemm, 0, rows, 0, depth, to);
}

static void AT_NAME(pack_right)(const gantry__cpu_attention_t *plan, const AT_T *x, int64_t depth,
                                int64_t columns, int64_t row, int64_t column, AT_T *to) {
    const gantry__cpu_gemm_t gemm = {.b = x, .b_row = row, .b_column = column};
    plan->loops->pack_b(&gemm, 0, columns, 0, depth, to);
}

/* ---- masks ---- */

/* The scores of a block: element (query i, key j) is at i * row + j * column. */
typedef struct AT_NAME(block_t) {
    AT_T *scores;
    int64_t row, column;
    int64_t batch, head;
    int64_t query, queries; /* the first, and how many */
    int64_t key, keys;
} AT_NAME(block_t);

static void AT_NAME(add_mask)(const gantry__cpu_attention_t *plan, const AT_NAME(block_t) * b,
                              const char *mask, int64_t i) {
    const int64_t step = plan->shape.mask_key;
    AT_T *scores = b->scores + i * b->row;
    if (plan->shape.mask_kind == GANTRY_MASK_BOOL) {
        for (int64_t j = 0; j < b->keys; ++j)
            if (!mask[j * step]) scores[j * b->column] = -INFINITY;
        return;
    }
    for (int64_t j = 0; j < b->keys; ++j) {
        AT_T added;
        AT_NAME(widen)(plan, mask, j * step, 1, 1, &added);
        scores[j * b->column] += added;
        if (added == -INFINITY) scores[j * b->column] = -INFINITY;
    }
}

/* Applies softcap, the mask and the causal order. caps, if not NULL, takes the factors of softcap's
 * gradient. */
static void AT_NAME(mask)(const gantry__cpu_attention_t *plan, const AT_NAME(block_t) * b,
                          AT_T *caps) {
    const gantry__attention_t *a = &plan->shape;
    const AT_T cap = (AT_T)plan->softcap;
    const int64_t lines = b->row > b->column ? b->queries : b->keys,
                  length = b->row > b->column ? b->keys : b->queries,
                  apart = b->row > b->column ? b->row : b->column;
    for (int64_t r = 0; cap > 0 && r < lines; ++r) {
        for (int64_t i = r * apart; i < r * apart + length; ++i) {
            const AT_T part = AT_TANH(b->scores[i] / cap);
            b->scores[i] = part * cap;
            if (caps) caps[i] = 1 - part * part;
        }
    }
    const int64_t first = b->batch * a->mask_batch + b->head * a->mask_head +
                          b->query * a->mask_query + b->key * a->mask_key;
    const int64_t bytes = a->mask_kind == GANTRY_MASK_BOOL ? 1 : gantry__k_size(plan->dtype);
    for (int64_t i = 0; a->mask_kind != GANTRY_MASK_NONE && i < b->queries; ++i)
        AT_NAME(add_mask)(plan, b, plan->mask + (first + i * a->mask_query) * bytes, i);
    for (int64_t i = 0; i < b->queries; ++i) {
        const int64_t seen = b->query + i + a->offset + 1 - b->key;
        for (int64_t j = seen < 0 ? 0 : seen; j < b->keys; ++j)
            b->scores[i * b->row + j * b->column] = -INFINITY;
    }
}

/* The keys that the queries up to `last` see, of all. */
static int64_t AT_NAME(seen_keys)(const gantry__attention_t *a, int64_t last) {
    const int64_t seen = last + a->offset + 1;
    return seen < 0 ? 0 : gantry__least(seen, a->keys);
}

/* ---- forward ---- */

/* The item's queries: where the sums of each are. */
typedef struct AT_NAME(state_t) {
    AT_T *largest, *sum, *factor; /* [queries] */
    AT_T *out;                    /* [queries, value_dim] */
} AT_NAME(state_t);

/* Turns scores [keys, QUERIES] into exponentials, and sets the factors of what was summed before.
 * */
static void AT_NAME(weigh)(AT_T *restrict scores, int64_t keys, int64_t queries,
                           AT_T *restrict largest, AT_T *restrict sum, AT_T *restrict factor) {
    AT_T base[QUERIES], total[QUERIES];
    for (int64_t i = 0; i < queries; ++i) base[i] = largest[i];
    for (int64_t j = 0; j < keys; ++j)
        for (int64_t i = 0; i < queries; ++i) base[i] = GREATER(base[i], scores[j * QUERIES + i]);
    for (int64_t i = 0; i < queries; ++i) {
        const AT_T before = largest[i];
        largest[i] = base[i];
        base[i] = base[i] == -INFINITY ? 0 : base[i];
        factor[i] = AT_EXP(before - base[i]);
        total[i] = 0;
    }
    for (int64_t j = 0; j < keys; ++j) {
        for (int64_t i = 0; i < queries; ++i) {
            const AT_T part = AT_EXP(scores[j * QUERIES + i] - base[i]);
            scores[j * QUERIES + i] = part;
            total[i] += part;
        }
    }
    for (int64_t i = 0; i < queries; ++i) sum[i] = sum[i] * factor[i] + total[i];
}

static void AT_NAME(scale_rows)(AT_T *restrict out, const AT_T *factor, int64_t rows,
                                int64_t width) {
    for (int64_t i = 0; i < rows; ++i) {
        if (factor[i] == 1) continue;
        for (int64_t d = 0; d < width; ++d) out[i * width + d] *= factor[i];
    }
}

/* Adds a block of keys to a block of queries, whose packed form is at `query`. */
static void AT_NAME(add_keys)(const gantry__cpu_attention_t *plan, int64_t unit,
                              AT_NAME(block_t) * b, const AT_T *query,
                              const AT_NAME(state_t) * state) {
    const gantry__attention_t *a = &plan->shape;
    AT_T *packed = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_A);
    plan->loops->multiply(AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_KEYS), query, a->dim,
                          b->scores, QUERIES, b->keys, b->queries, false);
    AT_NAME(mask)(plan, b, NULL);
    AT_NAME(weigh)(b->scores, b->keys, b->queries, state->largest, state->sum, state->factor);
    AT_NAME(scale_rows)(state->out, state->factor, b->queries, a->value_dim);
    AT_NAME(pack_left)(plan, b->scores, b->queries, b->keys, 1, QUERIES, packed);
    plan->loops->multiply(packed, AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_VALUES), b->keys,
                          state->out, a->value_dim, b->queries, a->value_dim, true);
}

static void AT_NAME(finish)(const gantry__cpu_attention_t *plan, const AT_NAME(state_t) * state,
                            int64_t first, int64_t queries) {
    const int64_t width = plan->shape.value_dim;
    AT_T *sums = (AT_T *)plan->sums + first;
    for (int64_t i = 0; i < queries; ++i) {
        const AT_T sum = state->sum[i];
        for (int64_t d = 0; d < width; ++d)
            state->out[i * width + d] = sum == 0 ? 0 : state->out[i * width + d] / sum;
        sums[i] = sum == 0 ? -INFINITY : state->largest[i] + AT_LOG(sum);
    }
    AT_NAME(narrow)(plan, state->out, plan->out, first * width, queries * width);
}

static AT_NAME(state_t)
    AT_NAME(begin)(const gantry__cpu_attention_t *plan, int64_t unit, int64_t queries) {
    AT_T *rows = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_ROWS);
    AT_NAME(state_t)
    state = { rows, rows + ITEM, rows + 2 * ITEM, AT_NAME(part)(plan, unit, GANTRY_CPU_AT_OUT) };
    for (int64_t i = 0; i < queries; ++i) {
        state.largest[i] = -INFINITY;
        state.sum[i] = 0;
    }
    memset(state.out, 0, (size_t)(queries * plan->shape.value_dim) * sizeof(AT_T));
    return state;
}

/* Packs the item's queries, scaled, block by block. */
static void AT_NAME(pack_queries)(const gantry__cpu_attention_t *plan, int64_t unit, int64_t first,
                                  int64_t queries, int64_t apart) {
    const int64_t dim = plan->shape.dim;
    AT_T *wide = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_WIDE),
         *to = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_OTHER);
    for (int64_t i = 0; i < queries; i += QUERIES, to += apart) {
        const int64_t count = gantry__least(queries - i, QUERIES);
        AT_NAME(widen)(plan, plan->query, (first + i) * dim, count * dim, (AT_T)plan->scale, wide);
        AT_NAME(pack_right)(plan, wide, dim, count, 1, dim, to);
    }
}

static void AT_NAME(pack_keys)(const gantry__cpu_attention_t *plan, int64_t unit, int64_t first,
                               int64_t keys) {
    const gantry__attention_t *a = &plan->shape;
    AT_T *wide = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_WIDE);
    AT_NAME(rows_t)
    rows = AT_NAME(rows_of)(plan, plan->key, first * a->dim, keys, a->dim, wide);
    AT_NAME(pack_left)
    (plan, rows.at, keys, a->dim, a->dim, 1, AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_KEYS));
    rows = AT_NAME(rows_of)(plan, plan->value, first * a->value_dim, keys, a->value_dim, wide);
    AT_NAME(pack_right)
    (plan, rows.at, keys, a->value_dim, a->value_dim, 1,
     AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_VALUES));
}

static void AT_NAME(forward_item)(const gantry__cpu_attention_t *plan, int64_t unit, int64_t item) {
    const gantry__attention_t *a = &plan->shape;
    const int64_t parts = (a->queries + ITEM - 1) / ITEM
    , head = item / parts, first = item % parts * ITEM
    , queries = gantry__least(a->queries - first, ITEM), row = head * a->queries + first,
      apart = plan->places[GANTRY_CPU_AT_SCORES] - plan->places[GANTRY_CPU_AT_PACKED_OTHER],
      each = apart / (ITEM / QUERIES),
      key_head = head / a->heads * a->key_heads + head % a->heads / (a->heads / a->key_heads),
      seen = AT_NAME(seen_keys)(a, first + queries - 1);
    AT_NAME(state_t) state = AT_NAME(begin)(plan, unit, queries);
    AT_NAME(block_t)
    b = {.scores = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_SCORES), .row = 1, .column = QUERIES};
    b.batch = head / a->heads;
    b.head = head % a->heads;
    AT_NAME(pack_queries)(plan, unit, row, queries, each);
    for (b.key = 0; b.key < seen; b.key += KEYS) {
        b.keys = gantry__least(seen - b.key, KEYS);
        AT_NAME(pack_keys)(plan, unit, key_head * a->keys + b.key, b.keys);
        for (int64_t i = 0; i < queries; i += QUERIES) {
            const AT_NAME(state_t) block = {state.largest + i, state.sum + i, state.factor + i,
                                            state.out + i * a->value_dim};
            b.query = first + i;
            b.queries = gantry__least(queries - i, QUERIES);
            if (AT_NAME(seen_keys)(a, b.query + b.queries - 1) <= b.key) continue;
            AT_NAME(add_keys)
            (plan, unit, &b,
             AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_OTHER) + i / QUERIES * each, &block);
        }
    }
    AT_NAME(finish)(plan, &state, row, queries);
}

static void AT_NAME(attention_forward)(const gantry__cpu_attention_t *plan, int64_t unit) {
    for (int64_t item = unit; item < plan->items; item += plan->units)
        AT_NAME(forward_item)(plan, unit, item);
}

/* ---- backward ---- */

/* One head of queries and its head of keys: the sums of the gradients, where they begin. */
typedef struct AT_NAME(head_t) {
    int64_t queries, keys; /* the first rows in the tensors */
    AT_T *query_slope, *key_slope, *value_slope;
    AT_T *along; /* sum(slope out) of each query */
} AT_NAME(head_t);

static bool AT_NAME(is_narrow)(const gantry__cpu_attention_t *plan) {
    return AT_HAS_HALVES && plan->dtype != GANTRY_FLOAT32;
}

/* Sets sum(slope out) of each query of the head. */
static void AT_NAME(sum_along)(const gantry__cpu_attention_t *plan, int64_t unit,
                               const AT_NAME(head_t) * head) {
    const int64_t width = plan->shape.value_dim;
    AT_T *room = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_WIDE);
    for (int64_t i = 0; i < plan->shape.queries; ++i) {
        const int64_t first = (head->queries + i) * width;
        const AT_T *out = AT_NAME(rows_of)(plan, plan->result, first, 1, width, room).at;
        const AT_T *slope =
            AT_NAME(rows_of)(plan, plan->result_slope, first, 1, width, room + width).at;
        AT_T sum = 0;
        for (int64_t d = 0; d < width; ++d) sum += out[d] * slope[d];
        head->along[i] = sum;
    }
}

/* Turns scores into weights, and the products of slopes and values into the gradients of scores. */
static void AT_NAME(weigh_again)(const AT_NAME(block_t) * b, const AT_T *sums) {
    for (int64_t i = 0; i < b->queries; ++i) {
        AT_T *restrict scores = b->scores + i * KEYS;
        const AT_T base = sums[i] == -INFINITY ? 0 : sums[i];
        for (int64_t j = 0; j < b->keys; ++j) scores[j] = AT_EXP(scores[j] - base);
    }
}

static void AT_NAME(slope_scores)(const AT_NAME(block_t) * b, AT_T *slopes, const AT_T *along,
                                  const AT_T *caps) {
    for (int64_t i = 0; i < b->queries; ++i) {
        const AT_T *weights = b->scores + i * KEYS;
        AT_T *restrict slope = slopes + i * KEYS;
        for (int64_t j = 0; j < b->keys; ++j) slope[j] = weights[j] * (slope[j] - along[i]);
        for (int64_t j = 0; caps && j < b->keys; ++j) slope[j] *= caps[i * KEYS + j];
    }
}

/* c [rows, columns] += left right, where left is rows x depth with these strides, and right has
 * rows of `columns` elements. */
static void AT_NAME(add_product)(const gantry__cpu_attention_t *plan, int64_t unit,
                                 const AT_T *left, int64_t row, int64_t column, int64_t rows,
                                 const AT_NAME(rows_t) * right, AT_T *c) {
    AT_T *packed = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_A),
         *other = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_OTHER);
    AT_NAME(pack_left)(plan, left, rows, right->count, row, column, packed);
    AT_NAME(pack_right)(plan, right->at, right->count, right->width, right->width, 1, other);
    plan->loops->multiply(packed, other, right->count, c, right->width, rows, right->width, true);
}

/* left [queries, depth] times the packed keys or values, into a block of scores. */
static void AT_NAME(set_scores)(const gantry__cpu_attention_t *plan, int64_t unit,
                                const AT_NAME(rows_t) * left, int place, int64_t keys, AT_T *c) {
    AT_T *packed = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_A);
    AT_NAME(pack_left)(plan, left->at, left->count, left->width, left->width, 1, packed);
    plan->loops->multiply(packed, AT_NAME(part)(plan, unit, place), left->width, c, KEYS,
                          left->count, keys, false);
}

/* Adds what a block of queries and a block of keys give to all three gradients. */
static void AT_NAME(add_slopes)(const gantry__cpu_attention_t *plan, int64_t unit,
                                const AT_NAME(block_t) * b, const AT_NAME(head_t) * head) {
    const gantry__attention_t *a = &plan->shape;
    const int64_t row = head->queries + b->query;
    AT_T *wide = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_WIDE),
         *room = wide + (plan->places[GANTRY_CPU_AT_PACKED_A] - plan->places[0]) / 2,
         *slopes = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_SLOPES),
         *caps = plan->softcap > 0 ? AT_NAME(part)(plan, unit, GANTRY_CPU_AT_CAPS) : NULL;
    const AT_NAME(rows_t) query = {wide, b->queries, a->dim};
    AT_NAME(widen)(plan, plan->query, row * a->dim, b->queries * a->dim, (AT_T)plan->scale, wide);
    const AT_NAME(rows_t) slope = AT_NAME(rows_of)(plan, plan->result_slope, row * a->value_dim,
                                                   b->queries, a->value_dim, room);
    AT_NAME(set_scores)(plan, unit, &query, GANTRY_CPU_AT_PACKED_KEYS, b->keys, b->scores);
    AT_NAME(mask)(plan, b, caps);
    AT_NAME(weigh_again)(b, (const AT_T *)plan->result_sums + row);
    AT_NAME(set_scores)(plan, unit, &slope, GANTRY_CPU_AT_PACKED_VALUES, b->keys, slopes);
    AT_NAME(slope_scores)(b, slopes, head->along + b->query, caps);
    AT_NAME(add_product)
    (plan, unit, b->scores, 1, KEYS, b->keys, &slope, head->value_slope + b->key * a->value_dim);
    AT_NAME(add_product)
    (plan, unit, slopes, 1, KEYS, b->keys, &query, head->key_slope + b->key * a->dim);
    const AT_NAME(rows_t) keys =
        AT_NAME(rows_of)(plan, plan->key, (head->keys + b->key) * a->dim, b->keys, a->dim, room);
    AT_NAME(add_product)
    (plan, unit, slopes, KEYS, 1, b->queries, &keys, head->query_slope + b->query * a->dim);
}

/* Packs a block of keys, and of values, as right operands of [queries, keys]. */
static void AT_NAME(pack_keys_again)(const gantry__cpu_attention_t *plan, int64_t unit,
                                     int64_t first, int64_t keys) {
    const gantry__attention_t *a = &plan->shape;
    AT_T *wide = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_WIDE);
    AT_NAME(rows_t)
    rows = AT_NAME(rows_of)(plan, plan->key, first * a->dim, keys, a->dim, wide);
    AT_NAME(pack_right)
    (plan, rows.at, a->dim, keys, 1, a->dim, AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_KEYS));
    rows = AT_NAME(rows_of)(plan, plan->value, first * a->value_dim, keys, a->value_dim, wide);
    AT_NAME(pack_right)
    (plan, rows.at, a->value_dim, keys, 1, a->value_dim,
     AT_NAME(part)(plan, unit, GANTRY_CPU_AT_PACKED_VALUES));
}

static void AT_NAME(backward_head)(const gantry__cpu_attention_t *plan, int64_t unit,
                                   AT_NAME(block_t) * b, const AT_NAME(head_t) * head) {
    const gantry__attention_t *a = &plan->shape;
    AT_NAME(sum_along)(plan, unit, head);
    for (b->key = 0; b->key < a->keys; b->key += KEYS) {
        b->keys = gantry__least(a->keys - b->key, KEYS);
        AT_NAME(pack_keys_again)(plan, unit, head->keys + b->key, b->keys);
        for (b->query = 0; b->query < a->queries; b->query += QUERIES) {
            b->queries = gantry__least(a->queries - b->query, QUERIES);
            if (AT_NAME(seen_keys)(a, b->query + b->queries - 1) > b->key)
                AT_NAME(add_slopes)(plan, unit, b, head);
        }
    }
    for (int64_t i = 0; i < a->queries * a->dim; ++i) head->query_slope[i] *= (AT_T)plan->scale;
}

/* Where the sums of a head of keys are: the results, or scratch if those are halves. */
static AT_NAME(head_t)
    AT_NAME(begin_head)(const gantry__cpu_attention_t *plan, int64_t unit, int64_t item) {
    const gantry__attention_t *a = &plan->shape;
    AT_NAME(head_t)
    head = {.keys = item * a->keys, .along = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_ROWS)};
    if (!AT_NAME(is_narrow)(plan)) {
        head.key_slope = (AT_T *)(void *)plan->slopes[1] + head.keys * a->dim;
        head.value_slope = (AT_T *)(void *)plan->slopes[2] + head.keys * a->value_dim;
        return head;
    }
    head.key_slope = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_OUT);
    head.value_slope = head.key_slope + a->keys * a->dim;
    head.query_slope = head.value_slope + a->keys * a->value_dim;
    memset(head.key_slope, 0, (size_t)(a->keys * (a->dim + a->value_dim)) * sizeof(AT_T));
    return head;
}

static void AT_NAME(backward_item)(const gantry__cpu_attention_t *plan, int64_t unit,
                                   int64_t item) {
    const gantry__attention_t *a = &plan->shape;
    const int64_t group = a->heads / a->key_heads, count = a->queries * a->dim;
    const bool is_narrow = AT_NAME(is_narrow)(plan);
    AT_NAME(head_t) head = AT_NAME(begin_head)(plan, unit, item);
    AT_NAME(block_t)
    b = {.scores = AT_NAME(part)(plan, unit, GANTRY_CPU_AT_SCORES), .row = KEYS, .column = 1};
    b.batch = item / a->key_heads;
    for (int64_t g = 0; g < group; ++g) {
        b.head = item % a->key_heads * group + g;
        head.queries = (b.batch * a->heads + b.head) * a->queries;
        if (is_narrow)
            memset(head.query_slope, 0, (size_t)count * sizeof(AT_T));
        else
            head.query_slope = (AT_T *)(void *)plan->slopes[0] + head.queries * a->dim;
        AT_NAME(backward_head)(plan, unit, &b, &head);
        if (is_narrow)
            AT_NAME(narrow)(plan, head.query_slope, plan->slopes[0], head.queries * a->dim, count);
    }
    if (!is_narrow) return;
    AT_NAME(narrow)(plan, head.key_slope, plan->slopes[1], head.keys * a->dim, a->keys * a->dim);
    AT_NAME(narrow)
    (plan, head.value_slope, plan->slopes[2], head.keys * a->value_dim, a->keys * a->value_dim);
}

static void AT_NAME(attention_backward)(const gantry__cpu_attention_t *plan, int64_t unit) {
    for (int64_t item = unit; item < plan->items; item += plan->units)
        AT_NAME(backward_item)(plan, unit, item);
}

#undef AT_NAME
#undef AT_T
#undef AT_HAS_HALVES
#undef AT_EXP
#undef AT_LOG
#undef AT_TANH
