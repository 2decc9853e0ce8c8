/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of few columns on GPUs: the steps `totals` and `rows` of scan.cl through local memory, with
 * the same operations in the same order.
 *
 * An item has one column of one chunk here, too. The elements of neighbouring items are whole
 * chunks apart, and each item would read a memory line of its own. So a group of 64 items loads a
 * piece of its chunks in the order of memory, 128 bytes of each column. Each item scans its row in
 * local memory, and the group stores the piece:
 *
 *       memory, one column of float32                     local memory
 *       chunk 0   | 0 ... 31 | 32 ... 63 | ... 127 |      item 0   0 1 2 ... 31 -
 *       chunk 1   | 0 ... 31 | 32 ... 63 | ... 127 |      item 1   0 1 2 ... 31 -
 *          ...    | piece 0  | piece 1   |                   ...
 *       chunk 63  | 0 ... 31 | 32 ... 63 | ... 127 |      item 63  0 1 2 ... 31 -
 *
 * A row in local memory has an odd number of words for each column: 32 items that read 32 rows use
 * all banks. Rows keep the order of memory, so a scan in reverse reads its row from the end. A
 * group of c columns has 64 / c chunks, and their rows are c times as long.
 *
 * Cost: that of scan.cl; 9.3 KiB of local memory. It must come after scan.cl.
 *
 * scan_upper does all that is between `totals` and `rows`, for any number of columns. scan_once
 * does all three steps in one launch where the device allows it. */
#if !GANTRY_SERIAL

#define GANTRY_SCAN_GROUP 64                     /* items */
#define GANTRY_SCAN_STEPS (128 / (int)sizeof(T)) /* elements of a column in a piece */
#define GANTRY_SCAN_AT_ONCE 8                    /* loads of an item in flight */
/* elements in a word of 4 bytes, or 1 */
#define GANTRY_SCAN_WORD (sizeof(T) < 4 ? 4 / (int)sizeof(T) : 1)

/* The chunk `place` of all sequences, in the order of memory. */
typedef struct scan_chunk_t {
    GANTRY_LONG start;  /* its first element in memory */
    GANTRY_LONG number; /* in the direction of the scan, as `totals` are numbered */
    int length;
} scan_chunk_t;

/* A group's piece of its chunks: `width` neighbours of each, in rows that are `stride` apart. */
typedef struct scan_tile_t {
    int rows, columns;
    int most; /* elements of a column in the longest chunk */
    int steps, width, stride;
    int next_row, next_at; /* from an element of an item to its next one */
    int mask;              /* all bits in reverse: pieces count from the ends of the chunks */
} scan_tile_t;

/* An element of a piece: its row and its place there. */
typedef struct scan_spot_t {
    int row, at;
} scan_spot_t;

GANTRY_FN scan_chunk_t scan_find_chunk(const gantry__scan_t *p, const GANTRY_LONG place) {
    const GANTRY_LONG outer = gantry__divide_position(place, p->chunks);
    const GANTRY_LONG within = place - outer * p->chunks;
    const GANTRY_LONG order = p->reverse ? p->chunks - 1 - within : within;
    const GANTRY_LONG first = order * GANTRY_SCAN_CHUNK, left = p->length - first;
    scan_chunk_t chunk;

    chunk.length = left < GANTRY_SCAN_CHUNK ? (int)left : GANTRY_SCAN_CHUNK;
    chunk.number = outer * p->chunks + order;
    chunk.start = (outer * p->length + (p->reverse ? left - chunk.length : first)) * p->columns;
    return chunk;
}

