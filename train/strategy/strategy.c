/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of a MirroredStrategy. Texts of errors are TensorFlow's where it has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/shared_cards.h"
#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/strategy/strategy_state.h"

static gantry_status_t strategy_add_device(gantry_strategy_t *strategy,
                                           const gantry_logical_device_t *device) {
    const char *name = gantry_logical_device_full_name(device);
    for (size_t i = 0; i < strategy->count; ++i) {
        if (strcmp(strategy->devices[i], name) == 0)
            return gantry__train_refuse(
                NULL, "No duplicates allowed in `devices` argument: %s occurs twice", name);
    }
    strategy->devices[strategy->count] = gantry__strdup(name);
    if (!strategy->devices[strategy->count]) return GANTRY_RESOURCE_EXHAUSTED;
    ++strategy->count;
    return GANTRY_OK;
}

/* ---- the log ---- */

static void strategy_log(gantry_runtime_t *runtime, const gantry_strategy_t *strategy) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    size_t used = (size_t)snprintf(text, sizeof text, "Using MirroredStrategy with devices (");
    for (size_t i = 0; i < strategy->count && used < sizeof text; ++i)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s'%s'", i > 0 ? ", " : "",
                                 strategy->devices[i]);
    if (used < sizeof text)
        (void)snprintf(text + used, sizeof text - used, strategy->count == 1 ? ",)" : ")");
    (void)gantry_runtime_log(runtime, GANTRY_LEVEL_INFO, text);
}

void gantry__strategy_log_reduction(gantry_runtime_t *runtime, bool has_nccl, size_t values,
                                    size_t packs) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    (void)snprintf(text, sizeof text,
                   "batch_all_reduce: %zu all-reduces with algorithm = %s, num_packs = %zu", values,
                   has_nccl ? "nccl" : "copy", packs);
    (void)gantry_runtime_log(runtime, GANTRY_LEVEL_INFO, text);
}

/* ---- NCCL or copies ---- */

/* Why a replica cannot take part in NCCL's all-reduce; NULL: it can. */
static const char *reason_against_nccl(const gantry_strategy_t *strategy, gantry_runtime_t *runtime,
                                       size_t replica) {
    const gantry_logical_device_t *device, *before;
    bool has_kernel = false;
    if (gantry_find_logical_device(runtime, strategy->devices[replica], &device) != GANTRY_OK ||
        gantry_op_has_kernel(runtime, "NcclAllReduce", device, GANTRY_FLOAT32, &has_kernel, NULL) !=
            GANTRY_OK ||
        !has_kernel)
        return "has no kernel of NcclAllReduce: it is not one of several NVIDIA cards, or NCCL is missing";
    for (size_t r = 0; r < replica && !gantry__shares_cards(); ++r) {
        if (gantry_find_logical_device(runtime, strategy->devices[r], &before) == GANTRY_OK &&
            gantry_logical_device_physical(before) == gantry_logical_device_physical(device))
            return "is a part of a card that has another replica";
    }
    return NULL;
}

static void choose_reduction(gantry_strategy_t *strategy, gantry_runtime_t *runtime) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    strategy->has_nccl = strategy->count > 1;
    for (size_t r = 0; r < strategy->count && strategy->has_nccl; ++r) {
        const char *reason = reason_against_nccl(strategy, runtime, r);
        if (!reason) continue;
        strategy->has_nccl = false;
        (void)snprintf(text, sizeof text, "Gradients are reduced by copies between devices: %s %s",
                       strategy->devices[r], reason);
        (void)gantry_runtime_log(runtime, GANTRY_LEVEL_DEBUG, text);
    }
}

/* ---- all devices of a type ---- */

static gantry_status_t strategy_add_all(gantry_strategy_t *strategy, gantry_runtime_t *runtime,
                                        const char *type) {
    const gantry_logical_device_t *devices[256];
    size_t count = 0;
    GANTRY__TRY(gantry_list_logical_devices(runtime, type, 256, devices, &count));
    if (count > 256) count = 256;
    strategy->devices = gantry__alloc(count, sizeof *strategy->devices);
    if (!strategy->devices) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) GANTRY__TRY(strategy_add_device(strategy, devices[i]));
    return GANTRY_OK;
}

static gantry_status_t add_default(gantry_strategy_t *strategy, gantry_runtime_t *runtime) {
    GANTRY__TRY(strategy_add_all(strategy, runtime, "GPU"));
    if (strategy->count > 0) return GANTRY_OK;
    gantry__free((void *)strategy->devices);
    strategy->devices = NULL;
    GANTRY__TRY(strategy_add_all(strategy, runtime, "CPU"));
    if (strategy->count > 0) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "Got an empty `devices` list and unable to recognize any local devices.");
}

/* ---- named devices ---- */

/* "/device:gpu:0": a full name has its type in capitals; "/gpu:0" is a short form. */
static gantry_status_t strategy_check_type(const char *name) {
    const char *type = strstr(name, "device:");
    if (!type) return GANTRY_OK;
    type += strlen("device:");
    const size_t length = strcspn(type, ":/");
    for (size_t i = 0; i < length; ++i) {
        if (type[i] >= 'a' && type[i] <= 'z')
            return gantry__train_refuse(NULL, "Device type '%.*s' must be all-caps.", (int)length,
                                        type);
    }
    return GANTRY_OK;
}

