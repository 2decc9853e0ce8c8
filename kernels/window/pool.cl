/* SPDX-License-Identifier: Apache-2.0 */
/* Pools. An item is an element of the output, or on processors a stretch of places (window.cl).
 *
 *   max_pool   the largest element of each window. NaN never compares as larger, and so is ignored,
 *              as in TensorFlow
 *   avg_pool   the mean, of floating types; sums of 16-bit floats are in float32
 *   max_pool_argmax   the first of the largest elements, row by row, and its position. A NaN that
 *              is first stays, and later ones are ignored, as in max_pool_grad
 *
 * Each column of a window is reduced from top to bottom, and then the columns from left to right:
 * so places of one row share their columns. Elements in the padding are left out.
 *
 * Where channels of floats come first, an item of a processor is a band of rows of one plane: lines
 * of reduced columns, which have START in the padding, and then the places over them. */
#ifdef GANTRY_ITEM_TEXT

#if GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF
#define GANTRY_POOL_LEAST (C)(-GANTRY_AS_FLOAT(0x7f800000u))
#elif GANTRY_T_IS_UNSIGNED
#define GANTRY_POOL_LEAST (C)0
#else
#define GANTRY_POOL_LEAST (C)((U)1 << (8 * sizeof(T) - 1))
#endif
#define GANTRY_POOL_HAS_MEAN (GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF)
#define GANTRY_POOL_START(is_mean) ((is_mean) ? (C)0 : GANTRY_POOL_LEAST)
#define GANTRY_POOL_JOIN(is_mean, a, b) ((is_mean) ? (C)((a) + (b)) : (b) > (a) ? (b) : (a))

#if GANTRY_RUN_MOST == 1
GANTRY_ITEM void GANTRY_ITEM_FN(pool)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry__windows_t) p, const GANTRY_LONG i,
                                      const int is_mean) {
    gantry__view_t view;
    gantry__find_view(p, p->channels, i, &view);
    const GANTRY_LONG elements =
        is_mean && p->counted_height > 0
            ? gantry__counted_elements(p, view.top, view.left)
            : (view.rows.end - view.rows.first) * (view.columns.end - view.columns.first);
    C all = GANTRY_POOL_START(is_mean);

    for (GANTRY_LONG c = view.columns.first; c < view.columns.end; ++c) {
        C column = GANTRY_POOL_START(is_mean);

        for (GANTRY_LONG r = view.rows.first; r < view.rows.end; ++r) {
            const GANTRY_LONG row =
                (view.at.image * p->height + view.top + r * p->spread_y) * p->width;
            const GANTRY_LONG pixel = row + view.left + c * p->spread_x;
            const C value = GANTRY_WIDEN(x[pixel * p->channels + view.at.channel]);

            column = GANTRY_POOL_JOIN(is_mean, column, value);
        }
        all = GANTRY_POOL_JOIN(is_mean, all, column);
    }
    out[i] = GANTRY_NARROW(is_mean ? (C)(all / (C)elements) : all);
}
#else

/* Reduces `lines` lines of `count` elements into `to`. The first line is at `from`, and they are
 * `apart` elements apart. */
#define GANTRY_JOIN_TWO(is_mean, to, from, apart, has_two, count, widen)            \
    if (has_two) {                                                                  \
        for (int k = 0; k < (count); ++k) {                                         \
            const C value = GANTRY_POOL_JOIN(is_mean, (to)[k], widen((from)[k]));   \
            (to)[k] = GANTRY_POOL_JOIN(is_mean, value, widen((from)[k + (apart)])); \
        }                                                                           \
    } else {                                                                        \
        for (int k = 0; k < (count); ++k) {                                         \
            (to)[k] = GANTRY_POOL_JOIN(is_mean, (to)[k], widen((from)[k]));         \
        }                                                                           \
    }
#define GANTRY_DEFINE_JOIN_LINES(name, SPACE, E, widen)                                          \
    GANTRY_SHARED_FN void GANTRY_ITEM_FN(name)(C * GANTRY_APART to, SPACE const E *from,         \
                                               const GANTRY_LONG apart, const GANTRY_LONG lines, \
                                               const int count, const int is_mean) {             \
        for (GANTRY_LONG l = 0; l < lines; l += 2, from += 2 * apart) {                          \
            if (GANTRY_POOL_HAS_MEAN && is_mean) {                                               \
                GANTRY_JOIN_TWO(1, to, from, apart, l + 1 < lines, count, widen)                 \
            } else {                                                                             \
                GANTRY_JOIN_TWO(0, to, from, apart, l + 1 < lines, count, widen)                 \
            }                                                                                    \
        }                                                                                        \
    }
