/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors of the stand-in cuDNN: typed attributes, checked as cuDNN checks them.
 *
 * An attribute has a type and a number of values, which a call that sets or gets it must state. A
 * descriptor that was finalised does not change, and only such a one may be another's attribute.
 * Threads: a descriptor is one thread's until it is finalised, and constant from then on. */
#ifndef GANTRY_TESTS_STAND_IN_DESCRIPTOR_H
#define GANTRY_TESTS_STAND_IN_DESCRIPTOR_H

#include "stand_in_core.h"

/* cudnnStatus_t */
enum {
    DNN_OK = 0,
    DNN_NOT_INITIALIZED = 1001,
    DNN_BAD_PARAM = 2000,
    DNN_NULL = 2002,
    DNN_MISALIGNED = 2003,
    DNN_NOT_FINALIZED = 2004,
    DNN_SHAPE_MISMATCH = 2008,
    DNN_ATTRIBUTE_TYPE = 2010,
    DNN_DESCRIPTOR_TYPE = 2012,
    DNN_NOT_SUPPORTED = 3000,
    DNN_HOST_ALLOCATION = 4003,
    DNN_EXECUTION_FAILED = 5000
};

/* cudnnBackendDescriptorType_t */
enum {
    DNN_POINTWISE = 0,
    DNN_CONVOLUTION = 1,
    DNN_ENGINE = 2,
    DNN_CONFIG = 3,
    DNN_HEURISTICS = 4,
    DNN_PLAN = 5,
    DNN_KNOB = 7,
    DNN_FORWARD = 10,
    DNN_BACKWARD_FILTER = 11,
    DNN_BACKWARD_DATA = 12,
    DNN_POINTWISE_OP = 13,
    DNN_GRAPH = 15,
    DNN_PACK = 16,
    DNN_TENSOR = 17
};

#define DNN_MOST_VALUES 8
#define DNN_MOST_ATTRIBUTES 8

typedef struct dnn_attribute_t {
    int name;
    int64_t count;
    union {
        int64_t whole[DNN_MOST_VALUES];
        int number[DNN_MOST_VALUES];
        float real[DNN_MOST_VALUES];
        uint8_t yes[DNN_MOST_VALUES];
        void *pointer[DNN_MOST_VALUES];
    } as;
} dnn_attribute_t;

typedef struct dnn_descriptor_t {
    stand_in_object_t object;
    int kind;
    int is_final;
    int engine; /* of a configuration and an engine: its number; -1: it is not filled yet */
    int32_t attribute_count;
    dnn_attribute_t attributes[DNN_MOST_ATTRIBUTES];
} dnn_descriptor_t;

/* Keeps the thread's last failure for cudnnGetLastErrorString, and returns the code. */
int dnn_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *dnn_last_failure(void);

int dnn_create(int kind, dnn_descriptor_t **out);
int dnn_destroy(void *handle);
/* The live descriptor of a kind (-1: of any); NULL: none. */
dnn_descriptor_t *dnn_find(const void *handle, int kind);

int dnn_set(dnn_descriptor_t *descriptor, int name, int type, int64_t count, const void *values);
/* Whether all attributes that the kind needs are set, and those that are descriptors final. */
int dnn_check_complete(const dnn_descriptor_t *descriptor);
/* NULL: it is not set. */
const dnn_attribute_t *dnn_get(const dnn_descriptor_t *descriptor, int name);
/* A descriptor that is an attribute; NULL after a complaint if it ended meanwhile. */
dnn_descriptor_t *dnn_part(const dnn_descriptor_t *descriptor, int name, int index);

#endif