GANTRY_FN scan_tile_t scan_find_tile(const gantry__scan_t *p, const int rows, const int items) {
    scan_tile_t tile;

    tile.columns = (int)p->columns;
    tile.rows = rows;
    tile.most = p->length < GANTRY_SCAN_CHUNK ? (int)p->length : GANTRY_SCAN_CHUNK;
    tile.steps = tile.most < GANTRY_SCAN_STEPS ? tile.most : GANTRY_SCAN_STEPS;
    tile.width = tile.steps * tile.columns;
    tile.stride = (((tile.steps + GANTRY_SCAN_WORD - 1) / GANTRY_SCAN_WORD) | 1) *
                  GANTRY_SCAN_WORD * tile.columns;
    tile.next_row = items / tile.width;
    tile.next_at = items - tile.next_row * tile.width;
    tile.mask = p->reverse ? -1 : 0;
    return tile;
}

GANTRY_FN scan_spot_t scan_first_spot(const scan_tile_t *tile, const int item) {
    scan_spot_t spot;

    spot.row = item / tile->width;
    spot.at = item - spot.row * tile->width;
    return spot;
}

GANTRY_FN scan_spot_t scan_next_spot(const scan_tile_t *tile, scan_spot_t spot) {
    const int at = spot.at + tile->next_at, is_over = at >= tile->width;

    spot.row += tile->next_row + is_over;
    spot.at = is_over ? at - tile->width : at;
    return spot;
}

/* The first element of the piece from step k on, counted from the start of a chunk, or in reverse
 * from its end. */
GANTRY_FN int scan_piece(const scan_tile_t *tile, const int k) {
    return tile->mask != 0 ? -(k + tile->steps) * tile->columns : k * tile->columns;
}

/* Loads the piece from step k on. An item starts several loads before it uses the first result, so
 * that the loads overlap. Row number `rows` must have no elements. */
GANTRY_LOCAL_FN void scan_load(const scan_tile_t *tile, GANTRY_GLOBAL const T *x,
                               GANTRY_LOCAL_POINTER(T) values,
                               GANTRY_LOCAL_POINTER(const int) starts,
                               GANTRY_LOCAL_POINTER(const int) counts, const int item,
                               const int k) {
    const int from = scan_piece(tile, k);
    scan_spot_t spot = scan_first_spot(tile, item);

    while (spot.row < tile->rows) {
        T loaded[GANTRY_SCAN_AT_ONCE];
        int slots[GANTRY_SCAN_AT_ONCE]; /* -1: after the chunk's end */

        GANTRY_UNROLLED for (int e = 0; e < GANTRY_SCAN_AT_ONCE; ++e) {
            const int row = spot.row < tile->rows ? spot.row : tile->rows;
            const int start = starts[row], count = counts[row];
            const int offset = (count & tile->mask) + from + spot.at;

            loaded[e] = 0;
            slots[e] = -1;
            if ((uint)offset < (uint)count) {
                loaded[e] = x[start + offset];
                slots[e] = row * tile->stride + spot.at;
            }
            spot = scan_next_spot(tile, spot);
        }
        GANTRY_UNROLLED for (int e = 0; e < GANTRY_SCAN_AT_ONCE; ++e) {
            if (slots[e] >= 0) {
                values[slots[e]] = loaded[e];
            }
        }
    }
}

/* Stores the piece. An item stores the same elements that it loaded, so a scan works in place, and
 * no barrier is needed between this store and the next load. */
GANTRY_LOCAL_FN void scan_store(const scan_tile_t *tile, GANTRY_GLOBAL T *out,
                                GANTRY_LOCAL_POINTER(const T) values,
                                GANTRY_LOCAL_POINTER(const int) starts,
                                GANTRY_LOCAL_POINTER(const int) counts, const int item,
                                const int k) {
    const int from = scan_piece(tile, k);

    for (scan_spot_t spot = scan_first_spot(tile, item); spot.row < tile->rows;
         spot = scan_next_spot(tile, spot)) {
        const int start = starts[spot.row], count = counts[spot.row];
        const int offset = (count & tile->mask) + from + spot.at;

        if ((uint)offset < (uint)count) {
            out[start + offset] = values[spot.row * tile->stride + spot.at];
        }
    }
}

/* Finds the chunks of the group, from `origin` on in memory, and the item's own: the number of its
 * steps (0: it has none), the number i of its total, and its first place in each piece. */
