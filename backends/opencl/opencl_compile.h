/* SPDX-License-Identifier: Apache-2.0 */
/* One compilation inside the driver at a time, where memory or disk is scarce.
 *
 * PoCL's compiler ends the process if it lacks memory or room on the disk. So Gantry must check
 * first, and the check holds only while no other takes what it found. Under a limit of the process
 * (ulimit), or on a disk that is nearly full, a lock excludes this runtime's other compilations and
 * allocations, and a launch that may compile is waited for.
 *
 * Not here: the checks themselves (opencl_pocl.h), and other threads of the program. Owner: the
 * instance. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_COMPILE_H
#define GANTRY_OPENCL_COMPILE_H

#include "base/os/thread.h"
#include "opencl/pocl/opencl_pocl.h"

typedef struct gantry__opencl_compiler_t {
    gantry__pocl_folder_t folder; /* only where there is a PoCL */
    gantry__mutex_t lock;
    uint64_t grown_bytes; /* what compilations added to the process so far, under a limit */
} gantry__opencl_compiler_t;

/* One compilation. */
typedef struct gantry__opencl_compile_t {
    gantry__opencl_compiler_t *compiler; /* NULL: there is plenty of memory and disk */
    uint64_t before;                     /* bytes of the process before it */
} gantry__opencl_compile_t;

/* Must be called before PoCL compiles. Returns FailedPrecondition or ResourceExhausted where
 * compiling would end the process. After GANTRY_OK, gantry__opencl_compile_end must follow. */
int32_t gantry__opencl_compile_begin(const gantry_host_t *host, gantry__opencl_compiler_t *compiler,
                                     gantry__opencl_compile_t *out_compile);
/* The same before a launch, which compiles only for sizes of groups that PoCL has not seen: nothing
 * is checked where there is plenty of memory and disk. What is compiled is complete only when the
 * launch is. */
int32_t gantry__opencl_compile_begin_launch(const gantry_host_t *host,
                                            gantry__opencl_compiler_t *compiler, const char *kernel,
                                            const char *program,
                                            gantry__opencl_compile_t *out_compile);
void gantry__opencl_compile_end(gantry__opencl_compile_t *compile);

/* Must be called around an allocation of the driver's: waits for a compilation under a limit. If it
 * returns true, the caller must unlock. */
bool gantry__opencl_compile_keep_out(gantry__opencl_compiler_t *compiler);
void gantry__opencl_compile_let_in(gantry__opencl_compiler_t *compiler, bool is_kept_out);

#endif
