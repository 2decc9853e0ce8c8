/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in cublasLt keeps handles, descriptions, layouts and preferences as values.
 * stand_in_product.c computes the product. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stand_in_product.h"

enum {
    BLAS_OK = 0,
    BLAS_NOT_INITIALIZED = 1,
    BLAS_ALLOC_FAILED = 3,
    BLAS_INVALID_VALUE = 7,
    BLAS_EXECUTION_FAILED = 13,
    BLAS_NOT_SUPPORTED = 15
};

#define ALGORITHM_MARK 0x5354414e44494e00ull
#define WORKSPACE_WANTED 65536
#define CHOICES 5 /* per form */

typedef struct description_t {
    stand_in_object_t object;
    int compute_type;
    int scale_type;
    int pointer_mode;
    int transposed[3];
    int epilogue;
    uintptr_t bias;
} description_t;

typedef struct layout_t {
    stand_in_object_t object;
    stand_in_matrix_t matrix;
} layout_t;

typedef struct preference_t {
    stand_in_object_t object;
    uint64_t workspace_bytes;
    uint32_t alignments[4]; /* of a, b, c, d, as promised */
} preference_t;

typedef struct algorithm_t {
    /* the mark, the requested workspace, the promised alignments, the number */
    uint64_t data[8];
} algorithm_t;

typedef struct heuristic_t {
    algorithm_t algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} heuristic_t;

/* ---- objects; the function that ends an object of cublasLt identifies its kind ---- */

typedef struct handle_t {
    stand_in_object_t object;
    stand_in_device_t *device; /* whose memory the handle uses; NULL: none yet */
    uint64_t bytes;
} handle_t;

static void end_handle(stand_in_object_t *object) {
    handle_t *handle = (handle_t *)object;

    if (handle->device != NULL) stand_in__give_bytes(handle->device, handle->bytes);
    free(object);
}

/* Kernels are loaded when they are first used. */
static void load_kernels(handle_t *handle, stand_in_device_t *device) {
    uint64_t bytes = stand_in__machine()->library_bytes;
    int is_first;

    stand_in__lock();
    is_first = handle->device == NULL;
    handle->device = device;
    stand_in__unlock();
    if (is_first && bytes > 0 && stand_in__take_bytes(device, bytes)) handle->bytes = bytes;
}

static void end_description(stand_in_object_t *object) { free(object); }
static void end_layout(stand_in_object_t *object) { free(object); }
static void end_preference(stand_in_object_t *object) { free(object); }

static void *find_part(const void *handle, void (*end)(stand_in_object_t *)) {
    stand_in_object_t *object = stand_in__find(handle, STAND_IN_BLAS_PARTS);

    return object != NULL && object->end == end ? object : NULL;
}

static void *make_part(size_t bytes, int kind, void (*end)(stand_in_object_t *)) {
    stand_in_object_t *object = calloc(1, bytes);

    if (object != NULL) {
        object->kind = kind;
        object->end = end;
        stand_in__list(object);
    }
    return object;
}

static int end_part(int code, void *handle, int kind, void (*end)(stand_in_object_t *)) {
    stand_in_object_t *object = stand_in__find(handle, kind);

    if (object == NULL || object->end != end || !stand_in__unlist(object))
        return BLAS_INVALID_VALUE;
    end(object);
    return code;
}

STAND_IN_API size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void) { return (size_t)stand_in__machine()->cublas; }

STAND_IN_API const char *cublasLtGetStatusString(int status);
const char *cublasLtGetStatusString(int status) {
    return status == BLAS_OK ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS of the stand-in";
}

STAND_IN_API int cublasLtCreate(void **handle);
int cublasLtCreate(void **handle) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (handle == NULL) return BLAS_INVALID_VALUE;
    if (stand_in__current() == NULL || stand_in__current()->device->lost != 0)
        return BLAS_NOT_INITIALIZED;
    *handle = make_part(sizeof(handle_t), STAND_IN_BLAS, end_handle);
    return *handle != NULL ? BLAS_OK : BLAS_ALLOC_FAILED;
}

