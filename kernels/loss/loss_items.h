/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/loss/loss.cl, in the order that every table of them must have. Owner:
 * nothing, this is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_LOSS_ITEMS_H
#define GANTRY_KERNELS_LOSS_ITEMS_H

#define GANTRY_LOSS_ITEMS(ITEM) ITEM(sparse_loss)

#endif
