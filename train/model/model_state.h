/* SPDX-License-Identifier: Apache-2.0 */
/* A model as its own files see it: its layers and the values between them, its variables, what it
 * is trained for, and the functions of its steps. The files of train/model share this struct; each
 * section below names its file.
 *
 * Owner: references are counted; the program has one, and each model that has this one as a block
 * has one of its own. A model owns its variables, and holds references to its layers and blocks.
 * Threads: externally synchronised, together with all models that share its layers; only is_stopped
 * may be set from another thread. */
#ifndef GANTRY_TRAIN_MODEL_STATE_H
#define GANTRY_TRAIN_MODEL_STATE_H

#include <stdatomic.h>

#include <gantry_train/model.h>

#include "train/layer/layer_state.h"
#include "train/numerics/numerics.h"

/* A layer in a model. */
typedef struct gantry__member_t {
    gantry_layer_t *layer; /* with a reference */
    char *name;            /* of a block's layer "block/dense"; NULL: that of the layer */
    bool is_frozen;        /* since the model was compiled, or built without being compiled */
    size_t first_variable; /* of the model's variables */
    size_t nested;         /* 1 + the block that it came with; 0: it came with none */
} gantry__member_t;

/* A value: an input, or the output of a layer. */
typedef struct gantry__model_value_t {
    const gantry__member_t *member; /* NULL: an input */
    int32_t *inputs;
    size_t input_count;
    gantry_dtype_t dtype; /* of an input */
    gantry_shape_t shape; /* batch and open sizes -1; of outputs known when built */
    size_t part;          /* of its layer's outputs; parts follow part 0, and have no inputs */
    size_t nested_call;   /* 1 + the application of a block that made it; 0: none did */
    uint64_t ops;         /* with a worker: a checksum of the ops that made it in the build */
} gantry__model_value_t;

/* A model that is a layer of another one: nested.c. */
typedef struct gantry__nested_t {
    gantry_model_t *model; /* with a reference */
    char *name;
} gantry__nested_t;

/* An application of a block. Its values follow each other. */
typedef struct gantry__nested_call_t {
    size_t nested;
    int32_t *inputs; /* then the outputs */
    size_t input_count, output_count;
} gantry__nested_call_t;

/* A variable: a weight of a layer, once for each replica. */
typedef struct gantry__model_variable_t {
    const gantry__weight_t *weight;
    gantry_variable_t **copies; /* one for each replica; the layer's */
    char *name;                 /* in files: "dense/kernel", by the layer's name in the model */
    bool is_trained;
} gantry__model_variable_t;

/* The loss of an output, and where its labels are. */
typedef struct gantry__target_t {
    gantry_loss_t loss; /* 0: none */
    gantry_loss_options_t loss_options;
    double loss_weight;
    bool has_labels; /* it has a loss or metrics */
    size_t label;    /* the place of its labels among those of a batch, if it has any */
} gantry__target_t;

/* A number that judges a model in the logs of a training: the mean of a loss, or a metric. */
typedef struct gantry__judge_t {
    gantry_metric_t *metric;
    char *name;
    size_t target;
    bool is_loss;      /* the mean of a loss, which the step has computed: */
    bool is_of_target; /* of its target; else of all together */
    bool is_weighted;  /* by weights of samples */
} gantry__judge_t;

typedef enum gantry__step_mode_t {
    GANTRY__STEP_TRAIN = 0,
    GANTRY__STEP_TEST = 1,
    GANTRY__STEP_PREDICT = 2
} gantry__step_mode_t;

/* What the body of a step's function gets. */
typedef struct gantry__step_body_t {
    gantry_model_t *model;
    gantry__step_mode_t step;
    size_t weight_count; /* components that are weights of samples */
    int64_t rows;        /* of the batch for which the step is traced; 0: not known */
    gantry_input_spec_t specs[GANTRY_MAX_COMPONENTS + 1]; /* of components */
    size_t spec_count;
} gantry__step_body_t;

typedef struct gantry__worker_t gantry__worker_t;