STAND_IN_API int cublasLtDestroy(void *handle);
int cublasLtDestroy(void *handle) {
    return end_part(stand_in__enter(__func__, STAND_IN_NEEDS_NOTHING), handle, STAND_IN_BLAS,
                    end_handle);
}

/* ---- descriptions ---- */

STAND_IN_API int cublasLtMatmulDescCreate(void **out, int compute_type, int scale_type);
int cublasLtMatmulDescCreate(void **out, int compute_type, int scale_type) {
    description_t *made;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (out == NULL) return BLAS_INVALID_VALUE;
    made = make_part(sizeof *made, STAND_IN_BLAS_PARTS, end_description);
    if (made == NULL) return BLAS_ALLOC_FAILED;
    made->compute_type = compute_type;
    made->scale_type = scale_type;
    made->epilogue = 1;
    *out = made;
    return BLAS_OK;
}

STAND_IN_API int cublasLtMatmulDescDestroy(void *handle);
int cublasLtMatmulDescDestroy(void *handle) {
    return end_part(stand_in__enter(__func__, STAND_IN_NEEDS_NOTHING), handle, STAND_IN_BLAS_PARTS,
                    end_description);
}

STAND_IN_API int cublasLtMatmulDescSetAttribute(void *handle, int attribute, const void *value,
                                                size_t bytes);
int cublasLtMatmulDescSetAttribute(void *handle, int attribute, const void *value, size_t bytes) {
    description_t *description;
    int number;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    description = find_part(handle, end_description);
    if (description == NULL || value == NULL) return BLAS_INVALID_VALUE;
    if (attribute == 8 && bytes == sizeof description->bias) {
        memcpy(&description->bias, value, bytes);
        return BLAS_OK;
    }
    if (bytes != sizeof number) return BLAS_INVALID_VALUE;
    memcpy(&number, value, sizeof number);
    switch (attribute) {
        case 0: description->compute_type = number; break;
        case 1: description->scale_type = number; break;
        case 2: description->pointer_mode = number; break;
        case 3:
        case 4:
        case 5: description->transposed[attribute - 3] = number != 0; break;
        case 7: description->epilogue = number; break;
        default: return BLAS_INVALID_VALUE;
    }
    return BLAS_OK;
}

/* ---- layouts ---- */

STAND_IN_API int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns,
                                            int64_t leading);
int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns,
                               int64_t leading) {
    layout_t *made;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (out == NULL || rows == 0 || columns == 0) return BLAS_INVALID_VALUE;
    made = make_part(sizeof *made, STAND_IN_BLAS_PARTS, end_layout);
    if (made == NULL) return BLAS_ALLOC_FAILED;
    made->matrix = (stand_in_matrix_t){
        .type = type, .rows = rows, .columns = columns, .leading = leading, .batch = 1};
    *out = made;
    return BLAS_OK;
}

STAND_IN_API int cublasLtMatrixLayoutDestroy(void *handle);
int cublasLtMatrixLayoutDestroy(void *handle) {
    return end_part(stand_in__enter(__func__, STAND_IN_NEEDS_NOTHING), handle, STAND_IN_BLAS_PARTS,
                    end_layout);
}

/* Where an attribute lies, and its size. */
static void *layout_field(stand_in_matrix_t *matrix, int attribute, size_t *out_bytes) {
    *out_bytes = attribute == 0 || attribute == 1 || attribute == 5 ? 4 : 8;
    switch (attribute) {
        case 0: return &matrix->type;
        case 1: return &matrix->is_row_major;
        case 2: return &matrix->rows;
        case 3: return &matrix->columns;
        case 4: return &matrix->leading;
        case 5: return &matrix->batch;
        case 6: return &matrix->batch_stride;
        default: return NULL;
    }
}

STAND_IN_API int cublasLtMatrixLayoutSetAttribute(void *handle, int attribute, const void *value,
                                                  size_t bytes);
