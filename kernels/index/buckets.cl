/* SPDX-License-Identifier: Apache-2.0 */
/* The order of many updates by their slices on GPUs, as a sort by key would leave them, except that
 * slices follow each other in any order. Nothing is compared but positions of one slice:
 *
 *     ..._keys_counted   the keys of scatter.cl, and how many updates each slice has
 *     buckets_room       gives each slice room, in the order in which groups come, and lists the
 *                        crowded slices
 *     buckets_fill       puts the updates there, those of a slice in any order
 *     buckets_order      sorts the positions of each slice: an item those of a slice with few, a
 *                        group those of a crowded slice
 *
 * Which update came first to a counter decides nothing that is left in the end, so the bits of what
 * is made of the updates do not depend on it. A crowded slice is sorted by a bitonic network whose
 * first step of each merge is a flip, so that any number of positions needs no filling up: all its
 * exchanges put the smaller one first. Tiles of 2048 are sorted in local memory, where also the
 * last 11 steps of each larger merge are made (Batcher, "Sorting networks and their applications",
 * 1968).
 *
 * Cost: 6 reads and 3 writes of 4 bytes for each update, and 5 for each slice; 8 KiB of local
 * memory. It must come after scatter.cl. */
#ifndef GANTRY_BUCKETS_PARAMETERS
#define GANTRY_BUCKETS_PARAMETERS

#define GANTRY_BUCKETS_TILE 2048
#define GANTRY_BUCKETS_FEW 32    /* positions that an item sorts */
#define GANTRY_BUCKETS_AT_ONCE 4 /* slices of an item in a round of buckets_room */
#define GANTRY_BUCKETS_HEAD 2    /* words before the counts: room that is taken, crowded slices */

/* `count` updates, and the slices; one more bucket has the updates of no slice. */
typedef struct gantry__buckets_t {
    gantry__work_t work;
    GANTRY_LONG slices;
} gantry__buckets_t;

#endif

#if defined(GANTRY_ITEM_TEXT) && !GANTRY_SERIAL && \
    (defined(__OPENCL_VERSION__) || defined(__CUDACC__))

#define GANTRY_COUNTED_KEYS(name, P)                                                              \
    GANTRY_KERNEL name##_counted(GANTRY_SPAN_IN(indices), GANTRY_SPAN_OUT(keys),                  \
                                 GANTRY_SPAN_OUT(head), GANTRY_VALUE(P, p),                       \
                                 GANTRY_SPAN_OUT(fault)) {                                        \
        GANTRY_TAKE(P, p)                                                                         \
        for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work); i += GANTRY_STEP) {    \
            uint key;                                                                             \
            GANTRY_ITEM_FN(name)                                                                  \
            (GANTRY_IN(uchar, indices), GANTRY_OUT(uint, keys), &p, GANTRY_OUT(uchar, fault), i); \
            key = GANTRY_OUT(uint, keys)[i];                                                      \
            GANTRY_ADD(GANTRY_OUT(uint, head) + GANTRY_BUCKETS_HEAD +                             \
                           (key == GANTRY_NO_SLICE ? 0 : 1 + key),                                \
                       1u);                                                                       \
        }                                                                                         \
    }
GANTRY_COUNTED_KEYS(slice_keys, gantry__slices_t)
GANTRY_COUNTED_KEYS(segment_keys, gantry__segments_t)
GANTRY_COUNTED_KEYS(element_keys, gantry__elements_t)

GANTRY_KERNEL buckets_room(GANTRY_SPAN_OUT(head), GANTRY_SPAN_OUT(ends), GANTRY_SPAN_OUT(crowded),
                           GANTRY_VALUE(gantry__buckets_t, p)) {
    GANTRY_TAKE(gantry__buckets_t, p)
    GANTRY_LOCAL_ARRAY(uint, taken, 2);
    GANTRY_GLOBAL uint *words = GANTRY_OUT(uint, head), *counts = words + GANTRY_BUCKETS_HEAD;
    const GANTRY_LONG item = GANTRY_LOCAL_ID(0), items = GANTRY_LOCAL_SIZE(0);
    const GANTRY_LONG round = items * GANTRY_BUCKETS_AT_ONCE;

    for (GANTRY_LONG begin = GANTRY_GROUP_ID(0) * round; begin <= p.slices;
         begin += GANTRY_GROUP_COUNT(0) * round) {
        uint count[GANTRY_BUCKETS_AT_ONCE], sum = 0, at;

        if (item == 0) {
            taken[0] = 0;
        }
        GANTRY_BARRIER();
        GANTRY_UNROLLED for (int e = 0; e < GANTRY_BUCKETS_AT_ONCE; ++e) {
            const GANTRY_LONG bucket = begin + e * items + item;
            count[e] = bucket <= p.slices ? counts[bucket] : 0;
            sum += count[e];
        }
        at = sum != 0 ? GANTRY_ADD(taken, sum) : 0;
        GANTRY_BARRIER();
        if (item == 0) {
            taken[1] = GANTRY_ADD(words, taken[0]);
        }
        GANTRY_BARRIER();
        at += taken[1];
        GANTRY_UNROLLED for (int e = 0; e < GANTRY_BUCKETS_AT_ONCE; ++e) {
            const GANTRY_LONG bucket = begin + e * items + item;
            if (bucket <= p.slices) {
                GANTRY_OUT(uint, ends)[bucket] = at;
            }
            if (bucket > 0 && count[e] > GANTRY_BUCKETS_FEW) {
                GANTRY_OUT(uint, crowded)[GANTRY_ADD(words + 1, 1u)] = (uint)bucket;
            }
            at += count[e];
        }
    }
}

