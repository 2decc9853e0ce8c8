/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Models: layers that are built, trained, tested, and used together, as Keras's.
 *
 *     gantry_model_t *model = gantry_sequential(runtime, NULL);
 *     gantry_model_add(model, gantry_dense(64, GANTRY_RELU, NULL));
 *     gantry_model_add(model, gantry_dense(10, GANTRY_SOFTMAX, NULL));
 *     gantry_model_compile(model, &(gantry_compile_options_t){
 *         .optimizer = gantry_adam(NULL), .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY});
 *     gantry_model_fit(model, train, &(gantry_fit_options_t){.epochs = 3});
 *     gantry_model_release(model);
 *
 * A call that fails leaves its text in gantry_last_message. A model that failed while it was put
 * together keeps its first error, and later calls return it, so that one check at the end is
 * enough. A built model keeps none. The error of a failed gantry_model_compile only holds until the
 * next one. A text about an object that is NULL ends with the thread's last failure, which is most
 * often that of its constructor.
 *
 * The caller that made a model must release it. A model keeps its runtime in memory: after
 * gantry_runtime_release, and in a child of fork, it may only be released, and every other call
 * with it that returns a status is FailedPrecondition.
 *
 * Threads: a model is externally synchronised, but for gantry_model_stop. Models that share layers
 * count as one object: a call with one of them must not run at the same time as a call with
 * another. */
#ifndef GANTRY_TRAIN_MODEL_H
#define GANTRY_TRAIN_MODEL_H

#include <gantry_train/dataset.h>
#include <gantry_train/layer.h>
#include <gantry_train/loss.h>
#include <gantry_train/metric.h>
#include <gantry_train/optimizer.h>
#include <gantry_train/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model. The caller that made it releases it. */
typedef struct gantry_model_t gantry_model_t;

/** Options of a model. */
typedef struct gantry_model_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    const char *name;     /**< Its name, which is copied; NULL: "sequential" or "functional". */
    /** The device on which its variables live: "/GPU:0"; NULL: where the placement puts them. It
     * must be NULL with a strategy. */
    const char *device;
    gantry_dtype_t dtype; /**< Of weights; 0: float32. float64 is accepted, too. */
    /** The seed of the first values of weights whose initialiser has no seed: they are those of a
     * Keras model whose layers are made, in the order of the model's, after
     * keras.utils.set_random_seed(seed). 0: fixed numbers. */
    int64_t seed;
    /** Several devices; NULL: one. It must outlive the model. */
    const gantry_strategy_t *strategy;
    /** The rows of each batch, as Keras's batch_shape: stateful recurrent layers need it. 0: any
     * number. A sequential model that its first batch builds takes that batch's. */
    int64_t batch_size;
} gantry_model_options_t;

/* ---- replicas of unlike speed ---- */

/** Shares each batch out by weights, one for each replica of the model's strategy: 3 and 1 give the
 * first one three quarters of the rows, and every replica gets one row at least. Loss and gradients
 * stay those of the whole batch. weights NULL: equal parts, as before any call. */
GANTRY_API gantry_status_t gantry_model_set_replica_weights(gantry_model_t *model,
                                                            const double *weights, size_t count);
/** Measures weights and sets them: times forward and backward pass of the first batch on each
 * replica by itself; a weight is the inverse of the time. The model must be compiled. It is built
 * if it is not yet, and its variables stay as they are. Writes count weights, whose mean is 1, to
 * out_weights, which may be NULL. */
GANTRY_API gantry_status_t gantry_model_measure_replicas(gantry_model_t *model,
                                                         gantry_dataset_t *batches,
                                                         double *out_weights, size_t count);

/* ---- putting a model together ---- */

/** Begins a model whose layers follow each other. NULL after a failure. */
GANTRY_API gantry_model_t *gantry_sequential(gantry_runtime_t *runtime,
                                             const gantry_model_options_t *options);
