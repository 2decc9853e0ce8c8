/* SPDX-License-Identifier: Apache-2.0 */
/* Includes the text GANTRY_EACH_TEXT once for every type of the set GANTRY_EACH_TYPE
 * (kernel_types.h), with GANTRY_T defined as the type's short name; then undefines both. The caller
 * must define both before each include, so this file has no guard. Threads: thread-safe, because it
 * keeps nothing. */
/* For example:
 *
 *     #define GANTRY_EACH_TYPE GANTRY_FLOATING
 *     #define GANTRY_EACH_TEXT "kernels/elementwise/elementwise_cpu_loops.h"
 *     #include "kernels/common/each_type.h"
 *
 * A macro cannot hold an #include, so each_type.inc, which the build makes from ops/types.def, has
 * lines for each type. The set decides which of them count: for f64, GANTRY_FLOATING(HAS) becomes
 * +GANTRY_SAME_f64_f32 +GANTRY_SAME_f64_f64..., of which #if knows the one that is 1 (types.cl). */

#include "kernels/common/each_type.inc"

#undef GANTRY_EACH_TYPE
#undef GANTRY_EACH_TEXT
