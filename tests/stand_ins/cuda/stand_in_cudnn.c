/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in cuDNN: its graph library for convolutions. stand_in_descriptor.c keeps and checks
 * descriptors, stand_in_convolution.c computes.
 *
 * It offers four engines, of which the first three come by mode A and the last one as the fallback:
 *   0   tensor cores: float32 is rounded to TF32
 *   1   not deterministic
 *   2   without a note, and with a workspace; it has a knob, which must be 7
 *   3   strict with NaN, without a workspace
 * and none for float64, a Relu without a bias, and halves aligned below 16 bytes, as the real one.
 * Each run is counted as "engine N". With cudnn_fast=N runs of other engines take fifty
 * milliseconds more. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stand_in_convolution.h"
#include "stand_in_descriptor.h"
#include "stand_in_numbers.h"
#include "stand_in_pocl.h"

#define MOST_OPS 3
enum { HEURISTICS_FALLBACK = 2, HEURISTICS_A = 3, POINTWISE_ADD = 0, POINTWISE_RELU = 100 };
enum { ENGINE_TENSOR_CORE, ENGINE_ANY_ORDER, ENGINE_PLAIN, ENGINE_STRICT, ENGINES };
enum { PLAIN_KNOB = 2, PLAIN_VALUE = 7 };

#define DNN_ENTER()                                                                        \
    do {                                                                                   \
        int dnn_code_ = stand_in__enter(__func__, STAND_IN_NEEDS_NOTHING);                 \
        if (dnn_code_ != 0) return dnn_fail(dnn_code_, "the stand-in fails %s", __func__); \
    } while (0)

/* ---- the library ---- */

STAND_IN_API size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void) { return (size_t)stand_in__machine()->cudnn; }

STAND_IN_API size_t cudnnGetCudartVersion(void);
size_t cudnnGetCudartVersion(void) { return (size_t)stand_in__machine()->cudnn_cuda; }

STAND_IN_API const char *cudnnGetErrorString(int status);
const char *cudnnGetErrorString(int status) {
    switch (status) {
        case DNN_OK: return "CUDNN_STATUS_SUCCESS";
        case DNN_NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
        case 1002: return "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH";
        case 1008: return "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED";
        case DNN_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
        case DNN_HOST_ALLOCATION: return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
        case DNN_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
        default: return "CUDNN_STATUS of the stand-in";
    }
}

STAND_IN_API void cudnnGetLastErrorString(char *text, size_t text_bytes);
void cudnnGetLastErrorString(char *text, size_t text_bytes) {
    snprintf(text, text_bytes, "%s", dnn_last_failure());
}

STAND_IN_API int cudnnGraphVersionCheck(void);
int cudnnGraphVersionCheck(void) {
    DNN_ENTER();
    return DNN_OK;
}

/* ---- handles ---- */

typedef struct handle_t {
    stand_in_object_t object;
    stand_in_stream_t *stream;
    int is_used;               /* a call works with it */
    stand_in_device_t *device; /* whose memory it uses; NULL: none yet */
    uint64_t bytes;
} handle_t;

static void end_handle(stand_in_object_t *object) {
    handle_t *handle = (handle_t *)object;

    if (handle->device != NULL) stand_in__give_bytes(handle->device, handle->bytes);
    free(object);
}

/* Kernels are loaded when they are first used; the handle is used by one thread. */
static void load_kernels(handle_t *handle, stand_in_device_t *device) {
    const uint64_t bytes = stand_in__machine()->library_bytes;

    if (handle->device != NULL) return;
    handle->device = device;
    if (bytes > 0 && stand_in__take_bytes(device, bytes)) handle->bytes = bytes;
}

STAND_IN_API int cudnnCreate(void **handle);
int cudnnCreate(void **handle) {
    DNN_ENTER();
    if (stand_in__current() == NULL || stand_in__current()->device->lost != 0)
        return dnn_fail(DNN_NOT_INITIALIZED, "no context");
    handle_t *made = calloc(1, sizeof *made);
    if (made == NULL) return dnn_fail(DNN_HOST_ALLOCATION, "no memory for a handle");
    made->object.kind = STAND_IN_DNN;
    made->object.end = end_handle;
    stand_in__list(&made->object);
    *handle = made;
    return DNN_OK;
}

