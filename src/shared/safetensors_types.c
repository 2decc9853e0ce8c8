/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/safetensors_types.h"

#include <string.h>

#include "shared/safetensors.h"

#include "ops/type_rows.h"

/* The types must be in the format's order, which the order of the tensors follows. ops/types.def
 * has it. */
#define TYPE(short) GANTRY_ID_##short,
static const int32_t types[] = {GANTRY_ELEMENT_TYPES(TYPE)};

enum { TYPE_COUNT = sizeof types / sizeof types[0] };

int gantry__safetensors_rank(gantry_dtype_t dtype) {
    for (int i = 0; i < TYPE_COUNT; ++i) {
        if (types[i] == (int32_t)dtype && gantry__type_safetensors(types[i])) return i;
    }
    return -1;
}

const char *gantry__safetensors_type_name(gantry_dtype_t dtype) {
    return gantry__type_safetensors((int32_t)dtype);
}

gantry_dtype_t gantry__safetensors_type(const char *name) {
    for (int i = 0; i < TYPE_COUNT; ++i) {
        const char *known = gantry__type_safetensors(types[i]);
        if (known && known[0] == name[0] && strcmp(known, name) == 0)
            return (gantry_dtype_t)types[i];
    }
    return GANTRY_DTYPE_NONE;
}

gantry_status_t gantry__safetensors_check_machine(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    if (first == 1) return GANTRY_OK;
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "a checkpoint's numbers are little-endian; this machine is big-endian");
}
