/* The index ops of the CPU's move family: Gather and OneHot. Constant data; thread-safe. */
#ifndef GANTRY_CPU_GATHER_H
#define GANTRY_CPU_GATHER_H

#include <gantry/backend_abi.h>

extern const gantry_kernel_def_t gantry__cpu_gather_kernel;
extern const gantry_kernel_def_t gantry__cpu_one_hot_kernel;

#endif