STAND_IN_API int cudnnDestroy(void *handle);
int cudnnDestroy(void *handle) {
    int code = stand_in__enter(__func__, STAND_IN_NEEDS_NOTHING);
    stand_in_object_t *object = stand_in__find(handle, STAND_IN_DNN);

    if (object == NULL || !stand_in__unlist(object)) return DNN_BAD_PARAM;
    end_handle(object);
    return code;
}

/* A handle is one thread's at a time. */
static handle_t *use_handle(void *handle) {
    handle_t *found = stand_in__find(handle, STAND_IN_DNN);
    int was_used = 0;

    if (found == NULL) return NULL;
    stand_in__lock();
    was_used = found->is_used;
    found->is_used = 1;
    stand_in__unlock();
    if (was_used) stand_in__complain("two threads use one handle of cuDNN");
    return found;
}

static int leave_handle(handle_t *handle, int code) {
    stand_in__lock();
    handle->is_used = 0;
    stand_in__unlock();
    return code;
}

STAND_IN_API int cudnnSetStream(void *handle, void *stream);
int cudnnSetStream(void *handle, void *stream) {
    DNN_ENTER();
    handle_t *used = use_handle(handle);
    if (used == NULL) return dnn_fail(DNN_BAD_PARAM, "no handle");
    if (stand_in__stream_of(stream, &used->stream) != CUDA_OK)
        return leave_handle(used, dnn_fail(DNN_BAD_PARAM, "no stream of the context"));
    return leave_handle(used, DNN_OK);
}

/* ---- reading descriptors ---- */

static int type_of(int cudnn_type) {
    switch (cudnn_type) {
        case 0:
        case 1:
        case 2: return cudnn_type;
        case 9: return 14;
        default: return -1;
    }
}

static int64_t id_of(const dnn_descriptor_t *tensor) { return dnn_get(tensor, 906)->as.whole[0]; }

static int is_virtual(const dnn_descriptor_t *tensor) {
    const dnn_attribute_t *attribute = dnn_get(tensor, 907);

    return attribute != NULL && attribute->as.yes[0];
}

static void read_tensor(const dnn_descriptor_t *descriptor, stand_in_tensor_t *out) {
    out->type = type_of(dnn_get(descriptor, 901)->as.number[0]);
    memcpy(out->dims, dnn_get(descriptor, 902)->as.whole, sizeof out->dims);
    memcpy(out->strides, dnn_get(descriptor, 903)->as.whole, sizeof out->strides);
}

static int first_attribute(int kind) {
    return kind == DNN_FORWARD ? 700 : kind == DNN_BACKWARD_DATA ? 706 : 712;
}

static void read_window(const dnn_descriptor_t *window, stand_in_convolution_t *out) {
    const struct {
        int name;
        int64_t *to;
    } lists[] = {{102, out->spreads}, {103, out->steps}, {104, out->after}, {105, out->before}};

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i) {
        memcpy(lists[i].to, dnn_get(window, lists[i].name)->as.whole, 2 * sizeof(int64_t));
    }
}

/* 0, or a code. */
static int read_convolution(const dnn_descriptor_t *op, stand_in_convolution_t *out) {
    const int first = first_attribute(op->kind);
    const dnn_descriptor_t *parts[4];

    for (int i = 0; i < 4; ++i) {
        parts[i] = dnn_part(op, first + 2 + i, 0);
        if (parts[i] == NULL) return DNN_BAD_PARAM;
    }
    out->what = op->kind == DNN_FORWARD         ? STAND_IN_FORWARD
                : op->kind == DNN_BACKWARD_DATA ? STAND_IN_DATA
                                                : STAND_IN_FILTER;
    read_window(parts[0], out);
    read_tensor(parts[1], &out->filter);
    read_tensor(parts[2], &out->image);
    read_tensor(parts[3], &out->result);
    return DNN_OK;
}

/* The operands of a graph by what they are; NULL: it has none. */
typedef struct form_t {
    stand_in_convolution_t convolution;
    const dnn_descriptor_t *image, *filter, *result, *bias;
    int is_served; /* engines exist for it */
} form_t;