/** Adds a layer after the last one, once. The model takes the layer over, also after a failure;
 * other models may have it, too: gantry_model_apply. */
GANTRY_API gantry_status_t gantry_model_add(gantry_model_t *model, gantry_layer_t *layer);

/** Begins a model of any form: its values are numbers, which gantry_model_input and
 * gantry_model_apply return. */
GANTRY_API gantry_model_t *gantry_functional(gantry_runtime_t *runtime,
                                             const gantry_model_options_t *options);
/** Adds an input, before the first layer: the type and the shape of one sample. A size of -1 is
 * open, Keras's None: batches may have different sizes there, from 1 on. Returns its value, -1
 * after a failure. */
GANTRY_API int32_t gantry_model_input(gantry_model_t *model, gantry_dtype_t dtype,
                                      gantry_shape_t sample);
/** Applies a layer to values, and returns the value of its output, -1 after a failure. The model
 * takes the layer over, also after a failure; it may be named again then, and nothing happens. A
 * layer that is applied again has the same weights. Further outputs, such as the states of
 * return_state, are the values after the returned one: returned + 1 and so on.
 *
 * Several models may have a layer, which then has one set of weights: the first one takes it over,
 * each further one adds a reference, and it ends with the last of them. These models must have one
 * runtime, one type and the same devices, with a strategy in one order. With model NULL, the call
 * releases a layer that no model has. */
GANTRY_API int32_t gantry_model_apply(gantry_model_t *model, gantry_layer_t *layer,
                                      const int32_t *values, size_t count);
/** Applies a whole model as one layer, as Keras's model(x), and writes the values of its outputs to
 * out_values, output_count of them. count is the number of the block's inputs; a sequential block
 * has one. Applied again, it has the same weights, and so has every model that it is applied in.
 *
 * The block stays a model of its own, built or not: it may be built, compiled, trained, called and
 * saved, before and after, with the weights that both models have. Each has its own optimizer, and
 * what is trained follows from its own gantry_model_compile. The block gets no more layers or
 * outputs. This model holds a reference to it: the program releases the block when it likes, before
 * this model or after it.
 *
 * The block's name gets a number if it is taken: "sequential", "sequential_1". Its layers are named
 * after it: "sequential/dense", and so are weights in files of this model; in files of the block
 * they are "dense". The summary has one row for it. */
GANTRY_API gantry_status_t gantry_model_apply_model(gantry_model_t *model, gantry_model_t *block,
                                                    const int32_t *values, size_t count,
                                                    int32_t *out_values, size_t output_count);
/** Applies a whole model after the last layer of a sequential model, once; the block must be
 * sequential, too. */
GANTRY_API gantry_status_t gantry_model_add_model(gantry_model_t *model, gantry_model_t *block);
/** Says whether the weights of all layers of a model are trained, its blocks' included, as Keras's
 * `model.trainable`: gantry_layer_set_trainable of each. */
GANTRY_API gantry_status_t gantry_model_set_trainable(gantry_model_t *model, bool trainable);
/** Says which value is the model's output; without it, the last one is. */
GANTRY_API gantry_status_t gantry_model_set_output(gantry_model_t *model, int32_t value);
/** Says which values are the model's outputs, 1 to GANTRY_MAX_COMPONENTS of them, in this order. An
 * output is named by its layer. */
GANTRY_API gantry_status_t gantry_model_set_outputs(gantry_model_t *model, const int32_t *values,
                                                    size_t count);

/** Makes the weights: of a sequential model for samples of this type and shape, of a functional
 * model for its inputs (sample is ignored). gantry_model_fit does it by itself, from its data, with
 * no open sizes. sample may have open sizes, as an input of gantry_model_input has.
 *
 * A layer whose weights or output need a size that is open is InvalidArgument, which names it:
 * Dense after Flatten, Reshape to a shape without -1, a recurrent layer with unroll GANTRY_ON. A
 * layer's build gets -1 for open sizes; its call runs with numbers. */
