/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/iterations.h"

#include "train/data/stage.h"

size_t gantry__train_get_iterations(gantry_dataset_t *dataset, uint64_t *out, size_t capacity) {
    bool is_cached = false;
    size_t count = 0;
    for (; dataset; dataset = dataset->input) {
        is_cached |= gantry__train_is_filled_cache(dataset);
        if (dataset->kind != &gantry__train_shuffle_kind) continue;
        if (count < capacity)
            out[count] = is_cached ? 0 : gantry__train_shuffle_get_iteration(dataset);
        ++count;
    }
    return count;
}

void gantry__train_set_iterations(gantry_dataset_t *dataset, const uint64_t *counts) {
    for (; dataset; dataset = dataset->input) {
        if (dataset->kind == &gantry__train_shuffle_kind)
            gantry__train_shuffle_set_iteration(dataset, *counts++);
    }
}
