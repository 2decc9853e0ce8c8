/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/scan/scan.cl, in the order that all tables must have. Owner: nothing, this
 * is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_SCAN_ITEMS_H
#define GANTRY_KERNELS_SCAN_ITEMS_H

#define GANTRY_SCAN_ITEMS(ITEM) \
    ITEM(scan_totals)           \
    ITEM(scan_rows)             \
    ITEM(scan_totals_line)      \
    ITEM(scan_rows_line)        \
    ITEM(scan_totals_block)     \
    ITEM(scan_rows_block)

#endif
