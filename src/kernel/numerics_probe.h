/* SPDX-License-Identifier: Apache-2.0 */
/* Does a device compute as the promise of equal bits wants it? 32 words of float32 arithmetic, made
 * by one work-item, against the words of IEEE 754.
 *
 * Knows no device: whoever launches the kernel hands the words over. Thread-safe. */
#ifndef GANTRY_KERNEL_NUMERICS_PROBE_H
#define GANTRY_KERNEL_NUMERICS_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include <gantry/backend_abi.h>

#define GANTRY__NUMERICS_WORDS 32u
#define GANTRY__NUMERICS_KERNEL "gantry_numerics"
/* The kernel's last argument, which no compiler can know: the bits of 1.0f. */
#define GANTRY__NUMERICS_ONE UINT32_C(0x3f800000)
#define GANTRY__NUMERICS_BYTES 512 /* of a judgement */

extern const gantry_program_source_t gantry__numerics_source;

/* "" where all words are right; else a sentence on each kind that is not, cut to fit. */
void gantry__numerics_judge(const uint32_t words[GANTRY__NUMERICS_WORDS], char *out,
                            size_t out_bytes);

#endif
