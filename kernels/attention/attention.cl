/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, block by block: _Attention and _AttentionGrad. attention_cpu_body.h explains the
 * algorithm.
 *
 *   attention_rows    a work-group for SIDE queries of a head. A block of keys and its scores are
 *                     in the group's memory
 *   attention_keys    the gradients of a block of keys and of its values, likewise
 *   attention_queries the gradients of a block of queries, likewise
 *
 * All products are of small matrices: four rows at a time, and VECTORS vectors of columns, in
 * registers. On processors a group is one work-item, its memory is private, and a vector has
 * GANTRY_MATH_LANES elements. On others a group of 64 shares local memory, or is one work-item
 * where that is too small for the head. Block sizes depend on the head's size and the form only, so
 * results are the same from run to run.
 *
 * 16-bit floats are widened when they are loaded, and rounded once at the end.
 *
 * Options: GANTRY_T, a floating type; GANTRY_A_DIM and GANTRY_A_VALUE_DIM, the
 * elements of a head, rounded up to whole tiles; GANTRY_A_MASK 0 none, 1 bool, 2 added;
 * GANTRY_A_SHARED, the side of a block of a group of 64, where there is one. */

#if GANTRY_T_IS(f64)
typedef GANTRY_F64 V;
#define AT_EXP(x) gantry__exp_f64(x)
#define AT_LOG(x) gantry__log_f64(x)
#define AT_TANH(x) gantry__tanh_f64(x)
#define AT_FMA(a, b, c) GANTRY_FMA_F64(a, b, c)
#else
typedef GANTRY_F32 V;
#define AT_EXP(x) gantry__exp_f32(x)
#define AT_LOG(x) gantry__log_f32(x)
#define AT_TANH(x) gantry__tanh_f32(x)
#define AT_FMA(a, b, c) GANTRY_FMA_F32(a, b, c)
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

#if defined(GANTRY_A_SHARED)
#define SIDE GANTRY_A_SHARED
#define ITEMS 64
#define AT_FN GANTRY_LOCAL_FN
#define AT_POINTER(T_) GANTRY_LOCAL_POINTER(T_)
#define AT_ARRAY(T_, name, n) GANTRY_LOCAL_ARRAY(T_, name, n)
#define AT_OWN (int)GANTRY_LOCAL_ID(0)
#define AT_SYNC() GANTRY_BARRIER()
#else
#if !GANTRY_SERIAL
#define SIDE 8
#elif GANTRY_A_DIM > 256 || GANTRY_A_VALUE_DIM > 256
#define SIDE 32
#else
#define SIDE 64
#endif
#define ITEMS 1
#define AT_FN GANTRY_BODY_FN
#define AT_POINTER(T_) T_ *
#define AT_ARRAY(T_, name, n) T_ name[n]
#define AT_OWN 0
#define AT_SYNC()
#endif
#define DIM GANTRY_A_DIM
#define VALUE_DIM GANTRY_A_VALUE_DIM
#if GANTRY_T_IS(f64)
#define LOWEST NUMBER(((ulong)0xfff00000u) << 32)
#else
#define LOWEST NUMBER(0xff800000u)
#endif

/* Must have the same fields as the host's struct. */
typedef struct {
    GANTRY_LONG batch, heads, key_heads;
    GANTRY_LONG queries, keys, dim, value_dim;
    GANTRY_LONG offset; /* query i sees the keys up to i + offset */
    GANTRY_LONG mask_kind;
    GANTRY_LONG mask_batch, mask_head, mask_query, mask_key;
    ulong scale, softcap; /* bits of a C */
} attention_t;

/* One number, where GANTRY_AS_FLOAT would give a vector of it. */
#if defined(__OPENCL_VERSION__) && GANTRY_T_IS(f64)
#define NUMBER(bits) as_double(bits)
#elif defined(__OPENCL_VERSION__)
#define NUMBER(bits) as_float((uint)(bits))
#elif GANTRY_T_IS(f64)
#define NUMBER(bits) GANTRY_AS_DOUBLE(bits)
#else
#define NUMBER(bits) GANTRY_AS_FLOAT((uint)(bits))
#endif

#define MASK_BYTES (GANTRY_LONG)(GANTRY_A_MASK == 2 ? sizeof(T) : sizeof(uchar))

