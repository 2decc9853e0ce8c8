/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts as people write them in settings: sizes, fractions, yes and no. Pure functions on text
 * that need not be terminated; no locale, no allocation. Owner: nothing. Threads: thread-safe. */
#ifndef GANTRY_BASE_AMOUNT_H
#define GANTRY_BASE_AMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for any text that the two printers make. */
#define GANTRY__AMOUNT_BYTES 48

/* Whether the text is one of words[0..count), in any case; *out is its index. */
bool gantry__parse_word(const char *text, size_t length, const char *const *words, int count,
                        int *out);
/* Accepts 0, off, false, no, 1, on, true, yes, in any case. */
bool gantry__parse_bool(const char *text, size_t length, bool *out);
/* Digits whose value is at most `most`. */
bool gantry__parse_number(const char *text, size_t length, uint64_t most, uint64_t *out);
/* -12, 7: within int32_t. */
bool gantry__parse_signed(const char *text, size_t length, int32_t *out);
/* Digits with an optional K, M, G or T (powers of 1024), in any case. */
bool gantry__parse_bytes(const char *text, size_t length, uint64_t *out);
/* Digits with an optional '.' among them; below 1e18, correctly rounded. */
bool gantry__parse_decimal(const char *text, size_t length, double *out);
/* Accepts 0.25 or 25%: above 0, up to the whole. */
bool gantry__parse_fraction(const char *text, size_t length, double *out);

/* Uses the largest unit that divides the value: 1536M. */
void gantry__format_bytes(uint64_t bytes, char out[GANTRY__AMOUNT_BYTES]);
/* The shortest decimal that reads back as value, from 1e-9 to below 1e9. */
void gantry__format_decimal(double value, char out[GANTRY__AMOUNT_BYTES]);

#endif