GANTRY_API gantry_status_t gantry_model_build(gantry_model_t *model, gantry_dtype_t dtype,
                                              gantry_shape_t sample);
/** Sets the kept states of all stateful layers to zeros. */
GANTRY_API gantry_status_t gantry_model_reset_states(gantry_model_t *model);
/** Releases a model; NULL does no harm. Layers and blocks that other models have stay with them. */
GANTRY_API void gantry_model_release(gantry_model_t *model);

/* ---- weights ---- */

/** The number of its variables, in the order of the layers; 0 before they are made. */
GANTRY_API size_t gantry_model_variable_count(const gantry_model_t *model);
/** One of its variables, on the first device; the model owns it. NULL for no such variable.
 * *out_trainable may be NULL. */
GANTRY_API gantry_variable_t *gantry_model_variable(const gantry_model_t *model, size_t index,
                                                    bool *out_trainable);
/** Sets a variable on all devices. */
GANTRY_API gantry_status_t gantry_model_set_variable(gantry_model_t *model, size_t index,
                                                     const void *data, size_t bytes);

/** Saves weights, the state of layers that draw random numbers, and the optimizer's state if the
 * model is compiled and was trained or loaded, as safetensors (gantry_train/checkpoint.h): written
 * to a temporary file in the same folder, then renamed. A weight has the name of its layer in the
 * model and its own, "dense/kernel"; the optimizer has "optimizer/iteration",
 * "optimizer/learning_rate" and a tensor of the weight's type and shape for each slot,
 * "optimizer/dense/kernel/momentum". Slots have Keras's names. */
GANTRY_API gantry_status_t gantry_model_save(gantry_model_t *model, const char *path);
/** Saves the same under the paths that Keras 3 gives the variables of the same model, so that
 * `variable.assign(file[variable.path])` for each of model.weights + model.optimizer.variables
 * loads it there: "sequential/dense/kernel" in a sequential model, "dense/kernel" in a functional
 * one, "lstm/lstm_cell/kernel", "adam/iteration", "adam/sequential_dense_kernel_momentum". Models
 * and layers without a name must have the one that Keras's have: that of the first ones since
 * keras.utils.clear_session. InvalidArgument where two weights have one path in Keras, because
 * functional blocks leave out their name, or two slots, whose names have _ in place of /. */
GANTRY_API gantry_status_t gantry_model_save_keras(gantry_model_t *model, const char *path);
/** Sets weights and the optimizer's state to those of a file, on all devices: all, or none after a
 * failure. The model must be built, and must have the layers of the one that was saved. A training
 * that continues from there takes the steps that it would have taken.
 *
 * The file may have the names of gantry_model_save or of gantry_model_save_keras. The latter are
 * Keras's in a file that save_file of safetensors.numpy makes of
 * `{v.path: np.asarray(v.numpy()) for v in model.weights}`, with model.optimizer.variables or
 * without; scalars of another type are converted if that keeps their numbers. Files of former
 * versions, whose optimizer has numbers for names, are read, too. Other tensors of the file are
 * left out, and so is an optimizer's state for a model that is not compiled. NotFound for a weight
 * or a slot that the file lacks; InvalidArgument for one of another type or shape, for two of one
 * path in Keras, and for the state of another optimizer. */
GANTRY_API gantry_status_t gantry_model_load(gantry_model_t *model, const char *path);

/** Writes the table of layers with Keras's columns and totals, in UTF-8, to `out`, which may be
 * NULL; cut to out_bytes, with its terminator. *out_needed (may be NULL) is the length of the whole
 * text. Rows are in the order in which the model applies its layers first. The optimizer's
 * variables are not counted. FailedPrecondition before the model is built. */
GANTRY_API gantry_status_t gantry_model_summary(const gantry_model_t *model, char *out,
                                                size_t out_bytes, size_t *out_needed);

