/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/safetensors_types.h"

#include <string.h>

#include "train/base/fail.h"
#include "train/checkpoint/safetensors.h"

typedef struct type_name_t {
    gantry_dtype_t dtype;
    const char *name;
} type_name_t;

/* The types must be in the format's order, which the order of the tensors follows. */
static const type_name_t type_names[] = {
    {GANTRY_BOOL, "BOOL"},     {GANTRY_UINT8, "U8"},      {GANTRY_INT8, "I8"},
    {GANTRY_INT16, "I16"},     {GANTRY_UINT16, "U16"},    {GANTRY_FLOAT16, "F16"},
    {GANTRY_BFLOAT16, "BF16"}, {GANTRY_INT32, "I32"},     {GANTRY_UINT32, "U32"},
    {GANTRY_FLOAT32, "F32"},   {GANTRY_COMPLEX64, "C64"}, {GANTRY_FLOAT64, "F64"},
    {GANTRY_INT64, "I64"},     {GANTRY_UINT64, "U64"},
};

enum { TYPE_COUNT = sizeof type_names / sizeof type_names[0] };

int gantry__safetensors_rank(gantry_dtype_t dtype) {
    for (int i = 0; i < TYPE_COUNT; ++i) {
        if (type_names[i].dtype == dtype) return i;
    }
    return -1;
}

const char *gantry__safetensors_type_name(gantry_dtype_t dtype) {
    const int rank = gantry__safetensors_rank(dtype);
    return rank < 0 ? NULL : type_names[rank].name;
}

gantry_dtype_t gantry__safetensors_type(const char *name) {
    for (int i = 0; i < TYPE_COUNT; ++i) {
        if (strcmp(type_names[i].name, name) == 0) return type_names[i].dtype;
    }
    return GANTRY_DTYPE_NONE;
}

gantry_status_t gantry__safetensors_check_machine(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    if (first == 1) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_UNIMPLEMENTED,
        "a checkpoint's numbers are little-endian; this machine is big-endian");
}