struct gantry_model_t {
    size_t references; /* the program's, and one of each model that has it as a block */
    gantry_runtime_t *runtime;
    gantry_scope_t
        *keeper; /* keeps the runtime in memory, so that calls after its release are refused */
    gantry__worker_t *worker; /* this process of several: worker.h; NULL: there is one */
    char *name;
    gantry_dtype_t dtype;
    int64_t seed;
    int64_t batch_size; /* of all batches; 0: any */
    bool is_sequential, is_built, is_compiled, runs_eagerly;
    bool is_block;          /* of another model, so that no layers are added */
    gantry_status_t status; /* the first error of putting it together, with its text */
    char *message;
    gantry_status_t refusal_status; /* of the last gantry_model_compile, which failed: */
    char *refusal;                  /* NULL: it did not */
    char **devices;                 /* of replicas; an entry may be NULL: no request */
    size_t replica_count;
    bool has_nccl;              /* the strategy reduces by NCCL */
    double *replica_weights;    /* shares of a batch; NULL: equal */
    gantry__member_t **members; /* its layers */
    size_t member_count, member_capacity;
    gantry_layer_t *refused;  /* layers that it took over and did not get */
    gantry__nested_t *nested; /* its blocks */
    size_t nested_count, nested_capacity;
    gantry__nested_call_t *nested_calls;
    size_t nested_call_count, nested_call_capacity;
    gantry__model_value_t *values;
    size_t value_count, value_capacity, input_count; /* inputs come first */
    int32_t outputs[GANTRY_MAX_COMPONENTS];
    size_t output_count; /* 0: the last value, which a build makes the output */
    gantry__model_variable_t *variables;
    size_t variable_count;
    gantry_generator_t **generators; /* by value and replica, or NULL; draws.h */
    gantry_optimizer_t *optimizer;
    gantry__target_t *targets; /* one for each output, when it was compiled */
    size_t target_count;
    size_t label_count;      /* of targets that have labels */
    gantry__judge_t *judges; /* the mean loss, those of several outputs, then metrics */
    size_t judge_count;
    gantry_function_t *steps[3]; /* by gantry__step_mode_t; NULL: not traced yet */
    gantry__step_body_t bodies[3];
    atomic_bool is_stopped; /* gantry_model_stop asks a training to end */
    bool is_validated;      /* a training tests it, which a stop ends, too */
    bool is_in_fit;         /* whose callbacks must not compile it */
    bool validates;         /* the training has a validation, in some epochs */
    bool holds_averages;    /* the weights and their averages have changed places */
    bool checks_numerics;
    gantry_numerics_t *numerics; /* of the step that runs; NULL: it is not checked */
};

/* One run of the layers. */
typedef struct gantry__model_run_t gantry__model_run_t;
struct gantry__model_run_t {
    gantry_model_t *model;
    gantry_scope_t *scope;
    const gantry_tensor_t *const *inputs;
    size_t replica;
    size_t value; /* the one that is computed */
    bool training;
    /* by variable: values, and new values of those that are not trained */
    const gantry_tensor_t **weights, **updates;
    const gantry_tensor_t **values; /* by value */
    const gantry_tensor_t **masks;  /* by value; NULL: none */
    /* of one layer, with room for the widest */
    const gantry_tensor_t **layer_inputs, **layer_masks;
    bool builds;                          /* layers add their weights, which are zeros */
    bool regularizes;                     /* adds up what regularizers of layers' outputs say */
    const gantry_tensor_t *activity_loss; /* their sum for the batch; NULL: none yet */
    /* In a build with open sizes, the same layers on inputs of other sizes; otherwise NULL. */
    gantry__model_run_t *twin;
};

/* Keeps the error if it is the model's first one, and returns the model's status. */
gantry_status_t gantry__model_fail(gantry_model_t *model, gantry_status_t status);
/* Returns OK if the model may be used; otherwise its error, which becomes the thread's last message
 * again. */
gantry_status_t gantry__model_check(const gantry_model_t *model, const char *call);
/* The same at the begin of a call that all processes of a training make. Such a call must end with
 * gantry__worker_end. Where the model has failed, the other processes get its error, because they
 * wait for this one. */
gantry_status_t gantry__model_begin(gantry_model_t *model, const char *call);

/* Applies all layers of a sequential model, one after another. */
gantry_status_t gantry__model_chain(gantry_model_t *model, gantry_dtype_t dtype,
                                    const gantry_shape_t *sample);
/* Takes the layers of such a chain back. */
void gantry__model_unchain(gantry_model_t *model);

/* ---- its layers: members.c ---- */

