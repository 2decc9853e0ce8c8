/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Ops by name: call any op with attributes, and list the ops. For bindings, tools and tests.
 *
 * Thread-safe, except for the scope, which belongs to one thread. */
#ifndef GANTRY_OP_H
#define GANTRY_OP_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An attribute of a call. The caller owns its texts and lists. The struct does not grow. */
typedef struct gantry_attr_value_t {
    const char *name;        /**< The attribute's name: "transpose_a". */
    gantry_attr_kind_t kind; /**< Which of the fields below has the value. */
    /** The value of BOOL, INT and TYPE (a gantry_dtype_t); the length of list. */
    int64_t i;
    double f;            /**< The value of FLOAT. */
    const char *s;       /**< The value of STRING. */
    const int64_t *list; /**< The values of INTS and SHAPE. */
} gantry_attr_value_t;

/** The most inputs that an op can have. */
#define GANTRY_MAX_OP_INPUTS 64
/** The most outputs that an op can have. */
#define GANTRY_MAX_OP_OUTPUTS 64

/** Runs the op with this name: "MatMul". Names with a version ("MatMulV2") and aliases are
 * accepted. A type attribute that follows from the inputs may be left out.
 *
 * On entry *output_count is the capacity of outputs, on return the number written; an attribute
 * may decide it (num_split of Split, num of Unpack). The scope owns the outputs. Returns the
 * scope's status; after a failure all outputs are NULL and *output_count is 0. */
GANTRY_API gantry_status_t gantry_op_call(gantry_scope_t *scope, const char *name,
                                          const gantry_tensor_t *const *inputs, size_t input_count,
                                          const gantry_attr_value_t *attrs, size_t attr_count,
                                          const gantry_tensor_t **outputs, size_t *output_count);

/** An op with its attributes, found and checked once for many calls. Any thread may call it. An op
 * that draws by its attributes seed and seed2 has a stream of its own, which begins anew with each
 * prepared op and with gantry_set_seed. */
typedef struct gantry_prepared_op_t gantry_prepared_op_t;

/** Prepares calls of the op with this name. The attributes are copied. The errors of names and
 * attributes are those of gantry_op_call. */
GANTRY_API gantry_status_t gantry_op_prepare(gantry_runtime_t *runtime, const char *name,
                                             const gantry_attr_value_t *attrs, size_t attr_count,
                                             gantry_prepared_op_t **out_prepared);
/** gantry_op_call with a prepared op. Without a search for names, it costs as much as the op's own
 * function. The scope must be of the prepared op's runtime. */
GANTRY_API gantry_status_t gantry_op_call_prepared(gantry_scope_t *scope,
                                                   const gantry_prepared_op_t *prepared,
                                                   const gantry_tensor_t *const *inputs,
                                                   size_t input_count,
                                                   const gantry_tensor_t **outputs,
                                                   size_t *output_count);
/** Releases a prepared op, which no call may use any more; NULL does no harm. */
GANTRY_API void gantry_prepared_op_release(gantry_prepared_op_t *prepared);

/** Runs the op with this name and puts its first outputs in the places of its first inputs: for
 * programs that keep values which change outside of a gantry_variable_t.
 *
 *     gantry_op_update(scope, "Sub", &weights, 1, &step, 1, NULL, 0);
 *
 * values are the op's first inputs, 1 to 4 tensors of one device, to which the caller must hold
 * references of its own; inputs are the others. The op runs where the first value is. On success
 * each value is a new tensor of the former one's type and shape, and the reference to the former
 * one is gone. A value that nobody else holds is overwritten, as by gantry_variable_update; a
 * tensor that shares its memory keeps its elements. After a failure the values are the former
 * tensors. Not in a trace. Observers of the scope are not called. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_op_update(gantry_scope_t *scope, const char *name,
                                            gantry_tensor_t **values, size_t value_count,
                                            const gantry_tensor_t *const *inputs,
                                            size_t input_count, const gantry_attr_value_t *attrs,
                                            size_t attr_count);

/* ---- listing ---- */

