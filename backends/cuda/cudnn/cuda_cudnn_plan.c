/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, keeps and runs plans of cuDNN (cuda_cudnn_plan.h). */
#include "cuda/cudnn/cuda_cudnn_plan.h"

#include <stdio.h>
#include <string.h>

#include "cuda/cuda_backend.h"
#include "cuda/cudnn/cuda_cudnn_record.h"

/* ---- texts ---- */

#define FORM_TEXT_BYTES 200

static void cudnn_plan_write_form(const gantry__cudnn_form_t *form, char text[FORM_TEXT_BYTES]) {
    static const char *const names[] = {"the convolution", "the gradient of the images",
                                        "the gradient of the filter"};
    (void)snprintf(text, FORM_TEXT_BYTES,
                   "%s of images [%lld, %lld, %lld, %lld] by a filter [%lld, %lld, %lld, %lld]",
                   names[form->what], (long long)form->image[0], (long long)form->image[2],
                   (long long)form->image[3], (long long)form->image[1], (long long)form->filter[2],
                   (long long)form->filter[3], (long long)form->filter[1],
                   (long long)form->filter[0]);
}

static void cudnn_plan_log(const gantry_backend_device_t *device, const gantry__cudnn_form_t *form,
                           int32_t level, const char *reason) {
    char text[FORM_TEXT_BYTES];
    cudnn_plan_write_form(form, text);
    gantry__host_log(device->host, level, "cuDNN does not compute %s on \"%.120s\": %s", text,
                     device->record->hardware_name, reason);
}

/* The library's name for a status and its words. */
static void cudnn_plan_write_reason(const gantry__cudnn_parts_t *parts, char *text,
                                    size_t text_bytes) {
    (void)snprintf(text, text_bytes, "%s (%u)%s%s",
                   parts->cudnn->cudnnGetErrorString(parts->status), parts->status,
                   parts->reason[0] ? ": " : "", parts->reason);
}

/* ---- the handle ---- */

int32_t gantry__cudnn_begin(gantry_backend_device_t *device) {
    return gantry__driver_mutex_init(device->host, &device->cudnn_lock, "cuDNN");
}

static void cudnn_plan_refuse_device(const gantry_backend_device_t *device, const char *reason) {
    gantry__host_log(device->host, GANTRY_LEVEL_INFO,
                     "convolutions on \"%.120s\" take patches and matrix products: %s",
                     device->record->hardware_name, reason);
}

/* The lock must be held, and the context current. */
static void cudnn_plan_make_handle(gantry_backend_device_t *device) {
    const gantry__cudnn_t *cudnn = &device->instance->cudnn;
    gantry__cudnn_parts_t parts;
    char reason[300], whole[600];
    gantry__cudnn_parts_begin(cudnn, &parts);
    gantry__library_memory_note(device, &device->cudnn_memory);
    gantry__cudnn_parts_note(&parts, cudnn->cudnnCreate(&device->cudnn.handle));
    if (parts.status == GANTRY__CUDNN_SUCCESS) return;
    device->cudnn.handle = NULL;
    cudnn_plan_write_reason(&parts, reason, sizeof reason);
    (void)snprintf(whole, sizeof whole, "%s does not start there: %s", cudnn->library.name, reason);
    cudnn_plan_refuse_device(device, whole);
}

/* Opens the library and makes the handle on the first call. The lock must be held. */
static bool cudnn_plan_start(gantry_backend_device_t *device) {
    gantry__cudnn_device_t *own = &device->cudnn;
    char reason[600];
    if (own->is_tried) return own->handle;
    if (!gantry__cuda_has_cudnn(device->instance, reason, sizeof reason)) {
        own->is_tried = true;
        cudnn_plan_refuse_device(device, reason);
        return false;
    }
    if (gantry__cuda_enter(device) != GANTRY__CU_SUCCESS) return false;
    own->is_tried = true;
    cudnn_plan_make_handle(device);
    gantry__cuda_leave(device);
    return own->handle;
}

/* ---- plans ---- */

static void cudnn_plan_release(gantry_backend_device_t *device, gantry__cudnn_plan_t *plan) {
    gantry__cudnn_table_take(&device->cudnn, plan);
    gantry__cudnn_parts_end(&plan->parts);
    gantry__host_free(device->host, plan, sizeof *plan);
}

static void cudnn_plan_drop_oldest(gantry_backend_device_t *device) {
    cudnn_plan_release(device, gantry__cudnn_table_oldest(&device->cudnn));
}

