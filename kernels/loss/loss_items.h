/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/loss/loss.cl. */
#ifndef GANTRY_KERNELS_LOSS_ITEMS_H
#define GANTRY_KERNELS_LOSS_ITEMS_H

#define GANTRY_LOSS_ITEMS(ITEM) ITEM(sparse_loss)

#endif
