/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of JSON (RFC 8259) in a growing text.
 *
 * Owner: the text is the caller's. Threads: externally synchronised. */
#ifndef GANTRY_BASE_JSON_TEXT_H
#define GANTRY_BASE_JSON_TEXT_H

#include "base/text.h"

/* Appends the text in quotes, with its special characters escaped; a malformed byte becomes
 * U+FFFD. */
void gantry__json_string(const char *text, gantry__text_t *out);
/* Writes a member after others: a comma, the name and the value. */
void gantry__json_text_member(const char *name, const char *text, gantry__text_t *out);
void gantry__json_number_member(const char *name, uint64_t value, gantry__text_t *out);

#endif