GANTRY_KERNEL buckets_fill(GANTRY_SPAN_IN(keys), GANTRY_SPAN_OUT(ends), GANTRY_SPAN_OUT(out_keys),
                           GANTRY_SPAN_OUT(positions), GANTRY_VALUE(gantry__buckets_t, p)) {
    GANTRY_TAKE(gantry__buckets_t, p)

    for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work); i += GANTRY_STEP) {
        const uint key = GANTRY_IN(uint, keys)[i];
        const GANTRY_LONG bucket = key == GANTRY_NO_SLICE ? 0 : (GANTRY_LONG)key + 1;
        const uint at = GANTRY_ADD(GANTRY_OUT(uint, ends) + bucket, 1u);

        GANTRY_OUT(uint, out_keys)[at] = key;
        GANTRY_OUT(uint, positions)[at] = (uint)i;
    }
}

/* Sorts a few positions. */
GANTRY_FN void buckets_insert(GANTRY_GLOBAL uint *positions, const uint count) {
    for (uint k = 1; k < count; ++k) {
        const uint position = positions[k];
        uint at = k;

        for (; at > 0 && positions[at - 1] > position; --at) {
            positions[at] = positions[at - 1];
        }
        positions[at] = position;
    }
}

/* Exchanges all pairs that are `reach` apart, or, to flip, that lie alike from both ends of each
 * 2 * reach. */
#define GANTRY_BUCKETS_STEP(at, count, reach, flips)                                          \
    for (uint t = item; t < (((count) + 2 * (reach)-1) & ~(2 * (reach)-1)) / 2; t += items) { \
        const uint within = t & ((reach)-1), low = 2 * (t - within) + within;                 \
        const uint high = (flips) ? low + 2 * ((reach)-within) - 1 : low + (reach);           \
        if (high < (count) && (at)[low] > (at)[high]) {                                       \
            const uint larger = (at)[low];                                                    \
            (at)[low] = (at)[high];                                                           \
            (at)[high] = larger;                                                              \
        }                                                                                     \
    }

GANTRY_KERNEL buckets_order(GANTRY_SPAN_IN(head), GANTRY_SPAN_IN(ends), GANTRY_SPAN_IN(crowded),
                            GANTRY_SPAN_OUT(positions), GANTRY_VALUE(gantry__buckets_t, p)) {
    GANTRY_TAKE(gantry__buckets_t, p)
    GANTRY_LOCAL_ARRAY(uint, tile, GANTRY_BUCKETS_TILE);
    GANTRY_GLOBAL const uint *words = GANTRY_IN(uint, head), *counts = words + GANTRY_BUCKETS_HEAD;
    GANTRY_GLOBAL const uint *end = GANTRY_IN(uint, ends);
    const uint item = (uint)GANTRY_LOCAL_ID(0), items = (uint)GANTRY_LOCAL_SIZE(0);
    const uint lists = words[1];

    for (GANTRY_LONG bucket = 1 + GANTRY_GLOBAL_ID(0); bucket <= p.slices;
         bucket += GANTRY_GLOBAL_SIZE(0)) {
        const uint count = counts[bucket];
        if (count > 1 && count <= GANTRY_BUCKETS_FEW) {
            buckets_insert(GANTRY_OUT(uint, positions) + end[bucket] - count, count);
        }
    }
    for (uint list = (uint)GANTRY_GROUP_ID(0); list < lists; list += (uint)GANTRY_GROUP_COUNT(0)) {
        const uint bucket = GANTRY_IN(uint, crowded)[list], count = counts[bucket];
        GANTRY_GLOBAL uint *own = GANTRY_OUT(uint, positions) + end[bucket] - count;

        for (uint width = GANTRY_BUCKETS_TILE;; width *= 2) {
            for (uint reach = width / 2; reach >= GANTRY_BUCKETS_TILE; reach /= 2) {
                GANTRY_BUCKETS_STEP(own, count, reach, reach == width / 2)
                GANTRY_BARRIER_OF_ALL();
            }
            for (uint begin = 0; begin < count; begin += GANTRY_BUCKETS_TILE) {
                const uint left = count - begin;
                const uint some = left < GANTRY_BUCKETS_TILE ? left : GANTRY_BUCKETS_TILE;
                /* the whole tile is sorted, or only the last steps of larger merges are made */
                const uint is_whole = width == GANTRY_BUCKETS_TILE;
                uint first = is_whole ? 1 : GANTRY_BUCKETS_TILE / 2;

                for (uint e = item; e < some; e += items) {
                    tile[e] = own[begin + e];
                }
                GANTRY_BARRIER();
                for (; first < GANTRY_BUCKETS_TILE && (first < some || !is_whole); first *= 2) {
                    for (uint reach = first; reach > 0; reach /= 2) {
                        GANTRY_BUCKETS_STEP(tile, some, reach, is_whole && reach == first)
                        GANTRY_BARRIER();
                    }
                }
                for (uint e = item; e < some; e += items) {
                    own[begin + e] = tile[e];
                }
                GANTRY_BARRIER_OF_ALL();
            }
            if (width >= count) {
                break;
            }
        }
    }
}

#endif
