/* SPDX-License-Identifier: Apache-2.0 */
/* Another LLVM in the process: what a driver with an LLVM of its own would be bound to.
 *
 * A driver's library looks for every symbol in the process first and in its own libraries last.
 * Where a program exports an LLVM (TensorFlow's libtensorflow_framework.so does, without versions
 * of symbols), libclang's initialisers call that one's functions on their own objects, and the
 * process dies while the driver is opened. RTLD_DEEPBIND turns the order round. It is not for every
 * process:
 *   - whoever wraps the C library's functions (LD_PRELOAD) is not seen by a driver opened so. Hence
 *     only where another LLVM is there.
 *   - malloc and free of the driver are then the C library's own, while the C library's strdup and
 *     the like call the process's. Where those differ (jemalloc, tcmalloc, sanitizers, which refuse
 *     the flag outright) PoCL gives memory of the one to the other and aborts. There the driver can
 *     be opened in neither way. Where they are the same, memory may cross in both directions;
 *     OpenCL's interface hands none across.
 * A libLLVM of a distribution does no harm: its symbols have versions, and only its own users are
 * bound to them.
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_FOREIGN_LLVM_H
#define GANTRY_OPENCL_FOREIGN_LLVM_H

#include <stdbool.h>
#include <stddef.h>

/* 1 with what dlopen must be given beside its other flags, 0 without another LLVM; 0 with the
 * reason where a driver that has an LLVM must not be opened. */
bool gantry__foreign_llvm_evade(int *out_flag, char *reason, size_t reason_bytes);

#endif