#define GANTRY_SCAN_OPEN_TILE                                                                 \
    GANTRY_LOCAL_ARRAY(T, values, GANTRY_SCAN_GROUP *(GANTRY_SCAN_STEPS + GANTRY_SCAN_WORD)); \
    GANTRY_LOCAL_ARRAY(int, starts, GANTRY_SCAN_GROUP + 1);                                   \
    GANTRY_LOCAL_ARRAY(int, counts, GANTRY_SCAN_GROUP + 1);                                   \
    const scan_tile_t tile = scan_find_tile(&p, (int)p.rows, GANTRY_SCAN_GROUP);              \
    const int item = (int)GANTRY_LOCAL_ID(0);                                                 \
    const int row = item / tile.columns, column = item - row * tile.columns;                  \
    const GANTRY_LONG group = GANTRY_GROUP_ID(0) * tile.rows;                                 \
    const GANTRY_LONG origin = scan_find_chunk(&p, group).start;                              \
    const int is_there = row < tile.rows && group + row < p.total;                            \
    const scan_chunk_t chunk = scan_find_chunk(&p, is_there ? group + row : group);           \
    const int length = is_there ? chunk.length : 0;                                           \
    const GANTRY_LONG i = chunk.number * tile.columns + column;                               \
    const int own = row * tile.stride + (p.reverse ? tile.width - tile.columns : 0) + column; \
    const int step = p.reverse ? -tile.columns : tile.columns;                                \
    if (column == 0 && row < tile.rows) {                                                     \
        starts[row] = (int)(chunk.start - origin);                                            \
        counts[row] = length * tile.columns;                                                  \
    }                                                                                         \
    if (item == 0) {                                                                          \
        starts[tile.rows] = 0;                                                                \
        counts[tile.rows] = 0;                                                                \
    }                                                                                         \
    GANTRY_BARRIER();

/* Sums and products read several elements of a row before they store the first, because a store
 * would hold up the next load. The remaining elements, and logsumexp, go one by one. */
#define GANTRY_SCAN_IS_LOG (p.operation == GANTRY_SCAN_LOG_SUM)
#define GANTRY_SCAN_PLAIN \
    (p.operation == GANTRY_SCAN_PRODUCT ? GANTRY_SCAN_PRODUCT : GANTRY_SCAN_SUM)
#define GANTRY_SCAN_READ_ROW(read)                                  \
    C read[GANTRY_SCAN_AT_ONCE];                                    \
    GANTRY_UNROLLED for (int e = 0; e < GANTRY_SCAN_AT_ONCE; ++e) { \
        read[e] = GANTRY_WIDEN(values[at + e * step]);              \
    }

/* Joins the item's chunk to `total`, piece by piece. */
#define GANTRY_SCAN_MAKE_TOTAL                                                               \
    for (int k = 0; k < tile.most; k += tile.steps) {                                        \
        const int steps = length - k < tile.steps ? length - k : tile.steps;                 \
        int j = 0, at = own;                                                                 \
                                                                                             \
        scan_load(&tile, GANTRY_IN(T, x) + origin, values, starts, counts, item, k);         \
        GANTRY_BARRIER();                                                                    \
        for (; !GANTRY_SCAN_IS_LOG && j + GANTRY_SCAN_AT_ONCE <= steps;                      \
             j += GANTRY_SCAN_AT_ONCE) {                                                     \
            GANTRY_SCAN_READ_ROW(read)                                                       \
            GANTRY_UNROLLED for (int e = 0; e < GANTRY_SCAN_AT_ONCE; ++e) {                  \
                total = GANTRY_ITEM_FN(scan_join)(total, read[e], GANTRY_SCAN_PLAIN);        \
            }                                                                                \
            at += GANTRY_SCAN_AT_ONCE * step;                                                \
        }                                                                                    \
        for (; j < steps; ++j, at += step) {                                                 \
            total = GANTRY_ITEM_FN(scan_join)(total, GANTRY_WIDEN(values[at]), p.operation); \
        }                                                                                    \
        GANTRY_BARRIER();                                                                    \
    }

