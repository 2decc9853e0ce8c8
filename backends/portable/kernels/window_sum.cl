/* Sums over windows, by items that are elements of the output or, on processors, stretches of places
 * (window.cl), of pixels in fold. They run over the window row by row, in float32 for halves, in the same order
 * everywhere; what lies in the padding counts for nothing.
 *
 *   avg_pool    the mean
 *   depthwise   each channel of the image has `depth` filters of its own: filter [rows, columns, channels, depth]
 *   convolve    each output has a filter over all channels: filter [rows, columns, channels, outputs]. Processors have
 *               better ways; on cards Conv2D goes by patches and a product
 *   fold        the other way of patches.cl: patches [batch, out_height, out_width, rows * columns * channels] are added
 *               where they were taken from; the second half of a transposed convolution */
#ifdef GANTRY_ITEM_TEXT

#if GANTRY_RUN_MOST > 1
#define GANTRY_FILTERS_AT_ONCE 16

/* Sums of so many filters: OpenCL's compilers take them apart unless they are a vector. */
#if defined(__OPENCL_VERSION__) && !GANTRY_T_IS_HALF
#if GANTRY_T_ID == GANTRY_FLOAT64
GANTRY_LOOSE_TYPE(double16, double, gantry_filters_t);
#else
GANTRY_LOOSE_TYPE(float16, float, gantry_filters_t);
#endif
#define GANTRY_FILTER_SUMS(sums) gantry_filters_t sums = (gantry_filters_t)((C)0);
#define GANTRY_ADD_PRODUCTS(sums, a, b) \
    sums += *(GANTRY_GLOBAL const gantry_filters_t *)(a) * *(GANTRY_GLOBAL const gantry_filters_t *)(b);
#define GANTRY_STORE_SUMS(out, sums) *(GANTRY_GLOBAL gantry_filters_t *)(out) = sums;
#else
#define GANTRY_EACH_FILTER for (int k = 0; k < GANTRY_FILTERS_AT_ONCE; k++)
#define GANTRY_FILTER_SUMS(sums)      \
    C sums[GANTRY_FILTERS_AT_ONCE];   \
    GANTRY_EACH_FILTER {              \
        sums[k] = (C)0;               \
    }
#define GANTRY_ADD_PRODUCTS(sums, a, b)                           \
    GANTRY_EACH_FILTER {                                          \
        sums[k] += GANTRY_WIDEN((a)[k]) * GANTRY_WIDEN((b)[k]);   \
    }
#define GANTRY_STORE_SUMS(out, sums)          \
    GANTRY_EACH_FILTER {                      \
        (out)[k] = GANTRY_NARROW(sums[k]);    \
    }
#endif

GANTRY_ITEM void GANTRY_ITEM_FN(store_sums)(GANTRY_GLOBAL T *out, const C *sums, const int count)
{
    for (int k = 0; k < count; k++) {
        out[k] = GANTRY_NARROW(sums[k]);
    }
}
#endif

#if GANTRY_RUN_MOST == 1
GANTRY_ITEM void GANTRY_ITEM_FN(avg_pool)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                          GANTRY_PARAMETERS(gantry_window_t) p, const GANTRY_LONG i)
{
    const int count = 1;
    const gantry_pool_run_t run = gantry_pool_run(p, i);
    const GANTRY_LONG rows = run.view.rows.end - run.view.rows.first;
    const GANTRY_LONG columns = run.view.columns.end - run.view.columns.first;
    C sums[1];

    sums[0] = (C)0;
    GANTRY_EACH_IN_POOL(run, p, x, { sums[k] += value; })
    out[run.start] = GANTRY_NARROW(sums[0] / (C)(rows * columns));
}
#else
/* Places side by side, of images of one channel. */
GANTRY_ITEM void GANTRY_ITEM_FN(avg_pool_places)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                                 GANTRY_PARAMETERS(gantry_window_t) p, const gantry_stretch_t *s)
{
    C sums[GANTRY_RUN_MOST];

    for (int k = 0; k < s->count; k++) {
        sums[k] = (C)0;
    }
    for (GANTRY_LONG r = s->rows.first; r < s->rows.end; r++) {
        const GANTRY_LONG row = (s->image * p->height + s->top + r) * p->width;

        for (GANTRY_LONG c = 0; c < p->columns; c++) {
            const gantry_reach_t places = gantry_reach(s->left + c, p->step_x, s->count, p->width);

            for (int k = (int)places.first; k < (int)places.end; k++) {
                sums[k] += GANTRY_WIDEN(x[row + s->left + c + k * p->step_x]);
            }
        }
    }
    for (int k = 0; k < s->count; k++) {
        const gantry_reach_t columns = gantry_columns_inside(p, s->left + k * p->step_x);

        out[k] = GANTRY_NARROW(sums[k] / (C)((s->rows.end - s->rows.first) * (columns.end - columns.first)));
    }
}

