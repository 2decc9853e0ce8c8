/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the place of an op whose function runs op by op, for the text of its error. */
#include <stdio.h>
#include <string.h>

#include "device/fault.h"
#include "device/logical_device.h"
#include "op/operands_text.h"
#include "run/eager_state.h"

static gantry__operands_text_t eager_operands(const gantry__eager_t *eager) {
    gantry__operands_text_t operands = {.text = ""};
    for (uint32_t i = 0; i < eager->input_count; ++i)
        gantry__operands_add(&operands, eager->inputs[i]->dtype, &eager->inputs[i]->shape);
    return operands;
}

void gantry__eager_print_place(const gantry__eager_t *eager, char *out) {
    const gantry__fault_place_t *place = eager->scope->place;
    const char *part_of = eager->call.part_of, *origin = eager->scope->origin;
    place->print(place, out);
    const size_t used = strlen(out);
    if (!place->names_op)
        (void)snprintf(out + used, GANTRY__FAULT_PLACE_BYTES - used,
                       "%s%s%s%sop %s%s on %s: ", origin ? origin : "", origin ? ": " : "",
                       part_of ? part_of : "", part_of ? ": " : "", eager->op->name,
                       eager_operands(eager).text, eager->device->name);
}

gantry_status_t gantry__eager_fail_in_place(const gantry__eager_t *eager, gantry_status_t status) {
    const gantry__fault_place_t *place = eager->scope->place;
    char earlier[GANTRY__FAULT_PLACE_BYTES];
    if (!place || place->names_op) return status;
    place->print(place, earlier);
    /* bad data of an earlier op of the function, which this one has read */
    if (strncmp(gantry__message(), earlier, strlen(earlier)) == 0) return status;
    return gantry__fail_prefix(status, "op %s%s on %s: ", eager->op->name,
                               eager_operands(eager).text, eager->device->name);
}
