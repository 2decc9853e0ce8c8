/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of a convolution in plain loops: what remains when a library fails at the run of a
 * gradient that a function has already placed. A work-item is an element of the result, and sums in
 * float32, in the order of its loops.
 *
 *   conv_image_gradient    over the elements of the window, and then over the outputs
 *   conv_filter_gradient   over the images, and then over the places */
typedef struct gantry__conv_gradient_t {
    GANTRY_LONG elements; /* of the result */
    GANTRY_LONG images, height, width, channels;
    GANTRY_LONG out_height, out_width, outputs;
    GANTRY_LONG rows, columns;
    GANTRY_LONG step_y, step_x, spread_y, spread_x;
    GANTRY_LONG top, left; /* the padding before the image */
} gantry__conv_gradient_t;

/* The place whose window has the pixel as its element `at`; -1: there is none. */
GANTRY_FN GANTRY_LONG gantry__place_of(const GANTRY_LONG pixel, const GANTRY_LONG before,
                                       const GANTRY_LONG at, const GANTRY_LONG step,
                                       const GANTRY_LONG places) {
    const GANTRY_LONG from = pixel + before - at;
    const GANTRY_LONG place = from >= 0 ? gantry__divide_position(from, step) : -1;

    return place < places && place * step == from ? place : -1;
}

GANTRY_KERNEL conv_image_gradient(GANTRY_SPAN_IN(filter), GANTRY_SPAN_IN(result),
                                  GANTRY_SPAN_OUT(image), GANTRY_VALUE(gantry__conv_gradient_t, q)) {
    GANTRY_TAKE(gantry__conv_gradient_t, q)
    GANTRY_GLOBAL const T *const weights = GANTRY_IN(T, filter);
    GANTRY_GLOBAL const T *const from = GANTRY_IN(T, result);
    const GANTRY_LONG i = GANTRY_GLOBAL_ID(0);
    const GANTRY_LONG pixel = gantry__divide_position(i, q.channels), c = i - pixel * q.channels;
    const GANTRY_LONG row = gantry__divide_position(pixel, q.width), x = pixel - row * q.width;
    const GANTRY_LONG n = gantry__divide_position(row, q.height), y = row - n * q.height;
    float sum = 0.0f;

    if (i >= q.elements) return;
    for (GANTRY_LONG r = 0; r < q.rows; ++r) {
        const GANTRY_LONG py =
            gantry__place_of(y, q.top, r * q.spread_y, q.step_y, q.out_height);

        for (GANTRY_LONG s = 0; py >= 0 && s < q.columns; ++s) {
            const GANTRY_LONG px =
                gantry__place_of(x, q.left, s * q.spread_x, q.step_x, q.out_width);
            const GANTRY_LONG at = ((n * q.out_height + py) * q.out_width + px) * q.outputs;
            const GANTRY_LONG own = ((r * q.columns + s) * q.channels + c) * q.outputs;

            for (GANTRY_LONG k = 0; px >= 0 && k < q.outputs; ++k) {
                sum += GANTRY_WIDEN(from[at + k]) * GANTRY_WIDEN(weights[own + k]);
            }
        }
    }
    GANTRY_OUT(T, image)[i] = GANTRY_NARROW(sum);
}

GANTRY_KERNEL conv_filter_gradient(GANTRY_SPAN_IN(image), GANTRY_SPAN_IN(result),
                                   GANTRY_SPAN_OUT(filter),
                                   GANTRY_VALUE(gantry__conv_gradient_t, q)) {
    GANTRY_TAKE(gantry__conv_gradient_t, q)
    GANTRY_GLOBAL const T *const pixels = GANTRY_IN(T, image);
    GANTRY_GLOBAL const T *const from = GANTRY_IN(T, result);
    const GANTRY_LONG i = GANTRY_GLOBAL_ID(0);
    const GANTRY_LONG vector = gantry__divide_position(i, q.outputs), k = i - vector * q.outputs;
    const GANTRY_LONG at = gantry__divide_position(vector, q.channels), c = vector - at * q.channels;
    const GANTRY_LONG r = gantry__divide_position(at, q.columns), s = at - r * q.columns;
    float sum = 0.0f;

    if (i >= q.elements) return;
    for (GANTRY_LONG n = 0; n < q.images; ++n) {
        for (GANTRY_LONG py = 0; py < q.out_height; ++py) {
            const GANTRY_LONG y = py * q.step_y + r * q.spread_y - q.top;

            for (GANTRY_LONG px = 0; GANTRY_IS_WITHIN(y, q.height) && px < q.out_width; ++px) {
                const GANTRY_LONG x = px * q.step_x + s * q.spread_x - q.left;

                if (GANTRY_IS_WITHIN(x, q.width)) {
                    sum += GANTRY_WIDEN(
                               pixels[((n * q.height + y) * q.width + x) * q.channels + c]) *
                           GANTRY_WIDEN(
                               from[((n * q.out_height + py) * q.out_width + px) * q.outputs + k]);
                }
            }
        }
    }
    GANTRY_OUT(T, filter)[i] = GANTRY_NARROW(sum);
}
