/* SPDX-License-Identifier: Apache-2.0 */
/* Another LLVM in the process, to which a driver with an LLVM of its own would be bound.
 *
 * A driver's library looks for every symbol in the process first and in its own libraries last.
 * Where a program exports an LLVM (TensorFlow's libtensorflow_framework.so does, without versions
 * of symbols), libclang's initialisers call that one's functions on their own objects, and the
 * process dies while the driver is opened. RTLD_DEEPBIND reverses the order. It must not be used in
 * every process:
 *   - a library that wraps the C library's functions (LD_PRELOAD) does not see the calls of a
 *     driver that is opened so. Hence the flag is only used where there is another LLVM.
 *   - malloc and free of the driver are then the C library's own, while the C library's strdup and
 *     the like call the process's. Where those differ (jemalloc, tcmalloc, sanitizers, which refuse
 *     the flag outright) PoCL gives memory of the one to the other and aborts. There the driver can
 *     be opened in neither way. Where they are the same, memory may cross in both directions;
 *     OpenCL's interface passes none across.
 * A libLLVM of a distribution does no harm: its symbols have versions, and only its own users are
 * bound to them.
 *
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_FOREIGN_LLVM_H
#define GANTRY_OPENCL_FOREIGN_LLVM_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if a driver may be opened: with *out_flag of gantry__os_library_open if there is
 * another LLVM, and with 0 without one. Returns false with the reason where a driver that has an
 * LLVM must not be opened. */
bool gantry__foreign_llvm_evade(unsigned *out_flag, char *reason, size_t reason_bytes);

#endif
