/* SPDX-License-Identifier: Apache-2.0 */
/* Finds an op by its name, and its version.
 *
 * In this order: the exact name (by bisection: ids follow the alphabet), an alias, the name without
 * its version suffix. TensorFlow's second version of MatrixDiag and similar ops aligned diagonals
 * in another way than the third, so it is no name here. If the second version is listed as well
 * (StatelessRandomUniformV2), no suffix is removed: V3 would be another op. */
#include "op/op_def.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *alias;
    gantry__op_id_t id;
} op_aliases[] = {
    {"RealDiv", GANTRY__OP_ID_Div},
    {"Inv", GANTRY__OP_ID_Reciprocal},
    {"InvGrad", GANTRY__OP_ID_ReciprocalGrad},
    {"Mod", GANTRY__OP_ID_TruncateMod},
    {"Stack", GANTRY__OP_ID_Pack},
    {"Unstack", GANTRY__OP_ID_Unpack},
    {"_EagerConst", GANTRY__OP_ID_Const},
    {"SoftmaxCrossEntropy", GANTRY__OP_ID_SoftmaxCrossEntropyWithLogits},
    {"SparseSoftmaxCrossEntropy", GANTRY__OP_ID_SparseSoftmaxCrossEntropyWithLogits},
};

/* Older versions with another meaning: of these ops only the newest version exists here. */
static const char *const other_meanings[] = {"MatrixDiagV2", "MatrixDiagPartV2", "MatrixSetDiagV2"};

/* The position of the name with this many characters, or GANTRY__OP_COUNT. */
static uint32_t find_exact(const char *name, size_t length) {
    uint32_t low = 0, high = GANTRY__OP_COUNT;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const char *listed = gantry__op_get((gantry__op_id_t)middle)->name;
        int order = strncmp(listed, name, length);
        /* the listed name is longer */
        if (order == 0 && listed[length] != '\0') order = 1;
        if (order == 0) return middle;
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return GANTRY__OP_COUNT;
}

/* Whether the op takes a suffix; false for an op with a version in its name, or whose second
 * version is listed. */
static bool takes_suffix(uint32_t place) {
    const char *name = gantry__op_get((gantry__op_id_t)place)->name;
    size_t length = strlen(name);
    if (length > 2 && name[length - 2] == 'V' && name[length - 1] >= '2' && name[length - 1] <= '9')
        return false;
    char next[64];
    int written = snprintf(next, sizeof next, "%sV2", name);
    return find_exact(next, (size_t)written) == GANTRY__OP_COUNT;
}

const gantry__op_def_t *gantry__op_find(const char *name) {
    if (!name) return NULL;
    size_t length = strlen(name);
    uint32_t place = find_exact(name, length);
    if (place < GANTRY__OP_COUNT) return gantry__op_get((gantry__op_id_t)place);
    for (size_t i = 0; i < sizeof op_aliases / sizeof op_aliases[0]; ++i) {
        if (strcmp(op_aliases[i].alias, name) == 0) return gantry__op_get(op_aliases[i].id);
    }
    for (size_t i = 0; i < sizeof other_meanings / sizeof other_meanings[0]; ++i) {
        if (strcmp(other_meanings[i], name) == 0) return NULL;
    }
    if (length < 3 || name[length - 2] != 'V' || name[length - 1] < '2' || name[length - 1] > '4')
        return NULL;
    place = find_exact(name, length - 2);
    return place < GANTRY__OP_COUNT && takes_suffix(place) ? gantry__op_get((gantry__op_id_t)place)
                                                           : NULL;
}

uint32_t gantry__op_version(const gantry__op_def_t *op) {
    switch ((gantry__op_id_t)op->id) {
#define VERSION(name, number)  \
    case GANTRY__OP_ID_##name: \
        return number;
#include "op/versions.def"
#undef VERSION
        default: return 1;
    }
}
