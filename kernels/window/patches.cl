/* SPDX-License-Identifier: Apache-2.0 */
/* ExtractImagePatches (im2col): the elements of the window at each of its places, by element size.
 * An item is an element of the output, [batch, out_height, out_width, rows * columns * channels].
 * On processors it is a stretch of places (window.cl), and each row of a window is a few copies.
 * The padding is 0. The image may be [batch, channels, height, width]. */
#ifdef GANTRY_ITEM_TEXT

/* The position in the image of a pixel's channel. */
GANTRY_SHARED_FN GANTRY_LONG GANTRY_ITEM_FN(position)(GANTRY_PARAMETERS(gantry__windows_t) p,
                                                      const GANTRY_LONG image, const GANTRY_LONG y,
                                                      const GANTRY_LONG x,
                                                      const GANTRY_LONG channel) {
    return (p->planar & 1) != 0 ? ((image * p->channels + channel) * p->height + y) * p->width + x
                                : ((image * p->height + y) * p->width + x) * p->channels + channel;
}

#if GANTRY_RUN_MOST == 1

GANTRY_ITEM void GANTRY_ITEM_FN(patches)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                         GANTRY_PARAMETERS(gantry__windows_t) p,
                                         const GANTRY_LONG i) {
    const GANTRY_LONG each = p->rows * p->columns * p->channels;
    const gantry__pixel_t at = gantry__pixel(i, p->out_height, p->out_width, each);
    const gantry__pixel_t in = gantry__pixel(at.channel, 1, p->columns, p->channels);
    const GANTRY_LONG y = at.y * p->step_y - p->top + in.image * p->spread_y;
    const GANTRY_LONG column = at.x * p->step_x - p->left + in.x * p->spread_x;

    out[i] = gantry__is_inside(y, p->height) && gantry__is_inside(column, p->width)
                 ? x[GANTRY_ITEM_FN(position)(p, at.image, y, column, in.channel)]
                 : GANTRY_T_ZERO;
}
#else
/* Writes `count` elements of the output: those of x from `start` on, but 0 before `first` and from
 * `end` on. Returns the position after them. */
GANTRY_ITEM GANTRY_GLOBAL T *GANTRY_ITEM_FN(copy_line)(GANTRY_GLOBAL const T *GANTRY_APART x,
                                                       GANTRY_GLOBAL T *GANTRY_APART out,
                                                       const GANTRY_LONG start,
                                                       const GANTRY_LONG first,
                                                       const GANTRY_LONG end,
                                                       const GANTRY_LONG count) {
    for (GANTRY_LONG k = 0; k < first; ++k) {
        out[k] = GANTRY_T_ZERO;
    }
    for (GANTRY_LONG k = first; k < end; ++k) {
        out[k] = x[start + k];
    }
    for (GANTRY_LONG k = first < end ? end : first; k < count; ++k) {
        out[k] = GANTRY_T_ZERO;
    }
    return out + count;
}

/* The stretch, element by element. */
GANTRY_ITEM void GANTRY_ITEM_FN(patches_of_planes)(GANTRY_GLOBAL const T *GANTRY_APART x,
                                                   GANTRY_GLOBAL T *GANTRY_APART out,
                                                   GANTRY_PARAMETERS(gantry__windows_t) p,
                                                   const gantry__stretch_t *s) {
    for (GANTRY_LONG k = 0; k < s->count * p->rows * p->columns; ++k) {
        const gantry__pixel_t at = gantry__pixel(k, s->count, p->rows, p->columns);
        const GANTRY_LONG y = s->top + at.x * p->spread_y,
                          column = s->left + at.y * p->step_x + at.channel * p->spread_x;
        const int is_there = gantry__is_inside(y, p->height) && gantry__is_inside(column, p->width);

        for (GANTRY_LONG channel = 0; channel < p->channels; ++channel) {
            *out++ = is_there ? x[GANTRY_ITEM_FN(position)(p, s->image, y, column, channel)]
                              : GANTRY_T_ZERO;
        }
    }
}

/* The loop copies lines that are contiguous in the image: rows of the window, or single pixels if
 * the window is dilated. */
GANTRY_ITEM void GANTRY_ITEM_FN(patches)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                         GANTRY_PARAMETERS(gantry__windows_t) p,
                                         const GANTRY_LONG i) {
    const GANTRY_LONG together = p->spread_x == 1 ? p->columns : 1, line = together * p->channels;
    gantry__stretch_t s;

    gantry__find_stretch(p, i, &s);
    out += s.place * p->rows * p->columns * p->channels;
    if ((p->planar & 1) != 0) {
        GANTRY_ITEM_FN(patches_of_planes)(x, out, p, &s);
        return;
    }
    for (int j = 0; j < s.count; ++j) {
        const GANTRY_LONG left = s.left + j * p->step_x;

        for (GANTRY_LONG r = 0; r < p->rows; ++r) {
            const GANTRY_LONG y = s.top + r * p->spread_y,
                              row = (s.image * p->height + y) * p->width;

            for (GANTRY_LONG c = 0; c < p->columns; c += together) {
                const GANTRY_LONG column = left + c * p->spread_x, right = p->width - column;
                const GANTRY_LONG first = column < 0 ? -column : 0,
                                  end = right < together ? right : together;
                const int is_there = gantry__is_inside(y, p->height) && first < end;

                out = GANTRY_ITEM_FN(copy_line)(x, out, (row + column) * p->channels,
                                                is_there ? first * p->channels : line,
                                                is_there ? end * p->channels : 0, line);
            }
        }
    }
}
#endif
GANTRY_ITEMS_1_1(patches, T, T, gantry__windows_t)

#endif
