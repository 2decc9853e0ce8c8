/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of nodes. A group must be convex: no path may leave it and come back, or the fused node
 * would wait for itself.
 *
 * Each node gets a level. That of a wanted node is the highest of those that it reads; that of
 * another one is one more than that of a wanted node that it reads. So levels never fall along a
 * path, and a path from a wanted node through another one arrives at a higher level. The wanted
 * nodes of one level are a group: a path that leaves it has left its level for good. Linear in the
 * edges. */
#include "provider.h"

int32_t ort_partition(size_t count, const bool *wanted, const size_t *first,
                      const size_t *producers, int32_t *out_groups, int32_t *levels) {
    int32_t groups = 0;
    for (size_t i = 0; i < count; ++i) {
        levels[i] = 0;
        for (size_t k = first[i]; k < first[i + 1]; ++k) {
            const size_t from = producers[k];
            const int32_t level = levels[from] + (!wanted[i] && wanted[from]);
            if (level > levels[i]) levels[i] = level;
        }
        out_groups[i] = wanted[i] ? levels[i] : -1;
        if (wanted[i] && levels[i] >= groups) groups = levels[i] + 1;
    }
    return groups;
}
