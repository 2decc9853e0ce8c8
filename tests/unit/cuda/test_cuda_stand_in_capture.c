/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The stand-in for NVIDIA's driver refuses calls in a capture with the codes of the
 * driver's documentation.
 *
 * The tests call the stand-in directly. They are skipped, with the reason printed, if PoCL is
 * missing. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>

#include "cuda/stand_in_control.h"
#include "need_opencl.h"
#include "test.h"

enum { GLOBAL, THREAD_LOCAL, RELAXED };
enum {
    ILLEGAL_STATE = 401,
    UNSUPPORTED = 900,
    INVALIDATED,
    MERGE,
    UNMATCHED,
    UNJOINED,
    ISOLATION,
    CAPTURED_EVENT = 907,
    WRONG_THREAD
};

#define FUNCTIONS(X)                                                      \
    X(cuInit, (unsigned))                                                 \
    X(cuDevicePrimaryCtxRetain, (void **, int))                           \
    X(cuDevicePrimaryCtxRelease_v2, (int))                                \
    X(cuCtxPushCurrent_v2, (void *))                                      \
    X(cuCtxPopCurrent_v2, (void **))                                      \
    X(cuMemAlloc_v2, (uint64_t *, size_t))                                \
    X(cuMemFree_v2, (uint64_t))                                           \
    X(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *))     \
    X(cuMemsetD8Async, (uint64_t, unsigned char, size_t, void *))         \
    X(cuStreamCreateWithPriority, (void **, unsigned, int))               \
    X(cuStreamDestroy_v2, (void *))                                       \
    X(cuStreamSynchronize, (void *))                                      \
    X(cuStreamQuery, (void *))                                            \
    X(cuStreamWaitEvent, (void *, void *, unsigned))                      \
    X(cuStreamBeginCapture_v2, (void *, unsigned))                        \
    X(cuStreamEndCapture, (void *, void **))                              \
    X(cuEventCreate, (void **, unsigned))                                 \
    X(cuEventDestroy_v2, (void *))                                        \
    X(cuEventRecord, (void *, void *))                                    \
    X(cuEventQuery, (void *))                                             \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    X(cuGraphLaunch, (void *, void *))                                    \
    X(cuGraphExecDestroy, (void *))                                       \
    X(cuGraphDestroy, (void *))

static struct {
#define SLOT(name, parameters) int(*name) parameters;
    FUNCTIONS(SLOT)
#undef SLOT
} cu;

static const stand_in_control_t *control;
static void *context;
static void *streams[2];
static void *event;
static uint64_t memory;

#define assert_code(code, call) assert_int_equal(call, code)
#define assert_done(call) assert_int_equal(call, 0)

