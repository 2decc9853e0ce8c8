/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of the types of a card's libraries, by cudaDataType: float32 0, float64 1, float16 2,
 * bfloat16 14. Threads: thread-safe. */
#ifndef GANTRY_TESTS_STAND_IN_NUMBERS_H
#define GANTRY_TESTS_STAND_IN_NUMBERS_H

#include <stdint.h>

uint64_t stand_in__element_bytes(int type); /* 0: no such type */
double stand_in__load(const uint8_t *data, int type, uint64_t index);
void stand_in__store(uint8_t *data, int type, uint64_t index, double value);
/* The value as an element of the type has it. */
double stand_in__round(int type, double value);
/* TF32: a float32 whose fraction has 10 bits. */
double stand_in__round_to_tf32(double value);

#endif
