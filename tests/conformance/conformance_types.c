/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the element types of a run on a device that builds a program for each op and type,
 * because building all takes many minutes. */
#include <string.h>

#include "conformance.h"

/* Groups of similar types. The op's name chooses one type per group, so that all ops together cover
 * all types. */
static const gantry_dtype_t floats[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16, GANTRY_FLOAT64};
static const gantry_dtype_t integers[] = {GANTRY_INT8,   GANTRY_UINT8,  GANTRY_INT16,
                                          GANTRY_UINT16, GANTRY_UINT32, GANTRY_UINT64};

/* Whether dtype is in this group and the run skips it for this op. */
static bool is_spared(gantry_dtype_t dtype, const gantry_dtype_t *types, size_t count,
                      const char *op, bool all) {
    size_t number = 0;
    for (const char *p = op; *p; ++p) number = number * 31 + (unsigned char)*p;
    for (size_t i = 0; i < count; ++i) {
        if (types[i] == dtype) return all || i != number % count;
    }
    return false;
}

bool conformance_spares_some(const conformance_t *c) {
    const bool builds = strncmp(c->options.device, "cpu", 3) != 0 || c->options.compare != NULL;
    return builds && !c->options.all_types;
}

/* Whether the op is made for this type, so that no run leaves the type out. */
static bool is_made_for(const char *op, gantry_dtype_t dtype) {
    return dtype == GANTRY_INT8 &&
           (strcmp(op, "MatMulInteger") == 0 || strcmp(op, "ConvInteger") == 0);
}

static bool is_left_out(const char *op, gantry_dtype_t dtype, bool all) {
    if (is_made_for(op, dtype)) return false;
    return is_spared(dtype, floats, sizeof floats / sizeof floats[0], op, all) ||
           is_spared(dtype, integers, sizeof integers / sizeof integers[0], op, all);
}

bool conformance_spares_type(const conformance_t *c, const char *op, gantry_dtype_t dtype) {
    if (!conformance_spares_some(c)) return false;
    /* no program is built for this op */
    if (dtype == GANTRY_FLOAT64 && c->lacks_float64) return false;
    return is_left_out(op, dtype, c->options.few_types);
}

bool conformance_is_further_type(const conformance_t *c, const char *op, gantry_dtype_t dtype) {
    return !conformance_spares_type(c, op, dtype) && is_left_out(op, dtype, true);
}
