/* SPDX-License-Identifier: Apache-2.0 */
/* The operation of the reduction tree's nodes (GANTRY_REDUCE_OP): the host chooses it, and builds
 * reduce.cl and reduce_line.cl for it. */
#ifndef GANTRY_REDUCE_TREE_CL
#define GANTRY_REDUCE_TREE_CL

#define GANTRY_TREE_SUM 0
#define GANTRY_TREE_MAX 1
#define GANTRY_TREE_MIN 2
#define GANTRY_TREE_WIDE_SUM 3 /* sum of integers in 64 bits */
#define GANTRY_TREE_PRODUCT 4
#define GANTRY_TREE_SQUARES 5 /* the sum of squares */
#define GANTRY_TREE_KINDS 6

/* What the last level does to the results. */
#define GANTRY_FINISH_NONE 0
#define GANTRY_FINISH_QUOTIENT 1
#define GANTRY_FINISH_ROOT 2

#endif
