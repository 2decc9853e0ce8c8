/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend's own types: host memory presented through the plug-in interface.
 *
 * The backend is part of libgantry; the core finds it by gantry_backend_query_cpu. Work is done
 * when the submitting slot returns (GANTRY_DEVICE_SYNCHRONOUS), and a region's number is a host
 * address. Not here: kernels (cpu_kernels.h), threads (cpu_pool.h). Owner: the core owns instances,
 * devices, streams and events. Threads: as backend_abi.h says slot by slot. */
#ifndef GANTRY_CPU_BACKEND_H
#define GANTRY_CPU_BACKEND_H

#include <gantry/backend_abi.h>
#include <stdint.h>

#include "base/os/thread.h"
#include "cpu/cpu_fail.h"
#include "cpu/cpu_machine.h"
#include "cpu/cpu_pool.h"
#include "kernels/common/cpu_device.h"
#include "kernels/common/cpu_simd.h"
#include "kernels/common/kernel_types.h"
#include "kernels/matmul/cpu_blas.h"

/* A listing of libraries that a caller got. It must live as long as the instance, because other
 * threads may still read it. */
typedef struct gantry__cpu_line_t {
    struct gantry__cpu_line_t *next;
    char text[800];
} gantry__cpu_line_t;

struct gantry_backend_instance_t {
    const gantry_host_t *host;
    gantry__cpu_pool_t *pool; /* shared by all devices; made when the first one opens; under lock */
    gantry__cpu_blas_t *blas;
    int simd_level; /* GANTRY_CPU_BASE... */
    uint32_t cores; /* the cores that the process may use */
    uint64_t total_bytes;
    gantry__cpu_identity_t identity;
    char platform_version[96];
    gantry__mutex_t lock;
    gantry__cpu_use_t use;               /* of the processors; under lock */
    gantry__cpu_line_t *libraries;       /* all listings so far, the newest first; under lock */
    const gantry_kernel_def_t **kernels; /* the kernels of all families */
    uint32_t kernel_count;
};

/* The instruction set level of this machine. option is the value of GANTRY_CPU_SIMD (base, avx2 or
 * avx512), which can only lower it; NULL leaves it as it is. */
int gantry__cpu_simd_detect(const char *option);
const char *gantry__cpu_simd_name(int level);
/* Whether the processor adds products of four bytes in the loops of a level
 * (gantry__cpu_has_dots). */
bool gantry__cpu_dots_detect(int level);
/* The one instruction set of this build, if the processor lacks it; NULL if the build runs here. */
const char *gantry__cpu_simd_missing(void);

extern const gantry_memory_ops_t gantry__cpu_memory_ops;
extern const gantry_stream_ops_t gantry__cpu_stream_ops;
extern const gantry_event_ops_t gantry__cpu_event_ops;
extern const gantry_transfer_ops_t gantry__cpu_transfer_ops;
extern const gantry_telemetry_ops_t gantry__cpu_telemetry_ops;

/* Fills figures, which are 0 before, of the machine whose files are below root ("" for this one).
 * What is not known has its reason. */
void gantry__cpu_telemetry_fill(const char *root, int64_t now_ns, gantry__cpu_use_t *use,
                                gantry_device_telemetry_t *out);

int32_t gantry_backend_query_cpu(uint32_t max_abi, const gantry_backend_t **out_backend);

#endif
