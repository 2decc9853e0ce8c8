/* SPDX-License-Identifier: Apache-2.0 */
/* How a test controls and inspects the stand-in for NVIDIA's driver. The stand-in is a set of
 * libraries that look like libcuda, libnvrtc, libcublasLt, libnvidia-ml, libcudnn and libnccl; they
 * share the state of standin_libcuda.so. Kernels really run, on PoCL.
 *
 * Reached by dlsym(<handle of standin_libcuda.so>, "stand_in_control"). Owner: the library.
 * Threads: thread-safe; set and reset change what cuInit reads, so they belong before it.
 *
 * The same settings come from GANTRY_STAND_IN_CUDA when the library is first used, as
 * "key=value;key=value", or with | in place of ; (in CMake, ; ends a value). Commas separate lists;
 * a list's last value also applies to all further devices:
 *   devices=2                    0: cuInit finds none
 *   memory=256M                  of each card: K, M, G (default 1G)
 *   other=64M                    used by other processes (default 0)
 *   context=8M                   cost of a context (default 8M)
 *   library=4M                   cost of cuBLASLt's or cuDNN's handle at its first work (default 0)
 *   driver=12040                 result of cuDriverGetVersion (default 12090)
 *   nvrtc=12090                  version of NVRTC; it knows no newer architectures (default 12090)
 *   cublas=120900                version of cuBLASLt, in its own format (default)
 *   cudnn_fast=3                 the engine of cuDNN that is faster than others (default none)
 *   blas_fast=3                  the choice of cuBLASLt that is faster than others (default none)
 *   cudnn=91900, nccl=22809      versions of cuDNN and NCCL, in their own format (defaults)
 *   cudnn_cuda=12090             the CUDA for which cuDNN was built (default)
 *   cudnn_workspace=64K          the workspace of the engine that wants one (default)
 *   launch_us=200                cuLaunchKernel takes so long, at least (default 0)
 *   pci=0000:65:00.0,...         addresses
 *   uuid=GPU-...,...             identities
 *   cc=9.0,...                   compute capability
 *   mig=1,...                    a part of a card: NVML lists its UUID as MIG-..., and
 *                              the whole card at its address, with twice the memory (default 0)
 *   busy=1,...                   another process uses the card exclusively, so making a context
 *                              fails with 46; 2: no process may use the card
 *   shared=/a/file               the processes that name the same file share the cards' memory
 *   opencl_obeys=0               NVIDIA's OpenCL (opencl/nvidia_layer.c) shows all cards whatever
 *                                CUDA_VISIBLE_DEVICES says (default 1)
 *   peer=0                       no card reaches another's memory (default 1: cards with
 *                              the same number do)
 *   lost_after=100               the 101st call with a current context loses its card: later
 *                              calls return 719
 *   fail=cuMemAlloc_v2:3:2       the third call of that function fails with code 2, in the
 *                                function's own codes; :* for every call. A code that no context
 *                                survives (700, 719, 214...) loses the card too, and -1
 *                                ends the process by exit(0). Several:
 *                                "fail=...;fail=..."
 *   report=1                     errors that no real driver survives, and objects that live at
 *                              the end, are also written to stderr
 * CUDA_VISIBLE_DEVICES hides and orders cards as with the real driver. */
#ifndef GANTRY_TESTS_STAND_IN_CONTROL_H
#define GANTRY_TESTS_STAND_IN_CONTROL_H

#include <stdint.h>

enum {
    STAND_IN_CONTEXTS, /* a primary context counts once even when retained several times */
    STAND_IN_STREAMS,
    STAND_IN_EVENTS,
    STAND_IN_MEMORY,
    STAND_IN_HOST_MEMORY,
    STAND_IN_MODULES,
    STAND_IN_PROGRAMS,      /* of NVRTC */
    STAND_IN_BLAS,          /* handles of cublasLt */
    STAND_IN_BLAS_PARTS,    /* descriptions, layouts, preferences of cublasLt */
    STAND_IN_MONITORS,      /* nvmlInit_v2 without nvmlShutdown */
    STAND_IN_GRAPHS,        /* captured and executable graphs */
    STAND_IN_COMMUNICATORS, /* of NCCL */
    STAND_IN_DNN,           /* handles of cuDNN */
    STAND_IN_DNN_PARTS,     /* descriptors of cuDNN */
    STAND_IN_KINDS,
    STAND_IN_FUNCTIONS = STAND_IN_KINDS /* end with their module; not counted */
};

/* The code that this call fails with; 0: the call continues. Any thread. */
typedef int32_t (*stand_in_watch_fn)(void *self, const char *function);

typedef struct stand_in_control_t {
    uint32_t struct_size;
    int (*set)(const char *
                   /* text as in the environment, added to the current settings; 0, or -1 for an
                    * invalid text */
                   settings);
    /* clears faults, losses, counts of calls and the watcher; objects stay */
    void (*reset)(void);
    void (*lose)(
        int device,
        /* a sticky error from now on; the device counts before CUDA_VISIBLE_DEVICES; -1: every
         * one */
        int code);
    /* asked before each call; NULL: no watcher */
    void (*watch)(stand_in_watch_fn watcher, void *self);
    /* Calls so far; NULL: of every function. Also "waits that block", "waits that poll", for
     * events, and "contexts that block". */
    uint64_t (*calls)(const char *function);
    long (*live)(int kind); /* objects of STAND_IN_... that live */
    /* objects that ended only because their context did */
    long (*abandoned)(int kind);
    uint64_t (*used_bytes)(int device); /* of device memory, contexts included */
    /* Errors that no real driver survives: a pointer outside any allocation, bytes written outside
     * an allocation. Returns their number, and writes the last one as text (up to text_bytes). */
    uint64_t (*complaints)(char *out_text, uint32_t text_bytes);
    /* 1: kernels launched from now on start only after a call with 0 */
    void (*hold)(int is_held);
    /* 1: this thread's calls are those of the program that uses Gantry, until a call with 0. What
     * is made meanwhile is the program's: if another call ends it, that is a complaint. */
    void (*program)(int is_program);
    long (*live_of_program)(int kind); /* the program's objects of STAND_IN_... that live */
} stand_in_control_t;

typedef const stand_in_control_t *(*stand_in_control_fn)(void);
typedef long (*stand_in_live_objects_fn)(int kind); /* "stand_in_live_objects": control()->live */

#endif
