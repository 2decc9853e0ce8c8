/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of Bitcast. Init-only. */
#ifndef GANTRY_TENSORFLOW_BITCAST_H
#define GANTRY_TENSORFLOW_BITCAST_H

void bitcast_register(void);

#endif