/* Returns what a layer is in the model; NULL if the layer is not in it. */
gantry__member_t *gantry__model_member(const gantry_model_t *model, const gantry_layer_t *layer);
/* Returns the layer's name in the model, which is unlike all others there. */
const char *gantry__member_name(const gantry__member_t *member);
bool gantry__model_is_name_taken(const gantry_model_t *model, const char *name);
/* Takes in a layer, which must not be in the model yet. nested must be 1 + the layer's block, in
 * which it has the name `part`, or 0 without a block. After a failure the layer is as it was. */
gantry_status_t gantry__model_take_layer(gantry_model_t *model, gantry_layer_t *layer,
                                         size_t nested, const char *part);
/* Takes a layer in, unless the model has it. After a failure the model keeps the reference that the
 * program gave, so that the layer may be applied again, and refused. */
gantry_status_t gantry__model_own_layer(gantry_model_t *model, gantry_layer_t *layer,
                                        gantry__member_t **out_member);
/* Keeps the program's reference to a layer that could not be taken in. A layer of NULL does no
 * harm. */
void gantry__model_refuse_layer(gantry_model_t *model, gantry_layer_t *layer);
/* Returns whether a weight of a layer is trained. */
bool gantry__member_trains(const gantry__member_t *member, size_t weight);
/* Lets the members follow what gantry_layer_set_trainable set last. */
void gantry__model_settle_trainable(gantry_model_t *model);
void gantry__model_release_members(gantry_model_t *model);

/* ---- blocks: nested.c ---- */

/* Refuses a model to which no layers may be added. */
gantry_status_t gantry__model_check_open(const gantry_model_t *model, const char *call);
/* Applies a layer to values. The new value is the model's last one, or the first of its parts. */
gantry_status_t gantry__model_apply(gantry_model_t *model, const gantry__member_t *member,
                                    const int32_t *values, size_t count);
/* Notes the values of blocks of a sequential model, when its layers are chained. */
gantry_status_t gantry__nested_note_chain(gantry_model_t *model);
/* Forgets the applications of blocks that were noted. */
void gantry__nested_forget_calls(gantry_model_t *model);
/* Returns the name of the block that made a value; NULL if none did. */
const char *gantry__nested_name(const gantry_model_t *model, size_t value);
void gantry__nested_release(gantry_model_t *model);

/* Allocates what a run needs. The caller must call gantry__run_deinit, after a failure, too. */
gantry_status_t gantry__run_init(gantry__model_run_t *run, gantry_model_t *model);
void gantry__run_deinit(gantry__model_run_t *run);
/* Computes all values, and returns the first output; NULL after a failure, which the scope
 * keeps. */
const gantry_tensor_t *gantry__run_layers(gantry__model_run_t *run);
/* Reads all variables of the run's replica. */
void gantry__run_read_weights(gantry__model_run_t *run);

/* Begins a scope on the device of a replica, inside `parent`, or without a parent if that is
 * NULL. */
gantry_scope_t *gantry__model_scope(const gantry_model_t *model, gantry_scope_t *parent,
                                    size_t replica);

/* Builds a model for the first `count` components of a batch, unless it is built. */
gantry_status_t gantry__model_build_for(gantry_model_t *model, const gantry_array_t *batch,
                                        size_t count);

/* Makes the states that layers keep from batch to batch. */
gantry_status_t gantry__model_make_states(gantry_model_t *model);

/* Makes the optimizer's variables on the devices of the model's. A second call does nothing. */
gantry_status_t gantry__model_build_optimizer(gantry_model_t *model);
/* Sets the weights to the optimizer's averages of them, if it keeps such. */
gantry_status_t gantry__model_finalize(gantry_model_t *model);
/* Puts the averages of the weights, which the optimizer has, in the places of the weights, or both
 * back. */
gantry_status_t gantry__model_hold_averages(gantry_model_t *model, bool holds);

/* ---- outputs and what they are trained for: outputs.c, compile.c ---- */

/* Returns the name of an output's layer. */
const char *gantry__model_output_name(const gantry_model_t *model, size_t output);
/* Makes the last value, or the first of its parts, the output of a model that named none. */
void gantry__model_choose_output(gantry_model_t *model);
/* Refuses a model that is not compiled, or whose outputs are not those for which it was compiled.
 * `call` names the call that needs this. */
