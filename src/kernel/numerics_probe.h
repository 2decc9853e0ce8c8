/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a device computes as equal bits require: one work-item makes 40 words of float32
 * and float64 arithmetic, which are compared with those of IEEE 754. Devices without float64 write
 * the right words.
 *
 * It knows no device: the code that launches the kernel passes the words. Owner: the words are the
 * caller's. Threads: thread-safe. */
#ifndef GANTRY_KERNEL_NUMERICS_PROBE_H
#define GANTRY_KERNEL_NUMERICS_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include <gantry/backend_abi.h>

#define GANTRY__NUMERICS_WORDS 40u
#define GANTRY__NUMERICS_KERNEL "gantry_numerics"
/* The kernel's last argument, which no compiler can know: the bits of 1.0f. */
#define GANTRY__NUMERICS_ONE UINT32_C(0x3f800000)

extern const gantry_program_source_t gantry__numerics_source;

/* Judges the words: "" if all are right; else a sentence on each kind that is wrong, cut to fit. */
void gantry__numerics_judge(const uint32_t words[GANTRY__NUMERICS_WORDS], char *out,
                            size_t out_bytes);

#endif