#define GANTRY_POOL_SAME(value) (value)
GANTRY_DEFINE_JOIN_LINES(join_columns, , C, GANTRY_POOL_SAME)
#if defined(__OPENCL_VERSION__) || GANTRY_T_IS_HALF
GANTRY_DEFINE_JOIN_LINES(join_rows, GANTRY_GLOBAL, T, GANTRY_WIDEN)
#define GANTRY_JOIN_ROWS GANTRY_ITEM_FN(join_rows)
#else
#define GANTRY_JOIN_ROWS GANTRY_ITEM_FN(join_columns)
#endif

GANTRY_SHARED_FN void GANTRY_ITEM_FN(pool_clear)(C *line, const int count, const int is_mean) {
    for (int k = 0; k < count; ++k) {
        line[k] = GANTRY_POOL_START(is_mean);
    }
}

/* Reduces the columns of `pixels` pixels, from `left` on, for the block's channels. */
GANTRY_ITEM void GANTRY_ITEM_FN(pool_line)(GANTRY_GLOBAL const T *x, C *GANTRY_APART line,
                                           GANTRY_PARAMETERS(gantry__windows_t) p,
                                           const gantry__stretch_t *s,
                                           const gantry__pool_block_t *b, const GANTRY_LONG left,
                                           const int pixels, const int is_mean) {
    const int first = left < 0 ? (int)-left : 0,
              end = p->width - left < pixels ? (int)(p->width - left) : pixels;
    const int together = b->channels == p->channels ? end - first : 1;
    const GANTRY_LONG row = p->width * p->channels;

    GANTRY_ITEM_FN(pool_clear)(line, pixels * b->channels, is_mean);
    for (int pixel = first; pixel < end; pixel += together) {
        const GANTRY_LONG place =
            (s->image * p->height + s->top + s->rows.first) * p->width + left + pixel;
        GANTRY_GLOBAL const T *from = x + place * p->channels + b->channel;

        GANTRY_JOIN_ROWS(line + pixel * b->channels, from, row, s->rows.end - s->rows.first,
                         together * b->channels, is_mean);
    }
}

/* Computes the block's results. With is_flat the reduced pixels between the places are computed as
 * well, and then removed. */
GANTRY_ITEM void GANTRY_ITEM_FN(pool_block)(GANTRY_GLOBAL const T *x, C *GANTRY_APART all,
                                            GANTRY_PARAMETERS(gantry__windows_t) p,
                                            const gantry__stretch_t *s,
                                            const gantry__pool_block_t *b, const int is_mean) {
    const GANTRY_LONG left = s->left + b->place * p->step_x;
    const int further = (b->places - 1) * (int)(b->places > 1 ? p->step_x : 1),
              step = (int)p->step_x * b->channels;
    const GANTRY_LONG first = left + further < 0 ? -left - further : 0;
    const GANTRY_LONG end = p->width - left < p->columns ? p->width - left : p->columns;
    const int runs = b->is_flat ? 1 : b->places,
              count = b->is_flat ? (further + 1) * b->channels : b->channels;
    C line[GANTRY_POOL_LINE];

    GANTRY_ITEM_FN(pool_clear)(all, runs * count, is_mean);
    for (GANTRY_LONG c = first; c < end; c += b->columns) {
        const int columns = end - c < b->columns ? (int)(end - c) : b->columns;

        GANTRY_ITEM_FN(pool_line)(x, line, p, s, b, left + c, further + columns, is_mean);
        for (int run = 0; run < runs; ++run) {
            GANTRY_ITEM_FN(join_columns)
            (all + run * count, line + run * step, b->channels, columns, count, is_mean);
        }
    }
    for (int k = b->channels, from = step;
         b->is_flat && step > b->channels && k < b->places * b->channels;
         from += step - b->channels) {
        for (int e = 0; e < b->channels; ++e) {
            all[k++] = all[from++];
        }
    }
}