/* ---- blocks ---- */

/* SIDE queries of a head. */
typedef struct {
    GANTRY_LONG first; /* of the head's queries */
    int queries;
    GANTRY_LONG row;     /* of the first query, among all heads' */
    GANTRY_LONG key_row; /* of the first key of the head, likewise */
    GANTRY_LONG seen;    /* the keys that at least one of the queries sees */
    GANTRY_LONG mask;    /* the place of the head's mask, in bytes */
} block_t;

GANTRY_FN block_t block_of(const attention_t *p, GANTRY_LONG group) {
    const GANTRY_LONG blocks = (p->queries + SIDE - 1) / SIDE;
    const GANTRY_LONG head = gantry__divide_position(group, blocks);
    const GANTRY_LONG batch = gantry__divide_position(head, p->heads);
    const GANTRY_LONG own = head - batch * p->heads;
    block_t b;
    b.first = (group - head * blocks) * SIDE;
    b.queries = (int)(p->queries - b.first < SIDE ? p->queries - b.first : SIDE);
    b.row = head * p->queries + b.first;
    b.key_row = (batch * p->key_heads + own / (p->heads / p->key_heads)) * p->keys;
    const GANTRY_LONG all = b.first + b.queries + p->offset;
    b.seen = all < 0 ? 0 : all < p->keys ? all : p->keys;
    b.mask = (batch * p->mask_batch + own * p->mask_head) * MASK_BYTES;
    return b;
}

/* to[i * width + d] = from[i * size + d] * scale for i below count and d below size; 0 elsewhere in
 * SIDE rows. */
AT_FN void load_rows(GANTRY_GLOBAL const T *from, int count, int size, int width, C scale,
                     AT_POINTER(C) to) {
    for (int i = 0; i < SIDE; ++i) {
        const int held = i < count ? size : 0;
        for (int d = AT_OWN; d < held; d += ITEMS) {
            to[i * width + d] = GANTRY_WIDEN(from[i * size + d]) * scale;
        }
        for (int d = held + AT_OWN; d < width; d += ITEMS) {
            to[i * width + d] = 0;
        }
    }
}

/* to[d * SIDE + i] = from[i * width + d] */
AT_FN void transpose(const AT_POINTER(C) from, int size, int width, AT_POINTER(C) to) {
    for (int d = AT_OWN; d < size; d += ITEMS) {
        for (int i = 0; i < SIDE; ++i) {
            to[d * SIDE + i] = from[i * width + d];
        }
    }
}

