/* SPDX-License-Identifier: Apache-2.0 */
#include "stand_in_descriptor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cudnnBackendAttributeType_t */
enum {
    HANDLE = 0,
    DATA_TYPE = 1,
    BOOLEAN = 2,
    INT64 = 3,
    FLOAT = 4,
    POINTER = 6,
    CONVOLUTION_MODE = 7,
    HEURISTICS_MODE = 8,
    KNOB_TYPE = 9,
    POINTWISE_MODE = 14,
    DESCRIPTOR = 15
};

/* What may be set: the attribute of a kind, its type, the numbers of values, whether it must be
 * set, and the kind of a descriptor (-1: an op). */
static const struct {
    int kind, name, type, least, most, is_needed, part;
} rules[] = {
    {DNN_POINTWISE, 0, POINTWISE_MODE, 1, 1, 1, 0},
    {DNN_POINTWISE, 1, DATA_TYPE, 1, 1, 1, 0},
    {DNN_CONVOLUTION, 100, DATA_TYPE, 1, 1, 1, 0},
    {DNN_CONVOLUTION, 101, CONVOLUTION_MODE, 1, 1, 1, 0},
    {DNN_CONVOLUTION, 102, INT64, 2, 2, 1, 0},
    {DNN_CONVOLUTION, 103, INT64, 2, 2, 1, 0},
    {DNN_CONVOLUTION, 104, INT64, 2, 2, 1, 0},
    {DNN_CONVOLUTION, 105, INT64, 2, 2, 1, 0},
    {DNN_CONVOLUTION, 106, INT64, 1, 1, 1, 0},
    {DNN_ENGINE, 1300, DESCRIPTOR, 1, 1, 1, DNN_GRAPH},
    {DNN_ENGINE, 1301, INT64, 1, 1, 1, 0},
    {DNN_CONFIG, 300, DESCRIPTOR, 1, 1, 1, DNN_ENGINE},
    {DNN_CONFIG, 302, DESCRIPTOR, 1, DNN_MOST_VALUES, 0, DNN_KNOB},
    {DNN_KNOB, 600, KNOB_TYPE, 1, 1, 1, 0},
    {DNN_KNOB, 601, INT64, 1, 1, 1, 0},
    {DNN_HEURISTICS, 200, HEURISTICS_MODE, 1, 1, 1, 0},
    {DNN_HEURISTICS, 201, DESCRIPTOR, 1, 1, 1, DNN_GRAPH},
    {DNN_PLAN, 400, HANDLE, 1, 1, 1, 0},
    {DNN_PLAN, 401, DESCRIPTOR, 1, 1, 1, DNN_CONFIG},
    {DNN_FORWARD, 700, FLOAT, 1, 1, 1, 0},
    {DNN_FORWARD, 701, FLOAT, 1, 1, 1, 0},
    {DNN_FORWARD, 702, DESCRIPTOR, 1, 1, 1, DNN_CONVOLUTION},
    {DNN_FORWARD, 703, DESCRIPTOR, 1, 1, 1, DNN_TENSOR},
    {DNN_FORWARD, 704, DESCRIPTOR, 1, 1, 1, DNN_TENSOR},
    {DNN_FORWARD, 705, DESCRIPTOR, 1, 1, 1, DNN_TENSOR},
    {DNN_BACKWARD_DATA, 706, FLOAT, 1, 1, 1, 0},
    {DNN_BACKWARD_DATA, 707, FLOAT, 1, 1, 1, 0},
    {DNN_BACKWARD_DATA, 708, DESCRIPTOR, 1, 1, 1, DNN_CONVOLUTION},
    {DNN_BACKWARD_DATA, 709, DESCRIPTOR, 1, 1, 1, DNN_TENSOR},
    {DNN_BACKWARD_DATA, 710, DESCRIPTOR, 1, 1, 1, DNN_TENSOR},
    {DNN_BACKWARD_DATA, 711, DESCRIPTOR, 1, 1, 1, DNN_TENSOR},
    {DNN_BACKWARD_FILTER, 712, FLOAT, 1, 1, 1, 0},
    {DNN_BACKWARD_FILTER, 713, FLOAT, 1, 1, 1, 0},
    {DNN_BACKWARD_FILTER, 714, DESCRIPTOR, 1, 1, 1, DNN_CONVOLUTION},
    {DNN_BACKWARD_FILTER, 715, DESCRIPTOR, 1, 1, 1, DNN_TENSOR},
    {DNN_BACKWARD_FILTER, 716, DESCRIPTOR, 1, 1, 1, DNN_TENSOR},
    {DNN_BACKWARD_FILTER, 717, DESCRIPTOR, 1, 1, 1, DNN_TENSOR},
    {DNN_POINTWISE_OP, 750, DESCRIPTOR, 1, 1, 1, DNN_POINTWISE},
    {DNN_POINTWISE_OP, 751, DESCRIPTOR, 1, 1, 1, DNN_TENSOR},
    {DNN_POINTWISE_OP, 752, DESCRIPTOR, 1, 1, 0, DNN_TENSOR},
    {DNN_POINTWISE_OP, 753, DESCRIPTOR, 1, 1, 1, DNN_TENSOR},
    {DNN_GRAPH, 800, HANDLE, 1, 1, 1, 0},
    {DNN_GRAPH, 801, DESCRIPTOR, 1, DNN_MOST_VALUES, 1, -1},
    {DNN_PACK, 1000, INT64, 1, DNN_MOST_VALUES, 1, 0},
    {DNN_PACK, 1001, POINTER, 1, DNN_MOST_VALUES, 1, 0},
    {DNN_PACK, 1003, POINTER, 1, 1, 0, 0},
    {DNN_TENSOR, 900, INT64, 1, 1, 1, 0},
    {DNN_TENSOR, 901, DATA_TYPE, 1, 1, 1, 0},
    {DNN_TENSOR, 902, INT64, 4, 4, 1, 0},
    {DNN_TENSOR, 903, INT64, 4, 4, 1, 0},
    {DNN_TENSOR, 906, INT64, 1, 1, 1, 0},
    {DNN_TENSOR, 907, BOOLEAN, 1, 1, 0, 0},
};
#define RULES (sizeof rules / sizeof rules[0])

