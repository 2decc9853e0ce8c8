/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on cards, by tiles of SIDE queries and SIDE keys: _Attention and _AttentionGrad.
 * attention_cpu_body.h explains the algorithm, attention_plan.cl has the numbers of a call.
 *
 *   attention_tile_rows     a work-group for SIDE queries of a head
 *   attention_tile_along    sum(slope out) of each query, a work-item for a query
 *   attention_tile_queries  the gradients of SIDE queries of a head
 *   attention_tile_keys     the gradients of SIDE keys of a head and of its values
 *
 * An item computes ROWS x COLUMNS scores, 16 rows apart and ACROSS columns apart, and as large a
 * part of the results, all in registers:
 *
 *              y: columns              x and y pass through local memory, DEPTH elements of each
 *            +---------------+         row at a time, so that the memory of a group does not
 *    x: rows | o   o   o   o |         depend on the head's size. The scores become the left
 *            | o   o   o   o |         operand of the second product: they pass through local
 *            +---------------+         memory, columns first.
 *
 * Sums. A score adds over the head's elements in rising order. A row of scores is summed in PARTS
 * of neighbouring keys, each in rising order, then part after part, then tile after tile; results
 * add over keys, or over queries, in rising order. The order depends on SIDE and ITEMS only, and
 * every element has one owner, so results are the same from run to run.
 *
 * Options: GANTRY_T, a floating type; GANTRY_A_DIMS, 100 times the 16s of the head's elements,
 * rounded up, plus those of a value; GANTRY_A_TILE, 1000 times SIDE plus ITEMS, plus 100,000 times
 * the kernel: 0 rows, 1 queries, 2 keys; GANTRY_A_MASK 0 none, 1 bool, 2 added; 3 more with a
 * softcap. */

#define KERNEL (GANTRY_A_TILE / 100000)
#define SIDE (GANTRY_A_TILE / 1000 % 100)
#define ITEMS (GANTRY_A_TILE % 1000)
#define DIM (GANTRY_A_DIMS / 100 * 16)
#define VALUE_DIM (GANTRY_A_DIMS % 100 * 16)
#define MASK_KIND (GANTRY_A_MASK % 3)
#define HAS_CAP (GANTRY_A_MASK / 3)

#define DEPTH 16
#define DOWN 16
#define ACROSS (ITEMS / DOWN)
#define ROWS (SIDE / DOWN)
#define COLUMNS (SIDE / ACROSS)
#define PARTS (ITEMS / SIDE)
#define APART (SIDE + 1) /* of the lines of a tile: work-items that write a column use all banks */
#define TILES (2 * DEPTH * APART)

/* Results pass in blocks of as many columns as local memory takes. */
#define BLOCKS(dim) (((dim) + 2 * SIDE - 1) / (2 * SIDE))
#define WIDTH(dim) (((dim) + BLOCKS(dim) * 16 - 1) / (BLOCKS(dim) * 16) * 16)
#define HELD(dim) (ROWS * BLOCKS(dim) * WIDTH(dim) / ACROSS)

#define OWN (int)GANTRY_LOCAL_ID(0)
#define ROW(r) (OWN % DOWN + DOWN * (r))
#define COLUMN(c) (OWN / DOWN + ACROSS * (c))

/* ---- products ---- */

/* tile[d][i] = x[i][first + d] * scale for i below count; 0 beyond it and the row. */
GANTRY_LOCAL_FN void load_turned(GANTRY_GLOBAL const T *x, int count, int size, int first, C scale,
                                 GANTRY_LOCAL_POINTER(C) tile) {
    for (int at = OWN; at < SIDE * DEPTH; at += ITEMS) {
        const int i = at / DEPTH, d = at % DEPTH;
        const int is_inside = i < count && first + d < size;
        tile[d * APART + i] = is_inside ? GANTRY_WIDEN(x[i * size + first + d]) * scale : (C)0;
    }
}

