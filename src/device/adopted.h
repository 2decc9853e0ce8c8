/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of the program over which devices are opened (gantry_runtime_options_t.adopted).
 *
 * Owner: the program owns contexts and queues; a card keeps the handles. Threads: init-only. */
#ifndef GANTRY_DEVICE_ADOPTED_H
#define GANTRY_DEVICE_ADOPTED_H

#include <gantry/interop.h>

#include "device/device_table.h"

/* Finds the card of each context and notes it there. The table is made and not frozen. */
gantry_status_t gantry__adopted_find(gantry__device_table_t *table,
                                     const gantry_adopted_context_t *const *contexts, size_t count);
/* Whether every card of a context of the program is visible; InvalidArgument names the one that is
 * not. */
gantry_status_t gantry__adopted_check_visible(const gantry__device_table_t *table);

#endif
