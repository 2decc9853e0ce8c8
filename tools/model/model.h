/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gantry model`. A function that returns false, or an exit code that is not 0, must
 * have written the reason to standard error. Owner: the call has its runtime and model. Threads:
 * externally synchronised. */
#ifndef GANTRY_TOOLS_MODEL_H
#define GANTRY_TOOLS_MODEL_H

#include <gantry_onnx/onnx.h>

#include "command/command.h"
#include "convert/convert.h"

#define MODEL_TYPE_BYTES 1024

typedef struct model_call_t {
    const gantry_command_values_t *values;
    const char *action, *path;
    const char *device; /* NULL: as the runtime places */
    gantry_runtime_t *runtime;
    gantry_onnx_model_t *model;
    double load_seconds;
    gantry_json_t *json;     /* NULL: text */
    gantry_onnx_dim_t *dims; /* of --dim and --memory; their names are own copies */
    size_t dim_count;
    uint64_t seed, size; /* of filled inputs */
    size_t fill;         /* a choice of --fill */
} model_call_t;

enum { MODEL_FILL_RANDOM, MODEL_FILL_ONES, MODEL_FILL_ZEROS };

/* Gets an input or output of the model by its number. */
typedef gantry_status_t model_get_fn(const gantry_onnx_model_t *model, size_t index,
                                     gantry_onnx_value_t *out);

/* "float32 [batch, 3, ?]"; a type that the file does not declare is "?". Returns out. */
const char *model_type_text(const gantry_onnx_value_t *value, char out[MODEL_TYPE_BYTES]);

/* ---- inputs.c ---- */

/* Reads "NAME=SIZE" of --dim and --memory into the call. */
bool model_read_dims(model_call_t *call);
/* Refuses a dimension's name that no input has. Returns the exit code. */
int model_check_dims(const model_call_t *call);
/* Reads the inputs that have files; the others have no data. As model_make_inputs. */
int model_read_inputs(const model_call_t *call, convert_set_t *out);
/* Reads or makes all inputs, one tensor each in the model's order; one without data is left out,
 * because the file has its value. Returns the exit code; the caller must deinit the set after a
 * failure, too. */
int model_make_inputs(const model_call_t *call, convert_set_t *out);
/* Brings them to the scope's device: as many pointers as the model has inputs. */
bool model_give_inputs(const convert_set_t *inputs, gantry_scope_t *scope,
                       const gantry_tensor_t **out);

/* ---- run.c ---- */

/* Runs the model once in the scope. */
bool model_run_in(const model_call_t *call, gantry_scope_t *scope, const convert_set_t *inputs,
                  const gantry_tensor_t **outputs);
/* Runs the model and reads its outputs, named as in the file. */
bool model_run_on(const model_call_t *call, const char *device, const convert_set_t *inputs,
                  convert_set_t *out);
/* Runs the model once with made inputs, so that it has a trace. Returns the exit code. */
int model_trace(const model_call_t *call);
/* Makes the function of these inputs, which the caller releases: without a run, unless sizes depend
 * on elements of the inputs. Returns the exit code. */
int model_make_function(const model_call_t *call, gantry_function_t **out_function);

/* The actions. They return the exit code. */
int model_info(const model_call_t *call);
int model_run(const model_call_t *call);
int model_bench(const model_call_t *call);
int model_explain(const model_call_t *call);
int model_convert(const model_call_t *call);

/* ---- compare.c ---- */

/* Runs the model on a second device and prints how far its outputs differ from those. */
int model_compare(const model_call_t *call, const convert_set_t *inputs,
                  const convert_set_t *outputs);

#endif
