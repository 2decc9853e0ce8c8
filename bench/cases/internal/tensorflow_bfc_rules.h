/* SPDX-License-Identifier: Apache-2.0 */
/* TensorFlow's rules for device memory, as a plain model to compare with: bins, best fit,
 * splitting, growth by doubling, back-off, collection of empty regions. It follows a description of
 * the rules, not any code. It models the memory that is held over time, but not the cost of the
 * operations.
 *
 * The model holds only its own books. Addresses are numbers, and those of a region are above those
 * of all earlier regions. Regions do not join. A trace has one thread and no clock, so the model
 * has neither waits for other threads' frees nor deferred frees. Owner: the caller of init must
 * call deinit; a chunk is valid until it is freed. Threads: externally synchronised. */
#ifndef GANTRY_BENCH_TENSORFLOW_BFC_RULES_H
#define GANTRY_BENCH_TENSORFLOW_BFC_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULES_BINS 21
#define RULES_UNIT UINT64_C(256)
#define RULES_FIRST_REGION_BYTES (UINT64_C(2) << 20)
#define RULES_SPLIT_BYTES (UINT64_C(128) << 20)

typedef struct rules_region_t rules_region_t;

typedef struct rules_chunk_t {
    uint64_t address, bytes;
    uint64_t requested_bytes; /* 0 while free */
    bool in_use;
    struct rules_chunk_t *next, *previous; /* neighbours in the region */
    rules_region_t *region;
} rules_chunk_t;

struct rules_region_t {
    uint64_t bytes;
    rules_chunk_t *first;
    rules_region_t *next;
};

/* The free chunks of a bin by (bytes, address). */
typedef struct rules_bin_t {
    rules_chunk_t **chunks;
    size_t count, capacity;
} rules_bin_t;

typedef struct rules_options_t {
    uint64_t limit_bytes;
    uint64_t driver_bytes; /* the driver's memory; 0: unlimited */
    bool growth;           /* false: the first region is the whole limit */
    bool collection;       /* empty regions are freed as a last resort */
} rules_options_t;

typedef struct rules_stats_t {
    uint64_t num_allocs, bytes_in_use, peak_bytes_in_use, largest_alloc_bytes;
    uint64_t pool_bytes, peak_pool_bytes;
    uint64_t largest_free_bytes;
    uint64_t region_count, largest_region_bytes;
    uint64_t collections;
} rules_stats_t;

typedef struct rules_bin_report_t {
    uint64_t chunks, chunks_in_use, bytes, bytes_in_use, requested_bytes_in_use;
} rules_bin_report_t;

typedef struct tensorflow_bfc_rules_t {
    rules_options_t options;
    rules_bin_t bins[RULES_BINS];
    rules_region_t *regions; /* oldest first */
    uint64_t current_region_bytes, next_address;
    rules_stats_t stats; /* without the last four lines' figures that are found by looking */
    bool broken;         /* host memory ran out: the figures are useless */
} tensorflow_bfc_rules_t;

void tensorflow_bfc_rules_init(tensorflow_bfc_rules_t *rules, const rules_options_t *options);
void tensorflow_bfc_rules_deinit(tensorflow_bfc_rules_t *rules);

/* Returns NULL if memory runs out, and for 0 bytes. */
rules_chunk_t *tensorflow_bfc_rules_allocate(tensorflow_bfc_rules_t *rules, uint64_t bytes);
void tensorflow_bfc_rules_free(tensorflow_bfc_rules_t *rules, rules_chunk_t *chunk);
/* Frees all empty regions, if a request of this many bytes then fits. Returns whether it freed
 * any. */
bool tensorflow_bfc_rules_collect(tensorflow_bfc_rules_t *rules, uint64_t bytes);

unsigned tensorflow_bfc_rules_bin(uint64_t bytes);
void tensorflow_bfc_rules_stats(const tensorflow_bfc_rules_t *rules, rules_stats_t *out_stats);
void tensorflow_bfc_rules_bins(const tensorflow_bfc_rules_t *rules,
                               rules_bin_report_t out_bins[RULES_BINS]);

#endif
