/* SPDX-License-Identifier: Apache-2.0 */
/* TensorFlow's rules for device memory, as a plain model to compare with: bins, best fit,
 * splitting, growth by doubling, back-off, collection of empty regions. Written from the rules as
 * described in words; it is a model of what is held when, not of anybody's code, and says nothing
 * about time.
 *
 * Holds no memory but its own books; addresses are numbers, and each region's lie above all earlier
 * ones'. Regions do not join. Waiting for other threads' frees, and frees that are deferred, are
 * left out: a trace has one thread and no clock.
 * Owner: whoever inits deinits; a chunk is valid until it is freed. Externally synchronised. */
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
    uint64_t driver_bytes; /* what the driver has; 0: no bound */
    bool growth;           /* false: the first region is the whole limit */
    bool collection;       /* empty regions go back when nothing else helps */
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
    bool broken;         /* host memory ran out: the figures are worth nothing */
} tensorflow_bfc_rules_t;

void tensorflow_bfc_rules_init(tensorflow_bfc_rules_t *rules, const rules_options_t *options);
void tensorflow_bfc_rules_deinit(tensorflow_bfc_rules_t *rules);

/* NULL when memory runs out, and for 0 bytes. */
rules_chunk_t *tensorflow_bfc_rules_allocate(tensorflow_bfc_rules_t *rules, uint64_t bytes);
void tensorflow_bfc_rules_free(tensorflow_bfc_rules_t *rules, rules_chunk_t *chunk);
/* Gives all wholly free regions back if a request of so many bytes could then be met; true when
 * any went. */
bool tensorflow_bfc_rules_collect(tensorflow_bfc_rules_t *rules, uint64_t bytes);

unsigned tensorflow_bfc_rules_bin(uint64_t bytes);
void tensorflow_bfc_rules_stats(const tensorflow_bfc_rules_t *rules, rules_stats_t *out_stats);
void tensorflow_bfc_rules_bins(const tensorflow_bfc_rules_t *rules,
                               rules_bin_report_t out_bins[RULES_BINS]);

#endif
