/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a runtime, in its order:
 *
 *   create      options and environment become settings; backends, devices, plans and records are
 *               made on top of each other, and unmade in reverse where one fails
 *   initialise  runtime_tables.c
 *   release     the last reference ends it; like synchronize, it waits for all devices, and for
 *               calls that were started
 *
 * runtime_words.c keeps requests and tags. Calls that only read or set something are in src/api. */
#include <gantry/runtime.h>

#include <stdio.h>

#include "base/fp_mode.h"
#include "base/setting_check.h"
#include "base/setting_rows.h"
#include "device/adopted.h"
#include "device/device_open.h"
#include "device/device_times.h"
#include "device/fault.h"
#include "device/physical_device.h"
#include "run/tensor_state.h"
#include "shared/struct_size.h"

const char *gantry_version(void) { return GANTRY_VERSION; }

/* ---- create ---- */

static gantry_status_t read_switches(gantry_runtime_t *runtime) {
    static const char *const policies[] = {"explicit", "warn", "silent", "silent_for_int32"};
    static const char *const modes[] = {"prefer", "warn", "require"};
    bool soft = true, log = false;
    runtime->switches = (gantry__switches_t){false, false, false};
    GANTRY__TRY(gantry__settings_get_bool(&runtime->settings, "GANTRY_CROSSOVER",
                                          &runtime->switches.crossover));
    GANTRY__TRY(gantry__settings_get_bool(&runtime->settings, "GANTRY_BATCH_INVARIANT",
                                          &runtime->switches.batch_invariant));
    GANTRY__TRY(gantry__settings_get_bool(&runtime->settings, "GANTRY_ANY_ORDER",
                                          &runtime->switches.any_order));
    int policy = GANTRY_POLICY_SILENT - 1, mode = GANTRY_PLACEMENT_PREFER - 1;
    GANTRY__TRY(gantry__settings_get_bool(&runtime->settings, "GANTRY_SOFT_PLACEMENT", &soft));
    GANTRY__TRY(gantry__settings_get_bool(&runtime->settings, "GANTRY_LOG_PLACEMENT", &log));
    GANTRY__TRY(gantry__settings_get_word(&runtime->settings, "GANTRY_DEVICE_POLICY", policies, 4,
                                          &policy));
    GANTRY__TRY(gantry__settings_get_word(&runtime->settings, "GANTRY_PLACEMENT", modes, 3, &mode));
    atomic_init(&runtime->soft_placement, soft);
    atomic_init(&runtime->log_placement, log);
    atomic_init(&runtime->device_policy, policy + 1);
    atomic_init(&runtime->placement_mode, mode + 1);
    return GANTRY_OK;
}

/* Reads the setting of the profile. It must be called after the device table is initialised,
 * because that clears the devices' mode. */
static gantry_status_t read_profile(gantry_runtime_t *runtime) {
    static const char *const words[] = {"off", "on", "wait"};
    int word = 0;
    GANTRY__TRY(gantry__settings_get_word(&runtime->settings, "GANTRY_PROFILE", words, 3, &word));
    if (word == 0) return GANTRY_OK;
    gantry__profile_restart(&runtime->profile, (gantry_profile_mode_t)(word + 1));
    (void)gantry__device_set_profile(&runtime->devices, word + 1);
    return GANTRY_OK;
}

/* ---- timeline ---- */

gantry_status_t gantry__runtime_trace(gantry_runtime_t *runtime, const char *path, bool is_lazy) {
    gantry__mutex_lock(&runtime->lock);
    gantry__timeline_t *timeline = atomic_load(&runtime->devices.timeline);
    gantry_status_t status =
        timeline ? GANTRY_OK : gantry__timeline_create(&runtime->heap, &runtime->log, &timeline);
    if (status == GANTRY_OK) {
        atomic_store(&runtime->devices.timeline, timeline);
        status = gantry__timeline_start(timeline, path, is_lazy);
    }
    if (status == GANTRY_OK) (void)gantry__device_set_tracing(&runtime->devices, true);
    gantry__mutex_unlock(&runtime->lock);
    return status;
}