AT_FN void clear(AT_POINTER(C) to, int count) {
    for (int i = AT_OWN; i < count; i += ITEMS) {
        to[i] = 0;
    }
    AT_SYNC();
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
AT_FN void multiply(const AT_POINTER(C) a, int row, int column, const AT_POINTER(C) b,
                    AT_POINTER(C) c, int rows, int columns, int depth, int add) {
    const int down = rows / TILE_ROWS, tiles = down * (columns / TILE);
    for (int tile = AT_OWN; tile < tiles; tile += ITEMS) {
        const int i = tile % down * TILE_ROWS, j = tile / down * TILE;
        AT_POINTER(C) to = c + i * columns + j;
        const AT_POINTER(C) x = a + i * row;
        const AT_POINTER(C) y = b + j;
        AT_ROWS(AT_ROW_BEGIN)
        for (int k = 0; k < depth; ++k) {
            AT_VECTORS(AT_ACROSS, 0)
            AT_ROWS(AT_ROW_STEP)
            x += column;
            y += columns;
        }
        AT_ROWS(AT_ROW_END)
    }
    AT_SYNC();
}

/* ---- masks ---- */

/* Applies softcap, the mask and the order to scores [keys, queries], where `query` and `key` are
 * the first ones. Keys beyond the last have no weight. caps, if not NULL, takes the factors of
 * softcap's gradient. */
AT_FN void mask_scores(const attention_t *p, GANTRY_GLOBAL const uchar *mask, GANTRY_LONG query,
                       int queries, GANTRY_LONG key, int keys, AT_POINTER(C) scores,
                       AT_POINTER(C) caps) {
    const C cap = NUMBER(p->softcap);
    if (cap > 0) {
        for (int i = AT_OWN * LANES; i < SIDE * SIDE; i += ITEMS * LANES) {
            const V part = AT_TANH(AT_LOAD(scores + i) / (V)(cap));
            AT_STORE(part * (V)(cap), scores + i);
            if (caps) {
                AT_STORE((V)(1) - part * part, caps + i);
            }
        }
        AT_SYNC();
    }
#if GANTRY_A_MASK
    for (int i = AT_OWN; i < queries; i += ITEMS) {
        const GANTRY_LONG first = (query + i) * p->mask_query + key * p->mask_key;
        for (int j = 0; j < keys; ++j) {
            AT_POINTER(C) score = scores + j * SIDE + i;
#if GANTRY_A_MASK == 1
            *score = mask[first + j * p->mask_key] ? *score : (C)LOWEST;
#else
            const C added = GANTRY_WIDEN(((GANTRY_GLOBAL const T *)mask)[first + j * p->mask_key]);
            *score = added == (C)LOWEST ? added : *score + added;
#endif
        }
    }
    AT_SYNC();
#endif
    for (int j = AT_OWN; j < SIDE; j += ITEMS) {
        /* the queries before this one do not see the key */
        const GANTRY_LONG first = key + j - p->offset - query;
        const int blind = j >= keys ? SIDE : first < 0 ? 0 : first < SIDE ? (int)first : SIDE;
        for (int i = 0; i < blind; ++i) {
            scores[j * SIDE + i] = (C)LOWEST;
        }
    }
    AT_SYNC();
}

/* ---- forward ---- */

#define AT_GREATER(a, b) (((b) != (b)) | ((b) > (a)) ? (b) : (a))

/* Turns scores [keys, queries] into exponentials, and sets the factor of what was summed before. */
AT_FN void weigh(AT_POINTER(C) scores, AT_POINTER(C) largest, AT_POINTER(C) sum,
                 AT_POINTER(C) factor) {
    for (int i = AT_OWN * LANES; i < SIDE; i += ITEMS * LANES) {
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
    AT_SYNC();
}

/* A work-group for the queries `first` to `first` + SIDE - 1 of a head. */
GANTRY_KERNEL attention_rows(GANTRY_SPAN_IN(query), GANTRY_SPAN_IN(key), GANTRY_SPAN_IN(value),
                             GANTRY_SPAN_IN(mask), GANTRY_SPAN_OUT(out), GANTRY_SPAN_OUT(sums),
                             GANTRY_VALUE(attention_t, p)) {
    GANTRY_TAKE(attention_t, p)
    AT_ARRAY(C, rows, SIDE * (DIM > VALUE_DIM ? DIM : VALUE_DIM)); /* of keys, then of values */
    AT_ARRAY(C, turned, DIM * SIDE);                               /* queries, transposed */
    AT_ARRAY(C, scores, SIDE * SIDE);
    AT_ARRAY(C, result, SIDE * VALUE_DIM);
    AT_ARRAY(C, largest, SIDE);
    AT_ARRAY(C, sum, SIDE);
    AT_ARRAY(C, factor, SIDE);
    const block_t b = block_of(&p, GANTRY_GROUP_ID(0));
    GANTRY_GLOBAL const uchar *masks = GANTRY_IN(uchar, mask) + b.mask;
    load_rows(GANTRY_IN(T, query) + b.row * p.dim, b.queries, (int)p.dim, DIM, NUMBER(p.scale),
              rows);
    AT_SYNC();
    transpose(rows, (int)p.dim, DIM, turned);
    for (int i = AT_OWN; i < SIDE; i += ITEMS) {
        largest[i] = (C)LOWEST;
        sum[i] = 0;
    }
    clear(result, SIDE * VALUE_DIM);
    for (GANTRY_LONG at = 0; at < b.seen; at += SIDE) {
        const int keys = (int)(b.seen - at < SIDE ? b.seen - at : SIDE);
        load_rows(GANTRY_IN(T, key) + (b.key_row + at) * p.dim, keys, (int)p.dim, DIM, (C)1, rows);
        AT_SYNC();
        multiply(rows, DIM, 1, turned, scores, SIDE, SIDE, (int)p.dim, 0);
        mask_scores(&p, masks, b.first, b.queries, at, keys, scores, 0);
        weigh(scores, largest, sum, factor);
        for (int i = 0; i < SIDE; ++i) {
            for (int d = AT_OWN; d < VALUE_DIM; d += ITEMS) {
                result[i * VALUE_DIM + d] = result[i * VALUE_DIM + d] * factor[i];
            }
        }
        load_rows(GANTRY_IN(T, value) + (b.key_row + at) * p.value_dim, keys, (int)p.value_dim,
                  VALUE_DIM, (C)1, rows);
        AT_SYNC();
        multiply(scores, 1, SIDE, rows, result, SIDE, VALUE_DIM, keys, 1);
    }
    GANTRY_GLOBAL T *to = GANTRY_OUT(T, out) + b.row * p.value_dim;
    for (int i = 0; i < b.queries; ++i) {
        for (int d = AT_OWN; d < (int)p.value_dim; d += ITEMS) {
            to[i * p.value_dim + d] =
                GANTRY_NARROW(sum[i] == 0 ? (C)0 : result[i * VALUE_DIM + d] / sum[i]);
        }
    }
    for (int i = AT_OWN * LANES; i < SIDE; i += ITEMS * LANES) {
        const V total = AT_LOAD(sum + i);
        AT_STORE(total == (V)(0) ? (V)(LOWEST) : AT_LOAD(largest + i) + AT_LOG(total), factor + i);
    }
    AT_SYNC();
    for (int i = AT_OWN; i < b.queries; i += ITEMS) {
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

AT_FN void load_queries(const attention_t *p, GANTRY_GLOBAL const T *query,
                        GANTRY_GLOBAL const T *slope, GANTRY_GLOBAL const T *out,
                        GANTRY_GLOBAL const C *sums, GANTRY_LONG row, int queries,
                        AT_POINTER(queries_t) to) {
    load_rows(query + row * p->dim, queries, (int)p->dim, DIM, NUMBER(p->scale), to->query);
    load_rows(slope + row * p->value_dim, queries, (int)p->value_dim, VALUE_DIM, (C)1, to->slope);
    AT_SYNC();
    transpose(to->query, (int)p->dim, DIM, to->turned_query);
    transpose(to->slope, (int)p->value_dim, VALUE_DIM, to->turned_slope);
    for (int i = AT_OWN; i < SIDE; i += ITEMS) {
        C sum = 0;
        for (int d = 0; d < (int)p->value_dim && i < queries; ++d) {
            sum += to->slope[i * VALUE_DIM + d] * GANTRY_WIDEN(out[(row + i) * p->value_dim + d]);
        }
        to->along[i] = sum;
        to->sums[i] = i < queries && sums[row + i] != (C)LOWEST ? sums[row + i] : (C)0;
    }
    AT_SYNC();
}

AT_FN void load_keys(const attention_t *p, GANTRY_GLOBAL const T *key, GANTRY_GLOBAL const T *value,
                     GANTRY_LONG row, int keys, AT_POINTER(keys_t) to) {
    load_rows(key + row * p->dim, keys, (int)p->dim, DIM, (C)1, to->key);
    load_rows(value + row * p->value_dim, keys, (int)p->value_dim, VALUE_DIM, (C)1, to->value);
    AT_SYNC();
}

AT_FN void slope_scores(const attention_t *p, GANTRY_GLOBAL const uchar *mask, GANTRY_LONG query,
                        int queries, GANTRY_LONG key, int keys, const AT_POINTER(queries_t) q,
                        const AT_POINTER(keys_t) k, AT_POINTER(scores_t) to) {
    multiply(k->key, DIM, 1, q->turned_query, to->weights, SIDE, SIDE, (int)p->dim, 0);
    mask_scores(p, mask, query, queries, key, keys, to->weights, to->caps);
    multiply(k->value, VALUE_DIM, 1, q->turned_slope, to->slopes, SIDE, SIDE, (int)p->value_dim, 0);
    for (int j = 0; j < SIDE; ++j) {
        for (int i = AT_OWN * LANES; i < SIDE; i += ITEMS * LANES) {
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
    AT_SYNC();
}

AT_FN void store_rows(const AT_POINTER(C) from, int count, int size, int width, C scale,
                      GANTRY_GLOBAL T *to) {
    for (int i = 0; i < count; ++i) {
        for (int d = AT_OWN; d < size; d += ITEMS) {
            to[i * size + d] = GANTRY_NARROW(from[i * width + d] * scale);
        }
    }
}

/* A work-group for SIDE keys of a head. */
GANTRY_KERNEL attention_keys(GANTRY_SPAN_IN(query), GANTRY_SPAN_IN(key), GANTRY_SPAN_IN(value),
                             GANTRY_SPAN_IN(mask), GANTRY_SPAN_IN(out), GANTRY_SPAN_IN(sums),
                             GANTRY_SPAN_IN(slope), GANTRY_SPAN_OUT(key_slope),
                             GANTRY_SPAN_OUT(value_slope), GANTRY_VALUE(attention_t, p)) {
    GANTRY_TAKE(attention_t, p)
    AT_ARRAY(queries_t, q, 1);
    AT_ARRAY(keys_t, k, 1);
    AT_ARRAY(scores_t, scores, 1);
    AT_ARRAY(C, key_sums, SIDE * DIM);
    AT_ARRAY(C, value_sums, SIDE * VALUE_DIM);
    const GANTRY_LONG blocks = (p.keys + SIDE - 1) / SIDE;
    const GANTRY_LONG head = gantry__divide_position(GANTRY_GROUP_ID(0), blocks);
    const GANTRY_LONG first = (GANTRY_GROUP_ID(0) - head * blocks) * SIDE;
    const GANTRY_LONG batch = gantry__divide_position(head, p.key_heads);
    const GANTRY_LONG group = p.heads / p.key_heads, own = (head - batch * p.key_heads) * group;
    const int keys = (int)(p.keys - first < SIDE ? p.keys - first : SIDE);
    load_keys(&p, GANTRY_IN(T, key), GANTRY_IN(T, value), head * p.keys + first, keys, k);
    clear(key_sums, SIDE * DIM);
    clear(value_sums, SIDE * VALUE_DIM);
    for (GANTRY_LONG g = own; g < own + group; ++g) {
        GANTRY_GLOBAL const uchar *masks =
            GANTRY_IN(uchar, mask) + (batch * p.mask_batch + g * p.mask_head) * MASK_BYTES;
        for (GANTRY_LONG at = 0; at < p.queries; at += SIDE) {
            const int queries = (int)(p.queries - at < SIDE ? p.queries - at : SIDE);
            if (at + queries + p.offset <= first) {
                continue;
            }
            load_queries(&p, GANTRY_IN(T, query), GANTRY_IN(T, slope), GANTRY_IN(T, out),
                         GANTRY_IN(C, sums), (batch * p.heads + g) * p.queries + at, queries, q);
            slope_scores(&p, masks, at, queries, first, keys, q, k, scores);
            multiply(scores->weights, SIDE, 1, q->slope, value_sums, SIDE, VALUE_DIM, queries, 1);
            multiply(scores->slopes, SIDE, 1, q->query, key_sums, SIDE, DIM, queries, 1);
        }
    }
    store_rows(key_sums, keys, (int)p.dim, DIM, (C)1,
               GANTRY_OUT(T, key_slope) + (head * p.keys + first) * p.dim);
    store_rows(value_sums, keys, (int)p.value_dim, VALUE_DIM, (C)1,
               GANTRY_OUT(T, value_slope) + (head * p.keys + first) * p.value_dim);
}

/* A work-group for SIDE queries of a head. */
GANTRY_KERNEL attention_queries(GANTRY_SPAN_IN(query), GANTRY_SPAN_IN(key), GANTRY_SPAN_IN(value),
                                GANTRY_SPAN_IN(mask), GANTRY_SPAN_IN(out), GANTRY_SPAN_IN(sums),
                                GANTRY_SPAN_IN(slope), GANTRY_SPAN_OUT(query_slope),
                                GANTRY_VALUE(attention_t, p)) {
    GANTRY_TAKE(attention_t, p)
    AT_ARRAY(queries_t, q, 1);
    AT_ARRAY(keys_t, k, 1);
    AT_ARRAY(scores_t, scores, 1);
    AT_ARRAY(C, query_sums, SIDE * DIM);
    const block_t b = block_of(&p, GANTRY_GROUP_ID(0));
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