/* ---- failures ---- */

static _Thread_local char last_failure[256];

int dnn_fail(int code, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(last_failure, sizeof last_failure, format, arguments);
    va_end(arguments);
    return code;
}

const char *dnn_last_failure(void) { return last_failure; }

/* ---- life ---- */

static void end_descriptor(stand_in_object_t *object) { free(object); }

static int is_known(int kind) {
    for (size_t i = 0; i < RULES; ++i) {
        if (rules[i].kind == kind) return 1;
    }
    return 0;
}

int dnn_create(int kind, dnn_descriptor_t **out) {
    if (out == NULL) return dnn_fail(DNN_NULL, "no place for a descriptor");
    if (!is_known(kind)) return dnn_fail(DNN_NOT_SUPPORTED, "descriptors of kind %d", kind);
    dnn_descriptor_t *made = calloc(1, sizeof *made);
    if (made == NULL) return dnn_fail(DNN_HOST_ALLOCATION, "no memory for a descriptor");
    made->kind = kind;
    made->engine = -1;
    made->object.kind = STAND_IN_DNN_PARTS;
    made->object.end = end_descriptor;
    stand_in__list(&made->object);
    *out = made;
    return DNN_OK;
}

dnn_descriptor_t *dnn_find(const void *handle, int kind) {
    stand_in_object_t *object = stand_in__find(handle, STAND_IN_DNN_PARTS);
    dnn_descriptor_t *found = (dnn_descriptor_t *)object;

    return found != NULL && (kind < 0 || found->kind == kind) ? found : NULL;
}

int dnn_destroy(void *handle) {
    dnn_descriptor_t *found = dnn_find(handle, -1);

    if (found == NULL || !stand_in__unlist(&found->object))
        return dnn_fail(DNN_BAD_PARAM, "no such descriptor");
    end_descriptor(&found->object);
    return DNN_OK;
}

/* ---- attributes ---- */

static size_t value_bytes(int type) {
    switch (type) {
        case BOOLEAN: return 1;
        case INT64:
        case POINTER:
        case HANDLE:
        case DESCRIPTOR: return 8;
        default: return 4;
    }
}