/* sums[r][c] = the sum over d of x[row][d] x_scale y[column][d] y_scale */
GANTRY_LOCAL_FN void multiply_rows(GANTRY_GLOBAL const T *x, int x_count, C x_scale,
                                   GANTRY_GLOBAL const T *y, int y_count, C y_scale, int size,
                                   GANTRY_LOCAL_POINTER(C) tiles, C *sums) {
    GANTRY_LOCAL_POINTER(C) y_tile = tiles + DEPTH * APART;
    GANTRY_UNROLLED for (int i = 0; i < ROWS * COLUMNS; ++i) { sums[i] = 0; }
    for (int first = 0; first < size; first += DEPTH) {
        load_turned(x, x_count, size, first, x_scale, tiles);
        load_turned(y, y_count, size, first, y_scale, y_tile);
        GANTRY_BARRIER();
        for (int d = 0; d < DEPTH; ++d) {
            GANTRY_UNROLLED for (int r = 0; r < ROWS; ++r) {
                const C left = tiles[d * APART + ROW(r)];
                GANTRY_UNROLLED for (int c = 0; c < COLUMNS; ++c) {
                    C *sum = &sums[r * COLUMNS + c];
                    *sum = AT_FMA(left, y_tile[d * APART + COLUMN(c)], *sum);
                }
            }
        }
        GANTRY_BARRIER();
    }
}

/* sums[block][r][c] += the sum over k below count of scores[k][row] y[k][column] scale, where y has
 * rows of `size` elements. blocks and width must be constants. */
GANTRY_LOCAL_FN void add_product(GANTRY_LOCAL_POINTER(const C) scores, GANTRY_GLOBAL const T *y,
                                 int count, C scale, int size, const int blocks, const int width,
                                 GANTRY_LOCAL_POINTER(C) tile, C *sums) {
    for (int first = 0; first < count; first += DEPTH) {
        GANTRY_UNROLLED for (int block = 0; block < blocks; ++block) {
            for (int at = OWN; at < DEPTH * width; at += ITEMS) {
                const int k = first + at / width, column = block * width + at % width;
                const int is_inside = k < count && column < size;
                tile[at] = is_inside ? GANTRY_WIDEN(y[k * size + column]) * scale : (C)0;
            }
            GANTRY_BARRIER();
            for (int k = 0; k < DEPTH; ++k) {
                GANTRY_UNROLLED for (int r = 0; r < ROWS; ++r) {
                    const C left = scores[(first + k) * SIDE + ROW(r)];
                    GANTRY_UNROLLED for (int c = 0; c < width / ACROSS; ++c) {
                        C *sum = &sums[(block * ROWS + r) * (width / ACROSS) + c];
                        *sum = AT_FMA(left, tile[k * width + COLUMN(c)], *sum);
                    }
                }
            }
            GANTRY_BARRIER();
        }
    }
}

/* to[row][column] = sums scale, for rows below count and columns below size. */
GANTRY_FN void store_sums(const C *sums, int count, int size, const int blocks, const int width,
                          C scale, GANTRY_GLOBAL T *to) {
    GANTRY_UNROLLED for (int i = 0; i < ROWS * blocks * (width / ACROSS); ++i) {
        const int line = i / (width / ACROSS), row = ROW(line % ROWS);
        const int column = line / ROWS * width + COLUMN(i % (width / ACROSS));
        if (row < count && column < size) {
            to[row * size + column] = GANTRY_NARROW(sums[i] * scale);
        }
    }
}

/* scores[column][row] = x[r][c] */
GANTRY_LOCAL_FN void share(const C *x, GANTRY_LOCAL_POINTER(C) scores) {
    GANTRY_UNROLLED for (int i = 0; i < ROWS * COLUMNS; ++i) {
        scores[COLUMN(i % COLUMNS) * SIDE + ROW(i / COLUMNS)] = x[i];
    }
    GANTRY_BARRIER();
}

/* ---- masks ---- */

/* The score of a query and a key, which must be the head's, with softcap, the mask and the order.
 * *cap becomes the factor of softcap's gradient. */
GANTRY_FN C masked(const attention_t *p, GANTRY_GLOBAL const uchar *mask, GANTRY_LONG query,
                   GANTRY_LONG key, C score, C *cap) {
    *cap = 1;
#if HAS_CAP
    const C most = NUMBER(p->softcap);
    const C part = AT_TANH(score / most);
    score = part * most;
    *cap = (C)1 - part * part;
#endif
#if MASK_KIND
    const GANTRY_LONG at = query * p->mask_query + key * p->mask_key;
#endif
#if MASK_KIND == 1
    score = mask[at] ? score : (C)LOWEST;
#elif MASK_KIND == 2
    const C added = GANTRY_WIDEN(((GANTRY_GLOBAL const T *)mask)[at]);
    score = added == (C)LOWEST ? added : score + added;
#endif
    return key > query + p->offset ? (C)LOWEST : score;
}

/* ---- forward ---- */

#if KERNEL == 0