/* Makes the results of the item's chunk, from `sum` on. It works in place. */
#define GANTRY_SCAN_MAKE_ROWS                                                                     \
    for (int k = 0; k < tile.most; k += tile.steps) {                                             \
        const int steps = length - k < tile.steps ? length - k : tile.steps;                      \
        int j = 0, at = own;                                                                      \
                                                                                                  \
        scan_load(&tile, GANTRY_IN(T, x) + origin, values, starts, counts, item, k);              \
        GANTRY_BARRIER();                                                                         \
        for (; !GANTRY_SCAN_IS_LOG && j + GANTRY_SCAN_AT_ONCE <= steps;                           \
             j += GANTRY_SCAN_AT_ONCE) {                                                          \
            GANTRY_SCAN_READ_ROW(read)                                                            \
            GANTRY_UNROLLED for (int e = 0; e < GANTRY_SCAN_AT_ONCE; ++e, at += step) {           \
                const C next = GANTRY_ITEM_FN(scan_join)(sum, read[e], GANTRY_SCAN_PLAIN);        \
                                                                                                  \
                values[at] = GANTRY_NARROW(p.exclusive ? sum : next);                             \
                sum = next;                                                                       \
            }                                                                                     \
        }                                                                                         \
        for (; j < steps; ++j, at += step) {                                                      \
            const C next = GANTRY_ITEM_FN(scan_join)(sum, GANTRY_WIDEN(values[at]), p.operation); \
                                                                                                  \
            values[at] = GANTRY_NARROW(p.exclusive ? sum : next);                                 \
            sum = next;                                                                           \
        }                                                                                         \
        GANTRY_BARRIER();                                                                         \
        scan_store(&tile, GANTRY_OUT(T, out) + origin, values, starts, counts, item, k);          \
    }

/* Makes the totals of all chunks. */
GANTRY_KERNEL scan_totals_tile(GANTRY_SPAN_IN(x), GANTRY_SPAN_OUT(totals),
                               GANTRY_VALUE(gantry__scan_t, p)) {
    GANTRY_TAKE(gantry__scan_t, p)
    GANTRY_SCAN_OPEN_TILE
    C total = GANTRY_ITEM_FN(scan_identity)(p.operation);

    GANTRY_SCAN_MAKE_TOTAL
    if (length > 0) {
        GANTRY_OUT(C, totals)[i] = total;
    }
}

/* Makes the results of a chunk, from the total before it. It works in place. */
GANTRY_KERNEL scan_rows_tile(GANTRY_SPAN_IN(x), GANTRY_SPAN_IN(before), GANTRY_SPAN_OUT(out),
                             GANTRY_VALUE(gantry__scan_t, p)) {
    GANTRY_TAKE(gantry__scan_t, p)
    GANTRY_SCAN_OPEN_TILE
    C sum = GANTRY_ITEM_FN(scan_identity)(p.operation);

    if (p.chunks > 1 && length > 0) {
        sum = GANTRY_IN(C, before)[i];
    }
    GANTRY_SCAN_MAKE_ROWS
}

/* With `use`, statements of x, for each total of the chunk from `row` on, in their order. */
#define GANTRY_SCAN_WALK(row, use)                                                   \
    {                                                                                \
        const GANTRY_LONG left = p.length - (GANTRY_LONG)chunk * GANTRY_SCAN_CHUNK;  \
        const int length = left < GANTRY_SCAN_CHUNK ? (int)left : GANTRY_SCAN_CHUNK; \
        int e = 0;                                                                   \
        for (; !GANTRY_SCAN_IS_LOG && e + GANTRY_SCAN_AT_ONCE <= length;             \
             e += GANTRY_SCAN_AT_ONCE) {                                             \
            C read[GANTRY_SCAN_AT_ONCE];                                             \
            GANTRY_UNROLLED for (int k = 0; k < GANTRY_SCAN_AT_ONCE; ++k) {          \
                read[k] = GANTRY_WIDEN((row)[(e + k) * p.columns]);                  \
            }                                                                        \
            GANTRY_UNROLLED for (int k = 0; k < GANTRY_SCAN_AT_ONCE; ++k) {          \
                use(read[k], e + k, GANTRY_SCAN_PLAIN)                               \
            }                                                                        \
        }                                                                            \
        for (; e < length; ++e) {                                                    \
            const C x = GANTRY_WIDEN((row)[e * p.columns]);                          \
            use(x, e, p.operation)                                                   \
        }                                                                            \
    }
