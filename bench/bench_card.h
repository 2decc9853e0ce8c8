/* SPDX-License-Identifier: Apache-2.0 */
/* What the cases of cards share: each CUDA device of the run beside the raw driver on the same
 * card, and what its other view is.
 *
 * A round lasts tens of ms, since a card is asked for many calls and waited for once; on the
 * stand-in for NVIDIA's driver it is short, and the report says that its figures are none.
 * Externally synchronised. */
#ifndef GANTRY_BENCH_CARD_H
#define GANTRY_BENCH_CARD_H

#include "bench.h"
#include "bench_cuda_vendor.h"

#define BENCH_CARD_MOST_CALLS 20000
#define BENCH_CARD_MOST_SUBJECTS 4

typedef void (*bench_card_fn)(bench_t *bench, const bench_device_t *device,
                              const bench_card_t *card);

/* Runs the case for every CUDA device; a note says why for none. */
void bench_each_card(bench_t *bench, const char *subject, bench_card_fn run);

/* The card's OpenCL view when it is among the run's devices; NULL. */
const bench_device_t *bench_card_opencl_view(const bench_t *bench, const bench_device_t *device);

/* bench_interleave with as many calls as a round needs. */
void bench_card_interleave(const bench_t *bench, bench_contender_t *contenders, size_t count,
                           int most_calls);

/* Says that on computed something wrong, and keeps it for the exit code. false always. */
bool bench_card_is_wrong(bench_t *bench, const char *subject, const char *work, const char *on);

/* Says that on computed nothing, with gantry_last_message; it counts as wrong. false always. */
bool bench_card_has_failed(bench_t *bench, const char *subject, const char *work, const char *on);

/* Gives what scopes left in the device's pool back, so that the raw side has room. */
void bench_card_trim(const bench_t *bench, const char *device);

#endif
