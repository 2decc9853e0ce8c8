/* SPDX-License-Identifier: Apache-2.0 */
/* Pools. An item is an element of the output, or on processors a stretch of places (window.cl).
 *
 *   max_pool   the largest element of each window. NaN never compares as larger, and so is ignored,
 *              as in TensorFlow
 *   avg_pool   the mean, of floating types; sums of 16-bit floats are in float32
 *
 * Each column of a window is reduced from top to bottom, and then the columns from left to right:
 * so places of one row share their columns. Elements in the padding are left out. */
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
        (view.rows.end - view.rows.first) * (view.columns.end - view.columns.first);
    C all = GANTRY_POOL_START(is_mean);

    for (GANTRY_LONG c = view.columns.first; c < view.columns.end; ++c) {
        C column = GANTRY_POOL_START(is_mean);

        for (GANTRY_LONG r = view.rows.first; r < view.rows.end; ++r) {
            const GANTRY_LONG row = (view.at.image * p->height + view.top + r) * p->width;
            const C value = GANTRY_WIDEN(x[(row + view.left + c) * p->channels + view.at.channel]);

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
        next = b->channels < p->channels             ? j + 1
               : !is_mean                            ? b->places
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

GANTRY_ITEM void GANTRY_ITEM_FN(pool)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry__windows_t) p, const GANTRY_LONG i,
                                      const int is_mean) {
    gantry__stretch_t s;
    gantry__pool_block_t b;
    C all[GANTRY_POOL_LINE];

    gantry__find_stretch(p, i, &s);
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

#undef GANTRY_POOL_LEAST
#undef GANTRY_POOL_HAS_MEAN
#undef GANTRY_POOL_START
#undef GANTRY_POOL_JOIN
#endif
