/* The functions of a family of items for one choice of types. No guard: included by cpu_item_family.h, or by a family's
 * file, with GANTRY_ITEM_TEXT_FILE, GANTRY_ITEM_LIST and GANTRY_T_ID, GANTRY_S_ID, GANTRY_I_ID defined (0: the text has
 * no such type); it takes the three back. GANTRY_ITEM_ROW(t, s, i) is the row for the family's table. */
#include GANTRY_ITEM_TEXT_FILE

static const gantry_k_item_fn GANTRY_ITEM_FUNCTIONS(GANTRY_T_ID, GANTRY_S_ID,
                                                    GANTRY_I_ID)[] = {GANTRY_ITEM_LIST(GANTRY_ITEM_FUNCTION)};

#undef GANTRY_T_ID
#undef GANTRY_S_ID
#undef GANTRY_I_ID
