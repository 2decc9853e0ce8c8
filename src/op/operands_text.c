/* SPDX-License-Identifier: Apache-2.0 */
#include "op/operands_text.h"

#include <stdio.h>
#include <string.h>

void gantry__operands_add(gantry__operands_text_t *operands, gantry_dtype_t dtype,
                          const gantry_shape_t *shape) {
    static const char dots[] = "..."; /* always has room */
    char added[32 + GANTRY_MAX_RANK * 21 + 3], numbers[GANTRY_MAX_RANK * 21 + 3];
    const size_t used = strlen(operands->text), room = sizeof operands->text - used;
    if (operands->is_cut) return;
    (void)gantry_shape_format(shape, numbers, sizeof numbers);
    const int length = snprintf(added, sizeof added, "%s%s", gantry_dtype_name(dtype), numbers);
    operands->is_cut = (size_t)length + 2 * sizeof ", ..." > room;
    (void)snprintf(operands->text + used, room, "%s%s", used ? ", " : " of ",
                   operands->is_cut ? dots : added);
}
