/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of NcclAllReduce. NCCL takes the calls of all cards together, and the core computes op
 * by op, so a call waits in its thread's group until the last card's comes:
 *
 *     card 0: NcclAllReduce   noted
 *     card 1: NcclAllReduce   noted
 *     card 2: NcclAllReduce   the last of num_devices: one group of NCCL, on the streams of all
 *
 * The calls of one all-reduce must follow each other in one thread, with no work on these streams
 * in between, so that each stream still has it after its inputs and before what uses its result. A
 * call for a card that is already in the group begins the group anew, because the calls before have
 * failed.
 *
 * Cards that compute together are a clique, with a communicator for each card; it is made at their
 * first all-reduce and kept until one of them closes. One lock is held around NCCL, because
 * collectives of one process must run in one order on all cards. */
#include <stdio.h>
#include <string.h>

#include "cuda/cuda_backend.h"
#include "host/shared_cards.h"

#define MOST_CARDS 64
#define NAME_BYTES 64
#define SHARES_FROM 23000 /* the first version that takes parts of a card: 2.30.0 */

typedef struct arrival_t {
    gantry_backend_device_t *device;
    gantry_backend_stream_t *stream;
    gantry__cu_address_t send, receive;
} arrival_t;

typedef struct gantry__nccl_group_t {
    struct gantry__nccl_group_t *next;
    gantry__thread_t thread;
    char name[NAME_BYTES];
    unsigned int op, type;
    size_t elements;
    uint32_t wanted, count;
    arrival_t arrivals[MOST_CARDS];
} gantry__nccl_group_t;

typedef struct gantry__nccl_clique_t {
    struct gantry__nccl_clique_t *next;
    uint32_t count;
    gantry_backend_device_t *devices[MOST_CARDS];
    gantry__nccl_comm_t comms[MOST_CARDS];
} gantry__nccl_clique_t;

/* ---- what a call says ---- */

enum { ATTR_REDUCTION = 1, ATTR_NUM_DEVICES = 2, ATTR_SHARED_NAME = 3 };

static bool read_op(const char *reduction, unsigned int *out_op) {
    static const char *const words[] = {"sum", "prod", "max", "min"};
    for (unsigned int i = 0; i < 4; ++i) {
        *out_op = i;
        if (strcmp(reduction, words[i]) == 0) return true;
    }
    return false;
}

static unsigned int nccl_type_of(int32_t dtype) {
    switch (dtype) {
        case GANTRY_INT32: return GANTRY__NCCL_INT32;
        case GANTRY_INT64: return GANTRY__NCCL_INT64;
        case GANTRY_FLOAT16: return GANTRY__NCCL_FLOAT16;
        case GANTRY_BFLOAT16: return GANTRY__NCCL_BFLOAT16;
        case GANTRY_FLOAT64: return GANTRY__NCCL_FLOAT64;
        default: return GANTRY__NCCL_FLOAT32;
    }
}

static void read_group(const gantry_op_call_t *call, gantry__nccl_group_t *out_group) {
    *out_group = (gantry__nccl_group_t){.thread = gantry__thread_self(),
                                        .type = nccl_type_of(call->inputs[0]->dtype),
                                        .elements = (size_t)call->inputs[0]->element_count,
                                        .wanted = (uint32_t)call->attrs[ATTR_NUM_DEVICES]->i};
    (void)read_op(call->attrs[ATTR_REDUCTION]->s, &out_group->op);
    (void)snprintf(out_group->name, sizeof out_group->name, "%s", call->attrs[ATTR_SHARED_NAME]->s);
}

static bool is_same_group(const gantry__nccl_group_t *a, const gantry__nccl_group_t *b) {
    return strcmp(a->name, b->name) == 0 && a->op == b->op && a->type == b->type &&
           a->elements == b->elements && a->wanted == b->wanted;
}

/* ---- failures ---- */

static int32_t nccl_check(gantry_backend_instance_t *instance, const char *what,
                          gantry__nccl_result_t native) {
    const gantry_host_t *host = instance->host;
    char text[384];
    if (native == GANTRY__NCCL_SUCCESS) return GANTRY_OK;
    (void)snprintf(text, sizeof text, "%s: %s (%u)", what,
                   instance->nccl.ncclGetErrorString(native), native);
    return host->set_error(host->self, GANTRY_INTERNAL, "NCCL", native, text);
}

static int32_t refuse(const gantry_op_call_t *call, int32_t code, const char *format,
                      const char *name, uint32_t came, uint32_t wanted) {
    char text[384];
    (void)snprintf(text, sizeof text, format, name, came, wanted);
    return call->services->fail((gantry_op_call_t *)call, code, text);
}

/* ---- cliques; the lock is held ---- */

static bool is_of(const gantry__nccl_clique_t *clique, const gantry__nccl_group_t *group) {
    if (clique->count != group->count) return false;
    for (uint32_t i = 0; i < group->count; ++i) {
        if (clique->devices[i] != group->arrivals[i].device) return false;
    }
    return true;
}

