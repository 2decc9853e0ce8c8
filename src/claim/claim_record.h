/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a claim's file, which says who holds it. It is information for people; only the lock
 * is the claim. Owner: the file is the caller's. Threads: thread-safe for different files. */
#ifndef GANTRY_CLAIM_CLAIM_RECORD_H
#define GANTRY_CLAIM_CLAIM_RECORD_H

#include <gantry/claim.h>

/* Replaces the file's text by this process's. A full disk leaves it empty. command NULL: this
 * program's command line. */
void gantry__claim_record_write(int file, const char *command);
/* Reads all fields but held and device, from a text that any user may have written. */
void gantry__claim_record_read(int file, gantry_claim_info_t *out_info);
/* Describes a claim: "process 123 (user 1000, host a): python train.py, since
 * 2026-11-26T12:00:00Z". */
void gantry__claim_record_describe(const gantry_claim_info_t *info, char *out, size_t out_bytes);

#endif
