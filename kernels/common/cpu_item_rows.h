/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a family of items for one choice of types. This file has no guard, because
 * each_type.h includes it once for each type, with GANTRY_T defined. The family must define
 * GANTRY_ITEM_TEXT_FILE and GANTRY_ITEM_LIST before, and GANTRY_I where its text has an index type.
 * Owner: constant data. Threads: thread-safe. */
#include GANTRY_ITEM_TEXT_FILE

static const gantry__k_item_fn GANTRY_ITEM_FUNCTIONS(GANTRY_T, GANTRY_I)[] = {
    GANTRY_ITEM_LIST(GANTRY_ITEM_FUNCTION)};