gantry_status_t gantry__model_check_compiled(const gantry_model_t *model, const char *call);
/* Returns the component of a batch with the weights of a target's samples; 0 if there is none. */
size_t gantry__model_weights_of(const gantry_model_t *model, size_t target, size_t weight_count);
/* Returns how many components of a batch a step reads. */
size_t gantry__model_used_components(const gantry_model_t *model, gantry__step_mode_t step,
                                     size_t count);
/* Returns how many components are weights of samples. */
size_t gantry__model_weight_count(const gantry_model_t *model, gantry__step_mode_t step,
                                  size_t count);
/* Refuses a batch that lacks components that a step needs. */
gantry_status_t gantry__model_check_count(const gantry_model_t *model, gantry__step_mode_t step,
                                          size_t count);
/* Writes the name of a component, for texts: "input 0", "the labels of a", "sample weights". */
void gantry__model_name_component(const gantry_model_t *model, size_t i, char *out, size_t bytes);
/* Returns the output whose labels, or weights of samples, a component has. */
size_t gantry__model_output_of(const gantry_model_t *model, size_t component);
void gantry__model_release_targets(gantry_model_t *model);
/* Gives the model an optimizer, or none if it is NULL, and ends the one that it had, if that is
 * another one. */
void gantry__model_set_optimizer(gantry_model_t *model, gantry_optimizer_t *optimizer);

/* Forgets the traced functions of steps, so that the next step is traced again. */
void gantry__model_forget_steps(gantry_model_t *model);
static inline bool gantry__model_is_stopped(gantry_model_t *model) {
    return atomic_load_explicit(&model->is_stopped, memory_order_relaxed);
}

/* ---- steps: step.c ---- */

/* Refuses a batch on which a step cannot run. */
gantry_status_t gantry__model_check_batch(const gantry_model_t *model, gantry__step_mode_t step,
                                          const gantry_array_t *batch, size_t count);
/* Returns whether an input of a built model takes this shape. Sizes of a sequential model without
 * open ones are an example, as in Keras: an image may be larger. A size below 0 is not known. */
bool gantry__model_takes_shape(const gantry_model_t *model, size_t input,
                               const gantry_shape_t *given);
/* Returns the type in which an input of a built model takes numbers of a batch: the input's own, if
 * that is a float and the numbers are real; otherwise theirs. */
gantry_dtype_t gantry__model_input_type(const gantry_model_t *model, size_t input,
                                        gantry_dtype_t given);
/* Makes a tensor of a component of a batch; an input is converted to its type. */
const gantry_tensor_t *gantry__model_make_component(const gantry_model_t *model,
                                                    gantry_scope_t *scope,
                                                    const gantry_array_t *array, size_t component);
/* Runs one step on a batch; of several processes, on this one's rows, if it has any. The scope owns
 * out_results: for PREDICT they are the outputs; for TRAIN in several processes the vector to add,
 * which is not applied yet. */
gantry_status_t gantry__model_step(gantry_model_t *model, gantry__step_mode_t step,
                                   gantry_scope_t *scope, const gantry_array_t *batch, size_t count,
                                   const gantry_tensor_t **out_results);
/* Refuses labels that name no class, and words that an embedding does not have. */
gantry_status_t gantry__model_check_ranges(const gantry_model_t *model, gantry__step_mode_t step,
                                           const gantry_array_t *batch);
/* Refuses numbers of a batch that are not finite, if the model checks numerics. */
gantry_status_t gantry__model_check_finite(const gantry_model_t *model, const gantry_array_t *batch,
                                           size_t count);

/* ---- after an update: constrain.c ---- */

/* Bounds the trained variables of a replica that have constraints and a gradient. gradients must
 * have an entry for each trained variable, NULL for one without a gradient; or be NULL itself, if
 * all have one. */
void gantry__model_constrain(const gantry_model_t *model, gantry_scope_t *scope, size_t replica,
                             const gantry_tensor_t *const *gradients);

/* ---- metrics: evaluate.c ---- */

/* Sets all metrics to their start. */
gantry_status_t gantry__model_reset_metrics(gantry_model_t *model);
/* Reads all metrics: out_values must have room for judge_count numbers. */
gantry_status_t gantry__model_read_metrics(gantry_model_t *model, double *out_values);
/* Reads the first metric, which is the loss. */
gantry_status_t gantry__model_read_loss(gantry_model_t *model, double *out_value);

#endif