/* Reads an op after the convolution, which must take the last result. */
static int read_pointwise(const dnn_descriptor_t *op, form_t *form) {
    const dnn_descriptor_t *mode = dnn_part(op, 750, 0), *x = dnn_part(op, 751, 0),
                           *y = dnn_part(op, 753, 0);

    if (mode == NULL || x == NULL || y == NULL) return DNN_BAD_PARAM;
    if (x != form->result || !is_virtual(x))
        return dnn_fail(DNN_BAD_PARAM, "an op does not take the virtual result before it");
    if (dnn_get(mode, 0)->as.number[0] == POINTWISE_ADD) {
        form->bias = dnn_get(op, 752) != NULL ? dnn_part(op, 752, 0) : NULL;
        if (form->bias == NULL) return dnn_fail(DNN_BAD_PARAM, "an addition of one operand");
        form->convolution.has_bias = 1;
        read_tensor(form->bias, &form->convolution.bias);
    } else if (dnn_get(mode, 0)->as.number[0] == POINTWISE_RELU) {
        form->convolution.has_relu = 1;
    } else {
        form->is_served = 0;
    }
    form->result = y;
    read_tensor(y, &form->convolution.result);
    return DNN_OK;
}

static int serves(const form_t *form) {
    const stand_in_convolution_t *convolution = &form->convolution;
    const dnn_descriptor_t *operands[] = {form->image, form->filter, form->result, form->bias};

    if (convolution->has_relu && !convolution->has_bias) return 0;
    for (int i = 0; i < 4; ++i) {
        if (operands[i] == NULL) continue;
        const int type = dnn_get(operands[i], 901)->as.number[0];
        if (type_of(type) != convolution->image.type || type == 1) return 0;
        if (type != 0 && dnn_get(operands[i], 900)->as.whole[0] < 16) return 0;
    }
    return 1;
}

/* Reads the graph of one convolution, and what follows it. */
static int read_graph(const dnn_descriptor_t *graph, form_t *form) {
    const dnn_attribute_t *ops = dnn_get(graph, 801);
    const dnn_descriptor_t *op = dnn_part(graph, 801, 0);

    memset(form, 0, sizeof *form);
    form->is_served = ops->count <= MOST_OPS;
    if (op == NULL || op->kind == DNN_POINTWISE_OP)
        return dnn_fail(DNN_BAD_PARAM, "the first op is no convolution");
    int code = read_convolution(op, &form->convolution);
    if (code != DNN_OK) return code;
    form->filter = dnn_part(op, first_attribute(op->kind) + 3, 0);
    form->image = dnn_part(op, first_attribute(op->kind) + 4, 0);
    form->result = dnn_part(op, first_attribute(op->kind) + 5, 0);
    for (int i = 1; i < ops->count && code == DNN_OK; ++i) {
        op = dnn_part(graph, 801, i);
        code = op != NULL && op->kind == DNN_POINTWISE_OP
                   ? read_pointwise(op, form)
                   : dnn_fail(DNN_NOT_SUPPORTED, "two convolutions");
    }
    if (code == DNN_OK && is_virtual(form->result))
        return dnn_fail(DNN_BAD_PARAM, "the last result is virtual");
    form->is_served = form->is_served && code == DNN_OK && serves(form);
    return code;
}

/* ---- finalize ---- */

static int check_tensor(const dnn_descriptor_t *tensor) {
    const int64_t alignment = dnn_get(tensor, 900)->as.whole[0];

    for (int d = 0; d < 4; ++d) {
        if (dnn_get(tensor, 902)->as.whole[d] < 1 || dnn_get(tensor, 903)->as.whole[d] < 1)
            return dnn_fail(DNN_BAD_PARAM, "a dimension or a stride below 1");
    }
    if (type_of(dnn_get(tensor, 901)->as.number[0]) < 0)
        return dnn_fail(DNN_NOT_SUPPORTED, "an element type");
    return alignment > 0 && (alignment & (alignment - 1)) == 0
               ? DNN_OK
               : dnn_fail(DNN_BAD_PARAM, "an alignment of %lld", (long long)alignment);
}

static int check_window(const dnn_descriptor_t *window) {
    if (dnn_get(window, 106)->as.whole[0] != 2)
        return dnn_fail(DNN_NOT_SUPPORTED, "another number of dimensions than 2");
    return dnn_get(window, 101)->as.number[0] == 1 && dnn_get(window, 100)->as.number[0] == 0
               ? DNN_OK
               : dnn_fail(DNN_NOT_SUPPORTED, "no cross-correlation in float32");
}

