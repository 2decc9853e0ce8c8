/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over windows. An item is an element of the output. On processors it is a stretch of places
 * (window.cl), or of pixels in fold. The sums run over the window row by row, in the same order
 * everywhere, and in float32 for 16-bit floats. Elements in the padding are left out.
 *
 *   depthwise   each channel of the image has `depth` filters of its own: filter [rows, columns,
 *               channels, depth]
 *   convolve    each output has a filter over all channels: filter [rows, columns, channels,
 *               outputs]. What no product takes: those of processors and of GPUs are faster
 *   fold        the inverse of patches.cl (col2im): adds patches [batch, out_height, out_width,
 *               rows * columns * channels] to the pixels that they came from; the second half of
 *               a transposed convolution */
#ifdef GANTRY_ITEM_TEXT

/* Computes one element of the output. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(depthwise_element)(GANTRY_GLOBAL const T *x,
                                                        GANTRY_GLOBAL const T *filter,
                                                        GANTRY_GLOBAL T *out,
                                                        GANTRY_PARAMETERS(gantry__windows_t) p,
                                                        const GANTRY_LONG i) {
    const GANTRY_LONG filters = (p->planes != 0 ? p->planes : p->channels) * p->depth;
    const GANTRY_LONG innermost = p->planes != 0 ? 1 : filters;
    gantry__view_t view;
    gantry__find_view(p, innermost, i, &view);
    const GANTRY_LONG batch = p->planes != 0 ? gantry__divide_position(view.at.image, filters) : 0;
    /* the number of the filter */
    const GANTRY_LONG own = p->planes != 0 ? view.at.image - batch * filters : view.at.channel;
    const GANTRY_LONG image =
        p->planes != 0 ? gantry__divide_position(view.at.image, p->depth) : view.at.image;
    const GANTRY_LONG channel = p->planes != 0 ? 0 : gantry__divide_position(own, p->depth);
    C sum = (C)0;

    for (GANTRY_LONG r = view.rows.first; r < view.rows.end; ++r) {
        const GANTRY_LONG row =
            (image * p->height + view.top + r * p->spread_y) * p->width + view.left;

        for (GANTRY_LONG c = view.columns.first; c < view.columns.end; ++c) {
            sum += GANTRY_WIDEN(x[(row + c * p->spread_x) * p->channels + channel]) *
                   GANTRY_WIDEN(filter[(r * p->columns + c) * filters + own]);
        }
    }
    out[i] = GANTRY_NARROW(sum);
}

#if GANTRY_RUN_MOST == 1
GANTRY_ITEM void GANTRY_ITEM_FN(depthwise)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *filter,
                                           GANTRY_GLOBAL T *out,
                                           GANTRY_PARAMETERS(gantry__windows_t) p,
                                           const GANTRY_LONG i) {
    GANTRY_ITEM_FN(depthwise_element)(x, filter, out, p, i);
}
#else
GANTRY_SHARED_FN void GANTRY_ITEM_FN(clear_sums)(C *sums, const int count) {
    for (int k = 0; k < count; ++k) {
        sums[k] = (C)0;
    }
}

GANTRY_SHARED_FN void GANTRY_ITEM_FN(store_sums)(GANTRY_GLOBAL T *out, const C *sums,
                                                 const int count) {
    for (int k = 0; k < count; ++k) {
        out[k] = GANTRY_NARROW(sums[k]);
    }
}

/* GANTRY_HALF_SUMS or GANTRY_FEW_SUMS sums in registers. OpenCL compilers need a vector type for
 * this; they would split an array. */
#if defined(__OPENCL_VERSION__)
#if GANTRY_T_IS(f64)
GANTRY_LOOSE_TYPE(double16, double, gantry__half_sums_t);
GANTRY_LOOSE_TYPE(double8, double, gantry__few_sums_t);
#else
GANTRY_LOOSE_TYPE(float16, float, gantry__half_sums_t);
GANTRY_LOOSE_TYPE(float8, float, gantry__few_sums_t);
#endif
#define GANTRY_HALF_TYPE gantry__half_sums_t
#define GANTRY_FEW_TYPE gantry__few_sums_t
#define GANTRY_NO_SUMS(SIZE, name) GANTRY_##SIZE##_TYPE name = (GANTRY_##SIZE##_TYPE)((C)0);
#define GANTRY_LOAD_SUMS(SIZE, name, from) \
    GANTRY_##SIZE##_TYPE name = *(const GANTRY_##SIZE##_TYPE *)(from);
