/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the plug-in and of Gantry on standard error, filtered by TF_CPP_MIN_LOG_LEVEL as
 * TensorFlow's own: 1 hides notes, 2 also warnings, 3 also errors. Owner: nothing is kept. Threads:
 * thread-safe. */
#ifndef GANTRY_TENSORFLOW_LOG_H
#define GANTRY_TENSORFLOW_LOG_H

#include <gantry/gantry.h>

/* Writes one line. */
__attribute__((format(printf, 2, 3))) void log_line(gantry_log_level_t level, const char *format,
                                                    ...);
/* The same, in the form of gantry_log_fn. */
void log_receive(void *user, gantry_log_level_t level, const char *text);

#endif
