/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of cards share this: each CUDA device of the run, the raw driver on the same card, and
 * the device's other view.
 *
 * A round lasts tens of ms: it submits many calls and waits once. On the stand-in for NVIDIA's
 * driver a round is short, and the report says that its times mean nothing. Owner: a case must
 * release what it makes. Threads: externally synchronised. */
#ifndef GANTRY_BENCH_CARD_H
#define GANTRY_BENCH_CARD_H

#include "bench.h"
#include "cuda_vendor.h"

#define BENCH_CARD_MOST_CALLS 20000
#define BENCH_CARD_MOST_SUBJECTS 4

typedef void (*bench_card_fn)(bench_t *bench, const bench_device_t *device,
                              const bench_card_t *card);

/* Runs the case for every CUDA device. If there is none, a note gives the reason. */
void bench_each_card(bench_t *bench, const char *subject, bench_card_fn run);

/* Returns the card's OpenCL view, or NULL if the run does not have it. */
const bench_device_t *bench_card_opencl_view(const bench_t *bench, const bench_device_t *device);

/* Runs the contenders in turn until the times of two rounds in a row agree within 2 %, for two
 * seconds at most: the clocks of a card that was idle rise for a while. */
void bench_card_settle(const bench_t *bench, const bench_contender_t *contenders, size_t count);

/* bench_interleave, with the number of calls that a round needs. */
void bench_card_interleave(const bench_t *bench, bench_contender_t *contenders, size_t count,
                           int most_calls);

/* Notes that the device `on` computed a wrong result, which also sets the exit code. Returns
 * false. */
bool bench_card_is_wrong(bench_t *bench, const char *subject, const char *work, const char *on);

/* Notes that the device `on` failed, with gantry_last_message. Counts as wrong. Returns false. */
bool bench_card_has_failed(bench_t *bench, const char *subject, const char *work, const char *on);

/* Frees the unused memory of the device's pool, so that the raw side has room. */
void bench_card_trim(const bench_t *bench, const char *device);

#endif