/** Computes the output for inputs, on the first device, in a scope that runs or records: for
 * training loops of a program's own. Inputs are converted to the model's types as batches are. NULL
 * after a failure, which the scope keeps. */
GANTRY_API const gantry_tensor_t *gantry_model_call(gantry_model_t *model, gantry_scope_t *scope,
                                                    const gantry_tensor_t *const *inputs,
                                                    size_t input_count, bool training);
/** Computes the outputs of a model with several outputs: writes output_count of them, which must be
 * the number that it has, NULLs after a failure. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_model_call_outputs(gantry_model_t *model, gantry_scope_t *scope,
                                                     const gantry_tensor_t *const *inputs,
                                                     size_t input_count, bool training,
                                                     const gantry_tensor_t **out_outputs,
                                                     size_t output_count);

/* ---- training ---- */

/** What one of several outputs is trained for, and by what it is judged. The fields are those of
 * gantry_compile_options_t. */
typedef struct gantry_compile_output_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. The first one's holds for all. */
    gantry_loss_t loss;   /**< The loss; 0: none. */
    const gantry_loss_options_t *loss_options; /**< Copied; NULL: defaults. */
    /** The metrics that are not weighted. The model takes them over, also after a failure. */
    gantry_metric_t *const *metrics;
    size_t metric_count;                      /**< Entries of metrics. */
    gantry_metric_t *const *weighted_metrics; /**< Weighted; taken over, too. */
    size_t weighted_metric_count;             /**< Entries of weighted_metrics. */
} gantry_compile_output_t;

/** What a model is trained for. */
typedef struct gantry_compile_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    /** The model takes it over, also after a failure. Given again, it goes on with its state; no
     * other model accepts it. */
    gantry_optimizer_t *optimizer;
    gantry_loss_t loss;                        /**< The loss. */
    const gantry_loss_options_t *loss_options; /**< Copied; NULL: defaults. */
    /** The metrics that are not weighted by the weights of samples. The model takes them over, also
     * after a failure. They may be given again, and to other models, which count anew in each
     * training and test: a metric ends with the last model that has it. Each must be given only
     * once in a call. */
    gantry_metric_t *const *metrics;
    size_t metric_count; /**< Entries of metrics. */
    /** Runs each step op by op, to look at its values. */
    bool runs_eagerly;
    /** Ends a training, a test or a prediction at the first NaN or infinity: InvalidArgument names
     * the component of the batch that has it, or the op that made it with the layer, forward or
     * backward, the epoch and the step, shapes, counts and the ranges of the op's inputs
     * (gantry_train/numerics.h). Runs each step op by op and waits for each op. */
    bool check_numerics;
    /** The metrics that are weighted by the weights of samples and of classes. They come after
     * metrics. */
    gantry_metric_t *const *weighted_metrics;
    size_t weighted_metric_count; /**< Entries of weighted_metrics. */
    /** Loss and metrics of each output, in the order of gantry_model_set_outputs; loss,
     * loss_options, metrics and weighted_metrics must then be unset. NULL: loss is that of every
     * output, and metrics are those of the one output. */
    const gantry_compile_output_t *outputs;
    size_t output_count; /**< Entries of outputs. */
    /** The weight with which the loss of each output counts in the one that is trained; NULL: all
     * 1. */
    const double *loss_weights;
    size_t loss_weight_count; /**< Entries of loss_weights: the number of outputs. */
} gantry_compile_options_t;

/** Sets optimizer, loss and metrics. With several outputs that have a loss, "loss" is their
 * weighted sum, and the loss of each, not weighted, follows it under its output's name: "a_loss".
 * Metrics then have their output's name in front, too: "a_accuracy". A second metric of a name gets
 * a number after it, and a weighted one "weighted_" in front, as in Keras. FailedPrecondition for a
 * number of outputs that the model does not have, and in a callback of gantry_model_fit. */