/* Turns scores [keys, queries] into exponentials, and sets the factor of what was summed before. */
GANTRY_LOCAL_FN void weigh(GANTRY_LOCAL_POINTER(C) scores, GANTRY_LOCAL_POINTER(C) largest,
                           GANTRY_LOCAL_POINTER(C) sum, GANTRY_LOCAL_POINTER(C) factor,
                           GANTRY_LOCAL_POINTER(C) parts) {
    const int i = OWN % SIDE, first = OWN / SIDE * (SIDE / PARTS);
    const C before = largest[i];
    C most = (C)LOWEST, total = 0;
    for (int j = first; j < first + SIDE / PARTS; ++j) {
        most = AT_GREATER(most, scores[j * SIDE + i]);
    }
    parts[OWN] = most;
    GANTRY_BARRIER();
    most = before;
    for (int part = 0; part < PARTS; ++part) {
        most = AT_GREATER(most, parts[part * SIDE + i]);
    }
    const C base = most == (C)LOWEST ? (C)0 : most;
    GANTRY_BARRIER();
    for (int j = first; j < first + SIDE / PARTS; ++j) {
        const C part = AT_EXP(scores[j * SIDE + i] - base);
        scores[j * SIDE + i] = part;
        total = total + part;
    }
    parts[OWN] = total;
    GANTRY_BARRIER();
    if (OWN < SIDE) {
        const C kept = AT_EXP(before - base);
        total = parts[i];
        for (int part = 1; part < PARTS; ++part) {
            total = total + parts[part * SIDE + i];
        }
        largest[i] = most;
        factor[i] = kept;
        sum[i] = sum[i] * kept + total;
    }
    GANTRY_BARRIER();
}

GANTRY_KERNEL attention_tile_rows(GANTRY_SPAN_IN(query), GANTRY_SPAN_IN(key), GANTRY_SPAN_IN(value),
                                  GANTRY_SPAN_IN(mask), GANTRY_SPAN_OUT(out), GANTRY_SPAN_OUT(sums),
                                  GANTRY_VALUE(attention_t, p)) {
    GANTRY_TAKE(attention_t, p)
    GANTRY_LOCAL_ARRAY(C, tiles, TILES);
    GANTRY_LOCAL_ARRAY(C, scores, SIDE * SIDE);
    GANTRY_LOCAL_ARRAY(C, largest, SIDE);
    GANTRY_LOCAL_ARRAY(C, sum, SIDE);
    GANTRY_LOCAL_ARRAY(C, factor, SIDE);
    GANTRY_LOCAL_ARRAY(C, parts, ITEMS);
    C part[ROWS * COLUMNS], result[HELD(VALUE_DIM)];
    const block_t b = block_of(&p, GANTRY_GROUP_ID(0), SIDE);
    GANTRY_GLOBAL const uchar *masks = GANTRY_IN(uchar, mask) + b.mask;
    const int size = (int)p.dim, value_size = (int)p.value_dim;
    for (int i = OWN; i < SIDE; i += ITEMS) {
        largest[i] = (C)LOWEST;
        sum[i] = 0;
    }
    GANTRY_UNROLLED for (int i = 0; i < HELD(VALUE_DIM); ++i) { result[i] = 0; }
    GANTRY_BARRIER();
    for (GANTRY_LONG at = 0; at < b.seen; at += SIDE) {
        const int keys = (int)(b.seen - at < SIDE ? b.seen - at : SIDE);
        multiply_rows(GANTRY_IN(T, query) + b.row * p.dim, b.queries, NUMBER(p.scale),
                      GANTRY_IN(T, key) + (b.key_row + at) * p.dim, keys, (C)1, size, tiles, part);
        GANTRY_UNROLLED for (int i = 0; i < ROWS * COLUMNS; ++i) {
            const int row = ROW(i / COLUMNS), column = COLUMN(i % COLUMNS);
            C cap;
            if (column >= keys) {
                part[i] = (C)LOWEST;
            } else if (row < b.queries) {
                part[i] = masked(&p, masks, b.first + row, at + column, part[i], &cap);
            }
        }
        share(part, scores);
        weigh(scores, largest, sum, factor, parts);
        GANTRY_UNROLLED for (int i = 0; i < HELD(VALUE_DIM); ++i) {
            result[i] = result[i] * factor[ROW(i / (WIDTH(VALUE_DIM) / ACROSS) % ROWS)];
        }
        add_product(scores, GANTRY_IN(T, value) + (b.key_row + at) * p.value_dim, keys, (C)1,
                    value_size, BLOCKS(VALUE_DIM), WIDTH(VALUE_DIM), tiles, result);
    }
    GANTRY_UNROLLED for (int i = 0; i < HELD(VALUE_DIM); ++i) {
        const C total = sum[ROW(i / (WIDTH(VALUE_DIM) / ACROSS) % ROWS)];
        result[i] = total == 0 ? (C)0 : result[i] / total;
    }
    store_sums(result, b.queries, value_size, BLOCKS(VALUE_DIM), WIDTH(VALUE_DIM), (C)1,
               GANTRY_OUT(T, out) + b.row * p.value_dim);
    for (int i = OWN; i < b.queries; i += ITEMS) {
        GANTRY_OUT(C, sums)
        [b.row + i] = sum[i] == 0 ? (C)LOWEST : largest[i] + AT_LOG(sum[i]);
    }
}