GANTRY_SHARED_FN void GANTRY_ITEM_FN(pool_store)(GANTRY_GLOBAL T *out, const C *all,
                                                 GANTRY_PARAMETERS(gantry__windows_t) p,
                                                 const gantry__stretch_t *s,
                                                 const gantry__pool_block_t *b, const int is_mean) {
    const GANTRY_LONG left = s->left + b->place * p->step_x;
    const int is_counted = is_mean && p->counted_height > 0;
    gantry__reach_t inside;

    /* places whose windows have all columns inside the image */
    gantry__find_reach(left, p->step_x, b->places, p->width - p->columns + 1, &inside);
    for (int j = 0, next; j < b->places; j = next) {
        GANTRY_GLOBAL T *to = out + (s->place + b->place + j) * p->channels + b->channel;
        const C *from = all + j * b->channels;
        gantry__reach_t columns;
        C elements;

        gantry__find_columns(p, left + j * p->step_x, &columns);
        elements = (C)((s->rows.end - s->rows.first) * (columns.end - columns.first));
        if (is_counted) {
            elements = (C)gantry__counted_elements(p, s->top, left + j * p->step_x);
        }
        next = b->channels < p->channels             ? j + 1
               : !is_mean                            ? b->places
               : is_counted                          ? j + 1
               : j < inside.first || j >= inside.end ? j + 1
                                                     : (int)inside.end;
        for (int k = 0; k < (next - j) * b->channels; ++k) {
            C value = from[k];

            if (is_mean) value = (C)(value / elements);
            to[k] = GANTRY_NARROW(value);
        }
    }
}

#if GANTRY_T_IS_FLOAT
/* Computes the largest elements of small windows that share no column, place by place, from the
 * image. The last element counts twice where their number is odd. */
GANTRY_ITEM void GANTRY_ITEM_FN(max_places)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                            GANTRY_PARAMETERS(gantry__windows_t) p,
                                            const gantry__stretch_t *s) {
    x += (s->image * p->height + s->top) * p->width * p->channels;
    out += s->place * p->channels;
    for (int j = 0; j < s->count; ++j, out += p->channels) {
        const GANTRY_LONG left = s->left + j * p->step_x;
        GANTRY_GLOBAL const T *elements[GANTRY_POOL_FEW];
        gantry__reach_t columns;
        int count = 0;

        gantry__find_columns(p, left, &columns);
        for (GANTRY_LONG c = columns.first; c < columns.end; ++c) {
            for (GANTRY_LONG r = s->rows.first; r < s->rows.end; ++r) {
                elements[count++] = x + (r * p->width + left + c) * p->channels;
            }
        }
        for (int e = 0; e < count; e += 2) {
            GANTRY_GLOBAL const T *one = elements[e], *two = elements[e + 1 < count ? e + 1 : e];

            if (e == 0) {
                for (int k = 0; k < (int)p->channels; ++k) {
                    const T a = one[k], b = two[k];
                    const T larger = a > GANTRY_POOL_LEAST ? a : GANTRY_POOL_LEAST;

                    out[k] = b > larger ? b : larger;
                }
            } else {
                for (int k = 0; k < (int)p->channels; ++k) {
                    const T a = one[k], b = two[k], former = out[k];
                    const T larger = a > former ? a : former;

                    out[k] = b > larger ? b : larger;
                }
            }
        }
    }
}
#endif

/* Windows whose elements are apart, place by place. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(pool_apart)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                                 GANTRY_PARAMETERS(gantry__windows_t) p,
                                                 const gantry__stretch_t *s, const int is_mean) {
    C all[GANTRY_RUN_MOST], line[GANTRY_RUN_MOST];

    for (GANTRY_LONG part = 0; part < s->count * p->channels;) {
        const GANTRY_LONG place = gantry__divide_position(part, p->channels),
                          channel = part - place * p->channels, left = s->left + place * p->step_x;
        const int count = p->channels - channel < GANTRY_RUN_MOST ? (int)(p->channels - channel)
                                                                  : GANTRY_RUN_MOST;
        gantry__reach_t columns;

        gantry__find_columns(p, left, &columns);
        const GANTRY_LONG elements =
            is_mean && p->counted_height > 0
                ? gantry__counted_elements(p, s->top, left)
                : (s->rows.end - s->rows.first) * (columns.end - columns.first);
        GANTRY_ITEM_FN(pool_clear)(all, count, is_mean);
        for (GANTRY_LONG c = columns.first; c < columns.end; ++c) {
            GANTRY_ITEM_FN(pool_clear)(line, count, is_mean);
            for (GANTRY_LONG r = s->rows.first; r < s->rows.end; ++r) {
                const GANTRY_LONG row = (s->image * p->height + s->top + r * p->spread_y);
                GANTRY_GLOBAL const T *from =
                    x + (row * p->width + left + c * p->spread_x) * p->channels + channel;

                for (int k = 0; k < count; ++k) {
                    line[k] = GANTRY_POOL_JOIN(is_mean, line[k], GANTRY_WIDEN(from[k]));
                }
            }
            for (int k = 0; k < count; ++k) {
                all[k] = GANTRY_POOL_JOIN(is_mean, all[k], line[k]);
            }
        }
        for (int k = 0; k < count; ++k) {
            C value = all[k];
            if (is_mean) value = (C)(value / (C)elements);
            out[s->place * p->channels + part + k] = GANTRY_NARROW(value);
        }
        part += count;
    }
}

/* ---- planes: of floats, because pools of integers are rare ---- */
#if GANTRY_POOL_HAS_MEAN

