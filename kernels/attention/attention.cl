/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, block by block: _Attention and _AttentionGrad. attention_cpu_body.h explains the
 * algorithm.
 *
 *   attention_rows    a work-item for SIDE queries of a head, which computes a block of keys and
 *                     its scores in private memory
 *   attention_keys    the gradients of a block of keys and of its values, likewise
 *   attention_queries the gradients of a block of queries, likewise
 *
 * All products are of small matrices: four rows at a time, and VECTORS vectors of columns, in
 * registers. On processors a vector has GANTRY_MATH_LANES elements. On cards this is the form for
 * those whose groups are too small for attention_tile.cl, and for larger heads. Block sizes depend
 * on the head's size and the form only, so results are the same from run to run.
 *
 * 16-bit floats are widened when they are loaded, and rounded once at the end.
 *
 * Options: GANTRY_T, a floating type; GANTRY_A_DIM and GANTRY_A_VALUE_DIM, the
 * elements of a head, rounded up to whole tiles; GANTRY_A_MASK 0 none, 1 bool, 2 added. */

#if GANTRY_T_IS(f64)
typedef GANTRY_F64 V;
#else
typedef GANTRY_F32 V;
#endif

#if defined(GANTRY_MATH_LANES)
#define LANES GANTRY_MATH_LANES
#define AT_LOAD(at) GANTRY_OF_LANES(vload)(0, at)
GANTRY_LOOSE_TYPE(V, C, loose_t);
#define AT_STORE(value, at) *(loose_t *)(at) = (value)
#else
#define LANES 1
#define AT_LOAD(at) (*(at))
#define AT_STORE(value, at) *(at) = (value)
#endif

#define VECTORS 4
#define TILE (VECTORS * LANES) /* columns of a tile */
#define TILE_ROWS 4

#if !GANTRY_SERIAL
#define SIDE 8
#elif GANTRY_A_DIM > 256 || GANTRY_A_VALUE_DIM > 256
#define SIDE 32
#else
#define SIDE 64
#endif
#define DIM GANTRY_A_DIM
#define VALUE_DIM GANTRY_A_VALUE_DIM

/* ---- blocks ---- */

/* to[i * width + d] = from[i * size + d] * scale for i below count and d below size; 0 elsewhere in
 * SIDE rows. */
GANTRY_BODY_FN void load_rows(GANTRY_GLOBAL const T *from, int count, int size, int width, C scale,
                              C *to) {
    for (int i = 0; i < SIDE; ++i) {
        const int held = i < count ? size : 0;
        for (int d = 0; d < held; ++d) {
            to[i * width + d] = GANTRY_WIDEN(from[i * size + d]) * scale;
        }
        for (int d = held; d < width; ++d) {
            to[i * width + d] = 0;
        }
    }
}

/* to[d * SIDE + i] = from[i * width + d] */
GANTRY_BODY_FN void transpose(const C *from, int size, int width, C *to) {
    for (int d = 0; d < size; ++d) {
        for (int i = 0; i < SIDE; ++i) {
            to[d * SIDE + i] = from[i * width + d];
        }
    }
}

GANTRY_BODY_FN void clear(C *to, int count) {
    for (int i = 0; i < count; ++i) {
        to[i] = 0;
    }
}

/* The registers of a tile, x<row>_<vector>: compilers keep names in registers, and not arrays. */
#define AT_VECTORS(X, i) \
    X(i, 0)              \
    X(i, 1)              \
    X(i, 2)              \
    X(i, 3)
#define AT_ROWS(X) \
    X(0)           \
    X(1)           \
    X(2)           \
    X(3)
#define AT_BEGIN(i, v) V x##i##_##v = add ? AT_LOAD(to + i * columns + v * LANES) : (V)(0);
#define AT_ACROSS(i, v) const V y##v = AT_LOAD(y + v * LANES);
#define AT_STEP(i, v) x##i##_##v = AT_FMA(left, y##v, x##i##_##v);
#define AT_END(i, v) AT_STORE(x##i##_##v, to + i * columns + v * LANES);
#define AT_ROW_BEGIN(i) AT_VECTORS(AT_BEGIN, i)
#define AT_ROW_STEP(i)                  \
    {                                   \
        const V left = (V)(x[i * row]); \
        AT_VECTORS(AT_STEP, i)          \
    }
