/* SPDX-License-Identifier: Apache-2.0 */
/* gantry run: how busy a card is, and how much of its memory is free, as far as that is known
 * without opening it. */
#include "run/run.h"

void gantry_run_read_figures(gantry_runtime_t *runtime, gantry_run_card_t *card) {
    gantry_device_telemetry_t now = {.struct_size = sizeof now};
    card->total_bytes = card->free_bytes = card->details.total_bytes;
    if (gantry_get_device_telemetry(runtime, card->device, &now) != GANTRY_OK) now.known = 0;
    card->is_memory_known = now.known & GANTRY_TELEMETRY_MEMORY;
    card->is_use_known = now.known & GANTRY_TELEMETRY_UTILIZATION;
    card->is_processor = now.known & GANTRY_TELEMETRY_LOAD;
    card->busy_percent = now.utilization_percent;
    if (!card->is_memory_known) return;
    card->total_bytes = now.total_bytes;
    card->free_bytes = now.free_bytes;
    /* a processor's figures are the machine's, of which its driver takes a part */
    if (card->is_processor && card->free_bytes > card->details.total_bytes)
        card->free_bytes = card->details.total_bytes;
}