#define GANTRY_SCAN_ADD_UP(x, at, operation) sum = GANTRY_ITEM_FN(scan_join)(sum, x, operation);
#define GANTRY_SCAN_PUT_BEFORE(x, at, operation) \
    row[(at)*p.columns] = GANTRY_NARROW(sum);    \
    GANTRY_SCAN_ADD_UP(x, at, operation)

/* Makes `before` of totals in place, with the levels above them, for at most GANTRY_SCAN_UPPER
 * chunks of totals: a group for each column of each sequence. One launch takes the place of up to
 * five small ones, which would each wait for memory and for the one before. */
GANTRY_KERNEL scan_upper(GANTRY_SPAN_OUT(totals), GANTRY_VALUE(gantry__scan_t, p)) {
    GANTRY_TAKE(gantry__scan_t, p)
    GANTRY_LOCAL_ARRAY(C, sums, GANTRY_SCAN_UPPER);
    const GANTRY_LONG outer = gantry__divide_position(GANTRY_GROUP_ID(0), p.columns);
    const GANTRY_LONG column = GANTRY_GROUP_ID(0) - outer * p.columns;
    GANTRY_GLOBAL T *first = GANTRY_OUT(T, totals) + outer * p.length * p.columns + column;
    const C identity = GANTRY_ITEM_FN(scan_identity)(p.operation);
    const int item = (int)GANTRY_LOCAL_ID(0), items = (int)GANTRY_LOCAL_SIZE(0);
    const int chunks = (int)p.chunks;

    for (int chunk = item; chunk < chunks; chunk += items) {
        GANTRY_GLOBAL const T *row = first + (GANTRY_LONG)chunk * GANTRY_SCAN_CHUNK * p.columns;
        C sum = identity;
        GANTRY_SCAN_WALK(row, GANTRY_SCAN_ADD_UP)
        sums[chunk] = sum;
    }
    GANTRY_BARRIER();
    if (item == 0) {
        C before = identity; /* the total of all chunks of chunks before */
        for (int begin = 0; begin < chunks; begin += GANTRY_SCAN_CHUNK) {
            const int end = chunks - begin < GANTRY_SCAN_CHUNK ? chunks : begin + GANTRY_SCAN_CHUNK;
            C sum = before, total = identity;
            for (int chunk = begin; chunk < end; ++chunk) {
                const C x = sums[chunk];
                sums[chunk] = sum;
                sum = GANTRY_ITEM_FN(scan_join)(sum, x, p.operation);
                total = GANTRY_ITEM_FN(scan_join)(total, x, p.operation);
            }
            before = GANTRY_ITEM_FN(scan_join)(before, total, p.operation);
        }
    }
    GANTRY_BARRIER();
    for (int chunk = item; chunk < chunks; chunk += items) {
        GANTRY_GLOBAL T *row = first + (GANTRY_LONG)chunk * GANTRY_SCAN_CHUNK * p.columns;
        C sum = sums[chunk];
        GANTRY_SCAN_WALK(row, GANTRY_SCAN_PUT_BEFORE)
    }
}

