/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the stand-in libraries: counted calls that fail on request, cards,
 * contexts, live objects, and memory.
 *
 * This state lives in standin_libcuda.so, and the other libraries link it. NVIDIA's types are
 * written here as plain C types of the same size.
 * Threads: thread-safe unless stated; one lock guards this state, and the stand-in releases the
 * lock while it calls OpenCL. */
#ifndef GANTRY_TESTS_STAND_IN_CORE_H
#define GANTRY_TESTS_STAND_IN_CORE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "stand_in_control.h"

#define STAND_IN_API __attribute__((visibility("default")))
#define STAND_IN_DEVICES 16

enum {
    CUDA_OK = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NOT_INITIALIZED = 3,
    CUDA_DEVICE_UNAVAILABLE = 46,
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_DEVICE = 101,
    CUDA_INVALID_IMAGE = 200,
    CUDA_INVALID_CONTEXT = 201,
    CUDA_NO_BINARY_FOR_GPU = 209,
    CUDA_ECC_UNCORRECTABLE = 214,
    CUDA_PEER_ACCESS_UNSUPPORTED = 217,
    CUDA_INVALID_PTX = 218,
    CUDA_INVALID_HANDLE = 400,
    CUDA_ILLEGAL_STATE = 401,
    CUDA_NOT_FOUND = 500,
    CUDA_NOT_READY = 600,
    CUDA_ILLEGAL_ADDRESS = 700,
    CUDA_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_PEER_ACCESS_NOT_ENABLED = 705,
    CUDA_CONTEXT_IS_DESTROYED = 709,
    CUDA_LAUNCH_FAILED = 719,
    CUDA_NOT_SUPPORTED = 801,
    CUDA_CAPTURE_UNSUPPORTED = 900,
    CUDA_CAPTURE_INVALIDATED = 901,
    CUDA_CAPTURE_MERGE = 902,
    CUDA_CAPTURE_UNMATCHED = 903,
    CUDA_CAPTURE_UNJOINED = 904,
    CUDA_CAPTURE_ISOLATION = 905,
    CUDA_CAPTURED_EVENT = 907,
    CUDA_CAPTURE_WRONG_THREAD = 908,
    CUDA_UNKNOWN = 999
};

/* ---- cards ---- */

typedef struct stand_in_object_t stand_in_object_t;
typedef struct stand_in_context_t stand_in_context_t;

typedef struct stand_in_device_t {
    int number; /* before CUDA_VISIBLE_DEVICES */
    char pci[20];
    uint8_t uuid[16];
    int major;
    int minor;
    uint64_t memory;
    uint64_t other;
    int is_busy;
    /* a part (MIG) of a card twice as large, with that card's address */
    int is_part;
    int lost;                    /* the sticky code; 0: none */
    uint64_t used;               /* by this process */
    stand_in_context_t *primary; /* made at the first retain, kept to the end of the process */
    int primary_retained;
} stand_in_device_t;

typedef struct stand_in_machine_t {
    int count;
    stand_in_device_t device[STAND_IN_DEVICES];
    uint64_t context_bytes;
    uint64_t library_bytes;
    int driver;
    int nvrtc;
    int cublas;
    int blas_fast;  /* -1: each choice is */
    int cudnn_fast; /* -1: each engine is */
    int cudnn;
    int cudnn_cuda;
    uint64_t cudnn_workspace;
    int nccl;
    int has_peers;
    int launch_us;
    int is_reporting;
    int64_t lost_after; /* -1: never */
    int opencl_obeys;   /* CUDA_VISIBLE_DEVICES */
    char shared[256];   /* the file; "": the cards belong to this process alone */
} stand_in_machine_t;

STAND_IN_API stand_in_machine_t *stand_in__machine(void); /* set at the first call */
/* ---- a card's memory: stand_in_account.c ---- */

