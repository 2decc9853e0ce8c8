/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of windows. Sums are in float32 for 16-bit floats, and run in one order everywhere, so
 * that every device gives the same bits.
 *
 *   max_pool_grad       the gradient of each window goes to the element that MaxPool takes: the
 *                       first one, or the first of the largest that are larger. So a NaN that is
 *                       first stays, and later ones are ignored, as in TensorFlow. Windows add up
 *                       in the order of their places
 *                       With is_gated, windows must not overlap or leave gaps, and the result is
 *                       multiplied by 1 where the image is positive, and by 0 elsewhere. On
 *                       processors it may then be in the image's memory
 *   max_pool_grad_grad  each window takes the gradient of that element
 *   depthwise_parts     the gradient of depthwise filters with one output for each channel, for
 *                       p->band rows of places (counted over all images) at a time:
 *                       [parts, rows, columns, channels]
 *
 * On GPUs an item is an element of the output. On processors an item of max_pool_grad is a
 * rectangle of the image, from the beginnings of some windows to those of others:
 *
 *     windows of 3, steps of 2     0 0 0          places 2 and 3 begin in the rectangle, and place
 *                                      1 1 1      1 reaches into it: the next item computes place
 *     rectangle of places 2, 3            [2 2|2  3 again
 *                                          | 3 3]3
 *
 * An item of depthwise_parts is a part of up to GANTRY_RUN_MOST channels. */
#ifdef GANTRY_ITEM_TEXT

/* Returns the position in its image of the element that the window at place (y, column) takes; -1:
 * it has no element. x must begin with the image's first element of the channel. */
GANTRY_SHARED_FN GANTRY_LONG GANTRY_ITEM_FN(taken_by)(GANTRY_GLOBAL const T *x,
                                                      GANTRY_PARAMETERS(gantry__windows_t) p,
                                                      const GANTRY_LONG y,
                                                      const GANTRY_LONG column) {
    const GANTRY_LONG top = y * p->step_y - p->top, left = column * p->step_x - p->left;
    gantry__reach_t rows, columns;
    GANTRY_LONG taken = -1;
    C most = (C)0;

    gantry__find_reach(top, p->spread_y, p->rows, p->height, &rows);
    gantry__find_columns(p, left, &columns);
    for (GANTRY_LONG r = rows.first; r < rows.end; ++r) {
        for (GANTRY_LONG c = columns.first; c < columns.end; ++c) {
            const GANTRY_LONG at = (top + r * p->spread_y) * p->width + left + c * p->spread_x;
            const C value = GANTRY_WIDEN(x[at * p->channels]);

            if (taken < 0 || value > most) {
                taken = at;
                most = value;
            }
        }
    }
    return taken;
}