/* An entry of the form without a plan; NULL without host memory. */
static gantry__cudnn_plan_t *cudnn_plan_add(gantry_backend_device_t *device,
                                            const gantry__cudnn_form_t *form) {
    gantry__cudnn_plan_t *plan = gantry__driver_alloc(device->host, sizeof *plan);
    if (!plan) return NULL;
    if (device->cudnn.count == GANTRY__CUDNN_PLANS) cudnn_plan_drop_oldest(device);
    plan->form = *form;
    gantry__cudnn_table_keep(&device->cudnn, plan);
    gantry__cudnn_parts_begin(&device->instance->cudnn, &plan->parts);
    return plan;
}

/* Gives the handle up, when a part of the library is missing. The context must be current. */
static void cudnn_plan_end_handle(gantry_backend_device_t *device, const char *reason) {
    char whole[600];
    device->instance->cudnn.cudnnDestroy(device->cudnn.handle);
    device->cudnn.handle = NULL;
    (void)snprintf(whole, sizeof whole, "%s is not complete: %s",
                   device->instance->cudnn.library.name, reason);
    cudnn_plan_refuse_device(device, whole);
}

/* ---- records of the tuning file ---- */

/* A form's texts, and what the tuning file says of it. */
typedef struct cudnn_lookup_t {
    bool has_name;
    char form[GANTRY__CUDNN_FORM_BYTES], name[GANTRY__CUDNN_NAME_BYTES];
    gantry_tuning_t given; /* values NULL: there is no record that can be used */
    gantry__cudnn_record_t record;
} cudnn_lookup_t;

static gantry__cudnn_machine_t cudnn_plan_machine(const gantry_backend_device_t *device) {
    return (gantry__cudnn_machine_t){.version = (int64_t)device->instance->cudnn.cudnnGetVersion(),
                                     .capability = device->record->capability};
}

/* Leaves the record, which a line of the log then says. */
static void cudnn_plan_leave_record(const gantry_backend_device_t *device, cudnn_lookup_t *lookup,
                                    const char *reason) {
    gantry__host_log(device->host, GANTRY_LEVEL_WARNING,
                     "Tuning file %.200s, line %u: %s is not used: %s", lookup->given.file,
                     lookup->given.line, lookup->name, reason);
    lookup->given.values = NULL;
    lookup->record = (gantry__cudnn_record_t){.recipe = {.engine = -1}};
}

static void cudnn_plan_look_up(const gantry_backend_device_t *device,
                               const gantry__cudnn_form_t *form, cudnn_lookup_t *out) {
    const gantry_host_t *host = device->host;
    *out = (cudnn_lookup_t){.given = {.struct_size = sizeof out->given},
                            .record = {.recipe = {.engine = -1}}};
    out->has_name = gantry__cudnn_record_name(form, out->form, out->name);
    if (!out->has_name || !GANTRY_ABI_HAS(host, tuning) || !host->tuning) return;
    if (!host->tuning(host->self, &device->record->info, out->name, &out->given)) {
        out->given.values = NULL;
        return;
    }
    const char *reason = gantry__cudnn_record_read(out->given.values, out->form,
                                                   cudnn_plan_machine(device), &out->record);
    if (reason) cudnn_plan_leave_record(device, out, reason);
}

/* Which plan serves, and why. */
static void cudnn_plan_explain(const gantry_backend_device_t *device, const cudnn_lookup_t *lookup,
                               const gantry__cudnn_choice_t *choice) {
    char values[GANTRY__CUDNN_VALUES_BYTES], why[300];
    if (!lookup->has_name || !gantry__cudnn_record_write(lookup->form, &choice->recipe,
                                                         cudnn_plan_machine(device), values))
        return;
    if (lookup->given.values)
        (void)snprintf(why, sizeof why, "line %u of the tuning file %.200s", lookup->given.line,
                       lookup->given.file);
    else
        (void)snprintf(why, sizeof why,
                       "number %d of the library's list, the first that keeps precision and order",
                       choice->offered);
    gantry__host_log(device->host, GANTRY_LEVEL_DEBUG, "cuDNN plan %s %s; %llu bytes; %s",
                     lookup->name, values, (unsigned long long)choice->workspace_bytes, why);
}