/* to[k] is the reduction of `taps` elements, `apart` from each other, from element k on; for `some`
 * of them at a time, the last of which overlap those before. */
#define GANTRY_JOIN_ANY(is_mean, some, widen)                      \
    {                                                              \
        C all[some];                                               \
                                                                   \
        for (int e = 0; e < (some); ++e) {                         \
            all[e] = start;                                        \
        }                                                          \
        for (GANTRY_LONG l = 0; l < taps; ++l) {                   \
            for (int e = 0; e < (some); ++e) {                     \
                const C value = widen(from[at + e + l * apart]);   \
                all[e] = GANTRY_POOL_JOIN(is_mean, all[e], value); \
            }                                                      \
        }                                                          \
        for (int e = 0; e < (some); ++e) {                         \
            to[at + e] = all[e];                                   \
        }                                                          \
    }
/* The same of three or two elements, where that is float32. */
#define GANTRY_JOIN_THREE(is_mean, some, widen)                            \
    if (taps == 3) {                                                       \
        for (int k = at; k < at + (some); ++k) {                           \
            const C one = GANTRY_POOL_JOIN(is_mean, start, from[k]);       \
            const C two = GANTRY_POOL_JOIN(is_mean, one, from[k + apart]); \
            to[k] = GANTRY_POOL_JOIN(is_mean, two, from[k + 2 * apart]);   \
        }                                                                  \
    } else if (taps == 2) {                                                \
        for (int k = at; k < at + (some); ++k) {                           \
            const C one = GANTRY_POOL_JOIN(is_mean, start, from[k]);       \
            to[k] = GANTRY_POOL_JOIN(is_mean, one, from[k + apart]);       \
        }                                                                  \
    } else                                                                 \
        GANTRY_JOIN_ANY(is_mean, some, widen)
#define GANTRY_JOIN_SOME(is_mean, some, widen, join)    \
    for (int at = 0; at < count; at += (some)) {        \
        at = at + (some) > count ? count - (some) : at; \
        join(is_mean, some, widen)                      \
    }
#define GANTRY_JOIN_TAPS(is_mean, widen, join)    \
    if (count >= 8) {                             \
        GANTRY_JOIN_SOME(is_mean, 8, widen, join) \
    } else if (count >= 4) {                      \
        GANTRY_JOIN_SOME(is_mean, 4, widen, join) \
    } else {                                      \
        GANTRY_JOIN_SOME(is_mean, 1, widen, join) \
    }
#define GANTRY_DEFINE_JOIN_TAPS(name, SPACE, E, widen, join)                                    \
    GANTRY_SHARED_FN void GANTRY_ITEM_FN(name)(C * GANTRY_APART to, SPACE const E *from,        \
                                               const GANTRY_LONG apart, const GANTRY_LONG taps, \
                                               const int count, const int is_mean) {            \
        const C start = GANTRY_POOL_START(is_mean);                                             \
                                                                                                \
        if (is_mean) {                                                                          \
            GANTRY_JOIN_TAPS(1, widen, join)                                                    \
        } else {                                                                                \
            GANTRY_JOIN_TAPS(0, widen, join)                                                    \
        }                                                                                       \
    }