static int check_convolution(const dnn_descriptor_t *op) {
    const int first = first_attribute(op->kind);
    stand_in_convolution_t convolution;

    memset(&convolution, 0, sizeof convolution);
    if (dnn_get(op, first)->as.real[0] != 1 || dnn_get(op, first + 1)->as.real[0] != 0)
        return dnn_fail(DNN_NOT_SUPPORTED, "other factors than 1 and 0");
    int code = read_convolution(op, &convolution);
    if (code != DNN_OK) return code;
    return stand_in__check_convolution(&convolution) == 0
               ? DNN_OK
               : dnn_fail(DNN_SHAPE_MISMATCH, "the result's shape is not that of the convolution");
}

/* Ids are unique but for a tensor that is several ops' operand. */
static int check_graph(const dnn_descriptor_t *graph) {
    form_t form;
    int code = read_graph(graph, &form);
    const dnn_descriptor_t *tensors[] = {form.image, form.filter, form.result, form.bias};

    for (int i = 0; code == DNN_OK && i < 4; ++i) {
        for (int k = 0; k < i; ++k) {
            if (tensors[i] != NULL && tensors[k] != NULL && id_of(tensors[i]) == id_of(tensors[k]))
                return dnn_fail(DNN_BAD_PARAM, "two tensors have one id");
        }
    }
    return code;
}

static int check_pack(const dnn_descriptor_t *pack) {
    return dnn_get(pack, 1000)->count == dnn_get(pack, 1001)->count
               ? DNN_OK
               : dnn_fail(DNN_BAD_PARAM, "%lld ids and %lld pointers",
                          (long long)dnn_get(pack, 1000)->count,
                          (long long)dnn_get(pack, 1001)->count);
}

/* A caller's own engine: its number, and the graph that a plan of it computes. */
static int check_engine(dnn_descriptor_t *engine) {
    const int64_t number = dnn_get(engine, 1301)->as.whole[0];
    const dnn_descriptor_t *graph = dnn_part(engine, 1300, 0);
    form_t form;

    if (number < 0 || number >= ENGINES)
        return dnn_fail(DNN_NOT_SUPPORTED, "there is no engine %lld", (long long)number);
    if (graph == NULL || read_graph(graph, &form) != DNN_OK || !form.is_served)
        return dnn_fail(DNN_NOT_SUPPORTED, "the engine does not serve the graph");
    engine->engine = (int)number;
    return DNN_OK;
}

static int check_config(dnn_descriptor_t *config) {
    const dnn_descriptor_t *engine = dnn_part(config, 300, 0);
    const dnn_attribute_t *knobs = dnn_get(config, 302);

    if (engine == NULL) return DNN_BAD_PARAM;
    for (int i = 0; knobs != NULL && i < knobs->count; ++i) {
        const dnn_descriptor_t *knob = dnn_part(config, 302, i);
        if (knob == NULL || engine->engine != ENGINE_PLAIN ||
            dnn_get(knob, 600)->as.number[0] != PLAIN_KNOB ||
            dnn_get(knob, 601)->as.whole[0] != PLAIN_VALUE)
            return dnn_fail(DNN_NOT_SUPPORTED, "the engine has no such knob");
    }
    config->engine = engine->engine;
    config->attributes[config->attribute_count++] = *dnn_get(engine, 1300);
    return DNN_OK;
}

static int check_final(dnn_descriptor_t *descriptor) {
    switch (descriptor->kind) {
        case DNN_TENSOR: return check_tensor(descriptor);
        case DNN_CONVOLUTION: return check_window(descriptor);
        case DNN_FORWARD:
        case DNN_BACKWARD_DATA:
        case DNN_BACKWARD_FILTER: return check_convolution(descriptor);
        case DNN_GRAPH: return check_graph(descriptor);
        case DNN_ENGINE: return check_engine(descriptor);
        case DNN_CONFIG: return check_config(descriptor);
        case DNN_PACK: return check_pack(descriptor);
        default: return DNN_OK;
    }
}