GANTRY_API gantry_status_t gantry_model_compile(gantry_model_t *model,
                                                const gantry_compile_options_t *options);

/** The losses and metrics of an epoch. */
typedef struct gantry_logs_t {
    /** "loss", then the losses of several outputs, then the metrics; then, with "val_" in front,
     * those of the validation. */
    const char *const *names;
    const double *values; /**< Their values. */
    size_t count;         /**< Entries of names and of values. */
} gantry_logs_t;

/** Functions that a training calls; each may be NULL. Any status but OK ends the training with that
 * status and the text that the callback left by gantry_fail. */
typedef struct gantry_callback_t {
    uint32_t struct_size; /**< Its sizeof. */
    void *user;           /**< Their last argument. */
    /** Called before an epoch. */
    gantry_status_t (*epoch_begin)(gantry_model_t *model, int64_t epoch, void *user);
    /** Called after an epoch; *stop ends the training after it. */
    gantry_status_t (*epoch_end)(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                 bool *stop, void *user);
    /** Called after a step of the training; *stop ends the training after it. */
    gantry_status_t (*step_end)(gantry_model_t *model, int64_t step, bool *stop, void *user);
    /** Writes the callback's state for a backup, as a text, which must have less than `bytes`
     * bytes. */
    gantry_status_t (*get_state)(char *out, size_t bytes, void *user);
    /** Sets the state that get_state wrote, of a training that goes on. */
    gantry_status_t (*set_state)(const char *text, void *user);
    /** Called before the first epoch of a call of gantry_model_fit. */
    gantry_status_t (*train_begin)(gantry_model_t *model, void *user);
    /** Called after the last epoch, also if a callback ended the training; not after a failure, nor
     * after gantry_model_stop. */
    gantry_status_t (*train_end)(gantry_model_t *model, void *user);
    /** Called before the validation of an epoch. */
    gantry_status_t (*test_begin)(gantry_model_t *model, void *user);
    /** Called after the validation of an epoch, also if it, or a test_begin, failed or was
     * stopped. */
    gantry_status_t (*test_end)(gantry_model_t *model, void *user);
} gantry_callback_t;

/** The room that get_state has. */
#define GANTRY_CALLBACK_STATE_BYTES 1024

/** Takes a text of the training's progress. */
typedef void (*gantry_write_fn)(const char *text, void *user);

/** Options of a training. */
typedef struct gantry_fit_options_t {
    uint32_t struct_size;         /**< Its sizeof; 0: that of version 0.1. */
    int64_t epochs;               /**< The last epoch; 0: 1. */
    int64_t initial_epoch;        /**< Epochs that are done, of a training that goes on. */
    gantry_dataset_t *validation; /**< Batches that are tested after each epoch; NULL. */
    const gantry_callback_t *const *callbacks; /**< Called in this order. */
    size_t callback_count;                     /**< Entries of callbacks. */
    gantry_write_fn write; /**< Gets the progress as text, in lines; NULL: nothing is written. */
    void *write_user;      /**< Last argument of write. */
    /** Whether write goes to a terminal: then a bar is drawn again and again. */
    bool is_terminal;
    /** A file from which an interrupted training goes on, as Keras's BackupAndRestore. It is
     * written after each epoch, and when gantry_model_stop ends the training; it is removed when
     * the training is complete. If it exists, the training goes on from its epoch and step, and
     * takes the steps that it would have taken, bit for bit, with data sets, callbacks and a model
     * made as before. gantry_model_load reads it, too. NULL: none. */
    const char *backup;
    int64_t backup_steps; /**< Writes it also after this many steps of an epoch; 0: it does not. */
    /** The most batches of an epoch; the next epoch goes on after them. A data set that ends ends
     * the epoch, and begins anew in the next one. 0: all batches. Not with a backup. */
    int64_t steps_per_epoch;
    int64_t validation_freq; /**< Epochs from one validation to the next; 0: 1. */
    /** A weight for each class: a sample counts in the loss and in weighted metrics by that of its
     * label, which is a number of a class, or a row whose largest number names it. Not with weights
     * of samples, nor with several outputs. NULL: all 1. */
    const double *class_weights;
    size_t class_weight_count; /**< Entries of class_weights. */
    /** The columns of the terminal, with is_terminal. A line that is drawn again does not exceed
     * them: it then leaves values out, and the line at an epoch's end becomes several. 0: as many
     * as standard output has, or standard error; 80 if neither is a terminal. */
    int32_t columns;
} gantry_fit_options_t;

