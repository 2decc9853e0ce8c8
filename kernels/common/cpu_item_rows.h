/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a family of items for one choice of types. No guard: each_type.h includes it
 * with GANTRY_T defined, for a family that defines GANTRY_ITEM_TEXT_FILE and GANTRY_ITEM_LIST, and
 * GANTRY_I where its text has an index type. */
#include GANTRY_ITEM_TEXT_FILE

static const gantry__k_item_fn GANTRY_ITEM_FUNCTIONS(GANTRY_T, GANTRY_I)[] = {
    GANTRY_ITEM_LIST(GANTRY_ITEM_FUNCTION)};
