/* SPDX-License-Identifier: Apache-2.0 */
/* How a test steers the stand-in for NVIDIA's driver and looks into it. The stand-in is libraries
 * that look like libcuda, libnvrtc, libcublasLt, libnvidia-ml, libcudnn and libnccl; they share
 * what standin_libcuda.so holds. Kernels really run, on PoCL.
 *
 * Reached by dlsym(<handle of standin_libcuda.so>, "stand_in_control"). Owner: the library.
 * Threads: thread-safe; set and reset change what cuInit reads, so they belong before it.
 *
 * The same settings come from GANTRY_STAND_IN_CUDA when the library is first used, as
 * "key=value;key=value", or with | in place of ; (in CMake, ; ends a value). Lists are separated
 * by commas, their last value counts for the devices behind:
 *   devices=2                    0: cuInit finds none
 *   memory=256M                  of each card: K, M, G (default 1G)
 *   other=64M                    taken by other processes (default 0)
 *   context=8M                   what a context costs (default 8M)
 *   library=4M                   what a handle of cuBLASLt takes at its first product (default 0)
 *   driver=12040                 what cuDriverGetVersion says (default 12090)
 *   nvrtc=12090                  version of NVRTC; it knows no newer architectures (default 12090)
 *   cublas=120900                version of cuBLASLt, as it counts (default)
 *   blas_fast=3                  the choice of cuBLASLt that is faster than others (default none)
 *   cudnn=91900, nccl=22809      versions of cuDNN and NCCL, as these count (defaults)
 *   pci=0000:65:00.0,...         addresses
 *   uuid=GPU-...,...             identities
 *   cc=9.0,...                   compute capability
 *   mig=1,...                    a part of a card: NVML has its UUID as MIG-..., and at its address
 *                                the card, with twice the memory (default 0)
 *   busy=1,...                   another process has the card to itself: its context is refused
 *                                with 46; 2: the card is closed to all
 *   shared=/a/file               the cards' memory is shared with the other processes that name the
 *                                same file: what they hold is not free
 *   opencl_obeys=0               NVIDIA's OpenCL (opencl/nvidia_layer.c) shows all cards whatever
 *                                CUDA_VISIBLE_DEVICES says (default 1)
 *   peer=0                       no card reaches another's memory (default 1: those of one setting
 *                                do)
 *   lost_after=100               the 101st call with a current context loses its card: 719 to the
 *                                end of the process
 *   fail=cuMemAlloc_v2:3:2       the third call of that function fails with code 2, in the
 *                                function's own codes; :* for every call. A code that no context
 *                                survives (700, 719, 214...) loses the card too. Several:
 *                                "fail=...;fail=..."
 *   report=1                     what a real driver would not have survived is also written to
 *                                stderr, and what still lives at the end
 * CUDA_VISIBLE_DEVICES hides and orders cards as the driver does. */
#ifndef GANTRY_TESTS_STAND_IN_CONTROL_H
#define GANTRY_TESTS_STAND_IN_CONTROL_H

#include <stdint.h>

enum {
    STAND_IN_CONTEXTS, /* primary ones count once however often they are retained */
    STAND_IN_STREAMS,
    STAND_IN_EVENTS,
    STAND_IN_MEMORY,
    STAND_IN_HOST_MEMORY,
    STAND_IN_MODULES,
    STAND_IN_PROGRAMS,   /* of NVRTC */
    STAND_IN_BLAS,       /* handles of cublasLt */
    STAND_IN_BLAS_PARTS, /* descriptions, layouts, preferences of cublasLt */
    STAND_IN_MONITORS,   /* nvmlInit_v2 without nvmlShutdown */
    STAND_IN_GRAPHS,     /* captured ones and executable ones */
    STAND_IN_KINDS,
    STAND_IN_FUNCTIONS = STAND_IN_KINDS /* end with their module; not counted */
};

/* The code that this call fails with; 0: it goes on. Any thread. */
typedef int32_t (*stand_in_watch_fn)(void *self, const char *function);

typedef struct stand_in_control_t {
    uint32_t struct_size;
    int (*set)(const char *
                   /* as in the environment, on top of what is set; 0, or -1 for a text that is not
             * understood */
                   settings);
    /* faults, losses, counts of calls and the watcher forgotten; objects stay */
    void (*reset)(void);
    void (*lose)(
        int device,
        /* a sticky error from now on; the device counts before CUDA_VISIBLE_DEVICES; -1: every
         * one */
        int code);
    void (*watch)(stand_in_watch_fn watcher, void *self); /* asked before each call; NULL: nobody */
    /* Made so far; NULL: of every function. Also "waits that block", "waits that poll", for events,
     * and "contexts that block". */
    uint64_t (*calls)(const char *function);
    long (*live)(int kind); /* objects of STAND_IN_... that live */
    /* objects that ended only because their context did */
    long (*abandoned)(int kind);
    uint64_t (*used_bytes)(int device); /* of device memory, contexts included */
    /* What no real driver would have survived: a pointer that nobody allocated, bytes written
     * outside an allocation. How often, and the last one in words (up to text_bytes). */
    uint64_t (*complaints)(char *out_text, uint32_t text_bytes);
    /* 1: kernels launched from now on begin only after a call with 0 */
    void (*hold)(int is_held);
} stand_in_control_t;

typedef const stand_in_control_t *(*stand_in_control_fn)(void);
typedef long (*stand_in_live_objects_fn)(int kind); /* "stand_in_live_objects": control()->live */

#endif