#else

/* ---- backward ---- */

/* The score and the slope of the score of a query, which is `row` of all heads' rows, and a key
 * become the weight and its slope. */
GANTRY_FN void slope_score(const attention_t *p, GANTRY_GLOBAL const uchar *mask,
                           GANTRY_GLOBAL const C *sums, GANTRY_GLOBAL const C *along,
                           GANTRY_LONG row, GANTRY_LONG query, GANTRY_LONG key, C *score,
                           C *slope) {
    const C total = sums[row];
    C cap;
    const C seen = masked(p, mask, query, key, *score, &cap);
    *score = AT_EXP(seen - (total == (C)LOWEST ? (C)0 : total));
    *slope = *score * (*slope - along[row]) * cap;
}

#if KERNEL == 1

GANTRY_KERNEL attention_tile_along(GANTRY_SPAN_IN(out), GANTRY_SPAN_IN(slope),
                                   GANTRY_SPAN_OUT(along), GANTRY_VALUE(attention_t, p)) {
    GANTRY_TAKE(attention_t, p)
    const GANTRY_LONG row = GANTRY_GLOBAL_ID(0), first = row * p.value_dim;
    C sum = 0;
    if (row >= p.batch * p.heads * p.queries) {
        return;
    }
    for (GANTRY_LONG d = 0; d < p.value_dim; ++d) {
        sum += GANTRY_WIDEN(GANTRY_IN(T, slope)[first + d]) *
               GANTRY_WIDEN(GANTRY_IN(T, out)[first + d]);
    }
    GANTRY_OUT(C, along)[row] = sum;
}

GANTRY_KERNEL attention_tile_queries(GANTRY_SPAN_IN(query), GANTRY_SPAN_IN(key),
                                     GANTRY_SPAN_IN(value), GANTRY_SPAN_IN(mask),
                                     GANTRY_SPAN_IN(along), GANTRY_SPAN_IN(sums),
                                     GANTRY_SPAN_IN(slope), GANTRY_SPAN_OUT(query_slope),
                                     GANTRY_VALUE(attention_t, p)) {
    GANTRY_TAKE(attention_t, p)
    GANTRY_LOCAL_ARRAY(C, tiles, TILES);
    GANTRY_LOCAL_ARRAY(C, scores, SIDE * SIDE);
    C weights[ROWS * COLUMNS], slopes[ROWS * COLUMNS], result[HELD(DIM)];
    const block_t b = block_of(&p, GANTRY_GROUP_ID(0), SIDE);
    GANTRY_GLOBAL const uchar *masks = GANTRY_IN(uchar, mask) + b.mask;
    const int size = (int)p.dim, value_size = (int)p.value_dim;
    GANTRY_UNROLLED for (int i = 0; i < HELD(DIM); ++i) { result[i] = 0; }
    for (GANTRY_LONG at = 0; at < b.seen; at += SIDE) {
        const int keys = (int)(b.seen - at < SIDE ? b.seen - at : SIDE);
        GANTRY_GLOBAL const T *key_rows = GANTRY_IN(T, key) + (b.key_row + at) * p.dim;
        multiply_rows(GANTRY_IN(T, query) + b.row * p.dim, b.queries, NUMBER(p.scale), key_rows,
                      keys, (C)1, size, tiles, weights);
        multiply_rows(GANTRY_IN(T, slope) + b.row * p.value_dim, b.queries, (C)1,
                      GANTRY_IN(T, value) + (b.key_row + at) * p.value_dim, keys, (C)1, value_size,
                      tiles, slopes);
        GANTRY_UNROLLED for (int i = 0; i < ROWS * COLUMNS; ++i) {
            const int row = ROW(i / COLUMNS), column = COLUMN(i % COLUMNS);
            if (row < b.queries && column < keys) {
                slope_score(&p, masks, GANTRY_IN(C, sums), GANTRY_IN(C, along), b.row + row,
                            b.first + row, at + column, &weights[i], &slopes[i]);
            } else {
                slopes[i] = 0;
            }
        }
        share(slopes, scores);
        add_product(scores, key_rows, keys, (C)1, size, BLOCKS(DIM), WIDTH(DIM), tiles, result);
    }
    store_sums(result, b.queries, size, BLOCKS(DIM), WIDTH(DIM), NUMBER(p.scale),
               GANTRY_OUT(T, query_slope) + b.row * p.dim);
}

