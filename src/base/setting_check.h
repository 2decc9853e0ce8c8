/* SPDX-License-Identifier: Apache-2.0 */
/* Names of settings that nobody reads: a misspelt one would do nothing, without a word.
 *
 * Known are the rows of environment.def, every name that somebody has asked for, and
 * GANTRY_<NAME>_... of a backend that is none of Gantry's own. GANTRY_TEST_... and
 * GANTRY_STAND_IN_... are left to tests. Thread-safe. */
#ifndef GANTRY_BASE_SETTING_CHECK_H
#define GANTRY_BASE_SETTING_CHECK_H

#include "base/log.h"
#include "base/settings.h"

/* One warning for each unknown name that extra options or the environment give. Behind the
 * opening of the backends, whose names these are. */
void gantry__settings_warn_of_unknown(gantry__settings_t *settings, const gantry__log_t *log,
                                      const char *const *backends, size_t backend_count);

#endif
