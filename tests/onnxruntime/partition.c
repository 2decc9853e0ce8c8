/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Groups of nodes that the provider takes are convex, and no node that is wanted is left,
 * for random graphs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../integrations/onnxruntime/src/provider.h"

#define NODES 24

static uint64_t random_state = 7;
static uint64_t next_random(uint64_t bound) {
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (random_state >> 33) % bound;
}

/* Whether node `to` is reached from a node of the group by a path through others. */
static bool leaves_and_returns(const int32_t *groups, int32_t group, const size_t *first,
                               const size_t *producers) {
    bool outside[NODES] = {false};
    for (size_t i = 0; i < NODES; ++i) {
        for (size_t k = first[i]; k < first[i + 1]; ++k) {
            const size_t from = producers[k];
            if (groups[i] == group && outside[from]) return true;
            if (groups[i] != group && (outside[from] || groups[from] == group)) outside[i] = true;
        }
    }
    return false;
}

static bool try_graph(void) {
    size_t first[NODES + 1], producers[NODES * 3], count = 0;
    int32_t groups[NODES], levels[NODES];
    bool wanted[NODES];
    const uint64_t rate = next_random(4) + 2;
    for (size_t i = 0; i < NODES; ++i) {
        first[i] = count;
        wanted[i] = next_random(rate) != 0;
        for (uint64_t k = i > 0 ? next_random(4) : 0; k > 0; --k)
            producers[count++] = (size_t)next_random(i);
    }
    first[NODES] = count;
    const int32_t found = ort_partition(NODES, wanted, first, producers, groups, levels);
    for (size_t i = 0; i < NODES; ++i)
        if (wanted[i] ? groups[i] < 0 || groups[i] >= found : groups[i] != -1) return false;
    for (int32_t group = 0; group < found; ++group)
        if (leaves_and_returns(groups, group, first, producers)) return false;
    return true;
}

int main(void) {
    for (int i = 0; i < 20000; ++i)
        if (!try_graph()) return printf("graph %d has a group that is not convex\n", i), 1;
    return 0;
}