static gantry_status_t add_named(gantry_strategy_t *strategy, gantry_runtime_t *runtime,
                                 const char *const *names, size_t count) {
    strategy->devices = gantry__alloc(count, sizeof *strategy->devices);
    if (!strategy->devices) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) {
        const gantry_logical_device_t *device;
        if (!names[i])
            return gantry__train_refuse(NULL, "gantry_mirrored_strategy: device %zu is NULL", i);
        GANTRY__TRY(strategy_check_type(names[i]));
        GANTRY__TRY(gantry_find_logical_device(runtime, names[i], &device));
        GANTRY__TRY(strategy_add_device(strategy, device));
    }
    return GANTRY_OK;
}

static gantry_status_t strategy_fill(gantry_strategy_t *strategy, gantry_runtime_t *runtime,
                                     const char *const *devices, size_t count) {
    if (!runtime)
        return gantry__train_fail_null(NULL, "gantry_mirrored_strategy", "runtime",
                                       "one from gantry_runtime_create");
    if (!devices) return add_default(strategy, runtime);
    if (count == 0) return gantry__train_refuse(NULL, "Must specify at least one device.");
    return add_named(strategy, runtime, devices, count);
}

static gantry_strategy_t *finish_strategy(gantry_strategy_t *strategy, gantry_runtime_t *runtime,
                                          gantry_status_t status) {
    if (status != GANTRY_OK) {
        gantry_strategy_release(strategy);
        return NULL;
    }
    strategy_log(runtime, strategy);
    choose_reduction(strategy, runtime);
    return strategy;
}

gantry_strategy_t *gantry_mirrored_strategy(gantry_runtime_t *runtime, const char *const *devices,
                                            size_t count) {
    gantry_strategy_t *strategy = gantry__alloc(1, sizeof *strategy);
    if (!strategy) return NULL;
    return finish_strategy(strategy, runtime, strategy_fill(strategy, runtime, devices, count));
}

/* ---- several processes ---- */

static gantry_status_t copy_communicator(const gantry_communicator_t *given,
                                         gantry_communicator_t *c) {
    if (!given)
        return gantry__train_fail_null(NULL, "gantry_multi_worker_strategy", "communicator", "one");
    GANTRY__TRY(gantry__struct_read(given, sizeof *c, c, sizeof *c,
                                    "gantry_multi_worker_strategy: the communicator"));
    if (!c->all_reduce || !c->broadcast)
        return gantry__train_refuse(
            NULL,
            "gantry_multi_worker_strategy: the communicator's %s is NULL; a function is accepted",
            c->all_reduce ? "broadcast" : "all_reduce");
    if (c->size == 0 || c->rank >= c->size || c->local_rank >= c->size)
        return gantry__train_refuse(
            NULL,
            "gantry_multi_worker_strategy: rank %zu, local rank %zu, of %zu processes; ranks below the number are accepted",
            c->rank, c->local_rank, c->size);
    return GANTRY_OK;
}

/* One device for each process of a machine, in turn. */
static gantry_status_t fill_worker(gantry_strategy_t *strategy, gantry_runtime_t *runtime,
                                   const char *const *devices, size_t count) {
    size_t gpus = 0;
    char name[32];
    const char *const list[] = {name};
    if (devices || !runtime) return strategy_fill(strategy, runtime, devices, count);
    GANTRY__TRY(gantry_list_logical_devices(runtime, "GPU", 0, NULL, &gpus));
    (void)snprintf(name, sizeof name, gpus ? "GPU:%zu" : "CPU:0",
                   gpus ? strategy->communicator.local_rank % gpus : 0);
    return add_named(strategy, runtime, list, 1);
}

gantry_strategy_t *gantry_multi_worker_strategy(gantry_runtime_t *runtime,
                                                const char *const *devices, size_t count,
                                                const gantry_communicator_t *communicator) {
    gantry_communicator_t copy;
    if (copy_communicator(communicator, &copy) != GANTRY_OK) return NULL;
    gantry_strategy_t *strategy = gantry__alloc(1, sizeof *strategy);
    if (!strategy) return NULL;
    strategy->communicator = copy;
    return finish_strategy(strategy, runtime, fill_worker(strategy, runtime, devices, count));
}

const gantry_communicator_t *gantry__strategy_communicator(const gantry_strategy_t *strategy) {
    return strategy && strategy->communicator.size ? &strategy->communicator : NULL;
}

void gantry_strategy_release(gantry_strategy_t *strategy) {
    if (!strategy) return;
    for (size_t i = 0; i < strategy->count; ++i) gantry__free(strategy->devices[i]);
    gantry__free((void *)strategy->devices);
    gantry__free(strategy);
}

size_t gantry_strategy_replica_count(const gantry_strategy_t *strategy) {
    return strategy ? strategy->count : 0;
}

const char *gantry_strategy_device(const gantry_strategy_t *strategy, size_t replica) {
    return strategy && replica < strategy->count ? strategy->devices[replica] : NULL;
}
