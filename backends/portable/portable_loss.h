/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/loss.cl. */
#ifndef GANTRY_PORTABLE_LOSS_H
#define GANTRY_PORTABLE_LOSS_H

#define GANTRY_LOSS_ITEMS(ITEM) ITEM(sparse_loss)

#endif