#define AT_ROW_END(i) AT_VECTORS(AT_END, i)

/* c[i * columns + j] (+)= the sum over k of a[i * row + k * column] * b[k * columns + j]. rows is a
 * multiple of TILE_ROWS, columns one of TILE. */
GANTRY_BODY_FN void multiply(const C *a, int row, int column, const C *b, C *c, int rows,
                             int columns, int depth, int add) {
    const int down = rows / TILE_ROWS, tiles = down * (columns / TILE);
    for (int tile = 0; tile < tiles; ++tile) {
        const int i = tile % down * TILE_ROWS, j = tile / down * TILE;
        C *to = c + i * columns + j;
        const C *x = a + i * row;
        const C *y = b + j;
        AT_ROWS(AT_ROW_BEGIN)
        for (int k = 0; k < depth; ++k) {
            AT_VECTORS(AT_ACROSS, 0)
            AT_ROWS(AT_ROW_STEP)
            x += column;
            y += columns;
        }
        AT_ROWS(AT_ROW_END)
    }
}

/* ---- masks ---- */

/* Applies softcap, the mask and the order to scores [keys, queries], where `query` and `key` are
 * the first ones. Keys beyond the last have no weight. caps, if not NULL, takes the factors of
 * softcap's gradient. */
GANTRY_BODY_FN void mask_scores(const attention_t *p, GANTRY_GLOBAL const uchar *mask,
                                GANTRY_LONG query, int queries, GANTRY_LONG key, int keys,
                                C *scores, C *caps) {
    const C cap = NUMBER(p->softcap);
    if (cap > 0) {
        for (int i = 0; i < SIDE * SIDE; i += LANES) {
            const V part = AT_TANH(AT_LOAD(scores + i) / (V)(cap));
            AT_STORE(part * (V)(cap), scores + i);
            if (caps) {
                AT_STORE((V)(1) - part * part, caps + i);
            }
        }
    }
#if GANTRY_A_MASK
    for (int i = 0; i < queries; ++i) {
        const GANTRY_LONG first = (query + i) * p->mask_query + key * p->mask_key;
        for (int j = 0; j < keys; ++j) {
            C *score = scores + j * SIDE + i;
#if GANTRY_A_MASK == 1
            *score = mask[first + j * p->mask_key] ? *score : (C)LOWEST;
#else
            const C added = GANTRY_WIDEN(((GANTRY_GLOBAL const T *)mask)[first + j * p->mask_key]);
            *score = added == (C)LOWEST ? added : *score + added;
#endif
        }
    }
#endif
    for (int j = 0; j < SIDE; ++j) {
        /* the queries before this one do not see the key */
        const GANTRY_LONG first = key + j - p->offset - query;
        const int blind = j >= keys ? SIDE : first < 0 ? 0 : first < SIDE ? (int)first : SIDE;
        for (int i = 0; i < blind; ++i) {
            scores[j * SIDE + i] = (C)LOWEST;
        }
    }
}

/* ---- forward ---- */

/* Turns scores [keys, queries] into exponentials, and sets the factor of what was summed before. */
GANTRY_BODY_FN void weigh(C *scores, C *largest, C *sum, C *factor) {
    for (int i = 0; i < SIDE; i += LANES) {
        const V before = AT_LOAD(largest + i);
        V most = before, total = (V)(0);
        for (int j = 0; j < SIDE; ++j) {
            const V score = AT_LOAD(scores + j * SIDE + i);
            most = AT_GREATER(most, score);
        }
        AT_STORE(most, largest + i);
        const V base = most == (V)(LOWEST) ? (V)(0) : most;
        for (int j = 0; j < SIDE; ++j) {
            const V part = AT_EXP(AT_LOAD(scores + j * SIDE + i) - base);
            AT_STORE(part, scores + j * SIDE + i);
            total = total + part;
        }
        const V kept = AT_EXP(before - base);
        AT_STORE(kept, factor + i);
        AT_STORE(AT_LOAD(sum + i) * kept + total, sum + i);
    }
}