/* Makes the plan by the form's record, or by the library's list. */
static void cudnn_plan_choose(gantry_backend_device_t *device, gantry__cudnn_plan_t *plan) {
    gantry__cudnn_wanted_t wanted = {.handle = device->cudnn.handle, .form = &plan->form};
    cudnn_lookup_t lookup;
    char reason[200];
    wanted.graph = gantry__cudnn_graph(&plan->parts, wanted.handle, wanted.form);
    if (!wanted.graph) return;
    cudnn_plan_look_up(device, wanted.form, &lookup);
    if (lookup.record.recipe.engine >= 0 &&
        !gantry__cudnn_restore(&plan->parts, &wanted, &lookup.record.recipe, &plan->choice, reason))
        cudnn_plan_leave_record(device, &lookup, reason);
    wanted.passed_over = lookup.record.passed_over;
    if (!plan->choice.plan) gantry__cudnn_choose(&plan->parts, &wanted, &plan->choice);
    if (plan->choice.plan) cudnn_plan_explain(device, &lookup, &plan->choice);
}

/* The context must be current. A failure for lack of host memory is not kept. */
static gantry__cudnn_plan_t *cudnn_plan_make(gantry_backend_device_t *device,
                                             const gantry__cudnn_form_t *form) {
    char reason[400];
    gantry__cudnn_plan_t *plan = cudnn_plan_add(device, form);
    if (!plan) return NULL;
    cudnn_plan_choose(device, plan);
    if (plan->choice.plan) return plan;
    cudnn_plan_write_reason(&plan->parts, reason, sizeof reason);
    const gantry__cudnn_status_t status = plan->parts.status;
    if (GANTRY__CUDNN_CLASS_OF(status) == GANTRY__CUDNN_NOT_STARTED ||
        status == GANTRY__CUDNN_HOST_ALLOCATION_FAILED) {
        cudnn_plan_release(device, plan);
        if (status != GANTRY__CUDNN_HOST_ALLOCATION_FAILED) cudnn_plan_end_handle(device, reason);
        return NULL;
    }
    cudnn_plan_log(device, form, GANTRY_LEVEL_INFO, reason);
    return plan;
}

/* The kept plan of the form, or a new one; NULL: there is no handle, context or host memory. The
 * lock must be held. */
static gantry__cudnn_plan_t *cudnn_plan_take(gantry_backend_device_t *device,
                                             const gantry__cudnn_form_t *form) {
    if (!cudnn_plan_start(device)) return NULL;
    gantry__cudnn_plan_t *plan = gantry__cudnn_table_find(&device->cudnn, form);
    if (plan || gantry__cuda_enter(device) != GANTRY__CU_SUCCESS) return plan;
    plan = cudnn_plan_make(device, form);
    gantry__cuda_leave(device);
    return plan;
}

bool gantry__cudnn_takes(gantry_backend_device_t *device, const gantry__cudnn_form_t *form,
                         uint64_t *out_workspace_bytes) {
    gantry__mutex_lock(&device->cudnn_lock);
    const gantry__cudnn_plan_t *plan = cudnn_plan_take(device, form);
    const bool takes = plan && plan->choice.plan;
    *out_workspace_bytes = takes ? plan->choice.workspace_bytes : 0;
    gantry__mutex_unlock(&device->cudnn_lock);
    return takes;
}

/* Keeps the refusal; the lock must be held. */
static void cudnn_plan_give_up(gantry_backend_device_t *device, gantry__cudnn_plan_t *plan,
                               const char *reason) {
    gantry__cudnn_parts_end(&plan->parts);
    plan->choice.plan = NULL;
    cudnn_plan_log(device, &plan->form, GANTRY_LEVEL_WARNING, reason);
}

void gantry__cudnn_refuse(gantry_backend_device_t *device, const gantry__cudnn_form_t *form,
                          const char *reason) {
    gantry__mutex_lock(&device->cudnn_lock);
    gantry__cudnn_plan_t *plan = gantry__cudnn_table_find(&device->cudnn, form);
    if (!plan) plan = cudnn_plan_add(device, form);
    if (plan) cudnn_plan_give_up(device, plan, reason);
    gantry__mutex_unlock(&device->cudnn_lock);
}

/* ---- running ---- */