/* The means of `count` channels side by side, of one place or of some that see all their columns; the window begins at
 * element `start` of x. of: where each one's elements are, counted from there on; NULL: side by side. */
GANTRY_ITEM void GANTRY_ITEM_FN(avg_pool_channels)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                                   GANTRY_PARAMETERS(gantry_window_t) p, const gantry_stretch_t *s,
                                                   const gantry_reach_t columns, const GANTRY_LONG start, const int *of,
                                                   const int count)
{
    const GANTRY_LONG step = p->channels;
    const C elements = (C)((s->rows.end - s->rows.first) * (columns.end - columns.first));
    C sums[GANTRY_RUN_MOST];

    for (int k = 0; k < count; k++) {
        sums[k] = (C)0;
    }
    for (GANTRY_LONG r = s->rows.first; r < s->rows.end; r++) {
        GANTRY_GLOBAL const T *from = x + start + (r * p->width + columns.first) * step;
        GANTRY_LONG c = columns.first;

        for (; !GANTRY_T_IS_HALF && of == 0 && c + 3 <= columns.end; c += 3) {
            for (int k = 0; k < count; k++) {
                const C sum = sums[k] + GANTRY_WIDEN(from[k]) + GANTRY_WIDEN(from[step + k]);

                sums[k] = sum + GANTRY_WIDEN(from[2 * step + k]);
            }
            from += 3 * step;
        }
        for (; c < columns.end; c++) {
            if (of == 0) {
                for (int k = 0; k < count; k++) {
                    sums[k] += GANTRY_WIDEN(from[k]);
                }
            } else {
                for (int k = 0; k < count; k++) {
                    sums[k] += GANTRY_WIDEN(from[of[k]]);
                }
            }
            from += step;
        }
    }
    for (int k = 0; k < count; k++) {
        out[k] = GANTRY_NARROW(sums[k] / elements);
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(avg_pool)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                          GANTRY_PARAMETERS(gantry_window_t) p, const GANTRY_LONG i)
{
    const gantry_stretch_t s = gantry_stretch(p, i);
    const int few = p->channels > 1 && p->channels <= GANTRY_RUN_MOST / 2 && p->step_x < 1 << 20;
    const int width = few ? (int)p->channels : 1;
    const int together = few ? GANTRY_RUN_MOST / width : 1; /* places with few channels */
    int of[GANTRY_RUN_MOST];

    for (int k = 0; few && k < together * width; k++) {
        of[k] = k < width ? k : of[k - width] + (int)(p->step_x * width);
    }
    if (p->channels == 1) {
        GANTRY_ITEM_FN(avg_pool_places)(x, out + s.place, p, &s);
        return;
    }
    for (int j = 0, next; j < s.count; j = next) {
        const GANTRY_LONG left = s.left + j * p->step_x, right = left + (together - 1) * p->step_x + p->columns;
        const GANTRY_LONG start = ((s.image * p->height + s.top) * p->width + left) * p->channels;
        const int places = j + together <= s.count && left >= 0 && right <= p->width ? together : 1;
        const gantry_reach_t columns = gantry_columns_inside(p, left);

        for (GANTRY_LONG channel = 0; channel < p->channels; channel += GANTRY_RUN_MOST) {
            const GANTRY_LONG rest = p->channels - channel;
            const int count = rest < GANTRY_RUN_MOST ? (int)rest * places : GANTRY_RUN_MOST;

            GANTRY_ITEM_FN(avg_pool_channels)(x, out + (s.place + j) * p->channels + channel, p, &s, columns,
                                              start + channel, places > 1 && p->step_x > 1 ? of : 0, count);
        }
        next = j + places;
    }
}
#endif
GANTRY_ITEMS_1_1(avg_pool, T, T, gantry_window_t)

#if GANTRY_RUN_MOST == 1
GANTRY_ITEM void GANTRY_ITEM_FN(depthwise)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *filter,
                                           GANTRY_GLOBAL T *out, GANTRY_PARAMETERS(gantry_window_t) p,
                                           const GANTRY_LONG i)
{
    const GANTRY_LONG filters = (p->planes != 0 ? p->planes : p->channels) * p->depth;
    const GANTRY_LONG innermost = p->planes != 0 ? 1 : filters;
    const gantry_view_t view = gantry_view(p, innermost, i);
    const GANTRY_LONG batch = p->planes != 0 ? gantry_divide_position(view.at.image, filters) : 0;
    const GANTRY_LONG own = p->planes != 0 ? view.at.image - batch * filters : view.at.channel; /* which filter */
    const GANTRY_LONG image = p->planes != 0 ? gantry_divide_position(view.at.image, p->depth) : view.at.image;
    const GANTRY_LONG channel = p->planes != 0 ? 0 : gantry_divide_position(own, p->depth);
    C sum = (C)0;

    for (GANTRY_LONG r = view.rows.first; r < view.rows.end; r++) {
        const GANTRY_LONG row = (image * p->height + view.top + r * p->spread_y) * p->width + view.left;

        for (GANTRY_LONG c = view.columns.first; c < view.columns.end; c++) {
            sum += GANTRY_WIDEN(x[(row + c * p->spread_x) * p->channels + channel]) *
                   GANTRY_WIDEN(filter[(r * p->columns + c) * filters + own]);
        }
    }
    out[i] = GANTRY_NARROW(sum);
}
#else
/* sums[k] of places side by side, of one channel and one filter, which begins at `own`. */
GANTRY_ITEM void GANTRY_ITEM_FN(depthwise_places)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *filter, C *sums,
                                                  GANTRY_PARAMETERS(gantry_window_t) p, const gantry_stretch_t *s,
                                                  const GANTRY_LONG image, const GANTRY_LONG filters)
{
    for (GANTRY_LONG r = s->rows.first; r < s->rows.end; r++) {
        const GANTRY_LONG row = (image * p->height + s->top + r * p->spread_y) * p->width;

        for (GANTRY_LONG c = 0; c < p->columns; c++) {
            const GANTRY_LONG left = s->left + c * p->spread_x;
            const gantry_reach_t places = gantry_reach(left, p->step_x, s->count, p->width);
            const C weight = GANTRY_WIDEN(filter[(r * p->columns + c) * filters]);

            if (!GANTRY_T_IS_HALF && p->step_x == 1) {
                for (int k = (int)places.first; k < (int)places.end; k++) {
                    sums[k] += GANTRY_WIDEN(x[row + left + k]) * weight;
                }
            } else {
                for (int k = (int)places.first; k < (int)places.end; k++) {
                    sums[k] += GANTRY_WIDEN(x[row + left + k * p->step_x]) * weight;
                }
            }
        }
    }
}

