/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that others wrote, made fit for a terminal and a log. Owner: the caller's text, which is
 * changed in place. Threads: thread-safe for different texts. */
#ifndef GANTRY_BASE_PRINTABLE_H
#define GANTRY_BASE_PRINTABLE_H

/* Changes the text in place. Each of these becomes one '?': a control character (C0, DEL, C1), a
 * line or paragraph separator, a control of the direction of text, and a byte that is no UTF-8. */
void gantry__make_printable(char *text);

#endif
