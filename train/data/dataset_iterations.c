/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/iterations.h"

#include "train/data/stage.h"

typedef struct counts_t {
    uint64_t *out;
    size_t count, capacity;
} counts_t;

/* Reads the counts of a chain. is_cached must be true where a later stage is a cache that is
 * filled. */
static void get_counts(gantry_dataset_t *dataset, bool is_cached, counts_t *counts) {
    for (; dataset; dataset = dataset->input) {
        is_cached |= gantry__train_is_filled_cache(dataset);
        if (dataset->second) get_counts(dataset->second, is_cached, counts);
        if (dataset->kind != &gantry__train_shuffle_kind) continue;
        if (counts->count < counts->capacity)
            counts->out[counts->count] =
                is_cached ? 0 : gantry__train_shuffle_get_iteration(dataset);
        ++counts->count;
    }
}

size_t gantry__train_get_iterations(gantry_dataset_t *dataset, uint64_t *out, size_t capacity) {
    counts_t counts = {out, 0, capacity};
    get_counts(dataset, false, &counts);
    return counts.count;
}

/* Sets the counts of a chain, and returns the counts after those that it set. */
static const uint64_t *set_counts(gantry_dataset_t *dataset, const uint64_t *counts) {
    for (; dataset; dataset = dataset->input) {
        if (dataset->second) counts = set_counts(dataset->second, counts);
        if (dataset->kind == &gantry__train_shuffle_kind)
            gantry__train_shuffle_set_iteration(dataset, *counts++);
    }
    return counts;
}

void gantry__train_set_iterations(gantry_dataset_t *dataset, const uint64_t *counts) {
    (void)set_counts(dataset, counts);
}