STAND_IN_API int cudnnBackendFinalize(void *handle);
int cudnnBackendFinalize(void *handle) {
    DNN_ENTER();
    dnn_descriptor_t *descriptor = dnn_find(handle, -1);
    if (descriptor == NULL) return dnn_fail(DNN_NULL, "no descriptor");
    if (descriptor->is_final) return dnn_fail(DNN_BAD_PARAM, "finalized twice");
    int code = dnn_check_complete(descriptor);
    if (code == DNN_OK) code = check_final(descriptor);
    descriptor->is_final = code == DNN_OK;
    return code;
}

/* ---- descriptors ---- */

STAND_IN_API int cudnnBackendCreateDescriptor(int kind, void **out);
int cudnnBackendCreateDescriptor(int kind, void **out) {
    DNN_ENTER();
    return dnn_create(kind, (dnn_descriptor_t **)out);
}

STAND_IN_API int cudnnBackendDestroyDescriptor(void *handle);
int cudnnBackendDestroyDescriptor(void *handle) {
    int code = stand_in__enter(__func__, STAND_IN_NEEDS_NOTHING), own = dnn_destroy(handle);

    return code != 0 ? code : own;
}

STAND_IN_API int cudnnBackendSetAttribute(void *handle, int name, int type, int64_t count,
                                          const void *values);
int cudnnBackendSetAttribute(void *handle, int name, int type, int64_t count, const void *values) {
    DNN_ENTER();
    dnn_descriptor_t *descriptor = dnn_find(handle, -1);
    if (descriptor == NULL) return dnn_fail(DNN_NULL, "no descriptor");
    return dnn_set(descriptor, name, type, count, values);
}

/* ---- engines ---- */

static int64_t workspace_of(int engine) {
    return engine == ENGINE_PLAIN ? (int64_t)stand_in__machine()->cudnn_workspace : 0;
}

/* The engines of a mode, from *out_first on. */
static int64_t engines_of(const dnn_descriptor_t *heuristics, int *out_first) {
    const int mode = dnn_get(heuristics, 200)->as.number[0];
    const dnn_descriptor_t *graph = dnn_part(heuristics, 201, 0);
    form_t form;

    *out_first = mode == HEURISTICS_FALLBACK ? ENGINE_STRICT : ENGINE_TENSOR_CORE;
    if (graph == NULL || read_graph(graph, &form) != DNN_OK || !form.is_served) return 0;
    return mode == HEURISTICS_FALLBACK ? 1 : mode == HEURISTICS_A ? 3 : 0;
}

/* Fills a configuration or an engine, which remembers its graph. */
static int fill(void *handle, int kind, int engine, void *graph) {
    dnn_descriptor_t *descriptor = dnn_find(handle, kind);

    if (descriptor == NULL) return dnn_fail(DNN_BAD_PARAM, "no descriptor to fill");
    descriptor->engine = engine;
    descriptor->attribute_count = 1;
    descriptor->attributes[0] =
        (dnn_attribute_t){.name = 1300, .count = 1, .as = {.pointer = {graph}}};
    descriptor->is_final = 1;
    return DNN_OK;
}

static int get_results(const dnn_descriptor_t *heuristics, int64_t room, int64_t *out_count,
                       void *values) {
    int first, code = DNN_OK;
    int64_t count = engines_of(heuristics, &first);

    for (int64_t i = 0; i < count && i < room && code == DNN_OK; ++i) {
        code = fill(((void **)values)[i], DNN_CONFIG, first + (int)i,
                    dnn_get(heuristics, 201)->as.pointer[0]);
    }
    *out_count = room > 0 && room < count ? room : count;
    return code;
}

static int get_engine(const dnn_descriptor_t *config, int64_t *out_count, void *values) {
    *out_count = 1;
    return fill(*(void **)values, DNN_ENGINE, config->engine, dnn_get(config, 1300)->as.pointer[0]);
}