#if GANTRY_T_IS(f64)
GANTRY_DEFINE_JOIN_TAPS(join_taps, , C, GANTRY_POOL_SAME, GANTRY_JOIN_ANY)
#else
GANTRY_DEFINE_JOIN_TAPS(join_taps, , C, GANTRY_POOL_SAME, GANTRY_JOIN_THREE)
#endif
#if defined(__OPENCL_VERSION__) || GANTRY_T_IS_HALF
GANTRY_DEFINE_JOIN_TAPS(join_row_taps, GANTRY_GLOBAL, T, GANTRY_WIDEN, GANTRY_JOIN_ANY)
#define GANTRY_JOIN_ROW_TAPS GANTRY_ITEM_FN(join_row_taps)
#else
#define GANTRY_JOIN_ROW_TAPS GANTRY_ITEM_FN(join_taps)
#endif

#define GANTRY_STORE_SOME(some, value)               \
    for (int k = 0; k < count; k += (some)) {        \
        k = k + (some) > count ? count - (some) : k; \
        for (int e = k; e < k + (some); ++e) {       \
            out[e] = GANTRY_NARROW(value);           \
        }                                            \
    }
/* Stores a row of results; each is divided by rows * wide[k], which must be less than 2^24. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(store_places)(GANTRY_GLOBAL T *out, const C *all,
                                                   const C *wide, const C rows, const int count,
                                                   const int is_mean) {
    if (!is_mean) {
        GANTRY_STORE_SOME(1, all[e])
    } else if (count >= 8) {
        GANTRY_STORE_SOME(8, (C)(all[e] / (C)(rows * wide[e])))
    } else {
        GANTRY_STORE_SOME(1, (C)(all[e] / (C)(rows * wide[e])))
    }
}

#if defined(__OPENCL_VERSION__) || GANTRY_T_IS_HALF
#define GANTRY_POOL_TO(is_mean, out, all) (all)
#define GANTRY_POOL_IS_STORED(is_mean) 0
#else
#define GANTRY_POOL_TO(is_mean, out, all) ((is_mean) ? (all) : (out))
#define GANTRY_POOL_IS_STORED(is_mean) (!(is_mean))
#endif

/* `count` places from `place` on, of rows [top, bottom) of one plane. What is stored for some rows
 * is read when all of them are, because a load must wait for a store that it overlaps. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(pool_rows)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                                GANTRY_PARAMETERS(gantry__windows_t) p,
                                                const GANTRY_LONG image, const GANTRY_LONG top,
                                                const GANTRY_LONG bottom, const GANTRY_LONG place,
                                                const int span, const int count,
                                                const int is_mean) {
    const GANTRY_LONG left = place * p->step_x - p->left, apart = p->spread_y * p->width;
    const int first = left >= 0      ? 0
                      : -left < span ? (int)-left
                                     : span,
              inside = p->width - left < span ? (int)(p->width - left) : span,
              end = inside > first ? inside : first;
    C lines[GANTRY_POOL_LINE], between[GANTRY_POOL_LINE], all[GANTRY_POOL_LINE],
        wide[GANTRY_POOL_LINE];
    gantry__reach_t rows;

    out += (image * p->out_height + top) * p->out_width + place;
    for (GANTRY_LONG y = top; y < bottom; ++y) {
        const GANTRY_LONG above = y * p->step_y - p->top;
        C *line = lines + (y - top) * span;

        gantry__find_elements(above, p->spread_y, p->rows, p->height, &rows);
        if (first > 0) GANTRY_ITEM_FN(pool_clear)(line, first, is_mean);
        if (end < span) GANTRY_ITEM_FN(pool_clear)(line + end, span - end, is_mean);
        GANTRY_JOIN_ROW_TAPS(
            line + first,
            x + (image * p->height + above) * p->width + rows.first * apart + left + first, apart,
            rows.end - rows.first, end - first, is_mean);
    }
    for (GANTRY_LONG y = 0; y < bottom - top; ++y) {
        C *to = GANTRY_POOL_TO(is_mean, out + y * p->out_width, all + y * count);

        GANTRY_ITEM_FN(join_taps)
        (p->step_x == 1 ? to : between, lines + y * span, p->spread_x, p->columns,
         (count - 1) * (int)p->step_x + 1, is_mean);
        for (int k = 0; p->step_x != 1 && k < count; ++k) {
            to[k] = between[k * (int)p->step_x];
        }
    }
    for (int k = 0; is_mean && k < count; ++k) {
        wide[k] = (C)gantry__pool_counted_columns(p, left + k * p->step_x);
    }
    for (GANTRY_LONG y = top; !GANTRY_POOL_IS_STORED(is_mean) && y < bottom; ++y) {
        const C counted = is_mean ? (C)gantry__pool_counted_rows(p, y * p->step_y - p->top) : (C)0;

        GANTRY_ITEM_FN(store_places)
        (out + (y - top) * p->out_width, all + (y - top) * count, wide, counted, count, is_mean);
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(pool_planes)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                             GANTRY_PARAMETERS(gantry__windows_t) p,
                                             const GANTRY_LONG i, const int is_mean) {
    const GANTRY_LONG reach = (p->columns - 1) * p->spread_x + 1, spare = GANTRY_POOL_LINE - reach,
                      most = spare < 0 || p->rows > GANTRY_POOL_MOST_ROWS
                                 ? 0
                                 : gantry__divide_position(spare, p->step_x) + 1;
    gantry__band_t band;
    gantry__stretch_t s;

    gantry__find_band(p, i, &band);
    for (GANTRY_LONG place = band.first; most > 0 && place < band.end; place += most) {
        const GANTRY_LONG left = band.end - place, count = left < most ? left : most,
                          span = (count - 1) * p->step_x + reach,
                          rows = gantry__divide_position(GANTRY_POOL_LINE, span);

        for (GANTRY_LONG y = band.top; y < band.bottom; y += rows) {
            const GANTRY_LONG bottom = band.bottom - y < rows ? band.bottom : y + rows;

            GANTRY_ITEM_FN(pool_rows)
            (x, out, p, band.image, y, bottom, place, (int)span, (int)count, is_mean);
        }
    }
    for (GANTRY_LONG y = band.top; most == 0 && y < band.bottom; ++y) {
        gantry__find_places(p, band.image, y, band.first, band.end, &s);
        GANTRY_ITEM_FN(pool_apart)(x, out, p, &s, is_mean);
    }
}
#undef GANTRY_STORE_SOME
#undef GANTRY_POOL_TO
#undef GANTRY_POOL_IS_STORED
#undef GANTRY_JOIN_ANY
#undef GANTRY_JOIN_THREE
#undef GANTRY_JOIN_SOME
#undef GANTRY_JOIN_TAPS
#undef GANTRY_DEFINE_JOIN_TAPS
#undef GANTRY_JOIN_ROW_TAPS
#endif

GANTRY_ITEM void GANTRY_ITEM_FN(pool)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry__windows_t) p, const GANTRY_LONG i,
                                      const int is_mean) {
    gantry__stretch_t s;
    gantry__pool_block_t b;
    C all[GANTRY_POOL_LINE];

#if GANTRY_POOL_HAS_MEAN
    if (p->planes != 0) {
        GANTRY_ITEM_FN(pool_planes)(x, out, p, i, is_mean);
        return;
    }
#endif
    gantry__find_stretch(p, i, &s);
    if (gantry__has_gaps(p)) {
        GANTRY_ITEM_FN(pool_apart)(x, out, p, &s, is_mean);
        return;
    }
#if GANTRY_T_IS_FLOAT
    if (!is_mean && p->step_x >= p->columns && p->rows * p->columns <= GANTRY_POOL_FEW &&
        p->channels >= GANTRY_POOL_FEWEST_CHANNELS) {
        GANTRY_ITEM_FN(max_places)(x, out, p, &s);
        return;
    }
#endif
    gantry__pool_blocks(p, s.count, &b);
    for (const int places = b.places; b.place < s.count; b.place += places) {
        b.places = s.count - b.place < places ? s.count - b.place : places;
        for (b.channel = 0; b.channel < p->channels; b.channel += b.channels) {
            b.channels = p->channels - b.channel < b.most_channels ? (int)(p->channels - b.channel)
                                                                   : b.most_channels;
            GANTRY_ITEM_FN(pool_block)(x, all, p, &s, &b, is_mean);
            GANTRY_ITEM_FN(pool_store)(out, all, p, &s, &b, is_mean);
        }
    }
}
#undef GANTRY_JOIN_TWO
#undef GANTRY_DEFINE_JOIN_LINES
#undef GANTRY_JOIN_ROWS
#undef GANTRY_POOL_SAME
#endif

GANTRY_ITEM void GANTRY_ITEM_FN(max_pool)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                          GANTRY_PARAMETERS(gantry__windows_t) p,
                                          const GANTRY_LONG i) {
    GANTRY_ITEM_FN(pool)(x, out, p, i, 0);
}
GANTRY_ITEMS_1_1(max_pool, T, T, gantry__windows_t)

#if GANTRY_T_IS_FLOAT || GANTRY_T_IS_HALF
GANTRY_ITEM void GANTRY_ITEM_FN(avg_pool)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                          GANTRY_PARAMETERS(gantry__windows_t) p,
                                          const GANTRY_LONG i) {
    GANTRY_ITEM_FN(pool)(x, out, p, i, 1);
}
GANTRY_ITEMS_1_1(avg_pool, T, T, gantry__windows_t)
#else
GANTRY_NO_ITEM(avg_pool)
#endif

/* Does `count` channels, from element `first` of the result on, of the windows that begin at (top,
 * left) of an image. */