/* sums[k] of one place by `count` filters side by side; its window begins at element `start` of x. of: the filters'
 * channels, counted from there on; NULL: each has the next one. */
GANTRY_ITEM void GANTRY_ITEM_FN(depthwise_filters)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *filter, C *sums,
                                                   GANTRY_PARAMETERS(gantry_window_t) p, const gantry_stretch_t *s,
                                                   const GANTRY_LONG left, const GANTRY_LONG start, const int *of,
                                                   const GANTRY_LONG filters, const int count)
{
    const gantry_reach_t columns = gantry_columns_inside(p, left);
    const GANTRY_LONG step = p->spread_x * p->channels;

    for (GANTRY_LONG r = s->rows.first; r < s->rows.end; r++) {
        GANTRY_GLOBAL const T *from = x + start + r * p->spread_y * p->width * p->channels + columns.first * step;
        GANTRY_GLOBAL const T *weights = filter + (r * p->columns + columns.first) * filters;

        for (GANTRY_LONG c = columns.first; c < columns.end; c++) {
            if (of == 0) {
                for (int k = 0; k < count; k++) {
                    sums[k] += GANTRY_WIDEN(from[k]) * GANTRY_WIDEN(weights[k]);
                }
            } else {
                for (int k = 0; k < count; k++) {
                    sums[k] += GANTRY_WIDEN(from[of[k]]) * GANTRY_WIDEN(weights[k]);
                }
            }
            from += step;
            weights += filters;
        }
    }
}

