/* SPDX-License-Identifier: Apache-2.0 */
/* Describes forms to the library and keeps its answers (cuda_cublas_plan.h). */
#include "cuda/cublas/cuda_cublas_plan.h"

#include "cuda/cuda_backend.h"
#include "cuda/cublas/cuda_cublas.h"
#include "cuda/cublas/cuda_cublas_tuned.h"

/* ---- describing ---- */

static unsigned int element_type(int32_t dtype) {
    switch (dtype) {
        case GANTRY_FLOAT64: return GANTRY__CUBLAS_R_64F;
        case GANTRY_FLOAT16: return GANTRY__CUBLAS_R_16F;
        case GANTRY_BFLOAT16: return GANTRY__CUBLAS_R_16BF;
        default: return GANTRY__CUBLAS_R_32F;
    }
}

static unsigned int compute_type(const gantry_backend_device_t *device, int32_t dtype) {
    switch (dtype) {
        case GANTRY_FLOAT64: return GANTRY__CUBLAS_COMPUTE_64F;
        case GANTRY_FLOAT32: return device->instance->float32_products;
        default: return GANTRY__CUBLAS_COMPUTE_32F;
    }
}

static gantry__cublas_status_t describe_matrix(const gantry__cublas_t *lt,
                                               const gantry__cublas_form_t *form,
                                               const gantry__cublas_matrix_t *matrix,
                                               gantry__cublas_layout_t *out_layout) {
    gantry__cublas_status_t native =
        lt->cublasLtMatrixLayoutCreate(out_layout, element_type(form->dtype), matrix->rows,
                                       matrix->columns, (int64_t)matrix->rows);
    if (native == GANTRY__CUBLAS_SUCCESS && form->batch_count > 1) {
        native =
            lt->cublasLtMatrixLayoutSetAttribute(*out_layout, GANTRY__CUBLAS_LAYOUT_BATCH_COUNT,
                                                 &form->batch_count, sizeof form->batch_count);
        if (native == GANTRY__CUBLAS_SUCCESS) {
            native = lt->cublasLtMatrixLayoutSetAttribute(
                *out_layout, GANTRY__CUBLAS_LAYOUT_BATCH_STRIDE, &matrix->batch_stride,
                sizeof matrix->batch_stride);
        }
    }
    return native;
}

static gantry__cublas_status_t describe_order(const gantry__cublas_t *lt,
                                              gantry__cublas_desc_t desc,
                                              const gantry__cublas_matrix_t *matrix,
                                              unsigned int attribute) {
    int32_t order = matrix->is_transposed ? GANTRY__CUBLAS_TRANSPOSED : GANTRY__CUBLAS_PLAIN;
    return lt->cublasLtMatmulDescSetAttribute(desc, attribute, &order, sizeof order);
}

static gantry__cublas_status_t describe_epilogue(const gantry__cublas_t *lt,
                                                 gantry__cublas_desc_t desc, uint64_t epilogue) {
    const uint32_t number = (uint32_t)epilogue;
    if (number == GANTRY__CUBLAS_EPILOGUE_NONE) return GANTRY__CUBLAS_SUCCESS;
    return lt->cublasLtMatmulDescSetAttribute(desc, GANTRY__CUBLAS_DESC_EPILOGUE, &number,
                                              sizeof number);
}

gantry__cublas_status_t gantry__cublas_plan_describe(const gantry_backend_device_t *device,
                                                     const gantry__cublas_form_t *form,
                                                     gantry__cublas_desc_t *out_desc) {
    const gantry__cublas_t *lt = &device->instance->cublas;
    gantry__cublas_status_t native = lt->cublasLtMatmulDescCreate(
        out_desc, compute_type(device, form->dtype),
        form->dtype == GANTRY_FLOAT64 ? GANTRY__CUBLAS_R_64F : GANTRY__CUBLAS_R_32F);
    if (native == GANTRY__CUBLAS_SUCCESS)
        native = describe_order(lt, *out_desc, &form->left, GANTRY__CUBLAS_DESC_TRANSA);
    if (native == GANTRY__CUBLAS_SUCCESS)
        native = describe_order(lt, *out_desc, &form->right, GANTRY__CUBLAS_DESC_TRANSB);
    return native == GANTRY__CUBLAS_SUCCESS ? describe_epilogue(lt, *out_desc, form->epilogue)
                                            : native;
}