static int32_t make_clique(gantry_backend_instance_t *instance, const gantry__nccl_group_t *group,
                           gantry__nccl_clique_t **out_clique) {
    gantry__nccl_clique_t *clique = gantry__driver_alloc(instance->host, sizeof *clique);
    int numbers[MOST_CARDS];
    if (!clique) return GANTRY_RESOURCE_EXHAUSTED;
    clique->count = group->count;
    for (uint32_t i = 0; i < group->count; ++i) {
        clique->devices[i] = group->arrivals[i].device;
        numbers[i] = clique->devices[i]->record->device;
    }
    int32_t status =
        nccl_check(instance, "ncclCommInitAll",
                   instance->nccl.ncclCommInitAll(clique->comms, (int)group->count, numbers));
    if (status != GANTRY_OK) {
        gantry__host_free(instance->host, clique, sizeof *clique);
        return status;
    }
    clique->next = instance->nccl.cliques;
    *out_clique = instance->nccl.cliques = clique;
    return GANTRY_OK;
}

static int32_t find_clique(gantry_backend_instance_t *instance, const gantry__nccl_group_t *group,
                           gantry__nccl_clique_t **out_clique) {
    for (*out_clique = instance->nccl.cliques; *out_clique; *out_clique = (*out_clique)->next) {
        if (is_of(*out_clique, group)) return GANTRY_OK;
    }
    return make_clique(instance, group, out_clique);
}

static void end_clique(gantry_backend_instance_t *instance, gantry__nccl_clique_t *clique) {
    for (uint32_t i = 0; i < clique->count; ++i)
        (void)instance->nccl.ncclCommDestroy(clique->comms[i]);
    gantry__host_free(instance->host, clique, sizeof *clique);
}

/* ---- groups; the lock is held ---- */

static gantry__nccl_group_t **nccl_find_group(gantry__nccl_t *nccl) {
    gantry__nccl_group_t **at = &nccl->groups;
    while (*at && !gantry__thread_is_self((*at)->thread)) at = &(*at)->next;
    return at;
}

static void drop_group(gantry_backend_instance_t *instance, gantry__nccl_group_t **at) {
    gantry__nccl_group_t *group = *at;
    *at = group->next;
    gantry__host_free(instance->host, group, sizeof *group);
}

static int32_t launch_calls(gantry_backend_instance_t *instance, const gantry__nccl_group_t *group,
                            const gantry__nccl_clique_t *clique) {
    const gantry__nccl_t *nccl = &instance->nccl;
    GANTRY__TRY(nccl_check(instance, "ncclGroupStart", nccl->ncclGroupStart()));
    gantry__nccl_result_t native = GANTRY__NCCL_SUCCESS;
    for (uint32_t i = 0; i < group->count && native == GANTRY__NCCL_SUCCESS; ++i) {
        const arrival_t *a = &group->arrivals[i];
        native = nccl->ncclAllReduce((const void *)a->send, (void *)a->receive, group->elements,
                                     group->type, group->op, clique->comms[i], a->stream->handle);
    }
    const gantry__nccl_result_t ended = nccl->ncclGroupEnd();
    GANTRY__TRY(nccl_check(instance, "ncclAllReduce", native));
    return nccl_check(instance, "ncclGroupEnd", ended);
}

/* Launches the group's calls. NCCL leaves another context current than it found, so the context is
 * set again. */
static int32_t launch_group(gantry_backend_instance_t *instance,
                            const gantry__nccl_group_t *group) {
    const gantry_backend_device_t *first = group->arrivals[0].device;
    gantry__nccl_clique_t *clique;
    gantry__cu_result_t native = gantry__cuda_enter(first);
    if (native != GANTRY__CU_SUCCESS)
        return gantry__driver_check(instance->host, native, "%s", "cuCtxPushCurrent");
    int32_t status = find_clique(instance, group, &clique);
    if (status == GANTRY_OK) status = launch_calls(instance, group, clique);
    gantry__cuda_leave(first);
    return status;
}

/* Whether NCCL takes several ranks on one card. */
static bool takes_parts(const gantry_backend_instance_t *instance) {
    int version = 0;
    return gantry__shares_cards() &&
           instance->nccl.ncclGetVersion(&version) == GANTRY__NCCL_SUCCESS &&
           version >= SHARES_FROM;
}