#else

GANTRY_KERNEL attention_tile_keys(GANTRY_SPAN_IN(query), GANTRY_SPAN_IN(key), GANTRY_SPAN_IN(value),
                                  GANTRY_SPAN_IN(mask), GANTRY_SPAN_IN(along), GANTRY_SPAN_IN(sums),
                                  GANTRY_SPAN_IN(slope), GANTRY_SPAN_OUT(key_slope),
                                  GANTRY_SPAN_OUT(value_slope), GANTRY_VALUE(attention_t, p)) {
    GANTRY_TAKE(attention_t, p)
    GANTRY_LOCAL_ARRAY(C, tiles, TILES);
    GANTRY_LOCAL_ARRAY(C, scores, SIDE * SIDE);
    C weights[ROWS * COLUMNS], slopes[ROWS * COLUMNS];
    C key_sums[HELD(DIM)], value_sums[HELD(VALUE_DIM)];
    const key_block_t b = key_block_of(&p, GANTRY_GROUP_ID(0), SIDE);
    const int size = (int)p.dim, value_size = (int)p.value_dim;
    GANTRY_UNROLLED for (int i = 0; i < HELD(DIM); ++i) { key_sums[i] = 0; }
    GANTRY_UNROLLED for (int i = 0; i < HELD(VALUE_DIM); ++i) { value_sums[i] = 0; }
    for (GANTRY_LONG g = b.own; g < b.own + b.group; ++g) {
        GANTRY_GLOBAL const uchar *masks =
            GANTRY_IN(uchar, mask) + (b.batch * p.mask_batch + g * p.mask_head) * MASK_BYTES;
        for (GANTRY_LONG at = 0; at < p.queries; at += SIDE) {
            const int queries = (int)(p.queries - at < SIDE ? p.queries - at : SIDE);
            const GANTRY_LONG first = (b.batch * p.heads + g) * p.queries + at;
            GANTRY_GLOBAL const T *rows = GANTRY_IN(T, query) + first * p.dim;
            GANTRY_GLOBAL const T *slope_rows = GANTRY_IN(T, slope) + first * p.value_dim;
            if (at + queries + p.offset <= b.first) {
                continue;
            }
            multiply_rows(GANTRY_IN(T, key) + b.row * p.dim, b.keys, (C)1, rows, queries,
                          NUMBER(p.scale), size, tiles, weights);
            multiply_rows(GANTRY_IN(T, value) + b.row * p.value_dim, b.keys, (C)1, slope_rows,
                          queries, (C)1, value_size, tiles, slopes);
            GANTRY_UNROLLED for (int i = 0; i < ROWS * COLUMNS; ++i) {
                const int row = ROW(i / COLUMNS), column = COLUMN(i % COLUMNS);
                if (row < b.keys && column < queries) {
                    slope_score(&p, masks, GANTRY_IN(C, sums), GANTRY_IN(C, along), first + column,
                                at + column, b.first + row, &weights[i], &slopes[i]);
                } else {
                    weights[i] = 0;
                    slopes[i] = 0;
                }
            }
            share(weights, scores);
            add_product(scores, slope_rows, queries, (C)1, value_size, BLOCKS(VALUE_DIM),
                        WIDTH(VALUE_DIM), tiles, value_sums);
            share(slopes, scores);
            add_product(scores, rows, queries, NUMBER(p.scale), size, BLOCKS(DIM), WIDTH(DIM),
                        tiles, key_sums);
        }
    }
    store_sums(key_sums, b.keys, size, BLOCKS(DIM), WIDTH(DIM), (C)1,
               GANTRY_OUT(T, key_slope) + b.row * p.dim);
    store_sums(value_sums, b.keys, value_size, BLOCKS(VALUE_DIM), WIDTH(VALUE_DIM), (C)1,
               GANTRY_OUT(T, value_slope) + b.row * p.value_dim);
}

#endif
#endif