/* Finds the places whose windows cover the pixel `distance` after the start of the first. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(find_covering)(const GANTRY_LONG distance,
                                                    const GANTRY_LONG step,
                                                    const GANTRY_LONG elements,
                                                    const GANTRY_LONG places,
                                                    gantry__reach_t *covering) {
    const GANTRY_LONG end = gantry__divide_position(distance, step) + 1;

    covering->first =
        distance < elements ? 0 : gantry__divide_position(distance - elements, step) + 1;
    covering->end = end < places ? end : places;
}

GANTRY_SHARED_FN void GANTRY_ITEM_FN(max_pool_grad_element)(GANTRY_GLOBAL const T *x,
                                                            GANTRY_GLOBAL const T *grad,
                                                            GANTRY_GLOBAL T *out,
                                                            GANTRY_PARAMETERS(gantry__windows_t) p,
                                                            const GANTRY_LONG i) {
    const gantry__pixel_t at = gantry__pixel(i, p->height, p->width, p->channels);
    GANTRY_GLOBAL const T *image = x + at.image * p->height * p->width * p->channels + at.channel;
    gantry__reach_t rows, columns;
    C sum = (C)0;

    GANTRY_ITEM_FN(find_covering)
    (at.y + p->top, p->step_y, (p->rows - 1) * p->spread_y + 1, p->out_height, &rows);
    GANTRY_ITEM_FN(find_covering)
    (at.x + p->left, p->step_x, (p->columns - 1) * p->spread_x + 1, p->out_width, &columns);
    for (GANTRY_LONG y = rows.first; y < rows.end; ++y) {
        for (GANTRY_LONG column = columns.first; column < columns.end; ++column) {
            const GANTRY_LONG place = (at.image * p->out_height + y) * p->out_width + column;

            if (GANTRY_ITEM_FN(taken_by)(image, p, y, column) == at.y * p->width + at.x) {
                sum += GANTRY_WIDEN(grad[place * p->channels + at.channel]);
            }
        }
    }
    if (p->is_gated) {
        sum *= GANTRY_WIDEN(x[i]) > 0 ? (C)1 : (C)0;
    }
    out[i] = GANTRY_NARROW(sum);
}

GANTRY_ITEM void GANTRY_ITEM_FN(max_pool_grad_grad)(GANTRY_GLOBAL const T *x,
                                                    GANTRY_GLOBAL const T *grad,
                                                    GANTRY_GLOBAL T *out,
                                                    GANTRY_PARAMETERS(gantry__windows_t) p,
                                                    const GANTRY_LONG i) {
    const gantry__pixel_t at = gantry__pixel(i, p->out_height, p->out_width, p->channels);
    const GANTRY_LONG image = at.image * p->height * p->width * p->channels + at.channel;

    const GANTRY_LONG taken = GANTRY_ITEM_FN(taken_by)(x + image, p, at.y, at.x);

    out[i] = taken < 0 ? (T)0 : grad[image + taken * p->channels];
}
GANTRY_ITEMS_2_1(max_pool_grad_grad, T, T, T, gantry__windows_t)

#if GANTRY_RUN_MOST == 1
GANTRY_ITEM void GANTRY_ITEM_FN(max_pool_grad)(GANTRY_GLOBAL const T *x,
                                               GANTRY_GLOBAL const T *grad, GANTRY_GLOBAL T *out,
                                               GANTRY_PARAMETERS(gantry__windows_t) p,
                                               const GANTRY_LONG i) {
    GANTRY_ITEM_FN(max_pool_grad_element)(x, grad, out, p, i);
}
#else

#if !GANTRY_T_IS_HALF
/* Does some channels of the window at place (y, column): the elements inside the rectangle get
 * their gradient. The first window of an element stores, the others add. */
GANTRY_ITEM void GANTRY_ITEM_FN(max_pool_grad_window)(
    GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *grad, GANTRY_GLOBAL T *out,
    GANTRY_PARAMETERS(gantry__windows_t) p, const gantry__reach_t *down,
    const gantry__reach_t *across, const gantry__reach_t *rows, const GANTRY_LONG y,
    const GANTRY_LONG column, const int count) {
    const GANTRY_LONG top = y * p->step_y - p->top, left = column * p->step_x - p->left;
    const GANTRY_LONG corner = (top * p->width + left) * p->channels;
    gantry__reach_t columns;
    C most[GANTRY_RUN_MOST];
    uint taken[GANTRY_RUN_MOST];

    gantry__find_columns(p, left, &columns);
    for (GANTRY_LONG r = rows->first; r < rows->end; ++r) {
        for (GANTRY_LONG c = columns.first; c < columns.end; ++c) {
            GANTRY_GLOBAL const T *from = x + corner + (r * p->width + c) * p->channels;
            const uint own = (uint)(r * p->columns + c);

            /* by bits: a compiler made conditional stores of choices, which are slow to read */
            if (r == rows->first && c == columns.first && c + 1 < columns.end) {
                for (int k = 0; k < count; ++k) {
                    const C former = from[k], value = from[k + p->channels];

                    most[k] = value > former ? value : former;
                    taken[k] = own + (value > former ? 1u : 0u);
                }
                ++c;
            } else if (r == rows->first && c == columns.first) {
                for (int k = 0; k < count; ++k) {
                    most[k] = from[k];
                    taken[k] = own;
                }
            } else {
                for (int k = 0; k < count; ++k) {
                    const C value = from[k], former = most[k];
                    const uint kept = value > former ? 0u : ~0u;

                    most[k] = value > former ? value : former;
                    taken[k] = (taken[k] & kept) | (own & ~kept);
                }
            }
        }
    }
    if (p->is_gated) { /* all other elements are 0 */
        for (int k = 0; k < count; ++k) {
            most[k] = ((C)0 + grad[k]) * (most[k] > 0 ? (C)1 : (C)0);
        }
    }
    for (GANTRY_LONG r = rows->first; r < rows->end; ++r) {
        const int is_first_row = y == 0 || r + p->step_y >= p->rows;

        for (GANTRY_LONG c = columns.first;
             top + r >= down->first && top + r < down->end && c < columns.end; ++c) {
            GANTRY_GLOBAL T *to = out + corner + (r * p->width + c) * p->channels;
            const uint own = (uint)(r * p->columns + c);

            if (left + c < across->first || left + c >= across->end) {
                continue;
            }
            if (p->is_gated) {
                for (int k = 0; k < count; ++k) {
                    to[k] = taken[k] == own ? most[k] : (C)0;
                }
            } else if (is_first_row && (column == 0 || c + p->step_x >= p->columns)) {
                for (int k = 0; k < count; ++k) {
                    to[k] = (C)0 + (taken[k] == own ? grad[k] : (C)0);
                }
            } else {
                for (int k = 0; k < count; ++k) {
                    to[k] += taken[k] == own ? grad[k] : (C)0;
                }
            }
        }
    }
}