static gantry__cublas_status_t describe(const gantry_backend_device_t *device,
                                        gantry__cublas_plan_t *plan) {
    const gantry__cublas_t *lt = &device->instance->cublas;
    gantry__cublas_status_t native = gantry__cublas_plan_describe(device, &plan->form, &plan->desc);
    if (native == GANTRY__CUBLAS_SUCCESS)
        native = describe_matrix(lt, &plan->form, &plan->form.left, &plan->left);
    if (native == GANTRY__CUBLAS_SUCCESS)
        native = describe_matrix(lt, &plan->form, &plan->form.right, &plan->right);
    return native == GANTRY__CUBLAS_SUCCESS
               ? describe_matrix(lt, &plan->form, &plan->form.out, &plan->out)
               : native;
}

/* ---- choosing ---- */

/* The library assumes 256 bytes for each address unless it is given another alignment. Parts of a
 * sum of halves that were computed separately are added up as float32, and rounded once. */
static gantry__cublas_status_t set_limits(const gantry__cublas_t *lt,
                                          const gantry__cublas_form_t *form,
                                          gantry__cublas_preference_t preference) {
    static const uint32_t reductions[] = {GANTRY__CUBLAS_REDUCTION_ALL,
                                          GANTRY__CUBLAS_REDUCTION_COMPUTE_TYPE};
    const struct {
        unsigned int attribute;
        const void *value;
        size_t bytes;
    } limits[] = {
        {GANTRY__CUBLAS_PREFERENCE_MAX_WORKSPACE_BYTES, &form->most_workspace_bytes,
         sizeof(uint64_t)},
        {GANTRY__CUBLAS_PREFERENCE_REDUCTIONS, &reductions[gantry__k_is_half(form->dtype)],
         sizeof(uint32_t)},
        {GANTRY__CUBLAS_PREFERENCE_ALIGNMENT_A, &form->left.alignment, sizeof(uint32_t)},
        {GANTRY__CUBLAS_PREFERENCE_ALIGNMENT_B, &form->right.alignment, sizeof(uint32_t)},
        {GANTRY__CUBLAS_PREFERENCE_ALIGNMENT_C, &form->out.alignment, sizeof(uint32_t)},
        {GANTRY__CUBLAS_PREFERENCE_ALIGNMENT_D, &form->out.alignment, sizeof(uint32_t)},
    };
    gantry__cublas_status_t native = GANTRY__CUBLAS_SUCCESS;

    for (size_t i = 0; i < sizeof limits / sizeof limits[0] && native == GANTRY__CUBLAS_SUCCESS;
         ++i) {
        native = lt->cublasLtMatmulPreferenceSetAttribute(preference, limits[i].attribute,
                                                          limits[i].value, limits[i].bytes);
    }
    return native;
}

/* Takes the tuned choice if the library gives as many and would compute by it, else its first
 * one. */
static gantry__cublas_status_t take_choice(gantry__cublas_plan_t *plan,
                                           const gantry__cublas_choice_t *choices, int found,
                                           int tuned) {
    if (found <= 0) return GANTRY__CUBLAS_NOT_SUPPORTED;
    bool is_there = tuned < found && choices[tuned].state == GANTRY__CUBLAS_SUCCESS;
    plan->choice = choices[is_there ? tuned : 0];
    return plan->choice.state;
}

