/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a family of items for one choice of types. No guard: included by the headers of
 * types, or by a family's file, with GANTRY_ITEM_TEXT_FILE, GANTRY_ITEM_LIST and GANTRY_T_ID
 * defined, and GANTRY_I_ID where the text has an index type; it takes the two back.
 * GANTRY_ITEM_ROW(t, i) is the row for the family's table; i is 0 without an index type. */
#ifndef GANTRY_I_ID
#define GANTRY_I_ID 0
#endif

#include GANTRY_ITEM_TEXT_FILE

static const gantry__k_item_fn GANTRY_ITEM_FUNCTIONS(GANTRY_T_ID, GANTRY_I_ID)[] = {
    GANTRY_ITEM_LIST(GANTRY_ITEM_FUNCTION)};

#undef GANTRY_T_ID
#undef GANTRY_I_ID
