/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: a counted primary context per card, further contexts made and destroyed, and each
 * thread's stack. A context's record stays to the end of the process, so that a thread with a
 * destroyed context on its stack gets the right error. */
#include <stdlib.h>
#include <string.h>

#include "stand_in_graph.h"

#define DEPTH 32

static _Thread_local stand_in_context_t *stack[DEPTH];
static _Thread_local int depth;

stand_in_context_t *stand_in__current(void) { return depth > 0 ? stack[depth - 1] : NULL; }

/* ---- a context's life ---- */

static void end_context(stand_in_object_t *object) { (void)object; }

static int start(stand_in_context_t *context) {
    stand_in_device_t *device = context->device;
    uint64_t bytes = stand_in__machine()->context_bytes;
    int code;

    stand_in__lock();
    code = device->lost;
    stand_in__unlock();
    if (code == CUDA_OK && !stand_in__take_bytes(device, bytes)) {
        code = CUDA_OUT_OF_MEMORY;
    }
    if (code == CUDA_OK) {
        code = stand_in__open_null_stream(context);
        if (code == CUDA_OK) {
            context->is_alive = 1;
            context->peers = 0;
            stand_in__list(&context->object);
        }
    }
    return code;
}

static void stop(stand_in_context_t *context) {
    (void)stand_in__finish(context);
    stand_in__unlist(&context->object);
    stand_in__end_context_objects(context);
    stand_in__close_null_stream(context);
    stand_in__lock();
    context->is_alive = 0;
    stand_in__unlock();
    stand_in__give_bytes(context->device, stand_in__machine()->context_bytes);
}

static stand_in_context_t *make_context(stand_in_device_t *device, int is_primary) {
    stand_in_context_t *context = calloc(1, sizeof *context);

    if (context != NULL) {
        context->object.kind = STAND_IN_CONTEXTS;
        context->object.context = context;
        context->object.end = end_context;
        context->device = device;
        context->is_primary = is_primary;
    }
    return context;
}

/* ---- primary ---- */

STAND_IN_API int cuDevicePrimaryCtxRetain(stand_in_context_t **context, int device);
int cuDevicePrimaryCtxRetain(stand_in_context_t **context, int device) {
    static pthread_mutex_t serial = PTHREAD_MUTEX_INITIALIZER;
    stand_in_device_t *card;
    int code = CUDA_OK;

    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (context == NULL) return CUDA_INVALID_VALUE;
    card = stand_in__visible(device);
    if (card == NULL) return CUDA_INVALID_DEVICE;
    if (card->is_busy) return CUDA_DEVICE_UNAVAILABLE;
    pthread_mutex_lock(&serial);
    if (card->primary == NULL) {
        card->primary = make_context(card, 1);
    }
    if (card->primary == NULL) {
        code = CUDA_OUT_OF_MEMORY;
    } else if (card->primary_retained == 0) {
        code = start(card->primary);
    } else if (card->lost != 0) {
        code = card->lost;
    }
    if (code == CUDA_OK) {
        card->primary_retained++;
        *context = card->primary;
    }
    pthread_mutex_unlock(&serial);
    return code;
}

static int release_primary(int code, int device) {
    stand_in_device_t *card;
    int left;

    if (!stand_in__may_end(code)) return code;
    card = stand_in__visible(device);
    if (card == NULL) return CUDA_INVALID_DEVICE;
    stand_in__lock();
    left = card->primary_retained > 0 ? --card->primary_retained : -1;
    stand_in__unlock();
    if (left < 0) return CUDA_INVALID_CONTEXT;
    if (left == 0) {
        stop(card->primary);
    }
    return code;
}

STAND_IN_API int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device) {
    return release_primary(stand_in__enter(__func__, STAND_IN_NEEDS_INIT), device);
}

STAND_IN_API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (flags == NULL || active == NULL) return CUDA_INVALID_VALUE;
    if (stand_in__visible(device) == NULL) return CUDA_INVALID_DEVICE;
    *flags = 0;
    *active = stand_in__visible(device)->primary_retained > 0;
    return CUDA_OK;
}

/* A library must not reset the context of its process. */
STAND_IN_API int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxReset_v2(int device) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    stand_in__complain("the primary context of device %d was reset", device);
    return CUDA_NOT_SUPPORTED;
}

/* ---- others ---- */

STAND_IN_API int cuCtxCreate_v2(stand_in_context_t **context, unsigned flags, int device);
int cuCtxCreate_v2(stand_in_context_t **context, unsigned flags, int device) {
    stand_in_context_t *made;
    stand_in_device_t *card;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (context == NULL) return CUDA_INVALID_VALUE;
    card = stand_in__visible(device);
    if (card == NULL) return CUDA_INVALID_DEVICE;
    if (card->is_busy) return CUDA_DEVICE_UNAVAILABLE;
    if (depth == DEPTH) return CUDA_UNKNOWN;
    made = make_context(card, 0);
    if (made == NULL) return CUDA_OUT_OF_MEMORY;
    made->flags = flags;
    if (flags == 4) stand_in__count("contexts that block");
    code = start(made);
    if (code != CUDA_OK) {
        free(made);
        return code;
    }
    stack[depth++] = made;
    *context = made;
    return CUDA_OK;
}