static gantry__cublas_status_t choose(const gantry_backend_device_t *device,
                                      gantry__cublas_plan_t *plan) {
    const gantry__cublas_t *lt = &device->instance->cublas;
    gantry__cublas_choice_t choices[GANTRY__CUBLAS_CHOICES];
    int found = 0, tuned = gantry__cublas_tuned_choice(device, &plan->form);
    gantry__cublas_preference_t preference = NULL;
    gantry__cublas_status_t native = lt->cublasLtMatmulPreferenceCreate(&preference);
    if (native != GANTRY__CUBLAS_SUCCESS) return native;
    native = set_limits(lt, &plan->form, preference);
    if (native == GANTRY__CUBLAS_SUCCESS) {
        native = lt->cublasLtMatmulAlgoGetHeuristic(device->cublas, plan->desc, plan->left,
                                                    plan->right, plan->out, plan->out, preference,
                                                    tuned + 1, choices, &found);
    }
    lt->cublasLtMatmulPreferenceDestroy(preference);
    return native == GANTRY__CUBLAS_SUCCESS ? take_choice(plan, choices, found, tuned) : native;
}

/* ---- one plan's life ---- */

static void release_objects(gantry_backend_device_t *device, gantry__cublas_plan_t *plan) {
    const gantry__cublas_t *lt = &device->instance->cublas;
    gantry__cublas_layout_t layouts[] = {plan->left, plan->right, plan->out};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; ++i) {
        if (layouts[i]) lt->cublasLtMatrixLayoutDestroy(layouts[i]);
    }
    if (plan->desc) lt->cublasLtMatmulDescDestroy(plan->desc);
    plan->left = plan->right = plan->out = NULL;
    plan->desc = NULL;
}

static void release(gantry_backend_device_t *device, gantry__cublas_plan_t *plan) {
    release_objects(device, plan);
    gantry__host_free(device->host, plan, sizeof *plan);
}

static gantry__cublas_status_t cuda_cublas_plan_make(gantry_backend_device_t *device,
                                                     const gantry__cublas_form_t *form,
                                                     gantry__cublas_plan_t **out_plan) {
    gantry__cublas_plan_t *plan = gantry__driver_alloc(device->host, sizeof *plan);
    if (!plan) return GANTRY__CUBLAS_NO_HOST_MEMORY;
    plan->form = *form;
    gantry__cublas_status_t native = describe(device, plan);
    if (native == GANTRY__CUBLAS_SUCCESS) native = choose(device, plan);
    if (native != GANTRY__CUBLAS_SUCCESS) {
        release(device, plan);
        return native;
    }
    *out_plan = plan;
    return GANTRY__CUBLAS_SUCCESS;
}

/* ---- the tables ---- */

static gantry__cublas_plan_t *cuda_cublas_plan_find(gantry_backend_device_t *device,
                                                    gantry__cublas_table_t *table,
                                                    const gantry__cublas_form_t *form) {
    gantry__mutex_lock(&device->lock);
    gantry__cublas_plan_t *plan = gantry__cublas_table_find(table, form);
    gantry__mutex_unlock(&device->lock);
    return plan;
}

/* Keeps a plan. Another thread may have been first; then its plan is taken. */
static gantry__cublas_plan_t *keep(gantry_backend_device_t *device, gantry__cublas_table_t *table,
                                   gantry__cublas_plan_t *made) {
    gantry__mutex_lock(&device->lock);
    gantry__cublas_plan_t *plan = gantry__cublas_table_find(table, &made->form);
    gantry__cublas_plan_t *unneeded = plan ? made : gantry__cublas_table_keep(table, made);
    gantry__mutex_unlock(&device->lock);
    if (unneeded) release(device, unneeded);
    return plan ? plan : made;
}

gantry__cublas_status_t gantry__cublas_plan_take(gantry_backend_device_t *device,
                                                 const gantry__cublas_form_t *form,
                                                 gantry__cublas_plan_t **out_plan) {
    *out_plan = cuda_cublas_plan_find(device, &device->plans, form);
    if (*out_plan) return GANTRY__CUBLAS_SUCCESS;
    gantry__cublas_plan_t *made = NULL;
    gantry__cublas_status_t native = cuda_cublas_plan_make(device, form, &made);
    if (native == GANTRY__CUBLAS_SUCCESS) *out_plan = keep(device, &device->plans, made);
    return native;
}

