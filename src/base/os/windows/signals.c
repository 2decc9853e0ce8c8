/* SPDX-License-Identifier: Apache-2.0 */
/* Windows runs the handler of Ctrl+C on a thread of its own, so no thread of the program is
 * interrupted. */
#include "base/os/signals.h"

gantry__os_signals_t gantry__os_signals_defer(void) {
    return (gantry__os_signals_t){.is_deferred = false};
}

void gantry__os_signals_end(const gantry__os_signals_t *signals) { (void)signals; }
