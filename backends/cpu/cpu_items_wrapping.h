/* Rows of a family of items: T for all floating types, and for integers, which wrap alike, one of each size. No guard;
 * see cpu_items.h. */
#define GANTRY_T_ID 1
#define GANTRY_S_ID 0
#define GANTRY_I_ID 0
#include "cpu/cpu_item_rows.h"

#define GANTRY_T_ID 2
#define GANTRY_S_ID 0
#define GANTRY_I_ID 0
#include "cpu/cpu_item_rows.h"

#define GANTRY_T_ID 14
#define GANTRY_S_ID 0
#define GANTRY_I_ID 0
#include "cpu/cpu_item_rows.h"

#define GANTRY_T_ID 19
#define GANTRY_S_ID 0
#define GANTRY_I_ID 0
#include "cpu/cpu_item_rows.h"

#define GANTRY_T_ID 4
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
    GANTRY_ITEM_ROW(1, 0, 0) GANTRY_ITEM_ROW(2, 0, 0) GANTRY_ITEM_ROW(14, 0, 0) GANTRY_ITEM_ROW(19, 0, 0) \
    GANTRY_ITEM_ROW(4, 0, 0) GANTRY_ITEM_ROW(17, 0, 0) GANTRY_ITEM_ROW(3, 0, 0) GANTRY_ITEM_ROW(9, 0, 0)