int cublasLtMatrixLayoutSetAttribute(void *handle, int attribute, const void *value, size_t bytes) {
    layout_t *layout;
    size_t field_bytes;
    void *field;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    layout = find_part(handle, end_layout);
    if (layout == NULL || value == NULL) return BLAS_INVALID_VALUE;
    field = layout_field(&layout->matrix, attribute, &field_bytes);
    if (field == NULL || bytes != field_bytes) return BLAS_INVALID_VALUE;
    memcpy(field, value, bytes);
    return layout->matrix.is_row_major == 0 || layout->matrix.is_row_major == 1
               ? BLAS_OK
               : BLAS_NOT_SUPPORTED;
}

/* ---- preferences ---- */

STAND_IN_API int cublasLtMatmulPreferenceCreate(void **out);
int cublasLtMatmulPreferenceCreate(void **out) {
    preference_t *made;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (out == NULL) return BLAS_INVALID_VALUE;
    made = make_part(sizeof *made, STAND_IN_BLAS_PARTS, end_preference);
    if (made == NULL) return BLAS_ALLOC_FAILED;
    for (int i = 0; i < 4; ++i) {
        made->alignments[i] = 256;
    }
    *out = made;
    return BLAS_OK;
}

STAND_IN_API int cublasLtMatmulPreferenceDestroy(void *handle);
int cublasLtMatmulPreferenceDestroy(void *handle) {
    return end_part(stand_in__enter(__func__, STAND_IN_NEEDS_NOTHING), handle, STAND_IN_BLAS_PARTS,
                    end_preference);
}

STAND_IN_API int cublasLtMatmulPreferenceSetAttribute(void *handle, int attribute,
                                                      const void *value, size_t bytes);
int cublasLtMatmulPreferenceSetAttribute(void *handle, int attribute, const void *value,
                                         size_t bytes) {
    preference_t *preference;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    preference = find_part(handle, end_preference);
    if (preference == NULL || value == NULL) return BLAS_INVALID_VALUE;
    if (attribute == 1 && bytes == sizeof preference->workspace_bytes) {
        memcpy(&preference->workspace_bytes, value, bytes);
        return BLAS_OK;
    }
    if (attribute >= 5 && attribute <= 8 && bytes == sizeof preference->alignments[0]) {
        memcpy(&preference->alignments[attribute - 5], value, bytes);
        return preference->alignments[attribute - 5] > 0 ? BLAS_OK : BLAS_INVALID_VALUE;
    }
    /* Search, reductions, waves, implementations: accepted without effect. */
    if (attribute == 12) return bytes == 8 ? BLAS_OK : BLAS_INVALID_VALUE;
    return (attribute == 0 || attribute == 3 || attribute == 9) && bytes == 4 ? BLAS_OK
                                                                              : BLAS_INVALID_VALUE;
}

/* ---- the product ---- */

/* None, and of one product bias, relu, or both. Only float32 has them, so that the test of a type
 * without any has one. */
static int has_epilogue(const description_t *description, const stand_in_matrix_t *d) {
    if (description->epilogue == 1) return 1;
    return (description->epilogue & ~(STAND_IN_RELU | STAND_IN_BIAS)) == 0 &&
           description->epilogue != 0 && d->type == 0 && d->batch == 1;
}

static int find_product(void *description_handle, void *const layouts[4],
                        stand_in_product_t *out_product, description_t **out_description) {
    stand_in_matrix_t *matrices[4] = {&out_product->a, &out_product->b, &out_product->c,
                                      &out_product->d};

    *out_description = find_part(description_handle, end_description);
    if (*out_description == NULL) return BLAS_INVALID_VALUE;
    for (int i = 0; i < 4; ++i) {
        const layout_t *layout = find_part(layouts[i], end_layout);

        if (layout == NULL) return BLAS_INVALID_VALUE;
        *matrices[i] = layout->matrix;
    }
    out_product->a.is_transposed = (*out_description)->transposed[0];
    out_product->b.is_transposed = (*out_description)->transposed[1];
    out_product->compute_type = (*out_description)->compute_type;
    out_product->scale_type = (*out_description)->scale_type;
    if ((*out_description)->transposed[2] || !has_epilogue(*out_description, &out_product->d))
        return BLAS_NOT_SUPPORTED;
    out_product->epilogue = (*out_description)->epilogue;
    out_product->bias = (*out_description)->bias;
    if ((*out_description)->pointer_mode != 0) return BLAS_NOT_SUPPORTED;
    return stand_in__check_product(out_product) == 0 ? BLAS_OK : BLAS_INVALID_VALUE;
}