/* The same for GANTRY_FILTERS_AT_ONCE filters, each with the next channel: their sums stay in registers. */
GANTRY_ITEM void GANTRY_ITEM_FN(depthwise_block)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *filter,
                                                 GANTRY_GLOBAL T *out, GANTRY_PARAMETERS(gantry_window_t) p,
                                                 const gantry_stretch_t *s, const gantry_reach_t columns,
                                                 const GANTRY_LONG start)
{
    const GANTRY_LONG step = p->spread_x * p->channels;

    GANTRY_FILTER_SUMS(sums)
    for (GANTRY_LONG r = s->rows.first; r < s->rows.end; r++) {
        GANTRY_GLOBAL const T *from = x + start + r * p->spread_y * p->width * p->channels + columns.first * step;
        GANTRY_GLOBAL const T *weights = filter + (r * p->columns + columns.first) * p->channels;

        for (GANTRY_LONG c = columns.first; c < columns.end; c++) {
            GANTRY_ADD_PRODUCTS(sums, from, weights)
            from += step;
            weights += p->channels;
        }
    }
    GANTRY_STORE_SUMS(out, sums)
}

GANTRY_ITEM void GANTRY_ITEM_FN(depthwise)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *filter,
                                           GANTRY_GLOBAL T *out, GANTRY_PARAMETERS(gantry_window_t) p,
                                           const GANTRY_LONG i)
{
    const gantry_stretch_t s = gantry_stretch(p, i);
    const GANTRY_LONG filters = (p->planes != 0 ? p->planes : p->channels) * p->depth;
    const int in_blocks = !GANTRY_T_IS_HALF && p->depth == 1 && filters >= GANTRY_FILTERS_AT_ONCE;
    C sums[GANTRY_RUN_MOST];
    int of[GANTRY_RUN_MOST];

    if (p->planes != 0 || filters == 1) { /* images of one channel */
        const GANTRY_LONG own = s.image - gantry_divide_position(s.image, filters) * filters;

        for (int k = 0; k < s.count; k++) {
            sums[k] = (C)0;
        }
        GANTRY_ITEM_FN(depthwise_places)(x, filter + own, sums, p, &s, gantry_divide_position(s.image, p->depth), filters);
        GANTRY_ITEM_FN(store_sums)(out + s.place, sums, s.count);
        return;
    }
    for (GANTRY_LONG own = 0; own < filters; own += GANTRY_RUN_MOST) {
        const int count = filters - own < GANTRY_RUN_MOST ? (int)(filters - own) : GANTRY_RUN_MOST;
        const GANTRY_LONG channel = gantry_divide_position(own, p->depth);
        GANTRY_LONG rest = own - channel * p->depth;

        for (int k = 0, c = 0; p->depth > 1 && k < count; k++) {
            of[k] = c;
            rest = rest + 1 < p->depth ? rest + 1 : 0;
            c += rest == 0;
        }
        for (int j = 0; j < s.count; j++) {
            const GANTRY_LONG left = s.left + j * p->step_x;
            const GANTRY_LONG start = ((s.image * p->height + s.top) * p->width + left) * p->channels + channel;

            for (int k = 0; in_blocks && k < count; k += GANTRY_FILTERS_AT_ONCE) {
                const GANTRY_LONG last = filters - GANTRY_FILTERS_AT_ONCE, at = own + k < last ? own + k : last;

                GANTRY_ITEM_FN(depthwise_block)(x, filter + at, out + (s.place + j) * filters + at, p, &s,
                                                gantry_columns_inside(p, left), start + at - own);
            }
            if (in_blocks) {
                continue;
            }
            for (int k = 0; k < count; k++) {
                sums[k] = (C)0;
            }
            GANTRY_ITEM_FN(depthwise_filters)(x, filter + own, sums, p, &s, left, start, p->depth > 1 ? of : 0, filters,
                                              count);
            GANTRY_ITEM_FN(store_sums)(out + (s.place + j) * filters + own, sums, count);
        }
    }
}
#endif
GANTRY_ITEMS_2_1(depthwise, T, T, T, gantry_window_t)

#if !GANTRY_T_IS_HALF && !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
GANTRY_NO_ITEM(convolve) /* cpu_conv.c has it */
#else
GANTRY_ITEM void GANTRY_ITEM_FN(convolve)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *filter,
                                          GANTRY_GLOBAL T *out, GANTRY_PARAMETERS(gantry_window_t) p,
                                          const GANTRY_LONG i)
{
    const gantry_view_t view = gantry_view(p, p->depth, i);
    C sum = (C)0;

    for (GANTRY_LONG r = view.rows.first; r < view.rows.end; r++) {
        const GANTRY_LONG row = (view.at.image * p->height + view.top + r * p->spread_y) * p->width + view.left;

        for (GANTRY_LONG c = view.columns.first; c < view.columns.end; c++) {
            GANTRY_GLOBAL const T *pixel = x + (row + c * p->spread_x) * p->channels;
            GANTRY_GLOBAL const T *weights = filter + (r * p->columns + c) * p->channels * p->depth + view.at.channel;

            for (GANTRY_LONG e = 0; e < p->channels; e++) {
                sum += GANTRY_WIDEN(pixel[e]) * GANTRY_WIDEN(weights[e * p->depth]);
            }
        }
    }
    out[i] = GANTRY_NARROW(sum);
}
GANTRY_ITEMS_2_1(convolve, T, T, T, gantry_window_t)
#endif