/* A work-item for the queries `first` to `first` + SIDE - 1 of a head. */
GANTRY_KERNEL attention_rows(GANTRY_SPAN_IN(query), GANTRY_SPAN_IN(key), GANTRY_SPAN_IN(value),
                             GANTRY_SPAN_IN(mask), GANTRY_SPAN_OUT(out), GANTRY_SPAN_OUT(sums),
                             GANTRY_VALUE(attention_t, p)) {
    GANTRY_TAKE(attention_t, p)
    C rows[SIDE * (DIM > VALUE_DIM ? DIM : VALUE_DIM)]; /* of keys, then of values */
    C turned[DIM * SIDE];                               /* queries, transposed */
    C scores[SIDE * SIDE];
    C result[SIDE * VALUE_DIM];
    C largest[SIDE];
    C sum[SIDE];
    C factor[SIDE];
    const block_t b = block_of(&p, GANTRY_GROUP_ID(0), SIDE);
    GANTRY_GLOBAL const uchar *masks = GANTRY_IN(uchar, mask) + b.mask;
    load_rows(GANTRY_IN(T, query) + b.row * p.dim, b.queries, (int)p.dim, DIM, NUMBER(p.scale),
              rows);
    transpose(rows, (int)p.dim, DIM, turned);
    for (int i = 0; i < SIDE; ++i) {
        largest[i] = (C)LOWEST;
        sum[i] = 0;
    }
    clear(result, SIDE * VALUE_DIM);
    for (GANTRY_LONG at = 0; at < b.seen; at += SIDE) {
        const int keys = (int)(b.seen - at < SIDE ? b.seen - at : SIDE);
        load_rows(GANTRY_IN(T, key) + (b.key_row + at) * p.dim, keys, (int)p.dim, DIM, (C)1, rows);
        multiply(rows, DIM, 1, turned, scores, SIDE, SIDE, (int)p.dim, 0);
        mask_scores(&p, masks, b.first, b.queries, at, keys, scores, 0);
        weigh(scores, largest, sum, factor);
        for (int i = 0; i < SIDE; ++i) {
            for (int d = 0; d < VALUE_DIM; ++d) {
                result[i * VALUE_DIM + d] = result[i * VALUE_DIM + d] * factor[i];
            }
        }
        load_rows(GANTRY_IN(T, value) + (b.key_row + at) * p.value_dim, keys, (int)p.value_dim,
                  VALUE_DIM, (C)1, rows);
        multiply(scores, 1, SIDE, rows, result, SIDE, VALUE_DIM, keys, 1);
    }
    GANTRY_GLOBAL T *to = GANTRY_OUT(T, out) + b.row * p.value_dim;
    for (int i = 0; i < b.queries; ++i) {
        for (int d = 0; d < (int)p.value_dim; ++d) {
            to[i * p.value_dim + d] =
                GANTRY_NARROW(sum[i] == 0 ? (C)0 : result[i * VALUE_DIM + d] / sum[i]);
        }
    }
    for (int i = 0; i < SIDE; i += LANES) {
        const V total = AT_LOAD(sum + i);
        AT_STORE(total == (V)(0) ? (V)(LOWEST) : AT_LOAD(largest + i) + AT_LOG(total), factor + i);
    }
    for (int i = 0; i < b.queries; ++i) {
        GANTRY_OUT(C, sums)[b.row + i] = factor[i];
    }
}

/* ---- backward ---- */

/* A block of queries of a head, for the gradients. */
typedef struct {
    C query[SIDE * DIM], turned_query[DIM * SIDE]; /* scaled */
    C slope[SIDE * VALUE_DIM], turned_slope[VALUE_DIM * SIDE];
    C sums[SIDE], along[SIDE]; /* along: the sum of slope and output */
} queries_t;

