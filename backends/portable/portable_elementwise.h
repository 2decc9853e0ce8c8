/* What the files of the portable elementwise pack share. Constant data; thread-safe. */
#ifndef GANTRY_PORTABLE_ELEMENTWISE_H
#define GANTRY_PORTABLE_ELEMENTWISE_H

#include "portable/portable_work.h"

int32_t gantry_pack_query_elementwise(uint32_t max_abi, const gantry_kernel_pack_t **out_pack);

/* Runs the op that source holds over the plan's operands x and y (of one type) and the call's output. */
int32_t gantry__portable_broadcast(gantry_op_call_t *call, const gantry_program_source_t *source,
                                   const gantry_k_plan_t *plan, int can_fail);
/* The program of Add, for BiasAdd. */
extern const gantry_program_source_t gantry__portable_add_source;

/* Kernels of ops that have no line in elementwise.def. */
extern const gantry_kernel_def_t gantry__portable_cast_kernel;
extern const gantry_kernel_def_t gantry__portable_select_kernel;
extern const gantry_kernel_def_t gantry__portable_fill_kernel;
extern const gantry_kernel_def_t gantry__portable_zeros_like_kernel;
extern const gantry_kernel_def_t gantry__portable_ones_like_kernel;
extern const gantry_kernel_def_t gantry__portable_range_kernel;
extern const gantry_kernel_def_t gantry__portable_add_n_kernel;
extern const gantry_kernel_def_t gantry__portable_bias_add_kernel;

#endif
