/* SPDX-License-Identifier: Apache-2.0 */
/* The allocators that traces go through. */
#include <stdlib.h>

#include "counting_source.h"
#include "tensorflow_bfc_rules.h"
#include "trace_replay.h"

/* ---- Gantry ---- */

static void *open_with(uint64_t limit_bytes, uint64_t split_bytes) {
    counted_allocator_t *counted = calloc(1, sizeof *counted);
    if (counted && counted_allocator_init(counted, limit_bytes, split_bytes) == GANTRY_OK)
        return counted;
    free(counted);
    return NULL;
}

static void *gantry_open(uint64_t limit_bytes) { return open_with(limit_bytes, 0); }

static void *gantry_open_split(uint64_t limit_bytes) {
    return open_with(limit_bytes, 128 * TRACE_MIB);
}

static void gantry_close(void *state) {
    counted_allocator_deinit(state);
    free(state);
}

static void *gantry_allocate(void *state, uint64_t bytes) { return counted_allocate(state, bytes); }

static void gantry_free(void *state, void *block) { counted_free(state, block); }

static void gantry_look(const void *state, subject_view_t *out_view) {
    const gantry__bfc_t *bfc = &((const counted_allocator_t *)state)->allocator.bfc;
    gantry__bfc_stats_t stats;
    gantry__bfc_get_stats(bfc, &stats);
    *out_view = (subject_view_t){.in_use_bytes = stats.bytes_in_use,
                                 .pool_bytes = stats.pool_bytes,
                                 .largest_free_bytes = stats.largest_free_block_bytes};
    for (const gantry__bfc_region_t *region = gantry__bfc_first_region(bfc); region;
         region = region->next) {
        ++out_view->regions;
        if (region->bytes > out_view->largest_region_bytes)
            out_view->largest_region_bytes = region->bytes;
    }
}

static bool gantry_is_broken(const void *state) {
    (void)state;
    return false;
}

const subject_t subject_gantry = {"gantry",        true,        gantry_open, gantry_close,
                                  gantry_allocate, gantry_free, gantry_look, gantry_is_broken};

const subject_t subject_gantry_split = {
    "gantry, 128M split", true,        gantry_open_split, gantry_close,
    gantry_allocate,      gantry_free, gantry_look,       gantry_is_broken};

/* ---- the model of TensorFlow's rules ---- */

static void *rules_open(uint64_t limit_bytes) {
    tensorflow_bfc_rules_t *rules = calloc(1, sizeof *rules);
    const rules_options_t options = {
        .limit_bytes = limit_bytes, .growth = true, .collection = true};
    if (rules) tensorflow_bfc_rules_init(rules, &options);
    return rules;
}

static void rules_close(void *state) {
    tensorflow_bfc_rules_deinit(state);
    free(state);
}

static void *rules_allocate(void *state, uint64_t bytes) {
    return tensorflow_bfc_rules_allocate(state, bytes);
}

static void rules_free(void *state, void *block) { tensorflow_bfc_rules_free(state, block); }

static void rules_look(const void *state, subject_view_t *out_view) {
    rules_stats_t stats;
    tensorflow_bfc_rules_stats(state, &stats);
    *out_view = (subject_view_t){.in_use_bytes = stats.bytes_in_use,
                                 .pool_bytes = stats.pool_bytes,
                                 .largest_free_bytes = stats.largest_free_bytes,
                                 .regions = stats.region_count,
                                 .largest_region_bytes = stats.largest_region_bytes};
}

static bool rules_is_broken(const void *state) {
    return ((const tensorflow_bfc_rules_t *)state)->broken;
}

const subject_t subject_rules = {"TensorFlow rules", false,      rules_open, rules_close,
                                 rules_allocate,     rules_free, rules_look, rules_is_broken};
