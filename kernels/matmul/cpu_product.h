/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of float32 on the CPU: the libraries that may serve them, and the size classes by
 * which one is chosen. Owner: nothing, these are constants. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CPU_PRODUCT_H
#define GANTRY_KERNELS_CPU_PRODUCT_H

enum { GANTRY_CPU_BLAS_OWN = 0, GANTRY_CPU_BLAS_ONEDNN = 1, GANTRY_CPU_BLAS_OPENBLAS = 2 };

enum {
    GANTRY_CPU_PRODUCT_THIN = 0, /* fewer than 32 rows or columns of C */
    GANTRY_CPU_PRODUCT_SMALL,    /* up to 224 x 224 x 224 multiplications */
    GANTRY_CPU_PRODUCT_MIDDLE,   /* up to 896 x 896 x 896 */
    GANTRY_CPU_PRODUCT_LARGE,
    GANTRY_CPU_PRODUCT_CLASSES
};

#endif