static bool is_answer(gantry__cublas_status_t native) {
    return native == GANTRY__CUBLAS_SUCCESS || native == GANTRY__CUBLAS_NOT_SUPPORTED ||
           native == GANTRY__CUBLAS_ARCH_MISMATCH;
}

bool gantry__cublas_plan_knows(gantry_backend_device_t *device, const gantry__cublas_form_t *form,
                               gantry__cublas_status_t *out_answer) {
    gantry__mutex_lock(&device->lock);
    gantry__cublas_plan_t *plan = gantry__cublas_table_find(&device->answers, form);
    if (plan) {
        *out_answer = plan->answer;
        --plan->users; /* the table keeps it */
    }
    gantry__mutex_unlock(&device->lock);
    return plan;
}

/* A form in a question has any address and no workspace, which no call has; its plan would replace
 * another one in the table, so it is not kept there. */
gantry__cublas_status_t gantry__cublas_plan_ask(gantry_backend_device_t *device,
                                                const gantry__cublas_form_t *form) {
    gantry__cublas_plan_t *plan = cuda_cublas_plan_find(device, &device->answers, form);
    if (!plan) {
        plan = gantry__driver_alloc(device->host, sizeof *plan);
        if (!plan) return GANTRY__CUBLAS_NO_HOST_MEMORY;
        plan->form = *form;
        plan->answer = describe(device, plan);
        if (plan->answer == GANTRY__CUBLAS_SUCCESS) plan->answer = choose(device, plan);
        release_objects(device, plan);
        if (is_answer(plan->answer)) {
            plan = keep(device, &device->answers, plan);
        } else {
            plan->users = 1;
        }
    }
    gantry__cublas_status_t native = plan->answer;
    gantry__cublas_plan_give(device, plan);
    return native;
}

void gantry__cublas_plan_give(gantry_backend_device_t *device, gantry__cublas_plan_t *plan) {
    gantry__mutex_lock(&device->lock);
    bool is_last = --plan->users == 0 && !plan->is_kept;
    gantry__mutex_unlock(&device->lock);
    if (is_last) release(device, plan);
}

void gantry__cublas_plans_forget(gantry_backend_device_t *device) {
    gantry__cublas_plan_t *plan;
    while ((plan = gantry__cublas_table_take(&device->plans))) release(device, plan);
    while ((plan = gantry__cublas_table_take(&device->answers))) release(device, plan);
}

/* ---- the handle ---- */

/* device->lock must be held, so that a second thread waits for the first one's handle. */
static void make_handle(gantry_backend_device_t *device) {
    const char *name = device->record->hardware_name;
    gantry__cublas_status_t native = GANTRY__CUBLAS_NOT_INITIALIZED;
    char reason[1024];
    if (!gantry__cuda_has_cublas(device->instance, reason, sizeof reason)) {
        gantry__host_log(device->host, GANTRY_LEVEL_INFO,
                         "matrix products on \"%.120s\" take the portable kernels: %s", name,
                         reason);
        return;
    }
    gantry__cublas_tuned_read(device);
    if (gantry__cuda_enter(device) == GANTRY__CU_SUCCESS) {
        gantry__library_memory_note(device, &device->cublas_memory);
        native = device->instance->cublas.cublasLtCreate(&device->cublas);
        gantry__cuda_leave(device);
    }
    if (native != GANTRY__CUBLAS_SUCCESS) {
        device->cublas = NULL;
        gantry__host_log(
            device->host, GANTRY_LEVEL_WARNING,
            "matrix products on \"%.120s\" take the portable kernels: %s does not start there: %s (%u)",
            name, device->instance->cublas.name, gantry__cublas_status_name(native), native);
    }
}

gantry__cublas_handle_t gantry__cublas_handle(gantry_backend_device_t *device) {
    gantry__mutex_lock(&device->lock);
    if (!device->has_tried_cublas) {
        make_handle(device);
        device->has_tried_cublas = true;
    }
    gantry__cublas_handle_t handle = device->cublas;
    gantry__mutex_unlock(&device->lock);
    return handle;
}
