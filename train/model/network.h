/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a model: its layers, the values between them, its blocks and its variables. What
 * it is trained for is in program.h. Owner: the model owns the network, which owns its variables,
 * and holds references to its layers and blocks. Threads: externally synchronised, together with
 * all models that share its layers. */
#ifndef GANTRY_TRAIN_NETWORK_H
#define GANTRY_TRAIN_NETWORK_H

#include <gantry_train/model.h>

#include "train/layer/layer_state.h"

enum { GANTRY__NETWORK_NAME_BYTES = 256, GANTRY__NETWORK_PATH_BYTES = 512 };

/* A model that is a layer of another one: nested.c. */
typedef struct gantry__nested_t {
    gantry_model_t *model; /* with a reference */
    char name[GANTRY__NETWORK_NAME_BYTES];
    bool was_built; /* in Keras before the model got it, so that its name begins Keras's paths */
} gantry__nested_t;

/* An application of a block. Its values follow each other. */
typedef struct gantry__nested_call_t {
    const gantry__nested_t *nested;
    size_t input_count, output_count;
    int32_t inputs[]; /* then the outputs */
} gantry__nested_call_t;

/* A layer in a model. */
typedef struct gantry__member_t {
    gantry_layer_t *layer; /* with a reference */
    char *name;            /* of a block's layer "block/dense"; NULL: that of the layer */
    bool is_frozen;        /* since the model was compiled, or built without being compiled */
    size_t first_variable; /* of the model's variables */
    const gantry__nested_t *nested; /* the block that it came with; NULL: it came with none */
} gantry__member_t;

/* A value: an input, or the output of a layer. */
typedef struct gantry__model_value_t {
    const gantry__member_t *member; /* NULL: an input */
    int32_t *inputs;
    size_t input_count;
    gantry_dtype_t dtype; /* of an input */
    gantry_shape_t shape; /* batch and open sizes -1; of outputs known when built */
    size_t part;          /* of its layer's outputs; parts follow part 0, and have no inputs */
    const gantry__nested_call_t *nested_call; /* of a block, which made it; NULL: none did */
    uint64_t ops; /* with a worker: a checksum of the ops that made it in the build */
} gantry__model_value_t;

/* A variable: a weight of a layer, once for each replica. */
typedef struct gantry__model_variable_t {
    const gantry__weight_t *weight;
    gantry_variable_t **copies; /* one for each replica; the layer's */
    char *name;                 /* in files: "dense/kernel", by the layer's name in the model */
    bool is_trained;
} gantry__model_variable_t;

typedef struct gantry__network_t {
    bool is_sequential, is_built;
    bool is_block;              /* of another model, so that no layers are added */
    int64_t batch_size;         /* of all batches; 0: any */
    gantry__member_t **members; /* its layers */
    size_t member_count, member_capacity;
    gantry_layer_t *refused;   /* layers that it took over and did not get */
    gantry__nested_t **nested; /* its blocks */
    size_t nested_count, nested_capacity;
    gantry__nested_call_t **nested_calls;
    size_t nested_call_count, nested_call_capacity;
    gantry__model_value_t *values;
    size_t value_count, value_capacity, input_count; /* inputs come first */
    int32_t outputs[GANTRY_MAX_COMPONENTS];
    size_t output_count; /* 0: the last value, which a build makes the output */
    gantry__model_variable_t *variables;
    size_t variable_count;
    gantry_generator_t **generators; /* by value and replica, or NULL; draws.h */
} gantry__network_t;

/* ---- values: model.c ---- */

/* Refuses a model to which no layers may be added. */
gantry_status_t gantry__model_check_open(const gantry_model_t *model, const char *call);
/* Applies a layer to values. The new value is the model's last one, or the first of its parts. */
gantry_status_t gantry__model_apply(gantry_model_t *model, const gantry__member_t *member,
                                    const int32_t *values, size_t count);
/* Applies all layers of a sequential model, one after another. */
gantry_status_t gantry__model_chain(gantry_model_t *model, gantry_dtype_t dtype,
                                    const gantry_shape_t *sample);
/* Takes the layers of such a chain back. */
void gantry__model_unchain(gantry_model_t *model);
/* Returns the name of an output's layer. */
const char *gantry__model_output_name(const gantry_model_t *model, size_t output);
/* Makes the last value, or the first of its parts, the output of a model that named none. */
void gantry__model_choose_output(gantry_model_t *model);

/* ---- layers: members.c ---- */

/* Returns what a layer is in the model; NULL if the layer is not in it. */
gantry__member_t *gantry__model_member(const gantry_model_t *model, const gantry_layer_t *layer);
/* Returns the layer's name in the model, which is unlike all others there. */
const char *gantry__member_name(const gantry__member_t *member);
bool gantry__model_is_name_taken(const gantry_model_t *model, const char *name);
/* "BatchNormalization" becomes batch_normalization, "MaxPooling1D" max_pooling1d, as in Keras. */
void gantry__snake_case(const char *name, char *out, size_t room);
/* Takes in a layer, which must not be in the model yet. nested must be the layer's block, in which
 * it has the name `part`, or NULL. After a failure the layer is as it was. */
gantry_status_t gantry__model_take_layer(gantry_model_t *model, gantry_layer_t *layer,
                                         const gantry__nested_t *nested, const char *part);
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

/* Notes the values of blocks of a sequential model, when its layers are chained. */
gantry_status_t gantry__nested_note_chain(gantry_model_t *model);
/* Forgets the applications of blocks that were noted. */
void gantry__nested_forget_calls(gantry_model_t *model);
void gantry__nested_release(gantry_model_t *model);

/* ---- shapes and variables: build.c, states.c, keras_path.c ---- */

/* Writes the path that Keras gives a variable of the same model, which must be built. */
void gantry__model_keras_path(const gantry_model_t *model, size_t variable,
                              char path[GANTRY__NETWORK_PATH_BYTES]);

/* Builds a model for batches like this one, whose components must have rows, unless it is built. */
gantry_status_t gantry__model_build_for(gantry_model_t *model, const gantry_array_t *batch);
/* Makes the states that layers keep from batch to batch. */
gantry_status_t gantry__model_make_states(gantry_model_t *model);

#endif
