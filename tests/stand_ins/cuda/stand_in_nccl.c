/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in NCCL: communicators of a clique, groups of calls, and all-reduce, which adds in the
 * order of the ranks. A collective waits on every stream of its clique for the work before it, as
 * NVIDIA's does; one that not all ranks join would wait for ever there, and is refused here. The
 * setting "nccl" is its version. */
#include <stdlib.h>
#include <string.h>

#include "stand_in_core.h"
#include "stand_in_pocl.h"

enum {
    NCCL_OK = 0,
    NCCL_CUDA_ERROR = 1,
    NCCL_INTERNAL_ERROR = 3,
    NCCL_INVALID_ARGUMENT = 4,
    NCCL_INVALID_USAGE = 5
};
enum { MOST_RANKS = 16 };

/* Of the stand-in driver. */
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(stand_in_context_t **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxPushCurrent_v2(stand_in_context_t *context);
int cuCtxPopCurrent_v2(stand_in_context_t **context);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventDestroy_v2(void *event);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);

STAND_IN_API int ncclGetVersion(int *version);
int ncclGetVersion(int *version) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    *version = stand_in__machine()->nccl;
    return 0;
}

STAND_IN_API const char *ncclGetErrorString(int result);
const char *ncclGetErrorString(int result) {
    return result == NCCL_OK ? "no error" : "an error of the stand-in";
}

/* ---- communicators ---- */

typedef struct clique_t {
    int size, alive;
} clique_t;

typedef struct comm_t {
    stand_in_object_t object;
    clique_t *clique;
    stand_in_context_t *context;
    int device, rank;
} comm_t;

static void end_comm(stand_in_object_t *object) {
    comm_t *comm = (comm_t *)object;
    (void)cuDevicePrimaryCtxRelease_v2(comm->device);
    if (--comm->clique->alive == 0) free(comm->clique);
    free(comm);
}

static int make_comm(clique_t *clique, int rank, int ordinal, void **out_comm) {
    comm_t *comm = calloc(1, sizeof *comm);
    if (comm == NULL) return NCCL_INTERNAL_ERROR;
    *comm = (comm_t){.object = {.kind = STAND_IN_COMMUNICATORS, .end = end_comm},
                     .clique = clique,
                     .rank = rank};
    if (cuDeviceGet(&comm->device, ordinal) != CUDA_OK ||
        cuDevicePrimaryCtxRetain(&comm->context, comm->device) != CUDA_OK) {
        free(comm);
        return NCCL_CUDA_ERROR;
    }
    ++clique->alive;
    stand_in__list(&comm->object);
    *out_comm = comm;
    return NCCL_OK;
}

STAND_IN_API int ncclCommDestroy(void *handle);
int ncclCommDestroy(void *handle) {
    const int code = stand_in__enter(__func__, STAND_IN_NEEDS_NOTHING);
    comm_t *comm = stand_in__find(handle, STAND_IN_COMMUNICATORS);
    if (comm == NULL || !stand_in__unlist(&comm->object)) return NCCL_INVALID_ARGUMENT;
    end_comm(&comm->object);
    return code;
}

/* NCCL 2.30 and later takes several ranks on one device when this variable is not 0. */
static int shares_devices(void) {
    const char *text = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    return text != NULL && atoi(text) != 0 && stand_in__machine()->nccl >= 23000;
}

STAND_IN_API int ncclCommInitAll(void **comms, int count, const int *devices);
int ncclCommInitAll(void **comms, int count, const int *devices) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (comms == NULL || count < 1 || count > MOST_RANKS) return NCCL_INVALID_ARGUMENT;
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < i; ++k) {
            if (devices[i] == devices[k] && !shares_devices()) return NCCL_INVALID_USAGE;
        }
    }
    clique_t *clique = calloc(1, sizeof *clique);
    int code = clique == NULL ? NCCL_INTERNAL_ERROR : NCCL_OK;
    if (code == NCCL_OK) clique->size = count;
    for (int i = 0; i < count && code == NCCL_OK; ++i) {
        code = make_comm(clique, i, devices[i], &comms[i]);
        if (code == NCCL_OK) continue;
        if (i == 0) free(clique);
        for (int k = 0; k < i; ++k) (void)ncclCommDestroy(comms[k]);
    }
    return code;
}

/* ---- groups ---- */

typedef struct call_t {
    comm_t *comm;
    const void *send;
    void *receive;
    size_t count;
    int type, op;
    void *stream;
} call_t;

static _Thread_local int depth;
static _Thread_local call_t calls[MOST_RANKS];
static _Thread_local int call_count;

/* ---- computing ---- */

typedef struct sum_t {
    const void *send[MOST_RANKS];
    void *receive[MOST_RANKS];
    size_t count;
    int ranks, type, op;
} sum_t;

static double combine(double a, double b, int op) {
    if (op == 0) return a + b;
    if (op == 1) return a * b;
    return op == 2 ? (a > b ? a : b) : (a < b ? a : b);
}

/* float32, float64 and int32; results of float32 are rounded behind each step. */
static void run_sum(void *arguments) {
    const sum_t *sum = arguments;
    for (size_t i = 0; i < sum->count; ++i) {
        double value = 0;
        for (int r = 0; r < sum->ranks; ++r) {
            const double own = sum->type == 7   ? (double)((const float *)sum->send[r])[i]
                               : sum->type == 8 ? ((const double *)sum->send[r])[i]
                                                : (double)((const int32_t *)sum->send[r])[i];
            value = r == 0 ? own : combine(value, own, sum->op);
            if (sum->type == 7) value = (double)(float)value;
        }
        for (int r = 0; r < sum->ranks; ++r) {
            if (sum->type == 7)
                ((float *)sum->receive[r])[i] = (float)value;
            else if (sum->type == 8)
                ((double *)sum->receive[r])[i] = value;
            else
                ((int32_t *)sum->receive[r])[i] = (int32_t)value;
        }
    }
}