/* Clears the pixels of a rectangle that no window covers. */
GANTRY_ITEM void GANTRY_ITEM_FN(clear_pixels)(GANTRY_GLOBAL T *out,
                                              GANTRY_PARAMETERS(gantry__windows_t) p,
                                              const gantry__reach_t *down,
                                              const gantry__reach_t *across) {
    const GANTRY_LONG end_y = (p->out_height - 1) * p->step_y - p->top + p->rows,
                      end_x = (p->out_width - 1) * p->step_x - p->left + p->columns;
    const int is_open =
        p->step_y > p->rows || p->step_x > p->columns || p->out_height == 0 || p->out_width == 0;

    for (GANTRY_LONG y = down->first; y < down->end; ++y) {
        const GANTRY_LONG first =
            is_open || y >= end_y || end_x < across->first ? across->first : end_x;

        for (GANTRY_LONG k = first * p->channels; k < across->end * p->channels; ++k) {
            out[y * p->width * p->channels + k] = (T)0;
        }
    }
}
#endif

/* Finds the part of the image along one dimension from the beginning of the window at place `first`
 * to that of place `end`; the first part begins and the last one ends with the image. */
GANTRY_SHARED_FN void GANTRY_ITEM_FN(find_side)(const GANTRY_LONG first, const GANTRY_LONG end,
                                                const GANTRY_LONG step, const GANTRY_LONG before,
                                                const GANTRY_LONG places, const GANTRY_LONG size,
                                                gantry__reach_t *side) {
    const GANTRY_LONG from = first * step - before, to = end * step - before;

    side->first = first == 0 || from < 0 ? 0 : from < size ? from : size;
    side->end = end >= places || to > size ? size : to < 0 ? 0 : to;
}

GANTRY_ITEM void GANTRY_ITEM_FN(max_pool_grad)(GANTRY_GLOBAL const T *x,
                                               GANTRY_GLOBAL const T *grad, GANTRY_GLOBAL T *out,
                                               GANTRY_PARAMETERS(gantry__windows_t) p,
                                               const GANTRY_LONG i) {
    GANTRY_FIND_RUN(p->runs)
    const GANTRY_LONG bands =
        p->out_height == 0 ? 1 : gantry__divide_position(p->out_height + p->band - 1, p->band);
    const GANTRY_LONG image = gantry__divide_position(line, bands),
                      from = (line - image * bands) * p->band;
    const GANTRY_LONG to = from + p->band < p->out_height ? from + p->band : p->out_height;
    const GANTRY_LONG pixels = image * p->height * p->width;
    gantry__reach_t down, across;

    GANTRY_ITEM_FN(find_side)(from, to, p->step_y, p->top, p->out_height, p->height, &down);
    GANTRY_ITEM_FN(find_side)(first, end, p->step_x, p->left, p->out_width, p->width, &across);
    if (GANTRY_T_IS_HALF || gantry__has_gaps(p)) {
        for (GANTRY_LONG y = down.first; y < down.end; ++y) {
            const GANTRY_LONG row = pixels + y * p->width;

            for (GANTRY_LONG k = (row + across.first) * p->channels;
                 k < (row + across.end) * p->channels; ++k) {
                GANTRY_ITEM_FN(max_pool_grad_element)(x, grad, out, p, k);
            }
        }
        return;
    }
#if !GANTRY_T_IS_HALF
    gantry__reach_t above, beside;

    x += pixels * p->channels;
    out += pixels * p->channels;
    GANTRY_ITEM_FN(clear_pixels)(out, p, &down, &across);
    GANTRY_ITEM_FN(find_covering)(down.first + p->top, p->step_y, p->rows, to, &above);
    GANTRY_ITEM_FN(find_covering)(across.first + p->left, p->step_x, p->columns, end, &beside);
    for (GANTRY_LONG y = above.first; y < to; ++y) {
        gantry__reach_t rows;

        gantry__find_reach(y * p->step_y - p->top, 1, p->rows, p->height, &rows);
        for (GANTRY_LONG column = beside.first; column < end && column < p->out_width; ++column) {
            const GANTRY_LONG place = (image * p->out_height + y) * p->out_width + column;

            for (GANTRY_LONG k = 0; k < p->channels; k += GANTRY_RUN_MOST) {
                const int count =
                    p->channels - k < GANTRY_RUN_MOST ? (int)(p->channels - k) : GANTRY_RUN_MOST;

                GANTRY_ITEM_FN(max_pool_grad_window)
                (x + k, grad + place * p->channels + k, out + k, p, &down, &across, &rows, y,
                 column, count);
            }
        }
    }
#endif
}
#endif
GANTRY_ITEMS_2_1(max_pool_grad, T, T, T, gantry__windows_t)