/** Trains on a data set of batches: elements of the inputs, then the labels of each output that has
 * a loss or metrics, then (perhaps) weights of the samples: one component for all of these outputs,
 * or one for each. options may be NULL. Of a model with open sizes, the step is traced for each
 * combination of sizes, and the last 16 traces are kept. It ends with
 * gantry_optimizer_finalize_variable_values, before train_end; after a failure or gantry_model_stop
 * it does not.
 *
 * Numbers of an input whose type is a float are converted to it, as in Keras, here and in
 * gantry_model_evaluate and gantry_model_predict. A sequential model that is built by its first
 * batch takes floats as its own type, and other numbers as they are: after gantry_model_build for
 * its type, they are converted, too. */
GANTRY_API gantry_status_t gantry_model_fit(gantry_model_t *model, gantry_dataset_t *batches,
                                            const gantry_fit_options_t *options);
/** Ends the training of the model after the step that runs, or the next training before its first
 * step. gantry_model_fit then writes its backup, if it has one, and returns Cancelled, with the
 * epoch and the step in the text. A handler of signals and any thread may call it. */
GANTRY_API void gantry_model_stop(gantry_model_t *model);
/** Tests: writes the loss, the losses of several outputs, each metric and each weighted one to
 * out_values, which has room for capacity. A sample, or the step of a sequence, that the output's
 * mask leaves out counts neither in the loss nor in metrics other than AUC. */
GANTRY_API gantry_status_t gantry_model_evaluate(gantry_model_t *model, gantry_dataset_t *batches,
                                                 double *out_values, size_t capacity);
/** Computes the outputs for batches of inputs (further components are ignored), one after another,
 * also if their shapes differ, to `out` of out_bytes; out NULL: to nowhere. *out_needed (may be
 * NULL) is the number of bytes of all. */
GANTRY_API gantry_status_t gantry_model_predict(gantry_model_t *model, gantry_dataset_t *batches,
                                                void *out, size_t out_bytes, size_t *out_needed);
/** Predicts with a model with several outputs: writes those of output i of all batches to outs[i]
 * of out_bytes[i]; outs NULL, or an entry: to nowhere. out_needed (may be NULL) has the number of
 * bytes of each. output_count must be the number of outputs that the model has. */
GANTRY_API gantry_status_t gantry_model_predict_outputs(gantry_model_t *model,
                                                        gantry_dataset_t *batches,
                                                        void *const *outs, const size_t *out_bytes,
                                                        size_t output_count, size_t *out_needed);
/** Frees the memory that the model keeps between steps of training, tests and predictions on all
 * devices, gantry_function_trim of its functions: weights, the optimizer's state and traces stay,
 * and the next step allocates what it needs again. A block of the model that was trained or tested
 * by itself has memory of its own. *out_bytes (may be NULL) is how much was freed;
 * gantry_trim_memory gives it back to the driver. A callback of a training may call it. */
GANTRY_API gantry_status_t gantry_model_trim(gantry_model_t *model, uint64_t *out_bytes);
/** The name of value `index` of gantry_model_evaluate: "loss", then the losses of several outputs,
 * then the metrics; NULL beyond. */
GANTRY_API const char *gantry_model_value_name(const gantry_model_t *model, size_t index);

#ifdef __cplusplus
}
#endif
#endif