/** An op, described. The texts are constant. */
typedef struct gantry_op_info_t {
    uint32_t struct_size; /**< Its sizeof. */
    const char *name;     /**< TensorFlow's name: "MatMul". */
    const char *summary;  /**< What the op computes, in one line. */
    size_t input_count;   /**< Names in inputs. */
    size_t output_count;  /**< Names in outputs. */
    size_t attr_count;    /**< Texts in attrs. */
    /** Names of inputs. "values..." is a list; "padding_value?" may be left out. */
    const char *const *inputs;
    /** Names of outputs. "output..." is as many tensors as an attribute says. */
    const char *const *outputs;
    const char *const *attrs; /**< Attributes with kind and default: "transpose_a: bool = false". */
    /** The op has no kernels and runs other ops. Without parts, the core computes its results on
     * the host. */
    bool is_composed;
    size_t part_count;        /**< Names in parts. */
    const char *const *parts; /**< The ops that it may run; NULL when it is not composed. */
    /** Bit i: the op reads the elements of input i on the host: axes, shapes, seeds. Such an input
     * is best on the CPU, because the call waits for it elsewhere. */
    uint64_t host_inputs;
    /** The element types of inputs, then of outputs: 0 or more is the index of a type attribute in
     * attrs, a negative number is a gantry_dtype_t with its sign changed, and INT8_MIN says that
     * each tensor of the list has a type of its own. */
    const int8_t *types;
    /** A result's shape depends on elements of the inputs: the call waits for its device. */
    bool has_data_shape;
    /** gantry_op_call runs it. Const and the ops of variables have functions of their own. */
    bool is_callable;
    /** Why the op is about the batch, or about a row's place in it, so that the option
     * batch_invariant (runtime.h) promises nothing about its rows: "a sum over the batch". NULL: a
     * row of the result that is computed from one row of the inputs keeps its bits in every
     * batch. */
    const char *batch_dependence;
    /** The version of its meaning, 1 or more: saved functions carry it, and a library refuses those
     * of a newer one. */
    uint32_t version;
} gantry_op_info_t;

/** The number of ops. */
GANTRY_API size_t gantry_op_count(void);
/** Describes the op with this index, below gantry_op_count. out_info->struct_size must be set. */
GANTRY_API gantry_status_t gantry_op_info(size_t index, gantry_op_info_t *out_info);

/** Says whether a kernel of the op takes this element type on the device, as "T" or as the op's
 * first type attribute. Initialises the runtime. *out_source (may be NULL) is the backend or pack
 * that has the kernel.
 *
 * A composed op needs a kernel of each of its parts that other parts cannot replace. A part that
 * does not take the type, because it handles another type there, only needs some kernel. The
 * source is then "composed". */
GANTRY_API gantry_status_t gantry_op_has_kernel(gantry_runtime_t *runtime, const char *op,
                                                const gantry_logical_device_t *device,
                                                gantry_dtype_t dtype, bool *out_has,
                                                const char **out_source);

/* ---- statistics of program building ---- */

/** Counts of programs built for devices, since the runtime was created. */
typedef struct gantry_program_stats_t {
    uint32_t struct_size; /**< Its sizeof. */
    uint64_t built;       /**< Programs compiled from text. */
    uint64_t loaded;      /**< Programs loaded from the disk cache. */
    uint64_t reused;      /**< Requests served from memory. */
    uint64_t bad_entries; /**< Damaged or foreign entries of the disk cache, rebuilt. */
    uint64_t launches;    /**< Launches of kernels. */
    uint64_t build_ns;    /**< Time spent compiling, in nanoseconds. */
} gantry_program_stats_t;

/** Reads the counts. out_stats->struct_size must be set. */
GANTRY_API gantry_status_t gantry_get_program_stats(gantry_runtime_t *runtime,
                                                    gantry_program_stats_t *out_stats);

#ifdef __cplusplus
}
#endif
#endif
