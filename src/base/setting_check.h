/* SPDX-License-Identifier: Apache-2.0 */
/* Warns of settings with unknown names: a misspelt one would silently have no effect.
 *
 * Known are the rows of environment.def, every name that was read, and GANTRY_<NAME>_... of a
 * backend by a third party. GANTRY_TEST_... and GANTRY_STAND_IN_... belong to tests.
 * Thread-safe. */
#ifndef GANTRY_BASE_SETTING_CHECK_H
#define GANTRY_BASE_SETTING_CHECK_H

#include "base/log.h"
#include "base/settings.h"

/* Logs one warning for each unknown name in extra options and in the environment. Call it after the
 * backends are open, because they have names of their own. */
void gantry__settings_warn_of_unknown(gantry__settings_t *settings, const gantry__log_t *log,
                                      const char *const *backends, size_t backend_count);

#endif