typedef struct {
    C key[SIDE * DIM], value[SIDE * VALUE_DIM];
} keys_t;

/* For a block of keys and one of queries, [keys, queries]: the weights, and the gradients of the
 * scores. */
typedef struct {
    C weights[SIDE * SIDE], slopes[SIDE * SIDE], caps[SIDE * SIDE];
} scores_t;

GANTRY_BODY_FN void load_queries(const attention_t *p, GANTRY_GLOBAL const T *query,
                                 GANTRY_GLOBAL const T *slope, GANTRY_GLOBAL const T *out,
                                 GANTRY_GLOBAL const C *sums, GANTRY_LONG row, int queries,
                                 queries_t *to) {
    load_rows(query + row * p->dim, queries, (int)p->dim, DIM, NUMBER(p->scale), to->query);
    load_rows(slope + row * p->value_dim, queries, (int)p->value_dim, VALUE_DIM, (C)1, to->slope);
    transpose(to->query, (int)p->dim, DIM, to->turned_query);
    transpose(to->slope, (int)p->value_dim, VALUE_DIM, to->turned_slope);
    for (int i = 0; i < SIDE; ++i) {
        C sum = 0;
        for (int d = 0; d < (int)p->value_dim && i < queries; ++d) {
            sum += to->slope[i * VALUE_DIM + d] * GANTRY_WIDEN(out[(row + i) * p->value_dim + d]);
        }
        to->along[i] = sum;
        to->sums[i] = i < queries && sums[row + i] != (C)LOWEST ? sums[row + i] : (C)0;
    }
}

GANTRY_BODY_FN void load_keys(const attention_t *p, GANTRY_GLOBAL const T *key,
                              GANTRY_GLOBAL const T *value, GANTRY_LONG row, int keys, keys_t *to) {
    load_rows(key + row * p->dim, keys, (int)p->dim, DIM, (C)1, to->key);
    load_rows(value + row * p->value_dim, keys, (int)p->value_dim, VALUE_DIM, (C)1, to->value);
}

GANTRY_BODY_FN void slope_scores(const attention_t *p, GANTRY_GLOBAL const uchar *mask,
                                 GANTRY_LONG query, int queries, GANTRY_LONG key, int keys,
                                 const queries_t *q, const keys_t *k, scores_t *to) {
    multiply(k->key, DIM, 1, q->turned_query, to->weights, SIDE, SIDE, (int)p->dim, 0);
    mask_scores(p, mask, query, queries, key, keys, to->weights, to->caps);
    multiply(k->value, VALUE_DIM, 1, q->turned_slope, to->slopes, SIDE, SIDE, (int)p->value_dim, 0);
    for (int j = 0; j < SIDE; ++j) {
        for (int i = 0; i < SIDE; i += LANES) {
            const int at = j * SIDE + i;
            const V weight = AT_EXP(AT_LOAD(to->weights + at) - AT_LOAD(q->sums + i));
            V slope = weight * (AT_LOAD(to->slopes + at) - AT_LOAD(q->along + i));
            if (NUMBER(p->softcap) > 0) {
                slope = slope * AT_LOAD(to->caps + at);
            }
            AT_STORE(weight, to->weights + at);
            AT_STORE(slope, to->slopes + at);
        }
    }
}

GANTRY_BODY_FN void store_rows(const C *from, int count, int size, int width, C scale,
                               GANTRY_GLOBAL T *to) {
    for (int i = 0; i < count; ++i) {
        for (int d = 0; d < size; ++d) {
            to[i * size + d] = GANTRY_NARROW(from[i * width + d] * scale);
        }
    }
}