/* Finds the thread's group, to which the call belongs. */
static int32_t nccl_join_group(const gantry_op_call_t *call, gantry_backend_instance_t *instance,
                               gantry__nccl_group_t ***out_at) {
    gantry__nccl_group_t wanted, **at = nccl_find_group(&instance->nccl);
    read_group(call, &wanted);
    for (uint32_t i = 0; *at && i < (*at)->count; ++i) {
        if ((*at)->arrivals[i].device != call->device) continue;
        const bool is_other_part = (*at)->arrivals[i].stream != call->stream;
        if (is_other_part && takes_parts(instance)) continue;
        if (is_other_part)
            return refuse(call, GANTRY_INVALID_ARGUMENT,
                          "NcclAllReduce \"%s\": two parts of one card came (%u of %u calls); each "
                          "call is for a card of its own, unless NCCL is 2.30 or later and "
                          "NCCL_MULTI_RANK_GPU_ENABLE is 1",
                          wanted.name, (*at)->count + 1, wanted.wanted);
        drop_group(instance, at);
    }
    if (*at && !is_same_group(*at, &wanted))
        return refuse(call, GANTRY_FAILED_PRECONDITION,
                      "NcclAllReduce \"%s\": %u of %u cards came before another all-reduce began; "
                      "the calls of one follow each other in one thread",
                      (*at)->name, (*at)->count, (*at)->wanted);
    if (!*at) {
        gantry__nccl_group_t *group = gantry__driver_alloc(instance->host, sizeof *group);
        if (!group) return GANTRY_RESOURCE_EXHAUSTED;
        *group = wanted;
        group->next = instance->nccl.groups;
        instance->nccl.groups = group;
        at = &instance->nccl.groups;
    }
    *out_at = at;
    return GANTRY_OK;
}

static int32_t arrive(const gantry_op_call_t *call, gantry_backend_instance_t *instance) {
    gantry__nccl_group_t **at;
    GANTRY__TRY(nccl_join_group(call, instance, &at));
    gantry__nccl_group_t *group = *at;
    group->arrivals[group->count++] =
        (arrival_t){.device = call->device,
                    .stream = call->stream,
                    .send = gantry__cuda_address(&call->inputs[0]->span),
                    .receive = gantry__cuda_address(&call->outputs[0]->span)};
    if (group->count < group->wanted) return GANTRY_OK;
    int32_t status = launch_group(instance, group);
    drop_group(instance, at);
    return status;
}

/* ---- the kernel ---- */

static int32_t nccl_supports(const gantry_op_call_t *call) {
    unsigned int op;
    const int64_t wanted = call->attrs[ATTR_NUM_DEVICES]->i;
    return read_op(call->attrs[ATTR_REDUCTION]->s, &op) && wanted >= 1 && wanted <= MOST_CARDS &&
           strlen(call->attrs[ATTR_SHARED_NAME]->s) < NAME_BYTES;
}

static int32_t nccl_compute(gantry_op_call_t *call) {
    gantry_backend_instance_t *instance = call->device->instance;
    /* a graph of one card cannot include the others */
    if (call->stream->is_capturing)
        return call->services->fail(call, GANTRY_UNIMPLEMENTED,
                                    "NcclAllReduce is no part of a CUDA graph");
    GANTRY__TRY(gantry__cuda_stream_check(call->stream));
    gantry__mutex_lock(&instance->nccl_lock);
    int32_t status = arrive(call, instance);
    gantry__mutex_unlock(&instance->nccl_lock);
    return status;
}

static const gantry_type_constraint_t types[] = {{"T", GANTRY_DTYPES_FLOATS | GANTRY_DTYPES_HALVES |
                                                           GANTRY_DTYPE_BIT(GANTRY_INT32) |
                                                           GANTRY_DTYPE_BIT(GANTRY_INT64)}};

const gantry_kernel_def_t gantry__nccl_kernel = {.struct_size = sizeof gantry__nccl_kernel,
                                                 .priority = 10,
                                                 .op = "NcclAllReduce",
                                                 .types = types,
                                                 .type_count = 1,
                                                 .supports = nccl_supports,
                                                 .compute = nccl_compute,
                                                 .library = "NCCL"};

/* ---- the instance and its devices ---- */

bool gantry__nccl_serves(gantry_backend_instance_t *instance) {
    if (instance->has_private_contexts) return false;
    gantry__mutex_lock(&instance->lock);
    gantry__nccl_open(instance->host, &instance->nccl);
    gantry__mutex_unlock(&instance->lock);
    return instance->nccl.library.is_usable;
}

static bool group_has(const gantry__nccl_group_t *group, const gantry_backend_device_t *device) {
    for (uint32_t i = 0; i < group->count; ++i) {
        if (group->arrivals[i].device == device) return true;
    }
    return false;
}

static bool clique_has(const gantry__nccl_clique_t *clique, const gantry_backend_device_t *device) {
    for (uint32_t i = 0; i < clique->count; ++i) {
        if (clique->devices[i] == device) return true;
    }
    return false;
}

void gantry__nccl_forget(gantry_backend_device_t *device) {
    gantry_backend_instance_t *instance = device->instance;
    gantry__mutex_lock(&instance->nccl_lock);
    for (gantry__nccl_group_t **at = &instance->nccl.groups; *at;) {
        if (group_has(*at, device)) {
            drop_group(instance, at);
        } else {
            at = &(*at)->next;
        }
    }
    for (gantry__nccl_clique_t **at = &instance->nccl.cliques; *at;) {
        gantry__nccl_clique_t *clique = *at;
        if (clique_has(clique, device)) {
            *at = clique->next;
            end_clique(instance, clique);
        } else {
            at = &clique->next;
        }
    }
    gantry__mutex_unlock(&instance->nccl_lock);
}
