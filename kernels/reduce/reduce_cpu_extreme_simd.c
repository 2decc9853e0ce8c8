/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of Max and Min over the tree of kernels/reduce/reduce.cl. A NaN wins over all that
 * follows; of zeros of two signs the earlier one wins. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/reduce/reduce_cpu.h"
#include "kernels/reduce/reduce_cpu_finish.h"

/* These are written in the form that becomes vector code. */
#define MAX(a, b) ((b) != (b) ? (b) : ((b) > (a) ? (b) : (a)))
#define MIN(a, b) ((b) != (b) ? (b) : ((b) < (a) ? (b) : (a)))
#define MAX_INT(a, b) ((a) > (b) ? (a) : (b))
#define MIN_INT(a, b) ((a) < (b) ? (a) : (b))
#define UINT8_MIN 0
#define UINT16_MIN 0
#define UINT32_MIN 0
#define UINT64_MIN 0

typedef void (*make_loops_fn)(gantry__cpu_reduce_loops_t *loops);

#define EXTREME_NAME(x) x##_max
#define EXTREME_OP(a, b) MAX(a, b)
#define EXTREME_INT_OP(a, b) MAX_INT(a, b)
#define EXTREME_FLOAT -INFINITY
#define EXTREME_INT(TYPE) TYPE##_MIN
#include "kernels/reduce/reduce_cpu_extreme.h"

#define EXTREME_NAME(x) x##_min
#define EXTREME_OP(a, b) MIN(a, b)
#define EXTREME_INT_OP(a, b) MIN_INT(a, b)
#define EXTREME_FLOAT INFINITY
#define EXTREME_INT(TYPE) TYPE##_MAX
#include "kernels/reduce/reduce_cpu_extreme.h"

bool GANTRY_CPU_NAME(reduce_find_extreme)(int32_t tree, int32_t dtype,
                                          gantry__cpu_reduce_loops_t *out_loops) {
    const make_loops_fn make = tree == GANTRY_TREE_MAX ? find_max(dtype) : find_min(dtype);
    if (make) {
        make(out_loops);
    }
    return make != NULL;
}
