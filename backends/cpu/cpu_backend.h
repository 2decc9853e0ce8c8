/* The CPU backend's own types: host memory presented through the plug-in interface.
 *
 * The backend is part of libgantry; the core finds it by gantry_backend_query_cpu. Work is done when the submitting slot returns
 * (GANTRY_DEVICE_SYNCHRONOUS), a region's number is a host address. Not here: kernels (cpu_kernels.h), threads (cpu_pool.h).
 * Owner: the core owns instances, devices, streams and events. Threads: as backend_abi.h says slot by slot. */
#ifndef GANTRY_CPU_BACKEND_H
#define GANTRY_CPU_BACKEND_H

#include <gantry/backend_abi.h>
#include <stdint.h>

#include "cpu/cpu_pool.h"
#include "cpu/cpu_simd.h"

struct gantry_backend_instance_t {
    const gantry_host_t *host;
    gantry__cpu_pool_t *pool;
    int simd_level; /* GANTRY_CPU_BASE... */
    uint32_t cores; /* the process may use */
    char hardware_name[128];
    char vendor[64];
    char driver_version[16];
    char libraries[256];
};

struct gantry_backend_device_t {
    const gantry_host_t *host;
    gantry__cpu_pool_t *pool;
    int simd_level;
};

/* 0 base, 1 AVX2 with FMA, 2 AVX-512 (F, BW, DQ, VL). */
static inline int gantry__cpu_simd_level(const gantry_backend_device_t *device)
{
    return device->simd_level;
}

/* The level this machine has, lowered by option GANTRY_CPU_SIMD (base, avx2, avx512; option NULL: not lowered). */
int gantry__cpu_simd_detect(const char *option);
const char *gantry__cpu_simd_name(int level);

extern const gantry_memory_ops_t gantry__cpu_memory_ops;
extern const gantry_stream_ops_t gantry__cpu_stream_ops;
extern const gantry_event_ops_t gantry__cpu_event_ops;
extern const gantry_transfer_ops_t gantry__cpu_transfer_ops;

/* Bytes of memory the process can still take: MemAvailable and the cgroup's head-room, whichever is smaller; total likewise. 0: unknown. */
void gantry__cpu_memory_figures(uint64_t *out_free_bytes, uint64_t *out_total_bytes);
/* Cores by affinity and by the cgroup's CPU limit, at least 1. */
uint32_t gantry__cpu_usable_cores(void);

/* A failure with its text; returns code. */
int32_t gantry__cpu_fail(const gantry_host_t *host, int32_t code, int64_t native_code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

int32_t gantry_backend_query_cpu(uint32_t max_abi, const gantry_backend_t **out_backend);

#endif