static int lies_in_memory(const call_t *call) {
    const size_t bytes = call->count * (call->type == 8 ? 8 : 4);
    const void *const both[] = {call->send, call->receive};
    for (int i = 0; i < 2; ++i) {
        const stand_in_memory_t *memory =
            stand_in__memory_at((uint64_t)(uintptr_t)both[i], bytes, STAND_IN_MEMORY);
        if (memory == NULL || memory->device != call->comm->context->device) return 0;
    }
    return 1;
}

/* An event behind the stream's work. */
static int mark(const call_t *call, void **out_event) {
    int code = cuEventCreate(out_event, 2);
    return code == CUDA_OK ? cuEventRecord(*out_event, call->stream) : code;
}

/* In the call's context. */
static int with_context(const call_t *call, int (*act)(const call_t *call, void **event),
                        void **event) {
    stand_in_context_t *popped;
    int code = cuCtxPushCurrent_v2(call->comm->context);
    if (code != CUDA_OK) return code;
    code = act(call, event);
    (void)cuCtxPopCurrent_v2(&popped);
    return code;
}

static int wait_for(const call_t *call, void **event) {
    return cuStreamWaitEvent(call->stream, *event, 0);
}

static int submit(const call_t *first, void **arguments) {
    stand_in_stream_t *stream;
    const int code = stand_in__stream_of(first->stream, &stream);
    return code == CUDA_OK ? stand_in__enqueue(stream, run_sum, *arguments, sizeof(sum_t)) : code;
}

/* Stream 0 waits for the others, adds, and the others wait for stream 0. */
static int run_calls(void) {
    sum_t sum = {
        .count = calls[0].count, .ranks = call_count, .type = calls[0].type, .op = calls[0].op};
    void *events[MOST_RANKS] = {NULL}, *arguments = &sum, *done = NULL;
    int code = CUDA_OK;
    for (int i = 0; i < call_count && code == CUDA_OK; ++i) {
        const int rank = calls[i].comm->rank;
        sum.send[rank] = calls[i].send;
        sum.receive[rank] = calls[i].receive;
        if (i == 0) continue;
        code = with_context(&calls[i], mark, &events[i]);
        if (code == CUDA_OK) code = with_context(&calls[0], wait_for, &events[i]);
    }
    if (code == CUDA_OK) code = with_context(&calls[0], submit, &arguments);
    if (code == CUDA_OK) code = with_context(&calls[0], mark, &done);
    for (int i = 1; i < call_count && code == CUDA_OK; ++i)
        code = with_context(&calls[i], wait_for, &done);
    for (int i = 0; i < call_count; ++i) {
        if (events[i] != NULL) (void)cuEventDestroy_v2(events[i]);
    }
    if (done != NULL) (void)cuEventDestroy_v2(done);
    return code == CUDA_OK ? NCCL_OK : NCCL_CUDA_ERROR;
}

static int check_calls(void) {
    const comm_t *first = calls[0].comm;
    unsigned seen = 0;
    for (int i = 0; i < call_count; ++i) {
        const call_t *call = &calls[i];
        if (call->comm->clique != first->clique || call->count != calls[0].count ||
            call->type != calls[0].type || call->op != calls[0].op || !lies_in_memory(call)) {
            stand_in__complain("ranks of one ncclAllReduce differ, or lie outside their memory");
            return NCCL_INVALID_ARGUMENT;
        }
        seen |= 1u << call->comm->rank;
    }
    if (seen == (1u << first->clique->size) - 1 && call_count == first->clique->size)
        return NCCL_OK;
    stand_in__complain("an ncclAllReduce of %d of %d ranks would wait for ever", call_count,
                       first->clique->size);
    return NCCL_INVALID_USAGE;
}

static int end_group(void) {
    int code = call_count > 0 ? check_calls() : NCCL_OK;
    if (code == NCCL_OK && call_count > 0) code = run_calls();
    if (code == NCCL_OK && call_count > 0) stand_in__count("all-reduce");
    call_count = 0;
    return code;
}

STAND_IN_API int ncclGroupStart(void);
int ncclGroupStart(void) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    ++depth;
    return NCCL_OK;
}

STAND_IN_API int ncclGroupEnd(void);
int ncclGroupEnd(void) {
    const int code = stand_in__enter(__func__, STAND_IN_NEEDS_NOTHING);
    if (depth == 0) return NCCL_INVALID_USAGE;
    if (--depth > 0) return NCCL_OK;
    if (code == NCCL_OK) return end_group();
    call_count = 0;
    return code;
}

STAND_IN_API int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op,
                               void *handle, void *stream);
int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, void *handle,
                  void *stream) {
    comm_t *comm = stand_in__find(handle, STAND_IN_COMMUNICATORS);
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (comm == NULL || call_count == MOST_RANKS) return NCCL_INVALID_ARGUMENT;
    calls[call_count++] = (call_t){comm, send, receive, count, type, op, stream};
    return depth > 0 ? NCCL_OK : end_group();
}