static void fill_choice(heuristic_t *choice, const preference_t *preference, int number) {
    memset(choice, 0, sizeof *choice);
    choice->workspace_bytes = preference->workspace_bytes < WORKSPACE_WANTED ? 0 : WORKSPACE_WANTED;
    choice->algorithm.data[0] = ALGORITHM_MARK;
    choice->algorithm.data[1] = choice->workspace_bytes;
    for (int i = 0; i < 4; ++i) {
        choice->algorithm.data[2 + i] = preference->alignments[i];
    }
    choice->algorithm.data[6] = (uint64_t)number;
    choice->waves = 1.0f;
}

/* Each choice is counted as "choice N"; with blas_fast=N all other choices take fifty
 * milliseconds more, which no load of the machine hides. */
static void take_choice(const algorithm_t *algorithm) {
    const struct timespec pause = {.tv_nsec = 50000000};
    char name[32];

    snprintf(name, sizeof name, "choice %d", (int)algorithm->data[6]);
    stand_in__count(name);
    if (stand_in__machine()->blas_fast >= 0 &&
        stand_in__machine()->blas_fast != (int)algorithm->data[6]) {
        nanosleep(&pause, NULL);
    }
}

STAND_IN_API int cublasLtMatmulAlgoGetHeuristic(void *handle, void *description, void *a, void *b,
                                                void *c, void *d, void *preference_handle,
                                                int asked, heuristic_t *results, int *returned);
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *description, void *a, void *b, void *c,
                                   void *d, void *preference_handle, int asked,
                                   heuristic_t *results, int *returned) {
    void *const layouts[4] = {a, b, c, d};
    const preference_t *preference;
    description_t *found;
    stand_in_product_t product;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    preference = find_part(preference_handle, end_preference);
    if (stand_in__find(handle, STAND_IN_BLAS) == NULL) return BLAS_NOT_INITIALIZED;
    if (preference == NULL || asked < 1 || results == NULL || returned == NULL)
        return BLAS_INVALID_VALUE;
    *returned = 0;
    code = find_product(description, layouts, &product, &found);
    if (code != BLAS_OK) return code;
    for (int i = 0; i < asked && i < CHOICES; ++i) {
        fill_choice(&results[i], preference, i);
        *returned = i + 1;
    }
    return BLAS_OK;
}

/* Whether the matrix lies in memory that a kernel on this device may use. */
static int lies_in_memory(const stand_in_context_t *context, const void *data,
                          const stand_in_matrix_t *matrix) {
    const stand_in_memory_t *memory = stand_in__memory_at(
        (uint64_t)(uintptr_t)data, stand_in__matrix_bytes(matrix), STAND_IN_MEMORY);

    return memory != NULL && memory->device == context->device;
}

static int workspace_is_good(const stand_in_context_t *context, const void *workspace, size_t bytes,
                             const algorithm_t *algorithm) {
    const stand_in_memory_t *memory;

    if (algorithm->data[0] != ALGORITHM_MARK || bytes < algorithm->data[1]) return 0;
    if (algorithm->data[1] == 0) return 1;
    memory = stand_in__memory_at((uint64_t)(uintptr_t)workspace, bytes, STAND_IN_MEMORY);
    return memory != NULL && memory->device == context->device && (uintptr_t)workspace % 16 == 0;
}

static int addresses_are_aligned(const stand_in_product_t *product, const algorithm_t *algorithm) {
    for (int i = 0; i < 4; ++i) {
        if (product->data[i] % algorithm->data[2 + i] != 0) return 0;
    }
    return 1;
}

