/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * What a model is made of and became: metadata, the nodes with their devices and reasons, memory
 * before a run, and the function of fixed sizes.
 *
 * Texts are the model's. Thread-safe. */
#ifndef GANTRY_ONNX_EXPLAIN_H
#define GANTRY_ONNX_EXPLAIN_H

#include <gantry_onnx/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a model is. The struct may grow. */
typedef struct gantry_onnx_info_t {
    uint32_t struct_size;         /**< Its sizeof. */
    int64_t ir_version;           /**< Of the file's format, 3 to 14. */
    int64_t model_version;        /**< What its maker counts. */
    const char *producer;         /**< The program that wrote it; "" without one. */
    const char *producer_version; /**< Its version. */
    const char *domain;           /**< The maker's name space. */
    const char *text;             /**< The maker's description. */
    const char *graph_name;       /**< The name of the graph. */
    size_t node_count;            /**< Nodes, those of all subgraphs included. */
    size_t opset_count;           /**< Operator sets: gantry_onnx_model_get_opset. */
    size_t op_count;              /**< Ops: gantry_onnx_model_get_op. */
    size_t metadata_count;        /**< Texts: gantry_onnx_model_get_metadata. */
    uint64_t weight_bytes;        /**< Of the tensors in the file and its external data. */
} gantry_onnx_info_t;

/** An operator set that the model imports. The struct does not grow. */
typedef struct gantry_onnx_opset_t {
    const char *domain; /**< "" is ai.onnx. */
    int64_t version;    /**< Its version. */
} gantry_onnx_opset_t;

/** An op of the model's nodes. The struct may grow. */
typedef struct gantry_onnx_op_t {
    uint32_t struct_size; /**< Its sizeof. */
    const char *domain;   /**< "" is ai.onnx. */
    const char *op;       /**< "Conv". */
    int64_t version;      /**< Of the operator set that the model imports. */
    size_t count;         /**< Nodes with it, those of all subgraphs included. */
    const char *reason;   /**< Why this library refuses it; NULL: it has it. */
} gantry_onnx_op_t;

/** Says what the model is. out_info->struct_size must be set. */
GANTRY_API gantry_status_t gantry_onnx_model_get_info(const gantry_onnx_model_t *model,
                                                      gantry_onnx_info_t *out_info);
/** Reads an operator set. */
GANTRY_API gantry_status_t gantry_onnx_model_get_opset(const gantry_onnx_model_t *model,
                                                       size_t index,
                                                       gantry_onnx_opset_t *out_opset);
/** Reads a text of the file's metadata. */
GANTRY_API gantry_status_t gantry_onnx_model_get_metadata(const gantry_onnx_model_t *model,
                                                          size_t index,
                                                          gantry_metadata_t *out_metadata);
/** Reads an op with the number of its nodes. out_op->struct_size must be set. */
GANTRY_API gantry_status_t gantry_onnx_model_get_op(const gantry_onnx_model_t *model, size_t index,
                                                    gantry_onnx_op_t *out_op);

/** Writes what the model's nodes became: for each its op, operator set, device and reason, or why
 * it is refused; after a run also what gantry_function_explain says of the newest trace. out_needed
 * gets the length without the final zero; out may be NULL if out_bytes is 0. */
GANTRY_API gantry_status_t gantry_onnx_model_explain(gantry_onnx_model_t *model,
                                                     gantry_explain_form_t form, char *out,
                                                     size_t out_bytes, size_t *out_needed);
/** The function of the newest run's sizes, which the model owns: its memory, its graph, and a file
 * of it by gantry_function_save. FailedPrecondition before the first run, and for a model that runs
 * op by op. */
GANTRY_API gantry_status_t gantry_onnx_model_get_function(gantry_onnx_model_t *model,
                                                          gantry_function_t **out_function);

/** Makes a function of the model for these shapes of its inputs, without a run: for the memory of a
 * call (gantry_function_get_memory) and for a file (gantry_function_save). A shape of rank -1
 * leaves an input out that has a value in the file. device: as for gantry_clone_options_t; NULL:
 * that of the model's options. The caller releases the function, which may outlive the model.
 *
 * Errors are those of gantry_onnx_model_run; FailedPrecondition if sizes depend on elements of the
 * inputs, or the file does not say an input's type. */
GANTRY_API gantry_status_t gantry_onnx_model_trace(gantry_onnx_model_t *model,
                                                   const gantry_shape_t *shapes, size_t shape_count,
                                                   const char *device,
                                                   gantry_function_t **out_function);

#ifdef __cplusplus
}
#endif
#endif
