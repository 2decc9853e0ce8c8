/* SPDX-License-Identifier: Apache-2.0 */
/* The program of _FusedMatMul or _FusedConvolveImages on the CPU. It runs in place over each part
 * of C as soon as that part is finished, while it is in a cache. Elements have the bits of the
 * single ops, because the program runs by the loops of these ops (fused_cpu.h).
 *
 * Owner: the entry point. Threads: several threads may run one epilogue at once, over parts of C
 * that must not overlap. */
#ifndef GANTRY_KERNELS_MATMUL_CPU_EPILOGUE_H
#define GANTRY_KERNELS_MATMUL_CPU_EPILOGUE_H

#include "kernels/elementwise/fused_cpu.h"

/* An instruction whose result replaces its operand. */
typedef struct gantry__cpu_link_t {
    gantry__cpu_loop_fn loop;
    const void *operand; /* the other operand; NULL: there is only one */
    bool is_scalar;      /* the other operand has one element */
    bool is_vector;      /* ... as many as a row has */
    bool is_second;      /* the elements so far are the second operand */
} gantry__cpu_link_t;

enum { GANTRY__CPU_CHAIN = 4 };

typedef struct gantry__cpu_epilogue_t {
    gantry_op_call_t call; /* a _FusedElementwise over C and the further inputs */
    const gantry_arg_t *inputs[GANTRY_K_FUSED_MOST_INPUTS];
    const gantry_attr_t *attrs[2];
    gantry_attr_t outputs;
    int64_t last; /* the instruction that makes the result */
    gantry__k_fused_t program;
    uint32_t chain_count; /* 0: the job computes it */
    gantry__cpu_link_t chain[GANTRY__CPU_CHAIN];
    gantry__cpu_fused_job_t job;
} gantry__cpu_epilogue_t;

/* call must be of such an op, and must outlive the epilogue. */
void gantry__cpu_epilogue_init(gantry__cpu_epilogue_t *epilogue, const gantry_op_call_t *call);
/* Runs the program over rows x columns of C, on the calling thread. All of them must be
 * finished. */
void gantry__cpu_epilogue_run(const gantry__cpu_epilogue_t *epilogue, int64_t row, int64_t rows,
                              int64_t column, int64_t columns);

#endif
