/* Rows of a family of items: T for elements of 1, 2, 4 and 8 bytes, moved and not looked at. No guard; see cpu_items.h. */
#define GANTRY_T_ID 10
#define GANTRY_S_ID 0
#define GANTRY_I_ID 0
#include "cpu/cpu_item_rows.h"

#define GANTRY_T_ID 17
#define GANTRY_S_ID 0
#define GANTRY_I_ID 0
#include "cpu/cpu_item_rows.h"

#define GANTRY_T_ID 3
#define GANTRY_S_ID 0
#define GANTRY_I_ID 0
#include "cpu/cpu_item_rows.h"

#define GANTRY_T_ID 9
#define GANTRY_S_ID 0
#define GANTRY_I_ID 0
#include "cpu/cpu_item_rows.h"

#define GANTRY_ITEM_ROWS \
    GANTRY_ITEM_ROW(10, 0, 0) GANTRY_ITEM_ROW(17, 0, 0) GANTRY_ITEM_ROW(3, 0, 0) GANTRY_ITEM_ROW(9, 0, 0)