gantry_status_t gantry__runtime_end_trace(gantry_runtime_t *runtime) {
    gantry__timeline_t *timeline = atomic_load(&runtime->devices.timeline);
    (void)gantry__device_set_tracing(&runtime->devices, false);
    for (size_t i = 0; timeline && i < runtime->devices.logical_count; ++i)
        if (atomic_load(&runtime->devices.logical[i]->is_open))
            gantry__device_times_finish(runtime->devices.logical[i]);
    return gantry__timeline_stop(timeline);
}

/* A file that cannot be written does not keep the program from its work; the log gets a line. */
static void read_trace(gantry_runtime_t *runtime) {
    const char *path = gantry__settings_get(&runtime->settings, "GANTRY_TRACE", NULL);
    if (!path || !*path || gantry__runtime_trace(runtime, path, true) == GANTRY_OK) return;
    gantry__log(&runtime->log, GANTRY_LEVEL_WARNING, "No timeline is written: %s",
                gantry__message());
}

/* The CPU backend reads the first setting itself when its device is opened. */
static gantry_status_t read_threads(gantry_runtime_t *runtime) {
    uint64_t threads = 0;
    int32_t between = 0;
    GANTRY__TRY(gantry__settings_get_number(&runtime->settings, "GANTRY_CPU_THREADS",
                                            GANTRY__MOST_THREADS, "threads (0: all cores)",
                                            &threads));
    GANTRY__TRY(gantry__settings_get_signed(&runtime->settings, "GANTRY_INTER_OP_THREADS",
                                            GANTRY__MOST_THREADS, "threads between ops", &between));
    atomic_init(&runtime->threads.in_ops, (int)threads);
    atomic_init(&runtime->threads.between_ops, between);
    return GANTRY_OK;
}

static gantry_status_t init_parts(gantry_runtime_t *runtime,
                                  const gantry_runtime_options_t *options) {
    gantry_status_t status = gantry__settings_init(&runtime->settings, &runtime->heap);
    if (status != GANTRY_OK) return status;
    status = gantry__options_put(&runtime->settings, options);
    if (status == GANTRY_OK) status = read_threads(runtime);
    if (status == GANTRY_OK) status = gantry__log_open(&runtime->log, &runtime->settings);
    if (status == GANTRY_OK) status = read_switches(runtime);
    int probe_mode = GANTRY__PROBE_AUTO;
    if (status == GANTRY_OK)
        status = gantry__settings_get_word(&runtime->settings, "GANTRY_DEVICE_PROBE",
                                           (const char *const[]){"auto", "inside", "off", "on"}, 4,
                                           &probe_mode);
    if (probe_mode > GANTRY__PROBE_OFF) probe_mode = GANTRY__PROBE_AUTO; /* on */
    if (status != GANTRY_OK) goto fail_settings;
    status = gantry__binary_store_init(&runtime->store, &runtime->heap, &runtime->log,
                                       &runtime->settings, NULL);
    if (status != GANTRY_OK) goto fail_settings;
    status = gantry__backend_set_init(&runtime->backends, &runtime->heap, &runtime->log,
                                      &runtime->settings, NULL, NULL);
    if (status != GANTRY_OK) goto fail_store;
    status = gantry__device_table_init(&runtime->devices, &runtime->heap, &runtime->log,
                                       &runtime->settings, &runtime->backends);
    if (status != GANTRY_OK) goto fail_backends;
    status = gantry__adopted_find(&runtime->devices, options->adopted, options->adopted_count);
    if (status != GANTRY_OK) goto fail_devices;
    gantry__settings_warn_of_unknown(&runtime->settings, &runtime->log,
                                     runtime->devices.backend_names,
                                     runtime->devices.backend_name_count);
    runtime->probe = (gantry__view_probe_t){&runtime->heap, &runtime->log, &runtime->store,
                                            &runtime->counters, probe_mode};
    runtime->devices.probe = gantry__view_probe;
    runtime->devices.vet = gantry__view_vet;
    runtime->devices.learn = gantry__view_learn;
    runtime->devices.probe_user = &runtime->probe;
    gantry__view_recall(&runtime->probe, &runtime->devices);
    status = gantry__plan_cache_init(&runtime->plans, &runtime->heap);
    if (status != GANTRY_OK) goto fail_devices;
    gantry__placement_log_init(&runtime->placements);
    status = gantry__random_state_init(&runtime->random, &runtime->heap);
    if (status != GANTRY_OK) goto fail_plans;
    if (gantry__jobs_init(&runtime->jobs, &runtime->heap) != 0) {
        status = gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
        goto fail_random;
    }
    status = gantry__profile_init(&runtime->profile, &runtime->heap, &runtime->devices);
    if (status != GANTRY_OK) goto fail_jobs;
    status = read_profile(runtime);
    if (status != GANTRY_OK) goto fail_profile;
    if (gantry__mutex_init(&runtime->lock) == 0) {
        read_trace(runtime);
        return GANTRY_OK;
    }
    status = gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
fail_profile:
    gantry__profile_deinit(&runtime->profile);
fail_jobs:
    gantry__jobs_deinit(&runtime->jobs);
fail_random:
    gantry__random_state_deinit(&runtime->random);
fail_plans:
    gantry__plan_cache_deinit(&runtime->plans);
fail_devices:
    gantry__device_table_deinit(&runtime->devices);
fail_backends:
    gantry__backend_set_deinit(&runtime->backends);
fail_store:
    gantry__binary_store_deinit(&runtime->store);
fail_settings:
    gantry__log_close(&runtime->log);
    gantry__settings_deinit(&runtime->settings);
    return status;
}