#if GANTRY_T_IS_HALF
GANTRY_NO_ITEM(depthwise_parts)
#else
/* Sums `count` channels of element (row, column) of the filter over one part. */
GANTRY_ITEM void GANTRY_ITEM_FN(sum_part)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *grad,
                                          GANTRY_GLOBAL T *out,
                                          GANTRY_PARAMETERS(gantry__windows_t) p,
                                          const gantry__pixel_t at, const int count) {
    const GANTRY_LONG first = at.image * p->band, lines = p->runs.size;
    const GANTRY_LONG last = first + p->band < lines ? first + p->band : lines;
    const GANTRY_LONG left = at.x * p->spread_x - p->left;
    gantry__reach_t inside;
    T sums[GANTRY_RUN_MOST];

    gantry__find_reach(left, p->step_x, p->out_width, p->width, &inside);
    for (int k = 0; k < count; ++k) {
        sums[k] = (T)0;
    }
    for (GANTRY_LONG line = first; line < last; ++line) {
        const GANTRY_LONG image = gantry__divide_position(line, p->out_height);
        const GANTRY_LONG y =
            (line - image * p->out_height) * p->step_y - p->top + at.y * p->spread_y;

        if (!gantry__is_inside(y, p->height)) {
            continue;
        }
        for (GANTRY_LONG place = inside.first; place < inside.end; ++place) {
            const GANTRY_LONG pixel = (image * p->height + y) * p->width + left + place * p->step_x;
            GANTRY_GLOBAL const T *own = x + pixel * p->channels + at.channel,
                                  *other = grad + (line * p->out_width + place) * p->channels +
                                           at.channel;

            for (int k = 0; k < count; ++k) {
                sums[k] += own[k] * other[k];
            }
        }
    }
    for (int k = 0; k < count; ++k) {
        out[k] = sums[k];
    }
}

GANTRY_ITEM void GANTRY_ITEM_FN(depthwise_parts)(GANTRY_GLOBAL const T *x,
                                                 GANTRY_GLOBAL const T *grad, GANTRY_GLOBAL T *out,
                                                 GANTRY_PARAMETERS(gantry__windows_t) p,
                                                 const GANTRY_LONG i) {
    const GANTRY_LONG runs =
        gantry__divide_position(p->channels + GANTRY_RUN_MOST - 1, GANTRY_RUN_MOST);
    gantry__pixel_t at = gantry__pixel(i, p->rows, p->columns, runs);

    at.channel *= GANTRY_RUN_MOST;
    out += gantry__divide_position(i, runs) * p->channels + at.channel;
    GANTRY_ITEM_FN(sum_part)
    (x, grad, out, p, at,
     p->channels - at.channel < GANTRY_RUN_MOST ? (int)(p->channels - at.channel)
                                                : GANTRY_RUN_MOST);
}
GANTRY_ITEMS_2_1(depthwise_parts, T, T, T, gantry__windows_t)
#endif

#endif