/* Every record is kept reachable, so that a stale record on a stack stays readable. */
typedef struct grave_t {
    stand_in_context_t *context;
    struct grave_t *next;
} grave_t;
static grave_t *graves;

static void bury(stand_in_context_t *context) {
    grave_t *grave = malloc(sizeof *grave);

    if (grave != NULL) {
        stand_in__lock();
        grave->context = context;
        grave->next = graves;
        graves = grave;
        stand_in__unlock();
    }
}

STAND_IN_API int cuCtxDestroy_v2(stand_in_context_t *context);
int cuCtxDestroy_v2(stand_in_context_t *context) {
    int code = stand_in__enter(__func__, STAND_IN_NEEDS_INIT);

    if (!stand_in__may_end(code)) return code;
    if (stand_in__find(context, STAND_IN_CONTEXTS) == NULL || context->is_primary)
        return CUDA_INVALID_CONTEXT;
    if (stand_in__current() == context) {
        depth--;
    }
    stop(context);
    bury(context);
    return code;
}

/* ---- the stack ---- */

STAND_IN_API int cuCtxPushCurrent_v2(stand_in_context_t *context);
int cuCtxPushCurrent_v2(stand_in_context_t *context) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (stand_in__find(context, STAND_IN_CONTEXTS) == NULL) return CUDA_INVALID_CONTEXT;
    if (depth == DEPTH) {
        stand_in__complain("%d contexts on one thread's stack: pushed without being popped", depth);
        return CUDA_UNKNOWN;
    }
    stack[depth++] = context;
    return CUDA_OK;
}

STAND_IN_API int cuCtxPopCurrent_v2(stand_in_context_t **context);
int cuCtxPopCurrent_v2(stand_in_context_t **context) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (depth == 0) return CUDA_INVALID_CONTEXT;
    depth--;
    if (context != NULL) {
        *context = stack[depth];
    }
    return CUDA_OK;
}

STAND_IN_API int cuCtxGetCurrent(stand_in_context_t **context);
int cuCtxGetCurrent(stand_in_context_t **context) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (context == NULL) return CUDA_INVALID_VALUE;
    *context = stand_in__current();
    return CUDA_OK;
}

STAND_IN_API int cuCtxSetCurrent(stand_in_context_t *context);
int cuCtxSetCurrent(stand_in_context_t *context) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (context != NULL && stand_in__find(context, STAND_IN_CONTEXTS) == NULL)
        return CUDA_INVALID_CONTEXT;
    if (context == NULL) {
        depth -= depth > 0;
    } else if (depth == 0) {
        stack[depth++] = context;
    } else {
        stack[depth - 1] = context;
    }
    return CUDA_OK;
}

STAND_IN_API int cuCtxGetDevice(int *device);
int cuCtxGetDevice(int *device) {
    STAND_IN_ENTER(STAND_IN_NEEDS_ANY_CONTEXT);
    if (device == NULL) return CUDA_INVALID_VALUE;
    for (int i = 0; i < stand_in__visible_count(); ++i) {
        if (stand_in__visible(i) == stand_in__current()->device) {
            *device = i;
        }
    }
    return CUDA_OK;
}

STAND_IN_API int cuCtxSynchronize(void);
int cuCtxSynchronize(void) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    return stand_in__finish(stand_in__current());
}

STAND_IN_API int cuCtxGetStreamPriorityRange(int *least, int *greatest);
int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (least != NULL) *least = 0;
    if (greatest != NULL) *greatest = -5;
    return CUDA_OK;
}

/* ---- peers ---- */

STAND_IN_API int cuCtxEnablePeerAccess(stand_in_context_t *peer, unsigned flags);
int cuCtxEnablePeerAccess(stand_in_context_t *peer, unsigned flags) {
    stand_in_context_t *own = stand_in__current();
    uint32_t bit;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (flags != 0) return CUDA_INVALID_VALUE;
    if (stand_in__check_unsafe() != CUDA_OK) return CUDA_CAPTURE_UNSUPPORTED;
    if (stand_in__find(peer, STAND_IN_CONTEXTS) == NULL || peer->device == own->device)
        return CUDA_INVALID_CONTEXT;
    if (!stand_in__machine()->has_peers) return CUDA_PEER_ACCESS_UNSUPPORTED;
    bit = 1u << peer->device->number;
    if (own->peers & bit) return CUDA_PEER_ACCESS_ALREADY_ENABLED;
    own->peers |= bit;
    return CUDA_OK;
}

STAND_IN_API int cuCtxDisablePeerAccess(stand_in_context_t *peer);
int cuCtxDisablePeerAccess(stand_in_context_t *peer) {
    stand_in_context_t *own = stand_in__current();
    uint32_t bit;

    STAND_IN_ENTER(STAND_IN_NEEDS_CONTEXT);
    if (stand_in__find(peer, STAND_IN_CONTEXTS) == NULL) return CUDA_INVALID_CONTEXT;
    bit = 1u << peer->device->number;
    if ((own->peers & bit) == 0) return CUDA_PEER_ACCESS_NOT_ENABLED;
    own->peers &= ~bit;
    return CUDA_OK;
}