/* Whether the bias has as many elements as d has rows, and lies where d's promise says. */
static int bias_is_good(const stand_in_context_t *context, const stand_in_product_t *product,
                        const algorithm_t *algorithm) {
    const stand_in_matrix_t vector = {.type = product->d.type,
                                      .rows = product->d.rows,
                                      .columns = 1,
                                      .batch = 1,
                                      .leading = (int64_t)product->d.rows};

    if (!(product->epilogue & STAND_IN_BIAS)) return 1;
    return lies_in_memory(context, (const void *)product->bias, &vector) &&
           (algorithm == NULL || product->bias % algorithm->data[5] == 0);
}

STAND_IN_API int cublasLtMatmul(void *handle, void *description, const void *alpha, const void *a,
                                void *a_layout, const void *b, void *b_layout, const void *beta,
                                const void *c, void *c_layout, void *d, void *d_layout,
                                const algorithm_t *algorithm, void *workspace,
                                size_t workspace_bytes, void *stream_handle);
int cublasLtMatmul(void *handle, void *description, const void *alpha, const void *a,
                   void *a_layout, const void *b, void *b_layout, const void *beta, const void *c,
                   void *c_layout, void *d, void *d_layout, const algorithm_t *algorithm,
                   void *workspace, size_t workspace_bytes, void *stream_handle) {
    void *const layouts[4] = {a_layout, b_layout, c_layout, d_layout};
    stand_in_context_t *context = stand_in__current();
    description_t *found;
    stand_in_product_t product;
    stand_in_stream_t *stream;
    int code;

    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (stand_in__find(handle, STAND_IN_BLAS) == NULL || context == NULL)
        return BLAS_NOT_INITIALIZED;
    if (context->device->lost != 0) return BLAS_EXECUTION_FAILED;
    if (alpha == NULL || beta == NULL) return BLAS_INVALID_VALUE;
    code = find_product(description, layouts, &product, &found);
    if (code != BLAS_OK) return code;
    /* a kernel's grid has no more blocks in z */
    if (product.d.batch > 65535) return BLAS_EXECUTION_FAILED;
    if (stand_in__stream_of(stream_handle, &stream) != CUDA_OK) return BLAS_INVALID_VALUE;
    if (algorithm != NULL && !workspace_is_good(context, workspace, workspace_bytes, algorithm)) {
        stand_in__complain("a workspace of %zu bytes at %p, which is not the heuristic's request",
                           workspace_bytes, workspace);
        return BLAS_INVALID_VALUE;
    }
    load_kernels(handle, context->device);
    if (algorithm != NULL) take_choice(algorithm);
    stand_in__set_scales(&product, alpha, beta);
    product.data[0] = (uintptr_t)a;
    product.data[1] = (uintptr_t)b;
    product.data[2] = (uintptr_t)c;
    product.data[3] = (uintptr_t)d;
    product.workspace = algorithm != NULL && algorithm->data[1] > 0 ? workspace : NULL;
    product.workspace_bytes = algorithm != NULL ? algorithm->data[1] : 0;
    product.context = context;
    if (algorithm != NULL && !addresses_are_aligned(&product, algorithm)) {
        stand_in__complain("a matrix is not aligned as the heuristic was promised");
        return BLAS_INVALID_VALUE;
    }
    if (!bias_is_good(context, &product, algorithm)) {
        stand_in__complain("a bias at %p, which is no vector of the device's memory",
                           (void *)product.bias);
        return BLAS_INVALID_VALUE;
    }
    if (product.epilogue != 1) stand_in__count("epilogue");
    if (!lies_in_memory(context, a, &product.a) || !lies_in_memory(context, b, &product.b) ||
        !lies_in_memory(context, d, &product.d) ||
        (product.beta != 0 && !lies_in_memory(context, c, &product.c))) {
        stand_in__fail_context(context, CUDA_ILLEGAL_ADDRESS,
                               "a matrix of cublasLtMatmul lies outside the device's memory");
        return BLAS_OK;
    }
    return stand_in__enqueue(stream, stand_in__run_product, &product, sizeof product) == CUDA_OK
               ? BLAS_OK
               : BLAS_EXECUTION_FAILED;
}
