/* SPDX-License-Identifier: Apache-2.0 */
#include "function/pass/layout_perm.h"

gantry__order_t gantry__order_of(const uint8_t axes[GANTRY_MAX_RANK]) {
    gantry__order_t order = 0;
    for (uint32_t k = 0; k < GANTRY_MAX_RANK; ++k) order |= (gantry__order_t)axes[k] << 4 * k;
    return order;
}

gantry__order_t gantry__order_transpose(gantry__order_t order, gantry__order_t by) {
    gantry__order_t made = 0;
    for (uint32_t k = 0; k < GANTRY_MAX_RANK; ++k)
        made |= gantry__order_at(order, gantry__order_at(by, k)) << 4 * k;
    return made;
}

gantry__order_t gantry__order_invert(gantry__order_t order) {
    gantry__order_t made = 0;
    for (uint32_t k = 0; k < GANTRY_MAX_RANK; ++k) made |= k << 4 * gantry__order_at(order, k);
    return made;
}

gantry_shape_t gantry__order_store(gantry__order_t order, const gantry_shape_t *shape) {
    gantry_shape_t stored = {.rank = shape->rank};
    for (int32_t k = 0; k < shape->rank; ++k)
        stored.dims[gantry__order_at(order, (uint32_t)k)] = shape->dims[k];
    return stored;
}

gantry_shape_t gantry__order_restore(gantry__order_t order, const gantry_shape_t *stored) {
    gantry_shape_t shape = {.rank = stored->rank};
    for (int32_t k = 0; k < stored->rank; ++k)
        shape.dims[k] = stored->dims[gantry__order_at(order, (uint32_t)k)];
    return shape;
}

/* The axes of x that are not of size 1, as they follow each other in the stored tensor. Returns how
 * many. */
static uint32_t list_stored_axes(const gantry_shape_t *shape, gantry__order_t order,
                                 uint8_t out_axes[GANTRY_MAX_RANK]) {
    const gantry__order_t axes = gantry__order_invert(order);
    uint32_t count = 0;
    for (int32_t k = 0; k < shape->rank; ++k) {
        const uint32_t axis = gantry__order_at(axes, (uint32_t)k);
        if (shape->dims[axis] != 1) out_axes[count++] = (uint8_t)axis;
    }
    return count;
}

bool gantry__order_is_view(const gantry_shape_t *shape, gantry__order_t a, gantry__order_t b) {
    uint8_t of_a[GANTRY_MAX_RANK], of_b[GANTRY_MAX_RANK];
    const uint32_t count = list_stored_axes(shape, a, of_a);
    (void)list_stored_axes(shape, b, of_b);
    for (uint32_t k = 0; k < count; ++k) {
        if (of_a[k] != of_b[k]) return false;
    }
    return true;
}

gantry__order_t gantry__order_without(gantry__order_t order, int32_t rank, uint32_t axes) {
    uint8_t made[GANTRY_MAX_RANK];
    uint32_t count = 0;
    for (uint32_t k = 0; k < (uint32_t)rank; ++k) {
        if (axes >> k & 1) continue;
        uint8_t before = 0; /* axes that stay and are stored in front of it */
        for (uint32_t i = 0; i < (uint32_t)rank; ++i)
            before = (uint8_t)(before + (!(axes >> i & 1) &&
                                         gantry__order_at(order, i) < gantry__order_at(order, k)));
        made[count++] = before;
    }
    for (; count < GANTRY_MAX_RANK; ++count) made[count] = (uint8_t)count;
    return gantry__order_of(made);
}

bool gantry__order_keeps(const gantry_shape_t *shape, gantry__order_t order, uint32_t axes) {
    uint32_t last = 0;
    for (uint32_t k = 0; k < (uint32_t)shape->rank; ++k) {
        if (!(axes >> k & 1) || shape->dims[k] == 1) continue;
        const uint32_t at = gantry__order_at(order, k) + 1;
        if (at < last) return false;
        last = at;
    }
    return true;
}

/* ---- Reshape ---- */

/* Axes of both shapes with one product of sizes, as small as can be: of `from` those up to from_end
 * since the part before, of `to` likewise. Axes of size 1 belong to the part before them. */
typedef struct reshape_part_t {
    int32_t from_end, to_end;
    uint32_t place; /* of its first axis in the stored tensor */
} reshape_part_t;

static int32_t skip_ones(const gantry_shape_t *shape, int32_t axis) {
    while (axis < shape->rank && shape->dims[axis] == 1) ++axis;
    return axis;
}

/* Returns how many parts there are; 0 if there is none, or if an element is missing. */
static uint32_t cut_reshape(const gantry_shape_t *from, const gantry_shape_t *to,
                            reshape_part_t parts[GANTRY_MAX_RANK]) {
    int32_t i = skip_ones(from, 0), k = skip_ones(to, 0);
    uint32_t count = 0;
    while (i < from->rank && k < to->rank) {
        int64_t a = from->dims[i++], b = to->dims[k++];
        while (a != b && a > 0 && b > 0) {
            if (a < b && i < from->rank) {
                a *= from->dims[i++];
            } else if (b < a && k < to->rank) {
                b *= to->dims[k++];
            } else {
                return 0;
            }
        }
        if (a <= 0 || b <= 0) return 0;
        i = skip_ones(from, i);
        k = skip_ones(to, k);
        parts[count++] = (reshape_part_t){.from_end = i, .to_end = k};
    }
    return i == from->rank && k == to->rank ? count : 0;
}

/* Whether the axes [begin, end) follow each other in the list of stored axes; *out_place is the
 * place of the first. */
static bool is_stored_together(const gantry_shape_t *shape, const uint8_t *stored, uint32_t count,
                               int32_t begin, int32_t end, uint32_t *out_place) {
    uint32_t place = 0;
    begin = skip_ones(shape, begin);
    while (stored[place] != begin) ++place;
    *out_place = place;
    for (int32_t axis = begin; axis < end; ++axis) {
        if (shape->dims[axis] == 1) continue;
        if (place == count || stored[place++] != axis) return false;
    }
    return true;
}

bool gantry__order_reshape(const gantry_shape_t *from, gantry__order_t order,
                           const gantry_shape_t *to, gantry__order_t *out_order) {
    reshape_part_t parts[GANTRY_MAX_RANK];
    uint8_t stored[GANTRY_MAX_RANK], made[GANTRY_MAX_RANK];
    const uint32_t count = cut_reshape(from, to, parts),
                   places = list_stored_axes(from, order, stored);
    *out_order = GANTRY__ORDER_SAME;
    if (order == GANTRY__ORDER_SAME) return true;
    if (count == 0) return false;
    for (uint32_t p = 0; p < count; ++p) {
        if (!is_stored_together(from, stored, places, p > 0 ? parts[p - 1].from_end : 0,
                                parts[p].from_end, &parts[p].place))
            return false;
    }
    uint8_t next = 0;
    for (; next < skip_ones(to, 0); ++next) made[next] = next;
    for (uint32_t place = 0; place < places; ++place) {
        for (uint32_t p = 0; p < count; ++p) {
            if (parts[p].place != place) continue;
            int32_t axis = p > 0 ? parts[p - 1].to_end : skip_ones(to, 0);
            for (; axis < parts[p].to_end; ++axis) made[axis] = next++;
        }
    }
    for (; next < GANTRY_MAX_RANK; ++next) made[next] = next;
    *out_order = gantry__order_of(made);
    return true;
}