GANTRY_ITEM void GANTRY_ITEM_FN(pool_argmax)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                             GANTRY_GLOBAL uchar *positions,
                                             GANTRY_PARAMETERS(gantry__windows_t) p,
                                             const gantry__reach_t *rows, const GANTRY_LONG image,
                                             const GANTRY_LONG top, const GANTRY_LONG left,
                                             const GANTRY_LONG first, const int count) {
    const GANTRY_LONG channel = first - gantry__divide_position(first, p->channels) * p->channels;
    const GANTRY_LONG pixels = p->height * p->width;
    const GANTRY_LONG counted = p->has_batch ? image
                                : p->planes > 0
                                    ? image - gantry__divide_position(image, p->planes) * p->planes
                                    : 0;
    C most[GANTRY_RUN_MOST];
    GANTRY_LONG taken[GANTRY_RUN_MOST];
    gantry__reach_t columns;

    for (int k = 0; k < count; ++k) {
        most[k] = GANTRY_POOL_LEAST;
        taken[k] = -1;
    }
    gantry__find_columns(p, left, &columns);
    for (GANTRY_LONG r = rows->first; r < rows->end; ++r) {
        for (GANTRY_LONG c = columns.first; c < columns.end; ++c) {
            const GANTRY_LONG y = top + r * p->spread_y, column = left + c * p->spread_x;
            const GANTRY_LONG own =
                p->is_by_columns ? column * p->height + y : y * p->width + column;
            GANTRY_GLOBAL const T *from =
                x + (image * pixels + y * p->width + column) * p->channels + channel;

            for (int k = 0; k < count; ++k) {
                const C value = GANTRY_WIDEN(from[k]);
                const int is_more = taken[k] < 0 || value > most[k];

                most[k] = is_more ? value : most[k];
                taken[k] = is_more ? own : taken[k];
            }
        }
    }
    for (int k = 0; k < count; ++k) {
        const GANTRY_LONG at =
            taken[k] < 0 ? -1 : (counted * pixels + taken[k]) * p->channels + channel + k;

        out[first + k] = GANTRY_NARROW(most[k]);
        if (p->is_wide) {
            ((GANTRY_GLOBAL GANTRY_LONG *)positions)[first + k] = at;
        } else {
            ((GANTRY_GLOBAL int *)positions)[first + k] = (int)at;
        }
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(max_pool_argmax)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                                 GANTRY_GLOBAL uchar *positions,
                                                 GANTRY_PARAMETERS(gantry__windows_t) p,
                                                 const GANTRY_LONG i) {
#if GANTRY_RUN_MOST == 1
    gantry__view_t view;

    gantry__find_view(p, p->channels, i, &view);
    GANTRY_ITEM_FN(pool_argmax)
    (x, out, positions, p, &view.rows, view.at.image, view.top, view.left, i, 1);
#else
    gantry__stretch_t s;

    gantry__find_stretch(p, i, &s);
    for (int place = 0; place < s.count; ++place) {
        for (GANTRY_LONG k = 0; k < p->channels; k += GANTRY_RUN_MOST) {
            const int count =
                p->channels - k < GANTRY_RUN_MOST ? (int)(p->channels - k) : GANTRY_RUN_MOST;

            GANTRY_ITEM_FN(pool_argmax)
            (x, out, positions, p, &s.rows, s.image, s.top, s.left + place * p->step_x,
             (s.place + place) * p->channels + k, count);
        }
    }
#endif
}
GANTRY_ITEMS_1_2(max_pool_argmax, T, T, uchar, gantry__windows_t)

#undef GANTRY_POOL_LEAST
#undef GANTRY_POOL_HAS_MEAN
#undef GANTRY_POOL_START
#undef GANTRY_POOL_JOIN
#endif