/* A pixel was seen through element (r, c) of the window at place (y + top - r * spread) / step, where that divides. */
#if GANTRY_RUN_MOST == 1
GANTRY_ITEM void GANTRY_ITEM_FN(fold)(GANTRY_GLOBAL const T *patches, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry_window_t) p, const GANTRY_LONG i)
{
    const gantry_pixel_t at = gantry_pixel(i, p->height, p->width, p->channels);
    C sum = (C)0;

    for (GANTRY_LONG r = 0; r < p->rows; r++) {
        const GANTRY_LONG down = at.y + p->top - r * p->spread_y;
        const GANTRY_LONG y = down < 0 ? -1 : gantry_divide_position(down, p->step_y);

        if (down < 0 || y * p->step_y != down || y >= p->out_height) {
            continue;
        }
        for (GANTRY_LONG c = 0; c < p->columns; c++) {
            const GANTRY_LONG right = at.x + p->left - c * p->spread_x;
            const GANTRY_LONG x = right < 0 ? -1 : gantry_divide_position(right, p->step_x);

            if (right >= 0 && x * p->step_x == right && x < p->out_width) {
                const GANTRY_LONG place = (at.image * p->out_height + y) * p->out_width + x;

                sum += GANTRY_WIDEN(patches[((place * p->rows + r) * p->columns + c) * p->channels + at.channel]);
            }
        }
    }
    out[i] = GANTRY_NARROW(sum);
}
#else
/* sums[k] of the pixel's `count` channels side by side, whose first patch elements are in `patches`. */
GANTRY_ITEM void GANTRY_ITEM_FN(fold_pixel)(GANTRY_GLOBAL const T *patches, C *sums, GANTRY_PARAMETERS(gantry_window_t) p,
                                            const gantry_pixel_t at, const int count)
{
    for (GANTRY_LONG r = 0; r < p->rows; r++) {
        const GANTRY_LONG y = gantry_place_through(at.y + p->top - r * p->spread_y, p->step_y, p->out_height);

        for (GANTRY_LONG c = 0; y >= 0 && c < p->columns; c++) {
            const GANTRY_LONG x = gantry_place_through(at.x + p->left - c * p->spread_x, p->step_x, p->out_width);

            if (x >= 0) {
                const GANTRY_LONG place = (at.image * p->out_height + y) * p->out_width + x;
                const GANTRY_LONG from = ((place * p->rows + r) * p->columns + c) * p->channels + at.channel;

                for (int k = 0; k < count; k++) {
                    sums[k] += GANTRY_WIDEN(patches[from + k]);
                }
            }
        }
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(fold)(GANTRY_GLOBAL const T *patches, GANTRY_GLOBAL T *out,
                                      GANTRY_PARAMETERS(gantry_window_t) p, const GANTRY_LONG i)
{
    GANTRY_FIND_RUN(p->runs)
    gantry_pixel_t at;
    C sums[GANTRY_RUN_MOST];

    at.image = gantry_divide_position(line, p->height);
    at.y = line - at.image * p->height;
    for (at.x = first; at.x < end; at.x++) {
        for (at.channel = 0; at.channel < p->channels; at.channel += GANTRY_RUN_MOST) {
            const GANTRY_LONG left = p->channels - at.channel;
            const int count = left < GANTRY_RUN_MOST ? (int)left : GANTRY_RUN_MOST;

            for (int k = 0; k < count; k++) {
                sums[k] = (C)0;
            }
            GANTRY_ITEM_FN(fold_pixel)(patches, sums, p, at, count);
            GANTRY_ITEM_FN(store_sums)(out + (line * p->width + at.x) * p->channels + at.channel, sums, count);
        }
    }
}
#endif
GANTRY_ITEMS_1_1(fold, T, T, gantry_window_t)

#undef GANTRY_FILTERS_AT_ONCE
#undef GANTRY_EACH_FILTER
#undef GANTRY_FILTER_SUMS
#undef GANTRY_ADD_PRODUCTS
#undef GANTRY_STORE_SUMS
#endif
