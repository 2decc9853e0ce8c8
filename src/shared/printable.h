/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that others wrote: their characters in UTF-8, and how they are made fit for a terminal and
 * a log. Owner: the caller's text. Threads: thread-safe for different texts. */
#ifndef GANTRY_SHARED_PRINTABLE_H
#define GANTRY_SHARED_PRINTABLE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed UTF-8 character at text; 0 if it is malformed. */
size_t gantry__utf8_bytes(const char *text);
/* The number of the character, which has so many bytes, if it commands a terminal or a reader: a
 * control character (C0, DEL, C1), a line or paragraph separator, or a control of the direction of
 * text. 0 for any other. */
uint32_t gantry__utf8_command(const char *text, size_t bytes);

/* The end of the text, of at most so many bytes, from the beginning of a character. */
const char *gantry__utf8_end(const char *text, size_t most);

/* Changes the text in place. Each command and each byte that is no UTF-8 becomes one '?', except
 * the character `kept`; 0: none is kept. */
void gantry__make_printable(char *text, char kept);

#endif
