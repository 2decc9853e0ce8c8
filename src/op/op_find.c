/* From a name to its op.
 *
 * In this order: the exact name (by bisection: op_list.def is sorted), an alias, the name without its version suffix.
 * Where the second version is listed beside the first (StatelessRandomUniformV2), no suffix is cut off: V3 would be
 * another op. */
#include "op/op_def.h"

#include <string.h>

static const char *const op_names[] = {
#define GANTRY__OP_ROW(name, token) #name,
#include "op/op_list.def"
#undef GANTRY__OP_ROW
};

static const struct {
    const char *alias;
    gantry__op_id_t id;
} op_aliases[] = {
    {"RealDiv", GANTRY__OP_ID_DIV},
    {"_EagerConst", GANTRY__OP_ID_CONST},
};

/* The place of the name with this many characters, or GANTRY__OP_COUNT. */
static uint32_t find_exact(const char *name, size_t length) {
    uint32_t low = 0, high = GANTRY__OP_COUNT;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strncmp(op_names[middle], name, length);
        if (order == 0 && op_names[middle][length] != '\0') order = 1; /* the listed name is longer */
        if (order == 0) return middle;
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return GANTRY__OP_COUNT;
}

static bool has_listed_version(uint32_t place) {
    size_t length = strlen(op_names[place]);
    return place + 1 < GANTRY__OP_COUNT && strncmp(op_names[place + 1], op_names[place], length) == 0 &&
           strcmp(op_names[place + 1] + length, "V2") == 0;
}

const gantry__op_def_t *gantry__op_find(const char *name) {
    if (!name) return NULL;
    size_t length = strlen(name);
    uint32_t place = find_exact(name, length);
    if (place < GANTRY__OP_COUNT) return gantry__op_get((gantry__op_id_t)place);
    for (size_t i = 0; i < sizeof op_aliases / sizeof op_aliases[0]; ++i) {
        if (strcmp(op_aliases[i].alias, name) == 0) return gantry__op_get(op_aliases[i].id);
    }
    if (length < 3 || name[length - 2] != 'V' || name[length - 1] < '2' || name[length - 1] > '4') return NULL;
    place = find_exact(name, length - 2);
    return place == GANTRY__OP_COUNT || has_listed_version(place) ? NULL : gantry__op_get((gantry__op_id_t)place);
}