static int open_library(void) {
    void *library = dlopen(GANTRY_TEST_MODULES "/cuda/standin_libcuda.so", RTLD_NOW | RTLD_LOCAL);
    stand_in_control_fn get;
    void *address;

    if (library == NULL) {
        printf("%s\n", dlerror());
        return -1;
    }
#define RESOLVE(name, parameters)    \
    address = dlsym(library, #name); \
    if (address == NULL) {           \
        printf("no %s\n", #name);    \
        return -1;                   \
    }                                \
    memcpy(&cu.name, &address, sizeof address);
    FUNCTIONS(RESOLVE)
#undef RESOLVE
    address = dlsym(library, "stand_in_control");
    memcpy(&get, &address, sizeof get);
    control = get();
    return 0;
}

static int begin(void **state) {
    (void)state;
    control->reset();
    assert_done(cu.cuDevicePrimaryCtxRetain(&context, 0));
    assert_done(cu.cuCtxPushCurrent_v2(context));
    for (int i = 0; i < 2; ++i) {
        assert_done(cu.cuStreamCreateWithPriority(&streams[i], 1, 0));
    }
    assert_done(cu.cuEventCreate(&event, 2));
    assert_done(cu.cuMemAlloc_v2(&memory, 64));
    return 0;
}

static int end(void **state) {
    (void)state;
    assert_int_equal(control->complaints(NULL, 0), 0);
    assert_done(cu.cuMemFree_v2(memory));
    assert_done(cu.cuEventDestroy_v2(event));
    for (int i = 0; i < 2; ++i) {
        assert_done(cu.cuStreamDestroy_v2(streams[i]));
    }
    assert_done(cu.cuCtxPopCurrent_v2(NULL));
    assert_done(cu.cuDevicePrimaryCtxRelease_v2(0));
    for (int kind = 0; kind < STAND_IN_KINDS; ++kind) {
        assert_int_equal(control->live(kind), 0);
    }
    return 0;
}

/* Ends a capture, which must fail with this code. Nothing of it is left, and the stream works. */
static void end_with(int code, int which) {
    void *graph = NULL;

    assert_code(code, cu.cuStreamEndCapture(streams[which], &graph));
    assert_true((graph != NULL) == (code == 0));
    if (graph != NULL) {
        assert_done(cu.cuGraphDestroy(graph));
    }
    assert_done(cu.cuStreamSynchronize(streams[which]));
}

/* ---- memory allocation during a capture ---- */

static void *take_memory(void *self) {
    uint64_t address = 0;
    int *code = self;

    cu.cuCtxPushCurrent_v2(context);
    *code = cu.cuMemAlloc_v2(&address, 16);
    if (*code == 0) {
        cu.cuMemFree_v2(address);
    }
    cu.cuCtxPopCurrent_v2(NULL);
    return NULL;
}

static void *end_elsewhere(void *self) {
    void *graph = NULL;

    cu.cuCtxPushCurrent_v2(context);
    *(int *)self = cu.cuStreamEndCapture(streams[0], &graph);
    cu.cuCtxPopCurrent_v2(NULL);
    if (graph != NULL) {
        cu.cuGraphDestroy(graph);
    }
    return NULL;
}

static int on_a_thread(void *(*body)(void *)) {
    pthread_t thread;
    int code = -1;

    assert_int_equal(pthread_create(&thread, NULL, body, &code), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return code;
}

TEST(mode_says_who_may_take_memory) {
    static const struct {
        unsigned mode;
        int own;       /* the code of the capturing thread's allocation */
        int elsewhere; /* the code of another thread's allocation */
    } cases[] = {
        {GLOBAL, UNSUPPORTED, UNSUPPORTED}, {THREAD_LOCAL, UNSUPPORTED, 0}, {RELAXED, 0, 0}};

    for (size_t i = 0; i < 3; ++i) {
        uint64_t address = 0;

        assert_done(cu.cuStreamBeginCapture_v2(streams[0], cases[i].mode));
        assert_code(cases[i].elsewhere, on_a_thread(take_memory));
        end_with(cases[i].elsewhere == 0 ? 0 : INVALIDATED, 0);
        assert_done(cu.cuStreamBeginCapture_v2(streams[0], cases[i].mode));
        assert_code(cases[i].own, cu.cuMemAlloc_v2(&address, 16));
        if (address != 0) {
            assert_done(cu.cuMemFree_v2(address));
        }
        end_with(cases[i].own == 0 ? 0 : INVALIDATED, 0);
        assert_done(cu.cuStreamBeginCapture_v2(streams[0], cases[i].mode));
        assert_code(cases[i].mode == RELAXED ? 0 : WRONG_THREAD, on_a_thread(end_elsewhere));
        if (cases[i].mode != RELAXED) {
            end_with(0, 0);
        }
    }
}

/* ---- calls that invalidate a capture ---- */

TEST(calls_that_cannot_be_captured_spoil_the_capture) {
    const unsigned char pageable[16] = {0};

    for (int i = 0; i < 4; ++i) {
        assert_done(cu.cuEventRecord(event, streams[1]));
        assert_done(cu.cuStreamBeginCapture_v2(streams[0], RELAXED));
        switch (i) {
            case 0: assert_code(UNSUPPORTED, cu.cuStreamSynchronize(streams[0])); break;
            case 1: assert_code(UNSUPPORTED, cu.cuStreamQuery(streams[0])); break;
            case 2:
                assert_code(UNSUPPORTED, cu.cuMemcpyHtoDAsync_v2(memory, pageable, 16, streams[0]));
                break;
            default: assert_code(ISOLATION, cu.cuStreamWaitEvent(streams[0], event, 0)); break;
        }
        assert_code(INVALIDATED, cu.cuMemsetD8Async(memory, 1, 64, streams[0]));
        end_with(INVALIDATED, 0);
    }
    assert_done(cu.cuStreamBeginCapture_v2(streams[0], RELAXED));
    assert_done(cu.cuEventRecord(event, streams[0]));
    assert_code(CAPTURED_EVENT, cu.cuEventQuery(event));
    end_with(INVALIDATED, 0);
    assert_code(CAPTURED_EVENT, cu.cuStreamWaitEvent(streams[1], event, 0));
}

TEST(captures_of_two_streams_stay_apart) {
    void *graph = NULL;

    assert_code(ILLEGAL_STATE, cu.cuStreamEndCapture(streams[0], &graph));
    assert_code(UNSUPPORTED, cu.cuStreamBeginCapture_v2(NULL, RELAXED));
    assert_done(cu.cuStreamBeginCapture_v2(streams[0], RELAXED));
    assert_code(ILLEGAL_STATE, cu.cuStreamBeginCapture_v2(streams[0], RELAXED));
    assert_done(cu.cuStreamBeginCapture_v2(streams[1], RELAXED));
    assert_done(cu.cuEventRecord(event, streams[0]));
    assert_code(MERGE, cu.cuStreamWaitEvent(streams[1], event, 0));
    end_with(INVALIDATED, 0);
    end_with(INVALIDATED, 1);
    assert_done(cu.cuStreamBeginCapture_v2(streams[0], RELAXED));
    assert_done(cu.cuEventRecord(event, streams[0]));
    assert_done(cu.cuStreamWaitEvent(streams[1], event, 0));
    assert_code(UNMATCHED, cu.cuStreamEndCapture(streams[1], &graph));
    end_with(INVALIDATED, 0);
    assert_done(cu.cuStreamSynchronize(streams[1]));
}

/* A branch that gets work after its join is not joined. */
TEST(branch_is_joined_with_all_its_work) {
    for (int late = 0; late < 2; ++late) {
        assert_done(cu.cuStreamBeginCapture_v2(streams[0], RELAXED));
        assert_done(cu.cuEventRecord(event, streams[0]));
        assert_done(cu.cuStreamWaitEvent(streams[1], event, 0));
        assert_done(cu.cuMemsetD8Async(memory, 1, 64, streams[1]));
        assert_done(cu.cuEventRecord(event, streams[1]));
        if (late) {
            assert_done(cu.cuMemsetD8Async(memory, 2, 64, streams[1]));
        }
        assert_done(cu.cuStreamWaitEvent(streams[0], event, 0));
        end_with(late ? UNJOINED : 0, 0);
    }
}

TEST(graphs_and_their_executable_forms_are_counted) {
    void *graph = NULL;
    void *exec = NULL;

    assert_done(cu.cuStreamBeginCapture_v2(streams[0], RELAXED));
    assert_done(cu.cuMemsetD8Async(memory, 1, 64, streams[0]));
    assert_done(cu.cuStreamEndCapture(streams[0], &graph));
    assert_int_equal(control->live(STAND_IN_GRAPHS), 1);
    assert_done(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_int_equal(control->live(STAND_IN_GRAPHS), 2);
    assert_code(1, cu.cuGraphLaunch(graph, streams[0]));
    assert_code(1, cu.cuGraphExecDestroy(graph));
    assert_done(cu.cuGraphDestroy(graph));
    /* the executable graph does not need the graph any more */
    assert_done(cu.cuGraphLaunch(exec, streams[0]));
    assert_done(cu.cuStreamSynchronize(streams[0]));
    assert_done(cu.cuGraphExecDestroy(exec));
    assert_code(1, cu.cuGraphExecDestroy(exec));
}

int main(void) {
    char text[256] = "";

    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("GANTRY_STAND_IN_CUDA", "memory=64M", 1);
    if (open_library() != 0) return 1;
    if (cu.cuInit(0) != 0) {
        control->complaints(text, sizeof text);
        printf("%s\n", text);
        const int code = skip_without_pocl();
        return code != 0 ? code : 1;
    }
    return test_main_each(begin, end);
}
