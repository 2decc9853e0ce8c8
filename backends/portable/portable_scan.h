/* The items of kernels/scan.cl. */
#ifndef GANTRY_PORTABLE_SCAN_H
#define GANTRY_PORTABLE_SCAN_H

#define GANTRY_SCAN_ITEMS(ITEM) ITEM(scan_totals) ITEM(scan_rows)

#endif
