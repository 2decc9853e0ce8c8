/* SPDX-License-Identifier: Apache-2.0 */
/* The program of _FusedMatMul or _FusedConvolveImages on the CPU. It runs in place over each part
 * of C as soon as that part is finished, while it lies in a cache. Elements have the bits of the
 * ops one by one, since the program runs by the loops of these ops (fused_cpu.h).
 *
 * Owner: the entry point. Threads: several threads run one epilogue at once. */
#ifndef GANTRY_KERNELS_MATMUL_CPU_EPILOGUE_H
#define GANTRY_KERNELS_MATMUL_CPU_EPILOGUE_H

#include "kernels/elementwise/fused_cpu.h"

/* An instruction whose result takes the place of its operand. */
typedef struct gantry__cpu_link_t {
    gantry__cpu_loop_fn loop;
    const void *operand; /* the other one; NULL: it has one */
    bool is_scalar;      /* the other operand has one element */
    bool is_vector;      /* ... the elements of a row */
    bool is_second;      /* the elements so far are the second operand */
} gantry__cpu_link_t;

enum { GANTRY__CPU_CHAIN = 4 };

typedef struct gantry__cpu_epilogue_t {
    gantry_op_call_t call; /* _FusedElementwise over C and the further inputs */
    const gantry_arg_t *inputs[GANTRY_K_FUSED_MOST_INPUTS];
    const gantry_attr_t *attrs[2];
    gantry_attr_t outputs;
    int64_t last; /* the instruction that makes the result */
    gantry__k_fused_t program;
    uint32_t chain_count; /* 0: the job computes it */
    gantry__cpu_link_t chain[GANTRY__CPU_CHAIN];
    gantry__cpu_fused_job_t job;
} gantry__cpu_epilogue_t;

/* call: of such an op, which outlives the epilogue. */
void gantry__cpu_epilogue_init(gantry__cpu_epilogue_t *epilogue, const gantry_op_call_t *call);
/* Runs the program over rows x columns of C, on the calling thread. */
void gantry__cpu_epilogue_run(const gantry__cpu_epilogue_t *epilogue, int64_t row, int64_t rows,
                              int64_t column, int64_t columns);

#endif
