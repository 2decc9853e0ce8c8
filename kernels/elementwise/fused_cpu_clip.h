/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of ClipByValue for one type, with bounds for each element; kernels/elementwise/clip.cl
 * has its meaning. This file has no guard, because each_type.h includes it once per type, with
 * GANTRY_T defined. Owner: arrays are the caller's. Threads: thread-safe. */
static void GANTRY_PASTE(clip_, GANTRY_T)(const void *xs, const void *lowers, const void *uppers,
                                          void *out, int64_t count) {
    GANTRY_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
        const T low = ((const T *)lowers)[i];
        const T high = ((const T *)uppers)[i];
        const T x = ((const T *)xs)[i];
        const T below = high < x ? high : x;

        ((T *)out)[i] = below < low ? low : below;
    }
}