/* A work-item for SIDE keys of a head. */
GANTRY_KERNEL attention_keys(GANTRY_SPAN_IN(query), GANTRY_SPAN_IN(key), GANTRY_SPAN_IN(value),
                             GANTRY_SPAN_IN(mask), GANTRY_SPAN_IN(out), GANTRY_SPAN_IN(sums),
                             GANTRY_SPAN_IN(slope), GANTRY_SPAN_OUT(key_slope),
                             GANTRY_SPAN_OUT(value_slope), GANTRY_VALUE(attention_t, p)) {
    GANTRY_TAKE(attention_t, p)
    queries_t q[1];
    keys_t k[1];
    scores_t scores[1];
    C key_sums[SIDE * DIM];
    C value_sums[SIDE * VALUE_DIM];
    const key_block_t b = key_block_of(&p, GANTRY_GROUP_ID(0), SIDE);
    load_keys(&p, GANTRY_IN(T, key), GANTRY_IN(T, value), b.row, b.keys, k);
    clear(key_sums, SIDE * DIM);
    clear(value_sums, SIDE * VALUE_DIM);
    for (GANTRY_LONG g = b.own; g < b.own + b.group; ++g) {
        GANTRY_GLOBAL const uchar *masks =
            GANTRY_IN(uchar, mask) + (b.batch * p.mask_batch + g * p.mask_head) * MASK_BYTES;
        for (GANTRY_LONG at = 0; at < p.queries; at += SIDE) {
            const int queries = (int)(p.queries - at < SIDE ? p.queries - at : SIDE);
            if (at + queries + p.offset <= b.first) {
                continue;
            }
            load_queries(&p, GANTRY_IN(T, query), GANTRY_IN(T, slope), GANTRY_IN(T, out),
                         GANTRY_IN(C, sums), (b.batch * p.heads + g) * p.queries + at, queries, q);
            slope_scores(&p, masks, at, queries, b.first, b.keys, q, k, scores);
            multiply(scores->weights, SIDE, 1, q->slope, value_sums, SIDE, VALUE_DIM, queries, 1);
            multiply(scores->slopes, SIDE, 1, q->query, key_sums, SIDE, DIM, queries, 1);
        }
    }
    store_rows(key_sums, b.keys, (int)p.dim, DIM, (C)1, GANTRY_OUT(T, key_slope) + b.row * p.dim);
    store_rows(value_sums, b.keys, (int)p.value_dim, VALUE_DIM, (C)1,
               GANTRY_OUT(T, value_slope) + b.row * p.value_dim);
}

/* A work-item for SIDE queries of a head. */
GANTRY_KERNEL attention_queries(GANTRY_SPAN_IN(query), GANTRY_SPAN_IN(key), GANTRY_SPAN_IN(value),
                                GANTRY_SPAN_IN(mask), GANTRY_SPAN_IN(out), GANTRY_SPAN_IN(sums),
                                GANTRY_SPAN_IN(slope), GANTRY_SPAN_OUT(query_slope),
                                GANTRY_VALUE(attention_t, p)) {
    GANTRY_TAKE(attention_t, p)
    queries_t q[1];
    keys_t k[1];
    scores_t scores[1];
    C query_sums[SIDE * DIM];
    const block_t b = block_of(&p, GANTRY_GROUP_ID(0), SIDE);
    GANTRY_GLOBAL const uchar *masks = GANTRY_IN(uchar, mask) + b.mask;
    load_queries(&p, GANTRY_IN(T, query), GANTRY_IN(T, slope), GANTRY_IN(T, out),
                 GANTRY_IN(C, sums), b.row, b.queries, q);
    clear(query_sums, SIDE * DIM);
    for (GANTRY_LONG at = 0; at < b.seen; at += SIDE) {
        const int keys = (int)(b.seen - at < SIDE ? b.seen - at : SIDE);
        load_keys(&p, GANTRY_IN(T, key), GANTRY_IN(T, value), b.key_row + at, keys, k);
        slope_scores(&p, masks, b.first, b.queries, at, keys, q, k, scores);
        multiply(scores->slopes, 1, SIDE, k->key, query_sums, SIDE, DIM, keys, 1);
    }
    store_rows(query_sums, b.queries, (int)p.dim, DIM, NUMBER(p.scale),
               GANTRY_OUT(T, query_slope) + b.row * p.dim);
}
