/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/attention/rotary.cl. Owner: constant data. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_ROTARY_ITEMS_H
#define GANTRY_KERNELS_ROTARY_ITEMS_H

#define GANTRY_ROTARY_ITEMS(ITEM) ITEM(rotary)

#endif
