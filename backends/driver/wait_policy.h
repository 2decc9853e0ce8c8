/* SPDX-License-Identifier: Apache-2.0 */
/* How threads wait for a device: the numbers of gantry_wait_policy_t, which a backend does not
 * include. Owner: constant data. Threads: thread-safe. */
#ifndef GANTRY_DRIVER_WAIT_POLICY_H
#define GANTRY_DRIVER_WAIT_POLICY_H

enum {
    GANTRY__WAIT_AUTO = 1,    /* waits as the driver does */
    GANTRY__WAIT_SPIN = 2,    /* polls without a pause */
    GANTRY__WAIT_YIELD = 3,   /* polls, and offers the core to other threads */
    GANTRY__WAIT_BLOCK = 4,   /* sleeps */
    GANTRY__WAIT_ADAPTIVE = 5 /* polls for a short time, then sleeps */
};

#endif