/* ---- one launch ----
 *
 * scan_once does all steps of one column in one launch, with the same operations in the same order,
 * on devices whose groups go on once they have started. A group has a tile: 128 chunks, which are
 * one chunk of totals. 128 tiles are a run, one chunk of the next level.
 *
 *     number    a counter numbers the tiles in the order in which groups start, so that a group
 *               waits only for groups that have started before it
 *     publish   the total of the tile, as soon as it is known
 *     look back an item waits for the total of each tile before it in the run, another for that of
 *               each run before; the last group of a run publishes the run's total
 *     rows      all folds go from left to right, so it does not matter who came first
 *
 * A total is published in words of 16 bits and a flag, each written by one atomic operation: what
 * is read with the flag is whole, and no order between words in memory is relied on. Cost: one read
 * of the elements from memory, one from the cache, one write; 22 KiB of local memory. */
#define GANTRY_SCAN_PIECES ((int)(sizeof(C) + 1) / 2) /* words of a total */
#define GANTRY_SCAN_IS_THERE 0x10000u
#if GANTRY_T_IS(f64)
#define GANTRY_SCAN_BITS(x) GANTRY_AS_ULONG(x)
#define GANTRY_SCAN_OF_BITS(bits) GANTRY_AS_DOUBLE(bits)
#elif GANTRY_SCAN_HAS_LOG
#define GANTRY_SCAN_BITS(x) ((ulong)GANTRY_AS_UINT(x))
#define GANTRY_SCAN_OF_BITS(bits) GANTRY_AS_FLOAT((uint)(bits))
#else
#define GANTRY_SCAN_BITS(x) ((ulong)(x))
#define GANTRY_SCAN_OF_BITS(bits) ((C)(bits))
#endif

GANTRY_FN void scan_publish(GANTRY_GLOBAL uint *words, const C total) {
    const ulong bits = GANTRY_SCAN_BITS(total);

    GANTRY_UNROLLED for (int k = 0; k < GANTRY_SCAN_PIECES; ++k) {
        GANTRY_EXCHANGE(words + k, GANTRY_SCAN_IS_THERE | ((uint)(bits >> 16 * k) & 0xffffu));
    }
}

GANTRY_FN C scan_await(GANTRY_GLOBAL uint *words) {
    ulong bits = 0;

    for (int k = 0; k < GANTRY_SCAN_PIECES; ++k) {
        uint word;

        do {
            word = GANTRY_PEEK(words + k);
        } while ((word & GANTRY_SCAN_IS_THERE) == 0);
        bits |= (ulong)(word & 0xffffu) << 16 * k;
    }
    return GANTRY_SCAN_OF_BITS(bits);
}

/* Joins `count` totals to `sum`, in their order. */
GANTRY_LOCAL_FN C scan_fold(GANTRY_LOCAL_POINTER(const C) totals, const int count, C sum,
                            const GANTRY_LONG operation) {
    for (int k = 0; k < count; ++k) {
        sum = GANTRY_ITEM_FN(scan_join)(sum, totals[k], operation);
    }
    return sum;
}