static int is_op(int kind) { return kind >= DNN_FORWARD && kind <= DNN_POINTWISE_OP; }

/* A descriptor that is given as an attribute. */
static int check_part(int rule, const void *handle) {
    const dnn_descriptor_t *part = dnn_find(handle, -1);

    if (part == NULL) return dnn_fail(DNN_NULL, "attribute %d is no descriptor", rules[rule].name);
    if (rules[rule].part < 0 ? !is_op(part->kind) : part->kind != rules[rule].part)
        return dnn_fail(DNN_DESCRIPTOR_TYPE, "attribute %d is a descriptor of kind %d",
                        rules[rule].name, part->kind);
    /* configurations come filled from the heuristics */
    if (!part->is_final && part->kind != DNN_CONFIG)
        return dnn_fail(DNN_NOT_FINALIZED, "attribute %d is not finalized", rules[rule].name);
    if (part->kind == DNN_CONFIG && part->engine < 0)
        return dnn_fail(DNN_NOT_FINALIZED, "the configuration is empty");
    return DNN_OK;
}

static int rule_of(int kind, int name) {
    for (size_t i = 0; i < RULES; ++i) {
        if (rules[i].kind == kind && rules[i].name == name) return (int)i;
    }
    return -1;
}

int dnn_set(dnn_descriptor_t *descriptor, int name, int type, int64_t count, const void *values) {
    int rule = rule_of(descriptor->kind, name);
    dnn_attribute_t *attribute = NULL;

    if (descriptor->is_final) return dnn_fail(DNN_BAD_PARAM, "set %d after finalize", name);
    if (rule < 0)
        return dnn_fail(DNN_BAD_PARAM, "kind %d has no attribute %d", descriptor->kind, name);
    if (rules[rule].type != type)
        return dnn_fail(DNN_ATTRIBUTE_TYPE, "attribute %d has type %d, not %d", name,
                        rules[rule].type, type);
    if (values == NULL || count < rules[rule].least || count > rules[rule].most)
        return dnn_fail(DNN_BAD_PARAM, "attribute %d with %lld values", name, (long long)count);
    for (int64_t i = 0; type == DESCRIPTOR && i < count; ++i) {
        int code = check_part(rule, ((void *const *)values)[i]);

        if (code != DNN_OK) return code;
    }
    if (type == HANDLE && stand_in__find(*(void *const *)values, STAND_IN_DNN) == NULL)
        return dnn_fail(DNN_BAD_PARAM, "attribute %d is no handle", name);
    for (int i = 0; i < descriptor->attribute_count; ++i) {
        if (descriptor->attributes[i].name == name) attribute = &descriptor->attributes[i];
    }
    if (attribute == NULL) attribute = &descriptor->attributes[descriptor->attribute_count++];
    attribute->name = name;
    attribute->count = count;
    memcpy(&attribute->as, values, (size_t)count * value_bytes(type));
    return DNN_OK;
}

const dnn_attribute_t *dnn_get(const dnn_descriptor_t *descriptor, int name) {
    for (int i = 0; i < descriptor->attribute_count; ++i) {
        if (descriptor->attributes[i].name == name) return &descriptor->attributes[i];
    }
    return NULL;
}

int dnn_check_complete(const dnn_descriptor_t *descriptor) {
    for (size_t i = 0; i < RULES; ++i) {
        if (rules[i].kind == descriptor->kind && rules[i].is_needed &&
            dnn_get(descriptor, rules[i].name) == NULL) {
            return dnn_fail(DNN_BAD_PARAM, "attribute %d of kind %d is not set", rules[i].name,
                            descriptor->kind);
        }
    }
    return DNN_OK;
}

dnn_descriptor_t *dnn_part(const dnn_descriptor_t *descriptor, int name, int index) {
    const dnn_attribute_t *attribute = dnn_get(descriptor, name);
    dnn_descriptor_t *part = attribute != NULL && index < attribute->count
                                 ? dnn_find(attribute->as.pointer[index], -1)
                                 : NULL;

    if (part == NULL)
        stand_in__complain("attribute %d of a descriptor of kind %d ended before it was used", name,
                           descriptor->kind);
    return part;
}
