/* SPDX-License-Identifier: Apache-2.0 */
/* How threads wait for a device: the numbers of gantry_wait_policy_t, which a backend does not
 * include. Constant data. */
#ifndef GANTRY_DRIVER_WAIT_POLICY_H
#define GANTRY_DRIVER_WAIT_POLICY_H

enum {
    GANTRY__WAIT_AUTO = 1,    /* as the driver does */
    GANTRY__WAIT_SPIN = 2,    /* asks without a pause */
    GANTRY__WAIT_YIELD = 3,   /* asks, and offers the core to other threads */
    GANTRY__WAIT_BLOCK = 4,   /* sleeps */
    GANTRY__WAIT_ADAPTIVE = 5 /* asks for a short time, then sleeps */
};

#endif
