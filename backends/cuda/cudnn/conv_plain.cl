/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and their gradients in plain loops: what remains when a library fails at the run of
 * an op that a function has already placed. A work-item is an element of the result, and sums in
 * float32, in the order of its loops.
 *
 *   conv_joined            over the elements of the window and the channels of its group; then it
 *                          adds a bias, or takes the larger of the sum and 0, or both
 *   conv_image_gradient    over the elements of the window, and then over the group's outputs
 *   conv_filter_gradient   over the images, and then over the places */
typedef struct gantry__conv_plain_t {
    GANTRY_LONG elements; /* of the result */
    GANTRY_LONG images, height, width, channels;
    GANTRY_LONG out_height, out_width, outputs;
    GANTRY_LONG depth, each; /* the channels and the outputs of a group */
    GANTRY_LONG rows, columns;
    GANTRY_LONG step_y, step_x, spread_y, spread_x;
    GANTRY_LONG top, left; /* the padding before the image */
    /* of conv_joined: whether channels come first, and what follows the sum */
    GANTRY_LONG image_is_planar, result_is_planar, has_bias, has_relu;
} gantry__conv_plain_t;

/* The place whose window has the pixel as its element `at`; -1: there is none. */
GANTRY_FN GANTRY_LONG gantry__place_of(const GANTRY_LONG pixel, const GANTRY_LONG before,
                                       const GANTRY_LONG at, const GANTRY_LONG step,
                                       const GANTRY_LONG places) {
    const GANTRY_LONG from = pixel + before - at;
    const GANTRY_LONG place = from >= 0 ? gantry__divide_position(from, step) : -1;

    return place < places && place * step == from ? place : -1;
}

/* The sum of the window at a place, for output k. */
GANTRY_FN float gantry__conv_sum(GANTRY_GLOBAL const T *pixels, GANTRY_GLOBAL const T *weights,
                                 const gantry__conv_plain_t *q, const GANTRY_LONG n,
                                 const GANTRY_LONG py, const GANTRY_LONG px, const GANTRY_LONG k) {
    const GANTRY_LONG area = q->height * q->width;
    const GANTRY_LONG apart = q->image_is_planar != 0 ? area : 1;
    const GANTRY_LONG first = gantry__divide_position(k, q->each) * q->depth;
    float sum = 0.0f;

    for (GANTRY_LONG r = 0; r < q->rows; ++r) {
        const GANTRY_LONG y = py * q->step_y + r * q->spread_y - q->top;

        for (GANTRY_LONG s = 0; GANTRY_IS_WITHIN(y, q->height) && s < q->columns; ++s) {
            const GANTRY_LONG x = px * q->step_x + s * q->spread_x - q->left;
            const GANTRY_LONG pixel = y * q->width + x;
            const GANTRY_LONG at = n * area * q->channels + first * apart +
                                   (q->image_is_planar != 0 ? pixel : pixel * q->channels);
            const GANTRY_LONG own = (r * q->columns + s) * q->depth * q->outputs + k;

            for (GANTRY_LONG c = 0; GANTRY_IS_WITHIN(x, q->width) && c < q->depth; ++c) {
                sum += GANTRY_WIDEN(pixels[at + c * apart]) *
                       GANTRY_WIDEN(weights[own + c * q->outputs]);
            }
        }
    }
    return sum;
}

GANTRY_KERNEL conv_joined(GANTRY_SPAN_IN(image), GANTRY_SPAN_IN(filter), GANTRY_SPAN_OUT(result),
                          GANTRY_VALUE(gantry__conv_plain_t, q), GANTRY_SPAN_IN(bias)) {
    GANTRY_TAKE(gantry__conv_plain_t, q)
    const GANTRY_LONG i = GANTRY_GLOBAL_ID(0);
    const GANTRY_LONG last = q.result_is_planar != 0 ? q.out_width : q.outputs;
    const GANTRY_LONG middle = q.result_is_planar != 0 ? q.out_height : q.out_width;
    const GANTRY_LONG first = q.result_is_planar != 0 ? q.outputs : q.out_height;
    const GANTRY_LONG b = gantry__divide_position(i, last), a = gantry__divide_position(b, middle);
    const GANTRY_LONG n = gantry__divide_position(a, first);
    const GANTRY_LONG at0 = a - n * first, at1 = b - a * middle, at2 = i - b * last;
    const GANTRY_LONG k = q.result_is_planar != 0 ? at0 : at2;
    float sum;

    if (i >= q.elements) return;
    sum = gantry__conv_sum(GANTRY_IN(T, image), GANTRY_IN(T, filter), &q, n,
                           q.result_is_planar != 0 ? at1 : at0, q.result_is_planar != 0 ? at2 : at1,
                           k);
    if (q.has_bias != 0) sum += GANTRY_WIDEN(GANTRY_IN(T, bias)[k]);
    if (q.has_relu != 0 && sum < 0.0f) sum = 0.0f;
    GANTRY_OUT(T, result)[i] = GANTRY_NARROW(sum);
}