/* Takes bytes of the card, which all sharing processes use; 0 when too few are free. */
STAND_IN_API int stand_in__take_bytes(stand_in_device_t *device, uint64_t bytes);
STAND_IN_API void stand_in__give_bytes(stand_in_device_t *device, uint64_t bytes);
STAND_IN_API uint64_t stand_in__free_bytes(const stand_in_device_t *device);

/* True while this thread makes the stand-in's own OpenCL context, which does not count as a
 * user's. */
STAND_IN_API int stand_in__is_opening(void);

STAND_IN_API void stand_in__lock(void);
STAND_IN_API void stand_in__unlock(void);

/* ---- calls ---- */

enum {
    STAND_IN_NEEDS_NOTHING,
    STAND_IN_NEEDS_INIT,
    STAND_IN_NEEDS_CONTEXT,     /* a current context that is not lost */
    STAND_IN_NEEDS_ANY_CONTEXT, /* a current context, lost or not: for calls that end objects */
};

/* Begins a call: counts it, and returns the code it fails with, or 0. */
STAND_IN_API int stand_in__enter(const char *function, int needs);
/* Counts an event that is no call, for control()->calls. */
STAND_IN_API void stand_in__count(const char *what);
/* For calls that end an object: the object ends even when the card is lost or the call fails on
 * request, and the failure is returned. */
int stand_in__may_end(int code);

#define STAND_IN_ENTER(needs)                               \
    do {                                                    \
        int enter_code_ = stand_in__enter(__func__, needs); \
        if (enter_code_ != 0) return enter_code_;           \
    } while (0)

void stand_in__set_initialised(void);
/* A sticky error on the device of a context. */
STAND_IN_API void stand_in__fail_context(stand_in_context_t *context, int code, const char *format,
                                         ...) __attribute__((format(printf, 3, 4)));
/* A text for complaints() that reports no error of the caller. */
void stand_in__note(const char *text);
STAND_IN_API void stand_in__complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- objects ---- */

struct stand_in_object_t {
    int kind;
    stand_in_object_t *next;     /* in its bucket */
    stand_in_context_t *context; /* NULL: of none */
    int is_program;              /* made while the program called; set by stand_in__list */
    /* releases everything; the object is no longer listed */
    void (*end)(stand_in_object_t *object);
};

struct stand_in_context_t {
    stand_in_object_t object;
    stand_in_device_t *device;
    int is_alive;
    int is_primary;
    uint32_t flags;
    uint32_t peers; /* bit per device number: access enabled */
    struct stand_in_stream_t *null_stream;
};

typedef struct stand_in_memory_t {
    stand_in_object_t object;
    stand_in_device_t *device; /* NULL: host memory */
    uint8_t *base;
    uint64_t bytes;
    uint8_t *block; /* the allocation; the base follows a guard */
} stand_in_memory_t;

STAND_IN_API void stand_in__list(stand_in_object_t *object);
STAND_IN_API void *stand_in__find(const void *handle, int kind); /* NULL: no such live object */
STAND_IN_API int stand_in__unlist(stand_in_object_t *object);    /* 0: another call was first */
void stand_in__end_context_objects(stand_in_context_t *context);
long stand_in__live(int kind);
long stand_in__abandoned(int kind);
/* Calls back for every live object of a context (NULL: of any) and a kind, under the lock. */
void stand_in__each(int kind, const stand_in_context_t *context,
                    void (*visit)(stand_in_object_t *object, void *self), void *self);

/* This thread's calls are the program's from now on, or not any more. */
void stand_in__set_program(int is_program);
long stand_in__live_of_program(int kind);

/* The allocation of device or host memory (kind) that holds the bytes; NULL: none. */
STAND_IN_API stand_in_memory_t *stand_in__memory_at(uint64_t address, uint64_t bytes, int kind);

/* ---- contexts ---- */

STAND_IN_API stand_in_context_t *stand_in__current(void); /* of this thread; NULL: none */
stand_in_device_t *stand_in__visible(int ordinal);        /* NULL: no such device */
int stand_in__visible_count(void);

#endif
