/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of the C functions of ops: attributes, small inputs on the host, and the call
 * itself.
 *
 * Each returns NULL after a failure, which the scope keeps; also for a NULL scope. The scope
 * belongs to the calling thread. */
#ifndef GANTRY_RUN_CALL_OP_H
#define GANTRY_RUN_CALL_OP_H

#include <gantry/ops.h>

#include "run/eager.h"

/* An attribute by its kind; it points to its argument. */
static inline gantry_attr_value_t gantry__attr_int(const char *name, int64_t value) {
    return (gantry_attr_value_t){.name = name, .kind = GANTRY_ATTR_INT, .i = value};
}

static inline gantry_attr_value_t gantry__attr_bool(const char *name, bool value) {
    return (gantry_attr_value_t){.name = name, .kind = GANTRY_ATTR_BOOL, .i = value};
}

static inline gantry_attr_value_t gantry__attr_type(const char *name, gantry_dtype_t value) {
    return (gantry_attr_value_t){.name = name, .kind = GANTRY_ATTR_TYPE, .i = (int64_t)value};
}

static inline gantry_attr_value_t gantry__attr_float(const char *name, double value) {
    return (gantry_attr_value_t){.name = name, .kind = GANTRY_ATTR_FLOAT, .f = value};
}

static inline gantry_attr_value_t gantry__attr_text(const char *name, const char *value) {
    return (gantry_attr_value_t){.name = name, .kind = GANTRY_ATTR_STRING, .s = value};
}

static inline gantry_attr_value_t gantry__attr_ints(const char *name, const int64_t *list,
                                                    size_t count) {
    return (gantry_attr_value_t){
        .name = name, .kind = GANTRY_ATTR_INTS, .i = (int64_t)count, .list = list};
}

/* Inputs that describe a call (axes, shapes, seeds) live on the host, whatever device the scope
 * requests. Only the call owns them. */
typedef struct gantry__extras_t {
    gantry_tensor_t *tensors[8];
    uint32_t count; /* 0 at first */
} gantry__extras_t;

/* Adds a host value in the memory of the device, which must be the host's. */
const gantry_tensor_t *gantry__add_host_on(gantry__extras_t *extras, gantry_scope_t *scope,
                                           gantry_logical_device_t *device, gantry_dtype_t dtype,
                                           const gantry_shape_t *shape, const void *data);
const gantry_tensor_t *gantry__add_host(gantry__extras_t *extras, gantry_scope_t *scope,
                                        gantry_dtype_t dtype, gantry_shape_t shape,
                                        const void *data);
/* int64 */
const gantry_tensor_t *gantry__add_host_shape(gantry__extras_t *extras, gantry_scope_t *scope,
                                              const gantry_shape_t *shape);
/* The same of a shape that the program gives; the op refuses one that is not possible. */
const gantry_tensor_t *gantry__add_given_shape(gantry__extras_t *extras, gantry_scope_t *scope,
                                               gantry__op_id_t op, const gantry_shape_t *shape);
const gantry_tensor_t *gantry__add_host_i32(gantry__extras_t *extras, gantry_scope_t *scope,
                                            int32_t value);
const gantry_tensor_t *gantry__add_host_i64(gantry__extras_t *extras, gantry_scope_t *scope,
                                            int64_t value);
/* int64 if `like` (may be NULL) is, else int32: for a number whose type the op takes from another
 * input. */
const gantry_tensor_t *gantry__add_host_int_like(gantry__extras_t *extras, gantry_scope_t *scope,
                                                 const gantry_tensor_t *like, int32_t value);
/* The axes of a reduction: those of options, or all axes of x. */
const gantry_tensor_t *gantry__add_host_axes(gantry__extras_t *extras, gantry_scope_t *scope,
                                             const gantry_tensor_t *x,
                                             const gantry_reduce_options_t *options);

/* Reads an op's options into this library's struct, with defaults where none are given. False after
 * an InvalidArgument, which the scope keeps. first_bytes: the meaning of a struct_size of 0. what:
 * the struct's name. */
bool gantry__take_options(gantry_scope_t *scope, const void *given, size_t first_bytes, void *out,
                          size_t out_bytes, const char *what);
/* The same for a struct whose last field in version 0.1 was `last`. */
#define GANTRY__TAKE_OPTIONS(scope, given, type, last, out)                             \
    gantry__take_options(scope, given, offsetof(type, last) + sizeof((out)->last), out, \
                         sizeof *(out), #type)

/* Whether a list with count entries is not NULL; false after an InvalidArgument, which the scope
 * keeps. what: "gantry_concat: values". */
bool gantry__is_given(gantry_scope_t *scope, const void *list, size_t count, const char *what);
/* int64 [rank of x] or, with several entries per dimension, [rank, each]. The list may be NULL for
 * a scalar, or without x, which the op refuses. */
const gantry_tensor_t *gantry__add_host_of_rank(gantry__extras_t *extras, gantry_scope_t *scope,
                                                const gantry_tensor_t *x, const int64_t *list,
                                                int64_t each, const char *what);

/* Runs an op of one output, then releases the extras (may be NULL). */
const gantry_tensor_t *gantry__call_op(gantry_scope_t *scope, gantry__op_id_t id,
                                       const gantry_tensor_t *const *inputs, size_t input_count,
                                       const gantry_attr_value_t *attrs, size_t attr_count,
                                       gantry__extras_t *extras);
/* The same for any number of outputs; *output_count on entry the room in outputs, on
 * return the number of tensors. Returns the scope's status. */
gantry_status_t gantry__call_op_into(gantry_scope_t *scope, gantry__op_id_t id,
                                     const gantry_tensor_t *const *inputs, size_t input_count,
                                     const gantry_attr_value_t *attrs, size_t attr_count,
                                     gantry__extras_t *extras, const gantry_tensor_t **outputs,
                                     size_t *output_count);

#endif
