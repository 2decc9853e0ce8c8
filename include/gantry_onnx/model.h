/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Models: ONNX files that run on Gantry's devices.
 *
 *     gantry_onnx_model_load(runtime, "model.onnx", NULL, &model);
 *     gantry_onnx_model_run(model, scope, inputs, input_count, outputs, output_count);
 *
 * A model reads operator sets 6 to 28 and IR versions 3 to 14. Each combination of input sizes is
 * traced once, as a function's is (gantry/function.h): a run of new sizes takes longer than the
 * next one of these sizes. A file is never trusted: whatever its bytes are, loading ends with a
 * model or an error, and external data are read from the model's folder only.
 *
 * Owner: the caller that loaded a model releases it; texts and lists that are read from it are the
 * model's; the scope of a run owns the outputs. Thread-safe: several threads may run one model,
 * each with a scope of its own. */
#ifndef GANTRY_ONNX_MODEL_H
#define GANTRY_ONNX_MODEL_H

#include <gantry/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model. */
typedef struct gantry_onnx_model_t gantry_onnx_model_t;

/** A size for a named dimension of the inputs. The struct does not grow. */
typedef struct gantry_onnx_dim_t {
    const char *name; /**< The dimension's name in the file: "batch". */
    int64_t size;     /**< Its size, 1 or more. */
} gantry_onnx_dim_t;

/** Options of a model. Fields that stay 0 say nothing. */
typedef struct gantry_onnx_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** The device of its ops, as for gantry_scope_begin. NULL: that of the scope of each run. */
    const char *device;
    /** Sizes for named dimensions, so that all are known before the first run. */
    const gantry_onnx_dim_t *dims;
    size_t dim_count; /**< Entries of dims. */
    /** The folder of external data of gantry_onnx_model_load_bytes; NULL: none may be there. Of a
     * file it is the file's own folder. */
    const char *folder;
    /** Reads the file in place of mapping it: for a file that others may shorten meanwhile, which
     * ends a process that has mapped it. */
    bool reads_file;
    /** Follows symbolic links of external data, to files with other names, too; false: refused. */
    bool follows_links;
    /** Options of its functions: traces, threads, memory budget, passes. NULL: none. */
    const gantry_function_options_t *function;
    /** Loads a model of which nodes are refused: gantry_onnx_model_get_op and
     * gantry_onnx_model_explain say why, and a run fails with the first reason. */
    bool keeps_refused;
} gantry_onnx_options_t;

/** Loads the model of a file. options may be NULL. NotFound; InvalidArgument with the file, the
 * node, its op and version and what is wrong; Unimplemented for what this library does not have
 * (gantry_onnx_model_explain lists all of it). */
GANTRY_API gantry_status_t gantry_onnx_model_load(gantry_runtime_t *runtime, const char *path,
                                                  const gantry_onnx_options_t *options,
                                                  gantry_onnx_model_t **out_model);
/** Loads a model of bytes, which must live as long as the model; name is for messages. */
GANTRY_API gantry_status_t gantry_onnx_model_load_bytes(gantry_runtime_t *runtime, const char *name,
                                                        const void *bytes, size_t size,
                                                        const gantry_onnx_options_t *options,
                                                        gantry_onnx_model_t **out_model);
/** Releases a model; NULL does no harm. */
GANTRY_API void gantry_onnx_model_release(gantry_onnx_model_t *model);

/** An input or output. The struct may grow. */
typedef struct gantry_onnx_value_t {
    uint32_t struct_size; /**< Its sizeof. */
    const char *name;     /**< Its name, any text. */
    gantry_dtype_t dtype; /**< The type of its elements; GANTRY_DTYPE_NONE: not declared. */
    /** Its shape; -1 is a size that is not declared. rank -1: none is declared. */
    gantry_shape_t shape;
    /** For each dimension its name; NULL: none. */
    const char *const *dim_names;
    bool is_optional; /**< An input that has a value in the file. */
} gantry_onnx_value_t;

/** The number of inputs; 0 for NULL. */
GANTRY_API size_t gantry_onnx_model_input_count(const gantry_onnx_model_t *model);
/** The number of outputs; 0 for NULL. */
GANTRY_API size_t gantry_onnx_model_output_count(const gantry_onnx_model_t *model);
/** Describes an input. out_value->struct_size must be set. */
GANTRY_API gantry_status_t gantry_onnx_model_get_input(const gantry_onnx_model_t *model,
                                                       size_t index,
                                                       gantry_onnx_value_t *out_value);
/** Describes an output. out_value->struct_size must be set. */
GANTRY_API gantry_status_t gantry_onnx_model_get_output(const gantry_onnx_model_t *model,
                                                        size_t index,
                                                        gantry_onnx_value_t *out_value);

/** Runs the model. inputs are in the order of its inputs; NULL takes the value in the file.
 * outputs gets output_count tensors, the first ones of the model, which the scope owns; a tensor of
 * another type or shape than the input's is InvalidArgument, with the name. Returns the scope's
 * status. */
GANTRY_API gantry_status_t gantry_onnx_model_run(gantry_onnx_model_t *model, gantry_scope_t *scope,
                                                 const gantry_tensor_t *const *inputs,
                                                 size_t input_count,
                                                 const gantry_tensor_t **outputs,
                                                 size_t output_count);

#ifdef __cplusplus
}
#endif
#endif