#define GANTRY_STORE_SUMS(SIZE, name, SPACE, to) *(SPACE GANTRY_##SIZE##_TYPE *)(to) = name;
#define GANTRY_ADD_PRODUCTS(SIZE, name, SPACE, a, b) \
    name += *(SPACE const GANTRY_##SIZE##_TYPE *)(a) * *(SPACE const GANTRY_##SIZE##_TYPE *)(b);
#define GANTRY_ADD_MULTIPLES(SIZE, name, SPACE, a, b) \
    name += *(a) * *(SPACE const GANTRY_##SIZE##_TYPE *)(b);
#else
/* The longest loop that gcc unrolls. */
#define GANTRY_EACH(SIZE) for (int e = 0; e < GANTRY_##SIZE##_SUMS; ++e)
#define GANTRY_NO_SUMS(SIZE, name) \
    C name[GANTRY_##SIZE##_SUMS];  \
    GANTRY_EACH(SIZE) { name[e] = (C)0; }
#define GANTRY_LOAD_SUMS(SIZE, name, from) \
    C name[GANTRY_##SIZE##_SUMS];          \
    GANTRY_EACH(SIZE) { name[e] = (from)[e]; }
#define GANTRY_STORE_SUMS(SIZE, name, SPACE, to) \
    GANTRY_EACH(SIZE) { (to)[e] = name[e]; }
#define GANTRY_ADD_PRODUCTS(SIZE, name, SPACE, a, b) \
    GANTRY_EACH(SIZE) { name[e] += (a)[e] * (b)[e]; }
#define GANTRY_ADD_MULTIPLES(SIZE, name, SPACE, a, b)     \
    {                                                     \
        const C factor = *(a);                            \
        GANTRY_EACH(SIZE) { name[e] += factor * (b)[e]; } \
    }
#endif

/* Adds the products of `taps` elements of the windows to the sums, which the first pass over the
 * rows sets to zero. offsets holds the offset of each tap's place 0 from `from`. Overwrites up to
 * GANTRY_SUMS_AT_ONCE - 1 sums after the last one, for which there must be room. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(add_taps)(const C *from, const C *weights, const int *offsets,
                                               const int taps, const int filters,
                                               C *GANTRY_APART sums, const int count,
                                               const int is_first) {
    const int turn =
        filters > GANTRY_SUMS_AT_ONCE ? GANTRY_SUMS_AT_ONCE : GANTRY_SUMS_AT_ONCE % filters;
    const int apart = filters + GANTRY_SUMS_AT_ONCE;

    if (is_first) {
        GANTRY_ITEM_FN(clear_sums)(sums, count + GANTRY_SUMS_AT_ONCE - 1);
    }
    for (int k = 0, filter = 0; k < count; k += GANTRY_SUMS_AT_ONCE, from += GANTRY_SUMS_AT_ONCE) {
        const C *own = weights + filter;
        GANTRY_LOAD_SUMS(HALF, some, sums + k)
        GANTRY_LOAD_SUMS(HALF, more, sums + k + GANTRY_HALF_SUMS)

        for (int tap = 0; tap < taps; tap++, own += apart) {
            GANTRY_ADD_PRODUCTS(HALF, some, , from + offsets[tap], own)
            GANTRY_ADD_PRODUCTS(HALF, more, , from + offsets[tap] + GANTRY_HALF_SUMS,
                                own + GANTRY_HALF_SUMS)
        }
        GANTRY_STORE_SUMS(HALF, some, , sums + k)
        GANTRY_STORE_SUMS(HALF, more, , sums + k + GANTRY_HALF_SUMS)
        filter += turn;
        filter -= filter >= filters ? filters : 0;
    }
}

/* Gathers the weights of `taps` elements of the windows for the lines: those of all filters, and
 * then GANTRY_SUMS_AT_ONCE of them repeated, if that is needed. Returns 0 if a weight is not
 * finite, because then zeros in the lines are not the same as padding. */
GANTRY_SHARED_FN int GANTRY_ITEM_FN(gather_weights)(GANTRY_GLOBAL const T *filter,
                                                    C *GANTRY_APART weights, const int taps,
                                                    const int filters, const GANTRY_LONG all) {
    int special = 0;

    for (int tap = 0; tap < taps; tap++, filter += all, weights += filters + GANTRY_SUMS_AT_ONCE) {
        for (int k = 0; k < filters; ++k) {
            const C weight = GANTRY_WIDEN(filter[k]);

            weights[k] = weight;
            special |= weight - weight != (C)0;
        }
        for (int k = 0, from = 0; filters % GANTRY_SUMS_AT_ONCE != 0 && k < GANTRY_SUMS_AT_ONCE;
             ++k) {
            weights[filters + k] = weights[from];
            from = from + 1 < filters ? from + 1 : 0;
        }
    }
    return !special;
}

#define GANTRY_REPEAT(line, value)                     \
    {                                                  \
        const C repeated = value;                      \
        C *const all = line;                           \
        for (int n = 0; n < GANTRY_LINE_FEWEST; ++n) { \
            all[n] = repeated;                         \
        }                                              \
    }

/* Writes `pixels` pixels of a line, of `count` elements each, from pixels of x that are `apart`
 * elements apart. Each element of x is repeated `depth` times, and the first one of a pixel `rest`
 * times. Writes some elements beyond the end. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(repeat)(GANTRY_GLOBAL const T *x, C *GANTRY_APART line,
                                             const int pixels, const GANTRY_LONG apart,
                                             const int count, const int depth, const int rest) {
    const int is_short = depth <= GANTRY_LINE_FEWEST && rest == depth;

    for (int pixel = 0; pixel < pixels; pixel++, line += count) {
        GANTRY_GLOBAL const T *from = x + pixel * apart;

        for (int k = 0; depth == 1 && k < count; ++k) {
            line[k] = GANTRY_WIDEN(from[k]);
        }
        for (C *to = line; depth > 1 && is_short && to < line + count; to += depth) {
            GANTRY_REPEAT(to, GANTRY_WIDEN(*from++))
        }
        for (int k = 0, next = rest; !is_short && k < count; k += next, next = depth) {
            const C value = GANTRY_WIDEN(*from++);

            for (int e = 0; e < (next < count - k ? next : count - k); e += GANTRY_LINE_FEWEST) {
                GANTRY_REPEAT(line + k + e, value)
            }
        }
    }
}

/* Fills a part of a line, for the filters from `own` on: every step_x-th pixel from `left` on, of
 * the row of x that begins with pixel `row`. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(fill_part)(GANTRY_GLOBAL const T *x, C *part,
                                                GANTRY_PARAMETERS(gantry__windows_t) p,
                                                const gantry__lines_t *l, const GANTRY_LONG row,
                                                const GANTRY_LONG left, const GANTRY_LONG own) {
    const int length = l->places + l->behind, most = GANTRY_LINE_ROOM(sizeof(C));
    const GANTRY_LONG repeats = p->planes != 0 ? 1 : p->depth,
                      channel = gantry__divide_position(own, repeats);
    const GANTRY_LONG rest = repeats - (own - channel * repeats);
    gantry__reach_t inside;
    int first, end, together;

    gantry__find_reach(left, p->step_x, length, p->width, &inside);
    first = inside.first < length ? (int)inside.first : length;
    end = inside.end > first ? (int)inside.end : first;
    together =
        p->step_x == 1 && l->filters == p->channels * repeats && end > first ? end - first : 1;
    GANTRY_ITEM_FN(clear_sums)(part, first * l->filters);
    GANTRY_ITEM_FN(repeat)
    (x + (row + left + first * p->step_x) * p->channels + channel, part + first * l->filters,
     (end - first) / together, p->step_x * p->channels, together * l->filters,
     repeats < most ? (int)repeats : most, rest < most ? (int)rest : most);
    GANTRY_ITEM_FN(clear_sums)(part + end * l->filters, (length - end) * l->filters);
}

/* Makes the lines of rows [first, first + rows) of the windows of a block, and adds their products
 * to the sums. The block begins at `place` of the stretch and with filter `own`. */
GANTRY_ITEM void GANTRY_ITEM_FN(add_lines)(GANTRY_GLOBAL const T *x, const C *weights, C *sums,
                                           GANTRY_PARAMETERS(gantry__windows_t) p,
                                           const gantry__stretch_t *s, const gantry__lines_t *l,
                                           const GANTRY_LONG first, const int rows, const int place,
                                           const GANTRY_LONG own) {
    const GANTRY_LONG image =
        p->planes != 0 ? gantry__divide_position(s->image, p->depth) : s->image;
    const int part = (l->places + l->behind) * l->filters;
    C lines[GANTRY_LINE_ROOM(sizeof(C)) + GANTRY_SUMS_AT_ONCE], *to = lines;
    int offsets[GANTRY_LINE_TAPS];

    for (int row = 0; row < rows; ++row) {
        const GANTRY_LONG y = s->top + (first + row) * p->spread_y;

        for (int k = 0; k < l->parts; k++, to += part) {
            GANTRY_ITEM_FN(fill_part)
            (x, to, p, l, (image * p->height + y) * p->width, s->left + place * p->step_x + k, own);
        }
    }
    gantry__find_taps(p, rows, l->parts * part, l->parts, part, l->filters, offsets);
    GANTRY_ITEM_FN(add_taps)
    (lines, weights, offsets, rows * (int)p->columns, l->filters, sums, l->places * l->filters,
     first == s->rows.first);
}

#if !GANTRY_T_IS_HALF
/* Without lines: sums of one or GANTRY_PLACES places for a vector of filters. The places' windows
 * begin x_apart elements apart in x, and their sums out_apart elements apart in out. ADD is
 * GANTRY_ADD_PRODUCTS if each filter has its own channel, or GANTRY_ADD_MULTIPLES if all filters
 * have the same one. */
#define GANTRY_PLACE_BEGIN(SIZE, ADD, n) GANTRY_NO_SUMS(SIZE, place_##n)
#define GANTRY_PLACE_ADD(SIZE, ADD, n) ADD(SIZE, place_##n, GANTRY_GLOBAL, from + n * x_apart, own)
/* With x_apart GANTRY_HALF_SUMS, more channels of one place instead of more places, because the
 * additions of a single vector of sums would wait for one another. */
#define GANTRY_BESIDE_ADD(SIZE, ADD, n) \
    ADD(SIZE, place_##n, GANTRY_GLOBAL, from + n * x_apart, own + n * x_apart)
#define GANTRY_PLACE_END(SIZE, ADD, n) \
    GANTRY_STORE_SUMS(SIZE, place_##n, GANTRY_GLOBAL, out + n * out_apart)
#define GANTRY_ONE_PLACE(DO, SIZE, ADD) DO(SIZE, ADD, 0)
#define GANTRY_ALL_PLACES(DO, SIZE, ADD) \
    DO(SIZE, ADD, 0) DO(SIZE, ADD, 1) DO(SIZE, ADD, 2) DO(SIZE, ADD, 3)
#define GANTRY_DEFINE_PLACES(name, PLACES, STEP, SIZE, ADD)                                     \
    GANTRY_SHARED_FN void GANTRY_ITEM_FN(name)(                                                 \
        GANTRY_GLOBAL const T *GANTRY_APART x, const GANTRY_LONG x_apart,                       \
        GANTRY_GLOBAL const T *GANTRY_APART filter, const gantry__tap_t *GANTRY_APART taps,     \
        const int taps_count, GANTRY_GLOBAL T *GANTRY_APART out, const GANTRY_LONG out_apart) { \
        PLACES(GANTRY_PLACE_BEGIN, SIZE, ADD)                                                   \
        for (int tap = 0; tap < taps_count; ++tap) {                                            \
            GANTRY_GLOBAL const T *from = x + taps[tap].pixel;                                  \
            GANTRY_GLOBAL const T *own = filter + taps[tap].weights;                            \
                                                                                                \
            PLACES(GANTRY_##STEP##_ADD, SIZE, ADD)                                              \
        }                                                                                       \
        PLACES(GANTRY_PLACE_END, SIZE, ADD)                                                     \
    }
GANTRY_DEFINE_PLACES(add_channels, GANTRY_ALL_PLACES, PLACE, HALF, GANTRY_ADD_PRODUCTS)
GANTRY_DEFINE_PLACES(add_few_channels, GANTRY_ALL_PLACES, PLACE, FEW, GANTRY_ADD_PRODUCTS)
GANTRY_DEFINE_PLACES(add_filters, GANTRY_ALL_PLACES, PLACE, FEW, GANTRY_ADD_MULTIPLES)
GANTRY_DEFINE_PLACES(add_many_channels_once, GANTRY_ALL_PLACES, BESIDE, HALF, GANTRY_ADD_PRODUCTS)
GANTRY_DEFINE_PLACES(add_channels_once, GANTRY_ONE_PLACE, PLACE, HALF, GANTRY_ADD_PRODUCTS)
GANTRY_DEFINE_PLACES(add_few_channels_once, GANTRY_ONE_PLACE, PLACE, FEW, GANTRY_ADD_PRODUCTS)
GANTRY_DEFINE_PLACES(add_filters_once, GANTRY_ONE_PLACE, PLACE, FEW, GANTRY_ADD_MULTIPLES)

/* Sums all filters of a block, at one place if out_apart is 0, else at GANTRY_PLACES places. The
 * block, or each of its channels, must have at least GANTRY_FEW_SUMS filters. The last vector
 * overlaps the one before it, and computes some filters twice. */
#define GANTRY_ADD_AT(name, at_x, at)                                                         \
    if (out_apart == 0) {                                                                     \
        GANTRY_ITEM_FN(name##_once)(at_x, 0, filter + (at), taps, taps_count, out + (at), 0); \
    } else {                                                                                  \
        GANTRY_ITEM_FN(name)                                                                  \
        (at_x, x_apart, filter + (at), taps, taps_count, out + (at), out_apart);              \
    }
GANTRY_SHARED_FN void GANTRY_ITEM_FN(add_places)(
    GANTRY_GLOBAL const T *x, const GANTRY_LONG x_apart, GANTRY_GLOBAL const T *filter,
    const gantry__tap_t *taps, const int taps_count, const int filters, const int depth,
    GANTRY_GLOBAL T *out, const GANTRY_LONG out_apart) {
    int k = 0;

    for (int next = 0; depth > 1 && next < filters; ++x) {
        for (next += depth; k < next; k += GANTRY_FEW_SUMS) {
            k = k + GANTRY_FEW_SUMS > next ? next - GANTRY_FEW_SUMS : k;
            GANTRY_ADD_AT(add_filters, x, k)
        }
    }
    for (; out_apart == 0 && k + GANTRY_MANY_SUMS <= filters; k += GANTRY_MANY_SUMS) {
        GANTRY_ITEM_FN(add_many_channels_once)
        (x + k, GANTRY_HALF_SUMS, filter + k, taps, taps_count, out + k, GANTRY_HALF_SUMS);
    }
    for (; k + GANTRY_HALF_SUMS <= filters; k += GANTRY_HALF_SUMS) {
        GANTRY_ADD_AT(add_channels, x + k, k)
    }
    for (; k < filters; k += GANTRY_FEW_SUMS) {
        k = k + GANTRY_FEW_SUMS > filters ? filters - GANTRY_FEW_SUMS : k;
        GANTRY_ADD_AT(add_few_channels, x + k, k)
    }
}
#undef GANTRY_ADD_AT

#if GANTRY_T_IS(f32)
/* Without lines, for windows of 3 or 5 columns that are inside the image: GANTRY_ROW_PLACES places
 * next to each other, for GANTRY_ROW_SUMS channels. The weights of a row of the windows stay in
 * registers. Each of its pixels is read once: pixel j is in the windows of the places n that begin
 * at most COLUMNS - 1 pixels before it. */
#define GANTRY_ROW_PLACES 8
#if defined(__OPENCL_VERSION__)
#define GANTRY_ROW_SUMS GANTRY_FEW_SUMS
#define GANTRY_NO_ROW ((gantry__row_sums_t)((C)0))
typedef gantry__few_sums_t gantry__row_sums_t;
#else
#if defined(__AVX512F__)
#define GANTRY_ROW_SUMS GANTRY_HALF_SUMS
#else
#define GANTRY_ROW_SUMS GANTRY_FEW_SUMS
#endif
#define GANTRY_NO_ROW ((gantry__row_sums_t){0})
typedef float gantry__row_sums_t
    __attribute__((vector_size(4 * GANTRY_ROW_SUMS), aligned(4), may_alias));
#endif
#define GANTRY_ROW_CLEAR(n, a, b, c) sums[n] = weights[n] = GANTRY_NO_ROW;
#define GANTRY_ROW_WEIGHTS(n, COLUMNS, b, c) \
    if (n < COLUMNS)                         \
        weights[n] = *(GANTRY_GLOBAL const gantry__row_sums_t *)(own + n * weights_apart);
#define GANTRY_ROW_ADD(n, j, COLUMNS, STEP) \
    if (j - n * STEP >= 0 && j - n * STEP < COLUMNS) sums[n] += pixel * weights[(j - n * STEP) & 7];
#define GANTRY_ROW_PIXEL(j, COLUMNS, STEP)                                 \
    if (j < (GANTRY_ROW_PLACES - 1) * STEP + COLUMNS) {                    \
        const gantry__row_sums_t pixel =                                   \
            *(GANTRY_GLOBAL const gantry__row_sums_t *)(from + j * apart); \
        GANTRY_EACH_PLACE(GANTRY_ROW_ADD, j, COLUMNS, STEP)                \
    }
#define GANTRY_ROW_STORE(n, a, b, c) \
    *(GANTRY_GLOBAL gantry__row_sums_t *)(out + n * weights_apart) = sums[n];
#define GANTRY_DEFINE_ROW(name, COLUMNS, STEP)                                                \
    GANTRY_SHARED_FN void GANTRY_ITEM_FN(name)(                                               \
        GANTRY_GLOBAL const T *GANTRY_APART from, const GANTRY_LONG row_apart,                \
        const GANTRY_LONG apart, GANTRY_GLOBAL const T *GANTRY_APART own,                     \
        const GANTRY_LONG weights_apart, const int rows, GANTRY_GLOBAL T *GANTRY_APART out) { \
        gantry__row_sums_t sums[GANTRY_ROW_PLACES], weights[GANTRY_ROW_PLACES];               \
        GANTRY_EACH_PLACE(GANTRY_ROW_CLEAR, 0, 0, 0)                                          \
        for (int row = 0; row < rows; ++row) {                                                \
            GANTRY_EACH_PLACE(GANTRY_ROW_WEIGHTS, COLUMNS, 0, 0)                              \
            GANTRY_EACH_PIXEL(GANTRY_ROW_PIXEL, COLUMNS, STEP)                                \
            from += row_apart;                                                                \
            own += COLUMNS * weights_apart;                                                   \
        }                                                                                     \
        GANTRY_EACH_PLACE(GANTRY_ROW_STORE, 0, 0, 0)                                          \
    }
GANTRY_DEFINE_ROW(add_row_3, 3, 1)
GANTRY_DEFINE_ROW(add_row_3_by_2, 3, 2)
GANTRY_DEFINE_ROW(add_row_5, 5, 1)
GANTRY_DEFINE_ROW(add_row_5_by_2, 5, 2)

/* Pixels a multiple of 1 KiB apart share few sets of a cache: half lines would be loaded twice. */
GANTRY_SHARED_FN int GANTRY_ITEM_FN(has_rows)(GANTRY_PARAMETERS(gantry__windows_t) p) {
    return p->depth == 1 && p->spread_x == 1 && (p->columns == 3 || p->columns == 5) &&
           p->step_x <= 2 && (GANTRY_ROW_SUMS == GANTRY_HALF_SUMS || p->channels % 256 != 0);
}
#define GANTRY_ADD_ROW(name) \
    GANTRY_ITEM_FN(name)(x + k, row_apart, apart, filter + k, each, count, out + k);
/* Sums GANTRY_ROW_PLACES places for all channels of a block. The last GANTRY_ROW_SUMS overlap those
 * before them, which may be of the block before. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(add_rows)(GANTRY_GLOBAL const T *x,
                                               GANTRY_GLOBAL const T *filter, GANTRY_GLOBAL T *out,
                                               GANTRY_PARAMETERS(gantry__windows_t) p,
                                               const gantry__reach_t *rows, const int filters,
                                               const GANTRY_LONG each) {
    const GANTRY_LONG apart = p->channels, row_apart = p->spread_y * p->width * apart;
    const int count = (int)(rows->end - rows->first);

    x += rows->first * row_apart;
    filter += rows->first * p->columns * each;
    for (int k = 0; k < filters; k += GANTRY_ROW_SUMS) {
        k = k + GANTRY_ROW_SUMS > filters ? filters - GANTRY_ROW_SUMS : k;
        if (p->columns == 3 && p->step_x == 1) {
            GANTRY_ADD_ROW(add_row_3)
        } else if (p->columns == 3) {
            GANTRY_ADD_ROW(add_row_3_by_2)
        } else if (p->step_x == 1) {
            GANTRY_ADD_ROW(add_row_5)
        } else {
            GANTRY_ADD_ROW(add_row_5_by_2)
        }
    }
}
#endif

/* Filters [own, own + filters) of a stretch, of `each` at a place. Places whose windows have all
 * columns inside the image are computed GANTRY_PLACES at once, the others one by one. With few
 * filters, the last group of such places overlaps the one before it, unless one place is left. */
GANTRY_ITEM void GANTRY_ITEM_FN(depthwise_direct)(GANTRY_GLOBAL const T *x,
                                                  GANTRY_GLOBAL const T *filter,
                                                  GANTRY_GLOBAL T *out,
                                                  GANTRY_PARAMETERS(gantry__windows_t) p,
                                                  const gantry__stretch_t *s, const int filters,
                                                  const GANTRY_LONG own, const GANTRY_LONG each) {
    gantry__tap_t taps[GANTRY_LINE_TAPS];
    gantry__reach_t whole, seen = {0, -1}, columns;
    const int is_wide = p->depth == 1 && filters >= GANTRY_MANY_SUMS;
    int count = 0;

    gantry__find_reach(s->left, p->step_x, s->count, p->width - (p->columns - 1) * p->spread_x,
                       &whole);
    x += (s->image * p->height + s->top) * p->width * p->channels +
         gantry__divide_position(own, p->depth);
    out += s->place * each + own;
    for (GANTRY_LONG place = 0, at, next; place < s->count; place = next) {
#if GANTRY_T_IS(f32)
        if (GANTRY_ITEM_FN(has_rows)(p) && place >= whole.first &&
            place + GANTRY_ROW_PLACES <= whole.end) {
            GANTRY_ITEM_FN(add_rows)
            (x + (s->left + place * p->step_x) * p->channels, filter + own, out + place * each, p,
             &s->rows, filters, each);
            next = place + GANTRY_ROW_PLACES;
            continue;
        }
#endif
        const int together = place >= whole.first &&
                             place + (is_wide ? GANTRY_PLACES - 1 : 1) < whole.end &&
                             whole.end - whole.first >= GANTRY_PLACES;

        at = together && place > whole.end - GANTRY_PLACES ? whole.end - GANTRY_PLACES : place;
        next = at + (together ? GANTRY_PLACES : 1);
        gantry__find_columns(p, s->left + at * p->step_x, &columns);
        if (columns.first != seen.first || columns.end != seen.end) {
            seen = columns;
            count = gantry__list_taps(p, &s->rows, &seen, each, taps);
        }
        GANTRY_ITEM_FN(add_places)
        (x + (s->left + at * p->step_x) * p->channels, p->step_x * p->channels, filter + own, taps,
         count, filters, (int)p->depth, out + at * each, together ? each : 0);
    }
}
#define GANTRY_DEPTHWISE_DIRECT(x, filter, out, p, s, filters, own, each) \
    GANTRY_ITEM_FN(depthwise_direct)(x, filter, out, p, s, filters, own, each)
#else
#define GANTRY_DEPTHWISE_DIRECT(x, filter, out, p, s, filters, own, each)
#endif

/* The same by lines; the filter tensor has `all` filters. weights_are is 0 if the weights are not
 * gathered yet, 1 if they are, 2 if they are and all are finite. Returns the new weights_are. */
GANTRY_ITEM int GANTRY_ITEM_FN(depthwise_filters)(
    GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *filter, GANTRY_GLOBAL T *out,
    GANTRY_PARAMETERS(gantry__windows_t) p, const gantry__stretch_t *s,
    const gantry__lines_t *lines, const GANTRY_LONG own, const GANTRY_LONG each,
    const GANTRY_LONG all, C *weights, int weights_are) {
    const GANTRY_LONG plane =
        p->planes != 0 ? s->image - gantry__divide_position(s->image, all) * all : 0;
    C sums[GANTRY_LINE_ROOM(sizeof(C)) / 2 + GANTRY_SUMS_AT_ONCE];
    gantry__lines_t l;

    for (int place = 0; place < s->count; place += l.places) {
        gantry__next_lines(lines, s, place, &l);
        const int together = l.filters == each ? l.places : 1;
        int is_possible = s->rows.first < s->rows.end && lines->places > 0;

        for (GANTRY_LONG r = s->rows.first; is_possible && r < s->rows.end; r += l.rows) {
            const int rows = s->rows.end - r < l.rows ? (int)(s->rows.end - r) : l.rows,
                      has_all = l.rows == p->rows;
            const GANTRY_LONG from = has_all ? 0 : r;

            if (!has_all || weights_are == 0) {
                weights_are = 1 + GANTRY_ITEM_FN(gather_weights)(
                                      filter + from * p->columns * all + plane + own, weights,
                                      (has_all ? l.rows : rows) * (int)p->columns, l.filters, all);
            }
            is_possible = weights_are == 2;
            GANTRY_ITEM_FN(add_lines)
            (x, weights + (r - from) * p->columns * (l.filters + GANTRY_SUMS_AT_ONCE), sums, p, s,
             &l, r, rows, place, own);
        }
        for (int k = 0; is_possible && k < l.places; k += together) {
            GANTRY_ITEM_FN(store_sums)
            (out + (s->place + place + k) * each + own, sums + k * l.filters, together * l.filters);
        }
        for (int k = 0; !is_possible && k < l.places * l.filters; ++k) {
            const int at = k / l.filters;

            GANTRY_ITEM_FN(depthwise_element)
            (x, filter, out, p, (s->place + place + at) * each + own + k - at * l.filters);
        }
    }
    return weights_are;
}

GANTRY_ITEM void GANTRY_ITEM_FN(depthwise)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *filter,
                                           GANTRY_GLOBAL T *out,
                                           GANTRY_PARAMETERS(gantry__windows_t) p,
                                           const GANTRY_LONG i) {
    gantry__band_t b;
    const GANTRY_LONG all = (p->planes != 0 ? p->planes : p->channels) * p->depth,
                      each = p->planes != 0 ? 1 : all;
    gantry__stretch_t s;
    C weights[GANTRY_LINE_ROOM(sizeof(C))];
    gantry__lines_t lines;

    gantry__find_band(p, i, &b);
    for (; b.images > 0; b.image++, b.images--) {
#if GANTRY_T_IS(f32) && !defined(__OPENCL_VERSION__)
        if (p->planes != 0) {
            const GANTRY_LONG done = GANTRY_CPU_NAME(rolls_depthwise)(x, filter, out, p, &b, all);

            b.image += done;
            b.images -= done;
            if (b.images == 0 || GANTRY_CPU_NAME(planes_depthwise)(x, filter, out, p, &b, all)) {
                continue;
            }
        }
#endif
        gantry__find_lines(p, each, GANTRY_LINE_ROOM(sizeof(C)), !GANTRY_T_IS_HALF, &lines);
        for (GANTRY_LONG own = 0; own < each; own += lines.filters) {
            int weights_are = 0;

            own = lines.is_direct && p->depth == 1 && each - own < GANTRY_FEW_SUMS
                      ? each - GANTRY_FEW_SUMS
                      : own;
            lines.filters = each - own < lines.filters ? (int)(each - own) : lines.filters;
            for (GANTRY_LONG y = b.top; y < b.bottom; ++y) {
                gantry__find_places(p, b.image, y, b.first, b.end, &s);
                if (lines.is_direct) {
                    GANTRY_DEPTHWISE_DIRECT(x, filter, out, p, &s, lines.filters, own, each);
                } else {
                    weights_are = GANTRY_ITEM_FN(depthwise_filters)(
                        x, filter, out, p, &s, &lines, own, each, all, weights, weights_are);
                }
            }
        }
    }
}
#undef GANTRY_NO_SUMS
#undef GANTRY_LOAD_SUMS
#undef GANTRY_STORE_SUMS
#undef GANTRY_ADD_PRODUCTS
#undef GANTRY_ADD_MULTIPLES
#undef GANTRY_EACH
#undef GANTRY_HALF_TYPE
#undef GANTRY_FEW_TYPE
#undef GANTRY_DEFINE_PLACES
#undef GANTRY_PLACE_BEGIN
#undef GANTRY_PLACE_ADD
#undef GANTRY_BESIDE_ADD
#undef GANTRY_PLACE_END
#undef GANTRY_ONE_PLACE
#undef GANTRY_ALL_PLACES
#undef GANTRY_DEPTHWISE_DIRECT
#undef GANTRY_ROW_PLACES
#undef GANTRY_ROW_SUMS
#undef GANTRY_NO_ROW
#undef GANTRY_REPEAT
#endif
GANTRY_ITEMS_2_1(depthwise, T, T, T, gantry__windows_t)

#if !GANTRY_T_IS_HALF && !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
GANTRY_NO_ITEM(convolve) /* conv_cpu.c has this op */
#else
GANTRY_ITEM void GANTRY_ITEM_FN(convolve)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *filter,
                                          GANTRY_GLOBAL T *out,
                                          GANTRY_PARAMETERS(gantry__windows_t) p,
                                          const GANTRY_LONG i) {
    gantry__view_t view;
    gantry__find_view(p, p->depth, i, &view);
    const GANTRY_LONG apart = (p->planar & 1) != 0 ? 1 : p->channels, /* pixels, channels */
        down = (p->planar & 1) != 0 ? p->height * p->width : 1;
    C sum = (C)0;

    x += view.at.image * p->height * p->width * p->channels;
    for (GANTRY_LONG r = view.rows.first; r < view.rows.end; ++r) {
        const GANTRY_LONG row = (view.top + r * p->spread_y) * p->width + view.left;

        for (GANTRY_LONG c = view.columns.first; c < view.columns.end; ++c) {
            GANTRY_GLOBAL const T *pixel = x + (row + c * p->spread_x) * apart;
            GANTRY_GLOBAL const T *weights =
                filter + (r * p->columns + c) * p->channels * p->depth + view.at.channel;

            for (GANTRY_LONG e = 0; e < p->channels; ++e) {
                sum += GANTRY_WIDEN(pixel[e * down]) * GANTRY_WIDEN(weights[e * p->depth]);
            }
        }
    }
    const GANTRY_LONG plane = view.at.image * p->depth + view.at.channel;

    out[(p->planar & 2) != 0 ? (plane * p->out_height + view.at.y) * p->out_width + view.at.x : i] =
        GANTRY_NARROW(sum);
}
GANTRY_ITEMS_2_1(convolve, T, T, T, gantry__windows_t)
#endif

/* Element (r, c) of a window covers a pixel if the window is at place (y + top - r * spread) /
 * step, and that division has no remainder. */
#if GANTRY_RUN_MOST == 1
GANTRY_ITEM void GANTRY_ITEM_FN(fold)(GANTRY_GLOBAL const T *patches, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry__windows_t) p, const GANTRY_LONG i) {
    const gantry__pixel_t at = gantry__pixel(i, p->height, p->width, p->channels);
    C sum = (C)0;

    for (GANTRY_LONG r = 0; r < p->rows; ++r) {
        const GANTRY_LONG down = at.y + p->top - r * p->spread_y;
        const GANTRY_LONG y = down < 0 ? -1 : gantry__divide_position(down, p->step_y);

        if (down < 0 || y * p->step_y != down || y >= p->out_height) {
            continue;
        }
        for (GANTRY_LONG c = 0; c < p->columns; ++c) {
            const GANTRY_LONG right = at.x + p->left - c * p->spread_x;
            const GANTRY_LONG x = right < 0 ? -1 : gantry__divide_position(right, p->step_x);

            if (right >= 0 && x * p->step_x == right && x < p->out_width) {
                const GANTRY_LONG place = (at.image * p->out_height + y) * p->out_width + x;

                sum += GANTRY_WIDEN(
                    patches[((place * p->rows + r) * p->columns + c) * p->channels + at.channel]);
            }
        }
    }
    out[i] = GANTRY_NARROW(sum);
}
#else
/* Adds the patches' elements of `count` channels of the pixel to sums. */
GANTRY_ITEM void GANTRY_ITEM_FN(fold_pixel)(GANTRY_GLOBAL const T *patches, C *sums,
                                            GANTRY_PARAMETERS(gantry__windows_t) p,
                                            const gantry__pixel_t at, const int count) {
    for (GANTRY_LONG r = 0; r < p->rows; ++r) {
        const GANTRY_LONG y =
            gantry__place_through(at.y + p->top - r * p->spread_y, p->step_y, p->out_height);

        for (GANTRY_LONG c = 0; y >= 0 && c < p->columns; ++c) {
            const GANTRY_LONG x =
                gantry__place_through(at.x + p->left - c * p->spread_x, p->step_x, p->out_width);

            if (x >= 0) {
                const GANTRY_LONG place = (at.image * p->out_height + y) * p->out_width + x;
                const GANTRY_LONG from =
                    ((place * p->rows + r) * p->columns + c) * p->channels + at.channel;

                for (int k = 0; k < count; ++k) {
                    sums[k] += GANTRY_WIDEN(patches[from + k]);
                }
            }
        }
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(fold)(GANTRY_GLOBAL const T *patches, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry__windows_t) p, const GANTRY_LONG i) {
    GANTRY_FIND_RUN(p->runs)
    gantry__pixel_t at;
    C sums[GANTRY_RUN_MOST];

    at.image = gantry__divide_position(line, p->height);
    at.y = line - at.image * p->height;
    for (at.x = first; at.x < end; at.x++) {
        for (at.channel = 0; at.channel < p->channels; at.channel += GANTRY_RUN_MOST) {
            const GANTRY_LONG left = p->channels - at.channel;
            const int count = left < GANTRY_RUN_MOST ? (int)left : GANTRY_RUN_MOST;

            for (int k = 0; k < count; ++k) {
                sums[k] = (C)0;
            }
            GANTRY_ITEM_FN(fold_pixel)(patches, sums, p, at, count);
            GANTRY_ITEM_FN(store_sums)
            (out + (line * p->width + at.x) * p->channels + at.channel, sums, count);
        }
    }
}
#endif
GANTRY_ITEMS_1_1(fold, T, T, gantry__windows_t)

#endif
