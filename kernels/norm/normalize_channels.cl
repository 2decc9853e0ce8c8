/* SPDX-License-Identifier: Apache-2.0 */
/* NormalizeChannels: (x - mean) * factor + offset, where x is [outer, channels, inner] and each
 * channel has its own three numbers. An item is a run of neighbouring elements: of several channels
 * if inner is 1, else of one. */
#ifndef GANTRY_CHANNELS_PARAMETERS
#define GANTRY_CHANNELS_PARAMETERS
typedef struct gantry__channels_t {
    gantry__work_t work;
    gantry__runs_t runs;
    GANTRY_LONG channels, inner;
} gantry__channels_t;
#endif

#ifdef GANTRY_ITEM_TEXT

GANTRY_ITEM void GANTRY_ITEM_FN(normalize_channels)(
    GANTRY_GLOBAL const T *x, GANTRY_GLOBAL const T *mean, GANTRY_GLOBAL const T *factor,
    GANTRY_GLOBAL const T *offset, GANTRY_GLOBAL T *GANTRY_APART out,
    GANTRY_PARAMETERS(gantry__channels_t) p, const GANTRY_LONG i) {
    GANTRY_FIND_RUN(p->runs)
    GANTRY_GLOBAL const T *xs = x + line * p->runs.size;
    GANTRY_GLOBAL T *outs = out + line * p->runs.size;

    if (p->inner == 1) {
        for (GANTRY_LONG e = first; e < end; ++e) {
            outs[e] = (xs[e] - mean[e]) * factor[e] + offset[e];
        }
    } else {
        const GANTRY_LONG channel = line - gantry__divide_position(line, p->channels) * p->channels;
        const T less = mean[channel], times = factor[channel], more = offset[channel];

        for (GANTRY_LONG e = first; e < end; ++e) {
            outs[e] = (xs[e] - less) * times + more;
        }
    }
}
GANTRY_ITEMS_4_1(normalize_channels, T, T, T, T, T, gantry__channels_t)

#endif
