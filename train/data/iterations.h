/* SPDX-License-Identifier: Apache-2.0 */
/* The iteration counts of the shuffles of a chain: the order of all elements that a training still
 * gets follows from them. Owner: the data set keeps the counts; arrays are the caller's. Threads:
 * as data sets, which are thread-safe. */
#ifndef GANTRY_TRAIN_ITERATIONS_H
#define GANTRY_TRAIN_ITERATIONS_H

#include <gantry_train/dataset.h>

/* Writes the counts, from the end of the chain on, up to capacity, and returns their number. A
 * shuffle in front of a cache that is filled has 0, because the cache keeps the order of the first
 * iteration, and another process must fill it in that order. */
size_t gantry__train_get_iterations(gantry_dataset_t *dataset, uint64_t *out, size_t capacity);
/* Sets the counts. There must be as many as get wrote. */
void gantry__train_set_iterations(gantry_dataset_t *dataset, const uint64_t *counts);

#endif
