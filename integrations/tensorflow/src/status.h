/* SPDX-License-Identifier: Apache-2.0 */
/* Gantry's errors as TensorFlow's. Both use the canonical codes, so a TF_Code is the number of the
 * gantry_status_t: InvalidArgument raises InvalidArgumentError, and so on. Owner: the TF_Status is
 * the caller's. Threads: thread-safe. */
#ifndef GANTRY_TENSORFLOW_STATUS_H
#define GANTRY_TENSORFLOW_STATUS_H

#include <gantry/gantry.h>
#include <tensorflow/c/tf_status.h>

/* Sets the status; text is ignored for GANTRY_OK. Where the text names a function of C, programs in
 * Python read the function of the package gantry_tensorflow. */
void status_set(TF_Status *out, gantry_status_t status, const char *text);
/* Sets the status after a malloc that failed. */
void status_set_memory(TF_Status *out);
/* Sets the status of a call of Gantry that just returned on this thread, with its text. No other
 * call of Gantry may be made in between. */
void status_set_last(TF_Status *out, gantry_status_t status);

#endif