/* The configuration's knobs, into descriptors that the caller made. */
static int get_knobs(const dnn_descriptor_t *config, int64_t room, int64_t *out_count,
                     void *values) {
    *out_count = room > 0 && config->engine == ENGINE_PLAIN;
    if (*out_count == 0) return DNN_OK;
    dnn_descriptor_t *knob = dnn_find(*(void **)values, DNN_KNOB);
    if (knob == NULL) return dnn_fail(DNN_BAD_PARAM, "no knob to fill");
    knob->attribute_count = 2;
    knob->attributes[0] =
        (dnn_attribute_t){.name = 600, .count = 1, .as = {.number = {PLAIN_KNOB}}};
    knob->attributes[1] =
        (dnn_attribute_t){.name = 601, .count = 1, .as = {.whole = {PLAIN_VALUE}}};
    knob->is_final = 1;
    return DNN_OK;
}

static int get_knob_type(const dnn_descriptor_t *knob, int64_t room, int64_t *out_count,
                         int *values) {
    *out_count = 1;
    if (room > 0) values[0] = dnn_get(knob, 600)->as.number[0];
    return DNN_OK;
}

static int get_notes(const dnn_descriptor_t *engine, int64_t room, int64_t *out_count,
                     int *values) {
    static const int notes[] = {0, 4, -1, 9};
    const int note = notes[engine->engine];

    *out_count = note >= 0;
    if (note >= 0 && room > 0) values[0] = note;
    return DNN_OK;
}

static int get_whole(int64_t value, int64_t room, int64_t *out_count, void *values) {
    *out_count = 1;
    if (room > 0) *(int64_t *)values = value;
    return DNN_OK;
}

STAND_IN_API int cudnnBackendGetAttribute(void *handle, int name, int type, int64_t room,
                                          int64_t *out_count, void *values);
int cudnnBackendGetAttribute(void *handle, int name, int type, int64_t room, int64_t *out_count,
                             void *values) {
    DNN_ENTER();
    dnn_descriptor_t *from = dnn_find(handle, -1);
    if (from == NULL || out_count == NULL || (room > 0 && values == NULL))
        return dnn_fail(DNN_NULL, "no descriptor, or no place");
    if (!from->is_final) return dnn_fail(DNN_NOT_FINALIZED, "get %d before finalize", name);
    if (from->kind == DNN_HEURISTICS && name == 202 && type == 15)
        return get_results(from, room, out_count, values);
    if (from->kind == DNN_CONFIG && name == 300 && type == 15 && room == 1)
        return get_engine(from, out_count, values);
    if (from->kind == DNN_CONFIG && name == 302 && type == 15)
        return get_knobs(from, room, out_count, values);
    if (from->kind == DNN_KNOB && name == 600 && type == 9)
        return get_knob_type(from, room, out_count, values);
    if (from->kind == DNN_KNOB && name == 601 && type == 3)
        return get_whole(dnn_get(from, 601)->as.whole[0], room, out_count, values);
    if (from->kind == DNN_ENGINE && name == 1303 && type == 11)
        return get_notes(from, room, out_count, values);
    if (from->kind == DNN_ENGINE && name == 1301 && type == 3)
        return get_whole(from->engine, room, out_count, values);
    if (from->kind == DNN_PLAN && name == 402 && type == 3 && dnn_part(from, 401, 0) != NULL)
        return get_whole(workspace_of(dnn_part(from, 401, 0)->engine), room, out_count, values);
    return dnn_fail(DNN_BAD_PARAM, "kind %d gives no attribute %d of type %d", from->kind, name,
                    type);
}

/* ---- running ---- */

/* Finds an operand's address in the pack, and checks that it is memory of the card. */
static int bind(const stand_in_context_t *context, const dnn_descriptor_t *pack,
                const dnn_descriptor_t *descriptor, stand_in_tensor_t *tensor) {
    const dnn_attribute_t *ids = dnn_get(pack, 1000), *pointers = dnn_get(pack, 1001);

    for (int64_t i = 0; i < ids->count; ++i) {
        if (ids->as.whole[i] == id_of(descriptor))
            tensor->data = (uintptr_t)pointers->as.pointer[i];
    }
    if (tensor->data == 0)
        return dnn_fail(DNN_BAD_PARAM, "the pack has no id %lld", (long long)id_of(descriptor));
    if (tensor->data % (uint64_t)dnn_get(descriptor, 900)->as.whole[0] != 0) {
        stand_in__complain("an operand of cuDNN is not aligned as its tensor says");
        return dnn_fail(DNN_MISALIGNED, "an operand is not aligned");
    }
    const stand_in_memory_t *memory =
        stand_in__memory_at(tensor->data, stand_in__tensor_bytes(tensor), STAND_IN_MEMORY);
    if (memory == NULL || memory->device != context->device) {
        stand_in__fail_context((stand_in_context_t *)context, CUDA_ILLEGAL_ADDRESS,
                               "an operand of cuDNN is outside of the device's memory");
        return DNN_EXECUTION_FAILED;
    }
    return DNN_OK;
}