GANTRY_KERNEL conv_image_gradient(GANTRY_SPAN_IN(filter), GANTRY_SPAN_IN(result),
                                  GANTRY_SPAN_OUT(image), GANTRY_VALUE(gantry__conv_plain_t, q)) {
    GANTRY_TAKE(gantry__conv_plain_t, q)
    GANTRY_GLOBAL const T *const weights = GANTRY_IN(T, filter);
    GANTRY_GLOBAL const T *const from = GANTRY_IN(T, result);
    const GANTRY_LONG i = GANTRY_GLOBAL_ID(0);
    const GANTRY_LONG pixel = gantry__divide_position(i, q.channels), c = i - pixel * q.channels;
    const GANTRY_LONG row = gantry__divide_position(pixel, q.width), x = pixel - row * q.width;
    const GANTRY_LONG n = gantry__divide_position(row, q.height), y = row - n * q.height;
    const GANTRY_LONG group = gantry__divide_position(c, q.depth), first = group * q.each;
    float sum = 0.0f;

    if (i >= q.elements) return;
    for (GANTRY_LONG r = 0; r < q.rows; ++r) {
        const GANTRY_LONG py = gantry__place_of(y, q.top, r * q.spread_y, q.step_y, q.out_height);

        for (GANTRY_LONG s = 0; py >= 0 && s < q.columns; ++s) {
            const GANTRY_LONG px =
                gantry__place_of(x, q.left, s * q.spread_x, q.step_x, q.out_width);
            const GANTRY_LONG at = ((n * q.out_height + py) * q.out_width + px) * q.outputs;
            const GANTRY_LONG own =
                ((r * q.columns + s) * q.depth + c - group * q.depth) * q.outputs;

            for (GANTRY_LONG k = first; px >= 0 && k < first + q.each; ++k) {
                sum += GANTRY_WIDEN(from[at + k]) * GANTRY_WIDEN(weights[own + k]);
            }
        }
    }
    GANTRY_OUT(T, image)[i] = GANTRY_NARROW(sum);
}

GANTRY_KERNEL conv_filter_gradient(GANTRY_SPAN_IN(image), GANTRY_SPAN_IN(result),
                                   GANTRY_SPAN_OUT(filter), GANTRY_VALUE(gantry__conv_plain_t, q)) {
    GANTRY_TAKE(gantry__conv_plain_t, q)
    GANTRY_GLOBAL const T *const pixels = GANTRY_IN(T, image);
    GANTRY_GLOBAL const T *const from = GANTRY_IN(T, result);
    const GANTRY_LONG i = GANTRY_GLOBAL_ID(0);
    const GANTRY_LONG vector = gantry__divide_position(i, q.outputs), k = i - vector * q.outputs;
    const GANTRY_LONG at = gantry__divide_position(vector, q.depth);
    const GANTRY_LONG c =
        vector - at * q.depth + gantry__divide_position(k, q.each) * q.depth; /* of the images */
    const GANTRY_LONG r = gantry__divide_position(at, q.columns), s = at - r * q.columns;
    float sum = 0.0f;

    if (i >= q.elements) return;
    for (GANTRY_LONG n = 0; n < q.images; ++n) {
        for (GANTRY_LONG py = 0; py < q.out_height; ++py) {
            const GANTRY_LONG y = py * q.step_y + r * q.spread_y - q.top;

            for (GANTRY_LONG px = 0; GANTRY_IS_WITHIN(y, q.height) && px < q.out_width; ++px) {
                const GANTRY_LONG x = px * q.step_x + s * q.spread_x - q.left;

                if (GANTRY_IS_WITHIN(x, q.width)) {
                    sum +=
                        GANTRY_WIDEN(pixels[((n * q.height + y) * q.width + x) * q.channels + c]) *
                        GANTRY_WIDEN(
                            from[((n * q.out_height + py) * q.out_width + px) * q.outputs + k]);
                }
            }
        }
    }
    GANTRY_OUT(T, filter)[i] = GANTRY_NARROW(sum);
}