gantry_status_t gantry_runtime_create(const gantry_runtime_options_t *given,
                                      gantry_runtime_t **out_runtime) {
    GANTRY__OWN_FP_MODE(fp);
    if (!out_runtime) return gantry__refuse("gantry_runtime_create: out_runtime is NULL");
    *out_runtime = NULL;
    const uint32_t before = gantry__failures();
    gantry_runtime_options_t options;
    GANTRY__TRY(gantry__struct_read(given, 0, &options, sizeof options, "runtime options"));
    gantry__heap_t heap = gantry__heap_default;
    if (options.reallocate) heap = (gantry__heap_t){options.reallocate, options.reallocate_user};
    gantry_runtime_t *runtime = gantry__heap_zalloc(&heap, sizeof *runtime);
    if (!runtime) return GANTRY_RESOURCE_EXHAUSTED;
    runtime->heap = heap;
    runtime->log =
        (gantry__log_t){.write = options.log, .user = options.log_user, .level = GANTRY_LEVEL_INFO};
    atomic_init(&runtime->references, 1);
    gantry_status_t status = gantry__fork_guard_init(&runtime->fork, "runtime");
    if (status == GANTRY_OK) status = init_parts(runtime, &options);
    if (status != GANTRY_OK) {
        gantry__fork_guard_deinit(&runtime->fork);
        gantry__heap_free(&heap, runtime, sizeof *runtime);
        return status;
    }
    gantry__forget_since(before); /* gantry_backend_status reports absent backends */
    *out_runtime = runtime;
    return GANTRY_OK;
}

/* ---- release ---- */

gantry_status_t gantry__runtime_check(const gantry_runtime_t *runtime) {
    if (!runtime)
        return gantry__refuse("the runtime is NULL; one from gantry_runtime_create is accepted");
    if (!gantry__runtime_is_ours(runtime)) return gantry__fork_guard_fail(&runtime->fork);
    if (atomic_load_explicit(&runtime->is_released, memory_order_acquire)) {
        return gantry__fail(GANTRY_FAILED_PRECONDITION,
                            "the runtime was released; its objects may only be released now");
    }
    return GANTRY_OK;
}

gantry_status_t gantry__runtime_check_slowly(const gantry_runtime_t *runtime) {
    if (runtime && !gantry__fork_guard_ask(&runtime->fork))
        return gantry__fork_guard_fail(&runtime->fork);
    return gantry__runtime_check(runtime);
}

gantry_runtime_t *gantry__runtime_retain(gantry_runtime_t *runtime, uint64_t count) {
    atomic_fetch_add_explicit(&runtime->references, count, memory_order_relaxed);
    return runtime;
}

static void release_spare_tensors(gantry_runtime_t *runtime) {
    while (runtime->spares.first) {
        gantry_tensor_t *tensor = runtime->spares.first;
        runtime->spares.first = tensor->next;
        gantry__heap_free(&runtime->heap, tensor, sizeof *tensor);
    }
}