static int bind_workspace(const dnn_descriptor_t *pack, int engine, stand_in_convolution_t *out) {
    const dnn_attribute_t *given = dnn_get(pack, 1003);
    void *workspace = given != NULL ? given->as.pointer[0] : NULL;

    out->workspace_bytes = (size_t)workspace_of(engine);
    if (out->workspace_bytes == 0) return DNN_OK;
    if (stand_in__memory_at((uint64_t)(uintptr_t)workspace, out->workspace_bytes,
                            STAND_IN_MEMORY) == NULL) {
        stand_in__complain("a workspace of cuDNN at %p, which is no memory of the card", workspace);
        return dnn_fail(DNN_BAD_PARAM, "no workspace");
    }
    out->workspace = workspace;
    return DNN_OK;
}

static int bind_all(const dnn_descriptor_t *pack, form_t *form, int engine) {
    stand_in_convolution_t *convolution = &form->convolution;
    const stand_in_context_t *context = convolution->context;
    int code = bind(context, pack, form->image, &convolution->image);

    if (code == DNN_OK) code = bind(context, pack, form->filter, &convolution->filter);
    if (code == DNN_OK) code = bind(context, pack, form->result, &convolution->result);
    if (code == DNN_OK && form->bias != NULL)
        code = bind(context, pack, form->bias, &convolution->bias);
    return code == DNN_OK ? bind_workspace(pack, engine, convolution) : code;
}

static int execute(handle_t *handle, const dnn_descriptor_t *plan, const dnn_descriptor_t *pack) {
    const dnn_descriptor_t *config = dnn_part(plan, 401, 0);
    const dnn_descriptor_t *graph = config != NULL ? dnn_part(config, 1300, 0) : NULL;
    const struct timespec pause = {.tv_nsec = 50000000};
    form_t form;
    char name[32];

    if (graph == NULL || read_graph(graph, &form) != DNN_OK)
        return dnn_fail(DNN_BAD_PARAM, "the plan's parts ended");
    form.convolution.context = stand_in__current();
    form.convolution.rounds_to_tf32 =
        config->engine == ENGINE_TENSOR_CORE && form.convolution.image.type == 0;
    int code = bind_all(pack, &form, config->engine);
    if (code != DNN_OK) return code;
    load_kernels(handle, stand_in__current()->device);
    snprintf(name, sizeof name, "engine %d", config->engine);
    stand_in__count(name);
    if (stand_in__machine()->cudnn_fast >= 0 && stand_in__machine()->cudnn_fast != config->engine)
        nanosleep(&pause, NULL);
    return stand_in__enqueue(handle->stream, stand_in__run_convolution, &form.convolution,
                             sizeof form.convolution) == CUDA_OK
               ? DNN_OK
               : dnn_fail(DNN_EXECUTION_FAILED, "the stream takes no work");
}

STAND_IN_API int cudnnBackendExecute(void *handle, void *plan_handle, void *pack_handle);
int cudnnBackendExecute(void *handle, void *plan_handle, void *pack_handle) {
    DNN_ENTER();
    const dnn_descriptor_t *plan = dnn_find(plan_handle, DNN_PLAN),
                           *pack = dnn_find(pack_handle, DNN_PACK);
    handle_t *used = use_handle(handle);
    if (used == NULL) return dnn_fail(DNN_BAD_PARAM, "no handle");
    if (plan == NULL || pack == NULL || !plan->is_final || !pack->is_final)
        return leave_handle(used, dnn_fail(DNN_NOT_FINALIZED, "no final plan, or no final pack"));
    if (stand_in__current() == NULL || stand_in__current()->device->lost != 0 ||
        used->stream == NULL)
        return leave_handle(used, dnn_fail(DNN_EXECUTION_FAILED, "no context or no stream"));
    return leave_handle(used, execute(used, plan, pack));
}
