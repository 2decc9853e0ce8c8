/* SPDX-License-Identifier: Apache-2.0 */
/* The generic way to ops: call by name with attributes, and the list of what exists. For bindings,
 * tools and tests.
 * Thread-safe but for the scope, which belongs to one thread. */
#ifndef GANTRY_OP_H
#define GANTRY_OP_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds (GANTRY_ATTR_..., abi_types.h) under the names that programs may know them by. */
#define GANTRY_KIND_BOOL GANTRY_ATTR_BOOL
#define GANTRY_KIND_INT GANTRY_ATTR_INT
#define GANTRY_KIND_FLOAT GANTRY_ATTR_FLOAT
#define GANTRY_KIND_TYPE GANTRY_ATTR_TYPE
#define GANTRY_KIND_SHAPE GANTRY_ATTR_SHAPE
#define GANTRY_KIND_INTS GANTRY_ATTR_INTS
#define GANTRY_KIND_STRING GANTRY_ATTR_STRING

typedef struct gantry_attr_value_t {
    const char *name;
    gantry_attr_kind_t kind;
    int64_t i;           /* BOOL, INT, TYPE (a gantry_dtype_t); count of list */
    double f;            /* FLOAT */
    const char *s;       /* STRING */
    const int64_t *list; /* INTS, SHAPE */
} gantry_attr_value_t;

/* An op has at most so many inputs and so many outputs. */
#define GANTRY_MAX_OP_INPUTS 64
#define GANTRY_MAX_OP_OUTPUTS 64

/* Runs the op `name` ("MatMul"; "MatMulV2"-like suffixes and aliases are taken too). Type
 * attributes that follow from the inputs need not be given. On entry *output_count is the capacity
 * of outputs, on return the number written: an attribute may say how many there are (num_split of
 * Split, num of Unpack). Outputs belong to the scope. Returns the scope's status; after a
 * failure all outputs are NULL and their number is 0. */
GANTRY_API gantry_status_t gantry_op_call(gantry_scope_t *scope, const char *name,
                                          const gantry_tensor_t *const *inputs, size_t input_count,
                                          const gantry_attr_value_t *attrs, size_t attr_count,
                                          const gantry_tensor_t **outputs, size_t *output_count);

/* ---- listing ---- */

typedef struct gantry_op_info_t {
    uint32_t struct_size;
    const char *name;
    const char *summary;
    size_t input_count; /* of names in inputs */
    size_t output_count;
    size_t attr_count;
    /* a trailing "..." marks a list: "values...", "?" one that may be left out: "padding_value?" */
    const char *const *inputs;
    const char *const *outputs; /* "output..." is as many tensors as an attribute says */
    const char *const *attrs;   /* "transpose_a: bool = false" */
    /* has no kernels of its own: runs other ops; without parts, the core makes its results on
     * the host */
    bool is_composed;
    size_t part_count;
    const char *const *parts; /* the ops that it may run; NULL when it is not composed */
} gantry_op_info_t;

GANTRY_API size_t gantry_op_count(void);
GANTRY_API gantry_status_t gantry_op_info(size_t index, gantry_op_info_t *out_info);

/* True when some kernel of `op` takes this element type (as "T", or the op's first type attribute)
 * on the device; initialises the runtime. *out_source (may be NULL) names the backend or pack that
 * has it. A composed op has what all its parts have (a part that does not take the type serves
 * other types in it, and counts when it has any kernel); its source is "composed". */
GANTRY_API gantry_status_t gantry_op_has_kernel(gantry_runtime_t *runtime, const char *op,
                                                const gantry_logical_device_t *device,
                                                gantry_dtype_t dtype, bool *out_has,
                                                const char **out_source);

/* ---- statistics of program building ---- */

typedef struct gantry_program_stats_t {
    uint32_t struct_size;
    uint64_t built;       /* compiled from text */
    uint64_t loaded;      /* taken from the disk cache */
    uint64_t reused;      /* found in memory */
    uint64_t bad_entries; /* disk entries that were damaged or foreign, and rebuilt */
    uint64_t launches;
    uint64_t build_ns;
} gantry_program_stats_t;

GANTRY_API gantry_status_t gantry_get_program_stats(gantry_runtime_t *runtime,
                                                    gantry_program_stats_t *out_stats);

#ifdef __cplusplus
}
#endif
#endif