/* Synchronises every device, even after one failed; keeps the first failure and its text. */
static void synchronize_all(gantry_runtime_t *runtime, gantry_status_t *out_first) {
    char text[GANTRY__MESSAGE_BYTES];
    *out_first = GANTRY_OK;
    for (size_t i = 0; i < runtime->devices.logical_count; ++i) {
        gantry_logical_device_t *device = runtime->devices.logical[i];
        if (!atomic_load(&device->is_open)) continue;
        gantry_status_t status = gantry__logical_device_synchronize(device);
        if (status == GANTRY_OK || *out_first != GANTRY_OK) continue;
        *out_first = status;
        (void)snprintf(text, sizeof text, "%s", gantry__message());
    }
    if (*out_first != GANTRY_OK) (void)gantry__fail(*out_first, "%s", text);
}

/* Reports the faults of kernels that no call reported: the error of the earliest op. */
static gantry_status_t tell_faults(gantry_runtime_t *runtime) {
    gantry__fault_t *first = NULL, *fault;
    gantry_status_t status = GANTRY_OK;
    for (size_t i = 0; i < runtime->devices.logical_count && status == GANTRY_OK; ++i) {
        gantry_logical_device_t *device = runtime->devices.logical[i];
        if (!atomic_load(&device->is_open)) continue;
        status = gantry__fault_settle_all(device, &fault);
        if (!fault) continue;
        const bool is_first = !first || fault->order < first->order;
        gantry__fault_release(is_first ? first : fault);
        if (is_first) first = fault;
    }
    if (first) status = gantry__fault_settle(first);
    gantry__fault_release(first);
    return status;
}

static void runtime_destroy(gantry_runtime_t *runtime) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_status_t unread;
    gantry__jobs_deinit(&runtime->jobs);
    synchronize_all(runtime, &unread);
    release_spare_tensors(runtime);
    gantry__runtime_release_tables(runtime);
    gantry__runtime_release_words(runtime);
    gantry__profile_deinit(&runtime->profile);
    gantry__random_state_deinit(&runtime->random);
    gantry__repeats_deinit(&runtime->repeats, &runtime->heap);
    gantry__plan_cache_deinit(&runtime->plans);
    gantry__timeline_destroy(atomic_load(&runtime->devices.timeline));
    gantry__device_table_deinit(&runtime->devices);
    gantry__backend_set_deinit(&runtime->backends);
    gantry__binary_store_deinit(&runtime->store);
    gantry__log_close(&runtime->log);
    gantry__settings_deinit(&runtime->settings);
    gantry__mutex_deinit(&runtime->lock);
    gantry__fork_guard_deinit(&runtime->fork);
    gantry__heap_t heap = runtime->heap;
    gantry__heap_free(&heap, runtime, sizeof *runtime);
}

void gantry__runtime_drop(gantry_runtime_t *runtime, uint64_t count) {
    if (atomic_fetch_sub_explicit(&runtime->references, count, memory_order_acq_rel) == count)
        runtime_destroy(runtime);
}

void gantry_runtime_release(gantry_runtime_t *runtime) {
    GANTRY__OWN_FP_MODE(fp);
    if (!runtime || !gantry__fork_guard_ask(&runtime->fork)) return;
    if (gantry__jobs_are_here(&runtime->jobs)) {
        (void)gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_runtime_release: a callback of a started call releases the runtime, which would wait for the callback; another thread is accepted");
        return;
    }
    gantry__jobs_close(&runtime->jobs);
    if (atomic_exchange(&runtime->is_released, true)) return;
    const uint32_t before = gantry__failures();
    gantry_status_t unread; /* errors that no read reported end here */
    synchronize_all(runtime, &unread);
    if (atomic_load(&runtime->devices.timeline)) (void)gantry__runtime_end_trace(runtime);
    gantry__runtime_drop(runtime, 1);
    gantry__forget_since(before);
}

gantry_status_t gantry_runtime_synchronize(gantry_runtime_t *runtime) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__runtime_check_well(runtime));
    gantry_status_t first;
    GANTRY__RECORD(recorded, runtime, GANTRY__PROFILE_SYNCHRONIZE, NULL);
    if (!gantry__jobs_are_here(&runtime->jobs)) gantry__jobs_drain(&runtime->jobs);
    synchronize_all(runtime, &first);
    if (first == GANTRY_OK) first = tell_faults(runtime);
    return first;
}