static void cudnn_plan_execute(gantry_backend_device_t *device, const gantry__cudnn_plan_t *plan,
                               const gantry__cudnn_operands_t *operands, gantry__cu_stream_t stream,
                               gantry__cudnn_parts_t *parts) {
    const gantry__cudnn_t *cudnn = &device->instance->cudnn;
    int64_t ids[GANTRY__CUDNN_OPERANDS], count = 0;
    void *pointers[GANTRY__CUDNN_OPERANDS], *workspace = (void *)(uintptr_t)operands->workspace;
    for (int64_t id = GANTRY__CUDNN_IMAGE; id <= GANTRY__CUDNN_OPERANDS; ++id) {
        if (operands->at[id] == 0) continue;
        pointers[count] = (void *)(uintptr_t)operands->at[id];
        ids[count++] = id;
    }
    gantry__cudnn_desc_t pack = gantry__cudnn_make(parts, GANTRY__CUDNN_PACK);
    gantry__cudnn_set(parts, pack, GANTRY__CUDNN_PACK_IDS, GANTRY__CUDNN_TYPE_INT64, count, ids);
    gantry__cudnn_set(parts, pack, GANTRY__CUDNN_PACK_POINTERS, GANTRY__CUDNN_TYPE_POINTER, count,
                      pointers);
    gantry__cudnn_set(parts, pack, GANTRY__CUDNN_PACK_WORKSPACE, GANTRY__CUDNN_TYPE_POINTER, 1,
                      &workspace);
    gantry__cudnn_finalize(parts, pack);
    if (parts->status == GANTRY__CUDNN_SUCCESS)
        gantry__cudnn_parts_note(parts, cudnn->cudnnSetStream(device->cudnn.handle, stream));
    if (parts->status == GANTRY__CUDNN_SUCCESS)
        gantry__cudnn_parts_note(
            parts, cudnn->cudnnBackendExecute(device->cudnn.handle, plan->choice.plan, pack));
}

/* A lost card appears as a failed execution, which only the driver's own answer distinguishes from
 * other failures. */
static bool cudnn_plan_is_lost(const gantry_backend_device_t *device) {
    size_t free_bytes, total_bytes;
    return gantry__driver_error_code(device->cu->cuMemGetInfo_v2(&free_bytes, &total_bytes)) ==
           GANTRY_UNAVAILABLE;
}

static int32_t cudnn_plan_fail(gantry_backend_device_t *device, gantry__cudnn_plan_t *plan,
                               const gantry__cudnn_parts_t *parts) {
    char form[FORM_TEXT_BYTES], reason[400], text[700];
    const bool is_lost = cudnn_plan_is_lost(device);
    const int32_t code = is_lost ? GANTRY_UNAVAILABLE
                         : parts->status == GANTRY__CUDNN_HOST_ALLOCATION_FAILED ||
                                 parts->status == GANTRY__CUDNN_DEVICE_ALLOCATION_FAILED
                             ? GANTRY_RESOURCE_EXHAUSTED
                             : GANTRY_INTERNAL;
    cudnn_plan_write_form(&plan->form, form);
    cudnn_plan_write_reason(parts, reason, sizeof reason);
    (void)snprintf(text, sizeof text, "%s: %s", form, reason);
    if (!is_lost) cudnn_plan_give_up(device, plan, reason);
    return device->host->set_error(device->host->self, code, "cuDNN", parts->status, text);
}

int32_t gantry__cudnn_run(gantry_backend_device_t *device, const gantry__cudnn_form_t *form,
                          const gantry__cudnn_operands_t *operands, gantry__cu_stream_t stream) {
    int32_t status = GANTRY_OK;
    gantry__cudnn_parts_t parts;
    gantry__cudnn_parts_begin(&device->instance->cudnn, &parts);
    gantry__mutex_lock(&device->cudnn_lock);
    gantry__cudnn_plan_t *plan = cudnn_plan_take(device, form);
    if (plan && plan->choice.plan) {
        cudnn_plan_execute(device, plan, operands, stream, &parts);
        if (parts.status != GANTRY__CUDNN_SUCCESS) status = cudnn_plan_fail(device, plan, &parts);
    } else {
        char text[FORM_TEXT_BYTES], error[FORM_TEXT_BYTES + 64];
        cudnn_plan_write_form(form, text);
        (void)snprintf(error, sizeof error, "%s: its plan was dropped, and cannot be made again",
                       text);
        status = device->host->set_error(device->host->self, GANTRY_RESOURCE_EXHAUSTED, "cuDNN", 0,
                                         error);
    }
    gantry__cudnn_parts_end(&parts);
    gantry__mutex_unlock(&device->cudnn_lock);
    return status;
}

/* ---- the end ---- */

/* Plans hold kernels of the context, so it must be current, too, when they are dropped. */
void gantry__cudnn_end(gantry_backend_device_t *device) {
    gantry__cudnn_device_t *own = &device->cudnn;
    const bool has_parts = own->handle || own->count > 0;
    const bool is_inside = has_parts && gantry__cuda_enter(device) == GANTRY__CU_SUCCESS;
    while (own->count > 0) cudnn_plan_drop_oldest(device);
    if (own->handle) device->instance->cudnn.cudnnDestroy(own->handle);
    if (is_inside) gantry__cuda_leave(device);
    gantry__mutex_deinit(&device->cudnn_lock);
}