GANTRY_KERNEL scan_once(GANTRY_SPAN_IN(x), GANTRY_SPAN_OUT(states), GANTRY_SPAN_OUT(out),
                        GANTRY_VALUE(gantry__scan_t, p)) {
    GANTRY_TAKE(gantry__scan_t, p)
    GANTRY_LOCAL_ARRAY(T, values, GANTRY_SCAN_CHUNK * (GANTRY_SCAN_STEPS + GANTRY_SCAN_WORD));
    GANTRY_LOCAL_ARRAY(int, starts, GANTRY_SCAN_CHUNK + 1);
    GANTRY_LOCAL_ARRAY(int, counts, GANTRY_SCAN_CHUNK + 1);
    GANTRY_LOCAL_ARRAY(C, sums, GANTRY_SCAN_CHUNK);   /* of the chunks of the tile */
    GANTRY_LOCAL_ARRAY(C, before, GANTRY_SCAN_CHUNK); /* of the tiles before it in the run */
    GANTRY_LOCAL_ARRAY(C, runs, GANTRY_SCAN_CHUNK);   /* of the runs before */
    GANTRY_LOCAL_ARRAY(uint, ticket, 1);
    const scan_tile_t tile = scan_find_tile(&p, GANTRY_SCAN_CHUNK, GANTRY_SCAN_CHUNK);
    const C identity = GANTRY_ITEM_FN(scan_identity)(p.operation);
    const int item = (int)GANTRY_LOCAL_ID(0);
    GANTRY_GLOBAL uint *words = GANTRY_OUT(uint, states);

    if (item == 0) {
        ticket[0] = GANTRY_ADD(words, 1u);
    }
    GANTRY_BARRIER();
    const GANTRY_LONG sequence = gantry__divide_position(ticket[0], p.tiles);
    const int number = (int)(ticket[0] - sequence * p.tiles), first = number % GANTRY_SCAN_CHUNK;
    const int run = number / GANTRY_SCAN_CHUNK;
    const GANTRY_LONG all_tiles = GANTRY_GROUP_COUNT(0);
    GANTRY_GLOBAL uint *own_words = words + 1 + ticket[0] * GANTRY_SCAN_PIECES;
    GANTRY_GLOBAL uint *run_words =
        words + 1 + (all_tiles + sequence * (p.tiles / GANTRY_SCAN_CHUNK + 1)) * GANTRY_SCAN_PIECES;
    const GANTRY_LONG left = p.chunks - (GANTRY_LONG)number * GANTRY_SCAN_CHUNK;
    const int rows = left < GANTRY_SCAN_CHUNK ? (int)left : GANTRY_SCAN_CHUNK;
    const GANTRY_LONG place =
        sequence * p.chunks + (p.reverse ? left - rows : p.chunks - left); /* in memory */
    const GANTRY_LONG origin = scan_find_chunk(&p, place).start;
    const int is_there = item < rows;
    const scan_chunk_t chunk = scan_find_chunk(&p, is_there ? place + item : place);
    const int length = is_there ? chunk.length : 0;
    const int row = p.reverse ? rows - 1 - item : item; /* in the direction of the scan */
    const int own = item * tile.stride + (p.reverse ? tile.width - 1 : 0);
    const int step = p.reverse ? -1 : 1;
    C total = identity, sum = identity;

    starts[item] = (int)(chunk.start - origin);
    counts[item] = length;
    if (item == 0) {
        starts[GANTRY_SCAN_CHUNK] = 0;
        counts[GANTRY_SCAN_CHUNK] = 0;
    }
    GANTRY_BARRIER();
    GANTRY_SCAN_MAKE_TOTAL
    if (is_there) {
        sums[row] = total;
    }
    GANTRY_BARRIER();
    if (item == 0) {
        total = scan_fold(sums, rows, identity, GANTRY_SCAN_PLAIN);
        scan_publish(own_words, total);
    }
    if (item < first) {
        before[item] = scan_await(own_words - (GANTRY_LONG)(first - item) * GANTRY_SCAN_PIECES);
    }
    if (item < run) {
        runs[item] = scan_await(run_words + item * GANTRY_SCAN_PIECES);
    }
    GANTRY_BARRIER();
    if (item == 0) {
        sum = scan_fold(before, first, scan_fold(runs, run, identity, GANTRY_SCAN_PLAIN),
                        GANTRY_SCAN_PLAIN);
        if (first == GANTRY_SCAN_CHUNK - 1) {
            const C of_run = scan_fold(before, first, identity, GANTRY_SCAN_PLAIN);
            scan_publish(run_words + run * GANTRY_SCAN_PIECES,
                         GANTRY_ITEM_FN(scan_join)(of_run, total, GANTRY_SCAN_PLAIN));
        }
        for (int k = 0; k < rows; ++k) {
            const C next = GANTRY_ITEM_FN(scan_join)(sum, sums[k], GANTRY_SCAN_PLAIN);
            sums[k] = sum;
            sum = next;
        }
    }
    GANTRY_BARRIER();
    sum = is_there ? sums[row] : identity;
    GANTRY_SCAN_MAKE_ROWS
}

#endif
